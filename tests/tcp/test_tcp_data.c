/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: data on an open connection: acknowledging, windows, Nagle, urgent data, path MTU. */
#include <linux/tcp.h>

#include "scripts.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_info.h"
#include "tcp/tcp_user.h"

/* RFC 5681 4.2, RFC 2018: a hole is told of at once, most recent block first. */
static void sack(struct t *t)
{
	t_open(t);
	in(t, ". 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	in(t, ". 3001:4001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 3001:4001 1001:2001>");
	in(t, ". 5001:6001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 5001:6001 3001:4001 1001:2001>");
	in(t, ". 2001:3001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:4001 5001:6001>");
	in(t, ". 1:1001(1000) ack 1");
	out(t, ". 1:1(0) ack 4001 <sack 5001:6001>");
	t_read(t, 100000, 4000);
	in(t, ". 4001:5001(1000) ack 1");
	skip(t);
	t_read(t, 100000, 2000);
}

/* RFC 2883 */
static void dsack(struct t *t)
{
	t_open(t);
	in(t, ". 1:1001(1000) ack 1");
	out(t, ". 1:1(0) ack 1001 <>");
	in(t, ". 1:1001(1000) ack 1");
	out(t, ". 1:1(0) ack 1001 <sack 1:1001>");
	in(t, ". 501:1501(1000) ack 1");
	out(t, ". 1:1(0) ack 1501 <sack 501:1001>");
	in(t, ". 2501:3501(1000) ack 1");
	out(t, ". 1:1(0) ack 1501 <sack 2501:3501>");
	in(t, ". 2501:3501(1000) ack 1");
	out(t, ". 1:1(0) ack 1501 <sack 2501:3501 2501:3501>");
}

/* A segment that overlaps what waits beyond a hole: the part that was there is told of first (RFC
 * 2883 4.2), then the whole. */
static void dsack_of_a_part(struct t *t)
{
	t_open(t);
	in(t, ". 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:2001>");
	in(t, ". 501:1501(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:1501 501:2001>");
	in(t, ". 1501:2501(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1501:2001 501:2501>");
	in(t, ". 1:1001(1000) ack 1");
	out(t, ". 1:1(0) ack 2501 <sack 501:1001>");
	t_read(t, 5000, 2500);
}

/* The blocks are in the order in which they changed, after the DSACK (RFC 2018 4). */
static void sack_order(struct t *t)
{
	t_open(t);
	in(t, ". 1001:2001(1000) ack 1");
	in(t, ". 3001:4001(1000) ack 1");
	in(t, ". 1001:2001(1000) ack 1");
	skip(t);
	in(t, ". 5001:6001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 5001:6001 1001:2001 3001:4001>");
	in(t, ". 3001:4001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 3001:4001 3001:4001 5001:6001 1001:2001>");
	in(t, ". 2001:3001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <sack 1001:4001 5001:6001>");
}

/* Bytes beyond the window, which the peer may not send, are not taken. */
static void beyond_window(struct t *t)
{
	t_open(t);
	in(t, ". 70001:71001(1000) ack 1");
	out(t, ". 1:1(0) ack 1 <>");
	check(t, t->c->tcp.noo == 0);
	in(t, ". 64001:65001(1000) ack 1"); /* some of it fits what that ACK has announced */
	out(t, ". 1:1(0) ack 1 <sack 64001:64257>");
}

/* RFC 9293 3.8.6.2.2: the window closes, and opens again by steps worth an ACK. */
static void window_update(struct t *t)
{
	char spec[64];

	t_listen(t, 5);
	t->l->tcp.rcvbuf = 20440; /* 14 segments; half of it is announced */
	t->l->tcp.rcvbuf_locked = true;
	in(t, "S 0:0(0) win 32896 <mss 1000>");
	out(t, "S. 0:0(0) ack 1 win 10220");
	in(t, ". 1:1(0) ack 1 win 32896");
	for (int i = 0; i < 10; i++) {
		snprintf(spec, sizeof(spec), ". %d:%d(1000) ack 1", i * 1000 + 1, i * 1000 + 1001);
		in(t, spec);
	}
	skip(t);
	pass(t, 50 * MS);
	skip(t);
	check(t, t->c->tcp.rcv_wup + t->c->tcp.rcv_wnd == t->irs + 10001 || t->c->tcp.rcv_wnd > 0);
	t_read(t, 10, 10);
	quiet(t, SIM_SECOND); /* a few bytes are no news */
	t_read(t, 20000, 9990);
	out(t, ". 1:1(0) ack 10001");
	check(t, t->c->tcp.rcv_wnd >= 9000);
}

/* Two ACKs have the same numbers: the smaller window may be the older one, but no window is
 * believed.
 */
static void window_of_the_same_numbers(struct t *t)
{
	t_open(t);
	in(t, ". 1:1(0) ack 1 win 24");
	in(t, ". 1:1(0) ack 1 win 8");
	t_write(t, 2000);
	out(t, ". 1:1001(1000) ack 1");
	out(t, "P. 1001:2001(1000) ack 1");
	in(t, ". 1:1(0) ack 2001 win 8");
	in(t, ". 1:1(0) ack 2001 win 0");
	t_write(t, 1000);
	quiet(t, 100 * MS);
	in(t, ". 1:1(0) ack 2001 win 8");
	out(t, "P. 2001:3001(1000) ack 1");
}

/* RFC 9293 3.8.6.1: a probe for a window of zero, at growing distances; the connection lasts as
 * long as it is answered. */
static void zero_window(struct t *t)
{
	t_open(t);
	in(t, ". 1:1(0) ack 1 win 0");
	t_write(t, 500);
	quiet(t, 100 * MS);
	pass(t, 20 * SIM_SECOND);
	check(t, t->ngot - t->nlooked >= 4 && t->ngot - t->nlooked <= 8);
	for (int i = 0; i < 4; i++)
		out(t, ". 0:0(0) ack 1");
	skip(t);
	in(t, ". 1:1(0) ack 1 win 0");
	quiet(t, 20 * MS);
	in(t, ". 1:1(0) ack 1 win 1");
	out_in(t, t->c->tcp.rto_us, ". 1:129(128) ack 1"); /* silly-window avoidance's override */
	in(t, ". 1:1(0) ack 129 win 257");
	out(t, "P. 129:501(372) ack 1");
}

/* The update that opened the window is lost: the probe's answer is it. */
static void lost_update(struct t *t)
{
	t_open(t);
	in(t, ". 1:1(0) ack 1 win 0");
	t_write(t, 500);
	pass(t, 500 * MS);
	check(t, skip(t) >= 1);
	in(t, ". 1:1(0) ack 1 win 257");
	out(t, "P. 1:501(500) ack 1");
}

/* RFC 9293 3.7.4: what is small waits while anything is not acknowledged. */
static void nagle(struct t *t)
{
	t_open(t);
	t_write(t, 10);
	out(t, "P. 1:11(10) ack 1");
	t_write(t, 10);
	t_write(t, 10);
	quiet(t, 10 * MS);
	in(t, ". 1:1(0) ack 11");
	out(t, "P. 11:31(20) ack 1");
	t_write(t, 1020);
	out(t, ". 31:1031(1000) ack 1"); /* full ones go */
	quiet(t, 1 * MS);
	in(t, ". 1:1(0) ack 1031");
	out(t, "P. 1031:1051(20) ack 1");
}

/* sl_tcp_append() takes only bytes that lengthen a held piece and do not fill it. */
static void nagle_append(struct t *t)
{
	static const char more[1000];
	struct sl_tcp *c;

	t_open(t);
	c = &t->c->tcp;
	check(t, !sl_tcp_append(c, more, 10)); /* nothing is held */
	t_write(t, 10);
	out(t, "P. 1:11(10) ack 1");
	check(t, !sl_tcp_append(c, more, 10));
	t_write(t, 10);
	check(t, sl_tcp_append(c, more, 15));
	check(t, !sl_tcp_append(c, more, 0));
	check(t, !sl_tcp_append(c, more, 975)); /* it would be full */
	check(t, sl_tcp_append(c, more, 974));
	quiet(t, 10 * MS);
	in(t, ". 1:1(0) ack 11");
	out(t, "P. 11:1010(999) ack 1");
	t_write(t, 10);
	c->nodelay = true;
	check(t, !sl_tcp_append(c, more, 10));
	c->nodelay = false;
	sl_tcp_shutdown(c, false, true);
	check(t, !sl_tcp_append(c, more, 10));
}

static void nodelay(struct t *t)
{
	t_open(t);
	t->c->tcp.nodelay = true;
	t_changed(t);
	t_write(t, 10);
	out(t, "P. 1:11(10) ack 1");
	t_write(t, 10);
	out(t, "P. 11:21(10) ack 1");
}

/* TCP_CORK and MSG_MORE: only full segments, until told, or for 200 ms. */
static void cork(struct t *t)
{
	t_open(t);
	t->c->tcp.cork = true;
	t_changed(t);
	t_write(t, 600);
	quiet(t, 1 * MS);
	t_write(t, 600);
	out(t, ". 1:1001(1000) ack 1");
	in(t, ". 1:1(0) ack 1001");
	quiet(t, 1 * MS);
	t->c->tcp.cork = false;
	t_changed(t);
	out(t, "P. 1001:1201(200) ack 1");
}

/* After an ACK held data of MSG_MORE leaves as far as TCP_NODELAY or Nagle's rule allows. */
static void more_until_ack(struct t *t)
{
	t_open(t);
	t->c->tcp.nodelay = true;
	t_changed(t);
	t_write_more(t, 3100);
	check(t, skip(t) == 3);
	t_write_more(t, 50);
	quiet(t, 1 * MS);
	in(t, ". 1:1(0) ack 2001");
	out(t, ". 3001:3151(150) ack 1");
	t_write_more(t, 1);
	quiet(t, 10 * MS);
	in(t, ". 1:1(0) ack 3151");
	out(t, ". 3151:3152(1) ack 1");
}

static void more(struct t *t)
{
	t_open(t);
	t_write_more(t, 300);
	quiet(t, 100 * MS);
	t_write(t, 300);
	out(t, "P. 1:601(600) ack 1");
	in(t, ". 1:1(0) ack 601");
	t_write_more(t, 10);
	pass(t, 250 * MS);
	out(t, "P. 601:611(10) ack 1");
}

/* RFC 7323 5.3: older than what was seen: dropped, and told so. */
static void paws(struct t *t)
{
	t_open_ts(t);
	in(t, ". 1:1001(1000) ack 1 <TS 200 10>");
	out(t, ". 1:1(0) ack 1001 <TS 10 200>");
	in(t, ". 1001:2001(1000) ack 1 <TS 199 10>");
	out(t, ". 1:1(0) ack 1001 <TS 10 200>");
	check(t, counted(t, SL_TCPC_PAWS) == 1);
	in(t, ". 1001:2001(1000) ack 1 <TS 200 10>");
	out(t, ". 1:1(0) ack 2001 <TS 10 200>");
}

/* RFC 7323 5.3 R1: an old pure ACK is answered, but not one that data or another ACK have
 * overtaken lately. */
static void paws_of_acks(struct t *t)
{
	t_open_ts(t);
	in(t, ". 1:1001(1000) ack 1 <TS 10000 10>");
	out(t, ". 1:1(0) ack 1001 <TS 10 10000>");
	in(t, ". 1000:1000(0) ack 1 <TS 9000 10>");
	in(t, ". 1001:1001(0) ack 1 win 500 <TS 10001 10>");
	in(t, ". 1001:1001(0) ack 1 win 500 <TS 9999 10>");
	quiet(t, 50 * MS);
}

/* 5.5: what was seen 24 days ago says nothing. */
static void paws_idle(struct t *t)
{
	t_open_ts(t);
	pass(t, 25ull * 24 * 3600 * SIM_SECOND);
	in(t, ". 1:1001(1000) ack 1 <TS 50 10>");
	out(t, ". 1:1(0) ack 1001 <TS * 50>");
}

/* 4.3: the echo is of the segment that the ACK advances by, not of one beyond a hole. */
static void ts_recent(struct t *t)
{
	t_open_ts(t);
	in(t, ". 1001:2001(1000) ack 1 <TS 300 10>");
	out(t, ". 1:1(0) ack 1 <TS 10 101,sack 1001:2001>");
	in(t, ". 1:1001(1000) ack 1 <TS 250 10>");
	out(t, ". 1:1(0) ack 2001 <TS 10 250>");
}

/* RFC 9293 3.8.5, as Linux: the byte before the pointer is out of band. */
static void urgent_in(struct t *t)
{
	uint8_t b = 0;

	t_open(t);
	in(t, "PU. 1:11(10) ack 1 urg 5");
	saw(t, SL_TCP_EV_URG);
	check(t, sl_tcp_read_oob(&t->c->tcp, &b, false) == 1);
	t_read(t, 100, 4); /* up to the mark */
	check(t, sl_tcp_at_mark(&t->c->tcp));
	t_read(t, 100, 5); /* the urgent byte is left out */
	check(t, sl_tcp_readable(&t->c->tcp) == 0);
}

static void urgent_inline(struct t *t)
{
	t_open(t);
	t->c->tcp.oobinline = true;
	in(t, "PU. 1:11(10) ack 1 urg 5");
	t_read(t, 100, 4);
	t_read(t, 100, 6);
}

static void urgent_out(struct t *t)
{
	struct iovec iov = {"abc", 3};

	t_open(t);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, true) == 3);
	t_kick(t);
	out(t, "PU. 1:4(3) ack 1 urg 3");
	in(t, ". 1:1(0) ack 4");
	t_write(t, 10);
	out(t, "P. 4:14(10) ack 1");
}

