/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue of a socket: order, bounds, filters. */
#include "packet.h"

#include "udp/udp.h"

static struct sl_frames cache;
static struct sl_lane_stats lane_stats;
static struct sl_sock_stats stats;
static struct sl_udp u;
static struct sl_in in;
static unsigned told;

static void on_data(struct sl_udp *udp)
{
	assert_ptr_equal(udp, &u);
	told++;
}

static int setup_frames(uint32_t nframes)
{
	pool_setup_n(nframes);
	cache.n = 0;
	told = 0;
	memset(&stats, 0, sizeof(stats));
	memset(&lane_stats, 0, sizeof(lane_stats));
	u = (struct sl_udp){.rcvbuf = 1 << 20, .stats = &stats, .on_data = on_data};
	in = (struct sl_in){.cache = &cache, .stats = &lane_stats, .ifindex = 3};
	return 0;
}

static int setup(void **state)
{
	return setup_frames(POOL_FRAMES);
}

static int teardown(void **state)
{
	sl_udp_fini(&u, &cache);
	assert_int_equal(stats.rx_queue_pkts, 0);
	assert_int_equal(stats.rx_queue_bytes, 0);
	assert_int_equal(u.charged, 0);
	assert_int_equal(pool_free(&cache), sl_pool.nframes);
	return 0;
}

/* A datagram of len bytes that begins with a number, as the way in hands it over. */
static bool deliver(const struct sl_udp_build *b, uint32_t number, uint16_t len)
{
	uint8_t data[1500] = {0};
	struct sl_rx_desc d;
	struct sl_meta m;
	bool kept;

	memcpy(data, &number, sizeof(number));
	d = packet(&cache, b, data, len, 0, 1);
	memcpy(&m, sl_frame_ptr(d.frame) + d.off - sizeof(m), sizeof(m));
	in.frame = d.frame;
	in.off = d.off;
	in.pkt = (struct sl_pkt){
		.data = sl_frame_ptr(d.frame) + d.off, .len = d.len, .l3 = m.l3, .l4 = m.l4};
	assert_int_equal(sl_parse_udp(&in.pkt, false), SL_PARSE_OK);
	kept = sl_udp_input(&u, &in);
	if (!kept)
		sl_frame_put(&cache, d.frame);
	return kept;
}

static bool deliver_number(uint32_t number)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	return deliver(&b, number, 64);
}

static uint32_t pop_number(void)
{
	const struct sl_dgram *d = sl_udp_peek(&u);
	uint32_t number;

	assert_non_null(d);
	memcpy(&number, sl_dgram_data(d), sizeof(number));
	sl_udp_pop(&u, &cache);
	return number;
}

static void test_first_in_first_out(void **state)
{
	uint32_t in_no = 0, out_no = 0;

	assert_null(sl_udp_peek(&u));
	assert_null(u.ring); /* an idle socket costs nothing */
	srandom(1);
	for (int i = 0; i < 200; i++) {
		for (long n = random() % 8; n; n--)
			assert_true(deliver_number(in_no++));
		for (long n = random() % 8; n && out_no < in_no; n--)
			assert_int_equal(pop_number(), out_no++);
		assert_int_equal(sl_udp_queued(&u), in_no - out_no);
	}
	while (out_no < in_no)
		assert_int_equal(pop_number(), out_no++);
	assert_int_equal(told, in_no);
	assert_int_equal(stats.rx_pkts, in_no);
	assert_int_equal(stats.rx_bytes, in_no * 64);
}

/* The ring grows with data at both sides of its end, and at the wrap of the counters. */
static void test_ring_grows_in_order(void **state)
{
	for (uint32_t start = 0; start < 9; start++) {
		sl_udp_fini(&u, &cache);
		u.head = u.tail = UINT32_MAX - 20 + start;
		for (uint32_t i = 0; i < 100; i++)
			assert_true(deliver_number(i));
		assert_int_equal(u.size, 128);
		for (uint32_t i = 0; i < 100; i++) {
			const struct sl_dgram *d = sl_udp_peek_at(&u, i);
			uint32_t number;

			memcpy(&number, sl_dgram_data(d), sizeof(number));
			assert_int_equal(number, i);
		}
		assert_null(sl_udp_peek_at(&u, 100));
		for (uint32_t i = 0; i < 100; i++)
			assert_int_equal(pop_number(), i);
	}
}

