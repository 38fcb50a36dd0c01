/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll_wait: the events of our members and of the kernel's, merged. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/guard.h"
#include "base/settings.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/poll/epoll.h"
#include "sock/poll/wait.h"

/* Sets without members of ours ------------------------------------------------------------------
 *
 * A thread waits for such a set inside the kernel's epoll_wait, at its full speed. When a first
 * member of ours comes, these threads must get out: we put an eventfd that stays readable into the
 * kernel's set until the last of them has left. Its data is the address of the set's own `kick`. */

static uint64_t kick_tag(const struct sl_epoll *ep)
{
	return (uint64_t)(uintptr_t)&ep->kick;
}

void sl_epoll_kick(struct sl_epoll *ep)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = kick_tag(ep)};

	sl_lock(&ep->lock);
	if (ep->inside && ep->kick < 0) {
		sl_store(&ep->kick, sl_fd_keep(sl_sys_eventfd(1, EFD_CLOEXEC)));
		if (ep->kick >= 0)
			sl_sys_epoll_ctl(sl_epoll_any_fd(ep), EPOLL_CTL_ADD, ep->kick, &ev);
	}
	sl_epoll_unlock(ep);
}

/* False: there are members of ours. */
static bool go_inside(struct sl_epoll *ep)
{
	bool ok;

	sl_lock(&ep->lock);
	ok = ep->nitems == 0;
	if (ok)
		ep->inside++;
	sl_epoll_unlock(ep);
	return ok;
}

static void come_out(struct sl_epoll **epp)
{
	struct sl_epoll *ep = *epp;

	sl_lock(&ep->lock);
	if (--ep->inside == 0 && ep->kick >= 0) {
		sl_sys_epoll_ctl(sl_epoll_any_fd(ep), EPOLL_CTL_DEL, ep->kick, NULL);
		sl_sys_close(ep->kick);
		sl_store(&ep->kick, -1);
	}
	sl_epoll_unlock(ep);
}

/* The kernel's epoll_wait as a cancellation point. */
static int kernel_wait(int epfd, struct epoll_event *evs, int max, const struct timespec *timeout,
		       const sigset_t *sigmask)
{
	long long ms = -1;
	int r = -ENOSYS;

	/* (An invalid time goes to the kernel as it is, which refuses it.) */
	if (timeout &&
	    (timeout->tv_sec < 0 || timeout->tv_nsec % 1000000 || timeout->tv_nsec >= 1000000000))
		ms = LLONG_MAX;
	else if (timeout)
		ms = timeout->tv_sec > INT_MAX / 1000
			     ? LLONG_MAX
			     : timeout->tv_sec * 1000LL + timeout->tv_nsec / 1000000;
	if (ms == LLONG_MAX)
		r = (int)sl_sys_cancel(SYS_epoll_pwait2, epfd, evs, max, timeout, sigmask, 8);
	if (r != -ENOSYS)
		return r;
	if (ms == LLONG_MAX && timeout->tv_sec < INT_MAX / 1000)
		ms = timeout->tv_sec * 1000LL + timeout->tv_nsec / 1000000 + 1;
	ms = sl_min(ms, (long long)INT_MAX);
	return (int)sl_sys_cancel(SYS_epoll_pwait, epfd, evs, max, (int)ms, sigmask, 8);
}

/* Takes the kick out of what the kernel reported. */
static int without_kick(struct sl_epoll *ep, struct epoll_event *evs, int n)
{
	for (int i = 0; i < n; i++) {
		if (evs[i].data.u64 != kick_tag(ep))
			continue;
		evs[i] = evs[n - 1];
		return n - 1;
	}
	return n;
}

/* Like epoll_pwait2(2). -EREMOTE: the set has members of ours (by now). */
static int wait_inside(struct sl_epoll *ep, int epfd, struct epoll_event *evs, int max,
		       const struct timespec *timeout, const sigset_t *sigmask)
{
	struct sl_epoll *guard __attribute__((cleanup(come_out))) = ep;
	int n = kernel_wait(epfd, evs, max, timeout, sigmask);

	if (n <= 0 || sl_load(&guard->kick) < 0)
		return n;
	n = without_kick(ep, evs, n);
	return n > 0 ? n : -EREMOTE;
}

