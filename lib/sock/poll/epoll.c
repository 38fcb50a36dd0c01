/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets: made, changed, closed. (epoll.h has the theory of operation.) */
#include "sock/poll/epoll.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/proc/fdtab.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

struct sl_list sl_epoll_sets = {&sl_epoll_sets, &sl_epoll_sets};
struct sl_lock sl_epoll_sets_lock;

/* Life ----------------------------------------------------------------------------------------- */

static struct sl_epoll *new_set(void)
{
	struct sl_epoll *ep;
	int saved = errno;

	sl_lock(&sl_epoll_sets_lock);
	sl_list_for_each (l, &sl_epoll_sets) {
		ep = sl_container_of(l, struct sl_epoll, node);
		if (sl_load(&ep->state) == SL_EP_FREE && sl_load(&ep->users) == 0)
			goto found;
	}
	ep = sl_calloc(1, sizeof(*ep));
	errno = saved;
	if (!ep)
		goto out;
	sl_list_init(&ep->ready);
	sl_list_init(&ep->items);
	sl_list_init(&ep->dead);
	sl_list_init(&ep->sleepers);
	sl_list_init(&ep->watchers);
	sl_list_add_tail(&sl_epoll_sets, &ep->node);
found:
	ep->refs = 1;
	ep->nos = ep->inside = ep->spinning = ep->missed = ep->skipped = ep->quiet = 0;
	ep->kick = -1;
	ep->inherited = ep->lanes_known = false;
	sl_store_release(&ep->state, SL_EP_OPEN);
out:
	sl_unlock(&sl_epoll_sets_lock);
	return ep;
}

/* Puts a set of ours behind the kernel's. NULL: it stays the kernel's alone. */
static struct sl_epoll *adopt(int epfd)
{
	struct sl_epoll *ep;

	if (sl_fdtab_init() < 0)
		return NULL;
	ep = new_set();
	if (!ep)
		return NULL;
	ep->epfd = epfd;
	if (sl_fdtab_set(epfd, SL_FD_EPOLL, ep) == 0)
		return ep;
	sl_store_release(&ep->state, SL_EP_FREE);
	return NULL;
}

int sl_epoll_create(int flags)
{
	int epfd = sl_sys_epoll_create1(flags);

	if (epfd >= 0)
		adopt(epfd);
	return epfd;
}

/* True: this is a signal handler that interrupted its thread inside this set. */
static bool interrupted(const struct sl_epoll *ep)
{
	return (sl_load(&ep->lock.word) & ~SL_LOCK_SLEEPERS) == sl_tid() ||
	       (sl_load(&ep->ctl.word) & ~SL_LOCK_SLEEPERS) == sl_tid();
}

struct sl_epoll *sl_epoll_enter(int epfd)
{
	struct sl_epoll *ep = sl_fd_epoll(epfd);

	if (!ep || interrupted(ep))
		return NULL;
	__atomic_add_fetch(&ep->users, 1, __ATOMIC_SEQ_CST);
	if (sl_likely(sl_fd_epoll(epfd) == ep)) {
		if (sl_unlikely(ep->inherited))
			sl_epoll_part(ep, epfd);
		return ep;
	}
	sl_epoll_leave(ep);
	return NULL;
}

