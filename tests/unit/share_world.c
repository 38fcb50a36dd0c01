/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the tests of a shared pool: see share_world.h. */
#include "base/heap.h"
#include "share_world.h"

size_t share_bytes, bytes;
struct sl_share_geometry geometry;
void *shared;
struct sl_frames cache;
struct sl_xsk xsk;
uint32_t live_has, at_step;
static struct sl_xsk_queue queue;
static uint32_t rng;

uint32_t chance(uint32_t n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static void *told_at(void *mem)
{
	return (char *)mem + share_bytes + sizeof(struct rings);
}

struct world world_at(void *mem)
{
	struct world w = {.r = (struct rings *)((char *)mem + share_bytes)};
	struct rings *r = w.r;

	sl_share_map(&w.g, mem, told_at(mem), &geometry);
	w.q = (struct sl_share_rings){
		.fill = {&r->fill_p, &r->fill_c, &r->flags, r->fill, FILL},
		.comp = {&r->comp_p, &r->comp_c, &r->flags, r->comp, COMP},
	};
	w.x = (struct sl_share_xsk_rings){
		.rx = {&r->rx_p, &r->rx_c, &r->flags, (uint64_t *)r->rx, OWN},
		.tx = {&r->tx_p, &r->tx_c, &r->flags, (uint64_t *)r->tx, OWN},
	};
	return w;
}

/* The state before ----------------------------------------------------------------------------- */

uint32_t fetch_one(struct sl_share *g, uint8_t member, uint16_t refs, uint8_t flight)
{
	uint32_t f;

	assert_int_equal(sl_share_fetch(g, member, &f, 1), 1);
	g->word[f] = (union sl_frame_word){.owner = member, .refs = refs, .flight = flight};
	return f;
}

void complete(struct world *w, uint32_t frame)
{
	w->r->comp[w->r->comp_p++ % COMP] = (uint64_t)frame << SHIFT;
}

/* Puts frames that several members have sent into the completion ring, in some order, and an
 * orphan. */
static void fill_completion(struct world *w)
{
	uint32_t f;

	w->r->comp_p = w->r->comp_c = w->g.queue[0].comp_to = COMP - 3 + chance(5);
	for (uint32_t n = 3 + chance(10); n; n--)
		switch (chance(5)) {
		case 0:
			complete(w, fetch_one(&w->g, LIVE, 1, 1));
			live_has++;
			break;
		case 1:
			f = fetch_one(&w->g, DYING, 0, 1);
			w->g.word[f].owner = 0;
			complete(w, f);
			break;
		default:
			complete(w, fetch_one(&w->g, DYING, (uint16_t)(1 + chance(2)), 1));
		}
	for (uint32_t n = chance(4); n; n--) {
		f = fetch_one(&w->g, DYING, (uint16_t)(1 + chance(2)), 1);
		assert_false(sl_share_return(&w->g, &w->g.queue[0], LIVE, f));
	}
}

void set_up(uint32_t seed)
{
	struct world w;
	uint32_t f, n, held[NFRAMES];

	rng = seed;
	memset(shared, 0, bytes);
	sl_share_init(&w.g, shared, told_at(shared), &geometry);
	assert_int_equal(sl_share_join(&w.g, 200, 12), LIVE);
	assert_int_equal(sl_share_join(&w.g, 301, 12), -ENOSPC);
	assert_int_equal(sl_share_join(&w.g, 300, 12), DYING);
	w.g.told->member[LIVE].quota = w.g.told->member[DYING].quota = NFRAMES;
	assert_int_equal(sl_share_queue_open(&w.g, 1, 0), 0);
	assert_int_equal(sl_share_xsk_open(&w.g, 0), 0);
	w = world_at(shared);
	/* The pool has been used before. */
	n = sl_share_fetch(&w.g, LIVE, held, chance(200));
	live_has = n / 3;
	sl_share_push(&w.g, held + live_has, n - live_has);
	w.r->fill_p = w.r->fill_c = w.g.queue[0].fill_to = FILL - 10 + chance(20);
	for (n = chance(30); n; n--) {
		f = fetch_one(&w.g, DYING, 0, 0);
		w.g.word[f].all = sl_share_filled(&w.g, &w.g.queue[0]);
		w.r->fill[w.r->fill_p++ % FILL] = (uint64_t)f << SHIFT;
	}
	w.g.queue[0].fill_to = w.r->fill_p;
	w.r->rx_p = w.r->rx_c = chance(100);
	for (n = chance(20); n; n--) {
		f = fetch_one(&w.g, DYING, 0, 0);
		w.g.word[f].all = sl_share_filled(&w.g, &w.g.queue[0]);
		w.r->rx[w.r->rx_p++ % OWN] = (struct xdp_desc){((uint64_t)f << SHIFT) + 256, 60, 0};
	}
	w.r->tx_p = w.r->tx_c = chance(100);
	for (n = chance(4); n; n--) {
		f = fetch_one(&w.g, DYING, 1, 1);
		w.r->tx[w.r->tx_p++ % OWN] = (struct xdp_desc){((uint64_t)f << SHIFT) + 64, 60, 0};
	}
	fill_completion(&w);
}

/* The dying member ---------------------------------------------------------------------------- */

void attach(void)
{
	struct world w = world_at(shared);
	struct rings *r = w.r;

	sl_free(sl_pool.charge);
	assert_int_equal(sl_pool_attach(NULL, 1500, &w.g, DYING), 0);
	memset(&cache, 0, sizeof(cache));
	queue = (struct sl_xsk_queue){.shared = &w.g.queue[0],
				      .told = &w.g.told_queue[0],
				      .fill = w.q.fill,
				      .comp = w.q.comp};
	memset(&xsk, 0, sizeof(xsk));
	xsk.fd = -1;
	xsk.rx_ring = (struct xsk_ring_cons){.cached_prod = r->rx_c,
					     .cached_cons = r->rx_c,
					     .mask = OWN - 1,
					     .size = OWN,
					     .producer = &r->rx_p,
					     .consumer = &r->rx_c,
					     .ring = r->rx,
					     .flags = &r->flags};
	xsk.tx_ring = (struct xsk_ring_prod){.cached_prod = r->tx_p,
					     .cached_cons = r->tx_c + OWN,
					     .mask = OWN - 1,
					     .size = OWN,
					     .producer = &r->tx_p,
					     .consumer = &r->tx_c,
					     .ring = r->tx,
					     .flags = &r->flags};
	sl_xsk_start(&xsk, &queue, 0);
}

void send_some(uint32_t n)
{
	struct sl_tx_desc d[8];

	for (uint32_t i = 0; i < n; i++) {
		d[i] = (struct sl_tx_desc){.frame = sl_frame_get(&cache), .off = 64, .len = 60};
		if (i % 2)
			sl_frame_ref_single(d[i].frame);
	}
	xsk.tx.ops->post(&xsk.tx, d, n);
}

/* Counting ------------------------------------------------------------------------------------- */

static void place(const struct world *w, uint8_t *times, uint64_t addr, bool flight, uint32_t name)
{
	uint64_t f = addr >> SHIFT;

	check(f < NFRAMES, "an address outside\n");
	check(w->g.word[f].flight == flight, "frame %u: flight is %u\n", (unsigned)f, !flight);
	check(flight || w->g.word[f].all == name, "frame %u has an owner, or another name\n",
	      (unsigned)f);
	times[f]++;
}

void count(const struct world *w)
{
	const struct rings *r = w->r;
	uint8_t times[NFRAMES] = {0};
	uint32_t live = 0;

	check(!w->g.head->lock.word && !w->g.queue[0].lock.word, "a lock is taken\n");
	check(r->rx_p == r->rx_c, "the receive ring is not empty\n");
	check(w->g.queue[0].back[DYING] == 0, "the dead one's list is not empty\n");
	for (uint32_t i = 0; i < w->g.head->nfree; i++)
		place(w, times, (uint64_t)w->g.free[i] << SHIFT, false, 0);
	for (uint32_t i = r->fill_c; i != r->fill_p; i++)
		place(w, times, r->fill[i % FILL], false, sl_share_filled(&w->g, &w->g.queue[0]));
	for (uint32_t i = r->comp_c; i != r->comp_p; i++)
		place(w, times, r->comp[i % COMP], true, 0);
	for (uint32_t i = r->tx_c; i != r->tx_p; i++)
		place(w, times, r->tx[i % OWN].addr, true, 0);
	for (uint32_t f = w->g.queue[0].back[LIVE]; f; f = w->g.link[f - 1])
		place(w, times, (uint64_t)(f - 1) << SHIFT, true, 0);
	for (uint32_t f = 0; f < NFRAMES; f++) {
		union sl_frame_word fw = w->g.word[f];

		check(fw.owner <= LIVE, "frame %u is %u's\n", f, fw.owner);
		live += fw.owner == LIVE;
		times[f] += (fw.owner == LIVE && !fw.flight) || f >= w->g.head->born;
		check(times[f] == 1, "frame %u is in %u places\n", f, times[f]);
	}
	check(live == live_has, "the living one has %u frames of %u\n", live, live_has);
}

void finish(struct world *w)
{
	struct rings *r = w->r;
	int n;

	for (; r->tx_c != r->tx_p; r->tx_c++)
		r->comp[r->comp_p++ % COMP] = r->tx[r->tx_c % OWN].addr;
	do
		n = sl_share_reap(&w->g, &w->q);
	while (n > 0);
	check(n == 0, "reaping said %d\n", n);
	count(w);
	check(r->comp_c == r->comp_p, "completions are left\n");
	check(sl_share_left(&w->g) + (r->fill_p - r->fill_c) + live_has == NFRAMES,
	      "frames are lost\n");
}

void release(struct world *w)
{
	const struct rings *r = w->r;

	sl_share_queue_close(&w->g, 0);
	check(sl_share_reclaim(&w->g, 0) == (int)(r->fill_p - r->fill_c), "not all came back\n");
	check(sl_share_left(&w->g) + live_has == NFRAMES, "frames of the queue are lost\n");
	check(w->g.told_queue[0].state == SL_QUEUE_FREE, "the queue is not free\n");
}

void bury(struct world *w, uint8_t who)
{
	struct sl_share_grave grave = {who, &w->q, 1, &w->x, who == DYING};
	struct sl_share_left left;

	check(sl_share_bury(&w->g, &grave, &left) == 0, "no burial\n");
}

int share_setup(void **state)
{
	sl_share_geometry_make(&geometry, NFRAMES, SHIFT, 4, 16);
	share_bytes = (geometry.bytes + 63) & ~63ul;
	bytes = share_bytes + sizeof(struct rings) + geometry.told_bytes;
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}