/* Sets with members of ours -------------------------------------------------------------------- */

struct call {
	struct sl_wait wait;
	struct sl_epoll *ep;
	int epfd;
	struct epoll_event *evs;
	int max;
	struct sl_epsleeper sleeper;
	struct pollfd fds[1 + SL_WAIT_ROOM];
};

/* Moves events of inner sets, which have the item as their data, to our ready list. */
static int sort_nested(struct sl_epoll *ep, struct epoll_event *evs, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		struct sl_epitem *it = NULL;

		sl_list_for_each (l, &ep->items) {
			it = sl_container_of(l, struct sl_epitem, node);
			if (it->inner && (uintptr_t)it == evs[i].data.u64)
				break;
			it = NULL;
		}
		if (!it) {
			evs[kept++] = evs[i];
			continue;
		}
		it->os_ready = true;
		sl_epitem_queue(it, EPOLLIN);
	}
	return kept;
}

static int take_os(struct call *c, int n)
{
	struct sl_epoll *ep = c->ep;
	int r;

	if (n >= c->max || !sl_load(&ep->nos))
		return n;
	r = sl_sys_epoll_wait(c->epfd, c->evs + n, c->max - n, 0);
	sl_asks_count(&ep->asks, r > 0);
	if (r <= 0)
		return n;
	if (sl_unlikely(sl_load(&ep->kick) >= 0))
		r = without_kick(ep, c->evs + n, r);
	if (sl_unlikely(ep->nnested)) {
		sl_lock(&ep->lock);
		r = sort_nested(ep, c->evs + n, r);
		sl_epoll_unlock(ep);
	}
	sl_wait_count(&c->wait.counts->os_ready, r);
	r += n;
	if (sl_unlikely(sl_load(&ep->nleft)) && sl_lock(&ep->lock)) {
		r = sl_epoll_join(ep, c->evs, n, r);
		sl_epoll_unlock(ep);
	}
	return r;
}

static int take_ours(struct call *c, int n, bool os_later)
{
	struct sl_epoll *ep = c->ep;
	int r;

	if (n >= c->max || !sl_load(&ep->nready) || !sl_lock(&ep->lock))
		return n;
	r = sl_epoll_take(ep, c->evs, n, c->max, os_later);
	/* Items that are left, or still ready, may serve another thread. */
	if (ep->nready)
		sl_epoll_wake(ep);
	sl_epoll_unlock(ep);
	sl_wait_count(&c->wait.counts->ready, r - n);
	return r;
}

static bool may_skip_os(struct sl_epoll *ep)
{
	uint32_t n = sl_load(&ep->skipped) + 1;

	if (n > (uint32_t)sl_settings.select_skip_os)
		n = 0;
	sl_store(&ep->skipped, n);
	return n != 0;
}

static int check(void *arg, bool os)
{
	struct call *c = arg;
	struct sl_epoll *ep = c->ep;
	bool mixed = sl_load(&ep->nleft); /* the kernel's event of a leftover tells of it */
	bool os_first = ep->nnested || sl_load(&ep->side) != mixed;
	int n = 0;

	if (sl_unlikely(sl_load_acquire(&ep->state) != SL_EP_OPEN)) {
		if (ep->ghost < 0)
			return -EBADF;
		c->epfd = c->fds[0].fd = ep->ghost; /* the number may be another file's by now */
	}
	os = mixed || (os && (!c->wait.spins || sl_asks_now(&ep->asks)));
	if (os && os_first)
		n = take_os(c, 0);
	n = take_ours(c, n, mixed && !os_first);
	/* Found something: the kernel's members must not starve. */
	if ((os && !os_first) || (n && !os && !may_skip_os(ep) && sl_asks_now(&ep->asks)))
		n = take_os(c, n);
	if (sl_unlikely(mixed) && !os_first && !n)
		n = take_ours(c, 0, false);
	if (n == c->max || (mixed && !os_first)) /* (leftovers have waited) */
		sl_store(&ep->side, !sl_load(&ep->side));
	return n;
}

