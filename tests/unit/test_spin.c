/* SPDX-License-Identifier: BSD-2-Clause */
/* A spinner beside others on one core: it finds out, and leaves the core to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "sock/core/quota.h"
#include "sock/core/spin.h"

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

/* Runs to the time. */
static uint64_t pass(uint64_t until_ns)
{
	uint64_t now;

	while ((now = sl_now_ns()) < until_ns)
		;
	return now;
}

/* The core is somebody's who never lets go; for a while then we do not spin. */
static void test_full_core_is_left(void **state)
{
	struct sl_spin s;
	uint64_t now = pass(sl_now_ns() + 20 * MS); /* what was before is over */

	assert_true(sl_spin_begin(&s, now));
	begin(work_always);
	while (sl_spin_on(&s, now) && now < s.begun_ns + 10000 * MS)
		now = sl_now_ns();
	end();
	now = s.last_ns;
	assert_false(sl_spin_begin(&s, now));
	assert_false(sl_spin_begin(&s, now + 50 * MS));
	assert_true(sl_spin_begin(&s, now + 150 * MS));
}

static void await_piece(void)
{
	for (unsigned before = sl_load(&pieces); sl_load(&pieces) == before;)
		sched_yield();
}

/* Somebody who waits for the core, woken by what we sent, say, is not kept waiting for our time
 * slice. */
static void test_who_waits_is_let_in_soon(void **state)
{
	struct sl_spin s;
	uint64_t now;
	unsigned before;

	begin(work_in_pieces);
	await_piece();
	before = sl_load(&pieces);
	now = sl_now_ns();
	assert_true(sl_spin_begin(&s, now));
	assert_true(sl_spin_on(&s, now + 3000));
	assert_int_equal(sl_load(&pieces), before); /* an answer may be here any moment */
	now = pass(now + 6000);
	sl_spin_on(&s, now);
	assert_int_not_equal(sl_load(&pieces), before);
	end();
}

/* Where nobody waited it is not asked again at once. */
static void test_it_is_asked_seldom(void **state)
{
	struct sl_spin s;
	unsigned before = sl_load(&pieces);
	uint64_t now = sl_now_ns() + 20000 * MS;

	assert_true(sl_spin_begin(&s, now));
	assert_true(sl_spin_on(&s, now + 6000));
	begin(work_in_pieces);
	for (uint64_t later = 7000; later < 900000; later += 1000)
		assert_true(sl_spin_on(&s, now + later));
	assert_int_equal(sl_load(&pieces), before);
	sl_spin_on(&s, now + 2 * MS);
	assert_int_not_equal(sl_load(&pieces), before);
	end();
}

/* A thread that takes the core for a millisecond now and then does not crowd it all the time. */
static void test_a_moment_is_followed_by_a_while(void **state)
{
	struct sl_spin s;
	uint64_t now = sl_now_ns() + 10000 * MS;

	begin(work_in_pieces);
	assert_true(sl_spin_begin(&s, now));
	await_piece();
	assert_false(sl_spin_on(&s, now += 1 * MS));
	end();
	assert_false(sl_spin_begin(&s, now + 10 * MS));
	assert_true(sl_spin_begin(&s, now + 30 * MS));
}

static void *look_for_crowd(void *crowded)
{
	uint64_t now = sl_now_ns(), last = now + 20000 * MS;
	struct sl_spin s;
	bool may = true;

	for (; may && now < last; now = sl_now_ns())
		may = sl_spin_begin(&s, now); /* which sees no gap */
	*(bool *)crowded = !may;
	return NULL;
}

/* Where there are more than the machine has cores, though nobody takes ours. */
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

static uint64_t waits(uintptr_t of, uint32_t loads, uint64_t now_ns)
{
	uint64_t ns = sl_spin_credit_ns(of, loads, now_ns);

	sl_spin_in_vain(ns);
	return ns;
}

