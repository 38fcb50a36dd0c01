/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for the path's MTU (RFC 4821; tcp_mtu_probe() and tcp_mtu_probing() of Linux). */
#include "scripts.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_mtup.h"

/* An accepted connection whose peer takes segments of 1460 bytes, and whose search begins at 600
 * bytes; its window is 11. */
static void open_search_at(struct t *t, const char *answer)
{
	t->h->params.mtu_probing = 2;
	t->h->params.base_mss = 600;
	t_listen(t, 5);
	in(t, "S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>");
	out(t, answer);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 2000");
	check(t, t->c->tcp.mss == 600);
	t_write(t, 600);
	out(t, "P. 1:601(600) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 601 win 2000");
	t->c->tcp.cwnd = 12;
}

static void open_search(struct t *t)
{
	open_search_at(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
}

/* Sends the first probe: 1030 bytes, half-way to 1460, before the others. */
static void first_probe(struct t *t)
{
	open_search(t);
	t_write(t, 600 * 11);
	t_kick(t);
	out(t, ". 601:1631(1030) ack 1");
	out(t, ". 1631:1801(170) ack 1");
	out(t, ". 1801:2401(600) ack 1");
	check(t, t->c->tcp.cwnd == 11);
	skip(t);
	pass(t, T_RTT);
}

/* A probe that arrives raises the segment size, and the window has as many bytes as before. */
static void grows(struct t *t)
{
	first_probe(t);
	in(t, ". 1:1(0) ack 1631 win 2000");
	check(t, t->c->tcp.mss == 1030);
	check(t, t->c->tcp.cwnd >= 11 * 640 / 1070 && t->c->tcp.cwnd <= 11 * 640 / 1070 + 1);
	in(t, ". 1:1(0) ack 7201 win 2000");
	t->c->tcp.cwnd = 20;
	skip(t);
	t_write(t, 20000);
	t_kick(t);
	out(t, ". 7201:8446(1245) ack 1"); /* half-way between 1030 and 1460 */
}

/* A route that takes more lets the search go further. */
static void larger_route(struct t *t)
{
	t->h->mtu = 1040;
	open_search_at(t, "S. 0:0(0) ack 1 <mss 1000,sackOK,wscale 7>");
	check(t, t->c->tcp.opts->mtup->high == 1000);
	t->h->mtu = 1500;
	sl_tcp_route_changed(&t->c->tcp);
	t_write(t, 600 * 11);
	t_kick(t);
	out(t, ". 601:1631(1030) ack 1");
}

/* The loss of a probe alone is no congestion: its bytes go again in segments that fit, and the
 * next probe is smaller. */
static void lost_probe(struct t *t)
{
	uint32_t cwnd;

	first_probe(t);
	cwnd = t->c->tcp.cwnd;
	in(t, ". 1:1(0) ack 601 win 2000 <sack 1631:1537>");
	in(t, ". 1:1(0) ack 601 win 2000 <sack 1631:2049>");
	in(t, ". 1:1(0) ack 601 win 2000 <sack 1631:2561>");
	in(t, ". 1:1(0) ack 601 win 2000 <sack 1631:3073>");
	pass(t, T_RTT);
	out(t, ". 601:1201(600) ack 1");
	out(t, ". 1201:1631(430) ack 1");
	check(t, t->c->tcp.cwnd >= cwnd + 1);
	check(t, t->c->tcp.mss == 600);
	check(t, sl_tcp_mtup(&t->c->tcp)->high == 1029);
	skip(t);
	in(t, ". 1:1(0) ack 7201 win 2000");
	check(t, t->c->tcp.ca == SL_CA_OPEN);
	t->c->tcp.cwnd = 20;
	skip(t);
	t_write(t, 20000);
	t_kick(t);
	out(t, ". 7201:8015(814) ack 1");
}

/* Too little to send, a small window, or a loss: no probe. */
static void no_probe(struct t *t)
{
	open_search(t);
	t_write(t, 600 * 4);
	out(t, "P. 601:1201(600) ack 1");
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 3001 win 2000");
	t->c->tcp.cwnd = 10;
	t_write(t, 600 * 12);
	out(t, ". 3001:3601(600) ack 1");
	skip(t);
}

/* With 1 the search begins when segments get lost for their size: at tcp_base_mss, then by halves,
 * and it goes up from there. */
static void find_black_hole(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 65535 <mss 1460,sackOK,wscale 7>");
	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1 win 2000");
	check(t, t->c->tcp.mss == 1460 && !sl_tcp_mtup(&t->c->tcp));
	t_write(t, 1460);
	pass(t, 4 * SIM_SECOND);
	check(t, t->c->tcp.mss == 1024);
	pass(t, 4 * SIM_SECOND);
	check(t, t->c->tcp.mss == 512);
	skip(t);
	in(t, ". 1:1(0) ack 1461 win 2000");
	t->c->tcp.cwnd = 20;
	t_write(t, 20000);
	t_kick(t);
	out(t, ". 1461:2447(986) ack 1");
}

static void black_hole(struct t *t)
{
	t->h->params.mtu_probing = 1;
	find_black_hole(t);
}

/* Where no ICMP errors come, the black hole is found with 0, too. */
static void errors_unseen(struct t *t)
{
	t->h->params.mtu_probing = 0;
	t->h->params.errors_unseen = true;
	find_black_hole(t);
}

/* A router's word ends the search above it. */
static void router(struct t *t)
{
	first_probe(t);
	sl_tcp_icmp(&t->c->tcp, t->iss + 601, EMSGSIZE, 800);
	t_kick(t);
	check(t, sl_tcp_mtup(&t->c->tcp)->high == 780);
	out(t, ". 601:1201(600) ack 1");
	in(t, ". 1:1(0) ack 1201 win 2000");
	out(t, ". 1201:1631(430) ack 1");
}

/* After tcp_probe_interval the connection probes above the size that it has found. */
static void again(struct t *t)
{
	first_probe(t);
	in(t, ". 1:1(0) ack 7201 win 2000");
	sl_tcp_mtup(&t->c->tcp)->high = 1035;
	t->c->tcp.cwnd = 20;
	skip(t);
	t_write(t, 10300);
	out(t, ". 7201:8231(1030) ack 1");
	skip(t);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 17501 win 2000");
	pass(t, 700 * SIM_SECOND);
	t_write(t, 1);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 17502 win 2000");
	skip(t);
	t->c->tcp.cwnd = 20;
	t_write(t, 20000);
	t_kick(t);
	check(t, sl_tcp_mtup(&t->c->tcp)->high == 1460);
}

const struct script scripts[] = {
	SCRIPT(grows),    SCRIPT(larger_route), SCRIPT(lost_probe),
	SCRIPT(no_probe), SCRIPT(black_hole),   SCRIPT(errors_unseen),
	SCRIPT(router),   SCRIPT(again),        {NULL, NULL},
};
