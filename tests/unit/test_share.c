/* SPDX-License-Identifier: BSD-2-Clause */
/* Death of a member of a group: whatever instruction was its last one, no frame is lost, none is
 * had twice, no lock stays taken. A child works the rings (which are plain memory here) and is
 * stepped through it; each state of the shared memory on the way is what others would find had it
 * been killed there, so a copy of it is buried and counted. Then the burial is stepped through
 * likewise: the broker dies, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pool.h"
#include "io/xsk.h"

#define NFRAMES 512
#define SHIFT   11
#define FILL    256
#define COMP    256
#define OWN     32 /* entries of receive and transmit rings */
#define LIVE    1
#define DYING   2

/* The rings, as the kernel maps them. */
struct rings {
	uint32_t fill_p, fill_c, comp_p, comp_c, rx_p, rx_c, tx_p, tx_c, flags;
	uint64_t fill[FILL], comp[COMP];
	struct xdp_desc rx[OWN], tx[OWN];
};

/* All that is shared, at some address. */
struct world {
	struct sl_share g;
	struct rings *r;
	struct sl_share_rings q;
	struct sl_share_xsk_rings x;
};

static size_t share_bytes, bytes;
static void *shared, *last, *copy, *second;
static struct sl_frames cache;
static struct sl_xsk_queue queue;
static struct sl_xsk xsk;
static uint32_t rng, live_has, seen_changes, seen_steps;

