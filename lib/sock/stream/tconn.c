/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections: their life and their claims.
 *
 * Theory of operation: a connection that is over may still be in a caller's hand, and its claim
 * cannot be given up under the lane's lock (the broker's mutex comes before it), so the dead are
 * collected and freed by sl_tconn_reap(). Those that ended in order keep their claim for a few
 * seconds more: the peer may not have got our last ACK. */
#include "sock/stream/tconn.h"
#include "sock/stream/tcp_sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/reserve.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "net/ipconf.h"
#include "sock/stream/stream.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "tcp/tcp_dead.h"
#include "tcp/tcp_in.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_tw.h"

/* The memory of a TCP connection at rest: its block, its socket, its slot, with the link, and its
 * place in the table of descriptors. */
_Static_assert(sizeof(struct sl_tconn) + sizeof(struct sl_sock) + sizeof(struct sl_slot) +
			       sizeof(uint32_t) + sizeof(uintptr_t) <=
		       1024,
	       "a connection at rest is to cost 1 KiB at most");

#define MAX_CONNS  (1u << 20)
#define SLAB_BYTES (MAX_CONNS * sizeof(struct sl_tconn))
/* The byte behind the connections belongs to sl_broker_conns(); then come the requests. */
#define REQS_AT   (SLAB_BYTES + SL_RESERVE_STEP)
#define MAP_BYTES (REQS_AT + sl_treq_bytes())
/* A connection that has ended answers its peer for GRACE_NS more, at most GRACE_MAX of them. A
 * connection that went to the kernel stays known as long, at most GONE_MAX of them. */
#define GRACE_NS  3000000000ull
#define GRACE_MAX 256
#define GONE_MAX  65536
/* While connections end one after the other they are freed REAP at a time, since each entry of the
 * broker costs two system calls. */
#define REAP      8
#define IN_ROW_NS 10000000

struct sl_lock sl_tconn_ctl;

static struct sl_lock slab_lock; /* a leaf; protects what follows */
static struct sl_tconn *slab;
static struct sl_reserve room; /* the slab's */
static int slab_fd = -1;       /* where it lies, when others are to read it */
static uint32_t slab_used;
static uint32_t nlive;                          /* made, and not freed */
static struct sl_tconn *free_first, *free_last; /* first in, first out: delays reuse */
static struct sl_tconn *dead_first, *dead_last;
static uint32_t ndead;
static uint64_t reaped_ns; /* when dead connections were looked for; atomic */
static struct sl_tconn *grace_first, *grace_last; /* dead later */
static uint32_t ngrace[2];                        /* [gone] */

/* Life ------------------------------------------------------------------------------------------
 */

static struct sl_tconn *next_of(const struct sl_tconn *c)
{
	return c->tcp.next ? sl_tconn_of(c->tcp.next) : NULL;
}

static void push(struct sl_tconn **first, struct sl_tconn **last, struct sl_tconn *c)
{
	c->tcp.next = NULL;
	if (*first)
		(*last)->tcp.next = &c->tcp;
	else
		sl_store(first, c);
	*last = c;
}

static void push_dead(struct sl_tconn *c)
{
	push(&dead_first, &dead_last, c);
	sl_store(&ndead, ndead + 1);
}

static struct sl_tconn *pop(struct sl_tconn **first)
{
	struct sl_tconn *c = *first;

	if (c)
		sl_store(first, next_of(c));
	return c;
}

struct sl_tconn *sl_tconn_new(struct sl_lane *lane)
{
	struct sl_tconn *c;

	if (!sl_lock(&slab_lock))
		return NULL;
	c = pop(&free_first);
	if (!c && !sl_reserve_upto(&room, (slab_used + 1) * sizeof(*c))) {
		c = &slab[slab_used];
		sl_store_release(&slab_used, slab_used + 1);
	}
	if (c)
		sl_store(&nlive, nlive + 1);
	sl_unlock(&slab_lock);
	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->slot = SL_NO_SLOT;
	c->guard = -1;
	c->ip_id = (uint16_t)sl_ip_random(c);
	sl_store_release(&c->lane, lane);
	return c;
}

