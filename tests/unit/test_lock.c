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
#include <ucontext.h>
#include <unistd.h>

#include "base/held.h"
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

#if defined(__x86_64__)
/* A signal at each instruction of two sections, one inside the other: stepped through by the
 * processor's trap flag. It is handled once, at once or at the sections' end. */
static int at_step, steps, handled;
static bool put_off;

static void on_user(int sig)
{
	assert_int_equal(sl_held, 0);
	handled++;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	siginfo_t user = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};

	if (steps++ != at_step)
		return;
	c->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	put_off = sl_held_defer(SIGUSR1, &user, context);
	if (!put_off)
		handled++;
}

static void trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "cc", "memory");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "cc", "memory");
}

SL_APART static void two_sections(void)
{
	trap(true);
	sl_hold();
	sl_hold();
	sl_release();
	sl_release();
	trap(false);
}

static void test_no_signal_is_lost_at_any_instruction(void **state)
{
	struct sigaction user = {.sa_handler = on_user};
	struct sigaction step = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	sigset_t mask;
	int late = 0;

	sigfillset(&step.sa_mask);
	sigaction(SIGUSR1, &user, NULL);
	sigaction(SIGTRAP, &step, NULL);
	for (at_step = 0; at_step <= steps; at_step++) {
		steps = handled = 0;
		put_off = false;
		two_sections();
		if (steps <= at_step)
			break;
		late += put_off;
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		assert_false(sigismember(&mask, SIGUSR1));
		assert_int_equal(handled, 1);
		assert_int_equal(sl_held, 0);
	}
	assert_true(late >= 2 && late < at_step);
	signal(SIGTRAP, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_try_and_again),
		cmocka_unit_test(test_threads_exclude_each_other),
		cmocka_unit_test(test_all_sleepers_are_woken),
		cmocka_unit_test(test_signal_handler_never_waits_for_itself),
#if defined(__x86_64__)
		cmocka_unit_test(test_no_signal_is_lost_at_any_instruction),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
