/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: how connections open: handshakes, their loss, refusal, listeners, backlog, cookies, Fast
 * Open. One function for each rule; the table at the end has their names. */
#include "scripts.h"
#include "tcp/tcp_user.h"

/* RFC 9293 figure 6, seen from both sides; options as Linux sends them. */
static void passive(struct t *t)
{
	t_open(t);
	check(t, t->naccepted == 1);
	check(t, t->c->tcp.sack_ok && t->c->tcp.wscale_ok && !t->c->tcp.ts_ok);
	check(t, t->c->tcp.mss == 1000 && t->c->tcp.snd_wnd == 257 << 7);
}

static void passive_ts(struct t *t)
{
	t_open_ts(t);
	check(t, t->c->tcp.ts_ok && t->c->tcp.mss == 1000);
}

static void active(struct t *t)
{
	t_connected(t);
	check(t, t->c->tcp.snd_wnd == 32896);
}

/* RFC 7323 3.2, RFC 2018: what the peer does not offer is not used. */
static void no_options(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 5000");
	out(t, "S. 0:0(0) ack 1 win 64240 <mss 1460>");
	in(t, ". 1:1(0) ack 1 win 5000");
	check(t, t->c->tcp.mss == 536); /* RFC 9293 3.7.1 */
	check(t, t->c->tcp.snd_wnd == 5000);
	in(t, ". 1001:2001(1000) ack 1 win 5000");
	out(t, ". 1:1(0) ack 1 <>");
}

/* RFC 7323 2.3: more than 14 is 14. */
static void wscale_too_large(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 5000 <mss 1000,wscale 15>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,wscale 7>");
	in(t, ". 1:1(0) ack 1 win 2");
	check(t, t->c->tcp.snd_wnd == 2 << 14);
}

