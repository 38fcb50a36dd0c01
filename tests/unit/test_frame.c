/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame pool: nothing is lost, nothing is had twice. */
#include "packet.h"
#include "io/scrap.h"

#include <pthread.h>

static struct {
	struct sl_frames c;
	uint32_t canary[16]; /* what an overflow would hit */
} box;
#define cache (&box.c)

static int setup(void **state)
{
	pool_setup();
	memset(&box, 0, sizeof(box));
	return 0;
}

static void test_each_frame_once(void **state)
{
	static uint8_t seen[POOL_FRAMES];
	uint32_t f;

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < POOL_FRAMES; i++) {
		f = sl_frame_get(cache);
		assert_in_range(f, 0, POOL_FRAMES - 1);
		assert_int_equal(seen[f]++, 0);
		assert_int_equal(sl_frame_refs(f), 1);
		memset(sl_frame_ptr(f), 0x11, 1u << POOL_SHIFT); /* all of it is ours */
	}
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
	for (uint32_t i = 0; i < POOL_FRAMES; i++)
		sl_frame_put(cache, i);
	assert_int_equal(pool_free(cache), POOL_FRAMES);
	assert_int_equal(sl_pool.share.head->born, POOL_FRAMES);
	for (uint32_t i = 0; i < POOL_FRAMES; i++)
		assert_int_not_equal(sl_frame_get(cache), SL_NO_FRAME);
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
}

static void test_cache_trades_in_batches(void **state)
{
	uint32_t before, f = sl_frame_get(cache);

	assert_int_equal(cache->n, SL_FRAME_BATCH - 1);
	before = sl_frames_left();
	for (int i = 0; i < 1000; i++) { /* no trade with the pool */
		sl_frame_put(cache, f);
		f = sl_frame_get(cache);
	}
	assert_int_equal(sl_frames_left(), before);
	while (sl_frames_fetch(cache))
		;
	assert_int_equal(cache->n, SL_FRAME_CACHE);
	sl_frame_put(cache, f); /* no room: half of it goes to the pool */
	assert_int_equal(cache->n, SL_FRAME_CACHE / 2 + 1);
	assert_int_equal(pool_free(cache), POOL_FRAMES);
	sl_frames_flush(cache, 10);
	assert_int_equal(cache->n, 10);
	sl_frames_flush(cache, 10);
	sl_frames_flush(cache, 20);
	assert_int_equal(cache->n, 10);
	sl_frames_flush(cache, 0);
	assert_int_equal(cache->n, 0);
	assert_int_equal(pool_free(cache), POOL_FRAMES);
}

static void test_references(void **state)
{
	uint32_t f = sl_frame_get(cache), n = pool_free(cache);

	sl_frame_ref(f);
	sl_frame_ref(f);
	sl_frame_put(cache, f);
	sl_frame_put(cache, f);
	assert_int_equal(pool_free(cache), n);
	assert_int_equal(sl_frame_refs(f), 1);
	sl_frame_put(cache, f);
	assert_int_equal(pool_free(cache), n + 1);
	assert_int_equal(sl_frame_refs(f), 0);
}

/* At its quota a member gets no more, whatever the pool has; what it gives back it may have again.
 */
static void test_quota(void **state)
{
	const struct sl_share_member *m = &sl_pool.share.member[sl_pool.me];
	uint32_t n = 0, f = SL_NO_FRAME, one;

	sl_pool.share.told->member[sl_pool.me].quota = 300;
	for (; (one = sl_frame_get(cache)) != SL_NO_FRAME; n++)
		f = one;
	assert_int_equal(n, 300);
	assert_int_equal(m->held, 300);
	assert_int_equal(sl_frames_left(), 0);
	assert_int_equal(sl_share_left(&sl_pool.share), POOL_FRAMES - 300);
	sl_frame_put(cache, f);
	sl_frames_flush(cache, 0);
	assert_int_equal(m->held, 299);
	assert_int_equal(sl_frame_get(cache), f);
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
	/* Received frames count; they may make more than the quota. */
	cache->gained = 50;
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
	assert_int_equal(m->held, 350);
	assert_int_equal(sl_frames_left(), 0);
}

static void test_charge_is_paid_back_once(void **state)
{
	uint32_t wmem = 100, f = sl_frame_get(cache), n = pool_free(cache);

	sl_frame_charge(f, &wmem, 1500);
	assert_int_equal(wmem, 1600);
	sl_frame_sent(cache, f);
	assert_int_equal(wmem, 100);
	assert_int_equal(pool_free(cache), n + 1);
	f = sl_frame_get(cache);
	sl_frame_sent(cache, f); /* nobody pays for this one */
	assert_int_equal(wmem, 100);
}

/* TCP keeps the frames that it sends, for retransmission; a frame that is on the ring twice comes
 * back twice. */
