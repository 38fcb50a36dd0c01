/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking calls: try, turning the lane; spin; then sleep on the lane's descriptors, the shadow
 * where the kernel may have something, and the thread's own bell, all at once. */
#include "sock/core/block.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/proc/sig.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/spin.h"
#include "sock/core/sock.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "stack/lead.h"

/* A sender that waits for room spins this long: a device that is only slow has made room by then.
 * Longer is not worth it, since each attempt costs a system call. */
#define SEND_SPIN_NS 50000
/* A sleeping sender tries again this often: its device may have failed without an event. */
#define SEND_LOOK_NS 10000000
/* So does a thread without a bell: the keeper may take its packet off the device. */
#define NO_BELL_NS 1000000

struct waiter {
	struct sl_watch watch;
	struct sl_sock *sk;
	uint32_t gen; /* of the socket when the call began */
	struct sl_bell *bell;
	struct sl_lane *lane;
	bool follows;
	bool sleeps; /* on the lane's descriptors */
};

static void on_event(struct sl_watch *w, uint32_t events)
{
	sl_bell_ring(sl_container_of(w, struct waiter, watch)->bell);
}

static void wake_up(void *arg)
{
	struct waiter *w = arg;

	if (w->follows)
		sl_lane_unfollow(w->lane);
	if (w->sleeps)
		sl_lane_awake(w->lane);
	sl_watch_del(&w->watch);
	sl_bell_done(w->bell);
	sl_sock_sleep_end(w->sk, w->gen);
	sl_release();
}

/* The time that is left, most_ns of it. NULL: no limit. (The keeper runs the lane's timers
 * meanwhile.) */
static struct timespec *until(uint64_t deadline, uint64_t most_ns, struct timespec *ts)
{
	uint64_t now, left = UINT64_MAX;

	if (!deadline && most_ns == UINT64_MAX)
		return NULL;
	if (deadline) {
		now = sl_now_ns();
		left = deadline > now ? deadline - now : 0;
	}
	left = sl_min(left, most_ns);
	*ts = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
	return ts;
}

/* A stream's bytes are ours alone; datagrams and new connections the kernel may have, too. */
static bool is_merged(const struct sl_call *s)
{
	return s->kernel || (s->sk->proto != IPPROTO_TCP && !s->sends) || sl_load(&s->sk->lsn);
}

/* True: a handler ran, or the process was stopped and went on, since the call began. */
static bool disturbed(const struct sl_call *s)
{
	return sl_sig_ran != s->ran || sl_load(&sl_sig_stops) != s->stops;
}

/* signal(7): a handler without SA_RESTART ends the call; with a time-out set, or with bytes done
 * (tcp_recvmsg_locked(), sk_stream_wait_memory()), any does, and so does a stop. */
static bool interrupted(const struct sl_call *s)
{
	return sl_sig_intr != s->intr || (disturbed(s) && (s->deadline || (s->done && *s->done)));
}

struct sl_begun sl_sock_begin(uint64_t timeo_ns)
{
	return (struct sl_begun){sl_sock_deadline(timeo_ns), sl_sig_ran, sl_sig_intr};
}

bool sl_sock_is_interrupted(const struct sl_begun *b)
{
	return sl_sig_intr != b->intr || (b->deadline && sl_sig_ran != b->ran);
}

static uint8_t os_bits(short revents)
{
	return (uint8_t)(SL_OS_IN | (revents & POLLERR ? SL_OS_ERR : 0));
}

/* Attempts once more and, on -EAGAIN, sleeps once. A signal ends the sleep, and its handler runs
 * when the watch is gone from the socket. No signal is lost between the call's beginning and the
 * sleep: one that came before sl_hold() has been counted, one that comes later is put off and takes
 * the sleep's time away (sl_sys_ppoll_cancel()). The attempt's result; -EINTR: a signal handler ran
 * that ends the call; after a sleep -EAGAIN, or ppoll(2)'s error. */
