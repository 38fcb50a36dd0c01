/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking calls of TCP: try, turn the lane, then sleep; and what poll(2) says of a socket. */
#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/sig.h"
#include "sock/spin.h"
#include "sock/tconn.h"

struct waiter {
	struct sl_watch watch;
	struct sl_bell *bell;
	struct sl_lane *lane;
};

/* What a call remembers from its beginning. */
struct start {
	struct sl_sock *sk;
	int fd;
	uint32_t gen, ran, intr;
	uint64_t deadline;
	ssize_t (*attempt)(void *arg);
	void *arg;
};

static void on_event(struct sl_watch *w, uint32_t events)
{
	sl_bell_ring(sl_container_of(w, struct waiter, watch)->bell);
}

static void wake_up(void *arg)
{
	struct waiter *w = arg;

	__atomic_fetch_sub(&w->lane->sleepers, 1, __ATOMIC_RELAXED);
	sl_watch_del(&w->watch);
	sl_bell_done(w->bell);
}

/* The time that is left. NULL: no limit. (The keeper runs the lane's timers meanwhile.) */
static struct timespec *until(uint64_t deadline, struct timespec *ts)
{
	uint64_t now, left;

	if (!deadline)
		return NULL;
	now = sl_now_ns();
	left = deadline > now ? deadline - now : 0;
	*ts = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
	return ts;
}

/* One sleep: on the lane, the bell and, of a listener, the shadow. What the attempt before it said,
 * or -EINTR. */
static ssize_t doze(struct start *s)
{
	struct pollfd fds[SL_LANE_MAX_FDS + 2];
	struct waiter w = {
		.watch.on_event = on_event,
		.bell = sl_bell_get(),
		.lane = sl_load_acquire(&s->sk->lane),
	};
	unsigned n = sl_lane_fds(w.lane, fds + 2, SL_LANE_MAX_FDS) + 2;
	struct timespec ts;
	ssize_t r;

	n = sl_min(n, (unsigned)SL_LANE_MAX_FDS + 2); /* the keeper sees the others */
	fds[0] = (struct pollfd){.fd = sl_load(&s->sk->lsn) ? s->fd : -1, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = w.bell->fd, .events = POLLIN};
	sl_watch_add(s->sk, &w.watch);
	__atomic_fetch_add(&w.lane->sleepers, 1, __ATOMIC_RELAXED);
	sl_bell_prepare(w.bell);
	pthread_cleanup_push(wake_up, &w);
	r = s->attempt(s->arg);
	if (r == -EAGAIN && sl_load(&w.watch.sk) && sl_load(&s->sk->lane) == w.lane) {
		w.lane->stats->sleeps++;
		r = sl_sys_ppoll_cancel(fds, n, until(s->deadline, &ts), NULL);
		if (r > 0 && fds[0].revents)
			__atomic_fetch_or(&s->sk->os, SL_OS_IN, __ATOMIC_RELEASE);
		r = r < 0 ? r : -EAGAIN;
	}
	pthread_cleanup_pop(1);
	return r;
}

/* signal(7): a handler without SA_RESTART ends the call, with a time-out set any does. */
static bool interrupted(const struct start *s)
{
	return sl_sig_intr != s->intr || (s->deadline && sl_sig_ran != s->ran);
}

/* What ends a wait beside the attempt itself; 0: nothing does. */
static ssize_t over(const struct start *s)
{
	if (sl_unlikely(sl_load(&s->sk->gen) != s->gen || !sl_sock_is(s->sk, s->fd)))
		return -EBADF;
	if (sl_unlikely(sl_sig_ran != s->ran) && interrupted(s))
		return -EINTR;
	return 0;
}

#define CLOCK_EVERY 32

