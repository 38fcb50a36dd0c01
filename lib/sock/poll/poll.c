/* SPDX-License-Identifier: BSD-2-Clause */
/* poll, ppoll, select, pselect over any mix of descriptors.
 *
 * Theory of operation: the kernel gets a copy of the caller's list in which the entries of
 * offloaded sockets are blank (-1); these are looked at here. An epoll set of ours, or a socket
 * that was handed back while we have data for it, is both: in the kernel's list and in ours. When
 * a socket changes hands or is closed during the call, the call starts over with what is left of
 * the time, and the kernel says what the number means now. select is turned into poll. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/guard.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/life.h"
#include "sock/listen/listen.h"
#include "sock/poll/epoll.h"
#include "sock/poll/sets.h"
#include "sock/proc/fdtab.h"
#include "sock/proc/sig.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"
#include "sock/poll/wait.h"

/* The number of descriptors up to which a call needs no memory but the caller's stack, which may be
 * a small one (base/roomy.h). */
#define SMALL 4
/* The number up to which a call does not ask for the limit of descriptors. */
#define UNASKED 64

/* An entry of the caller's list that is ours. */
struct entry {
	struct call *call;
	struct pollfd *user;
	struct pollfd *kernel;
	struct sl_sock *sk;
	struct sl_epoll *ep;
	uint32_t gen;
	uint8_t state; /* of the socket when the call began */
	bool own;      /* this thread is in the midst of taking it over: the call is a handler's */
	struct sl_watch watch;
	struct sl_epoll_watch set_watch;
};

#define LOST_MAX 4

struct call {
	struct sl_wait wait;
	/* Sockets whose numbers mean other files since the call began: in the kernel it has their
	 * files until it ends. (Of more of them it does not.) */
	struct {
		struct sl_sock *sk;
		uint32_t gen;
	} lost[LOST_MAX];
	unsigned nlost;
	struct pollfd *user;
	struct pollfd *kernel; /* n entries and SL_WAIT_ROOM */
	struct entry *ours;
	nfds_t n, nours;
	bool has_os;        /* the kernel's list is not all blank */
	bool looked, again; /* it has looked; the last look was not the first */
	struct sl_bell *bell;
	uint32_t skipped; /* looks in a row that left the kernel out */
	void *heap;       /* NULL, or the memory that kernel and ours are in */
	size_t heap_bytes;
};

/* The events that the caller asked for, and those that are always reported. */
static short wanted(const struct entry *e, uint32_t events)
{
	return (short)(events & ((uint16_t)e->user->events | EPOLLERR | EPOLLHUP));
}

/* Ready events, or a negative number: the entry is not what it was. In the kernel a call that
 * sleeps has the file, and looks at what the number means when the file wakes it (do_pollfd()). */
static int look(struct entry *e)
{
	int r;

	if (e->ep)
		return sl_fd_epoll(e->user->fd) == e->ep ? wanted(e, sl_epoll_ready(e->ep)) : -1;
	if (sl_load(&e->sk->gen) != e->gen ||
	    (sl_load(&e->sk->state) == SL_STATE_KERNEL) != (e->state == SL_STATE_KERNEL))
		return -1;
	if (e->state == SL_STATE_KERNEL) /* what it has left with us */
		r = wanted(e, sl_sock_left(e->sk));
	else
		r = wanted(e, sl_wait_sock_ready(e->sk));
	return sl_unlikely(r) && !sl_sock_is(e->sk, e->user->fd) ? -1 : r;
}

static __thread struct sl_asks asks; /* of this thread's calls: they mostly are about the same */

static void look_at_kernel(struct call *c)
{
	struct timespec zero = {0, 0};
	long r = sl_sys_ppoll(c->kernel, (unsigned)c->n, &zero);

	sl_asks_count(&asks, r > 0);
	if (r > 0) {
		sl_wait_count(&c->wait.counts->os_ready, (int)r);
		return;
	}
	for (nfds_t i = 0; i < c->n; i++)
		c->kernel[i].revents = 0;
}

/* True: it was polled together with its box, and a process has shut it down since: what the two of
 * them have is not what poll(2) says of such a listener. */
static bool has_ended(const struct entry *e)
{
	return e->kernel->fd != e->user->fd &&
	       sl_tlisten_wait_fd(e->sk, e->user->fd) == e->user->fd;
}

/* True: the kernel reported a socket that was taken over meanwhile, or is being taken over: its
 * event (closed) is not one of the connection. */
