/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive window: what is announced, and how large the buffer behind it grows.
 *
 * Theory of operation: as Linux (net/ipv4/tcp_output.c, __tcp_select_window; tcp_input.c,
 * tcp_rcv_space_adjust), since peers are tuned to that. Half of what the buffer has free is
 * announced, the other half pays for overhead. rcv_ssthresh starts small and grows with data, so
 * that a new peer cannot fill a large buffer at once. The buffer itself grows when the program has
 * read more within a round trip than ever before (dynamic right-sizing, Fisk and Feng, 2001), and
 * when data wait beyond a hole (tcp_rcvbuf_grow()). */

#include "tcp/tcp.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_window.h"

#define RTT_SHIFT 3 /* rcv_rtt_us is kept in eighths */

static uint32_t win_of(uint32_t space)
{
	return space / 2;
}

static uint32_t free_window(const struct sl_tcp *c)
{
	return c->rmem < c->rcvbuf ? win_of(c->rcvbuf - c->rmem) : 0;
}

/* The largest window that an empty buffer allows. */
static uint32_t full_window(const struct sl_tcp *c)
{
	uint32_t w = win_of(c->rcvbuf);

	return c->window_clamp ? sl_min(w, c->window_clamp) : w;
}

/* Bytes that were announced and that the peer has not used yet. */
static uint32_t window_left(const struct sl_tcp *c)
{
	uint32_t right = c->rcv_wup + c->rcv_wnd;

	return sl_seq_gt(right, c->rcv_nxt) ? right - c->rcv_nxt : 0;
}

static uint32_t round_up(uint32_t x, unsigned shift)
{
	return (x + (1u << shift) - 1) >> shift << shift;
}

/* Announced windows -----------------------------------------------------------------------------
 *
 * Peers that fill their windows at the same time share the lane's memory: the kernel's queue, where
 * packets wait for a turn, and the frames where they wait for the program. So the host adds up the
 * windows that connections have announced, as of their last segments. Those of up to FREE_WINDOW do
 * not count and are always announced, so a new connection can begin, and a host with thousands of
 * idle ones has no sum. A large window counts for one period after that in which its connection
 * sent last: an idle connection keeps its right edge (RFC 9293 3.8.6), but no share. (Nothing has
 * to be taken back when a connection ends.) */
#define FREE_WINDOW  65536u
#define PERIOD_SHIFT 20 /* of microseconds: about a second */

static void turn_period(struct sl_tcp_told *t, uint32_t now)
{
	if (now == t->at)
		return;
	t->bytes[1] = now == t->at + 1 ? t->bytes[0] : 0;
	t->bytes[0] = 0;
	t->at = now;
}

/* Takes c's window out of the sum; returns the sum of all others (or 0 if c's window stays small,
 * so that they do not matter). */
static uint64_t told_by_others(struct sl_tcp *c)
{
	struct sl_tcp_told *t = &c->host->told;

	if (sl_likely(!c->told_at && c->rcv_ssthresh <= FREE_WINDOW))
		return 0;
	turn_period(t, (uint32_t)(c->host->now_us >> PERIOD_SHIFT) + 2);
	if (c->told_at == t->at)
		t->bytes[0] -= sl_min(t->bytes[0], (uint64_t)c->rcv_wnd);
	else if (c->told_at == t->at - 1)
		t->bytes[1] -= sl_min(t->bytes[1], (uint64_t)c->rcv_wnd);
	c->told_at = 0;
	return t->bytes[0] + t->bytes[1];
}

static void tell(struct sl_tcp *c)
{
	struct sl_tcp_told *t = &c->host->told;

	if (sl_likely(c->rcv_wnd <= FREE_WINDOW))
		return;
	t->bytes[0] += c->rcv_wnd;
	c->told_at = t->at;
}

/* The part of `all` that one connection may announce, where others have announced so much: with n
 * connections that is all / (n + 1) for each (after Choudhury and Hahne, 1998). */
static uint64_t share_of(uint64_t all, uint64_t others)
{
	return all > others ? (all - others) / 2 : 0;
}

/* Windows that, together, are more than 1/32 of packet memory are compared with what is left of
 * that. What a program does not read stays there, and what finds no room is lost: a peer that was
 * told of room for it would wait for its time-out, longer each time. (A sixteenth of a buffer of
 * hundreds of megabytes may be more than packet memory has: it says nothing of the room there.) */
