/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a TCP socket that listens: listen(2), accept(2), and its end.
 *
 * Theory of operation: the kernel's socket listens, too: what XDP passes (loopback, other devices,
 * fragments) comes out of the same accept(2). The endpoint is claimed before the kernel listens,
 * so that no handshake begins with the one and ends with the other. Connections that come to us
 * have no claim of their own: their packets match the endpoint, and the lane's table knows them.
 * When the endpoint is given up while they live they get exact claims first. */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/dgram/dgram.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_in.h"

static struct sl_lock lock;    /* a leaf; protects what follows */
static struct sl_lock placing; /* listeners get their lanes one after another */
static struct sl_tlisten *free_list;
static uint32_t ids;
static uint32_t nlisteners;

/* Life ------------------------------------------------------------------------------------------
 */

static struct sl_tlisten *new_listener(struct sl_sock *sk)
{
	struct sl_tlisten *l;

	sl_lock(&lock);
	l = free_list;
	if (l)
		free_list = l->next_free;
	sl_unlock(&lock);
	if (!l)
		l = sl_malloc(sizeof(*l));
	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	__atomic_fetch_add(&nlisteners, 1, __ATOMIC_RELAXED);
	l->sk = sk;
	l->id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	sl_tcp_listener_init(&l->tcp);
	return l;
}

static void free_listener(struct sl_tlisten *l)
{
	sl_lock(&lock);
	l->next_free = free_list;
	free_list = l;
	nlisteners--;
	sl_unlock(&lock);
}

static uint32_t draining; /* listeners */

uint32_t sl_tlisten_draining(void)
{
	return sl_load(&draining);
}

void sl_tlisten_enter(struct sl_tlisten *l, enum sl_tlisten_state to)
{
	static const uint8_t from[] = {
		[SL_TLISTEN_SORTING] = 1u << SL_TLISTEN_OPEN,
		[SL_TLISTEN_OPEN] = 1u << SL_TLISTEN_SORTING | 1u << SL_TLISTEN_AWAY,
		[SL_TLISTEN_AWAY] = 1u << SL_TLISTEN_OPEN,
		[SL_TLISTEN_DRAINING] = 1u << SL_TLISTEN_OPEN | 1u << SL_TLISTEN_AWAY,
	};

	if (!(from[to] >> l->state & 1)) {
		sl_err("tcp", "fd %d: a listener cannot go from state %u to %u", l->sk->fd,
		       l->state, to);
		return;
	}
	if (to == SL_TLISTEN_DRAINING)
		__atomic_fetch_add(&draining, 1, __ATOMIC_RELAXED);
	sl_store_release(&l->state, (uint8_t)to);
}

static void drained(struct sl_tlisten *l)
{
	if (sl_tlisten_drains(l))
		__atomic_fetch_sub(&draining, 1, __ATOMIC_RELAXED);
}

uint32_t sl_tlisten_count(void)
{
	return sl_load(&nlisteners);
}

void sl_tlisten_child(void)
{
	memset(&lock, 0, sizeof(lock));
	memset(&placing, 0, sizeof(placing));
	free_list = NULL;
	nlisteners = 0;
	draining = 0;
}

/* Puts the listener behind a slot, where packets find it. */
static int install(struct sl_sock *sk, struct sl_tlisten *l)
{
	struct sl_lane *lane;
	int slot = sl_slot_new();

	if (slot < 0)
		return slot;
	if (!sl_sock_lock(sk, &lane)) {
		sl_slot_free((uint32_t)slot);
		return -EDEADLK;
	}
	sk->slot = (uint32_t)slot;
	sl_tcp_opt_listener(sk, l);
	sl_store_release(&sk->lsn, l);
	sl_slot_set(sk->slot, SL_SLOT_TCP_LISTEN, l);
	sl_lane_unlock(lane);
	return 0;
}

