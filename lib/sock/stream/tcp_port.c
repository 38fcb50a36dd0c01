/* SPDX-License-Identifier: BSD-2-Clause */
/* The local port of a connection whose program did not choose one.
 *
 * Theory of operation: a port must be free in the kernel, which the bind of the shadow finds out,
 * and free of what it knows nothing of: connections of ours whose descriptors are closed, and their
 * TIME_WAIT. A socket that is bound cannot be bound again, so we choose from the kernel's range
 * ourselves, look at the lane's table, and then ask for just that port. The kernel's own connect()
 * does the same: at random, of one parity, so that bind() finds the others free. Where most ports
 * of that parity are in TIME_WAIT, each refusal costs a system call, or six with the question about
 * time stamps: then the other parity comes first for as long as it has the free port.
 *
 * The kernel's connect() gives one port to connections with different peers. When no port is free,
 * so do we: the kernel binds the shadow to a port that others are bound to if each has SO_REUSEADDR
 * just then. Shadows of ours have the option for that moment alone: by then the port is the
 * connections', and no program binds to it. Other sockets may have it always, so the kernel is
 * asked whether one of them has the peer. */
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_in.h"
#include "tcp/tcp_table.h"
#include "wire/siphash.h"

#define TRIES  64
#define FULL   8    /* so many refusals tell that few ports of a parity are free */
#define AGAIN  64   /* connections until the parity that bind() leaves is tried again */
#define YIELDS 1000 /* while another thread holds a socket */

static uint32_t looks;         /* times TRIES; atomic */
static struct sl_lock sharing; /* a thread's shadows have the option; behind a socket's `slow` */
static uint32_t share_first;   /* so many connections look for a port to share at once; atomic */
static uint32_t odd_first; /* so many connections begin with the ports that bind() takes; atomic */

/* A connection that went to the kernel stays known here for a while, and holds no port: the kernel
 * knows whether it does (sl_tconn_make_way()). Lane held. */
static bool has(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	struct sl_tcp *t = sl_tcp_find(h, key);

	return t ? !t->frozen || !sl_tconn_of(t)->dead : sl_tcp_knows(h, key);
}

static bool is_free(struct sl_sock *sk, const struct sl_tcp_key *key)
{
	struct sl_lane *lane;
	bool free;

	if (!sl_sock_lock(sk, &lane))
		return true;
	free = !has(lane->tcp, key);
	sl_lane_unlock(lane);
	return free;
}

static int bind_to(struct sl_sock *sk, const struct sl_tcp_key *key, uint16_t port, uint32_t oif)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	sl_addr_to_sockaddr(&key->local, port, oif, sk->family, (struct sockaddr *)&ss, &len);
	return sl_sys_bind(sk->fd, &ss, len);
}

struct wanted {
	const struct sl_tcp_key *key;
	const struct sl_sock *by;
	int on; /* SO_REUSEADDR */
	bool taken;
};

static void look_for_key(struct sl_lane *lane, void *arg)
{
	struct wanted *w = arg;

	if (w->taken || !sl_lane_lock(lane))
		return;
	w->taken = lane->tcp && has(lane->tcp, w->key);
	sl_lane_unlock(lane);
}

/* True: the kernel has that connection, or its TIME_WAIT, or cannot be asked. */
static bool kernel_has(const struct sl_tcp_key *key, uint32_t oif)
{
	const struct sl_diag_flow f = {
		.local = key->local,
		.remote = key->remote,
		.local_port = key->lport,
		.remote_port = key->rport,
		.ifindex = oif,
		.proto = IPPROTO_TCP,
	};
	int fd = sl_netlink_open(NETLINK_SOCK_DIAG), err;
	struct sl_diag_sock s;

	if (fd < 0)
		return true;
	err = sl_diag_find(fd, &f, &s);
	sl_sys_close(fd);
	return err ? err != -ENOENT : s.remote_port != 0;
}

/* Takes `slow` of a socket, which another thread may hold while it connects. False: for long. */
static bool hold(struct sl_sock *sk)
{
	for (unsigned i = 0; i < YIELDS; i++) {
		if (sl_trylock(&sk->slow))
			return true;
		sl_sys(SYS_sched_yield);
	}
	return false;
}

