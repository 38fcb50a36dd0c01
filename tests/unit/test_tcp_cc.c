/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion windows grow as their RFCs say: against the formulas, computed in doubles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_params.h"
#include "tcp/tcp_trouble.h"

#define MSS       1000u
#define UNLIMITED 0x7fffffffu

static struct sl_tcp_host host;
static struct sl_tcp c;

static void count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	assert_true(id < SL_TCPC_COUNT);
}
static const struct sl_tcp_ops ops = {.count = count};

static void start(const struct sl_cc *cc)
{
	sl_free(c.trouble);
	memset(&c, 0, sizeof(c));
	memset(&host, 0, sizeof(host));
	host.ops = &ops;
	host.now_us = 1000000;
	sl_tcp_params_default(&sl_tcp_params);
	c.host = &host;
	c.cc = cc;
	c.mss = MSS;
	c.snd_una = c.snd_nxt = 7;
	c.rto_us = 1000000;
	sl_tcp_loss_init(&c);
}

/* A segment is acknowledged while the window is full. */
static void ack(uint32_t rtt_us)
{
	c.snd_una += MSS;
	c.snd_nxt = c.snd_una + c.cwnd * MSS;
	c.cwnd_limited = true;
	c.max_in_flight = c.cwnd;
	c.srtt_us = rtt_us;
	c.cc->on_ack(&c, 1, rtt_us);
}

/* Plays a round trip: every segment of the window is acknowledged, evenly. */
static void round_trip(uint32_t rtt_us)
{
	uint64_t end = host.now_us + rtt_us;
	uint32_t n = c.cwnd;

	for (uint32_t i = 0; i < n; i++) {
		host.now_us += rtt_us / n;
		ack(rtt_us);
	}
	host.now_us = end;
}

/* Reduces the window as recovery does, but at once. */
static void lose(void)
{
	sl_tcp_trouble(&c)->prior_cwnd = c.cwnd;
	c.cwnd_cnt = 0;
	c.ssthresh = c.cc->ssthresh(&c);
	c.cwnd = c.ssthresh;
}

/* Slow start ---------------------------------------------------------------------------------- */

static void test_slow_start_doubles_in_a_round_trip(void **state)
{
	start(&sl_cc_reno);
	assert_int_equal(c.cwnd, 10);
	assert_int_equal(c.ssthresh, UNLIMITED);
	round_trip(20000);
	assert_int_equal(c.cwnd, 20);
	round_trip(20000);
	assert_int_equal(c.cwnd, 40);
}

static void test_slow_start_ends_at_ssthresh(void **state)
{
	start(&sl_cc_reno);
	c.ssthresh = 12;
	assert_int_equal(sl_cc_slow_start(&c, 5), 3);
	assert_int_equal(c.cwnd, 12);
	assert_false(sl_cc_in_slow_start(&c));
	assert_int_equal(sl_cc_slow_start(&c, 5), 5);
}

static void test_avoidance_adds_one_in_a_round_trip(void **state)
{
	start(&sl_cc_reno);
	c.ssthresh = 10;
	for (uint32_t w = 10; w < 40; w++) {
		assert_int_equal(c.cwnd, w);
		round_trip(20000);
	}
	/* A stretch ACK counts for all that it acknowledges. */
	c.cwnd_cnt = 0;
	c.cc->on_ack(&c, 3 * c.cwnd, 20000);
	assert_int_equal(c.cwnd, 43);
}

static void test_window_that_is_not_used_does_not_grow(void **state)
{
	const struct sl_cc *all[] = {&sl_cc_reno, &sl_cc_cubic};

	for (size_t i = 0; i < 2; i++) {
		start(all[i]);
		c.cwnd_limited = false;
		c.max_in_flight = 4;
		for (int n = 0; n < 100; n++)
			c.cc->on_ack(&c, 1, 20000);
		assert_int_equal(c.cwnd, 10);
		c.max_in_flight = 6; /* in slow start half the window is enough */
		c.cc->on_ack(&c, 1, 20000);
		assert_int_equal(c.cwnd, 11);
	}
}

