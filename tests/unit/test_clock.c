/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock beside CLOCK_MONOTONIC. Its source is included, so that its base can be moved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "base/clock.c"

static void sleep_ns(long ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	nanosleep(&ts, NULL);
}

/* Our clock and the kernel's at one moment: the closest pair of many, since we may be preempted
 * between the two. */
static void at_once(uint64_t *ours, uint64_t *kernels)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t a = mono_ns(CLOCK_MONOTONIC), now = sl_now_ns();
		uint64_t b = mono_ns(CLOCK_MONOTONIC);

		if (b - a < best) {
			best = b - a;
			*ours = now;
			*kernels = a + (b - a) / 2;
		}
	}
}

static void assert_right(void)
{
	uint64_t ours, kernels;

	at_once(&ours, &kernels);
	assert_in_range(ours, kernels - 100000, kernels + 100000);
}

static void test_within_a_percent(void **state)
{
	uint64_t a, b, m, n;

	at_once(&a, &m);
	sleep_ns(50000000);
	at_once(&b, &n);
	assert_in_range((b - a) * 1000 / (n - m), 990, 1010);
	assert_right(); /* the same epoch */
}

/* Across the second at which the base is taken anew. */
static void test_never_goes_back(void **state)
{
	uint64_t last = sl_now_ns(), end = last + 1200000000ull;

	while (last < end) {
		uint64_t now = sl_now_ns();

		if (now < last)
			fail_msg("%llu ns back", (unsigned long long)(last - now));
		last = now;
	}
	assert_right();
}

static void *watch(void *arg)
{
	uint64_t end = sl_now_ns() + 1200000000ull, last = 0, now;

	for (now = sl_now_ns(); now < end; now = sl_now_ns()) {
		if (now < last || now > last + 60000000000ull + (last == 0 ? now : 0))
			return "time jumped";
		last = now;
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	pthread_t t[2];
	void *ret;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, watch, NULL), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &ret);
		if (ret)
			fail_msg("%s", (const char *)ret);
	}
}

/* Our calibration was too fast: what was told so far stays told, and the error goes away. */
static void test_fast_clock_is_slowed_not_set_back(void **state)
{
	uint64_t last, now, end;

	if (!clk.tsc)
		skip();
	clk.mult += clk.mult / 5000; /* 200 ppm */
	last = sl_now_ns();
	for (end = last + 2500000000ull; last < end; last = now) {
		now = sl_now_ns();
		if (now < last)
			fail_msg("%llu ns back", (unsigned long long)(last - now));
	}
	assert_right();
}

/* Another core has taken the base a moment after we have read our counter. */
static void test_counter_behind_its_base(void **state)
{
	uint64_t base = clk.base_tsc, now, then;

	if (!clk.tsc)
		skip();
	clk.base_tsc = read_tsc() + 1000000;
	then = sl_now_ns();
	now = mono_ns(CLOCK_MONOTONIC);
	clk.base_tsc = base;
	assert_true(then < now + 10000000000ull); /* not in five hundred years */
}

static void test_real_time(void **state)
{
	uint64_t before = mono_ns(CLOCK_REALTIME), real = sl_mono_to_real_ns(sl_now_ns());
	uint64_t after = mono_ns(CLOCK_REALTIME);

	/* sl_mono_to_real_ns() reads two clocks of the kernel one after the other. */
	assert_in_range(real, before - 10000000, after + 10000000);
}

static int setup(void **state)
{
	sl_clock_init();
	if (!clk.tsc)
		puts("no invariant TSC: clock_gettime() is what is tested");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_a_percent),
		cmocka_unit_test(test_never_goes_back),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_fast_clock_is_slowed_not_set_back),
		cmocka_unit_test(test_counter_behind_its_base),
		cmocka_unit_test(test_real_time),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
