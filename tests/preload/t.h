/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the programs of tests/preload. They are plain programs of the C library: run on the
 * kernel's sockets first, then preloaded, and both must print the same. So they print what happened
 * and never a time or an address; a condition that must hold anywhere is checked with CHECK.
 *
 *	program PEER_ADDRESS PEER_PORT OWN_ADDRESS [CASE...]
 *
 * The peer (peer.c) sends what it is asked for: see ask(). */
#ifndef T_H
#define T_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_storage t_peer, t_own;
static socklen_t t_len;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: not so: %s (errno %d %s)\n", __FILE__, __LINE__, #cond,     \
			       errno, strerror(errno));                                            \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* "r=-1 EAGAIN": what a call gave. */
static inline void say(const char *what, long r)
{
	if (r < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, r);
	fflush(stdout);
}

static inline double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static inline void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static inline void parse(const char *addr, int port, struct sockaddr_storage *ss)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, addr, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		t_len = sizeof(*v4);
		return;
	}
	CHECK(inet_pton(AF_INET6, addr, &v6->sin6_addr) == 1);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	t_len = sizeof(*v6);
}

/* A socket bound to the own address, not connected. */
static inline int udp_bound(void)
{
	int fd = socket(t_own.ss_family, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK(bind(fd, (struct sockaddr *)&t_own, t_len) == 0);
	return fd;
}

/* Like udp_bound(), and connected to the peer. */
static inline int udp(void)
{
	int fd = udp_bound();

	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

/* A datagram socket or a connection with "hello" to be read. */
static inline int t_with_hello(bool stream)
{
	int s = stream ? socket(t_peer.ss_family, SOCK_STREAM, 0) : udp();
	struct pollfd p = {.fd = s, .events = POLLIN};

	if (stream)
		CHECK(connect(s, (struct sockaddr *)&t_peer, t_len) == 0);
	CHECK(send(s, "hello", 5, 0) == 5);
	CHECK(poll(&p, 1, 3000) == 1);
	return s;
}

/* A connection to the peer; says what connect(2) gave. */
static inline int tcp_said(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	say("connect", connect(fd, (struct sockaddr *)&t_peer, t_len));
	return fd;
}

/* Sends a word on a connection and says what came back. */
static inline void echo_said(int fd)
{
	char b[8] = "";

	say("send", send(fd, "hello", 5, MSG_NOSIGNAL));
	say("recv", recv(fd, b, 5, MSG_WAITALL));
	printf("%s\n", b);
	fflush(stdout);
}

/* The peer shall send `count` datagrams of `len` bytes ("0...", "1..."), `gap` ms apart, after
 * `delay` ms. */
static inline void ask(int fd, int count, int len, int delay, int gap)
{
	char req[64];
	int n = snprintf(req, sizeof(req), "S %d %d %d %d", count, len, delay, gap);

	CHECK(sendto(fd, req, (size_t)n, 0, (struct sockaddr *)&t_peer, t_len) == n ||
	      (errno == EISCONN && send(fd, req, (size_t)n, 0) == n));
}

static inline void nonblock(int fd)
{
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

/* Reads all there is without waiting; returns how many datagrams. */
static inline int drain(int fd)
{
	char buf[2048];
	int n = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		n++;
	CHECK(errno == EAGAIN);
	return n;
}

/* Waits until so many datagrams are there to be read (they are only looked at). */
static inline void wait_in(int fd)
{
	char buf[1];

	CHECK(recv(fd, buf, 1, MSG_PEEK) >= 0);
}

struct t_case {
	const char *name;
	void (*run)(void);
};

static inline int t_main(int argc, char **argv, const struct t_case *cases)
{
	if (argc < 4) {
		fprintf(stderr, "%s PEER PORT OWN [CASE...]\n", argv[0]);
		return 2;
	}
	parse(argv[1], atoi(argv[2]), &t_peer);
	parse(argv[3], 0, &t_own);
	for (const struct t_case *c = cases; c->name; c++) {
		bool wanted = argc == 4;

		for (int i = 4; i < argc; i++)
			wanted |= strcmp(argv[i], c->name) == 0;
		if (!wanted)
			continue;
		printf("-- %s\n", c->name);
		fflush(stdout);
		c->run();
	}
	return 0;
}

#endif
