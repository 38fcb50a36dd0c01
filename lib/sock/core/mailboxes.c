/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailboxes of a process: one for each of its children.
 *
 * Theory of operation: a child can become another user, or another's. What two children both hold,
 * one of them can shut down, fill or read for the other. So each fork makes a pair of sockets: the
 * child has one end, the parent the other. The parent's end stays in the parent: a child closes the
 * copies that it was forked with before fork(2) returns, and holds nothing of its siblings'. The
 * keeper reads a few letters of a mailbox at a time, then that mailbox rests, and no other does.
 * When the last process that has the child's end has ended, the keeper closes the mailbox. The
 * parent keeps the child's end, too, for up to a second: a program that forks all the time would
 * else wake the keeper for each child that ends. The keeper then closes the ends of many children
 * in one round.
 *
 * A mailbox is a descriptor, so there is a bound: a part of the program's limit (RLIMIT_NOFILE).
 * Children beyond share the common mailbox (mail.c), which the log says once. A child that forks
 * asks by a letter for a mailbox for its own child. These are of the child's family, which has a
 * bound so that it leaves places for its siblings: a few, and more while many places are free.
 *
 * Closing a socket closes descriptors that lie in it unread, which can take as long as their maker
 * likes. So the keeper closes a mailbox itself only when it has seen the end of it: a packet of no
 * bytes looks like the end, but comes with its sender's credentials. */
#include "sock/core/mailboxes.h"

#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/sys.h"
#include "net/rtnl.h"
#include "sock/core/board.h"
#include "sock/core/stranger.h"
#include "sock/proc/keeper.h"
#include "sock/proc/up.h"

#define BOXES_MAX  SL_BOARD_COMMON
#define PART       16 /* of the numbers that the program may have */
#define FAMILY_MAX 8  /* mailboxes by letters, for each child */
#define FAMILY_OF  8  /* and this part of the places that are free */
#define COMMON_MAX 64 /* the same for the children that share the common mailbox */
#define REST_NS    1000000
#define EVENTS     8 /* a round */
#define YOUNG_NS   1000000000ull
#define YOUNG_MAX  32

static struct mailbox {
	int fd;        /* the parent's end plus 1; 0: unused. Set last and cleared last */
	uint32_t from; /* the place of the child whose family it is */
	int child;     /* the child's end plus 1, while the parent has it; 0: it has not */
	bool adopted;
	bool rests; /* the keeper's */
} box[BOXES_MAX];
static uint32_t nyoung;      /* mailboxes with `child` */
static uint64_t sweeps_ns;   /* the keeper's: when it closes these; 0: it has not seen any */
static uint32_t max, nbelow; /* places in use are below nbelow, which only grows */
static int epfd = -1;
static sl_mail_read read_some;
static uint64_t rests_until_ns; /* the keeper's; 0: none rests */

static void watch(uint32_t i, int op)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.u32 = i};

	sl_sys_epoll_ctl(epfd, op, sl_load(&box[i].fd) - 1, &ev);
}

/* Closes the mailbox; another thread does if something may lie in it. */
static void drop(uint32_t i, bool empty)
{
	int fd = box[i].fd - 1;
	bool held, own = empty && !box[i].adopted;

	if (!box[i].rests)
		watch(i, EPOLL_CTL_DEL);
	box[i].rests = false;
	/* A child that is forked in between would close a number that may be another file's. */
	held = sl_fork_hold();
	if (own)
		sl_sys_close(fd);
	else
		sl_stranger_close(fd);
	sl_store_release(&box[i].fd, 0);
	if (held)
		sl_fork_release();
}

static void look(uint32_t i)
{
	switch (read_some(box[i].fd - 1, i)) {
	case SL_MAIL_EMPTY:
		break;
	case SL_MAIL_MORE:
		watch(i, EPOLL_CTL_DEL);
		box[i].rests = true;
		rests_until_ns = sl_now_ns() + REST_NS;
		break;
	case SL_MAIL_ENDED:
		drop(i, true);
		break;
	case SL_MAIL_BROKEN:
		drop(i, false);
		break;
	}
}

static void on_letters(uint32_t events)
{
	struct epoll_event evs[EVENTS];
	int n = sl_sys_epoll_wait(epfd, evs, EVENTS, 0);

	for (int i = 0; i < n; i++)
		look(evs[i].data.u32);
}

static void end_rests(void)
{
	uint32_t n = sl_load_acquire(&nbelow);

	rests_until_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!sl_load_acquire(&box[i].fd) || !box[i].rests)
			continue;
		box[i].rests = false;
		watch(i, EPOLL_CTL_ADD);
	}
}

/* Leaves the child's end to the child. False: that has happened. */
static bool leave_end(uint32_t i)
{
	int fd = box[i].child - 1;
	bool held;

	if (fd < 0)
		return false;
	held = sl_fork_hold();
	sl_store(&box[i].child, 0);
	sl_sys_close(fd);
	if (held)
		sl_fork_release();
	return true;
}

static void sweep(void)
{
	uint32_t n = sl_load_acquire(&nbelow);

	sweeps_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (sl_load_acquire(&box[i].fd) <= 0 || !leave_end(i))
			continue;
		__atomic_fetch_sub(&nyoung, 1, __ATOMIC_RELAXED);
		if (!box[i].rests)
			look(i);
	}
}

void sl_mailboxes_wake(uint64_t now_ns)
{
	uint32_t young = sl_load(&nyoung);

	if (rests_until_ns && now_ns >= rests_until_ns)
		end_rests();
	if (young && !sweeps_ns)
		sweeps_ns = now_ns + YOUNG_NS;
	if (young && (young >= YOUNG_MAX || now_ns >= sweeps_ns))
		sweep();
}

