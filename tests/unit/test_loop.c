/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake wire: packets arrive when they are due, and what a seed does it does again. */
#include "packet.h"

#include "io/loop.h"

#define DEPTH 256

static struct sl_frames cache;
static struct sl_loop wire;

static int setup(void **state)
{
	pool_setup();
	cache.n = 0;
	assert_int_equal(sl_loop_init(&wire, DEPTH, 1), 0);
	for (int i = 0; i < 2; i++)
		assert_true(wire.end[i].rx.ops->refill(&wire.end[i].rx, &cache));
	return 0;
}

static int teardown(void **state)
{
	sl_loop_fini(&wire, &cache);
	assert_int_equal(pool_free(&cache), POOL_FRAMES); /* none was lost or doubled */
	return 0;
}

/* A packet of one number from end 0; false: the ring is full. */
static bool send_number(uint32_t number)
{
	struct sl_tx *tx = &wire.end[0].tx;
	struct sl_tx_desc d = {.frame = sl_frame_get(&cache), .off = 100, .len = 64};

	assert_int_not_equal(d.frame, SL_NO_FRAME);
	memset(sl_frame_ptr(d.frame) + d.off, 0, d.len);
	memcpy(sl_frame_ptr(d.frame) + d.off, &number, 4);
	if (tx->ops->post(tx, &d, 1) == 1) {
		assert_int_equal(tx->ops->kick(tx), 0);
		return true;
	}
	sl_frame_put(&cache, d.frame);
	return false;
}

/* Takes the numbers that have arrived at end 1, in order. */
static unsigned receive(uint32_t *numbers, unsigned max)
{
	struct sl_rx *rx = &wire.end[1].rx;
	struct sl_rx_desc d;
	unsigned n = 0;

	while (n < max && rx->ops->burst(rx, &d, 1) == 1) {
		assert_int_equal(d.len, 64);
		memcpy(&numbers[n++], sl_frame_ptr(d.frame) + d.off, 4);
		sl_frame_put(&cache, d.frame);
	}
	rx->ops->refill(rx, &cache);
	wire.end[0].tx.ops->reap(&wire.end[0].tx, &cache);
	return n;
}

static void test_perfect_wire_keeps_all_in_order(void **state)
{
	uint32_t got[64];

	assert_string_equal(wire.end[0].tx.ops->name, "loop");
	assert_int_equal(wire.end[1].rx.ops->fd(&wire.end[1].rx), -1);
	for (uint32_t i = 0; i < 20 * 64; i += 64) {
		for (uint32_t j = 0; j < 64; j++)
			assert_true(send_number(i + j));
		assert_int_equal(wire.end[0].tx.unreaped, 64);
		assert_int_equal(receive(got, 64), 64);
		assert_int_equal(wire.end[0].tx.unreaped, 0);
		for (uint32_t j = 0; j < 64; j++)
			assert_int_equal(got[j], i + j);
	}
	assert_int_equal(sl_loop_next_ns(&wire), UINT64_MAX);
}

static void test_delay_is_to_the_nanosecond(void **state)
{
	uint32_t got[2];

	wire.end[0].path.delay_ns = 1000;
	sl_loop_set_now(&wire, 5000);
	assert_true(send_number(7));
	assert_int_equal(sl_loop_next_ns(&wire), 6000);
	sl_loop_set_now(&wire, 5999);
	assert_int_equal(receive(got, 2), 0);
	sl_loop_set_now(&wire, 4000); /* time does not go back */
	assert_int_equal(wire.now_ns, 5999);
	sl_loop_set_now(&wire, 6000);
	assert_int_equal(receive(got, 2), 1);
	assert_int_equal(got[0], 7);
}

static void test_reordered_ones_come_later(void **state)
{
	uint32_t got[3];

	wire.end[0].path = (struct sl_loop_path){.reorder_ppm = 1000000, .reorder_ns = 50};
	assert_true(send_number(1));
	wire.end[0].path.reorder_ppm = 0;
	assert_true(send_number(2));
	assert_true(send_number(3));
	sl_loop_set_now(&wire, 50);
	assert_int_equal(receive(got, 3), 3);
	assert_int_equal(got[0], 2);
	assert_int_equal(got[1], 3);
	assert_int_equal(got[2], 1);
	assert_int_equal(wire.end[0].late, 1);
}

