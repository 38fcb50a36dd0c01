/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's callback of a stream, which sees each piece of the receive queue before it can be
 * read.
 *
 * Theory of operation: pieces stay in the queue, behind those that may be read, until the callback
 * has judged them (tcp/tcp_filter.h), so a connection can go to the kernel at any moment. A thread
 * that receives or polls enters some into the table of held packets, with a reference of their own
 * to the frames, releases the lane, asks the callback, and then lets them pass or cuts them out of
 * the queue. What is held is bounded by the receive buffer: the rest is not shown until some is
 * freed, and the window closes meanwhile. */
#include <errno.h>

#include "base/clock.h"
#include "sluice_extra.h"
#include "sock/core/errq.h"
#include "sock/core/ready.h"
#include "sock/extra/kept.h"
#include "sock/stream/tconn.h"
#include "stack/hwclock.h"
#include "stack/lane_tcp.h"
#include "tcp/tcp_filter.h"

struct item {
	struct sl_rxseg s;
	uint64_t id;
	int verdict;
};

/* The pieces of a thread that is cancelled in its callback pass, as far as it has not judged them.
 */
struct batch {
	struct sl_sock *sk;
	struct sl_extra *x;
	const struct sl_tconn *conn;
	struct sl_tcp_key key;
	uint32_t gen;      /* of the socket */
	uint32_t pass_seq; /* of the first piece */
	uint64_t stamp_ns, hw_ns;
	uint32_t hw_ifindex;
	struct sl_filter_run as;
	unsigned n;
	struct item item[SL_FILTER_BATCH];
};

bool sl_filter_stream_unseen(const struct sl_sock *sk)
{
	const struct sl_tconn *c = sl_load_acquire(&sk->conn);

	return c && sl_tcp_unseen(&c->tcp);
}

void sl_filter_connected(struct sl_sock *sk)
{
	const struct sl_extra *x = sl_extra_of(sk);

	if (x && x->callback && sk->conn)
		sl_tcp_filter(&sk->conn->tcp);
}

/* Enters a piece into the table of held packets. False: there is no room. */
static bool enter(struct batch *b, struct item *it)
{
	uint32_t charge = 1u << sl_pool.shift;

	if (b->x->charged && b->x->charged + charge > b->sk->conn->tcp.rcvbuf)
		return false;
	it->id = sl_kept_add(b->x, it->s.frame, 0, charge);
	if (!it->id)
		return false;
	sl_frame_ref(it->s.frame);
	b->x->charged += charge;
	it->verdict = SL_PACKET_RECV;
	return true;
}

static void note_times(struct batch *b, const struct sl_tcp *t)
{
	if (!b->sk->want)
		return;
	b->stamp_ns = t->last_rcv_us * 1000;
	b->hw_ns = b->sk->errq ? b->sk->errq->hw_ns : 0;
	b->hw_ifindex = b->hw_ns ? b->sk->errq->hw_ifindex : 0;
}

static int take(struct batch *b, struct sl_tcp *t)
{
	struct sl_rxseg s[SL_FILTER_BATCH];
	unsigned n = t->frozen ? 0 : sl_tcp_unseen_pieces(t, s, SL_FILTER_BATCH, &b->as.pkts);

	if (t->frozen)
		return -ENOBUFS;
	if (!b->as.callback) { /* it was unregistered */
		sl_tcp_pass(t, UINT32_MAX);
		sl_sock_notify(b->sk, EPOLLIN | EPOLLRDNORM);
		return 0;
	}
	b->key = t->node.key;
	b->pass_seq = t->pass_seq;
	b->as.bytes = sl_tcp_passed(t);
	note_times(b, t);
	for (; b->n < n; b->n++) {
		b->item[b->n].s = s[b->n];
		if (!enter(b, &b->item[b->n]))
			break;
	}
	return n && !b->n ? -ENOBUFS : (int)b->n;
}

static int collect(struct batch *b)
{
	struct sl_lane *lane;
	int n = 0;

	if (!sl_sock_lock(b->sk, &lane))
		return -EDEADLK;
	b->as.callback = b->x->callback;
	b->as.arg = b->x->arg;
	b->as.fd = b->x->fd;
	b->as.flow_tag = sl_load(&b->x->flow_tag);
	b->gen = b->sk->gen;
	b->conn = b->sk->conn;
	if (b->conn && sl_tcp_unseen(&b->conn->tcp))
		n = take(b, &b->sk->conn->tcp);
	sl_lane_unlock(lane);
	return n;
}

