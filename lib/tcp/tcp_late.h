/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of the host that belong to no connection (tcp_late.c). */
#ifndef SL_TCP_LATE_H
#define SL_TCP_LATE_H

#include "tcp/tcp.h"

/* Call when the timer of h->late fires: tries again. */
void sl_tcp_late_timer(struct sl_tcp_host *h);
/* Sends by h->ops->reply. If there is no way to send, tries again at most SL_TCP_STUCK_MOST times,
 * after 2 ms to 512 ms, in all a second. Later tries do not use the listener's options, since the
 * listener may be gone by then. */
#define SL_TCP_STUCK_US   2000ull
#define SL_TCP_STUCK_MOST 9
void sl_tcp_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		  const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, void *from);
/* Calls h->ops->scope; 0 if from is NULL. */
uint32_t sl_tcp_scope(struct sl_tcp_host *h, const struct sl_tcp_key *key, const void *from);

#endif
