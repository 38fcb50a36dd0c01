/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets: made, entered, closed; the lanes of their members. (epoll.h has the theory of
 * operation.) */
#include "sock/poll/epoll.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/poll/sets.h"
#include "sock/poll/wait.h"
#include "sock/proc/fdtab.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

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
	ep->nos = ep->nleft = ep->inside = ep->spinning = ep->missed = ep->skipped = 0;
	ep->asks = (struct sl_asks){0};
	ep->kick = ep->ghost = -1;
	ep->counts = sl_stats_wait_none();
	ep->inherited = ep->lanes_known = ep->kernels = false;
	sl_store_release(&ep->state, SL_EP_OPEN);
out:
	sl_unlock(&sl_epoll_sets_lock);
	return ep;
}

struct sl_epoll *sl_epoll_adopt(int epfd)
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
		sl_epoll_adopt(epfd);
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

void sl_epoll_dup(struct sl_epoll *ep)
{
	__atomic_add_fetch(&ep->refs, 1, __ATOMIC_RELAXED);
}

/* The first member that was not given to the kernel yet; it counts as given. NULL: none is left. */
static struct sl_sock *next_to_give(struct sl_epoll *ep, int *inner)
{
	struct sl_sock *sk = NULL;

	*inner = -1;
	sl_lock(&ep->lock);
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);

		if (it->given)
			continue;
		it->given = true;
		sk = it->sk;
		if (!sk)
			*inner = it->fd;
		break;
	}
	sl_epoll_unlock(ep);
	return sk;
}

int sl_epoll_hand_back(int epfd)
{
	struct sl_epoll *ep = sl_epoll_enter(epfd);
	struct sl_sock *sk;
	int inner;

	if (!ep)
		return -EBADF;
	sl_store(&ep->kernels, true);
	while ((sk = next_to_give(ep, &inner)) || inner >= 0) {
		if (sk)
			sl_sock_kernel(sk, SL_REASON_PASSED);
		else
			sl_epoll_hand_back(inner);
	}
	sl_epoll_leave(ep);
	return 0;
}

/* Takes every member off; state is not OPEN, so that none is added. */
static void empty(struct sl_epoll *ep)
{
	sl_lock(&ep->lock);
	while (!sl_list_empty(&ep->items))
		sl_epitem_bury(sl_container_of(ep->items.next, struct sl_epitem, node));
	sl_epoll_unlock(ep);
	sl_epitem_reap(ep);
}

int sl_epoll_close(struct sl_epoll *ep, int fd)
{
	if (__atomic_sub_fetch(&ep->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return 0;
	/* A thread that waits goes on: by the kernel its call holds the set. The last to leave
	 * empties it (sl_epoll_leave()). */
	if (__atomic_add_fetch(&ep->users, 1, __ATOMIC_SEQ_CST) > 1 && !ep->inherited)
		sl_store(&ep->ghost, sl_fd_dup(fd));
	ep->empty = empty;
	sl_store_release(&ep->state, SL_EP_CLOSED);
	if (interrupted(ep))
		return 0; /* stays as it is, and is not used again */
	sl_epoll_tell(ep);
	sl_lock(&ep->ctl);
	/* A parent's items are linked to lists that the child began anew: taken out of the list of
	 * ready ones, each would be counted once too often, for the set that is made next here. */
	if (ep->inherited)
		sl_epoll_forget_items(ep);
	if (ep->ghost < 0)
		empty(ep);
	sl_stats_wait_free(ep->counts);
	sl_store(&ep->counts, sl_stats_wait_none());
	sl_unlock(&ep->ctl);
	/* Threads that sleep on it find it closed, and go on with the private descriptor. */
	sl_lock(&ep->lock);
	sl_list_for_each (l, &ep->sleepers)
		sl_bell_ring(sl_container_of(l, struct sl_epsleeper, node)->bell);
	sl_epoll_unlock(ep);
	sl_epoll_leave(ep);
	return 0;
}

/* Remembers the members' lanes with the set: they do not change often. */
static void remember(struct sl_epoll *ep, const struct sl_wait *w, unsigned first)
{
	if (ep->nnested || first || w->nlanes > SL_EP_LANES)
		return;
	memcpy(ep->lane, w->lane, w->nlanes * sizeof(ep->lane[0]));
	ep->nlanes = w->nlanes;
	ep->moves = w->moves;
	ep->lanes_known = true;
}

void sl_epoll_lanes(struct sl_epoll *ep, struct sl_wait *w)
{
	unsigned first = w->nlanes;

	if (!sl_lock(&ep->lock))
		return;
	if (ep->lanes_known && ep->moves == w->moves) {
		for (unsigned i = 0; i < ep->nlanes; i++)
			sl_wait_lane(w, ep->lane[i]);
		sl_epoll_unlock(ep);
		return;
	}
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);

		if (it->sk)
			sl_wait_lane(w, sl_sock_lane(it->sk));
		else
			sl_epoll_lanes(it->inner, w); /* outer lock, then inner lock */
	}
	remember(ep, w, first);
	sl_epoll_unlock(ep);
}
