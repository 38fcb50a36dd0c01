/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP on lanes: two lanes of one process talk over the fake wire, by turns, by calls with the lane
 * held, and by what the keeper does when nobody makes a turn. */
#include <errno.h>

#include "packet.h"

#include "base/clock.h"
#include "base/settings.h"
#include "io/loop.h"
#include "stack/stack.h"

#define DEPTH 256
#define BYTES 300000

struct end {
	struct sl_lane *lane;
	struct sl_port port;
	struct sl_leg *leg;
	struct sl_loop_end *wire;
	struct sl_tcp c;
	struct sl_tcp_listener listener;
	struct sl_tcp_hdr hdr; /* of what it sends */
	uint32_t slot;
	uint32_t events;
	uint32_t refuse; /* so many segments find no room */
	struct sl_addr addr;
	uint16_t port_no;
};
static struct end end[2];
static struct sl_loop wire;

static struct end *end_of(const struct sl_tcp_host *h)
{
	return h->owner == end[0].lane ? &end[0] : &end[1];
}

/* The leg holds XSKs; here they stand for the ends of the wire. */
static struct sl_rx *wire_of(struct sl_rx *rx)
{
	return rx == &end[0].leg->xsk[0].rx ? &wire.end[0].rx : &wire.end[1].rx;
}

static unsigned burst(struct sl_rx *rx, struct sl_rx_desc *d, unsigned n)
{
	sl_loop_set_now(&wire, sl_now_ns());
	rx = wire_of(rx);
	return rx->ops->burst(rx, d, n);
}

static bool refill(struct sl_rx *rx, struct sl_frames *cache)
{
	rx = wire_of(rx);
	return rx->ops->refill(rx, cache);
}

static const struct sl_rx_ops rx_ops = {.name = "shim", .burst = burst, .refill = refill};

/* What the core wants of the world --------------------------------------------------------------
 */

static bool put(struct end *e, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		uint64_t sum)
{
	uint8_t *base = sl_frame_ptr(frame);
	uint8_t *f = sl_build_tcp(&e->hdr, seg, base + off, 1, sum);

	return sl_leg_post(e->leg, frame, (uint16_t)(f - base),
			   (uint16_t)(base + off + seg->len - f));
}

static bool send_bare(struct end *e, const struct sl_tcp_seg *seg)
{
	uint32_t f = sl_lane_frame(e->lane);

	if (f == SL_NO_FRAME)
		return false;
	if (put(e, seg, f, SL_TCP_HEADROOM, 0))
		return true;
	sl_frame_put(&e->lane->frames, f);
	return false;
}

static bool op_send(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    uint64_t sum)
{
	struct end *e = end_of(c->host);

	if (e->refuse && e->refuse--)
		return false;
	if (frame == SL_NO_FRAME)
		return send_bare(e, seg);
	assert_int_equal(off, SL_TCP_HEADROOM);
	sl_frame_ref(frame);
	if (put(e, seg, frame, off, sum))
		return true;
	sl_frame_put(&e->lane->frames, frame);
	return false;
}

static bool op_reply(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		     const struct sl_tcp_seg *seg, void *from)
{
	send_bare(end_of(h), seg);
	return true;
}

static void op_event(struct sl_tcp *c, uint32_t events)
{
	end_of(c->host)->events |= events;
}

static struct sl_tcp *op_child_new(struct sl_tcp_listener *l, const struct sl_tcp_key *key)
{
	struct end *e = l->owner;

	memset(&e->c, 0, sizeof(e->c));
	return &e->c;
}

static void op_child_free(struct sl_tcp *c)
{
	sl_tcp_fini(c);
}

static void op_accept_ready(struct sl_tcp_listener *l)
{
	struct end *e = l->owner;

	e->events |= SL_TCP_EV_CONNECTED;
}

static uint16_t op_route_mss(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	return 1460;
}

static void op_count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
}

static const struct sl_tcp_ops ops = {
	.send = op_send,
	.reply = op_reply,
	.event = op_event,
	.child_new = op_child_new,
	.child_free = op_child_free,
	.accept_ready = op_accept_ready,
	.route_mss = op_route_mss,
	.count = op_count,
};

