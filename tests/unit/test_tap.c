/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a capture: a tool that writes nonsense into it harms nothing, and what has no room is
 * counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "io/tap.h"

#define BYTES SL_TAP_MIN_BYTES
#define GUARD 4096u

static const struct sl_tap_at at = {.ifindex = 3, .lane = 1, .port = 2};

static uint8_t *begin(int *nr)
{
	const struct sl_tap_ask ask = {.magic = SL_TAP_MAGIC,
				       .version = SL_TAP_VERSION,
				       .bytes = BYTES,
				       .snap = 2000,
				       .lane = SL_TAP_ANY};
	uint8_t *mem = aligned_alloc(64, SL_TAP_HEAD + BYTES + GUARD);

	assert_non_null(mem);
	memset(mem, 0, SL_TAP_HEAD + BYTES);
	memset(mem + SL_TAP_HEAD + BYTES, 0xa5, GUARD);
	assert_true(sl_tap_ask_is_good(&ask));
	*nr = sl_tap_begin(&ask, mem);
	assert_true(*nr >= 0 && sl_taps_on());
	return mem;
}

static void put(uint32_t len)
{
	static const uint8_t bytes[3000];
	const struct sl_tap_piece piece = {bytes, len};

	sl_tap_put(&at, &(struct sl_tap_pkt){.piece = &piece, .n = 1, .flags = SL_TAP_IN});
}

static void end(uint8_t *mem, int nr)
{
	for (uint32_t i = 0; i < GUARD; i++)
		assert_int_equal(mem[SL_TAP_HEAD + BYTES + i], 0xa5);
	sl_tap_end(nr);
	assert_false(sl_taps_on());
	free(mem);
}

static void test_full_ring_counts(void **state)
{
	int nr;
	uint8_t *mem = begin(&nr);
	const struct sl_tap_head *h = (const struct sl_tap_head *)mem;

	for (uint32_t i = 0; i < BYTES / 1024; i++)
		put(1024 - 64);
	assert_int_equal(h->lost[2], 0);
	put(1);
	assert_int_equal(h->lost[2], 1);
	end(mem, nr);
}

static void test_hostile_tool(void **state)
{
	int nr;
	uint8_t *mem = begin(&nr);
	struct sl_tap_head *h = (struct sl_tap_head *)mem;

	srandom(1);
	for (uint32_t i = 0; i < 200000; i++) {
		h->tail = i % 3 ? (uint64_t)random() << (random() % 33) : h->tail + 2048;
		if (i % 7 == 0)
			memset(mem + SL_TAP_HEAD + (uint32_t)random() % (BYTES - 64), 0xff, 64);
		put((uint32_t)random() % 3000);
	}
	end(mem, nr);
}

static void test_bad_requests(void **state)
{
	struct sl_tap_ask ask = {.magic = SL_TAP_MAGIC, .version = SL_TAP_VERSION, .bytes = BYTES};

	assert_true(sl_tap_ask_is_good(&ask));
	ask.bytes = BYTES + 64;
	assert_false(sl_tap_ask_is_good(&ask));
	ask.bytes = 2 * SL_TAP_MAX_BYTES;
	assert_false(sl_tap_ask_is_good(&ask));
	ask.bytes = 0;
	assert_false(sl_tap_ask_is_good(&ask));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_ring_counts),
		cmocka_unit_test(test_hostile_tool),
		cmocka_unit_test(test_bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