/* RFC 1191, 8201: what was too big is cut and sent again at once. */
static void path_mtu(struct t *t)
{
	t_open(t);
	t_write(t, 2000);
	check(t, skip(t) == 2);
	sl_tcp_icmp(&t->c->tcp, t->iss + 1, EMSGSIZE, 576 - 20);
	t_kick(t);
	check(t, t->c->tcp.mss == 536);
	pass(t, SIM_SECOND);
	out(t, ". 1:537(536) ack 1");
	skip(t);
}

/* When the device's MTU is changed, pieces that are too big are cut, too; a larger MTU is used, but
 * not beyond a router's word. */
static void route_mtu(struct t *t)
{
	uint32_t was = t->h->mtu;

	t_open(t);
	t_write(t, 2000);
	check(t, skip(t) == 2);
	t->h->mtu = 576;
	sl_tcp_route_changed(&t->c->tcp);
	t_kick(t);
	check(t, t->c->tcp.mss == 536);
	pass(t, SIM_SECOND);
	out(t, ". 1:537(536) ack 1");
	skip(t);
	t->h->mtu = was;
	sl_tcp_route_changed(&t->c->tcp);
	check(t, t->c->tcp.mss == 1000);
	sl_tcp_icmp(&t->c->tcp, t->iss + 1, EMSGSIZE, 576 - 20);
	t->h->mtu = was + 100;
	sl_tcp_route_changed(&t->c->tcp);
	check(t, t->c->tcp.mss == 536);
}

