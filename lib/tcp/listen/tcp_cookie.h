/* SPDX-License-Identifier: BSD-2-Clause */
/* SYN cookies (tcp_cookie.c). */
#ifndef SL_TCP_COOKIE_H
#define SL_TCP_COOKIE_H

#include "tcp/tcp.h"

struct sl_tcp_req;

/* Answers r's SYN with a cookie, stored in r->iss. Drops from r->syn the options that the cookie
 * cannot hold. */
void sl_tcp_cookie_send(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
			void *from);
/* True: the ACK brings back a cookie of ours; *syn is the SYN as far as the cookie tells. */
bool sl_tcp_cookie_take(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
			const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
			struct sl_tcp_seg *syn);

#endif
