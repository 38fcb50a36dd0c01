/* SPDX-License-Identifier: BSD-2-Clause */
/* When a packet of a rate may go: how much leaves, and what is measured of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pace.h"

#define RATE  62500u /* bytes a second */
#define BYTES 1250u  /* 20 ms of it */
#define MS    1000000ull

/* A sender who always has something, looked after by somebody who comes up to `late_ms` too late.
 * Returns the bytes that left in `ns`. */
static uint64_t run(struct sl_pace *p, uint64_t ns, unsigned late_ms)
{
	uint64_t begin_ns = 1000 * MS, now_ns = begin_ns, bytes = 0;
	unsigned seed = 1;

	sl_pace_idle(p, now_ns);
	while (now_ns < begin_ns + ns) {
		for (; sl_pace_may(p, now_ns); bytes += BYTES)
			sl_pace_sent(p, BYTES, now_ns, true);
		seed = seed * 1103515245 + 12345;
		now_ns = p->next_ns + (late_ms ? (seed >> 16) % (late_ms * 1000) * 1000 : 0);
	}
	return bytes;
}

static uint64_t measured(const struct sl_pace *p)
{
	return p->busy_bytes * 1000000000 / p->busy_ns;
}

static void test_in_time(void **state)
{
	struct sl_pace p = {.bytes_s = RATE};

	assert_int_equal(run(&p, 10000 * MS, 0), 10 * RATE);
	assert_int_equal(measured(&p), RATE);
}

/* Up to SL_PACE_LATE_NS all is made up for. */
static void test_late(void **state)
{
	struct sl_pace p = {.bytes_s = RATE};

	assert_in_range(run(&p, 100000 * MS, 9), 100 * RATE - 2 * BYTES, 100 * RATE + BYTES);
	assert_in_range(measured(&p), RATE * 0.99, RATE * 1.01);
}

/* A sender that is later than that loses some of its rate, and does not exceed the rate to make up
 * for it. */
static void test_too_late(void **state)
{
	for (unsigned late_ms = 12; late_ms < 60; late_ms += 6) {
		struct sl_pace p = {.bytes_s = RATE}, b = {.bytes_s = RATE, .burst_bytes = 5000};

		assert_in_range(run(&p, 100000 * MS, late_ms), 1, 100 * RATE);
		assert_in_range(measured(&p), RATE * 0.8, RATE * 1.01);
		assert_in_range(run(&b, 100000 * MS, late_ms), 1, 100 * RATE + 5000);
		assert_in_range(measured(&b), RATE * 0.8, RATE * 1.01);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
