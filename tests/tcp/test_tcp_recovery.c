/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: lost segments on an open connection: how the loss is noticed, how they are sent again,
 * and the window meanwhile. */
#include "scripts.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_trouble.h"

/* RFC 6928: ten segments at first; then slow start. */
static void initial_window(struct t *t)
{
	t_open(t);
	t_write(t, 15000);
	check(t, t->ngot - t->nlooked == 10);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 2001");
	out(t, ". 10001:11001(1000) ack 1");
	out(t, ". 11001:12001(1000) ack 1");
	out(t, ". 12001:13001(1000) ack 1");
	out(t, ". 13001:14001(1000) ack 1");
	quiet(t, 0);
}

/* One turn of the lane reads an ACK and three SACKs. The connection sends new segments after the
 * ACK, before the turn looks at the SACKs. */
static void hole_in_the_turn(struct t *t)
{
	t_open(t);
	t_write(t, 40000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	t->h->in_turn = true;
	in(t, ". 1:1(0) ack 6001");
	in(t, ". 1:1(0) ack 6001 <sack 7001:8001>");
	in(t, ". 1:1(0) ack 6001 <sack 7001:9001>");
	t->h->in_turn = false;
	in(t, ". 1:1(0) ack 6001 <sack 7001:10001>");
	/* A window of 16, less the four in flight, and one for each of the first two SACKs. */
	for (int i = 0; i < 14; i++) {
		char spec[64];

		snprintf(spec, sizeof(spec), ". %d:%d(1000) ack 1", 10001 + i * 1000,
			 11001 + i * 1000);
		out(t, spec);
	}
	out(t, ". 6001:7001(1000) ack 1");
	check(t, t->c->tcp.ca == SL_CA_RECOVERY);
}

/* RFC 8985: three that arrived later, and the first is lost; recovery halves or so. */
static void fast_retransmit(struct t *t)
{
	t_open(t);
	t_write(t, 10000);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	in(t, ". 1:1(0) ack 1 <sack 1001:3001>");
	quiet(t, 0);
	in(t, ". 1:1(0) ack 1 <sack 1001:4001>");
	out(t, ". 1:1001(1000) ack 1");
	check(t, t->c->tcp.ca == SL_CA_RECOVERY && t->c->tcp.ssthresh == 7);
	quiet(t, 0);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 10001");
	check(t, t->c->tcp.ca == SL_CA_OPEN && t->c->tcp.cwnd == 7);
	quiet(t, 5 * SIM_SECOND);
}

/* Recovery without SACK (NewReno): RFC 6582. */
static void newreno(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1 <mss 1460>");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 32896");
	t_write(t, 10000);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 32896");
	in(t, ". 1:1(0) ack 1 win 32896");
	quiet(t, 0);
	in(t, ". 1:1(0) ack 1 win 32896");
	out(t, ". 1:1001(1000) ack 1");
	quiet(t, 0);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 5001 win 32896"); /* partial: the next is lost too */
	out(t, ". 5001:6001(1000) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 10001 win 32896");
	check(t, t->c->tcp.lost_out == 0 && t->c->tcp.cwnd == t->c->tcp.ssthresh);
	/* Step 1: until something above it is acknowledged, duplicates may be our own doing. */
	in(t, ". 1:1(0) ack 10001 win 32896");
	in(t, ". 1:1(0) ack 10001 win 32896");
	in(t, ". 1:1(0) ack 10001 win 32896");
	t_write(t, 1000);
	out(t, "P. 10001:11001(1000) ack 1");
	in(t, ". 1:1(0) ack 11001 win 32896");
	check(t, t->c->tcp.ca == SL_CA_OPEN);
}

