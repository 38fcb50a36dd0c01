/* SPDX-License-Identifier: BSD-2-Clause */
/* Property test of the receive queues alone: pieces of a stream in any order, doubled, overlapping
 * and cut anywhere, with much and with little memory; and known results of the hash. */
#include "sim.h"
#include "tcp/tcp_dead.h"
#include "tcp/tcp_filter.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_table.h"
#include "tcp/tcp_tw.h"
#include "tcp/tcp_user.h"
#include "wire/siphash.h"

#include <string.h>

#define RUNS   4000
#define STREAM 40000
#define SHIFT  11

static uint8_t stream[STREAM];
static uint32_t counts[SL_TCPC_COUNT];

static void count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	counts[id] += n;
}

static const struct sl_tcp_ops ops = {.count = count};
static struct sim s;
static struct sl_tcp_host host;
static struct sl_frames frames;
static struct sl_tcp c;
static uint32_t base, size, got;

/* A process that finds the notes and the frames of a dead one must read the bytes that the program
 * would have read. */
static void check_notes(void)
{
	const struct sl_tcp_frames m = {
		.base = sl_pool.base,
		.word = sl_pool.word,
		.nframes = sl_pool.nframes,
		.shift = sl_pool.shift,
		.owner = sl_pool.me,
	};
	static uint8_t buf[STREAM];
	struct sl_tcp_unread u;
	struct sl_tcp_dead d;
	uint32_t n = 0, step = sim_range(&s.rng, 1, STREAM);

	sim_check(&s, sl_tcp_repair_dead(&c, s.now_us, &m, &d) && d.queued);
	sim_check(&s, d.r.rcvq == c.rx_bytes && d.r.fin_rcvd == c.fin_rcvd);
	sim_check(&s, d.r.rcv_nxt == c.rcv_nxt - c.fin_rcvd);
	u = sl_tcp_unread_of(&d, &m);
	while (n < d.r.rcvq) {
		uint32_t got_now = sl_tcp_unread_copy(&u, buf + n, sl_min(step, d.r.rcvq - n));

		sim_check(&s, got_now);
		n += got_now;
	}
	sim_check(&s, memcmp(buf, stream, n) == 0);
	/* Another's frames are not believed. */
	if (d.r.rcvq) {
		struct sl_tcp_frames others = m;

		others.owner++;
		sim_check(&s, !sl_tcp_repair_dead(&c, s.now_us, &others, &d));
	}
}

/* conditions that hold after every step */
static void check(void)
{
	uint32_t bytes = 0, mem = 0, end = c.rcv_nxt;
	struct sl_tcp_block b[4];
	struct sl_ooo_at at;
	uint8_t n;

	for (uint32_t i = c.rx_head; i != c.rx_tail; i++) {
		const struct sl_rxseg *r = &c.rx[i & (c.rxsize - 1)];

		sim_check(&s, r->len && sl_frame_refs(r->frame));
		bytes += r->len;
		mem += sl_tcp_rx_charge(r->len);
	}
	sim_check(&s, bytes == c.rx_bytes);
	sim_check(&s, c.copied_seq + bytes + c.fin_rcvd == c.rcv_nxt);
	at = c.noo ? sl_ooo_first(c.ooo) : (struct sl_ooo_at){0};
	for (uint32_t i = 0; i < c.noo; i++, at = sl_ooo_next(c.ooo, at)) {
		const struct sl_oooseg *o = sl_ooo_piece(c.ooo, at);

		sim_check(&s, i ? sl_seq_ge(o->seq, end) : sl_seq_gt(o->seq, end));
		sim_check(&s, (o->len == 0) == (o->frame == SL_NO_FRAME));
		sim_check(&s, o->len || o->fin);
		end = o->seq + o->len + o->fin;
		mem += sl_tcp_rx_charge(o->len);
	}
	sim_check(&s, mem == c.rmem);
	if (sl_tcp_is_queued(&c))
		check_notes();
	n = sl_tcp_sack_blocks(&c, b, 4);
	sim_check(&s, !n || c.noo || c.have_dsack);
	for (uint8_t i = c.have_dsack; i < n; i++) {
		sim_check(&s, sl_seq_lt(b[i].start, b[i].end) && sl_seq_gt(b[i].start, c.rcv_nxt));
		for (uint8_t k = c.have_dsack; k < i; k++)
			sim_check(&s, sl_seq_lt(b[k].end, b[i].start) ||
					      sl_seq_lt(b[i].end, b[k].start));
	}
}

