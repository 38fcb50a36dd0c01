/* SPDX-License-Identifier: BSD-2-Clause */
/* DCTCP (RFC 8257; tcp_dctcp.c and tcp_dctcp.h of Linux). */
#include "scripts.h"
#include "tcp/loss/cc.h"

#include <linux/inet_diag.h>

/* The segment that out() has just seen is capable of ECN. */
static bool was_ect(const struct t *t)
{
	return t->ect;
}

static uint32_t alpha(const struct t *t)
{
	union tcp_cc_info info;

	return sl_tcp_cc_info(&t->c->tcp, &info) ? info.dctcp.dctcp_alpha : UINT32_MAX;
}

/* A client, though tcp_ecn does not ask for ECN. */
static void open_client(struct t *t)
{
	t->h->params.ecn_out = t->h->params.ecn_in = false;
	t_client(t);
	check(t, sl_tcp_set_congestion(&t->c->tcp, "dctcp") == 0);
	t_connect(t);
	out(t, "SEW 0:0(0)");
	check(t, was_ect(t));
	pass(t, T_RTT);
}

static void open_ecn(struct t *t)
{
	open_client(t);
	in(t, "SE. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, ". 1:1(0) ack 1");
	check(t, was_ect(t) && t->c->tcp.ecn_ok);
	check(t, !strcmp(sl_tcp_congestion(&t->c->tcp), "dctcp"));
	check(t, alpha(t) == 1024);
}

/* alpha begins at 1 and follows the part that is marked; the window shrinks by half of it. */
static void part(struct t *t)
{
	open_ecn(t);
	in(t, ". 1:1(0) ack 1 win 1000"); /* the first window is over */
	t_write(t, 10000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 10001 win 1000");
	check(t, alpha(t) < 1024);
	for (uint32_t i = 0, seq = 10001; i < 60; i++, seq += 4000) {
		char ack[64];

		t_write(t, 4000);
		skip(t);
		pass(t, T_RTT);
		snprintf(ack, sizeof(ack), ". 1:1(0) ack %u win 1000", seq + 4000);
		in(t, ack);
	}
	check(t, alpha(t) < 64);
	t->c->tcp.cwnd = 100;
	t_write(t, 4000);
	skip(t);
	pass(t, T_RTT);
	in(t, "E. 1:1(0) ack 254001 win 1000");
	/* All segments of a window are marked: alpha rises by a sixteenth, and a window of 100
	 * shrinks to about 96. */
	check(t, alpha(t) >= 64 && alpha(t) < 128);
	check(t, t->c->tcp.ssthresh >= 94 && t->c->tcp.ssthresh <= 98);
	t_write(t, 1000);
	out(t, "W. 254001:255001(1000) ack 1");
	check(t, was_ect(t));
}

/* A loss takes half of the window, whatever alpha is. */
static void loss(struct t *t)
{
	open_ecn(t);
	t_write(t, 10000);
	check(t, skip(t) == 10);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 1000 <sack 1001:5001>");
	pass(t, T_RTT);
	out(t, ". 1:1001(1000) ack 1");
	check(t, was_ect(t)); /* what is sent again, too */
	check(t, t->c->tcp.ca == SL_CA_RECOVERY && t->c->tcp.ssthresh == 5);
}

/* Without the peer's ECN it is NewReno. */
static void no_ecn(struct t *t)
{
	open_client(t);
	in(t, "S. 0:0(0) ack 1 win 32896 <mss 1000,sackOK,wscale 7>");
	out(t, ". 1:1(0) ack 1");
	check(t, !was_ect(t));
	check(t, !strcmp(sl_tcp_congestion(&t->c->tcp), "dctcp-reno"));
	t_write(t, 1000);
	out(t, "P. 1:1001(1000) ack 1");
	check(t, !was_ect(t));
}

/* A listener's children do ECN, and each ACK tells exactly which segments were marked. */
static void echo(struct t *t)
{
	t->h->params.ecn_out = t->h->params.ecn_in = false;
	t_listen(t, 5);
	strcpy(t->l->tcp.congestion, "dctcp");
	in(t, "SEW 0:0(0) win 32896 <mss 1000,sackOK>");
	out(t, "SE. 0:0(0) ack 1");
	check(t, was_ect(t));
	in(t, ". 1:1(0) ack 1 win 32896");
	check(t, t->c->tcp.ecn_ok);
	t->c->tcp.quickack_user = 1;
	t_changed(t);
	t->ce = true;
	in(t, ". 1:1001(1000) ack 1");
	out(t, "E. 1:1(0) ack 1001");
	t->ce = false;
	in(t, ". 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 2001");      /* no CWR is needed */
	in(t, "P. 2001:2101(100) ack 1"); /* acknowledged later */
	t->ce = true;
	in(t, "P. 2101:2201(100) ack 1");
	out(t, ". 1:1(0) ack 2101");
	out(t, "E. 1:1(0) ack 2201");
	in(t, "PW. 2201:2301(100) ack 1");
	out(t, "E. 1:1(0) ack 2301");
}

const struct script scripts[] = {
	SCRIPT(part), SCRIPT(loss), SCRIPT(no_ecn), SCRIPT(echo), {NULL, NULL},
};
