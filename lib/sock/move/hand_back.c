/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection of ours goes on in the kernel, on the descriptor that the program holds.
 *
 * Theory of operation: the connection is frozen (calls find it busy, packets for it are dropped and
 * will be sent again), the shadow is made that connection by TCP_REPAIR, and only then its packets
 * are let through: before, the kernel would answer them with a reset. The window probe that ends
 * the repair follows, so what the peer says to it reaches the kernel. A failure before packets were
 * let through leaves everything as it was.
 *
 * Packets of a child of a listener are claimed by the endpoint. Its flow alone is let pass by a
 * claim of its own, which outlives the connection here; such claims are looked through when they
 * have become many. */
#include <errno.h>
#include <linux/tcp.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "sock/move/heirs.h"
#include "sock/move/move.h"
#include "sock/repair/repair.h"
#include "sock/move/restore.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"

#define PASSES_MIN 64 /* so many are not looked through */

struct pass {
	struct pass *next;
	struct sl_claim_req req;
	bool seen;
};

/* Protected by sl_tconn_ctl. */
static struct pass *passes;
static uint32_t npasses, look_at = PASSES_MIN;

struct move {
	struct sl_tconn *c;
	struct sl_lane *lane;
	struct sl_tcp_repair r;
	int fd;
	bool live;
	int err; /* of letting packets through */
};

/* Flows that pass ------------------------------------------------------------------------------ */

static void mark_seen(const struct sl_diag_conn *d, void *arg)
{
	for (struct pass *p = passes; p; p = p->next)
		if (p->req.key.remote_port == d->remote_port &&
		    memcmp(p->req.key.remote, d->remote.b, 16) == 0)
			p->seen = true;
}

static void end_pass(struct pass *p)
{
	npasses--;
	sl_broker_unclaim(&p->req);
	sl_slot_free(p->req.claim.slot);
	sl_free(p);
}

/* Gives up those whose connection the kernel has no longer. Twice as many may come until the next
 * time. */
static void sweep_passes(void)
{
	if (npasses < look_at)
		return;
	for (struct pass *p = passes; p; p = p->next) {
		bool asked = false;

		for (struct pass *q = passes; q != p; q = q->next)
			asked |= q->req.key.local_port == p->req.key.local_port;
		if (!asked)
			sl_diag_tcp_conns(p->req.key.local_port, mark_seen, NULL);
	}
	for (struct pass **at = &passes; *at;) {
		struct pass *p = *at;

		if (p->seen) {
			p->seen = false;
			at = &p->next;
			continue;
		}
		*at = p->next;
		end_pass(p);
	}
	look_at = sl_max(2 * npasses, (uint32_t)PASSES_MIN);
}

void sl_passes_end(uint32_t ifindex)
{
	sl_lock(&sl_tconn_ctl);
	for (struct pass **at = &passes; *at;) {
		struct pass *p = *at;

		if (p->req.ifindex != ifindex) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		end_pass(p);
	}
	sl_unlock(&sl_tconn_ctl);
}

static int add_pass(const struct sl_leg *leg, const struct sl_tcp_key *key, int shadow)
{
	struct pass *p = sl_calloc(1, sizeof(*p));
	int slot = p ? sl_slot_new() : -ENOMEM, err;

	if (slot < 0) {
		sl_free(p);
		return slot;
	}
	p->req = sl_tconn_flow_req(leg, key, shadow, (uint32_t)slot);
	p->req.claim.flags = SL_CLAIM_PASS;
	err = sl_broker_claim(&p->req, NULL);
	if (err < 0) {
		sl_slot_free((uint32_t)slot);
		sl_free(p);
		return err;
	}
	p->next = passes;
	passes = p;
	npasses++;
	return 0;
}

/* The flow may come by any of the devices. */
int sl_tconn_let_pass(struct sl_lane *lane, const struct sl_tcp_key *key, int shadow)
{
	int err = 0;

	sl_lock(&sl_tconn_ctl);
	sweep_passes();
	for (uint32_t i = 0; i < lane->nlegs && !err; i++)
		if (!lane->leg[i]->dead && !lane->leg[i]->is_class &&
		    !sl_port_is_gone(lane->leg[i]->port))
			err = add_pass(lane->leg[i], key, shadow);
	sl_unlock(&sl_tconn_ctl);
	return err;
}

