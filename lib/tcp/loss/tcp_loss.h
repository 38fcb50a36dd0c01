/* SPDX-License-Identifier: BSD-2-Clause */
/* Loss and recovery: an ACK is judged, and the window follows (tcp_loss.c). */
#ifndef SL_TCP_LOSS_H
#define SL_TCP_LOSS_H

#include "tcp/tcp.h"

/* An ACK: the files that handle it fill this in, one after the other. */
struct sl_tcp_ack {
	uint32_t prior_una;
	uint32_t acked_segs;  /* newly acknowledged by the cumulative ACK */
	uint32_t sacked_segs; /* newly acknowledged by SACK */
	uint32_t delivered;   /* both together */
	uint32_t rtt_us;      /* 0: no sample */
	bool dsack, ece, data, window_changed;
	bool old; /* below snd_una: not a duplicate ACK */
	/* used only by tcp_loss.c and tcp_rack.c */
	uint32_t prior_fack, last_rtt_us, tsecr;
	bool ts, dsack_tlp, orig_acked, retx_acked;
	bool reordered; /* counted for this part of the ACK: its SACK blocks, or its number */
};

/* Sets the first window, and starts c->cc; call when c's sequence numbers are set. */
void sl_tcp_loss_init(struct sl_tcp *c);
/* Call after sl_tcp_snd_drop() and sl_tcp_rtt_sample() (tcp_in.c passes that a->rtt_us: from pieces
 * sent once, else from the time stamp). Detects losses, and updates congestion state and window by
 * c->cc, and by sl_tcp_loss_on_ece() if a->ece. */
void sl_tcp_loss_on_ack(struct sl_tcp *c, struct sl_tcp_ack *a);
/* Call when the RTO expires: sets marks, window and state. sl_tcp_output(), which tcp_timer.c
 * requests afterwards, gets the head from sl_tcp_loss_next(). */
void sl_tcp_loss_on_rto(struct sl_tcp *c);
/* Call after tcp_timer.c has sent a tail loss probe and set c->tlp_retrans (true: the probe
 * repeated data). Sets tlp_out and tlp_end_seq. */
void sl_tcp_loss_on_tlp(struct sl_tcp *c);
/* Call when the reordering window ends (RFC 8985 6.3). */
void sl_tcp_loss_on_reo_timer(struct sl_tcp *c);
/* Call when the peer echoes a congestion mark (RFC 3168 6.1.2). */
void sl_tcp_loss_on_ece(struct sl_tcp *c);
/* Called by sl_tcp_xmit_piece() after each success, with the piece's sent_us and sent set, before
 * tx_nxt moves. Sets SL_TXS_RETX, retx_out, and the state of undo, PRR and window validation. */
void sl_tcp_loss_on_sent(struct sl_tcp *c, uint32_t i, bool retransmission);
/* Number of segments that may be in flight now (cwnd, PRR, limited transmit). */
uint32_t sl_tcp_loss_cwnd(const struct sl_tcp *c);

#endif
