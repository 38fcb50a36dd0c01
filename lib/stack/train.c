/* SPDX-License-Identifier: BSD-2-Clause */
/* Joins consecutive TCP segments into one packet, which the device segments (TSO).
 *
 * Theory of operation: TCP sends one segment after another, each in a frame of its own. A segment
 * that continues the one before, which is not started yet (both are of one turn), is posted as its
 * bytes alone: no headers, no checksum. The device copies the headers of the first segment and
 * counts up the sequence number and the IP ID, so everything else must be equal. It sets PSH and
 * FIN only on the last segment, and CWR only on the first, so we never join a segment with CWR. */

#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/train.h"

/* Flags that the device may repeat on every segment. */
#define SAME (SL_TCP_ACK | SL_TCP_ECE)
#define LAST (SL_TCP_PSH | SL_TCP_FIN)

static bool may_begin(const struct sl_tcp_seg *s)
{
	return s->len && !(s->flags & ~SAME) && !(s->opts & ~SL_TCPO_TS);
}

bool sl_leg_post_tcp(struct sl_leg *leg, struct sl_tx_desc *d, const struct sl_tcp_seg *seg,
		     const void *of)
{
	struct sl_train *t = &leg->lane->train;

	if (!(leg->tx->caps & SL_TX_TSO) || !may_begin(seg))
		d->hdr = 0;
	if (sl_unlikely(!sl_leg_post_desc(leg, d)))
		return false;
	t->open = d->hdr ? leg->tx->open : 0;
	if (sl_likely(!t->open))
		return true;
	t->tx = leg->tx;
	t->of = of;
	t->flags = sl_frame_ptr(d->frame) + d->off + d->hdr - sl_tcpopt_len(seg) - 20 + 13;
	t->hdr = d->hdr;
	t->n = 1;
	t->bytes = seg->len;
	t->first = *seg;
	return true;
}

bool sl_train_takes(const struct sl_leg *leg, const struct sl_tcp_seg *s, const void *of)
{
	const struct sl_train *t = &leg->lane->train;
	const struct sl_tcp_seg *f = &t->first;

	if (!t->open || t->of != of || t->tx != leg->tx || t->open != leg->tx->open)
		return false;
	return s->seq == f->seq + t->bytes && s->len && s->len <= f->len && t->n < t->tx->segs &&
	       t->bytes + s->len <= SL_TSO_BYTES && (s->flags & ~LAST) == f->flags &&
	       s->opts == f->opts && s->ack == f->ack && s->wnd == f->wnd && s->ce == f->ce &&
	       s->tsval == f->tsval && s->tsecr == f->tsecr;
}

bool sl_train_post(struct sl_leg *leg, uint32_t frame, uint16_t off, const struct sl_tcp_seg *seg)
{
	struct sl_train *t = &leg->lane->train;
	struct sl_tx_desc d = {
		.frame = frame,
		.off = off,
		.len = seg->len,
		.flags = SL_TXD_CSUM | SL_TXD_CONT,
		.hdr = t->hdr,
	};

	if (!sl_leg_post_desc(leg, &d))
		return false;
	*t->flags |= (uint8_t)(seg->flags & LAST);
	t->bytes += seg->len;
	t->n++;
	t->open = seg->len == t->first.len && !(seg->flags & LAST) ? leg->tx->open : 0;
	leg->lane->stats->tx_tso += t->n == 2;
	leg->lane->stats->tx_tso_pkts += t->n == 2 ? 2 : 1;
	return true;
}
