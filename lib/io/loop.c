/* SPDX-License-Identifier: BSD-2-Clause */
/* Fake wire: two ends in memory, with loss, delay, reordering, duplication and damage by seed.
 *
 * Theory of operation: it does what a device does. A posted frame is copied into one that the
 * other end has supplied by refill, and comes back by reap; the copy waits in the list of the
 * receiving end, in order of arrival, until the caller's clock has got there. No clock is read, and
 * all random numbers come from the seed, so a run can be repeated exactly. */
#include "base/heap.h"
#include "io/loop.h"

#include <errno.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood, 2014) */
static uint64_t next_random(struct sl_loop_end *e)
{
	uint64_t z = e->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static bool happens(struct sl_loop_end *e, uint32_t ppm)
{
	return ppm && next_random(e) % 1000000 < ppm;
}

/* Inserts a packet behind all that arrive no later, so that equal delays keep the order. */
static void put_in_order(struct sl_loop_end *to, const struct sl_loop_pkt *p)
{
	uint32_t i;

	if (to->last == to->loop->depth) {
		memmove(to->way, to->way + to->first, (to->last - to->first) * sizeof(*p));
		to->last -= to->first;
		to->first = 0;
	}
	for (i = to->last++; i > to->first && to->way[i - 1].due_ns > p->due_ns; i--)
		to->way[i] = to->way[i - 1];
	to->way[i] = *p;
}

/* Copies a packet to the other end: may damage it, and decides when it arrives. */
static void carry(struct sl_loop_end *from, const struct sl_tx_desc *d)
{
	struct sl_loop_end *to = from->peer;
	const struct sl_loop_path *path = &from->path;
	struct sl_loop_pkt p = {.due_ns = from->loop->now_ns + path->delay_ns};
	uint8_t *bytes;

	if (to->nfill == 0 || to->last - to->first == from->loop->depth ||
	    (uint32_t)SL_LOOP_HEADROOM + d->len > 1u << sl_pool.shift) {
		from->no_frames++;
		return;
	}
	p.desc = (struct sl_rx_desc){to->fill[to->nfill - 1], SL_LOOP_HEADROOM, d->len, false,
				     false};
	bytes = sl_frame_ptr(p.desc.frame) + p.desc.off;
	memcpy(bytes, sl_frame_ptr(d->frame) + d->off, d->len);
	if (d->len && happens(from, path->corrupt_ppm)) {
		uint64_t bit = next_random(from) % (d->len * 8ull);

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		from->damaged++;
	}
	if (path->steer && !path->steer(path->steer_arg, bytes, d->len)) {
		from->refused++;
		return;
	}
	if (path->jitter_ns)
		p.due_ns += next_random(from) % (path->jitter_ns + 1);
	if (happens(from, path->reorder_ppm)) {
		p.due_ns += path->reorder_ns;
		from->late++;
	}
	to->nfill--;
	put_in_order(to, &p);
}

/* Transmit ------------------------------------------------------------------------------------- */

static unsigned loop_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	struct sl_loop_end *e = sl_container_of(tx, struct sl_loop_end, tx);

	n = sl_min(n, e->loop->depth - e->ncomp);
	for (unsigned i = 0; i < n; i++) {
		sl_frame_posted(descs[i].frame, SL_FLIGHT_XSK);
		e->comp[e->ncomp++] = descs[i].frame;
		e->sent++;
		if (e->down || happens(e, e->path.loss_ppm)) {
			e->lost++;
			continue;
		}
		carry(e, &descs[i]);
		if (happens(e, e->path.dup_ppm)) {
			carry(e, &descs[i]);
			e->doubled++;
		}
	}
	tx->posted += n;
	tx->unreaped += n;
	return n;
}

static int loop_kick(struct sl_tx *tx)
{
	tx->posted = 0;
	const struct sl_loop_end *end = sl_container_of(tx, struct sl_loop_end, tx);

	return end->gone ? -ENXIO : end->down ? -ENETDOWN : 0;
}

