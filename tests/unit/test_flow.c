/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot table: numbers are used again, generations are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "net/flow.h"

#define SLOTS 1000

static void test_all_slots_then_no_more(void **state)
{
	static uint8_t seen[SLOTS];

	for (int i = 0; i < SLOTS; i++) {
		int s = sl_slot_new();

		assert_in_range(s, 0, SLOTS - 1);
		assert_int_equal(seen[s]++, 0);
		assert_int_not_equal(sl_slots[s].gen, 0); /* an empty record matches nothing */
		assert_int_equal(sl_slots[s].kind, SL_SLOT_FREE);
	}
	assert_int_equal(sl_slot_new(), -ENOSPC);
	assert_int_equal(sl_slot_new(), -ENOSPC);
	for (uint32_t s = 0; s < SLOTS; s++)
		sl_slot_free(s);
}

static void test_set_and_free(void **state)
{
	int s = sl_slot_new(), again;
	uint32_t gen = sl_slots[s].gen;

	sl_slot_set((uint32_t)s, SL_SLOT_UDP, &s);
	assert_int_equal(sl_slots[s].kind, SL_SLOT_UDP);
	assert_ptr_equal(sl_slots[s].obj, &s);
	assert_int_equal(sl_slots[s].gen, gen);
	sl_slot_free((uint32_t)s);
	assert_int_equal(sl_slots[s].kind, SL_SLOT_FREE);
	assert_int_not_equal(sl_slots[s].gen, gen);
	/* A thread that looked at the slot a moment before may still look at the object. */
	assert_ptr_equal(sl_slots[s].obj, &s);
	again = sl_slot_new(); /* the last freed is the first used, under a new generation */
	assert_int_equal(again, s);
	assert_int_equal(sl_slots[s].gen, gen + 1);
	sl_slot_free((uint32_t)s);
}

static uint32_t holders[SLOTS];

static void *churn(void *arg)
{
	for (int i = 0; i < 50000; i++) {
		int s = sl_slot_new();

		if (s < 0 || __atomic_fetch_add(&holders[s], 1, __ATOMIC_RELAXED) != 0)
			return "a slot was had twice";
		sl_slot_set((uint32_t)s, SL_SLOT_UDP, &holders[s]);
		__atomic_fetch_sub(&holders[s], 1, __ATOMIC_RELAXED);
		sl_slot_free((uint32_t)s);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t t[4];
	void *ret;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &ret);
		if (ret)
			fail_msg("%s", (const char *)ret);
	}
}

static int setup(void **state)
{
	return sl_slots_init(SLOTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_slots_then_no_more),
		cmocka_unit_test(test_set_and_free),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
