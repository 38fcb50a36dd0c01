/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the connection of a dead process from the bytes that it left.
 *
 * Every byte is checked: the process may have lied, and may have died between any two
 * instructions. Its queues died with it, with one exception: the received data of a connection
 * that waits to be accepted are described in the frames themselves (tcp_reass.c), which exist
 * until their owner's remains are removed. */
#include <string.h>

#include "tcp/listen/tcp_req.h"
#include "tcp/tcp.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_dead.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_repair.h"

#define UNREAD_MAX  (64u << 20)    /* bytes of one connection */
#define COPIED_MAX  64             /* pieces in a call */
#define WINDOW_MAX  (65535u << 14) /* RFC 7323 2.3 */
#define CLOCKS_MS   100            /* largest difference between two processes' clocks */
#define SND_MSS_MIN 48             /* TCP_MIN_SND_MSS of Linux */

/* FNV-1a: goes on with the hash h. */
static uint32_t hash(uint32_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 16777619u;
	return h;
}

/* Hashes a connection and a request in which each member read here has a different value. */
uint32_t sl_tcp_repair_form(void)
{
	struct sl_tcp c;
	struct sl_tcp_req r;
	uint32_t h = 2166136261u ^ sizeof(c) ^ sizeof(r) << 16;

	memset(&c, 0, sizeof(c)); /* = {0} says nothing of the bytes between members */
	memset(&r, 0, sizeof(r));
	c.node.key.lport = 1;
	c.state = 2;
	c.orphan = c.frozen = c.fin_rcvd = c.rx_shut = c.child = true;
	c.fin_queued = c.fin_sent = c.fin_acked = true;
	c.ts_ok = c.wscale_ok = c.sack_ok = c.ecn_ok = true;
	c.urg_in = c.oobinline = true;
	c.snd_wscale = 3, c.rcv_wscale = 4, c.mss_clamp = 5;
	c.snd_una = 6, c.snd_nxt = 7, c.snd_wl1 = 8, c.snd_wnd = 9, c.max_window = 10;
	c.write_seq = 11, c.rcv_nxt = 12, c.rcv_wnd = 13, c.rcv_wup = 14, c.rcv_up = 15;
	c.rx_bytes = 16, c.rx_head = 17, c.rx_tail = 18;
	c.ts_recent = 19, c.ts_off = 20, c.rcvbuf = 21, c.sndbuf = 22;
	c.irs = 23, c.rx_first = 24, c.listener = (void *)25;
	c.iss = 26, c.copied_seq = 27, c.noted = true;
	r.node.key.lport = 1, r.node.kind = SL_TCP_REQ, r.answered = true;
	r.syn.seq = 2, r.syn.wnd = 3, r.syn.opts = 4, r.syn.wscale = 5, r.syn.mss = 6;
	r.iss = 7, r.ts_off = 8, r.rcv_wnd = 9, r.rcv_wscale = 10, r.ts_recent = 11;
	r.scope = 12;
	h = hash(h, &c, sizeof(c));
	h = hash(h, &r, sizeof(r));
	return h ? h : 1;
}

/* Unread bytes --------------------------------------------------------------------------------- */

static bool read_at(const struct sl_tcp_frames *m, uint64_t at, void *to, uint32_t n)
{
	if (m->read)
		return m->read(m->arg, at, to, n);
	memcpy(to, m->base + at, n);
	return true;
}

/* Where the bytes are of the piece that the frame's note describes at seq; 0: nowhere. Others may
 * write to the frame. */
static uint64_t piece_at(const struct sl_tcp_frames *m, uint32_t frame, uint32_t seq,
			 struct sl_rx_note *n)
{
	uint64_t at = (uint64_t)frame << m->shift;

	if (frame >= m->nframes || m->word[frame].owner != m->owner ||
	    !read_at(m, at, n, sizeof(*n)))
		return 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* from here on the copy is read, not the frame */
	if (n->seq != seq || !n->len || n->off < sizeof(*n) ||
	    (uint32_t)n->off + n->len > 1u << m->shift)
		return 0;
	return at + n->off;
}

/* False: these are more pieces than there are frames, so connections name the same ones. */
static bool may_count(const struct sl_tcp_frames *m)
{
	return !m->counted || (*m->counted)++ < m->nframes;
}

