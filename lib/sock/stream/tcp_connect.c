/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a TCP socket that connects: connect(2), names, shutdown(2).
 *
 * Theory of operation: until connect() a TCP socket is a plain kernel socket that we watch. Then
 * rules and routes decide. For a connection of ours the kernel socket stays unconnected; it is
 * bound to the address that the connection has, with a port (tcp_port.c), so that no
 * other socket gets it; the exact flow is claimed; and our SYN goes out. Anything that does not fit
 * (no device, no neighbour, no port) makes it the kernel's connect, and the socket the kernel's
 * for good. A call that must not block does not wait until its device is opened: claim and SYN
 * follow (opening.c). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/net_tstamp.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/sys.h"
#include "net/rtnl.h"
#include "sock/core/endpoint.h"
#include "sock/core/errq.h"
#include "sock/core/extra.h"
#include "sock/core/life.h"
#include "sock/stream/stream.h"
#include "sock/stream/swap.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/restart.h"

/* How long a connection may wait for its neighbour, in steps of SL_NEIGH_STEP_NS, until the kernel
 * connects, which reports a neighbour that does not answer. */
#define NEIGH_STEPS          20 /* a call waits for the connection */
#define NEIGH_STEPS_NONBLOCK 1

/* Where a connection is to go. */
struct goal {
	struct sl_tcp_key key;
	struct sl_port *port; /* NULL: it is being opened (coming) */
	uint32_t oif, ifindex;
	uint32_t ts_off; /* of the kernel's time stamps; 0: not known */
	bool coming;
	bool by_port;        /* the rules are to be asked again with the local port */
	uint8_t neigh_steps; /* as in struct sl_tconn */
};

/* Deciding --------------------------------------------------------------------------------------
 */

static uint8_t steps_of(const struct sl_sock *sk)
{
	return sk->nonblock ? NEIGH_STEPS_NONBLOCK : NEIGH_STEPS;
}

/* Looks for the neighbour. A connection may start without it: the SYN, which is lost, has the
 * kernel resolve it, and goes once more when it is known (opening.c), or, where the neighbour may
 * be away with the link, when its timer says so. False: no memory. */
static bool find_neigh(const struct sl_sock *sk, uint32_t ifindex, const struct sl_addr *nexthop,
		       struct goal *g)
{
	struct sl_neigh *n = sl_neigh_get(ifindex, nexthop);
	uint8_t mac[6];
	uint32_t seq;

	if (!n)
		return false;
	if (g->coming)
		g->neigh_steps = NEIGH_STEPS; /* the keeper takes it from there */
	if (sl_neigh_read(n, mac, &seq))
		return true;
	if (g->coming)
		sl_neigh_use(n); /* the kernel resolves it meanwhile */
	else if (!sl_port_restarts(g->port))
		g->neigh_steps = steps_of(sk);
	return true;
}

/* True: claim and SYN may follow when the device is open. (What a SYN with data, or one whose
 * hardware stamp is wanted, needs of the device is asked at once; and the longest segment that the
 * device can receive is known only then, if the MTU exceeds a frame.) */
static bool may_follow(const struct sl_sock *sk, uint32_t ifindex)
{
	struct sl_link link;

	return sk->nonblock && !sk->tfo_now && !sk->tfo_connect && !(sk->want & SL_WANT_HW_STAMP) &&
	       !sl_errq_flags(sk) && sl_link_get(ifindex, &link) && link.mtu <= sl_pool.mtu;
}

/* False: there is none, nor will be soon. */
static bool find_port(const struct sl_sock *sk, uint32_t ifindex, struct goal *g)
{
	g->ifindex = ifindex;
	g->port = may_follow(sk, ifindex) ? sl_port_open_soon(ifindex, 0, &g->coming)
					  : sl_port_open(ifindex);
	return g->coming || (g->port && sl_load(&g->port->stats->alive));
}

/* True: the SYN met no neighbour, though find_neigh() did. The keeper has heard meanwhile that the
 * kernel has forgotten it. */