/* Are all bytes of [start, end) beyond the hole here? */
static bool is_held(uint32_t start, uint32_t end)
{
	struct sl_ooo_at at = c.noo ? sl_ooo_first(c.ooo) : (struct sl_ooo_at){0};
	const struct sl_oooseg *o;

	for (; c.noo && (o = sl_ooo_piece(c.ooo, at)); at = sl_ooo_next(c.ooo, at))
		if (sl_seq_le(o->seq, start) && sl_seq_gt(sl_ooo_end(o), start))
			start = sl_ooo_end(o);
	return sl_seq_ge(start, end);
}

/* Bytes [at, at + len) and perhaps the end arrive, as tcp_in.c hands them over. */
static void arrive(uint32_t at, uint32_t len, bool fin)
{
	uint32_t seq = base + at, f, drops = counts[SL_TCPC_RCV_PRUNED], before = c.rcv_nxt;
	uint16_t off = (uint16_t)sim_below(&s.rng, 300) + (c.child ? sizeof(struct sl_rx_note) : 0);
	struct sl_tcp_block b[4];

	f = sl_frame_get(&frames);
	if (f == SL_NO_FRAME)
		return;
	c.have_dsack = false;
	memcpy(sl_frame_ptr(f) + off, stream + at, len);
	if (!sl_tcp_rcv_queue(&c, seq, f, off, (uint16_t)len, fin))
		sl_frame_put(&frames, f);
	check();
	sim_check(&s, sl_seq_ge(c.rcv_nxt, before));
	/* Only what came now can have come twice, or what it brought into order. */
	if (c.have_dsack)
		sim_check(&s, sl_seq_lt(c.dsack.start, c.dsack.end) &&
				      sl_seq_ge(c.dsack.start, seq) &&
				      (sl_seq_le(c.dsack.end, seq + len + fin) ||
				       sl_seq_le(c.dsack.end, c.rcv_nxt)));
	if (counts[SL_TCPC_RCV_PRUNED] != drops)
		return;
	if (sl_seq_le(seq, before)) {
		sim_check(&s, sl_seq_ge(c.rcv_nxt, seq + len));
	} else if (!c.fin_rcvd && len + fin) {
		uint8_t n = sl_tcp_sack_blocks(&c, b, 4);

		/* RFC 2018 4: the first block is of the segment that just came; RFC 2883 4: after
		 * the one that came twice. */
		sim_check(&s, n > c.have_dsack && sl_seq_le(b[c.have_dsack].start, seq) &&
				      sl_seq_ge(b[c.have_dsack].end, seq + len + fin));
		sim_check(&s, is_held(seq, seq + len + fin));
		for (uint8_t i = 0; i < n; i++)
			sim_check(&s, is_held(b[i].start, b[i].end));
	}
}

static void read_some(uint32_t max)
{
	uint8_t buf[STREAM];
	struct iovec iov = {buf, max};
	long n = sl_tcp_read(&c, &iov, 1, 0, false, false);

	sim_check(&s, n >= 0 && memcmp(buf, stream + got, (size_t)n) == 0);
	got += (uint32_t)n;
	check();
}

static void one(uint64_t seed)
{
	struct sim_rng *r = &s.rng;
	struct sl_tcp_listener listener;
	uint32_t max, step, steps = 0, accept_at;
	static const struct sl_tcp_keys keys;

	sim_init(&s, seed, seed % 4 ? 4096 : 160, SHIFT);
	sl_tcp_params_default(&sl_tcp_params);
	memset(&frames, 0, sizeof(frames));
	memset(&c, 0, sizeof(c));
	if (sl_tcp_host_init(&host, &ops, &frames, &keys, SIM_SECOND, NULL) < 0)
		abort();
	sl_tcp_init(&c, &host);
	c.state = SL_TCP_ESTABLISHED;
	c.sack_ok = true;
	if (sim_below(r, 2))
		c.rcvbuf = sim_range(r, 300, 20000);
	base = sim_below(r, 2) ? (uint32_t)sim_rand(r) : 0u - sim_below(r, STREAM);
	c.rcv_nxt = c.copied_seq = base;
	c.rcv_ssthresh = c.rcv_wnd = 60000;
	c.rcv_wup = base;
	c.adv_mss = c.rcv_mss = c.mss_clamp = 536;
	c.irs = base - 1;
	accept_at = sim_below(r, 2) * sim_below(r, 100);
	if (accept_at) {
		c.child = true;
		c.listener = &listener;
		c.rx_first = SL_NO_FRAME;
	}
	size = sim_range(r, 1, sim_below(r, 4) ? 3000 : STREAM);
	max = sim_range(r, 1, 1600);
	max = sl_max(max, size / 200);
	step = sim_range(r, 1, 30);
	got = 0;
	while (!c.fin_rcvd || c.rx_bytes) {
		uint32_t at = sim_below(r, size + 1), len;

		/* Now and then what is missing comes. */
		if (sim_below(r, 4) == 0)
			at = sl_min(c.rcv_nxt - base, size);
		len = sim_below(r, sl_min(max, size - at) + 1);
		arrive(at, len, at + len == size);
		if (++steps >= accept_at)
			c.listener = NULL;
		if (!sl_tcp_is_queued(&c) && sim_below(r, step) == 0)
			read_some(sim_range(r, 1, STREAM));
		sim_check(&s, steps < 200000);
	}
	sim_check(&s, got == size);
	sl_tcp_rcv_free(&c);
	sim_check(&s, c.rmem == 0);
	sl_tcp_fini(&c);
	sl_tcp_host_fini(&host);
	sl_frames_flush(&frames, 0);
	sim_fini(&s);
}

