/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts: when received data is acknowledged. */
#include "scripts.h"

/* Uses up the quick ACKs of the beginning. */
static void get_slow(struct t *t)
{
	t->c->tcp.quickack_user = 1;
	t_changed(t);
}

/* RFC 5681 4.2: at the start at once, so that the peer's slow start is not slow; then every second
 * full segment, or after a time. */
static void quick_ack(struct t *t)
{
	t_open(t);
	in(t, "P. 1:1001(1000) ack 1");
	out(t, ". 1:1(0) ack 1001");
	in(t, "P. 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 2001");
}

static void delayed_ack(struct t *t)
{
	t_open(t);
	get_slow(t);
	in(t, "P. 1:1001(1000) ack 1");
	t_read(t, 5000, 1000);
	quiet(t, 39 * MS);
	out_in(t, 1 * MS, ". 1:1(0) ack 1001");
}

/* An ACK that finds no room in the device waits for it, also when the connection is at rest but for
 * that; then it rests. */
static void no_room(struct t *t)
{
	t_open(t);
	in(t, "P. 1:1001(1000) ack 1");
	t_read(t, 5000, 1000);
	skip(t);
	t->h->tx_ring = t->h->tx_out = 1;
	in(t, "P. 1001:2001(1000) ack 1");
	t_read(t, 5000, 1000);
	pass(t, 5 * SIM_SECOND);
	check(t, t->s.steps < 1000 && t->c->tcp.rxsize);
	t->h->tx_ring = t->h->tx_out = 0;
	sl_tcp_on_room(&t->h->tcp);
	out(t, ". 1:1(0) ack 2001");
	pass(t, 2 * SIM_SECOND);
	check(t, !t->c->tcp.rxsize);
}

static void second_segment(struct t *t)
{
	t_open(t);
	get_slow(t);
	in(t, ". 1:1001(1000) ack 1");
	quiet(t, 1 * MS);
	in(t, ". 1001:2001(1000) ack 1");
	out(t, ". 1:1(0) ack 2001");
}

/* A delayed ACK rides on data. */
static void piggyback(struct t *t)
{
	t_open(t);
	get_slow(t);
	in(t, "P. 1:101(100) ack 1");
	t_write(t, 10);
	out(t, "P. 1:11(10) ack 101");
	in(t, ". 101:101(0) ack 11");
	quiet(t, SIM_SECOND);
}

/* n full segments at once, the program reads them; how many ACKs they made. */
static uint32_t train_of(struct t *t, uint32_t *at, uint32_t n)
{
	char spec[64];

	for (uint32_t i = 0; i < n; i++, *at += 1000) {
		snprintf(spec, sizeof(spec), ". %u:%u(1000) ack 1", *at, *at + 1000);
		in(t, spec);
	}
	t_read(t, 1000 * n, (long)(1000 * n));
	return skip(t);
}

/* RFC 5681 4.2: every second full segment SHOULD be acknowledged. Of those that come as fast as
 * they can be taken in one ACK is for many, as Linux makes one for what GRO has put together; but
 * when no more come, or it is for an eighth of the window, it goes. */
static void train(struct t *t)
{
	uint32_t at = 1, n;

	t_open(t);
	get_slow(t);
	pass(t, 1 * MS);
	check(t, train_of(t, &at, 16) == 8);
	check(t, train_of(t, &at, 6) == 0);
	out_in(t, 96, ". 1:1(0) ack 22001");
	quiet(t, SIM_SECOND);
	check(t, train_of(t, &at, 16) == 8); /* another one */
	n = train_of(t, &at, 64);
	check(t, n >= 64 * 1000 / (t->c->tcp.rcv_wnd / 8 + 1000) && n <= 9);
}

/* A program that looks more often than the wheel's tick need not wait for the tick: a train without
 * new segments since the last look is acknowledged. */
static void train_end(struct t *t)
{
	uint32_t at = 1;

	t_open(t);
	get_slow(t);
	pass(t, 1 * MS);
	check(t, train_of(t, &at, 16) == 8);
	check(t, train_of(t, &at, 4) == 0);
	check(t, !sl_tcp_end_trains(&t->h->tcp, false));
	sl_tcp_set_now(&t->h->tcp, t->h->tcp.now_us + 5);
	check(t, sl_tcp_end_trains(&t->h->tcp, false));
	sl_tcp_flush(&t->h->tcp);
	out(t, ". 1:1(0) ack 20001");
	check(t, !sl_tcp_end_trains(&t->h->tcp, true));
	check(t, train_of(t, &at, 4) == 0);
	check(t, sl_tcp_end_trains(&t->h->tcp, true));
	sl_tcp_flush(&t->h->tcp);
	out(t, ". 1:1(0) ack 24001");
}

/* The peer gets at once the ACK that it waits for: at the end of its data, at a hole, at data that
 * came twice. */
static void train_breaks(struct t *t)
{
	uint32_t at = 1;

	t_open(t);
	get_slow(t);
	pass(t, 1 * MS);
	train_of(t, &at, 16);
	check(t, train_of(t, &at, 4) == 0);
	in(t, "P. 20001:21001(1000) ack 1");
	out(t, ". 1:1(0) ack 21001");
	at = 21001;
	check(t, train_of(t, &at, 4) == 0); /* goes on */
	in(t, ". 26001:27001(1000) ack 1");
	out(t, ". 1:1(0) ack 25001 <sack 26001:27001>");
	in(t, ". 25001:26001(1000) ack 1");
	out(t, ". 1:1(0) ack 27001 <>");
	at = 27001;
	check(t, train_of(t, &at, 4) == 2);
	train_of(t, &at, 12);
	check(t, train_of(t, &at, 4) == 0);
	in(t, ". 46001:47001(1000) ack 1");
	out(t, ". 1:1(0) ack 47001 <sack 46001:47001>");
}

/* The held ACK rides on data, and none follows; TCP_QUICKACK has none held. */
static void train_answered(struct t *t)
{
	uint32_t at = 1;

	t_open(t);
	get_slow(t);
	pass(t, 1 * MS);
	train_of(t, &at, 16);
	check(t, train_of(t, &at, 4) == 0);
	t_write(t, 10);
	out(t, "P. 1:11(10) ack 20001");
	in(t, ". 20001:20001(0) ack 11");
	quiet(t, SIM_SECOND);
	train_of(t, &at, 16);
	t->c->tcp.quickack_user = 2;
	t_changed(t);
	skip(t);
	check(t, train_of(t, &at, 4) == 4);
}

const struct script scripts[] = {
	SCRIPT(quick_ack),      SCRIPT(delayed_ack), SCRIPT(no_room),   SCRIPT(second_segment),
	SCRIPT(piggyback),      SCRIPT(train),       SCRIPT(train_end), SCRIPT(train_breaks),
	SCRIPT(train_answered), {NULL, NULL},
};