static void test_sent_frame_with_other_holders(void **state)
{
	uint32_t f = sl_frame_get(cache), n = pool_free(cache);

	sl_frame_ref(f);
	sl_frame_ref(f);
	sl_frame_sent(cache, f);
	sl_frame_sent(cache, f);
	assert_int_equal(pool_free(cache), n);
	assert_int_equal(sl_frame_refs(f), 1);
	sl_frame_put(cache, f); /* acknowledged */
	assert_int_equal(pool_free(cache), n + 1);
	f = sl_frame_get(cache);
	sl_frame_ref(f);
	sl_frame_put(cache, f); /* acknowledged before it has come back */
	assert_int_equal(pool_free(cache), n);
	sl_frame_sent(cache, f);
	assert_int_equal(pool_free(cache), n + 1);
}

/* A signal handler may find the pool locked by the thread it interrupted: it gets no frame, and
 * its full cache does not run over. */
static void test_locked_pool_in_a_signal_handler(void **state)
{
	uint32_t frames[SL_FRAME_CACHE + 8], n = 0;

	for (n = 0; n < sl_array_len(frames); n++)
		frames[n] = sl_frame_get(cache);
	while (sl_frames_fetch(cache))
		;
	assert_int_equal(cache->n, SL_FRAME_CACHE);
	memset(box.canary, 0x5c, sizeof(box.canary));
	assert_true(sl_rlock(&sl_pool.share.head->lock, sl_pool.me));
	assert_int_equal(sl_frames_fetch(cache), 0);
	for (uint32_t i = 0; i < 8; i++)
		sl_frame_put(cache, frames[i]);
	assert_int_equal(cache->n, SL_FRAME_CACHE);
	for (unsigned i = 0; i < sl_array_len(box.canary); i++)
		assert_int_equal(box.canary[i], 0x5c5c5c5c);
	cache->n = 0;
	assert_int_equal(sl_frame_get(cache), SL_NO_FRAME);
	sl_runlock(&sl_pool.share.head->lock);
	assert_int_not_equal(sl_frame_get(cache), SL_NO_FRAME);
}

/* Two lanes: one receives and hands over, the other frees. */
#define TRADES 100000
static uint32_t mailbox[64], box_head, box_tail;

static void *receiver(void *arg)
{
	struct sl_frames *mine = arg;
	long wrong = 0;

	while (box_head < TRADES) {
		uint32_t f, at = box_head;

		if (sl_load_acquire(&box_tail) == at) {
			sl_cpu_relax();
			continue;
		}
		f = mailbox[at % 64];
		wrong += sl_frame_ptr(f)[0] != (uint8_t)at;
		sl_frame_put(mine, f);
		sl_store_release(&box_head, at + 1);
	}
	return (void *)wrong;
}

static void test_two_threads_trade(void **state)
{
	static struct sl_frames other;
	pthread_t t;
	void *wrong;

	memset(&other, 0, sizeof(other));
	box_head = box_tail = 0;
	assert_int_equal(pthread_create(&t, NULL, receiver, &other), 0);
	while (box_tail < TRADES) {
		uint32_t f;

		if (box_tail - sl_load_acquire(&box_head) == 64)
			continue;
		f = sl_frame_get(cache);
		if (f == SL_NO_FRAME) /* the other thread's cache and the mailbox hold few */
			continue;
		sl_frame_ptr(f)[0] = (uint8_t)box_tail;
		if (box_tail % 3 == 0) { /* both hold it for a while */
			sl_frame_ref(f);
			mailbox[box_tail % 64] = f;
			sl_store_release(&box_tail, box_tail + 1);
			sl_frame_put(cache, f);
			continue;
		}
		mailbox[box_tail % 64] = f;
		sl_store_release(&box_tail, box_tail + 1);
	}
	pthread_join(t, &wrong);
	assert_int_equal((long)wrong, 0);
	assert_int_equal(pool_free(cache) + other.n, POOL_FRAMES);
	for (uint32_t i = 0; i < POOL_FRAMES; i++)
		assert_int_equal(sl_frame_refs(i), 0);
}

/* The number of free frames tells how scarce they are: the scarcer, the fewer of them a queue may
 * have. */
