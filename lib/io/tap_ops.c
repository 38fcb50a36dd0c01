/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at the packets that pass between a backend and its users, for taps.
 *
 * Theory of operation: the backend's table is replaced by a copy of it, in which the functions
 * below stand in place of burst(), post(), kick() and close(). Packets received are seen when they
 * come off the ring, packets sent when the backend has taken them. A run of TCP segments that the
 * device cuts (SL_TXD_CONT) is one large packet, seen when it is complete: when another packet is
 * posted or the run is started, since until then TCP may still write its flags into the first
 * header. */
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "io/tap.h"
#include "steer.h"

struct tapped_rx {
	struct sl_rx_ops ops;
	const struct sl_rx_ops *real;
	struct sl_tap_at at;
};

struct tapped_tx {
	struct sl_tx_ops ops;
	const struct sl_tx_ops *real;
	struct sl_tap_at at;
	uint32_t n; /* descriptors of the run that is not complete */
	struct sl_tx_desc run[SL_TSO_SEGS];
};

/* Receive -------------------------------------------------------------------------------------- */

/* Skips the mark of a driver without metadata, and finds the stamps. Returns the offset of the
 * packet in the frame's first descriptor. */
static uint16_t read_record(const struct sl_rx_desc *d, struct sl_tap_pkt *pkt)
{
	const uint8_t *frame = sl_frame_ptr(d->frame);
	uint16_t off = d->off;
	struct sl_mark mark;
	struct sl_meta m;

	if (d->len >= sizeof(mark)) {
		memcpy(&mark, frame + off, sizeof(mark));
		if (mark.magic == SL_MARK_MAGIC && mark.len <= d->len)
			off = (uint16_t)(off + mark.len);
	}
	if (off < sizeof(struct sl_meta_hw))
		return off;
	memcpy(&m, frame + off - sizeof(m), sizeof(m));
	if (m.magic != SL_META_MAGIC || !(m.flags & SL_META_SW))
		return off;
	memcpy(&pkt->ts_ns, frame + off - sizeof(struct sl_meta_stamped), sizeof(pkt->ts_ns));
	pkt->flags |= SL_TAP_STAMP;
	if (m.flags & SL_META_HW)
		memcpy(&pkt->hw_ns, frame + off - sizeof(struct sl_meta_hw), sizeof(pkt->hw_ns));
	return off;
}

static void see_received(const struct sl_tap_at *at, const struct sl_rx_desc *d, unsigned n,
			 uint64_t now_ns)
{
	struct sl_tap_piece piece[SL_RX_BUFS];
	struct sl_tap_pkt pkt = {.ts_ns = now_ns, .piece = piece, .flags = SL_TAP_IN};
	uint16_t off = read_record(d, &pkt);

	if (d->csum_ok)
		pkt.flags |= SL_TAP_CSUM;
	for (unsigned i = 0; i < n && i < SL_RX_BUFS; i++)
		piece[pkt.n++] =
			(struct sl_tap_piece){sl_frame_ptr(d[i].frame) + d[i].off, d[i].len};
	piece[0].p = sl_frame_ptr(d->frame) + off;
	piece[0].len -= (uint32_t)(off - d->off);
	sl_tap_put(at, &pkt);
}

static unsigned tapped_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n)
{
	const struct tapped_rx *t = sl_container_of_const(rx->ops, struct tapped_rx, ops);
	unsigned got = t->real->burst(rx, descs, n), k;
	uint64_t now_ns = got ? sl_now_ns() : 0;

	for (unsigned i = 0; i < got; i += k) {
		for (k = 1; i + k < got && descs[i + k - 1].more && k < SL_RX_BUFS;)
			k++;
		see_received(&t->at, &descs[i], k, now_ns);
	}
	return got;
}

static void tapped_rx_close(struct sl_rx *rx, struct sl_frames *cache)
{
	sl_untap_rx(rx);
	rx->ops->close(rx, cache);
}