/* RFC 3042: each of the first two duplicates lets a new segment out. */
static void limited_transmit(struct t *t)
{
	t_open(t);
	t_write(t, 15000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	out(t, ". 10001:11001(1000) ack 1");
	in(t, ". 1:1(0) ack 1 <sack 1001:3001>");
	out(t, ". 11001:12001(1000) ack 1");
	quiet(t, 0);
}

/* RFC 8985 7: the end of a flight that is lost is probed for before the RTO. */
static void tail_loss_probe(struct t *t)
{
	t_open(t);
	t_write(t, 3000);
	check(t, skip(t) == 3);
	out_in(t, 2 * T_RTT + 2 * MS, "P. 2001:3001(1000) ack 1"); /* Linux' margin for ticks */
	check(t, counted(t, SL_TCPC_TLP) == 1 && t->c->tcp.cwnd == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 2001:3001>");
	out(t, ". 1:1001(1000) ack 1"); /* RFC 6937: one for one that has arrived */
	quiet(t, 0);
	in(t, ". 1:1(0) ack 1001 <sack 2001:3001>");
	out(t, ". 1001:2001(1000) ack 1");
}

/* Many small writes are few segments when a time-out sends them again (tcp_retrans_try_collapse()
 * of Linux): full ones but the first. Those that the peer has stay as they are. */
static void small_ones_joined(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t->c->tcp.nodelay = true;
	for (int i = 0; i < 9; i++)
		t_write(t, 300);
	check(t, skip(t) == 9);
	out_in(t, t->c->tcp.rto_us, "P. 1:901(900) ack 1");
	in(t, ". 1:1(0) ack 901");
	out(t, "P. 901:1801(900) ack 1");
	out(t, "P. 1801:2701(900) ack 1");
	in(t, ". 1:1(0) ack 2701");
	quiet(t, SIM_SECOND);
}

static void small_ones_left(struct t *t)
{
	t->h->params.tlp = t->h->params.retrans_collapse = false;
	t_open(t);
	t->c->tcp.nodelay = true;
	t_write(t, 300);
	t_write(t, 300);
	check(t, skip(t) == 2);
	out_in(t, t->c->tcp.rto_us, "P. 1:301(300) ack 1");
}

static void tried(struct t *t)
{
	sl_tcp_try_now(&t->c->tcp);
	t_kick(t);
}

/* A part of the path has gone: the probe leaves at once. The path is back after time-outs: the
 * first segment does. Nothing leaves while nothing is out. */
static void try_now(struct t *t)
{
	t_open(t);
	tried(t);
	quiet(t, SIM_SECOND);
	t_write(t, 3000);
	check(t, skip(t) == 3);
	tried(t);
	out_in(t, 0, "P. 2001:3001(1000) ack 1");
	check(t, counted(t, SL_TCPC_TLP) == 1 && counted(t, SL_TCPC_RTO) == 0);
	pass(t, 2 * SIM_SECOND); /* the path is away: 200, 400, 800 ms */
	check(t, skip(t) >= 3);
	tried(t);
	out_in(t, 0, ". 1:1001(1000) ack 1");
}

/* RFC 6298: the timer, its backing off, and what a timeout does to the window. */
static void rto(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 1000);
	out(t, "P. 1:1001(1000) ack 1");
	out_in(t, t->c->tcp.rto_us, "P. 1:1001(1000) ack 1");
	check(t, t->c->tcp.cwnd == 1 && t->c->tcp.ca == SL_CA_LOSS);
	check(t, t->c->tcp.rto_us >= 400 * MS && t->c->tcp.rto_us <= 460 * MS);
	out_in(t, t->c->tcp.rto_us, "P. 1:1001(1000) ack 1");
	out_in(t, t->c->tcp.rto_us, "P. 1:1001(1000) ack 1");
	in(t, ". 1:1(0) ack 1001");
	check(t, t->c->tcp.rto_us > 1600 * MS); /* Karn: no sample, so it stays (5.7) */
	quiet(t, 100 * SIM_SECOND);
}

/* TCP_THIN_LINEAR_TIMEOUTS: fewer than four segments out, and the first six time-outs are equally
 * long (tcp_retransmit_timer() of Linux). */
static void rto_thin(struct t *t)
{
	uint32_t rto;

	t->h->params.tlp = false;
	t_open(t);
	t->c->tcp.thin_lto = true;
	t_write(t, 1000);
	out(t, "P. 1:1001(1000) ack 1");
	rto = t->c->tcp.rto_us;
	for (int i = 0; i < 7; i++)
		out_in(t, rto, "P. 1:1001(1000) ack 1");
	check(t, t->c->tcp.rto_us == 2 * rto);
	out_in(t, 2 * rto, "P. 1:1001(1000) ack 1");
}

static void rto_of_four_is_not_thin(struct t *t)
{
	uint32_t rto;

	t->h->params.tlp = false;
	t->h->params.thin_linear_timeouts = true;
	t_open(t);
	t_write(t, 4000);
	check(t, skip(t) == 4);
	rto = t->c->tcp.rto_us;
	out_in(t, rto, ". 1:1001(1000) ack 1");
	check(t, t->c->tcp.rto_us == 2 * rto);
}

/* After tcp_retries2 of them the peer is given up. */
static void rto_gives_up(struct t *t)
{
	t->h->params.tlp = false;
	t->h->params.retries2 = 3;
	t_open(t);
	t_write(t, 1000);
	pass(t, 60 * SIM_SECOND);
	check(t, skip(t) >= 3);
	saw(t, SL_TCP_EV_ERROR | SL_TCP_EV_CLOSED);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* The process did not run for longer than a deadline's 32 bits can tell from the future. */
static void stopped_for_long(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 1000);
	check(t, skip(t) == 1);
	t->h->clock_off_us += 2400 * SIM_SECOND;
	pass(t, SIM_SECOND / 2);
	check(t, skip(t) >= 1);
}

/* RFC 5682, 3522: a timeout that was none is undone. */
static void spurious_rto(struct t *t)
{
	t->h->params.tlp = false;
	t_open_ts(t);
	t_write(t, 5000);
	check(t, skip(t) == 5);
	out_in(t, t->c->tcp.rto_us, ". 1:1001(1000) ack 1");
	in(t, ". 1:1(0) ack 1001 win 257 <TS 102 10>"); /* of the original */
	check(t, t->c->tcp.ca != SL_CA_LOSS && t->c->tcp.cwnd >= 5);
	check(t, counted(t, SL_TCPC_SPURIOUS) == 1);
	in(t, ". 1:1(0) ack 5001 win 257 <TS 102 10>");
	quiet(t, 5 * SIM_SECOND);
}

/* A peer that takes back what it had selectively acknowledged (RFC 2018 8) gets it again. */
static void reneging(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 3000);
	check(t, skip(t) == 3);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:3001>");
	pass(t, 2 * SIM_SECOND);
	skip(t);
	in(t, ". 1:1(0) ack 1001");
	pass(t, 5 * SIM_SECOND);
	in(t, ". 1:1(0) ack 2001");
	pass(t, 5 * SIM_SECOND);
	in(t, ". 1:1(0) ack 3001");
	check(t, t->c->tcp.tx_una == t->c->tcp.tx_tail);
}

