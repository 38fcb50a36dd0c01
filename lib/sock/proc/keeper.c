/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper: the library's one thread in a process. It drains lanes whose owner is away, follows
 * the mirrors, and looks at what the kernel has for the shadows.
 *
 * Theory of operation: while lanes are in use the keeper looks at them every
 * PROGRESS_ENGINE_INTERVAL milliseconds and turns each lane that no thread has turned since. It
 * looks less often while the owners of all busy lanes turn them many times a tick, since each look
 * takes the core from a thread (with twelve processes on two cores the looks were one context
 * switch in twelve). When no packet has come for a second the keeper sleeps on the lanes'
 * descriptors, without a tick. (Turns that find nothing do not count: a server that looks at its
 * clock ten times a second is idle.) While packets come it does not: the sender's core would have
 * to wake it for every packet. It does so, too, while a program is away from its calls: from a lane
 * that threads seldom turn, or whose connections must answer the next segment at once
 * (lane->expects), unless a thread sleeps on the descriptors. If a packet then wakes it in vain,
 * since a thread was faster, it leaves the descriptors alone for a while. In any case the keeper
 * wakes when paced packets are due, or timers of TCP that no thread's turn has run.
 *
 * Only a look shows that a program has gone away from a busy lane. Packets that such a look finds
 * have waited for up to a tick, so the keeper then looks more often (FAST_NS), as long as that
 * finds something now and then: while a program computes or sleeps between its calls, a segment
 * beyond a hole and a FIN are answered within a millisecond. Programs that never go away from their
 * calls cause no such looks.
 *
 * Bulk data for a program that does not run just now are not the keeper's to fetch: they are better
 * off in the kernel's queue (io/packet.c). It takes two packets in a millisecond, so that all that
 * can wait there is acknowledged before a peer's time-out (200 ms). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/sys.h"
#include "net/net.h"
#include "net/rtnl.h"
#include "sock/proc/keeper.h"
#include "sock/proc/nap.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "stack/lead.h"
#include "stack/pace.h"

#define QUIET_NS  1000000000ull /* no packet for so long: sleep without a tick */
#define CALM_NS   100000000ull  /* for so long: sleep on all descriptors, few ticks */
#define CALM      10            /* the ticks are so much longer then */
#define LOOK_NS   500000
#define STOP_NS   2000000000ull /* most that sl_keeper_stop() waits */
#define BUSY_PKTS 256           /* a tick that found more comes again after BUSY_NS */
#define BUSY_NS   1000000
#define JUDGE_NS  100000000 /* between two looks which lanes are hot */
#define HOT_LOADS (JUDGE_NS / SL_FOLLOW_NS)
#define TURNED_NS 4000000  /* timers of a lane turned by threads that may go to sleep */
#define OFTEN     16       /* turns in a tick: its owners come by themselves */
#define OFTEN_NS  10000000 /* its timers */
#define STRETCH   4        /* ticks that all such lanes are left to their owners */
#define SHY_NS    1000000ull
#define LEAST_NS  50000     /* between two rounds for timers of TCP and of paced packets */
#define FAST_NS   500000ull /* between looks while programs go away from busy lanes */
#define FAST_LESS 4u        /* such looks in a row in vain */
#define FAST_MORE 2048u

static int epfd = -1;        /* holds the descriptors of sl_keeper_watch_fd() */
static int written_fd = -1;  /* tells when a process wrote to the file of the counters, or changed a
				setting of the machine */
static int settings_wd = -1; /* its watch of these */
static pthread_t thread;
static bool running, ending;
static uint32_t tid; /* the keeper's thread ID; 0: it does not run yet */

/* Jobs ----------------------------------------------------------------------------------------- */

static const struct sl_job *jobs;
static unsigned njobs;

void sl_keeper_set_jobs(const struct sl_job *table, unsigned n)
{
	jobs = table;
	njobs = n;
}

bool sl_keeper_is_here(void)
{
	return sl_load(&tid) == sl_tid();
}

static void run_jobs(uint8_t when, uint64_t now_ns)
{
	for (unsigned i = 0; i < njobs; i++) {
		if (!(jobs[i].when & when))
			continue;
		if (jobs[i].run)
			jobs[i].run();
		else
			jobs[i].run_at(now_ns);
	}
}