static bool is_stale(const struct call *c)
{
	for (nfds_t i = 0; i < c->nours; i++) {
		const struct entry *e = &c->ours[i];

		if (e->state == SL_STATE_KERNEL && e->kernel->revents &&
		    (look(&c->ours[i]) < 0 || (!e->own && sl_load(&e->sk->taking)) || has_ended(e)))
			return true;
	}
	return false;
}

/* Looks at everything, for sl_wait_run(). -ERESTART: an entry changed, so poll() starts over. */
static int check(void *arg, bool os)
{
	struct call *c = arg;
	int n = 0, found = 0;

	c->again = c->looked;
	c->looked = true;
	for (nfds_t i = 0; i < c->nours; i++) {
		int r = look(&c->ours[i]);

		if (r < 0)
			return -ERESTART;
		c->ours[i].user->revents = (short)r;
		found += r != 0;
	}
	sl_wait_count(&c->wait.counts->ready, found);
	if (found && !os)
		os = ++c->skipped > (uint32_t)sl_settings.select_skip_os;
	else if (os && c->wait.spins)
		os = sl_asks_now(&asks);
	if (!os || !c->has_os)
		return found;
	look_at_kernel(c);
	if (is_stale(c))
		return -ERESTART;
	for (nfds_t i = 0; i < c->nours; i++)
		c->ours[i].kernel->revents |= c->ours[i].user->revents;
	for (nfds_t i = 0; i < c->n; i++) {
		c->user[i].revents = c->kernel[i].revents;
		n += c->user[i].revents != 0;
	}
	return n;
}

static void lanes(void *arg)
{
	struct call *c = arg;

	for (nfds_t i = 0; i < c->nours; i++) {
		struct entry *e = &c->ours[i];

		if (e->ep)
			sl_epoll_lanes(e->ep, &c->wait);
		else if (e->state != SL_STATE_KERNEL)
			sl_wait_lane(&c->wait, sl_sock_lane(e->sk));
	}
}

static void on_event(struct sl_watch *w, uint32_t events)
{
	struct entry *e = sl_container_of(w, struct entry, watch);

	if (!events || wanted(e, events) ||
	    (events & (SL_READY_GONE | SL_READY_DEMOTED | SL_READY_MOVED)))
		sl_bell_ring(e->call->bell);
}

static void on_set(struct sl_epoll_watch *w)
{
	sl_bell_ring(sl_container_of(w, struct entry, set_watch)->call->bell);
}

static void arm(void *arg, struct sl_bell *bell)
{
	struct call *c = arg;

	c->bell = bell;
	for (nfds_t i = 0; i < c->nours; i++) {
		struct entry *e = &c->ours[i];

		if (e->ep) {
			sl_epoll_watch_add(e->ep, &e->set_watch);
		} else {
			sl_sock_sleep_begin(e->sk);
			sl_watch_add(e->sk, &e->watch);
		}
	}
}

static void cancel(void *arg)
{
	struct call *c = arg;

	for (nfds_t i = 0; i < c->nours; i++) {
		struct entry *e = &c->ours[i];

		if (e->ep) {
			sl_epoll_watch_del(&e->set_watch);
		} else {
			sl_watch_del(&e->watch);
			sl_sock_sleep_end(e->sk, e->gen);
		}
	}
}

static const struct sl_wait_ops ops = {
	.check = check,
	.lanes = lanes,
	.arm = arm,
	.cancel = cancel,
};

/* Sorts the caller's list into the kernel's and ours. */
static void sort(struct call *c)
{
	c->nours = 0;
	c->has_os = false;
	c->skipped = 0;
	for (nfds_t i = 0; i < c->n; i++) {
		int fd = c->user[i].fd;
		struct sl_sock *sk = sl_fd_sock(fd);
		struct sl_epoll *ep = sl_epoll_enter(fd); /* parts it from a parent's */
		struct entry *e = &c->ours[c->nours];

		if (ep)
			sl_epoll_leave(ep);
		if (sk) {
			sl_tcp_sock_inherit(fd);
			sl_sock_part(sk);
			sl_given_look_at(sk);
		}
		c->kernel[i] = c->user[i];
		c->kernel[i].revents = c->user[i].revents = 0;
		if (sk || ep) {
			memset(e, 0, sizeof(*e));
			e->call = c;
			e->user = &c->user[i];
			e->kernel = &c->kernel[i];
			e->sk = sk;
			e->ep = ep;
			e->own = sk && sl_unlikely(sl_load(&sk->taking)) && !sl_sock_wait_moved(sk);
			e->gen = sk ? sl_load(&sk->gen) : 0;
			e->state = sk ? sl_load(&sk->state) : 0;
			e->watch.on_event = on_event;
			e->set_watch.on_ready = on_set;
			c->nours++;
		}
		if (sk)
			c->kernel[i].fd =
				e->state == SL_STATE_KERNEL ? sl_tlisten_wait_fd(sk, fd) : -1;
		c->has_os |= c->kernel[i].fd >= 0;
	}
}

