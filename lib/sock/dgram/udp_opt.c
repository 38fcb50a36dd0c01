/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of datagram sockets: the kernel judges and keeps each on the shadow; what the packet path
 * needs is read back. An option that changes packets and is not done here hands the socket back. */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <linux/udp.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/core/endpoint.h"
#include "sock/core/errq.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/extra.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"

/* The forms of SIOCGSTAMP and SIOCGSTAMPNS with 64 bits, which is what the old ones have here. */
#define SL_GSTAMP_NEW   0x80108906ul
#define SL_GSTAMPNS_NEW 0x80108907ul

/* The kernel's SO_RCVBUF, but at least the configured minimum. */
static uint32_t rcvbuf(const struct sl_sock *sk)
{
	return sl_max((uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_RCVBUF),
		      (uint32_t)sl_settings.rx_bytes_min);
}

void sl_sock_read_options(struct sl_sock *sk)
{
	sl_udp_sk(sk)->udp.rcvbuf = rcvbuf(sk);
	sl_udp_sk(sk)->sndbuf = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_SNDBUF);
	if (sk->family == AF_INET6)
		sk->v6only = sl_sock_get_int(sk, IPPROTO_IPV6, IPV6_V6ONLY);
}

/* The effects of options ------------------------------------------------------------------------
 */

struct given {
	int name;
	int v; /* the value as an int */
	const void *val;
	socklen_t len;
};

#define SET(fn, expr)                                                                              \
	static bool fn(struct sl_sock *sk, const struct given *g)                                  \
	{                                                                                          \
		expr;                                                                              \
		return true;                                                                       \
	}

static bool set_rcvbuf(struct sl_sock *sk, const struct given *g)
{
	sl_udp_sk(sk)->udp.rcvbuf = rcvbuf(sk);
	sk->stats->rcvbuf = sl_udp_sk(sk)->udp.rcvbuf;
	sl_errq_limit(sk);
	return true;
}

static bool set_sndbuf(struct sl_sock *sk, const struct given *g)
{
	sl_udp_sk(sk)->sndbuf = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_SNDBUF);
	sk->stats->sndbuf = sl_udp_sk(sk)->sndbuf;
	return true;
}

static bool set_stamps(struct sl_sock *sk, const struct given *g)
{
	bool ours = sl_sock_set_stamps(sk, g->name, g->v);

	sl_sock_claim_flags(sk);
	return ours;
}

static bool set_device(struct sl_sock *sk, const struct given *g)
{
	sk->bound_if = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_BINDTOIFINDEX);
	if (sk->local_port)
		sl_sock_decide(sk);
	return true;
}

static bool set_mc_loop(struct sl_sock *sk, const struct given *g)
{
	sl_udp_sk(sk)->mc_loop = g->v;
	sk->stats->mc_loop = g->v != 0;
	return true;
}

/* Multicasts leave by the device oif, that of the address from. */
static void set_mc_if(struct sl_sock *sk, uint32_t oif, const struct sl_addr *from)
{
	sl_udp_sk(sk)->mc_oif = sk->stats->mc_ifindex = oif;
	sl_udp_sk(sk)->mc_src = sk->stats->mc_if = *from;
}

/* IP_MULTICAST_IF: by address, by ip_mreq or by ip_mreqn. */
static bool set_multicast_if(struct sl_sock *sk, const struct given *g)
{
	struct ip_mreqn m = {0};
	struct sl_addr from;

	if (g->len >= sizeof(m)) {
		memcpy(&m, g->val, sizeof(m));
	} else if (g->len >= sizeof(struct ip_mreq)) {
		memcpy(&m, g->val, sizeof(struct ip_mreq));
	} else if (g->len >= sizeof(struct in_addr)) {
		memcpy(&m.imr_address, g->val, sizeof(struct in_addr));
	}
	from = sl_addr_v4(m.imr_address.s_addr);
	set_mc_if(sk, m.imr_ifindex ? (uint32_t)m.imr_ifindex : sl_device_of_addr(&from), &from);
	return true;
}

