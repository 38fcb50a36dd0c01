/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of epoll sets that are ours: found, told of events, reported. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/heap.h"
#include "base/sys.h"
#include "sock/poll/epoll.h"
#include "sock/core/sock.h"
#include "sock/poll/sets.h"
#include "sock/poll/wait.h"

/* Table ---------------------------------------------------------------------------------------- */

/* The kernel's key is (file, number): a number may be reused while a dup keeps the file. */
static uint32_t hash(const struct sl_epoll *ep, int fd)
{
	return ((uint32_t)fd * 2654435761u >> 7) & (ep->hash_size - 1);
}

struct sl_epitem *sl_epitem_find(struct sl_epoll *ep, int fd, const void *obj)
{
	struct sl_epitem *it;

	if (!ep->hash_size)
		return NULL;
	for (it = ep->hash[hash(ep, fd)]; it; it = it->next)
		if (it->fd == fd && ((void *)it->sk == obj || (void *)it->inner == obj))
			return it;
	return NULL;
}

int sl_epitem_reserve(struct sl_epoll *ep)
{
	uint32_t size = ep->hash_size ? ep->hash_size * 2 : 8;
	struct sl_epitem **old = ep->hash, **table;
	int saved = errno;

	if (!sl_load(&ep->counts->used))
		sl_store(&ep->counts, sl_stats_wait_new(ep->epfd));
	if (sl_load(&ep->nitems) < ep->hash_size)
		return 0;
	table = sl_calloc(size, sizeof(*table));
	errno = saved;
	if (!table)
		return -ENOMEM;
	sl_lock(&ep->lock);
	ep->hash = table;
	ep->hash_size = size;
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);
		uint32_t h = hash(ep, it->fd);

		it->next = table[h];
		table[h] = it;
	}
	sl_epoll_unlock(ep);
	sl_free(old);
	return 0;
}

void sl_epitem_link(struct sl_epoll *ep, struct sl_epitem *it)
{
	uint32_t h = hash(ep, it->fd);

	it->next = ep->hash[h];
	ep->hash[h] = it;
	sl_list_add_tail(&ep->items, &it->node);
	sl_store(&ep->nitems, ep->nitems + 1);
	if (it->inner)
		ep->nnested++;
	ep->lanes_known = false;
}

static void unqueue(struct sl_epitem *it)
{
	if (sl_list_empty(&it->ready))
		return;
	sl_list_del(&it->ready);
	sl_store(&it->ep->nready, it->ep->nready - 1);
}

static void enqueue(struct sl_epitem *it)
{
	if (!sl_list_empty(&it->ready))
		return;
	sl_list_add_tail(&it->ep->ready, &it->ready);
	sl_store(&it->ep->nready, it->ep->nready + 1);
}

void sl_epitem_bury(struct sl_epitem *it)
{
	struct sl_epoll *ep = it->ep;
	struct sl_epitem **p;

	if (it->dead)
		return;
	for (p = &ep->hash[hash(ep, it->fd)]; *p != it; p = &(*p)->next)
		;
	*p = it->next;
	it->dead = true;
	unqueue(it);
	sl_list_del(&it->node);
	sl_list_add_tail(&ep->dead, &it->node);
	sl_store(&ep->nitems, ep->nitems - 1);
	if (it->inner)
		ep->nnested--;
	if (it->leftover)
		sl_store(&ep->nleft, ep->nleft - 1);
	ep->lanes_known = false;
}

void sl_epitem_reap(struct sl_epoll *ep)
{
	int saved = errno;

	for (;;) {
		struct sl_epitem *it = NULL;

		sl_lock(&ep->lock);
		if (!sl_list_empty(&ep->dead)) {
			it = sl_container_of(ep->dead.next, struct sl_epitem, node);
			sl_list_del(&it->node);
		}
		sl_epoll_unlock(ep);
		if (!it)
			break;
		sl_epitem_unwatch(it);
		sl_free(it);
	}
	errno = saved;
}

/* Readiness ------------------------------------------------------------------------------------ */

