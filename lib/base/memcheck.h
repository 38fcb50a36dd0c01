/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells valgrind of memory that becomes a stack. Without it memcheck takes a change of stacks for
 * one very large frame, and calls what lies between the two stacks invalid. It also reports bpf(2)
 * with fewer members than it knows, as libbpf calls it, and without a key, which asks for the
 * first.
 *
 * The instructions are valgrind's own mark (valgrind.h), which changes nothing elsewhere. */
#ifndef SL_MEMCHECK_H
#define SL_MEMCHECK_H

#include "base/base.h"

/* Requests, and the two arguments that each has. */
enum sl_memcheck_request {
	SL_MEMCHECK_STACK = 0x1501,    /* the lowest address, the top; returns a number */
	SL_MEMCHECK_STACK_GONE,        /* that number, 0 */
	SL_MEMCHECK_QUIET = 0x1801,    /* 1: report nothing of this thread, -1: again; 0 */
	SL_MEMCHECK_FRESH = 0x4d430001 /* the first byte, the length: not written yet */
};

/* Returns 0 where valgrind does not run the program. */
static inline uintptr_t sl_memcheck(enum sl_memcheck_request what, uintptr_t a, uintptr_t b)
{
	volatile uintptr_t ask[6] = {what, a, b, 0, 0, 0};
#ifdef __x86_64__
	uintptr_t r = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(r)
			 : "a"(ask)
			 : "cc", "memory");
	return r;
#elif defined(__aarch64__)
	register uintptr_t r __asm__("x3") = 0;
	register volatile uintptr_t *p __asm__("x4") = ask;

	__asm__ volatile(
		"ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
		"orr x10, x10, x10"
		: "+r"(r)
		: "r"(p)
		: "cc", "memory", "x12");
	return r;
#else
	return ask[0] & 0;
#endif
}

#endif
