/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls past this library: its own, and those of the program that do not concern it. */
#include "real.h"

long sl_call_failed(long r)
{
	return done(r);
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl sl_raw\n"
	".hidden sl_raw\n"
	".type sl_raw, @function\n"
	".balign 16\n"
	"sl_raw:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
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
	".size sl_raw, . - sl_raw\n"
	".popsection\n");
#endif