/* Takes it out again; the endpoint is not claimed any more. */
static void uninstall(struct sl_sock *sk)
{
	struct sl_tlisten *l = sk->lsn;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	/* Packets that were already steered here may be for its connections, too. */
	sl_lane_turn_locked(lane);
	if (sk->slot != SL_NO_SLOT)
		sl_slot_free(sk->slot);
	sk->slot = SL_NO_SLOT;
	sl_lane_tcp_begin(lane);
	sl_tcp_listener_fini(lane->tcp, &l->tcp);
	sl_lane_tcp_done(lane);
	sl_store_release(&sk->lsn, NULL);
	sl_lane_unlock(lane);
	drained(l);
	sl_tlisten_part_over(sk, l);
	free_listener(l);
}

void sl_tlisten_stop(struct sl_sock *sk)
{
	sl_tlisten_claim_children(sk);
	sl_sock_unclaim(sk);
	uninstall(sk);
}

/* listen ----------------------------------------------------------------------------------------
 */

/* Clamps as __sys_listen() does: at most somaxconn; a negative backlog counts as large. */
static uint32_t clamp_backlog(int backlog)
{
	char buf[16];
	uint32_t max = 4096, n = 0;
	long len = sl_read_text_aside("/proc/sys/net/core/somaxconn", buf, sizeof(buf));

	for (long i = 0; i < len && buf[i] >= '0' && buf[i] <= '9'; i++)
		n = n * 10 + (uint32_t)(buf[i] - '0');
	if (len > 0)
		max = n;
	return sl_min((uint32_t)backlog, max);
}

/* A connection that the kernel already has on the port (from a program that ran before, or handed
 * back) stays there: its flow passes to the kernel. Those in TIME_WAIT, perhaps as many as the peer
 * has ports, are skipped: a new connection from such a port is for us. */
struct passing {
	struct sl_sock *sk;
	const struct sl_sock_claim *from, *until; /* the endpoints to let it pass */
	unsigned n;
};

struct owner {
	const struct sl_tcp_key *key;
	bool ours;
};

static void look_in(struct sl_lane *lane, void *arg)
{
	struct owner *o = arg;
	struct sl_tcp *t;

	if (o->ours || !sl_load(&lane->tcp) || !sl_lane_lock(lane))
		return;
	t = sl_tcp_find(lane->tcp, o->key);
	o->ours = t && !sl_tconn_of(t)->dead;
	sl_lane_unlock(lane);
}

/* Another thread has taken it over since the kernel was asked, or is just going to claim it (it is
 * in the table before). sl_tconn_ctl held. */
static bool is_taken(const struct sl_tcp_key *key)
{
	struct owner o = {.key = key};

	sl_lane_for_each(look_in, &o);
	return o.ours;
}

static void let_conn_pass(const struct sl_diag_conn *d, void *arg)
{
	struct passing *p = arg;
	struct sl_sock *sk = p->sk;
	struct sl_tcp_key key = {d->local, d->remote, sk->local_port, d->remote_port};

	if (d->state == SL_DIAG_TIME_WAIT || (sk->bound_addr && !sl_addr_eq(&sk->local, &d->local)))
		return;
	sl_lock(&sl_tconn_ctl);
	if (!is_taken(&key))
		sl_tlisten_claim_flow(sk, p->from, p->until, &key, SL_CLAIM_PASS);
	sl_unlock(&sl_tconn_ctl);
	p->n++;
}

/* Lets the kernel's connections pass on the devices of the endpoints from sk->claims to the one
 * before `until`. Drops segments of theirs that were steered here before: they are on the way or
 * wait in the lane. */
static void sort_out(struct sl_sock *sk, struct sl_tlisten *l, const struct sl_sock_claim *until)
{
	const struct timespec on_its_way = {.tv_nsec = 1000000};
	struct passing p = {.sk = sk, .from = sk->claims, .until = until};
	struct sl_lane *lane;

	sl_diag_tcp_conns(sk->local_port, let_conn_pass, &p);
	if (p.n) {
		sl_sys(SYS_nanosleep, &on_its_way, NULL);
		if (sl_sock_lock(sk, &lane)) {
			sl_lane_turn_locked(lane);
			sl_lane_unlock(lane);
		}
	}
	sl_tlisten_enter(l, SL_TLISTEN_OPEN);
}

/* Claims the endpoints of the listener, which is in its slot. A listener whose device is being
 * opened has none yet, so the kernel serves it. */
