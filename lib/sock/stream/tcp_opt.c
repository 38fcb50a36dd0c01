/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of TCP sockets. The kernel judges and keeps each on the shadow; what the protocol needs
 * is read back from there, at once when there is a connection, else when one is made.
 *
 * One table says what each option does to a connection of ours. An option that is in no list here,
 * and that might change segments, makes the socket the kernel's. */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>

#include "base/compat.h"
#include "base/log.h"
#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/stream/stream.h"
#include "sock/stream/tcp_cc.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_user.h"

/* The effects of an option; v: as getsockopt(2) on the shadow says; t: NULL if not connected. */
struct opt {
	int level, name;
	void (*sock)(struct sl_sock *sk, int64_t v);
	void (*conn)(struct sl_tcp *t, int64_t v);
	void (*listener)(struct sl_tcp_listener *l, int64_t v);
};

/* Effects ---------------------------------------------------------------------------------------
 */

#define CONN(fn, expr)                                                                             \
	static void fn(struct sl_tcp *t, int64_t v)                                                \
	{                                                                                          \
		expr;                                                                              \
	}
#define LISTENER(fn, expr)                                                                         \
	static void fn(struct sl_tcp_listener *l, int64_t v)                                       \
	{                                                                                          \
		expr;                                                                              \
	}
#define SOCK(fn, expr)                                                                             \
	static void fn(struct sl_sock *sk, int64_t v)                                              \
	{                                                                                          \
		expr;                                                                              \
	}

/* Also when it is set already, as in Linux. */
static void c_nodelay(struct sl_tcp *t, int64_t v)
{
	t->nodelay = v != 0;
	if (t->nodelay)
		sl_tcp_push(t);
}

/* Off, it ends what MSG_MORE holds back, too (tcp_push_pending_frames() of Linux). */
static void c_cork(struct sl_tcp *t, int64_t v)
{
	t->cork = v != 0;
	if (!t->cork)
		t->more = false;
}

