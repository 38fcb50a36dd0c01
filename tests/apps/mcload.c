/* SPDX-License-Identifier: BSD-2-Clause */
/* mcload ADDRESS PORT CONNECTIONS DEPTH SECONDS [BYTES]: asks memcached, one set for nine gets,
 * DEPTH questions under way on each connection, and looks at every answer. Prints questions a
 * second and the 50th and 99th percentile of a batch's time in microseconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 1000000 /* of the times, one for each microsecond */

struct conn {
	int fd;
	uint64_t began;
	unsigned seq;
	size_t want, got; /* bytes of the answers to this batch */
	char *answer, *said;
};

static unsigned depth, bytes, times[SLOTS];
static char *value;
static uint64_t nbatches;

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void die(const char *what)
{
	fprintf(stderr, "mcload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

		if (r <= 0)
			die("send");
		p += r;
		n -= (size_t)r;
	}
}

/* A key of the connection's own: what a get answers is what its set said. */
static void ask(struct conn *c, unsigned id)
{
	char *q = c->said, *a = c->answer;

	for (unsigned i = 0; i < depth; i++, c->seq++) {
		if (c->seq % 10 == 0) {
			memset(value, 'a' + (int)(c->seq / 10 % 26), bytes);
			q += sprintf(q, "set k%u 0 0 %u\r\n%s\r\n", id, bytes, value);
			a += sprintf(a, "STORED\r\n");
		} else {
			memset(value, 'a' + (int)(c->seq / 10 % 26), bytes);
			q += sprintf(q, "get k%u\r\n", id);
			a += sprintf(a, "VALUE k%u 0 %u\r\n%s\r\nEND\r\n", id, bytes, value);
		}
	}
	c->want = (size_t)(a - c->answer);
	c->got = 0;
	c->began = now_us();
	send_all(c->fd, c->said, (size_t)(q - c->said));
}

/* True: the batch is answered. */
static int hear(struct conn *c)
{
	static char buf[1 << 18];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	uint64_t took;

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		die("recv");
	if (c->got + (size_t)n > c->want || memcmp(buf, c->answer + c->got, (size_t)n) != 0) {
		fprintf(stderr, "mcload: a wrong answer: %.*s\n", (int)n, buf);
		exit(1);
	}
	c->got += (size_t)n;
	if (c->got < c->want)
		return 0;
	took = now_us() - c->began;
	times[took < SLOTS ? took : SLOTS - 1]++;
	nbatches++;
	return 1;
}

static int open_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static unsigned percentile(double p)
{
	uint64_t n = 0, at = (uint64_t)((double)nbatches * p);

	for (unsigned i = 0; i < SLOTS; i++) {
		n += times[i];
		if (n > at)
			return i;
	}
	return SLOTS;
}

int main(int argc, char **argv)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM}, *ai;
	unsigned nconns, ep = (unsigned)epoll_create1(0);
	struct epoll_event evs[64];
	uint64_t begin, end;
	struct conn *conns;

	if (argc < 6 || getaddrinfo(argv[1], argv[2], &hint, &ai) != 0)
		return 2;
	nconns = (unsigned)atoi(argv[3]);
	depth = (unsigned)atoi(argv[4]);
	bytes = argc > 6 ? (unsigned)atoi(argv[6]) : 100;
	value = calloc(1, bytes + 1);
	conns = calloc(nconns, sizeof(*conns));
	for (unsigned i = 0; i < nconns; i++) {
		struct conn *c = &conns[i];
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};

		c->fd = open_one(ai);
		c->answer = malloc(depth * (bytes + 100));
		c->said = malloc(depth * (bytes + 100));
		epoll_ctl((int)ep, EPOLL_CTL_ADD, c->fd, &ev);
	}
	begin = now_us();
	end = begin + (uint64_t)(atof(argv[5]) * 1e6);
	for (unsigned i = 0; i < nconns; i++)
		ask(&conns[i], i);
	while (now_us() < end) {
		int n = epoll_wait((int)ep, evs, 64, 10000);

		if (n <= 0)
			die(n < 0 ? "epoll_wait" : "nothing comes");
		for (int i = 0; i < n; i++) {
			if (hear(&conns[evs[i].data.u32]))
				ask(&conns[evs[i].data.u32], evs[i].data.u32);
		}
	}
	printf("%.0f %u %u\n", (double)(nbatches * depth) * 1e6 / (double)(now_us() - begin),
	       percentile(0.5), percentile(0.99));
	return 0;
}
