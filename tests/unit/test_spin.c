/* SPDX-License-Identifier: BSD-2-Clause */
/* A spinner beside others on one core: it gives the core away, and leaves it to who never lets go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "sock/spin.h"

#define MS 1000000ull

static unsigned pieces; /* how often the other thread has had the core */
static bool ended;

static void *work_in_pieces(void *arg)
{
	while (!sl_load(&ended)) {
		sl_store(&pieces, pieces + 1);
		sched_yield();
	}
	return NULL;
}

static void *work_always(void *arg)
{
	while (!sl_load(&ended))
		sl_cpu_relax();
	return NULL;
}

/* With nobody there but our two threads, where we may have that. */
static void one_core(void)
{
	struct sched_param prio = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	sched_setscheduler(0, SCHED_RR, &prio);
}

static pthread_t other;

static void begin(void *(*work)(void *))
{
	ended = false;
	assert_int_equal(pthread_create(&other, NULL, work, NULL), 0);
}

static void end(void)
{
	sl_store(&ended, true);
	pthread_join(other, NULL);
}

/* Spins beside somebody who never lets go until it is told not to; when that was, or 0. */
static uint64_t spin_until_told(struct sl_spin *s)
{
	uint64_t now = sl_now_ns(), last = now + 10000 * MS;

	while (now < last) {
		if (!sl_spin_begin(s, now))
			return now;
		while (sl_spin_on(s, sl_now_ns()))
			;
		now = sl_now_ns();
	}
	return 0;
}

static void test_full_core_is_left_for_a_moment(void **state)
{
	struct sl_spin s;
	uint64_t told;

	begin(work_always);
	told = spin_until_told(&s);
	end();
	assert_true(told);
	assert_false(sl_spin_begin(&s, told));
	assert_true(sl_spin_begin(&s, told + 200 * MS));
	assert_true(s.until_ns > told + 200 * MS); /* the core was crowded: a short spin */
	assert_false(sl_spin_on(&s, s.until_ns));
	assert_true(sl_spin_begin(&s, told + 1000 * MS));
	assert_true(sl_spin_on(&s, told + 1000 * MS + 200000));
	assert_int_equal(s.until_ns, 0);
}

/* It would keep the core from others whom the kernel moves to idle ones only. */
static void test_crowded_core_is_not_kept_for_nothing(void **state)
{
	bool early = false;
	struct sl_spin s;

	for (int tries = 0; !early && tries < 100; tries++) {
		uint64_t now, told;

		begin(work_always);
		told = spin_until_told(&s);
		end();
		for (now = told; now < told + 250 * MS && !early; now = sl_now_ns()) {
			if (!sl_spin_begin(&s, now))
				continue;
			while (sl_spin_on(&s, sl_now_ns()))
				;
			early = sl_now_ns() < s.until_ns;
		}
	}
	assert_true(early);
}

/* (A time slice is milliseconds: a spinner that keeps its own leaves the other a few pieces.) */
static void test_short_pieces_of_others_go_between(void **state)
{
	unsigned most = 0;

	for (int tries = 0; most < 200 && tries < 50; tries++) {
		unsigned before = sl_load(&pieces);
		uint64_t now, last;
		struct sl_spin s;

		begin(work_in_pieces);
		for (now = sl_now_ns(), last = now + 20 * MS; now < last; now = sl_now_ns()) {
			if (!sl_spin_begin(&s, now))
				continue;
			while (now < last && sl_spin_on(&s, now))
				now = sl_now_ns();
		}
		most = sl_max(most, sl_load(&pieces) - before);
		end();
	}
	assert_true(most >= 200);
}

/* Somebody who waits for the core, woken by what we sent, say, is not kept waiting for our time
 * slice. */
