/* SPDX-License-Identifier: BSD-2-Clause */
/* Two lanes of one process with a TCP host each, on the fake wire: what the core wants of the
 * world, and who connects, writes and reads by turns. */
#ifndef TCP_LANES_H
#define TCP_LANES_H

#include "packet.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/settings.h"
#include "io/loop.h"
#include "net/gro.h"
#include "stack/lane_tcp.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_in.h"
#include "tcp/tcp_user.h"

#define DEPTH 256

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

/* Operations that the core calls ----------------------------------------------------------------
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

static bool op_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		     const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope)
{
	send_bare(end_of(h), seg);
	return true;
}

static void op_event(struct sl_tcp *c, uint32_t events)
{
	end_of(c->host)->events |= events;
}

static struct sl_tcp *op_child_new(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				   uint32_t scope)
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

static struct sl_tcp_route op_route(struct sl_tcp_host *h, const struct sl_tcp *c,
				    const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope)
{
	return (struct sl_tcp_route){1460, 1460, 0, NULL};
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
	.route = op_route,
	.count = op_count,
};

static bool tcp_input(void *obj, struct sl_in *in)
{
	struct end *e = obj;
	struct sl_tcp_key key = {.lport = sl_get_be16(in->pkt.data + in->pkt.l4 + 2),
				 .rport = sl_get_be16(in->pkt.data + in->pkt.l4)};
	struct sl_tcp_arrival a;

	assert_ptr_equal(in->lane, e->lane);
	sl_pkt_daddr(&in->pkt, &key.local);
	sl_pkt_saddr(&in->pkt, &key.remote);
	a = sl_tcp_arrival(&in->seg, in->frame, (uint16_t)(in->off + in->pkt.payload), in);
	a.run = in->run;
	return sl_tcp_input(e->lane->tcp, &key, &e->listener, &a);
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
	e->leg = sl_calloc(1, sizeof(*e->leg) + sizeof(e->leg->xsk[0]));
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
	sl_settings.gro_streams_max = SL_GRO_MAX;
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
		sl_free(e->lane->tcp);
		e->lane->tcp = NULL;
		sl_slot_free(e->slot);
	}
	sl_loop_fini(&wire, &end[0].lane->frames);
	for (int i = 0; i < 2; i++) {
		sl_frames_flush(&end[i].lane->frames, 0);
		end[i].lane->nlegs = 0;
		sl_free(end[i].leg);
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

#endif