static bool has_lost_neigh(const struct sl_tconn *c, const struct goal *g)
{
	const struct sl_dst *d = c->path ? c->path->d : NULL;

	return !c->neigh_steps && d && !c->path->leg && d->leg && d->neigh && !d->mac_ok &&
	       !sl_port_restarts(g->port);
}

static uint32_t device_for(const struct sl_sock *sk, const struct sl_addr *dst, uint32_t scope)
{
	if (sk->bound_if)
		return sk->bound_if;
	if (sl_addr_is_linklocal(dst))
		return scope ? scope : sk->local_scope;
	return sk->unicast_oif;
}

static enum sl_rule_action ask_rules(const struct goal *g)
{
	return sl_port_decide(g->port, SL_ROLE_TCP_CLIENT, &g->key.remote, g->key.rport,
			      &g->key.local, g->key.lport);
}

/* Finds the port for dst. SL_REASON_NONE: we can connect; else the reason why the kernel must. */
static enum sl_reason find_way(struct sl_sock *sk, const struct sl_addr *dst, uint16_t port,
			       uint32_t scope, struct goal *g)
{
	struct sl_route_key key = {
		.dst = *dst,
		.oif = device_for(sk, dst, scope),
		.tos = sl_sock_tos(sk, dst),
		.mark = sk->mark,
	};
	enum sl_rule_action action;
	struct sl_route route;

	if (sk->bound_addr)
		key.src = sk->local;
	else if (sl_addr_is_v4(dst))
		key.src = sl_addr_v4(0);
	if (port == 0 || sl_addr_is_any(dst) || sl_addr_is_multicast(dst) ||
	    (sl_addr_is_v4(dst) && sk->v6only) ||
	    (sk->bound_addr && sl_addr_is_v4(&sk->local) != sl_addr_is_v4(dst)) ||
	    (sk->family == AF_INET6 && sl_addr_is_v4(&sk->local) && !sl_addr_is_v4(dst)))
		return SL_REASON_LOCAL; /* the kernel knows what to say */
	sl_route_key_ports(&key, IPPROTO_TCP, sk->local_port, port);
	if (sl_route_recall(&key, sl_now_ns(), &route) < 0 || route.kind != SL_ROUTE_DEVICE)
		return SL_REASON_LOCAL;
	if (!find_port(sk, route.ifindex, g))
		return SL_REASON_NO_DEVICE;
	g->oif = key.oif;
	g->key.local = sk->bound_addr ? sk->local : route.src;
	g->key.lport = sk->local_port;
	g->key.remote = *dst;
	g->key.rport = port;
	action = ask_rules(g);
	if (action == SL_RULE_OS)
		return SL_REASON_RULE;
	g->by_port = action == SL_RULE_NONE;
	if (sl_strays_from(&g->key.local, dst))
		return SL_REASON_STRAY;
	if (!sk->nonblock)
		sl_port_wait_link(g->port);
	if (!find_neigh(sk, route.ifindex, &route.nexthop, g))
		return SL_REASON_NO_DEVICE;
	return SL_REASON_NONE;
}

