/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: TCP Fast Open (RFC 7413), both sides. */
#include "scripts.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_user.h"

/* Server ----------------------------------------------------------------------------------------
 */

/* RFC 7413: a cookie is asked for and given; with it data come with the SYN. */
static void served(struct t *t)
{
	t->h->params.tfo = 3;
	t_listen(t, 5);
	t->l->tcp.tfo_qlen = 5;
	in(t, "S 0:0(0) win 32896 <mss 1000,tfo>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,tfo *>");
	check(t, t->tfo_len >= 4);
	in(t, "R 1:1(0)");
	t->rport++;
	t->know_iss = false;
	in(t, "S 0:10(10) win 32896 <mss 1000,tfo =>");
	out(t, "S. 0:0(0) ack 11");
	check(t, t->naccepted == 1);
	t_read(t, 100, 10);
	t_write(t, 5); /* before the handshake is complete */
	out(t, "P. 1:6(5) ack 11");
	in(t, ". 11:11(0) ack 6 win 257");
	state(t, SL_TCP_ESTABLISHED);
}

/* The program has the connection, so a reset before the handshake's end is one like any other. */
static void served_reset(struct t *t)
{
	t->h->params.tfo = 3;
	t_listen(t, 5);
	t->l->tcp.tfo_qlen = 5;
	t->l->tcp.tfo_no_cookie = true;
	in(t, "S 0:10(10) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 11");
	check(t, t->naccepted == 1);
	in(t, "R 11:11(0)");
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ECONNRESET);
}

/* A wrong one: the data are ignored, the handshake goes on without. */
static void served_wrong(struct t *t)
{
	t->h->params.tfo = 3;
	t_listen(t, 5);
	t->l->tcp.tfo_qlen = 5;
	t->tfo_len = 8;
	in(t, "S 0:10(10) win 32896 <mss 1000,tfo =>");
	out(t, "S. 0:0(0) ack 1");
	check(t, t->naccepted == 0);
}

/* A cookie by the second key is good, and the answer brings one by the first
 * (tcp_fastopen_cookie_gen_check() of Linux); that one is not replaced. */
static void served_anew(struct t *t)
{
	uint8_t old[sizeof(t->tfo)];

	t->h->params.tfo = 3;
	t_listen(t, 5);
	t->l->tcp.tfo_qlen = 5;
	t->l->tcp.tfo_key = t->l->tcp.tfo_own;
	t->l->tcp.ntfo_keys = 1;
	memset(t->l->tcp.tfo_own[0], 1, 16);
	in(t, "S 0:0(0) win 32896 <mss 1000,tfo>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,tfo *>");
	memcpy(old, t->tfo, sizeof(old));
	in(t, "R 1:1(0)");
	t->l->tcp.ntfo_keys = 2;
	memset(t->l->tcp.tfo_own[0], 2, 16);
	memset(t->l->tcp.tfo_own[1], 1, 16);
	t->rport++;
	t->know_iss = false;
	in(t, "S 0:10(10) win 32896 <mss 1000,tfo =>");
	out(t, "S. 0:0(0) ack 11 <mss 1460,tfo *>");
	check(t, t->naccepted == 1 && t->tfo_len == 8 && memcmp(old, t->tfo, 8) != 0);
	t->rport++;
	t->know_iss = false;
	in(t, "S 0:10(10) win 32896 <mss 1000,tfo =>");
	out(t, "S. 0:0(0) ack 11 <mss 1460>");
	check(t, t->naccepted == 2);
}

