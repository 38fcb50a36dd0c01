/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices that a spinning thread keeps others from running, and has it sleep instead.
 *
 * Theory of operation: a gap in the clock between two looks means that we did not run. The count of
 * involuntary context switches tells whether another thread of this machine ran meanwhile, or the
 * hypervisor took the core. If a thread ran, the core is *crowded* for many times as long as that
 * thread had it: a waiting thread sleeps at once, and the next spin finds out anew.
 *
 * A thread that spins alone on a core is never pushed aside, and does not see others wait for their
 * cores. So now and then we ask how many threads of the machine want a core. If they are more than
 * it has cores, ours is crowded, too. A thread that is bound to one core is exempt: that core is
 * meant to be its own. (Two servers, beside nothing else: nginx 60,000 to 88,000 requests/s, the
 * kernel's 94,000; PostgreSQL 44,000 to 51,000, the kernel's 54,000.)
 *
 * A receiver that our packets wake does not push us aside either before our time slice is over; if
 * it has no other core, we spin for an answer that it cannot send. So a thread that spins for
 * longer than an answer takes yields once (sched_yield(2), 0.3 us when no thread takes the core),
 * and if none took it, not again for a while. (Round trips on one core, TCP, one end
 * ours: 15 to 22 us before, 9 to 12 with it; both ours: 23 to 80, in one of three runs 7 ms; 8 to
 * 12.)
 *
 * A program that gets no packets must not take a core, however short its time-outs are, and polling
 * after a burst must cost no more than the burst. So a thread polls on *credit*: each packet is
 * worth EARN_NS of polling at most, and polling in vain uses the credit up; then, and when no
 * packet has come for CREDIT_NS, the thread sleeps at once. Requests that come every millisecond or
 * faster find the thread awake. Packets of a lane that came while the thread slept until its
 * time-out were for other threads, and are worth nothing to it: else each thread of a server would
 * poll once more, seconds after a burst that another thread has answered.
 *
 * Under a CPU quota of the control group polling would use up what the work needs, and the kernel
 * then stops all threads of the group for the rest of a period. So a thread polls for an eighth of
 * the quota at most. (A server with 200 requests a second, a quota of 0.2 cores: of 30 periods 10
 * to 23 were throttled.)
 *
 * It does not share a crowded core by yields, though that was as fast. What a yield means to the
 * scheduler differs: Linux 6.18 takes the rest of the slice for used, and after many in a row no
 * longer knows which thread is due (its commits 79104becf42b, b3d99f43c72b, 1319ea57529e are about
 * that). Here PostgreSQL's processes, each of its own session and so of its own autogroup, got no
 * core for seconds beside servers that yielded. */
#include "sock/core/spin.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fds.h"
#include "base/sys.h"
#include "sock/core/quota.h"
#include "sock/core/sock.h"

#define GAP_NS        500000ull    /* longer than interrupts and the keeper take */
#define LOOK_NS       50000ull     /* a system call of 0.2 us each: half a percent */
#define CROWDED_TIMES 20ull        /* crowded for so many times the gap */
#define CROWDED_NS    100000000ull /* at most */
#define LEAST_NS      1000000ull   /* at least */
#define SWITCH_NS     2000ull      /* a yield that took longer may have let others run */
#define ASK_NS        5000ull      /* a spin of this length yields once, to see if others wait */
#define ASK_AGAIN_NS  1000000ull   /* until the next yield, if no thread waited */

#define EARN_NS   1000000ull  /* of polling that a packet makes worth while, at most */
#define CREDIT_NS 10000000ull /* most that a thread polls in vain */
#define CREDIT_OF 8

#define QUOTA_NS   250000000ull /* between two looks at the quota */
#define QUOTA_PART 8000ull      /* a thread polls for an eighth; the quota is in thousandths */