/* Sends a thousand over a bad wire; the sum tells one fate of all from another. */
static uint64_t fate(uint64_t seed, uint32_t *arrived)
{
	uint32_t got[DEPTH];
	uint64_t sum = 0;

	wire.end[0].rng = seed;
	wire.end[0].path = (struct sl_loop_path){.loss_ppm = 100000,
						 .dup_ppm = 50000,
						 .reorder_ppm = 200000,
						 .reorder_ns = 30,
						 .jitter_ns = 10};
	*arrived = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(send_number(i));
		sl_loop_set_now(&wire, wire.now_ns + 10);
		for (unsigned n = receive(got, DEPTH), j = 0; j < n; j++, ++*arrived)
			sum = sum * 31 + got[j] + 1;
	}
	sl_loop_set_now(&wire, wire.now_ns + 100);
	for (unsigned n = receive(got, DEPTH), j = 0; j < n; j++, ++*arrived)
		sum = sum * 31 + got[j] + 1;
	return sum;
}

static void test_a_seed_repeats_itself(void **state)
{
	uint32_t n1, n2, n3;
	uint64_t f1 = fate(42, &n1), f2 = fate(42, &n2), f3 = fate(43, &n3);
	const struct sl_loop_end *e = &wire.end[0];

	assert_int_equal(f1, f2);
	assert_int_equal(n1, n2);
	assert_int_not_equal(f1, f3);
	assert_int_equal(e->sent, 3000);
	assert_int_equal(n1 + n2 + n3, e->sent - e->lost + e->doubled);
	assert_in_range(e->lost, 200, 400);
	assert_in_range(e->doubled, 80, 200);
	assert_in_range(e->late, 450, 700);
}

static void test_damage_is_one_bit(void **state)
{
	struct sl_rx *rx = &wire.end[1].rx;
	struct sl_rx_desc d;
	unsigned bits = 0;

	wire.end[0].path.corrupt_ppm = 1000000;
	assert_true(send_number(0));
	assert_int_equal(rx->ops->burst(rx, &d, 1), 1);
	for (unsigned i = 0; i < d.len; i++)
		bits += (unsigned)__builtin_popcount(sl_frame_ptr(d.frame)[d.off + i]);
	assert_int_equal(bits, 1);
	assert_int_equal(wire.end[0].damaged, 1);
	sl_frame_put(&cache, d.frame);
}

static bool odd_only(void *arg, uint8_t *pkt, uint16_t len)
{
	++*(int *)arg;
	memset(pkt - SL_LOOP_HEADROOM, 0xaa, SL_LOOP_HEADROOM); /* all of it may be used */
	return pkt[0] & 1;
}

static void test_steering_chooses(void **state)
{
	uint32_t got[4];
	int asked = 0;

	wire.end[0].path.steer = odd_only;
	wire.end[0].path.steer_arg = &asked;
	for (uint32_t i = 0; i < 4; i++)
		assert_true(send_number(i));
	assert_int_equal(receive(got, 4), 2);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[1], 3);
	assert_int_equal(asked, 4);
	assert_int_equal(wire.end[0].refused, 2);
}

static void test_full_rings(void **state)
{
	uint32_t got[DEPTH + 1];

	for (uint32_t i = 0; i < DEPTH; i++)
		assert_true(send_number(i));
	assert_false(send_number(DEPTH)); /* nobody reaped */
	assert_int_equal(wire.end[0].tx.ops->reap(&wire.end[0].tx, &cache), DEPTH);
	assert_true(send_number(DEPTH)); /* posted, but the receiver has no frame left */
	assert_int_equal(wire.end[0].no_frames, 1);
	assert_int_equal(receive(got, DEPTH + 1), DEPTH);
	assert_int_equal(got[DEPTH - 1], DEPTH - 1);
}

static void test_device_down(void **state)
{
	struct sl_tx *tx = &wire.end[0].tx;
	struct sl_tx_desc d = {.frame = sl_frame_get(&cache), .off = 100, .len = 64};
	uint32_t got[1];

	wire.end[0].down = true;
	assert_int_equal(tx->ops->post(tx, &d, 1), 1);
	assert_int_equal(tx->ops->kick(tx), -ENETDOWN);
	assert_int_equal(receive(got, 1), 0);
}

/* teardown() counts the frames that were left in every list. */
static void test_nothing_leaks(void **state)
{
	wire.end[0].path.delay_ns = 1000;
	for (uint32_t i = 0; i < 10; i++)
		assert_true(send_number(i));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_perfect_wire_keeps_all_in_order),
		T(test_delay_is_to_the_nanosecond),
		T(test_reordered_ones_come_later),
		T(test_a_seed_repeats_itself),
		T(test_damage_is_one_bit),
		T(test_steering_chooses),
		T(test_full_rings),
		T(test_device_down),
		T(test_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