static void put_name(const struct sl_addr *a, uint16_t port, uint32_t scope,
		     struct sockaddr_in6 *sa)
{
	socklen_t len = sizeof(*sa);

	sl_addr_to_sockaddr(a, port, scope, sl_addr_is_v4(a) ? AF_INET : AF_INET6,
			    (struct sockaddr *)sa, &len);
}

static int ask(const struct batch *b, const struct item *it)
{
	struct iovec iov = {sl_frame_ptr(it->s.frame) + it->s.off, it->s.len};
	struct sockaddr_in6 src, dst;
	struct sl_packet_info info = {
		.size = sl_filter_info_bytes(b->as.flow_tag),
		.id = (void *)(uintptr_t)it->id,
		.src = (struct sockaddr *)&src,
		.dst = (struct sockaddr *)&dst,
		.payload_bytes = it->s.len,
		.queue_pkts = b->as.pkts,
		.queue_bytes = b->as.bytes,
		.flow_tag = b->as.flow_tag,
	};

	put_name(&b->key.remote, b->key.rport, b->sk->local_scope, &src);
	put_name(&b->key.local, b->key.lport, b->sk->local_scope, &dst);
	if (b->stamp_ns)
		info.sw_stamp = sl_filter_time(sl_mono_to_real_ns(b->stamp_ns));
	if (b->hw_ns)
		info.hw_stamp = sl_filter_time(sl_hw_time(b->hw_ifindex, b->hw_ns));
	return b->as.callback(b->as.fd, 1, &iov, &info, b->as.arg);
}

/* Does what the callback has said about a piece, the first one in the queue that it has not judged.
 * h: its entry in the table; NULL: the callback has freed it. */
static void judge(struct batch *b, struct sl_tcp *t, const struct item *it, const struct sl_kept *h)
{
	bool recv = h && it->verdict != SL_PACKET_DROP && it->verdict != SL_PACKET_HOLD;

	if (!recv && sl_tcp_cut(t, it->s.len)) {
		if (h && it->verdict == SL_PACKET_HOLD)
			b->sk->stats->rx_bytes += it->s.len;
		return;
	}
	sl_tcp_pass(t, it->s.len);
	b->as.pkts = UINT32_MAX; /* some can be read */
}

/* The connection whose queue has the pieces still, or NULL. */
static struct sl_tcp *same_queue(const struct batch *b)
{
	struct sl_tconn *c = b->sk->conn;

	if (!c || c != b->conn || b->sk->gen != b->gen || c->tcp.pass_seq != b->pass_seq)
		return NULL;
	return c->tcp.frozen || !c->tcp.filtered ? NULL : &c->tcp;
}

/* Wakes threads that wait for bytes, or for the end of the stream: the pieces that the callback has
 * judged no longer stand before them. */
static void tell(const struct batch *b, const struct sl_tcp *t)
{
	if (b->as.pkts == UINT32_MAX || t->fin_rcvd || t->rx_shut || t->state == SL_TCP_CLOSED)
		sl_sock_notify(b->sk, EPOLLIN | EPOLLRDNORM);
}

static void sort(struct batch *b)
{
	struct sl_lane *lane;
	struct sl_tcp *t;

	if (!b->n || !sl_sock_lock(b->sk, &lane))
		return;
	t = same_queue(b);
	if (t)
		sl_lane_tcp_begin(lane);
	for (unsigned i = 0; i < b->n; i++) {
		const struct item *it = &b->item[i];
		struct sl_kept *h = sl_kept_find(b->x, it->id);

		if (t)
			judge(b, t, it, h);
		if (h && it->verdict != SL_PACKET_HOLD)
			sl_kept_put(b->sk, b->x, lane, h);
	}
	if (t) {
		tell(b, t);
		sl_lane_tcp_done(lane);
	}
	sl_lane_unlock(lane);
}

int sl_filter_stream(struct sl_sock *sk, struct sl_extra *x)
{
	struct batch b __attribute__((cleanup(sort)));
	int n;

	b = (struct batch){.sk = sk, .x = x};
	n = collect(&b);
	for (unsigned i = 0; i < b.n; i++)
		b.item[i].verdict = ask(&b, &b.item[i]);
	return n;
}
