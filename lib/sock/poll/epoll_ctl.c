/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of epoll sets: members come, change and go. (epoll.h has the theory of operation.) */
#include "base/guard.h"
#include "sock/poll/epoll.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/listen/listen.h"
#include "sock/proc/fdtab.h"
#include "sock/stream/tconn.h"

/* The checks that fs/eventpoll.c makes for EPOLLEXCLUSIVE. */
static int check_exclusive(int op, const struct epoll_event *ev, bool is_set)
{
	const uint32_t allowed =
		EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE;

	if (!(ev->events & EPOLLEXCLUSIVE))
		return 0;
	if (op == EPOLL_CTL_MOD || is_set || (ev->events & ~allowed))
		return -EINVAL;
	return 0;
}

static struct sl_epitem *find(struct sl_epoll *ep, int fd, const void *obj)
{
	struct sl_epitem *it;

	sl_lock(&ep->lock);
	it = sl_epitem_find(ep, fd, obj);
	sl_epoll_unlock(ep);
	return it;
}

static struct sl_epitem *new_item(struct sl_epoll *ep, int fd, struct sl_sock *sk,
				  struct sl_epoll *inner, const struct epoll_event *ev)
{
	int saved = errno;
	struct sl_epitem *it = sl_calloc(1, sizeof(*it));

	errno = saved;
	if (!it)
		return NULL;
	sl_list_init(&it->ready);
	sl_list_init(&it->node);
	it->ep = ep;
	it->fd = fd;
	it->sk = sk;
	it->inner = inner;
	it->events = ev->events | EPOLLERR | EPOLLHUP;
	it->data = ev->data.u64;
	return it;
}

/* A set inside a set is a member of the kernel's set, too: the kernel tells of its other members,
 * with the item as data (epoll_wait.c), and keeps sets from going round in circles. */
static int kernel_nest(struct sl_epoll *ep, int epfd, int op, struct sl_epitem *it)
{
	struct epoll_event ev = {.events = it->events, .data.u64 = (uintptr_t)it};
	int r = sl_sys_epoll_ctl(epfd, op, it->fd, &ev);

	if (r == 0 && op == EPOLL_CTL_ADD)
		sl_store(&ep->nos, ep->nos + 1);
	return r;
}

static void drop(struct sl_epoll *ep, struct sl_epitem *it)
{
	sl_lock(&ep->lock);
	sl_epitem_bury(it);
	sl_epoll_unlock(ep);
	sl_epitem_reap(ep);
}

/* After a change: queues the item if it is ready now. */
static void look(struct sl_epoll *ep, struct sl_epitem *it)
{
	uint32_t events;

	sl_lock(&ep->lock);
	events = it->dead ? 0 : sl_epitem_ready(it);
	if (events)
		sl_epitem_queue(it, events);
	sl_epoll_unlock(ep);
	if (events)
		sl_epoll_tell(ep);
}

static int add(struct sl_epoll *ep, int epfd, struct sl_epitem *it)
{
	int r = sl_epitem_reserve(ep);

	if (r == 0 && it->inner)
		r = kernel_nest(ep, epfd, EPOLL_CTL_ADD, it);
	if (r < 0) {
		int saved = errno;

		sl_free(it);
		errno = saved;
		return r;
	}
	sl_lock(&ep->lock);
	sl_epitem_link(ep, it);
	sl_epoll_unlock(ep);
	if (!sl_epitem_watch(it)) {
		drop(ep, it);
		return -EAGAIN;
	}
	look(ep, it);
	sl_epoll_kick(ep);
	return 0;
}

static int modify(struct sl_epoll *ep, int epfd, struct sl_epitem *it, const struct epoll_event *ev)
{
	bool dead;
	int r = 0;

	if (it->events & EPOLLEXCLUSIVE)
		return -EINVAL;
	sl_lock(&ep->lock);
	dead = it->dead;
	it->events = ev->events | EPOLLERR | EPOLLHUP;
	it->data = ev->data.u64;
	it->os_ready = false;
	sl_epoll_unlock(ep);
	if (dead)
		return -ENOENT;
	if (it->inner)
		r = kernel_nest(ep, epfd, EPOLL_CTL_MOD, it);
	look(ep, it);
	return r;
}

static int del(struct sl_epoll *ep, int epfd, struct sl_epitem *it)
{
	if (it->inner)
		sl_sys_epoll_ctl(epfd, EPOLL_CTL_DEL, it->fd, NULL);
	drop(ep, it);
	return 0;
}

/* Changes a member that is ours; ctl held. -EAGAIN: the kernel has it by now. */
static int change(struct sl_epoll *ep, int epfd, int op, int fd, struct epoll_event *ev)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_epoll *inner = sl_fd_epoll(fd);
	struct sl_epitem *it = find(ep, fd, sk ? (void *)sk : (void *)inner);

	if (op == EPOLL_CTL_DEL)
		return it ? del(ep, epfd, it) : -ENOENT;
	if (op == EPOLL_CTL_MOD)
		return it ? modify(ep, epfd, it, ev) : -ENOENT;
	if (it)
		return -EEXIST;
	if (inner && sl_up_again() < 0)
		return -EAGAIN;
	it = new_item(ep, fd, sk, inner, ev);
	return it ? add(ep, epfd, it) : -ENOMEM;
}

static int change_kernel(struct sl_epoll *ep, int epfd, int op, int fd, struct epoll_event *ev)
{
	int r = sl_epoll_ctl_kernel(epfd, op, fd, ev);

	if (r == 0 && ep && op == EPOLL_CTL_ADD)
		sl_store(&ep->nos, ep->nos + 1);
	else if (r == 0 && ep && op == EPOLL_CTL_DEL && ep->nos)
		sl_store(&ep->nos, ep->nos - 1);
	return r;
}