LISTENER(l_nodelay, l->nodelay = v != 0)
CONN(c_keepalive, t->keepalive = v != 0)
LISTENER(l_keepalive, l->keepalive = v != 0)
CONN(c_keepidle, sl_tcp_opts(t)->keep_time_ms = (uint32_t)v * 1000)
LISTENER(l_keepidle, l->opts.keep_time_ms = (uint32_t)v * 1000)
CONN(c_keepintvl, sl_tcp_opts(t)->keep_intvl_ms = (uint32_t)v * 1000)
LISTENER(l_keepintvl, l->opts.keep_intvl_ms = (uint32_t)v * 1000)
CONN(c_keepcnt, sl_tcp_opts(t)->keep_probes = (uint32_t)v)
LISTENER(l_keepcnt, l->opts.keep_probes = (uint32_t)v)
CONN(c_maxseg, sl_tcp_opts(t)->user_mss = (uint16_t)v)
LISTENER(l_maxseg, l->opts.user_mss = (uint16_t)v)
CONN(c_user_timeout, sl_tcp_opts(t)->user_timeout_ms = (uint32_t)v)
LISTENER(l_user_timeout, l->opts.user_timeout_ms = (uint32_t)v)
CONN(c_linger2, sl_tcp_opts(t)->linger2_ms = v < 0 ? UINT32_MAX : (uint32_t)v * 1000)
LISTENER(l_linger2, l->opts.linger2_ms = v < 0 ? UINT32_MAX : (uint32_t)v * 1000)
CONN(c_syncnt, sl_tcp_opts(t)->syncnt = (uint16_t)v)
LISTENER(l_syncnt, l->opts.syncnt = (uint16_t)v)
CONN(c_window_clamp, t->window_clamp = (uint32_t)v)
LISTENER(l_window_clamp, l->window_clamp = (uint32_t)v)
CONN(c_quickack, (t->quickack_user = v ? 2 : 1, t->pingpong &= !v))
CONN(c_thin_lto, t->thin_lto = v != 0)
LISTENER(l_thin_lto, l->thin_lto = v != 0)
CONN(c_notsent, t->notsent_lowat = (uint32_t)v)
CONN(c_oobinline, t->oobinline = v != 0)
CONN(c_rcvbuf, (t->rcvbuf = (uint32_t)v, t->rcvbuf_locked = true))
LISTENER(l_rcvbuf, (l->rcvbuf = (uint32_t)v, l->rcvbuf_locked = true))
CONN(c_sndbuf, (t->sndbuf = (uint32_t)v, t->sndbuf_locked = true))
LISTENER(l_sndbuf, (l->sndbuf = (uint32_t)v, l->sndbuf_locked = true))
CONN(c_defer, t->data_follow = v != 0) /* a client with it acknowledges by its data */
LISTENER(l_defer, l->defer_accept_s = (uint32_t)v)
LISTENER(l_fastopen, l->tfo_qlen = (uint32_t)v)
SOCK(s_rcvlowat, sk->rcvlowat = v > 0 ? (uint32_t)v : 1)
SOCK(s_prio, sl_sock_read_prio(sk))
SOCK(s_tos, (sk->tos = (uint8_t)(v < 0 ? 0 : v), sl_sock_read_prio(sk)))
SOCK(s_tos6, sk->tos6 = (uint8_t)(v < 0 ? 0 : v))
SOCK(s_ttl, sk->ttl = (uint8_t)(v < 0 ? 0 : v))
SOCK(s_ttl6, sk->ttl6 = (uint8_t)(v < 0 ? 0 : v))
SOCK(s_pmtudisc, sk->pmtudisc = (uint8_t)v & 7)
SOCK(s_pmtudisc6, sk->deaf6 = v == IPV6_PMTUDISC_INTERFACE || v == IPV6_PMTUDISC_OMIT)
SOCK(s_mark, sk->mark = (uint32_t)v)
SOCK(s_v6only, sk->v6only = v != 0)
LISTENER(l_fastopen_key, (void)v; l->tfo_keys_us = 0)
LISTENER(l_tfo_no_cookie, l->tfo_no_cookie = v != 0)
SOCK(s_tfo_connect, sk->tfo_connect = v != 0)
SOCK(s_tfo_no_cookie, sk->tfo_no_cookie = v != 0)
SOCK(s_zerocopy, sk->zerocopy = v != 0)
SOCK(s_inq, sk->inq = v != 0)
SOCK(s_bound_if, sk->bound_if = (uint32_t)v)
SOCK(s_rcvbuf, sk->stats->rcvbuf = (uint32_t)v)
SOCK(s_sndbuf, sk->stats->sndbuf = (uint32_t)v)

static void c_pacing(struct sl_tcp *t, int64_t v)
{
	struct sl_tconn *c = sl_tconn_of(t);

	sl_tcp_opts(t)->asked_bytes_s = v == -1 ? 0 : (uint64_t)v;
	sl_tconn_rate(c);
	if (c->path && c->path->leg)
		sl_tconn_pace(c);
}

static void tell_errors(struct sl_tcp *t, unsigned bit, bool on)
{
	struct sl_tconn *c = sl_tconn_of(t);

	c->special = (uint8_t)((c->special & ~bit) | (on ? bit : 0));
}

CONN(c_recverr, tell_errors(t, SL_TCONN_TELLS, v))
CONN(c_recverr6, tell_errors(t, SL_TCONN_TELLS << 1, v))

static void set_hops(uint8_t *least, int64_t v)
{
	*least = (uint8_t)v;
	if (v)
		sl_store(&sl_tconn_hops_count, true);
}

CONN(c_minttl, set_hops(&sl_tconn_of(t)->min_ttl[0], v))
CONN(c_minhops, set_hops(&sl_tconn_of(t)->min_ttl[1], v))
LISTENER(l_minttl, set_hops(&sl_container_of(l, struct sl_tlisten, tcp)->min_ttl[0], v))
LISTENER(l_minhops, set_hops(&sl_container_of(l, struct sl_tlisten, tcp)->min_ttl[1], v))

