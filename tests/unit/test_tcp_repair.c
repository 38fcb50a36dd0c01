/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that another host began goes on here (move/hand_back.c): what is hard to meet on a
 * wire.
 */
#include "tcp_peer.h"
#include "tcp/tcp_repair.h"

#define SND 5000u /* our first byte that the peer has not acknowledged */

static struct sl_tcp conn, *c = &conn;

/* Established, with empty queues. */
static struct sl_tcp_repair state_of_kernel(void)
{
	return (struct sl_tcp_repair){
		.key = key,
		.state = SL_TCP_ESTABLISHED,
		.snd_nxt = SND,
		.snd_una = SND,
		.rcv_nxt = ISN,
		.snd_wl1 = ISN,
		.snd_wnd = 60000,
		.max_window = 60000,
		.rcv_wnd = 4096,
		.rcv_wup = ISN,
		.sndbuf = 16384,
		.rcvbuf = 8192,
		.mss_clamp = 1400,
	};
}

static void take(const struct sl_tcp_repair *r)
{
	static const uint8_t bytes[16384];

	sl_tcp_init(c, &h);
	assert_int_equal(sl_tcp_repair_set(c, r), 0);
	if (r->rcvq)
		assert_int_equal(sl_tcp_repair_add_rcvq(c, bytes, r->rcvq), 0);
	if (r->sndq)
		assert_int_equal(sl_tcp_repair_add_sndq(c, bytes, r->sndq), 0);
	assert_int_equal(sl_tcp_repair_start(c, r), 0);
	sl_tcp_flush(&h);
}

static int teardown_conn(void **state)
{
	sl_tcp_fini(c);
	return teardown(state);
}

/* The peer would probe it for ever. */
static void test_closed_window_opens(void **state)
{
	struct sl_tcp_repair r = state_of_kernel();

	r.rcv_wnd = 0;
	take(&r);
	assert_int_equal(nout, 1);
	assert_true(out.wnd >= 1400);
}

/* Its acknowledgment would be one of something that was never sent. */
static void test_fin_that_was_not_sent_is_sent(void **state)
{
	struct sl_tcp_repair r = state_of_kernel();

	r.state = SL_TCP_FIN_WAIT1;
	r.sndq = 100;
	r.snd_nxt += r.sndq;
	r.fin_queued = true;
	take(&r);
	assert_true(out.flags & SL_TCP_FIN);
	assert_int_equal(out.seq + out.len, SND + 100);
	in(seg(SL_TCP_ACK, ISN, SND + 101, 0));
	assert_int_equal(c->state, SL_TCP_FIN_WAIT2);
}

/* A FIN that was sent with the last bytes is not sent anew. */
static void test_fin_that_was_sent_is_acknowledged(void **state)
{
	struct sl_tcp_repair r = state_of_kernel();

	r.state = SL_TCP_FIN_WAIT1;
	r.sndq = 100;
	r.snd_nxt += r.sndq;
	r.fin_queued = r.fin_sent = true;
	take(&r);
	assert_int_equal(out.flags & SL_TCP_FIN, 0);
	in(seg(SL_TCP_ACK, ISN, SND + 101, 0));
	assert_int_equal(c->state, SL_TCP_FIN_WAIT2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_closed_window_opens, setup, teardown_conn),
		cmocka_unit_test_setup_teardown(test_fin_that_was_not_sent_is_sent, setup,
						teardown_conn),
		cmocka_unit_test_setup_teardown(test_fin_that_was_sent_is_acknowledged, setup,
						teardown_conn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