/* Moving --------------------------------------------------------------------------------------- */

static uint32_t read_sndq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return sl_tcp_repair_sndq(&((struct move *)arg)->c->tcp, at, buf, n);
}

static uint32_t read_rcvq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return sl_tcp_repair_rcvq(&((struct move *)arg)->c->tcp, at, buf, n);
}

/* The kernel has it: packets may come. An exact claim goes; the endpoint that a child came by may
 * be claimed still. On a device that is gone it steers nothing, and stays for a while: what the
 * kernel said to the peer before it had the connection (resets) may still wait for the peer's
 * hardware address, and the guard keeps it back by the claim. */
static void on_live(void *arg)
{
	struct move *m = arg;
	struct sl_sock *sk = m->c->sk;

	m->live = true;
	if (sk && sk->bound_if) /* before the kernel sends: leave_device() in tcp_opt.c */
		(void)sl_sys_set_int(m->fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)sk->bound_if);
	sl_lock(&sl_tconn_ctl);
	m->c->let_pass = true; /* its listener may be leaving, which claims its children's flows */
	sl_unlock(&sl_tconn_ctl);
	if (m->c->tcp.child)
		m->err = sl_tconn_let_pass(m->lane, &m->r.key, m->fd);
	if (m->c->claimed && !sl_port_is_gone(m->c->claimed->port))
		sl_tconn_unclaim(m->c);
}

/* Processes segments that have arrived first, so that the peer need not send them again. */
static bool freeze(struct move *m)
{
	bool ok;

	if (!sl_lane_lock(m->lane))
		return false;
	sl_lane_turn_locked(m->lane);
	sl_lane_tcp_begin(m->lane);
	ok = !m->c->dead && sl_tcp_repair_get(&m->c->tcp, &m->r) &&
	     sl_tcp_repair_freeze(&m->c->tcp);
	sl_lane_tcp_done(m->lane);
	sl_lane_unlock(m->lane);
	m->r.scope_id = m->c->oif;
	return ok;
}

static void thaw(struct move *m)
{
	if (!sl_lane_lock(m->lane))
		return;
	sl_lane_tcp_begin(m->lane);
	sl_tcp_repair_thaw(&m->c->tcp);
	sl_lane_tcp_done(m->lane);
	sl_lane_unlock(m->lane);
}

/* The kernel's socket resets the connection and is closed. */
static void reset_kernel(int fd)
{
	struct sockaddr sa = {.sa_family = AF_UNSPEC};

	(void)sl_sys_connect(fd, &sa, sizeof(sa));
}

