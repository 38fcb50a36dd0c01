/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper: the process's one thread of ours. It drains lanes whose owner is away, follows the
 * mirrors, and sees what the kernel has for the shadows.
 *
 * Theory of operation: while lanes are in use it looks at them every PROGRESS_ENGINE_INTERVAL
 * milliseconds and makes a turn of each that no thread has turned since; more seldom while the
 * owners of all that is busy turn them many times a tick, since each look takes the core from a
 * thread (with twelve processes on two cores they were one context switch in twelve). When nothing
 * at all has happened for a second it sleeps on the descriptors themselves, without a tick. It is
 * not on the descriptors while a lane is busy: a waiter there costs the sender's core a wake-up a
 * packet. In any case it is awake when timers of TCP are due that no thread's turn has run, or
 * paced packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/move/heirs.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

#define QUIET_NS  1000000000ull /* no turn for so long: sleep without a tick */
#define HOUSE_NS  1000000000ull /* other programs' sockets, reader's wishes */
#define STRAY_NS  2000000000ull /* idle connections: does the kernel get their segments? */
#define LOOK_NS   500000
#define STOP_NS   2000000000ull /* most that its end is waited for */
#define REST_NS   1000000       /* the mailbox, when a child writes on and on */
#define BUSY_PKTS 256           /* a tick that found more comes again after BUSY_NS */
#define BUSY_NS   1000000
#define STAY_NS   10000000  /* listeners that are closed wait for handshakes */
#define JUDGE_NS  100000000 /* so often it is seen which lanes are hot */
#define HOT_LOADS (JUDGE_NS / SL_FOLLOW_NS)
#define TURNED_NS 4000000  /* timers of a lane turned by threads that may go to sleep */
#define OFTEN     16       /* turns in a tick: its owners come by themselves */
#define OFTEN_NS  10000000 /* its timers */
#define STRETCH   4        /* ticks that all such lanes are left to their owners */
#define LEAST_NS  50000    /* between two rounds for timers of TCP and of paced packets */

static int epfd = -1;      /* mirrors, mailbox, and shadow_ep */
static int shadow_ep = -1; /* all shadows, edge-triggered */
static int stats_fd = -1;  /* tells when a process wrote to the file of the counters */
static pthread_t thread;
static bool running, ending;
static uint32_t tid; /* the kernel's number of it, when it has begun */

enum { TAG_NET = 1, TAG_MAIL, TAG_SHADOWS, TAG_STATS };

static void watch_fd(int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event ev = {.events = events, .data.u64 = tag};

	sl_sys_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev);
}

void sl_keeper_watch(struct sl_sock *sk)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLERR | EPOLLET,
		.data.u64 = (uint64_t)sl_load(&sk->gen) << 32 | sl_sock_ref(sk),
	};

	sl_sys_epoll_ctl(shadow_ep, EPOLL_CTL_ADD, sk->fd, &ev);
	if (sk->proto == IPPROTO_TCP && sl_tlisten_box(sk) >= 0)
		sl_sys_epoll_ctl(shadow_ep, EPOLL_CTL_ADD, sl_tlisten_box(sk), &ev);
}

void sl_keeper_unwatch(int fd)
{
	if (shadow_ep >= 0) /* (a child that is confined may not try) */
		sl_sys_epoll_ctl(shadow_ep, EPOLL_CTL_DEL, fd, NULL);
}

/* Children write letters faster than is good for this thread: it looks at others' work first. */
static uint64_t mail_rests_until_ns; /* 0: it does not rest */

static void watch_mail(uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u64 = TAG_MAIL};

	sl_sys_epoll_ctl(epfd, EPOLL_CTL_MOD, sl_mail_fd(), &ev);
}

static void renew_mail(void)
{
	sl_sys_epoll_ctl(epfd, EPOLL_CTL_DEL, sl_mail_fd(), NULL);
	if (sl_mail_renew() == 0)
		watch_fd(sl_mail_fd(), EPOLLIN, TAG_MAIL);
}

static void read_mail(void)
{
	switch (sl_mail_read()) {
	case SL_MAIL_EMPTY:
		break;
	case SL_MAIL_MORE:
		watch_mail(0);
		mail_rests_until_ns = sl_now_ns() + REST_NS;
		break;
	case SL_MAIL_BROKEN:
		renew_mail();
		break;
	}
}

