/* SPDX-License-Identifier: BSD-2-Clause */
/* What is lost, and what that does to the window: a sender's queue, ACKs by hand, explicit time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tcp/tcp_internal.h"

#define MSS  1000u
#define RING 4096u
#define RTT  100000u     /* us */
#define ISS  0xffffe000u /* sequence numbers wrap early */

static struct sl_tcp_host host;
static struct sl_tcp c;
static struct sl_txseg ring[RING];
static uint64_t counts[SL_TCPC_COUNT];
static uint64_t t0; /* when the window in flight was sent */

static void count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	counts[id] += n;
}
static const struct sl_tcp_ops ops = {.count = count};

/* The sender ----------------------------------------------------------------------------------- */

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
	return 0;
}

static void later(uint32_t us)
{
	host.now_us += us;
}

/* Numbers of pieces count from the first ever sent. */
static uint32_t seq_of(uint32_t n)
{
	return ISS + n * MSS;
}
static uint32_t first_idx(void)
{
	return c.tx_una - (c.snd_una - ISS) / MSS;
}
static struct sl_txseg *piece(uint32_t n)
{
	return sl_tcp_piece(&c, first_idx() + n);
}

/* As sl_tcp_xmit_piece(). */
static void send_new(uint32_t n)
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

static void resend(uint32_t i)
{
	struct sl_txseg *p = sl_tcp_piece(&c, i);

	p->sent++;
	p->sent_us = host.now_us;
	c.total_retrans++;
	sl_tcp_loss_on_sent(&c, i, true);
}

/* What sl_tcp_output() would: returns how many were sent again. */
static uint32_t resend_lost(void)
{
	uint32_t n = 0, i;

	while ((i = sl_tcp_loss_next(&c)) != UINT32_MAX &&
	       sl_tcp_in_flight(&c) < sl_tcp_loss_cwnd(&c)) {
		resend(i);
		n++;
	}
	return n;
}