static unsigned loop_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_loop_end *e = sl_container_of(tx, struct sl_loop_end, tx);
	unsigned n = e->ncomp;

	while (e->ncomp) {
		sl_frame_landed(e->comp[--e->ncomp]);
		sl_frame_sent(cache, e->comp[e->ncomp]);
	}
	tx->unreaped = 0;
	return n;
}

static void loop_tx_close(struct sl_tx *tx, struct sl_frames *cache)
{
	loop_reap(tx, cache);
}

static const struct sl_tx_ops loop_tx_ops = {
	.name = "loop",
	.post = loop_post,
	.kick = loop_kick,
	.reap = loop_reap,
	.close = loop_tx_close,
};

/* Receive -------------------------------------------------------------------------------------- */

static unsigned loop_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n)
{
	struct sl_loop_end *e = sl_container_of(rx, struct sl_loop_end, rx);
	unsigned got = 0;

	for (; got < n && e->first < e->last; got++) {
		if (e->way[e->first].due_ns > e->loop->now_ns)
			break;
		descs[got] = e->way[e->first++].desc;
	}
	return got;
}

static bool loop_refill(struct sl_rx *rx, struct sl_frames *cache)
{
	struct sl_loop_end *e = sl_container_of(rx, struct sl_loop_end, rx);

	while (e->nfill < e->loop->depth) {
		uint32_t f = sl_frame_get(cache);

		if (f == SL_NO_FRAME)
			return false;
		e->fill[e->nfill++] = f;
	}
	return true;
}

static int loop_fd(struct sl_rx *rx)
{
	(void)rx;
	return -1;
}

static void loop_rx_close(struct sl_rx *rx, struct sl_frames *cache)
{
	struct sl_loop_end *e = sl_container_of(rx, struct sl_loop_end, rx);

	while (e->nfill)
		sl_frame_put(cache, e->fill[--e->nfill]);
	while (e->first < e->last)
		sl_frame_put(cache, e->way[e->first++].desc.frame);
}

static const struct sl_rx_ops loop_rx_ops = {
	.name = "loop",
	.burst = loop_burst,
	.refill = loop_refill,
	.fd = loop_fd,
	.close = loop_rx_close,
};

/* The wire ------------------------------------------------------------------------------------- */

static void free_rings(struct sl_loop *l)
{
	for (int i = 0; i < 2; i++) {
		sl_free(l->end[i].way);
		sl_free(l->end[i].fill);
		sl_free(l->end[i].comp);
	}
}

int sl_loop_init(struct sl_loop *l, uint32_t depth, uint64_t seed)
{
	memset(l, 0, sizeof(*l));
	l->depth = depth;
	for (int i = 0; i < 2; i++) {
		struct sl_loop_end *e = &l->end[i];

		e->rx.ops = &loop_rx_ops;
		e->tx.ops = &loop_tx_ops;
		e->loop = l;
		e->peer = &l->end[!i];
		e->rng = seed * 2 + (uint64_t)i;
		e->way = sl_calloc(depth, sizeof(*e->way));
		e->fill = sl_calloc(depth, sizeof(*e->fill));
		e->comp = sl_calloc(depth, sizeof(*e->comp));
		if (!e->way || !e->fill || !e->comp) {
			free_rings(l);
			return -ENOMEM;
		}
	}
	return 0;
}

void sl_loop_fini(struct sl_loop *l, struct sl_frames *cache)
{
	for (int i = 0; i < 2; i++) {
		loop_rx_close(&l->end[i].rx, cache);
		loop_tx_close(&l->end[i].tx, cache);
	}
	free_rings(l);
}

void sl_loop_set_now(struct sl_loop *l, uint64_t now_ns)
{
	l->now_ns = sl_max(l->now_ns, now_ns);
}

uint64_t sl_loop_next_ns(const struct sl_loop *l)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		const struct sl_loop_end *e = &l->end[i];

		if (e->first < e->last)
			next = sl_min(next, e->way[e->first].due_ns);
	}
	return next;
}
