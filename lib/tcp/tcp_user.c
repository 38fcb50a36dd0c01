/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the program's bytes into the send queue and out of the receive queue (RFC 9293 3.10.2,
 * 3.10.3). */
#include <errno.h>
#include <string.h>

#include "base/guard.h"
#include "base/heap.h"
#include "tcp/tcp.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_chrono.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_filter.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_timer.h"
#include "tcp/tcp_user.h"
#include "tcp/tcp_window.h"
#include "wire/csum.h"

/* Most bytes that one call takes. Bytes should be sent while they are in the cache, and received
 * packets handled in time, instead of copying megabytes first and sending one burst. */
#define WRITE_MOST 65536u

/* A place in an iovec. */
struct cursor {
	const struct iovec *iov;
	size_t n;  /* entries left, this one included */
	size_t at; /* in this one */
	bool bad;  /* there is no memory where the program says; n is 0 then */
};

static void skip_empty(struct cursor *u)
{
	while (u->n && u->at == u->iov->iov_len) {
		u->iov++;
		u->n--;
		u->at = 0;
	}
}

static struct cursor cursor_at(const struct iovec *iov, size_t n, size_t skip)
{
	struct cursor u = {iov, n, 0, false};

	while (u.n && skip >= u.iov->iov_len) {
		skip -= u.iov->iov_len;
		u.iov++;
		u.n--;
	}
	u.at = u.n ? skip : 0;
	skip_empty(&u);
	return u;
}

/* Returns the next run of at most max bytes, *len of them, and moves the cursor behind it. */
static uint8_t *cursor_take(struct cursor *u, size_t max, size_t *len)
{
	uint8_t *p = (uint8_t *)u->iov->iov_base + u->at;

	*len = sl_min(max, u->iov->iov_len - u->at);
	u->at += *len;
	skip_empty(u);
	return p;
}

/* Writing -------------------------------------------------------------------------------------- */

uint32_t sl_tcp_unsent(const struct sl_tcp *c)
{
	return c->write_seq - c->snd_nxt - (c->fin_queued && !c->fin_sent);
}

uint32_t sl_tcp_unacked(const struct sl_tcp *c)
{
	uint32_t una = c->snd_una == c->iss ? c->iss + 1 : c->snd_una; /* SYN is no byte */

	if (c->state == SL_TCP_CLOSED)
		return 0;
	return c->write_seq - una - (c->fin_queued && !c->fin_acked);
}

uint32_t sl_tcp_outq(const struct sl_tcp *c, bool unsent)
{
	if (c->state == SL_TCP_SYN_SENT || c->state == SL_TCP_SYN_RCVD)
		return 0;
	return c->write_seq - (unsent ? c->snd_nxt : c->snd_una);
}

/* A Fast Open child answers before its handshake is complete (RFC 7413 4.2.2). */
static bool is_open(const struct sl_tcp *c)
{
	return c->state == SL_TCP_ESTABLISHED || c->state == SL_TCP_CLOSE_WAIT ||
	       (c->state == SL_TCP_SYN_RCVD && c->tfo_child);
}

static uint32_t notsent_lowat(const struct sl_tcp *c)
{
	return c->notsent_lowat ? c->notsent_lowat : sl_tcp_params.notsent_lowat;
}

/* True: less is unsent than TCP_NOTSENT_LOWAT allows (tcp_stream_memory_free()). wake: a writer
 * that waits is woken only when half of that is free. */
static bool is_little_unsent(const struct sl_tcp *c, bool wake)
{
	uint32_t lowat = notsent_lowat(c);

	return sl_likely(!lowat) || (uint64_t)sl_tcp_unsent(c) << wake < lowat;
}

/* Like sk_stream_memory_free(): the last write may exceed the limit by a piece. */
static bool sndq_has_room(const struct sl_tcp *c)
{
	return c->wmem < c->sndbuf && is_little_unsent(c, false);
}

/* Like sk_stream_is_writeable(): a third must be free, so that a writer is not woken for each
 * piece. */
