/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's clock: the TSC, calibrated against CLOCK_MONOTONIC; clock_gettime where there is
 * no invariant TSC. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include "base/base.h"

/* Calibrates; called once, before any other call. */
void sl_clock_init(void);
/* CLOCK_MONOTONIC in nanoseconds, to within a microsecond or so. Any thread, no system call. */
uint64_t sl_now_ns(void);
/* CLOCK_REALTIME for a CLOCK_MONOTONIC stamp of the recent past, in nanoseconds. */
uint64_t sl_mono_to_real_ns(uint64_t mono_ns);

#endif
