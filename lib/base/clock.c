/* SPDX-License-Identifier: BSD-2-Clause */
/* TSC clock. Theory of operation: ns = base_ns + (tsc - base_tsc) * mult >> 32, with mult measured
 * against CLOCK_MONOTONIC. NTP slews CLOCK_MONOTONIC by at most 500 ppm, so the base is taken anew
 * once a second by whoever calls first; the seqlock keeps readers consistent. */
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
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t t0 = read_tsc();
		uint64_t n = mono_ns(CLOCK_MONOTONIC);
		uint64_t t1 = read_tsc();

		if (t1 - t0 < best) {
			best = t1 - t0;
			*tsc = t0 + (t1 - t0) / 2;
			*ns = n;
		}
	}
}

static void rebase(void)
{
	uint32_t seq = sl_load(&clk.seq);
	uint64_t tsc, ns;

	if ((seq & 1) || !__atomic_compare_exchange_n(&clk.seq, &seq, seq + 1, false,
						      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return; /* somebody else does it */
	read_pair(&tsc, &ns);
	if (ns - clk.base_ns > REBASE_NS / 2 && tsc > clk.base_tsc)
		sl_store(&clk.mult, (uint64_t)(((unsigned __int128)(ns - clk.base_ns) << 32) /
					       (tsc - clk.base_tsc)));
	sl_store(&clk.base_tsc, tsc);
	sl_store(&clk.base_ns, ns);
	sl_store_release(&clk.seq, seq + 2); /* pairs with the acquire in sl_now_ns() */
}

void sl_clock_init(void)
{
	uint64_t t0, n0, t1, n1;

	if (!have_tsc())
		return;
	read_pair(&t0, &n0);
	do
		read_pair(&t1, &n1);
	while (n1 - n0 < 1000000); /* one millisecond: good to some ten ppm, refined later */
	clk.mult = (uint64_t)(((unsigned __int128)(n1 - n0) << 32) / (t1 - t0));
	clk.base_tsc = t1;
	clk.base_ns = n1;
	clk.tsc = true;
}

uint64_t sl_now_ns(void)
{
	uint64_t ns, delta;
	uint32_t seq;

	if (!clk.tsc)
		return mono_ns(CLOCK_MONOTONIC);
	do {
		seq = sl_load_acquire(&clk.seq);
		delta = (uint64_t)(((unsigned __int128)(read_tsc() - sl_load(&clk.base_tsc)) *
				    sl_load(&clk.mult)) >>
				   32);
		ns = sl_load(&clk.base_ns) + delta;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sl_unlikely((seq & 1) || seq != sl_load(&clk.seq)));
	if (sl_unlikely(delta > REBASE_NS))
		rebase();
	return ns;
}

uint64_t sl_mono_to_real_ns(uint64_t mono)
{
	return mono_ns(CLOCK_REALTIME) - mono_ns(CLOCK_MONOTONIC) + mono;
}