uint32_t sl_epitem_ready(struct sl_epitem *it)
{
	uint32_t now;

	if (it->leftover)
		now = sl_sock_is(it->sk, it->fd) ? sl_sock_left(it->sk) : 0;
	else if (it->sk)
		now = sl_wait_sock_ready(it->sk);
	else
		now = it->os_ready ? EPOLLIN | EPOLLRDNORM : sl_epoll_ready(it->inner);
	return now & it->events & ~SL_EP_PRIVATE;
}

/* A sleeper whose bell is not asleep is awake: it looks again, or leaves and wakes the next. */
void sl_epoll_wake(struct sl_epoll *ep)
{
	/* Pairs with sl_bell_prepare() and spin(): they announce themselves, then look. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (sl_load(&ep->spinning))
		return;
	sl_list_for_each (l, &ep->sleepers) {
		struct sl_bell *bell = sl_container_of(l, struct sl_epsleeper, node)->bell;
		uint32_t state = sl_load(&bell->state);

		if (state != SL_BELL_RUNG)
			sl_bell_ring(bell);
		if (state != SL_BELL_RUNG) /* for another event, and not up yet */
			return;
	}
}

void sl_epitem_queue(struct sl_epitem *it, uint32_t events)
{
	if (it->dead || !(it->events & ~SL_EP_PRIVATE))
		return;
	if (events && !(events & it->events))
		return;
	enqueue(it);
	sl_epoll_wake(it->ep);
}

/* Silences a set or a leftover in the kernel, too, when its ONESHOT was used up here. */
static void disable(struct sl_epitem *it)
{
	struct epoll_event none = {.data.u64 = it->inner ? (uintptr_t)it : it->data};

	it->events &= SL_EP_PRIVATE;
	if (it->inner || it->leftover)
		sl_sys_epoll_ctl(sl_epoll_any_fd(it->ep), EPOLL_CTL_MOD, it->fd, &none);
}

/* The event of n that has this data, NULL. */
static struct epoll_event *with_data(struct epoll_event *evs, int n, uint64_t data)
{
	for (int i = 0; i < n; i++)
		if (evs[i].data.u64 == data)
			return &evs[i];
	return NULL;
}

/* The registered events that the kernel's socket of a leftover has. */
static uint32_t kernel_has(const struct sl_epitem *it)
{
	struct pollfd p = {.fd = sl_sock_shadow(it->sk), .events = (short)it->events};
	struct timespec zero = {0, 0};

	return sl_sys_ppoll(&p, 1, &zero) > 0 ? (uint16_t)p.revents & it->events : 0;
}

int sl_epoll_take(struct sl_epoll *ep, struct epoll_event *evs, int n, int max, bool os_later)
{
	struct sl_epitem *stop = NULL; /* the first that was put back */

	while (n < max && !sl_list_empty(&ep->ready)) {
		struct sl_epitem *it = sl_container_of(ep->ready.next, struct sl_epitem, ready);
		uint32_t events = sl_epitem_ready(it);

		if (it == stop)
			break;
		unqueue(it);
		it->os_ready = false;
		if (sl_unlikely(it->leftover && events)) {
			if (os_later || with_data(evs, n, it->data)) {
				enqueue(it);
				stop = stop ? stop : it;
				continue;
			}
			events |= kernel_has(it);
		}
		if (!events) {
			if (it->leftover)
				sl_epitem_bury(it);
			continue;
		}
		evs[n].events = events;
		evs[n++].data.u64 = it->data;
		if (it->events & EPOLLONESHOT) {
			disable(it);
		} else if (!(it->events & EPOLLET)) { /* stays as long as it is ready */
			enqueue(it);
			stop = stop ? stop : it;
		}
	}
	return n;
}

static struct sl_epitem *leftover_of(struct sl_epoll *ep, uint64_t data)
{
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);

		if (it->leftover && it->data == data)
			return it;
	}
	return NULL;
}

