/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands back connections that hold packet memory for a peer that takes nothing.
 *
 * Theory of operation: what a program has written and the peer does not want yet lies in frames
 * (tcp/tcp_sndq.c), and must not be lost. A remote host that opens many connections, asks for much
 * and closes its windows would have all frames that the process may hold, and other connections
 * could send nothing. The kernel has other memory for that, which it counts for itself
 * (net.ipv4.tcp_mem, tcp_wmem). So while frames are short the keeper gives it such connections,
 * once a second: those that hold much first, until a quarter of the frames is left again. A peer
 * that acknowledges a byte now and then is no better: progress is judged over seconds. A connection
 * that waits for its first frame goes, too: the kernel has memory for it (a write that finds no
 * frame hands it back at once, stream/tcp_send.c). */
#include "base/clock.h"
#include "base/log.h"
#include "io/frame.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/proc/keeper.h"
#include "sock/stream/stream.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_mem.h"

#define A_LOOK   128u           /* connections: each takes a part of a millisecond */
#define MUCH     8u             /* frames */
#define AGAIN_NS 60000000000ull /* after one could not be moved (`repair no`) */

#define WAYS    4u
#define BUCKETS 256u

/* The keeper's */
static uint64_t rests_until_ns;
static struct watched { /* connections whose progress is being judged, by a hash of the address */
	const struct sl_tconn *c;
	struct sl_tcp_look look;
} watched[BUCKETS][WAYS];

/* True: so large a part of the frames that the process may hold is left. */
static bool has_left(uint32_t part)
{
	uint32_t quota = sl_load(&sl_pool.share.told->member[sl_pool.me].quota);

	return sl_frames_left() >= sl_min(quota, sl_pool.nframes) / part;
}

/* The record of c, or a free one, which it takes; NULL: none is free. A record whose look is old is
 * free, and so is that of a connection that was found fast enough (is_slow()). */
static struct watched *watch(const struct sl_tconn *c, uint32_t now_ms)
{
	struct watched *w = watched[sl_mix(0, (uintptr_t)c) >> 56], *spare = NULL;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (w[i].c == c)
			return &w[i];
		if (!w[i].c || sl_tcp_look_is_old(&w[i].look, now_ms))
			spare = &w[i];
	}
	if (spare)
		*spare = (struct watched){.c = c};
	return spare;
}

static bool is_slow(const struct sl_tconn *c, uint32_t now_ms)
{
	struct watched *w = watch(c, now_ms);
	bool slow = false;

	if (w && sl_tcp_judge(&c->tcp, &w->look, now_ms, &slow))
		w->c = NULL;
	return slow;
}

/* True: it holds that many frames at least, and its peer has no room for them, does not answer, or
 * acknowledges a byte now and then; or it holds none, and cannot get one. Read without the lane: a
 * wrong guess moves a connection that need not be moved. */
static bool is_stuck(const struct sl_tconn *c, uint32_t least, uint32_t now_ms)
{
	const struct sl_tcp *t = &c->tcp;
	uint32_t una = sl_load(&t->tx_una), held = sl_load(&t->tx_tail) - una;
	bool waits = una == sl_load(&t->tx_nxt) && sl_load(&t->snd_wnd) < sl_load(&t->mss);

	if (held < least)
		return !held && t->starved;
	return waits || sl_load(&t->probes) || sl_load(&t->backoff) > 1 || is_slow(c, now_ms);
}

struct look {
	uint32_t least, moved, now_ms;
	bool over;
};

static void look_at(struct sl_tconn *c, void *arg)
{
	struct look *l = arg;
	struct sl_sock *sk = sl_load_acquire(&c->sk);

	if (l->over || c->dead || c->tcp.frozen || sl_tconn_is_connecting(c) || !sk ||
	    sk->conn != c || !is_stuck(c, l->least, l->now_ms))
		return;
	sl_sock_kernel_of(sk, c, SL_REASON_MEMORY);
	if (!c->dead && sl_load(&c->sk) == sk && sl_load(&sk->conn) == c) {
		rests_until_ns = sl_now_ns() + AGAIN_NS;
		l->over = true;
	}
	l->over |= ++l->moved == A_LOOK || has_left(4);
}

void sl_stuck_look(uint64_t now_ns)
{
	struct look l = {.least = MUCH, .now_ms = (uint32_t)(now_ns / 1000000)};

	if (!sl_pool.nframes || has_left(8) || now_ns < rests_until_ns)
		return;
	sl_tconn_for_each(look_at, &l);
	l.least = 1;
	sl_tconn_for_each(look_at, &l);
	if (l.moved)
		sl_info("tcp",
			"packet memory is short: %u connections whose peers take nothing "
			"are the kernel's now",
			l.moved);
}

uint64_t sl_stuck_due_ns(uint64_t now_ns, bool quiet)
{
	return quiet && sl_pool.nframes && !has_left(8) ? now_ns + SL_JOB_SECOND_NS : 0;
}
