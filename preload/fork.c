/* SPDX-License-Identifier: BSD-2-Clause */
/* New processes.
 *
 * Theory of operation: fork(2) and the functions built on it (daemon, forkpty) run the handlers of
 * pthread_atfork(3). posix_spawn, system and popen use clone(2) inside the C library: exec.c.
 * vfork(2) is the hard one: its child runs in the parent's memory, on the parent's thread, with
 * descriptors of its own; a close() there would tear down the parent's socket. So the wrapper
 * raises a thread-local count around it: while it is up no descriptor is ours, and every call goes
 * to the kernel. The parent, which sleeps until the child is gone, lowers the count when it wakes
 * up.
 *
 * clone(2) is like fork(2) or like vfork(2), by its flags, and runs no handlers; _Fork(2) runs none
 * either. The wrappers here do the handlers' work, also for children of syscall(2) (syscall.c). A
 * child made by the bare instruction finds out later (lib/sock/proc/fdtab.c). */
#include "real.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

__thread int sl_in_vfork;

/* A program that the child executes may get connections that wait in a listener's queue: the way
 * must be there before the child has its copies of the descriptors. */
void sl_before_vfork(void) __attribute__((visibility("hidden"), used));
void sl_before_vfork(void)
{
	int saved = errno;

	if (lib_is_there() && !sl_in_vfork)
		lib.vfork_begin();
	errno = saved;
}

#if defined(__x86_64__)
/* In assembly since the child returns over the parent's frame: the return address is kept in a
 * register that the system call preserves, as the C library does it. sl_as_vfork serves vfork(2)
 * and the clone(2) with the same flags: number and arguments are in their registers. */
__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".globl sl_as_vfork\n"
	".hidden sl_as_vfork\n"
	".balign 16\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call sl_before_vfork\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	movl $58, %eax\n" /* SYS_vfork */
	"sl_as_vfork:\n"
	"	movq sl_in_vfork@gottpoff(%rip), %rcx\n"
	"	incl %fs:(%rcx)\n"
	"	popq %r9\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %r9\n"
	"	syscall\n"
	"	pushq %r9\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n" /* the child: the count stays up */
	"	movq sl_in_vfork@gottpoff(%rip), %rcx\n"
	"	decl %fs:(%rcx)\n"
	"	testq %rax, %rax\n"
	"	js 2f\n"
	"1:	ret\n"
	"2:	movq %rax, %rdi\n"
	"	jmp sl_call_failed\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n"
	".globl __vfork\n"
	".set __vfork, vfork\n"
	".popsection\n");
_Static_assert(SYS_vfork == 58, "the number in the assembly");
#else
/* On other machines the child gets memory of its own, which POSIX.1-2001 allows. */
pid_t vfork(void)
{
	return fork();
}
pid_t __vfork(void) __attribute__((alias("vfork")));
#endif

bool sl_used_in_vfork(int fd)
{
	if (lib_is_there())
		lib.vfork_uses(fd);
	return false;
}

/* Without handlers ------------------------------------------------------------------------------
 */

pid_t _Fork(void)
{
	bool held = lib_is_there() && !sl_in_vfork && lib.fork_begin();
	pid_t pid = REAL(_Fork)();
	int saved = errno;

	if (pid == 0)
		sl_lib_child();
	else if (held)
		lib.fork_end();
	errno = saved;
	return pid;
}

/* A child that has the parent's memory or the parent's descriptors and not both, and runs beside
 * the parent: what it closes would be gone for both in the library's table, or for the kernel
 * alone. So the kernel has all sockets of such processes. */
static void before_parting(unsigned long flags)
{
	bool memory = flags & CLONE_VM;

	if (memory != !!(flags & CLONE_FILES) && !(memory && flags & CLONE_VFORK) && !sl_in_vfork)
		sl_leave_all("clone(2) made a process that shares memory or descriptors, not both");
}

#if defined(__x86_64__)
/* A syscall(2) that makes a process with memory of its own, on a copy of this stack. The
 * instruction stands here since calling syscall(2) would come back to this function. */