void sl_tconn_set_sock(struct sl_tconn *c, struct sl_sock *sk)
{
	c->guard = ~(int)(sk->inode & INT32_MAX);
	c->sk = sk;
	c->tcp.node.bound = sl_tcp_port_bound(sk);
}

void sl_tconn_free(struct sl_tconn *c, bool linger)
{
	bool simple = !c->claimed && c->guard < 0 && c->slot == SL_NO_SLOT && !c->tcp.frozen;

	if (c->dead)
		return;
	c->dead = true;
	c->gone = c->tcp.frozen;
	c->sk = NULL;
	sl_tconn_pace_end(c);
	sl_tconn_rest(c);
	sl_lock(&slab_lock);
	sl_store(&nlive, nlive - 1);
	if (simple) {
		push(&free_first, &free_last, c);
	} else if (!linger || ngrace[c->gone] == (c->gone ? GONE_MAX : GRACE_MAX)) {
		push_dead(c);
	} else {
		c->tcp.free_at_ns = sl_now_ns() + GRACE_NS;
		push(&grace_first, &grace_last, c);
		ngrace[c->gone]++;
	}
	sl_unlock(&slab_lock);
}

/* Takes dead connections that may be freed now, REAP at most; how many. */
static unsigned take_dead(struct sl_tconn **dead, uint64_t now)
{
	struct sl_tconn *c;
	unsigned n = 0;

	if (!sl_lock(&slab_lock))
		return 0;
	while (n < REAP && (c = pop(&dead_first))) {
		sl_store(&ndead, ndead - 1);
		dead[n++] = c;
	}
	while (n < REAP && grace_first && grace_first->tcp.free_at_ns <= now) {
		c = pop(&grace_first);
		ngrace[c->gone]--;
		dead[n++] = c;
	}
	sl_unlock(&slab_lock);
	return n;
}

/* Ends a connection that was handed back and is still in the host's table. */
static void end_frozen(struct sl_tconn *c)
{
	struct sl_lane *lane = c->lane;

	if (!c->tcp.frozen || !sl_lane_lock(lane))
		return;
	sl_tcp_fini(&c->tcp);
	c->tcp.frozen = false;
	sl_lane_unlock(lane);
}

static void free_dead(struct sl_tconn *c)
{
	end_frozen(c);
	if (c->guard >= 0)
		sl_sys_close(c->guard);
	sl_lock(&slab_lock);
	push(&free_first, &free_last, c);
	sl_unlock(&slab_lock);
}

static void unclaim_all(struct sl_tconn **dead, unsigned n);

bool sl_tconn_reap(void)
{
	struct sl_tconn *dead[REAP];
	uint64_t now;
	unsigned n;

	if (sl_likely(!sl_load(&dead_first) && !sl_load(&grace_first)))
		return false;
	now = sl_now_ns();
	sl_store(&reaped_ns, now);
	while ((n = take_dead(dead, now))) {
		unclaim_all(dead, n);
		for (unsigned i = 0; i < n; i++)
			free_dead(dead[i]);
	}
	return sl_load(&grace_first) != NULL;
}

void sl_tconn_reap_many(void)
{
	uint32_t n = sl_load(&ndead);

	if (n >= REAP || (n && sl_now_ns() - sl_load(&reaped_ns) > IN_ROW_NS))
		sl_tconn_reap();
}