static bool set_cork(struct sl_sock *sk, const struct given *g)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	us->cork = g->v;
	us->more = us->more && g->v; /* its end sends what there is */
	return true;
}

SET(set_reuse, sl_sock_read_reuse(sk, SO_REUSEADDR))
SET(set_reuseport, sl_sock_read_reuse(sk, SO_REUSEPORT))
SET(set_mark, sk->mark = (uint32_t)g->v)
SET(set_zerocopy, sk->zerocopy = g->v)
SET(set_no_csum, sl_udp_sk(sk)->no_csum = g->v)
SET(set_tos, (sk->tos = (uint8_t)g->v, sl_sock_read_prio(sk)))
SET(set_ttl, sk->ttl = g->v < 0 ? 0 : (uint8_t)g->v)
SET(set_tos6, sk->tos6 = g->v < 0 ? 0 : (uint8_t)g->v)
SET(set_ttl6, sk->ttl6 = g->v < 0 ? 0 : (uint8_t)g->v)
SET(set_mc_ttl, sl_udp_sk(sk)->mc_ttl = g->v < 0 ? 1 : (uint8_t)g->v)
SET(set_mc_all, sl_udp_sk(sk)->mc_all = g->v)
SET(set_mc_oif, set_mc_if(sk, (uint32_t)g->v, &sl_udp_sk(sk)->mc_src))
SET(set_unicast_if, sk->unicast_oif = be32toh((uint32_t)g->v))
SET(set_pmtudisc, sk->pmtudisc = (uint8_t)g->v & 7)
SET(set_v6only, sk->v6only = g->v)
SET(set_segment, sl_udp_sk(sk)->gso_size = (uint16_t)g->v)
SET(set_no_csum6, sl_udp_sk(sk)->no_csum6 = g->v)

static bool set_prio(struct sl_sock *sk, const struct given *g)
{
	return sl_sock_read_prio(sk);
}

/* The socket goes to the kernel. */
static bool leave(struct sl_sock *sk, const struct given *g)
{
	return false;
}

static bool leave_if_on(struct sl_sock *sk, const struct given *g)
{
	return g->v == 0;
}

/* The table -------------------------------------------------------------------------------------
 */

/* An option's effect here, after the kernel has judged its size and value and has it on the shadow;
 * getsockopt(2) asks the shadow. */
struct opt {
	int level, name;
	uint16_t want; /* bit of sl_sock.want that follows the value; 0: none */
	/* False: the socket goes to the kernel. NULL: beside `want` nothing changes here. */
	bool (*set)(struct sl_sock *sk, const struct given *g);
};

/* An option that is not here does not change our packets if it is of SOL_SOCKET; with any other
 * the socket goes to the kernel. */
