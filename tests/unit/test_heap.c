/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own heap: no two blocks overlap, whatever threads and signal handlers do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"

static void test_sizes(void **state)
{
	char *was = NULL;

	for (size_t bytes = 0; bytes < 300000; bytes += bytes < 5000 ? 1 : 977) {
		char *p = sl_malloc(bytes), *z = sl_calloc(1, bytes);

		assert_non_null(p);
		assert_non_null(z);
		assert_int_equal(0, (uintptr_t)p % 16);
		memset(p, 0xaa, bytes);
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(0, z[i]);
		sl_free(z);
		sl_free(was);
		was = p;
	}
	sl_free(was);
	sl_free(NULL);
}

static void test_too_much(void **state)
{
	volatile size_t most = SIZE_MAX; /* (the compiler would warn) */

	if (getenv("ASAN_OPTIONS") || sizeof(void *) < 8)
		skip();
#if !defined(__SANITIZE_ADDRESS__)
	assert_null(sl_malloc(most));
	assert_null(sl_malloc(most - 5000));
	assert_null(sl_calloc(most / 2, 3));
#endif
}

static void test_grows(void **state)
{
	unsigned char *p = NULL, *q;

	for (size_t bytes = 1; bytes < 200000; bytes += bytes / 3 + 1) {
		q = sl_realloc(p, bytes);
		assert_non_null(q);
		for (size_t i = 0; p && i < bytes / 2; i++)
			assert_int_equal(i % 251, q[i]);
		for (size_t i = 0; i < bytes; i++)
			q[i] = (unsigned char)(i % 251);
		p = q;
	}
	p = sl_realloc(p, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(i % 251, p[i]);
	sl_free(p);
}

static void test_aligned(void **state)
{
	for (size_t align = 16; align <= 4096; align *= 2)
		for (size_t bytes = 1; bytes < 100000; bytes = bytes * 5 + 3) {
			void *p = sl_aligned_alloc(align, bytes);

			assert_non_null(p);
			assert_int_equal(0, (uintptr_t)p % align);
			memset(p, 1, bytes);
			sl_free(p);
		}
}

#define SLOTS 64

struct slots {
	unsigned char *mem[SLOTS];
	size_t bytes[SLOTS];
	unsigned char mark[SLOTS];
	unsigned seed;
};

/* Frees a block of the set, whose bytes must be as they were left, or gets one. */
static void step(struct slots *s)
{
	unsigned i, n;

	s->seed = s->seed * 1103515245 + 12345;
	i = s->seed >> 16 & (SLOTS - 1);
	if (s->mem[i]) {
		for (size_t k = 0; k < s->bytes[i]; k++)
			if (s->mem[i][k] != s->mark[i])
				abort();
		sl_free(s->mem[i]);
		s->mem[i] = NULL;
		return;
	}
	/* Few large blocks: each is a mapping of its own, and its end interrupts the other cores.
	 */
	n = s->seed >> 8 & 63;
	s->bytes[i] = n == 63 ? 40000 : 1 + (s->seed >> 4 & 255) * (n & 7);
	s->mark[i] = (unsigned char)(s->seed >> 12);
	s->mem[i] = sl_malloc(s->bytes[i]);
	if (!s->mem[i])
		abort();
	memset(s->mem[i], s->mark[i], s->bytes[i]);
}

static void *work(void *arg)
{
	struct slots s = {.seed = (unsigned)(uintptr_t)arg};

	for (int i = 0; i < 200000; i++)
		step(&s);
	for (int i = 0; i < SLOTS; i++)
		sl_free(s.mem[i]);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(0, pthread_create(&t[i], NULL, work, (void *)(i * 7919 + 1)));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static struct slots of_handler = {.seed = 5};
static volatile sig_atomic_t handled;
static sigjmp_buf out;
static volatile sig_atomic_t jump;

static void on_alarm(int sig)
{
	for (int i = 0; i < 20; i++)
		step(&of_handler);
	handled++;
	if (jump)
		siglongjmp(out, 1);
}

/* A handler interrupts its own thread in the midst of a call, and may never return to it. */
static void test_handlers(void **state)
{
	struct itimerval often = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
	static struct slots s = {.seed = 9};
	struct sigaction sa = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 300)
		step(&s);
	sigsetjmp(out, 1);
	jump = 1; /* not before there is a place to jump to */
	/* A jump in the midst of a step loses that step's memory, and nothing else. */
	memset(&s, 0, sizeof(s));
	s.seed = (unsigned)handled;
	while (handled < 600)
		step(&s);
	setitimer(ITIMER_REAL, &off, NULL);
	work((void *)3);
}

/* A child of a process with threads finds the heap whole. */
static void test_fork(void **state)
{
	pthread_t t[2];

	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(0, pthread_create(&t[i], NULL, work, (void *)(i + 11)));
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			struct slots s = {.seed = (unsigned)i};

			alarm(20);
			for (int k = 0; k < 5000; k++)
				step(&s);
			_exit(0);
		}
		assert_int_equal(pid, waitpid(pid, &status, 0));
		assert_int_equal(0, status);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_aligned),
		cmocka_unit_test(test_threads),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(test_handlers),
		cmocka_unit_test(test_fork),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
