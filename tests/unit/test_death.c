/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a dead process's memory: its peers are told only values that can be true. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../tools/death/death.h"
#include "tcp/listen/tcp_req.h"

struct entry {
	struct sl_tcp tcp;
	void *owner;
	bool dead;
	uint32_t oif, listener;
};

static const struct sl_conns_layout good = {
	.stride = sizeof(struct entry),
	.max = 1000,
	.host = offsetof(struct entry, tcp.host),
	.dead = offsetof(struct entry, dead),
	.state = offsetof(struct entry, tcp.state),
	.local = offsetof(struct entry, tcp.node.key.local),
	.remote = offsetof(struct entry, tcp.node.key.remote),
	.lport = offsetof(struct entry, tcp.node.key.lport),
	.rport = offsetof(struct entry, tcp.node.key.rport),
	.owner = offsetof(struct entry, owner),
	.oif = offsetof(struct entry, oif),
	.listener = offsetof(struct entry, listener),
};

static struct entry entry_of(unsigned n)
{
	struct entry e = {.tcp.state = SL_TCP_ESTABLISHED, .owner = &e};

	e.tcp.host = (void *)&e;
	e.tcp.node.key.local = e.tcp.node.key.remote = sl_addr_v4(htonl(0x0a000001));
	e.tcp.node.key.lport = 80;
	e.tcp.node.key.rport = (uint16_t)n;
	e.tcp.mss_clamp = 1460;
	e.tcp.snd_una = e.tcp.snd_nxt = e.tcp.write_seq = 1000;
	e.tcp.rcv_nxt = e.tcp.rcv_wup = 2000;
	e.tcp.rcv_wnd = e.tcp.snd_wnd = e.tcp.max_window = 65535;
	return e;
}

static int file_of(const struct entry *e, unsigned n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, e, n * sizeof(*e)), n * sizeof(*e));
	return fd;
}

static bool even(void *arg, const struct sl_flow_key *k)
{
	return k->remote_port % 2 == 0;
}

static void test_a_layout_must_fit(void **state)
{
	static const size_t fields[] = {
		offsetof(struct sl_conns_layout, host),     offsetof(struct sl_conns_layout, dead),
		offsetof(struct sl_conns_layout, state),    offsetof(struct sl_conns_layout, local),
		offsetof(struct sl_conns_layout, rport),    offsetof(struct sl_conns_layout, owner),
		offsetof(struct sl_conns_layout, oif),      offsetof(struct sl_conns_layout, tcp),
		offsetof(struct sl_conns_layout, listener),
	};
	struct entry e = entry_of(2);
	int fd = file_of(&e, 1), pipes[2];
	struct sl_gone_conns c;

	assert_int_equal(sl_gone_open(&c, fd, &good), 0);
	for (size_t i = 0; i < sl_array_len(fields); i++) {
		struct sl_conns_layout bad = good;

		*(uint32_t *)((char *)&bad + fields[i]) = bad.stride;
		assert_int_equal(sl_gone_open(&c, fd, &bad), -EINVAL);
		*(uint32_t *)((char *)&bad + fields[i]) = UINT32_MAX;
		assert_int_equal(sl_gone_open(&c, fd, &bad), -EINVAL);
	}
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(sl_gone_open(&c, pipes[0], &good), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_whose_it_was_is_found(void **state)
{
	struct entry e[200];
	struct sl_gone_conns c;

	for (unsigned i = 0; i < sl_array_len(e); i++)
		e[i] = entry_of(i);
	e[4].dead = true;
	e[6].tcp.host = NULL;
	e[8].tcp.state = SL_TCP_CLOSED;
	e[10].tcp.state = TCP_SYN_SENT;
	assert_int_equal(sl_gone_open(&c, file_of(e, sl_array_len(e)), &good), 0);
	while (sl_gone_read(&c, even, NULL))
		;
	assert_int_equal(c.n, sl_array_len(e) / 2 - 4);
	for (unsigned i = 0; i < c.n; i++)
		assert_int_equal(c.gone[i].key.remote_port, c.gone[i].entry);
	c.n = 0; /* nobody is told */
	assert_false(sl_gone_tell(&c, 1, true));
	assert_int_equal(c.fd, -1);
}

static void test_only_what_may_be_is_believed(void **state)
{
	struct entry fresh = entry_of(2), e = fresh;
	struct sl_tcp_dead d;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		e = fresh;                                                                         \
		change;                                                                            \
		assert_false(sl_tcp_repair_dead(&e.tcp, 5000, NULL, &d));                          \
	} while (0)
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, NULL, &d));
	assert_false(d.orphan);
	assert_int_equal(d.r.snd_una, 1000);
	assert_int_equal(d.r.rcv_nxt, 2000);
	assert_true(d.r.tsval >= 5);
	REFUSED(e.tcp.write_seq++);
	REFUSED(e.tcp.rx_bytes++);
	REFUSED(e.tcp.rx_tail++);
	REFUSED(e.tcp.state = SL_TCP_CLOSED);
	REFUSED(e.tcp.state = 200);
	REFUSED(e.tcp.frozen = true);
	REFUSED(memset(&e.tcp.fin_rcvd, 2, 1));
	REFUSED(memset(&e.tcp.orphan, 255, 1));
	REFUSED(memset(&e.tcp.rx_shut, 130, 1));
	REFUSED(e.tcp.snd_wscale = 15);
	REFUSED(e.tcp.mss_clamp = 0);
	REFUSED(e.tcp.rcv_wnd = UINT32_MAX);
	/* A FIN that the peer has not acknowledged is no byte. */
	e = fresh;
	e.tcp.state = SL_TCP_FIN_WAIT1;
	e.tcp.fin_queued = e.tcp.fin_sent = true;
	e.tcp.write_seq++;
	e.tcp.snd_nxt++;
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, NULL, &d));
	assert_true(d.r.fin_sent);
	assert_int_equal(d.r.snd_una, 1000);
}

