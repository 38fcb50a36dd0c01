/* SPDX-License-Identifier: BSD-2-Clause */
/* getsockopt(2) and ioctl(2) on a TCP connection of ours, where the shadow does not know. */
#include <errno.h>
#include <linux/sockios.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <sys/ioctl.h>

#include "base/compat.h"
#include "base/guard.h"
#include "base/sys.h"
#include "sock/core/option.h"
#include "sock/stream/stream.h"
#include "sock/stream/tcp_cc.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_info.h"
#include "tcp/tcp_user.h"

static int put_bytes(void *val, socklen_t *len, const void *from, size_t n)
{
	if (!val || !len)
		return -EFAULT;
	if ((int)*len < 0)
		return -EINVAL;
	n = sl_min(n, (size_t)*len);
	memcpy(val, from, n);
	*len = (socklen_t)n;
	return 0;
}

static int put_int(void *val, socklen_t *len, int v)
{
	return put_bytes(val, len, &v, sizeof(v));
}

/* do_ipv6_getsockopt() takes a length below zero for a large one. */
static int put_int6(void *val, socklen_t *len, int v)
{
	if (!val || !len)
		return -EFAULT;
	*len = sl_min(*len, (socklen_t)sizeof(v));
	memcpy(val, &v, *len);
	return 0;
}

static int get_mtu(struct sl_tconn *c, void *val, socklen_t *len)
{
	return put_int(val, len, (int)sl_tconn_dst(c)->route.mtu);
}

/* How much the kernel would say: its struct tcp_info is of its own version, not of our header's. */
static size_t info_bytes(int fd)
{
	static uint32_t bytes;
	uint8_t any[1024];
	socklen_t len = sizeof(any);

	if (!sl_load(&bytes) && sl_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, any, &len) == 0)
		sl_store(&bytes, (uint32_t)len);
	return sl_load(&bytes);
}

static int get_info(struct sl_tconn *c, void *val, socklen_t *len)
{
	const size_t at = offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t);
	struct sl_tcp_info_more more;
	struct tcp_info info;
	uint8_t all[1024] = {0};

	sl_tcp_info(&c->tcp, &info);
	sl_tcp_info_more(&c->tcp, &more);
	memcpy(all, &info, sizeof(info));
	memcpy(all + at, &more, sizeof(more));
	return put_bytes(val, len, all, sl_min(info_bytes(c->sk->fd), sizeof(all)));
}

/* Until the peer's SYN has come, time stamps are reckoned with. */
static int maxseg(const struct sl_tcp *t)
{
	return t->mss - (t->snd_una == t->iss && sl_tcp_params.timestamps ? 12 : 0);
}

/* TCP_ZEROCOPY_RECEIVE: no page of ours is mapped, so the answer is how many bytes to read instead
 * (recv_skip_hint), as for bytes that fill no page (tcp_zerocopy_receive()). */
static int get_zerocopy(struct sl_tconn *c, void *val, socklen_t *len)
{
	struct tcp_zerocopy_receive zc = {0};
	size_t n = sl_min((size_t)*len, sizeof(zc));

	if (n < offsetof(struct tcp_zerocopy_receive, length) + sizeof(zc.length))
		return -EINVAL;
	memcpy(&zc, val, n);
	if (zc.address & 4095)
		return -EINVAL;
	zc.length = 0;
	zc.recv_skip_hint = sl_tcp_inq(&c->tcp);
	zc.inq = c->tcp.rx_bytes + c->tcp.fin_rcvd;
	zc.copybuf_len = 0;
	if (!zc.recv_skip_hint && c->tcp.fin_rcvd)
		return -EIO;
	if (n >= offsetof(struct tcp_zerocopy_receive, err) + sizeof(zc.err))
		zc.err = sl_tconn_take_error(c);
	return put_bytes(val, len, &zc, n);
}

