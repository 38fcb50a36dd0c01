/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket that becomes the kernel's with datagrams or an error unread is one member of a set: one
 * event tells of what is left and of what the kernel's socket has. */
#include <sys/ioctl.h>

#include "epoll.h"

#define BOTH (EPOLLIN | EPOLLOUT)

/* To the kernel: it has the socket send signals. */
static void give(int fd)
{
	int on = 1;

	CHECK(ioctl(fd, FIOASYNC, &on) == 0);
}

static int with_two(void)
{
	int fd = udp(), later = udp();

	signal(SIGIO, SIG_IGN);
	ask(fd, 2, 5, 0, 0);
	wait_in(fd);
	ask(later, 1, 5, 0, 0);
	wait_in(later);
	close(later);
	return fd;
}

static void read_one(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char buf[10];

	poll(&p, 1, 2000);
	say("recv", recv(fd, buf, sizeof(buf), MSG_DONTWAIT));
}

/* before: the member is there before the kernel has the socket. */
static void left(bool before, uint32_t flags, int max)
{
	int fd = with_two(), ep = epoll_create1(0);

	if (!before)
		give(fd);
	add(ep, EPOLL_CTL_ADD, fd, BOTH | flags, 7);
	if (before)
		give(fd);
	for (int i = 0; i < 3; i++)
		show("two left", ep, max, 0);
	read_one(fd);
	show("one left", ep, max, 0);
	if (flags & EPOLLONESHOT) {
		add(ep, EPOLL_CTL_MOD, fd, BOTH | flags, 8);
		show("asked again", ep, max, 0);
		show("told", ep, max, 0);
		add(ep, EPOLL_CTL_MOD, fd, EPOLLIN | flags, 9);
		show("readable alone", ep, max, 0);
		ask(fd, 1, 5, 0, 0);
		sleep_ms(50);
		show("silent", ep, max, 50);
		read_one(fd);
	}
	read_one(fd);
	show("none left", ep, max, 0);
	ask(fd, 1, 5, 0, 0);
	show("a new one", ep, max, flags & EPOLLONESHOT ? 20 : 2000);
	close(fd);
	close(ep);
}

static void of_kind(uint32_t flags)
{
	for (int max = 1; max < 9; max += 7) {
		left(false, flags, max);
		if (!(flags & EPOLLET)) /* (by us a member that changes hands has an edge) */
			left(true, flags, max);
	}
}

static void level(void)
{
	of_kind(0);
}

static void edge(void)
{
	of_kind(EPOLLET);
}

static void oneshot(void)
{
	of_kind(EPOLLONESHOT);
}

static void edge_oneshot(void)
{
	of_kind(EPOLLET | EPOLLONESHOT);
}

/* Members beside it have their events, too. */
static void beside(void)
{
	int fd = with_two(), other = with_two(), ep = epoll_create1(0), p[2], seen = 0;
	struct epoll_event ev;

	CHECK(pipe(p) == 0);
	add(ep, EPOLL_CTL_ADD, fd, BOTH, 1);
	add(ep, EPOLL_CTL_ADD, other, BOTH, 2);
	add(ep, EPOLL_CTL_ADD, p[1], EPOLLOUT, 4);
	give(fd);
	show("all", ep, 8, 0);
	for (int i = 0; i < 12; i++) {
		CHECK(epoll_wait(ep, &ev, 1, 0) == 1);
		seen |= (int)ev.data.u64;
	}
	say("seen one by one", seen);
	close(fd);
	close(other);
	close(ep);
}

/* The kernel's socket does not know of an error that the library keeps for the program. */
static void error(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0), ep = epoll_create1(0);
	struct sockaddr_storage to = t_peer;
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int err = 0, zero = 0, n;
	struct epoll_event ev;

	((struct sockaddr_in *)&to)->sin_port = htons(1); /* same place in sockaddr_in6 */
	say("connect", connect(fd, (struct sockaddr *)&to, t_len));
	CHECK(poll(&p, 1, 5000) == 1);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &zero, sizeof(zero)) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(poll(&p, 1, 0) == 1);
		say("poll: error", !!(p.revents & POLLERR));
		if (i == 0)
			add(ep, EPOLL_CTL_ADD, fd, EPOLLOUT, 1);
		n = epoll_wait(ep, &ev, 1, 0);
		printf("epoll: %d error %d\n", n, n == 1 && ev.events & EPOLLERR);
		CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
		printf("%s\n", err ? strerrorname_np(err) : "none");
	}
	close(fd);
	close(ep);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"level", level},     {"edge", edge},
		{"oneshot", oneshot}, {"edge_oneshot", edge_oneshot},
		{"beside", beside},   {"error", error},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
