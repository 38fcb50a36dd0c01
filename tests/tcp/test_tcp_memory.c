/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory is limited in all: many connections hold little or full pieces beyond holes, while
 * an honest connection must still be served. */
#include "sim.h"
#include "tcp/tcp_mem.h"
#include "tcp/tcp_reass.h"
#include "tcp/tcp_user.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRAMES  4096
#define SHIFT   11
#define CONNS   4600
#define RESERVE (FRAMES / 16)

static struct sim s;
static struct sl_tcp_host host;
static struct sl_frames frames;
static struct sl_tcp conn[CONNS], honest;
static uint32_t counts[SL_TCPC_COUNT];

static void count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	counts[id] += n;
}
static const struct sl_tcp_ops ops = {.count = count};

static uint32_t left(void)
{
	return sl_frames_left() + frames.n + sl_frames_spent(&frames);
}

static void start(struct sl_tcp *c)
{
	memset(c, 0, sizeof(*c));
	sl_tcp_init(c, &host);
	c->state = SL_TCP_ESTABLISHED;
	c->sack_ok = true;
	c->rcv_nxt = c->copied_seq = c->rcv_wup = 1000;
	c->rcv_ssthresh = c->rcv_wnd = 60000;
	c->adv_mss = c->rcv_mss = c->mss_clamp = 1400;
}

static void begin(void)
{
	static const struct sl_tcp_keys keys;

	sim_init(&s, 1, FRAMES, SHIFT);
	sl_tcp_params_default(&sl_tcp_params);
	memset(&frames, 0, sizeof(frames));
	frames.floor = SL_FRAME_FLOOR;
	memset(counts, 0, sizeof(counts));
	if (sl_tcp_host_init(&host, &ops, &frames, &keys, SIM_SECOND, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < CONNS; i++)
		start(&conn[i]);
	start(&honest);
	host.nnodes = CONNS; /* (they are in no table) */
}

static void end(void)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		sl_tcp_rcv_free(&conn[i]);
		sim_check(&s, conn[i].rmem == 0);
		sl_tcp_fini(&conn[i]);
	}
	sl_tcp_rcv_free(&honest);
	sl_tcp_fini(&honest);
	for (uint32_t i = 0; i < SL_TCP_MEM_CLASSES; i++)
		sim_check(&s, sl_list_empty(&host.mem.greedy[i]));
	sim_check(&s, sl_list_empty(&host.mem.aged));
	host.nnodes = 0;
	sl_tcp_host_fini(&host);
	sl_frames_flush(&frames, 0);
	sim_check(&s, sl_frames_left() == FRAMES); /* every frame is back */
	sim_fini(&s);
}

/* len bytes arrive at seq; each has the low byte of its sequence number as its value. */
static void arrive(struct sl_tcp *c, uint32_t seq, uint16_t len)
{
	uint32_t f = sl_frame_get(&frames);

	sim_check(&s, f != SL_NO_FRAME);
	for (uint32_t i = 0; i < len; i++)
		sl_frame_ptr(f)[200 + i] = (uint8_t)(seq + i);
	if (!sl_tcp_rcv_queue(c, seq, f, 200, len, false))
		sl_frame_spent(&frames, f);
	/* A lane's fill ring does so when it trades frames. */
	sl_frames_count(&frames);
}

static void holes(uint32_t conns, uint32_t per, uint16_t len)
{
	for (uint32_t i = 0; i < conns; i++)
		for (uint32_t k = 0; k < per; k++) {
			arrive(&conn[i], 1003 + k * (len + 1u), len);
			sim_check(&s, left() >= RESERVE / 2);
		}
}

/* Bytes of `from` to `to` can be read, and are what was sent. */
static void reads(struct sl_tcp *c, uint32_t from, uint32_t to)
{
	static uint8_t buf[65536];
	struct iovec iov = {buf, sizeof(buf)};
	long n = sl_tcp_read(c, &iov, 1, 0, false, false);

	sim_check(&s, n == (long)(to - from));
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		sim_check(&s, buf[i] == (uint8_t)(from + i));
}

/* An honest peer's bytes are taken, in order and beyond a hole. */
static void is_served(void)
{
	uint32_t seq = honest.rcv_nxt;

	arrive(&honest, seq, 1400);
	reads(&honest, seq, seq + 1400);
	arrive(&honest, seq + 1405, 10);
	arrive(&honest, seq + 1400, 5);
	reads(&honest, seq + 1400, honest.rcv_nxt);
	sim_check(&s, sl_seq_ge(honest.rcv_nxt, seq + 1405));
}

/* Pieces of one byte on thousands of connections lie in few frames, and none is dropped. */
static void test_tiny_pieces(void)
{
	begin();
	holes(CONNS, 16, 1);
	sim_check(&s, counts[SL_TCPC_RCV_PRUNED] == 0);
	sim_check(&s, left() > RESERVE);
	is_served();
	/* The pieces have their bytes still: the holes are filled and all is read. */
	for (uint32_t i = 0; i < CONNS; i += 100) {
		for (uint32_t k = 0; k < 16; k++) {
			if (!k)
				arrive(&conn[i], 1000, 3);
			else
				arrive(&conn[i], 1002 + 2 * k, 1);
		}
		reads(&conn[i], 1000, 1034);
	}
	end();
}

