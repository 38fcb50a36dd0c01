/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit time stamps of a stream (tcp_tx_timestamp(), tcp_ack_tstamp() of Linux): of the last
 * byte of each call.
 *
 * Theory of operation: a call leaves a mark at its last byte. Each time that the segment with this
 * byte is sent it gets a stamp, and the acknowledgment of the byte gets one. So several stamps with
 * one number mean that the byte was sent again. If several marks are in one segment the last one
 * counts, as in an skb of the kernel. The program gets the frame itself as the packet, and we hold
 * a reference to it: a segment that is sent again meanwhile goes in another frame. Numbers count
 * bytes from the position at which the program asked for them. */
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>

#include "base/clock.h"
#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/core/life.h"
#include "sock/stream/errq_tcp.h"
#include "sock/stream/tconn.h"
#include "stack/leg.h"
#include "stack/port.h"

/* A call's last byte. */
struct sl_errq_mark {
	uint32_t seq;
	uint32_t flags; /* SOF_TIMESTAMPING_TX_* */
	uint32_t frame; /* once it was sent: of the bytes of its segment; SL_NO_FRAME: none */
	uint16_t off, len;
	bool sent;
};
_Static_assert(sizeof(struct sl_errq_mark) <= SL_ERRQ_MARK_BYTES, "room for marks");

static struct sl_errq_mark *mark_at(const struct sl_errq *q, uint32_t i)
{
	return (struct sl_errq_mark *)q->marks + (q->mark_first + i) % SL_ERRQ_MARKS;
}

static void drop_frame(struct sl_errq_mark *m, struct sl_frames *cache)
{
	if (m->frame != SL_NO_FRAME)
		sl_frame_put(cache, m->frame);
	m->frame = SL_NO_FRAME;
}

static void pop_mark(struct sl_errq *q, struct sl_frames *cache)
{
	drop_frame(mark_at(q, 0), cache);
	q->mark_first = (q->mark_first + 1) % SL_ERRQ_MARKS;
	q->nmarks--;
}

static struct sl_sent sent_of(const struct sl_errq *q, const struct sl_errq_mark *m)
{
	struct sl_sent s = {.flags = m->flags, .frame = SL_NO_FRAME};

	if (q->flags & SOF_TIMESTAMPING_OPT_ID)
		s.id = m->seq - q->key;
	return s;
}

static bool loops(const struct sl_errq *q)
{
	return !(q->flags & SOF_TIMESTAMPING_OPT_TSONLY);
}

static void notify(struct sl_sock *sk, uint32_t had)
{
	if (sk->errq->n != had)
		sl_sock_notify(sk, EPOLLERR);
}

/* Makes the stamps of a segment that was just posted. */
static void stamp(struct sl_sock *sk, struct sl_leg *leg, struct sl_sent *s)
{
	s->type = SCM_TSTAMP_SCHED;
	s->mono_ns = sl_now_ns();
	if (s->flags & SOF_TIMESTAMPING_TX_SCHED)
		sl_errq_push(sk, s);
	sl_errq_left(sk, leg, s);
}

/* The queue is made when the option is set or asked for, before there can be marks. Lane held. */
void sl_errq_mark(struct sl_tconn *c, uint32_t flags)
{
	struct sl_errq *q = c->sk->errq;
	struct sl_errq_mark *m;
	uint32_t had = q->n;
	struct sl_sent s;

	if (!flags || q->nmarks == SL_ERRQ_MARKS || !sl_errq_has_ring(q))
		return;
	m = mark_at(q, q->nmarks);
	*m = (struct sl_errq_mark){c->tcp.write_seq - 1, flags, SL_NO_FRAME, 0, 0, false};
	if (sl_seq_lt(m->seq, c->tcp.snd_nxt) && c->path && c->path->leg) { /* gone already */
		m->sent = true;
		s = sent_of(q, m);
		stamp(c->sk, c->path->leg, &s);
		notify(c->sk, had);
	}
	q->nmarks++;
	c->special |= SL_TCONN_MARKED;
}

static void to_last(struct sl_sock *sk, struct sl_tconn *c, uint32_t end)
{
	struct sl_errq *q = sk->errq;

	/* Drops earlier unsent marks of the segment: the last mark counts for all of them. */
	while (q->nmarks > 1 && !mark_at(q, 0)->sent && sl_seq_lt(mark_at(q, 1)->seq, end))
		pop_mark(q, &c->lane->frames);
}

static struct sl_errq_mark *last_mark(const struct sl_errq *q, uint32_t seq, uint32_t end)
{
	for (uint32_t i = q->nmarks; i-- > 0;) {
		struct sl_errq_mark *m = mark_at(q, i);

		if (sl_seq_ge(m->seq, seq) && sl_seq_lt(m->seq, end))
			return m;
	}
	return NULL;
}

void sl_errq_segment(struct sl_tconn *c, struct sl_leg *leg, const struct sl_tcp_seg *seg,
		     const struct sl_tx_desc *d)
{
	struct sl_errq *q = c->sk ? c->sk->errq : NULL;
	struct sl_errq_mark *m;
	uint32_t had;
	struct sl_sent s;

	if (!q || !seg->len)
		return;
	to_last(c->sk, c, seg->seq + seg->len);
	m = last_mark(q, seg->seq, seg->seq + seg->len);
	if (!m)
		return;
	had = q->n;
	m->sent = true;
	s = sent_of(q, m);
	if (loops(q)) {
		s.frame = d->frame;
		s.off = d->off;
		s.len = d->len;
		s.ifindex = leg->port->info.ifindex;
	}
	stamp(c->sk, leg, &s);
	if (loops(q) && m->flags & SOF_TIMESTAMPING_TX_ACK && m->frame == SL_NO_FRAME) {
		m->frame = d->frame;
		m->off = (uint16_t)(d->off + d->hdr);
		m->len = seg->len;
		sl_frame_ref(m->frame);
	}
	notify(c->sk, had);
}

