/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of VLAN devices: who has which, and which claims may carry them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "../../tools/sluiced/session.h"
#include "../../tools/sluiced/sluiced.h"
#include "../../tools/sluiced/vlan.h"

static struct sl_device *a, *b;
static struct sl_session one, two;

static int get(const struct sl_device *d, uint32_t tag)
{
	return sl_embedded_vlan_get(d->info.ifindex, 100 + tag, tag, NULL);
}

static void put(const struct sl_device *d, int nr)
{
	sl_embedded_vlan_put(d->info.ifindex, (uint32_t)nr);
}

static struct sl_device *new_device(uint32_t ifindex)
{
	struct sl_device *d = sl_device_new();

	d->info.ifindex = ifindex;
	sl_device_add(d);
	return d;
}

static int begin(void **state)
{
	a = new_device(7);
	b = new_device(8);
	one = (struct sl_session){.next = &two};
	two = (struct sl_session){0};
	sluiced.sessions = &one;
	return 0;
}

static int end(void **state)
{
	sl_device_remove(a);
	sl_device_remove(b);
	sl_device_free(a);
	sl_device_free(b);
	sl_held_free(&one.held);
	return 0;
}

static struct sl_claim_req req_of(const struct sl_device *d, uint32_t tag, int nr)
{
	return (struct sl_claim_req){
		.ifindex = d->info.ifindex,
		.key = {.local_port = 80, .proto = 17, .vlan = tag},
		.claim.flags = SL_CLAIM_VLAN((uint32_t)nr),
	};
}

static bool is_sound(const struct sl_device *d, uint32_t tag, int nr)
{
	struct sl_claim_req r = req_of(d, tag, nr);

	return sl_vlan_is_sound(&one, &r);
}

static void test_a_number_is_of_one_tag_on_one_device(void **state)
{
	int nr = get(a, 5);

	assert_int_equal(nr, 1);
	assert_int_equal(get(a, 5), nr);
	assert_int_equal(get(b, 5), 2); /* a process looks up both in one table */
	assert_int_equal(get(a, 5 | SL_VLAN_AD), 3);
	assert_int_equal(get(a, 5 << 16 | 5), 4);
	put(a, nr);
	assert_int_equal(get(b, 6), nr);
	assert_int_equal(get(a, 0), -ENODEV);
	assert_int_equal(sl_embedded_vlan_get(9, 1, 5, NULL), -ENODEV);
}

static void test_numbers_run_out(void **state)
{
	for (uint32_t tag = 1; tag < SL_MAX_VLANS; tag++)
		assert_int_equal(get(tag % 2 ? a : b, tag), (int)tag);
	assert_int_equal(get(a, 1000), -ENOSPC);
	assert_int_equal(get(a, 1), 1);
	put(a, SL_MAX_VLANS);
	put(a, 2); /* the other device's */
	assert_int_equal(get(a, 1000), -ENOSPC);
	put(a, 1);
	assert_int_equal(get(a, 1000), 1);
}

static void test_a_new_number_is_not_left(void **state)
{
	int nr = get(a, 5);

	sl_embedded_vlan_leave(7, (uint32_t)nr, true);
	assert_int_equal(a->vlans_left, 1ull << nr);
	assert_int_equal(get(a, 5), nr);
	assert_int_equal(a->vlans_left, 0);
	sl_embedded_vlan_leave(7, (uint32_t)nr, true);
	put(a, nr);
	assert_int_equal(a->vlans_left, 0);
}

static void test_a_claim_carries_its_sessions_number(void **state)
{
	int five = get(a, 5), six = get(a, 6);
	struct sl_claim_req pass = req_of(a, 5, 0);

	pass.claim.flags |= SL_CLAIM_PASS;
	two.vlans = ~0ull;
	assert_true(is_sound(a, 0, 0));
	assert_false(is_sound(a, 5, five));
	assert_false(sl_vlan_is_sound(&one, &pass));
	one.vlans = 1ull << five;
	assert_true(is_sound(a, 5, five));
	assert_true(sl_vlan_is_sound(&one, &pass));
	assert_false(is_sound(a, 5, 0));
	assert_false(is_sound(a, 0, five));
	assert_false(is_sound(a, 6, five));
	assert_false(is_sound(a, 6, six));
	assert_false(is_sound(b, 5, five));
	one.vlans = ~0ull;
	assert_false(is_sound(a, 9, 9));
	assert_false(is_sound(a, 0, 9));
}

static void test_the_last_session_frees_a_number(void **state)
{
	int nr = get(a, 5), other = get(b, 6);
	struct sl_claim_req r = req_of(a, 5, nr);

	one.vlans = 1ull << nr | 1ull << other;
	two.vlans = 1ull << nr;
	assert_int_equal(sl_held_put(&one.held, &r, false, 0), 0);
	sl_vlans_drop(&one, 7);
	assert_int_equal(one.vlans, 1ull << nr | 1ull << other); /* a claim carries it */
	sl_held_del(&one.held, sl_held_find(&one.held, &r));
	sl_vlans_drop(&one, 7);
	assert_int_equal(one.vlans, 1ull << other);
	assert_int_equal(a->vlan[nr].tag, 5);
	sl_vlans_drop(&two, 0);
	assert_int_equal(a->vlan[nr].tag, 0);
	assert_int_equal(b->vlan[other].tag, 6);
}

static void test_records_without_their_other_half_are_dropped(void **state)
{
	int nr = get(a, 5), unused = get(a, 6);

	one.vlans = 1ull << nr | 1ull << 40;
	sl_vlans_adopted();
	assert_int_equal(one.vlans, 1ull << nr);
	assert_int_equal(a->vlan[nr].tag, 5);
	assert_int_equal(a->vlan[unused].tag, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_number_is_of_one_tag_on_one_device, begin,
						end),
		cmocka_unit_test_setup_teardown(test_numbers_run_out, begin, end),
		cmocka_unit_test_setup_teardown(test_a_new_number_is_not_left, begin, end),
		cmocka_unit_test_setup_teardown(test_a_claim_carries_its_sessions_number, begin,
						end),
		cmocka_unit_test_setup_teardown(test_the_last_session_frees_a_number, begin, end),
		cmocka_unit_test_setup_teardown(test_records_without_their_other_half_are_dropped,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