static void wake_mail(uint64_t now_ns)
{
	if (!mail_rests_until_ns || now_ns < mail_rests_until_ns)
		return;
	mail_rests_until_ns = 0;
	watch_mail(EPOLLIN);
}

static void on_shadow(struct sl_sock *sk, uint32_t events)
{
	uint8_t bits = 0;

	if (events & EPOLLIN)
		bits |= SL_OS_IN;
	if (events & EPOLLERR)
		bits |= SL_OS_ERR | SL_OS_IN; /* a waiting receive must return the error */
	if (bits)
		sl_sock_os_event(sk, bits);
}

void sl_keeper_look(void)
{
	struct epoll_event evs[32];
	int n = sl_sys_epoll_wait(shadow_ep, evs, sl_array_len(evs), 0);

	for (int i = 0; i < n; i++) {
		struct sl_sock *sk =
			sl_sock_at((uint32_t)evs[i].data.u64, (uint32_t)(evs[i].data.u64 >> 32));

		if (sk)
			on_shadow(sk, evs[i].events);
	}
}

static void serve_reader(void)
{
	sl_stats_serve();
	sl_flow_serve();
}

static void on_stats_written(void)
{
	char buf[4096];

	while (sl_sys_read(stats_fd, buf, sizeof(buf)) > 0)
		;
	serve_reader();
}

static void serve_events(void)
{
	struct epoll_event evs[8];
	int n = sl_sys_epoll_wait(epfd, evs, sl_array_len(evs), 0);

	for (int i = 0; i < n; i++) {
		switch (evs[i].data.u64) {
		case TAG_NET:
			sl_net_on_readable();
			break;
		case TAG_MAIL:
			read_mail();
			break;
		case TAG_SHADOWS:
			sl_keeper_look();
			break;
		case TAG_STATS:
			on_stats_written();
			break;
		}
	}
}

/* Lanes ---------------------------------------------------------------------------------------- */

static uint32_t seen[SL_MAX_LANES];   /* turns, when we last looked */
static uint32_t judged[SL_MAX_LANES]; /* loads, when it was judged last */
static uint32_t stretched = 1;        /* ticks until the next look */
static uint64_t looked_ns;
static bool not_shown; /* something has moved since sl_tcp_stat() */

struct look {
	uint64_t now_us;
	uint64_t tick_ns, since_ns; /* since the last look */
	uint32_t busy;              /* lanes that moved since the last look */
	uint32_t pkts;              /* that we had to take */
	bool judge;                 /* is it time to? */
	bool paced;                 /* packets wait for their time */
	bool bursting; /* a program writes without end: what is held back is to go soon */
	bool moved;    /* a turn changed something that the counters must show */
	bool rare;     /* one moved whose owners do not come often: it may need us soon */
	uint32_t nfds;
	struct pollfd *fds;
	uint32_t max;
};

static bool is_time_to_judge(uint64_t now_ns)
{
	static uint64_t last_ns;

	if (now_ns - last_ns < JUDGE_NS)
		return false;
	last_ns = now_ns;
	return true;
}

/* A lane is hot when packets would wake a sleeper more often than its own looks at whether another
 * thread turns the lane. */
static void judge(struct sl_lane *lane)
{
	uint32_t loads = sl_load(&lane->loads);

	sl_store(&lane->hot, loads - judged[lane->id] >= HOT_LOADS);
	judged[lane->id] = loads;
}

static void look_at(struct sl_lane *lane, void *arg)
{
	struct look *l = arg;
	uint32_t turns = sl_load(&lane->turns);
	int n = 0, got = 0;

	if (l->judge)
		judge(lane);
	l->bursting |= sl_lane_is_bursting(lane, l->now_us);
	l->paced |= sl_lane_is_paced(lane);
	sl_lane_ask_aged(lane);
	lane->turned = turns != seen[lane->id];
	if (lane->turned) {
		l->busy++;
		l->rare |= (turns - seen[lane->id]) * l->tick_ns < OFTEN * l->since_ns;
		if (sl_lane_is_due(lane, l->now_us))
			sl_lane_run(lane);
		seen[lane->id] = sl_load(&lane->turns);
		return;
	}
	while (got < sl_settings.progress_engine_wce_max && (n = sl_lane_try_turn(lane)) > 0) {
		got += n;
		lane->stats->keeper_turns++;
	}
	if (got || n < 0) {
		l->busy++;
		l->rare = true;
		l->pkts += (uint32_t)got;
	}
	if (sl_lane_is_due(lane, l->now_us)) {
		l->moved = true;
		sl_lane_run(lane);
	}
	seen[lane->id] = sl_load(&lane->turns);
}