/* Without cookies data with a SYN are believed (TCP_FASTOPEN_NO_COOKIE). */
static void served_without(struct t *t)
{
	t->h->params.tfo = 3;
	t_listen(t, 5);
	t->l->tcp.tfo_qlen = 1;
	t->l->tcp.tfo_no_cookie = true;
	t->l->held = true;
	in(t, "S 0:10(10) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 11");
	check(t, t->l->tcp.nchildren == 1);
	t->rport++; /* the next is one too many */
	t->know_iss = false;
	in(t, "S 0:10(10) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	check(t, counted(t, SL_TCPC_TFO_OVERFLOW) == 1);
}

/* Client ----------------------------------------------------------------------------------------
 */

/* A connection with a cookie of eight bytes, or that asks for one. */
static void begin(struct t *t, bool cookie)
{
	t->c = NULL;
	t->h->params.tfo = 1;
	memcpy(t->tfo, "12345678", 8);
	t->tfo_len = 8;
	t_client(t);
	check(t, sl_tcp_fast_open(&t->c->tcp, t->tfo, cookie ? 8 : 0, false, false, 0) == 0);
	t_connect(t);
	if (cookie)
		quiet(t, 3000 * MS); /* the SYN waits for data */
	t_kick(t);                   /* tells the time */
}

static void asked(struct t *t)
{
	begin(t, false);
	check(t, t->c->tcp.state == SL_TCP_SYN_SENT && !t->c->tcp.tfo_defer);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7,tfo>");
	memcpy(t->tfo, "123456", 6);
	t->tfo_len = 6;
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,tfo =>");
	out(t, ". 1:1(0) ack 1");
	check(t, t->h->tfo_answers == 1 && t->h->tfo_len == 6 && t->h->tfo_mss == 1000);
	check(t, memcmp(t->h->tfo, "123456", 6) == 0 && !t->h->tfo_losses);
	check(t, !t->c->tcp.tfo && !t->c->tcp.syn_data_acked);
}

/* The peer knows no Fast Open. */
static void asked_in_vain(struct t *t)
{
	begin(t, false);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7,tfo>");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK>");
	out(t, ". 1:1(0) ack 1");
	check(t, t->h->tfo_answers == 1 && !t->h->tfo_len && !t->h->tfo_losses);
	check(t, t->h->tfo_asked == 1);
}

/* The peer answers a SYN that does not ask for a cookie: that says nothing about its Fast Open. */
static void not_asked_again(struct t *t)
{
	begin(t, false);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7,tfo>");
	out_in(t, 1000 * MS, "S 0:0(0) <mss 1460,sackOK,TS * 0,wscale 7>");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK>");
	out(t, ". 1:1(0) ack 1");
	check(t, t->h->tfo_answers == 1 && !t->h->tfo_len && !t->h->tfo_asked);
}

/* Data without an option: the MSS is kept for next time, and an unsolicited cookie is not. */
static void without_cookie(struct t *t)
{
	t->h->params.tfo = 1;
	t_client(t);
	check(t, sl_tcp_fast_open(&t->c->tcp, NULL, 0, true, false, 0) == 0);
	t_connect(t);
	t_write(t, 100);
	out(t, "S 0:100(100) <mss 1460,sackOK,TS 0 0,wscale 7>");
	in(t, "S. 0:0(0) ack 101 win 32896 <mss 940,sackOK,wscale 7,tfo =>");
	out(t, ". 101:101(0) ack 1");
	check(t, t->h->tfo_answers == 1 && t->h->tfo_mss == 940 && !t->h->tfo_len);
	check(t, !t->h->tfo_asked);
}

/* 4.2.1: data go along and are taken. */
static void taken(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100) <mss 1460,sackOK,TS 0 0,wscale 7,tfo =>");
	check(t, sl_tcp_unacked(&t->c->tcp) == 100);
	in(t, "S. 0:0(0) ack 101 win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, ". 101:101(0) ack 1");
	saw(t, SL_TCP_EV_CONNECTED);
	state(t, SL_TCP_ESTABLISHED);
	check(t, t->c->tcp.syn_data_acked && !sl_tcp_unacked(&t->c->tcp) && !t->c->tcp.wmem);
	check(t, counted(t, SL_TCPC_TFO_ACTIVE) == 1 && t->c->tcp.bytes_acked == 100);
	t_write(t, 10);
	out(t, "P. 101:111(10) ack 1");
	in(t, ". 1:1(0) ack 111 win 257");
	check(t, !sl_tcp_unacked(&t->c->tcp));
}

/* The answer brings data, too. */
static void answered(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "S. 0:0(0) ack 101 win 32896 <mss 1000>");
	out(t, ". 101:101(0) ack 1");
	in(t, "P. 1:51(50) ack 101 win 257");
	t_read(t, 100, 50);
}