#define LARGE_SHIFT 5

static uint32_t limit_by_memory(struct sl_tcp *c, uint32_t space, uint64_t others, uint32_t mss)
{
	uint64_t queue = c->host->frames->queue_bytes, room = (uint64_t)sl_tcp_rcv_room(c) * mss;
	uint64_t share = room;

	/* A connection alone does not ask how many frames are spare: that takes a tenth of a turn.
	 */
	if (others)
		share = share_of((uint64_t)sl_frames_spare(c->host->frames) * mss, others);
	/* No connection gets more than two thirds of the queue. If its program does not read, its
	 * packets stay there, and those of other connections come behind them. */
	if (queue)
		share = sl_min(share, queue > others ? (queue - others) * 2 / 3 : 0);
	share = sl_max(share, (uint64_t)FREE_WINDOW);
	room = sl_min(room, share);
	return (uint32_t)sl_min((uint64_t)space, room);
}

/* The window to announce: zero, or multiples of a segment, so that the peer does not send small
 * segments (RFC 9293 3.8.6.2.2). */
static uint32_t wanted_window(struct sl_tcp *c, uint64_t others)
{
	uint32_t full = full_window(c), space = sl_min(free_window(c), full);
	uint32_t mss = sl_min(c->rcv_mss ? c->rcv_mss : SL_TCP_MSS_V4, full), win;
	bool small = space >> c->rcv_wscale << c->rcv_wscale < full / 16;

	if (sl_unlikely((others + space) >> sl_pool.shift > sl_pool.nframes >> LARGE_SHIFT))
		space = limit_by_memory(c, space, others, mss);
	if (space < full / 2 && sl_tcp_rcv_is_pressed(c, 4))
		c->rcv_ssthresh = sl_min(c->rcv_ssthresh, 4u * c->adv_mss);
	if (small || space < mss || !mss)
		return 0;
	space = sl_min(space, c->rcv_ssthresh);
	if (c->rcv_wscale)
		return round_up(space, c->rcv_wscale);
	win = c->rcv_wnd;
	if (win > space || space - win >= mss)
		return space - space % mss;
	if (mss == full && space > win + full / 2)
		return space;
	return win;
}

uint32_t sl_tcp_select_window(struct sl_tcp *c)
{
	uint32_t left = window_left(c), win = wanted_window(c, told_by_others(c));
	unsigned scale = c->wscale_ok ? c->rcv_wscale : 0;

	if (win < left)
		win = round_up(left, scale);
	win = sl_min(win, 65535u << scale);
	c->rcv_wnd = win;
	c->rcv_wup = c->rcv_nxt;
	tell(c);
	return win;
}

/* Auto-tuning ---------------------------------------------------------------------------------- */

void sl_tcp_rcv_grow_window(struct sl_tcp *c, uint32_t len)
{
	uint32_t room = sl_min(free_window(c), full_window(c));

	/* Segments that are mostly overhead do not earn a larger window. */
	if (len < 128 || room <= c->rcv_ssthresh || sl_tcp_rcv_is_pressed(c, 4))
		return;
	room -= c->rcv_ssthresh;
	len = sl_max(len, (uint32_t)c->adv_mss);
	c->rcv_ssthresh += sl_min(room, 2 * len);
}

/* Takes a sample of the round trip. by_window: the sample is the time that a window took, a round
 * trip or more, so the least sample counts. */
static void rtt_sample(struct sl_tcp *c, uint32_t us, bool by_window)
{
	uint32_t old = c->rcv_rtt_us;

	us = sl_max(us, 1u);
	us = sl_min(us, 1u << 28);
	if (!old)
		c->rcv_rtt_us = us << RTT_SHIFT;
	else if (!by_window)
		c->rcv_rtt_us = old - (old >> RTT_SHIFT) + us;
	else
		c->rcv_rtt_us = sl_min(old, us << RTT_SHIFT);
}

/* Measures the round trip of a receiver that never sends: the peer echoes a time stamp that went
 * out a round trip ago, if the segment is a full one that did not wait at the peer. */