/* TCP_USER_TIMEOUT ends the waiting for room in the device, too. */
static void user_timeout_without_room(struct t *t)
{
	t_open(t);
	sl_tcp_opts(&t->c->tcp)->user_timeout_ms = 3000;
	t->h->tx_ring = t->h->tx_out = 1;
	t_write(t, 1000);
	pass(t, 2900 * MS);
	saw_not(t, SL_TCP_EV_ERROR);
	pass(t, 800 * MS);
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* RFC 5927: for what is not in flight it is not believed, nor below a floor. */
static void path_mtu_blind(struct t *t)
{
	t_open(t);
	t_write(t, 1000);
	skip(t);
	sl_tcp_icmp(&t->c->tcp, t->iss + 5000, EMSGSIZE, 576 - 20);
	sl_tcp_icmp(&t->c->tcp, t->iss - 5000, EMSGSIZE, 576 - 20);
	check(t, t->c->tcp.mss == 1000);
	sl_tcp_icmp(&t->c->tcp, t->iss + 1, EMSGSIZE, 1);
	check(t, t->c->tcp.mss >= 512);
}

/* Hard errors do not end an open connection (RFC 5927 5.2), but one that is being opened. */
static void icmp_errors(struct t *t)
{
	t_open(t);
	t_write(t, 10);
	sl_tcp_icmp(&t->c->tcp, t->iss + 1, ECONNREFUSED, 0);
	state(t, SL_TCP_ESTABLISHED);
}

/* An ACK of what was never sent: RFC 5961 5. */
static void ack_beyond(struct t *t)
{
	t_open(t);
	in(t, ". 1:101(100) ack 5000");
	out(t, ". 1:1(0) ack 1");
	check(t, counted(t, SL_TCPC_CHALLENGE_ACK) == 1 && t->c->tcp.rx_bytes == 0);
}

static void ack_too_old(struct t *t)
{
	t_open(t);
	in(t, ". 1:101(100) ack -99999");
	out(t, ". 1:1(0) ack 1");
	check(t, t->c->tcp.rx_bytes == 0);
}

/* RFC 1122 4.2.3.6 */
static void keepalive(struct t *t)
{
	t_open(t);
	t->c->tcp.keepalive = true;
	sl_tcp_opts(&t->c->tcp)->keep_time_ms = 5000;
	sl_tcp_opts(&t->c->tcp)->keep_intvl_ms = 1000;
	sl_tcp_opts(&t->c->tcp)->keep_probes = 3;
	t_changed(t);
	out_in(t, 5 * SIM_SECOND, ". 0:0(0) ack 1");
	in(t, ". 1:1(0) ack 1");
	out_in(t, 5 * SIM_SECOND, ". 0:0(0) ack 1");
	out_in(t, SIM_SECOND, ". 0:0(0) ack 1");
	out_in(t, SIM_SECOND, ". 0:0(0) ack 1");
	saw_not(t, SL_TCP_EV_ERROR);
	pass(t, 1100 * MS);
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ETIMEDOUT);
	out(t, "R. 1:1(0) ack 1");
}