void sl_tap_rx(struct sl_rx *rx, const struct sl_tap_at *at)
{
	struct tapped_rx *t;

	if (!rx->ops || rx->ops->burst == tapped_burst)
		return;
	t = sl_calloc(1, sizeof(*t));
	if (!t)
		return;
	t->ops = *rx->ops;
	t->ops.burst = tapped_burst;
	t->ops.close = tapped_rx_close;
	t->real = rx->ops;
	t->at = *at;
	rx->ops = &t->ops;
}

void sl_untap_rx(struct sl_rx *rx)
{
	const struct tapped_rx *t;

	if (!rx->ops || rx->ops->burst != tapped_burst)
		return;
	t = sl_container_of_const(rx->ops, struct tapped_rx, ops);
	rx->ops = t->real;
	sl_free(sl_unconst(t));
}

/* Transmit ------------------------------------------------------------------------------------- */

static struct tapped_tx *tapped_of(const struct sl_tx *tx)
{
	return sl_unconst(sl_container_of_const(tx->ops, struct tapped_tx, ops));
}

static void see_sent(const struct tapped_tx *t, const struct sl_tx_desc *d, uint32_t n)
{
	struct sl_tap_piece piece[SL_TSO_SEGS];
	struct sl_tap_pkt pkt = {.ts_ns = sl_now_ns(), .piece = piece, .flags = SL_TAP_OUT};

	for (uint32_t i = 0; i < n && i < SL_TSO_SEGS; i++)
		piece[pkt.n++] =
			(struct sl_tap_piece){sl_frame_ptr(d[i].frame) + d[i].off, d[i].len};
	if (d->flags & SL_TXD_CSUM)
		pkt.flags |= SL_TAP_CSUM;
	if (n > 1 && d[1].flags & SL_TXD_CONT) {
		pkt.flags |= SL_TAP_CSUM;
		pkt.hdr = d->hdr;
		pkt.gso = (uint16_t)(d->len - d->hdr);
	}
	sl_tap_put(&t->at, &pkt);
}

static void end_run(struct tapped_tx *t)
{
	if (t->n)
		see_sent(t, t->run, t->n);
	t->n = 0;
}

static unsigned tapped_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct tapped_tx *t = tapped_of(tx);
	unsigned took, k;

	/* The backend may send the run and free its frames when another packet comes, but leaves it
	 * open when it has no room for that. */
	if (t->n && !(descs->flags & SL_TXD_CONT) && (!t->real->room || t->real->room(tx)))
		end_run(t);
	took = t->real->post(tx, descs, n);
	for (unsigned i = 0; i < took; i += k) {
		const struct sl_tx_desc *d = &descs[i];

		for (k = 1; i + k < took && descs[i + k - 1].flags & SL_TXD_MORE;)
			k++;
		if (d->flags & SL_TXD_CONT ? t->n == 0 || t->n == SL_TSO_SEGS : d->hdr == 0) {
			see_sent(t, d, k);
			continue;
		}
		if (!(d->flags & SL_TXD_CONT))
			end_run(t);
		t->run[t->n++] = *d;
	}
	return took;
}

static int tapped_kick(struct sl_tx *tx)
{
	struct tapped_tx *t = tapped_of(tx);

	end_run(t);
	return t->real->kick(tx);
}

static void tapped_tx_close(struct sl_tx *tx, struct sl_frames *cache)
{
	sl_untap_tx(tx);
	tx->ops->close(tx, cache);
}

void sl_tap_tx(struct sl_tx *tx, const struct sl_tap_at *at)
{
	struct tapped_tx *t;

	if (!tx->ops || tx->ops->post == tapped_post)
		return;
	t = sl_calloc(1, sizeof(*t));
	if (!t)
		return;
	t->ops = *tx->ops;
	t->ops.post = tapped_post;
	t->ops.kick = tapped_kick;
	t->ops.close = tapped_tx_close;
	t->real = tx->ops;
	t->at = *at;
	tx->open = 0; /* a run that has begun unseen goes on in no later packet */
	tx->ops = &t->ops;
}

void sl_untap_tx(struct sl_tx *tx)
{
	struct tapped_tx *t;

	if (!tx->ops || tx->ops->post != tapped_post)
		return;
	t = tapped_of(tx);
	end_run(t);
	tx->ops = t->real;
	sl_free(t);
}
