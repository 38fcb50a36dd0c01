/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands back connections that hold packet memory for a peer that takes nothing.
 *
 * Theory of operation: what a program has written and the peer does not want yet lies in frames
 * (tcp/tcp_sndq.c), and must not be lost. A remote host that opens many connections, asks for much
 * and closes its windows would have all frames that the process may hold, and other connections
 * could send nothing. The kernel has other memory for that, which it counts for itself
 * (net.ipv4.tcp_mem, tcp_wmem). So while frames are short the keeper gives it such connections,
 * once a second: those that hold much first, until a quarter of the frames is left again. */
#include "base/clock.h"
#include "base/log.h"
#include "io/frame.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/proc/keeper.h"
#include "sock/stream/stream.h"
#include "tcp/tcp_conn.h"

#define A_LOOK   128u           /* connections: each takes a part of a millisecond */
#define MUCH     8u             /* frames */
#define AGAIN_NS 60000000000ull /* after one could not be moved (`repair no`) */

static uint64_t rests_until_ns; /* the keeper's */

/* True: so large a part of the frames that the process may hold is left. */
static bool has_left(uint32_t part)
{
	uint32_t quota = sl_load(&sl_pool.share.told->member[sl_pool.me].quota);

	return sl_frames_left() >= sl_min(quota, sl_pool.nframes) / part;
}

/* True: it holds that many frames at least, and its peer has no room for them or does not answer.
 * Read without the lane: a wrong guess moves a connection that need not be moved. */
static bool is_stuck(const struct sl_tcp *t, uint32_t least)
{
	uint32_t una = sl_load(&t->tx_una), held = sl_load(&t->tx_tail) - una;
	bool waits = una == sl_load(&t->tx_nxt) && sl_load(&t->snd_wnd) < sl_load(&t->mss);

	return held >= least && (waits || sl_load(&t->probes) || sl_load(&t->backoff) > 1);
}

struct look {
	uint32_t least, moved;
	bool over;
};

static void look_at(struct sl_tconn *c, void *arg)
{
	struct look *l = arg;
	struct sl_sock *sk = sl_load_acquire(&c->sk);

	if (l->over || c->dead || c->tcp.frozen || sl_tconn_is_connecting(c) || !sk ||
	    sk->conn != c || !is_stuck(&c->tcp, l->least))
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
	struct look l = {.least = MUCH};

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