static void test_who_waits_is_let_in_soon(void **state)
{
	struct sl_spin s;
	uint64_t now;
	unsigned before;

	begin(work_in_pieces);
	for (before = sl_load(&pieces); sl_load(&pieces) == before;)
		sched_yield();
	before = sl_load(&pieces);
	now = sl_now_ns();
	assert_true(sl_spin_begin(&s, now));
	assert_true(sl_spin_on(&s, now + 3000));
	assert_int_equal(sl_load(&pieces), before); /* an answer may be here any moment */
	for (uint64_t end = now + 6000; now < end;)
		now = sl_now_ns();
	assert_true(sl_spin_on(&s, now));
	assert_int_not_equal(sl_load(&pieces), before);
	end();
}

/* The others have had the core for a millisecond. */
static uint64_t crowd(struct sl_spin *s, uint64_t now)
{
	begin(work_in_pieces);
	assert_true(sl_spin_begin(s, now));
	for (unsigned before = sl_load(&pieces); sl_load(&pieces) == before;)
		sched_yield();
	assert_true(sl_spin_on(s, now += 1 * MS));
	end();
	assert_true(s->until_ns);
	return now;
}

/* Who takes the core for a millisecond now and then does not crowd it all the time. */
static void test_a_moment_is_followed_by_a_while(void **state)
{
	struct sl_spin s;
	uint64_t now = crowd(&s, sl_now_ns() + 10000 * MS);

	assert_true(sl_spin_begin(&s, now + 10 * MS));
	assert_true(s.until_ns);
	assert_true(sl_spin_begin(&s, now + 30 * MS));
	assert_false(s.until_ns);
}

/* Where spinning comes to nothing it is left out, but for a try now and then, until it comes to
 * something again. */
static void test_spins_for_nothing_become_few(void **state)
{
	struct sl_spin s;
	uint64_t now = crowd(&s, sl_now_ns() + 20000 * MS);
	unsigned spun = 0;

	for (int i = 0; i < 64; i++) {
		if (!sl_spin_begin(&s, now))
			continue;
		spun++;
		assert_true(s.until_ns);
		assert_false(sl_spin_on(&s, s.until_ns));
	}
	assert_in_range(spun, 5, 10);
	for (int i = 0; i < 100; i++)
		sl_spin_begin(&s, now);
	for (int i = 0; i < 100; i++)
		assert_true(sl_spin_begin(&s, now));
}

static void *look_for_crowd(void *crowded)
{
	uint64_t now = sl_now_ns(), last = now + 20000 * MS;
	struct sl_spin s = {0};

	for (; !s.until_ns && now < last; now = sl_now_ns())
		sl_spin_begin(&s, now); /* which sees no gap */
	*(bool *)crowded = s.until_ns;
	return NULL;
}

/* Where there are a few more than the machine has cores, though nobody takes ours. */
static void test_threads_without_a_core_are_seen(void **state)
{
	long n = sl_min(sysconf(_SC_NPROCESSORS_ONLN) + 1, 64L);
	bool crowded = false;
	pthread_t t[64], looker; /* (what it sees of its own core is not for the other tests) */

	ended = false;
	for (long i = 0; i < n; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work_always, NULL), 0);
	assert_int_equal(pthread_create(&looker, NULL, look_for_crowd, &crowded), 0);
	pthread_join(looker, NULL);
	sl_store(&ended, true);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	assert_true(crowded);
}

int main(void)
{
	int failed;
	const struct CMUnitTest anywhere[] = {
		cmocka_unit_test(test_threads_without_a_core_are_seen),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits_is_let_in_soon),
		cmocka_unit_test(test_a_moment_is_followed_by_a_while),
		cmocka_unit_test(test_spins_for_nothing_become_few),
		cmocka_unit_test(test_full_core_is_left_for_a_moment),
		cmocka_unit_test(test_crowded_core_is_not_kept_for_nothing),
		cmocka_unit_test(test_short_pieces_of_others_go_between),
	};

	failed = cmocka_run_group_tests(anywhere, NULL, NULL);
	one_core();
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