static bool all(void *arg, const struct sl_flow_key *k)
{
	return true;
}

/* A privileged process makes the kernel give them. */
static void test_buffers_are_bounded(void **state)
{
	struct sl_conns_layout l = good;
	struct entry e = entry_of(2);
	struct sl_tcp_noted from;
	struct sl_gone_conns c;
	struct sl_tcp_dead d;

	l.form = sl_tcp_repair_form();
	e.tcp.copied_seq = e.tcp.rcv_nxt;
	e.tcp.rcvbuf = e.tcp.sndbuf = INT32_MAX;
	assert_int_equal(sl_gone_open(&c, file_of(&e, 1), &l), 0);
	while (sl_gone_read(&c, all, NULL))
		;
	assert_int_equal(c.n, 1);
	assert_true(sl_gone_state(&c, &c.gone[0], &d, &from));
	assert_int_equal(d.r.rcvbuf, SL_BUFFER_MAX);
	assert_int_equal(d.r.sndbuf, SL_BUFFER_MAX);
	c.n = 0; /* nobody is told */
	assert_false(sl_gone_tell(&c, 1, true));
}

/* Whatever is queued; not where the kernel may have it already. */
static void test_where_it_was_is_known(void **state)
{
	struct entry e = entry_of(2);
	struct sl_tcp_ends ends;

	e.tcp.write_seq += 100;
	e.tcp.snd_nxt += 50;
	e.tcp.rx_bytes = 7;
	assert_true(sl_tcp_dead_ends(&e.tcp, &ends));
	assert_int_equal(ends.snd_nxt, 1050);
	assert_int_equal(ends.rcv_nxt, 2000);
	e.tcp.frozen = true;
	assert_false(sl_tcp_dead_ends(&e.tcp, &ends));
	memset(&e.tcp.frozen, 2, 1);
	assert_false(sl_tcp_dead_ends(&e.tcp, &ends));
	e.tcp.frozen = false;
	e.tcp.state = SL_TCP_SYN_RCVD;
	assert_false(sl_tcp_dead_ends(&e.tcp, &ends));
}

/* A connection that nobody has accepted, of whose bytes each frame has a piece. */
#define SHIFT 11
static uint8_t memory[4 << SHIFT];
static union sl_frame_word word[4];
static const struct sl_tcp_frames frames = {
	.base = memory, .word = word, .nframes = 4, .shift = SHIFT, .owner = 3};

static struct entry queued(uint32_t pieces)
{
	struct entry e = entry_of(2);

