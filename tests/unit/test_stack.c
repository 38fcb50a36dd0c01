/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns of lanes over the fake wire, and packets that cross from lane to lane. */
#include "packet.h"

#include <pthread.h>

#include "base/heap.h"
#include "base/settings.h"
#include "io/loop.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "udp/udp.h"

#define DEPTH 64

/* A lane with one leg, whose receive queue is the second end of a wire. */
struct host {
	struct sl_lane lane;
	struct sl_lane_stats stats;
	struct sl_port port;
	struct sl_leg *leg;
	struct sl_loop wire;
	struct sl_cross cross[256];
	struct sl_udp udp; /* the lane's socket */
	struct sl_sock_stats sock_stats;
	uint32_t slot, fan;
	uint32_t sent, got;       /* numbers to and from this host */
	uint32_t next[2];         /* the next number from each sender */
	uint32_t gaps, backwards; /* in what the socket got */
};
static struct host host[2];

/* The leg holds XSKs; here they stand for the ends of wires. */
static struct host *host_of(struct sl_rx *rx)
{
	return rx == &host[0].leg->xsk[0].rx ? &host[0] : &host[1];
}

static unsigned burst(struct sl_rx *rx, struct sl_rx_desc *d, unsigned n)
{
	struct sl_rx *end = &host_of(rx)->wire.end[1].rx;

	return end->ops->burst(end, d, n);
}

static bool refill(struct sl_rx *rx, struct sl_frames *cache)
{
	struct sl_rx *end = &host_of(rx)->wire.end[1].rx;

	return end->ops->refill(end, cache);
}

static const struct sl_rx_ops rx_ops = {.name = "shim", .burst = burst, .refill = refill};

static void no_news(struct sl_udp *u)
{
	(void)u;
}

/* To the lane's socket, and to the other lane's. */
static bool fan_input(void *obj, struct sl_in *in)
{
	struct host *h = obj, *other = &host[h == &host[0]];

	assert_ptr_equal(in->lane, &h->lane);
	sl_lane_cross(&h->lane, &other->lane, other->slot, in, false);
	sl_frame_ref(in->frame);
	if (!sl_udp_input(&h->udp, in))
		sl_frame_put(in->cache, in->frame);
	return false;
}

static void host_init(struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->lane.stats = &h->stats;
	h->lane.cross = h->cross;
	h->lane.max_cross = sl_array_len(h->cross);
	sl_list_init(&h->lane.blocked);
	sl_list_init(&h->lane.reaped);
	assert_int_equal(sl_loop_init(&h->wire, DEPTH, 1), 0);
	h->leg = sl_calloc(1, sizeof(*h->leg) + sizeof(h->leg->xsk[0]));
	h->leg->port = &h->port;
	h->leg->lane = &h->lane;
	h->leg->nqueues = 1;
	h->leg->tx = &h->wire.end[0].tx; /* what it sends comes back */
	h->leg->xsk[0].rx.ops = &rx_ops;
	refill(&h->leg->xsk[0].rx, &h->lane.frames);
	h->lane.leg[0] = h->leg;
	h->lane.nlegs = 1;
	h->udp = (struct sl_udp){
		.rcvbuf = 1 << 20, .lane = &h->lane, .stats = &h->sock_stats, .on_data = no_news};
	h->slot = (uint32_t)sl_slot_new();
	sl_slot_set(h->slot, SL_SLOT_UDP, &h->udp);
	h->fan = (uint32_t)sl_slot_new();
	sl_slot_set(h->fan, SL_SLOT_FAN, h);
}

static int setup(void **state)
{
	pool_setup();
	if (!sl_slots)
		assert_int_equal(sl_slots_init(64), 0);
	sl_in_register(SL_SLOT_UDP, sl_udp_input);
	sl_in_register(SL_SLOT_FAN, fan_input);
	sl_settings.cq_poll_batch_max = 16;
	host_init(&host[0]);
	host_init(&host[1]);
	return 0;
}