static enum sl_reason claim(struct sl_sock *sk, struct sl_tlisten *l, bool waits)
{
	enum sl_reason reason = sl_sock_judge_listener(sk);

	if (reason != SL_REASON_NONE)
		return reason;
	if (!waits && !sk->heir && sl_sock_is_late(sk)) {
		sk->late = true;
		sl_store_release(&sl_late_any, true);
		sl_tlisten_enter(l, SL_TLISTEN_OPEN);
		return SL_REASON_NONE;
	}
	reason = sl_sock_claim_endpoints(sk);
	if (reason == SL_REASON_NONE && !sk->heir) /* (else the steering program looks: pick_tcp())
						    */
		sort_out(sk, l, NULL);
	return reason;
}

/* A listener that gets its lane. */
struct mate {
	const struct sl_sock *sk;
	struct sl_lane *lane; /* NULL: there is none */
};

static void look_for_mate(struct sl_sock *o, void *arg)
{
	struct mate *m = arg;
	struct sl_lane *lane = sl_load_acquire(&o->lane);

	if (o != m->sk && !sl_sock_is_udp(o) && sl_load(&o->lsn) && lane != &sl_limbo &&
	    o->local_port == m->sk->local_port)
		m->lane = lane;
}

/* Gives the listener a lane. Where a rule of the NIC brings the packets of a port (by verbs), all
 * to one lane, its listeners share that lane. */
static bool take_lane(struct sl_sock *sk)
{
	struct mate m = {.sk = sk};

	if (sl_settings.rx_backend == SL_RX_VERBS && sk->reuseport &&
	    sl_load(&sk->lane) == &sl_limbo)
		sl_sock_for_each(look_for_mate, &m);
	return m.lane ? sl_sock_enter_lane(sk, m.lane) : sl_sock_take_lane(sk, sk->bound_if);
}

static enum sl_reason prepare(struct sl_sock *sk, int backlog)
{
	struct sl_tlisten *l;
	enum sl_reason reason;
	int err = -EDEADLK;

	if (sl_sock_read_names(sk) < 0 || sk->local_port == 0)
		return SL_REASON_RUNTIME;
	if (sl_addr_is_loopback(&sk->local))
		return SL_REASON_LOCAL;
	sl_tcp_opt_read_v6only(sk);
	l = new_listener(sk);
	if (!l)
		return SL_REASON_MEMORY;
	l->tcp.backlog = clamp_backlog(backlog);
	l->state = sk->heir ? SL_TLISTEN_OPEN : SL_TLISTEN_SORTING;
	if (sl_lock(&placing)) {
		err = take_lane(sk) && sl_lane_tcp(sk->lane) ? install(sk, l) : -ENOMEM;
		sl_unlock(&placing);
	}
	if (err < 0) {
		free_listener(l);
		return SL_REASON_MEMORY;
	}
	if (sk->heir)
		sl_tbox_tell(sk);
	reason = claim(sk, l, sl_sock_waits(sk));
	if (reason != SL_REASON_NONE) {
		sl_sock_unclaim(sk);
		uninstall(sk);
	}
	return reason;
}

/* slow held. */
static enum sl_reason claim_late(struct sl_sock *sk)
{
	struct sl_tlisten *l = sk->lsn;
	enum sl_reason reason;
	struct sl_lane *lane;

	if (!sk->nfds || !l || sk->heir || sl_load(&l->state) != SL_TLISTEN_OPEN)
		return SL_REASON_NONE;
	if (sk->forks != sl_load(&sl_forks)) /* a child may have it, too */
		return SL_REASON_PASSED;
	sl_tlisten_enter(l, SL_TLISTEN_SORTING);
	reason = claim(sk, l, false);
	sl_store(&sl_late_listener_ns, sl_now_ns());
	if (sl_load(&l->state) == SL_TLISTEN_SORTING)
		sl_tlisten_enter(l, SL_TLISTEN_OPEN);
	if (sl_sock_lock(sk, &lane)) {
		sl_sock_notify(sk, 0); /* its waiters watch a lane that has got a descriptor */
		sl_lane_unlock(lane);
	}
	return reason;
}

