/* SPDX-License-Identifier: BSD-2-Clause */
/* A NIC keeps a connection's pace (sl_tcp_ops.paced): segments that wait in the NIC are not under
 * way yet. And which samples of the rate are the program's. */
#include "scripts.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_user.h"

static void open_paced(struct t *t, uint32_t nic_us)
{
	t_open(t);
	sl_tcp_opts(&t->c->tcp)->nic = true;
	t->h->nic_us = nic_us;
}

static bool is_about(uint32_t us, uint32_t wanted_us)
{
	return us + MS > wanted_us && us < wanted_us + MS;
}

static void round_trip(struct t *t)
{
	open_paced(t, 20 * MS);
	t_write(t, 4000);
	out(t, ". 1:1001(1000) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1001");
	out_in(t, 20 * MS - T_RTT, ". 1001:2001(1000) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 2001");
	out_in(t, 20 * MS - T_RTT, ". 2001:3001(1000) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 3001");
	out_in(t, 20 * MS - T_RTT, "P. 3001:4001(1000) ack 1");
	check(t, is_about(t->c->tcp.srtt_us, T_RTT) && is_about(t->c->tcp.min_rtt_us, T_RTT));
}

/* Never more than one behind the one that is being sent. */
static void bound(struct t *t)
{
	open_paced(t, 20 * MS);
	t_write(t, 9000);
	check(t, t->c->tcp.tx_nxt - t->c->tcp.tx_una == 2);
	pass(t, 50 * MS);
	check(t, skip(t) == 3 && t->c->tcp.tx_nxt - t->c->tcp.tx_una == 4);
}

static void tail_loss_probe(struct t *t)
{
	open_paced(t, 40 * MS);
	t_write(t, 3000);
	pass(t, 80 * MS + 2 * T_RTT);
	check(t, skip(t) == 3 && counted(t, SL_TCPC_TLP) == 0);
	pass(t, 5 * MS);
	check(t, counted(t, SL_TCPC_TLP) == 1);
}

static void time_out(struct t *t)
{
	t->h->params.tlp = false;
	open_paced(t, 300 * MS);
	t_write(t, 2000);
	out(t, ". 1:1001(1000) ack 1");
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1001");
	out_in(t, 300 * MS - T_RTT, "P. 1001:2001(1000) ack 1");
	quiet(t, t->c->tcp.rto_us - MS);
	check(t, counted(t, SL_TCPC_RTO) == 0);
	pass(t, 2 * MS);
	check(t, counted(t, SL_TCPC_RTO) == 1);
}

/* A NIC that was faster than its rate: that is no round trip of nothing. */
static void early(struct t *t)
{
	uint32_t srtt_us;

	open_paced(t, 20 * MS);
	srtt_us = t->c->tcp.srtt_us;
	t_write(t, 2000);
	pass(t, T_RTT);
	in(t, ". 1:1(0) ack 1001");
	pass(t, 2 * MS);
	in(t, ". 1:1(0) ack 2001");
	check(t, is_about(t->c->tcp.srtt_us, srtt_us));
	check(t, is_about(t->c->tcp.min_rtt_us, T_RTT));
	skip(t);
}

static void ack_all(struct t *t)
{
	char ack[64];

	pass(t, T_RTT);
	snprintf(ack, sizeof(ack), ". 1:1(0) ack %u win 2000", t->c->tcp.snd_nxt - t->iss);
	in(t, ack);
	skip(t);
}

/* The peer acknowledges each flight at once, so nothing is in flight before the next one. That is
 * no silence while the program has more to send; when it has not, it is one. */
static void whole_flights(struct t *t)
{
	const struct sl_tcp *c;

	t_open(t);
	c = &t->c->tcp;
	check(t, sl_tcp_set_congestion(&t->c->tcp, "bbr") == 0);
	t_write(t, 20000);
	check(t, sl_tcp_rate(c)->app_limited == 1);
	ack_all(t);
	check(t, c->snd_una - t->iss == 10001 && c->tx_nxt != c->tx_una);
	check(t, !sl_tcp_rate(c)->app_limited);
	while (c->tx_una != c->tx_tail)
		ack_all(t);
	check(t, sl_tcp_rate(c)->app_limited == c->delivered);
	t_write(t, 1000);
	check(t, sl_tcp_rate(c)->app_limited == c->delivered);
	skip(t);
}

const struct script scripts[] = {
	SCRIPT(round_trip),
	SCRIPT(bound),
	SCRIPT(tail_loss_probe),
	SCRIPT(time_out),
	SCRIPT(early),
	SCRIPT(whole_flights),
	{0},
};
