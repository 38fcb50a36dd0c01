/* SPDX-License-Identifier: BSD-2-Clause */
/* May this thread spin? Spinning pays only while it has a core to itself: when another thread waits
 * for the core the spinner burns its time slice, milliseconds, and the one it waits for may be that
 * very thread. */
#ifndef SL_SPIN_H
#define SL_SPIN_H

#include "base/base.h"

/* A spin under way; on the caller's stack. */
struct sl_spin {
	uint64_t last_ns;   /* of the last look at the clock */
	uint64_t looked_ns; /* at what the kernel has for the shadows */
};

/* False: the core was crowded a moment ago; go to sleep at once. now_ns: CLOCK_MONOTONIC. */
bool sl_spin_begin(struct sl_spin *s, uint64_t now_ns);
/* Call every microsecond or so; now and then it looks for the keeper, which may not get a core, at
 * what the kernel has. False: somebody else wants the core; stop spinning. */
bool sl_spin_on(struct sl_spin *s, uint64_t now_ns);

#endif
