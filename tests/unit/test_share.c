/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool that members share: how it is laid out, what its burial takes and leaves, and rubbish in
 * it. */
#include "share_world.h"

#define GRAVE(w) ((struct sl_share_grave){DYING, &(w).q, 1, &(w).x, 1})

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/share/share_bounce.h"
#include "base/share/share_watch.h"

/* A geometry that came from elsewhere is believed when it is what its counts make. */
static void test_layout(void **state)
{
	struct sl_share_geometry l = geometry;
	const uint64_t *tail = &l.bytes;

	assert_true(sl_share_geometry_is_sound(&l));
	for (size_t i = 0; i < sizeof(l) / sizeof(uint32_t); i++) {
		uint32_t *word = (uint32_t *)&l + i, was = *word;

		for (unsigned b = 0; b < 32; b++) {
			*word = was ^ 1u << b;
			/* (Other counts without the offsets that they make.) */
			assert_false(sl_share_geometry_is_sound(&l) && *tail == geometry.bytes &&
				     l.frame_shift == SHIFT);
		}
		*word = was;
	}
	for (uint32_t shift = 0; shift < 40; shift++) {
		sl_share_geometry_make(&l, NFRAMES, shift, 4, 16);
		assert_int_equal(sl_share_geometry_is_sound(&l), shift >= 6 && shift <= 16);
	}
	sl_share_geometry_make(&l, 0, SHIFT, 4, 16);
	assert_false(sl_share_geometry_is_sound(&l));
	sl_share_geometry_make(&l, UINT32_MAX, SHIFT, 4, 16);
	assert_false(sl_share_geometry_is_sound(&l));
	sl_share_geometry_make(&l, NFRAMES, SHIFT, 65535, 16); /* a frame's word names 16 bits */
	assert_false(sl_share_geometry_is_sound(&l));
	sl_share_geometry_make(&l, NFRAMES, SHIFT, 4, UINT32_MAX);
	assert_false(sl_share_geometry_is_sound(&l));
}

static int file_of(uint64_t size, int seals)
{
	int fd = memfd_create("share", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void test_files(void **state)
{
	int fd = file_of(geometry.bytes, F_SEAL_SHRINK), told, bad, pipes[2];
	struct sl_share_geometry l = geometry;
	struct sl_share g, again;
	char name[64];

	told = file_of(geometry.told_bytes, F_SEAL_SHRINK);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", told);
	assert_int_equal(sl_share_open(&g, &l, fd, told, true), 0);
	sl_share_init(&g, g.head, g.told, &l);
	/* A member: from a descriptor for reading; it maps no other way. */
	bad = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sl_share_open(&again, &l, fd, bad, true), -EACCES);
	assert_int_equal(sl_share_open(&again, &l, fd, bad, false), 0);
	assert_int_equal(again.told->member[SL_SHARE_BROKER].quota, NFRAMES);
	assert_int_equal(
		mprotect((void *)((uintptr_t)again.told & ~4095ul), 4096, PROT_READ | PROT_WRITE),
		-1);
	close(bad);
	/* The memory's own header is not trusted, whatever it says. */
	memset(g.head, 0xff, geometry.bytes);
	assert_int_equal(sl_share_open(&again, &l, fd, told, false), 0);
	assert_int_equal(again.nframes, NFRAMES);
	/* Shorter, or can be made so; of another kind; of other offsets. */
	bad = file_of(geometry.bytes - 1, F_SEAL_SHRINK);
	assert_int_equal(sl_share_open(&again, &l, bad, told, false), -EPROTO);
	close(bad);
	bad = file_of(geometry.told_bytes - 1, F_SEAL_SHRINK);
	assert_int_equal(sl_share_open(&again, &l, fd, bad, false), -EPROTO);
	close(bad);
	bad = file_of(geometry.bytes, F_SEAL_GROW);
	assert_int_equal(sl_share_open(&again, &l, bad, told, false), -EPROTO);
	close(bad);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(sl_share_open(&again, &l, pipes[0], told, false), -EPROTO);
	assert_int_equal(sl_share_open(&again, &l, -1, told, false), -EBADF);
	l.word_at += 64;
	assert_int_equal(sl_share_open(&again, &l, fd, told, false), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	close(told);
}

/* A living member that holds a lock is waited for; its lock is not taken. */
static void test_lock_of_the_living(void **state)
{
	struct sl_share_left left;
	struct world w;

	set_up(1);
	w = world_at(shared);
	assert_true(sl_rtrylock(&w.g.queue[0].lock, LIVE));
	sl_share_dead(&w.g, DYING, &w.q, 1);
	assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), -EBUSY);
	assert_int_equal(sl_rlock_holder(&w.g.queue[0].lock), LIVE);
	sl_runlock(&w.g.queue[0].lock);
	assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), 0);
	count(&w);
	finish(&w);
}