/* Segments that RACK's timer has marked as lost before an ACK do not lessen the window with it (as
 * by Linux). */
static void test_bbr_leaves_a_timers_losses_out(void **state)
{
	start(&sl_cc_bbr);
	assert_ptr_equal(c.cc, &sl_cc_bbr);
	c.ca = SL_CA_RECOVERY;
	ack(20000);
	c.cwnd = 20;
	c.lost += 5;
	c.cc->on_any_ack(&c, NULL);
	ack(20000);
	assert_int_equal(c.cwnd, 20);
	c.cc->on_any_ack(&c, NULL);
	c.lost += 5;
	ack(20000);
	assert_int_equal(c.cwnd, 15);
	sl_tcp_rate_free(&c);
	sl_free(c.opts);
}

static void test_names(void **state)
{
	assert_ptr_equal(sl_cc_find("cubic"), &sl_cc_cubic);
	assert_ptr_equal(sl_cc_find("reno"), &sl_cc_reno);
	assert_ptr_equal(sl_cc_find("bbr"), &sl_cc_bbr);
	assert_ptr_equal(sl_cc_find("bbr3"), &sl_cc_bbr3);
	assert_null(sl_cc_find(""));
	for (const char *const *n = sl_tcp_congestions(); *n; n++)
		assert_non_null(sl_cc_find(*n));
}

/* Unused windows ------------------------------------------------------------------------------ */

static void test_window_halves_for_each_rto_of_silence(void **state)
{
	start(&sl_cc_cubic);
	c.cwnd = 160;
	c.last_sent_us = host.now_us;
	host.now_us += 900000;
	sl_cc_idle_check(&c);
	assert_int_equal(c.cwnd, 160);
	host.now_us += 1700000; /* 2.6 RTO in all */
	sl_cc_idle_check(&c);
	assert_int_equal(c.cwnd, 40);
	assert_true(c.ssthresh >= 120); /* and what it was is remembered */
	c.last_sent_us = host.now_us;
	host.now_us += 3600ull * 1000000;
	sl_cc_idle_check(&c);
	assert_int_equal(c.cwnd, 10);
}

static void test_setting_keeps_the_window_through_silence(void **state)
{
	start(&sl_cc_cubic);
	sl_tcp_params.slow_start_after_idle = false;
	c.cwnd = 160;
	c.last_sent_us = host.now_us;
	host.now_us += 60000000;
	sl_cc_idle_check(&c);
	assert_int_equal(c.cwnd, 160);
}

static void test_window_not_filled_for_an_rto_decays(void **state)
{
	start(&sl_cc_cubic);
	c.cwnd = 100;
	c.ssthresh = 50;
	for (int i = 0; i < 12; i++) {
		host.now_us += 100000;
		c.snd_una = c.snd_nxt;
		c.snd_nxt += 20 * MSS;
		sl_cc_on_sent(&c, 20);
	}
	assert_int_equal(c.cwnd, 60); /* half-way to the 20 that are used */
	assert_int_equal(c.ssthresh, 75);
}

/* CUBIC --------------------------------------------------------------------------------------- */

/* By Newton: the suite links no libm. */
static double cube_root(double x)
{
	double r = x > 1 ? x : 1;

	for (int i = 0; i < 200; i++)
		r -= (r * r * r - x) / (3 * r * r);
	return r;
}

/* RFC 9438 4.2, seconds and segments. */
static double formula(double t, double w_max, double epoch)
{
	double d = t - cube_root((w_max - epoch) / 0.4);

	return 0.4 * d * d * d + w_max;
}

