/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP on lanes: each lane's host, its clock, its timers, and its part in a turn.
 *
 * Theory of operation: lib/tcp reads no clock and sends only when told. A turn of the lane, or a
 * call on a connection, first sets the time, and in the end lets it run timers and send. When
 * timers are due and no thread makes a turn, the keeper runs them (due.c). */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/settings.h"
#include "base/stats_dir.h"
#include "base/sys.h"
#include "base/trust.h"
#include "net/gro.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"

/* How late the keeper may run a timer armed during its sleep: as late as Linux with HZ=100. */
#define LATE_US    10000
#define RETRY_US   1000 /* a connection without room to send tries again */
#define FEW_FRAMES 64   /* fewer in the lane's cache: reap completions */
/* Lateness allowed to the keeper: programs rarely break off after so many pairs, and each wake-up
 * of the keeper costs. */
#define PAIR_LATE_US 4000

static const struct sl_tcp_ops *tcp_ops;
/* All lanes': a child, which may become another user, has zeros in their place. With these numbers
 * a station that is not on the way of a connection can forge segments of it, of any program of this
 * user. NULL: not made yet. */
static struct sl_tcp_keys *keys;

/* Reads the secret out of a file that is this user's alone, or makes it. (If two programs make it
 * at once, one of them has another than the file.) */
static void read_secret(int fd, uint8_t out[16])
{
	uint8_t text[16];
	struct stat st;

	if (sl_sys(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 077 ||
	    st.st_uid != (uint32_t)sl_sys(SYS_geteuid))
		return;
	if (sl_sys(SYS_pread64, fd, text, sizeof(text), 0) == (long)sizeof(text))
		memcpy(out, text, sizeof(text));
	else
		(void)sl_sys(SYS_pwrite64, fd, out, 16, 0);
	sl_apart_wipe(text, sizeof(text));
}

/* All programs of a user have one secret for initial numbers and time stamps, as all programs by
 * the kernel have one: so they rise from program to program, and a peer that has the last one's
 * connection in TIME_WAIT takes the next one's SYN (RFC 6191, RFC 1122 4.2.2.13). Without a place
 * for it each program has its own, and such a peer has to be sent a reset first. */
static void share_secret(uint8_t out[16])
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	char path[64];
	int dir, fd;

	if (sl_is_secure_exec())
		return;
	dir = sl_user_dir_open(path, sizeof(path));
	if (dir < 0)
		return;
	fd = (int)sl_sys(SYS_openat, dir, "tcp-secret", flags, 0600);
	if (fd >= 0) {
		read_secret(fd, out);
		sl_sys_close(fd);
	}
	sl_sys_close(dir);
}

static bool fill(uint8_t secret[16])
{
	return sl_sys(SYS_getrandom, secret, 16, 0) == 16;
}

/* A second start makes new keys: the first one's hosts may still find connections by the old. */
int sl_stack_tcp_init(const struct sl_tcp_ops *ops)
{
	struct sl_tcp_keys *new = sl_apart_secret(sizeof(*new));

	if (!new)
		return -ENOMEM;
	if (!fill(new->own) || !fill(new->pair)) {
		sl_sys(SYS_munmap, new, sizeof(*new));
		return -EIO;
	}
	share_secret(new->pair);
	sl_tcp_keys_init(new);
	keys = new;
	tcp_ops = ops;
	return 0;
}

void sl_stack_tcp_part(void)
{
	if (!keys)
		return;
	sl_apart_wipe(keys->own, sizeof(keys->own));
	sl_apart_wipe(keys->pair, sizeof(keys->pair));
}

static uint64_t now_us(void)
{
	return sl_now_ns() / 1000;
}

static struct sl_tcp_host *host_new(struct sl_lane *lane)
{
	struct sl_tcp_host *h = sl_malloc(sizeof(*h));

	if (h && sl_tcp_host_init(h, tcp_ops, &lane->frames, keys, now_us(), lane) < 0) {
		sl_free(h);
		return NULL;
	}
	return h;
}

struct sl_tcp_host *sl_lane_tcp(struct sl_lane *lane)
{
	struct sl_tcp_host *h = sl_load_acquire(&lane->tcp);

	if (h || lane == &sl_limbo || !tcp_ops)
		return h;
	h = host_new(lane);
	if (!h)
		return NULL;
	if (sl_lane_lock(lane)) {
		if (!lane->tcp) {
			sl_store(&lane->tcp_next_us, UINT64_MAX);
			if (!lane->gro)
				lane->gro = sl_gro_new((unsigned)sl_settings.gro_streams_max);
			sl_store_release(&lane->tcp, h);
			h = NULL;
		}
		sl_lane_unlock(lane);
	}
	if (h) { /* another thread was first, or this is a signal handler in the lane's turn */
		sl_tcp_host_fini(h);
		sl_free(h);
	}
	return sl_load_acquire(&lane->tcp);
}