/* The kernel has told of it, and what is left here goes with that event. */
static uint32_t go_with_kernel(struct sl_epitem *it)
{
	uint32_t events = sl_epitem_ready(it);

	unqueue(it);
	if (it->events & EPOLLONESHOT)
		it->events &= SL_EP_PRIVATE; /* the kernel has silenced its own */
	else if (!events)
		sl_epitem_bury(it);
	else if (!(it->events & EPOLLET))
		enqueue(it);
	return events;
}

int sl_epoll_join(struct sl_epoll *ep, struct epoll_event *evs, int ours, int n)
{
	int kept = ours;

	for (int i = ours; i < n; i++) {
		struct sl_epitem *it = leftover_of(ep, evs[i].data.u64);
		struct epoll_event *same = it ? with_data(evs, ours, it->data) : NULL;

		if (same) {
			same->events |= evs[i].events;
			continue;
		}
		evs[kept] = evs[i];
		if (it)
			evs[kept].events |= go_with_kernel(it);
		kept++;
	}
	return kept;
}

uint32_t sl_epoll_ready(struct sl_epoll *ep)
{
	uint32_t r = 0;

	if (!sl_load(&ep->nready) || !sl_lock(&ep->lock))
		return 0;
	while (!r && !sl_list_empty(&ep->ready)) {
		struct sl_epitem *it = sl_container_of(ep->ready.next, struct sl_epitem, ready);

		if (sl_epitem_ready(it))
			r = EPOLLIN | EPOLLRDNORM;
		else
			unqueue(it);
	}
	sl_epoll_unlock(ep);
	return r;
}

/* Callbacks ------------------------------------------------------------------------------------ */

/* Gives the member to the kernel's set, which goes on with it. In a set of the kernel's only an
 * event of its own silences a member, and EPOLLERR and EPOLLHUP are always asked for: a member that
 * ONESHOT has silenced stays here, without events, and enters the kernel's set by the program's
 * EPOLL_CTL_MOD (epoll_ctl.c). */
static void give_to_kernel(struct sl_epitem *it)
{
	struct epoll_event ev = {.events = it->events, .data.u64 = it->data};
	int epfd = sl_epoll_any_fd(it->ep);

	it->silent = it->sk && !(it->events & ~SL_EP_PRIVATE);
	if (it->silent || epfd < 0)
		return;
	/* The number may be closed while a dup of the socket lives. */
	if (sl_epoll_ctl_kernel(epfd, EPOLL_CTL_ADD, it->fd, &ev) == -EBADF && it->sk)
		sl_sys_epoll_ctl(epfd, EPOLL_CTL_ADD, sl_sock_shadow(it->sk), &ev);
	it->ep->nos++;
	/* Our queue may hold earlier data, which the kernel does not know of. */
	it->leftover = it->sk && sl_sock_left(it->sk);
	if (it->leftover)
		sl_store(&it->ep->nleft, it->ep->nleft + 1);
}

/* ep->lock held. */
static void apply(struct sl_epitem *it, uint32_t events)
{
	bool stays;

	if (it->dead)
		return;
	if (events == SL_READY_MOVED) { /* no edge */
		sl_epoll_wake(it->ep);
		return;
	}
	if (events & SL_READY_DEMOTED)
		give_to_kernel(it);
	stays = it->leftover || (it->silent && !(events & SL_READY_GONE));
	if ((events & (SL_READY_DEMOTED | SL_READY_GONE)) && !stays)
		sl_epitem_bury(it);
	else
		sl_epitem_queue(it, events);
}

/* Notes events for the thread that holds the set's lock and was interrupted by this signal handler:
 * sl_epoll_unlock() looks at them. */
static void leave_missed(struct sl_epitem *it, uint32_t events)
{
	__atomic_or_fetch(&it->missed, events ? events : EPOLLERR | EPOLLIN | EPOLLOUT,
			  __ATOMIC_RELAXED);
	sl_store_release(&it->ep->missed, 1);
}

/* A member without events is told when its socket is closed. Lane held. (Where the set's lock was
 * not to be had it is not known yet whether the member stays.) */
