/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in several frames (Linux 6.6: Documentation/networking/af_xdp.rst, Multi-Buffer
 * Support).
 *
 * Theory of operation: the headers are in the first frame, which is handled like any other (in.c).
 * UDP keeps the frames of a datagram together: the first frame lists the others at its start, and
 * holding it holds them all. TCP's queues hold bytes, not packets: it gets the frames as a run
 * (run.c). */
#include "net/bufs.h"

#include "net/gro.h"
#include "net/run.h"

#define HEADERS 60u /* TCP's longest header */

bool sl_bufs_join(struct sl_in *in, struct sl_bufs *b)
{
	struct sl_pkt *p = &in->pkt;

	if (p->l4 + HEADERS > p->len)
		return false;
	for (unsigned i = 0; i < b->n; i++) {
		const struct sl_rx_desc *d = &b->rest[i];

		b->tail[i] = (struct sl_piece){sl_frame_ptr(d->frame) + d->off, d->len};
		p->tail_len += d->len;
	}
	p->len += p->tail_len;
	p->tail = b->tail;
	return true;
}

/* UDP ------------------------------------------------------------------------------------------ */

static bool udp_packet(const struct sl_slot *s, struct sl_in *in, struct sl_bufs *b)
{
	struct sl_more *more = (struct sl_more *)sl_frame_ptr(in->frame);
	bool kept;

	/* The record in front of the packet must stay intact for sl_hw_stamp(). */
	if (in->off < sizeof(*more) + sizeof(struct sl_meta_hw)) {
		in->stats->rx_bad_meta++;
		return false;
	}
	for (unsigned i = 0; i < b->n; i++) {
		const struct sl_rx_desc *d = &b->rest[i];

		more->buf[i].frame = d->frame;
		more->buf[i].off = d->off;
		more->buf[i].len = d->len;
	}
	in->nmore = (uint8_t)b->n;
	kept = sl_in_dispatch(s, in);
	in->nmore = 0;
	b->taken = kept;
	return kept;
}

void sl_frames_ref_more(uint32_t frame, uint8_t nmore)
{
	const struct sl_more *more = sl_more_of(frame);

	sl_frame_ref(frame);
	for (uint8_t i = 0; i < nmore; i++)
		sl_frame_ref(more->buf[i].frame);
}

void sl_frames_put_more(struct sl_frames *cache, uint32_t frame, uint8_t nmore)
{
	const struct sl_more *more = sl_more_of(frame);

	for (uint8_t i = 0; i < nmore; i++)
		sl_frame_put(cache, more->buf[i].frame);
	sl_frame_put(cache, frame);
}

bool sl_bufs_dispatch(const struct sl_slot *s, struct sl_in *in)
{
	if (in->proto != IPPROTO_TCP)
		return udp_packet(s, in, in->bufs);
	return in->gro ? sl_gro_input(s, in) : sl_run_packet(s, in);
}

/* Receiving ------------------------------------------------------------------------------------ */

/* Drops frames up to the end of the packet. */
static unsigned skip(struct sl_in *in, const struct sl_rx_desc *descs, unsigned n, bool *cut)
{
	unsigned i = 0;
	bool more;

	do {
		more = descs[i].more;
		sl_frame_spent(in->cache, descs[i].frame);
	} while (++i < n && more);
	*cut = more;
	return i;
}

unsigned sl_bufs_begin(struct sl_in *in, struct sl_bufs *b, const struct sl_rx_desc *descs,
		       unsigned n, bool *cut)
{
	*b = (struct sl_bufs){.rest = descs + 1, .none = *cut};
	in->bufs = NULL;
	if (*cut)
		return skip(in, descs, n, cut);
	while (b->n + 1 < sl_min(n, (unsigned)SL_RX_BUFS) && descs[b->n].more)
		b->n++;
	if (descs[b->n].more) { /* longer than the longest packet */
		b->none = true;
		in->stats->rx_pkts++;
		in->stats->rx_bad_len++;
		return skip(in, descs, b->n + 1, cut);
	}
	if (b->n)
		in->bufs = b;
	return b->n + 1;
}

void sl_bufs_end(struct sl_in *in)
{
	struct sl_bufs *b = in->bufs;

	in->bufs = NULL;
	for (unsigned i = 0; i < b->n; i++) {
		in->stats->rx_bytes += b->rest[i].len;
		if (!b->taken)
			sl_frame_spent(in->cache, b->rest[i].frame);
	}
}
