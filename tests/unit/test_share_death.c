/* SPDX-License-Identifier: BSD-2-Clause */
/* Death of a member of a group: whatever instruction was its last one, no frame is lost, none is
 * had twice, no lock stays taken. A child works the rings (which are plain memory here) and is
 * stepped through it; each state of the shared memory on the way is what others would find had it
 * been killed there, so a copy of it is buried and counted. Then the burial is stepped through
 * likewise: the broker dies, too. */
#include "share_world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void *last, *copy, *second;
static uint32_t seen_changes, seen_steps;

/* The dying member ----------------------------------------------------------------------------- */

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
	if (w.g.told->member[DYING].state == SL_MEMBER_LIVE)
		return; /* not begun */
	bury(&w, SL_SHARE_BROKER);
	if (w.g.told->member[DYING].state == SL_MEMBER_DEAD)
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

static void leave_device(void)
{
	sl_xsk_device_gone(&xsk, &cache);
}

/* A frame may belong to nobody until the queue is released; then each frame is in the pool, once.
 */
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
	if (w.g.told_queue[0].state == SL_QUEUE_CLOSED)
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

static int group_setup(void **state)
{
	if (share_setup(state))
		return -1;
	second = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	last = aligned_alloc(64, (bytes + 63) & ~63ul);
	copy = aligned_alloc(64, (bytes + 63) & ~63ul);
	return second == MAP_FAILED || !last || !copy;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_death_at_any_instruction),
		cmocka_unit_test(test_death_with_two_locks),
		cmocka_unit_test(test_death_while_emptying),
		cmocka_unit_test(test_death_while_reclaiming),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