/* We answer theirs. */
static void keepalive_answer(struct t *t)
{
	t_open(t);
	in(t, ". 0:0(0) ack 1");
	out(t, ". 1:1(0) ack 1");
	pass(t, SIM_SECOND);
	in(t, ". 0:1(1) ack 1");
	out(t, ". 1:1(0) ack 1");
}

/* TCP_USER_TIMEOUT */
static void user_timeout(struct t *t)
{
	t_open(t);
	sl_tcp_opts(&t->c->tcp)->user_timeout_ms = 3000;
	t_changed(t);
	t_write(t, 100);
	pass(t, 2900 * MS);
	saw_not(t, SL_TCP_EV_ERROR);
	pass(t, 4000 * MS);
	saw(t, SL_TCP_EV_ERROR);
	check(t, t->c->tcp.error == ETIMEDOUT);
}

/* SO_MAX_PACING_RATE */
static void pacing(struct t *t)
{
	t_open(t);
	sl_tcp_opts(&t->c->tcp)->pace.bytes_s = 100000;
	t_changed(t);
	t_write(t, 10000);
	pass(t, 50 * MS);
	check(t, t->ngot - t->nlooked >= 2 && t->ngot - t->nlooked <= 8);
	skip(t);
	in(t, ". 1:1(0) ack 1001");
	pass(t, 100 * MS);
	check(t, skip(t) > 0);
}

