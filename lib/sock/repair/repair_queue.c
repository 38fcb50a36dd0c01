/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts a connection into the accept queue of the kernel's listener.
 *
 * Theory of operation: no system call does that, but a handshake does: segments in the peer's name,
 * which never leave this host (repair_fin.c). The kernel chooses the first number of its side by a
 * secret, with one exception: a SYN that ends a TIME_WAIT (RFC 6191) is answered by a number that
 * follows the old connection's (tcp_timewait_state_process(): tw_snd_nxt + 65537). So a TIME_WAIT
 * is made first, of the numbers that lead to ours. After the SYN and its ACK the segments with the
 * unread bytes follow, and the FIN. What the kernel answers goes to the peer, which has had all of
 * it: a peer acknowledges such segments and does nothing else (RFC 9293 3.10.7.4).
 *
 * The connection has no time stamps from then on: the kernel's would stand behind ours in half of
 * all cases, and peers drop such (RFC 7323 5). The kernel chooses the scale of its window as for
 * any connection; if the peer was told another one, the kernel's connection is taken back. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "base/sys.h"
#include "ctl/front/broker.h"
#include "ctl/kern/diag_sock.h"
#include "ctl/kern/netlink.h"
#include "sock/repair/repair.h"
#include "wire/wire.h"

#define LOOPBACK    1     /* number of the device in each network namespace */
#define AFTER_TW    65537 /* see above */
#define OLDER       16    /* so far the TIME_WAIT's numbers of the peer stand behind the SYN */
#define ESTABLISHED 1
#define CLOSE_WAIT  8
#define LOOKS       16
#define LOOK_NS     250000

struct queue {
	int listener, netlink;
	uint64_t cookie; /* the listener's */
	const struct sl_tcp_repair *r;
	uint32_t iss, irs;
};

/* Bytes that the kernel's queue of a connection holds at most, with their overhead. */
static uint32_t room(int listener)
{
	int n = 0;

	return sl_sys_get_int(listener, SOL_SOCKET, SO_RCVBUF, &n) ? 0 : (uint32_t)sl_max(n, 0);
}

/* The socket that the kernel gives the connection's packets to. */
static int find(const struct queue *q, struct sl_diag_sock *s)
{
	const struct sl_diag_flow f = {
		.local = q->r->key.local,
		.remote = q->r->key.remote,
		.local_port = q->r->key.lport,
		.remote_port = q->r->key.rport,
		.ifindex = LOOPBACK,
		.proto = IPPROTO_TCP,
	};

	return sl_diag_find(q->netlink, &f, s);
}

static bool is_connected(const struct sl_diag_sock *s)
{
	return s->state == ESTABLISHED || s->state == CLOSE_WAIT;
}

static bool is_begun(const struct sl_diag_sock *s)
{
	return s->state == SL_DIAG_SYN_RECV || s->state == SL_DIAG_NEW_SYN_RECV;
}

static int check_listener(const struct queue *q)
{
	struct sl_diag_sock s;
	int err = find(q, &s);

	if (!err && (is_connected(&s) || is_begun(&s)))
		return -EALREADY;
	return err ? err : s.cookie == q->cookie && s.state == SL_DIAG_LISTEN ? 0 : -EOPNOTSUPP;
}

static int make_time_wait(const struct queue *q)
{
	struct sl_tcp_repair w = {
		.key = q->r->key,
		.scope_id = q->r->scope_id,
		.state = SL_TCP_ESTABLISHED,
		.snd_nxt = q->iss - AFTER_TW - 1, /* (a FIN) */
		.rcv_nxt = q->irs - OLDER,
		.snd_wnd = 65535,
		.max_window = 65535,
		.rcv_wnd = 65535,
		.mss_clamp = SL_TCP_MSS_V4,
	};
	int fd = sl_repair_socket(&w.key), err;

	if (fd < 0)
		return fd;
	w.snd_una = w.snd_nxt;
	w.snd_wl1 = w.rcv_wup = w.rcv_nxt;
	err = sl_repair_time_wait(fd, &w);
	sl_sys_close(fd);
	return err;
}

/* The options of the peer's SYN that matter here, padded. */
static uint16_t put_options(uint8_t *p, const struct sl_tcp_repair *r)
{
	uint16_t n = 4;

	p[0] = 2; /* MSS, then window scale and SACK permitted (RFC 9293 3.2, 7323, 2018) */
	p[1] = 4;
	sl_put_be16(p + 2, r->mss_clamp);
	if (r->wscale_ok) {
		const uint8_t o[] = {1, 3, 3, r->snd_wscale};

		memcpy(p + n, o, sizeof(o));
		n += sizeof(o);
	}
	if (r->sack_ok) {
		const uint8_t o[] = {1, 1, 4, 2};

		memcpy(p + n, o, sizeof(o));
		n += sizeof(o);
	}
	return n;
}

