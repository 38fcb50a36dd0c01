/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment arrives (RFC 9293 3.10.7), rule by rule; and the user's bytes on both queues. */
#include "base/heap.h"
#include "tcp_peer.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_user.h"

static struct sl_tcp *c;
static uint32_t iss;

/* An accepted connection without options. */
static int setup_conn(void **state)
{
	struct sl_tcp_seg s = syn();

	setup(state);
	s.opts = SL_TCPO_MSS;
	in(s);
	iss = out.seq;
	s = seg(SL_TCP_ACK, ISN + 1, iss + 1, 0);
	s.wnd = 50000;
	in(s);
	c = sl_tcp_accept(&h, &l);
	assert_non_null(c);
	events = nout = 0;
	return 0;
}

/* With all of them. */
static int setup_full(void **state)
{
	struct sl_tcp_seg s;

	setup(state);
	in(syn());
	iss = out.seq;
	s = seg(SL_TCP_ACK, ISN + 1, iss + 1, 0);
	s.opts = SL_TCPO_TS;
	s.tsval = 101;
	s.tsecr = out.tsval;
	in(s);
	c = sl_tcp_accept(&h, &l);
	assert_non_null(c);
	events = nout = 0;
	return 0;
}

static int teardown_conn(void **state)
{
	if (c) {
		sl_tcp_fini(c);
		op_child_free(c);
	}
	c = NULL;
	return teardown(state);
}

static long write_n(uint32_t n, bool oob)
{
	static uint8_t buf[65536];
	struct iovec iov = {buf, n};
	long ret;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 7 + i / 251);
	ret = sl_tcp_write(c, &iov, 1, 0, false, oob);
	sl_tcp_flush(&h);
	return ret;
}

static long read_n(uint8_t *buf, uint32_t n)
{
	struct iovec iov = {buf, n};
	long ret = sl_tcp_read(c, &iov, 1, 0, false, false);

	sl_tcp_flush(&h);
	return ret;
}

/* First: sequence numbers. */
static void test_old_segment_is_acked(void **state)
{
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	later(1000000);
	assert_int_equal(c->rcv_nxt, ISN + 11);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 11);
	in(seg(SL_TCP_ACK, ISN + 1 - 100, iss + 1, 50));
	assert_int_equal(out.ack, ISN + 11);
	assert_int_equal(sl_tcp_readable(c), 10);
}

static void test_overlap_is_cut(void **state)
{
	uint8_t b[32];

	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	in(seg(SL_TCP_ACK, ISN + 6, iss + 1, 10));
	assert_int_equal(read_n(b, 32), 15);
	for (int i = 0; i < 15; i++)
		assert_int_equal(b[i], 1 + i);
}

static void test_beyond_window_is_refused(void **state)
{
	in(seg(SL_TCP_ACK, ISN + 1 + c->rcv_wnd + 1, iss + 1, 10));
	assert_int_equal(out.ack, ISN + 1);
	assert_int_equal(c->noo, 0);
	in(seg(SL_TCP_ACK, ISN + 1 + c->rcv_wnd - 4, iss + 1, 10));
	assert_int_equal(c->noo, 1);
	assert_int_equal(sl_ooo_last(c->ooo)->len, 4);
}

static void test_paws(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK, ISN + 1, iss + 1, 10);

	s.opts = SL_TCPO_TS;
	s.tsval = 50;
	in(s);
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 1);
	assert_int_equal(count[SL_TCPC_PAWS], 1);
	s.flags |= SL_TCP_RST; /* RFC 7323 5.3 R1: not for a reset */
	s.len = 0;
	in(s);
	assert_int_equal(c->state, SL_TCP_CLOSED);
}

static void test_paws_forgets_after_24_days(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK, ISN + 1, iss + 1, 10);

	sl_tcp_set_now(&h, h.now_us + 25ull * 24 * 3600 * 1000000);
	s.opts = SL_TCPO_TS;
	s.tsval = 50;
	in(s);
	assert_int_equal(sl_tcp_readable(c), 10);
	assert_int_equal(c->ts_recent, 50);
}