/* The peer does not take the SYN's data: sent again at once, which is no sign of congestion. */
static void not_taken(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,tfo =>");
	out(t, "P. 1:101(100) ack 1");
	check(t, !t->c->tcp.syn_data_acked && t->c->tcp.cwnd == 10 && t->c->tcp.ca == SL_CA_OPEN);
	check(t, counted(t, SL_TCPC_TFO_ACTIVE_FAIL) == 1 && t->h->tfo_len == 8);
	check(t, !t->h->tfo_losses);
	in(t, ". 1:1(0) ack 101 win 32896");
	check(t, !sl_tcp_unacked(&t->c->tcp) && !t->c->tcp.wmem);
}

static uint8_t zero[5000];
static struct iovec more_than_fits = {zero, sizeof(zero)};

/* A SYN with as much data as fits, of a write of more. */
static void begin_full(struct t *t)
{
	begin(t, true);
	check(t, sl_tcp_write(&t->c->tcp, &more_than_fits, 1, 0, false, false) == 1420);
	t_kick(t);
	out(t, "S 0:1420(1420)");
}

/* Data written after that does not wait for the ACK of the first data. */
static void not_taken_and_more(struct t *t)
{
	begin_full(t);
	pass(t, 50 * MS);
	in(t, "S. 0:0(0) ack 1 win 14600 <mss 1460,sackOK,wscale 6,tfo =>");
	out(t, "P. 1:1421(1420) ack 1");
	t_write(t, 3580);
	out(t, ". 1421:2881(1460) ack 1");
	out(t, ". 2881:4341(1460) ack 1");
	out(t, "P. 4341:5001(660) ack 1");
}

static void taken_in_part(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "S. 0:0(0) ack 51 win 32896 <mss 1000>");
	out(t, "P. 51:101(50) ack 1");
	check(t, !t->c->tcp.syn_data_acked);
	in(t, ". 1:1(0) ack 101 win 32896");
	check(t, !sl_tcp_unacked(&t->c->tcp) && !t->c->tcp.wmem);
}

/* The SYN carries as much data as fits beside all options, within the MSS of an earlier connection
 * (4.1.3). */
static void as_much_as_fits(struct t *t)
{
	begin_full(t);
	check(t, sl_tcp_write(&t->c->tcp, &more_than_fits, 1, 1420, false, false) == 0);
	in(t, "S. 0:0(0) ack 1421 win 32896 <mss 1000>");
	out(t, ". 1421:1421(0) ack 1");
	saw(t, SL_TCP_EV_OUT);
	t_write(t, 1000);
	out(t, "P. 1421:2421(1000) ack 1");
}

static void mss_known(struct t *t)
{
	t->h->params.tfo = 1;
	t_client(t);
	check(t, sl_tcp_fast_open(&t->c->tcp, "12345678", 8, false, false, 536) == 0);
	t_connect(t);
	t_write(t, 496);
	out(t, "S 0:496(496)");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 300>"); /* less now: cut */
	out(t, ". 1:301(300) ack 1");
	out(t, "P. 301:497(196) ack 1");
}

/* TCP_MAXSEG is a limit for the SYN's data, too, whatever the peer's MSS was. */
static void mss_of_the_program(struct t *t)
{
	t->h->params.tfo = 1;
	t_client(t);
	sl_tcp_opts(&t->c->tcp)->user_mss = 1040;
	check(t, sl_tcp_fast_open(&t->c->tcp, "12345678", 8, false, false, 1460) == 0);
	t_connect(t);
	t_write(t, 1000);
	out(t, "S 0:1000(1000) <mss 1040,sackOK,TS 0 0,wscale 7,tfo *>");
}

