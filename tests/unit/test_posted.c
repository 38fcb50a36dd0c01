/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames that wait on a fill ring, and how many of them are out of order (io/xsk.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/xsk.h"

#define SIZE 1024u

static uint64_t addr[SIZE];
static uint32_t producer, consumer, flags;
static struct sl_xsk_queue queue = {.fill = {&producer, &consumer, &flags, addr, SIZE}};
static struct sl_xsk xsk = {.q = &queue};

/* Puts n frames on the ring from index at on, each of `row` in order and the next row before it. */
static struct sl_xsk_posted posted(uint32_t at, uint32_t n, uint32_t row)
{
	struct sl_xsk_posted p = {0};

	for (uint32_t i = 0; i < n; i++)
		addr[(at + i) % SIZE] = (SIZE - i / row * row + i % row) * 2048ull;
	consumer = at;
	producer = at + n;
	sl_xsk_read_posted(&xsk, &p);
	return p;
}

static void test_none(void **state)
{
	struct sl_xsk_posted p = posted(7, 0, 1);

	assert_int_equal(p.frames, 0);
	assert_int_equal(p.looked_at, 0);
}

static void test_in_order(void **state)
{
	struct sl_xsk_posted p = posted(0, 100, 100);

	assert_int_equal(p.frames, 100);
	assert_int_equal(p.looked_at, 100);
	assert_int_equal(p.jumps, 0);
}

static void test_rows_across_the_end_of_the_ring(void **state)
{
	struct sl_xsk_posted p = posted(SIZE - 30, 100, 10);

	assert_int_equal(p.frames, 100);
	assert_int_equal(p.jumps, 9);
}

static void test_indices_wrap(void **state)
{
	assert_int_equal(posted(UINT32_MAX - 9, 100, 1).jumps, 99);
}

/* A member of the group that writes what it likes into the indices. */
static void test_no_such_indices(void **state)
{
	struct sl_xsk_posted p = {0};

	consumer = 5;
	producer = 3;
	sl_xsk_read_posted(&xsk, &p);
	assert_int_equal(p.frames, SIZE);
	assert_in_range(p.looked_at, 1, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_rows_across_the_end_of_the_ring),
		cmocka_unit_test(test_indices_wrap),
		cmocka_unit_test(test_no_such_indices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