void sl_errq_acked(struct sl_tconn *c)
{
	struct sl_errq *q = c->sk ? c->sk->errq : NULL;
	uint32_t had = q ? q->n : 0;

	while (q && q->nmarks && sl_seq_lt(mark_at(q, 0)->seq, c->tcp.snd_una)) {
		struct sl_errq_mark *m = mark_at(q, 0);
		struct sl_sent s = sent_of(q, m);

		s.type = SCM_TSTAMP_ACK;
		s.mono_ns = sl_now_ns();
		s.frame = m->frame;
		s.off = m->off;
		s.len = m->len;
		if (m->flags & SOF_TIMESTAMPING_TX_ACK)
			sl_errq_push(c->sk, &s);
		pop_mark(q, &c->lane->frames);
	}
	if (!q || !q->nmarks)
		c->special &= ~SL_TCONN_MARKED;
	if (q)
		notify(c->sk, had);
}

void sl_errq_unmark(struct sl_errq *q, struct sl_frames *cache)
{
	while (q->nmarks)
		pop_mark(q, cache);
}

void sl_errq_icmp(struct sl_tconn *c, const struct sl_in_icmp *e, const struct sl_in *in)
{
	struct sl_sent s = {
		.mono_ns = sl_now_ns(),
		.icmp = {e->info, (uint8_t)e->err, e->type, e->code, e->v6},
		.id = in->off + in->pkt.l3,
		.flags = in->off + e->inner,
		.ifindex = in->ifindex,
		.frame = in->frame,
		.off = (uint16_t)(in->off + e->l4),
		.len = (uint16_t)(in->pkt.payload + in->pkt.payload_len - e->l4),
		.type = SL_SENT_ICMP,
	};

	if (e->v6 && !(c->special & SL_TCONN_TELLS << 1))
		return;
	if (!sl_errq_make(c->sk))
		return;
	s.order = c->sk->errq->order;
	if (sl_errq_push(c->sk, &s))
		sl_sock_notify(c->sk, EPOLLERR);
}

/* The kernel numbers bytes from the position at which the option is set: with OPT_ID_TCP from the
 * end of the bytes written. If the option is set again without it, the numbers go on. */
void sl_errq_to_kernel(struct sl_sock *sk, uint32_t write_seq)
{
	int name = sk->want & SL_WANT_NEW_STAMP ? SO_TIMESTAMPING_NEW : SO_TIMESTAMPING_OLD;
	struct sl_errq *q = sk->errq;
	uint32_t flags;

	if (!q || !(q->flags & SOF_TIMESTAMPING_OPT_ID))
		return;
	flags = q->flags | SL_TS_OPT_ID_TCP;
	sl_sys_setsockopt(sk->fd, SOL_SOCKET, name, &flags, sizeof(flags));
	sl_sys_setsockopt(sk->fd, SOL_SOCKET, name, &q->flags, sizeof(q->flags));
	q->os_offset = write_seq - q->key;
}

/* False: a message of level SOL_SOCKET that is not known, an error in __sock_cmsg_send().
 * SCM_TXTIME is one without the option SO_TXTIME, and with it the socket is the kernel's. */
static bool cmsg_is_known(const struct cmsghdr *c)
{
	if (c->cmsg_level != SOL_SOCKET)
		return true;
	switch (c->cmsg_type) {
	case SO_TIMESTAMPING_OLD:
	case SO_TIMESTAMPING_NEW:
	case SO_MARK:
	case SO_PRIORITY:
		return c->cmsg_len == CMSG_LEN(sizeof(uint32_t));
	case SCM_RIGHTS:
	case SCM_CREDENTIALS:
		return true;
	}
	return false;
}

int sl_errq_asks(struct sl_sock *sk, const struct msghdr *msg)
{
	uint32_t set = sl_errq_flags(sk) & SL_TS_RECORD, flags;
	struct sl_lane *lane;
	struct sl_leg *leg;
	bool own = false, ok, by_os;

	if (!msg || !msg->msg_controllen)
		return (int)set;
	for (struct cmsghdr *c = sl_cmsg_first(msg); c; c = sl_cmsg_next(msg, c))
		if (!sl_cmsg_fits(msg, c) || !cmsg_is_known(c))
			return -EINVAL;
	flags = sl_errq_asked_by(msg, set, &own);
	if (own || flags & ~(uint32_t)SL_TS_RECORD)
		return -EINVAL;
	if (!flags || !sl_sock_lock(sk, &lane))
		return 0;
	ok = sl_errq_make(sk);
	leg = flags & SOF_TIMESTAMPING_TX_HARDWARE && sk->conn ? sl_tconn_leg(sk->conn) : NULL;
	by_os = leg && sl_errq_is_os(leg);
	sl_lane_unlock(lane);
	if (by_os)
		sl_sock_kernel(sk, SL_REASON_OPTION);
	return ok ? (int)flags : 0;
}