/* Connections that went to the kernel hold no port number. */
bool sl_tconn_hurry(uint16_t port)
{
	struct sl_tconn *c, *first = NULL, *last = NULL;
	uint32_t stay = 0;
	bool any;

	if (!sl_lock(&slab_lock))
		return false;
	any = ndead;
	while ((c = pop(&grace_first)))
		if (c->gone || (port && c->tcp.node.key.lport != port)) {
			stay += !c->gone;
			push(&first, &last, c);
		} else {
			push_dead(c);
			any = true;
		}
	sl_store(&grace_first, first);
	grace_last = last;
	ngrace[false] = stay;
	sl_unlock(&slab_lock);
	sl_tconn_reap();
	return any;
}

bool sl_tconn_end_grace(const struct sl_tcp_key *key)
{
	struct sl_tconn *c, *before = NULL;

	if (!sl_lock(&slab_lock))
		return false;
	for (c = grace_first; c && !sl_tcp_key_eq(&c->tcp.node.key, key); c = next_of(c))
		before = c;
	if (c) {
		if (before)
			before->tcp.next = c->tcp.next;
		else
			sl_store(&grace_first, next_of(c));
		if (grace_last == c)
			grace_last = before;
		ngrace[c->gone]--;
		push_dead(c);
	}
	sl_unlock(&slab_lock);
	return c != NULL;
}

void sl_tconn_make_way(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	struct sl_tcp *old = sl_tcp_find(h, key);

	if (!old || !old->frozen || !sl_tconn_of(old)->dead)
		return;
	sl_tcp_fini(old);
	old->frozen = false;
}

bool sl_tconn_in_use(void)
{
	return sl_load(&nlive) > 0;
}

void sl_tconn_for_each(void (*fn)(struct sl_tconn *c, void *arg), void *arg)
{
	uint32_t n = sl_load_acquire(&slab_used);

	for (uint32_t i = 0; i < n; i++)
		if (sl_load(&slab[i].tcp.host) && !sl_load(&slab[i].dead))
			fn(&slab[i], arg);
}

static void note(struct sl_tconn *c, void *arg)
{
	struct sl_lane *lane = sl_load_acquire(&c->lane);

	if (c->tcp.noted || !lane || !sl_load(&c->sk) || !sl_lane_lock(lane))
		return;
	if (c->lane == lane && c->sk && !c->dead) /* (it may be another one by now) */
		sl_tcp_note(&c->tcp);
	sl_lane_unlock(lane);
}

void sl_tconn_fork_begin(void)
{
	if (sl_tconn_in_use())
		sl_tconn_for_each(note, NULL);
}

/* The parent's connections are not in the child's memory: where they lay there are zeros, or
 * nothing at all. */
void sl_tconn_child(void)
{
	memset(&slab_lock, 0, sizeof(slab_lock));
	memset(&sl_tconn_ctl, 0, sizeof(sl_tconn_ctl));
	sl_tcp_fastopen_child();
	sl_tcp_stamps_child();
	sl_tcp_orphan_child();
	sl_treq_child();
	free_first = dead_first = grace_first = NULL;
	memset(ngrace, 0, sizeof(ngrace));
	slab_used = nlive = ndead = 0;
	if (!sl_reserve_hole(&room))
		slab = NULL;
	if (slab_fd >= 0)
		sl_sys_close(slab_fd);
	slab_fd = -1;
	room.bytes = room.ready = 0;
}

/* Makes the table private: the daemon, or any reader of the file, sees no change from now on. */
void sl_tconn_part(void)
{
	if (slab_fd < 0 || !sl_lock(&slab_lock))
		return;
	if (sl_reserve_part(&room) | sl_treq_part())
		sl_warn("tcp", "the records of connections stay mapped: no memory");
	sl_sys_close(slab_fd);
	slab_fd = -1;
	sl_unlock(&slab_lock);
}

/* Threads may still look at the memory of the old table, which stays. */
bool sl_tconn_renew(void)
{
	bool clear;

	if (sl_tconn_reap() || !sl_lock(&slab_lock))
		return false;
	clear = !nlive && !dead_first && !grace_first;
	if (!clear)
		sl_debug("tcp", "no new table of connections yet: %u are in use", nlive);
	if (clear) {
		free_first = free_last = NULL;
		slab = NULL;
		sl_store_release(&slab_used, 0);
		room.bytes = room.ready = 0;
	}
	sl_unlock(&slab_lock);
	return clear;
}

