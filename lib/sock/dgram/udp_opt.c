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
#include "base/settings.h"
#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/core/endpoint.h"
#include "sock/core/errq.h"
#include "sock/core/life.h"
#include "sock/core/option.h"
#include "sock/core/sock.h"
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
	sk->udp.rcvbuf = rcvbuf(sk);
	sk->sndbuf = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_SNDBUF);
	if (sk->family == AF_INET6)
		sk->v6only = sl_sock_get_int(sk, IPPROTO_IPV6, IPV6_V6ONLY);
}

/* Returns false: the option is not one that we can live with. */
static bool track_socket(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	int v = sl_given_int(val, len);
	bool ours;

	switch (name) {
	case SO_RCVBUF:
	case SO_RCVBUFFORCE:
		sk->udp.rcvbuf = rcvbuf(sk);
		sk->stats->rcvbuf = sk->udp.rcvbuf;
		sl_errq_limit(sk);
		return true;
	case SO_SNDBUF:
	case SO_SNDBUFFORCE:
		sk->sndbuf = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_SNDBUF);
		sk->stats->sndbuf = sk->sndbuf;
		return true;
	case SO_TIMESTAMP:
	case SO_TIMESTAMPNS:
	case SO_TIMESTAMPING:
	case SO_TIMESTAMP_NEW:
	case SO_TIMESTAMPNS_NEW:
	case SO_TIMESTAMPING_NEW:
		ours = sl_sock_set_stamps(sk, name, v);
		sl_sock_claim_flags(sk);
		return ours;
	case SO_SELECT_ERR_QUEUE:
		sl_sock_want_with(sk, SL_WANT_ERR_PRI, v);
		return true;
	case SO_RXQ_OVFL:
		sl_sock_want_with(sk, SL_WANT_OVFL, v);
		return true;
	case SO_REUSEADDR:
	case SO_REUSEPORT:
		sl_sock_read_reuse(sk);
		return true;
	case SO_BINDTODEVICE:
	case SO_BINDTOIFINDEX:
		sk->bound_if = (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_BINDTOIFINDEX);
		if (sk->local_port)
			sl_sock_decide(sk);
		return true;
	case SO_MARK:
		sk->mark = (uint32_t)v;
		return true;
	case SO_NO_CHECK:
		sk->no_csum = v;
		return true;
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
	case SO_PEEK_OFF:
	case SO_TXTIME:
		return false;
	case SO_RCVMARK: /* of the packet, by the kernel's rules */
	case SO_RCVPRIORITY:
		return v == 0;
	}
	return true; /* of the rest none changes our packets */
}

/* IP_MULTICAST_IF: by address, by ip_mreq or by ip_mreqn. */
static void set_multicast_if(struct sl_sock *sk, const void *val, socklen_t len)
{
	struct ip_mreqn m = {0};

	if (len >= sizeof(m)) {
		memcpy(&m, val, sizeof(m));
	} else if (len >= sizeof(struct ip_mreq)) {
		memcpy(&m, val, sizeof(struct ip_mreq));
	} else if (len >= sizeof(struct in_addr)) {
		memcpy(&m.imr_address, val, sizeof(struct in_addr));
	}
	sk->mc_src = sl_addr_v4(m.imr_address.s_addr);
	sk->mc_oif = m.imr_ifindex ? (uint32_t)m.imr_ifindex : sl_device_of_addr(&sk->mc_src);
}

static bool track_ip(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	int v = len >= sizeof(int) ? sl_given_int(val, len) : len ? *(const uint8_t *)val : 0;

	switch (name) {
	case IP_TOS:
		sk->tos = (uint8_t)v;
		return true;
	case IP_TTL:
		sk->ttl = v < 0 ? 0 : (uint8_t)v;
		return true;
	case IP_MULTICAST_TTL:
		sk->mc_ttl = v < 0 ? 1 : (uint8_t)v;
		return true;
	case IP_MULTICAST_LOOP:
		sk->mc_loop = v;
		sk->stats->mc_loop = v != 0;
		return true;
	case IP_MULTICAST_IF:
		set_multicast_if(sk, val, len);
		return true;
	case IP_MULTICAST_ALL:
		sk->mc_all = v;
		return true;
	case IP_UNICAST_IF:
		sk->unicast_oif = be32toh((uint32_t)v);
		return true;
	case IP_MTU_DISCOVER:
		sk->pmtudisc = (uint8_t)v & 7;
		return true;
	case IP_PKTINFO:
		sl_sock_want_with(sk, SL_WANT_PKTINFO, v);
		return true;
	case IP_RECVTTL:
		sl_sock_want_with(sk, SL_WANT_TTL, v);
		return true;
	case IP_RECVTOS:
		sl_sock_want_with(sk, SL_WANT_TOS, v);
		return true;
	case IP_RECVORIGDSTADDR:
		sl_sock_want_with(sk, SL_WANT_ORIGDST, v);
		return true;
	case IP_MINTTL:  /* only tcp_v4_rcv() looks at it */
	case IP_RECVERR: /* the error queue is the shadow's */
	case IP_FREEBIND:
	case IP_BIND_ADDRESS_NO_PORT:
	case IP_LOCAL_PORT_RANGE:
	case IP_ROUTER_ALERT:
	case IP_PASSSEC:
		return true;
	}
	return false;
}