/* Sends the SYN, on the lane. 0 or -errno; then there is no connection. */
static int open_conn(struct sl_sock *sk, struct sl_tconn *c, const struct goal *g)
{
	struct sl_lane *lane;
	int err;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	sl_lane_tcp_begin(lane);
	sl_tcp_init(&c->tcp, lane->tcp);
	c->tcp.ts_off = g->ts_off;
	sl_tconn_set_sock(c, sk);
	c->oif = g->oif;
	c->neigh_steps = g->neigh_steps;
	c->coming = g->coming;
	if (sl_unlikely(g->neigh_steps))
		sl_opening_add();
	sl_tconn_ip_options(c, sk, &g->key.remote);
	sl_tcp_opt_apply(sk, c);
	sl_tcp_fastopen_choose(sk, &c->tcp, &g->key);
	sl_tconn_make_way(lane->tcp, &g->key);
	err = sl_tcp_connect(&c->tcp, &g->key);
	if (err == 0) {
		sl_store_release(&sk->conn, c);
		sl_extra_connected(sk);
		sl_store(&sk->state, SL_STATE_OFFLOADED);
		sk->phase = SL_CONNECTING;
		sl_store(&sk->error, 0);
		c->tcp.rx_shut = sk->shut & 1;
		c->tcp.tx_shut = sk->shut & 2;
	} else {
		sl_tcp_fini(&c->tcp);
	}
	sl_lane_tcp_done(lane);
	if (err == 0 && sl_unlikely(has_lost_neigh(c, g))) {
		c->neigh_steps = steps_of(sk);
		sl_opening_add();
		sl_rtnl_wake(); /* it may have resolved it already, and sleep */
	}
	if (err == 0)
		sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
	return err;
}

void sl_tcp_sock_show(struct sl_sock *sk, const struct sl_tcp_key *k)
{
	struct sl_sock_stats *s = sk->stats;

	s->lane = sk->lane->id;
	s->local = k->local;
	s->local_port = k->lport;
	s->remote = k->remote;
	s->remote_port = k->rport;
	s->state = sk->state;
	s->reason = SL_REASON_NONE;
}

/* Claims the flow and sends SYN. *reason: why the kernel shall connect, when -EREMOTE. */
static int start(struct sl_sock *sk, struct goal *g, enum sl_reason *reason)
{
	struct sl_tconn *c = NULL;
	struct sl_lane *lane;
	struct sl_leg *leg;
	int err;

	*reason = SL_REASON_MEMORY;
	if (!sl_sock_take_lane(sk, g->ifindex) || !sl_lane_tcp(sk->lane))
		return -EREMOTE;
	if (g->key.lport)
		sl_tcp_port_finish(sk, &g->key);
	leg = g->port ? sl_lane_leg(sk->lane, g->port) : NULL;
	if (leg && ((sl_unlikely(sl_errq_flags(sk) & SOF_TIMESTAMPING_TX_HARDWARE) &&
		     sl_errq_is_os(leg)) ||
		    !sl_sock_wants_port(sk, leg->port))) {
		*reason = SL_REASON_OPTION;
		return -EREMOTE;
	}
	if (leg || g->coming)
		c = sl_tconn_new(sk->lane);
	if (!c)
		return -EREMOTE;
	*reason = SL_REASON_CLAIM;
	err = sl_tcp_port_reserve(sk, &g->key, g->oif, &g->ts_off) ? -ENOMEM : 0;
	if (err == 0 && sl_unlikely(g->by_port) && ask_rules(g) == SL_RULE_OS) {
		*reason = SL_REASON_RULE;
		err = -EREMOTE;
	}
	if (err == 0 && leg)
		err = sl_tconn_claim(c, leg, &g->key, sk->fd, NULL);
	if (err == -EADDRINUSE) { /* the claim of a connection that is over */
		sl_tconn_reap();
		err = sl_tconn_claim(c, leg, &g->key, sk->fd, NULL);
	}
	if (err == -EADDRINUSE && sl_tconn_end_over(&g->key))
		err = sl_tconn_claim(c, leg, &g->key, sk->fd, NULL);
	if (err == 0)
		err = open_conn(sk, c, g);
	if (err == 0) {
		if (sl_unlikely(sk->want & SL_WANT_HW_STAMP))
			sl_tcp_sock_claim_flags(sk);
		if (sl_unlikely(g->port && sl_port_restarts(g->port)))
			sl_store(&sl_tconn_awaited, true);
		if (sl_unlikely(g->coming))
			sl_rtnl_wake();
		sl_tcp_sock_show(sk, &g->key);
		return 0;
	}
	if (sl_sock_lock(sk, &lane)) {
		sl_tconn_free(c, false);
		sl_lane_unlock(lane);
	}
	return err == -EADDRINUSE ? -EADDRNOTAVAIL : -EREMOTE;
}