uint32_t sl_tcp_write_room(const struct sl_tcp *c)
{
	uint32_t room;

	if (!is_open(c) || c->tx_shut || c->wmem >= c->sndbuf || !is_little_unsent(c, true))
		return 0;
	if (sl_unlikely(c->starved))
		return 0;
	room = c->sndbuf - c->wmem;
	return room >= c->wmem / 2 ? room : 0;
}

bool sl_tcp_is_short(struct sl_tcp *c)
{
	if (!is_open(c) || c->tx_shut || c->error || c->frozen || sl_tcp_write_room(c))
		return false;
	c->want_out = c->blocked = true;
	return true;
}

void sl_tcp_write_space(struct sl_tcp *c)
{
	if (sl_unlikely(c->starved) && sl_tcp_mem_is_starved(c))
		return;
	if (c->want_out && sl_tcp_write_room(c)) {
		c->want_out = c->blocked = false;
		if (sl_unlikely(c->chrono == SL_CHRONO_SNDBUF))
			sl_tcp_chrono_stop(c, SL_CHRONO_SNDBUF);
		sl_tcp_event(c, SL_TCP_EV_OUT);
	}
}

/* A peer may ask for segments of a few bytes; a frame has as many of them as fit then, and they are
 * cut off when they are sent (sl_tcp_snd_split()). */
#define SMALL_MSS 536u
static uint32_t piece_max(const struct sl_tcp *c)
{
	if (sl_likely(c->mss >= SMALL_MSS))
		return c->mss;
	return ((1u << sl_pool.shift) - SL_TCP_HEADROOM) / c->mss * c->mss;
}

/* How many more bytes fit in a piece. */
static uint32_t room_in(const struct sl_tcp *c, const struct sl_txseg *s)
{
	uint32_t frame = 1u << sl_pool.shift, end = (uint32_t)s->off + s->len, max = piece_max(c);

	if (s->frame == SL_NO_FRAME || s->flags & (SL_TCP_FIN | SL_TCP_SYN | SL_TXS_EOR) ||
	    s->len >= max)
		return 0;
	return sl_min(max - s->len, end < frame ? frame - end : 0);
}

/* Returns the last piece if it was not sent and can take more (coalescing), else a new one. NULL:
 * no memory. */
static struct sl_txseg *piece_to_fill(struct sl_tcp *c)
{
	struct sl_txseg *s;
	uint32_t frame;

	if (c->tx_tail != c->tx_nxt) {
		s = sl_tcp_piece(c, c->tx_tail - 1);
		if (room_in(c, s))
			return s;
	}
	if (sl_unlikely(c->host->frames->scarcity != SL_PLENTY) && sl_tcp_mem_is_over(c))
		frame = SL_NO_FRAME;
	else
		frame = sl_frame_get(c->host->frames);
	if (frame == SL_NO_FRAME) {
		tcp_count(c->host, SL_TCPC_NO_FRAMES, 1);
		sl_tcp_mem_starve(c);
		return NULL;
	}
	s = sl_tcp_snd_new(c);
	if (!s) {
		sl_frame_put(c->host->frames, frame);
		return NULL;
	}
	s->frame = frame;
	s->off = SL_TCP_HEADROOM;
	return s;
}

/* Adds the sum of bytes that begin at `at` of a piece: at an odd place the words are the other way
 * round (RFC 1071 2 B). */
static uint16_t add_sum(uint16_t sum, uint32_t at, uint64_t more)
{
	uint16_t m = (uint16_t)~sl_csum_fold(more);
	uint32_t s = sum + (at & 1 ? (uint32_t)__builtin_bswap16(m) : m);

	return (uint16_t)((s & 0xffff) + (s >> 16));
}