static int teardown(void **state)
{
	uint32_t there = sl_frames_left();

	for (int i = 0; i < 2; i++) {
		struct host *h = &host[i];

		assert_int_equal(h->lane.ncross, 0);
		sl_udp_fini(&h->udp, &h->lane.frames);
		sl_loop_fini(&h->wire, &h->lane.frames);
		sl_frames_flush(&h->lane.frames, 0);
		sl_slot_free(h->slot);
		sl_slot_free(h->fan);
		sl_free(h->leg);
	}
	assert_true(sl_frames_left() >= there);
	assert_int_equal(sl_frames_left(), POOL_FRAMES);
	for (uint32_t i = 0; i < POOL_FRAMES; i++)
		assert_int_equal(sl_frame_refs(i), 0);
	return 0;
}

struct numbered {
	uint32_t from, number;
};

static bool write_record(void *arg, uint8_t *pkt, uint16_t len)
{
	memcpy(pkt - sizeof(struct sl_meta), arg, sizeof(struct sl_meta));
	return true;
}

/* A numbered datagram for the slot onto the host's wire. False: no room. */
static bool send_to(struct host *h, uint32_t slot)
{
	struct sl_udp_build b = udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);
	struct numbered n = {(uint32_t)(h - host), h->sent};
	static __thread struct sl_meta m;
	struct sl_udp_hdr hdr;
	uint8_t *payload, *f;
	uint32_t frame;
	bool sent = false;

	assert_true(sl_lane_lock(&h->lane));
	frame = sl_lane_frame(&h->lane);
	if (frame != SL_NO_FRAME) {
		sl_build_udp_hdr(&hdr, &b);
		payload = sl_frame_ptr(frame) + 256;
		memcpy(payload, &n, sizeof(n));
		f = sl_build_udp(&hdr, payload, sizeof(n), 1, sl_csum_add(0, payload, sizeof(n)));
		m = (struct sl_meta){.magic = SL_META_MAGIC,
				     .proto = IPPROTO_UDP,
				     .l3 = hdr.l3,
				     .l4 = hdr.l4,
				     .slot = slot,
				     .gen = sl_slots[slot].gen};
		h->wire.end[0].path.steer = write_record;
		h->wire.end[0].path.steer_arg = &m;
		sent = h->wire.end[1].nfill &&
		       sl_leg_post(h->leg, frame, (uint16_t)(f - sl_frame_ptr(frame)),
				   (uint16_t)(hdr.len + sizeof(n)));
		if (sent)
			h->sent++;
		else
			sl_frame_put(&h->lane.frames, frame);
		sl_leg_kick(h->leg);
	}
	sl_lane_unlock(&h->lane);
	return sent;
}

/* Takes everything out of the host's socket; says whether the numbers of each sender rise. */
static void drain(struct host *h)
{
	const struct sl_dgram *d;

	assert_true(sl_lane_lock(&h->lane));
	while ((d = sl_udp_peek(&h->udp))) {
		struct numbered n;

		memcpy(&n, sl_dgram_data(d), sizeof(n));
		h->gaps += n.number > h->next[n.from];
		h->backwards += n.number < h->next[n.from];
		if (n.number >= h->next[n.from])
			sl_store_release(&h->next[n.from], n.number + 1);
		h->got++;
		sl_udp_pop(&h->udp, &h->lane.frames);
	}
	sl_lane_unlock(&h->lane);
}

static void test_a_turn_delivers(void **state)
{
	assert_int_equal(sl_lane_turn(&host[0].lane), 0);
	for (int i = 0; i < 20; i++)
		assert_true(send_to(&host[0], host[0].slot));
	assert_int_equal(sl_lane_turn(&host[0].lane), 16); /* a batch */
	assert_int_equal(sl_lane_turn(&host[0].lane), 4);
	drain(&host[0]);
	assert_int_equal(host[0].got, 20);
	assert_int_equal(host[0].gaps + host[0].backwards, 0);
	assert_int_equal(host[0].stats.rx_pkts, 20);
	assert_int_equal(host[0].stats.tx_pkts, 20);
	assert_int_equal(host[1].stats.rx_pkts, 0);
}