/* Calls -----------------------------------------------------------------------------------------
 */

static ssize_t is_open(void *arg)
{
	struct sl_sock *sk = arg;
	struct sl_lane *lane;
	struct sl_tconn *c;
	ssize_t r = 0;

	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	sl_lane_turn_locked(lane);
	c = sk->conn;
	if (!c)
		r = -EREMOTE;
	else if (sl_tconn_is_connecting(c))
		r = -EAGAIN;
	sl_lane_unlock(lane);
	return r;
}

/* Undoes a shutdown(2) from before the connection, by tcp_disconnect(), which also is a SIGIO for a
 * program that has set O_ASYNC on a connection that was over. */
static void open_again(struct sl_sock *sk)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

	if (!sk->shut && !(sl_sys_fcntl(sk->fd, F_GETFL, 0) & O_ASYNC))
		return;
	sk->shut = 0;
	(void)sl_sys_connect(sk->fd, &nowhere, sizeof(nowhere));
}

/* The connection has come to its end: the socket can be used once more. err: for the next call.
 * Lane held. */
static void forget_conn(struct sl_sock *sk, int err)
{
	struct sl_tconn *c = sk->conn;

	open_again(sk);
	sl_store(&sk->error, err);
	sl_store_release(&sk->conn, NULL);
	sk->phase = SL_UNCONNECTED;
	sl_store(&sk->state, SL_STATE_NEW);
	c->sk = NULL;
	sl_tcp_fini(&c->tcp);
	sl_tconn_free(c, false);
}

/* The result of connect(2), like the end of inet_stream_connect(). err: the result while the
 * connection is still being made. */
static int outcome(struct sl_sock *sk, int err)
{
	struct sl_lane *lane;
	struct sl_tconn *c;

	if (!sl_sock_lock(sk, &lane))
		return -EALREADY;
	c = sk->conn;
	if (!c) { /* shutdown(2) has ended it */
		err = sl_sock_kept_error(sk);
		err = err ? -err : -ECONNABORTED;
	} else if (c->tcp.state == SL_TCP_CLOSED && sk->phase != SL_CONNECTED) {
		err = sl_tconn_take_error(c);
		err = err ? -err : -ECONNABORTED;
		forget_conn(sk, 0);
		sl_sock_notify(sk, 0); /* tcp_disconnect() */
	} else if (!sl_tconn_is_connecting(c)) {
		sk->phase = SL_CONNECTED;
		err = 0;
	}
	sl_lane_unlock(lane);
	return err;
}

/* Handed back while connecting: the kernel's connect() waits for the connection. unfinished: the
 * result if that takes longer than SO_SNDTIMEO. */
static int wait_kernel(struct sl_sock *sk, int fd, int unfinished)
{
	struct sockaddr_storage ss = {.ss_family = sk->family};
	int err = sl_sock_kept_error(sk);

	if (err)
		return -err;
	/* In this state the address is not looked at. (The number may be another file's by now.) */
	err = (int)sl_sys_cancel(SYS_connect, sl_sock_number(sk, fd), &ss, sizeof(ss));
	return err == -EISCONN ? 0 : err == -EALREADY ? unfinished : err;
}

static int wait_open(struct sl_sock *sk, int fd, int err, const struct sl_begun *b)
{
	ssize_t r;

	if (sk->nonblock && err == -EINPROGRESS)
		return err;
	r = is_open(sk);
	if (r == -EAGAIN && sk->nonblock)
		return err;
	if (r == -EAGAIN && sl_unlikely(sl_sock_is_interrupted(b)))
		return -EINTR;
	if (r == -EAGAIN)
		r = sl_sock_block(sk, fd, b->deadline, is_open, sk);
	if (r == -ETIMEDOUT || r == -EDEADLK)
		return err;
	if (r == -EINTR || r == -EBADF)
		return (int)r;
	if (r == -EREMOTE && sl_load(&sk->state) == SL_STATE_KERNEL)
		return wait_kernel(sk, fd, err);
	return outcome(sk, err);
}

