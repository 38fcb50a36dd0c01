/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP on lanes: two lanes of one process talk over the fake wire, by turns, by calls with the lane
 * held, and by what the keeper does when nobody makes a turn. */
#include <errno.h>

#include "tcp_lanes.h"
#include "stack/due.h"
#include "tcp/tcp_trouble.h"

#define BYTES 300000

static long read_some(struct end *e, void *data, size_t n)
{
	struct iovec iov = {data, n};
	long done;

	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	done = sl_tcp_read(&e->c, &iov, 1, 0, false, false);
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
	return done;
}

/* All of a stream goes from end 0 to end 1 by turns, or five seconds are over. */
static void transfer(void)
{
	static uint8_t in[BYTES], out[BYTES];
	size_t wrote = 0, got = 0;
	uint64_t stop = sl_now_ns() + 5000000000;

	for (size_t i = 0; i < BYTES; i++)
		in[i] = (uint8_t)(i * 13 + i / 251);
	while (got < BYTES && sl_now_ns() < stop) {
		long n = write_some(&end[0], in + wrote, BYTES - wrote);

		assert_true(n >= 0);
		wrote += (size_t)n;
		turns();
		n = read_some(&end[1], out + got, BYTES - got);
		assert_true(n >= 0);
		got += (size_t)n;
	}
	assert_int_equal(got, BYTES);
	assert_memory_equal(in, out, BYTES);
}

static void test_a_stream(void **state)
{
	connect_ends();
	transfer();
	for (int i = 0; i < 100 && sl_tcp_unacked(&end[0].c); i++)
		turns();
	assert_int_equal(sl_tcp_unacked(&end[0].c), 0);
	assert_true(end[1].lane->stats->rx_gro > 50);
}

static void test_a_stream_over_a_bad_wire(void **state)
{
	connect_ends();
	for (int i = 0; i < 2; i++) {
		end[i].wire->path.loss_ppm = 10000;
		end[i].wire->path.dup_ppm = 10000;
		end[i].wire->path.corrupt_ppm = 5000;
	}
	transfer();
}

/* A full ring: the connection is on the list of those that wait, turns try again. */
static void test_room(void **state)
{
	connect_ends();
	end[0].refuse = 5;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	assert_false(sl_list_empty(&end[0].lane->tcp->room));
	assert_true(sl_lane_is_due(end[0].lane, end[0].lane->tcp->now_us + 1000));
	for (int i = 0; i < 10 && !sl_tcp_readable(&end[1].c); i++)
		turns();
	assert_int_equal(sl_tcp_readable(&end[1].c), 5);
	assert_true(sl_list_empty(&end[0].lane->tcp->room));
}

/* An idle turn runs nothing, a timer that is due is run by it. */
static void test_timers(void **state)
{
	uint64_t now, next, stop = sl_now_ns() + 3000000000;
	struct sl_tcp *c = &end[0].c;

	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	now = sl_now_ns() / 1000;
	next = end[0].lane->tcp_next_us;
	assert_true(next > now && next < now + 1100000);
	assert_false(sl_lane_is_due(end[0].lane, now));
	assert_true(sl_lane_is_due(end[0].lane, next));
	end[0].wire->path.loss_ppm = 0;
	while (!sl_tcp_readable(&end[1].c) && sl_now_ns() < stop) {
		assert_true(sl_tcp_retransmitted(c) == 0 || sl_now_ns() / 1000 >= next);
		turns();
	}
	assert_int_equal(sl_tcp_readable(&end[1].c), 5);
	assert_true(sl_tcp_retransmitted(c) >= 1);
}