/* Counts the unread bytes, up to max. */
static uint32_t count_unread(const struct sl_tcp_frames *m, uint32_t frame, uint32_t start,
			     uint32_t max)
{
	struct sl_rx_note n;
	uint32_t sum = 0;

	for (; sum < max && piece_at(m, frame, start + sum, &n) && may_count(m); frame = n.next)
		sum += n.len;
	return sl_min(sum, max);
}

struct sl_tcp_unread sl_tcp_unread_of(const struct sl_tcp_dead *d, const struct sl_tcp_frames *m)
{
	return (struct sl_tcp_unread){
		.m = m,
		.frame = d->first,
		.begin = d->start,
		.seq = d->start,
		.skip = d->start + d->urgent,
		.skips = d->urgent != UINT32_MAX,
	};
}

uint32_t sl_tcp_unread_copy(struct sl_tcp_unread *u, void *buf, uint32_t n)
{
	struct sl_rx_note note;
	uint64_t p;
	uint32_t done = 0;

	for (unsigned i = 0; i < COPIED_MAX && done < n; i++) {
		uint32_t at, len;

		p = piece_at(u->m, u->frame, u->begin, &note);
		if (!p)
			break;
		u->seq += u->skips && u->seq == u->skip;
		at = u->seq - u->begin;
		if (at >= note.len) {
			u->begin += note.len;
			u->frame = note.next;
			continue;
		}
		len = sl_min(note.len - at, n - done);
		if (u->skips && sl_seq_lt(u->seq, u->skip))
			len = sl_min(len, u->skip - u->seq);
		if (!read_at(u->m, p + at, (uint8_t *)buf + done, len))
			break;
		done += len;
		u->seq += len;
	}
	return done;
}

/* The whole ------------------------------------------------------------------------------------ */

/* The byte of a bool may have any value. */
static bool is_bool(const bool *b)
{
	uint8_t v;

	memcpy(&v, b, 1);
	return v <= 1;
}

static bool is_possible(const struct sl_tcp_repair *r)
{
	return r->snd_wnd <= WINDOW_MAX && r->max_window <= WINDOW_MAX &&
	       r->rcv_wnd <= WINDOW_MAX && r->snd_wscale <= 14 && r->rcv_wscale <= 14 &&
	       r->mss_clamp >= SND_MSS_MIN && r->rcvbuf <= INT32_MAX && r->sndbuf <= INT32_MAX;
}

/* Offset of the urgent byte in the unread bytes that no read will return. */
static uint32_t urgent_at(const struct sl_tcp *c, uint32_t start, uint32_t unread)
{
	uint32_t at = c->rcv_up - start;

	return c->urg_in && !c->oobinline && at < unread ? at : UINT32_MAX;
}

/* Finds the unread data of a connection not yet accepted, so never read from or written to. rcv_nxt
 * tells how much may be acknowledged. If the process died after seeing a FIN and before counting
 * it, the FIN is treated as if it had not come. */
static bool find_unread(const struct sl_tcp *c, const struct sl_tcp_frames *m,
			struct sl_tcp_dead *d)
{
	uint32_t start = c->irs + 1, counted = c->rcv_nxt - start, there;

	if (counted > UNREAD_MAX || c->rx_head || d->orphan || d->r.fin_queued || d->r.sndq ||
	    (c->state != SL_TCP_ESTABLISHED && c->state != SL_TCP_CLOSE_WAIT))
		return false;
	there = count_unread(m, c->rx_first, start, counted);
	if (there + c->fin_rcvd < counted)
		return false;
	d->r.fin_rcvd = there < counted;
	d->r.state = d->r.fin_rcvd ? SL_TCP_CLOSE_WAIT : SL_TCP_ESTABLISHED;
	d->r.rcv_nxt = start + there;
	d->queued = true;
	d->first = c->rx_first;
	d->start = start;
	d->urgent = urgent_at(c, start, there);
	d->r.rcvq = there - (d->urgent != UINT32_MAX);
	return true;
}

static bool read_state(const void *bytes, uint64_t now_us, struct sl_tcp *c, struct sl_tcp_dead *d)
{
	memcpy(c, bytes, sizeof(*c));
	if (!is_bool(&c->frozen) || !is_bool(&c->fin_rcvd) || !is_bool(&c->orphan) ||
	    !is_bool(&c->rx_shut) || c->frozen || !sl_tcp_is_synchronised(c->state))
		return false;
	*d = (struct sl_tcp_dead){.orphan = c->orphan, .urgent = UINT32_MAX};
	sl_tcp_repair_state(c, &d->r);
	d->r.tsval = (uint32_t)(now_us / 1000) + c->ts_off + CLOCKS_MS;
	return is_possible(&d->r);
}