/* The kernel has ended the listener (inet_shutdown(), tcp_disconnect(), inet_csk_listen_stop()): so
 * do we, and the kernel's socket answers from now on. */
static void end_listener(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool there = false;

	if (sl_sock_lock(sk, &lane)) {
		there = sk->lsn;
		if (there)
			sk->lsn->ended = true;
		sl_lane_unlock(lane);
	}
	if (there)
		sl_sock_kernel(sk, SL_REASON_RUNTIME);
}

/* The error that tcp_disconnect() leaves in sk_err. */
static int error_of_disconnect(const struct sl_tcp *t)
{
	switch (t->state) {
	case SL_TCP_CLOSED:
		return t->error; /* not read yet */
	case SL_TCP_LAST_ACK:
	case SL_TCP_CLOSING:
		return t->fin_sent ? 0 : ECONNRESET;
	default:
		return ECONNRESET;
	}
}

/* connect(2) of AF_UNSPEC: tcp_disconnect(). */
static int disconnect(struct sl_sock *sk)
{
	struct sl_lane *lane;
	int err;

	sl_lock(&sk->slow);
	if (sk->lsn) {
		sl_unlock(&sk->slow);
		return -EREMOTE;
	}
	if (sl_sock_lock(sk, &lane)) {
		if (sk->conn) {
			sl_lane_tcp_begin(lane);
			err = error_of_disconnect(&sk->conn->tcp);
			sl_tcp_abort(&sk->conn->tcp, 0);
			forget_conn(sk, err);
			sl_lane_tcp_done(lane);
			sl_sock_notify(sk, 0);
		} else {
			open_again(sk);
		}
		sl_lane_unlock(lane);
	}
	sl_unlock(&sk->slow);
	return 0;
}

static int connect_new(struct sl_sock *sk, const struct sockaddr *addr, socklen_t len,
		       enum sl_reason *reason)
{
	struct goal g = {0};
	struct sl_addr dst;
	uint32_t scope;
	uint16_t port;

	*reason = SL_REASON_LOCAL;
	if (sk->lsn)
		return -EISCONN;
	if (!addr || sl_addr_from_sockaddr(addr, len, &dst, &port, &scope) < 0 ||
	    (sk->family == AF_INET && addr->sa_family != AF_INET) ||
	    (sk->family == AF_INET6 && addr->sa_family != AF_INET6))
		return -EREMOTE;
	if (sl_unlikely(sk->named))
		sl_swap_unname(sk);
	sl_tcp_opt_read_v6only(sk);
	*reason = find_way(sk, &dst, port, scope, &g);
	if (*reason != SL_REASON_NONE)
		return -EREMOTE;
	return start(sk, &g, reason);
}

/* True: the SYN waits for the first data (TCP_FASTOPEN_CONNECT). */
static bool is_deferred(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_load(&c->tcp.tfo_defer);
}

int sl_tcp_sock_wait_open(struct sl_sock *sk, int fd)
{
	struct sl_begun b = sl_sock_begin(sk->sndtimeo_ns);

	return wait_open(sk, fd, -EINPROGRESS, &b);
}

/* The result of connect(2) on a socket that was handed back before a call had the outcome: the
 * kernel takes a connection that was restored for one that the program knows of. */
static int first_outcome(struct sl_sock *sk, int fd, int err)
{
	bool over = err == -EISCONN && sl_swap_is_closed(fd);
	struct sockaddr_storage nowhere = {.ss_family = AF_UNSPEC};

	if (over) {
		err = sl_sock_get_int(sk, SOL_SOCKET, SO_ERROR);
		err = err > 0 ? -err : -ECONNABORTED;
		(void)sl_sys_connect(fd, &nowhere, sizeof(nowhere));
	} else if (err == -EISCONN) {
		err = 0;
	}
	if (err == 0 || over)
		sk->phase = over ? SL_UNCONNECTED : SL_CONNECTED;
	return err;
}

