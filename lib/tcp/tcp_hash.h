/* SPDX-License-Identifier: BSD-2-Clause */
/* The keyed hash (SipHash-2-4): ISN, cookies, time stamp offsets (tcp_hash.c). */
#ifndef SL_TCP_HASH_H
#define SL_TCP_HASH_H

#include "tcp/tcp.h"

uint64_t sl_tcp_siphash(const uint8_t key[16], const void *data, size_t n);
void sl_tcp_hash_init(struct sl_tcp_host *h);
uint32_t sl_tcp_key_hash(const struct sl_tcp_host *h, const struct sl_tcp_key *key);
uint32_t sl_tcp_isn(struct sl_tcp_host *h, const struct sl_tcp_key *key); /* RFC 6528 */
uint32_t sl_tcp_ts_offset(struct sl_tcp_host *h, const struct sl_tcp_key *key);
uint32_t sl_tcp_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       const struct sl_tcp_seg *syn);
/* The MSS encoded in the cookie, 0: not our cookie, or older than two minutes. */
uint16_t sl_tcp_cookie_check(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t cookie,
			     uint32_t peer_isn);

#endif