static void free_heap(struct call **c)
{
	if ((*c)->heap_bytes <= SL_ROOMY_BYTES)
		sl_roomy_put((*c)->heap);
	else if ((*c)->heap)
		sl_sys(SYS_munmap, (*c)->heap, (*c)->heap_bytes);
}

/* Gets memory for the lists without malloc(3): poll(2) is async-signal-safe. */
static bool get_memory(struct call *c, size_t bytes)
{
	c->heap_bytes = bytes;
	c->heap = bytes <= SL_ROOMY_BYTES ? sl_roomy_get() : sl_sys_pages(bytes, 0);
	return c->heap;
}

static int get_heap(struct call *c)
{
	if (!get_memory(c, (c->n + SL_WAIT_ROOM) * sizeof(struct pollfd) +
				   c->n * sizeof(struct entry)))
		return -ENOMEM;
	c->ours = c->heap;
	c->kernel = (struct pollfd *)(c->ours + c->n);
	return 0;
}

/* True: a number means another file now, or none: do_poll() looks once more at the end. */
static bool misses_number(const struct call *c)
{
	for (nfds_t i = 0; i < c->nours; i++)
		if (c->ours[i].sk && !sl_sock_is(c->ours[i].sk, c->ours[i].user->fd))
			return true;
	return false;
}

static void keep_lost(struct call *c)
{
	for (nfds_t i = 0; i < c->nours && c->nlost < LOST_MAX; i++) {
		struct entry *e = &c->ours[i];

		if (!e->sk || sl_load(&e->sk->gen) != e->gen || sl_sock_is(e->sk, e->user->fd))
			continue;
		sl_sock_sleep_begin(e->sk);
		c->lost[c->nlost].sk = e->sk;
		c->lost[c->nlost++].gen = e->gen;
	}
}

static void leave_lost(void *arg)
{
	struct call *c = arg;

	while (c->nlost) {
		c->nlost--;
		sl_sock_sleep_end(c->lost[c->nlost].sk, c->lost[c->nlost].gen);
	}
}

static bool is_to_go_on(const struct call *c, int r)
{
	return r == -ERESTART || ((r == 0 || r == -EINTR) && misses_number(c));
}

/* The call starts over, with what the numbers mean now. */
static SL_APART int go_on(struct call *c)
{
	int r;

	c->nlost = 0;
	pthread_cleanup_push(leave_lost, c);
	do {
		keep_lost(c);
		sort(c);
		r = sl_wait_run(&c->wait);
	} while (is_to_go_on(c, r));
	pthread_cleanup_pop(1);
	return r;
}

static int run(struct call *c, const struct timespec *timeout, const sigset_t *sigmask)
{
	int r = sl_wait_begin(&c->wait, timeout, sigmask);

	if (r < 0)
		return r;
	c->wait.ops = &ops;
	c->wait.arg = c;
	c->wait.fds = c->kernel;
	c->wait.nfds = (unsigned)c->n;
	sort(c);
	r = sl_wait_run(&c->wait);
	if (sl_unlikely(is_to_go_on(c, r)))
		r = go_on(c);
	sl_wait_end(&c->wait);
	return r;
}

/* (Apart from each other: a function that both are in has room for both.) */
static SL_APART int poll_big(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			     const sigset_t *sigmask, struct sl_wait_stats *counts, bool *again)
{
	struct call c;
	struct call *guard __attribute__((cleanup(free_heap))) = &c;
	int r;

	guard->heap = NULL;
	guard->heap_bytes = 0;
	guard->looked = guard->again = false;
	c.wait.counts = counts;
	c.user = fds;
	c.n = n;
	r = get_heap(&c);
	if (r >= 0)
		r = run(&c, timeout, sigmask);
	*again = c.again;
	return r;
}

static SL_APART int poll_small(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			       const sigset_t *sigmask, struct sl_wait_stats *counts, bool *again)
{
	struct pollfd kernel[SMALL + SL_WAIT_ROOM];
	struct entry ours[SMALL];
	struct call c;
	int r;

	c.wait.counts = counts;
	c.user = fds;
	c.n = n;
	c.kernel = kernel;
	c.ours = ours;
	c.looked = c.again = false;
	r = run(&c, timeout, sigmask);
	*again = c.again;
	return r;
}

