/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to memory whose address the program gave: a bad address is EFAULT, as by the kernel, and
 * no death of the process.
 *
 * Theory of operation: only guarded functions touch such memory. They check nothing; an access to
 * a page that is not there raises SIGSEGV, or SIGBUS behind the end of a truncated file. The
 * preload library's signal handler calls sl_guard_return(), which unwinds the stack to the guarded
 * function and makes it return its failure value to its caller. So a good address costs a call, and
 * a bad one some microseconds. A guarded function holds no lock and changes nothing that its
 * caller could not find changed after a failure. Without that handler (a program that uses
 * sluice.h alone) a bad address ends the program. */
#ifndef SL_GUARD_H
#define SL_GUARD_H

#include "base/base.h"

struct sl_guarded {
	const void *fn;
	uint64_t failed; /* what it returns after a fault */
};
/* Makes fn a guarded function; fn must have SL_APART, since the handler looks for a call of it. */
#define SL_GUARDED(fn, failed)                                                                     \
	__attribute__((section("sl_guarded"),                                                      \
		       used)) static const struct sl_guarded sl_guarded_##fn = {                   \
		(const void *)(fn), (failed)}

/* Copies n bytes from or to the program's memory. 0, or -EFAULT: some may have been copied. */
int sl_guard_copy(void *to, const void *from, size_t n);
/* Reads a byte of each page of [p, p + n). 0 or -EFAULT. Another thread may unmap it directly
 * afterwards; then an access that is not guarded ends the program. */
int sl_guard_touch(const void *p, size_t n);
/* Like sl_guard_touch(), for memory that will be written: writes its bytes back as they are. */
int sl_guard_touch_out(void *p, size_t n);

/* For the handler of SIGSEGV and SIGBUS, on the thread that faulted. context: its third argument.
 * True: the fault was in a guarded function, and the thread goes on in its caller when the handler
 * returns. Async-signal-safe. */
bool sl_guard_return(void *context);

#endif
