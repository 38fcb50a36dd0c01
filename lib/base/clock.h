/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's clock: the TSC, calibrated against CLOCK_MONOTONIC; clock_gettime where there is
 * no invariant TSC. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include "base/base.h"

/* Notes the time from which sl_clock_init() measures, so that it need not wait for its millisecond.
 * Until that sl_now_ns() makes system calls. Not needed. */
void sl_clock_begin(void);
/* Calibrates, once; a millisecond after sl_clock_begin() at the earliest. One thread. */
void sl_clock_init(void);
/* CLOCK_MONOTONIC in nanoseconds, to within a microsecond or so. Any thread, no system call. */
uint64_t sl_now_ns(void);
/* CLOCK_REALTIME for a CLOCK_MONOTONIC stamp of the recent past, in nanoseconds. */
uint64_t sl_mono_to_real_ns(uint64_t mono_ns);

#endif
