/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs an end of a TCP connection with checked bytes in both directions. With MOVES above 0 it is
 * the subject: the connection is taken out of its kernel socket and put into another (or the same)
 * one that many times, at random moments, in all states.
 *
 * usage: tcp_repair listen|connect LOCAL REMOTE PORT FIRST SEED MOVES MS
 *   FIRST   who ends first: mine or theirs (from this end's view)
 *   MS      how long an end without moves sends before its FIN: from the start when it is first,
 *           else from the other's FIN on
 *
 * Prints "moves N sent S received R", and how many moves there were in each state. */
#include "sock/repair/repair.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "../bench/load.h"

#define MAX_IO  65536
#define GAP_MS  20 /* between two moves: some traffic gets through */
#define REST_MS 1500

static uint64_t rng;
static union load_addr local, remote;
static socklen_t addr_len;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng >> 33) % below);
}

/* The byte at a place of a direction's stream. */
static uint8_t byte_at(uint64_t at, bool from_listener)
{
	uint64_t x = (at >> 2) * 0x9e3779b97f4a7c15ull + (from_listener ? 77 : 0);

	return (uint8_t)(x >> 40 >> 8 * (at & 3));
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Connections ---------------------------------------------------------------------------------- */

static void set(int fd, int level, int opt, int v)
{
	if (setsockopt(fd, level, opt, &v, sizeof(v)))
		err(1, "setsockopt %d %d", level, opt);
}

/* While no socket has the connection this one gets its packets, and says nothing. */
static void guard(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct sock_filter drop = {.code = BPF_RET | BPF_K};
	struct sock_fprog prog = {.len = 1, .filter = &drop};
	int g = socket(local.sa.sa_family, SOCK_STREAM, 0);

	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		err(1, "getsockname");
	set(g, IPPROTO_TCP, TCP_REPAIR, 1);
	if (bind(g, (struct sockaddr *)&ss, len) || listen(g, 1))
		err(1, "guard");
	if (setsockopt(g, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		err(1, "filter");
}

static int listener(void)
{
	int l = socket(local.sa.sa_family, SOCK_STREAM, 0), fd;

	set(l, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(l, &local.sa, addr_len) || listen(l, 1))
		err(1, "listen");
	fd = accept(l, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	close(l);
	return fd;
}

static int connector(void)
{
	int fd = socket(remote.sa.sa_family, SOCK_STREAM, 0);

	if (connect(fd, &remote.sa, addr_len))
		err(1, "connect");
	return fd;
}

/* Moving --------------------------------------------------------------------------------------- */

static unsigned in_state[16];

static uint32_t from_memory(const void *q, uint32_t size, uint32_t at, void *buf, uint32_t n)
{
	n = at < size ? (n < size - at ? n : size - at) : 0;
	if (n)
		memcpy(buf, (const char *)q + at, n);
	return n;
}
static uint32_t sndq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	struct sl_repair_taken *t = arg;

	return from_memory(t->sndq.p, t->r.sndq, at, buf, n);
}
static uint32_t rcvq(void *arg, uint32_t at, void *buf, uint32_t n)
{
	struct sl_repair_taken *t = arg;

	return from_memory(t->rcvq.p, t->r.rcvq, at, buf, n);
}

/* After a loss the kernel waits as long as for a new connection (a second): moves must leave it
 * that time now and then. *stuck: how many moves ago the peer has acknowledged anything. */
static int move(int fd, unsigned *stuck)
{
	static uint32_t una;
	struct sl_repair_taken t;
	struct sl_repair_source src = {.sndq = sndq, .rcvq = rcvq, .arg = &t};
	int ret = sl_repair_take(fd, &t);

	if (ret == -ENOTCONN)
		return fd;
	if (ret)
		errx(1, "take: %s", strerror(-ret));
	in_state[t.r.state & 15]++;
	*stuck = una == t.r.snd_una && t.r.sndq ? *stuck + 1 : 0;
	una = t.r.snd_una;
	if (rnd(32) == 0) {
		sl_repair_cancel(fd, &t);
		sl_repair_free(&t);
		return fd;
	}
	ret = sl_repair_leave(fd, &t);
	if (ret)
		errx(1, "leave: %s", strerror(-ret));
	if (rnd(2)) {
		close(fd);
		fd = socket(local.sa.sa_family, SOCK_STREAM, 0);
		/* The kernel gives this option to a listener's children: accept(2). */
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	}
	ret = sl_repair_kernel(fd, &t.r, &src);
	if (ret)
		errx(1, "put in state %d: %s", t.r.state, strerror(-ret));
	sl_repair_free(&t);
	return fd;
}

/* Traffic -------------------------------------------------------------------------------------- */

struct end {
	int fd;
	bool listens, first, eof, fin;
	uint64_t sent, got, start, eof_at, moved_at;
	int moves, moved, ms;
	unsigned stuck;
};

static void do_send(struct end *e)
{
	static uint8_t buf[MAX_IO];
	uint32_t n = 1 + rnd(rnd(4) ? 3000 : MAX_IO);
	ssize_t ret;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(e->sent + i, e->listens);
	ret = send(e->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (ret > 0)
		e->sent += (uint64_t)ret;
	else if (errno != EAGAIN)
		err(1, "send");
}

static void do_recv(struct end *e)
{
	static uint8_t buf[MAX_IO];
	ssize_t ret = recv(e->fd, buf, 1 + rnd(rnd(4) ? 3000 : MAX_IO), MSG_DONTWAIT);

	if (ret < 0 && errno != EAGAIN)
		err(1, "recv");
	for (ssize_t i = 0; i < ret; i++)
		if (buf[i] != byte_at(e->got + (uint64_t)i, !e->listens))
			errx(1, "wrong byte at %llu", (unsigned long long)e->got + (size_t)i);
	if (ret > 0)
		e->got += (uint64_t)ret;
	if (ret == 0) {
		e->eof = true;
		e->eof_at = now_ms();
	}
}

/* True: this end sends its FIN now. The first end does after its time, or half of its moves; the
 * other one after the first one's FIN. */
static bool is_time_for_fin(const struct end *e)
{
	if (!e->first && !e->eof)
		return false;
	if (e->moves)
		return e->moved >= (e->first ? e->moves / 2 : e->moves);
	return now_ms() - (e->first ? e->start : e->eof_at) >= (uint64_t)e->ms;
}

/* After the moves both directions must have time to finish. */
static uint64_t pause_ms(const struct end *e)
{
	return e->stuck > 5 || e->moved >= e->moves ? REST_MS : GAP_MS;
}

static void turn(struct end *e)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN | (e->fin ? 0 : POLLOUT)};
	bool pause = rnd(50) == 0;

	if (pause)
		poll(NULL, 0, (int)rnd(8));
	else if (poll(&p, 1, 20) < 0)
		err(1, "poll");
	if (!e->fin && rnd(2))
		do_send(e);
	if (!e->eof && rnd(2))
		do_recv(e);
	if (!e->fin && is_time_for_fin(e)) {
		if (shutdown(e->fd, SHUT_WR))
			err(1, "shutdown");
		e->fin = true;
		if (e->moves)
			e->fd = move(e->fd, &e->stuck);
	}
	if (e->moves && rnd(8) == 0 && now_ms() - e->moved_at > pause_ms(e)) {
		e->fd = move(e->fd, &e->stuck);
		e->moved++;
		e->moved_at = now_ms();
	}
}

static void run(struct end *e)
{
	int left;

	e->start = now_ms();
	while (!e->eof || !e->fin) {
		turn(e);
		if (now_ms() - e->start > 240 * 1000)
			errx(1, "stuck: sent %llu got %llu moved %d eof %d fin %d",
			     (unsigned long long)e->sent, (unsigned long long)e->got, e->moved,
			     e->eof, e->fin);
	}
	/* An orphan's patience is short. */
	while (!e->moves && !ioctl(e->fd, SIOCOUTQ, &left) && left && now_ms() - e->start < 300000)
		poll(NULL, 0, 10);
	/* LAST_ACK and CLOSING, then nothing. */
	for (int i = 0; e->moves && i < 3; i++)
		e->fd = move(e->fd, &e->stuck);
	/* Segments that still come for the connection are the guard's: no reset. */
	poll(NULL, 0, 500);
}

static void report(const struct end *e)
{
	printf("moves %d sent %llu received %llu\n", e->moved, (unsigned long long)e->sent,
	       (unsigned long long)e->got);
	printf("states:");
	for (int i = 0; i < 16; i++)
		if (in_state[i])
			printf(" %d:%u", i, in_state[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct end e = {0};

	if (argc != 9)
		errx(2, "usage: tcp_repair listen|connect LOCAL REMOTE PORT FIRST SEED MOVES MS");
	addr_len = load_addr(&local, argv[2], (unsigned)atoi(argv[4]));
	addr_len = load_addr(&remote, argv[3], (unsigned)atoi(argv[4]));
	e.listens = strcmp(argv[1], "listen") == 0;
	e.first = strcmp(argv[5], "mine") == 0;
	rng = (uint64_t)atoll(argv[6]);
	e.moves = atoi(argv[7]);
	e.ms = atoi(argv[8]);
	e.fd = e.listens ? listener() : connector();
	guard(e.fd);
	run(&e);
	report(&e);
	return 0;
}
