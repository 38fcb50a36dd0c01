/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue: pieces are split, acknowledged, given up; how large they and the buffer are. */

#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_chrono.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"
#include "wire/csum.h"

static uint16_t sum_of(const struct sl_txseg *s)
{
	return (uint16_t)~sl_csum_fold(sl_csum_add(0, sl_frame_ptr(s->frame) + s->off, s->len));
}

/* Makes sure that the ring of pieces has a free place. False: no memory. */
static bool tx_grow(struct sl_tcp *c)
{
	uint32_t size = c->txsize ? 2 * c->txsize : 4;
	struct sl_txseg *tx;

	if (c->tx_tail - c->tx_una < c->txsize)
		return true;
	tx = sl_malloc(size * sizeof(*tx));
	if (!tx)
		return false;
	for (uint32_t i = c->tx_una; i != c->tx_tail; i++)
		tx[i & (size - 1)] = *sl_tcp_piece(c, i);
	sl_free(c->tx);
	c->tx = tx;
	c->txsize = size;
	return true;
}

struct sl_txseg *sl_tcp_snd_new(struct sl_tcp *c)
{
	struct sl_txseg *s;

	if (!tx_grow(c))
		return NULL;
	s = sl_tcp_piece(c, c->tx_tail++);
	*s = (struct sl_txseg){.frame = SL_NO_FRAME, .seq = c->write_seq};
	c->wmem += sl_tcp_tx_charge(0);
	sl_tcp_chrono_start(c, SL_CHRONO_BUSY);
	return s;
}

/* A piece that was cut leaves one note for all its parts, which lie in its frame as they follow in
 * the stream. */
void sl_tcp_snd_note(const struct sl_tcp *c, const struct sl_txseg *s)
{
	struct sl_tcp_note *n = sl_tcp_note_at(s->frame);
	uint64_t id = sl_tcp_note_id(c->iss, c->irs, true);
	uint32_t before = s->seq - n->seq;

	if (n->id == id && n->off + before == s->off)
		sl_store(&n->len, (uint16_t)(before + s->len));
	else
		sl_tcp_note_write(n, id, (struct sl_tcp_note){s->seq, s->off, s->len, 0});
	sl_share_step();
}

/* The last part of a frame's bytes takes the note along. */
static SL_COLD void forget_note(const struct sl_tcp *c, const struct sl_txseg *s)
{
	struct sl_tcp_note *n = sl_tcp_note_at(s->frame);

	if (n->id == sl_tcp_note_id(c->iss, c->irs, true) && n->seq + n->len == s->seq + s->len)
		n->id = 0;
}

void sl_tcp_snd_put(struct sl_tcp *c, const struct sl_txseg *s)
{
	if (s->frame == SL_NO_FRAME)
		return;
	if (sl_unlikely(c->noted))
		forget_note(c, s);
	sl_frame_put(c->host->frames, s->frame);
}

/* Makes an empty place behind piece i, which may move by that. Returns the index of piece i now,
 * or UINT32_MAX without memory. Pieces are cut when the MSS has shrunk, when it is so small that a
 * frame has several segments, or when the window is tiny. Few pieces are in flight then, so if i is
 * the first unsent one, the pieces in flight move down instead of the long queue behind it up. (No
 * piece may get the index UINT32_MAX.) */
static uint32_t make_place(struct sl_tcp *c, uint32_t i)
{
	if (!sl_tcp_snd_new(c))
		return UINT32_MAX;
	if (i != c->tx_nxt || !c->tx_una || i - c->tx_una > c->tx_tail - 1 - i) {
		for (uint32_t k = c->tx_tail - 1; k != i + 1; k--)
			*sl_tcp_piece(c, k) = *sl_tcp_piece(c, k - 1);
		return i;
	}
	c->tx_tail--;
	c->tx_una--;
	c->tx_nxt--;
	c->loss_hint--;
	c->rack_hint--;
	for (uint32_t k = c->tx_una; k != i; k++)
		*sl_tcp_piece(c, k) = *sl_tcp_piece(c, k + 1);
	return i - 1;
}