static const struct opt opts[] = {
	{IPPROTO_TCP, TCP_NODELAY, NULL, c_nodelay, l_nodelay},
	{IPPROTO_TCP, TCP_CORK, NULL, c_cork, NULL},
	{IPPROTO_TCP, TCP_MAXSEG, NULL, c_maxseg, l_maxseg},
	{IPPROTO_TCP, TCP_KEEPIDLE, NULL, c_keepidle, l_keepidle},
	{IPPROTO_TCP, TCP_KEEPINTVL, NULL, c_keepintvl, l_keepintvl},
	{IPPROTO_TCP, TCP_KEEPCNT, NULL, c_keepcnt, l_keepcnt},
	{IPPROTO_TCP, TCP_SYNCNT, NULL, c_syncnt, l_syncnt},
	{IPPROTO_TCP, TCP_LINGER2, NULL, c_linger2, l_linger2},
	{IPPROTO_TCP, TCP_DEFER_ACCEPT, NULL, c_defer, l_defer},
	{IPPROTO_TCP, TCP_WINDOW_CLAMP, NULL, c_window_clamp, l_window_clamp},
	{IPPROTO_TCP, TCP_QUICKACK, NULL, c_quickack, NULL},
	{IPPROTO_TCP, TCP_CONGESTION, NULL, NULL, NULL},
	{IPPROTO_TCP, TCP_USER_TIMEOUT, NULL, c_user_timeout, l_user_timeout},
	{IPPROTO_TCP, TCP_NOTSENT_LOWAT, NULL, c_notsent, NULL},
	{IPPROTO_TCP, TCP_FASTOPEN, NULL, NULL, l_fastopen},
	{IPPROTO_TCP, TCP_FASTOPEN_KEY, NULL, NULL, l_fastopen_key},
	{IPPROTO_TCP, TCP_FASTOPEN_CONNECT, s_tfo_connect, NULL, NULL},
	{IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, s_tfo_no_cookie, NULL, l_tfo_no_cookie},
	{IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, NULL, c_thin_lto, l_thin_lto},
	{IPPROTO_TCP, TCP_INQ, s_inq, NULL, NULL},
	{SOL_SOCKET, SO_KEEPALIVE, NULL, c_keepalive, l_keepalive},
	{SOL_SOCKET, SO_RCVBUF, s_rcvbuf, c_rcvbuf, l_rcvbuf},
	{SOL_SOCKET, SO_SNDBUF, s_sndbuf, c_sndbuf, l_sndbuf},
	{SOL_SOCKET, SO_RCVLOWAT, s_rcvlowat, NULL, NULL},
	{SOL_SOCKET, SO_OOBINLINE, NULL, c_oobinline, NULL},
	{SOL_SOCKET, SO_MAX_PACING_RATE, NULL, c_pacing, NULL},
	{SOL_SOCKET, SO_ZEROCOPY, s_zerocopy, NULL, NULL},
	{SOL_SOCKET, SO_MARK, s_mark, NULL, NULL},
	{SOL_SOCKET, SO_PRIORITY, s_prio, NULL, NULL},
	{SOL_SOCKET, SO_BINDTOIFINDEX, s_bound_if, NULL, NULL},
	{IPPROTO_IP, IP_TOS, s_tos, NULL, NULL},
	{IPPROTO_IP, IP_TTL, s_ttl, NULL, NULL},
	{IPPROTO_IP, IP_MTU_DISCOVER, s_pmtudisc, NULL, NULL},
	{IPPROTO_IP, IP_RECVERR, NULL, c_recverr, NULL},
	{IPPROTO_IP, IP_MINTTL, NULL, c_minttl, l_minttl},
	{IPPROTO_IPV6, IPV6_MINHOPCOUNT, NULL, c_minhops, l_minhops},
	{IPPROTO_IPV6, IPV6_TCLASS, s_tos6, NULL, NULL},
	{IPPROTO_IPV6, IPV6_MTU_DISCOVER, s_pmtudisc6, NULL, NULL},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS, s_ttl6, NULL, NULL},
	{IPPROTO_IPV6, IPV6_V6ONLY, s_v6only, NULL, NULL},
	{IPPROTO_IPV6, IPV6_RECVERR, NULL, c_recverr6, NULL},
};
_Static_assert(sl_array_len(opts) <= 64, "bits of sl_sock.opts");

