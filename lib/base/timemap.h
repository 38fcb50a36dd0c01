/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks that are not ours: a counter that runs freely, or a PHC, in terms of another clock. No
 * lock, no clock reads: the caller brings both. */
#ifndef SL_TIMEMAP_H
#define SL_TIMEMAP_H

#include "base/base.h"

/* Known by pairs of readings that belong together. */
struct sl_timemap {
	uint64_t mask;    /* of the counter: 2^bits - 1 */
	uint64_t raw, ns; /* the pair that is reckoned from */
	uint64_t rate;    /* nanoseconds for a count, 32.32 fixed point; as measured */
	uint64_t nominal; /* the same, as it should be */
	uint32_t pairs;   /* that were given; 0: it knows nothing */
};

/* A counter of that many bits (mask) and that many thousand counts a second. */
void sl_timemap_init(struct sl_timemap *m, uint64_t mask, uint64_t khz);
/* The counter was `raw` at ns. Best once a second; more often than every 100 ms measures no rate. A
 * clock that was set is believed at once. */
void sl_timemap_pair(struct sl_timemap *m, uint64_t raw, uint64_t ns);
/* What time it was when the counter was `raw`: less than half of its period before or after the
 * last pair. */
uint64_t sl_timemap_ns(const struct sl_timemap *m, uint64_t raw);
/* So old may the last pair be (nanoseconds): a quarter of the period, a second at most. */
uint64_t sl_timemap_good_ns(const struct sl_timemap *m);

/* What a driver tells of its counter: struct mlx5dv_clock_info, Linux' timecounter. */
struct sl_timecounter {
	uint64_t ns, raw, frac, mask;
	uint32_t mult, shift;
};
uint64_t sl_timecounter_ns(const struct sl_timecounter *c, uint64_t raw);

/* The PHC of a device against CLOCK_REALTIME (PTP_SYS_OFFSET_EXTENDED, ptp_sys_offset_extended):
 * of n readings {before, PHC, after} in nanoseconds the one that took least. */
struct sl_ptp_reading {
	uint64_t before_ns, phc_ns, after_ns;
};
void sl_ptp_best(const struct sl_ptp_reading *r, unsigned n, uint64_t *phc_ns, uint64_t *real_ns);

#endif