/* Second: RST. */
static void test_reset_exact(void **state)
{
	in(seg(SL_TCP_RST, ISN + 1, 0, 0));
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(c->error, ECONNRESET);
	assert_int_equal(events & SL_TCP_EV_CLOSED, SL_TCP_EV_CLOSED);
	assert_null(sl_tcp_find(&h, &key));
}

static void test_reset_in_window_is_challenged(void **state)
{
	in(seg(SL_TCP_RST, ISN + 500, 0, 0));
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(out.flags, SL_TCP_ACK);
	in(seg(SL_TCP_RST, ISN + 501, 0, 0)); /* limited */
	assert_int_equal(out.flags, 0);
	in(seg(SL_TCP_RST, ISN - 1, 0, 0));
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
}

/* Fourth: SYN. */
static void test_syn_is_challenged(void **state)
{
	in(seg(SL_TCP_SYN, ISN + 5, 0, 0));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 1);
	later(1000000);
	in(seg(SL_TCP_SYN, ISN + 0x40000000, 0, 0));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(count[SL_TCPC_CHALLENGE_ACK], 2);
}

/* Fifth: ACK. */
static void test_ack_of_the_future(void **state)
{
	in(seg(SL_TCP_ACK, ISN + 1, iss + 100, 10));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(sl_tcp_readable(c), 0);
	assert_int_equal(c->snd_una, iss + 1);
	later(1000000);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1 - 200000, 10));
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(sl_tcp_readable(c), 0);
	in(seg(0, ISN + 1, 0, 10));
	assert_int_equal(sl_tcp_readable(c), 0);
}

static void test_ack_frees_the_queue(void **state)
{
	assert_int_equal(write_n(3000, false), 3000);
	assert_int_equal(sl_tcp_unacked(c), 3000);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1401, 0));
	assert_int_equal(sl_tcp_unacked(c), 1600);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1501, 0)); /* in the middle of a piece */
	assert_int_equal(sl_tcp_unacked(c), 1500);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 3001, 0));
	assert_int_equal(sl_tcp_unacked(c), 0);
	assert_int_equal(c->wmem, 0);
	assert_int_equal(c->bytes_acked, 3000);
	assert_int_equal(events & SL_TCP_EV_SENT, SL_TCP_EV_SENT);
}

static void test_window_by_newest_segment_only(void **state)
{
	struct sl_tcp_seg s;

	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	s = seg(SL_TCP_ACK, ISN + 11, iss + 1, 0);
	s.wnd = 7;
	in(s);
	assert_int_equal(c->snd_wnd, 7);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10)); /* delayed copy */
	assert_int_equal(c->snd_wnd, 7);
}

/* Sixth: URG. */
static void test_urgent(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK | SL_TCP_URG, ISN + 1, iss + 1, 10);
	uint8_t b[32], u;

	assert_int_equal(sl_tcp_read_oob(c, &u, false), -EINVAL);
	s.urg = 5; /* the byte before: ISN + 5 */
	in(s);
	assert_int_equal(events & SL_TCP_EV_URG, SL_TCP_EV_URG);
	assert_int_equal(sl_tcp_read_oob(c, &u, true), 1);
	assert_int_equal(sl_tcp_read_oob(c, &u, false), 1);
	assert_int_equal(u, 5);
	assert_int_equal(sl_tcp_read_oob(c, &u, false), -EINVAL);
	assert_int_equal(sl_tcp_readable(c), 4);
	assert_int_equal(read_n(b, 32), 4);
	assert_true(sl_tcp_at_mark(c));
	assert_int_equal(read_n(b, 32), 5);
	assert_int_equal(b[0], 6);
	assert_false(sl_tcp_at_mark(c));
	assert_false(c->urg_in);
}

static void test_urgent_inline(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK | SL_TCP_URG, ISN + 1, iss + 1, 10);
	uint8_t b[32];

	c->oobinline = true;
	s.urg = 10;
	in(s);
	assert_int_equal(sl_tcp_read_oob(c, b, false), -EINVAL);
	assert_int_equal(read_n(b, 32), 9);
	assert_true(sl_tcp_at_mark(c));
	assert_int_equal(read_n(b, 32), 1);
	assert_int_equal(b[0], 10);
}

