/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims as rules of a NIC: a claim for all addresses that changes its lane, and a NIC that refuses
 * for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "ctl/device/device.h"
#include "ctl/steer/nic_rule.h"

#define RULES  8
#define QUEUES 2
#define V4(a)                                                                                      \
	{                                                                                          \
		[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (a)                         \
	}

static const uint8_t first[16] = V4(1), second[16] = V4(2);

/* The NIC. */
static struct held {
	uint8_t local[16];
	uint32_t lane;
	bool used;
} held[RULES];
static bool full;

static int may(uint32_t ifindex, const char *ifname, const char **why)
{
	return 0;
}

static int add(uint32_t ifindex, const struct sl_nic_rule *r, uint64_t *id, const char **why)
{
	unsigned i = 0;

	*why = "full";
	if (full)
		return -ENOSPC;
	while (held[i].used)
		i++;
	assert_true(i < RULES);
	held[i] = (struct held){.lane = r->lane, .used = true};
	memcpy(held[i].local, r->key.local, 16);
	*id = i + 1;
	return 0;
}

static int move(uint32_t ifindex, uint32_t lane, uint64_t id, const struct sl_claim *claim,
		uint32_t n)
{
	assert_true(id && held[id - 1].used && held[id - 1].lane == lane);
	return 0;
}

static void del(uint32_t ifindex, uint32_t lane, uint64_t id)
{
	assert_int_equal(move(ifindex, lane, id, NULL, 0), 0);
	held[id - 1].used = false;
}

static const struct sl_nic_ops ops = {.may = may, .add = add, .move = move, .del = del};

/* The lane that the only rule for the address brings packets to, -1: there is no rule. */
static int lane_of(const uint8_t local[16])
{
	int lane = -1;

	for (unsigned i = 0; i < RULES; i++) {
		if (!held[i].used || memcmp(held[i].local, local, 16) != 0)
			continue;
		assert_int_equal(lane, -1);
		lane = (int)held[i].lane;
	}
	return lane;
}

static int follow(struct sl_device *d, const struct sl_flow_key *k, uint32_t lane)
{
	const struct sl_nic_target t = {.claim = {.lane = lane * QUEUES, .slot = lane + 7}};
	const char *why;

	return sl_nic_follow(d, k, &t, 1, &why);
}

static int set_up(void **state)
{
	struct sl_device *d = sl_device_new();

	assert_non_null(d);
	d->info.ifindex = 7;
	d->info.nqueues = QUEUES;
	sl_device_add(d);
	sl_nic_ops = &ops;
	*state = d;
	return 0;
}

static int tear_down(void **state)
{
	struct sl_device *d = *state;

	sl_nic_rules_close(d);
	for (unsigned i = 0; i < RULES; i++)
		assert_false(held[i].used);
	sl_device_remove(d);
	sl_device_free(d);
	return 0;
}

static void wildcard_moves(void **state)
{
	const struct sl_flow_key k = {
		.local = {[10] = 0xff, [11] = 0xff}, .local_port = 7000, .proto = IPPROTO_UDP};
	struct sl_device *d = *state;

	sl_nic_local_add(first);
	assert_int_equal(follow(d, &k, 0), 0);
	assert_int_equal(lane_of(first), 0);
	assert_int_equal(follow(d, &k, 3), 0);
	assert_int_equal(lane_of(first), 3);
	sl_nic_local_add(second);
	assert_int_equal(lane_of(second), 3);
	sl_nic_local_del(second);
	assert_int_equal(lane_of(second), -1);
	sl_nic_local_del(first);
	assert_int_equal(lane_of(first), -1);
}

static void refused_for_a_while(void **state)
{
	struct sl_flow_key k = {.local_port = 7000, .proto = IPPROTO_UDP};
	struct sl_device *d = *state;

	memcpy(k.local, first, 16);
	assert_int_equal(follow(d, &k, 0), 0);
	full = true;
	assert_int_equal(follow(d, &k, 3), -ENOSPC);
	assert_int_equal(lane_of(first), -1);
	assert_int_equal(follow(d, &k, 0), -ENOSPC);
	full = false;
	assert_int_equal(follow(d, &k, 0), 0);
	assert_int_equal(lane_of(first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wildcard_moves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_for_a_while, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
