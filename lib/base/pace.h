/* SPDX-License-Identifier: BSD-2-Clause */
/* When the next packet of a rate may go (a bucket as in ITU-T I.371, the virtual scheduling
 * algorithm). It reads no clock.
 *
 * In any time T no more than rate * T and the burst leave. Who came late (a timer is) may make up
 * for it: for LATE_NS at most, or, where a burst was asked for, as far as that goes. Who had
 * nothing to send gains the burst, and no more. */
#ifndef SL_PACE_H
#define SL_PACE_H

#include "base/base.h"

/* As late as the keeper's tick; a burst of so much is what a stall costs. */
#define SL_PACE_LATE_NS 10000000ull

/* What SO_MAX_PACING_RATE asks for. */
struct sl_pace_ask {
	uint64_t bytes_s;      /* 0: as fast as may be */
	uint32_t burst_bytes;  /* 0: not said */
	uint16_t packet_bytes; /* a typical packet's; 0: not said */
};

struct sl_pace {
	uint64_t bytes_s; /* 0: as fast as may be */
	uint32_t burst_bytes;
	uint64_t next_ns; /* from then on a packet may go */
	uint64_t rest;    /* of the division, so that no rounding adds up */
	/* What was measured: bytes sent while their rate alone held them up, and that time. */
	uint64_t busy_bytes, busy_ns;
	uint64_t last_ns; /* of the last packet, or since when its rate holds; 0: there was none */
};

static inline bool sl_pace_may(const struct sl_pace *p, uint64_t now_ns)
{
	return p->next_ns <= now_ns;
}

/* Another rate, 0: none. What the next packet waits for was reckoned by the old one. */
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

/* Nothing has waited until now: what follows is not late. */
static inline void sl_pace_idle(struct sl_pace *p, uint64_t now_ns)
{
	uint64_t credit_ns = p->bytes_s ? p->burst_bytes * 1000000000ull / p->bytes_s : 0;

	p->next_ns = sl_max(p->next_ns, now_ns > credit_ns ? now_ns - credit_ns : 0);
}

/* A packet goes, which may. waited: it could have gone before, had somebody looked. */
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
	/* What it may make up for is no greater rate. */
	p->last_ns = busy ? now_ns : p->next_ns;
	cost = bytes * 1000000000ull + p->rest;
	p->next_ns += cost / p->bytes_s;
	p->rest = cost % p->bytes_s;
}

#endif
