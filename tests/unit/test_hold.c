/* SPDX-License-Identifier: BSD-2-Clause */
/* Which short writes are held back: bursts, and answers in two pieces; and how what is held goes.
 */
#include <errno.h>
#include <string.h>

#include "tcp_lanes.h"
#include "stack/due.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_trouble.h"

/* The other end acknowledges at once, as for a segment that closes a gap. */
static void acknowledge(struct end *e)
{
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	e->c.ack_now = SL_TCP_ACK_NOW;
	sl_tcp_want_out(&e->c);
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
}

static void all_acked(struct end *e)
{
	for (int i = 0; i < 100 && sl_tcp_unacked(&e->c); i++) {
		turns();
		acknowledge(&end[1]);
		turns();
	}
	assert_int_equal(sl_tcp_unacked(&e->c), 0);
}

/* Writes as a program's call does. */
static void call(struct end *e, const void *data, size_t n, bool more)
{
	struct iovec iov = {(void *)data, n};
	bool fresh = e->c.tx_una == e->c.tx_tail;

	assert_int_equal(sl_tcp_write(&e->c, &iov, 1, 0, more, false), n);
	sl_lane_tcp_wrote(e->lane, &e->c, n, fresh);
}

static void write_short(struct end *e, const char *data)
{
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	call(e, data, strlen(data), false);
	sl_lane_unlock(e->lane);
}

static void write_alone_in_a_burst(struct end *e)
{
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	e->lane->burst = (struct sl_burst){.of = &e->c, .n = 1000, .end_us = e->lane->tcp->now_us};
	call(e, "0123456789", 10, false);
	sl_lane_unlock(e->lane);
}

/* A short write in the middle of a burst, and one before it that is in flight. */
static void write_in_a_burst(struct end *e)
{
	write_some(e, "first", 5);
	write_alone_in_a_burst(e);
}

static void test_a_burst_is_held_until_the_next_turn(void **state)
{
	struct end *e = &end[0];

	connect_ends();
	e->c.nodelay = true;
	write_in_a_burst(e);
	assert_false(sl_list_empty(&e->lane->tcp->held));
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	sl_lane_turn(e->lane);
	assert_true(sl_list_empty(&e->lane->tcp->held));
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	write_some(e, "x", 1); /* any other call */
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	turns();
	assert_int_equal(sl_tcp_readable(&end[1].c), 31);
}