static const struct opt opts[] = {
	{SOL_SOCKET, SO_RCVBUF, 0, set_rcvbuf},
	{SOL_SOCKET, SO_RCVBUFFORCE, 0, set_rcvbuf},
	{SOL_SOCKET, SO_SNDBUF, 0, set_sndbuf},
	{SOL_SOCKET, SO_SNDBUFFORCE, 0, set_sndbuf},
	{SOL_SOCKET, SO_TIMESTAMP, 0, set_stamps},
	{SOL_SOCKET, SO_TIMESTAMPNS, 0, set_stamps},
	{SOL_SOCKET, SO_TIMESTAMPING, 0, set_stamps},
	{SOL_SOCKET, SO_TIMESTAMP_NEW, 0, set_stamps},
	{SOL_SOCKET, SO_TIMESTAMPNS_NEW, 0, set_stamps},
	{SOL_SOCKET, SO_TIMESTAMPING_NEW, 0, set_stamps},
	{SOL_SOCKET, SO_SELECT_ERR_QUEUE, SL_WANT_ERR_PRI, NULL},
	{SOL_SOCKET, SO_RXQ_OVFL, SL_WANT_OVFL, NULL},
	{SOL_SOCKET, SO_REUSEADDR, 0, set_reuse},
	{SOL_SOCKET, SO_REUSEPORT, 0, set_reuseport},
	{SOL_SOCKET, SO_BINDTODEVICE, 0, set_device},
	{SOL_SOCKET, SO_BINDTOIFINDEX, 0, set_device},
	{SOL_SOCKET, SO_MARK, 0, set_mark},
	{SOL_SOCKET, SO_PRIORITY, 0, set_prio},
	{SOL_SOCKET, SO_NO_CHECK, 0, set_no_csum},
	{SOL_SOCKET, SO_ZEROCOPY, 0, set_zerocopy},
	{SOL_SOCKET, SO_DONTROUTE, 0, leave_if_on}, /* no gateway: the kernel chooses another way */
	{SOL_SOCKET, SO_ATTACH_FILTER, 0, leave},
	{SOL_SOCKET, SO_ATTACH_BPF, 0, leave},
	{SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, 0, leave},
	{SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, 0, leave},
	{SOL_SOCKET, SO_PEEK_OFF, 0, leave},
	{SOL_SOCKET, SO_TXTIME, 0, leave},
	{SOL_SOCKET, SO_RCVMARK, 0, leave_if_on}, /* of the packet, by the kernel's rules */
	{SOL_SOCKET, SO_RCVPRIORITY, 0, leave_if_on},
	{IPPROTO_IP, IP_TOS, 0, set_tos},
	{IPPROTO_IP, IP_TTL, 0, set_ttl},
	{IPPROTO_IP, IP_MULTICAST_TTL, 0, set_mc_ttl},
	{IPPROTO_IP, IP_MULTICAST_LOOP, 0, set_mc_loop},
	{IPPROTO_IP, IP_MULTICAST_IF, 0, set_multicast_if},
	{IPPROTO_IP, IP_MULTICAST_ALL, 0, set_mc_all},
	{IPPROTO_IP, IP_UNICAST_IF, 0, set_unicast_if},
	{IPPROTO_IP, IP_MTU_DISCOVER, 0, set_pmtudisc},
	{IPPROTO_IP, IP_PKTINFO, SL_WANT_PKTINFO, NULL},
	{IPPROTO_IP, IP_RECVTTL, SL_WANT_TTL, NULL},
	{IPPROTO_IP, IP_RECVTOS, SL_WANT_TOS, NULL},
	{IPPROTO_IP, IP_RECVORIGDSTADDR, SL_WANT_ORIGDST, NULL},
	{IPPROTO_IP, IP_MINTTL, 0, NULL},  /* only tcp_v4_rcv() looks at it */
	{IPPROTO_IP, IP_RECVERR, 0, NULL}, /* the error queue is the shadow's */
	{IPPROTO_IP, IP_FREEBIND, 0, NULL},
	{IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, NULL},
	{IPPROTO_IP, IP_LOCAL_PORT_RANGE, 0, NULL},
	{IPPROTO_IP, IP_ROUTER_ALERT, 0, NULL},
	{IPPROTO_IP, IP_PASSSEC, 0, NULL},
	{IPPROTO_IPV6, IPV6_V6ONLY, 0, set_v6only},
	{IPPROTO_IPV6, IPV6_TCLASS, 0, set_tos6},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS, 0, set_ttl6},
	{IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 0, set_mc_ttl},
	{IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0, set_mc_loop},
	{IPPROTO_IPV6, IPV6_MULTICAST_IF, 0, set_mc_oif},
	{IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, set_mc_all},
	{IPPROTO_IPV6, IPV6_UNICAST_IF, 0, set_unicast_if},
	{IPPROTO_IPV6, IPV6_MTU_DISCOVER, 0, set_pmtudisc},
	{IPPROTO_IPV6, IPV6_RECVPKTINFO, SL_WANT_PKTINFO6, NULL},
	{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, SL_WANT_HOPLIMIT, NULL},
	{IPPROTO_IPV6, IPV6_RECVTCLASS, SL_WANT_TCLASS, NULL},
	{IPPROTO_IPV6, IPV6_RECVERR, 0, NULL},
	{IPPROTO_IPV6, IPV6_FREEBIND, 0, NULL},
	{IPPROTO_IPV6, IPV6_RECVPATHMTU, 0, NULL},
	{IPPROTO_IPV6, IPV6_MINHOPCOUNT, 0, NULL}, /* as IP_MINTTL */
	{IPPROTO_IPV6, IPV6_DONTFRAG, 0, NULL}, /* (longer than the path takes: the kernel sends) */
	{IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, 0, NULL},
	{SOL_UDP, UDP_SEGMENT, 0, set_segment},
	{SOL_UDP, UDP_GRO, SL_WANT_GRO, NULL},
	{SOL_UDP, UDP_CORK, 0, set_cork},
	{SOL_UDP, UDP_NO_CHECK6_TX, 0, set_no_csum6},
};

