/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for many descriptors: look, poll the lanes, sleep.
 *
 * Theory of operation: a call looks once at everything, the kernel's descriptors included. (A call
 * that may sleep, and need not report all that is ready, asks the kernel only when nothing of ours
 * is ready, or after SLUICE_SELECT_SKIP_OS answers without it: so a server under load makes no
 * system call to learn what came.) If there is nothing, the call turns the lanes of the sockets in
 * question until something comes, the time is over, a signal handler ran (sig.h) or it has polled
 * long enough (poll_ns()); the kernel is asked once in SLUICE_SELECT_POLL_OS_RATIO
 * rounds. Then it sleeps in ppoll(2) on the kernel's descriptors, the lanes' and its bell: it arms,
 * prepares the bell, looks once more (the kernel's descriptors are looked at by the sleep itself),
 * sleeps. A thread that makes something ready after that look rings the bell. The thread may be
 * cancelled in both phases, so nothing is held there, and clean-up functions take back what was
 * armed (built with -fexceptions).
 */
#include "sock/poll/wait.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/handler.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/extra.h"
#include "sock/core/sock.h"
#include "sock/core/ready.h"
#include "sock/listen/listen.h"
#include "sock/proc/sig.h"
#include "sock/core/spin.h"
#include "sock/core/udp_sock.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "stack/lead.h"

#define FOREVER    UINT64_MAX
#define QUIET      16 /* looks at the kernel's members without an event, before they are put off */
#define PARTIAL_NS 1000000ull /* not all that there is to sleep on has room */
/* Our clock may run ahead of the kernel's by so much; no call may end before its time. */
#define SLACK_NS 2000

int sl_wait_time_begin(struct sl_wait_time *t, const struct timespec *timeout,
		       const sigset_t *sigmask)
{
	uint64_t ns;

	t->deadline_ns = FOREVER;
	if (timeout) {
		if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)
			return -EINVAL;
		ns = (uint64_t)timeout->tv_nsec;
		if (timeout->tv_sec < (int64_t)(FOREVER / 4 / 1000000000))
			t->deadline_ns = sl_now_ns() + (uint64_t)timeout->tv_sec * 1000000000 + ns;
		if (timeout->tv_sec || ns)
			t->deadline_ns += t->deadline_ns == FOREVER ? 0 : SLACK_NS;
		else
			t->deadline_ns = 0;
	}
	t->masked = false;
	t->mask = sigmask;
	return sl_unlikely(sigmask && sl_guard_touch(sigmask, 8)) ? -EFAULT : 0;
}

int sl_wait_mask(struct sl_wait_time *t, uint32_t sig_ran)
{
	int r;

	if (!t->mask || t->masked)
		return 0;
	r = (int)sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, t->mask, &t->old_mask, 8);
	t->masked = r == 0;
	return r == 0 && sl_sig_ran != sig_ran ? -EINTR : r;
}

void sl_wait_time_end(struct sl_wait_time *t)
{
	if (t->masked)
		sl_sys(SYS_rt_sigprocmask, SIG_SETMASK, &t->old_mask, NULL, 8);
}

int sl_wait_begin(struct sl_wait *w, const struct timespec *timeout, const sigset_t *sigmask)
{
	w->nlanes = 0;
	w->os_later = w->spins = false;
	w->bell = NULL;
	w->sleeps = false;
	w->stop_ends = false;
	w->sig_ran = sl_sig_ran;
	w->stops = sl_load(&sl_sig_stops);
	return sl_wait_time_begin(&w->time, timeout, sigmask);
}

void sl_wait_end(struct sl_wait *w)
{
	sl_wait_time_end(&w->time);
}

bool sl_asks_are_vain(const struct sl_asks *a)
{
	return sl_load(&a->vain) >= QUIET && !sl_settings.select_poll_os_force &&
	       sl_settings.select_poll_os_ratio > 1;
}

/* (A round of a poll takes a tenth of a microsecond: counted by rounds alone the kernel would be
 * asked a million times a second.) */
bool sl_asks_now(const struct sl_asks *a)
{
	return !sl_asks_are_vain(a) || sl_setting_is_set(SL_SETTING_select_poll_os_ratio) ||
	       sl_now_ns() - sl_load(&a->at_ns) >= SL_ASK_NS;
}

void sl_asks_count(struct sl_asks *a, bool found)
{
	uint32_t vain = sl_load(&a->vain);

	if (found)
		sl_store(&a->vain, 0);
	else if (vain < QUIET)
		sl_store(&a->vain, vain + 1);
	if (!found && vain + 1 >= QUIET)
		sl_store(&a->at_ns, sl_now_ns());
}