bool sl_tcp_repair_dead(const void *bytes, uint64_t now_us, const struct sl_tcp_frames *m,
			struct sl_tcp_dead *d)
{
	struct sl_tcp c;

	if (!read_state(bytes, now_us, &c, d) || d->r.sndq || d->r.unsent)
		return false;
	if (m && sl_tcp_is_queued(&c))
		return find_unread(&c, m, d);
	return !c.rx_bytes && c.rx_head == c.rx_tail;
}

bool sl_tcp_dead_is_noted(const void *bytes)
{
	struct sl_tcp c;

	memcpy(&c, bytes, sizeof(c));
	return c.noted;
}

/* (The process may have died between two stores that belong together, so rx_bytes may be wrong;
 * copied_seq and rcv_nxt are one store each. An urgent byte that the program has not taken is lost,
 * as in a hand-back: no kernel socket can be given one.) */
bool sl_tcp_repair_dead_noted(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d,
			      struct sl_tcp_noted *from)
{
	struct sl_tcp c;
	uint32_t there;

	if (!read_state(bytes, now_us, &c, d))
		return false;
	there = d->r.rcv_nxt - c.copied_seq;
	if (there > UNREAD_MAX || d->r.sndq > UNREAD_MAX || d->r.unsent > d->r.sndq ||
	    (d->r.unsent && d->r.fin_sent))
		return false;
	*from = (struct sl_tcp_noted){
		.send_id = sl_tcp_note_id(c.iss, c.irs, true),
		.rcv_id = sl_tcp_note_id(c.iss, c.irs, false),
		.send_seq = d->r.snd_una,
		.rcv_seq = c.copied_seq,
		.urgent = urgent_at(&c, c.copied_seq, there),
	};
	d->r.rcvq = there - (from->urgent != UINT32_MAX);
	return c.noted || (!there && !d->r.sndq);
}

bool sl_tcp_dead_ends(const void *bytes, struct sl_tcp_ends *ends)
{
	struct sl_tcp c;

	memcpy(&c, bytes, sizeof(c));
	*ends = (struct sl_tcp_ends){c.snd_nxt, c.rcv_nxt};
	return is_bool(&c.frozen) && !c.frozen && sl_tcp_is_synchronised(c.state);
}

bool sl_tcp_repair_dead_req(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d)
{
	struct sl_tcp_req q;
	uint8_t opts;

	memcpy(&q, bytes, sizeof(q));
	if (!is_bool(&q.answered) || !q.answered || q.node.kind != SL_TCP_REQ)
		return false;
	opts = q.syn.opts;
	*d = (struct sl_tcp_dead){.queued = true, .first = SL_NO_FRAME, .urgent = UINT32_MAX};
	d->start = q.syn.seq + 1;
	d->r = (struct sl_tcp_repair){
		.key = q.node.key,
		.scope_id = q.scope,
		.state = SL_TCP_ESTABLISHED,
		.snd_nxt = q.iss + 1,
		.snd_una = q.iss + 1,
		.rcv_nxt = d->start,
		.snd_wl1 = d->start,
		.max_window = q.syn.wnd,
		.rcv_wnd = q.rcv_wnd,
		.rcv_wup = d->start,
		.mss_clamp = opts & SL_TCPO_MSS ? sl_max(q.syn.mss, (uint16_t)SND_MSS_MIN)
						: SL_TCP_MSS_V4,
		.wscale_ok = opts & SL_TCPO_WSCALE,
		.sack_ok = opts & SL_TCPO_SACK_OK,
		.ts_ok = opts & SL_TCPO_TS,
		.tsval = (uint32_t)(now_us / 1000) + q.ts_off + CLOCKS_MS,
		.ts_recent = q.ts_recent,
	};
	if (d->r.wscale_ok) {
		d->r.snd_wscale = sl_min(q.syn.wscale, (uint8_t)14);
		d->r.rcv_wscale = q.rcv_wscale;
	}
	return is_possible(&d->r);
}
