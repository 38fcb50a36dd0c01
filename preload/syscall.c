/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall(2): catches the calls that concern the library.
 *
 * Theory of operation: in assembly, so that all other calls work as before, those included that
 * return twice. Calls that make a process go to fork.c: with memory of its own, or with its
 * parent's while that sleeps, both on the caller's stack. A thread passes. So does a call with a
 * stack of its own, on which syscall(2) would return: that child finds out later
 * (lib/sock/proc/fdtab.c). */
#include "real.h"

#include <linux/sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
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
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	leal -56(%rax), %ecx\n"
	"	cmpl $2, %ecx\n"
	"	jbe 2f\n"
	"	cmpl $317, %eax\n" /* SYS_seccomp */
	"	je sl_seccomp\n"
	"	cmpl $435, %eax\n" /* SYS_clone3 */
	"	je 3f\n"
	"	leal -105(%rax), %ecx\n" /* SYS_setuid */
	"	cmpl $21, %ecx\n"
	"	jbe 6f\n"
	"	cmpl $161, %eax\n" /* SYS_chroot */
	"	je 7f\n"
	"0:	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	movq %rax, %rdi\n"
	"	jmp sl_call_failed\n"
	/* SYS_clone, SYS_fork, SYS_vfork */
	"2:	cmpl $57, %eax\n"
	"	je 5f\n"
	"	ja sl_as_vfork\n"
	"	testq %rsi, %rsi\n" /* a stack */
	"	jnz 0b\n"
	"	movq %rdi, %rcx\n"
	"	jmp 4f\n"
	/* SYS_clone3; the kernel refuses too short a struct */
	"3:	cmpq $64, %rsi\n"
	"	jb 0b\n"
	"	testq %rdi, %rdi\n"
	"	jz 0b\n"
	"	cmpq $0, 40(%rdi)\n"
	"	jne 0b\n"
	"	movq (%rdi), %rcx\n"
	/* rcx: the flags */
	"4:	testl $0x100, %ecx\n" /* CLONE_VM */
	"	jz 5f\n"
	"	andl $0x94000, %ecx\n" /* CLONE_VFORK, CLONE_THREAD, CLONE_SETTLS */
	"	cmpl $0x4000, %ecx\n"
	"	je sl_as_vfork\n"
	"	jmp 0b\n"
	"5:	movq %r10, %rcx\n"
	"	movslq %eax, %r9\n"
	"	jmp sl_syscall_child\n"
	/* From SYS_setuid to SYS_capset: a bit mask of the calls that creds.c handles */
	"6:	movl $0x205b03, %r11d\n"
	"	btl %ecx, %r11d\n"
	"	jnc 0b\n"
	"7:	movslq %eax, %rcx\n"
	"	jmp sl_syscall_creds\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");
_Static_assert(SYS_clone == 56 && SYS_fork == 57 && SYS_vfork == 58 && SYS_seccomp == 317 &&
		       SYS_clone3 == 435,
	       "the numbers in the assembly");
#define CREDS(name) (1u << (SYS_##name - 105))
_Static_assert((CREDS(setuid) | CREDS(setgid) | CREDS(setreuid) | CREDS(setregid) |
		CREDS(setgroups) | CREDS(setresuid) | CREDS(setresgid) | CREDS(capset)) ==
			       0x205b03 &&
		       SYS_capset - 105 == 21 && SYS_chroot == 161,
	       "the numbers in the assembly");
_Static_assert(CLONE_VM == 0x100 && CLONE_VFORK == 0x4000 &&
		       (CLONE_VFORK | CLONE_THREAD | CLONE_SETTLS) == 0x94000,
	       "the flags in the assembly");
_Static_assert(offsetof(struct clone_args, flags) == 0 &&
		       offsetof(struct clone_args, stack) == 40 && CLONE_ARGS_SIZE_VER0 == 64,
	       "the offsets in the assembly");
#endif