static const struct opt *find_opt(int level, int name)
{
	for (unsigned i = 0; i < sl_array_len(opts); i++)
		if (opts[i].level == level && opts[i].name == name)
			return &opts[i];
	return NULL;
}

bool sl_dgram_opt_track(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
{
	const struct opt *o = find_opt(level, name);
	struct given g = {.name = name, .v = sl_given_int(val, len), .val = val, .len = len};

	if (!o)
		return level == SOL_SOCKET;
	if (level == IPPROTO_IP && len < sizeof(int)) /* a byte will do */
		g.v = len ? *(const uint8_t *)val : 0;
	if (o->want)
		sl_sock_want_with(sk, o->want, g.v);
	return !o->set || o->set(sk, &g);
}

/* True: getsockopt(2) tells what setsockopt(2) was given. */
static bool may_be_read(const struct opt *o)
{
	bool (*const set[])(struct sl_sock *, const struct given *) = {
		set_mark,    set_no_csum,  set_zerocopy, set_tos,        set_tos6,
		set_mc_ttl,  set_mc_loop,  set_mc_all,   set_unicast_if, set_pmtudisc,
		set_segment, set_no_csum6, leave_if_on};

	for (unsigned i = 0; i < sl_array_len(set); i++)
		if (o->set == set[i])
			return true;
	return o->want;
}

bool sl_dgram_opts_again(struct sl_sock *sk)
{
	struct sl_lane *lane;
	bool ours = true;

	sl_sock_read_options(sk);
	for (unsigned i = 0; i < sl_array_len(opts); i++) {
		const struct opt *o = &opts[i];
		int v = 0;

		if (may_be_read(o) && sl_sys_get_int(sk->fd, o->level, o->name, &v) == 0)
			ours &= sl_dgram_opt_track(sk, o->level, o->name, &v, sizeof(v));
	}
	if (sl_sock_lock(sk, &lane)) {
		sl_sock_path_changed(sk);
		sl_lane_unlock(lane);
	}
	return ours;
}

static int get_meminfo(struct sl_udp_sock *us, void *val, socklen_t *len)
{
	struct sl_opt_mem ours = {.rmem = us->udp.charged,
				  .rcvbuf = us->udp.rcvbuf,
				  .wmem = sl_load(&us->wmem),
				  .sndbuf = us->sndbuf,
				  .drops = us->udp.drops};

	return sl_opt_meminfo(us->sk.fd, &ours, val, len);
}

/* The thread that reads handles what comes. A connected socket knows its processor from its first
 * packet on (udp_queue_rcv_skb()). */
int sl_dgram_opt_get(struct sl_sock *sk, int level, int name, void *val, socklen_t *len)
{
	struct sl_lane *lane;
	struct sl_udp_sock *us = sl_udp_sk(sk);
	int err = -EREMOTE, cpu;

	if (level != SOL_SOCKET || (name != SO_INCOMING_CPU && name != SO_MEMINFO) ||
	    sl_load(&sk->state) != SL_STATE_OFFLOADED || !sl_sock_lock(sk, &lane))
		return -EREMOTE;
	sl_lane_turn_locked(lane);
	if (name == SO_MEMINFO) {
		err = get_meminfo(us, val, len);
	} else if (us->udp.connected && sk->stats->rx_pkts && (int)*len >= 0) {
		cpu = sl_opt_cpu();
		*len = sl_min(*len, (socklen_t)sizeof(cpu));
		err = sl_guard_copy(val, &cpu, *len);
	}
	sl_lane_unlock(lane);
	return err;
}

/* FIONREAD: the size of the next datagram. -EAGAIN: we have none. */
static int next_size(struct sl_sock *sk, void *out)
{
	const struct sl_udp_sock *us = sl_udp_sk(sk);
	const struct sl_udp *u = us->filtered ? &us->extra->accepted : &us->udp;
	struct sl_lane *lane;
	int len = -1;

	if (!sl_sock_lock(sk, &lane))
		return -EAGAIN;
	if (!sl_udp_queued(u))
		sl_lane_turn_locked(lane);
	if (sl_udp_queued(u))
		len = sl_udp_peek(u)->len;
	sl_lane_unlock(lane);
	return len < 0 ? -EAGAIN : sl_guard_copy(out, &len, sizeof(len));
}

/* SIOCOUTQ: what is under way by us counts, too. */
static void add_outq(struct sl_sock *sk, void *out)
{
	struct sl_lane *lane;
	int n;

	if (sl_sock_lock(sk, &lane)) {
		sl_lane_reap(lane);
		sl_lane_unlock(lane);
	}
	memcpy(&n, out, sizeof(n));
	n += (int)sl_min(sl_load(&sl_udp_sk(sk)->wmem), (uint32_t)INT32_MAX / 2);
	memcpy(out, &n, sizeof(n));
}

static bool is_gstamp(unsigned long request)
{
	return request == SIOCGSTAMP || request == SIOCGSTAMPNS || request == SL_GSTAMP_NEW ||
	       request == SL_GSTAMPNS_NEW;
}

/* When the last datagram came: the kernel sees to that from the first question on, and so to the
 * socket. Of those that came before, it has noted only that one was read, and says that it was now
 * (sock_gettstamp()); some of them may still be in our queue. */
static int ask_stamp(struct sl_sock *sk, int fd, unsigned long request, void *arg)
{
	bool have_read = sk->stats->rx_pkts > sk->stats->rx_queue_pkts;
	int ret = sl_sys_ioctl(fd, request, arg);
	int64_t t[2];
	uint64_t ns;

	if (ret < 0 && ret != -ENOENT)
		return ret;
	if (sl_load(&sk->state) != SL_STATE_KERNEL)
		sl_sock_kernel(sk, SL_REASON_OPTION);
	if (ret == 0 || !have_read)
		return ret;
	ns = sl_mono_to_real_ns(sl_now_ns());
	t[0] = (int64_t)(ns / 1000000000);
	t[1] = (int64_t)(ns % 1000000000);
	if (request == SIOCGSTAMP || request == SL_GSTAMP_NEW)
		t[1] /= 1000;
	memcpy(arg, t, sizeof(t));
	return 0;
}

int sl_dgram_ioctl(struct sl_sock *sk, int fd, unsigned long request, void *arg)
{
	int ret;

	if (request == FIONREAD && (ret = next_size(sk, arg)) != -EAGAIN)
		return ret;
	if (is_gstamp(request))
		return ask_stamp(sk, fd, request, arg);
	ret = sl_sys_ioctl(fd, request, arg);
	if (ret >= 0 && request == SIOCOUTQ)
		add_outq(sk, arg);
	return ret;
}