/* The sums agree with the marks. */
static void check_sums(void)
{
	uint32_t s = 0, l = 0, r = 0;

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

/* ACKs ----------------------------------------------------------------------------------------- */

static struct sl_tcp_seg seg;
static struct sl_tcp_ack got;

/* An ACK of everything below piece n; the echo is of what was sent at echo_us (0: now - RTT). */
static void ack_begin(uint32_t n, uint64_t echo_us)
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

static void block(uint32_t from, uint32_t to)
{
	seg.opts |= SL_TCPO_SACK;
	seg.sack[seg.nsack++] = (struct sl_tcp_block){seq_of(from), seq_of(to)};
}

static void drop(uint32_t ack)
{
	uint32_t to = c.tx_una;

	while (to != c.tx_nxt &&
	       sl_seq_le(sl_tcp_piece(&c, to)->seq + sl_tcp_piece(&c, to)->len, ack))
		to++;
	sl_tcp_loss_cum(&c, to, &got);
	c.snd_una = ack;
	c.tx_una = to;
}

/* As take_ack(). */
static void ack_end(void)
{
	got = (struct sl_tcp_ack){
		.prior_una = c.snd_una,
		.prior_in_flight = sl_tcp_in_flight(&c),
		.ece = c.ecn_ok && seg.flags & SL_TCP_ECE,
		.old = sl_seq_lt(seg.ack, c.snd_una),
	};
	sl_tcp_loss_sack(&c, &seg, &got);
	if (sl_seq_gt(seg.ack, c.snd_una))
		drop(seg.ack);
	sl_tcp_loss_on_ack(&c, &got);
	check_sums();
}

static void ack(uint32_t n)
{
	ack_begin(n, 0);
	ack_end();
}

static void sack(uint32_t n, uint32_t from, uint32_t to)
{
	ack_begin(n, 0);
	block(from, to);
	ack_end();
}

static void dsack(uint32_t n, uint32_t from)
{
	ack_begin(n, 0);
	block(from, from + 1);
	ack_end();
}

/* A window of n, sent a microsecond apart; then a round trip. */
static void window(uint32_t n)
{
	c.cwnd = n;
	t0 = host.now_us;
	for (uint32_t i = 0; i < n; i++) {
		send_new(1);
		later(1);
	}
	later(RTT - n);
}

/* Scoreboard ----------------------------------------------------------------------------------- */

static void test_blocks_mark_whole_pieces(void **state)
{
	window(10);
	ack_begin(2, t0 + 1);
	block(6, 8);
	seg.sack[seg.nsack++] = (struct sl_tcp_block){seq_of(3) + 1, seq_of(5) - 1};
	seg.sack[seg.nsack++] = (struct sl_tcp_block){seq_of(8) + 1, seq_of(10)};
	ack_end();
	assert_int_equal(got.acked_segs, 2);
	assert_int_equal(got.sacked_segs, 3);
	assert_int_equal(got.delivered, 5);
	for (uint32_t n = 2; n < 10; n++)
		assert_int_equal(!!(piece(n)->marks & SL_TXS_SACKED), n == 6 || n == 7 || n == 9);
	/* a block that grows, and one that closes the gap of a piece seen in halves */
	ack_begin(2, t0 + 1);
	block(3, 10);
	ack_end();
	assert_int_equal(got.sacked_segs, 4);
	assert_int_equal(c.sacked_out, 7);
	ack(10);
	assert_int_equal(got.delivered, 1);
	assert_int_equal(c.sacked_out, 0);
}

static void test_blocks_that_cannot_be(void **state)
{
	window(10);
	sack(0, 8, 12); /* never sent */
	assert_int_equal(c.sacked_out, 0);
	sack(0, 7, 5);
	assert_int_equal(c.sacked_out, 0);
	sack(0, 0x7fff, 0x80000);
	assert_int_equal(c.sacked_out, 0);
	ack(5);
	sack(5, 2, 4); /* below the ACK: DSACK, or old news */
	assert_int_equal(c.sacked_out, 0);
	assert_int_equal(c.ca, SL_CA_OPEN);
}

static void test_split_pieces_keep_the_sums(void **state)
{
	struct sl_txseg *p;
	uint32_t i;

	window(4);
	sack(0, 3, 4);
	sl_tcp_mark_lost(&c, first_idx());
	/* The last one's first half was not cut off before: as sl_tcp_snd_split() does it. */
	for (i = c.tx_nxt; i != first_idx(); i--)
		*sl_tcp_piece(&c, i) = *sl_tcp_piece(&c, i - 1);
	c.tx_nxt++;
	c.tx_tail++;
	p = sl_tcp_piece(&c, first_idx());
	p[0].len = 400;
	p = sl_tcp_piece(&c, first_idx() + 1);
	p->seq += 400;
	p->len = 600;
	sl_tcp_loss_on_split(&c, first_idx());
	check_sums();
	assert_int_equal(c.lost_out, 2);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx());
	resend(first_idx());
	assert_int_equal(sl_tcp_loss_next(&c), first_idx() + 1);
}

/* RACK ----------------------------------------------------------------------------------------- */

static void test_hole_is_lost_at_the_third_arrival(void **state)
{
	window(10);
	sack(0, 1, 2);
	assert_int_equal(c.ca, SL_CA_DISORDER);
	assert_int_equal(c.lost_out, 0);
	assert_true(c.reo_at > host.now_us); /* a quarter of an RTT is waited for */
	assert_true(c.reo_at <= host.now_us + RTT / 4 + 2);
	sack(0, 1, 3);
	assert_int_equal(c.lost_out, 0);
	sack(0, 1, 4);
	assert_int_equal(c.lost_out, 1);
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	assert_int_equal(c.ssthresh, 5);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx());
	assert_int_equal(resend_lost(), 1);
	assert_int_equal(sl_tcp_loss_next(&c), UINT32_MAX);
}

static void test_timer_finds_the_loss_of_a_short_flight(void **state)
{
	window(3);
	sack(0, 1, 3);
	assert_int_equal(c.lost_out, 0);
	host.now_us = c.reo_at;
	sl_tcp_loss_on_reo_timer(&c);
	assert_int_equal(c.lost_out, 1);
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	assert_int_equal(resend_lost(), 1);
	assert_int_equal(c.reo_at, 0);
}