/* The window is never shrunk, whatever memory says (RFC 9293 3.8.6). */
static void no_shrink(struct t *t)
{
	uint32_t edge;

	t_open(t);
	edge = t->c->tcp.rcv_wup + t->c->tcp.rcv_wnd;
	t->c->tcp.rcvbuf = 4000;
	t->c->tcp.rcvbuf_locked = true;
	t_changed(t);
	in(t, ". 1:1001(1000) ack 1");
	check(t, t->c->tcp.rcv_wup + t->c->tcp.rcv_wnd >= edge);
}

/* TCP_NODELAY under TCP_CORK lets go what is queued at that time, and no more. */
static void nodelay_flushes_a_cork(struct t *t)
{
	struct sl_tcp *c;

	t_open(t);
	c = &t->c->tcp;
	c->cork = true;
	t_changed(t);
	t_write(t, 100);
	quiet(t, MS);
	c->nodelay = true;
	sl_tcp_push(c);
	t_changed(t);
	out(t, "P. 1:101(100) ack 1");
	in(t, ". 1:1(0) ack 101");
	t_write(t, 100);
	quiet(t, MS);
}

/* MSG_EOR: the next write begins a segment. */
static void record_ends_a_segment(struct t *t)
{
	t_open(t);
	t->c->tcp.cork = true;
	t_write(t, 100);
	sl_tcp_end_record(&t->c->tcp);
	t_write(t, 50);
	out(t, "P. 1:101(100) ack 1");
	quiet(t, 0);
	in(t, ". 1:1(0) ack 101");
	t->c->tcp.cork = false;
	t_changed(t);
	out(t, "P. 101:151(50) ack 1");
}