bool sl_wait_left(const struct sl_wait_time *t, struct timespec *left)
{
	uint64_t now, ns;

	if (t->deadline_ns == FOREVER)
		return false;
	now = t->deadline_ns ? sl_now_ns() : 0;
	ns = now < t->deadline_ns ? t->deadline_ns - now : 0;
	left->tv_sec = (time_t)(ns / 1000000000);
	left->tv_nsec = (long)(ns % 1000000000);
	return true;
}

uint32_t sl_sock_ready(const struct sl_sock *sk)
{
	const struct sl_udp_sock *us = sl_udp_sk_const(sk);
	uint8_t os = sl_load(&sk->os);
	uint32_t ev;

	if (sk->proto == IPPROTO_TCP)
		return sl_tcp_sock_ready(sk);
	ev = sl_unlikely(sl_load(&us->tx_blocked)) ? 0 : EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	if (sl_extra_queued(sk) || (os & SL_OS_IN))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (os & SL_OS_ERR || sl_errq_has(sk))
		ev |= EPOLLERR | (sk->want & SL_WANT_ERR_PRI ? EPOLLPRI : 0);
	if (sl_unlikely(us->udp.rx_shut))
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | (us->tx_shut ? EPOLLHUP : 0);
	return ev;
}

/* Another process that has the datagram socket may have shut it down, in the kernel alone. */
static void note_shutdown(struct sl_sock *sk, short events)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	if (!(events & POLLRDHUP) || sk->proto == IPPROTO_TCP)
		return;
	sl_store(&us->udp.rx_shut, true);
	if (events & POLLHUP)
		sl_store(&us->tx_shut, true);
}

/* Bits that the keeper sets after our exchange are newer than what poll says, and stay. */
static void ask_shadow(struct sl_sock *sk)
{
	struct pollfd p[2] = {{.fd = sl_sock_shadow(sk), .events = POLLIN | POLLRDHUP},
			      {.fd = sl_tlisten_box(sk), .events = POLLIN}};
	struct timespec zero = {0, 0};
	uint8_t bits = 0, had = __atomic_exchange_n(&sk->os, 0, __ATOMIC_ACQ_REL);
	long n = sl_sys(SYS_ppoll, p, p[1].fd < 0 ? 1 : 2, &zero, NULL, 8);

	if (n < 0) { /* (RLIMIT_NOFILE is lower than the list is long) */
		bits = had;
	} else if (n > 0) {
		bits |= (p[0].revents | p[1].revents) & POLLIN ? SL_OS_IN : 0;
		bits |= p[0].revents & POLLERR ? SL_OS_ERR : 0;
		note_shutdown(sk, p[0].revents);
	}
	if (sl_load(&sk->error))
		bits |= SL_OS_ERR;
	if (bits)
		__atomic_fetch_or(&sk->os, bits, __ATOMIC_RELEASE);
}

uint32_t sl_wait_sock_ready(struct sl_sock *sk)
{
	if (sl_unlikely(sl_load(&sk->os)) || sl_sock_is_lent(sk))
		ask_shadow(sk);
	return sl_sock_ready(sk);
}

void sl_wait_lane(struct sl_wait *w, struct sl_lane *lane)
{
	if (!lane)
		return;
	for (unsigned i = 0; i < w->nlanes; i++)
		if (w->lane[i] == lane)
			return;
	if (w->nlanes == sl_array_len(w->lane))
		return;
	w->loads[w->nlanes] = sl_lane_no_loads(lane);
	w->follows[w->nlanes] = false;
	w->lane[w->nlanes++] = lane;
}

static void collect(struct sl_wait *w)
{
	w->moves = sl_load_acquire(&sl_lane_moves);
	w->nlanes = 0;
	w->ops->lanes(w->arg);
}

static bool interrupted(const struct sl_wait *w)
{
	return sl_sig_ran != w->sig_ran || (w->stop_ends && sl_load(&sl_sig_stops) != w->stops);
}

/* Turns every lane that is not left to other threads, then calls check(). */
static int round_once(struct sl_wait *w, bool os)
{
	int r;

	if (sl_unlikely(sl_load(&sl_lane_moves) != w->moves))
		collect(w);
	for (unsigned i = 0; i < w->nlanes; i++)
		if (!w->follows[i])
			sl_lane_turn(w->lane[i]);
	sl_extra_filter_all();
	r = w->ops->check(w->arg, os);
	for (unsigned i = 0; i < w->nlanes && r > 0; i++)
		sl_lane_lead(w->lane[i]);
	return r;
}

