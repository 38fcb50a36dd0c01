/* SPDX-License-Identifier: BSD-2-Clause */
/* May this thread spin? Spinning pays only while no other thread wants the core: else the spinner
 * burns its time slice, milliseconds, and the one it waits for may be the very thread that is kept
 * from running. */
#ifndef SL_SPIN_H
#define SL_SPIN_H

#include "base/base.h"

/* Ends a spin at once: what the thread may poll is used up. */
#define SL_SPIN_LEAST_NS 2000ull

/* How long the calling thread may poll, in ns: as much as packets have made worth while. Each
 * packet since the last call is worth the time since then, at most a millisecond. of: what it polls
 * (the address of a lane, or the sum of several); loads: how many batches of packets came there so
 * far. */
uint64_t sl_spin_credit_ns(uintptr_t of, uint32_t loads, uint64_t now_ns);
/* The calling thread has slept until its time-out, and nothing came for it: what came there in the
 * meantime (loads, as above) makes no polling worth while. */
void sl_spin_slept(uintptr_t of, uint32_t loads);
/* The calling thread has polled for so long, and nothing came. */
void sl_spin_in_vain(uint64_t ns);

/* Counts a spin that began at since_ns, for SLUICE_CPU_USAGE_STATS, however it ended. Returns how
 * long it was, in ns. */
uint64_t sl_spin_count(uint64_t since_ns);
/* The keeper's, now and then: the quota that bounds it may have changed. */
void sl_spin_look_at_quota(uint64_t now_ns);

/* A spin under way; on the caller's stack. */
struct sl_spin {
	uint64_t begun_ns;
	uint64_t last_ns;   /* of the last look at the clock */
	uint64_t looked_ns; /* at what the kernel has for the shadows */
};

/* False: others want the core; go to sleep at once. now_ns: CLOCK_MONOTONIC. */
bool sl_spin_begin(struct sl_spin *s, uint64_t now_ns);
/* Call every microsecond or so; now and then it looks for the keeper, which may not get a core, at
 * what the kernel has, and lets others run. False: stop spinning. */
bool sl_spin_on(struct sl_spin *s, uint64_t now_ns);

#endif
