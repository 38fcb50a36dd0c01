/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that the versions of bbr share: rates, the pace, and windows that are made of them
 * (cc_bw.c). Rates (bw) are segments of c->mss a microsecond, times 2^24; gains are times 2^8. */
#ifndef SL_CC_BW_H
#define SL_CC_BW_H

#include <linux/inet_diag.h>

#include "tcp/loss/tcp_rate.h"

#define SL_BW_SHIFT 24
#define SL_BW_UNIT  (1ull << SL_BW_SHIFT)
#define SL_BW_GAIN  256u /* a gain of 1 */

#define SL_BW_MIN_CWND     4u
#define SL_BW_FIRST_CWND   10u /* RFC 6928; until there is a model */
#define SL_BW_CLUMP_ROUNDS 5u

/* ACKs that come in clumps: how much more than the rate says arrives at once. */
struct sl_bw_clumps {
	uint64_t since_us;
	uint32_t acked, extra[2];
	uint8_t rounds, i;
};

/* Bytes of payload a second at that rate, less 1 %, so that no queue builds up. */
uint64_t sl_bw_bytes_s(const struct sl_tcp *c, uint64_t bw, uint32_t gain);
/* Sets the pace before the first sample: the window in a round trip, or in a millisecond. */
void sl_bw_first_pace(struct sl_tcp *c, uint32_t gain);
/* Sets the pace to that rate and gain. full: the path is known to be full; else the pace only
 * grows, and is set anew, by `first` as gain, when the round trip becomes known. */
void sl_bw_pace(struct sl_tcp *c, uint32_t bw, uint32_t gain, bool full, uint32_t first);
/* Segments in a burst at the present pace. */
uint32_t sl_bw_burst(const struct sl_tcp *c);
/* The sample's rate; 0: there is none. */
uint32_t sl_bw_sample(const struct sl_rate_sample *s);
/* Segments that a path of that rate and round trip holds, times the gain, rounded up. */
uint32_t sl_bw_product(uint32_t bw, uint32_t rtt_us, uint32_t gain);
/* Segments of in_flight that are in the network when the next burst leaves. */
uint32_t sl_bw_in_net(const struct sl_tcp *c, uint32_t bw, uint32_t in_flight);
/* The times at which flows look for more must not be the same: a number of all bits. */
uint32_t sl_bw_random(const struct sl_tcp *c);

/* Fills in the rate for TCP_CC_INFO; the rest is the caller's. Returns the size. */
uint32_t sl_bw_info(const struct sl_tcp *c, uint32_t bw, struct tcp_bbr_info *info);

/* Counts the segments that an ACK acknowledges. rounds: a maximum lasts for one to two times as
 * many round trips; 0: none ends with this ACK. */
void sl_bw_clumps_take(struct sl_bw_clumps *k, const struct sl_tcp *c, uint32_t bw, uint32_t acked,
		       uint8_t rounds);
/* Begins to count anew. */
void sl_bw_clumps_restart(struct sl_bw_clumps *k, uint64_t now_us);
/* How many segments the window must hold for them, a tenth of a second at most. */
uint32_t sl_bw_clumps_most(const struct sl_bw_clumps *k, uint32_t bw);

#endif