static ssize_t doze(struct sl_call *s, sl_attempt attempt, void *arg)
{
	struct pollfd fds[SL_LANE_MAX_FDS + 2];
	struct waiter w = {
		.watch.on_event = on_event,
		.sk = s->sk,
		.gen = s->gen,
		.bell = sl_bell_get(),
		.lane = sl_load_acquire(&s->sk->lane),
	};
	uint64_t most_ns = w.bell->fd < 0 ? NO_BELL_NS : UINT64_MAX;
	struct timespec ts;
	unsigned n = 0;
	ssize_t r;

	sl_hold();
	sl_sock_sleep_begin(w.sk);
	sl_bell_prepare(w.bell); /* before the look for descriptors: a leg that closes rings */
	w.follows = sl_lane_is_led(w.lane, &s->loads);
	if (s->sends)
		most_ns = sl_min(most_ns, (uint64_t)SEND_LOOK_NS);
	if (w.follows)
		most_ns = sl_min(most_ns, sl_lane_follow(w.lane));
	else
		n = sl_lane_fds(w.lane, fds + 2, SL_LANE_MAX_FDS);
	n = sl_min(n, (unsigned)SL_LANE_MAX_FDS) + 2; /* the keeper sees the others */
	fds[0] = (struct pollfd){.fd = is_merged(s) ? sl_sock_number(s->sk, s->fd) : -1,
				 .events = POLLIN};
	fds[1] = (struct pollfd){.fd = w.bell->fd, .events = POLLIN};
	sl_watch_add(s->sk, &w.watch);
	pthread_cleanup_push(wake_up, &w);
	r = attempt(arg);
	if (r == -EAGAIN && sl_unlikely(interrupted(s)))
		r = -EINTR;
	if (r == -EAGAIN)
		sl_lane_tcp_sleeps(w.lane);
	/* Unread errors in the shadow's queue would end each sleep; the keeper tells of more. */
	if (sl_unlikely(sl_load(&s->sk->os) & SL_OS_ERR) && sl_sock_is_udp(s->sk) && !s->kernel)
		fds[0].fd = -1;
	if (r == -EAGAIN && sl_load(&w.watch.sk) && sl_load(&s->sk->lane) == w.lane &&
	    sl_bell_sleep(w.bell)) {
		w.lane->stats->sleeps++;
		w.sleeps = !w.follows;
		if (w.sleeps)
			sl_lane_asleep(w.lane);
		if (sl_unlikely(sl_load(&sl_late_any)))
			sl_late_hurry();
		r = sl_sys_ppoll_cancel(fds, n, until(s->deadline, most_ns, &ts), NULL);
		w.lane->stats->wakes += r > 0 && sl_has_revents(fds + 2, n - 2);
		if (r > 0 && fds[0].revents && !s->kernel)
			__atomic_fetch_or(&s->sk->os, os_bits(fds[0].revents), __ATOMIC_RELEASE);
		r = r < 0 ? r : -EAGAIN;
	}
	pthread_cleanup_pop(1);
	return r;
}

static void release(void *arg)
{
	sl_release();
}

int sl_call_poll(const struct sl_call *s, struct pollfd *p, const struct timespec *timeout)
{
	static const struct timespec zero;
	int r;

	sl_hold();
	pthread_cleanup_push(release, NULL);
	r = sl_sys_ppoll_cancel(p, 1, interrupted(s) ? &zero : timeout, NULL);
	pthread_cleanup_pop(1);
	return r == 0 && interrupted(s) ? -EINTR : r;
}

ssize_t sl_call_over(const struct sl_call *s)
{
	if (sl_unlikely(sl_load(&s->sk->gen) != s->gen))
		return -EBADF;
	if (sl_unlikely(disturbed(s)) && interrupted(s))
		return -EINTR;
	return 0;
}

#define CLOCK_EVERY 32

/* How long a call polls. A receiving call polls no longer than packets have made worth while,
 * unless the program's administrator says how often it is to poll. */
static uint64_t most_to_poll_ns(const struct sl_call *s, uint64_t now_ns)
{
	const struct sl_lane *lane = sl_load_acquire(&s->sk->lane);

	if (s->sends)
		return SEND_SPIN_NS;
	if (sl_settings.rx_poll < 0 || sl_setting_is_set(SL_SETTING_rx_poll))
		return UINT64_MAX;
	return sl_spin_credit_ns((uintptr_t)lane, sl_load(&lane->loads), now_ns);
}

static ssize_t spin_until(const struct sl_call *s, sl_attempt attempt, void *arg,
			  struct sl_spin *sp, uint64_t most_ns)
{
	int64_t loops = sl_settings.rx_poll, every = s->sends ? 1 : CLOCK_EVERY;
	ssize_t r;

	for (int64_t i = 0; loops < 0 || i < loops; i++) {
		r = attempt(arg);
		if (sl_likely(r != -EAGAIN))
			return r;
		r = sl_call_over(s);
		if (sl_unlikely(r))
			return r;
		if ((i & (every - 1)) == 0) {
			uint64_t now = sl_now_ns();

			if (s->deadline && now >= s->deadline)
				return -ETIMEDOUT;
			if (now - sp->begun_ns > most_ns || !sl_spin_on(sp, now))
				return -EAGAIN;
			if (sl_settings.rx_poll_yield)
				sl_sys(SYS_sched_yield);
		}
		sl_cpu_relax();
	}
	return -EAGAIN;
}