/* A write that is larger than half of the window has a PSH there, too: the peer's program may wait
 * for one, and its window with it. Half of the window is that of the ACK, not of the SYN. */
static void push_half(struct t *t)
{
	t_listen(t, 5);
	in(t, "S 0:0(0) win 60000 <mss 1000>");
	out(t, "S. 0:0(0) ack 1 <mss 1460>");
	in(t, ". 1:1(0) ack 1 win 3000");
	t_write(t, 5000);
	out(t, ". 1:1001(1000) ack 1");
	out(t, "P. 1001:2001(1000) ack 1");
	out(t, ". 2001:3001(1000) ack 1");
	in(t, ". 1:1(0) ack 3001 win 3000");
	out(t, "P. 3001:4001(1000) ack 1");
	out(t, "P. 4001:5001(1000) ack 1");
}

/* TCP_NOTSENT_LOWAT counts what stays behind, not what leaves at once: the first ten segments of a
 * write into an open window make room for as many more. */
static void notsent_lowat(struct t *t)
{
	static uint8_t zero[59000];
	struct iovec iov = {zero, sizeof(zero)};

	t_open(t);
	t->c->tcp.notsent_lowat = 4000;
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == 26000);
	t_kick(t);
	check(t, skip(t) == 10);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == 0);
	in(t, ". 1:1(0) ack 10001 win 257");
	check(t, skip(t) == 16);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) > 0);
}

/* Milliseconds of TCP_INFO's busy_time, rwnd_limited and sndbuf_limited, counted in units of 1,024
 * us. */