/* Claims ----------------------------------------------------------------------------------------
 */

struct sl_claim_req sl_tconn_flow_req(const struct sl_leg *leg, const struct sl_tcp_key *key,
				      int shadow, uint32_t slot)
{
	struct sl_claim_req req = {
		.ifindex = leg->port->lower,
		.shadow_fd = shadow,
		.key.proto = IPPROTO_TCP,
		.key.vlan = leg->port->vlan,
		.key.local_port = key->lport,
		.key.remote_port = key->rport,
		.claim.lane = leg->first,
		.claim.slot = slot,
		.claim.gen = sl_slots[slot].gen,
		.claim.flags = SL_CLAIM_VLAN(leg->port->vlan_nr),
		.replace = true, /* of a connection that has ended a moment ago */
	};

	memcpy(req.key.local, key->local.b, 16);
	memcpy(req.key.remote, key->remote.b, 16);
	return req;
}

int sl_tconn_claim(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_key *key, int shadow,
		   const char **why)
{
	struct sl_claim_req req;
	int slot = sl_slot_new(), err;

	if (slot < 0)
		return slot;
	req = sl_tconn_flow_req(leg, key, shadow, (uint32_t)slot);
	sl_lock(&sl_tconn_ctl);
	c->slot = (uint32_t)slot;
	c->tcp.node.key = *key; /* for sl_tconn_unclaim() */
	sl_slot_set(c->slot, SL_SLOT_TCP, c);
	err = sl_broker_claim(&req, why);
	c->claimed = err ? NULL : leg;
	sl_unlock(&sl_tconn_ctl);
	if (err == -EADDRINUSE && sl_tconn_end_grace(key)) {
		sl_tconn_reap();
		sl_tconn_unclaim(c);
		return sl_tconn_claim(c, leg, key, shadow, why);
	}
	if (err < 0)
		sl_tconn_unclaim(c);
	return err;
}

/* The slot is closed while the lane is held, so that no packet is being handed to it. */
static void close_slot(struct sl_tconn *c)
{
	struct sl_lane *lane = c->lane;
	bool held = sl_lane_lock(lane);

	sl_slot_free(c->slot);
	c->slot = SL_NO_SLOT;
	if (held)
		sl_lane_unlock(lane);
}

/* Gives up the claims of n connections, REAP at most. sl_tconn_ctl held. */
static void unclaim(struct sl_tconn **conns, unsigned n)
{
	struct sl_claim_req reqs[REAP];
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		if (conns[i]->claimed)
			reqs[k++] = sl_tconn_flow_req(conns[i]->claimed, &conns[i]->tcp.node.key,
						      -1, conns[i]->slot);
	if (k)
		sl_broker_unclaim_all(reqs, k);
	for (unsigned i = 0; i < n; i++) {
		conns[i]->claimed = NULL;
		if (conns[i]->slot != SL_NO_SLOT)
			close_slot(conns[i]);
	}
}

void sl_tconn_unclaim(struct sl_tconn *c)
{
	unclaim_all(&c, 1);
}

static void unclaim_all(struct sl_tconn **dead, unsigned n)
{
	sl_lock(&sl_tconn_ctl);
	unclaim(dead, n);
	sl_unlock(&sl_tconn_ctl);
}

