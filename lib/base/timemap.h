/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts a foreign clock (a free-running counter, or a PHC) to another clock. Takes no lock and
 * reads no clock: the caller does both. */
#ifndef SL_TIMEMAP_H
#define SL_TIMEMAP_H

#include "base/base.h"

/* Built from pairs of readings of both clocks at the same moment. */
struct sl_timemap {
	uint64_t mask;    /* of the counter: 2^bits - 1 */
	uint64_t raw, ns; /* the pair that times are computed from */
	uint64_t rate;    /* nanoseconds for a count, 32.32 fixed point; as measured */
	uint64_t nominal; /* nominal rate, same unit */
	uint32_t pairs;   /* pairs given so far; 0: no time can be told */
};

/* A counter of that many bits (mask) and that many thousand counts a second. */
void sl_timemap_init(struct sl_timemap *m, uint64_t mask, uint64_t khz);
/* Adds a pair: the counter was `raw` at ns. Best once a second; a pair less than 100 ms after the
 * last one measures no rate. A clock that was set is believed at once. */
void sl_timemap_pair(struct sl_timemap *m, uint64_t raw, uint64_t ns);
/* The time when the counter was `raw`, less than half of its period before or after the last
 * pair. */
uint64_t sl_timemap_ns(const struct sl_timemap *m, uint64_t raw);
/* Maximum age of the last pair (nanoseconds): a quarter of the period, a second at most. */
uint64_t sl_timemap_good_ns(const struct sl_timemap *m);

/* A driver's description of its counter: struct mlx5dv_clock_info, Linux' timecounter. */
struct sl_timecounter {
	uint64_t ns, raw, frac, mask;
	uint32_t mult, shift;
};
uint64_t sl_timecounter_ns(const struct sl_timecounter *c, uint64_t raw);

/* Pairs a device's PHC with CLOCK_REALTIME (PTP_SYS_OFFSET_EXTENDED, ptp_sys_offset_extended):
 * takes the fastest of n readings {before, PHC, after}, in nanoseconds. */
struct sl_ptp_reading {
	uint64_t before_ns, phc_ns, after_ns;
};
void sl_ptp_best(const struct sl_ptp_reading *r, unsigned n, uint64_t *phc_ns, uint64_t *real_ns);

#endif