static void add_fds(struct sl_lane *lane, void *arg)
{
	struct look *l = arg;

	l->nfds += sl_min(sl_lane_fds(lane, l->fds + l->nfds, l->max - l->nfds), l->max - l->nfds);
}

/* How long to sleep: until the tick, or when all is quiet without one; but not longer than until
 * timers of TCP are due. A lane that others turn runs them itself, mostly. NULL: for ever. */
static struct timespec *sleep_time(struct timespec *ts, const struct look *l, bool quiet)
{
	uint64_t now = sl_now_ns(), until_us = UINT64_MAX, ns;
	uint64_t house_us = (now + HOUSE_NS) / 1000, look_us = sl_lanes_look_us();
	uint64_t least_ns = l->busy && !l->bursting && !l->paced ? BUSY_NS : LEAST_NS;

	/* Look again soon while dead connections are kept, sockets wait for a route, or the
	 * counters do not show the last events yet. */
	if (quiet && (sl_tconn_reap() || not_shown || sl_policy_waits() || sl_mcast_in_use() ||
		      sl_devices_wait()))
		until_us = house_us;
	else if (quiet && sl_tconn_in_use())
		until_us = (now + STRAY_NS) / 1000;
	if (!quiet)
		until_us = (now + (l->pkts > BUSY_PKTS ? BUSY_NS : l->tick_ns * stretched)) / 1000;
	look_us = sl_max(look_us, house_us);
	until_us = sl_min(until_us, look_us);
	if (sl_given_due_ns())
		until_us = sl_min(until_us, sl_given_due_ns() / 1000);
	if (sl_heirs_due_ns())
		until_us = sl_min(until_us, sl_heirs_due_ns() / 1000);
	if (sl_tlisten_staying())
		until_us = sl_min(until_us, (now + STAY_NS) / 1000);
	if (mail_rests_until_ns)
		until_us = sl_min(until_us, mail_rests_until_ns / 1000);
	if (l->bursting)
		until_us = now / 1000;
	until_us = sl_lanes_sleep(until_us, (now + least_ns) / 1000,
				  (now + (stretched > 1 ? OFTEN_NS : TURNED_NS)) / 1000, house_us);
	if (until_us == UINT64_MAX)
		return NULL;
	ns = until_us * 1000 > now ? until_us * 1000 - now : 0;
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return ts;
}

static void keep_house(uint64_t now, uint64_t *last_house)
{
	if (now - *last_house <= HOUSE_NS)
		return;
	*last_house = now;
	sl_stats_sweep(); /* not at the start: too costly for a short-lived process */
	sl_mcast_recheck();
	if (sl_devices_wait())
		sl_devices_again();
	sl_policy_check();
	sl_tconn_reap();
	sl_tcp_stat();
	not_shown = false;
	sl_stats->frames_free = sl_frames_left();
	serve_reader();
}