bool sl_tcp_snd_split(struct sl_tcp *c, uint32_t i, uint16_t len)
{
	struct sl_txseg *a, *b;

	i = make_place(c, i);
	if (i == UINT32_MAX)
		return false;
	a = sl_tcp_piece(c, i);
	b = sl_tcp_piece(c, i + 1);
	*b = *a;
	a->len = len;
	a->flags &= ~(SL_TCP_FIN | SL_TCP_PSH);
	a->sum = sum_of(a);
	b->seq += len;
	b->off += len;
	b->len -= len;
	if (b->len) {
		sl_frame_ref(b->frame);
		b->sum = sum_of(b);
	} else { /* the FIN alone */
		b->frame = SL_NO_FRAME;
		b->sum = 0;
	}
	if ((int32_t)(i - c->tx_nxt) < 0)
		c->tx_nxt++;
	sl_tcp_loss_on_split(c, i);
	return true;
}

/* Takes the first n bytes off a piece: the peer has acknowledged them, or they are elsewhere. */
static void trim_head(struct sl_tcp *c, struct sl_txseg *s, uint32_t n)
{
	s->seq += n;
	s->off += (uint16_t)n;
	s->len -= (uint16_t)n;
	c->wmem -= n;
	if (s->len) {
		s->sum = sum_of(s);
		return;
	}
	sl_tcp_snd_put(c, s);
	s->frame = SL_NO_FRAME;
	s->sum = 0;
}

/* Copies len bytes, from the start of the piece at i on, to a frame of their own, that of *all,
 * whose seq is set. False: no frame, or frames are scarce. */
static bool gather(struct sl_tcp *c, uint32_t i, uint16_t len, struct sl_txseg *all)
{
	uint32_t at = 0, frame = SL_NO_FRAME;

	if (c->host->frames->scarcity == SL_PLENTY)
		frame = sl_frame_get(c->host->frames);
	if (frame == SL_NO_FRAME)
		return false;
	all->frame = frame;
	all->off = SL_TCP_HEADROOM;
	all->len = len;
	for (; at < len; i++) {
		const struct sl_txseg *s = sl_tcp_piece(c, i);
		uint32_t n = sl_min((uint32_t)s->len, len - at);

		memcpy(sl_frame_ptr(frame) + all->off + at, sl_frame_ptr(s->frame) + s->off, n);
		at += n;
	}
	all->sum = sum_of(all);
	if (sl_unlikely(c->noted)) /* before the notes of the parts go */
		sl_tcp_snd_note(c, all);
	return true;
}

/* The pieces that were sent have n indexes less below them. */
static void skip_sent(struct sl_tcp *c, uint32_t n)
{
	c->tx_una += n;
	c->loss_hint += n;
	c->rack_hint += n;
	if (c->opts && c->opts->rate)
		c->opts->rate->una += n;
}

/* How many unsent pieces lie within len bytes as a whole. UINT32_MAX: they cannot be joined. */
static uint32_t joinable(const struct sl_tcp *c, uint32_t len)
{
	uint32_t i;

	for (i = c->tx_nxt; i != c->tx_tail; i++) {
		const struct sl_txseg *s = sl_tcp_piece(c, i);

		if (s->frame == SL_NO_FRAME)
			break;
		if (s->len > len)
			return i - c->tx_nxt;
		if (s->marks || s->flags & (SL_TXS_EOR | SL_TCP_FIN | SL_TCP_SYN))
			break;
		len -= s->len;
	}
	return UINT32_MAX;
}

/* Moves the pieces that were sent n places up, over those that were joined. */
static void move_sent(struct sl_tcp *c, uint32_t n)
{
	for (uint32_t i = c->tx_nxt; i-- != c->tx_una;)
		*sl_tcp_piece(c, i + n) = *sl_tcp_piece(c, i);
	c->tx_nxt += n;
	skip_sent(c, n);
}