#define LOAD_NS    4000000ull     /* between looks whether the machine has a core for all */
#define LOAD_NEVER 10000000000ull /* the same, where the machine does not tell */
#define OVER_ONE   32u            /* one look that says no: an eighth, of eight in a row 256 */
#define OVER_LEAST 64u            /* a quarter of the time */

/* Shared by all threads, so that a new thread does not spin on a core that others give up. */
static uint64_t load_at;    /* time of the next look */
static uint32_t over;       /* running average of looks that found too few cores */
static uint64_t over_until; /* all cores are crowded */

static uint32_t quota; /* thousandths of a core; 0: none */

static __thread uint64_t crowded_until, ask_at;
static __thread long switches;

static __thread struct {
	uintptr_t of[CREDIT_OF]; /* what the thread has polled, and the packets it had */
	uint32_t loads[CREDIT_OF];
	uint64_t seen_ns; /* the last packet */
	uint64_t left_ns;
} credit = {.left_ns = EARN_NS};

void sl_spin_look_at_quota(uint64_t now_ns)
{
	static uint64_t look_at;

	if (now_ns < look_at)
		return;
	look_at = now_ns + QUOTA_NS;
	sl_store(&quota, sl_quota_read());
}

/* Shortens a time of polling to the share that the quota allows. */
static uint64_t within_quota(uint64_t ns)
{
	uint32_t allowed = sl_load(&quota);

	return sl_unlikely(allowed && allowed < QUOTA_PART) ? ns * allowed / QUOTA_PART : ns;
}

uint64_t sl_spin_credit_ns(uintptr_t of, uint32_t loads, uint64_t now_ns)
{
	unsigned i = (unsigned)(of / SL_CACHELINE) % CREDIT_OF;
	uint32_t most = sl_min(loads - credit.loads[i], (uint32_t)(CREDIT_NS / EARN_NS));

	if (credit.of[i] == of && !most) /* (what is left is worth nothing long after the burst) */
		return now_ns - credit.seen_ns > CREDIT_NS ? 0 : credit.left_ns;
	if (credit.of[i] == of)
		credit.left_ns += sl_min(within_quota(now_ns - credit.seen_ns), most * EARN_NS);
	credit.left_ns = sl_min(credit.left_ns, within_quota(CREDIT_NS));
	credit.of[i] = of;
	credit.loads[i] = loads;
	credit.seen_ns = now_ns;
	return credit.left_ns;
}

void sl_spin_slept(uintptr_t of, uint32_t loads)
{
	unsigned i = (unsigned)(of / SL_CACHELINE) % CREDIT_OF;

	if (credit.of[i] == of)
		credit.loads[i] = loads;
}

void sl_spin_in_vain(uint64_t ns)
{
	credit.left_ns -= sl_min(credit.left_ns, ns);
}

uint64_t sl_spin_count(uint64_t since_ns)
{
	uint64_t ns = sl_now_ns() - since_ns;

	__atomic_fetch_add(&sl_stats->poll_ns, ns, __ATOMIC_RELAXED);
	return ns;
}

/* True: other threads have run here since the last call. */
static bool was_pushed_aside(void)
{
	struct rusage ru;
	long before = switches;

	if (sl_sys(SYS_getrusage, RUSAGE_THREAD, &ru) < 0)
		return false;
	switches = ru.ru_nivcsw; /* a yield that switches counts, too */
	return switches != before;
}

/* Marks the core as crowded: others have had it for took_ns. */
static void is_crowded(uint64_t now_ns, uint64_t took_ns)
{
	uint64_t for_ns = sl_min(took_ns * CROWDED_TIMES, CROWDED_NS);
	uint64_t until_ns = now_ns + sl_max(for_ns, LEAST_NS);

	crowded_until = sl_max(crowded_until, until_ns);
}

/* The machine ---------------------------------------------------------------------------------- */

/* The number of threads that run or wait for a core, on all cores; 0: not known. In "0.20 0.18 0.12
 * 3/80 11206" it is the 3 (proc_loadavg(5)). */
