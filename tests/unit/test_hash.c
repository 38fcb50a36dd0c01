/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of values in a row spread over a table with any key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

#define PLACES 512
#define EACH   4 /* of a place: the table has room for this many */
#define KEYS   400

/* How many of n values the table has room for, values that come late to a full place being lost. */
static unsigned fits(uint32_t (*hash)(const struct sl_hash_key *, unsigned), unsigned n)
{
	uint8_t used[PLACES] = {0};
	struct sl_hash_key key = {{0}};
	unsigned all = 0;

	sl_hash_key_make(&key);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *u = &used[hash(&key, i) % PLACES];

		all += *u < EACH;
		*u += *u < EACH;
	}
	return all;
}

static uint32_t host_of_a_network(const struct sl_hash_key *key, unsigned i)
{
	struct sl_addr a = sl_addr_v4(htonl(0x0a000001 + (i << 8)));

	return sl_hash_addr(key, 7, &a);
}

static uint32_t port_of_a_host(const struct sl_hash_key *key, unsigned i)
{
	struct sl_addr a = sl_addr_v4(htonl(0x0a000001));

	return sl_hash_addr(key, (40000 + i) << 16 | 7000, &a);
}

static uint32_t interface_id(const struct sl_hash_key *key, unsigned i)
{
	struct sl_addr a = {.w = {htonl(0x20010db8), 0, htonl(i), htonl(1)}};

	return sl_hash_addr(key, 7, &a);
}

static uint32_t source_on_a_device(const struct sl_hash_key *key, unsigned i)
{
	return sl_hash_two(key, htonl(0x0a000000 + i), 3);
}

/* Values drawn at random, three times as many as there is room for, leave one place in a hundred
 * free. */
static void test_values_in_a_row(void **state)
{
	static uint32_t (*const hashes[])(const struct sl_hash_key *, unsigned) = {
		host_of_a_network, port_of_a_host, interface_id, source_on_a_device};

	for (unsigned h = 0; h < sl_array_len(hashes); h++)
		for (unsigned i = 0; i < KEYS; i++)
			assert_in_range(fits(hashes[h], 3 * PLACES * EACH),
					PLACES * EACH * 96 / 100, PLACES * EACH);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
