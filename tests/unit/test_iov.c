/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of pieces (struct iovec): their sum, and lengths that the kernel refuses (sock/core/iov.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "sock/core/iov.h"

#define GIB ((size_t)1 << 30)

static char at[4];

static void test_bytes(void **state)
{
	struct iovec v[3] = {{at, 1}, {at, 0}, {NULL, 3}};

	assert_int_equal(sl_iov_bytes(v, 0), 0);
	assert_int_equal(sl_iov_bytes(v, 3), 4);
	v[1].iov_len = GIB * 3;
	assert_int_equal(sl_iov_bytes(v, 3), GIB * 3 + 4);
}

/* Lengths whose sum fits in no word are still too long, and negative ones are refused before
 * addresses are looked at. */
static void test_odd(void **state)
{
	struct iovec v[3] = {{at, SIZE_MAX / 2}, {at, SIZE_MAX / 2}, {at, 2}};

	assert_true((size_t)sl_iov_bytes(v, 3) > SL_CALL_MOST);
	v[2] = (struct iovec){(void *)-64, (size_t)-1};
	assert_int_equal(sl_iov_bytes(v, 3), -EINVAL);
	v[0].iov_len = v[1].iov_len = v[2].iov_len = 1;
	assert_int_equal(sl_iov_bytes(v, 3), -EFAULT);
}

static void test_cut(void **state)
{
	struct iovec v[4] = {{at, 2}, {at + 1, GIB}, {at + 2, 2 * GIB}, {at + 3, 5}}, *cut;
	size_t n = 4;

	cut = sl_iov_cut(v, &n);
	assert_int_equal(n, 3);
	assert_int_equal(sl_iov_bytes(cut, n), SL_CALL_MOST);
	assert_ptr_equal(cut[2].iov_base, at + 2);
	assert_int_equal(cut[1].iov_len, GIB);
	assert_int_equal(v[2].iov_len, 2 * GIB);
	sl_free(cut);
	v[0].iov_len = SL_CALL_MOST; /* the rest is left out altogether */
	n = 4;
	cut = sl_iov_cut(v, &n);
	assert_int_equal(n, 1);
	sl_free(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
