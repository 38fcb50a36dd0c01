/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing descriptors that a hostile process has sent.
 *
 * Theory of operation: close(2) can take as long as the maker of the file likes: a socket with
 * SO_LINGER waits for its peer, a file of FUSE for its server. So that neither the keeper nor a
 * thread of the program is held up, a thread of its own closes them; it runs only while there are
 * such descriptors. When it hangs and ROOM descriptors wait, the callers stop reading the socket
 * that brings them. One packet can bring more than that, and each child has a socket: these wait,
 * too, so that none stays open for good.
 *
 * The thread is the kernel's alone, none of pthread_create(3): that allocates by malloc(3), whose
 * first use in the keeper maps an arena of 64 MB of addresses, which a child that limits its
 * addresses (RLIMIT_AS) has, too. It shares the thread-local storage of the thread that starts it,
 * so it takes no lock (sl_lock() asks for the owner there) and sets no errno. No signal handler
 * runs on it. */
#include "sock/core/stranger.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"

#define ROOM     64
#define PAUSE_NS 100000
#define PAUSES   20000

#define RAW __attribute__((no_sanitize("address", "thread", "undefined")))

/* Descriptors that wait, linked by their numbers + 1; 0: the end. Any thread and any signal handler
 * pushes, without a lock; the closing thread alone takes, and always all. */
static uint32_t waiting;
static uint32_t taken;  /* the thread has them */
static uint32_t *after; /* by number; NULL: none has come yet */
static uint32_t nwaiting;
static int current = -1;  /* the thread closes it now */
static uint32_t closing;  /* 1: the thread is there, or is being started */
static uint32_t tid;      /* the kernel's number of the last one */
static uint32_t on_stack; /* the kernel writes it: the thread's number, 0: off its stack */
static char stack[16384] __attribute__((aligned(16)));

/* NULL: there is no memory. */
static uint32_t *links(void)
{
	const size_t bytes = SL_FD_MAX * sizeof(*after);
	uint32_t *mem = sl_load_acquire(&after), *none = NULL;

	if (mem)
		return mem;
	mem = sl_sys_pages(bytes, MAP_NORESERVE);
	if (!mem || __atomic_compare_exchange_n(&after, &none, mem, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
		return mem;
	sl_sys(SYS_munmap, mem, bytes);
	return none;
}

/* False: it waits nowhere. */
static bool put(int fd)
{
	uint32_t first, *link = (uint32_t)fd < SL_FD_MAX ? links() : NULL;

	if (!link)
		return false;
	link += fd;
	__atomic_fetch_add(&nwaiting, 1, __ATOMIC_RELAXED);
	first = sl_load(&waiting);
	do
		sl_store(link, first);
	while (!__atomic_compare_exchange_n(&waiting, &first, (uint32_t)fd + 1, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return true;
}

/* (A child that is forked meanwhile finds them in one of the lists, or in both.) */
RAW static bool take_all(void)
{
	uint32_t first = __atomic_load_n(&waiting, __ATOMIC_SEQ_CST);

	do
		__atomic_store_n(&taken, first, __ATOMIC_RELEASE);
	while (!__atomic_compare_exchange_n(&waiting, &first, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST));
	return first;
}

/* (The next one is read before close(2): afterwards the number may be another file's, which may
 * wait, too.) */
RAW static void close_taken(void)
{
	static const struct linger off;

	while (taken) {
		int fd = (int)taken - 1;

		__atomic_store_n(&current, fd, __ATOMIC_RELAXED);
		__atomic_store_n(&taken, __atomic_load_n(&after[fd], __ATOMIC_RELAXED),
				 __ATOMIC_RELEASE);
		__atomic_fetch_sub(&nwaiting, 1, __ATOMIC_RELAXED);
		sl_syscall6(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, (long)&off, sizeof(off), 0);
		if (sl_fd_is_kept(fd))
			sl_fd_forget(fd);
		__atomic_store_n(&current, -1, __ATOMIC_RELAXED);
		sl_syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
	}
}

/* True: the caller is to start the thread, or, being it, goes on. */
RAW static bool begin(void)
{
	return __atomic_exchange_n(&closing, 1, __ATOMIC_SEQ_CST) == 0;
}

/* (A caller pushes first and looks at `closing` then; the thread does it in the other order, so one
 * of the two sees the other.) */
RAW static int closer(void *arg)
{
	do {
		while (take_all())
			close_taken();
		__atomic_store_n(&closing, 0, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) && begin());
	return 0;
}

/* The C library's, by the name that nobody interposes (ctl/broker/helper.c). */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

/* The last thread may still be on its way from the end of closer() out of its stack. */
static void await_stack(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	while (sl_load_acquire(&on_stack))
		sl_sys(SYS_nanosleep, &pause, NULL);
}

/* False: the kernel makes no thread. */
static bool start(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	int err = errno, t;
	sigset_t all, old;

	await_stack();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	t = __clone(closer, stack + sizeof(stack), flags, NULL, &on_stack, NULL, &on_stack);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = err;
	if (t > 0)
		sl_store(&tid, (uint32_t)t);
	return t > 0;
}

void sl_stranger_warn(void)
{
	sl_warn_once("sock", "a process that shares sockets with this one sends descriptors that "
			     "belong to none of them: they are closed. Is it still what it was?");
}

/* Moves a socket to a high number, but no other file: getsockopt(2) asks no file system, and
 * closing one of a socket's two numbers does not wait. */
int sl_stranger_take(int fd)
{
	int domain, high;
	socklen_t len = sizeof(domain);

	if (sl_fd_is_kept(fd))
		return fd;
	high = sl_sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ? -ENOTSOCK
									   : sl_fd_dup(fd);
	if (high < 0) {
		sl_fd_protect(fd);
		return fd;
	}
	sl_sys_close(fd);
	return high;
}

bool sl_stranger_close(int fd)
{
	fd = sl_stranger_take(fd);
	/* Without memory the caller waits for the close: better than a descriptor that stays open
	 * for good. */
	if (!put(fd))
		sl_sys_close(fd);
	else if (begin() && !start())
		sl_store(&closing, 0); /* the next call tries again */
	return sl_load(&nwaiting) < ROOM;
}

static bool stranger_is_there(void)
{
	uint32_t t = sl_load(&tid);

	return sl_load(&closing) || (t && sl_sys(SYS_tgkill, sl_sys(SYS_getpid), t, 0) == 0);
}

bool sl_stranger_wait(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (unsigned i = 0; i < PAUSES && stranger_is_there(); i++)
		sl_sys(SYS_nanosleep, &pause, NULL);
	return !stranger_is_there();
}

static void forget_all(uint32_t first)
{
	for (; first; first = after[first - 1])
		if (sl_fd_is_kept((int)first - 1))
			sl_fd_forget((int)first - 1);
}

/* The thread is not in the child. The descriptors that waited stay open there, until execve(2) or
 * the end, but their numbers are the program's again: dup2(2) may put another file on them. */
void sl_stranger_child(void)
{
	forget_all(waiting);
	forget_all(taken);
	if (current >= 0 && sl_fd_is_kept(current))
		sl_fd_forget(current);
	current = -1;
	waiting = taken = nwaiting = 0;
	closing = tid = on_stack = 0;
}
