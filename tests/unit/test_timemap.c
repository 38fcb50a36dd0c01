/* SPDX-License-Identifier: BSD-2-Clause */
/* Hardware time into ours, against a model of a clock: drift, steps, counters that wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timemap.h"

#define SEC 1000000000ull

/* A counter of the device that began at `began`, runs `ppb` fast, and reads true time t. */
struct model {
	uint64_t mask, khz, began;
	int64_t ppb;
};

static uint64_t count_at(const struct model *m, uint64_t t)
{
	unsigned __int128 counts = (unsigned __int128)t * m->khz / 1000000;

	counts += (unsigned __int128)((__int128)counts * m->ppb / 1000000000);
	return ((uint64_t)counts + m->began) & m->mask;
}

static uint64_t off_by(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* For `secs` seconds a pair each second, and between them stamps up to half a second old: how far
 * from the truth the worst was, once the rate is known. */
static uint64_t worst_of(const struct model *m, unsigned secs, uint64_t zero)
{
	struct sl_timemap map;
	uint64_t worst = 0;

	sl_timemap_init(&map, m->mask, m->khz);
	for (unsigned s = 1; s <= secs; s++) {
		uint64_t now = s * SEC;

		sl_timemap_pair(&map, count_at(m, now), zero + now);
		for (unsigned k = 0; s > 2 && k < 15; k++) {
			uint64_t t = now - SEC / 2 + k * SEC / 10;
			uint64_t got = sl_timemap_ns(&map, count_at(m, t));

			worst = sl_max(worst, off_by(got, zero + t));
		}
	}
	return worst;
}

static void test_drift(void **state)
{
	static const int64_t ppb[] = {0, 100, -100, 50000, -50000, 300000, -300000};

	for (unsigned i = 0; i < sl_array_len(ppb); i++) {
		struct model m = {(1ull << 63) - 1, 156250, 12345, ppb[i]};

		assert_true(worst_of(&m, 100, 1700000000 * SEC) <= 10); /* a count is 6.4 ns */
	}
}

/* The first stamps, before a rate could be measured, are as good as the crystal. */
static void test_first(void **state)
{
	struct model m = {UINT64_MAX, 1000000, 0, 100000};
	struct sl_timemap map;

	sl_timemap_init(&map, m.mask, m.khz);
	sl_timemap_pair(&map, count_at(&m, SEC), 5 * SEC);
	assert_int_equal(sl_timemap_ns(&map, count_at(&m, SEC)), 5 * SEC);
	assert_true(off_by(sl_timemap_ns(&map, count_at(&m, SEC + SEC / 100)),
			   5 * SEC + SEC / 100) <= 1001);
}

static void test_wraps(void **state)
{
	static const uint64_t masks[] = {UINT32_MAX, (1ull << 48) - 1, (1ull << 63) - 1,
					 UINT64_MAX};
	static const uint64_t khz[] = {156250, 1000000};

	for (unsigned i = 0; i < sl_array_len(masks); i++)
		for (unsigned k = 0; k < sl_array_len(khz); k++) {
			/* it wraps within the first seconds, and 32 bits many times */
			struct model m = {masks[i], khz[k], masks[i] - 3 * khz[k] * 1000, 20000};

			assert_true(worst_of(&m, 60, 77 * SEC) <= 10);
		}
}

/* 64 bits of nanoseconds, such as a PHC's, in terms of the system's clock. */
static void test_phc(void **state)
{
	struct model m = {UINT64_MAX, 1000000, 1700000037 * SEC, -15000};

	assert_true(worst_of(&m, 30, 1700000000 * SEC) <= 2);
}

static void test_step(void **state)
{
	static const int64_t steps[] = {37 * (int64_t)SEC, -37 * (int64_t)SEC, 2000000, -2000000};
	struct model m = {UINT64_MAX, 156250, 0, 40000};
	struct sl_timemap map;

	for (unsigned i = 0; i < sl_array_len(steps); i++) {
		uint64_t zero = 1000 * SEC, rate;

		sl_timemap_init(&map, m.mask, m.khz);
		for (unsigned s = 1; s < 10; s++)
			sl_timemap_pair(&map, count_at(&m, s * SEC), zero + s * SEC);
		rate = map.rate;
		zero += (uint64_t)steps[i];
		sl_timemap_pair(&map, count_at(&m, 10 * SEC), zero + 10 * SEC);
		assert_int_equal(map.rate, rate);
		assert_true(off_by(sl_timemap_ns(&map, count_at(&m, 10 * SEC + SEC / 2)),
				   zero + 10 * SEC + SEC / 2) <= 10);
		sl_timemap_pair(&map, count_at(&m, 11 * SEC), zero + 11 * SEC);
		assert_true(off_by(sl_timemap_ns(&map, count_at(&m, 11 * SEC + SEC / 2)),
				   zero + 11 * SEC + SEC / 2) <= 10);
	}
}

/* After a pause in which a short counter went round, the pair gives no rate: the earlier one stays.
 */
static void test_pause(void **state)
{
	struct model m = {UINT32_MAX, 1000000, 99, 30000}; /* 4.3 s a round */
	struct sl_timemap map;
	uint64_t rate;

	sl_timemap_init(&map, m.mask, m.khz);
	sl_timemap_pair(&map, count_at(&m, 1 * SEC), 1 * SEC);
	sl_timemap_pair(&map, count_at(&m, 2 * SEC), 2 * SEC);
	rate = map.rate;
	sl_timemap_pair(&map, count_at(&m, 602 * SEC), 602 * SEC);
	assert_int_equal(map.rate, rate);
	assert_true(off_by(sl_timemap_ns(&map, count_at(&m, 602 * SEC + SEC / 4)),
			   602 * SEC + SEC / 4) <= 10);
	assert_true(sl_timemap_good_ns(&map) <= 1100000000 && sl_timemap_good_ns(&map) >= SEC / 2);
}

/* Pairs come in quick succession, and each reading is some hundred nanoseconds off. */
static void test_jitter(void **state)
{
	struct model m = {UINT64_MAX, 1000000, 0, 25000};
	struct sl_timemap map;
	uint64_t seed = 1, worst = 0;

	sl_timemap_init(&map, m.mask, m.khz);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t t = SEC + i * (SEC / 100), off;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		sl_timemap_pair(&map, count_at(&m, t), t + (seed >> 33) % 400);
		off = off_by(sl_timemap_ns(&map, count_at(&m, t)), t);
		worst = i > 50 ? sl_max(worst, off) : 0;
	}
	assert_true(worst < 2000);
}

