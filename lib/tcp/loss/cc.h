/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control: the algorithms (cc_bbr.c, cc_bbr3.c, cc_cubic.c, cc_dctcp.c, cc_reno.c) and
 * what they share (cc.c).
 */
#ifndef SL_CC_H
#define SL_CC_H

#include "tcp/tcp_conn.h"

struct sl_tcp_ack;
struct sl_txseg;
union tcp_cc_info;

/* A congestion control algorithm, as a table of functions (like tcp_congestion_ops of Linux). cwnd
 * and ssthresh count segments of c->mss. What begins with on_ may be NULL, but for on_ack, and so
 * may undo_cwnd. */
struct sl_cc {
	const char *name;
	void (*init)(struct sl_tcp *c);
	/* called while the window is not being reduced. acked_segs: newly acknowledged, by SACK
	 * too; rtt_us 0: no sample */
	void (*on_ack)(struct sl_tcp *c, uint32_t acked_segs, uint32_t rtt_us);
	uint32_t (*ssthresh)(struct sl_tcp *c); /* ssthresh after a loss, in segments */
	void (*on_rto)(struct sl_tcp *c);
	void (*on_recovery)(struct sl_tcp *c); /* recovery begins; ssthresh is set */
	/* each ACK, before it is judged (in_ack_event of Linux) */
	void (*on_any_ack)(struct sl_tcp *c, const struct sl_tcp_ack *a);
	/* piece s is marked as lost, and counted in c->lost */
	void (*on_lost)(struct sl_tcp *c, const struct sl_txseg *s);
	uint32_t (*undo_cwnd)(struct sl_tcp *c); /* cwnd if the reduction was spurious */
	void (*on_idle)(struct sl_tcp *c);       /* sending starts again after an idle time */
	/* The algorithm sets cwnd itself in recovery, too (cong_control of Linux): on_ack() is
	 * called for every ACK, and neither PRR nor an idle time changes the window. */
	bool controls;
	/* The algorithm lives of ECN: SYNs ask for it, every segment is capable of it, and marks
	 * are echoed one by one (TCP_CONG_NEEDS_ECN of Linux). */
	bool ecn;
	const struct sl_cc *without_ecn; /* takes its place where the peer does not do ECN */
	/* getsockopt(TCP_CC_INFO): bytes of *info that it fills. NULL: it has none */
	uint32_t (*info)(const struct sl_tcp *c, union tcp_cc_info *info);
};

#define SL_TCP_INFINITE_SSTHRESH 0x7fffffffu /* as TCP_INFO shows it */
extern const struct sl_cc sl_cc_bbr, sl_cc_bbr3, sl_cc_cubic, sl_cc_dctcp, sl_cc_dctcp_reno,
	sl_cc_reno;
/* Begins c->cc anew, with memory for its rates if it needs that. Without memory c->cc is CUBIC. */
void sl_cc_start(struct sl_tcp *c);
/* Call when it is known whether the peer does ECN. */
void sl_cc_opened(struct sl_tcp *c);
/* NULL: there is no algorithm of that name. */
const struct sl_cc *sl_cc_find(const char *name);
/* Names of all algorithms, ended by NULL. */
const char *const *sl_tcp_congestions(void);

/* RFC 5681 slow start and congestion avoidance, for all algorithms. Slow start returns the segments
 * that it did not use; avoidance adds one segment to cwnd for every w acknowledged. */
uint32_t sl_cc_slow_start(struct sl_tcp *c, uint32_t acked);
void sl_cc_avoid(struct sl_tcp *c, uint32_t w, uint32_t acked);
static inline bool sl_cc_in_slow_start(const struct sl_tcp *c)
{
	return c->cwnd < c->ssthresh;
}

/* True: the connection uses its window, so growing it makes sense (RFC 7661). */
bool sl_cc_is_limited(const struct sl_tcp *c);
/* Called by sl_tcp_output() before it sends new data while none are in flight: after an idle time
 * the window may be wrong (RFC 5681 4.1, tcp_slow_start_after_idle). */
void sl_cc_idle_check(struct sl_tcp *c);
/* The ssthresh to set when the window shrinks because it was not used (RFC 2861), or to restore if
 * the reduction is undone. */
uint32_t sl_cc_current_ssthresh(const struct sl_tcp *c);
/* Call when a segment was sent: notes whether the window is used, and lets an unused one decay.
 * in_flight: segments, this one included. */
void sl_cc_on_sent(struct sl_tcp *c, uint32_t in_flight);

#endif