/* At most UNASKED, and at most the limit when the program set it; 0 until then. (A limit that
 * prlimit(2) lowers below that is seen by the kernel's calls only.) */
static uint32_t unasked;

static rlim_t limit(void)
{
	struct rlimit lim = {.rlim_cur = RLIM_INFINITY};

	(void)sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim);
	return lim.rlim_cur;
}

SL_API
void sl_files_limited(void)
{
	sl_store(&unasked, (uint32_t)sl_min(limit(), (rlim_t)UNASKED));
}

static void unmap(struct call *c)
{
	free_heap(&c);
}

static SL_APART int blank(struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = 0;
	return 0;
}
SL_GUARDED(blank, (uint64_t)-EFAULT);

/* A list that can be read alone: the kernel finds it when it writes the answers, after the wait. */
static SL_COLD int poll_read_only(const struct pollfd *fds, nfds_t n,
				  const struct timespec *timeout, const sigset_t *sigmask)
{
	struct call c __attribute__((cleanup(unmap)));
	int r;

	if (!get_memory(&c, n * sizeof(*fds)))
		return -ENOMEM;
	r = sl_guard_copy(c.heap, fds, n * sizeof(*fds));
	if (r == 0)
		r = sl_wait_poll(c.heap, n, timeout, sigmask);
	return r < 0 ? r : -EFAULT;
}

int sl_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *sigmask)
{
	if (sl_unlikely(n > sl_load(&unasked)) && n > limit())
		return -EINVAL;
	if (sl_unlikely(blank(fds, n)))
		return poll_read_only(fds, n, timeout, sigmask);
	return sl_wait_poll(fds, n, timeout, sigmask);
}

int sl_wait_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *sigmask)
{
	bool again;

	return (n > SMALL ? poll_big : poll_small)(fds, n, timeout, sigmask,
						   &sl_stats->wait[SL_WAIT_POLL], &again);
}

/* select --------------------------------------------------------------------------------------- */

#define RD_EVENTS (POLLIN | POLLRDNORM | POLLRDBAND)
#define WR_EVENTS (POLLOUT | POLLWRNORM | POLLWRBAND)
/* Events that set a bit (fs/select.c: POLLIN_SET, POLLOUT_SET, POLLEX_SET). POLLNVAL: the number
 * was closed during the call. */
#define RD_READY (RD_EVENTS | POLLHUP | POLLERR | POLLNVAL)
#define WR_READY (WR_EVENTS | POLLERR | POLLNVAL)
#define EX_READY (POLLPRI | POLLNVAL)

static bool bit(const fd_set *set, int fd)
{
	return set && ((unsigned long)set->fds_bits[fd / __NFDBITS] >> (fd % __NFDBITS) & 1);
}

static short asked(int fd, const fd_set *rd, const fd_set *wr, const fd_set *ex)
{
	return (short)((bit(rd, fd) ? RD_EVENTS : 0) | (bit(wr, fd) ? WR_EVENTS : 0) |
		       (bit(ex, fd) ? POLLPRI : 0));
}

static nfds_t from_sets(int n, const fd_set *rd, const fd_set *wr, const fd_set *ex,
			struct pollfd *fds)
{
	nfds_t k = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = asked(fd, rd, wr, ex);

		if (!events)
			continue;
		if (fds)
			fds[k] = (struct pollfd){.fd = fd, .events = events};
		k++;
	}
	return k;
}

static size_t bytes_of(int n)
{
	return (size_t)(n + __NFDBITS - 1) / __NFDBITS * sizeof(long);
}

static void clear(fd_set *set, int n)
{
	if (set)
		memset(set, 0, bytes_of(n));
}

/* The sets in which select() reports the entry: 1 the first, 2 the second, 4 the third. */
static unsigned shown(const struct pollfd *p)
{
	return ((p->events & POLLIN) && (p->revents & RD_READY) ? 1 : 0) |
	       ((p->events & POLLOUT) && (p->revents & WR_READY) ? 2 : 0) |
	       ((p->events & POLLPRI) && (p->revents & EX_READY) ? 4 : 0);
}

static int to_sets(const struct pollfd *p, fd_set *set[3])
{
	unsigned sets = p->fd < 0 ? 0 : shown(p);

	for (int s = 0; s < 3; s++)
		if (sets >> s & 1)
			set[s]->fds_bits[p->fd / __NFDBITS] |= (long)(1ul << (p->fd % __NFDBITS));
	return __builtin_popcount(sets);
}