void sl_lane_tcp_begin(struct sl_lane *lane)
{
	/* Another core's clock may be slightly ahead, so the time never goes back. */
	sl_tcp_set_now(lane->tcp, sl_max(lane->tcp->now_us, now_us()));
	if (sl_unlikely(lane->frames.scarcity != SL_PLENTY))
		sl_tcp_relieve(lane->tcp);
	if (sl_likely(lane->frames.n >= FEW_FRAMES))
		return;
	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->tx->unreaped || lane->leg[i]->tx->ops->settle)
			sl_tx_reap(lane->leg[i]->tx, &lane->frames);
}

/* Starts posted packets. False: some are not started yet. */
static bool kick(struct sl_lane *lane)
{
	bool all = true;

	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *leg = lane->leg[i];

		if (leg->tx->posted || sl_unlikely(leg->again))
			sl_leg_kick(leg);
		all &= !leg->again;
	}
	return all;
}

/* Starts packets posted to NICs' queues for paced connections. Their timers must be punctual, so
 * returns a smaller lateness. */
static uint64_t start_paced(struct sl_lane *lane)
{
	sl_lane_pace_start(lane);
	lane->tcp->paced = false;
	return SL_WHEEL_TICK_US;
}

uint64_t sl_lane_hold_late_us(const struct sl_lane *lane)
{
	return lane->burst.n >= SL_BURST_LEAST ? SL_HOLD_US : PAIR_LATE_US;
}

/* The keeper's own turns need no wake-up: it looks at lane->expects before it sleeps. */
static void expect(struct sl_lane *lane)
{
	bool expects = lane->tcp->nexpect;

	if (lane->expects == expects) {
		sl_lane_left(lane);
		return;
	}
	sl_store(&lane->expects, expects);
	if (expects)
		sl_lane_expect(lane);
}

void sl_lane_tcp_done(struct sl_lane *lane)
{
	struct sl_tcp_host *h = lane->tcp;
	uint64_t next_us, late_us = LATE_US;

	sl_tcp_flush(h);
	if (sl_unlikely(h->paced))
		late_us = start_paced(lane);
	if (sl_unlikely(h->nexpect || lane->expects))
		expect(lane);
	next_us = sl_wheel_soonest_us(&h->wheel);
	if (sl_unlikely(!kick(lane) || !sl_list_empty(&h->room)))
		next_us = sl_min(next_us, h->now_us + RETRY_US);
	sl_lane_due(&lane->tcp_next_us, next_us, late_us);
	if (sl_unlikely(!sl_list_empty(&h->held)))
		sl_lane_due(&lane->tcp_next_us, h->now_us + SL_HOLD_US, sl_lane_hold_late_us(lane));
}

static inline bool is_time(const struct sl_lane *lane)
{
	return sl_unlikely(lane->tcp->now_us >= lane->tcp_next_us);
}

/* Time has come. False: the timers are left to the keeper. */
static bool run_timers(struct sl_lane *lane)
{
	if (sl_lane_leaves_timers())
		return false;
	lane->stats->tcp_timers++;
	lane->stats->keeper_timers += sl_here_is_keeper;
	sl_store(&lane->tcp_next_us, UINT64_MAX);
	sl_tcp_run_timers(lane->tcp);
	return true;
}

void sl_lane_tcp_turn(struct sl_lane *lane)
{
	if (is_time(lane))
		run_timers(lane);
	sl_lane_tcp_done(lane);
}

void sl_lane_tcp_idle(struct sl_lane *lane)
{
	bool any;

	sl_lane_tcp_begin(lane);
	any = is_time(lane) && run_timers(lane);
	if (sl_unlikely(sl_tcp_end_trains(lane->tcp, false) || any))
		sl_lane_tcp_done(lane);
}

void sl_lane_tcp_late(struct sl_lane *lane)
{
	sl_lane_tcp_begin(lane);
	sl_lane_tcp_turn(lane);
}

void sl_lane_tcp_relieve(struct sl_lane *lane)
{
	struct sl_tcp_host *h = sl_load_acquire(&lane->tcp);

	if (sl_likely(!h || sl_frames_left() >= sl_pool.nframes / 4) || !sl_lane_trylock(lane))
		return;
	if (sl_frames_look(&lane->frames) != SL_PLENTY)
		sl_lane_tcp_begin(lane);
	sl_lane_unlock(lane);
}

void sl_lane_tcp_sleeps(struct sl_lane *lane)
{
	struct sl_tcp_host *h = sl_load_acquire(&lane->tcp);

	if (sl_likely(!h || sl_list_empty(&h->trains)) || !sl_lane_trylock(lane))
		return;
	sl_lane_tcp_begin(lane);
	if (sl_tcp_end_trains(h, true))
		sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
}