static void test_ring_full_and_reaped(void **state)
{
	host[0].wire.end[0].path.loss_ppm = 1000000;
	for (int i = 0; i < 10 * DEPTH; i++)
		assert_true(send_to(&host[0], host[0].slot)); /* kicks reap every 32 */
	assert_int_equal(host[0].stats.tx_ring_full, 0);
}

/* All frames were elsewhere when the last packet came, so no other can come. */
static void test_fill_ring_that_ran_dry(void **state)
{
	struct sl_loop_end *rx = &host[0].wire.end[1];
	static uint32_t held[POOL_FRAMES];
	uint32_t n = 0, f;

	while (rx->nfill > 1)
		held[n++] = rx->fill[--rx->nfill];
	assert_true(send_to(&host[0], host[0].slot));
	while ((f = sl_lane_frame(&host[0].lane)) != SL_NO_FRAME)
		held[n++] = f;
	assert_int_equal(sl_lane_turn(&host[0].lane), 1);
	assert_int_equal(rx->nfill, 0);
	while (n)
		sl_frame_put(&host[0].lane.frames, held[--n]);
	assert_int_equal(sl_lane_turn(&host[0].lane), 0);
	assert_int_equal(rx->nfill, DEPTH);
	assert_true(send_to(&host[0], host[0].slot));
	assert_int_equal(sl_lane_turn(&host[0].lane), 1);
	drain(&host[0]);
}

static void test_device_that_is_gone(void **state)
{
	host[0].wire.end[0].gone = true;
	assert_int_equal(sl_leg_kick(host[0].leg), -ENODEV);
	assert_true(host[0].leg->dead);
}

/* A frame on the ring of a link that is down goes out later: sent by the kernel, too, it came
 * twice (net/change.sh). */
static void test_link_down_is_not_the_end(void **state)
{
	host[0].wire.end[0].down = true;
	assert_int_equal(sl_leg_kick(host[0].leg), 0);
	assert_false(host[0].leg->dead);
}

static void test_one_packet_to_two_lanes(void **state)
{
	assert_true(send_to(&host[0], host[0].fan));
	assert_int_equal(sl_lane_turn(&host[0].lane), 1);
	drain(&host[0]);
	drain(&host[1]);
	assert_int_equal(host[0].got, 1);
	assert_int_equal(host[1].got, 1);
	assert_int_equal(host[0].stats.rx_crossed, 1);
	assert_int_equal(host[1].sock_stats.rx_pkts, 1);
}

static bool second_is_moving;

/* (sock/dgram/migrate.c) */
static void to_second(struct sl_udp *u, struct sl_in *in)
{
	assert_ptr_equal(u, &host[1].udp);
	sl_lane_cross(in->lane, u->lane, host[1].slot, in, second_is_moving);
}

static void take_all(struct sl_lane *lane)
{
	while (sl_lane_turn_locked(lane) > 0)
		;
}

/* A packet for a socket of the second lane comes by the first one's ring. */
static void by_the_first_ring(void)
{
	assert_true(send_to(&host[0], host[1].slot));
	assert_int_equal(sl_lane_turn(&host[0].lane), 1);
}

static void test_a_queue_never_was_here(void **state)
{
	by_the_first_ring();
	assert_int_equal(sl_udp_queued(&host[1].udp), 0);
	assert_int_equal(host[0].stats.rx_stale, 1);
}

static uint32_t sender_at(uint32_t place)
{
	struct numbered n;

	memcpy(&n, sl_dgram_data(sl_udp_peek_at(&host[1].udp, place)), sizeof(n));
	return n.from;
}

/* The socket has left the first lane; its claim was late. */
static void test_a_queue_has_moved_away(void **state)
{
	sl_udp_elsewhere = to_second;
	second_is_moving = false;
	host[1].udp.moved = true;
	assert_true(send_to(&host[1], host[1].slot));
	by_the_first_ring();
	assert_int_equal(sl_udp_queued(&host[1].udp), 1);
	assert_int_equal(sender_at(0), 0);
	assert_int_equal(host[0].stats.rx_stale, 0);
	assert_int_equal(sl_lane_turn(&host[1].lane), 1);
	assert_int_equal(sl_udp_queued(&host[1].udp), 2);
}

/* The socket is on its way to the first lane, by whose ring its packets come already: what waits on
 * the second one's is older. */
