/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket options: the kernel judges and keeps each on the shadow; what the packet path needs is
 * read back. An option that changes packets and is not done here hands the socket back. */
#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <linux/udp.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/cmsg.h"
#include "sock/core/errq.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef SO_TIMESTAMP_NEW
#define SO_TIMESTAMP_NEW 63
#endif
#ifndef SO_TIMESTAMPNS_NEW
#define SO_TIMESTAMPNS_NEW 64
#endif
#ifndef SO_TIMESTAMPING_NEW
#define SO_TIMESTAMPING_NEW 65
#endif
#ifndef SO_RCVTIMEO_NEW
#define SO_RCVTIMEO_NEW 66
#endif
#ifndef SO_SNDTIMEO_NEW
#define SO_SNDTIMEO_NEW 67
#endif
#ifndef SO_RCVMARK
#define SO_RCVMARK 75
#endif
#ifndef SO_RCVPRIORITY
#define SO_RCVPRIORITY 82
#endif
#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#endif
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif

/* The forms of SIOCGSTAMP and SIOCGSTAMPNS with 64 bits, which is what the old ones have here. */
#define SL_GSTAMP_NEW   0x80108906ul
#define SL_GSTAMPNS_NEW 0x80108907ul

int sl_sock_get_int(const struct sl_sock *sk, int level, int name)
{
	socklen_t len = sizeof(int);
	int v = 0;

	return sl_sys_getsockopt(sk->fd, level, name, &v, &len) < 0 ? 0 : v;
}

void sl_sock_read_reuse(struct sl_sock *sk)
{
	sk->reuseport = sl_sock_get_int(sk, SOL_SOCKET, SO_REUSEPORT);
	sk->reuse = sk->reuseport || sl_sock_get_int(sk, SOL_SOCKET, SO_REUSEADDR);
}

static int given_int(const void *val, socklen_t len)
{
	int v = 0;

	memcpy(&v, val, sl_min((size_t)len, sizeof(v)));
	return v;
}

static void want(struct sl_sock *sk, uint16_t bit, bool on)
{
	sk->want = (uint16_t)(on ? sk->want | bit : sk->want & ~bit);
}

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

static void find_os_stamps(struct sl_lane *lane, void *arg)
{
	bool *found = arg;

	for (uint32_t i = 0; i < sl_load_acquire(&lane->nlegs); i++)
		*found |= sl_errq_is_os(lane->leg[i]);
}

/* Is there a device in use that could stamp a stream, but by the kernel's way alone? (Which one a
 * connection takes that is not open yet, is seen when it opens.) */
static bool is_os_stamped(void)
{
	bool found = false;

	sl_lane_for_each(find_os_stamps, &found);
	return found;
}

/* SO_TIMESTAMPING: what it means for what comes, and for what is sent. Beside a hardware stamp of
 * what comes the kernel tells the device below, or another clock's time: both are its to know. */
static bool set_stamping(struct sl_sock *sk, uint32_t v)
{
	bool filter = v & SL_TS_OPT_RX_FILTER, ours;

	want(sk, SL_WANT_STAMPING,
	     v & SOF_TIMESTAMPING_SOFTWARE && v & SOF_TIMESTAMPING_RX_SOFTWARE);
	want(sk, SL_WANT_HW_STAMP,
	     v & SOF_TIMESTAMPING_RAW_HARDWARE && (v & SOF_TIMESTAMPING_RX_HARDWARE || !filter));
	ours = sl_errq_set(sk, v); /* (what leaves takes it along) */
	if (v & SOF_TIMESTAMPING_RAW_HARDWARE &&
	    v & (SOF_TIMESTAMPING_OPT_PKTINFO | SOF_TIMESTAMPING_BIND_PHC))
		return false;
	if (sk->proto == IPPROTO_TCP && v & SL_TS_RECORD &&
	    (v & SOF_TIMESTAMPING_OPT_STATS ||
	     (v & SOF_TIMESTAMPING_TX_HARDWARE && is_os_stamped())))
		return false;
	return ours;
}