/* Sums up the lanes that the wait polls, as sl_spin_credit_ns() wants them. */
static uintptr_t polled(const struct sl_wait *w, uint32_t *loads)
{
	uintptr_t of = 0;

	*loads = 0;
	for (unsigned i = 0; i < w->nlanes; i++) {
		of += (uintptr_t)w->lane[i];
		*loads += sl_load(&w->lane[i]->loads);
	}
	return of;
}

/* How long to poll before the sleep: no longer than packets have made worth while, unless the
 * program's administrator says how long. (A server that looks at its clock ten times a second would
 * take a whole core otherwise, although it has nothing to do.) */
static uint64_t poll_ns(const struct sl_wait *w, uint64_t now_ns)
{
	uint64_t most_ns = (uint64_t)sl_settings.select_poll * 1000;
	uintptr_t of;
	uint32_t loads;

	if (sl_settings.select_poll < 0)
		return FOREVER;
	if (sl_setting_is_set(SL_SETTING_select_poll))
		return most_ns;
	of = polled(w, &loads);
	return sl_min(most_ns, sl_spin_credit_ns(of, loads, now_ns));
}

/* Can packets come without the kernel? */
static bool has_legs(const struct sl_wait *w)
{
	for (unsigned i = 0; i < w->nlanes; i++)
		if (sl_load(&w->lane[i]->nlegs))
			return true;
	return false;
}

static void spin_over(struct sl_wait **w)
{
	(*w)->spins = false;
	if ((*w)->ops->spin)
		(*w)->ops->spin((*w)->arg, -1);
}

static int spin_until(struct sl_wait *w, struct sl_spin *sp, uint64_t end)
{
	struct sl_wait *guard __attribute__((cleanup(spin_over))) = w;
	unsigned ratio =
		sl_settings.select_poll_os_force ? 1 : (unsigned)sl_settings.select_poll_os_ratio;
	unsigned until_os = ratio;
	uint64_t now;
	bool os;
	int r;

	guard->spins = true;
	if (guard->ops->spin)
		guard->ops->spin(guard->arg, 1);
	do {
		os = ratio && --until_os == 0;
		if (os)
			until_os = ratio;
		r = round_once(w, os);
		if (r)
			return r;
		if (interrupted(w))
			return -EINTR;
		pthread_testcancel();
		if (sl_settings.select_poll_yield)
			sl_sys(SYS_sched_yield);
		now = sl_now_ns();
	} while (now < end && sl_spin_on(sp, now));
	return 0;
}

static int spin(struct sl_wait *w)
{
	uint64_t now = sl_now_ns(), end = w->time.deadline_ns, ns = poll_ns(w, now);
	struct sl_spin sp;
	int r;

	if (ns < SL_SPIN_LEAST_NS || !sl_spin_begin(&sp, now))
		return 0;
	if (ns != FOREVER)
		end = sl_min(end, now + ns);
	r = spin_until(w, &sp, end);
	if (r <= 0)
		sl_spin_in_vain(sl_now_ns() - now);
	if (sl_unlikely(sl_settings.cpu_usage_stats))
		__atomic_fetch_add(&w->counts->poll_ns, sl_spin_count(now), __ATOMIC_RELAXED);
	return r;
}

static void sleep_over(struct sl_wait **wp)
{
	struct sl_wait *w = *wp;

	for (unsigned i = 0; i < w->nlanes; i++)
		if (w->follows[i])
			sl_lane_unfollow(w->lane[i]);
		else if (w->sleeps)
			sl_lane_awake(w->lane[i]);
	w->sleeps = false;
	sl_bell_done(w->bell);
}

/* Counts the sleep in each lane whose descriptors took part: those of lane i end at end[i]. */
static void count_sleep(const struct sl_wait *w, const unsigned *end, bool woken)
{
	for (unsigned i = 0, k = w->nfds + 1; i < w->nlanes; k = end[i++]) {
		w->lane[i]->stats->sleeps++;
		w->lane[i]->stats->wakes += woken && sl_has_revents(w->fds + k, end[i] - k);
	}
}

