/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queues: bytes in order, and bytes beyond a hole.
 *
 * Theory of operation: both queues hold references to the frames as they came. In order is a ring;
 * out of order is a sorted row of disjoint pieces (tcp_ooo.c). Where ranges overlap, what is here
 * already stays, unless the new piece covers all of it; the double part is reported (DSACK, RFC
 * 2883).
 *
 * Memory is bounded three times. Each piece counts its bytes and a constant against rcvbuf, so tiny
 * pieces fill it soon. Tiny pieces that follow each other are copied together, into the frame that
 * is there already; once frames are scarce, tiny ones of all connections are. And a connection
 * holds no more frames than half of what the pool has left (sl_frames_is_over()), so that one that
 * does not read starves nobody. When memory is short the pieces beyond holes go first, the farthest
 * first (RFC 2018 8 allows it); when it is the lane's that is short, those of all connections do
 * (tcp_mem.c).
 *
 * While a connection waits to be accepted its pieces are written down in the frames, too. A process
 * may be killed between any two instructions: a piece has its note before rcv_nxt counts it. The
 * pieces of a connection that children may have are noted likewise, in both directions
 * (sl_tcp_note()). */
#include "base/heap.h"
#include "io/scrap.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_window.h"

#include <string.h>

#define RING_FIRST 8
#define LOOSE_PART 64u /* of the pieces beyond holes that must be new for a walk over all */

/* How many frames c's queues hold. While frames are scarce small pieces share them, so bytes are
 * counted then. */
static uint32_t frames_held(const struct sl_tcp *c)
{
	uint32_t rx = c->rx_tail - c->rx_head;

	if (c->host->frames->scarcity != SL_PLENTY && !sl_tcp_is_queued(c) && !c->noted)
		rx = sl_min(rx, (c->rx_bytes + SL_SCRAP_MAX - 1) / SL_SCRAP_MAX);
	return rx + (c->noo ? c->ooo->held >> sl_pool.shift : 0);
}

bool sl_tcp_rcv_is_pressed(const struct sl_tcp *c, uint32_t divisor)
{
	uint32_t held = frames_held(c);
	struct sl_frames *f = c->host->frames;

	if (sl_likely(held <= SL_QUEUE_FRAMES && f->scarcity == SL_PLENTY))
		return false;
	return sl_frames_is_over(f, held, divisor, c->host->nnodes);
}

/* A queue holds no more than half of what is left then (is_short()), so a third of what is left
 * when it holds none. Each frame that it takes makes the room smaller by one: what was announced
 * stays right. */
uint32_t sl_tcp_rcv_room(const struct sl_tcp *c)
{
	const struct sl_frames *f = c->host->frames;
	uint32_t left = sl_frames_left() + f->n + sl_frames_spent(f), held = frames_held(c);

	return left > 2 * held ? (left - 2 * held) / 3 : 0;
}

/* DSACK and SACK ------------------------------------------------------------------------------- */

void sl_tcp_dsack(struct sl_tcp *c, uint32_t start, uint32_t end)
{
	if (!c->sack_ok || !sl_tcp_params.dsack || !sl_seq_lt(start, end))
		return;
	c->dsack = (struct sl_tcp_block){start, end};
	c->have_dsack = true;
}

/* More of the same segment was here before. An ACK reports one block: the first one, with what
 * touches it (RFC 2883 4; tcp_dsack_extend() of Linux). */
static void dsack_more(struct sl_tcp *c, uint32_t start, uint32_t end)
{
	if (!c->have_dsack) {
		sl_tcp_dsack(c, start, end);
		return;
	}
	if (sl_seq_gt(start, c->dsack.end) || sl_seq_lt(end, c->dsack.start))
		return;
	if (sl_seq_lt(start, c->dsack.start))
		c->dsack.start = start;
	if (sl_seq_gt(end, c->dsack.end))
		c->dsack.end = end;
}

/* [start, end) has arrived. The block that contains it becomes the first one that the next ACK
 * reports (RFC 2018 4). */
