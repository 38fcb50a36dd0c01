/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that confines itself (seccomp(2)): the library is told before.
 *
 * Theory of operation: afterwards a system call that the program does not make itself may be its
 * death. There is no function for seccomp(2) but prctl(2), of old, and syscall(2), which is
 * interposed for its sake: in assembly, so that it stays what it is for any other call, one that
 * returns twice included. */
#include "real.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>

/* A look-up may need memory. */
static void confine(void)
{
	int saved = errno;

	for (int call = 0; call < SL_CALL_COUNT; call++)
		sl_real_get((enum sl_call)call);
	if (lib_is_there() && !sl_in_vfork)
		lib.confine();
	errno = saved;
}

int prctl(int op, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, op);
	for (unsigned i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (op == PR_SET_SECCOMP)
		confine();
	return REAL(prctl)(op, arg[0], arg[1], arg[2], arg[3]);
}

#if defined(__x86_64__)
long sl_seccomp(unsigned long op, unsigned long flags, void *args)
	__attribute__((visibility("hidden")));
long sl_seccomp(unsigned long op, unsigned long flags, void *args)
{
	long r;

	if (op == SECCOMP_SET_MODE_STRICT || op == SECCOMP_SET_MODE_FILTER)
		confine();
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_seccomp), "D"(op), "S"(flags), "d"(args)
			 : "rcx", "r11", "memory");
	return done(r);
}

__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	".balign 16\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	cmpl $317, %eax\n" /* SYS_seccomp */
	"	je sl_seccomp\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	movq %rax, %rdi\n"
	"	jmp sl_call_failed\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");
_Static_assert(SYS_seccomp == 317, "the number in the assembly");
#endif