/* This must not happen: all that can be known about it. */
static void say_lost(const struct move *m, int err)
{
	const struct sl_tcp_repair *r = &m->r;
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	(void)sl_sys_getsockopt(m->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	sl_warn("tcp",
		"fd %d: the kernel did not complete a connection: %s; state %u as %u, FIN sent %u "
		"queued %u received %u, to send %u unsent %u, to read %u, segments %u",
		m->fd, strerrorname_np(-err), r->state, info.tcpi_state, r->fin_sent, r->fin_queued,
		r->fin_rcvd, r->sndq, r->unsent, r->rcvq, info.tcpi_segs_in);
}

/* The kernel's connection in the closed socket fd, or in *made, which was made by the daemon. */
static int move(struct move *m, const struct sl_repair_source *src, int *made)
{
	int fd;

	if (!sl_broker_is_leased())
		return sl_repair_kernel(m->fd, &m->r, src);
	fd = sl_restore_kernel(m->fd, &m->r, src);
	*made = sl_max(fd, -1);
	return sl_min(fd, 0);
}

/* Hands back a connection without a user into fd: a TCP socket in state CLOSE, unbound or bound to
 * the connection's port. goes_on: its packets and the program go on as they did. If a daemon does
 * it, *made is the new socket, the caller's; else -1. The connection stays as it was, frozen; the
 * caller frees it. */
static int tconn_to_kernel(struct sl_tconn *c, int fd, bool goes_on, int *made)
{
	struct move m = {.c = c, .lane = sl_load(&c->lane), .fd = fd};
	struct sl_repair_source src = {
		.sndq = read_sndq, .rcvq = read_rcvq, .live = on_live, .arg = &m};
	int err;

	*made = -1;
	sl_tconn_drain(c);
	if (!freeze(&m))
		return -ENOTCONN;
	m.r.lively &= goes_on;
	err = move(&m, &src, made);
	if (!err)
		err = m.err;
	if (!err)
		return 0;
	if (*made >= 0)
		reset_kernel(m.fd = *made);
	/* Its packets have gone to the kernel meanwhile: it cannot be saved. */
	if (m.live) {
		say_lost(&m, err);
		reset_kernel(fd);
	}
	if (*made >= 0)
		sl_sys_close(*made);
	thaw(&m);
	return m.live ? -ECONNABORTED : err;
}

int sl_tconn_hand_back(struct sl_sock *sk, enum sl_reason reason)
{
	struct sl_tconn *c = sk->conn;
	struct sl_lane *lane;
	int made, err;
	bool goes_on = reason != SL_REASON_NO_DEVICE && reason != SL_REASON_STRAY &&
		       reason != SL_REASON_RUNTIME; /* the process ends */

	err = tconn_to_kernel(c, sk->fd, goes_on, &made);

	if (!err && made >= 0)
		err = sl_heirs_put(sk, made);
	if (err)
		return err;
	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	sl_errq_to_kernel(sk, c->tcp.write_seq);
	sl_store_release(&sk->conn, NULL);
	c->sk = NULL;
	sk->told_mss = c->tcp.adv_mss;
	sk->lane_was = (c->lane->id + 1) & 0x7f;
	/* A segment under way to us finds the old connection, not the listener, which would reset.
	 */
	sl_tcp_repair_gone(&c->tcp);
	sl_tconn_free(c, true);
	sl_lane_unlock(lane);
	return 0;
}

/* A connection that waits for accept(2), and was taken out of our listener's queue. */
int sl_tconn_queue(struct sl_tconn *c, int listener)
{
	struct move m = {.c = c, .lane = sl_load(&c->lane), .fd = listener};
	const struct sl_repair_source src = {
		.sndq = read_sndq, .rcvq = read_rcvq, .arg = &m, .hurry = true};
	int err;

	if (!freeze(&m))
		return -ENOTCONN;
	err = sl_broker_is_leased() ? sl_restore_queue(listener, &m.r, &src)
				    : sl_repair_queue(listener, &m.r, &src);
	if (err) {
		thaw(&m);
		return err;
	}
	on_live(&m);
	if (!sl_lane_lock(m.lane))
		return 0;
	sl_tcp_repair_gone(&c->tcp);
	sl_tconn_free(c, true);
	sl_lane_unlock(m.lane);
	return 0;
}

void sl_hand_back_child(void)
{
	passes = NULL;
	npasses = 0;
	look_at = PASSES_MIN;
	sl_restore_child();
}

/* The kernel's socket is the one that has kept the connection's port; for a listener's child, whose
 * port needs no keeping, it is a new one. */
void sl_tconn_orphan_to_kernel(struct sl_tconn *c)
{
	struct sl_lane *lane = c->lane;
	int fd = c->guard >= 0 ? c->guard : sl_repair_socket(&c->tcp.node.key);
	int made = -1, err = fd >= 0 ? tconn_to_kernel(c, fd, false, &made) : fd;

	if (!err && made >= 0)
		sl_sys_close(made);

	if (fd >= 0 && fd != c->guard)
		sl_sys_close(fd);
	if (err || !sl_lane_lock(lane))
		return;
	sl_tcp_repair_gone(&c->tcp);
	sl_tconn_free(c, true);
	sl_lane_unlock(lane);
}