/* A socket that is closed meanwhile has no shadow any more: its number may be another file's, so
 * `slow` is held. A program that has set the option itself shares its port in any case. */
static void set_reuse(struct sl_sock *sk, void *arg)
{
	const struct wanted *w = arg;

	if (sk == w->by || sk->local_port != w->key->lport || sl_sock_is_udp(sk) || !hold(sk))
		return;
	if (sk->nfds && sl_load(&sk->conn) && !sk->reuse_addr && sk->local_port == w->key->lport)
		(void)sl_sys_set_int(sk->fd, SOL_SOCKET, SO_REUSEADDR, w->on);
	sl_unlock(&sk->slow);
}

/* (A connection that another thread has just begun is in the table when set_reuse() has had its
 * socket; until then the shadow has not got the option.) */
static int bind_with_others(struct sl_sock *sk, struct wanted *w, uint32_t oif)
{
	int err = -EADDRINUSE;

	w->on = 1;
	sl_sock_for_each(set_reuse, w);
	sl_lane_for_each(look_for_key, w);
	if (!w->taken && !kernel_has(w->key, oif)) {
		(void)sl_sys_set_int(sk->fd, SOL_SOCKET, SO_REUSEADDR, 1);
		err = bind_to(sk, w->key, w->key->lport, oif);
		(void)sl_sys_set_int(sk->fd, SOL_SOCKET, SO_REUSEADDR, 0);
	}
	w->on = 0;
	sl_sock_for_each(set_reuse, w);
	return err;
}

/* Binds the shadow to a port of connections with other peers. */
static int bind_shared(struct sl_sock *sk, const struct sl_tcp_key *key, uint32_t oif)
{
	struct wanted w = {.key = key, .by = sk};
	int err;

	if (!sl_lock(&sharing))
		return -EADDRINUSE;
	err = bind_with_others(sk, &w, oif);
	sl_unlock(&sharing);
	if (err) /* perhaps a thread has just bound its shadow, and goes on */
		sl_sys(SYS_sched_yield);
	return err;
}

void sl_tcp_port_child(void)
{
	memset(&sharing, 0, sizeof(sharing));
}

/* The n-th try's port. look: a number of its own for these tries, and for TRIES after it. */
static uint16_t candidate(const struct sl_sock *sk, const struct sl_tcp_key *key, uint32_t look,
			  uint32_t n)
{
	const struct sl_tcp_params *p = &sl_tcp_params;
	uint32_t range = (uint32_t)(p->port_max - p->port_min) + 1, at;
	struct {
		struct sl_tcp_key key;
		uint32_t n;
	} what = {*key, range <= TRIES ? look : look + n};

	at = (uint32_t)(sl_siphash(sk->lane->tcp->keys->own, &what, sizeof(what)) >> 32);
	at = (uint32_t)((uint64_t)at * range >> 32);
	if (range <= TRIES) /* one after the other */
		at = (at + n) % range;
	else if (n < TRIES / 2)
		at = (at & ~1u) | (sl_load(&odd_first) && (at | 1) < range);
	return (uint16_t)(p->port_min + at);
}

/* Learns from a choice that took n tries. */
static void learn(uint32_t n)
{
	uint32_t left = sl_load(&odd_first);

	if (n > FULL)
		sl_store(&odd_first, left ? 0 : AGAIN);
	else if (sl_unlikely(left))
		sl_store(&odd_first, left - 1);
}

/* False: the kernel must choose the port. It alone knows reserved ports and a range of the socket's
 * own, and with SO_REUSEADDR it would let two sockets bind to the port that we ask for. */
static bool may_choose(const struct sl_sock *sk)
{
	return sl_tcp_params.port_max && !sk->reuse && !sk->own_ports;
}

/* Tries ports; share: those of other connections, too. (A port that is free is bound without the
 * option: of the first socket Linux 5.15 remembers the option, and lets others with it bind.
 * Another thread's socket that has just been bound cannot share yet, so few ports are tried
 * repeatedly.) */