static void lanes(void *arg)
{
	struct call *c = arg;

	sl_epoll_lanes(c->ep, &c->wait);
}

static void arm(void *arg, struct sl_bell *bell)
{
	struct call *c = arg;

	c->sleeper.bell = bell;
	sl_lock(&c->ep->lock);
	sl_list_add_tail(&c->ep->sleepers, &c->sleeper.node);
	sl_epoll_unlock(c->ep);
}

static void cancel(void *arg)
{
	struct call *c = arg;

	sl_lock(&c->ep->lock);
	sl_list_del(&c->sleeper.node);
	/* Woken for an event that we may not have taken. */
	if (c->ep->nready)
		sl_epoll_wake(c->ep);
	sl_epoll_unlock(c->ep);
}

static void spin(void *arg, int change)
{
	struct call *c = arg;

	__atomic_add_fetch(&c->ep->spinning, (uint32_t)change, __ATOMIC_SEQ_CST);
	if (change < 0 && sl_load(&c->ep->nready) && sl_lock(&c->ep->lock)) {
		if (c->ep->nready)
			sl_epoll_wake(c->ep);
		sl_epoll_unlock(c->ep);
	}
}

static const struct sl_wait_ops ops = {
	.check = check,
	.lanes = lanes,
	.arm = arm,
	.cancel = cancel,
	.spin = spin,
};

static int wait_ours(struct sl_epoll *ep, int epfd, struct epoll_event *evs, int max,
		     const struct timespec *timeout, const sigset_t *sigmask)
{
	bool at_once = timeout && !timeout->tv_sec && !timeout->tv_nsec;
	struct call c;
	int r;

	r = sl_wait_begin(&c.wait, timeout, sigmask);
	if (r < 0)
		return r;
	if (at_once) /* (the kernel's call leaves signals pending then, unlike ppoll(2)) */
		c.wait.time.mask = NULL;
	c.ep = ep;
	c.epfd = epfd;
	c.evs = evs;
	c.max = max;
	c.fds[0] = (struct pollfd){.fd = epfd, .events = POLLIN};
	c.wait.ops = &ops;
	c.wait.arg = &c;
	c.wait.counts = sl_load(&ep->counts);
	c.wait.fds = c.fds;
	c.wait.nfds = 1;
	c.wait.stop_ends = true;
	c.wait.os_later = sl_asks_are_vain(&ep->asks);
	r = sl_wait_run(&c.wait);
	sl_wait_end(&c.wait);
	return r;
}

static void leave(struct sl_epoll **ep)
{
	if (*ep)
		sl_epoll_leave(*ep);
}

/* There is no memory for events: the call waits for one all the same, and leaves it in the set,
 * since an event that is told only once would be lost. */
static SL_COLD int wait_without_room(int epfd, const struct timespec *timeout,
				     const sigset_t *sigmask)
{
	struct pollfd p = {.fd = epfd, .events = POLLIN};
	int r = sl_wait_poll(&p, 1, timeout, sigmask);

	return r > 0 ? -EFAULT : r;
}

int sl_epoll_wait(int epfd, struct epoll_event *evs, int max, const struct timespec *timeout,
		  const sigset_t *sigmask)
{
	struct sl_epoll *ep __attribute__((cleanup(leave))) = sl_epoll_enter(epfd);
	int r;

	if (!ep || max <= 0 || max > INT_MAX / (int)sizeof(*evs))
		return kernel_wait(epfd, evs, max, timeout, sigmask);
	if (sl_unlikely(sl_guard_touch_out(evs, sizeof(*evs))))
		return wait_without_room(epfd, timeout, sigmask);
	while (!sl_load(&ep->nitems) && sl_load(&ep->state) == SL_EP_OPEN && go_inside(ep)) {
		r = wait_inside(ep, epfd, evs, max, timeout, sigmask);
		if (r != -EREMOTE)
			return r;
	}
	return wait_ours(ep, epfd, evs, max, timeout, sigmask);
}