static void test_urgent_announced_first(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK | SL_TCP_URG, ISN + 1, iss + 1, 0);
	uint8_t u;

	s.urg = 3;
	in(s);
	assert_int_equal(sl_tcp_read_oob(c, &u, false), 0);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 3));
	assert_int_equal(sl_tcp_read_oob(c, &u, false), 1);
	assert_int_equal(u, 3);
}

static void test_urgent_sent(void **state)
{
	assert_int_equal(write_n(5, true), 5);
	assert_int_equal(out.flags & SL_TCP_URG, SL_TCP_URG);
	assert_int_equal(out.urg, 5);
}

/* Seventh: text. */
static void test_peek_and_read(void **state)
{
	uint8_t b[32];
	struct iovec iov[2] = {{b, 3}, {b + 3, 29}};

	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	in(seg(SL_TCP_ACK, ISN + 11, iss + 1, 300));
	assert_int_equal(sl_tcp_read(c, iov, 2, 0, true, false), 32);
	for (int i = 0; i < 32; i++)
		assert_int_equal(b[i], 1 + i);
	assert_int_equal(sl_tcp_read(c, iov, 2, 8, true, false), 32);
	assert_int_equal(b[0], 9);
	assert_int_equal(sl_tcp_read(c, iov, 2, 0, false, true), 32);
	assert_int_equal(read_n(b, 4), 4);
	assert_int_equal(b[0], 33);
	assert_int_equal(sl_tcp_readable(c), 310 - 36);
}

static void test_data_for_nobody_is_reset(void **state)
{
	assert_false(sl_tcp_close(c, -1));
	sl_tcp_flush(&h);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	assert_int_equal(out.flags & SL_TCP_RST, SL_TCP_RST);
	assert_ptr_equal(gone, c);
	c = NULL;
}

/* The orphan has no timer of its own; the record ends after 60 s. */
static void test_orphan_with_a_fin_to_come_is_a_record(void **state)
{
	assert_false(sl_tcp_close(c, -1));
	sl_tcp_flush(&h);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 100, iss + 2, 0));
	assert_ptr_equal(gone, c);
	assert_int_equal(h.ntw, 1);
	c = NULL;
	later(61000000);
	assert_int_equal(h.ntw, 0);
}

static void test_echo_of_congestion(void **state)
{
	struct sl_tcp_seg s = seg(SL_TCP_ACK, ISN + 1, iss + 1, 10);

	c->ecn_ok = true;
	s.ce = true;
	in(s);
	assert_int_equal(out.flags, SL_TCP_ACK | SL_TCP_ECE);
	s = seg(SL_TCP_ACK, ISN + 11, iss + 1, 10);
	in(s);
	later(300000);
	assert_int_equal(out.flags, SL_TCP_ACK | SL_TCP_ECE);
	s = seg(SL_TCP_ACK | SL_TCP_CWR, ISN + 21, iss + 1, 10);
	in(s);
	later(300000);
	assert_int_equal(out.flags, SL_TCP_ACK);
}

/* Eighth: FIN. */
static void test_passive_close(void **state)
{
	uint8_t b[32];

	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, iss + 1, 10));
	assert_int_equal(c->state, SL_TCP_CLOSE_WAIT);
	later(40000);
	assert_int_equal(out.ack, ISN + 12);
	assert_int_equal(events & SL_TCP_EV_RDHUP, SL_TCP_EV_RDHUP);
	assert_false(sl_tcp_at_eof(c));
	assert_int_equal(read_n(b, 32), 10);
	assert_true(sl_tcp_at_eof(c));
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 11, iss + 1, 0)); /* again */
	assert_int_equal(out.ack, ISN + 12);
	assert_false(sl_tcp_close(c, -1));
	sl_tcp_flush(&h);
	assert_int_equal(out.flags & SL_TCP_FIN, SL_TCP_FIN);
	assert_int_equal(c->state, SL_TCP_LAST_ACK);
	in(seg(SL_TCP_ACK, ISN + 12, iss + 2, 0));
	assert_ptr_equal(gone, c);
	assert_int_equal(h.ntw, 0);
	c = NULL;
}