static void test_seen_reordering_waits(void **state)
{
	window(10);
	sack(0, 2, 4);
	ack(4); /* 0 and 1 came after 2 and 3 */
	assert_true(c.rack_reordering);
	assert_int_equal(c.ca, SL_CA_OPEN);
	sack(4, 5, 10); /* five above the hole, and still nothing is lost */
	assert_int_equal(c.lost_out, 0);
	assert_int_equal(c.ca, SL_CA_DISORDER);
	later(RTT / 4 + 10);
	sl_tcp_loss_on_reo_timer(&c);
	assert_int_equal(c.lost_out, 1);
}

static void test_one_ack_of_both_kinds_is_no_reordering(void **state)
{
	window(10);
	sack(3, 4, 6); /* ACKs between were lost */
	assert_false(c.rack_reordering);
}

static void test_lost_retransmission_is_sent_again(void **state)
{
	window(20);
	sack(0, 1, 8);
	assert_int_equal(resend_lost(), 1);
	later(10);
	sack(0, 1, 12);
	send_new(1); /* 20 */
	later(RTT);
	/* what was sent after the retransmission arrives, a window for reordering later */
	ack_begin(0, host.now_us - RTT);
	block(1, 21);
	ack_end();
	assert_int_equal(sl_tcp_loss_next(&c), first_idx());
	assert_int_equal(c.retx_out, 0);
	assert_int_equal(c.lost_out, 1);
	assert_int_equal(resend_lost(), 1);
}

static void test_many_lost_are_found_and_repaired_in_order(void **state)
{
	uint32_t i, n = 0;

	window(100);
	for (uint32_t k = 2; k < 100; k += 2) { /* every even one is lost */
		ack_begin(0, t0 + k);
		if (k >= 6)
			block(k - 1, k);
		if (k >= 4)
			block(k - 3, k - 2);
		block(1, 2);
		ack_end();
		later(2);
	}
	assert_int_equal(c.sacked_out, 49);
	assert_int_equal(c.lost_out, 49);
	while ((i = sl_tcp_loss_next(&c)) != UINT32_MAX) {
		assert_int_equal(i, first_idx() + 2 * n++);
		resend(i);
		check_sums();
	}
	assert_int_equal(n, 49);
	later(RTT);
	for (uint32_t k = 1; k < 49; k++) {
		later(10);
		ack_begin(2 * k, host.now_us - RTT);
		block(2 * k + 1, 2 * k + 2);
		ack_end();
	}
	assert_int_equal(c.retx_out, 1);
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	ack(100);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.cwnd, 50);
	assert_null(c.board);
}

static void test_early_echo_is_not_the_retransmissions(void **state)
{
	uint64_t was;

	window(10);
	sack(0, 1, 5);
	resend_lost();
	was = c.rack_sent_us;
	later(1000);
	/* the original at last: its echo is older than the retransmission */
	ack_begin(5, t0);
	ack_end();
	assert_int_equal(c.rack_sent_us, was);
}

/* DSACK ---------------------------------------------------------------------------------------- */

static void test_dsack_widens_the_window_once_a_round(void **state)
{
	uint32_t n = 10;

	window(10);
	c.total_retrans = 100;
	assert_int_equal(c.reo_wnd_mult, 1);
	dsack(2, 0);
	assert_int_equal(c.reo_wnd_mult, 2);
	dsack(3, 1); /* the same round */
	assert_int_equal(c.reo_wnd_mult, 2);
	ack(10);
	window(10);
	dsack(12, 11);
	assert_int_equal(c.reo_wnd_mult, 3);
	ack(20);
	/* sixteen recoveries without one, and it is forgotten */
	for (n = 20; n < 20 + 16 * 20; n += 20) {
		assert_int_equal(c.reo_wnd_mult, 3);
		c.rack_reordering = false;
		window(20);
		sack(n, n + 1, n + 6);
		assert_int_equal(c.ca, SL_CA_RECOVERY);
		resend_lost();
		later(RTT);
		ack(n + 20);
		assert_int_equal(c.ca, SL_CA_OPEN);
	}
	assert_int_equal(c.reo_wnd_mult, 1);
}

static void test_dsacks_of_a_duplicating_network_say_nothing(void **state)
{
	window(10);
	dsack(2, 0);
	dsack(3, 1);
	assert_int_equal(c.reo_wnd_mult, 1);
}

