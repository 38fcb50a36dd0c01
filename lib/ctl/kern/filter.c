/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of system calls (seccomp) that were there before the program began, such as systemd's
 * SystemCallFilter= and containers', and one that the program sets itself.
 *
 * Theory of operation: a filter cannot be read by the filtered. One that answers with an error from
 * the beginning is no harm: the library goes on without that call, or leaves everything to the
 * kernel. One that kills is found out by a child, which makes each call of the library with
 * arguments that have no effect, and notes in shared memory how far it has come. Calls that
 * programs make all the time (read, close...) are not tried. */
#include "ctl/kern/filter.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/base.h"
#include "base/sys.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif

/* First arguments; the rest are 0. -1 is no descriptor, process, flag or operation. */
static const struct {
	short nr;
	int a, b, c;
} calls[] = {
	{SYS_prlimit64, -1, 0, 0},
	{SYS_bpf, -1, 0, 0},
	{SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
	{SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
	{SYS_socket, AF_XDP, SOCK_RAW, 0},
	{SYS_socket, AF_PACKET, SOCK_RAW, 0},
	{SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0},
	{SYS_socketpair, -1, 0, 0},
	{SYS_close_range, -1, 0, 0},
	{SYS_bind, -1, 0, 0},
	{SYS_connect, -1, 0, 0},
	{SYS_listen, -1, 0, 0},
	{SYS_accept4, -1, 0, 0},
	{SYS_shutdown, -1, 0, 0},
	{SYS_getsockname, -1, 0, 0},
	{SYS_getpeername, -1, 0, 0},
	{SYS_getsockopt, -1, 0, 0},
	{SYS_setsockopt, -1, 0, 0},
	{SYS_sendto, -1, 0, 0},
	{SYS_recvfrom, -1, 0, 0},
	{SYS_sendmsg, -1, 0, 0},
	{SYS_recvmsg, -1, 0, 0},
	{SYS_sendmmsg, -1, 0, 0},
	{SYS_recvmmsg, -1, 0, 0},
	{SYS_mmap, 0, 0, 0},
	{SYS_mremap, 0, 0, 0},
	{SYS_mprotect, 0, 0, 0},
	{SYS_madvise, 0, 0, 0},
	{SYS_memfd_create, 0, -1, 0},
	{SYS_ftruncate, -1, 0, 0},
	{SYS_fallocate, -1, 0, 0},
	{SYS_fstat, -1, 0, 0},
	{SYS_newfstatat, -1, 0, 0},
	{SYS_statfs, 0, 0, 0},
	{SYS_fstatfs, -1, 0, 0},
	{SYS_readlinkat, -1, 0, 0},
	{SYS_faccessat, -1, 0, 0},
	{SYS_getdents64, -1, 0, 0},
	{SYS_unlinkat, -1, 0, 0},
	{SYS_mkdirat, -1, 0, 0},
	{SYS_flock, -1, 0, 0},
	{SYS_fchmod, -1, 0, 0},
	{SYS_lseek, -1, 0, 0},
	{SYS_pread64, -1, 0, 0},
	{SYS_pwrite64, -1, 0, 0},
	{SYS_writev, -1, 0, 0},
	{SYS_fcntl, -1, 0, 0},
	{SYS_ioctl, -1, 0, 0},
	{SYS_dup3, -1, -1, 0},
	{SYS_splice, -1, 0, -1},
	{SYS_sendfile, -1, -1, 0},
	{SYS_inotify_init1, -1, 0, 0},
	{SYS_inotify_add_watch, -1, 0, 0},
	{SYS_eventfd2, 0, -1, 0},
	{SYS_epoll_create1, -1, 0, 0},
	{SYS_epoll_ctl, -1, 0, 0},
	{SYS_epoll_pwait, -1, 0, 0},
	{SYS_ppoll, -1, 0, -1},
	{SYS_pselect6, -1, 0, 0},
	{SYS_futex, 0, -1, 0},
	{SYS_membarrier, -1, 0, 0},
	{SYS_getcpu, 0, 0, 0},
	{SYS_sched_yield, 0, 0, 0},
	{SYS_sched_getaffinity, -1, 0, 0},
	{SYS_sched_setaffinity, -1, 0, 0},
	{SYS_getrusage, -1, 0, 0},
	{SYS_clock_gettime, -1, 0, 0},
	{SYS_nanosleep, 0, 0, 0},
	{SYS_rt_sigprocmask, 0, 0, 0},
	{SYS_rt_sigpending, 0, 0, 0},
	{SYS_rt_sigtimedwait, 0, 0, 0},
	{SYS_sigaltstack, 0, 0, 0},
	{SYS_tgkill, -1, -1, 0},
	{SYS_kill, 1 << 30, 0, 0},
	{SYS_prctl, -1, 0, 0},
	{SYS_capget, 0, 0, 0},
	{SYS_getgroups, -1, 0, 0},
	{SYS_getresuid, 0, 0, 0},
	{SYS_getresgid, 0, 0, 0},
	{SYS_geteuid, 0, 0, 0},
	{SYS_getpid, 0, 0, 0},
	{SYS_gettid, 0, 0, 0},
	{SYS_uname, 0, 0, 0},
	{SYS_getrandom, 0, 0, -1},
	{SYS_pidfd_open, -1, 0, 0},
	{SYS_setns, -1, 0, 0},
	{SYS_unshare, 0, 0, 0},
	{SYS_wait4, -1, 0, WNOHANG},
	{SYS_clone, CLONE_THREAD, 0, 0},
	{SYS_clone3, 0, 0, 0},
};

/* How far the child has come, in memory that both have. */
struct progress {
	unsigned at;
};

static bool has_filter(void)
{
	static const char key[] = "\nSeccomp:\t2";
	char text[4096];

	return sl_read_text("/proc/self/status", text, sizeof(text)) > 0 && strstr(text, key);
}

/* The child of a process that may have threads: system calls only. A filter that the program sets
 * later than the library began may answer with no error either, where the call gave none before. */
__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) static void
try_all(struct progress *p, const struct sock_fprog *own)
{
	static const struct rlimit64 no_core = {0, 0};
	long was[sl_array_len(calls)];

	sl_syscall6(SYS_prlimit64, 0, RLIMIT_CORE, (long)&no_core, 0, 0, 0);
	for (unsigned i = 0; own && i < sl_array_len(calls); i++)
		was[i] = sl_syscall6(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, 0, 0, 0);
	/* (A filter that the kernel refuses is refused to the program, too: none is tried then.) */
	if (own)
		sl_syscall6(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)own, 0, 0, 0);
	for (unsigned i = 0; i < sl_array_len(calls); i++) {
		long r;

		sl_store(&p->at, i);
		r = sl_syscall6(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, 0, 0, 0);
		/* (Numbers of new descriptors differ.) */
		if (own && r < 0 && r != was[i])
			sl_syscall6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
	sl_store(&p->at, (unsigned)sl_array_len(calls));
	sl_syscall6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

int sl_filter_deadly_call(const struct sock_fprog *own)
{
	struct progress *p;
	void *shared;
	unsigned at = sl_array_len(calls);
	long child;

	if (!own && !has_filter())
		return -1;
	if (sl_sys_mmap(&shared, NULL, sizeof(*p), MAP_SHARED | MAP_ANONYMOUS, -1, 0))
		return SYS_mmap;
	p = shared;
	/* The child sends no signal at its end, so the program's wait(2) does not see it. */
	child = sl_syscall6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0)
		try_all(p, own);
	if (child > 0) {
		(void)sl_sys(SYS_wait4, child, NULL, __WALL, NULL);
		at = sl_load(&p->at);
	}
	sl_sys(SYS_munmap, p, sizeof(*p));
	return at < sl_array_len(calls) ? calls[at].nr : -1;
}
