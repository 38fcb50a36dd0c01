/* SPDX-License-Identifier: BSD-2-Clause */
/* The lane lock: exclusion, sleepers that are woken, and the signal handler that is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
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

/* Rounds in which one thread holds the lock for a moment while another waits for it; the number in
 * which the latter slept. */
#define ROUNDS 300

static struct {
	int core[2];
	uint32_t held, wants, had; /* the round; atomic */
	long slept;
} duel;

static void run_on(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void await(const uint32_t *word, uint32_t round)
{
	while (sl_load_acquire(word) != round)
		if (duel.core[0] == duel.core[1])
			sched_yield();
}

static void *want(void *arg)
{
	struct rusage before, after;

	run_on(duel.core[1]);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		await(&duel.held, round);
		getrusage(RUSAGE_THREAD, &before);
		sl_store_release(&duel.wants, round);
		sl_lock(&lock);
		sl_unlock(&lock);
		getrusage(RUSAGE_THREAD, &after);
		duel.slept += after.ru_nvcsw > before.ru_nvcsw;
		sl_store_release(&duel.had, round);
	}
	return NULL;
}

static long slept(enum sl_lock_wait how, int holder_core, int waiter_core)
{
	pthread_t t;

	duel.core[0] = holder_core;
	duel.core[1] = waiter_core;
	duel.held = duel.wants = duel.had = 0;
	duel.slept = 0;
	sl_lock_wait = how;
	run_on(holder_core);
	pthread_create(&t, NULL, want, NULL);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		sl_lock(&lock);
		sl_store_release(&duel.held, round);
		await(&duel.wants, round);
		if (holder_core != waiter_core)
			for (int i = 0; i < 50; i++) /* about a microsecond */
				sl_cpu_relax();
		sl_unlock(&lock);
		await(&duel.had, round);
	}
	pthread_join(t, NULL);
	return duel.slept;
}

static void test_modes_of_waiting(void **state)
{
	cpu_set_t all;
	long spins, other;
	int core[2], n = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all))
			core[n++] = i;
	/* On one core the holder cannot go on while the waiter spins. */
	spins = slept(SL_LOCK_SPINS, core[0], core[0]);
	other = slept(SL_LOCK_YIELDS, core[0], core[0]);
	print_message("one core: slept %ld of %d times, %ld by yielding\n", spins, ROUNDS, other);
	assert_true(spins > 2 * other);
	if (n == 2) {
		spins = slept(SL_LOCK_SPINS, core[0], core[1]);
		other = slept(SL_LOCK_SLEEPS, core[0], core[1]);
		print_message("two: %ld, %ld without spinning\n", spins, other);
		assert_true(other > 2 * spins);
	}
	sched_setaffinity(0, sizeof(all), &all);
	sl_lock_wait = SL_LOCK_SPINS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_try_and_again),
		cmocka_unit_test(test_threads_exclude_each_other),
		cmocka_unit_test(test_all_sleepers_are_woken),
		cmocka_unit_test(test_modes_of_waiting),
		cmocka_unit_test(test_signal_handler_never_waits_for_itself),
#if defined(__x86_64__)
		cmocka_unit_test(test_no_signal_is_lost_at_any_instruction),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