static void test_dsacks_for_all_undo(void **state)
{
	window(20);
	c.ssthresh = 15;
	sack(0, 3, 9); /* 0 to 2 were late, not lost */
	assert_int_equal(c.lost_out, 3);
	for (uint32_t n = 0; n < 3; n++)
		resend(sl_tcp_loss_next(&c));
	assert_int_equal(c.ssthresh, 10);
	c.ts_ok = false; /* so that nothing else tells */
	ack(9);
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	later(RTT);
	dsack(9, 0);
	dsack(9, 1);
	assert_true(c.can_undo);
	assert_int_equal(c.ssthresh, 10);
	dsack(9, 2);
	assert_false(c.can_undo);
	assert_int_equal(c.cwnd, 20);
	assert_int_equal(c.ssthresh, 15);
	assert_int_equal(counts[SL_TCPC_SPURIOUS], 1);
}

static void test_dsacks_after_the_end_undo(void **state)
{
	c.ts_ok = false;
	window(20);
	c.ssthresh = 15;
	sack(0, 1, 9);
	resend_lost();
	later(1000);
	ack(20);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_in_range(c.cwnd, 10, 11);
	send_new(5);
	later(RTT);
	dsack(20, 0);
	assert_int_equal(c.cwnd, 20);
	assert_int_equal(c.ssthresh, 15);
}

/* PRR ------------------------------------------------------------------------------------------ */

static void test_recovery_sends_in_proportion(void **state)
{
	uint32_t sent = 0, acked = 0;

	window(100);
	sack(0, 1, 4);
	acked = 3;
	assert_int_equal(c.ssthresh, 50);
	sent += resend_lost();
	assert_int_equal(sent, 1); /* at once, whatever the proportion */
	for (uint32_t n = 5; n <= 100; n++) {
		sack(0, 1, n);
		acked++;
		while (sl_tcp_in_flight(&c) < sl_tcp_loss_cwnd(&c)) {
			send_new(1);
			sent++;
		}
		/* never more than (ssthresh / RecoverFS) of what has arrived, nor than ssthresh */
		assert_true(sent <= (acked * 50 + 99) / 100 + 1);
		assert_true(sl_tcp_in_flight(&c) <= 100 - acked + sent);
	}
	assert_in_range(sl_tcp_in_flight(&c), 48, 51);
	later(RTT);
	ack(100 + sent - 1);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_in_range(c.cwnd, 50, 51); /* that ACK counts for avoidance already */
}

static void test_many_losses_do_not_burst(void **state)
{
	uint32_t before;

	window(100);
	/* 90 are lost: what is in flight is far below ssthresh */
	sack(0, 90, 94);
	assert_int_equal(c.lost_out, 90);
	before = resend_lost();
	assert_in_range(before, 1, 4);
	for (uint32_t n = 95; n <= 100; n++) {
		sack(0, 90, n);
		assert_in_range(resend_lost(), 0, 2); /* at most slow start */
	}
}

/* RTO and F-RTO -------------------------------------------------------------------------------- */

static void test_rto_marks_all_and_starts_again(void **state)
{
	window(20);
	sl_tcp_params.frto = false;
	later(300000);
	sl_tcp_loss_on_rto(&c);
	check_sums();
	assert_int_equal(c.ca, SL_CA_LOSS);
	assert_int_equal(c.lost_out, 20);
	assert_int_equal(c.cwnd, 1);
	assert_int_equal(c.ssthresh, 10);
	assert_int_equal(resend_lost(), 1);
	/* the RTO of the retransmission is no further loss */
	later(600000);
	sl_tcp_loss_on_rto(&c);
	assert_int_equal(c.ssthresh, 10);
	assert_int_equal(resend_lost(), 1);
	later(RTT);
	ack(1);
	assert_int_equal(c.cwnd, 2);
	assert_int_equal(resend_lost(), 2);
	later(RTT);
	ack(2);
	ack(3);
	assert_int_equal(c.cwnd, 4);
	assert_int_equal(resend_lost(), 4);
	later(RTT);
	ack(20);
	assert_int_equal(c.ca, SL_CA_OPEN);
}

static void test_end_of_an_rto_makes_no_burst(void **state)
{
	window(20);
	sack(0, 1, 20);
	assert_int_equal(resend_lost(), 1); /* and that is lost too */
	later(300000);
	sl_tcp_loss_on_rto(&c);
	assert_int_equal(c.lost_out, 1);
	assert_int_equal(resend_lost(), 1);
	later(RTT);
	ack(20);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.cwnd, 2);
}

