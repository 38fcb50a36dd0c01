/* SPDX-License-Identifier: BSD-2-Clause */
/* The real calls of the C library, and the few lines that every wrapper needs. */
#ifndef SL_PRELOAD_REAL_H
#define SL_PRELOAD_REAL_H

/* This library defines these functions: no inline or checking variants of them here. The functions
 * that these headers declare are exported if defined here (preload.map has the last word). */
#undef _FORTIFY_SOURCE
#pragma GCC visibility push(default)
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* Entry points of -D_FORTIFY_SOURCE, which no header declares. room: bytes the buffer has. */
void __chk_fail(void) __attribute__((noreturn)); /* "buffer overflow detected" */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
		       socklen_t *addrlen);
int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		const sigset_t *sigmask, size_t room);
int __vdprintf_chk(int fd, int flag, const char *fmt, va_list ap);
int __dprintf_chk(int fd, int flag, const char *fmt, ...);
/* Other names of the C library's functions; no header declares them. */
ssize_t __read(int fd, void *buf, size_t len);
ssize_t __write(int fd, const void *buf, size_t len);
ssize_t __send(int fd, const void *buf, size_t len, int flags);
int __connect(int fd, const struct sockaddr *addr, socklen_t len);
int __close(int fd);
int __dup2(int fd, int fd2) __THROW;
int __fcntl(int fd, int cmd, ...);
int __poll(struct pollfd *fds, nfds_t n, int ms);
int __select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv);
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old) __THROW;
int _IO_fclose(FILE *f);
FILE *_IO_fdopen(int fd, const char *mode);
sighandler_t bsd_signal(int sig, sighandler_t handler) __THROW;
int unshare(int flags) __THROW;
int setns(int fd, int type) __THROW;
int capset(void *header, const void *data) __THROW;
/* liburing's (uring.c); params: the kernel's struct io_uring_params. */
struct io_uring;
struct params;
int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct params *p);
int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring, struct params *p, void *buf,
			    size_t size);
int io_uring_queue_mmap(int fd, struct params *p, struct io_uring *ring);
void io_uring_queue_exit(struct io_uring *ring);
int io_uring_submit(struct io_uring *ring);
int io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
int io_uring_submit_and_get_events(struct io_uring *ring);
int io_uring_submit_and_wait_timeout(struct io_uring *ring, void *cqe, unsigned n, void *ts,
				     void *mask);
int io_uring_submit_and_wait_min_timeout(struct io_uring *ring, void *cqe, unsigned n, void *ts,
					 unsigned min, void *mask);
int io_uring_submit_and_wait_reg(struct io_uring *ring, void *cqe, unsigned n, int reg);
int io_uring_wait_cqes(struct io_uring *ring, void *cqe, unsigned n, void *ts, void *mask);
int io_uring_wait_cqe_timeout(struct io_uring *ring, void *cqe, void *ts);
int io_uring_register_files(struct io_uring *ring, const int *fds, unsigned n);
int io_uring_register_files_tags(struct io_uring *ring, const int *fds, const void *tags,
				 unsigned n);
int io_uring_register_files_update(struct io_uring *ring, unsigned at, const int *fds, unsigned n);
int io_uring_register_files_update_tag(struct io_uring *ring, unsigned at, const int *fds,
				       const void *tags, unsigned n);
int io_uring_setup(unsigned entries, struct params *p);
int io_uring_enter(unsigned fd, unsigned n, unsigned least, unsigned flags, void *mask);
int io_uring_enter2(unsigned fd, unsigned n, unsigned least, unsigned flags, void *arg,
		    size_t size);
int io_uring_register(unsigned fd, unsigned op, const void *arg, unsigned n);
#pragma GCC visibility pop

#include "base/base.h"
#include "sluice.h"
#include "sluice_extra.h"

/* Not a symbol of the program: this library alone sees it. */
#define SL_OWN __attribute__((visibility("hidden")))

enum sl_call {
#define SL_CALL(result, name, params, raw) SL_CALL_##name,
#include "calls.def"
#undef SL_CALL
	SL_CALL_COUNT
};

#define SL_CALL(result, name, params, raw) typedef result(sl_call_##name##_fn) params;
#include "calls.def"
#undef SL_CALL

extern void *sl_real_table[SL_CALL_COUNT]; /* NULL: not looked up yet */
void *sl_real_find(enum sl_call call);     /* never NULL */

static inline void *sl_real_get(enum sl_call call)
{
	void *f = sl_load(&sl_real_table[call]);

	return sl_likely(f) ? f : sl_real_find(call);
}

/* REAL(read)(fd, buf, n): the C library's own call. */
#define REAL(name) ((sl_call_##name##_fn *)sl_real_get(SL_CALL_##name))

/* Above 0 in a child of vfork(2), which has the parent's memory but descriptors of its own: its
 * calls must not touch the library's tables. sl_used_in_vfork(): fd is used next; false. */
extern __thread int sl_in_vfork;
bool sl_used_in_vfork(int fd) SL_OWN;
/* Returns -1 and sets errno, for the assembly; r: -errno from the kernel. */
long sl_call_failed(long r) SL_OWN;
/* raw.c: syscall(2) past this library; returns -1 and sets errno as syscall(2) does. */
#if defined(__x86_64__)
long sl_raw(long nr, ...) SL_OWN;
#else
#define sl_raw syscall
#endif
/* A call made by syscall(2): arguments that it does not have may hold anything. Returns -1 and sets
 * errno. Each function stands beside the wrapper of that name (calls.def: SL_CALL_OWN). */