/* No program comes: the timer is due soon, and the keeper stays near while the burst goes on. */
static void test_a_burst_is_sent_by_the_keeper(void **state)
{
	struct end *e = &end[0];
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	e->c.nodelay = true;
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	assert_true(sl_lane_is_due(e->lane, e->lane->tcp->now_us + SL_HOLD_US));
	assert_true(sl_lane_is_bursting(e->lane, e->lane->tcp->now_us));
	while (!sl_lane_is_due(e->lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	sl_lane_run(e->lane);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	assert_false(sl_lane_is_bursting(e->lane, e->lane->tcp->now_us + 1000000));
}

/* No burst, Nagle's own rule, nothing in flight, or not wanted: as ever. A full piece goes. */
static void test_what_is_not_held(void **state)
{
	struct end *e = &end[0];
	uint8_t much[1000] = {0};

	connect_ends();
	e->c.nodelay = true;
	e->lane->burst.n = 0;
	for (int i = 0; i < 3; i++)
		write_some(e, "again", 5);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	sl_tcp_params.autocorking = false;
	write_in_a_burst(e);
	sl_tcp_params.autocorking = true;
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	e->lane->tcp->hold = true;
	write_some(e, much, sizeof(much));
	e->lane->tcp->hold = true;
	write_some(e, much, sizeof(much));
	assert_int_equal(sl_tcp_unsent(&e->c), 2010 - e->c.mss);
	all_acked(e);
	write_alone_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
}

/* Answers in two pieces ------------------------------------------------------------------------ */

/* Both pieces at the same time of the host's. (Nagle has the second wait where the first has gone.)
 */
static void answer(struct end *e, const char *first, const char *second)
{
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	call(e, first, strlen(first), false);
	call(e, second, strlen(second), false);
	sl_lane_unlock(e->lane);
	all_acked(e);
}

static void answers(struct end *e, int n)
{
	while (n--)
		answer(e, "head", "body");
}

static void test_an_answer_in_two_pieces_is_one_segment(void **state)
{
	struct end *e = &end[0];
	uint64_t sent;

	connect_ends();
	for (int nodelay = 0; nodelay < 2; nodelay++) {
		e->lane->pair = (struct sl_pair){.of = NULL};
		e->c.nodelay = nodelay;
		answers(e, 8);
		sent = e->lane->stats->tx_pkts;
		answers(e, 20);
		assert_int_equal(e->lane->stats->tx_pkts - sent, 20);
	}
}

/* Its second piece does not come: any turn sends it, and the next goes at once again. */
static void test_an_answer_in_one_piece_goes_with_the_next_turn(void **state)
{
	struct end *e = &end[0];

	connect_ends();
	answers(e, 8);
	write_short(e, "alone");
	assert_int_equal(sl_tcp_unsent(&e->c), 5);
	sl_lane_turn(e->lane);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	all_acked(e);
	write_short(e, "alone");
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	all_acked(e);
	answers(e, 7);
	write_short(e, "alone");
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
}

/* Nor does a call: the keeper sends it, who is told once and then comes by himself. */
static void test_an_answer_in_one_piece_is_sent_by_the_keeper(void **state)
{
	struct end *e = &end[0];
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	answers(e, 8);
	write_short(e, "alone");
	assert_int_equal(sl_tcp_unsent(&e->c), 5);
	assert_true(sl_lane_is_due(e->lane, e->lane->tcp->now_us + SL_HOLD_US));
	assert_true(sl_lane_hold_late_us(e->lane) <= 4000);
	while (!sl_lane_is_due(e->lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	sl_lane_run(e->lane);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	assert_int_equal(sl_tcp_retransmitted(&e->c), 0);
}

/* Another connection of the lane, one that the program corks, one whose second piece is late, or
 * where the machine's settings say no. */
static void test_which_answers_do_not_wait(void **state)
{
	struct end *e = &end[0];
	uint8_t much[2000] = {0};

	connect_ends();
	answers(e, 8);
	sl_tcp_params.autocorking = false;
	write_short(e, "alone");
	sl_tcp_params.autocorking = true;
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	all_acked(e);

	e->lane->pair = (struct sl_pair){.of = NULL};
	answers(e, 8);
	write_some(e, much, sizeof(much));
	assert_true(sl_tcp_unsent(&e->c) < e->c.mss);
	all_acked(e);

	e->lane->pair = (struct sl_pair){.of = NULL};
	answers(e, 7);
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	call(e, "head", 4, false);
	sl_tcp_set_now(e->lane->tcp, e->lane->tcp->now_us + 500);
	call(e, "body", 4, false);
	sl_lane_unlock(e->lane);
	all_acked(e);
	write_short(e, "alone");
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	all_acked(e);

	e->lane->pair = (struct sl_pair){.of = NULL};
	answers(e, 8);
	e->c.cork = true;
	write_short(e, "head");
	assert_int_equal(sl_tcp_unsent(&e->c), 4);
	assert_true(sl_list_empty(&e->lane->tcp->held));
	e->c.cork = false;
	write_short(e, "body");
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_burst_is_held_until_the_next_turn),
		T(test_a_burst_is_sent_by_the_keeper),
		T(test_what_is_not_held),
		T(test_an_answer_in_two_pieces_is_one_segment),
		T(test_an_answer_in_one_piece_goes_with_the_next_turn),
		T(test_an_answer_in_one_piece_is_sent_by_the_keeper),
		T(test_which_answers_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
