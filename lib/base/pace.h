/* SPDX-License-Identifier: BSD-2-Clause */
/* When the next packet of a rate may go (a bucket as in ITU-T I.371, the virtual scheduling
 * algorithm). It reads no clock.
 *
 * In any time T at most rate * T plus the burst leave. A sender that was called late (timers are)
 * may catch up on at most SL_PACE_LATE_NS, or on the burst if the application asked for one. A
 * sender that had nothing to send gains the burst and no more. */
#ifndef SL_PACE_H
#define SL_PACE_H

#include "base/base.h"

/* The keeper's tick: a timer may be late by this; after a stall a burst of this length leaves. */
#define SL_PACE_LATE_NS 10000000ull

/* The rate that SO_MAX_PACING_RATE asks for. */
struct sl_pace_ask {
	uint64_t bytes_s;      /* 0: no limit */
	uint32_t burst_bytes;  /* 0: not given */
	uint16_t packet_bytes; /* of a typical packet; 0: not given */
};
static inline bool sl_pace_ask_is_same(const struct sl_pace_ask *a, const struct sl_pace_ask *b)
{
	return a->bytes_s == b->bytes_s && a->burst_bytes == b->burst_bytes &&
	       a->packet_bytes == b->packet_bytes;
}

struct sl_pace {
	uint64_t bytes_s; /* 0: no limit */
	uint32_t burst_bytes;
	uint64_t next_ns; /* a packet may leave from this time on */
	uint64_t rest;    /* remainder of the division, so that rounding errors do not add up */
	/* Measured: bytes sent while only the rate delayed them, and the time that took. */
	uint64_t busy_bytes, busy_ns;
	uint64_t last_ns; /* time of the last packet, or when it was due; 0: none at this rate */
};

static inline bool sl_pace_may(const struct sl_pace *p, uint64_t now_ns)
{
	return p->next_ns <= now_ns;
}

/* Sets the rate, 0: no limit. Rescales the wait of the next packet from the old rate to it. */
static inline void sl_pace_set(struct sl_pace *p, uint64_t bytes_s, uint32_t burst_bytes,
			       uint64_t now_ns)
{
	uint64_t left_ns = bytes_s && p->next_ns > now_ns ? p->next_ns - now_ns : 0;
	uint64_t next_ns = sl_min(p->next_ns, now_ns);

	if (left_ns)
		left_ns = (uint64_t)((double)left_ns * (double)p->bytes_s / (double)bytes_s);
	*p = (struct sl_pace){
		.bytes_s = bytes_s,
		.burst_bytes = burst_bytes,
		.next_ns = left_ns ? now_ns + left_ns : next_ns,
	};
}

/* Nothing was waiting to be sent until now, so the next packet is not late. */
static inline void sl_pace_idle(struct sl_pace *p, uint64_t now_ns)
{
	uint64_t credit_ns = p->bytes_s ? p->burst_bytes * 1000000000ull / p->bytes_s : 0;

	p->next_ns = sl_max(p->next_ns, now_ns > credit_ns ? now_ns - credit_ns : 0);
}

/* Counts a packet that leaves; sl_pace_may() was true. waited: it was ready earlier. */
static inline void sl_pace_sent(struct sl_pace *p, uint32_t bytes, uint64_t now_ns, bool waited)
{
	bool busy = p->last_ns && now_ns < p->next_ns + SL_PACE_LATE_NS;
	uint64_t credit_ns = waited ? SL_PACE_LATE_NS : 0, cost;

	if (!p->bytes_s)
		return;
	if (busy) {
		p->busy_bytes += bytes;
		p->busy_ns += now_ns - p->last_ns;
	}
	if (p->burst_bytes)
		credit_ns = p->burst_bytes > bytes
				    ? (p->burst_bytes - bytes) * 1000000000ull / p->bytes_s
				    : 0;
	if (p->next_ns + credit_ns < now_ns) {
		p->next_ns = now_ns - credit_ns;
		p->rest = 0;
	}
	/* Catching up is no higher rate: count an idle sender's packet from when it was due. */
	p->last_ns = busy ? now_ns : p->next_ns;
	cost = bytes * 1000000000ull + p->rest;
	p->next_ns += cost / p->bytes_s;
	p->rest = cost % p->bytes_s;
}

#endif