static int look(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif, uint32_t *ts_off,
		bool share)
{
	uint32_t range = (uint32_t)(sl_tcp_params.port_max - sl_tcp_params.port_min) + 1;
	uint32_t n, most = share ? TRIES : sl_min(range, (uint32_t)TRIES);
	uint32_t nr = __atomic_fetch_add(&looks, TRIES, __ATOMIC_RELAXED);
	int err = -EADDRINUSE;

	for (n = 0; n < most && err == -EADDRINUSE && may_choose(sk); n++) {
		key->lport = candidate(sk, key, nr, n);
		if (is_free(sk, key)) {
			*ts_off = sl_tcp_stamps_offset(sk, key, oif, false);
			err = bind_to(sk, key, key->lport, oif);
			if (err == -EADDRINUSE && share)
				err = bind_shared(sk, key, oif);
		}
		if (err < 0)
			key->lport = 0;
	}
	if (!share)
		learn(n);
	return err;
}

static int choose(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif, uint32_t *ts_off)
{
	uint32_t first = sl_load(&share_first);
	int err = -EADDRINUSE;

	if (sl_unlikely(first))
		sl_store(&share_first, first - 1);
	else
		err = look(sk, key, oif, ts_off, false);
	if (err != -EADDRINUSE || !may_choose(sk))
		return err;
	err = look(sk, key, oif, ts_off, true);
	if (err == 0 && !first)
		sl_store(&share_first, AGAIN);
	return err == -EADDRINUSE && first ? look(sk, key, oif, ts_off, false) : err;
}

struct bind {
	struct sl_addr addr;
	uint16_t port;
	uint8_t bound;
	bool held;
};

/* Turns the lane before it believes that the port is held: the last ACK of a connection may be on
 * its ring. */
static void look_in_lane(struct sl_lane *lane, void *arg)
{
	struct bind *b = arg;
	struct sl_tcp_host *h;

	if (b->held || !sl_lane_lock(lane))
		return;
	h = lane->tcp;
	if (h && sl_tcp_table_binds(h, &b->addr, b->port, b->bound)) {
		sl_lane_turn_locked(lane);
		b->held = sl_tcp_table_binds(h, &b->addr, b->port, b->bound);
	}
	sl_lane_unlock(lane);
}

bool sl_tcp_port_is_held(struct sl_sock *sk, const struct sockaddr *addr, socklen_t len)
{
	struct bind b = {0};
	uint32_t scope;

	if (sk->bound_if || sk->local_port || addr->sa_family != sk->family ||
	    sl_addr_from_sockaddr(addr, len, &b.addr, &b.port, &scope) < 0 || !b.port)
		return false;
	sl_tcp_opt_read_v6only(sk);
	b.bound = sl_tcp_port_bound(sk);
	sl_lane_for_each(look_in_lane, &b);
	return b.held;
}

void sl_tcp_port_finish(struct sl_sock *sk, const struct sl_tcp_key *key)
{
	struct sl_lane *lane;
	bool there;

	if (!sl_sock_lock(sk, &lane))
		return;
	there = sl_tcp_knows(lane->tcp, key);
	sl_lane_unlock(lane);
	if (!there)
		return;
	sl_lane_turn(sk->lane);
	sl_tconn_reap();
}

int sl_tcp_port_reserve(struct sl_sock *sk, struct sl_tcp_key *key, uint32_t oif, uint32_t *ts_off)
{
	int err;

	*ts_off = 0;
	if (key->lport) {
		sk->port_over = sk->any_port;
		*ts_off = sl_tcp_stamps_offset(sk, key, oif, true);
		return 0;
	}
	err = choose(sk, key, oif, ts_off);
	/* Ended connections that are kept to answer their peers hold port numbers, too. */
	if (err == -EADDRINUSE && sl_tconn_hurry(0))
		err = choose(sk, key, oif, ts_off);
	if (err == 0) {
		sl_sock_set_local(sk, &key->local, key->lport, oif);
	} else {
		err = bind_to(sk, key, 0, oif);
		if (err == 0)
			err = sl_sock_read_names(sk);
		key->lport = sk->local_port;
		*ts_off = err == 0 ? sl_tcp_stamps_offset(sk, key, oif, true) : 0;
	}
	sk->named = err == 0;
	key->lport = sk->local_port;
	return err < 0 ? err : key->lport ? 0 : -EADDRNOTAVAIL;
}