/* The receiver throws away what it had, and acknowledges up to there: it gets it again within ten
 * milliseconds or half a round trip, not after the RTO (tcp_check_sack_reneging()). */
static void reneging_is_answered_soon(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 3000);
	check(t, skip(t) == 3);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:3001>");
	pass(t, T_RTT);
	check(t, skip(t) == 1);
	in(t, ". 1:1(0) ack 1001");
	out_in(t, 10 * MS, ". 1001:2001(1000) ack 1");
}

/* RFC 8985 7.4.2: each answer comes a little after the probe, when nothing is in flight any more,
 * so the probes are the duplicates, and the window stays. */
static void late_answers_to_probes(struct t *t)
{
	static const char *const acks[] = {". 1:1(0) ack 1001", ". 1:1(0) ack 2001",
					   ". 1:1(0) ack 3001"};
	static const char *const dsacks[] = {". 1:1(0) ack 1001 <sack 1:1001>",
					     ". 1:1(0) ack 2001 <sack 1001:2001>",
					     ". 1:1(0) ack 3001 <sack 2001:3001>"};

	t_open(t);
	for (int i = 0; i < 3; i++) {
		t_write(t, 1000);
		pass(t, 2 * t->c->tcp.srtt_us + 205 * MS);
		check(t, skip(t) == 2 && t->c->tcp.tlp_out);
		in(t, acks[i]);
		pass(t, MS);
		in(t, dsacks[i]);
		check(t, !t->c->tcp.tlp_out && t->c->tcp.cwnd >= 10);
	}
	check(t, counted(t, SL_TCPC_RTO) == 0);
}