/* A router says that the SYN with data is too large: a plain SYN follows at once, and only one. */
static void too_big(struct t *t)
{
	begin(t, true);
	t_write(t, 1000);
	out(t, "S 0:1000(1000)");
	pass(t, 10 * MS);
	sl_tcp_icmp(&t->c->tcp, t->iss + 2000, EMSGSIZE, 840 - 20); /* of nothing in flight */
	t_kick(t);
	quiet(t, 1 * MS);
	sl_tcp_icmp(&t->c->tcp, t->iss, EMSGSIZE, 840 - 20);
	t_kick(t);
	out(t, "S 0:0(0) <mss 800,sackOK,TS * 0,wscale 7>"); /* and asks for no more */
	sl_tcp_icmp(&t->c->tcp, t->iss, EMSGSIZE, 800 - 20);
	t_kick(t);
	quiet(t, 900 * MS);
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK>");
	out(t, ". 1:761(760) ack 1");
	out(t, "P. 761:1001(240) ack 1");
}

/* 4.1.3.1: a SYN is sent again without option and data, and it is remembered. */
static void lost(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	out_in(t, 1000 * MS, "S 0:0(0) <mss 1460,sackOK,TS * 0,wscale 7>");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000>");
	out(t, "P. 1:101(100) ack 1");
	check(t, t->h->tfo_losses == 1 && !t->h->tfo_len);
	in(t, ". 1:1(0) ack 101 win 32896");
	check(t, !sl_tcp_unacked(&t->c->tcp));
}

/* Only the answer was lost: the peer has the data. */
static void answer_lost(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	out_in(t, 1000 * MS, "S 0:0(0)");
	in(t, "S. 0:0(0) ack 101 win 32896 <mss 1000>");
	out(t, ". 101:101(0) ack 1");
	check(t, !t->h->tfo_losses && t->c->tcp.syn_data_acked);
}

static void refused(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "R. 0:0(0) ack 101");
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ECONNREFUSED && !t->c->tcp.tfo && !t->c->tcp.wmem);
}

/* An ACK of data that was never sent is not taken. */
static void bad_ack(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "S. 0:0(0) ack 102 win 32896 <mss 1000>");
	out(t, "R 102:102(0)");
	state(t, SL_TCP_SYN_SENT);
}

/* A write of nothing sends the SYN, as on Linux. */
static void nothing_to_say(struct t *t)
{
	begin(t, true);
	t_write_none(t);
	out(t, "S 0:0(0) <mss 1460,sackOK,TS 0 0,wscale 7,tfo =>");
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000>");
	out(t, ". 1:1(0) ack 1");
	check(t, !counted(t, SL_TCPC_TFO_ACTIVE) && !counted(t, SL_TCPC_TFO_ACTIVE_FAIL));
}

static void closed_before(struct t *t)
{
	begin(t, true);
	t_close(t);
	quiet(t, 3000 * MS);
	check(t, t->h->tcp.nnodes == 0);
}

/* 3.10.7.3, simultaneous open: the data are acknowledged with the handshake's last ACK. */
static void simultaneous(struct t *t)
{
	begin(t, true);
	t_write(t, 100);
	out(t, "S 0:100(100)");
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 101 win 32896");
	state(t, SL_TCP_ESTABLISHED);
	check(t, !sl_tcp_unacked(&t->c->tcp) && !t->c->tcp.wmem);
	t_write(t, 10);
	out(t, "P. 101:111(10) ack 1");
}

const struct script scripts[] = {
	SCRIPT(served),
	SCRIPT(served_reset),
	SCRIPT(served_wrong),
	SCRIPT(served_anew),
	SCRIPT(served_without),
	SCRIPT(asked),
	SCRIPT(asked_in_vain),
	SCRIPT(not_asked_again),
	SCRIPT(without_cookie),
	SCRIPT(not_taken_and_more),
	SCRIPT(mss_of_the_program),
	SCRIPT(too_big),
	SCRIPT(taken),
	SCRIPT(answered),
	SCRIPT(not_taken),
	SCRIPT(taken_in_part),
	SCRIPT(as_much_as_fits),
	SCRIPT(mss_known),
	SCRIPT(lost),
	SCRIPT(answer_lost),
	SCRIPT(refused),
	SCRIPT(bad_ack),
	SCRIPT(nothing_to_say),
	SCRIPT(closed_before),
	SCRIPT(simultaneous),
	{NULL, NULL},
};