/* Copies bytes behind those of the piece, which has room for them. False: src is not there. */
static inline bool lengthen(struct sl_tcp *c, struct sl_txseg *s, const void *src, size_t len)
{
	uint8_t *dst = sl_frame_ptr(s->frame) + s->off + s->len;
	uint64_t sum = sl_csum_copy(0, dst, src, len);

	if (sl_unlikely(sum == SL_CSUM_FAULT))
		return false;
	s->sum = add_sum(s->sum, s->len, sum);
	s->len += (uint16_t)len;
	if (sl_unlikely(c->noted))
		sl_tcp_snd_note(c, s);
	c->write_seq += (uint32_t)len;
	c->wmem += (uint32_t)len;
	return true;
}

static void stop_at_fault(struct cursor *u)
{
	u->bad = true;
	u->n = 0;
}

/* Takes back the bytes that the last piece has had from this call so far, as the kernel does it
 * with a buffer, and the piece if it is empty then. */
static SL_COLD void take_back(struct sl_tcp *c, size_t took)
{
	struct sl_txseg *s = sl_tcp_piece(c, c->tx_tail - 1);
	const uint8_t *bytes = sl_frame_ptr(s->frame) + s->off;

	s->len -= (uint16_t)took;
	c->write_seq -= (uint32_t)took;
	c->wmem -= (uint32_t)took;
	s->sum = add_sum(0, 0, sl_csum_add(0, bytes, s->len));
	if (sl_unlikely(c->noted))
		sl_tcp_snd_note(c, s);
	if (s->len)
		return;
	sl_tcp_snd_put(c, s);
	c->wmem -= sl_tcp_tx_charge(0);
	c->tx_tail--;
}

/* Copies as many bytes as fit into the piece; returns how many. */
static size_t fill(struct sl_tcp *c, struct sl_txseg *s, struct cursor *u)
{
	uint32_t room = room_in(c, s);
	size_t took = 0;

	while (room && u->n) {
		size_t len;
		const uint8_t *src = cursor_take(u, room, &len);

		if (sl_unlikely(!lengthen(c, s, src, len))) {
			stop_at_fault(u);
			take_back(c, took);
			return 0;
		}
		room -= (uint32_t)len;
		took += len;
	}
	return took;
}

static int may_write(struct sl_tcp *c)
{
	int err = c->error;

	if (err) {
		c->error = 0;
		return -err;
	}
	if (c->tx_shut || c->state == SL_TCP_CLOSED)
		return -EPIPE;
	return 0;
}

/* Fast Open: sends what fits with the SYN. The rest follows after the handshake. */
static long write_with_syn(struct sl_tcp *c, struct cursor *u)
{
	struct sl_txseg *s = u->n ? piece_to_fill(c) : NULL;
	size_t took = s ? fill(c, s, u) : 0;

	if (took)
		s->flags |= SL_TCP_PSH;
	c->tfo_defer = false;
	c->born_us = c->host->now_us;
	c->want_out = true;
	sl_tcp_send_syn(c);
	return (long)took;
}

/* sl_tcp_write() looks for room in the send buffer once for so many bytes: as many as Linux puts
 * into one buffer (tcp_xmit_size_goal(), tcp_bound_to_half_wnd()), rounded down to whole segments.
 * So a program whose first write is some ten kilobytes long finds it taken whole, as on Linux. */
static size_t between_looks(const struct sl_tcp *c)
{
	uint32_t goal = sl_min(c->max_window / 2, (uint32_t)UINT16_MAX);

	return (goal > c->mss ? goal - c->mss : 0) + 1;
}

/* Where a write that has taken some bytes looks for room again; `took`: there is none. Linux sends
 * within the call what may leave, which does not count for TCP_NOTSENT_LOWAT then, and once refills
 * the buffer that lost its first part by that (tcp_push_one()). */
static size_t look_again(const struct sl_tcp *c, size_t took, size_t look)
{
	uint32_t now = sl_tcp_leaves_now(c), left = sl_tcp_unsent(c) - now,
		 lowat = notsent_lowat(c);

	if (now && left && look <= between_looks(c))
		return took + now;
	if (c->wmem >= c->sndbuf || (lowat && left >= lowat))
		return took;
	return took + between_looks(c);
}