static void test_reneging_is_found_by_the_rto(void **state)
{
	window(10);
	sack(0, 1, 6);
	resend_lost();
	later(RTT);
	ack(1); /* and not 6: it has thrown them away */
	assert_int_equal(c.sacked_out, 5);
	later(300000);
	sl_tcp_loss_on_rto(&c);
	check_sums();
	assert_int_equal(c.sacked_out, 0);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx() + 1);
}

/* The path was silent for longer than the RTO. Originals' ACKs come after it. */
static void frto_begin(void)
{
	window(20);
	c.ssthresh = 18;
	later(300000);
	sl_tcp_loss_on_rto(&c);
	assert_int_equal(resend_lost(), 1);
	assert_int_equal(c.cwnd, 1);
	c.write_seq = c.snd_nxt + 10 * MSS; /* there is more to send */
	c.tx_tail = c.tx_nxt + 10;
	later(1000);
}

static void assert_undone(void)
{
	assert_int_equal(c.lost_out, 0);
	assert_true(c.cwnd >= 20);
	assert_int_equal(c.ssthresh, 18);
	assert_true(c.ca <= SL_CA_DISORDER);
	assert_int_equal(counts[SL_TCPC_SPURIOUS], 1);
}

static void test_eifel_undoes_at_the_first_ack(void **state)
{
	frto_begin();
	ack_begin(1, t0);
	ack_end();
	assert_undone();
}

static void test_frto_with_sack(void **state)
{
	c.ts_ok = false;
	frto_begin();
	ack(1);
	assert_int_equal(c.frto, 2);
	assert_int_equal(sl_tcp_loss_next(&c), UINT32_MAX); /* new data instead */
	assert_int_equal(c.cwnd - sl_tcp_in_flight(&c), 2);
	send_new(2);
	ack(2); /* never sent again, and here it is */
	assert_undone();
}

static void test_frto_without_sack(void **state)
{
	c.ts_ok = c.sack_ok = false;
	frto_begin();
	ack(1);
	assert_int_equal(c.frto, 2);
	send_new(2);
	ack(2);
	assert_undone();
}

static void test_frto_finds_a_real_loss(void **state)
{
	for (int sack_ok = 0; sack_ok < 2; sack_ok++) {
		setup(NULL);
		c.ts_ok = false;
		c.sack_ok = sack_ok;
		frto_begin();
		ack(1);
		send_new(2);
		later(RTT);
		if (sack_ok)
			sack(1, 20, 21);
		else
			ack(1);
		assert_int_equal(c.frto, 0);
		assert_int_equal(c.ca, SL_CA_LOSS);
		assert_int_equal(c.ssthresh, 10);
		assert_int_equal(sl_tcp_loss_next(&c), first_idx() + 1);
		teardown(NULL);
	}
}

/* The retransmission filled the only hole: a receiver without SACK had the rest. */
static void test_filled_hole_is_no_spurious_timeout(void **state)
{
	c.ts_ok = c.sack_ok = false;
	frto_begin();
	ack(15);
	assert_int_equal(counts[SL_TCPC_SPURIOUS], 0);
	assert_int_equal(c.ssthresh, 10);
}

/* NewReno -------------------------------------------------------------------------------------- */

static void test_three_duplicate_acks(void **state)
{
	c.sack_ok = c.ts_ok = false;
	window(10);
	ack(0);
	ack(0);
	assert_int_equal(c.ca, SL_CA_DISORDER);
	assert_int_equal(c.cwnd - sl_tcp_in_flight(&c), 2); /* limited transmit */
	ack(0);
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx());
	assert_int_equal(resend_lost(), 1);
	for (int i = 0; i < 5; i++)
		ack(0);
	later(RTT);
	ack(4); /* partial: 4 is lost too */
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx() + 4);
	assert_int_equal(resend_lost(), 1);
	later(RTT);
	send_new(1);
	ack(10);
	assert_int_equal(c.ca, SL_CA_RECOVERY); /* held until something above is acknowledged */
	ack(11);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.cwnd, 5);
}