static unsigned runnable(void)
{
	static struct sl_fd_once file;
	char text[64], *at = text;

	if (sl_fd_once_read(&file, "/proc/loadavg", text, sizeof(text)) <= 0)
		return 0;
	for (int i = 0; at && i < 3; i++)
		at = strchr(at + !!i, ' ');
	return at ? (unsigned)strtoul(at + 1, NULL, 10) : 0;
}

static unsigned count_cores(void)
{
	char text[512], *end;
	cpu_set_t set;

	if (sl_read_text("/sys/devices/system/cpu/online", text, sizeof(text)) <= 0)
		return 0;
	end = strchr(text, '\n');
	if (end)
		*end = 0;
	return sl_cpus_parse(text, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 0;
}

/* True: this thread is bound to one core (or the kernel does not say). */
static bool is_bound(uint64_t now_ns)
{
	static __thread uint64_t look_at;
	static __thread bool bound;
	cpu_set_t mine;

	if (sl_likely(now_ns < look_at))
		return bound;
	look_at = now_ns + LOAD_NEVER;
	CPU_ZERO(&mine);
	bound = sl_sys(SYS_sched_getaffinity, 0, sizeof(mine), &mine) <= 0 || CPU_COUNT(&mine) < 2;
	return bound;
}

/* Called now and then by a thread that begins to spin. at_ns: the time that was due. */
static void look_at_load(uint64_t now_ns, uint64_t at_ns)
{
	static unsigned cores;
	unsigned have = sl_load(&cores), want;
	uint32_t often = sl_load(&over);

	if (is_bound(now_ns) ||
	    !__atomic_compare_exchange_n(&load_at, &at_ns, now_ns + LOAD_NS, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (!have)
		sl_store(&cores, have = count_cores());
	want = have ? runnable() : 0;
	if (!want)
		sl_store(&load_at, now_ns + LOAD_NEVER);
	often += (want > have ? OVER_ONE : 0) - often / 8;
	sl_store(&over, often);
	if (often >= OVER_LEAST)
		sl_store(&over_until, now_ns + 2 * LOAD_NS);
}

bool sl_spin_begin(struct sl_spin *s, uint64_t now_ns)
{
	uint64_t at_ns = sl_load(&load_at);

	s->last_ns = s->looked_ns = s->begun_ns = now_ns;
	if (sl_unlikely(now_ns >= at_ns))
		look_at_load(now_ns, at_ns);
	return now_ns >= crowded_until && (now_ns >= sl_load(&over_until) || is_bound(now_ns));
}

/* Yields once, to find out whether another thread waits for the core. Called in long spins, and
 * seldom while none does. False: another thread needs the core. */
static bool let_others(struct sl_spin *s, uint64_t now_ns)
{
	uint64_t took_ns;

	ask_at = now_ns + ASK_AGAIN_NS;
	sl_sys(SYS_sched_yield);
	s->last_ns = sl_now_ns();
	took_ns = s->last_ns - now_ns;
	if (took_ns < SWITCH_NS || !was_pushed_aside())
		return true;
	is_crowded(s->last_ns, took_ns);
	ask_at = s->last_ns;
	return false;
}

bool sl_spin_on(struct sl_spin *s, uint64_t now_ns)
{
	uint64_t gap = now_ns - s->last_ns;

	s->last_ns = now_ns;
	if (sl_unlikely(now_ns - s->looked_ns > LOOK_NS)) {
		s->looked_ns = now_ns;
		sl_shadow_look();
	}
	/* (Stolen by the hypervisor, or a page fault: the core is ours again.) */
	if (sl_unlikely(gap >= GAP_NS) && was_pushed_aside()) {
		is_crowded(now_ns, gap);
		return false;
	}
	if (sl_unlikely(now_ns - s->begun_ns > ASK_NS && now_ns >= ask_at))
		return let_others(s, now_ns);
	return true;
}
