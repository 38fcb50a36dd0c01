/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums against the sum of RFC 1071, word by word. */
#include "packet.h"

#define MAX_LEN 2000

static uint8_t data[MAX_LEN + 16];

static void fill(unsigned seed)
{
	srandom(seed);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random();
}

/* RFC 1071 as it stands there: 16-bit words in network order, the last byte padded with zero. */
static uint16_t naive(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void test_every_length_and_alignment(void **state)
{
	for (size_t len = 0; len <= MAX_LEN; len++)
		for (size_t at = 0; at < 8; at++)
			if (sl_csum_fold(sl_csum_add(0, data + at, len)) != naive(data + at, len))
				fail_msg("length %zu at %zu", len, at);
}

static void test_extremes(void **state)
{
	static const uint8_t values[] = {0x00, 0xff, 0x01, 0x80};

	for (unsigned v = 0; v < sizeof(values); v++) {
		memset(data, values[v], sizeof(data));
		for (size_t len = 0; len <= MAX_LEN; len++)
			assert_int_equal(sl_csum_fold(sl_csum_add(0, data, len)), naive(data, len));
	}
	fill(1);
}

/* In pieces, all but the last of even length. */
static void test_pieces_add_up(void **state)
{
	for (size_t len = 1; len <= MAX_LEN; len += 7)
		for (size_t cut = 0; cut <= len; cut += 2 + len / 10 * 2) {
			uint64_t sum = sl_csum_add(0, data, cut);

			sum = sl_csum_add(sum, data + cut, len - cut);
			assert_int_equal(sl_csum_fold(sum), naive(data, len));
		}
}

/* A sum that is almost full does not lose its carry. */
static void test_carry_out_of_64_bits(void **state)
{
	static const uint8_t two[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t both[8 + 1000];

	for (size_t len = 0; len <= 1000; len++) {
		memcpy(both, two, 8);
		memcpy(both + 8, data, len);
		assert_int_equal(sl_csum_fold(sl_csum_add(UINT64_MAX, data, len)),
				 naive(both, 8 + len));
	}
	assert_int_equal(sl_csum_add64(UINT64_MAX, 1), 1);
	assert_int_equal(sl_csum_add64(1, UINT64_MAX - 1), UINT64_MAX);
}

static void test_copy_is_memcpy_and_add(void **state)
{
	uint8_t dst[MAX_LEN + 16], want[MAX_LEN + 16];

	for (size_t len = 0; len <= MAX_LEN; len++)
		for (size_t at = 0; at < 8; at += 1 + (len > 300)) {
			uint64_t sum;

			memset(dst, 0x5a, sizeof(dst));
			memset(want, 0x5a, sizeof(want));
			memcpy(want + 8 - at, data + at, len);
			sum = sl_csum_copy(12345, dst + 8 - at, data + at, len);
			if (memcmp(dst, want, sizeof(dst)) != 0)
				fail_msg("copied wrong: length %zu at %zu", len, at);
			if (sl_csum_fold(sum) != sl_csum_fold(sl_csum_add(12345, data + at, len)))
				fail_msg("length %zu at %zu", len, at);
		}
}

static int setup(void **state)
{
	fill(1);
	return 0;
}

/* 120 bytes of 'U' sum up to all ones, which once meant "no checksum" further on. */
static void test_a_sum_of_all_ones_is_not_the_mark(void **state)
{
	static const uint64_t words[] = {0x5555555555555555, UINT64_MAX, 0x1111111111111111};
	uint8_t to[120];

	for (unsigned w = 0; w < sl_array_len(words); w++) {
		for (unsigned i = 0; i < sizeof(data) / 8; i++)
			memcpy(data + i * 8, &words[w], 8);
		for (size_t len = 0; len <= sizeof(to); len++) {
			assert_true(sl_csum_add(0, data, len) != SL_CSUM_NONE);
			assert_true(sl_csum_copy(0, to, data, len) != SL_CSUM_NONE);
			assert_int_equal(sl_csum_fold(sl_csum_copy(0, to, data, len)),
					 sl_csum_fold(sl_csum_add(0, data, len)));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length_and_alignment),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_a_sum_of_all_ones_is_not_the_mark),
		cmocka_unit_test(test_pieces_add_up),
		cmocka_unit_test(test_carry_out_of_64_bits),
		cmocka_unit_test(test_copy_is_memcpy_and_add),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