	e.owner = NULL;
	e.tcp.child = true;
	e.tcp.listener = (void *)&e;
	e.tcp.irs = e.tcp.rcv_nxt - 1;
	e.tcp.rx_first = pieces ? 0 : SL_NO_FRAME;
	for (uint32_t i = 0; i < pieces; i++) {
		struct sl_rx_note n = {e.tcp.rcv_nxt, i + 1 < pieces ? i + 1 : SL_NO_FRAME, 100,
				       10};

		memcpy(memory + (i << SHIFT), &n, sizeof(n));
		memset(memory + (i << SHIFT) + 100, 'a' + (int)i, 10);
		word[i] = (union sl_frame_word){.owner = 3, .refs = 1};
		e.tcp.rcv_nxt += 10;
		e.tcp.rx_bytes += 10;
		e.tcp.rx_tail++;
	}
	return e;
}

static bool is_saved(const struct entry *e, struct sl_tcp_dead *d)
{
	return sl_tcp_repair_dead(&e->tcp, 5000, &frames, d) && d->queued;
}

static void test_what_waits_is_read(void **state)
{
	struct entry e = queued(3);
	struct sl_tcp_unread u;
	struct sl_tcp_dead d;
	char text[64] = "";

	assert_true(is_saved(&e, &d));
	assert_int_equal(d.r.rcvq, 30);
	u = sl_tcp_unread_of(&d, &frames);
	assert_int_equal(sl_tcp_unread_copy(&u, text, 7), 7);
	assert_int_equal(sl_tcp_unread_copy(&u, text + 7, 23), 23);
	assert_string_equal(text, "aaaaaaaaaabbbbbbbbbbcccccccccc");
	/* Nothing has come yet. */
	e = queued(0);
	assert_true(is_saved(&e, &d));
	assert_int_equal(d.r.rcvq, 0);
	/* An urgent byte, that no read returns. */
	e = queued(3);
	e.tcp.urg_in = true;
	e.tcp.rcv_up = 2010;
	assert_true(is_saved(&e, &d));
	assert_int_equal(d.r.rcvq, 29);
	u = sl_tcp_unread_of(&d, &frames);
	assert_int_equal(sl_tcp_unread_copy(&u, text, 64), 29);
	assert_memory_equal(text, "aaaaaaaaaabbbbbbbbbcccccccccc", 29);
}

/* The process was killed between two instructions. */
static void test_half_done_is_not_acknowledged(void **state)
{
	struct entry e = queued(3);
	struct sl_tcp_dead d;

	/* The last piece has its note and is not counted. */
	e.tcp.rcv_nxt -= 10;
	assert_true(is_saved(&e, &d));
	assert_int_equal(d.r.rcvq, 20);
	assert_int_equal(d.r.rcv_nxt, 2020);
	/* A FIN has been seen and is not counted, and then it is. */
	e = queued(3);
	e.tcp.fin_rcvd = true;
	assert_true(is_saved(&e, &d));
	assert_false(d.r.fin_rcvd);
	assert_int_equal(d.r.rcv_nxt, 2030);
	e.tcp.rcv_nxt++;
	assert_true(is_saved(&e, &d));
	assert_true(d.r.fin_rcvd);
	assert_int_equal(d.r.state, SL_TCP_CLOSE_WAIT);
	assert_int_equal(d.r.rcv_nxt, 2030);
}

static void test_what_waits_is_doubted(void **state)
{
	struct sl_rx_note *note = (void *)(memory + (1 << SHIFT));
	struct sl_tcp_dead d;
	struct entry e;

#define LOST(change)                                                                               \
	do {                                                                                       \
		e = queued(3);                                                                     \
		change;                                                                            \
		assert_false(is_saved(&e, &d));                                                    \
	} while (0)
	LOST(e.tcp.listener = NULL); /* unread, and accepted */
	LOST(e.tcp.rcv_nxt++);
	LOST(e.tcp.rx_first = 4);
	LOST(e.tcp.rx_first = 1);
	LOST(e.tcp.rx_head = 1);
	LOST(e.tcp.orphan = true);
	LOST(e.tcp.write_seq++);
	LOST(e.tcp.state = SL_TCP_LAST_ACK);
	LOST(note->seq++);
	LOST(note->len = 0);
	LOST(note->off = 8);
	LOST(note->off = 2040);
	LOST(note->next = 4);
	LOST(note->next = 0);
	LOST(word[1].owner = 4);
}