/* -EAGAIN: polled long enough. */
static ssize_t spin(const struct sl_call *s, sl_attempt attempt, void *arg)
{
	uint64_t start = sl_now_ns(), most_ns = most_to_poll_ns(s, start);
	struct sl_spin sp;
	ssize_t r;

	if (most_ns < SL_SPIN_LEAST_NS || !sl_spin_begin(&sp, start))
		return -EAGAIN;
	r = spin_until(s, attempt, arg, &sp, most_ns);
	if (r < 0 && !s->sends)
		sl_spin_in_vain(sl_now_ns() - start);
	if (sl_unlikely(sl_settings.cpu_usage_stats))
		(void)sl_spin_count(start);
	return r;
}

struct sl_call sl_call_begin(struct sl_sock *sk, int fd, uint64_t deadline_ns)
{
	return (struct sl_call){
		.sk = sk,
		.fd = fd,
		.gen = sl_load(&sk->gen),
		.ran = sl_sig_ran,
		.intr = sl_sig_intr,
		.stops = sl_load(&sl_sig_stops),
		.deadline = deadline_ns,
	};
}

/* A restarted call begins with its number, which is not the socket's any more. (If it means another
 * socket the call does not go on there.) */
static ssize_t restart_by_number(const struct sl_call *s)
{
	int type, err = sl_sys_get_int(s->fd, SOL_SOCKET, SO_TYPE, &type);

	return err < 0 ? err : -EBADF;
}

/* The time-out has ended the sleep. */
static void note_slept(const struct sl_sock *sk)
{
	const struct sl_lane *lane = sl_load_acquire(&sk->lane);

	if (lane)
		sl_spin_slept((uintptr_t)lane, sl_load(&lane->loads));
}

/* Sleeps, again and again. */
static ssize_t sleep_until(struct sl_call *s, sl_attempt attempt, void *arg)
{
	uint64_t deadline_ns = s->deadline;
	struct sl_sock *sk = s->sk;
	ssize_t r, over;

	s->loads = sl_lane_no_loads(sl_load(&sk->lane));
	for (;;) {
		r = doze(s, attempt, arg);
		if (r != -EAGAIN && r != -EINTR) {
			sl_lane_lead(sl_load(&sk->lane));
			sl_lane_left(sl_load(&sk->lane));
			return r;
		}
		over = sl_call_over(s);
		if (over == -EBADF)
			return -EBADF;
		if (over && (r == -EINTR || sl_settings.handle_sigintr))
			return -EINTR;
		if (!over && disturbed(s)) {
			if (!sl_sock_is(sk, s->fd))
				return restart_by_number(s);
			s->ran = sl_sig_ran; /* the call was restarted */
			s->stops = sl_load(&sl_sig_stops);
		}
		if (deadline_ns && sl_now_ns() >= deadline_ns) {
			r = attempt(arg);
			if (r == -EAGAIN)
				note_slept(sk);
			sl_lane_left(sl_load(&sk->lane));
			return r == -EAGAIN ? -ETIMEDOUT : r;
		}
	}
}

static ssize_t block(struct sl_call *s, sl_attempt attempt, void *arg)
{
	struct sl_sock *sk = s->sk;
	ssize_t r;

	sl_bell_wait_begin();
	r = spin(s, attempt, arg);
	if (r != -EAGAIN) {
		sk->stats->rx_poll_hit += r >= 0 && !s->sends;
		sl_lane_lead(sl_load(&sk->lane));
		return r;
	}
	sk->stats->rx_poll_miss += !s->sends;
	return sleep_until(s, attempt, arg);
}

ssize_t sl_sock_block(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
		      void *arg)
{
	struct sl_call s = sl_call_begin(sk, fd, deadline_ns);

	return block(&s, attempt, arg);
}

ssize_t sl_sock_block_counted(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			      void *arg, const size_t *done)
{
	struct sl_call s = sl_call_begin(sk, fd, deadline_ns);

	s.done = done;
	return block(&s, attempt, arg);
}

ssize_t sl_sock_block_send(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			   void *arg)
{
	struct sl_call s = sl_call_begin(sk, fd, deadline_ns);

	s.sends = true;
	return block(&s, attempt, arg);
}

ssize_t sl_sock_block_kernel(struct sl_sock *sk, int fd, uint64_t deadline_ns, sl_attempt attempt,
			     void *arg)
{
	struct sl_call s = sl_call_begin(sk, fd, deadline_ns);

	sl_bell_wait_begin();
	s.kernel = true;
	return sleep_until(&s, attempt, arg);
}
