/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on a stack of the library's: arguments, results, what they are for, signals, unwinding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "base/held.h"
#include "base/roomy.h"
#include "base/roomy_asm.h"

static const char *const text = "text";

static uint64_t six(int a, const char *b, bool c, uint32_t d, uint64_t e, short f)
{
	assert_int_equal(a, -1);
	assert_ptr_equal(b, text);
	assert_true(c);
	assert_int_equal(d, UINT32_MAX);
	assert_true(e == UINT64_MAX - 1);
	assert_int_equal(f, -3);
	return e;
}

static bool is_odd(uint64_t n)
{
	return n & 1;
}

static int minus(int n)
{
	return -n;
}

static int calls;
static void nothing(void)
{
	calls++;
}

static void test_arguments_and_results(void **state)
{
	int n = 0;

	assert_true(SL_ROOMY(six, -1, text, true, UINT32_MAX, UINT64_MAX - 1, (short)-3) ==
		    UINT64_MAX - 1);
	assert_true(SL_ROOMY(is_odd, 0x100000001ull));
	assert_false(SL_ROOMY(is_odd, 0x100000100ull));
	assert_int_equal(SL_ROOMY(minus, ++n), -1); /* arguments are evaluated once */
	assert_int_equal(n, 1);
	SL_ROOMY(nothing);
	assert_int_equal(calls, 1);
}

#ifdef SL_ROOMY_SWITCH

static char *outer;

static bool is_elsewhere(unsigned deep)
{
	char *here = __builtin_frame_address(0);
	bool in_handler;

	assert_true(sl_roomy_on(&in_handler));
	assert_false(in_handler);
	if (deep) /* not another one */
		return SL_ROOMY(is_elsewhere, deep - 1);
	return labs(here - outer) > SL_ROOMY_BYTES / 2;
}

static void test_another_stack(void **state)
{
	bool in_handler;

	outer = __builtin_frame_address(0);
	assert_false(sl_roomy_on(&in_handler));
	assert_true(SL_ROOMY(is_elsewhere, 0));
	assert_true(SL_ROOMY(is_elsewhere, 3));
	assert_false(sl_roomy_on(&in_handler));
}

static size_t fill(size_t bytes)
{
	volatile char *p = alloca(bytes);

	for (size_t i = 0; i < bytes; i += 64)
		p[i] = 1;
	return bytes;
}

static void *in_small_thread(void *arg)
{
	size_t bytes = SL_ROOMY_BYTES - 8192;

	return (void *)(intptr_t)(SL_ROOMY(fill, bytes) == bytes);
}

/* Several at a time, more than are kept. */
static void test_small_threads(void **state)
{
	pthread_attr_t a;
	pthread_t t[12];
	void *r;

	pthread_attr_init(&a);
	assert_int_equal(pthread_attr_setstacksize(&a, (size_t)sysconf(_SC_THREAD_STACK_MIN)), 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(pthread_create(&t[i], &a, in_small_thread, NULL), 0);
	for (int i = 0; i < 12; i++) {
		pthread_join(t[i], &r);
		assert_non_null(r);
	}
}

static bool ended; /* the call on the other stack has */
static int handled;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	bool in_handler;

	if (sl_held_defer(sig, info, context))
		return;
	handled++;
	assert_true(ended);
	assert_false(sl_roomy_on(&in_handler));
}

static void raise_signal(void)
{
	int cancel;

	raise(SIGUSR1);
	assert_int_equal(handled, 0);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	assert_int_equal(cancel, PTHREAD_CANCEL_DISABLE);
	ended = true;
}

static void test_signals_wait(void **state)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	int cancel;

	sigaction(SIGUSR1, &act, NULL);
	SL_ROOMY(raise_signal);
	assert_int_equal(handled, 1);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
	assert_int_equal(cancel, PTHREAD_CANCEL_ENABLE);
}

static bool found;

static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *arg)
{
	found |= (uintptr_t)_Unwind_GetRegionStart(c) == (uintptr_t)arg;
	return _URC_NO_REASON;
}

static void unwind(void *fn)
{
	_Unwind_Backtrace(look, fn);
}

static void test_unwinding(void **state)
{
	SL_ROOMY(unwind, (void *)(uintptr_t)test_unwinding);
	assert_true(found);
}

/* A list of a call's is in nobody else's stack. */
static void test_memory(void **state)
{
	char *a = sl_roomy_get(), *b = sl_roomy_get();

	assert_non_null(a);
	assert_non_null(b);
	assert_true(labs(a - b) >= SL_ROOMY_BYTES);
	memset(a, 1, SL_ROOMY_BYTES);
	memset(b, 2, SL_ROOMY_BYTES);
	sl_roomy_put(a);
	SL_ROOMY(fill, 100000);
	assert_int_equal(b[0], 2);
	assert_int_equal(b[SL_ROOMY_BYTES - 1], 2);
	sl_roomy_put(b);
	sl_roomy_put(NULL);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_and_results),
#ifdef SL_ROOMY_SWITCH
		cmocka_unit_test(test_another_stack),
		cmocka_unit_test(test_small_threads),
		cmocka_unit_test(test_signals_wait),
		cmocka_unit_test(test_unwinding),
		cmocka_unit_test(test_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
