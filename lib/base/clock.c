/* SPDX-License-Identifier: BSD-2-Clause */
/* TSC clock. Theory of operation: ns = base_ns + (tsc - base_tsc) * mult >> 32, with mult measured
 * against CLOCK_MONOTONIC. NTP slews CLOCK_MONOTONIC by at most 500 ppm, so the first
 * caller in each second takes a new base; the seqlock keeps readers consistent. Time never goes
 * back: a clock that has run ahead is slowed, so that it is right a second later. */
#include "base/clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/sys.h"

#define REBASE_NS 1000000000ull

static struct {
	uint32_t seq; /* odd: being written */
	bool tsc;
	uint64_t base_tsc, base_ns, mult;
	uint64_t seen_tsc, seen_ns, rate; /* the writer's: last pair, and mult without slowing */
} clk;

static uint64_t mono_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
/* Invariant TSC: CPUID 8000_0007h EDX bit 8 (AMD APM 3, Intel SDM 3). */
static bool have_tsc(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

static uint64_t read_tsc(void)
{
	return __rdtsc();
}
#else
static bool have_tsc(void)
{
	return false;
}

static uint64_t read_tsc(void)
{
	return 0;
}
#endif

/* A pair of readings that belong together: the closest of a few tries. */
static void read_pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t t0 = read_tsc();
		uint64_t n = mono_ns(CLOCK_MONOTONIC);
		uint64_t t1 = read_tsc();

		if (i == 0 || t1 - t0 < best) {
			best = t1 - t0;
			*tsc = t0 + (t1 - t0) / 2;
			*ns = n;
		}
	}
}

static uint64_t scale(uint64_t ticks, uint64_t mult)
{
	return (uint64_t)(((unsigned __int128)ticks * mult) >> 32);
}

static uint64_t measure(uint64_t ns, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

static void rebase(void)
{
	uint32_t seq = sl_load(&clk.seq);
	uint64_t tsc, ns, told, ahead;

	if ((seq & 1) || !__atomic_compare_exchange_n(&clk.seq, &seq, seq + 1, false,
						      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return; /* another thread does it */
	read_pair(&tsc, &ns);
	if (ns - clk.seen_ns > REBASE_NS / 2 && tsc > clk.seen_tsc)
		clk.rate = measure(ns - clk.seen_ns, tsc - clk.seen_tsc);
	clk.seen_tsc = tsc;
	clk.seen_ns = ns;
	told = clk.base_ns + scale(tsc - clk.base_tsc, clk.mult);
	ahead = told > ns ? sl_min(told - ns, REBASE_NS / 2) : 0;
	sl_store(&clk.mult, clk.rate - (uint64_t)((unsigned __int128)clk.rate * ahead / REBASE_NS));
	sl_store(&clk.base_tsc, tsc);
	sl_store(&clk.base_ns, sl_max(told, ns));
	sl_store_release(&clk.seq, seq + 2); /* pairs with the acquire in read_clock() */
}

void sl_clock_begin(void)
{
	if (!clk.tsc && have_tsc())
		read_pair(&clk.seen_tsc, &clk.seen_ns);
}

void sl_clock_init(void)
{
	uint64_t t1, n1;

	if (clk.tsc || !have_tsc())
		return;
	if (!clk.seen_ns)
		sl_clock_begin();
	do
		read_pair(&t1, &n1);
	while (n1 - clk.seen_ns < 1000000); /* good to some ten ppm, refined later */
	clk.mult = clk.rate = measure(n1 - clk.seen_ns, t1 - clk.seen_tsc);
	clk.base_tsc = clk.seen_tsc = t1;
	clk.base_ns = clk.seen_ns = n1;
	sl_store_release(&clk.tsc, true); /* other threads may read the time already */
}

/* Reads the time, and the time since the base. The counter may be read a little before the base is,
 * and another core may have moved the base in between: then the time since the base is 0, where the
 * unsigned difference would be five hundred years. */
static inline __attribute__((always_inline)) uint64_t read_clock(uint64_t *since_base)
{
	uint64_t ns;
	int64_t ticks;
	uint32_t seq;

	do {
		seq = sl_load_acquire(&clk.seq);
		ticks = (int64_t)(read_tsc() - sl_load(&clk.base_tsc));
		*since_base = sl_likely(ticks > 0) ? scale((uint64_t)ticks, sl_load(&clk.mult)) : 0;
		ns = sl_load(&clk.base_ns) + *since_base;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sl_unlikely((seq & 1) || seq != sl_load(&clk.seq)));
	return ns;
}

/* Apart, with its calls, so that sl_now_ns() itself saves no registers. */
static SL_COLD uint64_t now_by_kernel(void)
{
	return mono_ns(CLOCK_MONOTONIC);
}

static SL_COLD uint64_t now_rebased(uint64_t ns)
{
	uint64_t since_base;

	rebase();
	return sl_max(ns, read_clock(&since_base));
}

uint64_t sl_now_ns(void)
{
	uint64_t ns, since_base;

	if (sl_unlikely(!clk.tsc))
		return now_by_kernel();
	ns = read_clock(&since_base);
	return sl_unlikely(since_base > REBASE_NS) ? now_rebased(ns) : ns;
}

uint64_t sl_mono_to_real_ns(uint64_t mono)
{
	return mono_ns(CLOCK_REALTIME) - mono_ns(CLOCK_MONOTONIC) + mono;
}
