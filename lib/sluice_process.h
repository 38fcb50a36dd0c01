/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice: sockets that go to the kernel and come back, other processes, users and signals. sluice.h
 * includes this file and has its conventions: -errno on failure, any thread, no errno. */
#ifndef SLUICE_PROCESS_H
#define SLUICE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Hands the socket back to the kernel for good: it goes on there on the same descriptor, and data
 * in our queue is still read first. For programs that need a plain kernel socket (SCM_RIGHTS,
 * io_uring). 0 also if it is one already. -EBADF: no socket of ours; -EBUSY: it could not be moved
 * (the log says why) and stays offloaded. */
int sl_hand_back(int fd);
/* Accepts one of the connections that came to a listener before sl_hand_back(), and that nothing
 * but accept4(2) by the library would find; addr, len and flags as there. Waits for handshakes
 * under way, at most 20 ms. The descriptor; -EAGAIN: none is left; -errno. */
int sl_accept_left(int fd, struct sockaddr *addr, socklen_t *len, int flags);
/* Hands back an epoll set's members, those that come later included: the kernel or another process
 * will use the set. 0; -EBADF: no set of ours, or a signal handler interrupted a call on it. */
int sl_epoll_hand_back(int epfd);

/* Hands back all sockets of this process; new ones stay with the kernel, too. For programs whose
 * sockets the kernel itself uses without any call. why: for the log; a constant. */
void sl_kernel_only(const char *why);

/* Takes a TCP connection over from the kernel, on the same descriptor, whatever its origin (handed
 * back, accepted from the kernel, inherited, passed by SCM_RIGHTS). No other process may use it,
 * and no other thread be in a call with it. 0 also if it is ours already. -EREMOTE: rules or routes
 * leave it to the kernel; -EBUSY: a part of its state cannot be taken, or it is in use; -EAGAIN:
 * data moved too fast; -EMSGSIZE: its peer may send segments that no frame holds (a large MTU);
 * -ENOTCONN; -EPERM; -EOPNOTSUPP. If it fails, the kernel keeps the connection. */
int sl_take_over(int fd);

/* Call before pidfd_getfd(2) of that descriptor of another process: a socket that is offloaded
 * there goes to the kernel first, if this process may ask for it (same user, or root). Waits a
 * second at most. */
void sl_steal(int pidfd, int number);

/* Call for a socket that the program did not make, before its first use: left by execve(2), or
 * received by SCM_RIGHTS. Sluice looks after it from here on, and offloads it as soon as no other
 * process has it. 0, also if it is ours already; -errno: it cannot be offloaded. */
int sl_given(int fd);

/* Call before a new program gets descriptors of this one: execve(2), vfork(2) and execve,
 * posix_spawn(3). Sockets that it will have are handed back to the kernel. Those that are closed
 * on exec are left alone, but an execve of this process ends the library: if it fails, everything
 * goes on through the kernel. In a forked child SL_EXEC_SELF means that child. Async-signal-safe
 * for SL_EXEC_VFORK. True: connections wait for the new program that only this library finds; it
 * needs LD_PRELOAD in its environment. */
enum sl_exec {
	SL_EXEC_SELF,  /* this process becomes another program */
	SL_EXEC_VFORK, /* this is the child of vfork(2), which has the parent's memory */
	SL_EXEC_SPAWN, /* the C library makes a process of its own */
};
bool sl_exec_begin(enum sl_exec how);
/* In a child of vfork(2) that is about to receive or send by fd, or to shut it down: the kernel has
 * the socket afterwards. */
void sl_vfork_uses(int fd);
/* Call for a descriptor that the C library is to give to a new process, before SL_EXEC_SPAWN. */
int sl_exec_gives(int fd);
/* Call after SL_EXEC_SPAWN, when the new process is there (or has ended). */
void sl_exec_end(void);

/* Call before _exit(2): what handlers of atexit(3) would do for offloaded sockets. Does nothing in
 * a signal handler: then the connections end as those of a killed process do. */
void sl_exit_begin(void);

/* Call before the system call of that name with those arguments (pointers as numbers). If the call
 * makes this process another user, or takes groups, capabilities or its root directory, offloaded
 * sockets go to the kernel first, and no memory that is shared with other programs stays mapped.
 * This may also happen for a call that then fails. */
enum sl_creds {
	SL_CREDS_SETUID,
	SL_CREDS_SETREUID,
	SL_CREDS_SETRESUID,
	SL_CREDS_SETGID,
	SL_CREDS_SETREGID,
	SL_CREDS_SETRESGID,
	SL_CREDS_SETGROUPS,
	SL_CREDS_CAPSET,
	SL_CREDS_CHROOT,
	SL_CREDS_USERNS, /* unshare(2) or setns(2) of a user namespace; no arguments */
};
void sl_creds_begin(enum sl_creds what, long a, long b, long c);

