/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of a lane's sleepers its packets wake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "stack/lead.h"

static struct sl_lane lane;

static void *lead(void *arg)
{
	for (unsigned i = 0; i <= SL_LEADS_AFTER; i++)
		sl_lane_lead(&lane);
	return NULL;
}

static void *lead_once(void *arg)
{
	sl_lane_lead(&lane);
	return NULL;
}

static void *lead_and_leave(void *arg)
{
	lead(NULL);
	sl_lane_leave(&lane);
	return NULL;
}

static void another(void *(*does)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, does, NULL), 0);
	pthread_join(thread, NULL);
}

/* A server with a thread for each connection has threads that lead only once. */
static void test_who_does_not_stay_is_not_followed(void **state)
{
	uint32_t loads = sl_lane_no_loads(&lane);

	lane.hot = true;
	another(lead_once);
	assert_false(sl_lane_is_led(&lane, &loads));
	loads = sl_lane_no_loads(&lane);
	another(lead_and_leave);
	assert_false(sl_lane_is_led(&lane, &loads));
}

static void test_followers_are_not_woken(void **state)
{
	uint32_t loads = sl_lane_no_loads(&lane);

	lane.hot = true;
	assert_false(sl_lane_is_led(&lane, &loads)); /* nobody leads yet */
	another(lead);
	loads = sl_lane_no_loads(&lane);
	assert_true(sl_lane_is_led(&lane, &loads));
	assert_false(sl_lane_is_led(&lane, &loads)); /* nothing came since */
	lane.loads++;
	assert_true(sl_lane_is_led(&lane, &loads));
	lane.hot = false;
	lane.loads++;
	assert_false(sl_lane_is_led(&lane, &loads)); /* not worth it */
	lane.hot = true;
	lane.loads++;
	lead(NULL);
	assert_false(sl_lane_is_led(&lane, &loads)); /* ourselves */
}

static void test_two_followers_are_watchful(void **state)
{
	uint64_t before = SL_FOLLOW_NS;

	assert_int_equal(sl_lane_follow(&lane), SL_FOLLOW_NS);
	assert_int_equal(sl_lane_follow(&lane), SL_FOLLOW_NS);
	for (int i = 0; i < 10000; i++) {
		uint64_t ns = sl_lane_follow(&lane);

		assert_true(ns >= before && ns < 1000000000); /* one timespec without seconds */
		before = ns;
	}
	for (int i = 0; i < 10002; i++)
		sl_lane_unfollow(&lane);
	assert_int_equal(sl_lane_follow(&lane), SL_FOLLOW_NS);
	sl_lane_unfollow(&lane);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_does_not_stay_is_not_followed),
		cmocka_unit_test(test_followers_are_not_woken),
		cmocka_unit_test(test_two_followers_are_watchful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