/* The last of SO_TIMESTAMP and SO_TIMESTAMPNS wins, as in the kernel. */
bool sl_sock_set_stamps(struct sl_sock *sk, int name, int v)
{
	bool new = name == SO_TIMESTAMP_NEW || name == SO_TIMESTAMPNS_NEW ||
		   name == SO_TIMESTAMPING_NEW;
	uint16_t was = sk->want;
	bool ours = true;

	switch (name) {
	case SO_TIMESTAMP:
	case SO_TIMESTAMP_NEW:
		want(sk, SL_WANT_STAMP_NS, false);
		want(sk, SL_WANT_STAMP_US, v);
		break;
	case SO_TIMESTAMPNS:
	case SO_TIMESTAMPNS_NEW:
		want(sk, SL_WANT_STAMP_US, v);
		want(sk, SL_WANT_STAMP_NS, v);
		break;
	default:
		ours = set_stamping(sk, (uint32_t)v);
	}
	want(sk, SL_WANT_NEW_STAMP, new);
	if (sk->proto == IPPROTO_UDP)
		sl_sock_claim_flags(sk);
	else if ((was ^ sk->want) & SL_WANT_HW_STAMP)
		sl_tcp_sock_claim_flags(sk);
	return ours;
}

/* The kernel has accepted the value before. As in the kernel a negative time means no wait at all,
 * though getsockopt() then reads 0, as without a time-out. */
static uint64_t timeout_ns(const void *val, socklen_t len)
{
	int64_t tv[2] = {0, 0};

	memcpy(tv, val, sl_min((size_t)len, sizeof(tv)));
	if (tv[0] < 0)
		return SL_TIMEO_NO_WAIT;
	if (tv[0] >= SL_TIMEO_MAX_S)
		return 0;
	return (uint64_t)tv[0] * 1000000000ull + (uint64_t)tv[1] * 1000;
}

/* SO_RCVTIMEO, SO_SNDTIMEO: kept for a kernel socket, too, since we may take it over. */
static bool set_timeout(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	switch (name) {
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		sk->rcvtimeo_ns = timeout_ns(val, len);
		return true;
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		sk->sndtimeo_ns = timeout_ns(val, len);
		return true;
	}
	return false;
}

