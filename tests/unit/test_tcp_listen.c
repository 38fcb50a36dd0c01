/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners and TIME_WAIT, segment by segment: SYN queue, backlog, cookies, deferred accept, Fast
 * Open, and what a record answers. The peer is this test. */
#include "tcp_peer.h"
#include "tcp/listen/tcp_pending.h"
#include "tcp/tcp_user.h"

static void test_handshake(void **state)
{
	struct sl_tcp *c;
	uint32_t iss;

	in(syn());
	iss = out.seq;
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 1);
	assert_int_equal(out.mss, 1460);
	assert_int_equal(out.opts, SL_TCPO_MSS | SL_TCPO_WSCALE | SL_TCPO_SACK_OK | SL_TCPO_TS);
	assert_int_equal(out.tsecr, 100);
	assert_int_equal(l.nrequests, 1);
	assert_null(sl_tcp_accept(&h, &l));
	in(seg(SL_TCP_ACK | SL_TCP_PSH, ISN + 1, iss + 1, 10));
	assert_int_equal(l.nrequests, 0);
	assert_int_equal(nready, 1);
	c = sl_tcp_accept(&h, &l);
	assert_non_null(c);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(sl_tcp_readable(c), 10);
	assert_int_equal(c->mss_clamp, 1400);
	assert_int_equal(c->snd_wnd, 500 << 7);
	assert_true(c->ts_ok && c->sack_ok && c->wscale_ok);
	assert_ptr_equal(sl_tcp_find(&h, &key), c);
	sl_tcp_fini(c);
	op_child_free(c);
}

static void test_child_is_put_back(void **state)
{
	struct sl_tcp *c[2];

	shake(9);
	shake(10);
	c[0] = sl_tcp_accept(&h, &l);
	assert_int_equal(nready, 2);
	sl_tcp_unaccept(&l, c[0]);
	assert_int_equal(nready, 3); /* a call that found the second one alone may sleep */
	assert_int_equal(l.nchildren, 2);
	assert_ptr_equal(sl_tcp_accept(&h, &l), c[0]);
	c[1] = sl_tcp_accept(&h, &l);
	assert_non_null(c[1]);
	for (int i = 0; i < 2; i++) {
		sl_tcp_fini(c[i]);
		op_child_free(c[i]);
	}
}

static void test_synack_is_repeated_then_given_up(void **state)
{
	uint32_t iss;

	in(syn());
	iss = out.seq;
	nout = 0;
	later(1100000);
	assert_int_equal(nout, 1);
	assert_int_equal(out.seq, iss);
	later(2100000);
	assert_int_equal(nout, 2);
	later(120000000);
	assert_int_equal(nout, 5);
	assert_int_equal(h.nreq, 0);
}

/* A listener that goes to the kernel: nobody who was not answered is lost, or is answered early. */
static void test_held_syns_are_answered_later(void **state)
{
	struct sl_tcp_key keys[2];

	sl_tcp_listener_hold(&h, &l, true);
	nout = 0;
	in(syn());
	in(syn());
	later(5000000);
	assert_int_equal(nout, 0);
	assert_int_equal(l.nrequests, 1);
	assert_int_equal(sl_tcp_listener_keys(&l, false, keys, 2), 0);
	assert_int_equal(sl_tcp_listener_keys(&l, true, keys, 2), 1);
	assert_memory_equal(&keys[0], &key, sizeof(key));
	sl_tcp_listener_hold(&h, &l, false);
	assert_int_equal(nout, 1);
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(sl_tcp_listener_keys(&l, false, keys, 2), 1);
	in(seg(SL_TCP_ACK, ISN + 1, out.seq + 1, 0));
	assert_int_equal(nready, 1);
}

static void test_held_listener_sends_no_cookie(void **state)
{
	sl_tcp_params.syncookies = 2;
	sl_tcp_listener_hold(&h, &l, true);
	nout = 0;
	in(syn());
	assert_int_equal(nout, 0);
	assert_int_equal(l.nrequests, 1);
}

static void test_repeated_syn_is_answered(void **state)
{
	uint32_t iss;

	in(syn());
	iss = out.seq;
	in(syn());
	assert_int_equal(out.seq, iss);
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(h.nreq, 1);
	in(syn()); /* limited */
	assert_int_equal(out.flags, 0);
}

static void test_request_takes_exact_reset_only(void **state)
{
	in(syn());
	in(seg(SL_TCP_RST, ISN + 100, 0, 0));
	assert_int_equal(h.nreq, 1);
	assert_int_equal(out.flags, SL_TCP_ACK);
	in(seg(SL_TCP_RST, ISN + 1, 0, 0));
	assert_int_equal(h.nreq, 0);
}