/* Bounce frames are no member's but that of their number, and in no pool: neither when another
 * member finds them completed, nor when their member dies. */
static void test_bounce(void **state)
{
	const uint32_t all = 2048, some = SL_SHARE_MEMBERS * SL_SHARE_BOUNCE;
	struct sl_share_grave grave = {.member = 1};
	uint32_t f, bounce[SL_SHARE_BOUNCE];
	struct sl_share_geometry l;
	struct sl_share_left left;
	struct sl_share g;
	char *mem, *told;

	sl_share_geometry_make(&l, all, SHIFT, 4, 16);
	mem = aligned_alloc(64, (l.bytes + 63) & ~63ul);
	told = aligned_alloc(64, (l.told_bytes + 63) & ~63ul);
	memset(mem, 0, l.bytes);
	memset(told, 0, l.told_bytes);
	sl_share_init(&g, mem, told, &l);
	sl_share_set_bounce(&g);
	assert_int_equal(sl_share_left(&g), all - some);
	assert_int_equal(sl_share_join(&g, 100, 0), 1);
	assert_int_equal(sl_share_join(&g, 100, 0), 2);
	assert_int_equal(sl_share_fetch(&g, 1, &f, 1), 1);
	assert_false(sl_share_is_bounce(&g, f));
	for (unsigned i = 0; i < SL_SHARE_BOUNCE; i++) {
		bounce[i] = sl_share_bounce_get(&g, 1);
		assert_true(sl_share_is_bounce(&g, bounce[i]));
		assert_true(i == 0 || bounce[i] != bounce[i - 1]);
	}
	assert_int_equal(sl_share_bounce_get(&g, 1), SL_NO_FRAME);
	f = sl_share_bounce_get(&g, 2);
	assert_true(sl_share_is_bounce(&g, f));
	sl_share_bounce_put(&g, f);
	g.word[bounce[3]].flight = SL_FLIGHT_XSK;
	assert_false(sl_share_return(&g, &g.queue[0], 2, bounce[3]));
	assert_int_equal(sl_share_returned(&g, &g.queue[0], 1), bounce[3]);
	sl_share_bounce_put(&g, bounce[3]);
	assert_int_equal(sl_share_bounce_get(&g, 1), bounce[3]);
	g.word[bounce[5]].flight = SL_FLIGHT_XSK;
	assert_int_equal(sl_share_bury(&g, &grave, &left), 0);
	assert_int_equal(left.in_flight, 1);
	assert_int_equal(left.frames, 1);
	assert_int_equal(sl_share_left(&g), all - some);
	assert_int_equal(sl_share_join(&g, 100, 0), 1);
	for (unsigned i = 0; i < SL_SHARE_BOUNCE - 1; i++)
		assert_int_not_equal(sl_share_bounce_get(&g, 1), SL_NO_FRAME);
	assert_int_equal(sl_share_bounce_get(&g, 1), SL_NO_FRAME);
	assert_false(sl_share_return(&g, &g.queue[0], 2, bounce[5]));
	assert_int_equal(sl_share_bounce_get(&g, 1), bounce[5]);
	free(told);
	free(mem);
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
		assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), 0);
		w.r->tx_c = w.r->tx_p; /* closed */
		count(&w);
		finish(&w);
	}
}