bool sl_tlisten_claim_late(struct sl_sock *sk)
{
	enum sl_reason reason = SL_REASON_NONE;

	if (!sk->late) /* (set before the keeper was told of it) */
		return true;
	if (!sl_trylock(&sk->slow))
		return false;
	if (sk->late) {
		sk->late = false;
		reason = claim_late(sk);
	}
	sl_unlock(&sk->slow);
	if (reason != SL_REASON_NONE)
		sl_sock_kernel(sk, reason);
	return true;
}

void sl_tlisten_claim_device(struct sl_sock *sk, uint32_t ifindex)
{
	const struct sl_sock_claim *old = sk->claims;
	struct sl_tlisten *l = sk->lsn;
	uint64_t followed = sl_load(&sl_tconn_follow_ns);
	bool sorts = !sk->heir && sl_load(&l->state) == SL_TLISTEN_OPEN;

	if (sorts)
		sl_tlisten_enter(l, SL_TLISTEN_SORTING);
	if (sl_tconn_in_use())
		sl_store(&sl_tconn_follow_ns, sl_now_ns() + SL_TCONN_FOLLOW_NS);
	sl_sock_claim_device(sk, ifindex); /* puts new claims at the head of the list */
	if (sk->claims == old)
		sl_store(&sl_tconn_follow_ns, followed);
	if (sorts && sk->claims != old)
		sort_out(sk, l, old);
	else if (sorts)
		sl_tlisten_enter(l, SL_TLISTEN_OPEN);
}

static void set_backlog(struct sl_sock *sk, int backlog)
{
	uint32_t n = clamp_backlog(backlog);
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->lsn)
		sk->lsn->tcp.backlog = n;
	sl_lane_unlock(lane);
}

static void on_listening(struct sl_sock *sk)
{
	/* listen(2) sets it, too, if the machine says so (tcp_fastopen 0x400). */
	int qlen = sl_sock_get_int(sk, IPPROTO_TCP, TCP_FASTOPEN);
	struct sl_lane *lane;

	sk->stats->state = SL_STATE_OFFLOADED;
	sk->stats->reason = SL_REASON_NONE;
	sl_shadow_watch(sk, sk->fd);
	sl_tlisten_watch_box(sk);
	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->lsn)
		sk->lsn->tcp.tfo_qlen = (uint32_t)qlen;
	sl_store(&sk->state, SL_STATE_OFFLOADED);
	sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
}

enum sl_reason sl_tlisten_start(struct sl_sock *sk, int backlog)
{
	enum sl_reason reason = prepare(sk, backlog);

	if (reason == SL_REASON_NONE)
		on_listening(sk);
	return reason;
}

/* A socket without a port gets it by listen(2) itself; then the kernel comes first. */
static int listen_new(struct sl_sock *sk, int fd, int backlog, enum sl_reason *reason)
{
	bool bound = sl_sock_read_names(sk) == 0 && sk->local_port;
	int err = 0;

	if (!bound)
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err < 0)
		return err;
	*reason = prepare(sk, backlog);
	if (bound)
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err < 0 && sk->lsn) {
		sl_sock_unclaim(sk);
		uninstall(sk);
		*reason = SL_REASON_NONE;
	}
	if (err == 0 && sk->lsn)
		on_listening(sk);
	return err;
}

int sl_tcp_sock_listen(struct sl_sock *sk, int fd, int backlog)
{
	enum sl_reason reason = SL_REASON_NONE;
	int err;

	sl_lock(&sk->slow);
	if (sk->state == SL_STATE_NEW && !sk->lsn)
		err = listen_new(sk, fd, backlog, &reason);
	else if (sk->conn)
		err = -EINVAL;
	else
		err = sl_sysi(SYS_listen, fd, backlog);
	if (err == 0 && sk->lsn)
		set_backlog(sk, backlog);
	sl_unlock(&sk->slow);
	if (err == 0 && reason != SL_REASON_NONE)
		sl_sock_kernel(sk, reason);
	else if (err == 0)
		sl_sock_wait_links(sk, 0);
	return err;
}
