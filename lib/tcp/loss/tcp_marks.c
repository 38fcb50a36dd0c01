/* SPDX-License-Identifier: BSD-2-Clause */
/* The marks of pieces, and how the marked ones are found again without a walk.
 *
 * Theory of operation. A piece of the send queue is SACKED, LOST, or in flight; RETX says that a
 * copy sent again is in flight. Three questions are asked for each ACK, and none may cost a walk
 * over the window, since a peer could force that for each. Which piece is lost and not sent again?
 * loss_hint only moves on; a piece behind it that is found lost goes into a heap, whose entries are
 * stale when the piece has arrived or was sent again. Which copy is the oldest? The copies are in a
 * queue in order of time, whose entries are stale when the piece has arrived or was sent again
 * since; an undoing, which walks over the window anyway, makes that queue anew. Which piece follows
 * that is not SACKED? A SACKED piece stays SACKED until it leaves the queue or the receiver
 * reneges, so each knows a run of SACKED pieces that begins with it, and a walk that has passed
 * several runs joins them (as the paths of a union-find): a logarithm of the window, taken over
 * many ACKs. */
#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_again.h"
#include "tcp/loss/tcp_marks.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"

#define RTX_MIN 16u

struct sl_tcp_rtx {
	uint32_t seq;
	uint32_t sent_us; /* low bits of the piece's */
};

/* State kept while something was sent again. Without memory for it, only the RTO finds lost
 * retransmissions. */
struct sl_tcp_board {
	struct sl_tcp_again again;
	uint32_t size, head, tail; /* of rtx, a ring; size is a power of two */
	struct sl_tcp_rtx rtx[];
};

/* The board ----------------------------------------------------------------------------------- */

static struct sl_tcp_rtx *rtx_at(struct sl_tcp_board *b, uint32_t i)
{
	return &b->rtx[i & (b->size - 1)];
}

static struct sl_tcp_board *board_new(uint32_t size)
{
	struct sl_tcp_board *b = sl_malloc(sizeof(*b) + size * sizeof(b->rtx[0]));

	if (b)
		*b = (struct sl_tcp_board){.size = size};
	return b;
}

static struct sl_tcp_board *board_of(struct sl_tcp *c)
{
	struct sl_tcp_trouble *t = sl_tcp_trouble(c);

	if (t == c->trouble && !t->board)
		t->board = board_new(RTX_MIN);
	return t->board;
}

static bool board_grow(struct sl_tcp *c)
{
	struct sl_tcp_board *old = c->trouble->board, *b = board_new(2 * old->size);

	if (!b)
		return false;
	while (old->head != old->tail)
		b->rtx[b->tail++] = *rtx_at(old, old->head++);
	b->again = old->again;
	sl_free(old);
	c->trouble->board = b;
	return true;
}

void sl_tcp_loss_free(struct sl_tcp *c)
{
	if (!sl_tcp_board(c))
		return;
	sl_tcp_again_free(&c->trouble->board->again);
	sl_free(c->trouble->board);
	c->trouble->board = NULL;
}

/* Marks --------------------------------------------------------------------------------------- */

/* True: nothing but its marks says that the piece is lost. */
static bool must_go_again(const struct sl_txseg *p)
{
	return (p->marks & (SL_TXS_LOST | SL_TXS_RETX | SL_TXS_SACKED)) == SL_TXS_LOST;
}

/* The last copy was sent again, and may be on its way: an undoing has taken the mark off, or it has
 * RETX. The board has it. */
static bool is_copy_out(const struct sl_txseg *p)
{
	return p->sent > 1 && !(p->marks & SL_TXS_SACKED) &&
	       (p->marks & SL_TXS_RETX || !(p->marks & SL_TXS_LOST));
}

static void hints_to_una(struct sl_tcp *c)
{
	struct sl_tcp_board *b = sl_tcp_board(c);

	c->loss_hint = c->rack_hint = c->tx_una;
	if (b)
		b->again.n = 0;
}

/* Has sl_tcp_loss_next() find the lost piece at i. */
static void hint_at(struct sl_tcp *c, uint32_t i)
{
	struct sl_tcp_board *b;

	if (!before(i, c->loss_hint))
		return;
	b = board_of(c);
	if (b && sl_tcp_again_push(&b->again, sl_tcp_piece(c, i)->seq))
		return;
	c->loss_hint = c->tx_una; /* no memory: look at all */
	if (b)
		b->again.n = 0;
}