/* Sleeps in one ppoll(2). *os: the next check must ask the kernel, too. */
static int doze(struct sl_wait *w, bool *os)
{
	struct sl_wait *guard __attribute__((cleanup(sleep_over))) = w;
	uint64_t most_ns = guard->bell->fd < 0 ? PARTIAL_NS : FOREVER;
	unsigned n = w->nfds, room = SL_WAIT_ROOM - 1, k, end[sl_array_len(w->lane)];
	struct timespec left = {0, 0}, *ts = NULL;
	int r;

	w->fds[n++] = (struct pollfd){.fd = w->bell->fd, .events = POLLIN};
	for (unsigned i = 0; i < w->nlanes; i++) {
		w->follows[i] = sl_lane_is_led(w->lane[i], &w->loads[i]);
		end[i] = n;
		if (w->follows[i]) {
			most_ns = sl_min(most_ns, sl_lane_follow(w->lane[i]));
			continue;
		}
		sl_lane_tcp_sleeps(w->lane[i]);
		k = sl_lane_fds(w->lane[i], w->fds + n, room);
		if (k > room)
			most_ns = sl_min(most_ns, PARTIAL_NS);
		k = sl_min(k, room);
		n += k;
		end[i] = n;
		room -= k;
	}
	if (sl_wait_left(&w->time, &left))
		ts = &left;
	/* (most_ns is below a second.) */
	if (most_ns != FOREVER && (!ts || ts->tv_sec || ts->tv_nsec > (long)most_ns)) {
		left = (struct timespec){0, (long)most_ns};
		ts = &left;
	}
	*os = false;
	if (!sl_bell_sleep(w->bell))
		return 0;
	for (unsigned i = 0; i < w->nlanes; i++)
		if (!w->follows[i])
			sl_lane_asleep(w->lane[i]);
	w->sleeps = true;
	if (sl_unlikely(sl_load(&sl_late_any)))
		sl_late_hurry();
	r = sl_sys_ppoll_cancel(w->fds, n, ts, NULL);
	count_sleep(w, end, r > 0);
	*os = r < 0 || (r > 0 && sl_has_revents(w->fds, w->nfds));
	return sl_min(r, 0);
}

static void disarm(struct sl_wait **w)
{
	(*w)->ops->cancel((*w)->arg);
	sl_release();
}

/* The time-out has ended the sleep. */
static void note_slept(const struct sl_wait *w)
{
	uint32_t loads;
	uintptr_t of = polled(w, &loads);

	sl_spin_slept(of, loads);
}

static int sleep_until(struct sl_wait *w)
{
	struct sl_wait *guard __attribute__((cleanup(disarm))) = w;
	bool os = false, over;
	int slept = 0, r;

	sl_hold();
	w->bell = sl_bell_get();
	guard->ops->arm(w->arg, w->bell);
	for (;;) {
		sl_bell_prepare(w->bell);
		over = w->time.deadline_ns != FOREVER && sl_now_ns() >= w->time.deadline_ns;
		r = round_once(w, os || over);
		if (r == 0 && (slept < 0 || interrupted(w)))
			r = slept < 0 ? slept : -EINTR;
		if (r || over) {
			sl_bell_done(w->bell);
			if (r == 0)
				note_slept(w);
			return r;
		}
		slept = doze(w, &os);
	}
}

/* A call that must not wait found nothing. What the kernel has for offloaded sockets is told by the
 * keeper; a program that calls again and again may not let it run. */
static int look_once_more(struct sl_wait *w)
{
	static __thread uint32_t empty;
	uint32_t ratio = (uint32_t)sl_settings.select_poll_os_ratio;

	if (!ratio || ++empty < ratio)
		return 0;
	empty = 0;
	sl_shadow_look();
	return w->ops->check(w->arg, false);
}

static int run(struct sl_wait *w)
{
	int r;

	collect(w);
	r = round_once(w, !w->os_later || w->time.deadline_ns == 0 || w->time.mask);
	if (r) {
		sl_wait_count(&w->counts->hits, 1);
		return r;
	}
	r = sl_wait_mask(&w->time, w->sig_ran);
	if (sl_unlikely(r))
		return r;
	if (w->time.deadline_ns == 0)
		return look_once_more(w);
	if (sl_settings.select_poll && has_legs(w)) {
		r = spin(w);
		if (r > 0)
			sl_wait_count(&w->counts->hits, 1);
		if (r)
			return r;
	}
	return sleep_until(w);
}

int sl_wait_run(struct sl_wait *w)
{
	int r;

	pthread_testcancel();
	sl_bell_wait_begin();
	sl_wait_count(&w->counts->calls, 1);
	r = run(w);
	if (r == 0)
		sl_wait_count(&w->counts->timeouts, 1);
	else if (r < 0)
		sl_wait_count(&w->counts->errors, 1);
	for (unsigned i = 0; i < w->nlanes; i++)
		sl_lane_left(w->lane[i]);
	return r;
}
