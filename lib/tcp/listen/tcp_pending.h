/* SPDX-License-Identifier: BSD-2-Clause */
/* Fast Open handshakes that are not complete (tcp_pending.c). */
#ifndef SL_TCP_PENDING_H
#define SL_TCP_PENDING_H

#include "tcp/tcp.h"

/* How many handshakes count against l's TCP_FASTOPEN. */
uint32_t sl_tcp_pending_count(struct sl_tcp_host *h, const struct sl_tcp_listener *l);
/* From now on the child's handshake counts. False: no memory. l's end must be
 * told (sl_tcp_pending_forget()). */
bool sl_tcp_pending_add(struct sl_tcp *c, struct sl_tcp_listener *l);
/* Call when the handshake is complete, or has failed: it counts no more. */
void sl_tcp_pending_done(struct sl_tcp *c);
/* Call when a reset has ended the handshake: it counts for a minute. */
void sl_tcp_pending_reset(struct sl_tcp *c);
/* Call before l ends. */
void sl_tcp_pending_forget(struct sl_tcp_host *h, struct sl_tcp_listener *l);

#endif
