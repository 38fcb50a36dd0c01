/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive aggregation: joins segments in a row of one connection into a run, which TCP handles in
 * one pass.
 *
 * Theory of operation: as Linux (tcp_gro_receive()). A segment with text and without flags that ask
 * for haste is held back until the batch ends. The next segment of its connection is appended if it
 * follows without a gap and says the same: flags, ACK, window, options, ECN and hop limit are
 * equal, and it is not longer than the first. A push, a FIN and a shorter segment end the run, and
 * so does anything else, which is handed up after it. Segments of a connection keep their order;
 * those of others may overtake them. A lone segment of a batch, and one that nothing is held back
 * for, pass without a copy. */
#include "net/gro.h"

#include "base/heap.h"
#include "net/run.h"

#define MAX_BYTES UINT16_MAX /* struct sl_tcp_seg.len */

struct held {
	struct sl_in in; /* the first packet; in.seg.len and in.seg.flags: of all */
	struct sl_run run;
	const struct sl_slot *slot;
	uint32_t gen;
	uint16_t size; /* bytes of the first segment */
};

struct sl_gro {
	uint32_t used, all; /* bit i: held[i] is in use, may be used */
	struct held held[SL_GRO_MAX];
};

struct sl_gro *sl_gro_new(unsigned streams)
{
	struct sl_gro *g = streams ? sl_malloc(sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	g->used = 0;
	g->all = UINT32_MAX >> (SL_GRO_MAX - sl_min(streams, (unsigned)SL_GRO_MAX));
	return g;
}

bool sl_gro_is_holding(const struct sl_gro *g)
{
	return g->used;
}

/* True: both packets have the same addresses and ports. */
static bool is_same_flow(const struct sl_pkt *a, const struct sl_pkt *b)
{
	uint32_t at = a->v6 ? offsetof(struct ipv6hdr, saddr) : offsetof(struct iphdr, saddr);

	return a->v6 == b->v6 && !memcmp(a->data + a->l4, b->data + b->l4, 4) &&
	       !memcmp(a->data + a->l3 + at, b->data + b->l3 + at, a->v6 ? 32 : 8);
}

static struct held *find(struct sl_gro *g, const struct sl_slot *s, const struct sl_in *in)
{
	for (uint32_t left = g->used; left; left &= left - 1) {
		struct held *h = &g->held[__builtin_ctz(left)];

		if (h->slot == s && is_same_flow(&h->in.pkt, &in->pkt))
			return h;
	}
	return NULL;
}

static bool may_begin(const struct sl_tcp_seg *s)
{
	return s->len && (s->flags & ~SL_TCP_ECE) == SL_TCP_ACK && !(s->opts & ~SL_TCPO_TS);
}

static bool continues(const struct held *h, const struct sl_in *in)
{
	const struct sl_tcp_seg *a = &h->in.seg, *b = &in->seg;
	const struct sl_pkt *p = &h->in.pkt, *q = &in->pkt;

	if (b->seq != a->seq + a->len || !b->len || b->len > h->size ||
	    a->len + b->len > MAX_BYTES || (a->flags ^ b->flags) & ~(SL_TCP_FIN | SL_TCP_PSH) ||
	    a->ack != b->ack || a->wnd != b->wnd || a->opts != b->opts)
		return false;
	if (a->opts && (a->tsval != b->tsval || a->tsecr != b->tsecr))
		return false;
	return p->tos == q->tos && p->ttl == q->ttl && p->payload == q->payload &&
	       h->in.ifindex == in->ifindex && sl_run_has_room(&h->run, in);
}

/* Hands up what h holds. */
static void end(struct sl_gro *g, struct held *h)
{
	struct sl_in *in = &h->in;
	uint32_t head = in->frame;
	bool kept = false;

	g->used &= ~(1u << (h - g->held));
	if (sl_unlikely(!sl_run_is_still(h->slot, h->gen))) {
		in->stats->rx_stale += h->run.n + 1u;
		sl_run_drop(&h->run, in);
	} else {
		in->stats->rx_gro += h->run.n;
		kept = h->run.n ? sl_run_dispatch(h->slot, in, &h->run)
				: sl_in_dispatch(h->slot, in);
	}
	if (!kept)
		sl_frame_spent(in->cache, head);
}

static void hold(struct sl_gro *g, const struct sl_slot *s, struct sl_in *in)
{
	uint32_t i = (uint32_t)__builtin_ctz(g->all & ~g->used);
	struct held *h = &g->held[i];

	g->used |= 1u << i;
	h->slot = s;
	h->gen = sl_load(&s->gen);
	h->size = in->seg.len;
	sl_run_begin(&h->run, in);
	h->in = *in;
	h->in.bufs = NULL;
	h->in.gro = NULL;
}

static void append(struct sl_gro *g, struct held *h, struct sl_in *in)
{
	const uint8_t last = in->seg.flags & (SL_TCP_FIN | SL_TCP_PSH);

	sl_run_append(&h->run, in);
	h->in.seg.len += in->seg.len;
	h->in.seg.flags |= last;
	if (last || in->seg.len < h->size)
		end(g, h);
}

bool sl_gro_input(const struct sl_slot *s, struct sl_in *in)
{
	struct held *h = find(in->gro, s, in);
	const uint32_t gen = sl_load(&s->gen);

	if (h && continues(h, in)) {
		append(in->gro, h, in);
		return true;
	}
	if (h)
		end(in->gro, h);
	if (sl_unlikely(h && !sl_run_is_still(s, gen))) {
		in->stats->rx_stale++;
		return false;
	}
	if (may_begin(&in->seg) && in->gro->all & ~in->gro->used) {
		hold(in->gro, s, in);
		return true;
	}
	return in->bufs ? sl_run_packet(s, in) : sl_in_dispatch(s, in);
}

void sl_gro_end(struct sl_gro *g)
{
	while (g->used)
		end(g, &g->held[__builtin_ctz(g->used)]);
}