static void keep_watching(struct sl_epitem *it, uint32_t events)
{
	if (!(events & SL_READY_DEMOTED) || it->dead)
		return;
	it->watch.sk = it->sk;
	sl_list_add(&it->sk->watches, &it->watch.node);
}

static void on_socket(struct sl_watch *w, uint32_t events)
{
	struct sl_epitem *it = sl_container_of(w, struct sl_epitem, watch);
	struct sl_epoll *ep = it->ep;

	if (!sl_lock(&ep->lock)) {
		keep_watching(it, events);
		leave_missed(it, events);
		return;
	}
	apply(it, events);
	if (sl_unlikely(it->silent))
		keep_watching(it, events);
	sl_epoll_unlock(ep);
	sl_epoll_tell(ep);
}

/* Called when the inner set may be ready, or is gone; sl_nest_lock held. */
static void on_set(struct sl_epoll_watch *w)
{
	struct sl_epitem *it = sl_container_of(w, struct sl_epitem, set_watch);
	struct sl_epoll *ep = it->ep;

	if (!sl_lock(&ep->lock)) {
		leave_missed(it, w->ep ? EPOLLIN : SL_READY_GONE);
		return;
	}
	apply(it, w->ep ? EPOLLIN : SL_READY_GONE);
	sl_epoll_unlock(ep);
	sl_list_for_each_safe (l, &ep->watchers) {
		struct sl_epoll_watch *outer = sl_container_of(l, struct sl_epoll_watch, node);

		outer->on_ready(outer);
	}
}

void sl_epoll_unlock(struct sl_epoll *ep)
{
	sl_unlock(&ep->lock);
	while (sl_unlikely(sl_load(&ep->missed))) {
		if (!sl_lock(&ep->lock))
			return;
		sl_store(&ep->missed, 0);
		sl_list_for_each_safe (l, &ep->items) {
			struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);
			uint32_t events = __atomic_exchange_n(&it->missed, 0, __ATOMIC_RELAXED);

			if (events)
				apply(it, events);
		}
		sl_unlock(&ep->lock);
	}
}

bool sl_epitem_watch(struct sl_epitem *it)
{
	if (it->inner) {
		it->set_watch.on_ready = on_set;
		sl_epoll_watch_add(it->inner, &it->set_watch);
		return sl_load(&it->inner->state) == SL_EP_OPEN;
	}
	it->watch.on_event = on_socket;
	sl_watch_add(it->sk, &it->watch);
	return sl_sock_is(it->sk, it->fd) && sl_load(&it->sk->state) != SL_STATE_KERNEL;
}

void sl_epitem_unwatch(struct sl_epitem *it)
{
	if (it->inner)
		sl_epoll_watch_del(&it->set_watch);
	else
		sl_watch_del(&it->watch);
}

/* Watchers of sets ----------------------------------------------------------------------------- */

struct sl_lock sl_nest_lock;

void sl_epoll_watch_add(struct sl_epoll *ep, struct sl_epoll_watch *w)
{
	if (!sl_lock(&sl_nest_lock))
		return;
	w->ep = ep;
	sl_list_add_tail(&ep->watchers, &w->node);
	sl_unlock(&sl_nest_lock);
}

void sl_epoll_watch_del(struct sl_epoll_watch *w)
{
	if (!sl_lock(&sl_nest_lock))
		return;
	if (w->ep) {
		sl_list_del(&w->node);
		w->ep = NULL;
	}
	sl_unlock(&sl_nest_lock);
}

void sl_epoll_tell(struct sl_epoll *ep)
{
	if (sl_likely(sl_list_empty(&ep->watchers)) || !sl_lock(&sl_nest_lock))
		return;
	sl_list_for_each_safe (l, &ep->watchers) {
		struct sl_epoll_watch *w = sl_container_of(l, struct sl_epoll_watch, node);

		if (sl_load(&ep->state) != SL_EP_OPEN) {
			sl_list_del(&w->node);
			w->ep = NULL;
		}
		w->on_ready(w);
	}
	sl_unlock(&sl_nest_lock);
}