/* RFC 9293 3.10.2 SEND call. */
long sl_tcp_write(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t skip, bool more,
		  bool oob)
{
	struct cursor u = cursor_at(iov, n, skip);
	size_t took = 0, look = 0;
	uint32_t pushed = c->write_seq;
	int err = may_write(c);

	if (err)
		return err;
	if (sl_unlikely(c->tfo_defer))
		return write_with_syn(c, &u);
	if (!is_open(c) || c->frozen) {
		c->want_out = true; /* not connected yet, or elsewhere soon */
		return 0;
	}
	if (sl_unlikely(c->opts) && c->tx_una == c->tx_tail) /* idle, not late */
		sl_pace_idle(&c->opts->pace, c->host->now_us * 1000);
	while (u.n && took < WRITE_MOST) {
		struct sl_txseg *s;

		if (took >= look) {
			if (took)
				sl_tcp_push_half(c, &pushed);
			if (sl_unlikely(took))
				look = look_again(c, took, look);
			else if (sndq_has_room(c))
				look = took + between_looks(c);
			if (took >= look)
				break;
		}
		s = piece_to_fill(c);
		if (!s)
			break;
		took += fill(c, s, &u);
	}
	if (u.n && took < WRITE_MOST)
		c->want_out = c->blocked = true;
	else if (!sl_tcp_write_room(c))
		c->want_out = true;
	if (!took)
		return u.bad ? -EFAULT : 0;
	c->more = more;
	if (u.n ? took < WRITE_MOST : !more)
		sl_tcp_piece(c, c->tx_tail - 1)->flags |= SL_TCP_PSH;
	if (oob && !u.n) {
		c->snd_up = c->write_seq;
		c->urg_out = true;
	}
	sl_tcp_want_out(c);
	return (long)took;
}

/* (Bytes that are written later go into another frame: the program may use the rest of this one.)
 */
int sl_tcp_write_frame(struct sl_tcp *c, uint32_t frame, uint16_t n, bool more)
{
	bool may = is_open(c) && !c->tfo_defer && !c->frozen && sndq_has_room(c);
	int err = may_write(c);
	struct sl_txseg *s;

	if (err)
		return err;
	c->want_out |= !may;
	c->blocked |= !may;
	if (!may)
		return -EAGAIN;
	if (sl_unlikely(c->opts) && c->tx_una == c->tx_tail)
		sl_pace_idle(&c->opts->pace, c->host->now_us * 1000);
	s = sl_tcp_snd_new(c);
	if (!s)
		return -EAGAIN;
	sl_frame_ref(frame);
	s->frame = frame;
	s->off = SL_TCP_HEADROOM;
	s->len = n;
	s->sum = add_sum(0, 0, sl_csum_add(0, sl_frame_ptr(frame) + s->off, n));
	s->flags = (uint8_t)(SL_TXS_EOR | (more ? 0 : SL_TCP_PSH));
	if (sl_unlikely(c->noted))
		sl_tcp_snd_note(c, s);
	c->write_seq += n;
	c->wmem += n;
	c->more = more;
	if (!sl_tcp_write_room(c))
		c->want_out = true;
	sl_tcp_want_out(c);
	return 0;
}

bool sl_tcp_append(struct sl_tcp *c, const void *buf, size_t len)
{
	struct sl_txseg *s;

	if (c->state != SL_TCP_ESTABLISHED || c->error || c->tx_shut || c->frozen || c->thin ||
	    !sndq_has_room(c) || !len || !sl_tcp_stays_held(c, len))
		return false;
	s = sl_tcp_piece(c, c->tx_nxt);
	if (len > room_in(c, s))
		return false;
	if (sl_unlikely(!lengthen(c, s, buf, len)))
		return false; /* sl_tcp_write() finds it, too */
	s->flags |= SL_TCP_PSH;
	if (!sl_tcp_write_room(c))
		c->want_out = true;
	return true;
}

void sl_tcp_push(struct sl_tcp *c)
{
	if (c->tx_tail != c->tx_nxt)
		sl_tcp_piece(c, c->tx_tail - 1)->marks |= SL_TXS_PUSH;
}