static void sack_add(struct sl_tcp *c, uint32_t start, uint32_t end)
{
	struct sl_tcp_block new = {start, end};
	uint8_t n = 0;

	if (!c->sack_ok)
		return;
	for (uint8_t i = 0; i < c->nlast_sack; i++) {
		struct sl_tcp_block b = c->ooo->last_sack[i];

		if (sl_seq_le(b.start, new.end) && sl_seq_le(new.start, b.end)) {
			new.start = sl_seq_lt(b.start, new.start) ? b.start : new.start;
			new.end = sl_seq_gt(b.end, new.end) ? b.end : new.end;
		} else {
			c->ooo->last_sack[n++] = b;
		}
	}
	if (n == sl_array_len(c->ooo->last_sack))
		n--;
	memmove(c->ooo->last_sack + 1, c->ooo->last_sack, n * sizeof(new));
	c->ooo->last_sack[0] = new;
	c->nlast_sack = n + 1;
}

/* Drops blocks that rcv_nxt has reached: the ACK number tells of them. */
static void sack_trim(struct sl_tcp *c)
{
	uint8_t n = 0;

	for (uint8_t i = 0; i < c->nlast_sack; i++)
		if (c->noo && sl_seq_gt(c->ooo->last_sack[i].start, c->rcv_nxt))
			c->ooo->last_sack[n++] = c->ooo->last_sack[i];
	c->nlast_sack = n;
}

uint8_t sl_tcp_sack_blocks(const struct sl_tcp *c, struct sl_tcp_block *b, uint8_t max)
{
	uint8_t n = 0;

	if (c->have_dsack && n < max)
		b[n++] = c->dsack;
	for (uint8_t i = 0; i < c->nlast_sack && n < max; i++)
		b[n++] = c->ooo->last_sack[i];
	return n;
}

/* Memory --------------------------------------------------------------------------------------- */

/* Bytes of packet memory that a piece occupies. */
static uint32_t true_size(const struct sl_oooseg *e)
{
	if (e->frame == SL_NO_FRAME)
		return 0;
	return e->scrap ? e->len : 1u << sl_pool.shift;
}

static void ooo_free(struct sl_tcp *c, const struct sl_oooseg *e)
{
	c->ooo->held -= true_size(e);
	if (e->frame != SL_NO_FRAME)
		sl_frame_put(c->host->frames, e->frame);
	c->rmem -= sl_tcp_rx_charge(e->len);
}

/* Takes the piece at *at out of the row. The caller has moved or freed its bytes. */
static void ooo_cut(struct sl_tcp *c, struct sl_ooo_at *at)
{
	c->noo--;
	sl_ooo_cut(c->ooo, at);
}

static void ooo_drop_last(struct sl_tcp *c)
{
	ooo_free(c, sl_ooo_last(c->ooo));
	sl_ooo_cut_last(c->ooo);
	c->noo--;
}

/* True: the limit has been passed. The kernel tests so, too; one more piece always fits before
 * that. */
static bool is_short(const struct sl_tcp *c)
{
	return c->rmem > c->rcvbuf || sl_tcp_rcv_is_pressed(c, 2);
}

/* Copies a small piece behind small pieces of other connections, while frames are scarce, and frees
 * the frame that it came in; *frame and *off say where it is then. False: nothing was done. Pieces
 * of a connection that waits to be accepted, or that children may have, stay, because their frames
 * have notes. */
static bool copy_to_scrap(struct sl_tcp *c, uint32_t *frame, uint16_t *off, uint16_t len)
{
	uint32_t f;

	if (sl_likely(c->host->frames->scarcity == SL_PLENTY) || !len || len > SL_SCRAP_MAX ||
	    sl_tcp_is_queued(c) || c->noted)
		return false;
	f = sl_scrap_put(c->host->frames, sl_frame_ptr(*frame) + *off, len, 1, off);
	if (f == SL_NO_FRAME)
		return false;
	*frame = f;
	return true;
}

/* Copies the small pieces beyond holes together. A peer that has many sends more when it likes, and
 * none of its segments may cost a walk over all: the walk waits until enough have come since the
 * last one. */