void sl_tcp_rcv_rtt_ts(struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	uint32_t ms = sl_tcp_tsval(c) - seg->tsecr;

	if (!c->ts_ok || !(seg->opts & SL_TCPO_TS) || !seg->tsecr || seg->len < c->rcv_mss ||
	    seg->tsecr == c->rcv_rtt_seq || ms > 1u << 18)
		return;
	c->rcv_rtt_seq = seg->tsecr;
	rtt_sample(c, ms ? ms * 1000 : 1000, false);
}

/* Measures the round trip without time stamps, by the time that a window takes. */
static void measure_by_window(struct sl_tcp *c)
{
	uint32_t now = (uint32_t)c->host->now_us | 1;

	if (c->rcv_rtt_time_us) {
		if (sl_seq_lt(c->rcv_nxt, c->rcv_rtt_seq))
			return;
		rtt_sample(c, now - c->rcv_rtt_time_us, true);
	}
	c->rcv_rtt_seq = c->rcv_nxt + c->rcv_wnd;
	c->rcv_rtt_time_us = now;
}

/* Makes the buffer large enough for win bytes beside those beyond a hole, and doubles this for
 * overhead. Without the latter the window would stand still with the hole: the program reads
 * nothing meanwhile. */
static void fit_buffer(struct sl_tcp *c, uint64_t win)
{
	const struct sl_oooseg *last = c->noo ? sl_ooo_last(c->ooo) : NULL;
	uint64_t space;

	if (!sl_tcp_params.moderate_rcvbuf || c->rcvbuf_locked)
		return;
	if (last)
		win += sl_ooo_end(last) - c->rcv_nxt;
	space = sl_min(2 * win, (uint64_t)sl_tcp_params.rmem_max);
	if (space > c->rcvbuf)
		c->rcvbuf = (uint32_t)space;
}

/* Sizes the buffer for twice what the program has read in a round trip, and more when that grows.
 */
static void grow_buffer(struct sl_tcp *c, uint32_t copied)
{
	uint64_t win = 2ull * copied + 16ull * c->adv_mss;

	win += 2 * (win * (copied - c->rcvq_space) / sl_max(c->rcvq_space, 1u));
	fit_buffer(c, win);
}

/* A connection begins with no measure: the first window is taken for one. */
static void begin_measure(struct sl_tcp *c)
{
	if (!c->rcvq_space)
		c->rcvq_space = sl_min(c->rcv_wnd, 10 * sl_tcp_adv_bytes(c));
}

void sl_tcp_rcv_grow_ooo(struct sl_tcp *c, uint32_t len)
{
	if (c->sack_ok)
		sl_tcp_rcv_grow_window(c, len);
	if (sl_tcp_is_queued(c))
		return;
	begin_measure(c);
	fit_buffer(c, 2ull * c->rcvq_space);
}

static void adjust_space(struct sl_tcp *c)
{
	uint32_t now = (uint32_t)c->host->now_us;
	uint32_t copied = c->copied_seq - c->rcvq_seq;

	if (!c->rcv_rtt_us || now - c->rcvq_time_us < c->rcv_rtt_us >> RTT_SHIFT)
		return;
	begin_measure(c);
	if (copied > c->rcvq_space) {
		grow_buffer(c, copied);
		c->rcvq_space = copied;
	}
	c->rcvq_seq = c->copied_seq;
	c->rcvq_time_us = now;
}

void sl_tcp_rcv_tune(struct sl_tcp *c)
{
	if (!c->ts_ok)
		measure_by_window(c);
	adjust_space(c);
}

void sl_tcp_rcv_space_freed(struct sl_tcp *c)
{
	uint32_t left = window_left(c);

	if (c->fin_rcvd || c->rx_shut || c->ack_now ||
	    (c->state != SL_TCP_ESTABLISHED && c->state != SL_TCP_FIN_WAIT1 &&
	     c->state != SL_TCP_FIN_WAIT2))
		return;
	/* Worth an ACK: the window is half closed at least, and would open to twice as much. */
	if (2 * (uint64_t)left <= full_window(c)) {
		uint32_t win = wanted_window(c, told_by_others(c));

		tell(c);
		if (win && win >= 2 * (uint64_t)left) {
			c->ack_now = SL_TCP_ACK_NOW;
			sl_tcp_want_out(c);
		}
	}
}
