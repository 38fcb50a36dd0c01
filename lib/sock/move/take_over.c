/* SPDX-License-Identifier: BSD-2-Clause */
/* Take-over: the kernel's connection behind a descriptor becomes ours, and goes on.
 *
 * Theory of operation: hand-back (move/hand_back.c) the other way round. Ours is there first,
 * frozen: its flow is claimed, and what comes is dropped from then on and will be sent again. Then
 * the kernel's socket is frozen and read, its state goes into ours, and the program's calls find
 * ours, frozen still, with queues full or empty. Only now the kernel forgets the connection, so
 * that no thread sees its socket closed, and ours lives. A failure before that leaves the kernel's
 * as it was. A daemon reads it only when no other process has it: the numbers get a new shadow
 * first.
 *
 * A call that is in the kernel with the socket would take bytes that were copied already: calls of
 * ours are counted (sl_sock_in_kernel), and while there is one the connection stays the kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/tcp.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "ctl/lease/image.h"
#include "sock/core/endpoint.h"
#include "sock/core/extra.h"
#include "sock/core/life.h"
#include "sock/move/move.h"
#include "sock/poll/epoll.h"
#include "sock/move/heirs.h"
#include "sock/repair/repair.h"
#include "sock/move/restore.h"
#include "sock/stream/stream.h"
#include "sock/stream/swap.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"

#define TRIES 5

struct take {
	struct sl_sock *sk;
	struct sl_tcp_key key;
	uint32_t oif;
	struct sl_port *port;
	struct sl_leg *leg;
	struct sl_tconn *c;
	struct sl_repair_taken t;
};

/* Where from, where to --------------------------------------------------------------------------
 */

static int get_name(int fd, long nr, struct sl_addr *a, uint16_t *port, uint32_t *scope)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int err = sl_sysi(nr, fd, &ss, &len);

	return err ? err : sl_addr_from_sockaddr((struct sockaddr *)&ss, len, a, port, scope);
}

static int get_names(struct take *x)
{
	int fd = x->sk->fd, err;
	uint32_t scope = 0;

	err = get_name(fd, SYS_getsockname, &x->key.local, &x->key.lport, &scope);
	if (!err)
		err = get_name(fd, SYS_getpeername, &x->key.remote, &x->key.rport, &scope);
	x->oif = x->sk->bound_if ? x->sk->bound_if : scope;
	return err;
}

static bool is_ours_by_rule(const struct take *x)
{
	const struct sl_tcp_key *k = &x->key;

	return (x->sk->server
			? sl_port_decide(x->port, SL_ROLE_TCP_SERVER, &k->local, k->lport, NULL, 0)
			: sl_port_decide(x->port, SL_ROLE_TCP_CLIENT, &k->remote, k->rport,
					 &k->local, k->lport)) != SL_RULE_OS;
}

/* False: the kernel has told the peer a larger MSS than fits our way in. Larger segments would go
 * to the kernel, which would not know the connection. */