static void test_what_is_kept_of_a_datagram(void **state)
{
	struct sl_udp_build b = udp_between("2001:db8::1", 1000, "2001:db8::2", 2000);
	struct sl_addr src, dst;
	struct sl_dgram *d;
	uint16_t sport;

	b.tos = 0x2c;
	b.ttl = 9;
	in.stamp = SL_META_SW;
	in.stamp_ns = 77;
	assert_true(deliver(&b, 5, 100));
	d = sl_udp_peek(&u);
	assert_int_equal(d->len, 100);
	assert_int_equal(d->tos, 0x2c);
	assert_int_equal(d->ttl, 9);
	assert_int_equal(d->stamp, SL_META_SW);
	assert_int_equal(d->stamp_ns, 77);
	assert_int_equal(d->ifindex, 3);
	assert_true(d->v6);
	sl_dgram_addrs(d, &src, &sport, &dst);
	assert_true(sl_addr_eq(&src, &b.src));
	assert_true(sl_addr_eq(&dst, &b.dst));
	assert_int_equal(sport, 1000);
}

static void test_empty_datagram(void **state)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1, "10.0.0.2", 2);

	assert_true(deliver(&b, 0, 0));
	assert_int_equal(sl_udp_peek(&u)->len, 0);
	assert_int_equal(sl_udp_queued(&u), 1);
}

/* The most datagrams in the queue, and after the counters are set to zero, the most since. */
static void test_deepest_queue_is_counted(void **state)
{
	static const unsigned deep[] = {1, 3, 2, 9, 20}; /* (beyond the ring's first size, too) */
	unsigned most = 0;

	for (unsigned i = 0; i < sl_array_len(deep); i++) {
		for (uint32_t n = 0; n < deep[i]; n++)
			assert_true(deliver_number(n));
		while (sl_udp_queued(&u))
			sl_udp_pop(&u, &cache);
		most = sl_max(most, deep[i]);
		assert_int_equal(stats.rx_queue_max_pkts, most);
	}
	stats.rx_queue_max_pkts = u.deepest = 0;
	for (uint32_t n = 0; n < 5; n++)
		assert_true(deliver_number(n));
	assert_int_equal(stats.rx_queue_max_pkts, 5);
}

/* Like the kernel's: full once past the limit, so the last datagram may exceed it, and one
 * fits into any buffer. */
static void test_receive_buffer_bounds_the_queue(void **state)
{
	uint32_t n = 0;

	u.rcvbuf = 10000;
	while (deliver_number(n))
		n++;
	assert_int_equal(n, 10000 / (64 + SL_DGRAM_OVERHEAD) + 1);
	assert_true(u.charged > u.rcvbuf);
	assert_int_equal(u.drops, 1);
	assert_int_equal(stats.rx_drops, 1);
	assert_int_equal(stats.rx_drop_bytes, 64);
	assert_int_equal(stats.rx_queue_max_pkts, n);
	assert_int_equal(pop_number(), 0);
	assert_true(deliver_number(n)); /* room again */
	assert_false(deliver_number(n + 1));
	assert_int_equal(u.drops, 2);
	assert_int_equal(stats.rx_drop_bytes, 2 * 64);
	assert_int_equal(stats.rx_queue_max_pkts, n);
	assert_int_equal(lane_stats.rx_stale, 0);
	sl_udp_fini(&u, &cache);
	u.rcvbuf = 0;
	assert_true(deliver_number(1));
	assert_false(deliver_number(2));
}

static int setup_few(void **state)
{
	return setup_frames(256);
}

