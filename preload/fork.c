/* SPDX-License-Identifier: BSD-2-Clause */
/* New processes.
 *
 * Theory of operation: fork(2) and what is built on it (daemon, forkpty) run the handlers of
 * pthread_atfork (init.c). posix_spawn, system and popen use clone(2) inside the C library: exec.c.
 * vfork(2) is the hard one: its child runs in the parent's memory, on the parent's thread, with
 * descriptors of its own; a close() there would tear down the parent's socket. So the wrapper
 * raises a thread-local count around it: while it is up nothing is ours, and every call goes to
 * the kernel. The parent, which sleeps until the child is gone, lowers it when it wakes up. */
#include "real.h"

#include <sys/syscall.h>

__thread int sl_in_vfork;

#if defined(__x86_64__)
/* In assembly since the child returns over the parent's frame: the return address is kept in a
 * register that the system call preserves, as the C library does it. */
long sl_vfork_failed(long r) __attribute__((visibility("hidden")));
long sl_vfork_failed(long r)
{
	return done(r);
}

__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".balign 16\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq sl_in_vfork@gottpoff(%rip), %rsi\n"
	"	incl %fs:(%rsi)\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rdi\n"
	"	movl $58, %eax\n" /* SYS_vfork */
	"	syscall\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n" /* the child: the count stays up */
	"	decl %fs:(%rsi)\n"
	"	testq %rax, %rax\n"
	"	js 2f\n"
	"1:	ret\n"
	"2:	movq %rax, %rdi\n"
	"	jmp sl_vfork_failed\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n"
	".popsection\n");
_Static_assert(SYS_vfork == 58, "the number in the assembly");
#else
/* Elsewhere the child gets memory of its own, which POSIX.1-2001 allows. */
pid_t vfork(void)
{
	return fork();
}
#endif
