/* SPDX-License-Identifier: BSD-2-Clause */
/* The row of pieces beyond a hole: against a plain array, and that a piece costs about the same
 * wherever it comes among many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/heap.h"
#include "tcp/tcp_ooo.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX 3000

static uint32_t want[MAX], nwant;
static uint64_t state_ = 1;

static uint32_t rnd(uint32_t below)
{
	state_ = state_ * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state_ >> 32) * below >> 32);
}

static struct sl_ooo *row_new(void)
{
	struct sl_ooo *o = sl_malloc(sizeof(*o));

	assert_non_null(o);
	memset(o, 0, sizeof(*o));
	return o;
}

static void check(const struct sl_ooo *o)
{
	struct sl_ooo_at at = sl_ooo_first(o);
	uint32_t n = 0, before = UINT32_MAX;

	for (struct sl_oooseg *e; (e = sl_ooo_piece(o, at)); at = sl_ooo_next(o, at), n++) {
		assert_in_range(n, 0, nwant - 1);
		assert_int_equal(e->seq, want[n]);
		if (n)
			assert_int_equal(sl_ooo_before(o, at)->seq, want[n - 1]);
		else
			assert_null(sl_ooo_before(o, at));
	}
	assert_int_equal(n, nwant);
	if (n)
		assert_int_equal(sl_ooo_last(o)->seq, want[n - 1]);
	for (uint32_t b = 0; b < o->nblocks; b++) {
		assert_in_range(o->block[b]->n, 1, o->block[b]->size);
		if (b && o->block[b - 1]->size == SL_OOO_BLOCK)
			assert_in_range(before + o->block[b]->n, SL_OOO_BLOCK / 2 + 1,
					2 * SL_OOO_BLOCK);
		before = o->block[b]->n;
	}
}

static uint32_t place_of(uint32_t seq)
{
	uint32_t i = 0;

	while (i < nwant && want[i] + 1 <= seq)
		i++;
	return i;
}

static void put(struct sl_ooo *o, uint32_t seq)
{
	uint32_t i = place_of(seq);
	struct sl_oooseg *e;

	if (nwant == MAX || (i < nwant && want[i] == seq))
		return;
	e = sl_ooo_put(o, sl_ooo_find(o, seq));
	assert_non_null(e);
	*e = (struct sl_oooseg){.seq = seq, .len = 1};
	memmove(want + i + 1, want + i, (nwant - i) * sizeof(*want));
	want[i] = seq;
	nwant++;
}

static void cut(struct sl_ooo *o, uint32_t seq)
{
	struct sl_ooo_at at = sl_ooo_find(o, seq);
	uint32_t i = place_of(seq);
	const struct sl_oooseg *next;

	if (i == nwant) {
		assert_null(sl_ooo_piece(o, at));
		return;
	}
	assert_int_equal(sl_ooo_piece(o, at)->seq, want[i]);
	sl_ooo_cut(o, &at);
	nwant--;
	memmove(want + i, want + i + 1, (nwant - i) * sizeof(*want));
	next = sl_ooo_piece(o, at);
	if (i < nwant)
		assert_int_equal(next->seq, want[i]);
	else
		assert_null(next);
}

static void test_like_an_array(void **state)
{
	for (uint32_t run = 0; run < 60; run++) {
		struct sl_ooo *o = row_new();
		uint32_t range = 100 + rnd(100000), bias = rnd(9);

		nwant = 0;
		for (uint32_t i = 0; i < 6000; i++) {
			uint32_t seq = run % 3 == 0 ? i : rnd(range);

			if (rnd(10) <= bias)
				put(o, seq);
			else if (run % 2)
				cut(o, rnd(range));
			else
				cut(o, 0); /* a hole at the front is filled */
			if (i % 101 == 0)
				check(o);
		}
		check(o);
		while (nwant) {
			sl_ooo_cut_last(o);
			nwant--;
		}
		check(o);
		assert_int_equal(o->nblocks, 0);
		sl_ooo_free(o);
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ns for a piece that comes before n others and is taken out again; the best of many. */
static uint64_t cost(uint32_t n)
{
	struct sl_ooo *o = row_new();
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++)
		*sl_ooo_put(o, sl_ooo_find(o, 1000000 + 2 * i)) =
			(struct sl_oooseg){.seq = 1000000 + 2 * i, .len = 1};
	for (uint32_t round = 0; round < 30; round++) {
		uint64_t begun = cpu_ns();

		for (uint32_t i = 0; i < 500; i++)
			*sl_ooo_put(o, sl_ooo_find(o, 1000 - 2 * i)) =
				(struct sl_oooseg){.seq = 1000 - 2 * i, .len = 1};
		for (uint32_t i = 0; i < 500; i++) {
			struct sl_ooo_at at = sl_ooo_first(o);

			sl_ooo_cut(o, &at);
		}
		best = sl_min(best, (cpu_ns() - begun) / 500);
	}
	sl_ooo_free(o);
	return best;
}

static void test_cost_does_not_grow(void **state)
{
	uint64_t few = cost(100), some = cost(1000), many = cost(40000);

	print_message("           %lu ns among 100 pieces, %lu among 1,000, %lu among 40,000\n",
		      (unsigned long)few, (unsigned long)some, (unsigned long)many);
	assert_in_range(many, 0, 8 * some + 100); /* one array: 40 times as much */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_an_array),
		cmocka_unit_test(test_cost_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