static void follow_formula(uint32_t w_max, uint32_t rtt_us, unsigned rounds)
{
	uint64_t epoch_us;
	double epoch, least;

	start(&sl_cc_cubic);
	c.cwnd = w_max;
	lose();
	epoch = c.cwnd;
	assert_int_equal(c.cwnd, w_max * 7 / 10);
	epoch_us = host.now_us + rtt_us / c.cwnd; /* the first ACK */
	least = epoch;
	for (unsigned i = 0; i < rounds; i++) {
		double t, w;

		round_trip(rtt_us);
		t = (double)(host.now_us - epoch_us) / 1e6;
		w = formula(t, w_max, epoch);
		/* at most 1.5 times as much in a round trip; a round trip behind the target */
		if (c.cwnd > w + 2 + w / 100)
			fail_msg("t %.3f: %u above %.1f", t, c.cwnd, w);
		least = sl_min(formula(t - 1e-6 * rtt_us, w_max, epoch), least * 1.4);
		if (c.cwnd + 2 < least)
			fail_msg("t %.3f: %u below %.1f", t, c.cwnd, least);
		least = c.cwnd;
	}
	assert_true(c.cwnd > w_max); /* the test has seen both sides of the plateau */
}

static void test_cubic_follows_its_formula(void **state)
{
	follow_formula(1000, 100000, 150);
	follow_formula(400, 50000, 260);
	follow_formula(5000, 200000, 130);
	follow_formula(100, 300000, 30);
}

/* The window grows by 9/17 a round trip, as Linux' does, and as Reno's does from its old size on,
 * while that is below 32. */
static void test_cubic_is_not_slower_than_reno(void **state)
{
	static const double olds[] = {20, 40};
	double est;

	for (unsigned k = 0; k < sl_array_len(olds); k++) {
		start(&sl_cc_cubic);
		c.cwnd = (uint32_t)olds[k];
		lose();
		assert_int_equal(c.cwnd, olds[k] * 7 / 10);
		est = olds[k] * 7 / 10;
		for (int i = 0; i < 300; i++) { /* 1.5 s: the curve alone is at 31 then, from 28 */
			round_trip(5000);
			est += est >= olds[k] && est < 32 ? 1 : 9. / 17;
			assert_true(c.cwnd > est - 3 && c.cwnd < est + 3);
		}
		assert_true(c.cwnd > 150);
	}
}

static void test_fast_convergence_gives_way(void **state)
{
	start(&sl_cc_cubic);
	c.cwnd = 1000;
	lose();
	assert_int_equal(c.cwnd, 700);
	/* Lost again below the old maximum: the new one is 0.85 of where it was lost. */
	c.cwnd = 800;
	lose();
	assert_int_equal(c.cwnd, 560);
	for (int i = 0; i < 60; i++)
		round_trip(100000); /* K = cbrt((680 - 560) / 0.4) = 6.7 s; then the plateau */
	assert_in_range(c.cwnd, 672, 688);
}

static void test_undo_brings_the_curve_back(void **state)
{
	uint64_t was[SL_CC_PRIV];
	uint32_t before, after;

	start(&sl_cc_cubic);
	c.cwnd = 1000;
	lose();
	for (int i = 0; i < 20; i++)
		round_trip(100000);
	memcpy(was, c.cc_priv, sizeof(was));
	before = c.cwnd;
	lose();
	c.cwnd = c.cc->undo_cwnd(&c);
	assert_int_equal(c.cwnd, before);
	for (int i = 0; i < 20; i++)
		round_trip(100000);
	after = c.cwnd;
	memcpy(c.cc_priv, was, sizeof(was));
	c.cwnd = before;
	c.cwnd_cnt = 0;
	host.now_us -= 20 * 100000;
	for (int i = 0; i < 20; i++)
		round_trip(100000);
	assert_in_range(after, c.cwnd - 2, c.cwnd + 2);
}