void sl_tcp_end_record(struct sl_tcp *c)
{
	if (c->tx_tail != c->tx_nxt)
		sl_tcp_piece(c, c->tx_tail - 1)->flags |= SL_TXS_EOR;
}

/* Reading -------------------------------------------------------------------------------------- */

/* True: the byte at seq is the urgent one. */
static bool is_mark(const struct sl_tcp *c, uint32_t seq)
{
	return c->urg_in && c->rcv_up == seq;
}

bool sl_tcp_at_mark(const struct sl_tcp *c)
{
	return is_mark(c, c->copied_seq);
}

bool sl_tcp_at_eof(const struct sl_tcp *c)
{
	return !c->rx_bytes && !c->frozen &&
	       (c->fin_rcvd || c->rx_shut || c->state == SL_TCP_CLOSED);
}

uint32_t sl_tcp_readable(const struct sl_tcp *c)
{
	uint32_t before = c->rcv_up - c->copied_seq; /* the mark */
	uint32_t n = sl_tcp_passed(c);

	if (!c->urg_in || c->oobinline || before >= n)
		return n;
	return before ? before : n - 1; /* the urgent byte is passed over */
}

/* Like tcp_inq(): counts up to the mark, as long as the mark is not read past. */
uint32_t sl_tcp_inq(const struct sl_tcp *c)
{
	uint32_t before = c->rcv_up - c->copied_seq, n = sl_tcp_passed(c);

	return c->urg_in && !c->oobinline && before < n ? before : n;
}

/* Like tcp_stream_is_readable(): lowat bytes are there, or as many as the window lets come. The
 * urgent byte at the front cannot be read and does not count. */
bool sl_tcp_is_readable(const struct sl_tcp *c, uint32_t lowat)
{
	uint32_t least = sl_max(lowat, 1u) + (!c->oobinline && sl_tcp_at_mark(c));
	uint32_t left = c->rcv_wup + c->rcv_wnd - c->rcv_nxt;
	uint32_t n = sl_tcp_passed(c);

	return n >= least || (n && (int32_t)left <= (int32_t)c->rcv_mss);
}

/* Takes the first n bytes off the oldest piece: the program has read them. */
static void consume(struct sl_tcp *c, uint32_t n)
{
	struct sl_rxseg *s = &c->rx[c->rx_head & (c->rxsize - 1)];

	s->off += (uint16_t)n;
	s->len -= (uint16_t)n;
	c->rx_bytes -= n;
	c->host->unread -= n;
	c->rmem -= n;
	c->copied_seq += n;
	if (!s->len) {
		if (sl_unlikely(c->noted))
			sl_tcp_rcv_forget(c, s->frame);
		sl_frame_spent(c->host->frames, s->frame);
		c->rmem -= sl_tcp_rx_charge(0);
		c->rx_head++;
	}
	if (c->urg_in && sl_seq_gt(c->copied_seq, c->rcv_up))
		c->urg_in = c->urg_have = c->urg_taken = false;
}

void sl_tcp_pass_mark(struct sl_tcp *c)
{
	if (c->rx_head != c->rx_tail)
		consume(c, 1);
}

/* Copies to the program's memory, or nowhere, as much of the n bytes as there is room for: how much
 * that was. u->bad: a piece is not there, and nothing counts as delivered, as with an skb. */
static inline uint32_t deliver(struct cursor *u, const uint8_t *src, uint32_t n, bool trunc)
{
	uint32_t done = 0;

	while (done < n && u->n) {
		size_t len;
		uint8_t *dst = cursor_take(u, n - done, &len);

		if (!trunc && sl_unlikely(sl_guard_copy(dst, src + done, len))) {
			stop_at_fault(u);
			return 0;
		}
		done += (uint32_t)len;
	}
	return done;
}

/* How many of `len` bytes at seq can be read in one run: those before the mark. */
static uint32_t run_to_mark(const struct sl_tcp *c, uint32_t seq, uint32_t len)
{
	uint32_t before = c->rcv_up - seq;

	return c->urg_in && before && before < len ? before : len;
}