static void test_fin_waits_for_its_turn(void **state)
{
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 11, iss + 1, 10));
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 1, 10));
	assert_int_equal(c->state, SL_TCP_CLOSE_WAIT);
	assert_int_equal(out.ack, ISN + 22);
}

static void test_active_close_keeps_unread_data(void **state)
{
	uint8_t b[32];

	assert_int_equal(sl_tcp_shutdown(c, false, true), 0);
	sl_tcp_flush(&h);
	assert_int_equal(c->state, SL_TCP_FIN_WAIT1);
	assert_int_equal(write_n(1, false), -EPIPE);
	in(seg(SL_TCP_ACK, ISN + 1, iss + 2, 0));
	assert_int_equal(c->state, SL_TCP_FIN_WAIT2);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, iss + 2, 10));
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(h.ntw, 1);
	assert_int_equal(out.ack, ISN + 12);
	assert_int_equal(c->error, 0);
	assert_int_equal(read_n(b, 32), 10);
	assert_true(sl_tcp_at_eof(c));
	assert_true(sl_tcp_close(c, -1));
}

static void test_simultaneous_close(void **state)
{
	sl_tcp_shutdown(c, false, true);
	sl_tcp_flush(&h);
	in(seg(SL_TCP_ACK | SL_TCP_FIN, ISN + 1, iss + 1, 0));
	assert_int_equal(c->state, SL_TCP_CLOSING);
	in(seg(SL_TCP_ACK, ISN + 2, iss + 2, 0));
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(h.ntw, 1);
}

/* Opening. */
static int setup_open(void **state)
{
	setup(state);
	key.lport = 40000;
	key.rport = 80;
	c = sl_calloc(1, sizeof(*c));
	nconns++;
	sl_tcp_init(c, &h);
	assert_int_equal(sl_tcp_connect(c, &key), 0);
	sl_tcp_flush(&h);
	iss = out.seq;
	return 0;
}

static void test_open(void **state)
{
	struct sl_tcp_seg s = syn();

	assert_int_equal(out.flags, SL_TCP_SYN);
	s.flags = SL_TCP_SYN | SL_TCP_ACK;
	s.ack = iss + 1;
	in(s);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(out.flags, SL_TCP_ACK);
	assert_int_equal(out.ack, ISN + 1);
	assert_int_equal(events, SL_TCP_EV_CONNECTED | SL_TCP_EV_OUT);
	assert_int_equal(c->snd_wnd, 60000);
}

static void test_open_refused(void **state)
{
	in(seg(SL_TCP_RST, 0, 0, 0)); /* of nothing of ours */
	in(seg(SL_TCP_RST | SL_TCP_ACK, 0, iss + 5, 0));
	assert_int_equal(c->state, SL_TCP_SYN_SENT);
	in(seg(SL_TCP_ACK, 5, iss + 5, 0)); /* a reset, and the SYN again behind it */
	assert_int_equal(out.flags, SL_TCP_SYN);
	in(seg(SL_TCP_ACK, 5, iss + 5, 0));
	assert_int_equal(out.flags, SL_TCP_RST);
	assert_int_equal(out.seq, iss + 5);
	in(seg(SL_TCP_RST | SL_TCP_ACK, 0, iss + 1, 0));
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(c->error, ECONNREFUSED);
}

static void test_open_at_once(void **state)
{
	struct sl_tcp_seg s = syn();

	in(s);
	assert_int_equal(c->state, SL_TCP_SYN_RCVD);
	assert_int_equal(out.flags, SL_TCP_SYN | SL_TCP_ACK);
	assert_int_equal(out.seq, iss);
	s.flags = SL_TCP_SYN | SL_TCP_ACK;
	s.ack = iss + 1;
	in(s);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(c->rcv_nxt, ISN + 1);
}