/* The conversion is that of mlx5dv_ts_to_ns(). */
static void test_timecounter(void **state)
{
	struct sl_timecounter c = {
		.ns = 1000 * SEC,
		.raw = (1ull << 48) - 1000,
		.mask = (1ull << 48) - 1,
		.mult = (uint32_t)((1000000ull << 24) / 156250),
		.shift = 24,
	};

	assert_int_equal(sl_timecounter_ns(&c, c.raw), 1000 * SEC);
	assert_true(off_by(sl_timecounter_ns(&c, c.raw + 156), 1000 * SEC + 998) <= 1);
	/* wrapped, and older */
	assert_true(off_by(sl_timecounter_ns(&c, 999000), 1000 * SEC + 6400000) <= 1);
	assert_true(off_by(sl_timecounter_ns(&c, c.raw - 1000000), 1000 * SEC - 6400000) <= 1);
	/* More than mlx5dv_ts_to_ns() itself can reckon: 10000 s, to the precision of mult. */
	assert_true(off_by(sl_timecounter_ns(&c, c.raw + 156250000ull * 10000), 11000 * SEC) <
		    10000 * SEC / 100000000);
}

static void test_best_reading(void **state)
{
	struct sl_ptp_reading r[] = {{100, 5000, 900}, {1000, 5900, 1100}, {2000, 7000, 2500}};
	uint64_t phc, real;

	sl_ptp_best(r, sl_array_len(r), &phc, &real);
	assert_int_equal(phc, 5900);
	assert_int_equal(real, 1050);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drift),        cmocka_unit_test(test_first),
		cmocka_unit_test(test_wraps),        cmocka_unit_test(test_phc),
		cmocka_unit_test(test_step),         cmocka_unit_test(test_pause),
		cmocka_unit_test(test_jitter),       cmocka_unit_test(test_timecounter),
		cmocka_unit_test(test_best_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
