/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of the library's: taken for a call, kept for the next one. */
#include "base/roomy.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/handler.h"
#include "base/held.h"
#include "base/memcheck.h"
#include "base/roomy_asm.h"
#include "base/sys.h"

#define KEPT 4 /* threads that are rarely in slow calls at the same time */
#define GUARD                                                                                      \
	4096 /* a page that ends the program, not another thread's memory, if a stack is full */

static void *kept[KEPT]; /* NULL: that place is free */

void *sl_roomy_get(void)
{
	char *mem;

	for (unsigned i = 0; i < KEPT; i++) {
		mem = sl_load(&kept[i]) ? __atomic_exchange_n(&kept[i], NULL, __ATOMIC_ACQUIRE)
					: NULL;
		if (mem)
			return mem;
	}
	mem = sl_sys_pages(GUARD + SL_ROOMY_BYTES, MAP_STACK | MAP_NORESERVE);
	if (!mem)
		return NULL;
	sl_sys(SYS_mprotect, mem, GUARD, PROT_NONE);
	(void)sl_memcheck(SL_MEMCHECK_STACK, (uintptr_t)mem + GUARD,
			  (uintptr_t)mem + GUARD + SL_ROOMY_BYTES);
	return mem + GUARD;
}

void sl_roomy_put(void *mem)
{
	for (unsigned i = 0; mem && i < KEPT; i++) {
		void *none = NULL;

		if (__atomic_compare_exchange_n(&kept[i], &none, mem, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	if (mem)
		sl_sys(SYS_munmap, (char *)mem - GUARD, GUARD + SL_ROOMY_BYTES);
}

/* (A program with much thread-local storage needs more.) */
int sl_roomy_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
#ifdef SL_ROOMY_SWITCH
	pthread_attr_setstacksize(&attr, SL_ROOMY_BYTES);
#endif
	err = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return err == EINVAL ? pthread_create(thread, NULL, fn, arg) : err;
}

#ifdef SL_ROOMY_SWITCH

SL_ROOMY_SWITCH(sl_roomy_switch);
long sl_roomy_switch(uintptr_t fn, const long arg[6], void *top);

/* This thread's, NULL: none. A handler that this library does not wrap may jump off it; the thread
 * takes another one then. */
static __thread char *stack __attribute__((tls_model("initial-exec")));
static __thread bool handler __attribute__((tls_model("initial-exec")));

bool sl_roomy_on(bool *in_handler)
{
	if (sl_likely(!stack) ||
	    (uintptr_t)((char *)__builtin_frame_address(0) - stack) >= SL_ROOMY_BYTES)
		return false;
	*in_handler = handler;
	return true;
}

static long call_on(char *mem, uintptr_t fn, const long arg[6])
{
	bool in_handler = sl_in_signal(), outer_handler = handler;
	char *outer = stack;
	int cancel;
	long r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sl_hold();
	stack = mem;
	handler = in_handler;
	r = sl_roomy_switch(fn, arg, mem + SL_ROOMY_BYTES);
	stack = outer;
	handler = outer_handler;
	(void)sl_memcheck(SL_MEMCHECK_FRESH, (uintptr_t)mem, SL_ROOMY_BYTES);
	sl_roomy_put(mem);
	pthread_setcancelstate(cancel, NULL);
	sl_release(); /* the last: a handler may not return */
	return r;
}

#else

bool sl_roomy_on(bool *in_handler)
{
	return false;
}

#endif

long sl_roomy_call(uintptr_t fn, const long arg[6])
{
#ifdef SL_ROOMY_SWITCH
	bool in_handler;
	char *mem = sl_roomy_on(&in_handler) ? NULL : sl_roomy_get();

	if (mem)
		return call_on(mem, fn, arg);
#endif
	return ((long (*)(long, long, long, long, long, long))fn)(arg[0], arg[1], arg[2], arg[3],
								  arg[4], arg[5]);
}