/* Several names of one thing. */
static int same_as(int level, int name)
{
	if (level != SOL_SOCKET)
		return name;
	switch (name) {
	case SO_RCVBUFFORCE:
		return SO_RCVBUF;
	case SO_SNDBUFFORCE:
		return SO_SNDBUF;
	case SO_BINDTODEVICE:
		return SO_BINDTOIFINDEX;
	default:
		return name;
	}
}

static int find(int level, int name)
{
	name = same_as(level, name);
	for (unsigned i = 0; i < sl_array_len(opts); i++)
		if (opts[i].level == level && opts[i].name == name)
			return (int)i;
	return -1;
}

static int64_t read_value(int fd, const struct opt *o)
{
	bool wide = o->level == SOL_SOCKET && o->name == SO_MAX_PACING_RATE;
	socklen_t len = wide ? 8 : 4;
	int64_t v8 = 0;
	int v = 0;

	if (sl_sys_getsockopt(fd, o->level, o->name, wide ? (void *)&v8 : (void *)&v, &len) < 0)
		return 0;
	if (!wide)
		return v;
	if (len == 8) /* 4 before Linux 4.20 */
		return v8;
	return (uint32_t)v8 == UINT32_MAX ? -1 : (int64_t)(uint32_t)v8;
}

/* False: there is no such algorithm here. */
static bool set_congestion(int fd, struct sl_tcp *t, struct sl_tcp_listener *l)
{
	char name[16] = {0};
	socklen_t len = sizeof(name) - 1;

	if (sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0)
		return true;
	if (!sl_tcp_cc_has(name))
		return false;
	if (l)
		memcpy(l->congestion, name, sizeof(l->congestion));
	return !t || sl_tcp_set_congestion(t, name) == 0;
}

static bool is_congestion(const struct opt *o)
{
	return o->level == IPPROTO_TCP && o->name == TCP_CONGESTION;
}

/* Setting ---------------------------------------------------------------------------------------
 */

/* False: it is not one that we have. */
static bool effect(struct sl_sock *sk, const struct opt *o, int64_t v)
{
	struct sl_lane *lane;
	bool ok = true;

	if (!sl_sock_lock(sk, &lane))
		return true;
	if (o->sock)
		o->sock(sk, v);
	if (sk->lsn && o->listener)
		o->listener(&sk->lsn->tcp, v);
	if (is_congestion(o) && !sk->cc)
		ok = set_congestion(sk->fd, sk->conn ? &sk->conn->tcp : NULL,
				    sk->lsn ? &sk->lsn->tcp : NULL);
	if (sk->conn) {
		sl_tconn_ip_options(sk->conn, sk, &sk->conn->tcp.node.key.remote);
		sl_tconn_path_changed(sk->conn);
		if (o->conn) {
			o->conn(&sk->conn->tcp, v);
			sl_lane_tcp_begin(lane);
			sl_tcp_option_changed(&sk->conn->tcp);
			sl_lane_tcp_done(lane);
		}
	}
	sl_lane_unlock(lane);
	return ok;
}

static void read_linger(struct sl_sock *sk)
{
	struct linger l = {0};
	socklen_t len = sizeof(l);

	sl_sys_getsockopt(sk->fd, SOL_SOCKET, SO_LINGER, &l, &len);
	sk->linger_ms = !l.l_onoff ? -1 : (int32_t)sl_min((int64_t)l.l_linger * 1000, INT32_MAX);
}

/* The kernel does not tell NO_WAIT from 0: keep it if we saw it being set (core/option.c). */
static uint64_t read_timeout(const struct sl_sock *sk, int name, uint64_t known_ns)
{
	uint64_t ns = sl_opt_timeout_ns(sk->fd, name);

	return !ns && known_ns == SL_TIMEO_NO_WAIT ? known_ns : ns;
}