/* Half of what is free; but sixteen always. */
static void test_a_socket_never_holds_all_frames(void **state)
{
	struct sl_udp other;
	uint32_t n = 0;

	while (deliver_number(n))
		n++;
	/* held > free / 2, where the cache's frames do not count as free */
	assert_in_range(n, (256 - 2 * SL_FRAME_BATCH) / 3, 256 / 3 + 2);
	assert_int_equal(stats.rx_mem_drops, 1);
	assert_int_equal(stats.rx_drops, 0);
	assert_int_equal(u.drops, 1);
	other = u; /* another socket gets its share of the rest */
	u = (struct sl_udp){.rcvbuf = 1 << 20, .stats = &stats, .on_data = on_data};
	for (uint32_t i = 0; i < 16; i++)
		assert_true(deliver_number(i));
	sl_udp_fini(&u, &cache);
	u = other;
}

/* Many sockets that nobody reads leave frames for others: small datagrams share some. */
static void test_many_sockets_leave_frames(void **state)
{
	enum { SOCKS = 400, EACH = 10 };
	static struct sl_udp sock[SOCKS];

	cache.floor = SL_FRAME_FLOOR;
	for (uint32_t k = 0; k < SOCKS; k++) {
		u = (struct sl_udp){.rcvbuf = 1 << 20, .stats = &stats, .on_data = on_data};
		for (uint32_t i = 0; i < EACH; i++) {
			assert_true(deliver_number(k * EACH + i) || i > 3);
			sl_frames_count(&cache); /* as when fill rings are filled */
		}
		assert_true(pool_free(&cache) >= POOL_FRAMES / 16);
		sock[k] = u;
	}
	for (uint32_t k = 0; k < SOCKS; k++) {
		u = sock[k];
		assert_true(sl_udp_queued(&u) >= 4);
		for (uint32_t i = 0; sl_udp_queued(&u); i++)
			assert_int_equal(pop_number(), k * EACH + i);
		sl_udp_fini(&u, &cache);
	}
	cache.floor = 0;
	sl_frames_flush(&cache, 0);
}

static void test_connected_takes_its_peer_only(void **state)
{
	struct sl_udp_build peer = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);
	struct sl_udp_build port = udp_between("10.0.0.1", 1001, "10.0.0.2", 2000);
	struct sl_udp_build host = udp_between("10.0.0.9", 1000, "10.0.0.2", 2000);
	struct sl_udp_build v6 = udp_between("::a00:1", 1000, "::a00:2", 2000);

	u.connected = true;
	u.remote = addr("10.0.0.1");
	u.remote_port = 1000;
	assert_true(deliver(&peer, 1, 64));
	assert_false(deliver(&port, 2, 64));
	assert_false(deliver(&host, 3, 64));
	assert_false(deliver(&v6, 4, 64));
	assert_int_equal(lane_stats.rx_stale, 3);
	assert_int_equal(u.drops, 0); /* they were never ours */
	assert_int_equal(told, 1);
	u.connected = false;
	assert_true(deliver(&host, 5, 64));
}

static void test_what_comes_after_shutdown_is_taken(void **state)
{
	u.rx_shut = true;
	assert_true(deliver_number(1));
	assert_int_equal(told, 1);
}

/* A record that names the slot of a socket on another lane, whose lock we do not hold. */
static void test_packets_of_other_lanes_are_refused(void **state)
{
	int other;

	in.lane = &in;
	u.lane = &other;
	assert_false(deliver_number(1));
	assert_int_equal(lane_stats.rx_stale, 1);
	u.lane = &in;
	assert_true(deliver_number(2));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_first_in_first_out),
		T(test_ring_grows_in_order),
		T(test_what_is_kept_of_a_datagram),
		T(test_empty_datagram),
		T(test_deepest_queue_is_counted),
		T(test_receive_buffer_bounds_the_queue),
		cmocka_unit_test_setup_teardown(test_a_socket_never_holds_all_frames, setup_few,
						teardown),
		T(test_many_sockets_leave_frames),
		T(test_connected_takes_its_peer_only),
		T(test_what_comes_after_shutdown_is_taken),
		T(test_packets_of_other_lanes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
