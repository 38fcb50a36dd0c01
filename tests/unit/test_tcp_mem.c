/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that acknowledges a byte now and then is told from one that takes what waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tcp/tcp_conn.h"
#include "tcp/tcp_mem.h"

#define WAITS  (8u * 1448)
#define FIRST  0xfffffff0u /* numbers wrap */
#define MINUTE 60u

static bool is_slow(const struct sl_tcp *c, struct sl_tcp_look *l, uint32_t now_ms)
{
	bool slow = false;

	sl_tcp_judge(c, l, now_ms, &slow);
	return slow;
}

/* The second in which the connection is found slow, looked at once a second; 0: it is not within a
 * minute. The peer takes so many bytes a second, and the program writes as many again. */
static uint32_t found_slow(uint32_t taken, uint32_t now_ms)
{
	struct sl_tcp c = {.snd_una = FIRST, .write_seq = FIRST + WAITS};
	struct sl_tcp_look look = {0};

	for (uint32_t s = 1; s <= MINUTE; s++) {
		if (is_slow(&c, &look, now_ms))
			return s;
		c.snd_una += taken;
		c.write_seq += taken;
		now_ms += 1000;
	}
	return 0;
}

static void test_a_byte_now_and_then_is_no_progress(void **state)
{
	assert_in_range(found_slow(1, 5000), 2, 8);
	assert_in_range(found_slow(0, 5000), 2, 8);
	assert_in_range(found_slow(WAITS / 40, 5000), 2, 8);
	assert_in_range(found_slow(1, 0xfffff000u), 2, 8); /* the clock wraps */
}

static void test_a_peer_that_takes_what_waits_stays(void **state)
{
	assert_int_equal(found_slow(WAITS / 10, 5000), 0);
	assert_int_equal(found_slow(WAITS, 5000), 0);
	assert_int_equal(found_slow(1000 * WAITS, 5000), 0);
}

/* Nothing waited at the look; what is written later has its own time. */
static void test_idle_time_does_not_count(void **state)
{
	struct sl_tcp c = {.snd_una = FIRST, .write_seq = FIRST};
	struct sl_tcp_look look = {0};

	assert_false(is_slow(&c, &look, 1000));
	c.write_seq += WAITS;
	assert_false(is_slow(&c, &look, 9000));
	assert_false(is_slow(&c, &look, 10000));
	assert_false(is_slow(&c, &look, 60000)); /* the look is of another shortage */
	assert_false(is_slow(&c, &look, 61000));
	assert_true(is_slow(&c, &look, 65000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_byte_now_and_then_is_no_progress),
		cmocka_unit_test(test_a_peer_that_takes_what_waits_stays),
		cmocka_unit_test(test_idle_time_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
