/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of loss, real or apparent, on the congestion window. */
#include "sender.h"

/* PRR ----------------------------------------------------------------------------------------- */

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

/* RTO and F-RTO ------------------------------------------------------------------------------- */

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
	assert_int_equal(sl_tcp_loss_next(&c), c.tx_nxt); /* new data instead */
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

/* NewReno ------------------------------------------------------------------------------------- */

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

/* Tail loss probe ----------------------------------------------------------------------------- */

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

/* ECN ----------------------------------------------------------------------------------------- */

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
	assert_int_equal(c.trouble->delivered_ce, 21);
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

/* Undoing
 * ------------------------------------------------------------------------------------------- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_recovery_sends_in_proportion),
		T(test_many_losses_do_not_burst),
		T(test_rto_marks_all_and_starts_again),
		T(test_end_of_an_rto_makes_no_burst),
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
		T(test_dsacks_for_all_undo),
		T(test_dsacks_after_the_end_undo),
		T(test_late_original_undoes_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