/* A peer without DSACK ends the probe by a duplicate ACK. */
static void duplicate_answer_to_a_probe(struct t *t)
{
	t_open(t);
	t_write(t, 1000);
	pass(t, 2 * T_RTT + 205 * MS);
	check(t, skip(t) == 2 && t->c->tcp.tlp_out);
	in(t, ". 1:1(0) ack 1001");
	in(t, ". 1:1(0) ack 1001");
	check(t, !t->c->tcp.tlp_out);
	t_write(t, 1000);
	in(t, ". 1:1(0) ack 2001");
	check(t, t->c->tcp.cwnd >= 10);
}

/* RFC 3708: the DSACK of what a time-out sent in vain comes when nothing is in flight. */
static void dsack_undoes_when_nothing_is_out(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 1000);
	pass(t, t->c->tcp.rto_us + 4 * MS);
	check(t, skip(t) == 2 && t->c->tcp.cwnd == 1);
	in(t, ". 1:1(0) ack 1001");
	check(t, t->c->tcp.cwnd < 10);
	in(t, ". 1:1(0) ack 1001 <sack 1:1001>");
	check(t, t->c->tcp.cwnd >= 10 && counted(t, SL_TCPC_SPURIOUS) == 1);
}

/* The time-out begins anew with the fast retransmission of the head: its answer comes in time. */
static void rto_counts_from_the_heads_retransmission(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_write(t, 10000);
	skip(t);
	pass(t, t->c->tcp.rto_us - 10 * MS);
	in(t, ". 1:1(0) ack 1 <sack 1001:4001>");
	out(t, ". 1:1001(1000) ack 1");
	quiet(t, 100 * MS);
	in(t, ". 1:1(0) ack 10001");
	check(t, counted(t, SL_TCPC_RTO) == 0);
}

