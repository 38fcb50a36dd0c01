/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections whose neighbour is not resolved when connect() is called.
 *
 * Theory of operation: connect() does not wait for ARP or ND. The first SYN meets no neighbour; the
 * look-up of its path has the kernel resolve one. The keeper hears of the neighbour by rtnetlink
 * and sends the SYN once more, at once. A neighbour that does not answer in time is the kernel's to
 * report: the kernel connects, from the same port. */
#include "base/clock.h"
#include "sock/core/life.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_ack.h"

#define LOOK_NS 5000000

static bool opening; /* some connection has neigh_steps */

void sl_opening_add(void)
{
	sl_store_release(&opening, true);
}

static bool is_resolved(const struct sl_tconn *c)
{
	uint8_t mac[6];
	uint32_t seq;

	return c->path && c->path->d->neigh && sl_neigh_read(c->path->d->neigh, mac, &seq);
}

enum verdict { DONE, WAITS, IS_LATE };

/* Lane held. */
static enum verdict judge(struct sl_tconn *c, struct sl_lane *lane, uint64_t now_ns)
{
	if (c->tcp.state != SL_TCP_SYN_SENT || c->tcp.frozen) {
		c->neigh_steps = 0;
		return DONE;
	}
	if (is_resolved(c)) {
		c->neigh_steps = 0;
		sl_lane_tcp_begin(lane);
		sl_tcp_send_syn(&c->tcp);
		sl_lane_tcp_done(lane);
		return DONE;
	}
	return now_ns < c->tcp.born_us * 1000 + c->neigh_steps * SL_NEIGH_STEP_NS ? WAITS : IS_LATE;
}

static void look_at_opening(struct sl_tconn *c, void *arg)
{
	uint64_t now_ns = *(uint64_t *)arg;
	struct sl_lane *lane;
	enum verdict v;

	if (!sl_load(&c->neigh_steps) || c->dead)
		return;
	lane = sl_load(&c->lane);
	if (!sl_lane_lock(lane)) {
		sl_opening_add();
		return;
	}
	v = judge(c, lane, now_ns);
	sl_lane_unlock(lane);
	if (v == IS_LATE)
		sl_sock_kernel_of(sl_load_acquire(&c->sk), c, SL_REASON_NO_DEVICE);
	else if (v == WAITS)
		sl_opening_add();
}

void sl_opening_look(uint64_t now_ns)
{
	if (sl_likely(!sl_load(&opening)))
		return;
	sl_store(&opening, false);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sl_tconn_for_each(look_at_opening, &now_ns);
}

uint64_t sl_opening_due_ns(uint64_t now_ns, bool quiet)
{
	return sl_load(&opening) ? now_ns + LOOK_NS : 0;
}

void sl_opening_child(void)
{
	opening = false;
}
