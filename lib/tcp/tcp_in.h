/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment arrives (tcp_in.c). */
#ifndef SL_TCP_IN_H
#define SL_TCP_IN_H

#include "tcp/tcp.h"

/* Handles a received segment for key (local is ours) with its payload in frame at off. from:
 * opaque, for ops->scope. l: the listener on the local port number, or NULL. The table decides:
 * connection, request, TIME_WAIT, else the listener, else a reset (RFC 9293 3.10.7). True: the
 * frame was kept (the caller's reference is then the core's). */
bool sl_tcp_input(struct sl_tcp_host *h, const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
		  uint32_t frame, uint16_t off, struct sl_tcp_listener *l, void *from);
/* Like sl_tcp_input(), when the connection is known already (by the steering program's slot). */
bool sl_tcp_conn_input(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		       void *from);
/* The connection with that key. NULL also for requests and TIME_WAIT. */
struct sl_tcp *sl_tcp_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* True: the table has a connection, request or TIME_WAIT with that key. */
bool sl_tcp_knows(struct sl_tcp_host *h, const struct sl_tcp_key *key);

#endif