static bool tcp_input(void *obj, struct sl_in *in)
{
	struct end *e = obj;
	struct sl_tcp_key key = {.lport = sl_get_be16(in->pkt.data + in->pkt.l4 + 2),
				 .rport = sl_get_be16(in->pkt.data + in->pkt.l4)};

	assert_ptr_equal(in->lane, e->lane);
	sl_pkt_daddr(&in->pkt, &key.local);
	sl_pkt_saddr(&in->pkt, &key.remote);
	return sl_tcp_input(e->lane->tcp, &key, &in->seg, in->frame,
			    (uint16_t)(in->off + in->pkt.payload), &e->listener, in);
}

/* The steering program of the receiving end. */
static bool steer(void *arg, uint8_t *pkt, uint16_t len)
{
	const struct end *to = arg;
	struct sl_meta m = {
		.magic = SL_META_MAGIC,
		.proto = IPPROTO_TCP,
		.l3 = 14,
		.l4 = 34,
		.slot = to->slot,
		.gen = sl_slots[to->slot].gen,
	};

	memcpy(pkt - sizeof(m), &m, sizeof(m));
	return true;
}

/* Ends ------------------------------------------------------------------------------------------
 */

static void end_init(int i)
{
	struct end *e = &end[i], *peer = &end[!i];
	struct sl_udp_build b = i == 0 ? udp_between("10.0.0.1", 1000, "10.0.0.2", 2000)
				       : udp_between("10.0.0.2", 2000, "10.0.0.1", 1000);

	e->addr = b.src;
	e->port_no = b.sport;
	e->lane = sl_lane_pick(1, i);
	e->leg = calloc(1, sizeof(*e->leg) + sizeof(e->leg->xsk[0]));
	e->wire = &wire.end[i];
	e->wire->path = (struct sl_loop_path){.steer = steer, .steer_arg = peer};
	e->leg->port = &e->port;
	e->leg->lane = e->lane;
	e->leg->nqueues = 1;
	e->leg->tx = &e->wire->tx;
	e->leg->xsk[0].rx.ops = &rx_ops;
	refill(&e->leg->xsk[0].rx, &e->lane->frames);
	e->lane->leg[0] = e->leg;
	e->lane->nlegs = 1;
	e->slot = (uint32_t)sl_slot_new();
	sl_slot_set(e->slot, SL_SLOT_TCP_LISTEN, e);
	sl_build_tcp_hdr(&e->hdr, &b);
	assert_non_null(sl_lane_tcp(e->lane));
	assert_ptr_equal(sl_lane_tcp(e->lane), e->lane->tcp);
	sl_tcp_listener_init(&e->listener);
	e->listener.owner = e;
	e->listener.backlog = 8;
}

static int setup(void **state)
{
	pool_setup();
	if (!sl_slots) {
		sl_clock_init();
		sl_tcp_params_default(&sl_tcp_params);
		assert_int_equal(sl_slots_init(64), 0);
		assert_int_equal(sl_stack_tcp_init(&ops), 0);
		assert_null(sl_lane_tcp(&sl_limbo));
	}
	sl_settings.cq_poll_batch_max = 16;
	sl_settings.ring_allocation_logic_rx = SL_RING_SOCKET;
	sl_in_register(SL_SLOT_TCP_LISTEN, tcp_input);
	memset(end, 0, sizeof(end));
	assert_int_equal(sl_loop_init(&wire, DEPTH, 1), 0);
	end_init(0);
	end_init(1);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &end[i];

		sl_tcp_listener_fini(e->lane->tcp, &e->listener);
		if (e->c.host)
			sl_tcp_fini(&e->c);
		sl_tcp_host_fini(e->lane->tcp);
		free(e->lane->tcp);
		e->lane->tcp = NULL;
		sl_slot_free(e->slot);
	}
	sl_loop_fini(&wire, &end[0].lane->frames);
	for (int i = 0; i < 2; i++) {
		sl_frames_flush(&end[i].lane->frames, 0);
		end[i].lane->nlegs = 0;
		free(end[i].leg);
	}
	/* Not one frame is held by anybody. */
	assert_int_equal(sl_frames_left(), POOL_FRAMES);
	return 0;
}