/* The keeper sleeps until the nearest timer of all lanes, or as long as it likes. */
static void test_keeper_sleeps_until_the_next_timer(void **state)
{
	uint64_t now = sl_now_ns() / 1000, next, later = now + 60000000;

	for (int i = 0; i < 2; i++)
		end[i].lane->tcp_next_us = UINT64_MAX;
	assert_int_equal(sl_lanes_sleep(now + 5, 0, 0, later), now + 5);
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	write_some(&end[0], "hello", 5);
	next = sl_lanes_sleep(UINT64_MAX, now, 0, later);
	assert_int_equal(next, sl_min(end[0].lane->tcp_next_us, end[1].lane->tcp_next_us));
	assert_int_equal(sl_lanes_sleep(now + 5, 0, 0, later), now + 5);
	/* Others turn a lane: its timers wait for them for a while. */
	end[0].lane->turned = end[1].lane->turned = true;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, next + 4000, later), next + 4000);
	assert_int_equal(sl_lanes_sleep(now + 5, now, next + 4000, later), now + 5);
	end[0].lane->turned = end[1].lane->turned = false;
	sl_lanes_awake();
}

/* He comes for what is under way in a queue that may fail, and not when nothing is. */
static void test_keeper_watches_what_is_under_way(void **state)
{
	uint64_t now = sl_now_ns() / 1000, later = now + 1000000;

	for (int i = 0; i < 2; i++)
		end[i].lane->tcp_next_us = UINT64_MAX;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	sl_lane_watch(end[1].lane);
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), later);
	assert_int_equal(sl_lanes_sleep(now + 5, now, 0, later), now + 5);
	end[1].lane->watched = false;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	sl_lanes_awake();
}

/* The ACK of the data waits in the ring when the timer is due: nothing is sent again. */
static void test_the_keeper_takes_in_before_timers(void **state)
{
	struct sl_tcp *c = &end[0].c;
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	while (!sl_tcp_readable(&end[1].c) && sl_now_ns() < stop)
		sl_lane_turn(end[1].lane);
	while (!sl_lane_is_due(end[0].lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	assert_true(sl_lane_is_due(end[0].lane, sl_now_ns() / 1000));
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(c), 0);
	assert_int_equal(c->snd_una, c->snd_nxt);
}

/* While another thread has the lane, the keeper's turn gives up at once and sends nothing. */
static void test_the_keeper_does_not_wait(void **state)
{
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	while (!sl_lane_is_due(end[0].lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	assert_true(sl_lane_lock(end[0].lane));
	assert_int_equal(sl_lane_try_turn(end[0].lane), -EBUSY);
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(&end[0].c), 0);
	sl_lane_unlock(end[0].lane);
	assert_int_equal(sl_lane_try_turn(end[0].lane), 0);
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(&end[0].c), 1);
}

/* A kick that could not start everything is made again. */
static int (*real_kick)(struct sl_tx *tx);
static unsigned kicks;

static int busy_kick(struct sl_tx *tx)
{
	real_kick(tx);
	return ++kicks < 3 ? -EAGAIN : 0;
}

static void test_kick_again(void **state)
{
	struct sl_tx_ops busy = *end[0].leg->tx->ops;
	const struct sl_tx_ops *was = end[0].leg->tx->ops;

	connect_ends();
	real_kick = was->kick;
	busy.kick = busy_kick;
	kicks = 0;
	end[0].leg->tx->ops = &busy;
	write_some(&end[0], "hello", 5);
	assert_int_equal(kicks, 1);
	assert_true(end[0].leg->again);
	assert_true(sl_lane_is_due(end[0].lane, end[0].lane->tcp->now_us + 1000));
	for (int i = 0; i < 10 && end[0].leg->again; i++)
		write_some(&end[0], "x", 1);
	assert_int_equal(kicks, 3);
	end[0].leg->tx->ops = was;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_stream),
		T(test_a_stream_over_a_bad_wire),
		T(test_room),
		T(test_timers),
		T(test_keeper_sleeps_until_the_next_timer),
		T(test_keeper_watches_what_is_under_way),
		T(test_kick_again),
		T(test_the_keeper_takes_in_before_timers),
		T(test_the_keeper_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
