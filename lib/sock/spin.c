/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices that a spinning thread is in others' way.
 *
 * Theory of operation: a gap in the clock between two looks means that we did not run. Whether it
 * was another thread of this machine that ran (and not the hypervisor that took the core) the count
 * of involuntary context switches tells. Then this thread sleeps instead of spinning for a while,
 * which costs a wake-up each time (tens of microseconds) instead of a time slice (milliseconds). */
#include "sock/spin.h"

#include <sys/resource.h>

#include "base/sys.h"
#include "sock/sock.h"

#define GAP_NS     500000ull    /* longer than interrupts and the keeper take */
#define LOOK_NS    50000ull     /* a system call of 0.2 us each: half a percent */
#define CROWDED_NS 100000000ull /* how long we do without */

static __thread uint64_t crowded_until;
static __thread long switches;

static long involuntary(void)
{
	struct rusage ru;

	if (sl_sys(SYS_getrusage, RUSAGE_THREAD, &ru) < 0)
		return 0;
	return ru.ru_nivcsw;
}

bool sl_spin_begin(struct sl_spin *s, uint64_t now_ns)
{
	s->last_ns = s->looked_ns = now_ns;
	return sl_likely(now_ns >= crowded_until);
}

bool sl_spin_on(struct sl_spin *s, uint64_t now_ns)
{
	uint64_t gap = now_ns - s->last_ns;
	long n;

	s->last_ns = now_ns;
	if (sl_unlikely(now_ns - s->looked_ns > LOOK_NS)) {
		s->looked_ns = now_ns;
		sl_keeper_look();
	}
	if (sl_likely(gap < GAP_NS))
		return true;
	n = involuntary();
	if (n == switches)
		return true; /* stolen by the hypervisor, or a page fault: ours again */
	switches = n;
	crowded_until = now_ns + CROWDED_NS;
	return false;
}
