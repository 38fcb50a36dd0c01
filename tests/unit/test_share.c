/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool that members share: how it is laid out, what its burial takes and leaves, and rubbish in
 * it. */
#include "share_world.h"

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
		assert_int_equal(sl_share_posted(&w.g, DYING, SL_FLIGHT_QP), 0);
		had = 1 + chance(5);
		for (uint32_t i = 0; i < had; i++)
			fetch_one(&w.g, DYING, (uint16_t)(1 + i % 2), SL_FLIGHT_QP);
		assert_int_equal(sl_share_posted(&w.g, DYING, SL_FLIGHT_QP), had);
		assert_int_equal(sl_share_posted(&w.g, LIVE, SL_FLIGHT_QP), 0);
		assert_int_equal(sl_share_bury(&w.g, DYING, &w.q, 1, &w.x, 1, &left), 0);
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
		(void)sl_share_xsk_open(&w.g, 0);
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
	};

	return cmocka_run_group_tests(tests, share_setup, NULL);
}
