/* SPDX-License-Identifier: BSD-2-Clause */
/* A foreign clock in terms of ours.
 *
 * Theory of operation: time is reckoned from the last pair at the rate that was measured between
 * the two last ones that were far enough apart. A pair that does not lie where the rate can have
 * brought it (crystals are within 100 ppm, PTP slews by at most some hundred) means that a clock
 * was set: the pair is taken, and the rate kept. Counters wrap: differences are taken modulo their
 * period, as signed, so stamps may be a little older or younger than the pair. */
#include "base/timemap.h"

#define MEASURE_NS 100000000ull /* least time between two pairs that measure a rate */
#define FRESH_NS   1000000000ull
#define MOST_PPM   1000ull
#define JITTER_NS  50000 /* of a reading */

static uint64_t scale(uint64_t counts, uint64_t rate)
{
	return (uint64_t)(((unsigned __int128)counts * rate) >> 32);
}

void sl_timemap_init(struct sl_timemap *m, uint64_t mask, uint64_t khz)
{
	*m = (struct sl_timemap){.mask = mask};
	m->nominal = m->rate = (uint64_t)(((unsigned __int128)1000000 << 32) / khz);
}

static uint64_t period_ns(const struct sl_timemap *m)
{
	unsigned __int128 ns = ((unsigned __int128)m->mask * m->nominal) >> 32;

	return ns > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)ns;
}

uint64_t sl_timemap_good_ns(const struct sl_timemap *m)
{
	return sl_min(period_ns(m) / 4, (uint64_t)FRESH_NS);
}

/* Counts between the last pair and raw; *back: raw lies before the pair. */
static uint64_t distance(const struct sl_timemap *m, uint64_t raw, bool *back)
{
	uint64_t counts = (raw - m->raw) & m->mask;

	*back = counts > m->mask / 2;
	return *back ? (m->raw - raw) & m->mask : counts;
}

uint64_t sl_timemap_ns(const struct sl_timemap *m, uint64_t raw)
{
	bool back;
	uint64_t ns = scale(distance(m, raw, &back), m->rate);

	return back ? m->ns - ns : m->ns + ns;
}

/* True: between the last pair and this one no clock was set, and the counter has not wrapped. */
static bool follows(const struct sl_timemap *m, uint64_t raw, uint64_t ns)
{
	uint64_t passed = ns - m->ns, told;
	bool back;

	if (ns <= m->ns || passed >= period_ns(m) / 2)
		return false;
	told = scale(distance(m, raw, &back), m->nominal);
	if (back)
		return false;
	return (told > passed ? told - passed : passed - told) <=
	       JITTER_NS + passed / 1000000 * MOST_PPM;
}

void sl_timemap_pair(struct sl_timemap *m, uint64_t raw, uint64_t ns)
{
	bool back;

	raw &= m->mask;
	if (m->pairs && follows(m, raw, ns)) {
		if (ns - m->ns < MEASURE_NS)
			return;
		m->rate = (uint64_t)(((unsigned __int128)(ns - m->ns) << 32) /
				     distance(m, raw, &back));
	}
	m->raw = raw;
	m->ns = ns;
	m->pairs++;
}

uint64_t sl_timecounter_ns(const struct sl_timecounter *c, uint64_t raw)
{
	uint64_t counts = (raw - c->raw) & c->mask;

	if (counts <= c->mask / 2)
		return c->ns +
		       (uint64_t)(((unsigned __int128)counts * c->mult + c->frac) >> c->shift);
	counts = (c->raw - raw) & c->mask;
	return c->ns - (uint64_t)(((unsigned __int128)counts * c->mult - c->frac) >> c->shift);
}

void sl_ptp_best(const struct sl_ptp_reading *r, unsigned n, uint64_t *phc_ns, uint64_t *real_ns)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < n; i++) {
		uint64_t took = r[i].after_ns - r[i].before_ns;

		if (took >= best)
			continue;
		best = took;
		*phc_ns = r[i].phc_ns;
		*real_ns = r[i].before_ns + took / 2;
	}
}
