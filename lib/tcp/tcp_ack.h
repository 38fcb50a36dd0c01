/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments without data, and when an ACK is due (tcp_ack.c). */
#ifndef SL_TCP_ACK_H
#define SL_TCP_ACK_H

#include "tcp/tcp.h"

/* Values of ack_now, why an ACK leaves at the end of the turn (0: none does). */
enum {
	SL_TCP_ACK_NOW = 1,
	SL_TCP_ACK_QUICK, /* the peer's window is to open quickly: it may wait for our FIN */
};

void sl_tcp_send_ack(struct sl_tcp *c); /* at once */
/* Sends the SYN, or in SYN_RCVD the SYN-ACK (simultaneous open, Fast Open child), and arms rto_at
 * to repeat it. */
void sl_tcp_send_syn(struct sl_tcp *c);
/* Sends it with the Fast Open option of that segment, which has no other. */
void sl_tcp_send_syn_cookie(struct sl_tcp *c, const struct sl_tcp_seg *cookie);
/* Sends a reset once: if there is no room it is lost. Does not end c. */
void sl_tcp_send_rst(struct sl_tcp *c);
void sl_tcp_send_probe(struct sl_tcp *c, bool data); /* window probe, keepalive */
/* Call when data or a FIN came: makes an ACK due, now or later (RFC 1122 4.2.3.2, 5681 4.2). fin:
 * the peer has ended its stream and we have not: our FIN may carry the ACK. */
void sl_tcp_ack_data(struct sl_tcp *c, uint32_t len, bool in_order, bool push, bool fin);
void sl_tcp_ack_synack(struct sl_tcp *c); /* call when the answer to our SYN came */
void sl_tcp_ack_late(struct sl_tcp *c);   /* call when the delayed ACK is due */
void sl_tcp_ack_sent(struct sl_tcp *c);   /* call when a segment has carried all that an ACK says */
/* Arms delack_at for an ACK that may wait. */
void sl_tcp_timer_delack(struct sl_tcp *c);
/* Takes c off host->trains; its ACK is not held back any more. */
void sl_tcp_leave_train(struct sl_tcp *c);
/* Fills in acknowledgement, window, time stamp and ECE. Moves the window: call it only when
 * sending. */
void sl_tcp_fill_ack(struct sl_tcp *c, struct sl_tcp_seg *seg);
/* Fills in SACK blocks, up to `room` bytes of options. False: there are blocks, but no room. */
bool sl_tcp_fill_sack(struct sl_tcp *c, struct sl_tcp_seg *seg, uint32_t room);

#endif