static void test_a_queue_is_about_to_move_here(void **state)
{
	sl_udp_elsewhere = to_second;
	sl_lane_catch_up = take_all;
	second_is_moving = true;
	host[1].udp.moved = true;
	for (int i = 0; i < 20; i++) /* more than a batch */
		assert_true(send_to(&host[1], host[1].slot));
	by_the_first_ring();
	assert_int_equal(sl_udp_queued(&host[1].udp), 21);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(sender_at(i), 1);
	assert_int_equal(sender_at(20), 0);
}

/* The other socket was closed meanwhile. */
static void test_crossing_to_a_closed_socket(void **state)
{
	assert_true(send_to(&host[0], host[0].fan));
	assert_true(sl_lane_lock(&host[0].lane));
	assert_int_equal(sl_lane_turn_locked(&host[0].lane), 1);
	assert_int_equal(host[0].lane.ncross, 1);
	sl_slot_free(host[1].slot);
	sl_lane_unlock(&host[0].lane);
	assert_int_equal(host[1].sock_stats.rx_pkts, 0);
	host[1].slot = (uint32_t)sl_slot_new();
}

/* More than one flush takes, and more than there is room for. */
static void test_many_cross_at_once(void **state)
{
	static struct sl_in in;
	uint32_t frame;

	assert_true(sl_lane_lock(&host[0].lane));
	frame = sl_lane_frame(&host[0].lane);
	in = (struct sl_in){.cache = &host[0].lane.frames, .frame = frame, .lane = &host[0].lane};
	in.pkt.ttl = 64;
	for (unsigned i = 0; i < 256 + 10; i++)
		sl_lane_cross(&host[0].lane, &host[1].lane, host[1].slot, &in, false);
	sl_frame_put(&host[0].lane.frames, frame);
	sl_lane_unlock(&host[0].lane);
	assert_int_equal(host[0].stats.rx_no_frames, 10);
	assert_int_equal(sl_udp_queued(&host[1].udp), 256);
}

/* Two threads on each lane, all packets to both sockets: nothing is lost, nothing comes twice, and
 * each sender's order stays. */
#define PACKETS 20000
#define WINDOW  100 /* under way at most, so that no list runs over */
static uint32_t done;

static bool may_send(const struct host *h)
{
	uint32_t i = (uint32_t)(h - host), least = sl_load_acquire(&host[0].next[i]);

	least = sl_min(least, sl_load_acquire(&host[1].next[i]));
	return h->sent - least < WINDOW;
}

static void *run(void *arg)
{
	struct host *h = &host[(uintptr_t)arg & 1];

	while (h->sent < PACKETS) {
		if (may_send(h))
			send_to(h, h->fan);
		sl_lane_turn(&h->lane);
		drain(h);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *help(void *arg)
{
	struct host *h = &host[(uintptr_t)arg & 1];

	while (sl_load_acquire(&done) != 2) {
		sl_lane_turn(&h->lane);
		drain(h);
	}
	return NULL;
}

static void test_threads_on_lanes_that_cross(void **state)
{
	pthread_t t[4];

	done = 0;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, i < 2 ? run : help, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++) {
		while (sl_lane_turn(&host[i & 1].lane))
			;
		drain(&host[0]);
		drain(&host[1]);
	}
	for (int i = 0; i < 2; i++) {
		const struct host *h = &host[i];

		if (h->backwards)
			fail_msg("%u datagrams out of order", h->backwards);
		assert_int_equal(h->udp.drops, 0);
		assert_int_equal(h->gaps, 0);
		assert_int_equal(h->got, 2 * PACKETS);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_turn_delivers),
		T(test_ring_full_and_reaped),
		T(test_fill_ring_that_ran_dry),
		T(test_device_that_is_gone),
		T(test_link_down_is_not_the_end),
		T(test_one_packet_to_two_lanes),
		T(test_a_queue_never_was_here),
		T(test_a_queue_has_moved_away),
		T(test_a_queue_is_about_to_move_here),
		T(test_crossing_to_a_closed_socket),
		T(test_many_cross_at_once),
		T(test_threads_on_lanes_that_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