/* Frames in a queue pair never come by a completion ring: they come back with the rest, once. */
static void test_queue_pair(void **state)
{
	struct sl_share_left left;
	uint32_t had = 0;
	struct world w;

	for (uint32_t seed = 0; seed < 20; seed++) {
		set_up(seed);
		attach();
		w = world_at(shared);
		assert_int_equal(sl_share_posted(&w.g, DYING, SL_FLIGHT_QP), 0);
		had = 1 + chance(5);
		for (uint32_t i = 0; i < had; i++)
			fetch_one(&w.g, DYING, (uint16_t)(1 + i % 2), SL_FLIGHT_QP);
		assert_int_equal(sl_share_posted(&w.g, DYING, SL_FLIGHT_QP), had);
		assert_int_equal(sl_share_posted(&w.g, LIVE, SL_FLIGHT_QP), 0);
		assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), 0);
		assert_true(left.frames >= had);
		assert_int_equal(sl_share_posted(&w.g, DYING, SL_FLIGHT_QP), 0);
		count(&w);
		finish(&w);
	}
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
		/* (No member can write the part that is told.) */
		for (size_t i = 0; i < (bytes - geometry.told_bytes) / sizeof(uint32_t); i++)
			if (chance(3) == 0)
				((uint32_t *)shared)[i] =
					chance(2) ? chance(2 * NFRAMES) : ~chance(100);
		w.g.wary = true;
		n = sl_share_fetch(&w.g, SL_SHARE_BROKER, frames, chance(NFRAMES));
		assert_true(n <= NFRAMES);
		for (uint32_t i = 0; i < n; i++)
			assert_true(frames[i] < NFRAMES);
		sl_share_push(&w.g, frames, n);
		(void)sl_share_bury(&w.g, &GRAVE(w), &left);
		(void)sl_share_reap(&w.g, &w.q);
		(void)sl_share_join(&w.g, 10, 10);
		(void)sl_share_reclaim(&w.g, chance(4));
		assert_in_range(sl_share_queue_open(&w.g, 1, 0), 0, 1); /* the first may be free */
		assert_int_equal(sl_share_xsk_open(&w.g, 0), 1);
		sl_share_xsk_close(&w.g, 1);
		(void)sl_share_posted(&w.g, DYING, SL_FLIGHT_QP);
	}
}

/* Whatever stands in a lock, the wary tries, and goes on. */
static void test_no_lock_is_waited_for(void **state)
{
	static const uint32_t words[] = {
		(uint32_t)SL_SHARE_BROKER << SL_RLOCK_SHIFT | 1, /* poc/rlock */
		(uint32_t)LIVE << SL_RLOCK_SHIFT | 1,
		(uint32_t)LIVE << SL_RLOCK_SHIFT | SL_RLOCK_SLEEPERS | 1,
		SL_RLOCK_SLEEPERS,
		1,
		UINT32_MAX,
	};

	for (size_t i = 0; i < sl_array_len(words); i++) {
		struct sl_share_left left;
		struct timespec a, b;
		uint32_t frames[8];
		struct world w;

		set_up(1);
		w = world_at(shared);
		w.g.wary = true;
		w.g.head->lock.word = w.g.queue[0].lock.word = words[i];
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int k = 0; k < 20; k++) {
			assert_int_equal(sl_share_fetch(&w.g, SL_SHARE_BROKER, frames, 8), 0);
			assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), -EBUSY);
			assert_int_equal(sl_share_reap(&w.g, &w.q), -EBUSY);
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		assert_true(b.tv_sec - a.tv_sec < 10); /* 60 sleeps of 20 ms were enough: none */
		assert_int_equal(w.g.head->lock.word, words[i]);
		assert_int_equal(w.g.queue[0].lock.word, words[i]);
		/* The lock is let go: all is as ever. */
		w.g.head->lock.word = w.g.queue[0].lock.word = 0;
		assert_int_equal(sl_share_bury(&w.g, &GRAVE(w), &left), 0);
		count(&w);
		finish(&w);
	}
}

static bool stopped_is(void *arg, uint32_t thread)
{
	return *(const uint8_t *)arg == sl_rlock_named(thread);
}

/* The thread lets go, and is stopped then. */
static bool lets_go(void *arg, uint32_t thread)
{
	struct sl_rlock *l = arg;

	assert_int_equal(l->word, thread);
	l->word = 0;
	return true;
}