/* Copies bytes and leaves them in the queue. */
static long peek_at(struct sl_tcp *c, struct cursor *u, size_t skip, bool trunc)
{
	uint32_t seq = c->copied_seq, at = 0;
	size_t took = 0;

	for (uint32_t i = c->rx_head; i != c->rx_tail && u->n;) {
		const struct sl_rxseg *s = &c->rx[i & (c->rxsize - 1)];
		uint32_t len = run_to_mark(c, seq, s->len - at);

		if (is_mark(c, seq) && took)
			break;
		if (is_mark(c, seq) && !c->oobinline) {
			len = 1;
		} else if (skip) {
			len = (uint32_t)sl_min((size_t)len, skip);
			skip -= len;
		} else {
			len = deliver(u, sl_frame_ptr(s->frame) + s->off + at, len, trunc);
			if (sl_unlikely(u->bad))
				return took ? (long)took : -EFAULT;
			took += len;
		}
		seq += len;
		at += len;
		if (at == s->len) {
			at = 0;
			i++;
		}
	}
	return (long)took;
}

static inline void has_read(struct sl_tcp *c)
{
	if (c->state == SL_TCP_CLOSED)
		return;
	sl_tcp_rcv_tune(c);
	sl_tcp_rcv_space_freed(c);
	if (sl_unlikely(!sl_timer_is_armed(&c->timer))) /* it may be at rest now */
		sl_tcp_timer_rearm(c);
}

/* RFC 9293 3.10.3 RECEIVE call. */
long sl_tcp_read(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t peek_off, bool peek,
		 bool trunc)
{
	struct cursor u = cursor_at(iov, n, 0);
	uint32_t from = c->copied_seq;
	size_t took = 0;

	if (c->frozen)
		return 0;
	if (peek)
		return peek_at(c, &u, peek_off, trunc);
	while (u.n && c->rx_head != c->rx_tail) {
		const struct sl_rxseg *s = &c->rx[c->rx_head & (c->rxsize - 1)];
		uint32_t len = run_to_mark(c, c->copied_seq, s->len);

		if (is_mark(c, c->copied_seq)) {
			if (took)
				break;
			if (!c->oobinline) {
				consume(c, 1);
				continue;
			}
		}
		len = deliver(&u, sl_frame_ptr(s->frame) + s->off, len, trunc);
		if (sl_unlikely(u.bad))
			break;
		consume(c, len);
		took += len;
	}
	if (c->copied_seq != from)
		has_read(c);
	return sl_unlikely(u.bad) && !took ? -EFAULT : (long)took;
}

void sl_tcp_has_read(struct sl_tcp *c)
{
	has_read(c);
}

const struct sl_rxseg *sl_tcp_oldest(const struct sl_tcp *c)
{
	const struct sl_rxseg *s = &c->rx[c->rx_head & (c->rxsize - 1)];

	if (c->frozen || c->rx_head == c->rx_tail)
		return NULL;
	if (sl_unlikely(s->len > sl_tcp_passed(c)))
		return NULL;
	if (is_mark(c, c->copied_seq) || run_to_mark(c, c->copied_seq, s->len) < s->len)
		return NULL;
	return s;
}

void sl_tcp_take_oldest(struct sl_tcp *c)
{
	struct sl_rxseg *s = &c->rx[c->rx_head & (c->rxsize - 1)];

	sl_frame_ref(s->frame); /* the caller's; consume() drops the queue's */
	consume(c, s->len);
	has_read(c);
}

int sl_tcp_read_oob(struct sl_tcp *c, uint8_t *b, bool peek)
{
	if (c->oobinline || !c->urg_in || c->urg_taken)
		return -EINVAL;
	if (c->state == SL_TCP_CLOSED && !c->fin_rcvd)
		return -ENOTCONN;
	if (!c->urg_have || c->frozen)
		return 0;
	*b = c->urg_byte;
	if (!peek) {
		c->urg_have = false;
		c->urg_taken = true;
	}
	return 1;
}
