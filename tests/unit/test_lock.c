/* SPDX-License-Identifier: BSD-2-Clause */
/* The lane lock: exclusion, sleepers that are woken, and the signal handler that is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

static struct sl_lock lock;

static void test_try_and_again(void **state)
{
	assert_true(sl_trylock(&lock));
	assert_false(sl_trylock(&lock));
	assert_false(sl_lock(&lock)); /* ours already: said, not waited for */
	sl_unlock(&lock);
	assert_true(sl_lock(&lock));
	assert_false(sl_trylock(&lock));
	sl_unlock(&lock);
	assert_true(sl_trylock(&lock));
	sl_unlock(&lock);
}

static uint64_t shared[2]; /* protected by the lock: always equal */

static void *count(void *arg)
{
	for (int i = 0; i < 200000; i++) {
		if (!sl_lock(&lock))
			return "told that it holds what it does not";
		if (shared[0] != shared[1])
			return "two were inside";
		shared[0]++;
		shared[1]++;
		sl_unlock(&lock);
	}
	return NULL;
}

static void test_threads_exclude_each_other(void **state)
{
	pthread_t t[4];
	void *ret;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &ret);
		if (ret)
			fail_msg("%s", (const char *)ret);
	}
	assert_int_equal(shared[0], 800000);
}

static void *take_and_release(void *arg)
{
	if (sl_lock(&lock))
		sl_unlock(&lock);
	return NULL;
}

/* Long enough for them to sleep. */
static void test_all_sleepers_are_woken(void **state)
{
	static const struct timespec ms20 = {0, 20000000};
	pthread_t t[6];

	assert_true(sl_lock(&lock));
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&t[i], NULL, take_and_release, NULL), 0);
	nanosleep(&ms20, NULL);
	sl_unlock(&lock);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL); /* hangs if one was forgotten */
	assert_true(sl_trylock(&lock));
	sl_unlock(&lock);
}

static volatile sig_atomic_t told, taken;

static void on_signal(int sig)
{
	if (sl_lock(&lock)) {
		taken++;
		sl_unlock(&lock);
	} else {
		told++;
	}
}

/* At any instruction of lock and unlock: the handler must get the lock or be told, never wait for
 * the thread that it has interrupted. */
static void test_signal_handler_never_waits_for_itself(void **state)
{
	static const struct itimerval often = {{0, 20}, {0, 20}}, never;
	struct sigaction sa = {.sa_handler = on_signal};
	struct timespec start, now;

	told = taken = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 1000; i++) {
			assert_true(sl_lock(&lock));
			sl_unlock(&lock);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_true(told > 0);
	assert_true(taken > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_try_and_again),
		cmocka_unit_test(test_threads_exclude_each_other),
		cmocka_unit_test(test_all_sleepers_are_woken),
		cmocka_unit_test(test_signal_handler_never_waits_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
