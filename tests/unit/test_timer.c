/* SPDX-License-Identifier: BSD-2-Clause */
/* The timing wheel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/timer.h"

#define N 1000

struct item {
	struct sl_timer timer;
	uint64_t at_us, fired_us;
	unsigned fired;
};

static struct sl_wheel wheel;
static struct item items[N];
static uint64_t now_us;
static struct item *order[N];
static unsigned norder;

static int setup(void **state)
{
	now_us = 123456789;
	norder = 0;
	sl_wheel_init(&wheel, now_us);
	for (unsigned i = 0; i < N; i++) {
		items[i] = (struct item){0};
		sl_timer_init(&items[i].timer);
	}
	return 0;
}

static void arm(struct item *it, uint64_t at_us)
{
	it->at_us = at_us;
	sl_timer_arm(&wheel, &it->timer, at_us);
}

static void note(struct sl_timer *t, void *arg)
{
	struct item *it = sl_container_of(t, struct item, timer);

	assert_false(sl_timer_is_armed(t));
	assert_true(now_us >= it->at_us); /* never early */
	it->fired++;
	it->fired_us = now_us;
	order[norder++ % N] = it;
}

static unsigned run_at(uint64_t us)
{
	now_us = us;
	return sl_wheel_run(&wheel, us, note, NULL);
}

/* Runs whenever the wheel asks for it, until `end`; how often. */
static unsigned run_until(uint64_t end)
{
	unsigned runs = 0;
	uint64_t next;

	while ((next = sl_wheel_next_us(&wheel)) <= end) {
		assert_true(next >= now_us - SL_WHEEL_TICK_US);
		run_at(sl_max(next, now_us));
		runs++;
	}
	return runs;
}

static void test_nothing(void **state)
{
	assert_true(sl_wheel_next_us(&wheel) == UINT64_MAX);
	assert_int_equal(run_at(now_us + 1000000), 0);
	assert_int_equal(wheel.armed, 0);
}

static void test_never_early_at_most_a_tick_late(void **state)
{
	/* all levels: 64 us to 64^5 ticks and beyond */
	for (unsigned i = 0; i < N; i++)
		arm(&items[i],
		    now_us + 1 + ((uint64_t)rand() << (i % 4) * 2) % (1ull << (i % 42 + 1)));
	assert_int_equal(wheel.armed, N);
	run_until(UINT64_MAX - 1);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(items[i].fired, 1);
		assert_true(items[i].fired_us - items[i].at_us < SL_WHEEL_TICK_US);
	}
	assert_int_equal(wheel.armed, 0);
}

static void test_one_long_run_fires_in_order(void **state)
{
	for (unsigned i = 0; i < N; i++)
		arm(&items[i], now_us + 1 + (uint64_t)rand() * (i % 2 ? 1 : 20));
	assert_int_equal(run_at(now_us + (1ull << 40)), N);
	for (unsigned i = 1; i < N; i++)
		assert_true(order[i]->timer.at_tick >= order[i - 1]->timer.at_tick);
}

/* The start of a slot of each level, where the timer does not move down but is due. */
static void test_cascade_at_the_first_tick_of_a_slot(void **state)
{
	uint64_t tick = now_us / SL_WHEEL_TICK_US;

	for (unsigned l = 1; l < SL_WHEEL_LEVELS; l++) {
		uint64_t at = ((tick >> (6 * l)) + 1) << (6 * l);

		arm(&items[3 * l], (at - 1) * SL_WHEEL_TICK_US);
		arm(&items[3 * l + 1], at * SL_WHEEL_TICK_US);
		arm(&items[3 * l + 2], (at + 1) * SL_WHEEL_TICK_US);
	}
	run_until(UINT64_MAX - 1);
	for (unsigned i = 3; i < 3 * SL_WHEEL_LEVELS; i++) {
		assert_int_equal(items[i].fired, 1);
		assert_true(items[i].fired_us == items[i].at_us);
	}
}

static void test_past_expires_at_the_next_run(void **state)
{
	arm(&items[0], 0);
	arm(&items[1], now_us);
	assert_true(sl_wheel_next_us(&wheel) <= now_us);
	assert_int_equal(run_at(now_us), 1); /* of now_us some of the tick is still to come */
	assert_int_equal(items[0].fired, 1);
	assert_int_equal(run_at(now_us + SL_WHEEL_TICK_US), 1);
	assert_int_equal(items[1].fired, 1);
}

static void test_cancel_and_move(void **state)
{
	arm(&items[0], now_us + 1000);
	arm(&items[1], now_us + 1000);
	sl_timer_cancel(&wheel, &items[0].timer);
	sl_timer_cancel(&wheel, &items[0].timer);
	assert_int_equal(wheel.armed, 1);
	arm(&items[1], now_us + 5000000); /* later */
	assert_int_equal(wheel.armed, 1);
	assert_int_equal(run_at(now_us + 1000000), 0);
	arm(&items[1], now_us + 200); /* sooner */
	assert_int_equal(run_at(now_us + 300), 1);
	assert_int_equal(items[0].fired, 0);
	assert_true(sl_wheel_next_us(&wheel) == UINT64_MAX);
}

static void test_cancel_leaves_no_bits(void **state)
{
	for (unsigned i = 0; i < N; i++)
		arm(&items[i], now_us + (1ull << (i % 45)));
	for (unsigned i = 0; i < N; i++)
		sl_timer_cancel(&wheel, &items[i].timer);
	assert_true(sl_wheel_next_us(&wheel) == UINT64_MAX);
	for (unsigned l = 0; l < SL_WHEEL_LEVELS; l++)
		assert_true(wheel.used[l] == 0);
}