/* Hardware stamps of what comes are the claim's business, too. */
static bool set_stamps(struct sl_sock *sk, int name, int v)
{
	uint16_t was = sk->want;
	bool ours = sl_sock_set_stamps(sk, name, v);

	if ((was ^ sk->want) & SL_WANT_HW_STAMP)
		sl_tcp_sock_claim_flags(sk);
	return ours;
}

/* Only the kernel can tell which stamps are wanted for sending. */
static bool track_stamps(struct sl_sock *sk, int name)
{
	int v = sl_sock_get_int(sk, SOL_SOCKET, name);

	return set_stamps(sk, name, v);
}

static void track_reuse(struct sl_sock *sk, int name)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sl_sock_read_reuse(sk, name);
	if (sk->conn)
		sk->conn->tcp.node.bound = sl_tcp_port_bound(sk);
	sl_lane_unlock(lane);
}

/* Options of the socket layer that have no place in the table. False: not for us. */
static bool track_socket(struct sl_sock *sk, int name)
{
	switch (name) {
	case SO_LINGER:
		read_linger(sk);
		return true;
	case SO_REUSEADDR:
	case SO_REUSEPORT:
		track_reuse(sk, name);
		return true;
	case SO_TIMESTAMP:
	case SO_TIMESTAMP_NEW:
	case SO_TIMESTAMPNS:
	case SO_TIMESTAMPNS_NEW:
	case SO_TIMESTAMPING:
	case SO_TIMESTAMPING_NEW:
		return track_stamps(sk, name);
	case SO_DONTROUTE: /* no gateway: the kernel chooses another way, or none */
		return !sl_sock_get_int(sk, SOL_SOCKET, name);
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
	case SO_PEEK_OFF:
	case SO_TXTIME:
		return false;
	}
	return true;
}

static bool track_ip(struct sl_sock *sk, int level, int name)
{
	sk->own_ports |= level == IPPROTO_IP && name == IP_LOCAL_PORT_RANGE;
	if (name == (level == IPPROTO_IP ? IP_UNICAST_IF : IPV6_UNICAST_IF))
		sk->unicast_oif = be32toh((uint32_t)sl_sock_get_int(sk, level, name));
	if (level == IPPROTO_IP)
		return name != IP_OPTIONS && name != IP_TRANSPARENT && name != IP_HDRINCL;
	return name != IPV6_RTHDR && name != IPV6_HOPOPTS && name != IPV6_DSTOPTS &&
	       name != IPV6_TRANSPARENT && name != IPV6_2292PKTOPTIONS &&
	       name != IPV6_AUTOFLOWLABEL && name != IPV6_FLOWLABEL_MGR &&
	       name != IPV6_FLOWINFO_SEND;
}

static bool track_tcp(int name)
{
	/* (TCP_THIN_DUPACK does nothing since RACK: Linux checks its value and forgets it.) */
	return name == TCP_THIN_DUPACK;
}

bool sl_tcp_opt_leave(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool there;

	if (!sl_load(&sk->conn) || !sl_sock_lock(sk, &lane))
		return false;
	there = sk->conn && sk->conn->tcp.state == SL_TCP_ESTABLISHED;
	sl_lane_unlock(lane);
	if (there)
		sl_sock_kernel(sk, SL_REASON_OPTION);
	return there;
}

/* Repair is of the connection itself, not of what a shadow tells. */
static bool is_repair(int name)
{
	return name == TCP_REPAIR || name == TCP_REPAIR_QUEUE || name == TCP_QUEUE_SEQ ||
	       name == TCP_REPAIR_OPTIONS || name == TCP_REPAIR_WINDOW;
}

/* Refuses options that the kernel refuses on a connection, but would accept on its shadow. A
 * connection that the program repairs is the kernel's before. */
int sl_tcp_opt_may_set(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	if (!sl_tcp_sock_is_named(sk))
		return 0;
	if (level == IPPROTO_TCP && name == TCP_WINDOW_CLAMP && len >= sizeof(int) && c &&
	    sl_load(&c->tcp.state) != SL_TCP_CLOSED && !sl_given_int(val, len))
		return -EINVAL;
	if (level == IPPROTO_TCP && is_repair(name))
		sl_tcp_opt_leave(sk);
	if (level == IPPROTO_TCP)
		return name == TCP_FASTOPEN || name == TCP_FASTOPEN_CONNECT ? -EINVAL : 0;
	return level == IPPROTO_IPV6 && name == IPV6_V6ONLY && sk->family == AF_INET6 ? -EINVAL : 0;
}

