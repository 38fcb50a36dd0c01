/* SPDX-License-Identifier: BSD-2-Clause */
/* Very many connections: handshakes a second, memory of each, and that an event costs the same
 * whatever their number.
 *
 *   test_tcp_many [HOW-MANY]
 *
 * Both ends live in this process, so a connection is counted twice. */
#include "sim.h"
#include "tcp/tcp_user.h"

#include <malloc.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__ /* takes four times as long: make check-long has it open them all */
#define MANY 25000
#else
#define MANY 100000
#endif
#define PER_PAIR  60000 /* ports between two hosts */
#define AT_ONCE   500
#define MAX_BYTES 800

static struct sim s;
static struct sim_host *client[SIM_MAX_HOSTS], *server;
static struct sim_conn **conn[2];
static uint32_t nopen[2], want;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t memory(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void accepted(struct sim_conn *c)
{
	conn[1][nopen[1]++] = c;
}

static void event(struct sim_conn *c, uint32_t events)
{
	static uint8_t buf[4096];
	struct iovec iov = {buf, sizeof(buf)};

	if (events & SL_TCP_EV_CONNECTED)
		nopen[0]++;
	while (sl_tcp_read(&c->tcp, &iov, 1, 0, false, false) > 0)
		;
}

static const struct sim_app app = {.event = event, .accepted = accepted};

static void open_all(void)
{
	for (uint32_t i = 0; i < want; i++) {
		struct sim_host *h = client[i / PER_PAIR];
		struct sim_conn *c = sim_conn_new(h, &app, NULL);

		conn[0][i] = c;
		sim_check(&s, sim_open(c, (uint16_t)(2000 + i % PER_PAIR), server, 80) == 0);
		if (i % AT_ONCE == AT_ONCE - 1 || i == want - 1) {
			sim_host_kick(h);
			sim_run(&s, s.now_us + 10000);
		}
	}
	sim_run(&s, s.now_us + 100000);
}

/* A request and an answer on some of them. */
static void talk(uint32_t n)
{
	struct iovec iov = {"0123456789", 10};

	for (uint32_t i = 0; i < n; i++) {
		struct sim_conn *c = conn[i & 1][sim_below(&s.rng, want)];
		long got;

		sl_tcp_set_now(&c->host->tcp, s.now_us + c->host->clock_off_us);
		got = sl_tcp_write(&c->tcp, &iov, 1, 0, false, false);
		if (got != 10)
			sim_die(&s, "write: %ld, state %d, port %u, wmem %u", got, c->tcp.state,
				c->tcp.node.key.rport, c->tcp.wmem);
		sim_host_kick(c->host);
		if (i % 100 == 99)
			sim_run(&s, s.now_us + 1000);
	}
	sim_run(&s, s.now_us + SIM_SECOND);
}

static void close_all(void)
{
	for (uint32_t i = 0; i < want; i++) {
		struct sim_host *h = conn[0][i]->host;

		sim_close(conn[0][i], -1);
		sim_close(conn[1][i], 0);
		if (i % AT_ONCE == AT_ONCE - 1 || i == want - 1) {
			sim_host_kick(h);
			sim_host_kick(server);
			sim_run(&s, s.now_us + 10000);
		}
	}
	sim_run(&s, s.now_us + 100 * SIM_SECOND);
}

int main(int argc, char **argv)
{
	struct sim_pipe *up, *down;
	size_t before, each;
	double t, opened, talked;
	uint32_t n;

	want = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : MANY;
	n = (want + PER_PAIR - 1) / PER_PAIR;
	sim_init(&s, 3, 16384, 11);
	if (n >= SIM_MAX_HOSTS) {
		fprintf(stderr, "at most %u\n", (SIM_MAX_HOSTS - 1) * PER_PAIR);
		return 2;
	}
	server = sim_host_new(&s, false);
	up = sim_pipe_new(&s);
	down = sim_pipe_new(&s);
	up->delay_us = down->delay_us = 100;
	for (uint32_t i = 0; i < n; i++) {
		client[i] = sim_host_new(&s, false);
		sim_connect_hosts(client[i], server, up, down);
	}
	sim_listen(server, 80, 4096, &app, NULL);
	conn[0] = calloc(want, sizeof(*conn[0]));
	conn[1] = calloc(want, sizeof(*conn[1]));
	before = memory();
	t = now_s();
	open_all();
	opened = now_s() - t;
	sim_check(&s, nopen[0] == want && nopen[1] == want);
	talk(sl_min(want, 100000u));
	sim_run(&s, s.now_us + 1000 * SIM_SECOND);
	each = (memory() - before) / want / 2;
	t = now_s();
	talk(20000);
	talked = now_s() - t;
	printf("%u connections: %.0f handshakes a second (both ends), %zu bytes each at rest, %.0f "
	       "messages a second\n",
	       want, want / opened, each, 20000 / talked);
	/* A sanitizer's allocator does not tell mallinfo what it gave. */
#ifndef __SANITIZE_ADDRESS__
	sim_check(&s, each > sizeof(struct sl_tcp));
	sim_check(&s, each - (sizeof(struct sim_conn) - sizeof(struct sl_tcp)) <= MAX_BYTES);
#endif
	close_all();
	for (int i = 0; i < s.nhosts; i++)
		sim_check(&s, s.host[i]->tcp.nnodes == 0 && s.host[i]->tcp.wheel.armed == 0);
	sim_fini(&s);
	return 0;
}
