/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit time stamps of datagrams, numbered sends, and the error queue of a socket. */
#include "sock/core/errq.h"

#include <errno.h>
#include <poll.h>
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/core/extra.h"
#include "sock/core/sock.h"
#include "sock/core/sock_ops.h"
#include "sock/core/udp_sock.h"
#include "stack/pace.h"
#include "stack/port.h"

/* About the truesize of the kernel's skb: without data, and beside them. */
#define CHARGE_EMPTY  960
#define CHARGE_PACKET 768

#define RING_BYTES ((SL_ERRQ_SIZE + SL_ERRQ_WAIT) * sizeof(struct sl_sent))

/* Requests --------------------------------------------------------------------------------------
 */

void sl_errq_limit(struct sl_sock *sk)
{
	if (sk->errq)
		sl_store(&sk->errq->limit, (uint32_t)sl_sock_get_int(sk, SOL_SOCKET, SO_RCVBUF));
}

bool sl_errq_make(struct sl_sock *sk)
{
	struct sl_errq *q;
	int saved = errno;

	if (sk->errq)
		return true;
	q = sl_calloc(1, sizeof(*q));
	errno = saved;
	if (!q)
		return false;
	sl_store_release(&sk->errq, q);
	sl_errq_limit(sk);
	return true;
}

static void start_count(struct sl_sock *sk, uint32_t flags)
{
	const struct sl_sock_ops *ops = sl_sock_ops(sk);
	struct sl_errq *q = sk->errq;

	q->os_next = q->os_offset = 0;
	q->key = ops->count_from ? ops->count_from(sk, flags & SL_TS_OPT_ID_TCP) : 0;
}

bool sl_errq_set(struct sl_sock *sk, uint32_t flags)
{
	bool counts = flags & SOF_TIMESTAMPING_OPT_ID, ok;
	struct sl_lane *lane;
	struct sl_errq *q;

	if (!sl_sock_lock(sk, &lane))
		return false;
	ok = sk->errq || !flags || sl_errq_make(sk);
	q = sk->errq;
	if (q) {
		if (counts && !(q->flags & SOF_TIMESTAMPING_OPT_ID))
			start_count(sk, flags);
		sl_errq_limit(sk);
		q->flags = flags;
	}
	if (sl_sock_is_udp(sk))
		sl_udp_sk(sk)->stamps = ok ? flags & SL_TS_RECORD : 0;
	sl_lane_unlock(lane);
	return ok;
}

/* The flags that have a meaning for a datagram. */
#define OF_DATAGRAM                                                                                \
	(SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED | \
	 SL_TS_COMPLETION)

/* Stamps come back ------------------------------------------------------------------------------
 */

bool sl_errq_has_ring(struct sl_errq *q)
{
	int saved = errno;

	if (q->sent)
		return true;
	q->sent = sl_calloc(1, RING_BYTES + SL_ERRQ_MARKS * SL_ERRQ_MARK_BYTES);
	errno = saved;
	q->marks = (uint8_t *)q->sent + RING_BYTES;
	return q->sent;
}

/* A program that does not read its error queue loses stamps, as in sock_queue_err_skb(). */
bool sl_errq_push(struct sl_sock *sk, const struct sl_sent *s)
{
	uint32_t charge = s->frame == SL_NO_FRAME ? CHARGE_EMPTY : CHARGE_PACKET + s->len;
	struct sl_errq *q = sk->errq;

	if (q->n == SL_ERRQ_SIZE || q->charged + charge >= q->limit || !sl_errq_has_ring(q))
		return false;
	q->sent[(q->head + q->n) % SL_ERRQ_SIZE] = *s;
	q->charged += charge;
	if (s->frame != SL_NO_FRAME)
		sl_frame_ref(s->frame);
	sl_store(&q->n, q->n + 1);
	return true;
}

/* Puts a stamp that is still to come in a waiting place and returns the place; -1: none is free. */
static int wait_for(struct sl_sock *sk, const struct sl_sent *s)
{
	struct sl_errq *q = sk->errq;
	uint32_t place = q->asked % SL_ERRQ_WAIT;

	if (q->waiting >> place & 1 || !sl_errq_has_ring(q))
		return -1;
	q->asked++;
	q->waiting |= 1ull << place;
	q->sent[SL_ERRQ_SIZE + place] = *s;
	if (s->frame != SL_NO_FRAME)
		sl_frame_ref(s->frame);
	return (int)place;
}