/* Re-arms itself, and cancels or moves its neighbours that are due in the same tick. */
static void meddle(struct sl_timer *t, void *arg)
{
	struct item *it = sl_container_of(t, struct item, timer);

	note(t, arg);
	if (it == &items[0]) {
		sl_timer_cancel(&wheel, &items[1].timer);
		arm(&items[2], now_us + 500);
		if (items[0].fired < 5)
			arm(&items[0], now_us + 640);
	}
	if (it == &items[5])
		arm(&items[5], 0); /* the past: must not hold the run for ever */
}

static void test_arm_and_cancel_inside_fire(void **state)
{
	uint64_t at = now_us + 100;

	for (unsigned i = 0; i < 4; i++)
		arm(&items[i], at);
	now_us += 200;
	assert_int_equal(sl_wheel_run(&wheel, now_us, meddle, NULL), 2); /* 0 and 3 */
	assert_int_equal(items[1].fired, 0);
	assert_int_equal(items[2].fired, 0);
	for (unsigned i = 0; i < 40; i++) {
		now_us += 100;
		sl_wheel_run(&wheel, now_us, meddle, NULL);
	}
	assert_int_equal(items[0].fired, 5);
	assert_int_equal(items[1].fired, 0);
	/* each time number 0 put it off by 500: once between its fires */
	assert_true(items[2].fired >= 1);
	assert_int_equal(wheel.armed, 0);
	arm(&items[5], now_us);
	for (unsigned i = 2; i < 6; i++) {
		now_us += 100;
		assert_int_equal(sl_wheel_run(&wheel, now_us, meddle, NULL), 1);
	}
}

/* Cancelled by the fire of another while both are being dealt out of a slot of a higher level. */
static void test_cancel_inside_a_cascade(void **state)
{
	uint64_t tick = now_us / SL_WHEEL_TICK_US, at = ((tick >> 12) + 1) << 12;

	arm(&items[0], at * SL_WHEEL_TICK_US);
	arm(&items[1], (at + 70) * SL_WHEEL_TICK_US);
	arm(&items[2], (at + 90) * SL_WHEEL_TICK_US);
	now_us = at * SL_WHEEL_TICK_US;
	assert_int_equal(sl_wheel_run(&wheel, now_us, meddle, NULL), 1);
	assert_false(sl_timer_is_armed(&items[1].timer));
	sl_timer_cancel(&wheel, &items[0].timer);
	assert_int_equal(wheel.armed, 1);
	run_until(UINT64_MAX - 1);
	assert_int_equal(items[2].fired, 1);
	assert_true(items[2].fired_us < at * SL_WHEEL_TICK_US + 500 + SL_WHEEL_TICK_US);
}

static void test_beyond_the_last_level(void **state)
{
	uint64_t day = 86400ull * 1000000;

	arm(&items[0], now_us + 400 * day);
	arm(&items[1], now_us + 49 * day);
	arm(&items[2], now_us + 51 * day);
	arm(&items[3], UINT64_MAX);
	run_until(now_us + 500 * day);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(items[i].fired, 1);
		assert_true(items[i].fired_us - items[i].at_us < SL_WHEEL_TICK_US);
	}
	assert_int_equal(items[3].fired, 0);
	assert_int_equal(wheel.armed, 1);
}

/* Time jumps: a year of nothing costs a few steps, not one for each tick. */
static void test_long_idle_is_a_few_steps(void **state)
{
	uint64_t hour = 3600ull * 1000000;
	unsigned steps;

	arm(&items[0], now_us + 1000 * hour);
	steps = run_until(now_us + 2000 * hour);
	assert_int_equal(items[0].fired, 1);
	assert_in_range(steps, 1, SL_WHEEL_LEVELS);
	for (unsigned i = 0; i < 1000000; i++) /* would take for ever otherwise */
		run_at(now_us + hour);
}

static void test_random_against_a_list(void **state)
{
	for (unsigned round = 0; round < 200000; round++) {
		struct item *it = &items[(unsigned)rand() % 50];
		unsigned what = (unsigned)rand() % 4;

		if (what < 2) {
			it->fired = 0;
			arm(it, now_us + ((uint64_t)rand() >> (rand() % 31)));
		} else if (what == 2) {
			sl_timer_cancel(&wheel, &it->timer);
			it->at_us = UINT64_MAX;
			it->fired = 1;
		} else {
			run_at(now_us + ((uint64_t)rand() >> (8 + rand() % 23)));
			for (unsigned i = 0; i < 50; i++)
				if (items[i].at_us && items[i].at_us + SL_WHEEL_TICK_US <= now_us)
					assert_int_equal(items[i].fired, 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing, setup),
		cmocka_unit_test_setup(test_never_early_at_most_a_tick_late, setup),
		cmocka_unit_test_setup(test_one_long_run_fires_in_order, setup),
		cmocka_unit_test_setup(test_cascade_at_the_first_tick_of_a_slot, setup),
		cmocka_unit_test_setup(test_past_expires_at_the_next_run, setup),
		cmocka_unit_test_setup(test_cancel_and_move, setup),
		cmocka_unit_test_setup(test_cancel_leaves_no_bits, setup),
		cmocka_unit_test_setup(test_arm_and_cancel_inside_fire, setup),
		cmocka_unit_test_setup(test_cancel_inside_a_cascade, setup),
		cmocka_unit_test_setup(test_beyond_the_last_level, setup),
		cmocka_unit_test_setup(test_long_idle_is_a_few_steps, setup),
		cmocka_unit_test_setup(test_random_against_a_list, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