static bool track_ipv6(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	int v = sl_given_int(val, len);

	switch (name) {
	case IPV6_V6ONLY:
		sk->v6only = v;
		return true;
	case IPV6_TCLASS:
		sk->tos6 = v < 0 ? 0 : (uint8_t)v;
		return true;
	case IPV6_UNICAST_HOPS:
		sk->ttl6 = v < 0 ? 0 : (uint8_t)v;
		return true;
	case IPV6_MULTICAST_HOPS:
		sk->mc_ttl = v < 0 ? 1 : (uint8_t)v;
		return true;
	case IPV6_MULTICAST_LOOP:
		sk->mc_loop = v;
		sk->stats->mc_loop = v != 0;
		return true;
	case IPV6_MULTICAST_IF:
		sk->mc_oif = (uint32_t)v;
		return true;
	case IPV6_MULTICAST_ALL:
		sk->mc_all = v;
		return true;
	case IPV6_UNICAST_IF:
		sk->unicast_oif = be32toh((uint32_t)v);
		return true;
	case IPV6_MTU_DISCOVER:
		sk->pmtudisc = (uint8_t)v & 7;
		return true;
	case IPV6_RECVPKTINFO:
		sl_sock_want_with(sk, SL_WANT_PKTINFO6, v);
		return true;
	case IPV6_RECVHOPLIMIT:
		sl_sock_want_with(sk, SL_WANT_HOPLIMIT, v);
		return true;
	case IPV6_RECVTCLASS:
		sl_sock_want_with(sk, SL_WANT_TCLASS, v);
		return true;
	case IPV6_RECVERR:
	case IPV6_FREEBIND:
	case IPV6_RECVPATHMTU:
	case IPV6_ADDR_PREFERENCES:
		return true;
	}
	return false;
}

static bool track_udp(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	int v = sl_given_int(val, len);

	switch (name) {
	case UDP_SEGMENT:
		sk->gso_size = (uint16_t)v;
		return true;
	case UDP_GRO:
		sl_sock_want_with(sk, SL_WANT_GRO, v);
		return true;
	case UDP_CORK:
		sk->cork = v;
		sk->more = sk->more && v; /* its end sends what there is */
		return true;
	case UDP_NO_CHECK6_TX:
		sk->no_csum6 = v;
		return true;
	}
	return false;
}

bool sl_dgram_opt_track(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
{
	switch (level) {
	case SOL_SOCKET:
		return track_socket(sk, name, val, len);
	case IPPROTO_IP:
		return track_ip(sk, name, val, len);
	case IPPROTO_IPV6:
		return track_ipv6(sk, name, val, len);
	case SOL_UDP:
		return track_udp(sk, name, val, len);
	}
	return false;
}

/* FIONREAD: the size of the next datagram. */
static int next_size(struct sl_sock *sk, void *out)
{
	struct sl_lane *lane;
	bool have = false;

	if (!sl_sock_lock(sk, &lane))
		return -EAGAIN;
	if (!sl_udp_queued(&sk->udp))
		sl_lane_turn_locked(lane);
	if (sl_udp_queued(&sk->udp)) {
		int len = sl_udp_peek(&sk->udp)->len;

		memcpy(out, &len, sizeof(len)); /* the program's: perhaps not aligned */
		have = true;
	}
	sl_lane_unlock(lane);
	return have ? 0 : -EAGAIN;
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
	n += (int)sl_min(sl_load(&sk->wmem), (uint32_t)INT32_MAX / 2);
	memcpy(out, &n, sizeof(n));
}

static bool is_gstamp(unsigned long request)
{
	return request == SIOCGSTAMP || request == SIOCGSTAMPNS || request == SL_GSTAMP_NEW ||
	       request == SL_GSTAMPNS_NEW;
}

/* When the last datagram came: the kernel sees to that from the first question on, and so to the
 * socket. Until then it has noted only that one was read, and says that it was now
 * (sock_gettstamp()). */
static int ask_stamp(struct sl_sock *sk, int fd, unsigned long request, void *arg)
{
	bool have_read = sk->stats->rx_pkts > sk->stats->rx_queue_pkts;
	int ret = sl_sys_ioctl(fd, request, arg);
	int64_t t[2];
	uint64_t ns;

	if (sl_load(&sk->state) == SL_STATE_KERNEL || (ret < 0 && ret != -ENOENT))
		return ret;
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

	if (request == FIONREAD && next_size(sk, arg) == 0)
		return 0;
	if (is_gstamp(request))
		return ask_stamp(sk, fd, request, arg);
	ret = sl_sys_ioctl(fd, request, arg);
	if (ret >= 0 && request == SIOCOUTQ)
		add_outq(sk, arg);
	return ret;
}