/* Takes the stamp from its waiting place; the caller now owns the reference to the frame. False:
 * nothing waits there. */
static bool waited(struct sl_sock *sk, uint32_t place, struct sl_sent *s)
{
	struct sl_errq *q = sk->errq;

	if (!q || !(q->waiting >> place & 1))
		return false;
	q->waiting &= ~(1ull << place);
	*s = q->sent[SL_ERRQ_SIZE + place];
	return true;
}

static void drop(struct sl_lane *lane, const struct sl_sent *s)
{
	if (s->frame != SL_NO_FRAME)
		sl_frame_put(&lane->frames, s->frame);
}

/* Asks for the hardware's stamp of the packet posted last. False: no stamp will come. */
static bool ask_hardware(struct sl_sock *sk, struct sl_leg *leg, const struct sl_sent *s)
{
	struct sl_sent again;
	int place;

	if (!sl_leg_has_stamps(leg) || (place = wait_for(sk, s)) < 0)
		return false;
	/* The generation in the cookie tells a stamp for an earlier life of the socket object. */
	if (sl_leg_stamp(leg, sk, (uint64_t)sk->gen << 32 | (uint32_t)place))
		return true;
	if (waited(sk, (uint32_t)place, &again))
		drop(leg->lane, &again);
	return false;
}

void sl_errq_left(struct sl_sock *sk, struct sl_leg *leg, struct sl_sent *s)
{
	bool both = sk->errq->flags & SOF_TIMESTAMPING_OPT_TX_SWHW;

	s->type = SCM_TSTAMP_SND;
	s->mono_ns = sl_now_ns();
	if (s->flags & SOF_TIMESTAMPING_TX_HARDWARE && ask_hardware(sk, leg, s) && !both)
		return;
	if (s->flags & SOF_TIMESTAMPING_TX_SOFTWARE)
		sl_errq_push(sk, s);
}

/* Lane held. Ignores a stamp for a socket that has moved to another lane, which is not held. */
static void on_stamp(const struct sl_tx_ask *ask, uint64_t hw_ns)
{
	struct sl_lane *lane = ask->lane;
	struct sl_sock *sk = ask->who;
	struct sl_sent s;

	sl_store(&lane->stamps, lane->stamps - 1);
	if (sl_load_acquire(&sk->lane) != lane || sl_load(&sk->gen) != ask->what >> 32 ||
	    !waited(sk, (uint32_t)ask->what, &s))
		return;
	s.mono_ns = 0;
	s.hw_ns = hw_ns;
	if (hw_ns && sl_errq_push(sk, &s))
		sl_sock_notify(sk, EPOLLERR | EPOLLPRI);
	drop(lane, &s);
}

/* The tag of a paced packet: its waiting place and the socket's generation. */
#define TAG_OF(sk, place) (1u << 31 | (sk)->gen << 6 | (place))
_Static_assert(SL_ERRQ_WAIT == 1 << 6, "the place in a tag");

static void on_posted(struct sl_leg *leg, const struct sl_tx_desc *d)
{
	struct sl_frame_charge *c = &sl_pool.charge[d->frame];
	struct sl_sock *sk = &sl_container_of(c->wmem, struct sl_udp_sock, wmem)->sk;
	uint32_t tag = c->tag, place = tag % SL_ERRQ_WAIT, had;
	struct sl_sent s;

	if (tag == SL_FRAME_FILLED)
		return;
	c->tag = 0;
	if (sl_load_acquire(&sk->lane) != leg->lane || tag != TAG_OF(sk, place) ||
	    !waited(sk, place, &s))
		return;
	had = sk->errq->n;
	sl_errq_left(sk, leg, &s);
	if (sk->errq->n != had)
		sl_sock_notify(sk, EPOLLERR | EPOLLPRI);
	drop(leg->lane, &s);
}

void sl_errq_init(void)
{
	sl_tx_on_stamp = on_stamp;
	sl_pace_on_posted = on_posted;
}