bool sl_tcp_ooo_pack(struct sl_tcp *c)
{
	struct sl_ooo *o = c->ooo;
	uint32_t before = o->held;
	struct sl_oooseg *e;

	if (c->host->frames->scarcity == SL_PLENTY || !o->loose || o->loose < c->noo / LOOSE_PART)
		return false;
	for (struct sl_ooo_at at = sl_ooo_first(o); (e = sl_ooo_piece(o, at));
	     at = sl_ooo_next(o, at)) {
		uint32_t frame = e->frame;

		if (e->scrap || !copy_to_scrap(c, &e->frame, &e->off, e->len))
			continue;
		e->scrap = true;
		o->held -= (1u << sl_pool.shift) - e->len;
		sl_frame_put(c->host->frames, frame);
	}
	o->loose = 0;
	sl_tcp_mem_settle(c);
	return o->held != before;
}

/* Frees pieces beyond the hole, the farthest first, until memory is no longer short; pieces that
 * begin below seq stay. Forgets the blocks that were reported: later ACKs report what is left. */
static void prune(struct sl_tcp *c, uint32_t seq)
{
	while (c->noo && sl_seq_ge(sl_ooo_last(c->ooo)->seq, seq) && is_short(c)) {
		ooo_drop_last(c);
		tcp_count(c->host, SL_TCPC_RCV_PRUNED, 1);
	}
	c->nlast_sack = 0;
	sl_tcp_mem_settle(c);
}

void sl_tcp_ooo_drop(struct sl_tcp *c)
{
	tcp_count(c->host, SL_TCPC_RCV_PRUNED, c->noo);
	while (c->noo)
		ooo_drop_last(c);
	c->nlast_sack = 0;
	sl_tcp_mem_unsettle(c->ooo);
	sl_ooo_free(c->ooo);
	c->ooo = NULL;
}

/* True: a piece that begins at seq may be queued. Pieces beyond it give way to it. While frames are
 * short no piece beyond a hole is taken. */
static bool may_hold(struct sl_tcp *c, uint32_t seq)
{
	struct sl_frames *f = c->host->frames;
	bool next = seq == c->rcv_nxt;

	if (sl_unlikely(f->scarcity != SL_PLENTY))
		sl_tcp_relieve(c->host);
	if (sl_likely(!is_short(c) && (next || f->scarcity < SL_SHORT)))
		return true;
	if (c->noo && !(sl_tcp_ooo_pack(c) && !is_short(c)))
		prune(c, seq);
	if (!is_short(c) && (next || f->scarcity < SL_SHORT))
		return true;
	/* A program that has read everything gets the next bytes (Linux: sk_forced_mem_schedule).
	 */
	if (next && c->rx_head == c->rx_tail && f->scarcity < SL_SPENT)
		return true;
	tcp_count(c->host, SL_TCPC_RCV_PRUNED, 1);
	return false;
}

/* Copies len bytes, of another frame, behind the piece in `into`. False: the frame has no room
 * there, or others use that part of it. */
static bool append(struct sl_tcp *c, uint32_t into, uint16_t into_off, uint16_t *into_len,
		   const uint8_t *bytes, uint16_t len)
{
	uint32_t end = (uint32_t)into_off + *into_len;
	struct sl_frames *f = c->host->frames;

	if (len > SL_SCRAP_MAX && c->rmem < c->rcvbuf / 2)
		return false;
	if (sl_unlikely(sl_scrap_is_last(f, into, end, len)))
		sl_scrap_lengthen(f, len);
	else if (end + len > 1u << sl_pool.shift || sl_frame_refs(into) != 1)
		return false;
	memcpy(sl_frame_ptr(into) + end, bytes, len);
	*into_len += len;
	c->rmem += len;
	tcp_count(c->host, SL_TCPC_COALESCED, 1);
	return true;
}

/* In order ------------------------------------------------------------------------------------- */

bool sl_tcp_rx_grow(struct sl_tcp *c)
{
	uint32_t size = c->rxsize ? c->rxsize * 2 : RING_FIRST;
	struct sl_rxseg *ring = sl_malloc(size * sizeof(*ring));

	if (!ring)
		return false;
	for (uint32_t i = c->rx_head; i != c->rx_tail; i++)
		ring[i & (size - 1)] = c->rx[i & (c->rxsize - 1)];
	sl_free(c->rx);
	c->rx = ring;
	c->rxsize = size;
	return true;
}

static struct sl_rxseg *rx_last(const struct sl_tcp *c)
{
	return c->rx_tail == c->rx_head ? NULL : &c->rx[(c->rx_tail - 1) & (c->rxsize - 1)];
}