/* A SYN that is lost: RFC 6298 5.7, doubled each time; after tcp_syn_retries ETIMEDOUT. */
static void syn_lost(struct t *t)
{
	t->h->params.syn_retries = 3;
	t->h->params.syn_linear_timeouts = 0;
	t_connect(t);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7>");
	out_in(t, 1000 * MS, "S 0:0(0) <mss 1460,sackOK,TS 1000 0,wscale 7>");
	out_in(t, 2000 * MS, "S 0:0(0)");
	out_in(t, 4000 * MS, "S 0:0(0)");
	quiet(t, 7990 * MS);
	saw_not(t, SL_TCP_EV_ERROR);
	quiet(t, 20 * MS);
	saw(t, SL_TCP_EV_ERROR | SL_TCP_EV_CLOSED);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* Since 6.5 Linux sends the first few SYNs a second apart (tcp_syn_linear_timeouts), and that many
 * more in all; so do we. */
static void syn_lost_linear(struct t *t)
{
	t->h->params.syn_retries = 2;
	t->h->params.syn_linear_timeouts = 2;
	t_connect(t);
	out(t, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	out_in(t, 2000 * MS, "S 0:0(0)");
	quiet(t, 3990 * MS);
	saw_not(t, SL_TCP_EV_ERROR);
	quiet(t, 20 * MS);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* A number of SYNs bounds the time, too: one that is sent again takes as long as two whose times
 * double, three seconds, however many go a second apart (tcp_write_timeout()). */
static void syncnt_bounds_the_time(struct t *t)
{
	t->h->params.syn_retries = 1;
	t->h->params.syn_linear_timeouts = 4;
	t_connect(t);
	out(t, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	quiet(t, 990 * MS);
	saw_not(t, SL_TCP_EV_ERROR);
	quiet(t, 110 * MS);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* RFC 6298 5.7: a SYN that was sent again tells no round trip without time stamps. */
static void rto_after_a_lost_syn(struct t *t)
{
	t->h->params.timestamps = t->h->params.tlp = false;
	t_connect(t);
	out(t, "S 0:0(0)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK>");
	out(t, ". 1:1(0) ack 1");
	t_write(t, 1000);
	out(t, "P. 1:1001(1000) ack 1");
	out_in(t, 3000 * MS, "P. 1:1001(1000) ack 1");
}

/* The peer's TIME_WAIT answers the SYN: it is reset, and the next SYN comes two ticks later. */
static void syn_again_after_a_stale_ack(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	in(t, ". 5000:5000(0) ack 7000");
	out(t, "R 7000:7000(0)");
	out(t, "S 0:0(0)");
	in(t, "S. 0:0(0) ack 1 win 1000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
}

/* RFC 9293 3.10.7.3 */
static void refused(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	in(t, "R. 0:0(0) ack 2"); /* an ACK of something else */
	quiet(t, 0);
	saw_not(t, SL_TCP_EV_ERROR);
	in(t, "R. 0:0(0) ack 1");
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ECONNREFUSED);
}

static void syn_sent_bad_ack(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	in(t, "S. 0:0(0) ack 2 win 1000 <mss 1000>");
	out(t, "R 2:2(0)");
	out(t, "S 0:0(0)");
	in(t, ". 0:0(0) ack 0");
	out(t, "R 0:0(0)");
	state(t, SL_TCP_SYN_SENT);
	in(t, "S. 0:0(0) ack 1 win 1000 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	state(t, SL_TCP_ESTABLISHED);
}

/* RFC 9293 figure 7 */
static void simultaneous(struct t *t)
{
	t_connect(t);
	out(t, "S 0:0(0)");
	in(t, "S 0:0(0) win 5000 <mss 1000,sackOK,wscale 7>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
	state(t, SL_TCP_SYN_RCVD);
	in(t, "S. 0:0(0) ack 1 win 5000 <mss 1000,sackOK,wscale 7>");
	out(t, ". 1:1(0) ack 1 <sack 0:1>");
	saw(t, SL_TCP_EV_CONNECTED);
	state(t, SL_TCP_ESTABLISHED);
	in(t, "P. 1:101(100) ack 1");
	out(t, ". 1:1(0) ack 101");
}

/* The SYN-ACK of a request is sent again, by time and for a second SYN. */
static void syn_ack_lost(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	out_in(t, 1000 * MS, "S. 0:0(0) ack 1");
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	skip(t);
	in(t, ". 1:1(0) ack 1 win 257");
	state(t, SL_TCP_ESTABLISHED);
	quiet(t, 10 * SIM_SECOND);
}

static void synack_gives_up(struct t *t)
{
	t->h->params.synack_retries = 2;
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	pass(t, 60 * SIM_SECOND);
	check(t, skip(t) == 2);
	check(t, t->l->tcp.nrequests == 0 && t->h->tcp.nnodes == 0);
}

static void synack_gives_up_by_syncnt(struct t *t)
{
	t->h->params.synack_retries = 5;
	t_listen(t, 5);
	t->l->tcp.opts.syncnt = 1;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	pass(t, 60 * SIM_SECOND);
	check(t, skip(t) == 1);
	check(t, t->l->tcp.nrequests == 0);
}

/* RFC 9293 3.10.7.2: to a listener */
static void listen_ack(struct t *t)
{
	t_listen(t, 5);
	in(t, ". 1:1(0) ack 77 win 257");
	t->iss = 0;
	t->know_iss = true;
	out(t, "R 77:77(0)");
	in(t, "R 1:1(0)");
	in(t, "F. 1:1(0) ack 99");
	out(t, "R 99:99(0)");
	quiet(t, 0);
}

/* 3.10.7.1: to nobody */
static void nobody(struct t *t)
{
	t->know_iss = true;
	in(t, "S 0:0(0)");
	out(t, "R. 0:0(0) ack 1");
	in(t, "SF 10:15(5)");
	out(t, "R. 0:0(0) ack 17");
	in(t, ". 1:1(0) ack 5");
	out(t, "R 5:5(0)");
	in(t, "R. 1:1(0) ack 5");
	quiet(t, SIM_SECOND);
}

/* A reset for a request: RFC 9293 3.10.7.4, exactly at RCV.NXT. */
static void request_reset(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	check(t, t->l->tcp.nrequests == 1);
	in(t, "R 1:1(0)");
	check(t, t->l->tcp.nrequests == 0 && t->h->tcp.nnodes == 0);
	quiet(t, 10 * SIM_SECOND);
}

/* A router says that the peer cannot be reached: as by Linux a report about the very SYN-ACK ends
 * the request, another one does not. */
static void request_unreachable(struct t *t)
{
	struct sl_tcp_key key;

	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	check(t, sl_tcp_listener_keys(&t->l->tcp, false, &key, 1) == 1);
	sl_tcp_req_icmp(&t->h->tcp, &key, t->iss + 1, EHOSTUNREACH);
	sl_tcp_req_icmp(&t->h->tcp, &key, t->iss - 1, EHOSTUNREACH);
	sl_tcp_req_icmp(&t->h->tcp, &key, t->iss, ECONNREFUSED);
	check(t, t->l->tcp.nrequests == 1);
	sl_tcp_req_icmp(&t->h->tcp, &key, t->iss, EHOSTUNREACH);
	check(t, t->l->tcp.nrequests == 0 && t->h->tcp.nnodes == 0);
	sl_tcp_req_icmp(&t->h->tcp, &key, t->iss, EHOSTUNREACH);
	in(t, ". 1:1(0) ack 1 win 32896");
	out(t, "R 1:1(0)");
}

/* A program that is about to write lets its data carry the ACK of the answer to its SYN, and has a
 * conversation from then on: the peer's data are not acknowledged at once. Else the ACK comes in
 * the end. */
static void ack_of_the_answer_waits(struct t *t)
{
	t_client(t);
	t->c->tcp.data_follow = true;
	t_connect(t);
	out(t, "S 0:0(0)");
	pass(t, T_RTT);
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,wscale 7>");
	quiet(t, 1 * MS);
	t_write(t, 500);
	out(t, "P. 1:501(500) ack 1");
	in(t, "P. 1:101(100) ack 501");
	quiet(t, 20 * MS);
}

static void ack_of_the_answer_comes_late(struct t *t)
{
	t_client(t);
	t->c->tcp.quickack_user = 1; /* TCP_QUICKACK is off */
	t_connect(t);
	out(t, "S 0:0(0)");
	pass(t, T_RTT);
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,wscale 7>");
	quiet(t, 190 * MS);
	pass(t, 20 * MS);
	out(t, ". 1:1(0) ack 1");
}

/* An ACK of what was not sent gets a reset; the request stays. */
static void request_bad_ack(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 2 win 257");
	out(t, "R 2:2(0)");
	check(t, t->naccepted == 0);
	in(t, ". 1:1(0) ack 1 win 257");
	state(t, SL_TCP_ESTABLISHED);
}

/* Data with the ACK of the handshake, and a FIN with it. */
static void data_with_ack(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	in(t, "PF. 1:101(100) ack 1 win 257");
	state(t, SL_TCP_CLOSE_WAIT);
	out_in(t, 40 * MS, ". 1:1(0) ack 102");
	t_read(t, 1000, 100);
	check(t, sl_tcp_at_eof(&t->c->tcp));
}

static void ask_from(struct t *t, uint16_t port)
{
	t->rport = port;
	t->know_iss = false;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
}

/* The accept queue holds backlog + 1; beyond it ACKs are not heard and SYNs dropped, as in Linux.
 */
static void backlog(struct t *t)
{
	t->h->params.syncookies = 0;
	t_listen(t, 1);
	t->l->held = true;
	for (int i = 0; i < 2; i++) {
		ask_from(t, (uint16_t)(5000 + i));
		in(t, ". 1:1(0) ack 1 win 257");
	}
	check(t, t->l->tcp.nchildren == 2);
	t->rport = 5002;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	quiet(t, 10 * SIM_SECOND);
	check(t, counted(t, SL_TCPC_LISTEN_OVERFLOWS) > 0);
	t->l->held = false;
	t_kick(t);
	check(t, t->naccepted == 2);
	ask_from(t, 5002);
}

/* With tcp_syncookies 2 nothing is remembered of a SYN, and the connection is made by its ACK. */
static void cookie(struct t *t)
{
	t->h->params.syncookies = 2;
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1400>");
	out(t, "S. 0:0(0) ack 1 <mss 1460>");
	check(t, t->h->tcp.nnodes == 0 && counted(t, SL_TCPC_SYN_COOKIES_SENT) == 1);
	in(t, ". 1:1(0) ack 70000 win 257"); /* not ours */
	out(t, "R 70000:70000(0)");
	in(t, "P. 1:11(10) ack 1 win 257");
	state(t, SL_TCP_ESTABLISHED);
	out(t, ". 1:1(0) ack 11");
	check(t, t->c->tcp.mss == 1300); /* the next in the table below 1400 */
	check(t, counted(t, SL_TCPC_SYN_COOKIES_RECV) == 1);
}

/* With time stamps the cookie's has the other options. */
static void cookie_options(struct t *t)
{
	t->h->params.syncookies = 2;
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1460,sackOK,TS 100 0,wscale 9>");
	t->know_ts = true;
	t->ts0 = 0;
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,TS * 100,wscale 7>");
	t->ts0 = t->got[0] ? t->ts0 : 0;
}

/* A cookie is good for two minutes. */
static void cookie_old(struct t *t)
{
	t->h->params.syncookies = 2;
	t_listen(t, 5);
	in(t, "S 0:0(0) win 32896 <mss 1460>");
	out(t, "S. 0:0(0) ack 1");
	quiet(t, 121 * SIM_SECOND);
	in(t, ". 1:1(0) ack 1 win 257");
	out(t, "R 1:1(0)");
}

/* All who come at once are connected in the end, though the accept queue has no room for them. */
static void bunch(struct t *t)
{
	uint32_t iss[2];

	t_listen(t, 0);
	t->l->held = true;
	for (int i = 0; i < 2; i++) {
		ask_from(t, (uint16_t)(5000 + i));
		iss[i] = t->iss;
	}
	t->rport = 5000;
	t->iss = iss[0];
	in(t, ". 1:1(0) ack 1 win 257");
	t->rport = 5001;
	t->iss = iss[1];
	in(t, ". 1:1(0) ack 1 win 257");
	check(t, t->l->tcp.nchildren == 1 && t->l->tcp.nrequests == 1);
	t->l->held = false;
	t_kick(t);
	check(t, t->naccepted == 1);
	sim_run(&t->s, t->s.now_us + SIM_SECOND + 100 * MS);
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 257");
	check(t, t->naccepted == 2);
}

/* A flood turns cookies on by itself (tcp_syncookies 1), and those of the flood cost nothing. */
static void flood(struct t *t)
{
	t_listen(t, 8);
	for (int i = 0; i < 900; i++) {
		t->rport = (uint16_t)(6000 + i);
		in(t, "S 0:0(0) win 32896 <mss 1460>");
	}
	check(t, t->l->tcp.nrequests <= 65);
	check(t, counted(t, SL_TCPC_SYN_COOKIES_SENT) > 800);
	check(t, skip(t) == 900);
	t->rport = 5000;
	t->know_iss = false;
	in(t, "S 0:0(0) win 32896 <mss 1460>");
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 257");
	state(t, SL_TCP_ESTABLISHED);
}

/* Without cookies: three quarters of tcp_max_syn_backlog, or the backlog, are strangers'. */
static void syn_backlog(struct t *t)
{
	t->h->params.syncookies = 0;
	t->h->params.max_syn_backlog = 8;
	t_listen(t, 100);
	for (int i = 0; i < 20; i++) {
		t->rport = (uint16_t)(6000 + i);
		in(t, "S 0:0(0) win 32896 <mss 1460>");
	}
	check(t, t->l->tcp.nrequests == 7 && counted(t, SL_TCPC_LISTEN_DROPS) == 13);
	check(t, skip(t) == 7);
}

/* TCP_DEFER_ACCEPT: nobody is woken by the bare ACK. */
static void defer_accept(struct t *t)
{
	t_listen(t, 5);
	t->l->tcp.defer_accept_s = 5;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 257");
	check(t, t->naccepted == 0);
	in(t, "P. 1:11(10) ack 1 win 257");
	check(t, t->naccepted == 1);
	t_read(t, 100, 10);
}

/* The listener is closed: children that nobody accepted are reset. */
static void listener_closed(struct t *t)
{
	t_listen(t, 5);
	t->l->held = true;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 257");
	sim_listener_free(t->l);
	t_kick(t);
	out(t, "R. 1:1(0) ack 1");
	check(t, t->h->nconns == 0 && t->h->tcp.nnodes == 0);
}

/* RFC 3168 6.1.1 */
static void ecn_passive(struct t *t)
{
	t->h->params.ecn = 2;
	t_listen(t, 5);
	in(t, "SEW 0:0(0) win 32896 <mss 1000,sackOK>");
	out(t, "SE. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 32896");
	check(t, t->c->tcp.ecn_ok);
	t->ce = true;
	in(t, ". 1:1001(1000) ack 1");
	t->ce = false;
	out(t, "E. 1:1(0) ack 1001");
	in(t, ". 1001:2001(1000) ack 1");
	out(t, "E. 1:1(0) ack 2001");
	in(t, "W. 2001:3001(1000) ack 1");
	out(t, ". 1:1(0) ack 3001");
}

/* A mark of congestion is acknowledged at once, also where ACKs are delayed. */
static void ecn_slow(struct t *t)
{
	t->h->params.ecn = 2;
	t_listen(t, 5);
	in(t, "SEW 0:0(0) win 32896 <mss 1000,sackOK>");
	out(t, "SE. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1 win 32896");
	t->c->tcp.quickack_user = 1;
	t_changed(t);
	t->ce = true;
	in(t, "P. 1:101(100) ack 1");
	out(t, "E. 1:1(0) ack 101");
}

static void ecn_active(struct t *t)
{
	t->h->params.ecn = 1;
	t->h->params.ecn_out = true;
	t_connect(t);
	out(t, "SEW 0:0(0)");
	in(t, "SE. 0:0(0) ack 1 win 32896 <mss 1000,sackOK>");
	out(t, ". 1:1(0) ack 1");
	check(t, t->c->tcp.ecn_ok);
	t_write(t, 2000);
	out(t, ". 1:1001(1000) ack 1");
	out(t, "P. 1001:2001(1000) ack 1");
	in(t, "E. 1:1(0) ack 1001 win 32896");
	t_write(t, 1000);
	check(t, t->c->tcp.cwnd < 10);
	out(t, "WP. 2001:3001(1000) ack 1");
}

const struct script scripts[] = {
	SCRIPT(passive),
	SCRIPT(passive_ts),
	SCRIPT(active),
	SCRIPT(no_options),
	SCRIPT(wscale_too_large),
	SCRIPT(syn_lost),
	SCRIPT(syn_lost_linear),
	SCRIPT(refused),
	SCRIPT(syn_sent_bad_ack),
	SCRIPT(simultaneous),
	SCRIPT(syn_ack_lost),
	SCRIPT(synack_gives_up),
	SCRIPT(synack_gives_up_by_syncnt),
	SCRIPT(syncnt_bounds_the_time),
	SCRIPT(rto_after_a_lost_syn),
	SCRIPT(syn_again_after_a_stale_ack),
	SCRIPT(listen_ack),
	SCRIPT(nobody),
	SCRIPT(request_reset),
	SCRIPT(request_unreachable),
	SCRIPT(ack_of_the_answer_waits),
	SCRIPT(ack_of_the_answer_comes_late),
	SCRIPT(request_bad_ack),
	SCRIPT(data_with_ack),
	SCRIPT(backlog),
	SCRIPT(cookie),
	SCRIPT(cookie_options),
	SCRIPT(cookie_old),
	SCRIPT(bunch),
	SCRIPT(flood),
	SCRIPT(syn_backlog),
	SCRIPT(defer_accept),
	SCRIPT(listener_closed),
	SCRIPT(ecn_passive),
	SCRIPT(ecn_slow),
	SCRIPT(ecn_active),
	{NULL, NULL},
};