static uint32_t chance(uint32_t n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static struct world world_at(void *mem)
{
	struct world w = {.r = (struct rings *)((char *)mem + share_bytes)};
	struct rings *r = w.r;

	assert_int_equal(sl_share_map(&w.g, mem, bytes), 0);
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

static uint32_t fetch_one(struct sl_share *g, uint8_t member, uint16_t refs, uint8_t flight)
{
	uint32_t f;

	assert_int_equal(sl_share_fetch(g, member, &f, 1), 1);
	g->word[f] = (union sl_frame_word){.owner = member, .refs = refs, .flight = flight};
	return f;
}

static void complete(struct world *w, uint32_t frame)
{
	w->r->comp[w->r->comp_p++ % COMP] = (uint64_t)frame << SHIFT;
}

/* What of several members has been sent, in some order; with an orphan. */
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

static void set_up(uint32_t seed)
{
	struct world w;
	uint32_t f, n, held[NFRAMES];

	rng = seed;
	memset(shared, 0, bytes);
	sl_share_init(&w.g, shared, NFRAMES, SHIFT, 4, 16);
	assert_int_equal(sl_share_join(&w.g, 200, 12), LIVE);
	assert_int_equal(sl_share_join(&w.g, 301, 12), -ENOSPC);
	assert_int_equal(sl_share_join(&w.g, 300, 12), DYING);
	w.g.member[LIVE].quota = w.g.member[DYING].quota = NFRAMES;
	assert_int_equal(sl_share_queue_open(&w.g, 1, 0), 0);
	assert_int_equal(sl_share_xsk_open(&w.g), 0);
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

/* What the dying member does ------------------------------------------------------------------- */

static void attach(void)
{
	struct world w = world_at(shared);
	struct rings *r = w.r;

	free(sl_pool.charge);
	assert_int_equal(sl_pool_attach(NULL, &w.g, DYING), 0);
	memset(&cache, 0, sizeof(cache));
	queue = (struct sl_xsk_queue){.shared = &w.g.queue[0], .fill = w.q.fill, .comp = w.q.comp};
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

static void send_some(uint32_t n)
{
	struct sl_tx_desc d[8];

	for (uint32_t i = 0; i < n; i++) {
		d[i] = (struct sl_tx_desc){.frame = sl_frame_get(&cache), .off = 64, .len = 60};
		if (i % 2)
			sl_frame_ref_single(d[i].frame);
	}
	xsk.tx.ops->post(&xsk.tx, d, n);
}

static void work(void)
{
	struct sl_rx_desc d[16];
	unsigned n = xsk.rx.ops->burst(&xsk.rx, d, 16);

	for (unsigned i = 0; i < n; i++)
		switch (i % 3) {
		case 0:
			sl_frame_spent(&cache, d[i].frame);
			break;
		case 1:
			sl_frame_put(&cache, d[i].frame);
		}
	send_some(1);
	xsk.rx.ops->refill(&xsk.rx, &cache);
	send_some(2 + chance(4));
	xsk.tx.ops->reap(&xsk.tx, &cache);
	sl_frames_flush(&cache, chance(20));
	send_some(1);
	while (cache.n < SL_FRAME_CACHE - 3 && sl_frames_fetch(&cache))
		;
	xsk.tx.ops->reap(&xsk.tx, &cache);
}

/* A cache that is full: reaping trades with the pool inside the queue's lock. */
static void work_full(void)
{
	uint32_t n;

	while (sl_frames_fetch(&cache) && cache.n < SL_FRAME_CACHE / 2)
		;
	n = cache.n;
	memmove(cache.idx + SL_FRAME_CACHE - n, cache.idx, n * sizeof(uint32_t));
	memset(cache.idx, 0xff, (SL_FRAME_CACHE - n) * sizeof(uint32_t)); /* not to be used */
	cache.n = SL_FRAME_CACHE;
	xsk.tx.ops->reap(&xsk.tx, &cache);
}

/* Counting ------------------------------------------------------------------------------------- */

static uint32_t at_step;

#define check(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_error("line %d, step %u: ", __LINE__, at_step);                      \
			print_error(__VA_ARGS__);                                                  \
			fail();                                                                    \
		}                                                                                  \
	} while (0)

static void place(const struct world *w, uint8_t *times, uint64_t addr, bool flight, uint32_t name)
{
	uint64_t f = addr >> SHIFT;

	check(f < NFRAMES, "an address outside\n");
	check(w->g.word[f].flight == flight, "frame %u: flight is %u\n", (unsigned)f, !flight);
	check(flight || w->g.word[f].all == name, "frame %u has an owner, or another name\n",
	      (unsigned)f);
	times[f]++;
}

/* Each frame is in one place; the living one has what it had. */
static void count(const struct world *w)
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

/* The device sends what was posted, the broker takes what comes back. */
static void finish(struct world *w)
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

/* The device is released: what its fill ring has comes back, too. */
static void release(struct world *w)
{
	const struct rings *r = w->r;

	sl_share_queue_close(&w->g, 0);
	check(sl_share_reclaim(&w->g, 0) == (int)(r->fill_p - r->fill_c), "not all came back\n");
	check(sl_share_left(&w->g) + live_has == NFRAMES, "frames of the queue are lost\n");
	check(w->g.queue[0].state == SL_QUEUE_FREE, "the queue is not free\n");
}

static void bury(struct world *w, uint8_t who)
{
	struct sl_share_left left;

	check(sl_share_bury(&w->g, who, &w->q, 1, &w->x, who == DYING, &left) == 0, "no burial\n");
}

/* Stepping ------------------------------------------------------------------------------------- */

/* Runs op in a child, a step at a time; seen is called for each new state of the memory. */
static void step_through(void *mem, void (*op)(void), void (*seen)(void *mem))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		op();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	memcpy(last, mem, bytes);
	seen(mem);
	for (at_step = 0; WIFSTOPPED(status); at_step++) {
		int sig = WSTOPSIG(status);

		if (sig != SIGSTOP && sig != SIGTRAP)
			break;
		if (memcmp(last, mem, bytes)) {
			memcpy(last, mem, bytes);
			seen_changes++;
			seen(mem);
		}
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	seen_steps += at_step;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	seen(mem);
}

/* Every so often the burial itself is stepped through. */
static uint32_t until_second;

static void bury_second(void)
{
	struct world w = world_at(second);

	bury(&w, DYING);
}

static void bury_again(void *mem)
{
	struct world w;

	memcpy(copy, mem, bytes);
	w = world_at(copy);
	if (w.g.member[DYING].state == SL_MEMBER_LIVE)
		return; /* not begun */
	bury(&w, SL_SHARE_BROKER);
	if (w.g.member[DYING].state == SL_MEMBER_DEAD)
		bury(&w, DYING);
	count(&w);
	finish(&w);
}

static void died_here(void *mem)
{
	struct world w;
	uint32_t at = at_step;

	memcpy(copy, mem, bytes);
	w = world_at(copy);
	bury(&w, DYING);
	count(&w);
	finish(&w);
	release(&w);
	if (until_second-- == 0) {
		memcpy(second, mem, bytes);
		step_through(second, bury_second, bury_again);
		memcpy(last, mem, bytes);
		at_step = at;
		until_second = 300 + chance(400);
	}
}

static void run(void (*op)(void), uint32_t rounds)
{
	const char *more = getenv("SHARE_ROUNDS"); /* a thousand steps take some 20 ms */

	rounds *= more ? (uint32_t)atoi(more) : 1;
	seen_changes = seen_steps = 0;
	for (uint32_t i = 0; i < rounds; i++) {
		set_up(i);
		attach();
		until_second = chance(400);
		step_through(shared, op, died_here);
	}
	print_message("%u steps, %u states\n", seen_steps, seen_changes);
	assert_true(seen_changes > 100 * rounds);
}

static void test_death_at_any_instruction(void **state)
{
	run(work, 2);
}

static void test_death_with_two_locks(void **state)
{
	run(work_full, 1);
}

/* Who holds a lock and lives is waited for; its lock is not taken. */
static void test_lock_of_the_living(void **state)
{
	struct sl_share_left left;
	struct world w;

	set_up(1);
	w = world_at(shared);
	assert_true(sl_rtrylock(&w.g.queue[0].lock, LIVE));
	sl_share_dead(&w.g, DYING, &w.q, 1);
	assert_int_equal(sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left), -EBUSY);
	assert_int_equal(sl_rlock_holder(&w.g.queue[0].lock), LIVE);
	sl_runlock(&w.g.queue[0].lock);
	assert_int_equal(sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left), 0);
	count(&w);
	finish(&w);
}

