/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the keyed hash: ISN, cookies, time stamp offsets (tcp_hash.c). */
#ifndef SL_TCP_HASH_H
#define SL_TCP_HASH_H

#include "tcp/tcp.h"

struct sl_tcp_keys;

/* Derives the key of the table's hash from the host's own, which must be random. */
void sl_tcp_keys_init(struct sl_tcp_keys *keys);
/* The table's hash of a key; never visible outside. */
uint32_t sl_tcp_key_hash(const struct sl_tcp_host *h, const struct sl_tcp_key *key);
uint32_t sl_tcp_isn(struct sl_tcp_host *h, const struct sl_tcp_key *key); /* RFC 6528 */
/* The offset of the time stamps of a connection (RFC 7323 5.4). */
uint32_t sl_tcp_ts_offset(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* Makes the cookie that answers syn (RFC 4987 3.6). */
uint32_t sl_tcp_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       const struct sl_tcp_seg *syn);
/* The MSS that the cookie stands for; 0: it is not ours, or it is older than two minutes. */
uint16_t sl_tcp_cookie_check(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t cookie,
			     uint32_t peer_isn);

#endif