/* True: what the socket is bound to is the device that it uses already, or any. Packets of a
 * connection that come by another one are none of it for the kernel, which resets their sender. */
static bool stays_on_device(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	if (!sk->bound_if || (!c && !sl_load(&sk->lsn)))
		return true;
	return c && sl_load(&c->oif) == sk->bound_if;
}

/* A connection that is handed back connects, and the kernel refuses that where there is no route by
 * the device: the shadow is not bound until then (on_live() in hand_back.c). */
static void leave_device(struct sl_sock *sk)
{
	(void)sl_sys_set_int(sk->fd, SOL_SOCKET, SO_BINDTOIFINDEX, 0);
	sl_sock_kernel(sk, SL_REASON_OPTION);
	(void)sl_sys_set_int(sk->fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)sk->bound_if);
}

bool sl_tcp_opt_track(struct sl_sock *sk, int level, int name)
{
	int i = find(level, name);

	if (i >= 0) {
		sk->opts |= 1ull << i;
		if (is_congestion(&opts[i]))
			sl_tcp_cc_forget(sk);
		if (!effect(sk, &opts[i], read_value(sk->fd, &opts[i])))
			return false;
		if (opts[i].sock == s_bound_if && !stays_on_device(sk))
			leave_device(sk);
		return level != SOL_SOCKET || name != SO_PRIORITY || sl_sock_read_prio(sk);
	}
	switch (level) {
	case SOL_SOCKET:
		return track_socket(sk, name);
	case IPPROTO_IP:
	case IPPROTO_IPV6:
		return track_ip(sk, level, name);
	case IPPROTO_TCP:
		return track_tcp(name);
	}
	return false;
}

/* Told by the kernel in another meaning than they are set, or of no use to a connection that is
 * there. */
static bool is_derived(const struct opt *o)
{
	if (o->level == SOL_SOCKET)
		return o->name == SO_RCVBUF || o->name == SO_SNDBUF || o->name == SO_BINDTOIFINDEX;
	return o->level == IPPROTO_TCP &&
	       (o->name == TCP_MAXSEG || o->name == TCP_SYNCNT || o->name == TCP_WINDOW_CLAMP ||
		o->name == TCP_QUICKACK || o->name == TCP_DEFER_ACCEPT || o->name == TCP_FASTOPEN ||
		o->name == TCP_FASTOPEN_KEY);
}

void sl_tcp_opt_adopt(struct sl_sock *sk)
{
	for (unsigned i = 0; i < sl_array_len(opts); i++) {
		const struct opt *o = &opts[i];

		if (is_derived(o) || (o->level == IPPROTO_IPV6 && sk->family != AF_INET6))
			continue;
		sk->opts |= 1ull << i;
		if (o->sock)
			o->sock(sk, read_value(sk->fd, o));
	}
	read_linger(sk);
	sk->rcvtimeo_ns = read_timeout(sk, SO_RCVTIMEO, sk->rcvtimeo_ns);
	sk->sndtimeo_ns = read_timeout(sk, SO_SNDTIMEO, sk->sndtimeo_ns);
}

/* Later -----------------------------------------------------------------------------------------
 */

/* bind(2) to an address sets it, and we have to, for connect(2). */
void sl_tcp_opt_read_v6only(struct sl_sock *sk)
{
	if (sk->family == AF_INET6 && !sk->named)
		sk->v6only = sl_sock_get_int(sk, IPPROTO_IPV6, IPV6_V6ONLY) != 0;
}