/* The link is down: what was posted and not taken is not in flight. */
static void test_stuck(void **state)
{
	struct sl_share_left left;
	struct world w;

	for (uint32_t seed = 0; seed < 20; seed++) {
		set_up(seed);
		attach();
		send_some(3);
		w = world_at(shared);
		w.x.stuck = true;
		assert_int_equal(sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left), 0);
		w.r->tx_c = w.r->tx_p; /* closed */
		count(&w);
		finish(&w);
	}
}

/* What is in a queue pair never comes by a completion ring: it comes back with the rest, once. */
static void test_queue_pair(void **state)
{
	struct sl_share_left left;
	uint32_t had = 0;
	struct world w;

	for (uint32_t seed = 0; seed < 20; seed++) {
		set_up(seed);
		attach();
		w = world_at(shared);
		assert_int_equal(sl_share_posted(&w.g, DYING), 0);
		had = 1 + chance(5);
		for (uint32_t i = 0; i < had; i++)
			fetch_one(&w.g, DYING, (uint16_t)(1 + i % 2), SL_FLIGHT_QP);
		assert_int_equal(sl_share_posted(&w.g, DYING), had);
		assert_int_equal(sl_share_posted(&w.g, LIVE), 0);
		assert_int_equal(sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left), 0);
		assert_true(left.frames >= had);
		assert_int_equal(sl_share_posted(&w.g, DYING), 0);
		count(&w);
		finish(&w);
	}
}

static void leave_device(void)
{
	sl_xsk_device_gone(&xsk, &cache);
}

/* One frame may be nobody's until the queue is released; then each is in the pool, once. */
static void died_leaving(void *mem)
{
	uint32_t n = 0;
	struct world w;
	int got;

	memcpy(copy, mem, bytes);
	w = world_at(copy);
	bury(&w, DYING);
	for (; w.r->tx_c != w.r->tx_p; w.r->tx_c++)
		complete(&w, (uint32_t)(w.r->tx[w.r->tx_c % OWN].addr >> SHIFT));
	while (sl_share_reap(&w.g, &w.q) > 0)
		;
	while (sl_share_returned(&w.g, &w.g.queue[0], LIVE) != SL_NO_FRAME)
		;
	sl_share_queue_close(&w.g, 0);
	got = sl_share_reclaim(&w.g, 0);
	check(got >= (int)(w.r->fill_p - w.r->fill_c) &&
		      got <= (int)(w.r->fill_p - w.r->fill_c) + 1,
	      "%d frames came back\n", got);
	for (uint32_t f = 0; f < NFRAMES; f++)
		n += w.g.word[f].all != 0;
	check(n == live_has, "%u frames are somebody's, %u should be\n", n, live_has);
	check(sl_share_left(&w.g) + live_has == NFRAMES, "frames are lost, or had twice\n");
}

/* The device is gone, and who empties its fill ring dies over it. */
static void test_death_while_emptying(void **state)
{
	for (uint32_t seed = 1; seed <= 4; seed++) {
		set_up(seed);
		attach();
		step_through(shared, leave_device, died_leaving);
		assert_int_equal(world_at(shared).r->fill_p, world_at(shared).r->fill_c);
	}
}