uint64_t sl_mailboxes_due_ns(void)
{
	return rests_until_ns && sweeps_ns ? sl_min(rests_until_ns, sweeps_ns)
					   : rests_until_ns | sweeps_ns;
}

static uint32_t bound(void)
{
	struct rlimit64 lim;

	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim) < 0)
		return 0;
	return (uint32_t)sl_min(lim.rlim_max / PART, (uint64_t)BOXES_MAX);
}

int sl_mailboxes_open(sl_mail_read read)
{
	epfd = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	if (epfd < 0)
		return epfd;
	max = bound();
	read_some = read;
	sl_keeper_watch_fd(epfd, EPOLLIN, on_letters);
	return 0;
}

static void forget_all(void)
{
	memset(box, 0, nbelow * sizeof(box[0]));
	nbelow = nyoung = 0;
	rests_until_ns = sweeps_ns = 0;
	if (epfd >= 0)
		sl_sys_close(epfd);
	epfd = -1;
}

void sl_mailboxes_close(void)
{
	for (uint32_t i = 0; i < nbelow; i++) {
		if (box[i].fd > 0)
			sl_sys_close(box[i].fd - 1);
		if (box[i].child)
			sl_sys_close(box[i].child - 1);
	}
	forget_all();
}

/* Takes a free place with a placeholder (-1), as the keeper and a thread that forks may both look
 * for one; -EMFILE: there is none. */
static int take_place(void)
{
	for (uint32_t i = 0; i < max; i++) {
		uint32_t n = sl_load(&nbelow);
		int none = 0;

		if (sl_load(&box[i].fd) ||
		    !__atomic_compare_exchange_n(&box[i].fd, &none, -1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		while (n <= i && !__atomic_compare_exchange_n(&nbelow, &n, i + 1, false,
							      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		return (int)i;
	}
	return -EMFILE;
}

static void fill(uint32_t i, int fd, int child, uint32_t from, bool adopted)
{
	box[i].child = child + 1;
	box[i].from = from;
	box[i].adopted = adopted;
	box[i].rests = false;
	sl_store_release(&box[i].fd, fd + 1);
	watch(i, EPOLL_CTL_ADD);
}

static void warn_full(void)
{
	sl_warn_once("sluice",
		     "more than %u children live: later ones share a way to tell this process what "
		     "they use, so one of them can stop what others share with it (remedy: a "
		     "higher limit of descriptors, ulimit -Hn, up to %u)",
		     max, BOXES_MAX * PART);
}

int sl_mailbox_make(uint32_t *place)
{
	const int one = 1;
	uint32_t young;
	int fd[2], i, err;

	if (epfd < 0)
		return -ENOENT;
	i = take_place();
	if (i < 0) {
		warn_full();
		return i;
	}
	err = sl_sysi(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		      fd);
	if (err < 0) {
		sl_store_release(&box[i].fd, 0);
		return err;
	}
	sl_sys_setsockopt(fd[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	*place = (uint32_t)i;
	fd[1] = sl_fd_keep(fd[1]);
	fill((uint32_t)i, sl_fd_keep(fd[0]), fd[1], (uint32_t)i, false);
	young = __atomic_add_fetch(&nyoung, 1, __ATOMIC_RELAXED);
	if (young == 1 || young == YOUNG_MAX)
		sl_rtnl_wake();
	return fd[1];
}

/* The most mailboxes that a family may have by letters, if `used` places are in use. */
static uint32_t family_max(uint32_t family, uint32_t used)
{
	const uint32_t most = family == SL_BOARD_COMMON ? COMMON_MAX : FAMILY_MAX;

	return used < max ? sl_max(most, (max - used) / FAMILY_OF) : most;
}

bool sl_mailbox_adopt(int end, uint32_t from, uint32_t *place)
{
	const uint32_t family = from < SL_BOARD_COMMON ? box[from].from : SL_BOARD_COMMON;
	uint32_t kin = 0, used = 0, n = sl_load(&nbelow);
	const int one = 1;
	int i;

	for (uint32_t k = 0; k < n; k++) {
		if (sl_load_acquire(&box[k].fd) <= 0)
			continue;
		used++;
		kin += box[k].adopted && box[k].from == family;
	}
	if (epfd < 0 || kin >= family_max(family, used) || (i = take_place()) < 0)
		return false;
	sl_sys_setsockopt(end, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	*place = (uint32_t)i;
	fill(*place, end, -1, family, true);
	return true;
}

void sl_mailboxes_each(void (*fn)(int fd, void *arg), void *arg)
{
	uint32_t n = sl_load(&nbelow);

	for (uint32_t i = 0; i < n; i++)
		if (sl_load_acquire(&box[i].fd) > 0)
			fn(box[i].fd - 1, arg);
}

/* Numbers in a row, which one call closes: a child has the mailboxes of all its siblings. */
struct run {
	int first, end;
};

static void close_run(const struct run *r)
{
	if (r->end - r->first < 2 || sl_sys(SYS_close_range, r->first, r->end - 1, 0) < 0)
		for (int fd = r->first; fd < r->end; fd++)
			sl_sys_close(fd);
	for (int fd = r->first; fd < r->end; fd++)
		sl_fd_forget(fd);
}

static void add_to_run(struct run *r, int fd)
{
	if (fd < 0)
		return;
	if (fd != r->end) {
		close_run(r);
		r->first = fd;
	}
	r->end = fd + 1;
}

void sl_mailboxes_child(int own)
{
	struct run r = {0, 0};

	for (uint32_t i = 0; i < nbelow; i++) {
		int child = box[i].child - 1;

		add_to_run(&r, child == own ? -1 : child);
		add_to_run(&r, box[i].fd - 1);
	}
	close_run(&r);
	forget_all();
}
