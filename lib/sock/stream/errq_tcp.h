/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit time stamps of a stream. */
#ifndef SL_ERRQ_TCP_H
#define SL_ERRQ_TCP_H

#include "sock/core/errq.h"
#include "sock/stream/tconn.h"

/* Lane held. Marks the last byte that a call has written, for the stamps in flags. */
void sl_errq_mark(struct sl_tconn *c, uint32_t flags);
/* Makes the stamps of a marked connection's segment that was just posted. */
void sl_errq_segment(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		     const struct sl_tx_desc *d);
void sl_errq_acked(struct sl_tconn *c); /* snd_una has moved */
void sl_errq_unmark(struct sl_errq *q, struct sl_frames *cache);
/* Sets OPT_ID on a connection that was handed back: the kernel has all other options already. */
void sl_errq_to_kernel(struct sl_sock *sk, uint32_t write_seq);
/* errq_tcp.c: the stamps that a call asks for, by the socket's setting or by its control messages.
 * -EINVAL: a control message that streams do not take. */
int sl_errq_asks(struct sl_sock *sk, const struct msghdr *msg);
/* Queues an ICMP error that has ended an attempt to connect, as tcp_v4_err() and tcp_v6_err() do:
 * of IPv4 whether the program has set IP_RECVERR or not. Keeps the frame. Lane held. */
void sl_errq_icmp(struct sl_tconn *c, const struct sl_in_icmp *e, const struct sl_in *in);

#endif