static void reclaim(void)
{
	struct world w = world_at(shared);

	sl_share_reclaim(&w.g, 0);
}

static void reclaim_again(void *mem)
{
	uint32_t n = 0, born;
	struct world w;

	memcpy(copy, mem, bytes);
	w = world_at(copy);
	bury(&w, SL_SHARE_BROKER);
	if (w.g.queue[0].state == SL_QUEUE_CLOSED)
		check(sl_share_reclaim(&w.g, 0) >= 0, "no second time\n");
	born = w.g.head->born;
	for (uint32_t f = 0; f < born; f++)
		n += w.g.word[f].all != 0;
	check(n == live_has, "%u frames are somebody's, %u should be\n", n, live_has);
	check(sl_share_left(&w.g) + live_has == NFRAMES, "frames are lost, or had twice\n");
}

/* The broker dies while it takes a closed queue's frames: the next one has them all, once. */
static void test_death_while_reclaiming(void **state)
{
	struct world w;

	for (uint32_t seed = 1; seed <= 3; seed++) {
		set_up(seed);
		w = world_at(shared);
		bury(&w, DYING);
		finish(&w);
		for (uint32_t f; w.g.queue[0].back[LIVE];) { /* it has looked */
			f = sl_share_returned(&w.g, &w.g.queue[0], LIVE);
			assert_true(f < NFRAMES);
		}
		sl_share_queue_close(&w.g, 0);
		step_through(shared, reclaim, reclaim_again);
	}
}

static void test_layout(void **state)
{
	struct sl_share g, again;

	memset(shared, 0, bytes);
	sl_share_init(&g, shared, NFRAMES, SHIFT, 4, 16);
	assert_int_equal(sl_share_map(&again, shared, share_bytes), 0);
	assert_memory_equal(&g, &again, sizeof(g));
	assert_int_equal(sl_share_map(&again, shared, share_bytes - 1), -EINVAL);
	assert_int_equal(sl_share_map(&again, shared, 8), -EINVAL);
	g.head->free_at += 64;
	assert_int_equal(sl_share_map(&again, shared, share_bytes), -EINVAL);
	g.head->free_at -= 64;
	g.head->nframes++;
	assert_int_equal(sl_share_map(&again, shared, share_bytes), -EINVAL);
	g.head->version++;
	assert_int_equal(sl_share_map(&again, shared, share_bytes), -EPROTO);
}

static int group_setup(void **state)
{
	share_bytes = (sl_share_bytes(NFRAMES, 4, 16) + 63) & ~63ul;
	bytes = share_bytes + sizeof(struct rings);
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	second = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	last = aligned_alloc(64, (bytes + 63) & ~63ul);
	copy = aligned_alloc(64, (bytes + 63) & ~63ul);
	return shared == MAP_FAILED || second == MAP_FAILED || !last || !copy;
}

/* A member has written what it liked over all that is shared: the broker lives. */
static void test_rubbish_is_survived(void **state)
{
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct sl_share_left left;
		uint32_t frames[NFRAMES], n;
		struct world w;

		set_up(seed);
		w = world_at(shared);
		for (size_t i = 0; i < bytes / sizeof(uint32_t); i++)
			if (chance(3) == 0)
				((uint32_t *)shared)[i] =
					chance(2) ? chance(2 * NFRAMES) : ~chance(100);
		w.g.head->lock.word = w.g.queue[0].lock.word = 0;
		n = sl_share_fetch(&w.g, SL_SHARE_BROKER, frames, chance(NFRAMES));
		assert_true(n <= NFRAMES);
		for (uint32_t i = 0; i < n; i++)
			assert_true(frames[i] < NFRAMES);
		sl_share_push(&w.g, frames, n);
		(void)sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left);
		(void)sl_share_reap(&w.g, &w.q);
		(void)sl_share_join(&w.g, 10, 10);
		(void)sl_share_reclaim(&w.g, chance(4));
		(void)sl_share_queue_open(&w.g, 1, 0);
		(void)sl_share_xsk_open(&w.g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_lock_of_the_living),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_queue_pair),
		cmocka_unit_test(test_rubbish_is_survived),
		cmocka_unit_test(test_death_at_any_instruction),
		cmocka_unit_test(test_death_with_two_locks),
		cmocka_unit_test(test_death_while_emptying),
		cmocka_unit_test(test_death_while_reclaiming),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