void sl_tcp_mark_lost(struct sl_tcp *c, uint32_t i)
{
	struct sl_txseg *p = sl_tcp_piece(c, i);

	if (p->marks & SL_TXS_RETX) {
		p->marks &= ~SL_TXS_RETX;
		c->retx_out--;
	} else if (p->marks & SL_TXS_LOST) {
		return;
	}
	if (!(p->marks & SL_TXS_LOST)) {
		p->marks |= SL_TXS_LOST;
		c->lost_out++;
	}
	/* Without SACK, duplicate ACKs were counted for pieces that nobody can name. */
	if (!c->sack_ok && c->sacked_out + c->lost_out > sl_tcp_pieces_out(c))
		c->sacked_out--;
	c->lost++;
	if (sl_unlikely(c->cc->on_lost))
		c->cc->on_lost(c, p);
	hint_at(c, i);
}

/* Retransmissions in order of time ------------------------------------------------------------ */

/* Notes that the piece at i was sent again. */
bool sl_tcp_rack_on_retransmit(struct sl_tcp *c, uint32_t i)
{
	const struct sl_txseg *p = sl_tcp_piece(c, i);
	struct sl_tcp_board *b = board_of(c);

	if (!b || (b->tail - b->head == b->size && !board_grow(c)))
		return false;
	b = c->trouble->board;
	*rtx_at(b, b->tail++) = (struct sl_tcp_rtx){p->seq, (uint32_t)p->sent_us};
	return true;
}

/* The piece of an entry if that retransmission is its last one and is in flight, else tx_nxt. */
static uint32_t rtx_piece(const struct sl_tcp *c, const struct sl_tcp_rtx *e)
{
	uint32_t i = find_piece(c, e->seq);
	const struct sl_txseg *p;

	if (i == c->tx_nxt)
		return i;
	p = sl_tcp_piece(c, i);
	if (p->seq != e->seq || !is_copy_out(p) || (uint32_t)p->sent_us != e->sent_us)
		return c->tx_nxt;
	return i;
}

/* A piece was split: its second half, which was sent with the first, gets an entry behind it. */
static void rtx_split(struct sl_tcp *c, uint32_t i)
{
	const struct sl_txseg *p = sl_tcp_piece(c, i);
	struct sl_tcp_board *b;

	if (!sl_tcp_rack_on_retransmit(c, i + 1))
		return;
	b = c->trouble->board;
	for (uint32_t k = b->tail - 1; k != b->head; k--) {
		struct sl_tcp_rtx *e = rtx_at(b, k), *front = rtx_at(b, k - 1), tmp = *e;

		if (front->seq == p->seq && front->sent_us == (uint32_t)p->sent_us)
			break;
		*e = *front;
		*front = tmp;
	}
}

static bool is_later(const struct sl_tcp_rtx *a, const struct sl_tcp_rtx *b)
{
	if (a->sent_us != b->sent_us)
		return (int32_t)(a->sent_us - b->sent_us) > 0;
	return sl_seq_gt(a->seq, b->seq);
}

/* Moves the entry at i down a heap of n, the latest at its top. */
static void sift(struct sl_tcp_rtx *r, uint32_t i, uint32_t n)
{
	struct sl_tcp_rtx moved = r[i];
	uint32_t k;

	while ((k = 2 * i + 1) < n) {
		if (k + 1 < n && is_later(&r[k + 1], &r[k]))
			k++;
		if (!is_later(&r[k], &moved))
			break;
		r[i] = r[k];
		i = k;
	}
	r[i] = moved;
}

static void sort_by_time(struct sl_tcp_rtx *r, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(r, i, n);
	while (n > 1) {
		struct sl_tcp_rtx last = r[--n];

		r[n] = r[0];
		r[0] = last;
		sift(r, 0, n);
	}
}

/* Makes the queue anew: the entries of copies that were lost, and are not, are gone from it. */
static void rtx_renew(struct sl_tcp *c)
{
	struct sl_tcp_board *b = board_of(c);

	if (!b)
		return;
	b->head = b->tail = 0;
	for (uint32_t i = c->tx_una; i != c->tx_nxt; i++)
		if (is_copy_out(sl_tcp_piece(c, i)) && !sl_tcp_rack_on_retransmit(c, i))
			return;
	b = c->trouble->board;
	sort_by_time(b->rtx, b->tail);
}

void sl_tcp_unmark_lost(struct sl_tcp *c)
{
	bool renew = false;

	for (uint32_t i = c->tx_una; i != c->tx_nxt && c->lost_out; i++) {
		struct sl_txseg *p = sl_tcp_piece(c, i);

		if (!(p->marks & SL_TXS_LOST))
			continue;
		p->marks &= ~SL_TXS_LOST;
		c->lost_out--;
		renew |= p->sent > 1;
	}
	hints_to_una(c);
	if (renew && c->sack_ok)
		rtx_renew(c);
}