/* -EAGAIN: polled long enough. */
static ssize_t spin(struct start *s)
{
	int64_t loops = sl_settings.rx_poll;
	struct sl_spin sp;
	ssize_t r;

	if (!sl_spin_begin(&sp, sl_now_ns()))
		return -EAGAIN;
	for (int64_t i = 0; loops < 0 || i < loops; i++) {
		r = s->attempt(s->arg);
		if (sl_likely(r != -EAGAIN))
			return r;
		r = over(s);
		if (sl_unlikely(r))
			return r;
		if ((i & (CLOCK_EVERY - 1)) == 0) {
			uint64_t now = sl_now_ns();

			if (s->deadline && now >= s->deadline)
				return -ETIMEDOUT;
			if (!sl_spin_on(&sp, now))
				return -EAGAIN;
			if (sl_settings.rx_poll_yield)
				sl_sys(SYS_sched_yield);
		}
		sl_cpu_relax();
	}
	return -EAGAIN;
}

ssize_t sl_tcp_wait(struct sl_sock *sk, int fd, uint64_t deadline_ns, ssize_t (*attempt)(void *arg),
		    void *arg)
{
	struct start s = {
		.sk = sk,
		.fd = fd,
		.gen = sl_load(&sk->gen),
		.ran = sl_sig_ran,
		.intr = sl_sig_intr,
		.deadline = deadline_ns,
		.attempt = attempt,
		.arg = arg,
	};
	ssize_t r = spin(&s);

	if (r != -EAGAIN) {
		sk->stats->rx_poll_hit++;
		return r;
	}
	sk->stats->rx_poll_miss++;
	for (;;) {
		r = doze(&s);
		if (r != -EAGAIN && r != -EINTR)
			return r;
		if (over(&s) == -EBADF)
			return -EBADF;
		if (r == -EINTR && interrupted(&s))
			return -EINTR;
		if (deadline_ns && sl_now_ns() >= deadline_ns) {
			r = attempt(arg);
			return r == -EAGAIN ? -ETIMEDOUT : r;
		}
	}
}

/* Readiness -------------------------------------------------------------------------------------
 */

static uint32_t listener_ready(const struct sl_sock *sk, const struct sl_tlisten *l)
{
	return sl_load(&l->tcp.nchildren) || (sl_load(&sk->os) & SL_OS_IN) ? EPOLLIN | EPOLLRDNORM
									   : 0;
}

static uint32_t stream_ready(const struct sl_sock *sk, const struct sl_tcp *t)
{
	uint32_t ev = 0;

	if (sl_tcp_is_readable(t, sk->rcvlowat))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (t->tx_shut || sl_tcp_write_room(t))
		ev |= EPOLLOUT | EPOLLWRNORM;
	if (t->urg_have)
		ev |= EPOLLPRI;
	return ev;
}

uint32_t sl_tcp_sock_ready(const struct sl_sock *sk)
{
	const struct sl_tlisten *l = sl_load_acquire(&sk->lsn);
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);
	const struct sl_tcp *t;
	uint32_t ev = 0;
	uint8_t state;
	bool rx_over;

	if (l)
		return listener_ready(sk, l);
	if (!c)
		return EPOLLOUT | EPOLLWRNORM | EPOLLHUP |
		       (sl_load(&sk->error) || sl_tcp_sock_has_errors(sk) ? EPOLLERR : 0) |
		       (sk->shut & 1 ? EPOLLIN | EPOLLRDNORM | EPOLLRDHUP : 0);
	t = &c->tcp;
	state = sl_load(&t->state);
	rx_over = t->rx_shut || t->fin_rcvd;
	if (state == SL_TCP_CLOSED)
		ev |= EPOLLHUP | EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM;
	else if (rx_over && t->tx_shut)
		ev |= EPOLLHUP;
	if (rx_over)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (!sl_tconn_is_connecting(c))
		ev |= stream_ready(sk, t);
	else if (t->tfo_defer) /* the first write sends the SYN */
		ev |= EPOLLOUT | EPOLLWRNORM;
	if (t->error || sl_tcp_sock_has_errors(sk))
		ev |= EPOLLERR;
	return ev;
}