/* The earliest time at which a job wants a round, at most until_us. */
static uint64_t jobs_due_us(uint64_t now_ns, bool quiet, uint64_t until_us)
{
	for (unsigned i = 0; i < njobs; i++) {
		uint64_t due_ns = jobs[i].due_ns ? jobs[i].due_ns(now_ns, quiet) : 0;

		if (due_ns)
			until_us = sl_min(until_us, due_ns / 1000);
	}
	return until_us;
}

/* Descriptors ---------------------------------------------------------------------------------- */

#define FDS_MAX 12
static struct {
	int fd; /* -1: unused */
	void (*on_event)(uint32_t events);
} watched[FDS_MAX] = {[0 ... FDS_MAX - 1] = {.fd = -1}};

static int place_of_fd(int fd)
{
	for (int i = 0; i < FDS_MAX; i++)
		if (watched[i].fd == fd)
			return i;
	return -1;
}

void sl_keeper_watch_fd(int fd, uint32_t events, void (*on_event)(uint32_t events))
{
	int i = place_of_fd(fd), op = i < 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	struct epoll_event ev = {.events = events};

	i = i < 0 ? place_of_fd(-1) : i;
	watched[i].fd = fd;
	watched[i].on_event = on_event;
	ev.data.u32 = (uint32_t)i;
	sl_sys_epoll_ctl(epfd, op, fd, &ev);
}

void sl_keeper_unwatch_fd(int fd)
{
	int i = place_of_fd(fd);

	if (i < 0)
		return;
	sl_sys_epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL);
	watched[i].fd = -1;
}

static void unwatch_all(void)
{
	for (int i = 0; i < FDS_MAX; i++)
		watched[i].fd = -1;
}

static void serve_reader(void)
{
	sl_stats_serve();
	run_jobs(SL_JOB_READER, sl_now_ns());
}

/* The file that was written: that of the counters, or a setting of the machine. */
static void on_written(uint32_t events)
{
	char buf[4096] __attribute__((aligned(8)));
	bool stats = false, settings = false;
	long n;

	while ((n = sl_sys_read(written_fd, buf, sizeof(buf))) > 0) {
		const struct inotify_event *e;

		for (long at = 0; at < n; at += (long)(sizeof(*e) + e->len)) {
			e = (const struct inotify_event *)(const void *)(buf + at);
			settings |= e->wd == settings_wd || e->mask & IN_Q_OVERFLOW;
			stats |= e->wd != settings_wd;
		}
	}
	if (stats)
		serve_reader();
	if (settings)
		run_jobs(SL_JOB_SYSCTL, sl_now_ns());
}

static void on_net(uint32_t events)
{
	sl_net_on_wake();
}

static void serve_events(void)
{
	struct epoll_event evs[FDS_MAX];
	int n = sl_sys_epoll_wait(epfd, evs, sl_array_len(evs), 0);

	for (int i = 0; i < n; i++)
		watched[evs[i].data.u32].on_event(evs[i].events);
}

/* Lanes ---------------------------------------------------------------------------------------- */

static uint32_t seen[SL_MAX_LANES];         /* turns, when we last looked */
static uint32_t had[SL_MAX_LANES];          /* loads, when we last looked */
static uint32_t judged[SL_MAX_LANES];       /* loads, when it was judged last */
static uint64_t shy_until_ns[SL_MAX_LANES]; /* until then its descriptors are left alone */
static uint64_t shy_ns[SL_MAX_LANES];       /* how long that was the last time */
static bool seldom[SL_MAX_LANES];           /* threads hardly turn it */
static bool is_left[SL_MAX_LANES];          /* to threads, in the last sleep; none slept on it */
static uint32_t rated[SL_MAX_LANES];        /* turns, when that was judged last */
static struct {
	uint32_t from, n; /* its descriptors in the keeper's sleep */
	bool woke;        /* one of them ended the sleep */
} slept_on[SL_MAX_LANES];
static uint32_t stretched = 1; /* ticks until the next look */
static uint64_t looked_ns, rated_ns;
static uint32_t fast_left, fast_most = 256; /* looks FAST_NS apart: left, and in vain at most */
static bool not_shown;                      /* something has moved since sl_tcp_stat() */