void sl_errq_posted(struct sl_sock *sk, struct sl_leg *leg, const struct sl_tx_desc *d)
{
	uint32_t flags = sl_udp_sk(sk)->stamps & OF_DATAGRAM;
	struct sl_errq *q = sk->errq;
	struct sl_sent s = {
		.ifindex = leg->port->info.ifindex,
		.frame = d->frame,
		.off = d->off,
		.len = d->len,
		.order = q->order,
		.type = SCM_TSTAMP_SCHED,
	};
	uint32_t had = q->n;
	int place;

	if (!flags)
		return;
	q->order++;
	if (q->flags & SOF_TIMESTAMPING_OPT_ID)
		s.id = q->key++;
	if (q->flags & SOF_TIMESTAMPING_OPT_TSONLY) {
		s.frame = SL_NO_FRAME;
		s.ifindex = s.len = 0;
	}
	s.mono_ns = sl_now_ns();
	if (flags & SOF_TIMESTAMPING_TX_SCHED)
		sl_errq_push(sk, &s);
	s.flags = flags & ~(uint32_t)SOF_TIMESTAMPING_TX_SCHED;
	if (!(leg->tx->caps & SL_TX_WAITS))
		sl_errq_left(sk, leg, &s);
	else if (s.flags && (place = wait_for(sk, &s)) >= 0)
		sl_pool.charge[d->frame].tag = TAG_OF(sk, (uint32_t)place);
	if (q->n != had)
		sl_sock_notify(sk, EPOLLERR | EPOLLPRI);
}

/* By the shadow --------------------------------------------------------------------------------
 */

uint32_t sl_errq_asked_by(const struct msghdr *msg, uint32_t flags, bool *own)
{
	for (struct cmsghdr *c = sl_cmsg_first(msg); c && sl_cmsg_fits(msg, c);
	     c = sl_cmsg_next(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_len != CMSG_LEN(sizeof(flags)))
			continue;
		if (c->cmsg_type == SO_TIMESTAMPING_OLD || c->cmsg_type == SO_TIMESTAMPING_NEW)
			memcpy(&flags, CMSG_DATA(c), sizeof(flags));
		else if (c->cmsg_type == SCM_TS_OPT_ID)
			*own = true;
	}
	return flags;
}

void sl_errq_sent_by_os(struct sl_sock *sk, const struct msghdr *msg)
{
	struct sl_errq *q = sk->errq;
	uint32_t flags = sl_errq_flags(sk);
	struct sl_lane *lane;
	bool own = false;

	if (msg && msg->msg_controllen)
		flags = sl_errq_asked_by(msg, flags, &own);
	if (!q || !(flags & OF_DATAGRAM) || !sl_sock_lock(sk, &lane))
		return;
	q->os_own |= own;
	if (!q->os_waits)
		q->os_order = q->order;
	q->os_waits = true;
	q->order++;
	if (!own && q->flags & SOF_TIMESTAMPING_OPT_ID)
		q->os_id[q->os_next++ % SL_ERRQ_BACK] = q->key++;
	sl_lane_unlock(lane);
}

static bool is_recverr(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

/* Finds the error of that origin in a message, which has one at most, and copies it to *ee. Returns
 * where it stands, or NULL. */
static void *find_error(struct msghdr *msg, uint8_t origin, struct sock_extended_err *ee)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (!is_recverr(c) || c->cmsg_len < CMSG_LEN(sizeof(*ee)))
			continue;
		memcpy(ee, CMSG_DATA(c), sizeof(*ee));
		return ee->ee_origin == origin ? CMSG_DATA(c) : NULL;
	}
	return NULL;
}

/* Turns the kernel's number of a message into ours. A number too old to be known stays as it is. */
static void renumber(const struct sl_errq *q, bool udp, struct msghdr *msg)
{
	struct sock_extended_err ee;
	void *at = find_error(msg, SO_EE_ORIGIN_TIMESTAMPING, &ee);

	if (!at)
		return;
	if (!udp)
		ee.ee_data += q->os_offset;
	else if (q->os_next - 1 - ee.ee_data < SL_ERRQ_BACK)
		ee.ee_data = q->os_id[ee.ee_data % SL_ERRQ_BACK];
	memcpy(at, &ee, sizeof(ee));
}