/* (On a device that is gone the old claim stays for the guard: hand_back.c, on_live().) */
int sl_tconn_claim_move(struct sl_tconn *c, struct sl_leg *leg, int shadow)
{
	struct sl_claim_req req;
	int err = -ENOENT;

	sl_lock(&sl_tconn_ctl);
	if (c->claimed && c->claimed != leg && !sl_load(&c->dead) && !c->let_pass) {
		req = sl_tconn_flow_req(leg, &c->tcp.node.key, shadow, c->slot);
		err = sl_broker_claim(&req, NULL);
	}
	if (!err) {
		req = sl_tconn_flow_req(c->claimed, &c->tcp.node.key, -1, c->slot);
		if (!sl_port_is_gone(c->claimed->port))
			sl_broker_unclaim(&req);
		c->claimed = leg;
	}
	sl_unlock(&sl_tconn_ctl);
	return err;
}

/* True: the connection is over, its socket is still open, and its key may be used again. Holding
 * sl_tconn_ctl keeps a claimed connection from being freed meanwhile. */
static bool is_over(struct sl_tconn *c, const struct sl_tcp_key *key)
{
	struct sl_tcp_node *n;
	bool over;

	if (!c->claimed || !sl_tcp_key_eq(&c->tcp.node.key, key) || !sl_lane_lock(c->lane))
		return false;
	n = sl_tcp_table_find(c->lane->tcp, key);
	over = c->sk && c->tcp.state == SL_TCP_CLOSED &&
	       (!n || (n->kind == SL_TCP_TW && sl_tcp_tw_may_reuse(n)));
	sl_lane_unlock(c->lane);
	return over;
}

bool sl_tconn_end_over(const struct sl_tcp_key *key)
{
	uint32_t n = sl_load_acquire(&slab_used);
	bool any = false;

	sl_lock(&sl_tconn_ctl);
	for (uint32_t i = 0; i < n && !any; i++) {
		any = is_over(&slab[i], key);
		if (any) {
			struct sl_tconn *over = &slab[i];

			unclaim(&over, 1);
		}
	}
	sl_unlock(&sl_tconn_ctl);
	return any;
}

/* Reserves a slot for the connection's own claim. With a slot its object is not reused before
 * sl_tconn_unclaim(), but it may be dead. NULL: no claim is wanted. Lane held. */
static struct sl_leg *reserve_slot(struct sl_tconn *c, uint32_t lsn_id, struct sl_tcp_key *key)
{
	struct sl_leg *leg;
	int slot;

	if (c->lsn_id != lsn_id || c->dead || c->slot != SL_NO_SLOT ||
	    c->tcp.state == SL_TCP_CLOSED || !(c->sk || c->tcp.orphan || c->tcp.listener))
		return NULL;
	sl_lane_tcp_begin(c->lane);
	leg = sl_tconn_leg(c);
	slot = leg ? sl_slot_new() : -1;
	if (slot < 0)
		return NULL;
	*key = c->tcp.node.key;
	sl_slot_set((uint32_t)slot, SL_SLOT_TCP, c);
	c->slot = (uint32_t)slot;
	return leg;
}

void sl_tconn_claim_own(struct sl_tconn *c, uint32_t lsn_id, int shadow)
{
	struct sl_lane *lane = sl_load(&c->lane);
	uint32_t slot = SL_NO_SLOT, gen = 0;
	struct sl_claim_req req;
	struct sl_tcp_key key;
	struct sl_leg *leg;

	if (!sl_lane_lock(lane))
		return;
	leg = reserve_slot(c, lsn_id, &key);
	if (leg) {
		slot = c->slot;
		gen = sl_slots[slot].gen;
	}
	sl_lane_unlock(lane);
	if (!leg)
		return;
	sl_lock(&sl_tconn_ctl);
	if (c->slot == slot && sl_slots[slot].gen == gen && !sl_load(&c->dead)) {
		req = sl_tconn_flow_req(leg, &key, shadow, slot);
		/* A claim now would take the place of the one by which its packets pass. */
		if (!c->let_pass && sl_broker_claim(&req, NULL) == 0)
			c->claimed = leg;
		else
			close_slot(c);
	}
	sl_unlock(&sl_tconn_ctl);
}

