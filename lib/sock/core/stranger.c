/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing descriptors that a hostile process has sent.
 *
 * Theory of operation: close(2) can take as long as the maker of the file likes: a socket with
 * SO_LINGER waits for its peer, a file of FUSE for its server. So that neither the keeper nor a
 * thread of the program is held up, a thread of its own closes them; it runs only while there are
 * such descriptors. When it hangs and ROOM descriptors wait, the callers stop reading the socket
 * that brings them. One packet can bring more than that, and each child has a socket: these wait,
 * too, so that none stays open for good. */
#include "sock/core/stranger.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/fds.h"
#include "base/heap.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/sys.h"

#define ROOM     64
#define PAUSE_NS 100000
#define PAUSES   20000

/* Where there is no place for it: a descriptor + 1, 0: free. Any thread and any signal handler, no
 * lock. */
static int aside[16];
static struct sl_lock lock; /* protects what follows; a leaf */
static int first[ROOM], *waiting = first;
static uint32_t nwaiting, room = ROOM;
static int current = -1; /* the thread closes it now */
static bool closing;     /* the thread is there */
static uint32_t tid;     /* the kernel's number of the last one */

/* False: there is no memory. The lock is held. */
static bool has_place(void)
{
	int *more;

	if (nwaiting < room)
		return true;
	more = sl_malloc(2 * room * sizeof(*more));
	if (!more)
		return false;
	memcpy(more, waiting, nwaiting * sizeof(*more));
	if (waiting != first)
		sl_free(waiting);
	waiting = more;
	room *= 2;
	return true;
}

/* When these places are full, too, the caller waits for the close: that is better than a descriptor
 * that stays open for good. */
static void set_aside(int fd)
{
	for (unsigned i = 0; i < sl_array_len(aside); i++) {
		int none = 0;

		if (__atomic_compare_exchange_n(&aside[i], &none, fd + 1, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	sl_sys_close(fd);
}

/* -1: none. */
static int take_aside(void)
{
	for (unsigned i = 0; i < sl_array_len(aside); i++)
		if (sl_load(&aside[i]))
			return __atomic_exchange_n(&aside[i], 0, __ATOMIC_ACQUIRE) - 1;
	return -1;
}

/* -1: none is left, and the thread ends. */
static int next(void)
{
	int fd = -1;

	sl_lock(&lock);
	if (nwaiting)
		fd = waiting[--nwaiting];
	else
		fd = take_aside();
	if (fd < 0)
		closing = false;
	sl_store(&current, fd);
	sl_unlock(&lock);
	return fd;
}

static void *closer(void *arg)
{
	static const struct linger off;
	int fd;

	sl_store(&tid, sl_tid());
	while ((fd = next()) >= 0) {
		sl_sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
		sl_sys_close(fd);
	}
	return NULL;
}

static int start(void)
{
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = sl_roomy_thread(&thread, closer, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
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
	bool begin, few;

	fd = sl_stranger_take(fd);
	if (!sl_lock(&lock)) { /* a signal handler in the midst of it, which starts the thread */
		set_aside(fd);
		return false;
	}
	if (has_place())
		waiting[nwaiting++] = fd;
	else
		set_aside(fd);
	few = nwaiting < ROOM;
	begin = !closing;
	closing = true;
	sl_unlock(&lock);
	if (begin && start()) {
		sl_lock(&lock);
		closing = false; /* the next call tries again */
		sl_unlock(&lock);
	}
	return few;
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

/* The thread is not in the child. The descriptors that waited stay open there, until execve(2) or
 * the end, but their numbers are the program's again: dup2(2) may put another file on them. */
void sl_stranger_child(void)
{
	memset(&lock, 0, sizeof(lock));
	for (uint32_t i = 0; i < nwaiting; i++)
		if (sl_fd_is_kept(waiting[i]))
			sl_fd_forget(waiting[i]);
	for (int fd = take_aside(); fd >= 0; fd = take_aside())
		if (sl_fd_is_kept(fd))
			sl_fd_forget(fd);
	if (sl_fd_is_kept(current))
		sl_fd_forget(current);
	current = -1;
	nwaiting = 0;
	closing = false;
	tid = 0;
}