static int get_tcp(struct sl_tconn *c, int name, void *val, socklen_t *len)
{
	union tcp_cc_info cc = {0};
	char cong[16] = {0};

	switch (name) {
	case TCP_ZEROCOPY_RECEIVE:
		return get_zerocopy(c, val, len);
	case TCP_INFO:
		return get_info(c, val, len);
	case TCP_CONGESTION:
		strncpy(cong, sl_tcp_congestion(&c->tcp), sizeof(cong) - 1);
		return put_bytes(val, len, cong, sizeof(cong));
	case TCP_CC_INFO:
		return put_bytes(val, len, &cc, sl_tcp_cc_info(&c->tcp, &cc));
	case TCP_MAXSEG:
		return put_int(val, len, maxseg(&c->tcp));
	case TCP_QUICKACK:
		return put_int(val, len, c->tcp.quickack_user != 1 && !c->tcp.pingpong);
	}
	return -EREMOTE;
}

/* SO_PEERNAME, which also tells the peer of a connection that is over. */
static int get_peername(const struct sl_sock *sk, const struct sl_tcp_key *key, void *val,
			socklen_t *len)
{
	struct sockaddr_storage ss = {0};
	socklen_t n = sizeof(ss);

	sl_addr_to_sockaddr(&key->remote, key->rport, sk->local_scope, sk->family,
			    (struct sockaddr *)&ss, &n);
	return len && n < *len ? -EINVAL : put_bytes(val, len, &ss, n);
}

static int get_ipv6(struct sl_tconn *c, int name, void *val, socklen_t *len)
{
	if (name == IPV6_MTU)
		return put_int6(val, len, (int)sl_tconn_dst(c)->route.mtu);
	if (name == IPV6_ADDRFORM && c->tcp.state == SL_TCP_ESTABLISHED)
		return put_int6(val, len, AF_INET6);
	return -EREMOTE;
}

/* Also tells, once, the error of a report that did not end the connection (sk_err_soft). */
static int take_any_error(struct sl_tconn *c)
{
	int err = sl_tconn_take_error(c);

	if (!err) {
		err = c->tcp.soft_error;
		c->tcp.soft_error = 0;
	}
	return err;
}

static int get_meminfo(const struct sl_tconn *c, void *val, socklen_t *len)
{
	struct sl_opt_mem ours = {.rmem = c->tcp.rmem,
				  .rcvbuf = c->tcp.rcvbuf,
				  .wmem = c->tcp.wmem,
				  .sndbuf = c->tcp.sndbuf};

	return sl_opt_meminfo(c->sk->fd, &ours, val, len);
}

static int get_locked(struct sl_tconn *c, int level, int name, void *val, socklen_t *len)
{
	if (level == SOL_SOCKET && name == SO_ERROR)
		return put_int(val, len, take_any_error(c));
	if (level == SOL_SOCKET && name == SO_PEERNAME)
		return get_peername(c->sk, &c->tcp.node.key, val, len);
	if (level == SOL_SOCKET && name == SO_RCVBUF)
		return put_int(val, len, (int)c->tcp.rcvbuf);
	if (level == SOL_SOCKET && name == SO_SNDBUF)
		return put_int(val, len, (int)c->tcp.sndbuf);
	if (level == SOL_SOCKET && name == SO_INCOMING_CPU) /* the caller turns the lane */
		return put_int(val, len, sl_opt_cpu());
	if (level == SOL_SOCKET && name == SO_MEMINFO)
		return get_meminfo(c, val, len);
	if (level == IPPROTO_TCP)
		return get_tcp(c, name, val, len);
	if (level == IPPROTO_IP && name == IP_MTU)
		return get_mtu(c, val, len);
	if (level == IPPROTO_IPV6 && c->sk->family == AF_INET6)
		return get_ipv6(c, name, val, len);
	return -EREMOTE;
}

