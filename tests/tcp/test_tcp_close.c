/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: how connections end: FINs in every order, resets and who may send them, TIME_WAIT. */
#include "scripts.h"
#include "tcp/tcp_user.h"

/* RFC 9293 figure 12 */
static void normal(struct t *t)
{
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	state(t, SL_TCP_FIN_WAIT1);
	in(t, ". 1:1(0) ack 2");
	check(t, !t->c && t->h->tcp.ntw == 1); /* an orphan in FIN_WAIT2 is a record */
	in(t, "F. 1:1(0) ack 2");
	out(t, ". 2:2(0) ack 2");
	in(t, "F. 1:1(0) ack 2"); /* our ACK was lost */
	out(t, ". 2:2(0) ack 2");
	quiet(t, 59 * SIM_SECOND);
	check(t, t->h->tcp.ntw == 1);
	quiet(t, 2 * SIM_SECOND);
	check(t, t->h->tcp.ntw == 0 && t->h->tcp.nnodes == 0);
}

static void half_close(struct t *t)
{
	t_open(t);
	t_write(t, 100);
	t_shutdown(t);
	out(t, "P. 1:101(100) ack 1");
	out(t, "F. 101:101(0) ack 1");
	in(t, ". 1:1(0) ack 102");
	state(t, SL_TCP_FIN_WAIT2);
	quiet(t, 1000 * SIM_SECOND); /* as long as the peer likes */
	in(t, "P. 1:1001(1000) ack 102");
	out(t, ". 102:102(0) ack 1001");
	t_read(t, 5000, 1000);
	in(t, "F. 1001:1001(0) ack 102");
	out(t, ". 102:102(0) ack 1002");
	saw(t, SL_TCP_EV_RDHUP | SL_TCP_EV_CLOSED);
	check(t, sl_tcp_at_eof(&t->c->tcp) && t->h->tcp.ntw == 1);
}

/* FIN with the last data, as one segment. */
static void fin_with_data(struct t *t)
{
	t_open(t);
	t->c->tcp.cork = true;
	t_changed(t);
	t_write(t, 100);
	quiet(t, 0);
	t_close(t);
	if (t->got[t->nlooked]->seg.flags & SL_TCP_FIN) {
		out(t, "PF. 1:101(100) ack 1");
	} else {
		out(t, "P. 1:101(100) ack 1");
		out(t, "F. 101:101(0) ack 1");
	}
	in(t, ". 1:1(0) ack 102");
	check(t, !t->c);
}

static void passive(struct t *t)
{
	t_open(t);
	in(t, "F. 1:1(0) ack 1");
	state(t, SL_TCP_CLOSE_WAIT);
	saw(t, SL_TCP_EV_RDHUP | SL_TCP_EV_IN);
	out_in(t, 2 * MS, ". 1:1(0) ack 2"); /* as Linux: our FIN might have followed */
	t_write(t, 100);
	out(t, "P. 1:101(100) ack 2");
	t_close(t);
	out(t, "F. 101:101(0) ack 2");
	state(t, SL_TCP_LAST_ACK);
	in(t, ". 2:2(0) ack 102");
	check(t, !t->c && t->h->tcp.nnodes == 0);
	in(t, ". 2:2(0) ack 102"); /* nobody is there */
	out(t, "R 102:102(0)");
}