static void turns(void)
{
	sl_lane_turn(end[0].lane);
	sl_lane_turn(end[1].lane);
}

static void connect_ends(void)
{
	struct sl_tcp_key key = {end[0].addr, end[1].addr, end[0].port_no, end[1].port_no};
	struct end *e = &end[0];

	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	sl_tcp_init(&e->c, e->lane->tcp);
	assert_int_equal(sl_tcp_connect(&e->c, &key), 0);
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
	for (int i = 0; i < 10 && !(end[1].events & SL_TCP_EV_CONNECTED); i++)
		turns();
	assert_true(end[0].events & SL_TCP_EV_CONNECTED);
	assert_ptr_equal(sl_tcp_accept(end[1].lane->tcp, &end[1].listener), &end[1].c);
	assert_int_equal(end[1].c.state, SL_TCP_ESTABLISHED);
}

static long write_some(struct end *e, const void *data, size_t n)
{
	struct iovec iov = {(void *)data, n};
	long done;

	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	done = sl_tcp_write(&e->c, &iov, 1, 0, false, false);
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
	return done;
}

static long read_some(struct end *e, void *data, size_t n)
{
	struct iovec iov = {data, n};
	long done;

	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	done = sl_tcp_read(&e->c, &iov, 1, 0, false, false);
	sl_lane_tcp_done(e->lane);
	sl_lane_unlock(e->lane);
	return done;
}

/* All of a stream goes from end 0 to end 1 by turns, or five seconds are over. */
static void transfer(void)
{
	static uint8_t in[BYTES], out[BYTES];
	size_t wrote = 0, got = 0;
	uint64_t stop = sl_now_ns() + 5000000000;

	for (size_t i = 0; i < BYTES; i++)
		in[i] = (uint8_t)(i * 13 + i / 251);
	while (got < BYTES && sl_now_ns() < stop) {
		long n = write_some(&end[0], in + wrote, BYTES - wrote);

		assert_true(n >= 0);
		wrote += (size_t)n;
		turns();
		n = read_some(&end[1], out + got, BYTES - got);
		assert_true(n >= 0);
		got += (size_t)n;
	}
	assert_int_equal(got, BYTES);
	assert_memory_equal(in, out, BYTES);
}

/* Tests -----------------------------------------------------------------------------------------
 */

static void test_a_stream(void **state)
{
	connect_ends();
	transfer();
	for (int i = 0; i < 100 && sl_tcp_unacked(&end[0].c); i++)
		turns();
	assert_int_equal(sl_tcp_unacked(&end[0].c), 0);
}

static void test_a_stream_over_a_bad_wire(void **state)
{
	connect_ends();
	for (int i = 0; i < 2; i++) {
		end[i].wire->path.loss_ppm = 10000;
		end[i].wire->path.dup_ppm = 10000;
		end[i].wire->path.corrupt_ppm = 5000;
	}
	transfer();
}

/* A full ring: the connection is on the list of those that wait, turns try again. */
static void test_room(void **state)
{
	connect_ends();
	end[0].refuse = 5;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	assert_false(sl_list_empty(&end[0].lane->tcp->room));
	assert_true(sl_lane_is_due(end[0].lane, end[0].lane->tcp->now_us + 1000));
	for (int i = 0; i < 10 && !sl_tcp_readable(&end[1].c); i++)
		turns();
	assert_int_equal(sl_tcp_readable(&end[1].c), 5);
	assert_true(sl_list_empty(&end[0].lane->tcp->room));
}

/* An idle turn runs nothing, a timer that is due is run by it. */
static void test_timers(void **state)
{
	uint64_t now, next, stop = sl_now_ns() + 3000000000;
	struct sl_tcp *c = &end[0].c;

	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	now = sl_now_ns() / 1000;
	next = end[0].lane->tcp_next_us;
	assert_true(next > now && next < now + 1100000);
	assert_false(sl_lane_is_due(end[0].lane, now));
	assert_true(sl_lane_is_due(end[0].lane, next));
	end[0].wire->path.loss_ppm = 0;
	while (!sl_tcp_readable(&end[1].c) && sl_now_ns() < stop) {
		assert_true(sl_tcp_retransmitted(c) == 0 || sl_now_ns() / 1000 >= next);
		turns();
	}
	assert_int_equal(sl_tcp_readable(&end[1].c), 5);
	assert_true(sl_tcp_retransmitted(c) >= 1);
}