static bool fits_port(const struct take *x)
{
	const struct sl_sock *sk = x->sk;
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	uint32_t mss = sk->told_mss, hdr = sl_addr_is_v4(&x->key.remote) ? 40 : 60;

	if (!mss && sl_sys_getsockopt(sk->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return true; /* it will be seen that it is no connection */
	if (!mss)
		mss = info.tcpi_advmss + 12; /* less what its time stamps take */
	return mss + hdr <= sl_port_rx_mtu(x->port);
}

static int find_route(struct take *x, struct sl_route *route)
{
	struct sl_route_key rk = {
		.dst = x->key.remote,
		.src = x->key.local,
		.oif = x->oif,
		.mark = x->sk->mark,
	};
	int err = get_names(x);

	if (err)
		return err;
	rk.dst = x->key.remote;
	rk.src = x->key.local;
	rk.oif = x->oif;
	rk.tos = sl_sock_tos(x->sk, &x->key.remote);
	sl_route_key_ports(&rk, IPPROTO_TCP, x->key.lport, x->key.rport);
	return sl_route_get(&rk, route) < 0 || route->kind != SL_ROUTE_DEVICE ? -EREMOTE : 0;
}

/* slow is held, so that this process does not pass the socket on meanwhile. */
int sl_sock_is_sole(const struct sl_sock *sk)
{
	int n = sk->given ? sl_broker_holders(sk->fd) : INT_MAX;

	return n < 0 ? n : n <= (int)sk->nfds ? 0 : -EBUSY;
}

static bool is_listener_of(struct sl_sock *sk, void *arg)
{
	const struct take *x = arg;
	const struct sl_tcp_key *k = &x->key;

	return sl_load_acquire(&sk->lsn) && sl_load(&sk->local_port) == k->lport &&
	       (!sk->bound_addr || sl_addr_eq(&sk->local, &k->local)) &&
	       sl_load(&sk->lane) != &sl_limbo;
}

static bool is_in_its_lane(struct sl_sock *sk, void *arg)
{
	const struct take *x = arg;

	return is_listener_of(sk, arg) && sl_load(&sk->lane)->id + 1 == x->sk->lane_was;
}

/* A connection that came by a listener enters the listener's lane, as it would have been made
 * there: until its own claim is on a device that is new, its segments meet the listener, which
 * resets what its lane does not know. Of several listeners on the port it is the one in whose lane
 * the connection was. */
static bool take_lane(struct take *x, uint32_t ifindex)
{
	struct sl_sock *sk = x->sk, *lsn = NULL;

	if (sk->server && sl_load(&sk->lane) == &sl_limbo) {
		lsn = sk->lane_was ? sl_sock_find(is_in_its_lane, x) : NULL;
		if (!lsn)
			lsn = sl_sock_find(is_listener_of, x);
	}
	return lsn ? sl_sock_enter_lane(sk, sl_load(&lsn->lane)) : sl_sock_take_lane(sk, ifindex);
}

static int find_way(struct take *x, bool given)
{
	struct sl_route route;
	int err = find_route(x, &route);
	bool taken;

	if (err)
		return err;
	/* Whether other processes hold the socket is known at the price of loading a BPF program,
	 * so the cheap question comes first. (A parent that has the device passes sockets to its
	 * workers.) */
	taken = sl_port_is_taken(route.ifindex);
	if (given && !taken)
		err = sl_sock_is_sole(x->sk);
	if (err)
		return err;
	x->port = sl_port_open(route.ifindex);
	if (!x->port || !sl_load(&x->port->stats->alive) || !is_ours_by_rule(x))
		return -EREMOTE;
	if (given && taken) /* (its owner has just ended) */
		err = sl_sock_is_sole(x->sk);
	if (err)
		return err;
	if (!fits_port(x))
		return -EMSGSIZE;
	if (!take_lane(x, route.ifindex) || !sl_lane_tcp(x->sk->lane))
		return -ENOMEM;
	x->leg = sl_lane_leg(x->sk->lane, x->port);
	return x->leg ? 0 : -EREMOTE;
}

/* Steps and the ways back -----------------------------------------------------------------------
 */

/* Ours is in the table, frozen: what comes for it is dropped. */
static int prepare(struct take *x)
{
	struct sl_sock *sk = x->sk;
	struct sl_lane *lane;
	int err;

	x->c = sl_tconn_new(sk->lane);
	if (!x->c)
		return -ENOMEM;
	if (!sl_sock_lock(sk, &lane))
		return -EDEADLK;
	sl_lane_tcp_begin(lane);
	sl_tcp_init(&x->c->tcp, lane->tcp);
	x->c->tcp.child = sk->server;
	x->c->oif = x->oif;
	sl_tconn_ip_options(x->c, sk, &x->key.remote);
	sl_tcp_opt_apply(sk, x->c);
	sl_tconn_make_way(lane->tcp, &x->key);
	err = sl_tcp_repair_reserve(&x->c->tcp, &x->key);
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
	return err;
}

static int take_kernel(struct take *x)
{
	int err = -EAGAIN;

	for (unsigned i = 0; i < TRIES && err == -EAGAIN; i++)
		err = sl_repair_take(x->sk->fd, &x->t);
	return err;
}

static int import(struct take *x)
{
	struct sl_tcp *t = &x->c->tcp;
	struct sl_lane *lane;
	int err;

	if (!sl_sock_lock(x->sk, &lane))
		return -EDEADLK;
	sl_lane_tcp_begin(lane);
	err = sl_tcp_repair_set(t, &x->t.r);
	if (!err && x->t.r.rcvq)
		err = sl_tcp_repair_add_rcvq(t, x->t.rcvq.p, x->t.r.rcvq);
	if (!err && x->t.r.sndq)
		err = sl_tcp_repair_add_sndq(t, x->t.sndq.p, x->t.r.sndq);
	if (!err)
		err = sl_tcp_repair_start(t, &x->t.r);
	sl_lane_tcp_done(lane);
	sl_lane_unlock(lane);
	return err;
}

/* Puts our connection in the socket, where the program's calls find it. */
static void attach(struct take *x)
{
	struct sl_sock *sk = x->sk;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sl_tconn_set_sock(x->c, sk);
	sk->phase = SL_CONNECTED;
	sl_store_release(&sk->conn, x->c);
	sl_extra_connected(sk);
	sl_store(&sk->state, SL_STATE_OFFLOADED);
	sl_sock_notify(sk, 0);
	sl_lane_unlock(lane);
	sl_tcp_sock_show(sk, &x->key);
}

static void let_go_on(struct take *x)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(x->sk, &lane))
		return;
	sl_lane_tcp_begin(lane);
	sl_tcp_repair_thaw(&x->c->tcp);
	sl_lane_tcp_done(lane);
	sl_sock_notify(x->sk, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI);
	sl_lane_unlock(lane);
}