/* Where the note of a piece is. NULL: the frame has no room for one, and the chain of notes ends
 * before this piece. */
static struct sl_rx_note *note_of(const struct sl_rxseg *r)
{
	return r->off < sizeof(struct sl_rx_note) ? NULL
						  : (struct sl_rx_note *)sl_frame_ptr(r->frame);
}

/* Adds the note of a new piece behind the last note. */
static void note_down(struct sl_tcp *c, const struct sl_rxseg *r)
{
	const struct sl_rxseg *last = rx_last(c);
	struct sl_rx_note *n = note_of(r), *before = last ? note_of(last) : NULL;

	if (!n || (last && !before))
		return;
	*n = (struct sl_rx_note){c->rcv_nxt, SL_NO_FRAME, r->off, r->len};
	sl_share_step();
	sl_store(before ? &before->next : &c->rx_first, r->frame);
	sl_share_step();
}

/* A frame that other pieces use, too, has no room for a note: the bytes then die with the process.
 */
static void note_piece(const struct sl_tcp *c, uint32_t seq, const struct sl_rxseg *r)
{
	const struct sl_tcp_note is = {seq, r->off, r->len, 0};

	if (r->off < sizeof(is))
		return;
	sl_tcp_note_write(sl_tcp_note_at(r->frame), sl_tcp_note_id(c->iss, c->irs, false), is);
	sl_share_step();
}

static void lengthen_note(const struct sl_tcp *c, const struct sl_rxseg *r)
{
	struct sl_tcp_note *n = sl_tcp_note_at(r->frame);

	if (n->id != sl_tcp_note_id(c->iss, c->irs, false))
		return;
	sl_store(&n->len, (uint16_t)(r->off + r->len - n->off));
	sl_share_step();
}

void sl_tcp_rcv_forget(const struct sl_tcp *c, uint32_t frame)
{
	struct sl_tcp_note *n = sl_tcp_note_at(frame);

	if (n->id == sl_tcp_note_id(c->iss, c->irs, false))
		n->id = 0;
}

void sl_tcp_note(struct sl_tcp *c)
{
	uint32_t seq = c->copied_seq;

	if (c->noted || !sl_tcp_is_synchronised(c->state) || sl_tcp_is_queued(c))
		return;
	c->noted = true;
	for (uint32_t i = c->rx_head; i != c->rx_tail; i++) {
		const struct sl_rxseg *r = &c->rx[i & (c->rxsize - 1)];

		if (sl_frame_refs(r->frame) == 1)
			note_piece(c, seq, r);
		seq += r->len;
	}
	for (uint32_t i = c->tx_una; i != c->tx_tail; i++)
		if (sl_tcp_piece(c, i)->frame != SL_NO_FRAME)
			sl_tcp_snd_note(c, sl_tcp_piece(c, i));
}

static bool rx_push(struct sl_tcp *c, uint32_t frame, uint16_t off, uint16_t len, bool scrap)
{
	const struct sl_rxseg r = {frame, off, len};

	if (sl_unlikely(c->rx_tail - c->rx_head == c->rxsize) && !sl_tcp_rx_grow(c))
		return false;
	if (sl_unlikely(sl_tcp_is_queued(c)))
		note_down(c, &r);
	else if (sl_unlikely(c->noted) && !scrap)
		note_piece(c, c->rcv_nxt, &r);
	c->rx[c->rx_tail++ & (c->rxsize - 1)] = r;
	return true;
}

/* Counts len bytes that are in the ring, and a FIN, as received. */
static void advance(struct sl_tcp *c, uint32_t len, bool fin)
{
	c->rx_bytes += len;
	c->host->unread += len;
	c->rcv_nxt += len;
	c->bytes_received += len;
	if (fin) {
		c->fin_rcvd = true;
		sl_share_step(); /* tcp_dead.c */
		c->rcv_nxt++;
	}
}

/* Moves the pieces that a filled hole has made contiguous into the ring. Without memory they stay,
 * and the next segment tries again. */
