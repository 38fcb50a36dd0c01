/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections with checked bytes both ways, one after the other; the subject's go to the kernel in
 * the middle of it.
 *
 * usage: tcp_handback listen|connect LOCAL REMOTE PORT ROUNDS HOW SEED
 *   HOW   none   stays as it is (the peer)
 *         api    sl_hand_back() at a random moment, also before the first byte and after FIN
 *         fork   a child goes on with the descriptor, the parent closes it
 *         exit   all is written, nothing is read or waited for, and the process ends
 *         sink   the peer of exit: only reads
 *
 * Both ends know from the seed how much comes in each round. Prints "rounds N handed N bytes N". */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../bench/load.h"

#define MAX_IO 65536

static union load_addr local, remote;
static socklen_t addr_len;
static uint64_t rng;
static unsigned handed;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng >> 33) % below);
}

static uint8_t byte_at(uint64_t round, uint64_t at, bool from_listener)
{
	uint64_t x =
		((at >> 2) + round * 1000003) * 0x9e3779b97f4a7c15ull + (from_listener ? 77 : 0);

	return (uint8_t)(x >> 40 >> 8 * (at & 3));
}

static uint32_t total(uint64_t seed, uint64_t round, bool from_listener)
{
	uint64_t x = (seed * 7919 + round * 2 + from_listener) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 40) % (round % 4 ? 300000 : 3000000);
}

struct conn {
	int fd, listener;
	bool listens, eof, fin;
	uint64_t round;
	uint32_t sent, got, to_send, to_get;
	int64_t when; /* bytes, both ways, after which it is handed back; -1: no more */
	const char *how;
};

static void hand_back(int fd)
{
	static int (*fn)(int fd);
	void *lib;

	if (!fn) {
		lib = dlopen("libsluice.so.1", RTLD_LAZY | RTLD_NOLOAD);
		if (!lib)
			lib = dlopen("libsluice.so", RTLD_LAZY | RTLD_NOLOAD);
		*(void **)&fn =
			lib ? dlsym(lib, "sl_hand_back") : dlsym(RTLD_DEFAULT, "sl_hand_back");
		if (!fn)
			return; /* not preloaded: the oracle */
	}
	if (fn(fd) == 0)
		handed++;
}

static void do_send(struct conn *c)
{
	static uint8_t buf[MAX_IO];
	uint32_t n = 1 + rnd(MAX_IO);
	ssize_t ret;

	if (n > c->to_send - c->sent)
		n = c->to_send - c->sent;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(c->round, c->sent + i, c->listens);
	ret = n ? send(c->fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
	if (ret < 0 && errno != EAGAIN)
		err(1, "round %d: send", (int)c->round);
	if (ret > 0)
		c->sent += (uint32_t)ret;
	if (c->sent == c->to_send) {
		if (shutdown(c->fd, SHUT_WR))
			err(1, "round %d: shutdown", (int)c->round);
		c->fin = true;
	}
}

static void do_recv(struct conn *c)
{
	static uint8_t buf[MAX_IO];
	ssize_t ret = recv(c->fd, buf, 1 + rnd(MAX_IO), MSG_DONTWAIT);

	if (ret < 0 && errno != EAGAIN)
		err(1, "round %d: recv after %u of %u", (int)c->round, c->got, c->to_get);
	for (ssize_t i = 0; i < ret; i++)
		if (buf[i] != byte_at(c->round, c->got + (uint64_t)i, !c->listens))
			errx(1, "round %d: wrong byte at %u", (int)c->round, c->got + (uint32_t)i);
	if (ret > 0)
		c->got += (uint32_t)ret;
	c->eof = ret == 0;
}

/* Returns in the process that goes on with the connection. */
static void hand_on(struct conn *c)
{
	int status;
	pid_t pid;

	c->when = -1;
	if (strcmp(c->how, "api") == 0)
		hand_back(c->fd);
	if (strcmp(c->how, "fork") != 0)
		return;
	handed++;
	pid = fork();
	if (pid == 0) {
		c->how = "child";
		return;
	}
	close(c->fd);
	c->fd = -1;
	if (waitpid(pid, &status, 0) < 0 || status)
		errx(1, "round %d: the child failed: %x", (int)c->round, status);
}

static void traffic(struct conn *c)
{
	time_t begin = time(NULL);

	while (c->fd >= 0 && (!c->eof || !c->fin)) {
		struct pollfd p = {.fd = c->fd,
				   .events = (c->eof ? 0 : POLLIN) | (c->fin ? 0 : POLLOUT)};

		/* A connection that is over has nothing for a child. */
		if (c->when >= 0 && (int64_t)c->sent + c->got >= c->when &&
		    (strcmp(c->how, "fork") != 0 || !c->fin))
			hand_on(c);
		if (c->fd < 0)
			break;
		if (rnd(50) == 0)
			poll(NULL, 0, (int)rnd(4));
		else
			poll(&p, 1, 100);
		if (!c->fin && rnd(2))
			do_send(c);
		if (!c->eof && rnd(2))
			do_recv(c);
		if (time(NULL) - begin > 60)
			errx(1, "round %d (%s): stuck: sent %u of %u got %u of %u", (int)c->round,
			     c->how, c->sent, c->to_send, c->got, c->to_get);
	}
	if (c->fd >= 0 && c->got != c->to_get)
		errx(1, "round %d: got %u of %u", (int)c->round, c->got, c->to_get);
}

static void write_and_exit(struct conn *c)
{
	static uint8_t buf[MAX_IO];

	while (c->sent < c->to_send) {
		uint32_t n = c->to_send - c->sent < MAX_IO ? c->to_send - c->sent : MAX_IO;
		ssize_t ret;

		for (uint32_t i = 0; i < n; i++)
			buf[i] = byte_at(c->round, c->sent + i, c->listens);
		ret = send(c->fd, buf, n, MSG_NOSIGNAL);
		if (ret < 0)
			err(1, "round %d: send", (int)c->round);
		c->sent += (uint32_t)ret;
	}
	exit(0);
}

static int open_listener(void)
{
	int l = socket(local.sa.sa_family, SOCK_STREAM, 0), on = 1;

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l, &local.sa, addr_len) || listen(l, 16))
		err(1, "listen");
	return l;
}

