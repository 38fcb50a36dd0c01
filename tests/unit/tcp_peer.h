/* SPDX-License-Identifier: BSD-2-Clause */
/* A host of the TCP core whose peer is the test: the test puts segments in and checks the last one
 * that came out. */
#ifndef TCP_PEER_H
#define TCP_PEER_H

#include "base/heap.h"
#include "packet.h"
#include "tcp/tcp_hash.h"
#include "tcp/listen/tcp_listen.h"
#include "tcp/tcp_in.h"

#define ISN 1000u /* the peer's */

static struct sl_tcp_host h;
static struct sl_frames frames;
static struct sl_tcp_listener l;
static struct sl_tcp_key key;
static struct sl_tcp_seg out; /* the last one that was sent */
static uint8_t out_data[2048];
static uint32_t nout, nready, nconns, events;
static uint32_t count[SL_TCPC_COUNT];
static struct sl_tcp *gone;
static bool no_way; /* for answers */

static bool op_send(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    uint64_t psum)
{
	out = *seg;
	nout++;
	if (seg->len) {
		const uint8_t *p = sl_frame_ptr(frame) + off;

		/* Not folded to one form: 0 and 0xffff are the same. */
		assert_int_equal(sl_csum_fold(sl_csum_add(0, p, seg->len)) % 0xffff,
				 sl_csum_fold(psum) % 0xffff);
		memcpy(out_data, p, seg->len);
	}
	return true;
}

static bool op_reply(struct sl_tcp_host *host, const struct sl_tcp_listener *of,
		     const struct sl_tcp_key *k, const struct sl_tcp_seg *seg, uint32_t scope)
{
	if (no_way)
		return false;
	out = *seg;
	nout++;
	return true;
}

static void op_event(struct sl_tcp *c, uint32_t ev)
{
	events |= ev;
	if (ev & SL_TCP_EV_CLOSED && c->orphan) {
		gone = c;
		sl_tcp_fini(c);
		sl_free(c);
		nconns--;
	}
}

static struct sl_tcp *op_child_new(struct sl_tcp_listener *from, const struct sl_tcp_key *k,
				   uint32_t scope)
{
	nconns++;
	return sl_calloc(1, sizeof(struct sl_tcp));
}

static void op_child_free(struct sl_tcp *c)
{
	nconns--;
	sl_free(c);
}

static void op_accept_ready(struct sl_tcp_listener *from)
{
	nready++;
}

static struct sl_tcp_route op_route(struct sl_tcp_host *host, const struct sl_tcp *c,
				    const struct sl_tcp_listener *of, const struct sl_tcp_key *k,
				    uint32_t scope)
{
	return (struct sl_tcp_route){1460, 1460, 0, NULL};
}

static void op_count(struct sl_tcp_host *host, unsigned id, uint32_t n)
{
	count[id] += n;
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

static inline int setup(void **state)
{
	static struct sl_tcp_keys keys = {.own = "0123456789abcde", .pair = "0123456789abcde"};

	sl_tcp_keys_init(&keys);
	pool_setup();
	memset(&frames, 0, sizeof(frames));
	memset(count, 0, sizeof(count));
	nout = nready = nconns = events = 0;
	no_way = false;
	sl_tcp_params_default(&sl_tcp_params);
	assert_int_equal(sl_tcp_host_init(&h, &ops, &frames, &keys, 1000000000, NULL), 0);
	sl_tcp_listener_init(&l);
	l.backlog = 4;
	memset(&key, 0, sizeof(key));
	key.local = sl_addr_v4(__builtin_bswap32(0x0a000001));
	key.remote = sl_addr_v4(__builtin_bswap32(0x0a000002));
	key.lport = 80;
	key.rport = 5000;
	return 0;
}

static inline int teardown(void **state)
{
	sl_tcp_listener_fini(&h, &l);
	assert_int_equal(nconns, 0);
	assert_int_equal(h.nreq, 0);
	sl_tcp_host_fini(&h);
	assert_int_equal(pool_free(&frames), POOL_FRAMES);
	return 0;
}

static inline void later(uint64_t us)
{
	uint64_t end = h.now_us + us;

	while (h.now_us < end) {
		sl_tcp_set_now(&h, sl_min(end, h.now_us + 1000));
		sl_tcp_run_timers(&h);
		sl_tcp_flush(&h);
	}
}

static inline void in(struct sl_tcp_seg s)
{
	uint32_t frame = SL_NO_FRAME;
	struct sl_tcp_arrival a;

	if (s.len) {
		frame = sl_frame_get(&frames);
		for (uint32_t i = 0; i < s.len; i++)
			sl_frame_ptr(frame)[200 + i] = (uint8_t)(s.seq - ISN + i);
	}
	memset(&out, 0, sizeof(out));
	a = sl_tcp_arrival(&s, frame, 200, NULL);
	if (!sl_tcp_input(&h, &key, &l, &a) && s.len)
		sl_frame_put(&frames, frame);
	sl_tcp_flush(&h);
}

static inline struct sl_tcp_seg syn(void)
{
	return (struct sl_tcp_seg){.flags = SL_TCP_SYN,
				   .seq = ISN,
				   .wnd = 60000,
				   .opts = SL_TCPO_MSS | SL_TCPO_WSCALE | SL_TCPO_SACK_OK |
					   SL_TCPO_TS,
				   .mss = 1400,
				   .wscale = 7,
				   .tsval = 100};
}

static inline struct sl_tcp_seg seg(uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	return (struct sl_tcp_seg){.flags = flags, .seq = seq, .ack = ack, .len = len, .wnd = 500};
}

/* The peer's part of a handshake; our ISN. */
static inline uint32_t shake(uint16_t rport)
{
	uint32_t iss;

	key.rport = rport;
	in(syn());
	iss = out.seq;
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	return iss;
}

#endif
