/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers of a UDP server that bind to one port (SO_REUSEPORT), one after another, while datagrams
 * come.
 *
 * server ADDRESS PORT WORKERS: prints "ready" when the first worker is bound; the next one binds
 * EACH_MS after the first datagram, and so on. At the end prints how many datagrams came, how many
 * of those after the first one did not come, and how many came twice.
 * client ADDRESS PORT: sends COUNT numbered datagrams from FLOWS ports, 20 a millisecond, whether a
 * server is there or not, then says that this is the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define COUNT       10000
#define FLOWS       8
#define EACH_MS     50
#define WORKERS_MAX 16
#define END         UINT32_MAX
#define ROOM        (8 << 20) /* for datagrams that come while a worker has no core */

static struct sockaddr_storage where;
static socklen_t where_len;
static atomic_uchar got[COUNT];
static atomic_bool ended;
static atomic_uint began;

static void nap(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void parse(const char *address, const char *port)
{
	struct sockaddr_in *in = (void *)&where;
	struct sockaddr_in6 *in6 = (void *)&where;

	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
		where_len = sizeof(*in);
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
		where_len = sizeof(*in6);
	} else {
		die(address);
	}
}

static int open_worker(void)
{
	int s = socket(where.ss_family, SOCK_DGRAM, 0), on = 1, room = ROOM;

	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)))
		die("socket");
	if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(s, (void *)&where, where_len))
		die("bind");
	return s;
}

/* Takes what is there. */
static void take(int s)
{
	uint32_t n;

	while (recv(s, &n, sizeof(n), MSG_DONTWAIT) == sizeof(n)) {
		if (n == END)
			atomic_store(&ended, true);
		else if (n < COUNT && atomic_fetch_add(&got[n], 1) == 0)
			atomic_fetch_add(&began, 1);
	}
}

static void *worker(void *arg)
{
	int s = (int)(intptr_t)arg;
	struct pollfd p = {.fd = s < 0 ? open_worker() : s, .events = POLLIN};

	while (!atomic_load(&ended))
		if (poll(&p, 1, 100) > 0)
			take(p.fd);
	nap(200); /* (the others have what came before the end) */
	take(p.fd);
	return NULL;
}

static int server(unsigned n)
{
	pthread_t thread[WORKERS_MAX];
	unsigned first = 0, lost = 0, twice = 0;

	for (unsigned i = 0; i < n; i++) {
		intptr_t s = i ? -1 : open_worker();

		if (pthread_create(&thread[i], NULL, worker, (void *)s))
			die("pthread_create");
		if (i == 0 && puts("ready") >= 0)
			fflush(stdout);
		while (i == 0 && !atomic_load(&began))
			nap(1);
		nap(EACH_MS);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	while (first < COUNT && !got[first])
		first++;
	for (unsigned i = first; i < COUNT; i++) {
		lost += !got[i];
		twice += got[i] > 1;
	}
	printf("came %u\nlost %u\ntwice %u\n", (unsigned)began, lost, twice);
	return 0;
}

static int client(void)
{
	int s[FLOWS];
	uint32_t n, end = END;

	for (int i = 0; i < FLOWS; i++) {
		s[i] = socket(where.ss_family, SOCK_DGRAM, 0);
		if (s[i] < 0 || connect(s[i], (void *)&where, where_len))
			die("connect");
	}
	for (n = 0; n < COUNT; n++) {
		while (send(s[n % FLOWS], &n, sizeof(n), 0) < 0 && errno == ECONNREFUSED)
			; /* (an earlier one was refused) */
		if (n % 20 == 19)
			nap(1);
	}
	nap(100);
	for (int i = 0; i < FLOWS; i++)
		send(s[i], &end, sizeof(end), 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	parse(argv[2], argv[3]);
	return strcmp(argv[1], "server") ? client() : server((unsigned)atoi(argv[4]));
}
