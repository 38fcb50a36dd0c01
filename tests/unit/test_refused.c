/* SPDX-License-Identifier: BSD-2-Clause */
/* When a device that was refused is asked for again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "stack/refused.h"

#define S  1000000000ull
#define T0 (100 * S)

static int begin(void **state)
{
	sl_refused_reset();
	return 0;
}

static void a_device_without_xdp_is_not_asked_for_again(void **state)
{
	assert_false(sl_refused(3, T0));
	assert_true(sl_refused_add(3, -EOPNOTSUPP, T0));
	assert_true(sl_refused(3, T0 + 1000000 * S));
	assert_false(sl_refused(4, T0));
	sl_refused_forget(3);
	assert_false(sl_refused(3, T0));
	assert_false(sl_refused_before(3));
}

static void a_busy_one_is_after_a_second_then_two(void **state)
{
	assert_true(sl_refused_add(3, -EBUSY, T0));
	assert_true(sl_refused(3, T0 + S - 1));
	assert_false(sl_refused(3, T0 + S));
	assert_true(sl_refused_before(3));
	assert_false(sl_refused_add(3, -EBUSY, T0 + S));
	assert_true(sl_refused(3, T0 + 3 * S - 1));
	assert_false(sl_refused(3, T0 + 3 * S));
}

static void a_minute_is_the_longest(void **state)
{
	uint64_t t = T0;

	for (int i = 0; i < 100; i++, t += 64 * S)
		sl_refused_add(3, -EBUSY, t);
	assert_false(sl_refused(3, t));
	assert_true(sl_refused(3, t - 1));
}

static void what_was_opened_begins_anew(void **state)
{
	sl_refused_add(3, -EBUSY, T0);
	sl_refused_add(3, -EBUSY, T0 + S);
	sl_refused_forget(3);
	assert_true(sl_refused_add(3, -EBUSY, T0 + 9 * S));
	assert_false(sl_refused(3, T0 + 10 * S));
}

static void with_more_devices_than_places_it_is_asked(void **state)
{
	for (uint32_t i = 1; i <= 64; i++)
		assert_true(sl_refused_add(i, -EOPNOTSUPP, T0));
	assert_true(sl_refused_add(65, -EOPNOTSUPP, T0));
	assert_false(sl_refused(65, T0));
	assert_true(sl_refused(64, T0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_device_without_xdp_is_not_asked_for_again, begin),
		cmocka_unit_test_setup(a_busy_one_is_after_a_second_then_two, begin),
		cmocka_unit_test_setup(a_minute_is_the_longest, begin),
		cmocka_unit_test_setup(what_was_opened_begins_anew, begin),
		cmocka_unit_test_setup(with_more_devices_than_places_it_is_asked, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
