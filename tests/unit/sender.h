/* SPDX-License-Identifier: BSD-2-Clause */
/* A sender's queue without a wire, for the tests of loss detection: pieces are sent, ACKs are made
 * by hand, time is explicit. */
#ifndef TEST_SENDER_H
#define TEST_SENDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_rack.h"
#include "tcp/tcp_params.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"

#define MSS  1000u
#define RING 4096u
#define RTT  100000u     /* us */
#define ISS  0xffffe000u /* sequence numbers wrap early */

static struct sl_tcp_host host;
static struct sl_tcp c;
static struct sl_txseg ring[RING];
static uint64_t counts[SL_TCPC_COUNT];
static uint64_t t0; /* when the window in flight was sent */

static inline void count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	counts[id] += n;
}
static const struct sl_tcp_ops ops = {.count = count};

/* The sender ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
	memset(&c, 0, sizeof(c));
	memset(&host, 0, sizeof(host));
	memset(ring, 0, sizeof(ring));
	memset(counts, 0, sizeof(counts));
	host.ops = &ops;
	host.now_us = 5000000;
	sl_list_init(&host.out);
	sl_list_init(&host.room);
	sl_wheel_init(&host.wheel, host.now_us);
	sl_tcp_params_default(&sl_tcp_params);
	c.host = &host;
	c.state = SL_TCP_ESTABLISHED;
	sl_list_init(&c.out_node);
	sl_timer_init(&c.timer);
	c.cc = &sl_cc_reno;
	c.mss = MSS;
	c.sack_ok = c.ts_ok = true;
	c.tx = ring;
	c.txsize = RING;
	c.tx_una = c.tx_nxt = c.tx_tail = 0xfffffff0u; /* so do indices */
	c.snd_una = c.snd_nxt = c.write_seq = ISS;
	c.snd_wnd = c.max_window = 1 << 24;
	c.srtt_us = c.min_rtt_us = RTT;
	c.rto_us = 300000;
	c.nodelay = true;
	sl_tcp_loss_init(&c);
	return 0;
}

static int teardown(void **state)
{
	sl_timer_cancel(&host.wheel, &c.timer);
	sl_list_del(&c.out_node);
	sl_tcp_loss_free(&c);
	sl_free(c.trouble);
	c.trouble = NULL;
	return 0;
}

static inline void later(uint32_t us)
{
	host.now_us += us;
}

/* Numbers of pieces count from the first ever sent. */
static inline uint32_t seq_of(uint32_t n)
{
	return ISS + n * MSS;
}
static inline uint32_t first_idx(void)
{
	return c.tx_una - (c.snd_una - ISS) / MSS;
}
static inline struct sl_txseg *piece(uint32_t n)
{
	return sl_tcp_piece(&c, first_idx() + n);
}

/* Sends n new pieces as sl_tcp_xmit_piece() does. */
static inline void send_new(uint32_t n)
{
	for (; n; n--) {
		struct sl_txseg *p = sl_tcp_piece(&c, c.tx_nxt);

		*p = (struct sl_txseg){.frame = SL_NO_FRAME,
				       .seq = c.snd_nxt,
				       .len = MSS,
				       .sent = 1,
				       .sent_us = host.now_us};
		sl_tcp_loss_on_sent(&c, c.tx_nxt, false);
		c.snd_nxt += MSS;
		if (sl_seq_lt(c.write_seq, c.snd_nxt))
			c.write_seq = c.snd_nxt;
		c.tx_nxt++;
		if ((int32_t)(c.tx_tail - c.tx_nxt) < 0)
			c.tx_tail = c.tx_nxt;
	}
}

static inline void resend(uint32_t i)
{
	struct sl_txseg *p = sl_tcp_piece(&c, i);

	p->sent++;
	p->sent_us = host.now_us;
	sl_tcp_trouble(&c)->total_retrans++;
	sl_tcp_loss_on_sent(&c, i, true);
}