/* However often a thread waits, what it polls in vain is what packets have made worth while. */
static void test_polling_costs_no_more_than_the_burst(void **state)
{
	uint64_t now = 100000 * MS, polled;
	uintptr_t lane = 64, second = 128;

	waits(lane, 1, now); /* what a thread may poll at first */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(waits(lane, 1, now += MS), 0);
	assert_int_equal(waits(lane, 2, now += 50 * MS), MS);
	assert_int_equal(waits(lane, 3, now += MS / 10), MS / 10);
	assert_int_equal(waits(lane, 3, now += MS), 0);
	assert_int_equal(waits(second, 7, now), 0); /* (not seen before: says nothing) */
	assert_int_equal(waits(lane, 3, now += MS), 0);
	assert_int_equal(waits(second, 9, now += MS), 2 * MS);
	for (int i = 0; i < 1000; i++) /* requests that end the polling */
		polled = sl_spin_credit_ns(lane, (uint32_t)(4 + i), now += MS);
	assert_int_equal(polled, 10 * MS);
	assert_int_equal(waits(lane, 1003, now), 10 * MS);
	assert_int_equal(waits(lane, 1003, now), 0);
	assert_int_equal(waits(lane, 1003 + (1u << 31), now += 9 * MS), 9 * MS);
	(void)sl_spin_credit_ns(lane, 7, now += 9 * MS);
	assert_int_equal(waits(lane, 7, now + 11 * MS), 0); /* too late */
}

/* Under a CPU quota of the control group a thread polls for a small part of it. */

static bool put(const char *dir, const char *name, const char *text)
{
	char path[200];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = access(path, F_OK) ? NULL : fopen(path, "w");
	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return !fclose(f) && ok;
}

/* Microseconds of polling that 100 packets, 5 ms apart, earn a thread; it polls in vain after each.
 */
static uint64_t polled_us(uint64_t now)
{
	static char lane[64];
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= 100; i++) {
		uint64_t ns = sl_spin_credit_ns((uintptr_t)lane, i, now + i * 5 * MS);

		sl_spin_in_vain(ns);
		sum += i > 10 ? ns : 0; /* (a thread has some at its start) */
	}
	return sum / 1000;
}

/* Puts the process into a control group of its own, of a fifth of a core. False: there is none to
 * be had. */
static bool enter_group(char dir[100])
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"};

	for (unsigned i = 0; i < 2; i++) {
		snprintf(dir, 100, "%s/sluice-unit-%d", roots[i], getpid());
		if (mkdir(dir, 0755))
			continue;
		if ((put(dir, "cpu.max", "20000 100000") ||
		     (put(dir, "cpu.cfs_period_us", "100000") &&
		      put(dir, "cpu.cfs_quota_us", "20000"))) &&
		    put(dir, "cgroup.procs", "0"))
			return true;
		rmdir(dir);
	}
	return false;
}

static void leave_group(const char *dir)
{
	char root[100];

	snprintf(root, sizeof(root), "%s", dir);
	*strrchr(root, '/') = 0;
	assert_true(put(root, "cgroup.procs", "0"));
	rmdir(dir);
}

/* A process in a container sees its own group as the top. */
static void test_quota_of_the_top(void **state)
{
	char dir[100], root[100];
	int status;

	if (!enter_group(dir))
		skip();
	snprintf(root, sizeof(root), "%s", dir);
	*strrchr(root, '/') = 0;
	if (!fork()) {
		if (unshare(CLONE_NEWNS | CLONE_NEWCGROUP) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount(dir, root, NULL, MS_BIND, NULL))
			_exit(77);
		_exit(sl_quota_read() == 200 ? 0 : 1);
	}
	wait(&status);
	leave_group(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void test_polling_keeps_within_the_quota(void **state)
{
	uint64_t now = sl_now_ns(), us;
	char dir[100];

	assert_in_range(polled_us(now), 80000, 91000);
	if (!enter_group(dir))
		skip();
	us = sl_quota_read();
	sl_spin_look_at_quota(now + 1000 * MS);
	leave_group(dir);
	assert_int_equal(us, 200);
	us = polled_us(now + 2000 * MS);
	assert_in_range(us, 10000, 12500); /* 2.5 % of 450 ms */
	sl_spin_look_at_quota(now + 5000 * MS);
	assert_in_range(polled_us(now + 6000 * MS), 80000, 91000);
}

int main(void)
{
	int failed;
	const struct CMUnitTest anywhere[] = {
		cmocka_unit_test(test_polling_costs_no_more_than_the_burst),
		cmocka_unit_test(test_threads_without_a_core_are_seen),
		cmocka_unit_test(test_quota_of_the_top),
		cmocka_unit_test(test_polling_keeps_within_the_quota),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits_is_let_in_soon),
		cmocka_unit_test(test_full_core_is_left),
		cmocka_unit_test(test_a_moment_is_followed_by_a_while),
		cmocka_unit_test(test_it_is_asked_seldom),
	};

	failed = cmocka_run_group_tests(anywhere, NULL, NULL);
	one_core();
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