bool sl_tcp_snd_join(struct sl_tcp *c, uint16_t len)
{
	uint32_t n = joinable(c, len), at = 0;
	struct sl_txseg all = {.seq = c->snd_nxt}, *s;

	if (n == UINT32_MAX)
		return false;
	if (!n)
		return sl_tcp_snd_split(c, c->tx_nxt, len);
	if (!gather(c, c->tx_nxt, len, &all))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		s = sl_tcp_piece(c, c->tx_nxt + i);
		at += s->len;
		all.flags |= s->flags;
		sl_tcp_snd_put(c, s);
	}
	if (at != len) {
		trim_head(c, sl_tcp_piece(c, c->tx_nxt + n), len - at);
		c->wmem += len - at;
	}
	c->wmem -= (n - 1) * sl_tcp_tx_charge(0);
	*sl_tcp_piece(c, c->tx_nxt + n - 1) = all;
	move_sent(c, n - 1);
	return true;
}

/* (A frame that the program fills tells the program of its end.) */
static bool is_plain(const struct sl_txseg *s)
{
	return s->frame != SL_NO_FRAME && !s->marks && !(s->flags & (SL_TCP_SYN | SL_TCP_URG)) &&
	       !(sl_pool.charge && sl_pool.charge[s->frame].tag == SL_FRAME_FILLED);
}

/* Joins pieces that were sent, the one before `end` and those in front of it, into *all, which is
 * no longer than a segment. Returns how many; 1: none. */
static uint32_t pack(struct sl_tcp *c, uint32_t end, struct sl_txseg *all)
{
	uint32_t n = 1, len;

	*all = *sl_tcp_piece(c, end - 1);
	len = all->len;
	while (is_plain(all) && end - n != c->tx_una) {
		const struct sl_txseg *s = sl_tcp_piece(c, end - n - 1);

		if (!is_plain(s) || s->flags & (SL_TXS_EOR | SL_TCP_FIN) || len + s->len > c->mss)
			break;
		len += s->len;
		all->seq = s->seq;
		all->sent = sl_max(all->sent, s->sent);
		n++;
	}
	if (n == 1 || !gather(c, end - n, (uint16_t)len, all)) {
		*all = *sl_tcp_piece(c, end - 1);
		return 1;
	}
	for (uint32_t i = 1; i <= n; i++)
		sl_tcp_snd_put(c, sl_tcp_piece(c, end - i));
	c->wmem -= (n - 1) * sl_tcp_tx_charge(0);
	return n;
}

void sl_tcp_snd_pack(struct sl_tcp *c)
{
	uint32_t from = c->tx_nxt, to = c->tx_nxt;
	struct sl_txseg all;

	while (from != c->tx_una) {
		from -= pack(c, from, &all);
		*sl_tcp_piece(c, --to) = all;
	}
	skip_sent(c, to - from);
}

uint32_t sl_tcp_snd_drop(struct sl_tcp *c, uint32_t ack)
{
	uint32_t n = 0;

	for (; c->tx_una != c->tx_nxt; c->tx_una++, n++) {
		struct sl_txseg *s = sl_tcp_piece(c, c->tx_una);

		if (sl_seq_gt(s->seq + s->len + !!(s->flags & SL_TCP_FIN), ack)) {
			if (sl_seq_gt(ack, s->seq))
				trim_head(c, s, ack - s->seq);
			break;
		}
		sl_tcp_snd_put(c, s);
		c->wmem -= sl_tcp_tx_charge(s->len);
	}
	if (c->tx_una == c->tx_nxt)
		sl_tcp_chrono_stop(c, SL_CHRONO_BUSY);
	return n;
}

void sl_tcp_snd_free(struct sl_tcp *c)
{
	for (; c->tx_una != c->tx_tail; c->tx_una++)
		sl_tcp_snd_put(c, sl_tcp_piece(c, c->tx_una));
	sl_free(c->tx);
	c->tx = NULL;
	c->txsize = 0;
	c->tx_nxt = c->tx_una;
	c->wmem = 0;
	c->sacked_out = c->lost_out = c->retx_out = 0;
	sl_tcp_chrono_stop(c, SL_CHRONO_BUSY);
	sl_tcp_loss_free(c);
}

/* Puts the FIN on the last piece if that can still take it, else on a new one. Without memory for a
 * new one, as in Linux, on one that was sent: the FIN goes out when that is sent again. */