static void test_time_without_use_does_not_count(void **state)
{
	uint32_t w;

	start(&sl_cc_cubic);
	c.cwnd = 1000;
	lose();
	for (int i = 0; i < 90; i++)
		round_trip(100000);
	w = c.cwnd;
	/* Ten minutes of a few segments now and then, then an hour of nothing. */
	for (int i = 0; i < 6000; i++) {
		host.now_us += 100000;
		c.cwnd_limited = false;
		c.max_in_flight = 3;
		c.cc->on_ack(&c, 1, 100000);
	}
	assert_int_equal(c.cwnd, w);
	host.now_us += 3600ull * 1000000;
	c.cc->on_idle(&c);
	round_trip(100000);
	assert_in_range(c.cwnd, w, w + 10);
}

static void test_windows_have_a_least(void **state)
{
	const struct sl_cc *all[] = {&sl_cc_reno, &sl_cc_cubic};

	for (size_t i = 0; i < 2; i++) {
		start(all[i]);
		for (c.cwnd = 1; c.cwnd < 4; c.cwnd++)
			assert_int_equal(c.cc->ssthresh(&c), 2);
	}
}

/* HyStart++ ----------------------------------------------------------------------------------- */

static void test_slow_start_ends_when_the_round_trip_grows(void **state)
{
	uint32_t w;

	start(&sl_cc_cubic);
	round_trip(40000);
	round_trip(40000);
	round_trip(40000);
	assert_int_equal(c.cwnd, 80);
	round_trip(44000); /* less than an eighth more: goes on */
	assert_int_equal(c.cwnd, 160);
	w = c.cwnd;
	/* 50 ms: conservative from the eighth sample on, a quarter of the growth */
	round_trip(50000);
	assert_in_range(c.cwnd, w + w / 4, w + w / 4 + 8);
	/* five rounds, then avoidance */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(c.ssthresh, UNLIMITED);
		w = c.cwnd;
		round_trip(50000);
		assert_in_range(c.cwnd, w + w / 4 - 2, w + w / 4 + 2);
	}
	round_trip(50000);
	assert_in_range(c.ssthresh, w, c.cwnd);
	w = c.cwnd;
	round_trip(50000);
	assert_in_range(c.cwnd, w, w + w / 20);
}

static void test_jitter_does_not_end_slow_start(void **state)
{
	uint32_t w;

	start(&sl_cc_cubic);
	round_trip(40000);
	round_trip(40000);
	round_trip(55000); /* conservative */
	round_trip(41000); /* it was jitter */
	w = c.cwnd;
	round_trip(41000);
	assert_int_equal(c.cwnd, 2 * w);
	assert_int_equal(c.ssthresh, UNLIMITED);
}

static void test_hystart_is_for_the_first_slow_start(void **state)
{
	uint32_t w;

	start(&sl_cc_cubic);
	round_trip(40000);
	c.cwnd = 400;
	lose();
	c.cwnd = 10;
	round_trip(40000);
	w = c.cwnd;
	round_trip(80000);
	assert_int_equal(c.cwnd, 2 * w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_start_doubles_in_a_round_trip),
		cmocka_unit_test(test_slow_start_ends_at_ssthresh),
		cmocka_unit_test(test_avoidance_adds_one_in_a_round_trip),
		cmocka_unit_test(test_window_that_is_not_used_does_not_grow),
		cmocka_unit_test(test_bbr_leaves_a_timers_losses_out),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_window_halves_for_each_rto_of_silence),
		cmocka_unit_test(test_setting_keeps_the_window_through_silence),
		cmocka_unit_test(test_window_not_filled_for_an_rto_decays),
		cmocka_unit_test(test_cubic_follows_its_formula),
		cmocka_unit_test(test_cubic_is_not_slower_than_reno),
		cmocka_unit_test(test_fast_convergence_gives_way),
		cmocka_unit_test(test_undo_brings_the_curve_back),
		cmocka_unit_test(test_time_without_use_does_not_count),
		cmocka_unit_test(test_windows_have_a_least),
		cmocka_unit_test(test_slow_start_ends_when_the_round_trip_grows),
		cmocka_unit_test(test_jitter_does_not_end_slow_start),
		cmocka_unit_test(test_hystart_is_for_the_first_slow_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