/* The keeper sleeps until the nearest timer of all lanes, or as long as it likes. */
static void test_keeper_sleeps_until_the_next_timer(void **state)
{
	uint64_t now = sl_now_ns() / 1000, next, later = now + 60000000;

	for (int i = 0; i < 2; i++)
		end[i].lane->tcp_next_us = UINT64_MAX;
	assert_int_equal(sl_lanes_sleep(now + 5, 0, 0, later), now + 5);
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	write_some(&end[0], "hello", 5);
	next = sl_lanes_sleep(UINT64_MAX, now, 0, later);
	assert_int_equal(next, sl_min(end[0].lane->tcp_next_us, end[1].lane->tcp_next_us));
	assert_int_equal(sl_lanes_sleep(now + 5, 0, 0, later), now + 5);
	/* Others turn a lane: its timers wait for them for a while. */
	end[0].lane->turned = end[1].lane->turned = true;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, next + 4000, later), next + 4000);
	assert_int_equal(sl_lanes_sleep(now + 5, now, next + 4000, later), now + 5);
	end[0].lane->turned = end[1].lane->turned = false;
	sl_lanes_awake();
}

/* He comes for what is under way in a queue that may fail, and not when nothing is. */
static void test_keeper_watches_what_is_under_way(void **state)
{
	uint64_t now = sl_now_ns() / 1000, later = now + 1000000;

	for (int i = 0; i < 2; i++)
		end[i].lane->tcp_next_us = UINT64_MAX;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	sl_lane_watch(end[1].lane);
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), later);
	assert_int_equal(sl_lanes_sleep(now + 5, now, 0, later), now + 5);
	end[1].lane->watched = false;
	assert_int_equal(sl_lanes_sleep(UINT64_MAX, now, 0, later), UINT64_MAX);
	sl_lanes_awake();
}