static void test_scarcity(void **state)
{
	static uint32_t held[POOL_FRAMES];
	static const struct {
		uint32_t left;
		enum sl_scarcity is;
		uint32_t may_have, not_more; /* frames of a queue among a thousand */
	} want[] = {
		{POOL_FRAMES, SL_PLENTY, 16, POOL_FRAMES},
		{POOL_FRAMES / 4, SL_PLENTY, 16, POOL_FRAMES / 8 + 1},
		{POOL_FRAMES / 4 - 1, SL_SCARCE, 4, 5},
		{POOL_FRAMES / 8, SL_SCARCE, 4, 5},
		{POOL_FRAMES / 8 - 1, SL_SHORT, 1, 2},
		{POOL_FRAMES / 16 - 1, SL_RESERVED, 0, 1},
	};
	uint32_t n = 0;

	for (unsigned i = 0; i < sl_array_len(want); i++) {
		while (POOL_FRAMES - n > want[i].left)
			held[n++] = sl_frame_get(cache);
		assert_int_equal(sl_frames_look(cache), want[i].is);
		assert_int_equal(sl_frames_scarcity(cache), want[i].is);
		assert_false(sl_frames_is_over(cache, want[i].may_have, 2, 1000));
		assert_true(sl_frames_is_over(cache, want[i].not_more, 2, 1000));
	}
	while (POOL_FRAMES - n > POOL_FRAMES / 32 - 1)
		held[n++] = sl_frame_get(cache);
	assert_int_equal(sl_frames_look(cache), SL_RESERVED);
	cache->floor = SL_FRAME_FLOOR;
	assert_int_equal(sl_frames_look(cache), SL_SPENT);
	assert_true(sl_frames_is_over(cache, 0, 2, 1000));
	while (n)
		sl_frame_put(cache, held[--n]);
	assert_int_equal(sl_frames_scarcity(cache), SL_PLENTY); /* nobody traded: it looks */
}

/* By its quota, too, and found when frames are traded. */
static void test_scarcity_by_quota(void **state)
{
	struct sl_share_member *m = &sl_pool.share.member[sl_pool.me];
	uint32_t f;

	sl_pool.share.told->member[sl_pool.me].quota = 512;
	m->held = 450;
	f = sl_frame_get(cache);
	assert_int_equal(cache->scarcity, SL_SHORT);
	assert_true(sl_frames_is_over(cache, 2, 2, 1000));
	sl_frame_put(cache, f);
}

static void test_scraps(void **state)
{
	uint8_t data[SL_SCRAP_MAX];
	uint32_t before = pool_free(cache), n = 0, first = 0, f = 0, frame[100];
	uint16_t off = 0, at[100];

	memset(data, 0x5a, sizeof(data));
	for (n = 0; n < 100; n++) {
		data[0] = (uint8_t)n;
		frame[n] = sl_scrap_put(cache, data, 100, 8, &at[n]);
		assert_int_not_equal(frame[n], SL_NO_FRAME);
		assert_int_equal(at[n] % 8, 0);
		first += !n || frame[n] != frame[n - 1];
	}
	assert_int_equal(first, (100 + 18) / 19); /* 104 bytes each, 2048 a frame */
	for (n = 0; n < 100; n++) {
		assert_int_equal(sl_frame_ptr(frame[n])[at[n]], n);
		assert_int_equal(sl_frame_ptr(frame[n])[at[n] + 99], 0x5a);
	}
	/* The last one alone may grow where it is. */
	f = frame[99];
	off = (uint16_t)(at[99] + 100);
	assert_true(sl_scrap_is_last(cache, f, off, 1));
	assert_false(sl_scrap_is_last(cache, f, off - 1u, 1));
	assert_false(sl_scrap_is_last(cache, frame[0], at[0] + 100u, 1));
	assert_false(sl_scrap_is_last(cache, f, off, (1u << POOL_SHIFT) - off + 1));
	sl_scrap_lengthen(cache, 3);
	assert_int_equal(sl_scrap_put(cache, data, 1, 1, &off), f);
	assert_int_equal(off, at[99] + 103);
	sl_frame_put(cache, f);
	for (n = 0; n < 100; n++)
		sl_frame_put(cache, frame[n]);
	assert_int_equal(pool_free(cache), before - 1); /* the open one */
	sl_frames_flush(cache, 0);
	assert_int_equal(pool_free(cache), before);
}

/* The last frames of a lane are for its fill rings and for segments without data. */
static void test_floor(void **state)
{
	uint8_t byte = 0;
	uint16_t off;
	uint32_t n = 0;

	cache->floor = SL_FRAME_FLOOR;
	while (sl_frame_get(cache) != SL_NO_FRAME)
		n++;
	assert_int_equal(n, POOL_FRAMES - SL_FRAME_FLOOR);
	assert_int_equal(sl_scrap_put(cache, &byte, 1, 1, &off), SL_NO_FRAME);
	for (n = 0; sl_frame_get_last(cache) != SL_NO_FRAME; n++)
		;
	assert_int_equal(n, SL_FRAME_FLOOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_frame_once, setup),
		cmocka_unit_test_setup(test_cache_trades_in_batches, setup),
		cmocka_unit_test_setup(test_references, setup),
		cmocka_unit_test_setup(test_quota, setup),
		cmocka_unit_test_setup(test_charge_is_paid_back_once, setup),
		cmocka_unit_test_setup(test_sent_frame_with_other_holders, setup),
		cmocka_unit_test_setup(test_locked_pool_in_a_signal_handler, setup),
		cmocka_unit_test_setup(test_two_threads_trade, setup),
		cmocka_unit_test_setup(test_scarcity, setup),
		cmocka_unit_test_setup(test_scarcity_by_quota, setup),
		cmocka_unit_test_setup(test_scraps, setup),
		cmocka_unit_test_setup(test_floor, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