/* Connects by the kernel. A SYN that the kernel sends clears an earlier connection's leavings
 * (tcp_connect_init()); a call that fails before the SYN does not. */
static int connect_kernel(struct sl_sock *sk, int fd, const struct sockaddr *addr, socklen_t len)
{
	int err = (int)sl_sys_cancel(SYS_connect, fd, addr, len);

	if (sl_unlikely(sk->phase == SL_DISCONNECTING) && err == -EISCONN)
		return -EINVAL;
	if (err == 0 && addr->sa_family == AF_UNSPEC)
		sk->phase = SL_UNCONNECTED;
	else if (sl_unlikely(sk->phase == SL_CONNECTING))
		err = first_outcome(sk, fd, err);
	switch (err) {
	case 0:
	case -EINPROGRESS:
	case -EINTR:
	case -ECONNREFUSED:
	case -ETIMEDOUT:
		sl_store(&sk->error, 0);
		break;
	}
	return err;
}

int sl_tcp_sock_fastopen(struct sl_sock *sk, const struct msghdr *msg)
{
	const struct sockaddr *addr = msg ? msg->msg_name : NULL;
	enum sl_reason reason = SL_REASON_NONE;
	socklen_t len = addr ? msg->msg_namelen : 0;
	int err = -EREMOTE;
	bool kernels;

	sl_tconn_reap_many();
	kernels = sl_load(&sk->state) == SL_STATE_KERNEL;
	if (kernels && sk->phase != SL_CONNECTING)
		return -EREMOTE;
	if (!sl_tcp_fastopen_is_on() ||
	    (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC))
		return -EOPNOTSUPP;
	if (kernels) /* no call has had the outcome */
		return addr ? connect_kernel(sk, sk->fd, addr, len) : -EREMOTE;
	sl_lock(&sk->slow);
	sk->tfo_now = true;
	if (sk->state != SL_STATE_KERNEL && !sk->conn)
		err = connect_new(sk, addr, len, &reason);
	else if (sk->state != SL_STATE_KERNEL)
		err = sk->phase == SL_CONNECTED       ? -EISCONN
		      : sk->phase == SL_DISCONNECTING ? -EINVAL
		      : is_deferred(sk)               ? 0
						      : -EALREADY;
	sk->tfo_now = false;
	sl_unlock(&sk->slow);
	if (err == -EALREADY && is_open(sk) == 0) /* no connect(2) has had the outcome */
		err = outcome(sk, err);
	if (err == -EREMOTE && reason != SL_REASON_NONE)
		sl_sock_kernel(sk, reason);
	return err;
}

int sl_tcp_sock_connect(struct sl_sock *sk, int fd, const struct sockaddr *addr, socklen_t len)
{
	enum sl_reason reason = SL_REASON_NONE;
	struct sl_begun b = sl_sock_begin(sk->sndtimeo_ns);
	int err = -EREMOTE;

	sl_tconn_reap_many();
	if (sl_load(&sk->state) == SL_STATE_KERNEL)
		return connect_kernel(sk, fd, addr, len);
	if (len < sizeof(addr->sa_family) || len > sizeof(struct sockaddr_storage))
		return -EINVAL; /* whatever its state is */
	if (sl_guard_touch(addr, len))
		return -EFAULT;
	if (addr->sa_family == AF_UNSPEC) {
		err = disconnect(sk);
		if (err != -EREMOTE)
			return err;
		/* A listener stops listening. */
		err = sl_sys_connect(fd, addr, len);
		if (err == 0)
			end_listener(sk);
		return err;
	}
	sl_lock(&sk->slow);
	if (sk->state == SL_STATE_KERNEL)
		err = -EREMOTE;
	else if (!sk->conn)
		err = connect_new(sk, addr, len, &reason);
	else if (sk->phase == SL_CONNECTED)
		err = -EISCONN;
	else
		err = sk->phase == SL_DISCONNECTING ? -EINVAL : -EALREADY;
	sl_unlock(&sk->slow);
	if (is_deferred(sk))
		return err == 0 ? 0 : -EISCONN;
	if (err == 0)
		return wait_open(sk, fd, -EINPROGRESS, &b);
	if (err == -EALREADY)
		return wait_open(sk, fd, err, &b);
	if (err != -EREMOTE)
		return err;
	if (reason != SL_REASON_NONE)
		sl_sock_kernel(sk, reason);
	return connect_kernel(sk, fd, addr, len);
}