/* RFC 8985 7.2: no probe while data are SACKED, since RACK has a timer for the hole. */
static void no_probe_beside_sacked_data(struct t *t)
{
	t_open(t);
	t_write(t, 3000);
	check(t, skip(t) == 3);
	pass(t, 2 * T_RTT + MS);
	in(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	out_in(t, T_RTT / 4, ". 1:1001(1000) ack 1");
	check(t, counted(t, SL_TCPC_TLP) == 0);
}

/* Both ends close; then the peer opens another connection from its next port. */
static void next_connection(struct t *t, const char *fin, const char *fin_acked, const char *last)
{
	t_close(t);
	out(t, fin);
	in(t, fin_acked);
	in(t, last);
	skip(t);
	t->rport++;
	t->know_iss = false;
	in(t, "S 0:0(0) win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 257");
	state(t, SL_TCP_ESTABLISHED);
}

/* tcp_init_metrics(): the round trip of the last connection sets the first time-out, as long as no
 * data have given one. */
static void first_timeout_of_the_next(struct t *t)
{
	t_open(t);
	t_write(t, 1000);
	skip(t);
	pass(t, 150 * MS); /* the path is slow under load */
	in(t, ". 1:1(0) ack 1001");
	check(t, t->c->tcp.srtt_us > 25 * MS && t->c->tcp.srtt_us < 30 * MS);
	next_connection(t, "F. 1001:1001(0) ack 1", ". 1:1(0) ack 1002", "F. 1:1(0) ack 1002");
	check(t, t->c->tcp.srtt_us == T_RTT && t->c->tcp.rto_us > 220 * MS);
	t_write(t, 1000);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1001");
	check(t, t->c->tcp.rto_us < 220 * MS);
}

/* A connection tolerates the reordering that the one before it has seen (TCP_METRIC_REORDERING). */
static void reordering_of_the_last(struct t *t)
{
	t_open(t);
	t_write(t, 10000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 5001:7001>");
	in(t, ". 1:1(0) ack 7001");
	in(t, ". 1:1(0) ack 10001");
	check(t, t->c->tcp.trouble->reordering == 7 && skip(t) == 0);
	next_connection(t, "F. 10001:10001(0) ack 1", ". 1:1(0) ack 10002", "F. 1:1(0) ack 10002");
	t_write(t, 10000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:5001>");
	quiet(t, MS);
	in(t, ". 1:1(0) ack 5001"); /* it was overtaken again, and was not sent twice */
	quiet(t, 0);
}

/* An ACK is one case of reordering, however many pieces it reports (and one by its number is
 * another): tcp_check_sack_reordering(). */
static void cases_of_reordering(struct t *t)
{
	t_open(t);
	t_write(t, 10000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 9001:10001>");
	in(t, ". 1:1(0) ack 1 <sack 3001:4001 9001:10001>");
	check(t, t->c->tcp.sacked_out == 2 && t->c->tcp.trouble->reord_seen == 1);
	in(t, ". 1:1(0) ack 10001");
	check(t, t->c->tcp.trouble->reord_seen == 2 && t->c->tcp.trouble->reordering == 10);
	quiet(t, SIM_SECOND);
}

/* An ACK of four segments in slow start is four segments of growth, and all that may go goes at
 * once. */
static void slow_start_by_stretch_acks(struct t *t)
{
	t_open(t);
	t_write(t, 30000);
	skip(t);
	pass(t, 110 * MS);
	in(t, ". 1:1(0) ack 4001");
	check(t, t->ngot - t->nlooked == 8);
	skip(t);
	quiet(t, 10 * MS);
}

/* Data that an old ACK tells of (RFC 6937: DeliveredData) let as many segments go as they are. */
static void old_ack_with_sacks(struct t *t)
{
	t_open(t);
	t_write(t, 10000);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	in(t, ". 1:1(0) ack 1 <sack 1001:3001>");
	in(t, ". 1:1(0) ack 1 <sack 1001:3001 8001:9001>");
	out(t, ". 1:1001(1000) ack 1");
	quiet(t, 0);
	pass(t, 12 * MS);
	in(t, ". 1:1(0) ack 4001 <sack 8001:9001>");
	out(t, ". 4001:5001(1000) ack 1");
	out(t, ". 5001:6001(1000) ack 1");
	out(t, ". 6001:7001(1000) ack 1");
	quiet(t, 0);
	t_write(t, 10000);
	pass(t, 2 * MS);
	in(t, ". 1:1(0) ack 3001 <sack 5001:7001>");
	out(t, ". 7001:8001(1000) ack 1");
	out(t, ". 10001:11001(1000) ack 1");
	quiet(t, 0);
}

/* The path reorders: what is SACKed lets the window grow as what is acknowledged does. */
static void sacks_grow_the_window(struct t *t)
{
	t_open(t);
	t_write(t, 10000);
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 <sack 9001:10001>");
	check(t, t->c->tcp.cwnd == 10);
	in(t, ". 1:1(0) ack 1 <sack 3001:4001 9001:10001>");
	in(t, ". 1:1(0) ack 10001");
	check(t, t->c->tcp.cwnd == 19);
}

const struct script scripts[] = {
	SCRIPT(sacks_grow_the_window),
	SCRIPT(slow_start_by_stretch_acks),
	SCRIPT(old_ack_with_sacks),
	SCRIPT(cases_of_reordering),
	SCRIPT(first_timeout_of_the_next),
	SCRIPT(reordering_of_the_last),
	SCRIPT(reneging_is_answered_soon),
	SCRIPT(late_answers_to_probes),
	SCRIPT(duplicate_answer_to_a_probe),
	SCRIPT(dsack_undoes_when_nothing_is_out),
	SCRIPT(rto_counts_from_the_heads_retransmission),
	SCRIPT(no_probe_beside_sacked_data),
	SCRIPT(initial_window),
	SCRIPT(hole_in_the_turn),
	SCRIPT(fast_retransmit),
	SCRIPT(newreno),
	SCRIPT(limited_transmit),
	SCRIPT(tail_loss_probe),
	SCRIPT(try_now),
	SCRIPT(small_ones_joined),
	SCRIPT(small_ones_left),
	SCRIPT(rto),
	SCRIPT(rto_thin),
	SCRIPT(rto_of_four_is_not_thin),
	SCRIPT(rto_gives_up),
	SCRIPT(stopped_for_long),
	SCRIPT(spurious_rto),
	SCRIPT(reneging),
	{NULL, NULL},
};