/* The vectors of the reference implementation. */
static void test_siphash(void)
{
	static const uint64_t want[4] = {0x726fdb47dd0e0e31u, 0x74f839c593dc67fdu,
					 0x0d6c8009d9a94f5au, 0x85676696d7fb7e2du};
	uint8_t key[16], in[64];

	for (uint8_t i = 0; i < 64; i++)
		in[i] = i;
	memcpy(key, in, 16);
	for (uint32_t i = 0; i < 4; i++)
		sim_check(&s, sl_siphash(key, in, i) == want[i]);
	sim_check(&s, sl_siphash(key, in, 15) == 0xa129ca6149be45e5u);
}

static void test_cookie(void)
{
	static const uint16_t mss[][2] = {{100, 536},   {536, 536},   {1299, 536}, {1300, 1300},
					  {1459, 1440}, {1460, 1460}, {8960, 1460}};
	struct sl_tcp_keys keys = {.pair = {1, 2, 3}};
	struct sl_tcp_host h = {.keys = &keys, .now_us = 1234567890123};
	struct sl_tcp_key key = {.local = sl_addr_v4(1), .remote = sl_addr_v4(2), .lport = 80};
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < sl_array_len(mss); i++) {
		struct sl_tcp_seg syn = {.seq = 777 + i, .opts = SL_TCPO_MSS, .mss = mss[i][0]};
		uint64_t then = h.now_us;
		uint32_t cookie = sl_tcp_cookie(&h, &key, &syn);

		sim_check(&s, sl_tcp_cookie_check(&h, &key, cookie, syn.seq) == mss[i][1]);
		h.now_us += 60000000;
		sim_check(&s, sl_tcp_cookie_check(&h, &key, cookie, syn.seq) == mss[i][1]);
		h.now_us += 60000000;
		sim_check(&s, sl_tcp_cookie_check(&h, &key, cookie, syn.seq) == 0);
		h.now_us = then;
		key.rport ^= 1;
		sim_check(&s, sl_tcp_cookie_check(&h, &key, cookie, syn.seq) == 0);
		key.rport ^= 1;
		/* A later segment, both sides further by as much. */
		sim_check(&s, sl_tcp_cookie_check(&h, &key, cookie + 2, syn.seq + 2) == 0);
	}
	/* A guess is right once in 2^21 (two periods, four sizes). */
	for (uint32_t i = 0; i < 100000; i++)
		wrong += sl_tcp_cookie_check(&h, &key, i * 2654435761u, 5) != 0;
	sim_check(&s, wrong < 8);
}

/* RFC 6528: numbers of one connection follow the clock; those of another say nothing. */
static void test_isn(void)
{
	struct sl_tcp_keys keys = {.pair = {1, 2, 3}};
	struct sl_tcp_host h = {.keys = &keys, .now_us = 1234567890123};
	struct sl_tcp_key key = {.local = sl_addr_v4(1), .remote = sl_addr_v4(2), .lport = 80};
	struct sl_tcp_key other = key;
	uint32_t a = sl_tcp_isn(&h, &key), b;

	other.rport = 1;
	b = sl_tcp_isn(&h, &other);
	sim_check(&s, a - b > 1000 && b - a > 1000);
	a = sl_tcp_ts_offset(&h, &key) - sl_tcp_ts_offset(&h, &other);
	sim_check(&s, a > 1000 && -a > 1000);
	a = sl_tcp_isn(&h, &key);
	h.now_us += 4000;
	sim_check(&s, sl_tcp_isn(&h, &key) == a + 1000);
	keys.pair[15] = 9;
	sim_check(&s, sl_tcp_isn(&h, &key) != a + 1000);
}