/* Paced packets are sent when the keeper wakes, so its timers must not have slack. */
static void be_punctual(bool paced)
{
	static bool punctual;

	if (!paced || punctual)
		return;
	punctual = true;
	sl_sys(SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

/* A round: looks after everything, then sleeps as long as it may. */
static void round_once(uint64_t *last_busy, uint64_t *last_house)
{
	struct pollfd fds[256];
	uint64_t now = sl_now_ns();
	uint64_t tick = (uint64_t)sl_settings.progress_engine_interval * 1000000ull;
	struct look l = {.now_us = now / 1000,
			 .tick_ns = tick,
			 .since_ns = now - looked_ns,
			 .fds = fds,
			 .max = sl_array_len(fds)};
	struct timespec ts, *left;
	bool quiet;
	long n;

	l.judge = is_time_to_judge(now);
	sl_lane_for_each(look_at, &l);
	if (l.busy)
		*last_busy = now;
	if (l.rare || l.since_ns >= tick) /* (a short while says nothing) */
		stretched = l.busy && !l.rare ? STRETCH : 1;
	looked_ns = now;
	be_punctual(l.paced);
	sl_pace_nic_serve();
	sl_tlisten_look_stalled(now);
	sl_tlisten_look_forked();
	sl_tlisten_look_staying();
	not_shown |= l.busy || l.moved;
	keep_house(now, last_house);
	sl_given_look(now);
	wake_mail(now);
	sl_heirs_look(now);
	quiet = now - *last_busy > QUIET_NS || tick == 0;
	fds[l.nfds++] = (struct pollfd){.fd = epfd, .events = POLLIN};
	if (quiet && tick)
		sl_lane_for_each(add_fds, &l);
	left = sleep_time(&ts, &l, quiet);
	n = sl_sys(SYS_ppoll, fds, l.nfds, left, NULL, 8);
	sl_lanes_awake();
	sl_strays_let_pass();
	if (n > 0) {
		if (fds[0].revents)
			serve_events();
		if (sl_policy_is_due())
			sl_policy_check();
		if (quiet)
			*last_busy = sl_now_ns();
	}
}

static void *keeper(void *arg)
{
	uint64_t last_busy = sl_now_ns(), last_house = last_busy;

	sl_store_release(&tid, sl_tid());
	sl_keeper_place();
	while (!sl_load(&ending))
		round_once(&last_busy, &last_house);
	return NULL;
}

/* Start ---------------------------------------------------------------------------------------- */

static void reset(void)
{
	memset(seen, 0, sizeof(seen));
	memset(judged, 0, sizeof(judged));
	stretched = 1;
	not_shown = ending = running = false;
	mail_rests_until_ns = 0;
	tid = 0;
}

/* Watches the file of the counters for writes by others; our own, by the mapping, make no event.
 * Without inotify the keeper looks at the file once a second, as long as something moves. To close
 * the inotify descriptor takes a grace period of the kernel's (15 ms, hundreds at load). A killed
 * process closes its highest number first, so this one is made first, to be the lowest: processes
 * that watch another descriptor for our death need not wait for it. */
void sl_keeper_prepare(void)
{
	if (!sl_stats_path()[0])
		return;
	stats_fd = sl_fd_keep((int)sl_sys(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK));
	if (stats_fd >= 0)
		sl_sys(SYS_inotify_add_watch, stats_fd, sl_stats_path(), IN_MODIFY);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		sl_sys_close(*fd);
	*fd = -1;
}

static void close_fds(void)
{
	close_fd(&stats_fd);
	close_fd(&epfd);
	close_fd(&shadow_ep);
}

void sl_keeper_unprepare(void)
{
	close_fds();
	sl_mail_close();
}

static int make_fds(void)
{
	epfd = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	shadow_ep = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	if (epfd < 0 || shadow_ep < 0)
		return -EMFILE;
	if (sl_mail_open() < 0)
		return -EMFILE;
	watch_fd(shadow_ep, EPOLLIN, TAG_SHADOWS);
	watch_fd(sl_mail_fd(), EPOLLIN, TAG_MAIL);
	watch_fd(sl_net_fd(), EPOLLIN, TAG_NET);
	if (stats_fd >= 0)
		watch_fd(stats_fd, EPOLLIN, TAG_STATS);
	sl_stats_sweep_begin();
	return 0;
}

int sl_keeper_start(void)
{
	sigset_t all, old;
	int err = make_fds();

	if (err < 0)
		return err;
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, keeper, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		sl_stats_sweep();
		return -err;
	}
	running = true;
	pthread_setname_np(thread, "sluice");
	pthread_detach(thread);
	return 0;
}

static bool is_there(uint32_t t)
{
	return sl_sys(SYS_tgkill, sl_sys(SYS_getpid), t, 0) == 0;
}

bool sl_keeper_stop(void)
{
	uint64_t end = sl_now_ns() + STOP_NS;
	struct timespec pause = {.tv_nsec = LOOK_NS / 10};
	uint32_t t;

	if (!running)
		return true;
	sl_store(&ending, true);
	sl_keeper_poke();
	while (!(t = sl_load_acquire(&tid)) || is_there(t)) {
		if (sl_now_ns() > end)
			return false;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	sl_keeper_unprepare();
	reset();
	return true;
}

/* The thread is not in the child; its descriptors are shared with the parent and must not stay
 * in the child's way. */
void sl_keeper_child(void)
{
	sl_mail_child();
	close_fds();
	reset();
}
