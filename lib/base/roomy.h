/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of functions that need more stack than a thread of the program may have (PTHREAD_STACK_MIN
 * is 16 KB, coroutines have as little): they run on a stack of the library's, on the same thread.
 *
 * Theory of operation: the same thread goes on, with its thread-local storage, locks and
 * identity; only its stack pointer is elsewhere until the function returns. Debuggers and
 * unwinders find the caller by the frame's description (roomy_asm.h). While the function runs the
 * program's signal handlers wait (held.h), so no handler uses this stack, none jumps off it, and a
 * garbage collector that scans the stacks of interrupted threads finds them where they should be.
 * The thread is not cancelled meanwhile, since the C library takes a frame on another stack for
 * one beyond its clean-up handlers. So what waits for peers, or is a cancellation point, does not
 * belong in here. */
#ifndef SL_ROOMY_H
#define SL_ROOMY_H

#include <pthread.h>

#include "base/base.h"

/* The pages of a stack that were touched stay resident. The deepest function of the library takes
 * 70 KB. */
#define SL_ROOMY_BYTES (256 << 10)

/* SL_ROOMY(fn, args...): fn(args...), on a stack of the library. At most six arguments, all of them
 * integers (of the parameter's own type, if that is bool) or pointers; so is the result, or void.
 * Inside such a call, without memory for a stack, and in a build with a sanitizer (which keeps a
 * record of each thread's stack) fn runs on the stack of its caller. Async-signal-safe if fn is. */
#define SL_ROOMY(fn, ...)                                                                          \
	({                                                                                         \
		const long a_[6] = {SL_ROOMY_LONGS(__VA_ARGS__)};                                  \
		SL_ROOMY_RESULT(__typeof__(fn(__VA_ARGS__)), sl_roomy_call((uintptr_t)(fn), a_));  \
	})
long sl_roomy_call(uintptr_t fn, const long arg[6]);

/* (An ABI leaves the register's upper bits undefined when the result is a bool.) */
#define SL_ROOMY_RESULT(type, call)                                                                \
	({                                                                                         \
		long r_ = (call);                                                                  \
		(type)(__builtin_types_compatible_p(type, bool) ? (uint8_t)r_ : r_);               \
	})
#define SL_ROOMY_PICK(a, b, c, d, e, f, name, ...) name
#define SL_ROOMY_LONGS(...)                                                                        \
	SL_ROOMY_PICK(__VA_ARGS__ __VA_OPT__(, ) SL_ROOMY_6, SL_ROOMY_5, SL_ROOMY_4, SL_ROOMY_3,   \
		      SL_ROOMY_2, SL_ROOMY_1, SL_ROOMY_0)                                          \
	(__VA_ARGS__)
#define SL_ROOMY_0()
#define SL_ROOMY_1(a)                (long)(a)
#define SL_ROOMY_2(a, b)             (long)(a), (long)(b)
#define SL_ROOMY_3(a, b, c)          SL_ROOMY_2(a, b), (long)(c)
#define SL_ROOMY_4(a, b, c, d)       SL_ROOMY_3(a, b, c), (long)(d)
#define SL_ROOMY_5(a, b, c, d, e)    SL_ROOMY_4(a, b, c, d), (long)(e)
#define SL_ROOMY_6(a, b, c, d, e, f) SL_ROOMY_5(a, b, c, d, e), (long)(f)

/* True: this code runs on a stack of the library's; *in_handler: whether the caller of SL_ROOMY()
 * ran in a signal handler. */
bool sl_roomy_on(bool *in_handler);

/* pthread_create(3) of a thread of the library's, with SL_ROOMY_BYTES of stack. The program's
 * default is 8 MB, and mlockall(2) would bring all of it into memory. Returns an errno. */
int sl_roomy_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* Memory of SL_ROOMY_BYTES for a call that needs a long list: a stack that nothing runs on. Its
 * contents are undefined. Give it back by sl_roomy_put(), which takes NULL, too. NULL: no memory.
 * Async-signal-safe. */
void *sl_roomy_get(void);
void sl_roomy_put(void *mem);

#endif