/* What acknowledges the data waits in the ring when the timer is due: nothing is sent again. */
static void test_the_keeper_takes_in_before_timers(void **state)
{
	struct sl_tcp *c = &end[0].c;
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	while (!sl_tcp_readable(&end[1].c) && sl_now_ns() < stop)
		sl_lane_turn(end[1].lane);
	while (!sl_lane_is_due(end[0].lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	assert_true(sl_lane_is_due(end[0].lane, sl_now_ns() / 1000));
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(c), 0);
	assert_int_equal(c->snd_una, c->snd_nxt);
}

/* Who has the lane is not kept from it by the keeper. */
static void test_the_keeper_does_not_wait(void **state)
{
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	end[0].wire->path.loss_ppm = 1000000;
	assert_int_equal(write_some(&end[0], "hello", 5), 5);
	while (!sl_lane_is_due(end[0].lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	assert_true(sl_lane_lock(end[0].lane));
	assert_int_equal(sl_lane_try_turn(end[0].lane), -EBUSY);
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(&end[0].c), 0);
	sl_lane_unlock(end[0].lane);
	assert_int_equal(sl_lane_try_turn(end[0].lane), 0);
	sl_lane_run(end[0].lane);
	assert_int_equal(sl_tcp_retransmitted(&end[0].c), 1);
}

/* A short write in the middle of a burst, and one before it that is in flight. */
static void write_in_a_burst(struct end *e)
{
	struct iovec iov = {(void *)"0123456789", 10};

	write_some(e, "first", 5);
	assert_true(sl_lane_lock(e->lane));
	sl_lane_tcp_begin(e->lane);
	e->lane->burst = (struct sl_burst){.of = &e->c, .n = 1000, .end_us = e->lane->tcp->now_us};
	assert_int_equal(sl_tcp_write(&e->c, &iov, 1, 0, false, false), 10);
	sl_lane_tcp_wrote(e->lane, &e->c, 10);
	sl_lane_unlock(e->lane);
}

static void test_a_burst_is_held_until_the_next_turn(void **state)
{
	struct end *e = &end[0];

	connect_ends();
	e->c.nodelay = true;
	write_in_a_burst(e);
	assert_false(sl_list_empty(&e->lane->tcp->held));
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	sl_lane_turn(e->lane);
	assert_true(sl_list_empty(&e->lane->tcp->held));
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	write_some(e, "x", 1); /* any other call */
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	turns();
	assert_int_equal(sl_tcp_readable(&end[1].c), 31);
}

/* Nobody comes: the timer is due soon, and the keeper near while it goes on. */
static void test_a_burst_is_sent_by_the_keeper(void **state)
{
	struct end *e = &end[0];
	uint64_t stop = sl_now_ns() + 3000000000;

	connect_ends();
	e->c.nodelay = true;
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	assert_true(sl_lane_is_due(e->lane, e->lane->tcp->now_us + SL_HOLD_US));
	assert_true(sl_lane_is_bursting(e->lane, e->lane->tcp->now_us));
	while (!sl_lane_is_due(e->lane, sl_now_ns() / 1000) && sl_now_ns() < stop)
		;
	sl_lane_run(e->lane);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	assert_false(sl_lane_is_bursting(e->lane, e->lane->tcp->now_us + 1000000));
}

/* No burst, Nagle's own rule, nothing in flight, or not wanted: as ever. A full piece goes. */
static void test_what_is_not_held(void **state)
{
	struct end *e = &end[0];
	uint8_t much[1000] = {0};

	connect_ends();
	e->c.nodelay = true;
	e->lane->burst.n = 0;
	for (int i = 0; i < 3; i++)
		write_some(e, "again", 5);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	sl_tcp_params.autocorking = false;
	write_in_a_burst(e);
	sl_tcp_params.autocorking = true;
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
	write_in_a_burst(e);
	assert_int_equal(sl_tcp_unsent(&e->c), 10);
	e->lane->tcp->hold = true;
	write_some(e, much, sizeof(much));
	e->lane->tcp->hold = true;
	write_some(e, much, sizeof(much));
	assert_int_equal(sl_tcp_unsent(&e->c), 2010 - e->c.mss);
	for (int i = 0; i < 1000 && sl_tcp_unacked(&e->c); i++) {
		turns();
		sl_lane_run(end[1].lane);
	}
	e->lane->tcp->hold = true;
	write_some(e, "alone", 5);
	assert_int_equal(sl_tcp_unsent(&e->c), 0);
}

/* A kick that could not start everything is made again. */
static int (*real_kick)(struct sl_tx *tx);
static unsigned kicks;

static int busy_kick(struct sl_tx *tx)
{
	real_kick(tx);
	return ++kicks < 3 ? -EAGAIN : 0;
}

static void test_kick_again(void **state)
{
	struct sl_tx_ops busy = *end[0].leg->tx->ops;
	const struct sl_tx_ops *was = end[0].leg->tx->ops;

	connect_ends();
	real_kick = was->kick;
	busy.kick = busy_kick;
	kicks = 0;
	end[0].leg->tx->ops = &busy;
	write_some(&end[0], "hello", 5);
	assert_int_equal(kicks, 1);
	assert_true(end[0].leg->again);
	assert_true(sl_lane_is_due(end[0].lane, end[0].lane->tcp->now_us + 1000));
	for (int i = 0; i < 10 && end[0].leg->again; i++)
		write_some(&end[0], "x", 1);
	assert_int_equal(kicks, 3);
	end[0].leg->tx->ops = was;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_stream),
		T(test_a_stream_over_a_bad_wire),
		T(test_room),
		T(test_timers),
		T(test_keeper_sleeps_until_the_next_timer),
		T(test_keeper_watches_what_is_under_way),
		T(test_kick_again),
		T(test_the_keeper_takes_in_before_timers),
		T(test_the_keeper_does_not_wait),
		T(test_a_burst_is_held_until_the_next_turn),
		T(test_a_burst_is_sent_by_the_keeper),
		T(test_what_is_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