#define SL_SYS(name) SL_OWN long sl_sys_##name(long a, long b, long c, long d, long e, long f)
#define SL_CALL(result, name, params, raw)
#define SL_CALL_OWN(result, name, params, raw) SL_SYS(name);
#define SL_CALL_FD                             SL_CALL
#define SL_CALL_ALL                            SL_CALL
#include "calls.def"
#undef SL_CALL
SL_SYS(pselect6);
SL_SYS(io_submit);
SL_SYS(bpf);
SL_SYS(unshare);
SL_SYS(setns);
SL_SYS(exit);
#define SL_LANDLOCK_CREATE   444 /* (the headers may be older) */
#define SL_LANDLOCK_RESTRICT 446
SL_SYS(landlock_create);
SL_SYS(landlock_restrict);
#define SL_SYS_UNUSED (void)a, (void)b, (void)c, (void)d, (void)e, (void)f
/* fork.c: a call of syscall(2) that makes a process; its arguments and its number. */
long sl_syscall_child(unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		      unsigned long e, long nr) SL_OWN;
/* creds.c: a call of syscall(2) that makes the process another user. */
long sl_syscall_creds(long a, long b, long c, long nr) SL_OWN;
/* signal.c: true while this thread runs a signal handler of the program. */
bool sl_in_signal(void) SL_OWN;
/* The library is there: makes bad addresses EFAULT from now on. */
void sl_faults_begin(void) SL_OWN;
/* pass.c: true while a number may be a socket of ours. */
bool sl_may_have_ours(void) SL_OWN;
/* Reads n bytes of the program's. False: bad address. */
bool sl_get(void *to, const void *from, size_t n) SL_OWN;
/* Makes the socket of this number the kernel's. False: it is ours and cannot. errno stays. The
 * others find such numbers in the arguments of a call that is about to be made. */
bool sl_pass(int fd) SL_OWN;
bool sl_pass_list(const int *fds, size_t n) SL_OWN;
bool sl_pass_by_ioctl(int fd, unsigned long req, void *arg) SL_OWN;
void sl_pass_rights(const struct msghdr *msg) SL_OWN; /* rw.c */
bool sl_pass_by_address(const struct sockaddr *addr, socklen_t len) SL_OWN;
/* unshare.c: around a call that unshares what these flags say (CLONE_*). */
bool sl_unshare_begin(int flags) SL_OWN;
void sl_unshare_end(bool begun) SL_OWN;
/* uring.c: this process has made a ring; its descriptor is about to listen, when it has. */
extern bool sl_uring_seen SL_OWN;
void sl_uring_listens(int fd) SL_OWN;
/* These numbers are closed, or will mean other files. errno stays. */
void sl_uring_forget(unsigned first, unsigned last) SL_OWN;
/* confine.c: seccomp(2). */
long sl_seccomp(unsigned long op, unsigned long flags, void *args) SL_OWN;
/* For a child just made for which no handler of pthread_atfork(3) runs. */
void sl_lib_child(void) SL_OWN;
extern void (*sl_look_in_child)(void) SL_OWN; /* it calls this; NULL: nothing */
/* In the C library since 2.34. */
pid_t _Fork(void);

/* libsluice.so, loaded when the program makes the first socket or epoll set that it may offload:
 * until then no descriptor is ours, and all of this is empty. */
struct sl_lib {
#define SL_LIB(name) __typeof__(sl_##name) *name;
#include "lib.def"
#undef SL_LIB
};
extern struct sl_lib lib SL_OWN;
/* Loads libsluice.so. False: there is none, or this thread loads it; the kernel does the call. */
bool sl_lib_load(void);
/* All sockets of this process are the kernel's from now on. why: a constant. errno stays. */
void sl_leave_all(const char *why) SL_OWN;
void sl_lib_never(void) SL_OWN;        /* libsluice.so is not loaded later than now */
extern const char *sl_all_left SL_OWN; /* that reason, or NULL */
/* False: that was called; tells libsluice.so, once it is loaded. */
bool sl_leave_tell(void) SL_OWN;
/* A thread enters another network namespace. */
void sl_netns_changes(void) SL_OWN;

static inline bool lib_is_there(void)
{
	return sl_load_acquire(&lib.is_ours) != NULL; /* set last */
}

/* given.c: the number of inherited sockets that the library has not heard of; nearly always 0. Each
 * is told to the library at its first use. */
extern unsigned sl_given_left SL_OWN;
void sl_given_use(int fd) SL_OWN;
/* These numbers will mean other files. */
void sl_given_forget(unsigned first, unsigned last) SL_OWN;
/* A message was received: tells the library of the sockets in it. */
void sl_given_received(const struct msghdr *msg) SL_OWN;

static inline bool ours(int fd)
{
	if (sl_unlikely(sl_load(&sl_given_left)))
		sl_given_use(fd);
	return lib_is_there() && !sl_in_vfork && lib.is_ours(fd);
}

/* ours(), at the beginning of a cancellation point. (Calls that sleep in the library are such
 * points, too.) */
static inline bool ours_point(int fd)
{
	if (!ours(fd))
		return sl_unlikely(sl_in_vfork) && sl_used_in_vfork(fd);
	pthread_testcancel();
	return true;
}

/* Turns -errno into errno and -1. */
static inline long done(long r)
{
	if (sl_likely(r >= 0))
		return r;
	errno = (int)-r;
	return -1;
}

#endif
