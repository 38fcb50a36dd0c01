/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of epoll sets, and the kernel's set behind each. */
#include "sock/poll/epoll.h"

#include <errno.h>

#include "base/sys.h"
#include "sock/core/sock.h"
#include "sock/listen/listen.h"
#include "sock/proc/fdtab.h"
#include "sock/stream/tconn.h"

struct sl_list sl_epoll_sets = {&sl_epoll_sets, &sl_epoll_sets};
struct sl_lock sl_epoll_sets_lock;

/* The last call on a closed set has left it. */
static SL_COLD void end(struct sl_epoll *ep)
{
	uint32_t closed = SL_EP_CLOSED;
	int ghost;

	if (!__atomic_compare_exchange_n(&ep->state, &closed, SL_EP_ENDING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	ghost = ep->ghost;
	if (ghost >= 0) {
		sl_lock(&ep->ctl);
		ep->empty(ep);
		sl_unlock(&ep->ctl);
		sl_store(&ep->ghost, -1); /* first: a forked child closes it */
		sl_sys_close(ghost);
	}
	sl_store_release(&ep->state, SL_EP_FREE);
}

void sl_epoll_leave(struct sl_epoll *ep)
{
	if (__atomic_sub_fetch(&ep->users, 1, __ATOMIC_SEQ_CST) == 0 &&
	    sl_unlikely(sl_load(&ep->state) == SL_EP_CLOSED))
		end(ep);
}

int sl_epoll_any_fd(struct sl_epoll *ep)
{
	uint32_t size = sl_load(&sl_fdtab_end);

	if (sl_unlikely(sl_load(&ep->ghost) >= 0))
		return ep->ghost;
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

int sl_epoll_ctl_kernel(int epfd, int op, int fd, const struct epoll_event *ev)
{
	const struct sl_sock *sk = sl_fd_sock(fd);
	struct epoll_event e = ev ? *ev : (struct epoll_event){0};
	int r = -ENOENT, both = -1;

	if (op == EPOLL_CTL_ADD)
		both = sl_tlisten_wait_fd(sk, fd);
	if (both < 0 || both == fd)
		r = sl_sys_epoll_ctl(epfd, op, fd, ev);
	if (r == -ENOENT && both < 0)
		both = sl_tlisten_waited_fd(sk);
	if (r != -ENOENT || both < 0)
		return r;
	e.events &= ~EPOLLEXCLUSIVE; /* refused where a set is the member */
	return sl_sys_epoll_ctl(epfd, op, both, ev ? &e : NULL);
}