/* Like inet_getname(). Turns the lane first: a reset on its ring may have ended the connection. */
int sl_tcp_sock_name(struct sl_sock *sk, bool peer, struct sockaddr *addr, socklen_t *len)
{
	struct sl_tcp_key key;
	struct sl_lane *lane;
	int err = -EREMOTE;

	if (!sl_sock_lock(sk, &lane))
		return -EREMOTE;
	if (peer)
		sl_lane_turn_locked(lane);
	if (sk->conn) {
		uint8_t state = sk->conn->tcp.state;

		key = sk->conn->tcp.node.key;
		err = peer && (state == SL_TCP_CLOSED || state == SL_TCP_SYN_SENT) ? -ENOTCONN : 0;
		if (!peer && sk->local_port != key.lport)
			err = -EREMOTE; /* bound anew after its connection */
	}
	sl_lane_unlock(lane);
	if (err == 0 && (!addr || sl_guard_touch_out(len, sizeof(*len))))
		return -EFAULT;
	if (err == 0 && *len > INT_MAX)
		return -EINVAL; /* move_addr_to_user() */
	if (err == 0)
		err = sl_addr_to_sockaddr(peer ? &key.remote : &key.local,
					  peer ? key.rport : key.lport, sk->local_scope, sk->family,
					  addr, len);
	return err;
}

static int shutdown_conn(struct sl_sock *sk, struct sl_lane *lane, int how)
{
	struct sl_tcp *t = &sk->conn->tcp;
	int err;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	if (t->state == SL_TCP_SYN_SENT) { /* tcp_disconnect() */
		forget_conn(sk, ECONNRESET);
		sl_sock_notify(sk, EPOLLOUT | EPOLLHUP | EPOLLERR);
		return 0;
	}
	if (sk->phase == SL_CONNECTING) /* inet_shutdown() */
		sk->phase = t->state == SL_TCP_CLOSED ? SL_DISCONNECTING : SL_CONNECTED;
	sl_lane_tcp_begin(lane);
	err = sl_tcp_shutdown(t, how != SHUT_WR, how != SHUT_RD);
	sl_lane_tcp_done(lane);
	sl_sock_notify(sk, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP);
	return err;
}

int sl_tcp_sock_shutdown(struct sl_sock *sk, int fd, int how)
{
	struct sl_lane *lane;
	int err = -EREMOTE;

	if (sl_sock_lock(sk, &lane)) {
		if (sk->conn)
			err = shutdown_conn(sk, lane, how);
		sl_lane_unlock(lane);
	}
	if (err != -EREMOTE)
		return err;
	if (sl_unlikely(sk->phase == SL_CONNECTING) && sl_load(&sk->state) == SL_STATE_KERNEL)
		sk->phase = sl_swap_is_closed(fd) ? SL_DISCONNECTING : SL_CONNECTED;
	/* A listener stops listening; what is not connected is shut nevertheless. */
	err = sl_sysi(SYS_shutdown, fd, how);
	if (err == 0 && how != SHUT_WR)
		end_listener(sk);
	if (err == -ENOTCONN && sl_sock_lock(sk, &lane)) {
		sk->shut |= (uint8_t)(how + 1);
		sl_sock_notify(sk, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP);
		sl_lane_unlock(lane);
	}
	return err;
}
