/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing descriptors that a hostile process has sent.
 *
 * Theory of operation: close(2) can take as long as whoever made the file likes: a socket with
 * SO_LINGER waits for its peer, a file of FUSE for its server. A thread of its own does it, which
 * is there only while there are such descriptors, so that neither the keeper nor a thread of the
 * program is held up. When that thread hangs and as many wait as there is room for, the callers
 * read no more of what brings them. */
#include "sock/stranger.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"

#define ROOM     64
#define PAUSE_NS 100000
#define PAUSES   20000

static struct sl_lock lock; /* protects what follows; a leaf */
static int waiting[ROOM];
static uint32_t nwaiting;
static bool closing; /* the thread is there */
static uint32_t tid; /* the kernel's number of the last one */

/* -1: none is left, and the thread ends. */
static int next(void)
{
	int fd = -1;

	sl_lock(&lock);
	if (nwaiting)
		fd = waiting[--nwaiting];
	else
		closing = false;
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
	err = pthread_create(&thread, NULL, closer, NULL);
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

bool sl_stranger_close(int fd)
{
	bool begin, room;

	sl_fd_protect(fd);
	if (!sl_lock(&lock))
		return false; /* (a signal handler in the midst of it) */
	if (nwaiting < ROOM)
		waiting[nwaiting++] = fd;
	room = nwaiting < ROOM;
	begin = !closing;
	closing = true;
	sl_unlock(&lock);
	if (begin && start()) {
		sl_lock(&lock);
		closing = false; /* the next call tries again */
		sl_unlock(&lock);
	}
	return room;
}

static bool is_there(void)
{
	uint32_t t = sl_load(&tid);

	return sl_load(&closing) || (t && sl_sys(SYS_tgkill, sl_sys(SYS_getpid), t, 0) == 0);
}

bool sl_stranger_wait(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (unsigned i = 0; i < PAUSES && is_there(); i++)
		sl_sys(SYS_nanosleep, &pause, NULL);
	return !is_there();
}

/* The thread is not in the child. What waited stays open there, until execve(2) or the end. */
void sl_stranger_child(void)
{
	memset(&lock, 0, sizeof(lock));
	nwaiting = 0;
	closing = false;
	tid = 0;
}
