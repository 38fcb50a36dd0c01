/* SPDX-License-Identifier: BSD-2-Clause */
/* numbers OWN PEER PORT: which numbers descriptors get, and what a program that closes everything
 * it does not know (a daemon) has left. What it prints must be the same with and without Sluice. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in own, peer;

static int next_number(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* How often, in more than a second, the next number is another one than it was. */
static int taken(void)
{
	int first = next_number(), other = 0;
	struct timespec now;
	time_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + 3;
	while (now.tv_sec < end) {
		other += next_number() != first;
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return other;
}

static int bound(void)
{
	struct timeval tv = {5, 0};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)))
		err(1, "socket, bind");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		err(1, "SO_RCVTIMEO");
	return fd;
}

static void echo(const char *what, int fd)
{
	char buf[64] = "";
	ssize_t n = sendto(fd, what, strlen(what), 0, (struct sockaddr *)&peer, sizeof(peer));

	if (n >= 0)
		n = recv(fd, buf, sizeof(buf) - 1, 0);
	printf("%s: %s\n", what, n < 0 ? strerrorname_np(errno) : buf);
}

static void numbers(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd, ep, e;
	struct rlimit a, b;

	getrlimit(RLIMIT_NOFILE, &a);
	printf("first %d", next_number());
	fd = bound();
	printf(" socket %d next %d\n", fd, next_number());
	echo("one", fd);
	printf("after traffic %d\n", next_number());
	ep = epoll_create1(0);
	printf("epoll %d next %d\n", ep, next_number());
	ev.data.fd = fd;
	e = epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	printf("added %d, waited %d, next %d\n", e, epoll_wait(ep, &ev, 1, 20), next_number());
	echo("two", fd);
	printf("numbers that somebody took %d\n", taken());
	close(ep);
	close(fd);
	printf("closed %d\n", next_number());
	getrlimit(RLIMIT_NOFILE, &b);
	printf("the limit is the same: %d\n", a.rlim_cur == b.rlim_cur && a.rlim_max == b.rlim_max);
}

/* Prints what a program sees when it closes by numbers, one after another. */
static void close_each(int from)
{
	struct rlimit lim;
	int n = 0;

	getrlimit(RLIMIT_NOFILE, &lim);
	for (int i = from; i < (int)lim.rlim_cur; i++)
		n += close(i) == 0;
	printf("closed %d\n", n);
}

static void closes(void)
{
	int fd = bound(), null;

	echo("before", fd);
	null = open("/dev/null", O_RDONLY);
	close_each(null);
	echo("after closing each number", fd);
	null = open("/dev/null", O_RDONLY);
	printf("close_range %d\n", close_range((unsigned)null, ~0u, 0));
	echo("after close_range", fd);
	open("/dev/null", O_RDONLY);
	closefrom(null);
	echo("after closefrom", fd);
	close(fd);
	closefrom(3);
	fd = bound();
	echo("a new socket", fd);
	printf("number %d\n", fd);
	close(fd);
}

static void daemonizes(void)
{
	int fd, status, p[2];
	char c;

	fd = bound();
	echo("parent", fd);
	if (pipe(p))
		err(1, "pipe");
	fflush(stdout);
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		dup2(fd, 3);
		closefrom(4);
		printf("the child's numbers: %d\n", next_number());
		echo("child", 3);
		fflush(stdout);
		_exit(0);
	}
	close(p[1]);
	printf("the child had the pipe closed: %zd\n", read(p[0], &c, 1));
	wait(&status);
	printf("status %d\n", status);
	echo("parent again", fd);
	close(p[0]);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "usage: numbers OWN PEER PORT");
	own.sin_family = peer.sin_family = AF_INET;
	own.sin_port = htons(7100);
	peer.sin_port = htons((unsigned short)atoi(argv[3]));
	if (!inet_aton(argv[1], &own.sin_addr) || !inet_aton(argv[2], &peer.sin_addr))
		errx(2, "not an address");
	numbers();
	closes();
	daemonizes();
	return 0;
}
