/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms of times, which SLUICE_LATENCY_STATS counts for each socket. */
#ifndef SL_TIMES_H
#define SL_TIMES_H

#include "base/base.h"

enum sl_time {
	SL_TIME_RX_WAIT, /* the driver, or the lane, has received it; until it is read */
	SL_TIME_RX_WIRE, /* the device's stamp; until it is read */
	SL_TIME_TX_CALL, /* a send call begins; until all its bytes are on the device's ring */
	SL_TIME_ANSWER,  /* a stream's last byte leaves; until bytes that came later are read */
	SL_TIMES
};

#define SL_TIME_PLACES 24
/* Place i counts times of less than sl_times_below_ns(i) that the place before does not; the last
 * one the rest. */
struct sl_times {
	uint64_t ns; /* their sum */
	uint64_t place[SL_TIME_PLACES];
};

static inline uint64_t sl_times_below_ns(unsigned i)
{
	return 256ull << i;
}

static inline void sl_times_note(struct sl_times *t, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
	unsigned i = ns >> 8 ? 64u - (unsigned)__builtin_clzll(ns >> 8) : 0;

	t->place[sl_min(i, SL_TIME_PLACES - 1u)]++;
	t->ns += ns;
}

#endif