/* Changes a member that was handed back while ONESHOT had silenced it: it is not in the kernel's
 * set yet. */
static int change_silent(struct sl_epoll *ep, int epfd, int op, struct sl_epitem *it,
			 struct epoll_event *ev)
{
	int r = 0;

	if (op == EPOLL_CTL_ADD)
		return -EEXIST;
	if (op == EPOLL_CTL_MOD)
		r = change_kernel(ep, epfd, EPOLL_CTL_ADD, it->fd, ev);
	if (r == 0)
		drop(ep, it);
	return r;
}

/* Changes a socket that was handed back in the kernel's set, and also its item, since our queue may
 * still hold data for it. */
static int change_leftover(struct sl_epoll *ep, int epfd, int op, int fd, struct epoll_event *ev)
{
	struct sl_epitem *it = find(ep, fd, sl_fd_sock(fd));
	int r;

	/* First: the number may stand for another file then. */
	if (op != EPOLL_CTL_DEL && sl_unlikely(sl_fd_sock(fd)->passed))
		sl_keeper_tell_parent(sl_fd_sock(fd));
	if (sl_unlikely(it && it->silent))
		return change_silent(ep, epfd, op, it, ev);
	r = change_kernel(ep, epfd, op, fd, ev);
	if (r < 0)
		return r;
	if (it && op == EPOLL_CTL_DEL)
		drop(ep, it);
	else if (it)
		modify(ep, epfd, it, ev);
	else if (op == EPOLL_CTL_ADD && sl_sock_left(sl_fd_sock(fd))) {
		it = new_item(ep, fd, sl_fd_sock(fd), NULL, ev);
		if (!it || sl_epitem_reserve(ep) < 0) {
			sl_free(it);
			return 0;
		}
		it->leftover = true;
		sl_lock(&ep->lock);
		sl_store(&ep->nleft, ep->nleft + 1);
		sl_epitem_link(ep, it);
		sl_epoll_unlock(ep);
		look(ep, it);
	}
	return r;
}

static bool is_kernels(int fd)
{
	const struct sl_sock *sk = sl_fd_sock(fd);

	return sk && sl_load(&sk->state) == SL_STATE_KERNEL;
}

static int change_any(struct sl_epoll *ep, int epfd, int op, int fd, struct epoll_event *ev)
{
	int r = -EAGAIN;

	if (sl_load(&ep->state) != SL_EP_OPEN)
		return -EBADF;
	sl_epitem_reap(ep);
	if (!is_kernels(fd) && sl_fdtab_word(fd))
		r = change(ep, epfd, op, fd, ev);
	if (r == -EAGAIN && is_kernels(fd))
		r = change_leftover(ep, epfd, op, fd, ev);
	else if (r == -EAGAIN)
		r = change_kernel(ep, epfd, op, fd, ev);
	return r;
}

/* Adopts a set that was not made through us, for its first member that is ours. NULL: epfd is no
 * set. */
static struct sl_epoll *enter_foreign(int epfd, int fd)
{
	struct sl_epoll *ep;

	if (sl_sys_epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL) != -ENOENT)
		return NULL;
	ep = sl_epoll_adopt(epfd);
	if (!ep)
		return NULL;
	ep->nos = 1; /* at least it may have */
	return sl_epoll_enter(epfd);
}

/* Keeps a socket that is the kernel's from being taken over during the call: a take-over moves it
 * from the kernel's sets to ours, and for a moment it is in none. NULL: it is not the kernel's. */
static struct sl_sock *hold_in_kernel(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	return sk && is_kernels(fd) && sl_sock_in_kernel(sk) ? sk : NULL;
}

int sl_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	bool known = op == EPOLL_CTL_ADD || op == EPOLL_CTL_MOD || op == EPOLL_CTL_DEL;
	bool has_event = op != EPOLL_CTL_DEL; /* read also for an op that is none */
	struct sl_epoll *ep = sl_epoll_enter(epfd);
	struct sl_sock *kernels;
	int r;

	if (has_event && sl_guard_touch(ev, sizeof(*ev))) {
		if (ep)
			sl_epoll_leave(ep);
		return -EFAULT;
	}
	if (!ep && sl_fd_epoll(epfd))
		return -EBUSY; /* a signal handler inside a call on this set */
	if (op == EPOLL_CTL_ADD && ep)
		sl_tcp_sock_inherit(fd);
	if (op == EPOLL_CTL_ADD && ep && sl_unlikely(sl_load(&ep->kernels)) && epfd != fd &&
	    sl_fd_hand_back(fd) == -EBADF)
		(void)sl_epoll_hand_back(fd);
	kernels = hold_in_kernel(fd);
	if (!ep && op == EPOLL_CTL_ADD && sl_fdtab_word(fd) && epfd != fd)
		ep = enter_foreign(epfd, fd);
	if (!ep || !sl_fdtab_word(fd) || epfd == fd || !known)
		r = change_kernel(ep, epfd, op, fd, ev);
	else if (has_event && !ev)
		r = -EFAULT;
	else if (has_event && check_exclusive(op, ev, sl_fd_epoll(fd) != NULL) < 0)
		r = -EINVAL;
	else {
		sl_lock(&ep->ctl);
		r = change_any(ep, epfd, op, fd, ev);
		sl_unlock(&ep->ctl);
	}
	if (kernels)
		sl_sock_out_of_kernel(kernels);
	if (ep)
		sl_epoll_leave(ep);
	return r;
}