long sl_syscall_child(unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		      unsigned long e, long nr)
{
	unsigned long flags = nr == SYS_clone ? a : 0;
	struct clone_args args;
	register unsigned long r10 __asm__("r10") = d;
	register unsigned long r8 __asm__("r8") = e;
	bool held;
	long r;

	if (nr == SYS_clone3)
		flags = (unsigned long)((const struct clone_args *)a)->flags;
	before_parting(flags);
	if (!(flags & (CLONE_VM | CLONE_FILES)) && flags & CLONE_VFORK) { /* as clone_own() */
		if (nr == SYS_clone) {
			a &= ~(unsigned long)CLONE_VFORK;
		} else if (b <= sizeof(args)) {
			memcpy(&args, (void *)a, b);
			args.flags &= ~(uint64_t)CLONE_VFORK;
			a = (unsigned long)&args;
		}
	}
	held = lib_is_there() && !sl_in_vfork && lib.fork_begin();
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	if (r == 0 && flags & CLONE_FILES)
		sl_in_vfork++;
	else if (r == 0)
		sl_lib_child();
	else if (held)
		lib.fork_end();
	return done(r);
}
#endif

struct child {
	int (*fn)(void *arg);
	void *arg;
};

static int with_own(void *arg)
{
	struct child c = *(struct child *)arg;

	sl_lib_child();
	/* Ends the whole process: a return would end this thread alone, and the keeper may run. */
	sl_raw(SYS_exit_group, c.fn(c.arg));
	__builtin_unreachable();
}

/* Runs in a child that has the parent's memory or the parent's descriptors. (A child that has both,
 * as a thread has, does not come here.) */
static int with_parents(void *arg)
{
	struct child c = *(struct child *)arg;

	sl_in_vfork++;
	return c.fn(c.arg);
}

/* Puts fn and arg at the start of the child's stack, which lives as long as the child. */
static struct child *on_stack(void *stack, int (*fn)(void *arg), void *arg)
{
	struct child *c = (struct child *)(((uintptr_t)stack - sizeof(*c)) & ~(uintptr_t)15);

	*c = (struct child){fn, arg};
	return c;
}

/* With CLONE_VFORK the parent would wait for a child that waits for the parent: the child asks it
 * for the sockets that it uses, and fork_end() comes first. As their memory is apart, the child
 * does not see that the parent goes on at once. */
static int clone_own(struct child *c, int flags, pid_t *ptid, void *tls, pid_t *ctid)
{
	bool held = lib.fork_begin();
	int pid = REAL(clone)(with_own, c, flags & ~CLONE_VFORK, c, ptid, tls, ctid);
	int saved = errno;

	if (held)
		lib.fork_end();
	errno = saved;
	return pid;
}

/* False: a child that runs beside the parent, in its memory and with its thread's variables. It
 * cannot be marked: sl_in_vfork would then be set for the parent, too. */
static bool can_tell(int flags)
{
	return !(flags & CLONE_VM) || flags & (CLONE_VFORK | CLONE_SETTLS);
}

int clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...)
{
	struct child *c;
	pid_t *ptid, *ctid;
	va_list ap;
	void *tls;
	int pid;

	va_start(ap, arg);
	ptid = va_arg(ap, pid_t *);
	tls = va_arg(ap, void *);
	ctid = va_arg(ap, pid_t *);
	va_end(ap);
	if (fn && stack)
		before_parting((unsigned long)flags);
	if (!fn || !stack || !lib_is_there() || !can_tell(flags) ||
	    (flags & (CLONE_VM | CLONE_FILES)) == (CLONE_VM | CLONE_FILES))
		return REAL(clone)(fn, stack, flags, arg, ptid, tls, ctid);
	c = on_stack(stack, fn, arg);
	if (!(flags & (CLONE_VM | CLONE_FILES)) && !sl_in_vfork)
		return clone_own(c, flags, ptid, tls, ctid);
	pid = REAL(clone)(with_parents, c, flags, c, ptid, tls, ctid);
	if (pid > 0 && (flags & CLONE_VM) && !(flags & CLONE_SETTLS))
		sl_in_vfork--;
	return pid;
}