static void test_wrong_ack_is_reset(void **state)
{
	uint32_t iss;

	in(syn());
	iss = out.seq;
	in(seg(SL_TCP_ACK, ISN + 1, iss + 2, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(out.seq, iss + 2);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(l.nchildren, 1);
	key.rport = 7777;
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	in(seg(SL_TCP_RST | SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(out.flags, 0);
}

static void test_backlog_is_one_more(void **state)
{
	uint32_t iss;

	l.backlog = 1;
	shake(1);
	shake(2);
	assert_int_equal(l.nchildren, 2);
	key.rport = 3;
	in(syn());
	assert_int_equal(out.flags, 0);
	assert_int_equal(count[SL_TCPC_LISTEN_OVERFLOWS], 1);
	l.backlog = 2;
	in(syn());
	iss = out.seq;
	l.backlog = 1;
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0)); /* no room: as if it had not come */
	assert_int_equal(out.flags, 0);
	assert_int_equal(l.nchildren, 2);
	l.backlog = 2;
	later(1100000);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(l.nchildren, 3);
}

static void test_abort_on_overflow(void **state)
{
	uint32_t iss;

	l.backlog = 1;
	sl_tcp_params.abort_on_overflow = true;
	shake(1);
	key.rport = 2;
	in(syn());
	iss = out.seq;
	l.backlog = 0;
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(h.nreq, 0);
}

/* A neighbour that is not known yet: answers that no record repeats are sent when it is. */
static void test_cookie_and_reset_wait_for_a_way(void **state)
{
	sl_tcp_params.syncookies = 2;
	no_way = true;
	in(syn());
	later(5000);
	key.lport++;
	in(seg(SL_TCP_ACK, ISN + 1, 7, 0));
	key.lport--;
	later(100000);
	assert_int_equal(nout, 0);
	no_way = false;
	later(150000);
	assert_int_equal(nout, 2);
	later(2000000); /* once */
	assert_int_equal(nout, 2);
}

static void test_answers_wait_for_a_second_and_so_many(void **state)
{
	sl_tcp_params.syncookies = 2;
	no_way = true;
	for (int i = 0; i < 100; i++) {
		key.rport++;
		in(syn());
	}
	later(100000);
	no_way = false;
	later(200000);
	assert_int_equal(nout, 32);
	no_way = true;
	in(syn());
	later(1100000);
	no_way = false;
	later(2000000);
	assert_int_equal(nout, 32);
}

static void test_cookie_keeps_nothing_but_options(void **state)
{
	struct sl_tcp_seg a;
	struct sl_tcp *c;

	sl_tcp_params.syncookies = 2;
	in(syn());
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(h.nreq, 0);
	a = seg(SL_TCP_ACK, ISN + 1, out.seq + 1, 5);
	a.opts = SL_TCPO_TS;
	a.tsval = 101;
	a.tsecr = out.tsval;
	later(3000000);
	in(a);
	assert_int_equal(count[SL_TCPC_SYN_COOKIES_RECV], 1);
	c = sl_tcp_accept(&h, &l);
	assert_non_null(c);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_true(c->ts_ok && c->sack_ok && c->wscale_ok);
	assert_int_equal(c->snd_wscale, 7);
	assert_int_equal(c->mss_clamp, 1300);
	assert_int_equal(sl_tcp_readable(c), 5);
	sl_tcp_fini(c);
	op_child_free(c);
}

static void test_cookies_when_the_syn_queue_is_full(void **state)
{
	uint32_t good;

	l.backlog = 70;
	for (uint16_t p = 1; p <= 78; p++) {
		key.rport = p;
		in(syn());
		assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	}
	assert_int_equal(h.nreq, 71);
	assert_int_equal(count[SL_TCPC_SYN_COOKIES_SENT], 7);
	good = out.seq + 1;
	in(seg(SL_TCP_ACK, ISN + 1, good + 12345, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(count[SL_TCPC_SYN_COOKIES_FAILED], 1);
	in(seg(SL_TCP_ACK, ISN + 1, good, 0));
	assert_int_equal(l.nchildren, 1);
	key.rport = 1234;
	later(300000000);
	in(seg(SL_TCP_ACK, ISN + 1, good, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(count[SL_TCPC_SYN_COOKIES_FAILED], 1);
}

static void test_without_cookies_a_full_queue_drops(void **state)
{
	sl_tcp_params.syncookies = 0;
	l.backlog = 0; /* (but some come in a bunch) */
	for (key.rport = 1; key.rport <= 65; key.rport++) {
		in(syn());
		assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	}
	nout = 0;
	in(syn());
	assert_int_equal(nout, 0);
	assert_int_equal(count[SL_TCPC_LISTEN_DROPS], 1);
}

static void test_defer_accept(void **state)
{
	uint32_t iss = (l.defer_accept_s = 5, shake(1));

	assert_int_equal(l.nchildren, 0);
	nout = 0;
	later(3000000);
	assert_int_equal(nout, 0);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 3));
	assert_int_equal(l.nchildren, 1);
	iss = shake(2);
	assert_int_equal(l.nchildren, 1);
	later(10000000); /* the SYN-ACK once more, and now an ACK is enough */
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 0));
	assert_int_equal(l.nchildren, 2);
}

static void test_fast_open(void **state)
{
	struct sl_tcp_seg s = syn();
	struct sl_tcp *c;
	uint32_t iss;

	sl_tcp_params.tfo = 3;
	l.tfo_qlen = 1;
	s.opts |= SL_TCPO_TFO;
	in(s);
	assert_int_equal(out.tfo_len, 8);
	assert_int_equal(l.nchildren, 0);
	key.rport = 6000;
	s.tfo_len = 8;
	memcpy(s.tfo, out.tfo, 8);
	s.len = 20;
	in(s);
	iss = out.seq;
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 21);
	c = sl_tcp_accept(&h, &l);
	assert_non_null(c);
	assert_int_equal(sl_tcp_readable(c), 20);
	assert_int_equal(sl_tcp_write(c, &(struct iovec){"answer", 6}, 1, 0, false, false), 6);
	sl_tcp_flush(&h);
	assert_int_equal(out.len, 6);
	assert_int_equal(out.seq, iss + 1);
	assert_int_equal(c->state, SL_TCP_SYN_RCVD);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1); /* accepted or not */
	sl_tcp_unaccept(&l, c);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1);
	assert_ptr_equal(sl_tcp_accept(&h, &l), c);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1);
	in(seg(SL_TCP_ACK, ISN + 21, iss + 7, 0));
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(sl_tcp_unacked(c), 0);
	assert_int_equal(c->wmem, 0);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 0);
	sl_tcp_fini(c);
	op_child_free(c);
	key.rport = 6001;
	s.tfo[0] ^= 1;
	in(s);
	assert_int_equal(out.ack, ISN + 1);
	assert_int_equal(out.tfo_len, 8);
}

