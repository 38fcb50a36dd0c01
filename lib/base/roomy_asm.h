/* SPDX-License-Identifier: BSD-2-Clause */
/* The change of stacks, in assembly. The preload library includes this, too. */
#ifndef SL_ROOMY_ASM_H
#define SL_ROOMY_ASM_H

#ifdef __SANITIZE_THREAD__
#define SL_ROOMY_SANITIZED
#elif defined(__SANITIZE_ADDRESS__)
#define SL_ROOMY_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SL_ROOMY_SANITIZED
#endif
#endif

/* SL_ROOMY_SWITCH(name) defines
 *   long name(uintptr_t fn, const long arg[6], void *top);
 * which calls fn with the arguments on the stack that ends at top (a multiple of 16). Its frame is
 * found by the frame pointer, whichever stack the caller is on. */
#define SL_ROOMY_FUNCTION(name)                                                                    \
	".pushsection .text\n"                                                                     \
	".globl " #name "\n"                                                                       \
	".hidden " #name "\n"                                                                      \
	".type " #name ", %function\n"                                                             \
	".balign 16\n" #name ":\n"                                                                 \
	"	.cfi_startproc\n"
#define SL_ROOMY_END(name)                                                                         \
	"	.cfi_endproc\n"                                                                          \
	".size " #name ", . - " #name "\n"                                                         \
	".popsection\n"
#if defined(SL_ROOMY_SANITIZED)
#elif defined(__x86_64__)
#define SL_ROOMY_SWITCH(name)                                                                      \
	__asm__(SL_ROOMY_FUNCTION(name) "	endbr64\n"                                               \
					"	pushq %rbp\n"                                            \
					"	.cfi_def_cfa_offset 16\n"                                \
					"	.cfi_offset %rbp, -16\n"                                 \
					"	movq %rsp, %rbp\n"                                       \
					"	.cfi_def_cfa_register %rbp\n"                            \
					"	movq %rdx, %rsp\n"                                       \
					"	movq %rdi, %rax\n"                                       \
					"	movq %rsi, %r11\n"                                       \
					"	movq (%r11), %rdi\n"                                     \
					"	movq 8(%r11), %rsi\n"                                    \
					"	movq 16(%r11), %rdx\n"                                   \
					"	movq 24(%r11), %rcx\n"                                   \
					"	movq 32(%r11), %r8\n"                                    \
					"	movq 40(%r11), %r9\n"                                    \
					"	call *%rax\n"                                            \
					"	movq %rbp, %rsp\n"                                       \
					"	popq %rbp\n"                                             \
					"	.cfi_def_cfa %rsp, 8\n"                                  \
					"	ret\n" SL_ROOMY_END(name))
#elif defined(__aarch64__)
#define SL_ROOMY_SWITCH(name)                                                                      \
	__asm__(SL_ROOMY_FUNCTION(name) "	hint 34\n" /* bti c */                             \
					"	stp x29, x30, [sp, #-16]!\n"                             \
					"	.cfi_def_cfa_offset 16\n"                                \
					"	.cfi_offset x29, -16\n"                                  \
					"	.cfi_offset x30, -8\n"                                   \
					"	mov x29, sp\n"                                           \
					"	.cfi_def_cfa_register x29\n"                             \
					"	mov sp, x2\n"                                            \
					"	mov x9, x0\n"                                            \
					"	mov x10, x1\n"                                           \
					"	ldp x0, x1, [x10]\n"                                     \
					"	ldp x2, x3, [x10, #16]\n"                                \
					"	ldp x4, x5, [x10, #32]\n"                                \
					"	blr x9\n"                                                \
					"	mov sp, x29\n"                                           \
					"	ldp x29, x30, [sp], #16\n"                               \
					"	.cfi_def_cfa sp, 0\n"                                    \
					"	ret\n" SL_ROOMY_END(name))
#endif

#endif
