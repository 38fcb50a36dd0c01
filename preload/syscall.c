/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall(2): catches the calls that concern the library.
 *
 * Theory of operation: in assembly, so that all other calls work as before, also those that return
 * twice. A table has a function for each number that concerns the library, made from calls.def;
 * most of them ask for the descriptor first. A call that is none of ours goes to the kernel by the
 * bare instruction: unlike the C library's functions, syscall(2) is no cancellation point.
 *
 * fork.c gets the calls that make a process on the caller's stack, whether the child has memory of
 * its own, or its parent's while the parent sleeps. The kernel gets the calls that make a thread,
 * and those that give the child a stack of its own, on which syscall(2) would return: such a child
 * finds out later (lib/sock/proc/fdtab.c). */
#include "real.h"

#include <linux/sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".macro sl_begin name\n"
	".type \\name, @function\n"
	".balign 16\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	".endm\n"
	".macro sl_end name\n"
	"	.cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"

	".globl syscall\n"
	"	sl_begin syscall\n"
	/* From where a function has its arguments to where the kernel wants them */
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	cmpl $447, %eax\n" /* SL_SYSCALLS */
	"	jae sl_to_kernel\n"
	"	movl %eax, %r11d\n"
	"	leaq sl_syscalls(%rip), %rcx\n"
	"	movq (%rcx,%r11,8), %r11\n"
	"	testq %r11, %r11\n"
	"	jz sl_to_kernel\n"
	"	movq %r10, %rcx\n"
	"	jmp *%r11\n"
	"sl_to_kernel:\n"
	"	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	movq %rax, %rdi\n"
	"	jmp sl_call_failed\n"
	"	sl_end syscall\n"

	/* The functions of the table that return twice: arguments as for the kernel, number in eax.
	 * The kernel refuses a too short struct. */
	"	sl_begin sl_sys_clone3\n"
	"	cmpq $64, %rsi\n"
	"	jb sl_to_kernel\n"
	"	testq %rdi, %rdi\n"
	"	jz sl_to_kernel\n"
	"	cmpq $0, 40(%rdi)\n"
	"	jne sl_to_kernel\n"
	"	movq (%rdi), %rcx\n"
	"	jmp 4f\n"
	"	sl_end sl_sys_clone3\n"

	"	sl_begin sl_sys_clone\n"
	"	testq %rsi, %rsi\n" /* a stack */
	"	jnz sl_to_kernel\n"
	"	movq %rdi, %rcx\n"
	/* rcx: the flags */
	"4:	testl $0x100, %ecx\n" /* CLONE_VM */
	"	jz sl_sys_fork\n"
	"	andl $0x94000, %ecx\n" /* CLONE_VFORK, CLONE_THREAD, CLONE_SETTLS */
	"	cmpl $0x4000, %ecx\n"
	"	je sl_as_vfork\n"
	"	jmp sl_to_kernel\n"
	"	sl_end sl_sys_clone\n"

	"	sl_begin sl_sys_fork\n"
	"	movq %r10, %rcx\n"
	"	movslq %eax, %r9\n"
	"	jmp sl_syscall_child\n"
	"	sl_end sl_sys_fork\n"

	"	sl_begin sl_sys_vfork\n"
	"	jmp sl_as_vfork\n"
	"	sl_end sl_sys_vfork\n"

	"	sl_begin sl_sys_creds\n"
	"	movslq %eax, %rcx\n"
	"	jmp sl_syscall_creds\n"
	"	sl_end sl_sys_creds\n"
	".popsection\n");
#define SL_SYSCALLS 447

/* Labels of the assembly, no functions for C to call. */
extern const char sl_sys_clone[], sl_sys_clone3[], sl_sys_fork[], sl_sys_vfork[], sl_sys_creds[];

/* A function of the C library, called with all six registers: integers and pointers are passed
 * alike, and the function reads only the arguments that it has. The cast of the result extends an
 * int's sign. */
typedef long call_fn(long a, long b, long c, long d, long e, long f);

static inline call_fn *as_call(void *f)
{
	__asm__("" : "+r"(f)); /* the compiler refuses a function whose type it knows */
	return (call_fn *)f;
}

#define SL_CALL(result, name, params, raw)
#define SL_CALL_OWN SL_CALL
#define SL_CALL_FD(result, name, params, raw)                                                      \
	static long of_##name(long a, long b, long c, long d, long e, long f)                      \
	{                                                                                          \
		if (!ours((int)a))                                                                 \
			return sl_raw(SYS_##name, a, b, c, d, e, f);                               \
		return (result)as_call((void *)name)(a, b, c, d, e, f);                            \
	}
#define SL_CALL_ALL(result, name, params, raw)                                                     \
	static long of_##name(long a, long b, long c, long d, long e, long f)                      \
	{                                                                                          \
		return (result)as_call((void *)name)(a, b, c, d, e, f);                            \
	}
#include "calls.def"
#undef SL_CALL

__attribute__((visibility("hidden"))) extern const void *const sl_syscalls[SL_SYSCALLS];
const void *const sl_syscalls[SL_SYSCALLS] = {
#define SL_CALL(result, name, params, raw)
#define SL_CALL_FD(result, name, params, raw)  [SYS_##name] = (const void *)of_##name,
#define SL_CALL_ALL                            SL_CALL_FD
#define SL_CALL_OWN(result, name, params, raw) [SYS_##name] = (const void *)sl_sys_##name,
#include "calls.def"
#undef SL_CALL
	[SYS_pselect6] = (const void *)sl_sys_pselect6,
	[SL_LANDLOCK_CREATE] = (const void *)sl_sys_landlock_create,
	[SL_LANDLOCK_RESTRICT] = (const void *)sl_sys_landlock_restrict,
	[SYS_unshare] = (const void *)sl_sys_unshare,
	[SYS_setns] = (const void *)sl_sys_setns,
	[SYS_exit] = (const void *)sl_sys_exit,
	[SYS_bpf] = (const void *)sl_sys_bpf,
	[SYS_io_submit] = (const void *)sl_sys_io_submit,
	[SYS_seccomp] = (const void *)sl_seccomp,
	[SYS_clone] = sl_sys_clone,
	[SYS_clone3] = sl_sys_clone3,
	[SYS_fork] = sl_sys_fork,
	[SYS_vfork] = sl_sys_vfork,
	[SYS_setuid] = sl_sys_creds,
	[SYS_setgid] = sl_sys_creds,
	[SYS_setreuid] = sl_sys_creds,
	[SYS_setregid] = sl_sys_creds,
	[SYS_setgroups] = sl_sys_creds,
	[SYS_setresuid] = sl_sys_creds,
	[SYS_setresgid] = sl_sys_creds,
	[SYS_capset] = sl_sys_creds,
	[SYS_chroot] = sl_sys_creds,
};
_Static_assert(CLONE_VM == 0x100 && CLONE_VFORK == 0x4000 &&
		       (CLONE_VFORK | CLONE_THREAD | CLONE_SETTLS) == 0x94000,
	       "the flags in the assembly");
_Static_assert(offsetof(struct clone_args, flags) == 0 &&
		       offsetof(struct clone_args, stack) == 40 && CLONE_ARGS_SIZE_VER0 == 64,
	       "the offsets in the assembly");
#endif
