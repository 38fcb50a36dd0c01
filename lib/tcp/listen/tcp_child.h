/* SPDX-License-Identifier: BSD-2-Clause */
/* Children: connections made from requests or Fast Open SYNs, until they are accepted
 * (tcp_child.c). */
#ifndef SL_TCP_CHILD_H
#define SL_TCP_CHILD_H

#include "tcp/listen/tcp_listen.h"

struct sl_tcp_req;

/* Makes a child in SYN_RCVD, in the table (r must not be there any more) and in the accept queue.
 * NULL: no memory. */
struct sl_tcp *sl_tcp_child_new(struct sl_tcp_host *h, const struct sl_tcp_req *r);
/* Passes the child the ACK that created it, including data. If that does not complete the
 * handshake, c is freed: do not use it afterwards. True: the frame is kept. */
bool sl_tcp_child_begin(struct sl_tcp *c, struct sl_tcp_arrival *a);
/* Frees c without telling its peer or reporting an event: ops->child_free() is enough. */
void sl_tcp_child_drop(struct sl_tcp_host *h, struct sl_tcp *c);
/* True: l takes no further child. */
bool sl_tcp_is_accept_full(const struct sl_tcp_listener *l);
void sl_tcp_accept_overflow(struct sl_tcp_host *h); /* counts it */
/* Removes c from its listener's queue, if it is in one. */
void sl_tcp_child_gone(struct sl_tcp *c);

#endif