/* A reset counts for a minute, also when its addresses and ports have a handshake that is complete
 * meanwhile. */
static void test_fast_open_reset(void **state)
{
	struct sl_tcp_seg s = syn();
	struct sl_tcp *c;

	sl_tcp_params.tfo = 3;
	l.tfo_qlen = 5;
	s.opts |= SL_TCPO_TFO;
	in(s);
	key.rport = 6000;
	s.tfo_len = 8;
	memcpy(s.tfo, out.tfo, 8);
	s.len = 20;
	in(s);
	in(seg(SL_TCP_RST, ISN + 21, 0, 0));
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1);
	c = sl_tcp_accept(&h, &l);
	assert_int_equal(c->state, SL_TCP_CLOSED);
	sl_tcp_fini(c);
	op_child_free(c);
	in(s);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 2);
	in(seg(SL_TCP_ACK, ISN + 21, out.seq + 1, 0));
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1);
	later(59000000);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 1);
	later(2000000);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the shortest time for 100 handshakes that begin and end, in ten tries. */
static uint64_t handshakes_ns(void)
{
	uint64_t least = UINT64_MAX;

	for (int try = 0; try < 10; try++) {
		uint64_t from = cpu_ns();

		for (uint16_t i = 0; i < 100; i++) {
			struct sl_tcp c = {.host = &h, .node.key = key};

			c.node.key.rport = i;
			sl_tcp_pending_count(&h, &l);
			assert_true(sl_tcp_pending_add(&c, &l));
			sl_tcp_pending_done(&c);
		}
		least = sl_min(least, cpu_ns() - from);
	}
	return least;
}

/* The peers of many handshakes do not answer: a SYN is not dearer for that. All of them end, those
 * that are reset first, and the listener's end forgets the others. */
static void test_many_fast_opens(void **state)
{
	uint64_t few = handshakes_ns(), many;
	const uint32_t n = 20000;

	for (uint32_t i = 0; i < n; i++) {
		struct sl_tcp c = {.host = &h, .node.key = key};

		c.node.key.remote = sl_addr_v4(__builtin_bswap32(0x0b000000 + i));
		assert_true(sl_tcp_pending_add(&c, &l));
		if (i % 4 == 0)
			sl_tcp_pending_reset(&c);
	}
	assert_int_equal(sl_tcp_pending_count(&h, &l), n);
	many = handshakes_ns();
	print_message("100 handshakes: %lu ns beside none, %lu ns beside %u\n", few, many, n);
	assert_true(many < 20 * few);
	h.now_us += 61000000;
	assert_int_equal(sl_tcp_pending_count(&h, &l), n - n / 4);
	h.now_us += 100000000;
	assert_int_equal(sl_tcp_pending_count(&h, &l), n - n / 4);
	h.now_us += 95000000;
	assert_int_equal(sl_tcp_pending_count(&h, &l), 0);
	for (uint16_t i = 0; i < 100; i++) {
		struct sl_tcp c = {.host = &h, .node.key = key};

		c.node.key.rport = i;
		assert_true(sl_tcp_pending_add(&c, &l));
	}
	sl_tcp_pending_forget(&h, &l);
	assert_int_equal(sl_tcp_pending_count(&h, &l), 0);
}