/* A server's habit of closing first, or of leaving that to us, is known by its address and port. */
static void test_waits(void)
{
	struct sl_tcp_keys keys = {.own = {1, 2, 3}};
	struct sl_tcp_host h = {.keys = &keys};
	struct sl_tcp_key other;
	struct sl_tcp conn = {.host = &h};

	conn.node.key = (struct sl_tcp_key){sl_addr_v4(1), sl_addr_v4(2), 80, 5};
	sl_tcp_keys_init(&keys);
	other = conn.node.key;
	other.local = sl_addr_v4(3), other.lport = 81;
	sim_check(&s, sl_tcp_peer_waits(&h, &other));
	sl_tcp_note_wait(&conn, true);
	sim_check(&s, !sl_tcp_peer_waits(&h, &other));
	sl_tcp_note_wait(&conn, false);
	sim_check(&s, sl_tcp_peer_waits(&h, &other));
	conn.child = true; /* the peer's port is as good as never the same */
	sl_tcp_note_wait(&conn, true);
	sim_check(&s, sl_tcp_peer_waits(&h, &other));
}

/* The table grows under additions and removals, and loses nothing. */
static void test_table(void)
{
	enum { N = 20000 };
	static struct sl_tcp_node node[N];
	static struct sl_tcp_keys keys = {.own = {7}};

	sl_tcp_keys_init(&keys);
	if (sl_tcp_host_init(&host, &ops, &frames, &keys, SIM_SECOND, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < 10 * N; i++) {
		uint32_t k = sim_below(&s.rng, N);
		struct sl_tcp_key key = {.local = sl_addr_v4(1), .remote = sl_addr_v4(k)};
		struct sl_tcp_node *n = sl_tcp_table_find(&host, &key);

		sim_check(&s, n == (node[k].hashed ? &node[k] : NULL));
		node[k].key = key;
		if (n && sim_below(&s.rng, 3) == 0)
			sl_tcp_table_del(&host, n);
		else if (!n)
			sim_check(&s, sl_tcp_table_add(&host, &node[k]) == 0);
	}
	for (uint32_t i = 0; i < N; i++)
		sl_tcp_table_del(&host, &node[i]);
	sim_check(&s, host.nnodes == 0);
	sl_tcp_host_fini(&host);
}

/* Bytes that a packet callback drops have the sequence numbers of bytes before them that wait to be
 * read: they are not to be found in their place. */
static void test_cut_notes(void)
{
	static const struct sl_tcp_keys keys;
	uint32_t f[2];

	sl_tcp_params_default(&sl_tcp_params);
	if (sl_tcp_host_init(&host, &ops, &frames, &keys, SIM_SECOND, NULL) < 0)
		abort();
	sl_tcp_init(&c, &host);
	c.state = SL_TCP_ESTABLISHED;
	c.rcv_nxt = c.copied_seq = c.rcv_wup = 1000;
	c.irs = 999;
	c.rcv_ssthresh = c.rcv_wnd = 60000;
	c.adv_mss = c.rcv_mss = c.mss_clamp = 536;
	sl_tcp_note(&c);
	sl_tcp_filter(&c);
	for (unsigned i = 0; i < 2; i++) {
		f[i] = sl_frame_get(&frames);
		sim_check(&s, sl_tcp_rcv_queue(&c, c.rcv_nxt, f[i], 256, 1000, false));
		sim_check(&s, sl_tcp_note_at(f[i])->id == sl_tcp_note_id(c.iss, c.irs, false));
	}
	sl_tcp_pass(&c, 1000);
	sim_check(&s, sl_tcp_cut(&c, 1000) && c.copied_seq == 2000 && c.rx_bytes == 1000);
	sim_check(&s, sl_tcp_note_at(f[0])->id && !sl_tcp_note_at(f[1])->id);
	sl_tcp_rcv_free(&c);
	sl_tcp_fini(&c);
	sl_tcp_host_fini(&host);
	sl_frames_flush(&frames, 0);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : RUNS;

	sim_init(&s, 1, 4096, SHIFT);
	for (uint32_t i = 0; i < STREAM; i++)
		stream[i] = (uint8_t)sim_rand(&s.rng);
	test_siphash();
	test_cookie();
	test_isn();
	test_waits();
	test_table();
	test_cut_notes();
	for (uint64_t i = first; i < first + n; i++)
		one(i * 7919);
	printf("%llu runs; pruned %u, coalesced %u, out of order %u\n", (unsigned long long)n,
	       counts[SL_TCPC_RCV_PRUNED], counts[SL_TCPC_COALESCED], counts[SL_TCPC_OFO_QUEUE]);
	return 0;
}