/* No lane again, until the next try. */
static void give_lane_back(struct sl_sock *sk)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (lane != &sl_limbo) {
		__atomic_fetch_sub(&lane->users, 1, __ATOMIC_RELAXED);
		sl_store_release(&sk->lane, &sl_limbo);
		sl_lane_moved();
	}
	sl_lane_unlock(lane);
}

static void drop(struct take *x)
{
	struct sl_lane *lane;

	if (!x->c || !sl_sock_lock(x->sk, &lane))
		return;
	x->c->tcp.frozen = false;
	sl_tcp_fini(&x->c->tcp);
	sl_tconn_free(x->c, false);
	sl_lane_unlock(lane);
}

/* Lets the flow pass to the kernel again, though its listener's endpoint is claimed. */
static void leave_it(struct take *x)
{
	if (x->sk->server)
		(void)sl_tconn_let_pass(x->sk->lane, &x->key, x->sk->fd);
}

/* Claims the flow. On failure lets it pass to the kernel again, as a listener of ours may have
 * claimed its endpoint meanwhile. */
static int claim(struct take *x)
{
	int err = sl_tconn_claim(x->c, x->leg, &x->key, x->sk->fd, NULL);

	if (err)
		leave_it(x);
	return err;
}

static void unclaim(struct take *x)
{
	if (x->c->claimed)
		leave_it(x);
	sl_tconn_unclaim(x->c);
}

/* By the daemon -------------------------------------------------------------------------------- */

static uint32_t read_sndq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	memcpy(buf, (const uint8_t *)((struct take *)arg)->t.sndq.p + at, n);
	return n;
}

static uint32_t read_rcvq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	memcpy(buf, (const uint8_t *)((struct take *)arg)->t.rcvq.p + at, n);
	return n;
}

