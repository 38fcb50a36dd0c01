/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of processors: masks, lists, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cpus.h"

/* The set as a list of numbers, "" when it is empty. */
static const char *parsed(const char *text, int expected)
{
	static char out[8192];
	cpu_set_t set;
	size_t n = 0;

	memset(&set, 0xff, sizeof(set));
	assert_int_equal(sl_cpus_parse(text, &set), expected);
	out[0] = 0;
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%zu", n ? "," : "", i);
	return out;
}

static void test_masks(void **state)
{
	assert_string_equal(parsed("0x1", 0), "0");
	assert_string_equal(parsed("0xF0", 0), "4,5,6,7");
	assert_string_equal(parsed("0X80000001", 0), "0,31");
	assert_string_equal(parsed("0x10000000000000000", 0), "64");
	assert_string_equal(parsed("0x00000000000000002", 0), "1");
}

static void test_lists(void **state)
{
	assert_string_equal(parsed("0", 0), "0");
	assert_string_equal(parsed("1,3", 0), "1,3");
	assert_string_equal(parsed("0,4,7-10", 0), "0,4,7,8,9,10");
	assert_string_equal(parsed("5-5,2", 0), "2,5");
	assert_string_equal(parsed("1023", 0), "1023");
}

static void test_no_choice(void **state)
{
	assert_string_equal(parsed("-1", -ENOENT), "");
	assert_string_equal(parsed("", -ENOENT), "");
}

static void test_wrong(void **state)
{
	static const char *const wrong[] = {
		"0x",   "0xg", "0x0",   "a",   "1,",   ",1",     "3-1",
		"1-",   "-2",  "1-2-3", "1 2", "1024", "1-1024", "99999999999999999999",
		"0x1 ",
	};

	for (size_t i = 0; i < sl_array_len(wrong); i++)
		assert_string_equal(parsed(wrong[i], -EINVAL), "");
	/* A bit too far is refused, however many digits it takes. */
	char big[2 + 257 + 1] = "0x1";

	memset(big + 3, '0', 256);
	assert_string_equal(parsed(big, -EINVAL), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_no_choice),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