static void open_conn(struct conn *c)
{
	if (c->listens) {
		c->fd = accept(c->listener, NULL, NULL);
		if (c->fd < 0)
			err(1, "accept");
		return;
	}
	c->fd = socket(remote.sa.sa_family, SOCK_STREAM, 0);
	if (connect(c->fd, &remote.sa, addr_len))
		err(1, "round %d: connect", (int)c->round);
}

/* A round of `exit` is a process of its own, which has all of the library to itself. */
static void exit_round(struct conn *c)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "tcp_handback", "once", (char *)NULL);
		err(1, "exec");
	}
	if (waitpid(pid, &status, 0) < 0 || status)
		errx(1, "round %d: the process failed: %x", (int)c->round, status);
}

int main(int argc, char **argv)
{
	struct conn c = {.listener = -1};
	uint64_t seed, bytes = 0, rounds;
	char env[32];

	if (argc == 2 && strcmp(argv[1], "once") == 0) {
		addr_len =
			load_addr(&remote, getenv("HB_REMOTE"), (unsigned)atoi(getenv("HB_PORT")));
		c.round = strtoull(getenv("HB_ROUND"), NULL, 10);
		c.to_send = total(strtoull(getenv("HB_SEED"), NULL, 10), c.round, false);
		open_conn(&c);
		write_and_exit(&c);
	}
	if (argc != 8)
		errx(2, "usage: tcp_handback listen|connect LOCAL REMOTE PORT ROUNDS HOW SEED");
	addr_len = load_addr(&local, argv[2], (unsigned)atoi(argv[4]));
	addr_len = load_addr(&remote, argv[3], (unsigned)atoi(argv[4]));
	rounds = strtoull(argv[5], NULL, 10);
	seed = strtoull(argv[7], NULL, 10);
	rng = seed + getpid();
	setenv("HB_REMOTE", argv[3], 1);
	setenv("HB_PORT", argv[4], 1);
	setenv("HB_SEED", argv[7], 1);
	c.listens = strcmp(argv[1], "listen") == 0;
	if (c.listens)
		c.listener = open_listener();
	for (uint64_t i = 0; i < rounds; i++) {
		int listener = c.listener;
		bool listens = c.listens;

		c = (struct conn){.listener = listener, .listens = listens, .round = i, .fd = -1};
		c.how = argv[6];
		c.to_send = strcmp(c.how, "sink") ? total(seed, i, c.listens) : 0;
		c.to_get = total(seed, i, !c.listens);
		c.when = (int64_t)rnd(c.to_send + c.to_get + 1);
		if (i % 8 == 0)
			c.when = 0;
		if (i % 8 == 1)
			c.when = (int64_t)c.to_send + c.to_get - 1;
		snprintf(env, sizeof(env), "%llu", (unsigned long long)i);
		setenv("HB_ROUND", env, 1);
		if (strcmp(c.how, "exit") == 0) {
			exit_round(&c);
			continue;
		}
		open_conn(&c);
		traffic(&c);
		bytes += c.got;
		if (c.fd >= 0)
			close(c.fd);
		if (strcmp(c.how, "child") == 0)
			_exit(0);
	}
	printf("rounds %llu handed %u bytes %llu\n", (unsigned long long)rounds, handed,
	       (unsigned long long)bytes);
	return 0;
}
