/* SPDX-License-Identifier: BSD-2-Clause */
/* The intrusive list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
	int n;
	struct sl_list node;
};

static struct sl_list head;
static struct item items[4];

static int setup(void **state)
{
	sl_list_init(&head);
	for (int i = 0; i < 4; i++) {
		items[i].n = i;
		sl_list_init(&items[i].node);
	}
	return 0;
}

/* The numbers in the list, as decimal digits; both directions must agree. */
static unsigned digits(void)
{
	unsigned there = 0, back = 0, unit = 1;

	sl_list_for_each (it, &head) {
		there = there * 10 + (unsigned)sl_container_of(it, struct item, node)->n + 1;
	}
	for (struct sl_list *it = head.prev; it != &head; it = it->prev, unit *= 10)
		back += ((unsigned)sl_container_of(it, struct item, node)->n + 1) * unit;
	assert_int_equal(there, back);
	return there;
}

static void test_order(void **state)
{
	assert_true(sl_list_empty(&head));
	assert_int_equal(digits(), 0);
	sl_list_add_tail(&head, &items[0].node);
	sl_list_add_tail(&head, &items[1].node);
	assert_int_equal(digits(), 12);
	sl_list_add(&head, &items[2].node);
	assert_int_equal(digits(), 312);
	assert_false(sl_list_empty(&head));
}

static void test_delete_anywhere(void **state)
{
	for (int i = 0; i < 4; i++)
		sl_list_add_tail(&head, &items[i].node);
	sl_list_del(&items[1].node);
	assert_int_equal(digits(), 134);
	assert_true(sl_list_empty(&items[1].node)); /* points to itself again */
	sl_list_del(&items[1].node);                /* and may be deleted twice */
	sl_list_del(&items[0].node);
	sl_list_del(&items[3].node);
	assert_int_equal(digits(), 3);
	sl_list_del(&items[2].node);
	assert_true(sl_list_empty(&head));
}

static void test_delete_under_the_cursor(void **state)
{
	for (int i = 0; i < 4; i++)
		sl_list_add_tail(&head, &items[i].node);
	sl_list_for_each_safe (it, &head) {
		if (sl_container_of(it, struct item, node)->n & 1)
			sl_list_del(it);
	}
	assert_int_equal(digits(), 13);
	sl_list_for_each_safe (it, &head) {
		sl_list_del(it);
	}
	assert_true(sl_list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, setup),
		cmocka_unit_test_setup(test_delete_anywhere, setup),
		cmocka_unit_test_setup(test_delete_under_the_cursor, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