static int send_syn(const struct queue *q)
{
	uint8_t opts[SL_FORGED_OPTS];
	const struct sl_forged f = {
		.seq = q->irs,
		.opts = opts,
		.nopts = put_options(opts, q->r),
		.flags = SL_TCP_SYN,
	};

	return sl_repair_forge(q->listener, q->r, &f);
}

/* The rest of the handshake, and bytes behind it. */
static int send_acked(const struct queue *q, uint32_t seq, const void *bytes, uint16_t n,
		      uint8_t flags)
{
	const struct sl_forged f = {
		.seq = seq,
		.ack = q->iss + 1,
		.bytes = bytes,
		.n = n,
		.flags = SL_TCP_ACK | flags,
	};

	return sl_repair_forge(q->listener, q->r, &f);
}

/* Waits until the kernel has taken what was sent. */
static int await(const struct queue *q, bool (*wanted)(const struct sl_diag_sock *),
		 uint32_t unread, struct sl_diag_sock *s)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (unsigned i = 0; i < LOOKS; i++) {
		if (!find(q, s) && wanted(s) && s->rqueue >= unread)
			return 0;
		(void)sl_sys(SYS_nanosleep, &pause, NULL);
	}
	return -EAGAIN;
}

/* Bytes that may have come to the kernel in order, then the FIN. */
static int send_unread(const struct queue *q, const struct sl_repair_source *src)
{
	uint8_t buf[SL_FORGED_MOST];
	uint32_t at = 0, n;
	int err = 0;

	for (; at < q->r->rcvq && !err; at += n) {
		n = src->rcvq(src->arg, at, buf, sl_min((uint32_t)sizeof(buf), q->r->rcvq - at));
		if (!n)
			return -EINVAL;
		err = send_acked(q, q->irs + 1 + at, buf, (uint16_t)n, SL_TCP_PSH);
	}
	if (!err && q->r->fin_rcvd)
		err = send_acked(q, q->irs + 1 + at, NULL, 0, SL_TCP_FIN);
	return err;
}

static int give(const struct queue *q, const struct sl_repair_source *src)
{
	struct sl_diag_sock s;
	int err = send_syn(q) ?: await(q, is_begun, 0, &s);

	if (!err)
		err = send_acked(q, q->irs + 1, NULL, 0, 0) ?: await(q, is_connected, 0, &s);
	if (!err && q->r->wscale_ok && s.rcv_wscale != q->r->rcv_wscale)
		err = -EAGAIN;
	if (!err)
		err = send_unread(q, src);
	return err ?: await(q, is_connected, q->r->rcvq + q->r->fin_rcvd, &s);
}

/* The peer seems to reset what the kernel has taken. */
static void take_back(const struct queue *q)
{
	struct sl_diag_sock s;
	uint32_t seq = q->irs + 1;

	if (find(q, &s) || s.state == SL_DIAG_LISTEN)
		return;
	(void)send_acked(q, is_connected(&s) ? seq + s.rqueue : seq, NULL, 0, SL_TCP_RST);
}

/* TCP_DEFER_ACCEPT has the kernel drop the ACK that ends a handshake, and wait for bytes: here it
 * has done so, whether bytes came or the time was over. Returns the former value. */
static int set_defer(int listener, int seconds)
{
	int was = 0;

	if (sl_sys_get_int(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &was) || was == seconds)
		return seconds;
	(void)sl_sys_set_int(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, seconds);
	return was;
}

int sl_repair_queue(int listener, const struct sl_tcp_repair *r, const struct sl_repair_source *src)
{
	struct queue q = {
		.listener = listener,
		.r = r,
		.iss = r->snd_una - 1,
		.irs = r->rcv_nxt - r->rcvq - 1,
	};
	socklen_t len = sizeof(q.cookie);
	int err = sl_broker_may_inject();

	if (!err && (r->sndq || r->fin_sent || r->fin_queued))
		err = -EINVAL;
	if (!err && r->rcvq > room(listener))
		err = -EAGAIN;
	if (!err)
		err = sl_sys_getsockopt(listener, SOL_SOCKET, SO_COOKIE, &q.cookie, &len);
	if (err)
		return err;
	q.netlink = sl_netlink_open(NETLINK_SOCK_DIAG);
	if (q.netlink < 0)
		return q.netlink;
	err = check_listener(&q) ?: make_time_wait(&q);
	if (!err) {
		int defer = set_defer(listener, 0);

		err = give(&q, src);
		if (err)
			take_back(&q);
		if (defer) /* (0: another process may have taken it off for its own) */
			(void)set_defer(listener, defer);
	}
	sl_sys_close(q.netlink);
	return err;
}