/* The program closes as soon as it sees the peer's end: one segment says both. */
static void passive_at_once(struct t *t)
{
	t_open(t);
	in(t, "F. 1:1(0) ack 1");
	t_close(t);
	out(t, "F. 1:1(0) ack 2");
	in(t, ". 2:2(0) ack 2");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* The program reads, then closes: a segment with our FIN acknowledges the peer's data and end. */
static void passive_with_data(struct t *t)
{
	t_open(t);
	in(t, "PF. 1:101(100) ack 1");
	quiet(t, 39 * MS);
	t_read(t, 200, 100);
	t_close(t);
	out(t, "F. 1:1(0) ack 102");
}

/* Data and FIN come in one turn as two segments: the quick ACK of the data waits for our FIN, too,
 * but no longer than for a FIN alone. */
static void in_one_turn(struct t *t, const char *data, const char *fin)
{
	t->h->in_turn = true;
	in(t, data);
	t->h->in_turn = false;
	in(t, fin);
}

static void passive_in_one_turn(struct t *t)
{
	t_open(t);
	in_one_turn(t, "P. 1:101(100) ack 1", "F. 101:101(0) ack 1");
	t_read(t, 200, 100);
	t_close(t);
	out(t, "F. 1:1(0) ack 102");
	in(t, ". 102:102(0) ack 2");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

static void passive_in_one_turn_late(struct t *t)
{
	t_open(t);
	in_one_turn(t, "P. 1:101(100) ack 1", "F. 101:101(0) ack 1");
	out_in(t, 2 * MS, ". 1:1(0) ack 102");
	t_read(t, 200, 100);
	t_close(t);
	out(t, "F. 1:1(0) ack 102");
}

/* Data after a hole, and more than a full segment, are acknowledged at once. */
static void passive_in_one_turn_must(struct t *t)
{
	t_open(t);
	in(t, "P. 101:201(100) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 101:201>");
	in_one_turn(t, "P. 1:101(100) ack 1", "F. 201:201(0) ack 1");
	out(t, ". 1:1(0) ack 202");
}

static void passive_in_one_turn_much(struct t *t)
{
	t_open(t);
	t->h->in_turn = true;
	in(t, ". 1:1001(1000) ack 1");
	in_one_turn(t, "P. 1001:2001(1000) ack 1", "F. 2001:2001(0) ack 1");
	out(t, ". 1:1(0) ack 2002");
}

/* RFC 9293 figure 13 */
static void simultaneous(struct t *t)
{
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	in(t, "F. 1:1(0) ack 1");
	out(t, ". 2:2(0) ack 2");
	state(t, SL_TCP_CLOSING);
	in(t, ". 2:2(0) ack 2");
	check(t, !t->c && t->h->tcp.ntw == 1);
}

/* Both ends shut down at once and our program keeps the socket: it ends in TIME_WAIT and can still
 * be read. */
static void simultaneous_shutdown(struct t *t)
{
	t_open(t);
	in(t, "P. 1:11(10) ack 1");
	skip(t);
	t_shutdown(t);
	out(t, "F. 1:1(0) ack 11");
	in(t, "F. 11:11(0) ack 1");
	out(t, ". 2:2(0) ack 12");
	in(t, ". 12:12(0) ack 2");
	saw(t, SL_TCP_EV_CLOSED);
	t_read(t, 100, 10);
	check(t, sl_tcp_at_eof(&t->c->tcp));
}

/* Our FIN is lost. */
static void fin_lost(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	out_in(t, t->c->tcp.rto_us, "F. 1:1(0) ack 1");
	in(t, "F. 1:1(0) ack 2");
	out(t, ". 2:2(0) ack 2");
	check(t, !t->c && t->h->tcp.ntw == 1);
}

/* A FIN beyond a hole waits for it. */
static void fin_beyond_hole(struct t *t)
{
	t_open(t);
	in(t, "F. 101:101(0) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 101:102>");
	state(t, SL_TCP_ESTABLISHED);
	saw_not(t, SL_TCP_EV_RDHUP);
	in(t, "P. 1:101(100) ack 1");
	out(t, ". 1:1(0) ack 102");
	state(t, SL_TCP_CLOSE_WAIT);
	t_read(t, 1000, 100);
	check(t, sl_tcp_at_eof(&t->c->tcp));
}

/* RFC 2525 2.17: what was not read: reset. */
static void close_unread(struct t *t)
{
	t_open(t);
	in(t, "P. 1:101(100) ack 1");
	skip(t);
	t_close(t);
	out(t, "R. 1:1(0) ack 101");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* SO_LINGER of zero */
static void linger_zero(struct t *t)
{
	t_open(t);
	t_write(t, 100);
	skip(t);
	sim_close(t->c, 0);
	t_kick(t);
	out(t, "R. 101:101(0) ack 1");
	check(t, !t->c);
}

/* RFC 1122 4.2.2.13: data for one who has closed. */
static void data_after_close(struct t *t)
{
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	in(t, "P. 1:101(100) ack 2");
	out(t, "R 2:2(0)");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* The FIN is not acknowledged: the reset's number is the one that the peer expects. */
static void data_before_fin_is_acked(struct t *t)
{
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	in(t, "P. 1:101(100) ack 1");
	out(t, "R 1:1(0)");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

static void data_for_fin_wait2(struct t *t)
{
	t_open(t);
	t_close(t);
	skip(t);
	in(t, ". 1:1(0) ack 2");
	check(t, t->h->tcp.ntw == 1);
	in(t, "P. 1:101(100) ack 2");
	out(t, "R 2:2(0)");
	check(t, t->h->tcp.ntw == 0);
}

/* An orphan does not wait for the peer's FIN for ever. */
static void fin_timeout(struct t *t)
{
	t_open(t);
	t_close(t);
	skip(t);
	in(t, ". 1:1(0) ack 2");
	quiet(t, 59 * SIM_SECOND);
	check(t, t->h->tcp.ntw == 1);
	quiet(t, 2 * SIM_SECOND);
	check(t, t->h->tcp.ntw == 0);
}

/* The ACK of our FIN has a number that is ahead: nothing of the orphan may stay behind. */
static void orphan_ack_ahead(struct t *t)
{
	t_open(t);
	t_close(t);
	skip(t);
	in(t, ". 100:100(0) ack 2");
	check(t, !t->c && t->h->tcp.ntw == 1);
}

static void orphan_fin_ahead(struct t *t)
{
	t_open(t);
	t_close(t);
	skip(t);
	in(t, "F. 100:100(0) ack 2");
	check(t, !t->c && t->h->tcp.ntw == 1);
}

static void linger2(struct t *t)
{
	t_open(t);
	sl_tcp_opts(&t->c->tcp)->linger2_ms = 2000;
	t_close(t);
	skip(t);
	in(t, ". 1:1(0) ack 2");
	quiet(t, 2100 * MS);
	check(t, t->h->tcp.ntw == 0);
}

/* An orphan whose peer is gone gives up after tcp_orphan_retries. */
static void orphan_gives_up(struct t *t)
{
	t->h->params.orphan_retries = 3;
	t_open(t);
	t_write(t, 1000);
	t_close(t);
	pass(t, 60 * SIM_SECOND);
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* By the default it gets eight retransmissions, but none once the time-out is as long as it may be
 * (tcp_orphan_retries() of Linux). */
static void orphan_gives_up_at_rto_max(struct t *t)
{
	t->h->params.rto_max_ms = 1000;
	t_open(t);
	t_write(t, 1000);
	t_close(t);
	pass(t, 2 * SIM_SECOND);
	check(t, t->c);
	pass(t, 2 * SIM_SECOND);
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* tcp_max_orphans (tcp_check_oom() of Linux): one too many is reset when it is closed, */
static void orphans_have_a_total(struct t *t)
{
	t->h->params.max_orphans = 0;
	t_open(t);
	t_write(t, 100);
	out(t, "P. 1:101(100) ack 1");
	t_close(t);
	out(t, "R. 101:101(0) ack 1");
	check(t, !t->c && t->h->tcp.nnodes == 0);
}

/* but not one within the total. (Those of the scripts before have ended and do not count.) */
static void orphan_within_the_total(struct t *t)
{
	t->h->params.max_orphans = 1;
	t_open(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	in(t, "F. 1:1(0) ack 2");
	out(t, ". 2:2(0) ack 2");
	check(t, !t->c);
}

/* An orphan whose peer never opens its window, too. */
static void orphan_zero_window(struct t *t)
{
	t->h->params.orphan_retries = 3;
	t_open(t);
	in(t, ". 1:1(0) ack 1 win 0");
	t_write(t, 1000);
	t_close(t);
	for (int i = 0; i < 400 && t->c; i++) { /* until the interval is rto_max */
		pass(t, SIM_SECOND);
		if (skip(t) && t->c)
			in(t, ". 1:1(0) ack 1 win 0");
	}
	check(t, !t->c);
}

/* RFC 5961 3.2: exactly at RCV.NXT; elsewhere in the window it must be proved; outside: nothing. */
static void reset(struct t *t)
{
	t_open(t);
	in(t, "R. 1:1(0) ack 1");
	saw(t, SL_TCP_EV_ERROR | SL_TCP_EV_CLOSED);
	check(t, t->c->tcp.error == ECONNRESET);
	quiet(t, SIM_SECOND);
}

/* The peer's number may be at the end of what came beyond a hole, if it has lost our SACK's ACK
 * (tcp_reset_check(), RFC 5961 3.2 is stricter). */
static void reset_beyond_a_hole(struct t *t)
{
	t_open(t);
	in(t, ". 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	in(t, "R 2001:2001(0)");
	saw(t, SL_TCP_EV_ERROR | SL_TCP_EV_CLOSED);
	check(t, t->c->tcp.error == ECONNRESET);
}

static void reset_close_wait(struct t *t)
{
	t_open(t);
	in(t, "F. 1:1(0) ack 1");
	skip(t);
	in(t, "R. 2:2(0) ack 1");
	check(t, t->c->tcp.error == EPIPE);
}

static void blind_reset(struct t *t)
{
	t_open(t);
	in(t, "R 1000:1000(0)");
	out(t, ". 1:1(0) ack 1");
	state(t, SL_TCP_ESTABLISHED);
	in(t, "R 1001:1001(0)"); /* one answer in 500 ms */
	quiet(t, 600 * MS);
	in(t, "R 1001:1001(0)");
	out(t, ". 1:1(0) ack 1");
	in(t, "R 100001:100001(0)");
	in(t, "R -100:-100(0)");
	quiet(t, SIM_SECOND);
	state(t, SL_TCP_ESTABLISHED);
	in(t, "R 1:1(0)");
	state(t, SL_TCP_CLOSED);
}

/* RFC 5961 4.2: a SYN on an open connection */
static void blind_syn(struct t *t)
{
	t_open(t);
	in(t, "S 1:1(0) win 1000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	quiet(t, 600 * MS);
	in(t, "S 500000:500000(0) win 1000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	quiet(t, 600 * MS);
	in(t, "S. 1000:1000(0) ack 1 win 1000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	state(t, SL_TCP_ESTABLISHED);
}

/* RFC 5961 7: about so many a second for the whole host. Nobody may know how many exactly, or the
 * ones that it gets itself tell how many others got (CVE-2016-5696). */
static void challenge_limit(struct t *t)
{
	int sum = 0, same = 0, first = 0;

	t->h->params.challenge_ack_limit = 100;
	t->h->params.invalid_ratelimit_ms = 0;
	t_open(t);
	for (int second = 0; second < 16; second++) {
		int n;

		for (int i = 0; i < 200; i++)
			in(t, "R 1000:1000(0)");
		n = skip(t);
		check(t, n >= 50 && n < 150);
		first = second ? first : n;
		same += n == first;
		sum += n;
		quiet(t, SIM_SECOND);
	}
	check(t, same < 8 && sum > 16 * 75 && sum < 16 * 125);
}

/* Two ends must not keep each other busy with ACKs of nothing. */
static void ack_loop(struct t *t)
{
	t_open(t);
	for (int i = 0; i < 100; i++)
		in(t, ". 100001:100001(0) ack 1");
	check(t, skip(t) == 1);
}

static void reset_twice(struct t *t)
{
	t_open(t);
	in(t, "R 1:1(0)");
	t->events = 0;
	in(t, ". 1:1(0) ack 1");
	out(t, "R 1:1(0)");
	saw_not(t, SL_TCP_EV_CLOSED | SL_TCP_EV_ERROR);
}

/* Brings a connection to TIME_WAIT, with time stamps. */
static void to_time_wait(struct t *t)
{
	t_open_ts(t);
	t_close(t);
	out(t, "F. 1:1(0) ack 1");
	in(t, "F. 1:1(0) ack 2 <TS 110 10>");
	out(t, ". 2:2(0) ack 2 <TS 10 110>");
	check(t, !t->c && t->h->tcp.ntw == 1);
}

/* RFC 6191: a new connection may begin if it cannot be an old segment. */
static void time_wait_reuse(struct t *t)
{
	to_time_wait(t);
	t->know_iss = false;
	in(t, "S 5000:5000(0) win 32896 <mss 1000,sackOK,TS 200 0>");
	check(t, t->h->tcp.ntw == 0);
	out(t, "S. 0:0(0) ack 5001");
	check(t, counted(t, SL_TCPC_TW_REUSED) == 1);
	in(t, ". 5001:5001(0) ack 1 <TS 201 *>");
	check(t, t->naccepted == 2);
}

static void time_wait_old_syn(struct t *t)
{
	to_time_wait(t);
	in(t, "S -5000:-5000(0) win 32896 <mss 1000,sackOK,TS 90 0>");
	out(t, ". 2:2(0) ack 2");
	check(t, t->h->tcp.ntw == 1);
}

/* By the time stamp alone, when the sequence number is lower. */
static void time_wait_reuse_ts(struct t *t)
{
	to_time_wait(t);
	t->know_iss = false;
	in(t, "S -5000:-5000(0) win 32896 <mss 1000,sackOK,TS 200 0>");
	out(t, "S. 0:0(0) ack -4999");
	check(t, t->h->tcp.ntw == 0);
}

/* A segment that looks like an old SYN may be another stack's, of the same address: that stack's
 * reset, which answers our ACK, ends TIME_WAIT (tcp_rfc1337 is 0), and the SYN comes again. */
static void time_wait_reset(struct t *t)
{
	to_time_wait(t);
	in(t, "S -5000:-5000(0) win 32896 <mss 1000,sackOK,TS 90 0>");
	out(t, ". 2:2(0) ack 2");
	in(t, "R 3:3(0)");
	check(t, t->h->tcp.ntw == 1);
	in(t, "R 2:2(0)");
	check(t, t->h->tcp.ntw == 0);
	t->know_iss = t->know_ts = false;
	in(t, "S -5000:-5000(0) win 32896 <mss 1000,sackOK,TS 100 0>");
	out(t, "S. 0:0(0) ack -4999");
}

/* RFC 1337 3, fix F1. */
static void time_wait_assassination(struct t *t)
{
	t->h->params.rfc1337 = true;
	to_time_wait(t);
	in(t, "R 2:2(0)");
	check(t, t->h->tcp.ntw == 1);
	quiet(t, SIM_SECOND);
}

/* connect() from the same port: at once, and our number is beyond the old ones. */
static void time_wait_connect(struct t *t)
{
	uint32_t old;

	to_time_wait(t);
	old = t->iss;
	t->c = NULL;
	sim_listener_free(t->l);
	t->know_iss = t->know_ts = false;
	t_connect(t);
	check(t, (int32_t)(t->iss - old) > 65535);
	out(t, "S 0:0(0)");
}

/* The peer has TIME_WAIT of another program's connection from our port: its ACK is reset, and the
 * SYN is sent again at once, not after a second. A second such answer waits for the timer. */
static void time_wait_of_peer(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	pass(t, 1000);
	in(t, ". 5000:5000(0) ack 70000 win 1000");
	out(t, "R 70000:70000(0)");
	out(t, "S 0:0(0)");
	in(t, ". 5000:5000(0) ack 70000 win 1000");
	out(t, "R 70000:70000(0)");
	quiet(t, SIM_SECOND / 2);
	pass(t, SIM_SECOND);
	out(t, "S 0:0(0)");
	in(t, "S. 0:0(0) ack 1 win 5000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	state(t, SL_TCP_ESTABLISHED);
}

/* Shut down before the handshake was complete (a server's answer in a hurry). */
static void shutdown_early(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	in(t, "S 0:0(0) win 5000 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	check(t, sl_tcp_shutdown(&t->c->tcp, false, true) == 0);
	t_kick(t);
	in(t, ". 1:1(0) ack 1");
	out(t, "F. 1:1(0) ack 1");
	state(t, SL_TCP_FIN_WAIT1);
}

/* Closed while it is being opened: gone without a word. */
static void close_syn_sent(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	t_close(t);
	check(t, !t->c && t->h->tcp.nnodes == 0);
	quiet(t, 10 * SIM_SECOND);
	in(t, "S. 0:0(0) ack 1 win 1000 <mss 1000>");
	out(t, "R 1:1(0)");
}

/* SHUT_RD: the end for the reader, nothing for the peer. */
static void shutdown_read(struct t *t)
{
	t_open(t);
	check(t, sl_tcp_shutdown(&t->c->tcp, true, false) == 0);
	t_kick(t);
	quiet(t, 0);
	check(t, sl_tcp_at_eof(&t->c->tcp));
	in(t, "P. 1:101(100) ack 1");
	out(t, ". 1:1(0) ack 101");
	state(t, SL_TCP_ESTABLISHED);
}

/* Writing after the own end. */
static void write_after_shutdown(struct t *t)
{
	struct iovec iov = {"x", 1};

	t_open(t);
	t_shutdown(t);
	skip(t);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == -EPIPE);
	in(t, "R. 1:1(0) ack 2");
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == -ECONNRESET);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == -EPIPE);
}

/* Fragments of FIN that were acknowledged come again in every closing state. */
static void fin_again(struct t *t)
{
	t_open(t);
	in(t, "F. 1:1(0) ack 1");
	out_in(t, 2 * MS, ". 1:1(0) ack 2");
	in(t, "F. 1:1(0) ack 1");
	out(t, ". 1:1(0) ack 2");
	t_close(t);
	out(t, "F. 1:1(0) ack 2");
	in(t, "F. 1:1(0) ack 1");
	out(t, ". 2:2(0) ack 2");
	in(t, ". 2:2(0) ack 2");
	check(t, !t->c);
}

const struct script scripts[] = {
	SCRIPT(normal),
	SCRIPT(half_close),
	SCRIPT(fin_with_data),
	SCRIPT(passive),
	SCRIPT(passive_at_once),
	SCRIPT(passive_with_data),
	SCRIPT(passive_in_one_turn),
	SCRIPT(passive_in_one_turn_late),
	SCRIPT(passive_in_one_turn_must),
	SCRIPT(passive_in_one_turn_much),
	SCRIPT(simultaneous),
	SCRIPT(simultaneous_shutdown),
	SCRIPT(fin_lost),
	SCRIPT(fin_beyond_hole),
	SCRIPT(close_unread),
	SCRIPT(linger_zero),
	SCRIPT(data_after_close),
	SCRIPT(data_before_fin_is_acked),
	SCRIPT(data_for_fin_wait2),
	SCRIPT(fin_timeout),
	SCRIPT(orphan_ack_ahead),
	SCRIPT(orphan_fin_ahead),
	SCRIPT(linger2),
	SCRIPT(orphan_gives_up),
	SCRIPT(orphan_gives_up_at_rto_max),
	SCRIPT(orphans_have_a_total),
	SCRIPT(orphan_within_the_total),
	SCRIPT(orphan_zero_window),
	SCRIPT(reset),
	SCRIPT(reset_beyond_a_hole),
	SCRIPT(reset_close_wait),
	SCRIPT(blind_reset),
	SCRIPT(blind_syn),
	SCRIPT(challenge_limit),
	SCRIPT(ack_loop),
	SCRIPT(reset_twice),
	SCRIPT(time_wait_reuse),
	SCRIPT(time_wait_old_syn),
	SCRIPT(time_wait_reuse_ts),
	SCRIPT(time_wait_reset),
	SCRIPT(time_wait_assassination),
	SCRIPT(time_wait_connect),
	SCRIPT(shutdown_early),
	SCRIPT(close_syn_sent),
	SCRIPT(shutdown_read),
	SCRIPT(write_after_shutdown),
	SCRIPT(fin_again),
	SCRIPT(time_wait_of_peer),
	{NULL, NULL},
};