static void test_more_duplicate_acks_than_can_be(void **state)
{
	c.sack_ok = c.ts_ok = false;
	window(4);
	for (int i = 0; i < 1000; i++) {
		ack(0);
		assert_true(sl_tcp_in_flight(&c) <= 4);
	}
	resend_lost();
	ack(4);
	assert_int_equal(c.sacked_out, 0);
}

static void test_old_ack_is_no_duplicate(void **state)
{
	c.sack_ok = false;
	window(10);
	ack(5);
	for (int i = 0; i < 5; i++)
		ack(3);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.sacked_out, 0);
}

/* Tail loss probe ------------------------------------------------------------------------------ */

static void probe_last(void)
{
	window(10);
	ack(9);
	later(RTT / 2);
	resend(c.tx_nxt - 1);
	c.tlp_retrans = true;
	sl_tcp_loss_on_tlp(&c);
	assert_true(c.tlp_out);
	later(RTT);
}

static void test_probe_that_repairs_costs_the_window(void **state)
{
	probe_last();
	ack(10);
	assert_true(c.tlp_out); /* the original's ACK, or the probe's? */
	send_new(1);
	later(RTT);
	ack(11);
	assert_false(c.tlp_out);
	assert_int_equal(c.ssthresh, 9); /* cwnd had grown to 19 */
	assert_int_equal(c.cwnd, c.ssthresh);
}

static void test_probe_in_vain_costs_nothing(void **state)
{
	probe_last();
	ack(10);
	ack_begin(10, 0);
	block(9, 10);
	ack_end();
	assert_false(c.tlp_out);
	assert_int_equal(c.ssthresh, SL_TCP_INFINITE_SSTHRESH);
	assert_int_equal(c.reo_wnd_mult, 1); /* nor does it say anything of reordering */
}

/* ECN ------------------------------------------------------------------------------------------ */

static void ece(uint32_t n)
{
	ack_begin(n, 0);
	seg.flags |= SL_TCP_ECE;
	ack_end();
}

static void test_marks_reduce_once_a_window(void **state)
{
	c.ecn_ok = true;
	window(20);
	c.ssthresh = 30;
	ece(1);
	assert_int_equal(c.ca, SL_CA_CWR);
	assert_int_equal(c.ssthresh, 10);
	assert_true(c.cwr_owed);
	for (uint32_t n = 2; n <= 20; n++)
		ece(n);
	assert_int_equal(c.ssthresh, 10);
	assert_int_equal(c.ca, SL_CA_CWR);
	send_new(2);
	later(RTT);
	ack(21);
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.cwnd, 10);
	ece(22);
	assert_int_equal(c.ca, SL_CA_CWR);
	assert_int_equal(c.ssthresh, 5);
}

static void test_reduction_for_a_mark_is_never_undone(void **state)
{
	c.ecn_ok = true;
	window(20);
	ack_begin(0, t0);
	seg.flags |= SL_TCP_ECE;
	block(1, 8);
	ack_end();
	assert_int_equal(c.ca, SL_CA_RECOVERY);
	assert_int_equal(c.ssthresh, 10);
	resend_lost();
	later(1000);
	ack_begin(20, t0); /* it was late only */
	ack_end();
	assert_int_equal(c.ssthresh, 10);
	assert_in_range(c.cwnd, 10, 11);
}

/* Undo by time stamp --------------------------------------------------------------------------- */

static void test_late_original_undoes_recovery(void **state)
{
	window(20);
	c.ssthresh = 17;
	sack(0, 1, 8);
	assert_int_equal(resend_lost(), 1);
	assert_int_equal(c.ssthresh, 10);
	later(2000);
	ack_begin(20, t0);
	ack_end();
	assert_int_equal(c.ca, SL_CA_OPEN);
	assert_int_equal(c.ssthresh, 17);
	assert_true(c.cwnd >= 20);
}

static void test_common_case_asks_nothing_of_the_queue(void **state)
{
	window(100);
	for (uint32_t n = 1; n <= 100; n++) {
		later(10);
		ack(n);
		assert_int_equal(c.ca, SL_CA_OPEN);
		assert_int_equal(sl_tcp_loss_next(&c), UINT32_MAX);
	}
	assert_int_equal(c.cwnd, 200);
	assert_int_equal(c.delivered, 100);
	assert_int_equal(got.rtt_us, host.now_us - t0 - 99);
}

/* Against a plain look at the whole queue -------------------------------------------------------
 */