static void drain(struct sl_tcp *c)
{
	struct sl_ooo_at at = sl_ooo_first(c->ooo);
	uint32_t before = c->noo;
	struct sl_oooseg *e;

	while (c->noo && !c->fin_rcvd) {
		uint32_t dup;

		e = sl_ooo_piece(c->ooo, at);
		dup = c->rcv_nxt - e->seq;
		if (sl_seq_gt(e->seq, c->rcv_nxt))
			break;
		if (sl_seq_le(sl_ooo_end(e), c->rcv_nxt)) {
			dsack_more(c, e->seq, sl_ooo_end(e));
			ooo_free(c, e);
			ooo_cut(c, &at);
			continue;
		}
		if (e->len > dup) {
			if (!rx_push(c, e->frame, (uint16_t)(e->off + dup),
				     (uint16_t)(e->len - dup), e->scrap))
				break;
			c->rmem -= dup;
			c->ooo->held -= true_size(e);
		} else {
			ooo_free(c, e);
		}
		dsack_more(c, e->seq, c->rcv_nxt);
		advance(c, e->len - dup, e->fin);
		ooo_cut(c, &at);
	}
	/* Ignore bytes that a peer sent beyond its FIN. */
	while (c->fin_rcvd && c->noo)
		ooo_drop_last(c);
	if (c->noo != before) {
		sl_tcp_mem_unsettle(c->ooo);
		sl_tcp_mem_settle(c);
	}
	sack_trim(c);
	if (c->noo == 0 && c->ooo && !sl_ooo_is_small(c->ooo)) {
		sl_ooo_free(c->ooo);
		c->ooo = NULL;
	}
}

static bool append_to_tail(struct sl_tcp *c, uint32_t frame, uint16_t off, uint16_t len)
{
	struct sl_rxseg *tail = rx_last(c);

	if (!tail || !append(c, tail->frame, tail->off, &tail->len, sl_frame_ptr(frame) + off, len))
		return false;
	if (sl_unlikely(sl_tcp_is_queued(c)) && note_of(tail)) {
		sl_share_step();
		sl_store(&note_of(tail)->len, tail->len);
		sl_share_step();
	} else if (sl_unlikely(c->noted)) {
		lengthen_note(c, tail);
	}
	return true;
}

static bool queue_in_order(struct sl_tcp *c, uint32_t frame, uint16_t off, uint16_t len, bool fin)
{
	bool kept = false, scrap;

	if (len) {
		if (!may_hold(c, c->rcv_nxt))
			return false;
		if (!append_to_tail(c, frame, off, len)) {
			scrap = copy_to_scrap(c, &frame, &off, len);
			if (!rx_push(c, frame, off, len, scrap)) {
				if (scrap)
					sl_frame_put(c->host->frames, frame);
				return false;
			}
			c->rmem += sl_tcp_rx_charge(len);
			kept = !scrap;
		}
	}
	advance(c, len, fin);
	sl_tcp_rcv_grow_window(c, len);
	if (sl_unlikely(c->noo))
		drain(c);
	return kept;
}

/* Out of order --------------------------------------------------------------------------------- */

static bool ooo_make(struct sl_tcp *c)
{
	struct sl_ooo *o = sl_malloc(sizeof(*o));

	if (!o)
		return false;
	memset(o, 0, sizeof(*o));
	o->of = c;
	sl_list_init(&o->greedy);
	sl_list_init(&o->aged);
	c->ooo = o;
	return true;
}

/* Cuts from e the bytes that other pieces have already. *at: where e belongs; *covered: how many
 * pieces from there e replaces. False: e has no new byte. */
static bool ooo_trim(struct sl_tcp *c, struct sl_oooseg *e, struct sl_ooo_at *at, uint32_t *covered)
{
	const struct sl_ooo *o = c->ooo;
	struct sl_ooo_at i = sl_ooo_find(o, e->seq);
	const struct sl_oooseg *p = sl_ooo_piece(o, i);
	uint32_t end = sl_ooo_end(e), n;

	*covered = 0;
	if (p && sl_seq_le(p->seq, e->seq)) {
		if (sl_seq_ge(sl_ooo_end(p), end) || p->fin) {
			sl_tcp_dsack(c, e->seq, end);
			return false;
		}
		n = sl_ooo_end(p) - e->seq;
		sl_tcp_dsack(c, e->seq, e->seq + n);
		e->seq += n;
		e->off += n;
		e->len -= n;
		i = sl_ooo_next(o, i);
	}
	*at = i;
	for (; (p = sl_ooo_piece(o, i)) && sl_seq_lt(p->seq, end); i = sl_ooo_next(o, i)) {
		if (sl_seq_gt(sl_ooo_end(p), end)) {
			dsack_more(c, p->seq, end);
			e->len = (uint16_t)(p->seq - e->seq);
			e->fin = false;
			break;
		}
		dsack_more(c, p->seq, sl_ooo_end(p));
		(*covered)++;
	}
	return e->len || e->fin;
}

