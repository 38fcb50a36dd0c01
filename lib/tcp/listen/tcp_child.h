/* SPDX-License-Identifier: BSD-2-Clause */
/* The child made from a request, until it is accepted (tcp_child.c). */
#ifndef SL_TCP_CHILD_H
#define SL_TCP_CHILD_H

#include "tcp/listen/tcp_listen.h"

struct sl_tcp_req;

/* Makes a child in SYN_RCVD, in the table (where r no longer is) and in the accept queue. NULL: no
 * memory. */
struct sl_tcp *sl_tcp_child_new(struct sl_tcp_host *h, const struct sl_tcp_req *r);
/* Passes the child the ACK that created it, including data. True: the frame is kept. */
bool sl_tcp_child_begin(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame,
			uint16_t off, void *from);
void sl_tcp_child_drop(struct sl_tcp_host *h, struct sl_tcp *c);
bool sl_tcp_is_accept_full(const struct sl_tcp_listener *l);
void sl_tcp_accept_overflow(struct sl_tcp_host *h); /* counts it */
/* Call when the handshake of a Fast Open child is over. */
void sl_tcp_tfo_done(struct sl_tcp *c);
/* Removes c from its listener's queue. */
void sl_tcp_child_gone(struct sl_tcp *c);

#endif