/* Call around a system call that the kernel refuses to a process with several threads, or that
 * unshares the table of descriptors (files): the library's thread is not there meanwhile. If
 * sl_alone_begin() returned true, call sl_alone_end() on the same thread. files: if there are other
 * threads, too, each table has sockets of its own from then on, and all stay with the kernel. */
bool sl_alone_begin(bool files);
void sl_alone_end(void);

/* Call before a thread enters another network namespace than that of the first socket: connections
 * that it begins there are the kernel's. Async-signal-safe. */
void sl_netns_begin(void);

/* Call first in a signal handler, on its thread: a call that polls then ends with -EINTR like one
 * that sleeps. restart: it was installed with SA_RESTART. True: return at once, the signal comes
 * again when the interrupted call holds no lock. info NULL: never true. Async-signal-safe. */
bool sl_signal_seen(int sig, void *info, void *context, bool restart);

/* For a handler of SIGSEGV and SIGBUS, on the thread that faulted; context: the handler's third
 * argument. True: a call of this library was using an address where the program has no memory; when
 * the handler returns, that call goes on and ends with -EFAULT. False: the fault is the program's.
 * Without such a handler bad addresses end the program. Async-signal-safe. */
bool sl_fault(void *context);
/* For a handler of SIGSEGV whose fault is the program's; its three arguments. With
 * SLUICE_HANDLE_SIGSEGV: logs the address and a backtrace. Async-signal-safe. May be left by a jump
 * to an outer call of it on the same thread, which has faulted in the backtrace itself. */
void sl_fault_tell(int sig, const void *info, const void *context);
/* True: the n bytes at p can be read. A bad address is found out by such a handler. */
bool sl_is_memory(const void *p, size_t n);
/* Copies n bytes to the program's memory. False: it cannot be written there. */
bool sl_put(void *to, const void *from, size_t n);

/* in_handler tells whether the calling thread is in a signal handler. There the library neither
 * starts nor opens a device, since both use malloc(3): sockets that need it stay the kernel's, or
 * are offloaded a moment later. Call once, before other threads run. */
void sl_signal_asker(bool (*in_handler)(void));

/* After fork(2), in the child, before anything else (pthread_atfork(3) does it in preloaded
 * programs). Inherited sockets are the kernel's there; the child's first use of one asks the parent
 * to hand it back and waits for that, a second at most. An inherited epoll set is parted from the
 * parent's at its first use. Where sluiced does the work the child gets a lease of its own at its
 * first socket, or when it first waits (poll, an epoll set of its own) for connections of an
 * inherited listener that does not block: the processes that wait for that listener then
 * share it. The child also gets a lease when it has used inherited connections for some hundred
 * calls: it then takes over each connection that no other process has any more, to its own lane.
 * Without sluiced all sockets of the child are the kernel's. */
void sl_fork_child(void);

/* Call these around a system call that makes a child without running the handlers of
 * pthread_atfork(3) (clone(2), _Fork(2)): sl_fork_begin() before it and, if that returned true,
 * sl_fork_end() in the parent after it. Async-signal-safe. */
bool sl_fork_begin(void);
void sl_fork_end(void);
/* Call before vfork(2). Async-signal-safe. */
void sl_vfork_begin(void);

/* Call before the calling thread ends: by pthread_exit(3), with end exit(3), or by the bare
 * exit(2), with NULL. Where it is the first thread of the process, the library's thread does not
 * keep the process from ending. code: the thread's status, for the process if no other thread is
 * left. */
void sl_thread_ends(void (*end)(int code), int code);

/* Call before the calling thread is confined to some system calls (seccomp(2)) by that filter;
 * NULL: by another or an unknown one. If it kills for a call that the library makes, or may, all
 * sockets of the process become the kernel's, and stay so; a forked child takes over no connection.
 */
struct sock_fprog;
void sl_confine(const struct sock_fprog *filter);
/* Call before the process limits how many descriptors it may open: a forked child gets its parent's
 * connections now. */
void sl_fetch(void);
/* Call before the process sets its limit of descriptors: a device that is being opened needs some.
 */
void sl_settle(void);
/* The process has set its limit of descriptors (RLIMIT_NOFILE). */
void sl_files_limited(void);
/* Call before the process limits how many threads it may have (RLIMIT_NPROC): starts the library
 * now, with its thread, unless it runs or cannot. errno stays. */
void sl_start_early(void);
/* mlockall(2) for a program whose limit of locked memory is below what the library has mapped, when
 * the kernel has refused it with ENOMEM. flags: mlockall(2)'s, with MCL_CURRENT. Locks all mappings
 * but the library's. 0, -ENOMEM: the program's are beyond the limit, too, or another -errno. */
int sl_lock_all(int flags);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