/* A connection that came by a listener gets its own claim. */
void sl_tcp_sock_claim_flags(struct sl_sock *sk)
{
	bool wants = sk->want & SL_WANT_HW_STAMP;
	struct sl_tconn *c = sl_load_acquire(&sk->conn);
	struct sl_claim_req req;

	if (c && wants)
		sl_tconn_claim_own(c, c->lsn_id, sk->fd);
	if (!c)
		return;
	sl_lock(&sl_tconn_ctl);
	if (c->claimed) {
		req = sl_tconn_flow_req(c->claimed, &c->tcp.node.key, sk->fd, c->slot);
		if (wants)
			req.claim.flags |= SL_CLAIM_STAMP;
		sl_broker_claim_update(&req);
	}
	sl_unlock(&sl_tconn_ctl);
}

static int slab_file(void)
{
	int fd, err;

	if (!sl_file_fits(MAP_BYTES))
		return -1;
	fd = sl_fd_keep(sl_sysi(SYS_memfd_create, "sluice-conns", MFD_CLOEXEC));
	err = fd < 0 ? fd : sl_sysi(SYS_ftruncate, fd, MAP_BYTES);
	if (fd >= 0 && err) {
		sl_sys_close(fd);
		fd = -1;
	}
	return fd;
}

static void slab_show(void)
{
	struct sl_conns_layout layout = {
		.stride = sizeof(struct sl_tconn),
		.max = MAX_CONNS,
		.host = offsetof(struct sl_tconn, tcp.host),
		.dead = offsetof(struct sl_tconn, dead),
		.state = offsetof(struct sl_tconn, tcp.state),
		.local = offsetof(struct sl_tconn, tcp.node.key.local),
		.remote = offsetof(struct sl_tconn, tcp.node.key.remote),
		.lport = offsetof(struct sl_tconn, tcp.node.key.lport),
		.rport = offsetof(struct sl_tconn, tcp.node.key.rport),
		.owner = offsetof(struct sl_tconn, sk),
		.oif = offsetof(struct sl_tconn, oif),
		.listener = offsetof(struct sl_tconn, lsn_id),
		.tcp = offsetof(struct sl_tconn, tcp),
		.form = sl_tcp_repair_form(),
		.req_at = REQS_AT,
		.inode = offsetof(struct sl_tconn, guard),
	};
	int err;

	sl_treq_layout(&layout);
	err = slab_fd < 0 ? 0 : sl_broker_conns(slab_fd, &layout);

	if (err)
		sl_debug("tcp", "nobody will tell the peers should this process be killed: %s",
			 strerrorname_np(-err));
}

static int slab_map(void)
{
	char *p;

	if (slab) /* a hole in a child */
		sl_sys(SYS_munmap, slab, MAP_BYTES);
	slab = NULL;
	p = sl_reserve_map(MAP_BYTES);
	if (!p)
		return -ENOMEM;
	slab_fd = slab_file();
	slab = (struct sl_tconn *)(void *)p;
	sl_reserve_init(&room, p, SLAB_BYTES, slab_fd, 0, true);
	sl_treq_init(p + REQS_AT, slab_fd, REQS_AT);
	slab_show();
	return 0;
}

int sl_tconn_init(void)
{
	int err = slab_map();

	if (err)
		return err;
	sl_tcp_sysctl_read(&sl_tcp_params, SL_TCP_SYSCTL_DIR);
	sl_tcp_settings_apply(&sl_tcp_params);
	return 0;
}

void sl_tconn_follow_settings(void)
{
	sl_tcp_sysctl_follow(&sl_tcp_params, SL_TCP_SYSCTL_DIR);
}

void sl_tconn_undo(void)
{
	if (slab_fd >= 0)
		sl_sys_close(slab_fd);
	slab_fd = -1;
}

int sl_tconn_take_error(struct sl_tconn *c)
{
	int err = c->tcp.error;

	c->tcp.error = 0;
	return err;
}
