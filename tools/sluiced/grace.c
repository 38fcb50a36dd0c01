/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for grace periods of the kernel in a thread of its own: on a busy machine one takes
 * hundreds of milliseconds, in which the loop would tell nothing to the peers of the next dead
 * process. */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/claim/bury.h"
#include "session.h"
#include "sluiced.h"

static int ask = -1, tell = -1; /* eventfds */
static uint32_t asked, over;    /* numbers; each has one writer */

/* A request made before a period began is done when that period is over. */
static void *wait_for_them(void *arg)
{
	const uint64_t one = 1;
	uint64_t n;

	while (sl_sys_read(ask, &n, sizeof(n)) == sizeof(n)) {
		uint32_t number = sl_load_acquire(&asked);

		sl_broker_grace();
		sl_store_release(&over, number);
		(void)sl_sys_write(tell, &one, sizeof(one));
	}
	return NULL;
}

static bool start_thread(void)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, wait_for_them, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

/* Starts the thread from within the sandbox, which must confine the thread, too. */
static bool start_grace(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SL_TAG_GRACE};

	ask = sl_fd_keep(sl_sys_eventfd(0, EFD_CLOEXEC));
	tell = sl_fd_keep(sl_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ask >= 0 && tell >= 0 && !sl_sys_epoll_ctl(sluiced.epfd, EPOLL_CTL_ADD, tell, &ev) &&
	    start_thread())
		return true;
	sl_warn("sluiced", "no thread waits for the kernel: the loop does");
	return false;
}

uint32_t sl_grace_begin(void)
{
	static enum { NOT_YET, BESIDE, HERE } how;
	const uint64_t one = 1;
	uint32_t number = asked + 1;

	if (how == NOT_YET)
		how = start_grace() ? BESIDE : HERE;
	sl_store_release(&asked, number);
	if (how == HERE) {
		sl_broker_grace();
		over = number;
	} else {
		(void)sl_sys_write(ask, &one, sizeof(one));
	}
	return number;
}

bool sl_grace_is_over(uint32_t number)
{
	return (int32_t)(sl_load_acquire(&over) - number) >= 0;
}

void sl_grace_readable(void)
{
	uint64_t n;

	(void)sl_sys_read(tell, &n, sizeof(n));
}