/* Connections that name the same frames: all of them together have as many pieces as there are. */
static void test_pieces_are_counted(void **state)
{
	struct entry e = queued(3);
	struct sl_tcp_frames m = frames;
	uint32_t counted = 0;
	struct sl_tcp_dead d;

	m.counted = &counted;
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, &m, &d));
	assert_int_equal(counted, 3);
	assert_false(sl_tcp_repair_dead(&e.tcp, 5000, &m, &d));
	e = queued(0);
	assert_true(sl_tcp_repair_dead(&e.tcp, 5000, &m, &d));
}

/* Handshakes ----------------------------------------------------------------------------------- */

struct request {
	_Alignas(8) uint8_t bytes[SL_TCP_REQ_BYTES];
	uint32_t listener;
};

static struct request request_of(unsigned port, bool answered)
{
	struct sl_tcp_req q = {
		.node.kind = SL_TCP_REQ,
		.node.key = {sl_addr_v4(htonl(0x0a000001)), sl_addr_v4(htonl(0x0a000002)), 80,
			     (uint16_t)port},
		.syn = {.seq = 99, .wnd = 1000, .mss = 1400, .wscale = 7},
		.iss = 499,
		.rcv_wnd = 5000,
		.rcv_wscale = 3,
		.answered = answered,
	};
	struct request r = {.listener = 4};

	q.syn.opts = SL_TCPO_MSS | SL_TCPO_WSCALE;
	memcpy(r.bytes, &q, sizeof(q));
	return r;
}

static void test_a_handshake_is_a_connection(void **state)
{
	struct request r = request_of(5, true);
	struct sl_tcp_dead d;

	assert_true(sl_tcp_repair_dead_req(r.bytes, 5000, &d));
	assert_int_equal(d.r.snd_una, 500);
	assert_int_equal(d.r.rcv_nxt, 100);
	assert_int_equal(d.r.snd_wnd, 0);
	assert_int_equal(d.r.mss_clamp, 1400);
	assert_int_equal(d.r.snd_wscale, 7);
	assert_int_equal(d.r.rcv_wscale, 3);
	assert_false(d.r.ts_ok || d.r.sack_ok);
	r = request_of(5, false);
	assert_false(sl_tcp_repair_dead_req(r.bytes, 5000, &d));
}

/* Handshakes lie behind the connections. */
static void test_handshakes_are_found(void **state)
{
	struct sl_conns_layout l = good;
	struct request r[40];
	struct entry e[3] = {entry_of(2), entry_of(3), entry_of(4)};
	struct sl_gone_conns c;
	int fd = file_of(e, 3);

	for (unsigned i = 0; i < 40; i++)
		r[i] = request_of(i, i % 4 == 0);
	l.form = sl_tcp_repair_form();
	l.req_at = 1 << 20;
	l.req_stride = sizeof(r[0]);
	l.req_max = 100;
	l.req_listener = offsetof(struct request, listener);
	assert_int_equal(pwrite(fd, r, sizeof(r), (off_t)l.req_at), sizeof(r));
	assert_int_equal(sl_gone_open(&c, fd, &l), 0);
	while (sl_gone_read(&c, even, NULL))
		;
	assert_int_equal(c.n, 2 + 10);
	for (unsigned i = 0; i < c.n; i++) {
		assert_int_equal(c.gone[i].req, i >= 2);
		if (c.gone[i].req)
			assert_int_equal(c.gone[i].key.remote_port, c.gone[i].entry);
	}
	c.n = 0;
	assert_false(sl_gone_tell(&c, 1, true));
	fd = file_of(e, 3);
	l.req_stride = SL_TCP_REQ_BYTES - 1;
	assert_int_equal(sl_gone_open(&c, fd, &l), -EINVAL);
	l.req_stride = sizeof(r[0]);
	l.req_listener = sizeof(r[0]) - 3;
	assert_int_equal(sl_gone_open(&c, fd, &l), -EINVAL);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_layout_must_fit),
		cmocka_unit_test(test_whose_it_was_is_found),
		cmocka_unit_test(test_only_what_may_be_is_believed),
		cmocka_unit_test(test_buffers_are_bounded),
		cmocka_unit_test(test_where_it_was_is_known),
		cmocka_unit_test(test_what_waits_is_read),
		cmocka_unit_test(test_half_done_is_not_acknowledged),
		cmocka_unit_test(test_what_waits_is_doubted),
		cmocka_unit_test(test_pieces_are_counted),
		cmocka_unit_test(test_a_handshake_is_a_connection),
		cmocka_unit_test(test_handshakes_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
