/* SPDX-License-Identifier: BSD-2-Clause */
/* abuse WHAT OWN PEER PORT: a program that treats its sockets badly; an echo runs at PEER PORT.
 * What it prints must be the same with and without Sluice. exit      leaves with data in its queues
 * and on their way threads   closes sockets that other threads receive from, send on and poll many
 * two thousand sockets, each with a port of its own churn     makes, uses and closes sockets as
 * fast as it can, in three threads */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in own, peer;

static int udp(unsigned port)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval tv = {5, 0};

	own.sin_port = htons((uint16_t)port);
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)))
		err(1, "socket, bind %u", port);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

static void nap(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static ssize_t tell(int fd, const void *what, size_t len)
{
	return sendto(fd, what, len, 0, (struct sockaddr *)&peer, sizeof(peer));
}

static int asks(int fd, const char *what)
{
	char buf[64];
	ssize_t n;

	if (tell(fd, what, strlen(what)) < 0)
		return 0;
	n = recv(fd, buf, sizeof(buf), 0);
	return n == (ssize_t)strlen(what) && !memcmp(buf, what, (size_t)n);
}

static int leaves(void)
{
	int fd = udp(7101);

	printf("answered %d\n", asks(fd, "first"));
	for (int i = 0; i < 200; i++)
		tell(fd, "more", 4);
	nap(50);
	for (int i = 0; i < 200; i++)
		tell(fd, "more", 4);
	printf("leaving\n");
	return 0;
}

/* A receiver's socket is closed under it. Whether its call ends is the kernel's secret; that the
 * others' do, and that the numbers are free again, is not. */
static void *receives(void *arg)
{
	char buf[64];

	recv(*(int *)arg, buf, sizeof(buf), 0);
	return NULL;
}

static void *polls(void *arg)
{
	struct pollfd p = {*(int *)arg, POLLIN, 0};

	poll(&p, 1, 200);
	return NULL;
}

static void *sends(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < 100; i++)
		if (tell(fd, "sent", 4) < 0 && errno == EBADF)
			break;
	return NULL;
}

static int threads(void)
{
	int numbers = 0, good = 0;

	for (int round = 0; round < 20; round++) {
		struct timeval tv = {0, 300000};
		int fd = udp(7102), copy = fd;
		pthread_t t[3];

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		pthread_create(&t[0], NULL, receives, &copy);
		pthread_create(&t[1], NULL, polls, &copy);
		pthread_create(&t[2], NULL, sends, &copy);
		nap(2);
		close(fd);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		fd = udp(7103);
		numbers += fd == copy;
		good += asks(fd, "again") || asks(fd, "once more");
		close(fd);
	}
	printf("same numbers %d, answered %d\n", numbers, good);
	return 0;
}

/* The receiver is there before the socket has a port: the first send gives it one. */
static void *hears(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	return n == 5 && !memcmp(buf, "early", 5) ? arg : NULL;
}

static void *polls_early(void *arg)
{
	struct pollfd p = {*(int *)arg, POLLIN, 0};

	return poll(&p, 1, 5000) == 1 ? hears(arg) : NULL;
}

static void *epolls_early(void *arg)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(0), n;

	epoll_ctl(ep, EPOLL_CTL_ADD, *(int *)arg, &ev);
	n = epoll_wait(ep, &ev, 1, 5000);
	close(ep);
	return n == 1 ? hears(arg) : NULL;
}

static int early(void)
{
	static void *(*const how[])(void *) = {hears, polls_early, epolls_early};
	int good[3] = {0};

	for (int i = 0; i < 30; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		struct timeval tv = {5, 0};
		pthread_t t;
		void *heard;

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		pthread_create(&t, NULL, how[i % 3], &fd);
		nap(i < 24 ? 5 : 200);
		tell(fd, "early", 5);
		pthread_join(t, &heard);
		good[i % 3] += heard != NULL;
		close(fd);
	}
	printf("heard %d %d %d\n", good[0], good[1], good[2]);
	return 0;
}

static int many(void)
{
	enum { N = 2000 };
	static int fd[N];
	struct rlimit lim = {N + 100, N + 100};
	int good = 0, bad = 0;
	char text[32];

	if (setrlimit(RLIMIT_NOFILE, &lim))
		err(1, "RLIMIT_NOFILE");
	for (int i = 0; i < N; i++)
		fd[i] = udp(20000u + (unsigned)i);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "socket %d", i);
		good += asks(fd[i], text);
	}
	for (int i = 0; i < N; i += 2)
		close(fd[i]);
	for (int i = 1; i < N; i += 2)
		bad += !asks(fd[i], "still here");
	printf("%d answered, then %d not\n", good, bad);
	return 0;
}

static void *churns(void *arg)
{
	long good = 0;

	for (int i = 0; i < 150; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		struct timeval tv = {5, 0};

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		if (i % 2)
			connect(fd, (struct sockaddr *)&peer, sizeof(peer));
		good += asks(fd, "churn");
		if (i % 3 == 0) {
			int d = dup(fd);

			close(fd);
			fd = d;
			good += asks(fd, "double");
		}
		if (i % 5 == 0)
			tell(fd, "unheard", 7);
		close(fd);
	}
	return (void *)good;
}

static int churn(void)
{
	pthread_t t[3];
	long sum = 0;
	void *n;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, churns, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &n);
		sum += (long)n;
	}
	printf("answered %ld\n", sum);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} what[] = {{"exit", leaves},
		    {"threads", threads},
		    {"early", early},
		    {"many", many},
		    {"churn", churn}};

	if (argc != 5)
		errx(2, "usage: abuse WHAT OWN PEER PORT");
	own.sin_family = peer.sin_family = AF_INET;
	peer.sin_port = htons((uint16_t)atoi(argv[4]));
	if (!inet_aton(argv[2], &own.sin_addr) || !inet_aton(argv[3], &peer.sin_addr))
		errx(2, "not an address");
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		if (!strcmp(what[i].name, argv[1]))
			return what[i].run();
	errx(2, "no %s", argv[1]);
}
