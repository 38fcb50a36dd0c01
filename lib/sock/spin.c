/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices that a spinning thread is in others' way, and stands back.
 *
 * Theory of operation: a gap in the clock between two looks means that we did not run. Whether it
 * was another thread of this machine that ran (and not the hypervisor that took the core) the count
 * of involuntary context switches tells. The core is *crowded* then: for many times as long as that
 * thread had it this one gives it away at each look (sched_yield(2), 0.3 us when nobody takes it),
 * and spins for much shorter. (Not for longer: the kernel's own threads take a core for a
 * millisecond now and then. A stream whose receiver went to sleep at each wait for 0.1 s after that
 * had 3.0 instead of 4.0 Gbit/s, since it is the sender that wakes it.)
 *
 * Others who work in short pieces, as servers and their clients do, cost us a context switch, and
 * we cost them nothing. But a core where one spins is never idle, so nobody is moved to it: when
 * spinning has cost as much as a sleep and the wake-up would have, we sleep, and cost at most twice
 * what the best choice did. (Four PostgreSQL backends and pgbench on two cores: for seconds one
 * spun alone on a core, and the others shared the second.)
 *
 * When somebody keeps the core for long it is *full*: we sleep, since a wake-up comes before those
 * who never sleep and a yield after them. To find out costs a time slice, so it is not asked again
 * before many times that has passed. (nginx with two workers and
 * wrk on two cores: 45,000 requests a second with spinning until the time slice is over and then
 * sleeping for 100 ms; 51,000 sleeping always; 72,000 so.) */
#include "sock/spin.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/sock.h"

#define GAP_NS        500000ull    /* longer than interrupts and the keeper take */
#define LOOK_NS       50000ull     /* a system call of 0.2 us each: half a percent */
#define CROWDED_TIMES 20ull        /* how many times as long a core is taken for crowded */
#define CROWDED_NS    100000000ull /* at most */
#define SPIN_NS       100000ull    /* the longest spin on a crowded core */
#define OWN_NS        8000ull      /* what of it may be for nothing: about what a sleep costs */
#define SWITCH_NS     2000ull      /* a yield that took longer may have let others run */
#define LONG_NS       100000ull    /* one that took longer found the core full */
#define REST_TIMES    30ull        /* how many times as long the core is taken for full */
#define REST_NS       200000000ull /* at most */

static __thread uint64_t crowded_until, full_until;
static __thread long switches;

/* Did others run here since the last question? */
static bool was_pushed_aside(void)
{
	struct rusage ru;
	long before = switches;

	if (sl_sys(SYS_getrusage, RUSAGE_THREAD, &ru) < 0)
		return false;
	switches = ru.ru_nivcsw; /* a yield that switches counts, too */
	return switches != before;
}

static uint64_t crowded_for(uint64_t took_ns)
{
	return sl_min(took_ns * CROWDED_TIMES, CROWDED_NS);
}

/* Others have had the core for so long. */
static void is_crowded(struct sl_spin *s, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t until_ns = now_ns + crowded_for(took_ns);

	crowded_until = sl_max(crowded_until, until_ns);
	if (!s->until_ns)
		s->until_ns = now_ns + SPIN_NS;
}

bool sl_spin_begin(struct sl_spin *s, uint64_t now_ns)
{
	s->last_ns = s->looked_ns = now_ns;
	s->until_ns = s->own_ns = 0;
	if (sl_likely(now_ns >= crowded_until))
		return true;
	s->until_ns = now_ns + SPIN_NS;
	return now_ns >= full_until;
}

/* Lets others run. False: they need the core more than we do. gap_ns: since the last look. */
static bool stand_back(struct sl_spin *s, uint64_t now_ns, uint64_t gap_ns)
{
	uint64_t took_ns;

	if (now_ns >= s->until_ns || s->own_ns >= OWN_NS)
		return false;
	sl_sys(SYS_sched_yield);
	s->last_ns = sl_now_ns();
	took_ns = s->last_ns - now_ns;
	s->own_ns += sl_min(gap_ns, SWITCH_NS) + sl_min(took_ns, SWITCH_NS);
	if (took_ns < SWITCH_NS)
		return true;
	/* (It is known already, mostly.) */
	if (took_ns < LONG_NS && crowded_until > s->last_ns + crowded_for(took_ns) / 2)
		return true;
	if (!was_pushed_aside())
		return true;
	is_crowded(s, s->last_ns, took_ns);
	if (took_ns < LONG_NS)
		return true;
	full_until = s->last_ns + sl_min(took_ns * REST_TIMES, REST_NS);
	crowded_until = full_until + CROWDED_NS;
	return false;
}

bool sl_spin_on(struct sl_spin *s, uint64_t now_ns)
{
	uint64_t gap = now_ns - s->last_ns;

	s->last_ns = now_ns;
	if (sl_unlikely(now_ns - s->looked_ns > LOOK_NS)) {
		s->looked_ns = now_ns;
		sl_keeper_look();
	}
	if (s->until_ns)
		return stand_back(s, now_ns, gap);
	/* (Stolen by the hypervisor, or a page fault: the core is ours again.) */
	if (sl_unlikely(gap >= GAP_NS) && was_pushed_aside())
		is_crowded(s, now_ns, gap);
	return true;
}