static void test_closed_listener_resets_its_children(void **state)
{
	shake(1);
	key.rport = 2;
	in(syn());
	sl_tcp_listener_fini(&h, &l);
	assert_int_equal(out.flags & SL_TCP_RST, SL_TCP_RST);
	assert_int_equal(nconns, 0);
	assert_int_equal(h.nreq, 0);
	key.rport = 3;
	in(syn());
	assert_int_equal(out.flags, SL_TCP_RST | SL_TCP_ACK);
	sl_tcp_listener_init(&l);
}

/* A connection that has been closed by us, in FIN_WAIT2 as a record. *nxt: our next number. */
static void half_closed(uint32_t *nxt)
{
	uint32_t iss = shake(9);
	struct sl_tcp *c = sl_tcp_accept(&h, &l);

	*nxt = iss + 2;
	assert_false(sl_tcp_close(c, -1));
	sl_tcp_flush(&h);
	assert_int_equal(out.flags & SL_TCP_FIN, SL_TCP_FIN);
	assert_int_equal(c->state, SL_TCP_FIN_WAIT1);
	gone = NULL;
	in(seg(SL_TCP_ACK, ISN + 1, *nxt, 0));
	assert_ptr_equal(gone, c);
	assert_int_equal(h.ntw, 1);
	assert_null(sl_tcp_find(&h, &key));
}

static void test_time_wait(void **state)
{
	struct sl_tcp_seg s;
	uint32_t nxt;

	half_closed(&nxt);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, nxt, 0));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 2);
	assert_int_equal(out.seq, nxt);
	later(59000000);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, nxt, 0)); /* again: 60 s more */
	assert_int_equal(out.ack, ISN + 2);
	in(seg(SL_TCP_RST, ISN + 3, 0, 0)); /* in the window is not enough */
	in(seg(SL_TCP_SYN, ISN - 5, 0, 0)); /* old */
	later(59000000);
	assert_int_equal(h.ntw, 1);
	s = syn(); /* new by its time stamp */
	s.tsval = 5000;
	in(s);
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_true(sl_seq_gt(out.seq, nxt));
	assert_int_equal(h.ntw, 0);
}

static void test_time_wait_ends(void **state)
{
	uint32_t nxt;

	half_closed(&nxt);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, nxt, 0));
	later(60100000);
	assert_int_equal(h.ntw, 0);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, nxt, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
}

static void test_orphan_fin_wait2_resets_data(void **state)
{
	uint32_t nxt;

	half_closed(&nxt);
	in(seg(SL_TCP_ACK, ISN + 1, nxt, 10));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(h.ntw, 0);
}

static void test_unread_data_reset(void **state)
{
	uint32_t iss = shake(9);
	struct sl_tcp *c = sl_tcp_accept(&h, &l);

	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	assert_true(sl_tcp_close(c, -1));
	assert_int_equal(out.flags & SL_TCP_RST, SL_TCP_RST);
	sl_tcp_fini(c);
	op_child_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_handshake),
		T(test_child_is_put_back),
		T(test_synack_is_repeated_then_given_up),
		T(test_repeated_syn_is_answered),
		T(test_held_syns_are_answered_later),
		T(test_held_listener_sends_no_cookie),
		T(test_request_takes_exact_reset_only),
		T(test_wrong_ack_is_reset),
		T(test_backlog_is_one_more),
		T(test_abort_on_overflow),
		T(test_cookie_and_reset_wait_for_a_way),
		T(test_answers_wait_for_a_second_and_so_many),
		T(test_cookie_keeps_nothing_but_options),
		T(test_cookies_when_the_syn_queue_is_full),
		T(test_without_cookies_a_full_queue_drops),
		T(test_defer_accept),
		T(test_fast_open),
		T(test_fast_open_reset),
		T(test_many_fast_opens),
		T(test_closed_listener_resets_its_children),
		T(test_time_wait),
		T(test_time_wait_ends),
		T(test_orphan_fin_wait2_resets_data),
		T(test_unread_data_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