/* Retransmits as sl_tcp_output() would. Returns how many segments were sent again. */
static inline uint32_t resend_lost(void)
{
	uint32_t n = 0, i;

	while ((i = sl_tcp_loss_next(&c)) != c.tx_nxt &&
	       sl_tcp_in_flight(&c) < sl_tcp_loss_cwnd(&c)) {
		resend(i);
		n++;
	}
	return n;
}

/* The sums and the runs agree with the marks. */
static inline void check_sums(void)
{
	uint32_t s = 0, l = 0, r = 0, run = 0;

	for (uint32_t i = c.tx_nxt; i-- != c.tx_una;) {
		const struct sl_txseg *p = sl_tcp_piece(&c, i);

		run = p->marks & SL_TXS_SACKED ? run + 1 : 0;
		if (run)
			assert_in_range(p->run, 1, run);
	}
	for (uint32_t i = c.tx_una; i != c.tx_nxt; i++) {
		uint8_t m = sl_tcp_piece(&c, i)->marks;

		s += !!(m & SL_TXS_SACKED);
		l += !!(m & SL_TXS_LOST);
		r += !!(m & SL_TXS_RETX);
		assert_false(m & SL_TXS_SACKED && m & (SL_TXS_LOST | SL_TXS_RETX));
	}
	if (c.sack_ok)
		assert_int_equal(c.sacked_out, s);
	assert_int_equal(c.lost_out, l);
	assert_int_equal(c.retx_out, r);
	assert_true(c.sacked_out + c.lost_out <= sl_tcp_pieces_out(&c));
}

/* ACKs ---------------------------------------------------------------------------------------- */

static struct sl_tcp_seg seg;
static struct sl_tcp_ack got;

/* An ACK of everything below piece n; the echo is of what was sent at echo_us (0: now - RTT). */
static inline void ack_begin(uint32_t n, uint64_t echo_us)
{
	if (!echo_us)
		echo_us = host.now_us - RTT;
	seg = (struct sl_tcp_seg){
		.ack = seq_of(n),
		.flags = SL_TCP_ACK,
		.opts = SL_TCPO_TS,
		.tsecr = (uint32_t)(echo_us / 1000) + c.ts_off,
	};
}

static inline void block(uint32_t from, uint32_t to)
{
	seg.opts |= SL_TCPO_SACK;
	seg.sack[seg.nsack++] = (struct sl_tcp_block){seq_of(from), seq_of(to)};
}

static inline void drop(uint32_t ack)
{
	uint32_t to = c.tx_una;

	while (to != c.tx_nxt &&
	       sl_seq_le(sl_tcp_piece(&c, to)->seq + sl_tcp_piece(&c, to)->len, ack))
		to++;
	sl_tcp_loss_cum(&c, to, &got);
	c.snd_una = ack;
	c.tx_una = to;
}

/* Ends the handling of an ACK as take_ack() does. */
static inline void ack_end(void)
{
	got = (struct sl_tcp_ack){
		.prior_una = c.snd_una,
		.ece = c.ecn_ok && seg.flags & SL_TCP_ECE,
		.old = sl_seq_lt(seg.ack, c.snd_una),
	};
	sl_tcp_loss_sack(&c, &seg, &got);
	if (sl_seq_gt(seg.ack, c.snd_una))
		drop(seg.ack);
	sl_tcp_loss_on_ack(&c, &got);
	check_sums();
}

static inline void ack(uint32_t n)
{
	ack_begin(n, 0);
	ack_end();
}

static inline void sack(uint32_t n, uint32_t from, uint32_t to)
{
	ack_begin(n, 0);
	block(from, to);
	ack_end();
}

static inline void dsack(uint32_t n, uint32_t from)
{
	ack_begin(n, 0);
	block(from, from + 1);
	ack_end();
}

/* A window of n, sent a microsecond apart; then a round trip. */
static inline void window(uint32_t n)
{
	c.cwnd = n;
	t0 = host.now_us;
	for (uint32_t i = 0; i < n; i++) {
		send_new(1);
		later(1);
	}
	later(RTT - n);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
