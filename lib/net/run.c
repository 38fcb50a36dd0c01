/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands the text of one connection up to TCP as one segment, though it lies in several frames.
 *
 * Theory of operation: TCP gets the first part as a segment of its own, and the parts behind it as
 * a list (in->run). When the segment is the next one of an established connection, TCP takes the
 * parts behind it in the same pass. Else, and when it has no more room, it leaves them: each is a
 * segment of its own then, as if the peer had sent it like that. */
#include "net/run.h"

#include "net/bufs.h"

static void put(struct sl_run *r, uint32_t frame, uint32_t off, uint32_t len)
{
	r->piece[r->n++] = (struct sl_run_piece){frame, (uint16_t)off, (uint16_t)len};
}

/* Bytes of text in the first frame of the current packet. */
static uint32_t first_bytes(const struct sl_in *in)
{
	return sl_min(in->pkt.len - in->pkt.tail_len - in->pkt.payload, (uint32_t)in->seg.len);
}

/* Puts the frames of in->bufs, which have the text from offset `at` on. */
static void put_rest(struct sl_run *r, struct sl_in *in, uint32_t at)
{
	struct sl_bufs *b = in->bufs;

	for (unsigned i = 0; i < b->n; i++) {
		const struct sl_rx_desc *d = &b->rest[i];
		uint32_t len = sl_min((uint32_t)d->len, in->seg.len - at);

		if (len)
			put(r, d->frame, d->off, len);
		else
			sl_frame_spent(in->cache, d->frame);
		at += len;
	}
	b->taken = true;
}

void sl_run_begin(struct sl_run *r, struct sl_in *in)
{
	r->first = (uint16_t)first_bytes(in);
	r->n = r->at = 0;
	if (in->bufs)
		put_rest(r, in, r->first);
}

bool sl_run_has_room(const struct sl_run *r, const struct sl_in *in)
{
	return r->n + 1 + (in->bufs ? in->bufs->n : 0) <= SL_RUN_MAX;
}

void sl_run_append(struct sl_run *r, struct sl_in *in)
{
	uint32_t len = first_bytes(in);

	put(r, in->frame, in->off + in->pkt.payload, len);
	if (in->bufs)
		put_rest(r, in, len);
}

void sl_run_drop(struct sl_run *r, struct sl_in *in)
{
	while (r->at < r->n)
		sl_frame_spent(in->cache, r->piece[r->at++].frame);
}

/* Makes a segment of the `len` bytes of `whole` that start at offset `at`. */
static void cut_segment(struct sl_tcp_seg *out, const struct sl_tcp_seg *whole, uint32_t at,
			uint32_t len)
{
	*out = *whole;
	out->len = (uint16_t)len;
	out->seq += at;
	if (at + len < whole->len)
		out->flags &= (uint8_t) ~(SL_TCP_FIN | SL_TCP_PSH);
	if (!at)
		return;
	out->flags &= (uint8_t)~SL_TCP_CWR;
	out->opts &= SL_TCPO_TS; /* the first part carried the other options */
	out->nsack = 0;
	if (whole->urg > at)
		out->urg = (uint16_t)(whole->urg - at);
	else
		out->flags &= (uint8_t)~SL_TCP_URG;
}

/* Hands up the part that in->frame has, and with it the pieces that are left. */
static bool hand_up(const struct sl_slot *s, struct sl_in *in, const struct sl_tcp_seg *whole,
		    struct sl_run *r, uint32_t len)
{
	cut_segment(&in->seg, whole, r->done, len);
	in->pkt.payload_len = in->seg.len;
	in->run = r->at < r->n ? r : NULL;
	r->done += (uint16_t)len;
	return sl_in_dispatch(s, in);
}

bool sl_run_dispatch(const struct sl_slot *s, struct sl_in *in, struct sl_run *r)
{
	const struct sl_tcp_seg whole = in->seg;
	const uint32_t head = in->frame, gen = sl_load(&s->gen);
	bool kept;

	sl_frame_ref_single(head); /* headers are read until all parts are delivered */
	r->flags = whole.flags;
	r->done = 0;
	kept = hand_up(s, in, &whole, r, r->first);
	in->stamp &= (uint8_t)~SL_META_HW; /* the stamp was read with the first part, and is not in
					      front of the others */
	/* (The peer sends the bytes behind a SYN's first frame again if the SYN was taken.) */
	while (r->at < r->n && !(whole.flags & (SL_TCP_RST | SL_TCP_SYN)) &&
	       sl_run_is_still(s, gen)) {
		const struct sl_run_piece *p = &r->piece[r->at++];

		in->frame = p->frame;
		in->off = (uint16_t)(p->off - in->pkt.payload); /* so the payload is at p->off */
		if (!hand_up(s, in, &whole, r, p->len))
			sl_frame_spent(in->cache, p->frame);
	}
	sl_run_drop(r, in);
	in->run = NULL;
	sl_frame_put(in->cache, head);
	return kept;
}

bool sl_run_packet(const struct sl_slot *s, struct sl_in *in)
{
	struct sl_run run;

	sl_run_begin(&run, in);
	return sl_run_dispatch(s, in, &run);
}