void sl_tcp_opt_apply(struct sl_sock *sk, struct sl_tconn *c)
{
	for (unsigned i = 0; i < sl_array_len(opts); i++) {
		if (!(sk->opts >> i & 1))
			continue;
		if (opts[i].conn)
			opts[i].conn(&c->tcp, read_value(sk->fd, &opts[i]));
		else if (is_congestion(&opts[i]))
			set_congestion(sk->fd, &c->tcp, NULL);
	}
	sl_tcp_cc_give(sk, &c->tcp, NULL);
}

void sl_tcp_opt_listener(struct sl_sock *sk, struct sl_tlisten *l)
{
	for (unsigned i = 0; i < sl_array_len(opts); i++) {
		if (!(sk->opts >> i & 1))
			continue;
		if (opts[i].listener)
			opts[i].listener(&l->tcp, read_value(sk->fd, &opts[i]));
		else if (is_congestion(&opts[i]))
			set_congestion(sk->fd, NULL, &l->tcp);
	}
	sl_tcp_cc_give(sk, NULL, &l->tcp);
}

/* Inheritance of an accepted socket from its listener --------------------------------------------
 *
 * The whole list is in this section, in three parts:
 * 1. Fields of struct sl_sock: sl_tcp_opt_inherit(). Calls on the socket look at them.
 * 2. Options that the program has set and that have a line in opts[]: all but those that
 *    is_inherited() leaves out. They go to the shadow, to the fields, to the connection.
 * 3. Options without a line in opts[]: sl_tcp_opt_give(). They go to the shadow: getsockopt(2) asks
 *    it, and after a hand-back it is the connection.
 * A handshake needs some options before there is a socket. opts[] sets them in the listener's part
 * of the TCP machine, and inherit() in tcp/listen/tcp_child.c copies them to the connection. */

void sl_tcp_opt_inherit(struct sl_sock *child, const struct sl_sock *from)
{
	child->v6only = from->v6only;
	child->cc = from->cc;
	child->reuse = from->reuse;
	child->reuse_addr = from->reuse_addr;
	child->reuseport = from->reuseport;
	child->tos = from->tos;
	child->ttl = from->ttl;
	child->tos6 = from->tos6;
	child->ttl6 = from->ttl6;
	child->pmtudisc = from->pmtudisc;
	child->deaf6 = from->deaf6;
	child->mark = from->mark;
	child->linger_ms = from->linger_ms;
	child->rcvlowat = from->rcvlowat;
	child->rcvtimeo_ns = from->rcvtimeo_ns;
	child->sndtimeo_ns = from->sndtimeo_ns;
	child->inq = from->inq;
	child->pace_three = from->pace_three;
	child->pace_burst = from->pace_burst;
	child->pace_packet = from->pace_packet;
}

static void copy_option(int fd, const struct sl_sock *from, const struct opt *o)
{
	char buf[16] = {0};
	socklen_t len = sizeof(buf);

	if (sl_sys_getsockopt(from->fd, o->level, o->name, buf, &len) < 0)
		return;
	if (o->level == SOL_SOCKET && (o->name == SO_RCVBUF || o->name == SO_SNDBUF)) {
		int v;

		memcpy(&v, buf, sizeof(v));
		v /= 2; /* the kernel doubles what is set */
		memcpy(buf, &v, sizeof(v));
	}
	sl_sys_setsockopt(fd, o->level, o->name, buf, len);
}

static void write_timeout(int fd, int name, uint64_t ns)
{
	struct timeval tv = {(time_t)(ns / 1000000000), (suseconds_t)(ns % 1000000000 / 1000)};

	if (ns == SL_TIMEO_NO_WAIT)
		tv.tv_sec = -1;
	if (ns)
		sl_sys_setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv));
}

static void copy_stamps(int fd, const struct sl_sock *from)
{
	static const int names[2][3] = {
		{SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING},
		{SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW, SO_TIMESTAMPING_NEW},
	};

	for (unsigned i = 0; i < 3 && (from->want || sl_errq_flags(from)); i++) {
		int name = names[from->want & SL_WANT_NEW_STAMP ? 1 : 0][i];
		int v = sl_sock_get_int(from, SOL_SOCKET, name);

		if (v)
			sl_sys_setsockopt(fd, SOL_SOCKET, name, &v, sizeof(v));
	}
}