/* Full pieces: the greediest lose theirs, and their peers are not told that they are here. */
static void test_full_pieces(void)
{
	uint32_t empty = 0;

	begin();
	for (uint32_t k = 0; k < 300; k++) /* one that holds more than all others */
		arrive(&conn[0], 2001 + 151 * k, 150);
	sim_check(&s, conn[0].noo > 0);
	holes(CONNS, 16, 1400);
	sim_check(&s, counts[SL_TCPC_RCV_PRUNED] > 0 && left() >= RESERVE);
	for (uint32_t i = 0; i < CONNS; i++) {
		sim_check(&s, conn[i].noo || !conn[i].nlast_sack);
		empty += !conn[i].noo;
	}
	sim_check(&s, !conn[0].noo && empty < CONNS);
	is_served();
	end();
}

/* Data that nobody reads arrives in order: the last frames are kept for queues that have none. */
static void test_unread(void)
{
	begin();
	for (uint32_t i = 0; i < FRAMES / 8; i++)
		for (uint32_t k = 0; k < 16; k++) {
			uint32_t seq = conn[i].rcv_nxt;

			arrive(&conn[i], seq, 1400);
			sim_check(&s, left() >= RESERVE / 2 - 2);
			sim_check(&s, k || conn[i].rcv_nxt != seq);
		}
	is_served();
	for (uint32_t i = 0; i < FRAMES / 8; i++) /* nothing that was taken is lost */
		reads(&conn[i], 1000, conn[i].rcv_nxt);
	end();
}

/* While frames are scarce, those whose hole is never filled go, however little they hold. */
static void test_age(void)
{
	enum { OLD = 20 };
	uint32_t held[FRAMES], n = 0;

	begin();
	holes(OLD, 4, 1400);
	host.now_us += 11000000;
	arrive(&conn[OLD], 1003, 1400);
	sim_check(&s, conn[0].noo == 4);
	while (left() >= FRAMES / 4) {
		held[n++] = sl_frame_get(&frames);
		sl_frames_look(&frames);
	}
	/* Any that arrives is the occasion: so many are dropped that frames are not scarce. */
	arrive(&honest, honest.rcv_nxt, 100);
	sim_check(&s, !conn[0].noo && conn[OLD].noo && left() >= FRAMES / 4 - 1);
	for (uint32_t i = 0; i < FRAMES / 8 && n; i++)
		held[n] = 0;
	while (left() >= FRAMES / 8) {
		held[n++] = sl_frame_get(&frames);
		sl_frames_look(&frames);
	}
	arrive(&honest, honest.rcv_nxt, 100);
	for (uint32_t i = 0; i <= OLD; i++) /* and when they are short, the others */
		sim_check(&s, !conn[i].noo || left() >= FRAMES / 8 - 1);
	while (n)
		sl_frame_put(&frames, held[--n]);
	end();
}

/* A connection whose state is being read out (for hand-back) loses no pieces until that is over. */
static void test_frozen(void)
{
	uint32_t held[FRAMES], n = 0;

	begin();
	holes(2, 8, 1400);
	conn[0].frozen = true;
	while (left() >= FRAMES / 8) {
		held[n++] = sl_frame_get(&frames);
		sl_frames_look(&frames);
	}
	while (n < FRAMES && left() > FRAMES / 16)
		held[n++] = sl_frame_get(&frames);
	sl_tcp_relieve(&host);
	sim_check(&s, conn[0].noo == 8 && !conn[1].noo);
	conn[0].frozen = false;
	sl_tcp_mem_settle(&conn[0]);
	sl_tcp_relieve(&host);
	sim_check(&s, !conn[0].noo);
	while (n)
		sl_frame_put(&frames, held[--n]);
	end();
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ns for a piece of a byte on a connection that holds all that it may; the best of many. */
static uint64_t cost_when_full(uint32_t rcvbuf)
{
	uint64_t best = UINT64_MAX;
	uint32_t n = 0;

	begin();
	conn[0].rcvbuf = rcvbuf;
	while (conn[0].rmem <= rcvbuf && n < FRAMES / 2)
		arrive(&conn[0], 200000 + 2 * n++, 1);
	for (uint32_t round = 0; round < 20; round++) {
		uint64_t begun = cpu_ns();

		for (uint32_t i = 0; i < 50; i++)
			arrive(&conn[0], 190000 - 2 * n++, 1);
		best = sl_min(best, (cpu_ns() - begun) / 50);
	}
	end();
	return best;
}

/* Each piece takes the place of the farthest one, without a walk over all others. */
static void test_cost_when_full(void)
{
	uint64_t few = cost_when_full(16384), many = cost_when_full(2 << 20);

	printf("%lu ns among 64 pieces, %lu among 1,366\n", (unsigned long)few,
	       (unsigned long)many);
	sim_check(&s, many < 5 * few + 300);
}

int main(void)
{
	test_cost_when_full();
	test_tiny_pieces();
	test_full_pieces();
	test_unread();
	test_age();
	test_frozen();
	return 0;
}