/* Marks all pieces lost after an RTO, except those that were sent so recently that RACK would wait
 * for them. A first piece that is SACKED means that the receiver has thrown away what it had (RFC
 * 2018 8). */
void sl_tcp_mark_all_lost(struct sl_tcp *c)
{
	bool reneged = c->tx_una != c->tx_nxt && sl_tcp_piece(c, c->tx_una)->marks & SL_TXS_SACKED;
	bool rack = c->sack_ok && sl_tcp_params.recovery_rack && c->rack_sent_us;

	if (reneged || !c->sack_ok)
		c->sacked_out = 0;
	hints_to_una(c);
	for (uint32_t i = c->tx_una; i != c->tx_nxt; i++) {
		struct sl_txseg *p = sl_tcp_piece(c, i);

		if (reneged && p->marks & SL_TXS_SACKED) {
			p->marks &= ~SL_TXS_SACKED;
			p->lost = c->lost;
		}
		if (p->marks & SL_TXS_SACKED)
			continue;
		if (rack && i != c->tx_una && elapsed_us(c, p->sent_us) < c->rack_rtt_us)
			continue;
		sl_tcp_mark_lost(c, i);
	}
	if (reneged) /* a copy that had arrived may be out again */
		rtx_renew(c);
}

uint32_t sl_tcp_oldest_copy(struct sl_tcp *c)
{
	struct sl_tcp_board *b = sl_tcp_board(c);
	uint32_t i;

	for (; b && b->head != b->tail; b->head++) {
		i = rtx_piece(c, rtx_at(b, b->head));
		if (i != c->tx_nxt)
			return i;
	}
	return c->tx_nxt;
}

void sl_tcp_loss_settle(struct sl_tcp *c)
{
	if (sl_tcp_board(c) && !c->retx_out && sl_tcp_oldest_copy(c) == c->tx_nxt)
		sl_tcp_loss_free(c);
}

void sl_tcp_loss_on_split(struct sl_tcp *c, uint32_t i)
{
	uint8_t marks = sl_tcp_piece(c, i)->marks;

	if (!before(i, c->tx_nxt))
		return;
	c->sacked_out += !!(marks & SL_TXS_SACKED);
	c->lost_out += !!(marks & SL_TXS_LOST);
	c->retx_out += !!(marks & SL_TXS_RETX);
	if (c->sack_ok && is_copy_out(sl_tcp_piece(c, i)))
		rtx_split(c, i);
	if (must_go_again(sl_tcp_piece(c, i + 1)))
		hint_at(c, i + 1);
}

/* Questions ----------------------------------------------------------------------------------- */

uint32_t sl_tcp_past_sacked(const struct sl_tcp *c, uint32_t i)
{
	uint32_t end = i, next;

	while (end != c->tx_nxt && sl_tcp_piece(c, end)->marks & SL_TXS_SACKED)
		end += sl_tcp_piece(c, end)->run;
	for (; i != end; i = next) {
		struct sl_txseg *p = sl_tcp_piece(c, i);

		next = i + p->run;
		p->run = end - i;
	}
	return end;
}

/* The first lost piece behind loss_hint, or tx_nxt. */
static uint32_t first_again(struct sl_tcp *c)
{
	struct sl_tcp_board *b = sl_tcp_board(c);
	uint32_t i;

	for (; b && b->again.n; sl_tcp_again_pop(&b->again)) {
		i = find_piece(c, b->again.seq[0]);
		if (i != c->tx_nxt && must_go_again(sl_tcp_piece(c, i)))
			return i;
	}
	return c->tx_nxt;
}

uint32_t sl_tcp_loss_next(struct sl_tcp *c)
{
	uint32_t i;

	/* F-RTO waits for what new data tell (RFC 5682 2.1 step 2b). */
	if (!c->lost_out || (c->ca == SL_CA_LOSS && c->frto == 2))
		return c->tx_nxt;
	if (before(c->loss_hint, c->tx_una))
		c->loss_hint = c->tx_una;
	i = first_again(c);
	if (i != c->tx_nxt)
		return i;
	while (before(c->loss_hint, c->tx_nxt)) {
		const struct sl_txseg *p = sl_tcp_piece(c, c->loss_hint);

		if (must_go_again(p))
			return c->loss_hint;
		if (p->marks & SL_TXS_SACKED)
			c->loss_hint = sl_tcp_past_sacked(c, c->loss_hint);
		else
			c->loss_hint++;
	}
	return c->tx_nxt;
}