static int read_queue(int file, uint64_t at, struct sl_repair_bytes *q, uint32_t n)
{
	int err = sl_repair_memory(q, n);

	for (uint32_t done = 0; done < n && !err;) {
		long ret = sl_sys(SYS_pread64, file, (uint8_t *)q->p + done, (size_t)(n - done),
				  (long)(at + done));

		if (ret > 0)
			done += (uint32_t)ret;
		else
			err = ret ? (int)ret : -EIO;
	}
	return err;
}

/* Has the daemon read the kernel's socket. It reads only a socket that this process no longer has,
 * so the new shadow takes the numbers first.
 * *file: the memfd with the queues; on error the numbers are what they were, unless the daemon has
 * gone. */
static int give(struct take *x, int *file)
{
	struct sl_sock *sk = x->sk;
	struct sl_lease_take_ok ok;
	int shadow, err;

	*file = sl_fd_dup(sk->fd);
	shadow = *file < 0 ? *file : sl_swap_new(sk);
	err = shadow < 0 ? shadow : sl_swap_file(sk, shadow);
	if (shadow >= 0)
		sl_sys_close(shadow);
	if (!err) {
		err = sl_broker_take(file, &ok) ?: sl_repair_unpack(&ok.conn, false, &x->t.r);
		if (!err)
			return 0;
		if (*file < 0)
			return -ECONNABORTED;
	}
	if (*file >= 0) {
		(void)sl_swap_file(sk, *file);
		sl_sys_close(*file);
	}
	(void)sl_broker_drop_packets(sk->fd, false);
	return err;
}

static void on_live(void *arg)
{
	unclaim(arg);
}

/* Puts a connection that was read, but has no room here, back into the kernel. */
static int put_back(struct take *x)
{
	const struct sl_repair_source src = {
		.sndq = read_sndq, .rcvq = read_rcvq, .live = on_live, .arg = x};
	int fd = sl_restore_kernel(x->sk->fd, &x->t.r, &src);

	return fd < 0 ? -ECONNABORTED : sl_heirs_put(x->sk, fd);
}

static int read_given(struct take *x, int file)
{
	int err = read_queue(file, 0, &x->t.rcvq, x->t.r.rcvq);

	if (!err)
		err = read_queue(file, x->t.r.rcvq, &x->t.sndq, x->t.r.sndq);
	sl_sys_close(file);
	if (!err)
		err = import(x);
	return err ? put_back(x) ?: err : 0;
}

/* A client's port stays its own. (A server's is its listener's.) */
static void keep_port(const struct take *x)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	sl_addr_to_sockaddr(&x->key.local, x->key.lport,
			    sl_addr_is_linklocal(&x->key.local) ? x->oif : 0, x->sk->family,
			    (struct sockaddr *)&ss, &len);
	if (!x->sk->server)
		(void)sl_sys_bind(x->sk->fd, &ss, len);
}

static int take_by_daemon(struct take *x)
{
	struct sl_epoll_moved sets;
	int file, err = sl_broker_may_inject() ?: sl_repair_freeze(x->sk->fd);

	if (err)
		return err;
	sl_epoll_leave_kernel(x->sk, &sets);
	err = give(x, &file);
	if (!err)
		err = read_given(x, file);
	if (!err) {
		keep_port(x);
		attach(x);
	}
	sl_epoll_enter_ours(&sets);
	if (!err)
		let_go_on(x);
	sl_repair_free(&x->t);
	if (err == -ECONNABORTED) {
		sl_warn("tcp", "fd %d: a connection was lost on its way from the kernel",
			x->sk->fd);
		sl_store(&x->sk->error, ECONNABORTED);
	}
	return err;
}