static void test_second_open_of_the_key(void **state)
{
	struct sl_tcp other = {0};

	sl_tcp_init(&other, &h);
	assert_int_equal(sl_tcp_connect(&other, &key), -EADDRINUSE);
	sl_tcp_fini(&other);
}

/* ICMP. */
static void test_icmp(void **state)
{
	sl_tcp_icmp(c, iss + 77, ECONNREFUSED, 0);
	assert_int_equal(c->state, SL_TCP_SYN_SENT);
	sl_tcp_icmp(c, iss, EHOSTUNREACH, 0);
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(c->error, EHOSTUNREACH);
}

static void test_icmp_is_soft_later(void **state)
{
	write_n(100, false);
	sl_tcp_icmp(c, iss + 1, ECONNREFUSED, 0);
	assert_int_equal(c->state, SL_TCP_ESTABLISHED);
	assert_int_equal(c->soft_error, ECONNREFUSED);
	sl_tcp_icmp(c, iss + 1, EMSGSIZE, 1000 - 20);
	assert_int_equal(c->mss, 960);
	sl_tcp_icmp(c, iss + 1, EMSGSIZE, 68 - 20);
	assert_int_equal(c->mss, 512);
}

/* Writing: pieces, sums, limits. op_send() compares each sum. */
static void test_small_writes_share_a_segment(void **state)
{
	uint8_t want[600];
	uint32_t n = 0;

	c->cork = true;
	for (uint32_t i = 0; i < 40; i++) {
		uint8_t b[16];
		uint32_t a = i % 5, len = 3 + i % 7;
		struct iovec iov[3] = {{b, a}, {b + a, 0}, {b + a, 10}};

		for (int k = 0; k < 16; k++)
			b[k] = (uint8_t)(i * 16 + k);
		iov[2].iov_len = len;
		assert_int_equal(sl_tcp_write(c, iov, 3, a ? 1 : 0, false, false),
				 a + len - (a ? 1 : 0));
		memcpy(want + n, b + (a ? 1 : 0), a + len - (a ? 1 : 0));
		n += a + len - (a ? 1 : 0);
	}
	c->cork = false;
	sl_tcp_option_changed(c);
	sl_tcp_flush(&h);
	assert_int_equal(out.len, n);
	assert_memory_equal(out_data, want, n);
	assert_int_equal(out.flags & SL_TCP_PSH, SL_TCP_PSH);
}

static void test_full_queue(void **state)
{
	long n = write_n(65536, false);

	assert_true(n > 0 && n < 65536);
	/* A call goes beyond by what Linux has in one buffer, half a window, */
	assert_true(c->wmem >= c->sndbuf && c->wmem < c->sndbuf + c->max_window / 2 + 4000);
	assert_int_equal(sl_tcp_write_room(c), 0);
	assert_int_equal(write_n(1, false), 0);
	assert_int_equal(events & SL_TCP_EV_OUT, 0);
	in(seg(SL_TCP_ACK, ISN + 1, c->snd_nxt, 0));
	assert_int_equal(events & SL_TCP_EV_OUT, SL_TCP_EV_OUT);
	assert_true(sl_tcp_write_room(c) > 0);
}

/* asyncio's transport over TLS is confused when it cannot write its 100 kB to within 64 at once. */
static void test_first_write_takes_what_linux_takes(void **state)
{
	assert_in_range(write_n(65536, false), 102400 - 65536, 65536);
	assert_int_equal(write_n(1, false), 0);
}

static void test_no_frames(void **state)
{
	static uint32_t held[POOL_FRAMES + 1];
	uint32_t n = 0;

	while ((held[n] = sl_frame_get(&frames)) != SL_NO_FRAME)
		n++;
	assert_int_equal(write_n(100, false), 0);
	assert_int_equal(count[SL_TCPC_NO_FRAMES], 1);
	sl_frame_put(&frames, held[--n]);
	assert_int_equal(write_n(3000, false), 1400);
	while (n)
		sl_frame_put(&frames, held[--n]);
}

static uint32_t take_until(uint32_t *held, enum sl_scarcity s)
{
	uint32_t n = 0;

	while (sl_frames_look(&frames) < s)
		held[n++] = sl_frame_get(&frames);
	return n;
}