/* The connection says which device it uses; its priority begins at 0 (sk_clone()); TCP_FASTOPEN is
 * a listener's. */
static bool is_inherited(const struct sl_sock *from, unsigned i)
{
	return from->opts >> i & 1 &&
	       (opts[i].level != SOL_SOCKET ||
		(opts[i].name != SO_BINDTOIFINDEX && opts[i].name != SO_PRIORITY)) &&
	       (opts[i].level != IPPROTO_TCP ||
		(opts[i].name != TCP_FASTOPEN && opts[i].name != TCP_FASTOPEN_KEY));
}

void sl_tcp_opt_give(const struct sl_sock *from, int fd)
{
	struct linger l = {from->linger_ms >= 0, from->linger_ms / 1000};
	int none = 0;

	if (from->linger_ms >= 0)
		sl_sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	if (from->reuse_addr)
		sl_sys_set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (from->reuseport)
		sl_sys_set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	write_timeout(fd, SO_RCVTIMEO, from->rcvtimeo_ns);
	write_timeout(fd, SO_SNDTIMEO, from->sndtimeo_ns);
	copy_stamps(fd, from);
	for (unsigned i = 0; from->opts && i < sl_array_len(opts); i++) {
		if (!is_inherited(from, i))
			continue;
		copy_option(fd, from, &opts[i]);
		if (opts[i].level == IPPROTO_IP && opts[i].name == IP_TOS) /* has set it */
			sl_sys_setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &none, sizeof(none));
	}
}

/* `opts` and `want` say which options the shadow has, so they are set after it. */
void sl_tcp_opt_inherit_shadow(struct sl_sock *child, const struct sl_sock *from)
{
	sl_tcp_opt_give(from, child->fd);
	child->want = from->want;
	if (sl_errq_flags(from))
		sl_errq_set(child, sl_errq_flags(from));
	if (child->want & SL_WANT_HW_STAMP)
		sl_tcp_sock_claim_flags(child);
	if (child->bound_if) /* by the listener, or the peer's address */
		sl_sys_set_int(child->fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)child->bound_if);
	child->opts = from->opts;
	for (unsigned i = 0; child->opts && i < sl_array_len(opts); i++)
		if (is_inherited(from, i))
			effect(child, &opts[i], read_value(from->fd, &opts[i]));
}

void sl_tcp_opt_reflect(struct sl_sock *child, const struct sl_addr *peer, uint8_t tos)
{
	int level = sl_addr_is_v4(peer) ? IPPROTO_IP : IPPROTO_IPV6;
	int name = sl_addr_is_v4(peer) ? IP_TOS : IPV6_TCLASS;

	sl_sys_set_int(child->fd, level, name, tos);
	if (name == IP_TOS) /* has set it */
		sl_sys_set_int(child->fd, SOL_SOCKET, SO_PRIORITY, 0);
	for (unsigned i = 0; i < sl_array_len(opts); i++) {
		if (opts[i].level != level || opts[i].name != name)
			continue;
		child->opts |= 1ull << i;
		effect(child, &opts[i], tos);
	}
}

int sl_tcp_opt_set_stamping(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);
	struct so_timestamping ts = {0};
	uint32_t flags;
	int err;

	if ((name != SO_TIMESTAMPING && name != SO_TIMESTAMPING_NEW) || !c ||
	    (len != sizeof(int) && len != sizeof(ts)))
		return -EREMOTE;
	memcpy(&ts, val, len);
	flags = (uint32_t)ts.flags;
	if (!(flags & SOF_TIMESTAMPING_OPT_ID))
		return -EREMOTE;
	if (sl_load(&c->tcp.state) == SL_TCP_CLOSED)
		return -EINVAL;
	ts.flags &= ~(int)(SOF_TIMESTAMPING_OPT_ID | SL_TS_OPT_ID_TCP);
	err = sl_sys_setsockopt(sk->fd, SOL_SOCKET, name, &ts, len);
	if (err == 0 && !set_stamps(sk, name, (int)flags))
		sl_sock_kernel(sk, SL_REASON_OPTION);
	return err;
}