void sl_tcp_queue_fin(struct sl_tcp *c)
{
	struct sl_txseg *s = NULL;
	bool sent = false;

	if (c->fin_queued)
		return;
	if (c->tx_tail == c->tx_nxt)
		s = sl_tcp_snd_new(c);
	if (!s && c->tx_tail != c->tx_una) {
		s = sl_tcp_piece(c, c->tx_tail - 1);
		sent = c->tx_tail == c->tx_nxt;
	}
	if (!s)
		return; /* sl_tcp_output() tries again */
	s->flags |= SL_TCP_FIN;
	c->write_seq++;
	c->fin_queued = true;
	if (sent) {
		c->snd_nxt++;
		c->fin_sent = true;
	}
}

/* Segment size --------------------------------------------------------------------------------- */

/* Pieces under way that no longer fit the path count as lost, but not as lost by congestion
 * (tcp_simple_retransmit() of Linux). */
void sl_tcp_lose_too_long(struct sl_tcp *c)
{
	bool any = false;

	for (uint32_t i = c->tx_una; i != c->tx_nxt; i++) {
		const struct sl_txseg *s = sl_tcp_piece(c, i);

		if (s->len > c->mss && !(s->marks & SL_TXS_SACKED)) {
			sl_tcp_mark_lost(c, i);
			any = true;
		}
	}
	if (!any || c->ca == SL_CA_LOSS)
		return;
	c->ssthresh = sl_cc_current_ssthresh(c);
	sl_tcp_trouble(c)->prior_ssthresh = 0;
	c->can_undo = false;
	c->frto = 0;
	c->high_seq = c->snd_nxt;
	c->ca = SL_CA_LOSS;
}

uint32_t sl_tcp_mss_limit(const struct sl_tcp *c)
{
	uint32_t mss = (1u << sl_pool.shift) - SL_TCP_HEADROOM;

	mss = sl_min(mss, (uint32_t)c->mss_clamp);
	return c->pmtu_mss ? sl_min(mss, (uint32_t)c->pmtu_mss) : mss;
}

/* Chooses the MSS again (RFC 9293 3.7.1): the least of the peer's MSS, the path's and a frame's
 * room, less the options that are on every segment (RFC 6691). */
void sl_tcp_mss_changed(struct sl_tcp *c)
{
	uint32_t mss = sl_tcp_mss_limit(c), old = c->mss;
	struct sl_tcp_mtup *m = sl_tcp_mtup(c);
	bool too_long = false;

	if (sl_unlikely(m)) {
		m->high = (uint16_t)sl_min(m->high, mss);
		too_long = m->size > m->high;
		mss = sl_min(mss, m->low);
	}
	mss = sl_max(mss, sl_tcp_params.min_snd_mss);
	if (c->ts_ok)
		mss = mss > 12 + 8 ? mss - 12 : 8;
	c->mss = (uint16_t)mss;
	if (mss < old || too_long)
		sl_tcp_lose_too_long(c);
}

/* The overhead of a full segment in Linux: headers and skb_shared_info, and sk_buff. SO_SNDBUF
 * reads include it. */
#define LINUX_HEAD 512
#define LINUX_SKB  256

/* Makes room for twice the window, so that the program can fill one window while the other is under
 * way (tcp_sndbuf_expand() of Linux). */
void sl_tcp_sndbuf_grow(struct sl_tcp *c)
{
	uint64_t segs = sl_max(c->cwnd, sl_tcp_init_cwnd(c));
	uint32_t per_mss = (uint32_t)sl_max(c->mss, c->mss_clamp) + LINUX_HEAD;
	uint64_t want;

	if (c->sndbuf_locked)
		return;
	/* BBR may double the window even in recovery (sndbuf_expand of Linux). */
	want = (c->cc->controls ? 3 : 2) * segs *
	       ((1u << (32 - __builtin_clz(per_mss - 1))) + LINUX_SKB);
	want = sl_min(want, (uint64_t)sl_tcp_params.wmem_max);
	if (want > c->sndbuf)
		c->sndbuf = (uint32_t)want;
}