static int take_claimed(struct take *x)
{
	struct sl_epoll_moved sets;
	int err = take_kernel(x);

	if (err)
		return err;
	err = import(x);
	if (err) {
		unclaim(x);
		sl_repair_cancel(x->sk->fd, &x->t);
		sl_repair_free(&x->t);
		return err;
	}
	sl_epoll_leave_kernel(x->sk, &sets);
	attach(x);
	err = sl_repair_leave(x->sk->fd, &x->t);
	if (err)
		sl_warn("tcp", "fd %d: the kernel keeps a connection that was taken over: %s",
			x->sk->fd, strerrorname_np(-err));
	sl_epoll_enter_ours(&sets);
	let_go_on(x);
	sl_repair_free(&x->t);
	return 0;
}

static int take(struct take *x, bool given)
{
	int err = find_way(x, given);

	if (!err)
		err = prepare(x);
	if (!err)
		err = claim(x);
	if (!err) {
		err = sl_broker_is_leased() ? take_by_daemon(x) : take_claimed(x);
		if (err)
			unclaim(x);
	}
	if (err) {
		drop(x);
		give_lane_back(x->sk);
	}
	return err;
}

/* Calls -----------------------------------------------------------------------------------------
 */

static int take_over(struct sl_sock *sk, bool given)
{
	struct take x = {.sk = sk};
	int err = -EALREADY;

	if (!sl_lock(&sk->slow))
		return -EBUSY; /* a signal handler */
	if (!sk->nfds || sk->lsn || sk->passed || !sl_is_up())
		err = -ENOTCONN;
	else if (sk->state == SL_STATE_KERNEL) {
		__atomic_store_n(&sk->taking, true, __ATOMIC_SEQ_CST);
		sl_tcp_opt_adopt(sk);
		err = __atomic_load_n(&sk->in_kernel, __ATOMIC_SEQ_CST) ? -EBUSY
		      : sl_heirs_gone(sk)                               ? -EBUSY
									: 0;
		if (!err)
			err = take(&x, given);
		if (!err && given)
			sk->forks = sl_load(&sl_forks); /* no other process has it */
		__atomic_store_n(&sk->taking, false, __ATOMIC_RELEASE);
	}
	sl_unlock(&sk->slow);
	if (!err)
		sl_stats->taken_over++;
	return err;
}

int sl_tcp_sock_take_over(struct sl_sock *sk, bool given)
{
	int err;

	sl_tconn_reap();
	if (!sl_fork_hold())
		return -EBUSY; /* a signal handler */
	err = take_over(sk, given);
	sl_fork_release();
	return err;
}

/* A kernel's socket that we have not looked after until now. */
static int adopt(int fd, struct sl_sock **sk)
{
	int domain = 0, type = 0, proto = 0, flags = sl_sys_fcntl(fd, F_GETFL, 0);
	struct sl_sock *s;

	if (sl_sys_get_int(fd, SOL_SOCKET, SO_DOMAIN, &domain) ||
	    sl_sys_get_int(fd, SOL_SOCKET, SO_TYPE, &type) ||
	    sl_sys_get_int(fd, SOL_SOCKET, SO_PROTOCOL, &proto) || flags < 0)
		return -ENOTSOCK;
	if ((domain != AF_INET && domain != AF_INET6) || type != SOCK_STREAM ||
	    proto != IPPROTO_TCP)
		return -EOPNOTSUPP;
	if (sl_up_again() < 0 || !sl_settings.tcp)
		return -EREMOTE;
	s = sl_sock_new(fd, domain, type | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0), proto);
	if (!s)
		return -ENOMEM;
	s->phase = SL_CONNECTED;
	sl_store(&s->state, SL_STATE_KERNEL);
	s->stats->state = SL_STATE_KERNEL;
	s->stats->reason = SL_REASON_RUNTIME;
	*sk = s;
	return 0;
}

SL_API
int sl_take_over(int fd)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err = sk ? 0 : adopt(fd, &sk);

	if (err)
		return err;
	if (sk->proto != IPPROTO_TCP)
		return -EOPNOTSUPP;
	err = sl_tcp_sock_take_over(sk, false);
	return err == -EALREADY ? 0 : err;
}