static ssize_t from_os(struct sl_sock *sk, int fd, struct msghdr *msg, int flags)
{
	ssize_t n = sl_sys_recvmsg(fd, msg, flags);
	struct sl_errq *q = sk->errq;
	struct sl_lane *lane;

	if (n == -EAGAIN && sl_load(&sk->os) & SL_OS_ERR)
		sl_sock_look_error(sk, fd);
	if (!sl_sock_lock(sk, &lane))
		return n;
	q->took_icmp = false;
	if (n == -EAGAIN)
		q->os_waits = false;
	else if (n >= 0 && msg->msg_control && !q->os_own && q->flags & SOF_TIMESTAMPING_OPT_ID)
		renumber(q, sl_sock_is_udp(sk), msg);
	sl_lane_unlock(lane);
	return n;
}

/* Reading -------------------------------------------------------------------------------------- */

static size_t copy_out(const struct sl_sent *s, const struct msghdr *msg)
{
	const uint8_t *from = s->len ? sl_frame_ptr(s->frame) + s->off : NULL;
	size_t done = 0;

	for (size_t i = 0; i < msg->msg_iovlen && done < s->len; i++) {
		size_t n = sl_min(msg->msg_iov[i].iov_len, s->len - done);

		memcpy(msg->msg_iov[i].iov_base, from + done, n);
		done += n;
	}
	return done;
}

/* Takes the first stamp, which must exist. Lane held. */
static ssize_t take(struct sl_sock *sk, struct sl_lane *lane, struct msghdr *msg, int flags)
{
	struct sl_errq *q = sk->errq;
	struct sl_sent *s = &q->sent[q->head % SL_ERRQ_SIZE];
	size_t done = copy_out(s, msg);

	if (s->type != SL_SENT_ICMP || !msg->msg_name)
		msg->msg_namelen = 0;
	msg->msg_flags =
		MSG_ERRQUEUE | (flags & MSG_CMSG_CLOEXEC) | (done < s->len ? MSG_TRUNC : 0);
	q->took_icmp = s->type == SL_SENT_ICMP;
	if (sl_unlikely(q->took_icmp))
		sl_cmsg_put_icmp(sk, s, msg);
	else
		sl_cmsg_put_sent(sk, s, msg);
	q->charged -= s->frame == SL_NO_FRAME ? CHARGE_EMPTY : CHARGE_PACKET + s->len;
	if (s->frame != SL_NO_FRAME)
		sl_frame_put(&lane->frames, s->frame);
	q->head++;
	sl_store(&q->n, q->n - 1);
	return (ssize_t)done;
}

/* Stamps are reported in the order of sending: does the kernel hold one that is older than ours? */
static bool is_os_first(const struct sl_errq *q)
{
	return q->os_waits && (int32_t)(q->sent[q->head % SL_ERRQ_SIZE].order - q->os_order) > 0;
}

static ssize_t recv_stamp(struct sl_sock *sk, int fd, struct msghdr *msg, int flags)
{
	struct sl_errq *q = sl_load_acquire(&sk->errq);
	struct msghdr given = *msg;
	ssize_t n = -EAGAIN;
	struct sl_lane *lane;

	if (!q)
		return sl_sys_recvmsg(fd, msg, flags);
	if (sl_sock_lock(sk, &lane)) {
		if (lane->stamps)
			sl_lane_reap(lane);
		if (q->n && !is_os_first(q))
			n = take(sk, lane, msg, flags);
		sl_lane_unlock(lane);
	}
	if (n == -EAGAIN)
		n = from_os(sk, fd, msg, flags);
	if (n != -EAGAIN || !sl_load(&q->n) || !sl_sock_lock(sk, &lane))
		return n;
	*msg = given;
	if (q->n)
		n = take(sk, lane, msg, flags);
	sl_lane_unlock(lane);
	return n;
}

/* MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst) --------------------------------------
 *
 * Sends are numbered, and the error queue says up to which number the program may use its buffers
 * again. A send that copied is complete at once, and the message says so, as the kernel's does for
 * a device without scatter-gather. Numbers come one after the other, so what can be read is one
 * range, as the kernel would have merged it; sends from packet memory that are not complete come
 * behind it (extra.h). A socket that went to the kernel is numbered from zero there: what comes
 * from its queue is put behind what we had. */