void sl_epoll_leave(struct sl_epoll *ep)
{
	uint32_t closed = SL_EP_CLOSED;

	if (__atomic_sub_fetch(&ep->users, 1, __ATOMIC_SEQ_CST) == 0 &&
	    sl_unlikely(sl_load(&ep->state) == SL_EP_CLOSED))
		__atomic_compare_exchange_n(&ep->state, &closed, SL_EP_FREE, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void sl_epoll_dup(struct sl_epoll *ep)
{
	__atomic_add_fetch(&ep->refs, 1, __ATOMIC_RELAXED);
}

/* Takes every member off; state is CLOSED, so that none is added. */
static void empty(struct sl_epoll *ep)
{
	sl_lock(&ep->lock);
	while (!sl_list_empty(&ep->items))
		sl_epitem_bury(sl_container_of(ep->items.next, struct sl_epitem, node));
	sl_epoll_unlock(ep);
	sl_epitem_reap(ep);
}

int sl_epoll_close(struct sl_epoll *ep)
{
	if (__atomic_sub_fetch(&ep->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return 0;
	__atomic_add_fetch(&ep->users, 1, __ATOMIC_SEQ_CST);
	sl_store_release(&ep->state, SL_EP_CLOSED);
	if (interrupted(ep))
		return 0; /* stays as it is, and is not used again */
	sl_epoll_tell(ep);
	sl_lock(&ep->ctl);
	empty(ep);
	sl_unlock(&ep->ctl);
	/* Threads that sleep on it find it closed. */
	sl_lock(&ep->lock);
	sl_list_for_each (l, &ep->sleepers)
		sl_bell_ring(sl_container_of(l, struct sl_epsleeper, node)->bell);
	sl_epoll_unlock(ep);
	sl_epoll_leave(ep);
	return 0;
}

int sl_epoll_any_fd(struct sl_epoll *ep)
{
	uint32_t size = sl_load(&sl_fdtab_end);

	if (sl_fd_epoll(ep->epfd) == ep)
		return ep->epfd;
	for (uint32_t fd = 0; fd < size; fd++) {
		if (sl_fd_epoll((int)fd) != ep)
			continue;
		ep->epfd = (int)fd;
		return ep->epfd;
	}
	return -1;
}

/* Changes -------------------------------------------------------------------------------------- */

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

/* After a change: is it ready now? */
static void look(struct sl_epoll *ep, struct sl_epitem *it)
{
	sl_lock(&ep->lock);
	if (!it->dead)
		sl_epitem_queue(it, sl_epitem_ready(it));
	sl_epoll_unlock(ep);
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

/* A member of ours; ctl held. -EAGAIN: it is the kernel's by now. */
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

int sl_epoll_ctl_kernel(int epfd, int op, int fd, const struct epoll_event *ev)
{
	const struct sl_sock *sk = sl_fd_sock(fd);
	struct epoll_event e = ev ? *ev : (struct epoll_event){0};
	int r = -ENOENT, both = -1;

	if (op == EPOLL_CTL_ADD)
		both = sl_tlisten_wait_fd(sk, fd);
	if (both < 0 || both == fd)
		r = sl_sys_epoll_ctl(epfd, op, fd, (struct epoll_event *)ev);
	if (r == -ENOENT && both < 0)
		both = sl_tlisten_waited_fd(sk);
	if (r != -ENOENT || both < 0)
		return r;
	e.events &= ~EPOLLEXCLUSIVE; /* refused where a set is the member */
	return sl_sys_epoll_ctl(epfd, op, both, ev ? &e : NULL);
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

/* A socket that was handed back may have data with us still: its item is changed as well. */
static int change_leftover(struct sl_epoll *ep, int epfd, int op, int fd, struct epoll_event *ev)
{
	struct sl_epitem *it = find(ep, fd, sl_fd_sock(fd));
	int r;

	/* First: the number may stand for another file then. */
	if (op != EPOLL_CTL_DEL && sl_unlikely(sl_fd_sock(fd)->passed))
		sl_keeper_tell_parent(sl_fd_sock(fd));
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

/* A set that was not made through us, and its first member of ours. NULL: it is no set. */
static struct sl_epoll *enter_foreign(int epfd, int fd)
{
	struct sl_epoll *ep;

	if (sl_sys_epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL) != -ENOENT)
		return NULL;
	ep = adopt(epfd);
	if (!ep)
		return NULL;
	ep->nos = 1; /* at least it may have */
	return sl_epoll_enter(epfd);
}

/* A socket that is the kernel's stays there meanwhile: a take-over takes it out of its sets and
 * puts it into ours, between which it would be in none. NULL: it is not the kernel's. */
static struct sl_sock *hold_in_kernel(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);

	return sk && is_kernels(fd) && sl_sock_in_kernel(sk) ? sk : NULL;
}

int sl_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	bool has_event = op == EPOLL_CTL_ADD || op == EPOLL_CTL_MOD;
	struct sl_epoll *ep = sl_epoll_enter(epfd);
	struct sl_sock *kernels;
	int r;

	if (!ep && sl_fd_epoll(epfd))
		return -EBUSY; /* a signal handler inside a call on this set */
	if (op == EPOLL_CTL_ADD && ep)
		sl_tcp_sock_inherit(fd);
	kernels = hold_in_kernel(fd);
	if (!ep && op == EPOLL_CTL_ADD && sl_fdtab_word(fd) && epfd != fd)
		ep = enter_foreign(epfd, fd);
	if (!ep || !sl_fdtab_word(fd) || epfd == fd || (!has_event && op != EPOLL_CTL_DEL))
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