/* A network that loses, delays and reorders; a receiver that reports what it has. */
#define FLYING 8192u
struct flight {
	uint64_t at_us;
	uint32_t seq, len;
	uint64_t sent_us; /* the echo */
};
static struct flight flying[FLYING];
static uint32_t nflying;
static struct sl_tcp_block have[RING]; /* the receiver's, disjoint, newest first */
static uint32_t nhave, rcv_nxt;
static uint64_t rnd;

static uint32_t below(uint32_t n)
{
	rnd = rnd * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd >> 33) % n;
}

static void fly(const struct sl_txseg *p, uint32_t loss, uint32_t jitter)
{
	if (below(1000) < loss || nflying == FLYING)
		return;
	flying[nflying++] =
		(struct flight){host.now_us + RTT + below(jitter), p->seq, p->len, host.now_us};
}

/* Joins [start, end) with what it touches. */
static void receive(uint32_t start, uint32_t end)
{
	struct sl_tcp_block b = {start, end};
	uint32_t n = 0;

	if (sl_seq_lt(b.start, rcv_nxt))
		b.start = rcv_nxt;
	if (sl_seq_le(b.end, b.start))
		return;
	for (uint32_t i = 0; i < nhave; i++) {
		if (sl_seq_le(have[i].start, b.end) && sl_seq_ge(have[i].end, b.start)) {
			if (sl_seq_lt(have[i].start, b.start))
				b.start = have[i].start;
			if (sl_seq_gt(have[i].end, b.end))
				b.end = have[i].end;
		} else {
			have[n++] = have[i];
		}
	}
	nhave = n;
	if (b.start == rcv_nxt) {
		rcv_nxt = b.end;
		return;
	}
	memmove(have + 1, have, nhave * sizeof(*have));
	have[0] = b;
	nhave++;
}

/* What recovery is to send, and what RACK says, by the definitions. */
static void check_against_queue(bool detected)
{
	uint32_t next = UINT32_MAX;

	for (uint32_t i = c.tx_nxt; i-- != c.tx_una;) {
		const struct sl_txseg *p = sl_tcp_piece(&c, i);
		bool overtaken =
			p->sent_us < c.rack_sent_us || (p->sent_us == c.rack_sent_us &&
							sl_seq_lt(p->seq + p->len, c.rack_end_seq));

		if ((p->marks & (SL_TXS_LOST | SL_TXS_RETX)) == SL_TXS_LOST)
			next = i;
		if (p->marks & SL_TXS_SACKED ||
		    (p->marks & (SL_TXS_LOST | SL_TXS_RETX)) == SL_TXS_LOST)
			continue;
		/* The window for reordering is one RTT at most. */
		if (detected && overtaken && host.now_us - p->sent_us > c.rack_rtt_us + c.srtt_us)
			fail_msg("piece %u of %u is lost", i - c.tx_una, c.tx_nxt - c.tx_una);
	}
	if (c.frto != 2)
		assert_int_equal(sl_tcp_loss_next(&c), next);
}

static void split_somewhere(void)
{
	uint32_t at = c.tx_una + below(c.tx_nxt - c.tx_una);
	struct sl_txseg *p = sl_tcp_piece(&c, at);
	uint16_t len = p->len / 2;

	if (p->len < 2 || c.tx_nxt - c.tx_una > RING / 2)
		return;
	for (uint32_t i = c.tx_nxt; i != at; i--)
		*sl_tcp_piece(&c, i) = *sl_tcp_piece(&c, i - 1);
	c.tx_nxt++;
	c.tx_tail++;
	p->len = len;
	p = sl_tcp_piece(&c, at + 1);
	p->seq += len;
	p->len -= len;
	sl_tcp_loss_on_split(&c, at);
}

static void ack_of_receiver(uint64_t echo_us)
{
	uint64_t newest = c.rack_sent_us;

	ack_begin(0, echo_us);
	seg.ack = rcv_nxt;
	seg.nsack = (uint8_t)(!c.sack_ok ? 0 : nhave < 3 ? nhave : 3);
	seg.opts |= seg.nsack ? SL_TCPO_SACK : 0;
	memcpy(seg.sack, have, seg.nsack * sizeof(*have));
	ack_end();
	check_against_queue(!c.rack_advanced && c.rack_sent_us != newest);
}