void sl_errq_copied(struct sl_sock *sk)
{
	struct sl_lane *lane;
	struct sl_extra *x;

	if (!sl_sock_lock(sk, &lane))
		return;
	sk->zc_next++;
	x = sl_extra_of(sk);
	if (sl_unlikely(x && x->zc.n)) {
		x->zc.ring[(x->zc.first + x->zc.n - 1) & (x->zc.size - 1)].behind++;
		x->zc.numbers++;
	} else {
		if (sl_unlikely(x != NULL))
			x->zc.real = false;
		sl_store(&sk->zc_done, sk->zc_done + 1);
		sl_sock_notify(sk, EPOLLERR);
	}
	sl_lane_unlock(lane);
}

/* The message of ip_recv_error() and ipv6_recv_error(), without an offender's address. */
static void put_completion(const struct sl_sock *sk, uint32_t first, uint32_t n, bool copied,
			   struct msghdr *msg)
{
	struct {
		struct sock_extended_err ee;
		struct sockaddr_in6 offender;
	} e = {.ee = {.ee_origin = SO_EE_ORIGIN_ZEROCOPY,
		      .ee_code = copied ? SO_EE_CODE_ZEROCOPY_COPIED : 0,
		      .ee_info = first,
		      .ee_data = first + n - 1}};
	bool v6 = sk->family == AF_INET6;

	msg->msg_namelen = 0;
	msg->msg_flags = MSG_ERRQUEUE;
	sl_cmsg_put_one(msg, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &e,
			sizeof(e.ee) +
				(v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)));
}

/* False: no send is complete that was not told. */
static bool take_completion(struct sl_sock *sk, struct msghdr *msg, int flags)
{
	uint32_t n = 0, first = 0;
	bool copied = true;
	struct sl_lane *lane;

	if (!sk->zc_next || !sl_sock_lock(sk, &lane))
		return false;
	if (sl_extra_zc_numbers(sk)) {
		sl_lane_reap(lane);
		sl_extra_complete(sk, false);
	}
	n = sk->zc_done;
	first = sk->zc_next - sl_extra_zc_numbers(sk) - n;
	copied = !sl_extra_of(sk) || !sl_extra_of(sk)->zc.real;
	sl_store(&sk->zc_done, 0);
	sl_lane_unlock(lane);
	if (!n)
		return false;
	put_completion(sk, first, n, copied, msg);
	msg->msg_flags |= flags & MSG_CMSG_CLOEXEC;
	return true;
}

/* The kernel's numbers are behind ours. */
static void renumber_sends(const struct sl_sock *sk, struct msghdr *msg)
{
	struct sock_extended_err ee;
	void *at = find_error(msg, SO_EE_ORIGIN_ZEROCOPY, &ee);

	if (!at)
		return;
	ee.ee_info += sk->zc_next;
	ee.ee_data += sk->zc_next;
	memcpy(at, &ee, sizeof(ee));
}

ssize_t sl_errq_recv(struct sl_sock *sk, int fd, struct msghdr *msg, int flags)
{
	ssize_t n;

	if (take_completion(sk, msg, flags))
		return 0;
	n = recv_stamp(sk, fd, msg, flags);
	if (n >= 0 && sk->zc_next)
		renumber_sends(sk, msg);
	return n;
}

/* The end --------------------------------------------------------------------------------------
 */

void sl_errq_fini(struct sl_sock *sk, struct sl_frames *cache)
{
	struct sl_errq *q = sk->errq;

	if (sl_likely(!q))
		return;
	for (; q->n; sl_store(&q->n, q->n - 1), q->head++)
		if (q->sent[q->head % SL_ERRQ_SIZE].frame != SL_NO_FRAME)
			sl_frame_put(cache, q->sent[q->head % SL_ERRQ_SIZE].frame);
	for (uint32_t i = 0; i < SL_ERRQ_WAIT; i++)
		if (q->waiting >> i & 1 && q->sent[SL_ERRQ_SIZE + i].frame != SL_NO_FRAME)
			sl_frame_put(cache, q->sent[SL_ERRQ_SIZE + i].frame);
	q->waiting = 0;
	q->charged = q->order = q->flags = 0;
	q->hw_ns = 0;
	q->os_waits = q->os_own = false;
}

void sl_errq_child(struct sl_sock *sk)
{
	if (!sk->errq)
		return;
	sl_store(&sk->errq->n, 0);
	sk->errq->waiting = 0;
	sk->errq->nmarks = 0;
}
