/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter in front of the receive queue.
 *
 * Theory of operation: pass_seq is the sequence number up to which the filter has let pass. What is
 * cut out behind it counts as read, so the bytes before it that have not been read move up: their
 * sequence numbers grow by as much, and copied_seq + rx_bytes remains what has come. An urgent mark
 * among them would lose its place, so nothing is cut then. */
#include "tcp/tcp_filter.h"

#include "tcp/tcp_int.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_user.h"

void sl_tcp_filter(struct sl_tcp *c)
{
	if (c->filtered)
		return;
	c->pass_seq = c->copied_seq;
	c->filtered = true;
}

static struct sl_rxseg *piece(const struct sl_tcp *c, uint32_t i)
{
	return &c->rx[i & (c->rxsize - 1)];
}

/* The piece with the oldest byte that the filter has not seen. *at: the place of that byte in it.
 * There must be one. */
static uint32_t first_unseen(const struct sl_tcp *c, uint32_t *at)
{
	uint32_t left = sl_tcp_unseen(c), i = c->rx_tail - 1;

	while (piece(c, i)->len < left)
		left -= piece(c, i--)->len;
	*at = piece(c, i)->len - left;
	return i;
}

void sl_tcp_pass(struct sl_tcp *c, uint32_t n)
{
	c->pass_seq += sl_min(n, sl_tcp_unseen(c));
}

unsigned sl_tcp_unseen_pieces(struct sl_tcp *c, struct sl_rxseg *to, unsigned max, uint32_t *before)
{
	unsigned n = 0;
	uint32_t at, i;

	if (c->urg_in)
		sl_tcp_pass(c, UINT32_MAX);
	if (!sl_tcp_unseen(c))
		return 0;
	i = first_unseen(c, &at);
	*before = i - c->rx_head + (at != 0);
	for (; i != c->rx_tail && n < max; i++, n++) {
		to[n] = *piece(c, i);
		to[n].off += (uint16_t)at;
		to[n].len -= (uint16_t)at;
		at = 0;
	}
	return n;
}

/* Makes two pieces of one: [0, at) and the rest. */
static bool split(struct sl_tcp *c, uint32_t i, uint32_t at)
{
	struct sl_rxseg *s;

	if (c->rx_tail - c->rx_head == c->rxsize && !sl_tcp_rx_grow(c))
		return false;
	for (uint32_t j = c->rx_tail++; j != i; j--)
		*piece(c, j) = *piece(c, j - 1);
	s = piece(c, i);
	sl_frame_ref(s->frame);
	piece(c, i + 1)->off += (uint16_t)at;
	piece(c, i + 1)->len -= (uint16_t)at;
	s->len = (uint16_t)at;
	c->rmem += sl_tcp_rx_charge(0);
	return true;
}

/* Removes a whole piece, over the shorter way. */
static void remove_piece(struct sl_tcp *c, uint32_t i)
{
	c->rmem -= sl_tcp_rx_charge(piece(c, i)->len);
	if (sl_unlikely(c->noted)) /* bytes that the callback drops are not found by it */
		sl_tcp_rcv_forget(c, piece(c, i)->frame);
	sl_frame_put(c->host->frames, piece(c, i)->frame);
	if (i - c->rx_head < c->rx_tail - i) {
		for (; i != c->rx_head; i--)
			*piece(c, i) = *piece(c, i - 1);
		c->rx_head++;
	} else {
		for (c->rx_tail--; i != c->rx_tail; i++)
			*piece(c, i) = *piece(c, i + 1);
	}
}

bool sl_tcp_cut(struct sl_tcp *c, uint32_t n)
{
	uint32_t at, i;

	if (c->frozen || c->urg_in || !n || n > sl_tcp_unseen(c))
		return false;
	i = first_unseen(c, &at);
	if (at && !split(c, i++, at))
		return false;
	if (n > piece(c, i)->len || (n < piece(c, i)->len && !split(c, i, n)))
		return false;
	remove_piece(c, i);
	c->rx_bytes -= n;
	c->host->unread -= n;
	c->copied_seq += n;
	c->pass_seq += n;
	sl_tcp_has_read(c);
	return true;
}