static void test_thread_that_is_stopped_without_the_lock(void **state)
{
	const uint32_t holder = (uint32_t)LIVE << SL_RLOCK_SHIFT | 4711;
	struct sl_share_watch watch[5] = {0};
	struct sl_share_fault f;
	struct world w;

	set_up(1);
	w = world_at(shared);
	for (int i = 0; i < 6; i++) {
		w.g.queue[0].lock.word = holder;
		assert_false(sl_share_look(&w.g, watch, 30, lets_go, &w.g.queue[0].lock, &f));
	}
}

static void look_is(struct world *w, struct sl_share_watch *watch, uint8_t stopped, bool broken,
		    int queue, bool impossible)
{
	struct sl_share_fault f = {0};

	assert_int_equal(sl_share_look(&w->g, watch, 3, stopped_is, &stopped, &f), broken);
	if (!broken)
		return;
	assert_int_equal(f.queue, queue);
	assert_int_equal(f.impossible, impossible);
	assert_int_equal(f.stopped, stopped != 0);
}

static void test_locks_that_are_not_let_go(void **state)
{
	const uint32_t holder = (uint32_t)LIVE << SL_RLOCK_SHIFT | 4711;
	static const uint32_t nobodys[] = {
		(uint32_t)SL_SHARE_BROKER << SL_RLOCK_SHIFT | 1,
		5u << SL_RLOCK_SHIFT | 1, /* a number that nobody has */
		(uint32_t)SL_SHARE_MEMBERS << SL_RLOCK_SHIFT | 1,
		511u << SL_RLOCK_SHIFT | 1,
		SL_RLOCK_SLEEPERS,
		77,
	};
	struct sl_share_watch watch[5] = {0};
	struct world w;

	set_up(1);
	w = world_at(shared);
	look_is(&w, watch, 0, false, 0, false);
	for (size_t i = 0; i < sl_array_len(nobodys); i++) {
		w.g.head->lock.word = nobodys[i];
		look_is(&w, watch, 0, true, -1, true);
		w.g.head->lock.word = 0;
		w.g.queue[0].lock.word = nobodys[i];
		look_is(&w, watch, 0, true, 0, true);
		w.g.queue[0].lock.word = 0;
		w.g.queue[1].lock.word = nobodys[i]; /* of no queue */
		look_is(&w, watch, 0, false, 0, false);
	}
	/* A member may hold it; that it was stopped at one look changes nothing. */
	w.g.queue[0].lock.word = holder;
	look_is(&w, watch, LIVE, false, 0, false);
	look_is(&w, watch, LIVE, false, 0, false);
	look_is(&w, watch, 0, false, 0, false);
	/* The daemon finds the thread stopped at two looks in a row. */
	w.g.queue[0].lock.word = holder + 2;
	look_is(&w, watch, LIVE, false, 0, false);
	look_is(&w, watch, LIVE, false, 0, false);
	w.g.queue[0].lock.word |= SL_RLOCK_SLEEPERS;
	look_is(&w, watch, LIVE, true, 0, false);
	/* A stopped member that takes the lock anew between looks lets go of it. */
	for (int i = 0; i < 8; i++) {
		w.g.queue[0].lock.word = holder + (i & 1);
		look_is(&w, watch, LIVE, false, 0, false);
	}
	/* In every look the same thread, which runs. */
	w.g.queue[0].lock.word = holder + 3;
	for (int i = 0; i < 3; i++)
		look_is(&w, watch, 0, false, 0, false);
	look_is(&w, watch, 0, true, 0, false);
	/* The daemon before died with it: that is for the burial. */
	w.g.queue[0].lock.word = (uint32_t)SL_SHARE_BROKER << SL_RLOCK_SHIFT | 1;
	w.g.told->member[SL_SHARE_BROKER].state = SL_MEMBER_DEAD;
	look_is(&w, watch, 0, false, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_lock_of_the_living),
		cmocka_unit_test(test_bounce),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_queue_pair),
		cmocka_unit_test(test_rubbish_is_survived),
		cmocka_unit_test(test_no_lock_is_waited_for),
		cmocka_unit_test(test_locks_that_are_not_let_go),
		cmocka_unit_test(test_thread_that_is_stopped_without_the_lock),
	};

	return cmocka_run_group_tests(tests, share_setup, NULL);
}