static bool any_bad(const struct pollfd *fds, nfds_t k)
{
	for (nfds_t i = 0; i < k; i++)
		if (fds[i].revents & POLLNVAL)
			return true;
	return false;
}

/* Polls once. -EAGAIN: select() reports none of the events that came; wait on. looks: the sets stay
 * as they are when nothing is ready. */
static int select_once(struct pollfd *fds, nfds_t k, int n, fd_set *set[3],
		       const struct timespec *timeout, bool looks)
{
	bool some = false, again;
	int bits = 0, r = (k > SMALL ? poll_big : poll_small)(
			      fds, k, timeout, NULL, &sl_stats->wait[SL_WAIT_SELECT], &again);

	if (r < 0)
		return r;
	if (!again && any_bad(fds, k))
		return -EBADF;
	for (nfds_t i = 0; r && i < k; i++) {
		some |= shown(&fds[i]) != 0;
		if (fds[i].revents && !shown(&fds[i]))
			fds[i].fd = -1; /* POLLHUP, not asked for: would be reported for ever */
	}
	if (r && !some)
		return -EAGAIN;
	if (!r && looks)
		return 0;
	for (int s = 0; s < 3; s++)
		clear(set[s], n);
	for (nfds_t i = 0; r && i < k; i++)
		bits += to_sets(&fds[i], set);
	return bits;
}

static int select_list(struct pollfd *fds, nfds_t k, int n, fd_set *set[3],
		       struct timespec *timeout, const sigset_t *sigmask)
{
	struct sl_wait_time w;
	struct timespec left = {0, 0};
	uint32_t sig_ran = sl_sig_ran;
	bool limited;
	int r = sl_wait_time_begin(&w, timeout, sigmask);

	if (r < 0)
		return r;
	if (sigmask) {
		r = select_once(fds, k, n, set, &left, true);
		if (r == 0 || r == -EAGAIN)
			r = sl_wait_mask(&w, sig_ran);
	}
	while (r == 0) {
		limited = sl_wait_left(&w, &left);
		r = select_once(fds, k, n, set, limited ? &left : NULL, false);
		if (r != -EAGAIN)
			break;
		r = 0;
	}
	if (timeout)
		sl_wait_left(&w, timeout);
	sl_wait_time_end(&w);
	return r;
}

static SL_APART int select_big(nfds_t k, int n, fd_set *set[3], struct timespec *timeout,
			       const sigset_t *sigmask)
{
	struct call c __attribute__((cleanup(unmap)));

	if (!get_memory(&c, k * sizeof(struct pollfd)))
		return -ENOMEM;
	from_sets(n, set[0], set[1], set[2], c.heap);
	return select_list(c.heap, k, n, set, timeout, sigmask);
}

static SL_APART int select_small(nfds_t k, int n, fd_set *set[3], struct timespec *timeout,
				 const sigset_t *sigmask)
{
	struct pollfd fds[SMALL];

	from_sets(n, set[0], set[1], set[2], fds);
	return select_list(fds, k, n, set, timeout, sigmask);
}

/* Sets that can be read alone are copied as the list of poll_read_only() is. */
static SL_COLD int select_read_only(int n, fd_set *const set[3], struct timespec *timeout,
				    const sigset_t *sigmask)
{
	struct call c __attribute__((cleanup(unmap)));
	size_t bytes = bytes_of(n);
	fd_set *copy[3] = {NULL, NULL, NULL};
	int r = 0;

	if (!get_memory(&c, 3 * bytes))
		return -ENOMEM;
	for (size_t s = 0; r == 0 && s < 3; s++) {
		if (!set[s])
			continue;
		copy[s] = (fd_set *)((char *)c.heap + s * bytes);
		r = sl_guard_copy(copy[s], set[s], bytes);
	}
	if (r == 0)
		r = sl_select(n, copy[0], copy[1], copy[2], timeout, sigmask);
	return r < 0 ? r : -EFAULT;
}

int sl_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timespec *timeout,
	      const sigset_t *sigmask)
{
	fd_set *set[3] = {rd, wr, ex};
	nfds_t k;

	if (n < 0)
		return -EINVAL;
	for (size_t s = 0; s < 3; s++)
		if (set[s] && sl_unlikely(sl_guard_touch_out(set[s], bytes_of(n))))
			return select_read_only(n, set, timeout, sigmask);
	k = from_sets(n, rd, wr, ex, NULL);
	return (k > SMALL ? select_big : select_small)(k, n, set, timeout, sigmask);
}