/* When frames are short, an orphan's unsent data is dropped: by close, and by its timer. */
static void test_orphan_and_no_memory(void **state)
{
	static uint32_t held[POOL_FRAMES + 1];
	uint32_t n;

	assert_true(write_n(20000, false) > 5000);
	n = take_until(held, SL_SHORT);
	assert_true(sl_tcp_close(c, -1));
	assert_int_equal(c->state, SL_TCP_CLOSED);
	assert_int_equal(out.flags & SL_TCP_RST, SL_TCP_RST);
	assert_int_equal(count[SL_TCPC_ABORT_ON_MEMORY], 1);
	assert_int_equal(c->wmem, 0);
	while (n)
		sl_frame_put(&frames, held[--n]);
}

static void test_few_bytes_of_an_orphan_are_kept(void **state)
{
	static uint32_t held[POOL_FRAMES + 1];
	uint32_t n;

	assert_int_equal(write_n(1000, false), 1000);
	n = take_until(held, SL_SHORT);
	assert_false(sl_tcp_close(c, -1));
	assert_int_equal(c->state, SL_TCP_FIN_WAIT1);
	c->orphan = false; /* (as others here: it is the test's) */
	while (n)
		sl_frame_put(&frames, held[--n]);
}

/* A write that finds no frame is not asked for again before there is one. */
static void test_starved_writer_is_told(void **state)
{
	static uint32_t held[POOL_FRAMES + 1];
	uint32_t n = 0;

	while ((held[n] = sl_frame_get(&frames)) != SL_NO_FRAME)
		n++;
	assert_int_equal(write_n(100, false), 0);
	assert_int_equal(sl_tcp_write_room(c), 0);
	events = 0;
	sl_tcp_on_room(&h);
	assert_int_equal(events & SL_TCP_EV_OUT, 0);
	assert_false(sl_list_empty(&h.room)); /* it is looked at again */
	while (n > POOL_FRAMES / 2)
		sl_frame_put(&frames, held[--n]);
	sl_tcp_on_room(&h);
	assert_int_equal(events & SL_TCP_EV_OUT, SL_TCP_EV_OUT);
	assert_true(sl_list_empty(&h.room));
	assert_true(sl_tcp_write_room(c) > 0);
	assert_int_equal(write_n(100, false), 100);
	while (n)
		sl_frame_put(&frames, held[--n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define C(f) cmocka_unit_test_setup_teardown(f, setup_conn, teardown_conn)
#define F(f) cmocka_unit_test_setup_teardown(f, setup_full, teardown_conn)
#define O(f) cmocka_unit_test_setup_teardown(f, setup_open, teardown_conn)
		C(test_old_segment_is_acked),
		C(test_overlap_is_cut),
		C(test_beyond_window_is_refused),
		F(test_paws),
		F(test_paws_forgets_after_24_days),
		C(test_reset_exact),
		C(test_reset_in_window_is_challenged),
		C(test_syn_is_challenged),
		C(test_ack_of_the_future),
		C(test_ack_frees_the_queue),
		C(test_window_by_newest_segment_only),
		C(test_urgent),
		C(test_urgent_inline),
		C(test_urgent_announced_first),
		C(test_urgent_sent),
		C(test_peek_and_read),
		C(test_data_for_nobody_is_reset),
		C(test_orphan_with_a_fin_to_come_is_a_record),
		C(test_echo_of_congestion),
		C(test_passive_close),
		C(test_fin_waits_for_its_turn),
		C(test_active_close_keeps_unread_data),
		C(test_simultaneous_close),
		O(test_open),
		O(test_open_refused),
		O(test_open_at_once),
		O(test_second_open_of_the_key),
		O(test_icmp),
		C(test_icmp_is_soft_later),
		C(test_small_writes_share_a_segment),
		C(test_full_queue),
		C(test_first_write_takes_what_linux_takes),
		C(test_no_frames),
		C(test_orphan_and_no_memory),
		C(test_few_bytes_of_an_orphan_are_kept),
		C(test_starved_writer_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