/* The children that wait with us are in its queue, too. */
static int get_listener_info(struct sl_sock *sk, void *val, socklen_t *len)
{
	const size_t at = offsetof(struct tcp_info, tcpi_unacked);
	const struct sl_tlisten *l = sl_load_acquire(&sk->lsn);
	int err = sl_sys_getsockopt(sk->fd, IPPROTO_TCP, TCP_INFO, val, len);
	uint32_t n;

	if (err == 0 && l && *len >= at + sizeof(n)) {
		memcpy(&n, (char *)val + at, sizeof(n));
		n += sl_load(&l->tcp.nchildren);
		memcpy((char *)val + at, &n, sizeof(n));
	}
	return err;
}

/* Reads SO_TIMESTAMPING from the shadow, which has all its flags but OPT_ID. */
static int get_stamping(struct sl_sock *sk, int name, void *val, socklen_t *len)
{
	int err = sl_sys_getsockopt(sk->fd, SOL_SOCKET, name, val, len);
	uint32_t flags;

	if (err < 0 || *len < sizeof(flags) ||
	    (name == SO_TIMESTAMPING_NEW && !(sk->want & SL_WANT_NEW_STAMP)))
		return err;
	memcpy(&flags, val, sizeof(flags));
	flags |= sl_errq_flags(sk) & (SOF_TIMESTAMPING_OPT_ID | SL_TS_OPT_ID_TCP);
	memcpy(val, &flags, sizeof(flags));
	return 0;
}

static int get_own_congestion(const struct sl_sock *sk, void *val, socklen_t *len)
{
	char name[16] = {0};

	strncpy(name, sl_tcp_cc_own(sk), sizeof(name) - 1);
	return put_bytes(val, len, name, sizeof(name));
}

int sl_tcp_opt_get(struct sl_sock *sk, int level, int name, void *val, socklen_t *len)
{
	struct sl_lane *lane;
	int err = -EREMOTE;

	if (level == SOL_SOCKET && name == SO_ERROR && sl_load(&sk->error))
		return put_int(val, len, sl_sock_kept_error(sk));
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY && sk->family == AF_INET6 &&
	    (sk->named || sl_load(&sk->conn)))
		return put_int6(val, len, sk->v6only);
	if (level == IPPROTO_TCP && name == TCP_INFO && sl_load(&sk->lsn))
		return get_listener_info(sk, val, len);
	if (level == SOL_SOCKET && (name == SO_TIMESTAMPING_OLD || name == SO_TIMESTAMPING_NEW) &&
	    sl_load(&sk->conn))
		return get_stamping(sk, name, val, len);
	if (level == IPPROTO_TCP && name == TCP_CONGESTION && sl_unlikely(sk->cc))
		return get_own_congestion(sk, val, len);
	if (!sl_load(&sk->conn) || !sl_sock_lock(sk, &lane))
		return -EREMOTE;
	if (name == (level == SOL_SOCKET ? SO_ERROR : TCP_INFO))
		sl_lane_turn_locked(lane); /* what came may be told by it */
	if (sk->conn) {
		sl_lane_tcp_begin(lane);
		err = get_locked(sk->conn, level, name, val, len);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
	return err;
}

/* tcp_ioctl() */
int sl_tcp_sock_ioctl(struct sl_sock *sk, unsigned long request, void *arg)
{
	struct sl_lane *lane;
	int v = -1;

	if (request != FIONREAD && request != SIOCOUTQ && request != SIOCOUTQNSD &&
	    request != SIOCATMARK)
		return -EREMOTE;
	if (!sl_load(&sk->conn) || !sl_sock_lock(sk, &lane))
		return -EREMOTE;
	sl_lane_turn_locked(lane);
	if (sk->conn) {
		const struct sl_tcp *t = &sk->conn->tcp;

		v = request == FIONREAD     ? (int)sl_tcp_inq(t)
		    : request == SIOCOUTQ   ? (int)sl_tcp_outq(t, false)
		    : request == SIOCATMARK ? sl_tcp_at_mark(t)
					    : (int)sl_tcp_outq(t, true);
	}
	sl_lane_unlock(lane);
	if (v < 0)
		return -EREMOTE;
	return sl_guard_copy(arg, &v, sizeof(v));
}