struct look {
	uint64_t now_us;
	uint64_t tick_ns, since_ns; /* since the last look */
	uint32_t busy;              /* lanes that had packets since the last look */
	uint32_t pkts;              /* taken by the keeper */
	bool judge;                 /* decide now which lanes are hot */
	bool paced;                 /* packets wait for their time */
	bool bursting;    /* a program writes without end: what is held back is to go soon */
	bool moved;       /* a turn changed something that the counters must show */
	bool rate;        /* judge now which lanes threads seldom turn */
	uint64_t rate_ns; /* since this was done last */
	bool quiet;
	bool calm;          /* no packet has come for a while */
	bool woken;         /* by descriptors */
	bool late;          /* packets were found that may have waited for long */
	bool open;          /* a lane is left to threads that may go away from it */
	uint64_t attend_ns; /* when a lane that was left alone must be looked at */
	bool rare; /* a lane moved that its owners seldom turn: it may need the keeper soon */
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

/* A packet has woken the keeper, and a thread was faster, or was woken, too: leaves the lane's
 * descriptors alone, longer each time if threads turn the lane often. */
static void be_shy(const struct sl_lane *lane, const struct look *l, bool often)
{
	uint64_t *ns = &shy_ns[lane->id];

	*ns = sl_min(*ns * 2, fast_left ? FAST_NS : l->tick_ns);
	*ns = often ? sl_max(*ns, SHY_NS) : LEAST_NS;
	shy_until_ns[lane->id] = l->now_us * 1000 + *ns;
}

static void note_seen(const struct sl_lane *lane)
{
	seen[lane->id] = sl_load(&lane->turns);
	had[lane->id] = sl_load(&lane->loads);
}

#define FULL_TURNS 2 /* in one look, of a lane whose programs have much unread */

static void look_at_lane(struct sl_lane *lane, void *arg)
{
	struct look *l = arg;
	uint32_t turns = sl_load(&lane->turns);
	bool loaded = sl_load(&lane->loads) != had[lane->id];
	int n = 0, got = 0, full = 0;

	if (l->judge)
		judge(lane);
	l->bursting |= sl_lane_is_bursting(lane, l->now_us);
	l->paced |= sl_lane_is_paced(lane);
	sl_lane_ask_aged(lane);
	lane->turned = turns != seen[lane->id];
	if (l->rate) {
		seldom[lane->id] = (turns - rated[lane->id]) * l->tick_ns < OFTEN * l->rate_ns;
		rated[lane->id] = turns;
	}
	if (slept_on[lane->id].woke && (lane->turned || sl_load(&lane->sleepers)))
		be_shy(lane, l, !seldom[lane->id]);
	if (lane->turned) {
		l->busy += loaded;
		l->rare |= (turns - seen[lane->id]) * l->tick_ns < OFTEN * l->since_ns;
		if (sl_lane_is_due(lane, l->now_us))
			sl_lane_run(lane);
		note_seen(lane);
		return;
	}
	while (got < sl_settings.progress_engine_wce_max && (n = sl_lane_try_turn(lane)) > 0) {
		got += n;
		lane->stats->keeper_turns++;
		if (sl_load(&lane->left) && ++full == FULL_TURNS)
			break;
	}
	if (lane->stats->keeper_max < (uint64_t)got)
		lane->stats->keeper_max = (uint64_t)got;
	l->late |= got && is_left[lane->id];
	if (got)
		shy_ns[lane->id] = 0;
	else if (slept_on[lane->id].woke)
		be_shy(lane, l, true); /* another thread has the lane, or the device has failed */
	if (full == FULL_TURNS)
		be_shy(lane, l, true); /* the rest in a millisecond */
	if (got || n < 0) {
		l->busy++;
		l->rare = true;
		l->pkts += (uint32_t)got;
	}
	if (sl_lane_is_due(lane, l->now_us)) {
		l->moved = true;
		sl_lane_run(lane);
	}
	note_seen(lane);
}

static void add_fds(struct sl_lane *lane, struct look *l)
{
	uint32_t n =
		sl_min(sl_lane_fds(lane, l->fds + l->nfds, l->max - l->nfds), l->max - l->nfds);

	for (uint32_t i = 0; i < n && !l->calm; i++) /* (senders that wait have their timer) */
		l->fds[l->nfds + i].events &= POLLIN;
	slept_on[lane->id].from = l->nfds;
	slept_on[lane->id].n = n;
	l->nfds += n;
}

static void note_woken(struct sl_lane *lane, void *arg)
{
	const struct look *l = arg;

	slept_on[lane->id].woke =
		l->woken && sl_has_revents(l->fds + slept_on[lane->id].from, slept_on[lane->id].n);
}

/* Decides whether the lane's descriptors are in the coming sleep. (lane->attended is written before
 * the fence of sl_lanes_sleep().) */
static void attend(struct sl_lane *lane, void *arg)
{
	struct look *l = arg;
	bool expects = sl_load(&lane->expects), shy = l->now_us * 1000 < shy_until_ns[lane->id];
	bool arms = sl_settings.internal_thread_arm_cq, ticks = l->tick_ns || arms;
	bool watch = l->calm || (!shy && !sl_load(&lane->sleepers) && l->pkts <= BUSY_PKTS &&
				 (expects || seldom[lane->id] || arms));
	bool attended = watch || shy || !l->tick_ns;

	is_left[lane->id] = !watch && !sl_load(&lane->sleepers) && l->tick_ns;
	l->open |= is_left[lane->id];
	slept_on[lane->id].n = 0;
	if (watch && ticks)
		add_fds(lane, l);
	else if (shy && ticks)
		l->attend_ns = sl_min(l->attend_ns, shy_until_ns[lane->id]);
	if (lane->attended != attended)
		sl_store(&lane->attended, attended);
}

/* Decides whether the next looks are FAST_NS apart. Looks that find nothing are fewer each time,
 * and more each time if one has found something. */
static void pace_looks(const struct look *l)
{
	if (l->late) {
		fast_most = sl_min(fast_most * 2, FAST_MORE);
		fast_left = fast_most;
	} else if (fast_left && l->open && --fast_left == 0) {
		fast_most = sl_max(fast_most / 2, FAST_LESS);
	}
}

/* From this look to the next. */
static uint64_t tick_ns(const struct look *l)
{
	if (l->pkts > BUSY_PKTS)
		return BUSY_NS;
	if (l->calm)
		return l->tick_ns * CALM;
	return fast_left && l->open ? sl_min(FAST_NS, l->tick_ns) : l->tick_ns * stretched;
}

/* How long the keeper sleeps: until the next tick (none when all is quiet), but at most until TCP
 * timers are due. Threads that turn a lane mostly run its timers themselves. NULL: for ever. */
static struct timespec *sleep_time(struct timespec *ts, const struct look *l, bool quiet)
{
	uint64_t now = sl_now_ns(), until_us = UINT64_MAX, ns;
	uint64_t house_us = (now + SL_JOB_SECOND_NS) / 1000, look_us = sl_lanes_look_us();
	uint64_t least_ns = l->busy && !l->bursting && !l->paced ? BUSY_NS : LEAST_NS;