/* Returns false: the option is not one that we can live with. */
static bool track_socket(struct sl_sock *sk, int name, const void *val, socklen_t len)
{
	int v = given_int(val, len);

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
		return sl_sock_set_stamps(sk, name, v);
	case SO_SELECT_ERR_QUEUE:
		want(sk, SL_WANT_ERR_PRI, v);
		return true;
	case SO_RXQ_OVFL:
		want(sk, SL_WANT_OVFL, v);
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
	int v = len >= sizeof(int) ? given_int(val, len) : len ? *(const uint8_t *)val : 0;

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
		want(sk, SL_WANT_PKTINFO, v);
		return true;
	case IP_RECVTTL:
		want(sk, SL_WANT_TTL, v);
		return true;
	case IP_RECVTOS:
		want(sk, SL_WANT_TOS, v);
		return true;
	case IP_RECVORIGDSTADDR:
		want(sk, SL_WANT_ORIGDST, v);
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
	int v = given_int(val, len);

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
		want(sk, SL_WANT_PKTINFO6, v);
		return true;
	case IPV6_RECVHOPLIMIT:
		want(sk, SL_WANT_HOPLIMIT, v);
		return true;
	case IPV6_RECVTCLASS:
		want(sk, SL_WANT_TCLASS, v);
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
	int v = given_int(val, len);

	switch (name) {
	case UDP_SEGMENT:
		sk->gso_size = (uint16_t)v;
		return true;
	case UDP_GRO:
		want(sk, SL_WANT_GRO, v);
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

static bool track(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
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

/* SO_TIMESTAMPING of a connection of ours: the kernel judges all but the count of bytes, for which
 * its socket is in the wrong state. -EREMOTE: it is none of that. */
static int set_tcp_stamping(struct sl_sock *sk, int name, const void *val, socklen_t len)
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
	if (err == 0 && !sl_sock_set_stamps(sk, name, (int)flags))
		sl_sock_kernel(sk, SL_REASON_OPTION);
	return err;
}

SL_API
int sl_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_lane *lane;
	bool tcp;
	int err = 0;

	sl_sock_change(sk);
	if (sk && sk->proto == IPPROTO_UDP && sl_mcast_is_membership(level, name))
		return sl_mcast_setsockopt(sk, level, name, val, len);
	if (sk && level == SOL_SOCKET && name == SO_MAX_PACING_RATE)
		return sl_sock_pace_set(sk, fd, val, len);
	tcp = sl_sock_is_tcp(sk);
	if (tcp) {
		if (level == SOL_SOCKET)
			err = set_tcp_stamping(sk, name, val, len);
		if (level == SOL_SOCKET && err != -EREMOTE)
			return err;
		err = sl_tcp_opt_may_set(sk, level, name);
	}
	if (err == 0)
		err = sl_sys_setsockopt(fd, level, name, val, len);
	if (err == -ENOTCONN && tcp && sl_tcp_opt_leave(sk))
		err = sl_sys_setsockopt(fd, level, name, val, len);
	if (err < 0 || !sk || (level == SOL_SOCKET && set_timeout(sk, name, val, len)) ||
	    sk->state == SL_STATE_KERNEL)
		return err;
	if (!(tcp ? sl_tcp_opt_track(sk, level, name) : track(sk, level, name, val, len))) {
		sl_details("sock", "fd %d: option %d of level %d is the kernel's", fd, name, level);
		sl_sock_kernel(sk, SL_REASON_OPTION);
	} else if (sl_sock_lock(sk, &lane)) {
		sl_sock_path_changed(sk);
		sl_lane_unlock(lane);
	}
	return err;
}

SL_API
int sl_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int err;

	if (sk && level == SOL_SOCKET && name == SO_MAX_PACING_RATE &&
	    sl_sock_pace_get(sk, val, len) == 0)
		return 0;
	if (sl_sock_is_tcp(sk)) {
		err = sl_tcp_opt_get(sk, level, name, val, len);
		return err == -EREMOTE ? sl_sys_getsockopt(fd, level, name, val, len) : err;
	}
	if (sk && level == SOL_SOCKET && name == SO_ERROR)
		sl_sock_take_error(sk);
	return sl_sys_getsockopt(fd, level, name, val, len);
}

SL_API
int sl_fcntl(int fd, int cmd, long arg)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int ret = sl_sys_fcntl(fd, cmd, arg);

	if (ret < 0)
		return ret;
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		sl_dup_done(fd, ret);
	} else if (cmd == F_SETFL && sk) {
		sk->nonblock = arg & O_NONBLOCK;
		sk->stats->blocking = !sk->nonblock;
		if (arg & O_ASYNC) /* SIGIO comes from the kernel's queue only */
			sl_sock_kernel(sk, SL_REASON_OPTION);
	}
	return ret;
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

SL_API
int sl_ioctl(int fd, unsigned long request, void *arg)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	int ret;

	if (sl_tcp_sock(fd) && (ret = sl_tcp_sock_ioctl(sk, request, arg)) != -EREMOTE)
		return ret;
	if (sk && sk->proto == IPPROTO_UDP && request == FIONREAD && next_size(sk, arg) == 0)
		return 0;
	if (sk && sk->proto == IPPROTO_UDP && is_gstamp(request))
		return ask_stamp(sk, fd, request, arg);
	ret = sl_sys_ioctl(fd, request, arg);
	if (ret < 0 || !sk)
		return ret;
	if (request == SIOCOUTQ && sk->proto == IPPROTO_UDP)
		add_outq(sk, arg);
	if (request == FIONBIO) {
		sk->nonblock = given_int(arg, sizeof(int)) != 0;
		sk->stats->blocking = !sk->nonblock;
	} else if (request == FIOASYNC) {
		sl_sock_kernel(sk, SL_REASON_OPTION);
	}
	return ret;
}