static void times(struct t *t, uint64_t busy, uint64_t rwnd, uint64_t sndbuf)
{
	struct tcp_info info;

	sl_tcp_info(&t->c->tcp, &info);
	check(t,
	      info.tcpi_busy_time + 4 * MS >= busy * MS && info.tcpi_busy_time <= (busy + 4) * MS);
	check(t, info.tcpi_rwnd_limited + 4 * MS >= rwnd * MS &&
			 info.tcpi_rwnd_limited <= (rwnd + 4) * MS);
	check(t, info.tcpi_sndbuf_limited + 4 * MS >= sndbuf * MS &&
			 info.tcpi_sndbuf_limited <= (sndbuf + 4) * MS);
}

/* tcp_chrono_start() of Linux: what a connection with something to send waits for. */
static void chrono_window(struct t *t)
{
	t->h->params.tlp = false;
	t_open(t);
	pass(t, 50 * MS);
	t_kick(t);
	times(t, 0, 0, 0);
	t_write(t, 1000);
	out(t, "P. 1:1001(1000) ack 1");
	pass(t, 20 * MS);
	in(t, ". 1:1(0) ack 1001 win 0");
	pass(t, 30 * MS); /* idle */
	t_kick(t);
	times(t, 20, 0, 0);
	t_write(t, 1000); /* and the window is shut */
	pass(t, 40 * MS);
	in(t, ". 1:1(0) ack 1001 win 257");
	out(t, "P. 1001:2001(1000) ack 1");
	times(t, 60, 40, 0);
	pass(t, 10 * MS);
	in(t, ". 1:1(0) ack 2001 win 257");
	times(t, 70, 40, 0);
	pass(t, 100 * MS);
	t_kick(t);
	times(t, 70, 40, 0);
}

/* A send buffer that is smaller than the window. */
static void chrono_buffer(struct t *t)
{
	static uint8_t zero[4000];
	struct iovec iov = {zero, sizeof(zero)};

	t->h->params.tlp = false;
	t_open(t);
	t->c->tcp.sndbuf = 4000;
	t->c->tcp.sndbuf_locked = true;
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == 4000);
	check(t, sl_tcp_write(&t->c->tcp, &iov, 1, 0, false, false) == 0);
	t_kick(t);
	skip(t);
	pass(t, 30 * MS);
	t_kick(t);
	times(t, 30, 0, 30);
}

const struct script scripts[] = {
	SCRIPT(nodelay_flushes_a_cork),
	SCRIPT(record_ends_a_segment),
	SCRIPT(sack),
	SCRIPT(dsack),
	SCRIPT(dsack_of_a_part),
	SCRIPT(sack_order),
	SCRIPT(beyond_window),
	SCRIPT(window_update),
	SCRIPT(window_of_the_same_numbers),
	SCRIPT(zero_window),
	SCRIPT(lost_update),
	SCRIPT(nagle),
	SCRIPT(nagle_append),
	SCRIPT(nodelay),
	SCRIPT(cork),
	SCRIPT(more),
	SCRIPT(more_until_ack),
	SCRIPT(paws),
	SCRIPT(paws_of_acks),
	SCRIPT(paws_idle),
	SCRIPT(ts_recent),
	SCRIPT(urgent_in),
	SCRIPT(urgent_inline),
	SCRIPT(urgent_out),
	SCRIPT(path_mtu),
	SCRIPT(route_mtu),
	SCRIPT(path_mtu_blind),
	SCRIPT(icmp_errors),
	SCRIPT(user_timeout_without_room),
	SCRIPT(ack_beyond),
	SCRIPT(ack_too_old),
	SCRIPT(keepalive),
	SCRIPT(keepalive_answer),
	SCRIPT(user_timeout),
	SCRIPT(pacing),
	SCRIPT(no_shrink),
	SCRIPT(push_half),
	SCRIPT(notsent_lowat),
	SCRIPT(chrono_window),
	SCRIPT(chrono_buffer),
	{NULL, NULL},
};
