/* SPDX-License-Identifier: BSD-2-Clause */
/* Which pieces have arrived and which are lost: scoreboard, RACK, DSACK. */
#include "sender.h"

#include <time.h>

/* Scoreboard ---------------------------------------------------------------------------------- */

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

/* RACK ---------------------------------------------------------------------------------------- */

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
	assert_int_equal(sl_tcp_loss_next(&c), c.tx_nxt);
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
	assert_int_equal(c.trouble->reordering, 4); /* for TCP_INFO */
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
	while ((i = sl_tcp_loss_next(&c)) != c.tx_nxt) {
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
	assert_null(sl_tcp_board(&c));
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

/* DSACK --------------------------------------------------------------------------------------- */

static void test_dsack_widens_the_window_once_a_round(void **state)
{
	uint32_t n = 10;

	window(10);
	sl_tcp_trouble(&c)->total_retrans = 100;
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

/* Cost and sums
 * ------------------------------------------------------------------------------------- */

static void test_common_case_asks_nothing_of_the_queue(void **state)
{
	window(100);
	for (uint32_t n = 1; n <= 100; n++) {
		later(10);
		ack(n);
		assert_int_equal(c.ca, SL_CA_OPEN);
		assert_int_equal(sl_tcp_loss_next(&c), c.tx_nxt);
	}
	assert_int_equal(c.cwnd, 200);
	assert_int_equal(c.delivered, 100);
	assert_int_equal(got.rtt_us, host.now_us - t0 - 99);
}

/* Against a plain look at the whole queue ----------------------------------------------------- */

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

/* Compares the pieces that recovery sends next, and RACK's losses, with the definitions. */
static void check_against_queue(bool detected)
{
	uint32_t next = c.tx_nxt;

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
		if (i != c.tx_nxt)
			resend(i);
		else
			send_new(1); /* i is its index */
		fly(sl_tcp_piece(&c, i), loss, jitter);
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

/* Cost ---------------------------------------------------------------------------------------- */

#define WINDOW 38000u
#define ROUND  1000u /* ACKs */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Everything but the first piece has arrived, each piece by a block of its own. The peer's ACKs
 * tell of all, and of one piece or two halves of pieces, in turns. */
static void repeat(uint32_t n, uint32_t i)
{
	ack_begin(0, 0);
	block(i & 1 ? 1 : n / 2, i & 1 ? n : n / 2 + 1);
	if (i & 2)
		seg.sack[0].start++;
	got = (struct sl_tcp_ack){.prior_una = c.snd_una};
	sl_tcp_loss_sack(&c, &seg, &got);
	sl_tcp_loss_on_ack(&c, &got);
}

/* ns of an ACK (step) when n pieces are out (begin); the best of many. */
static uint64_t cost(uint32_t n, void (*begin)(uint32_t n), void (*step)(uint32_t n, uint32_t i))
{
	struct sl_txseg *many = calloc(1u << 16, sizeof(*many));
	uint64_t best = UINT64_MAX;

	assert_non_null(many);
	c.tx = many;
	c.txsize = 1u << 16;
	window(n);
	begin(n);
	for (uint32_t round = 0; round < 10; round++) {
		uint64_t begun = cpu_ns();

		for (uint32_t i = 0; i < ROUND; i++)
			step(n, i);
		best = sl_min(best, (cpu_ns() - begun) / ROUND);
	}
	check_sums();
	teardown(NULL);
	free(many);
	setup(NULL);
	return best;
}

static void check_cost(uint32_t n, void (*begin)(uint32_t n), void (*step)(uint32_t n, uint32_t i))
{
	uint64_t few = cost(n, begin, step), many = cost(WINDOW, begin, step);

	print_message("           %lu ns an ACK for %u pieces, %lu for 38,000\n",
		      (unsigned long)few, n, (unsigned long)many);
	assert_in_range(many, 0, 8 * few + 500); /* a walk: 38 or 380 times as much */
}

static void all_but_the_first_arrived(uint32_t n)
{
	got = (struct sl_tcp_ack){.prior_una = c.snd_una};
	for (uint32_t i = 1; i < n; i++) {
		ack_begin(0, 0);
		block(n - i, n - i + 1);
		sl_tcp_loss_sack(&c, &seg, &got);
	}
	assert_int_equal(c.sacked_out, n - 1);
}

static void test_repeated_blocks_cost_no_walk(void **state)
{
	check_cost(100, all_but_the_first_arrived, repeat);
}

static void all_sent_again(uint32_t n)
{
	uint32_t i;

	sl_tcp_loss_on_rto(&c);
	c.frto = 0;
	while ((i = sl_tcp_loss_next(&c)) != c.tx_nxt)
		resend(i);
	assert_int_equal(c.retx_out, n);
}

/* The copy of one of the first pieces is found lost, and goes once more. */
static void first_copy_is_lost(uint32_t n, uint32_t i)
{
	sl_tcp_mark_lost(&c, first_idx() + i % 8);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx() + i % 8);
	resend(first_idx() + i % 8);
	assert_int_equal(sl_tcp_loss_next(&c), c.tx_nxt);
}

static void test_pieces_sent_again_cost_no_walk(void **state)
{
	check_cost(1000, all_sent_again, first_copy_is_lost);
}

/* All were sent again, those copies were thought lost as well, and nothing was. */
static void all_undone(uint32_t n)
{
	all_sent_again(n);
	for (uint32_t i = 0; i < n; i++)
		sl_tcp_mark_lost(&c, first_idx() + i);
	sl_tcp_unmark_lost(&c);
	assert_int_equal(c.lost_out, 0);
	c.ca = SL_CA_DISORDER;
	c.rack_sent_us = host.now_us;
	c.rack_end_seq = c.snd_nxt;
	c.rack_rtt_us = RTT;
}

static void nothing_is_due(uint32_t n, uint32_t i)
{
	sl_tcp_rack_detect(&c);
	assert_int_equal(c.lost_out, 0);
}

static void test_undone_retransmissions_cost_no_walk(void **state)
{
	check_cost(1000, all_undone, nothing_is_due);
}

/* A copy that was thought lost twice, and was not, is judged all the same, in its turn. */
static void test_undone_retransmissions_are_judged_by_their_time(void **state)
{
	window(6);
	sl_tcp_loss_on_rto(&c);
	c.frto = 0;
	for (uint32_t i = 6; i-- > 0; later(1000)) /* the last one first */
		resend(first_idx() + i);
	for (uint32_t i = 0; i < 6; i++)
		sl_tcp_mark_lost(&c, first_idx() + i);
	sl_tcp_unmark_lost(&c);
	check_sums();
	c.ca = SL_CA_DISORDER;
	c.rack_reordering = true;
	c.rack_sent_us = host.now_us;
	c.rack_end_seq = c.snd_nxt;
	c.rack_rtt_us = RTT;
	later(RTT + RTT / 4 - 4000);
	sl_tcp_rack_detect(&c);
	for (uint32_t i = 0; i < 6; i++) /* the last three are older than the time allows */
		assert_int_equal(!!(piece(i)->marks & SL_TXS_LOST), i > 2);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx() + 3);
	assert_int_not_equal(c.reo_at, 0);
	later(RTT);
	sl_tcp_rack_detect(&c);
	assert_int_equal(c.lost_out, 6);
	assert_int_equal(sl_tcp_loss_next(&c), first_idx());
}

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
		T(test_common_case_asks_nothing_of_the_queue),
		T(test_short_cuts_find_what_a_long_look_finds),
		T(test_repeated_blocks_cost_no_walk),
		T(test_pieces_sent_again_cost_no_walk),
		T(test_undone_retransmissions_cost_no_walk),
		T(test_undone_retransmissions_are_judged_by_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