static void send_what_may(uint32_t loss, uint32_t jitter)
{
	uint32_t i;

	while (sl_tcp_in_flight(&c) < sl_tcp_loss_cwnd(&c) && c.tx_nxt - c.tx_una < RING / 2) {
		i = sl_tcp_loss_next(&c);
		if (i != UINT32_MAX)
			resend(i);
		else
			send_new(1);
		fly(sl_tcp_piece(&c, i != UINT32_MAX ? i : c.tx_nxt - 1), loss, jitter);
	}
}

static void arrive_next(uint32_t loss)
{
	struct flight f;
	uint32_t first = 0;

	for (uint32_t i = 1; i < nflying; i++)
		if (flying[i].at_us < flying[first].at_us)
			first = i;
	f = flying[first];
	flying[first] = flying[--nflying];
	if (f.at_us > host.now_us)
		host.now_us = f.at_us;
	receive(f.seq, f.seq + f.len);
	if (below(1000) >= loss)
		ack_of_receiver(f.sent_us);
}

static void random_run(uint64_t seed)
{
	static const uint32_t losses[] = {0, 10, 100, 300}, jitters[] = {1, 1000, 30000, 200000};
	uint32_t loss, jitter;

	setup(NULL);
	rnd = seed;
	loss = losses[below(4)];
	jitter = jitters[below(4)];
	c.ts_ok = below(2);
	c.sack_ok = below(4);
	c.cc = below(2) ? &sl_cc_cubic : &sl_cc_reno;
	nflying = nhave = 0;
	rcv_nxt = ISS;
	for (int step = 0; step < 3000; step++) {
		send_what_may(loss, jitter);
		check_sums();
		if (below(500) == 0 && c.tx_una != c.tx_nxt)
			split_somewhere();
		if (c.reo_at && (!nflying || below(4) == 0) && c.reo_at < host.now_us + RTT) {
			if (c.reo_at > host.now_us)
				host.now_us = c.reo_at;
			sl_tcp_loss_on_reo_timer(&c);
			check_sums();
			check_against_queue(true);
		} else if (nflying) {
			arrive_next(loss);
		} else {
			later(c.rto_us);
			sl_tcp_loss_on_rto(&c);
			check_sums();
			check_against_queue(false);
		}
	}
	assert_true(sl_seq_gt(c.snd_una, ISS));
	teardown(NULL);
}

static void test_short_cuts_find_what_a_long_look_finds(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++)
		random_run(seed);
	setup(NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_blocks_mark_whole_pieces),
		T(test_blocks_that_cannot_be),
		T(test_split_pieces_keep_the_sums),
		T(test_hole_is_lost_at_the_third_arrival),
		T(test_timer_finds_the_loss_of_a_short_flight),
		T(test_seen_reordering_waits),
		T(test_one_ack_of_both_kinds_is_no_reordering),
		T(test_lost_retransmission_is_sent_again),
		T(test_many_lost_are_found_and_repaired_in_order),
		T(test_early_echo_is_not_the_retransmissions),
		T(test_dsack_widens_the_window_once_a_round),
		T(test_dsacks_of_a_duplicating_network_say_nothing),
		T(test_dsacks_for_all_undo),
		T(test_recovery_sends_in_proportion),
		T(test_many_losses_do_not_burst),
		T(test_rto_marks_all_and_starts_again),
		T(test_end_of_an_rto_makes_no_burst),
		T(test_dsacks_after_the_end_undo),
		T(test_reneging_is_found_by_the_rto),
		T(test_eifel_undoes_at_the_first_ack),
		T(test_frto_with_sack),
		T(test_frto_without_sack),
		T(test_frto_finds_a_real_loss),
		T(test_filled_hole_is_no_spurious_timeout),
		T(test_three_duplicate_acks),
		T(test_more_duplicate_acks_than_can_be),
		T(test_old_ack_is_no_duplicate),
		T(test_probe_that_repairs_costs_the_window),
		T(test_probe_in_vain_costs_nothing),
		T(test_marks_reduce_once_a_window),
		T(test_reduction_for_a_mark_is_never_undone),
		T(test_late_original_undoes_recovery),
		T(test_common_case_asks_nothing_of_the_queue),
		T(test_short_cuts_find_what_a_long_look_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