/* Puts e into the row at `at`, in place of `covered` pieces. Returns whether the row keeps e's
 * frame; *lost: there was no memory, and e is gone. */
static bool ooo_insert(struct sl_tcp *c, const struct sl_oooseg *e, struct sl_ooo_at at,
		       uint32_t covered, bool *lost)
{
	struct sl_oooseg *prev, *new;

	for (uint32_t i = 0; i < covered; i++) {
		ooo_free(c, sl_ooo_piece(c->ooo, at));
		ooo_cut(c, &at);
	}
	prev = covered ? NULL : sl_ooo_before(c->ooo, at);
	if (prev && prev->len && !prev->fin && sl_ooo_end(prev) == e->seq && e->len &&
	    append(c, prev->frame, prev->off, &prev->len, sl_frame_ptr(e->frame) + e->off,
		   e->len)) {
		prev->fin = e->fin;
		if (prev->scrap)
			c->ooo->held += e->len;
		return false;
	}
	new = sl_ooo_put(c->ooo, at);
	*lost = !new;
	if (!new)
		return false;
	*new = *e;
	if (!e->len)
		new->frame = SL_NO_FRAME;
	new->scrap = copy_to_scrap(c, &new->frame, &new->off, new->len);
	c->noo++;
	c->rmem += sl_tcp_rx_charge(e->len);
	c->ooo->held += true_size(new);
	c->ooo->loose += e->len && !new->scrap && e->len <= SL_SCRAP_MAX;
	return e->len && !new->scrap;
}

static bool queue_ooo(struct sl_tcp *c, struct sl_oooseg e)
{
	uint32_t start = e.seq, end = sl_ooo_end(&e), covered;
	bool kept, lost = false;
	struct sl_ooo_at at;

	if (!may_hold(c, end) || (!c->ooo && !ooo_make(c)))
		return false;
	tcp_count(c->host, SL_TCPC_OFO_QUEUE, 1);
	sl_tcp_trouble(c)->rcv_ooopack++;
	if (!ooo_trim(c, &e, &at, &covered)) {
		sack_add(c, start, end);
		return false;
	}
	kept = ooo_insert(c, &e, at, covered, &lost);
	sl_tcp_mem_settle(c);
	if (!lost) {
		sack_add(c, start, end);
		sl_tcp_rcv_grow_ooo(c, e.len);
	}
	return kept;
}

bool sl_tcp_rcv_queue(struct sl_tcp *c, uint32_t seq, uint32_t frame, uint16_t off, uint16_t len,
		      bool fin)
{
	uint32_t dup = c->rcv_nxt - seq;

	if (c->fin_rcvd || (!len && !fin))
		return false;
	if (sl_seq_gt(seq, c->rcv_nxt))
		return queue_ooo(c, (struct sl_oooseg){seq, frame, off, len, fin, false});
	if (sl_seq_le(seq + len + fin, c->rcv_nxt))
		return false;
	return queue_in_order(c, frame, (uint16_t)(off + dup), (uint16_t)(len - dup), fin);
}

void sl_tcp_rcv_free(struct sl_tcp *c)
{
	for (; c->rx_head != c->rx_tail; c->rx_head++) {
		const struct sl_rxseg *r = &c->rx[c->rx_head & (c->rxsize - 1)];

		c->rmem -= sl_tcp_rx_charge(r->len);
		sl_frame_put(c->host->frames, r->frame);
	}
	while (c->noo)
		ooo_drop_last(c);
	if (c->ooo)
		sl_tcp_mem_unsettle(c->ooo);
	sl_free(c->rx);
	sl_ooo_free(c->ooo);
	c->rx = NULL;
	c->ooo = NULL;
	c->host->unread -= c->rx_bytes;
	c->rxsize = c->noo = c->rx_bytes = 0;
	c->nlast_sack = 0;
	c->have_dsack = false;
}