	if (quiet && not_shown) /* the counters do not show the last events yet */
		until_us = house_us;
	if (!quiet)
		until_us = (now + tick_ns(l)) / 1000;
	look_us = sl_max(look_us, house_us);
	until_us = sl_min(until_us, look_us);
	until_us = jobs_due_us(now, quiet, until_us);
	until_us = sl_min(until_us, l->attend_ns / 1000);
	if (l->attend_ns < now + least_ns)
		least_ns = LEAST_NS;
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

/* Once a second, beside the jobs of each round. */
static void keep_house(uint64_t now)
{
	run_jobs(SL_JOB_ROUND | SL_JOB_SECOND, now);
	not_shown = false;
	sl_stats->frames_all = sl_pool.nframes;
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
			 .attend_ns = UINT64_MAX,
			 .rate_ns = now - rated_ns,
			 .fds = fds,
			 .max = sl_array_len(fds)};
	struct timespec ts, *left;
	bool quiet;
	long n;

	l.judge = is_time_to_judge(now);
	l.rate = l.rate_ns >= SHY_NS;
	rated_ns = l.rate ? now : rated_ns;
	sl_lane_for_each(look_at_lane, &l);
	if (l.busy)
		*last_busy = now;
	if (l.rare || l.since_ns >= tick) /* (a short while says nothing) */
		stretched = l.busy && !l.rare ? STRETCH : 1;
	looked_ns = now;
	be_punctual(l.paced);
	sl_pace_nic_serve();
	not_shown |= l.busy || l.moved;
	if (now - *last_house > SL_JOB_SECOND_NS) {
		*last_house = now;
		keep_house(now);
	} else {
		run_jobs(SL_JOB_ROUND, now);
	}
	quiet = now - *last_busy > QUIET_NS || tick == 0;
	fds[l.nfds++] = (struct pollfd){.fd = epfd, .events = POLLIN};
	l.quiet = quiet;
	l.calm = quiet || now - *last_busy > CALM_NS;
	sl_lane_for_each(attend, &l);
	pace_looks(&l);
	left = sleep_time(&ts, &l, quiet);
	n = sl_nap(fds, l.nfds, left);
	sl_lanes_awake();
	run_jobs(SL_JOB_WOKEN, sl_now_ns());
	l.woken = n > 0;
	sl_lane_for_each(note_woken, &l);
	if (n > 0) {
		if (fds[0].revents)
			serve_events();
		run_jobs(SL_JOB_EVENTS, sl_now_ns());
	}
}

static void *keeper(void *arg)
{
	uint64_t last_busy = sl_now_ns(), last_house = last_busy;

	sl_here_is_keeper = true;
	sl_store_release(&tid, sl_tid());
	sl_keeper_place();
	sl_nap_open();
	while (!sl_load(&ending))
		round_once(&last_busy, &last_house);
	return NULL;
}

/* Start ---------------------------------------------------------------------------------------- */

static void reset(void)
{
	memset(seen, 0, sizeof(seen));
	memset(had, 0, sizeof(had));
	memset(is_left, 0, sizeof(is_left));
	memset(judged, 0, sizeof(judged));
	memset(rated, 0, sizeof(rated));
	memset(slept_on, 0, sizeof(slept_on));
	stretched = 1;
	fast_left = 0;
	not_shown = ending = running = false;
	tid = 0;
}

/* Watches the file of the counters for writes by others (our own, by the mapping, make no event)
 * and the machine's settings of this network namespace. Without inotify the keeper looks at the
 * file once a second, as long as something moves. Closing the inotify descriptor takes a grace
 * period of the kernel's (15 ms, hundreds at load). A killed process closes its highest number
 * first, so this one is made first, to be the lowest: processes that watch another descriptor for
 * our death need not wait for it. */
void sl_keeper_prepare(void)
{
	written_fd = sl_fd_keep((int)sl_sys(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK));
	if (written_fd < 0)
		return;
	sl_fd_last(written_fd, false);
	if (sl_stats_path()[0])
		sl_sys(SYS_inotify_add_watch, written_fd, sl_stats_path(), IN_MODIFY);
	settings_wd =
		(int)sl_sys(SYS_inotify_add_watch, written_fd, "/proc/sys/net/ipv4", IN_MODIFY);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		sl_sys_close(*fd);
	*fd = -1;
}

static void close_epoll(void)
{
	close_fd(&written_fd);
	close_fd(&epfd);
	unwatch_all();
}

int sl_keeper_open(void)
{
	epfd = sl_fd_keep(sl_sys_epoll_create1(EPOLL_CLOEXEC));
	if (epfd < 0)
		return -EMFILE;
	sl_keeper_watch_fd(sl_net_fd(), EPOLLIN, on_net);
	if (written_fd >= 0)
		sl_keeper_watch_fd(written_fd, EPOLLIN, on_written);
	sl_stats_sweep();
	return 0;
}

void sl_keeper_close(void)
{
	close_epoll();
}

/* A second try within the hard limit of processes: the program's own limit is for what the program
 * starts. */
static int make_thread(void)
{
	int err = sl_roomy_thread(&thread, keeper, NULL);
	struct rlimit64 limit, high;

	if (err != EAGAIN || sl_sys(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &limit) ||
	    limit.rlim_cur == limit.rlim_max)
		return err;
	high = (struct rlimit64){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
	sl_sys(SYS_prlimit64, 0, RLIMIT_NPROC, &high, NULL);
	err = sl_roomy_thread(&thread, keeper, NULL);
	sl_sys(SYS_prlimit64, 0, RLIMIT_NPROC, &limit, NULL);
	return err;
}

int sl_keeper_start(void)
{
	sigset_t all, old;
	int err;

	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = make_thread();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	running = true;
	pthread_setname_np(thread, "sluice");
	pthread_detach(thread);
	return 0;
}

static bool thread_is_there(uint32_t t)
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
	sl_rtnl_wake();
	while (!(t = sl_load_acquire(&tid)) || thread_is_there(t)) {
		if (sl_now_ns() > end)
			return false;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	reset();
	return true;
}

/* The thread is not in the child; its descriptors are shared with the parent and must not stay
 * in the child's way. */
void sl_keeper_child(void)
{
	close_epoll();
	sl_nap_child();
	reset();
}
