/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings with which a socket becomes the kernel's have their effect there. */
#include "t.h"

#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <sys/ioctl.h>

static void filter(int fd)
{
	struct sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog prog = {1, drop};
	struct sock_filter got[4];
	socklen_t len = 4;
	int locked = -1;
	char b[8];

	say("no filter", setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int)));
	say("its length", getsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, got, &len));
	printf("%d\n", (int)len);
	len = sizeof(locked);
	say("locked", getsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &locked, &len));
	printf("%d\n", locked);
	len = 4;
	say("filter", setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)));
	say("its length", getsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, got, &len));
	printf("%d\n", (int)len);
	say("send", send(fd, "hello", 5, 0));
	sleep_ms(150);
	say("recv", recv(fd, b, sizeof(b), MSG_DONTWAIT));
	say("lock", setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &(int){1}, sizeof(int)));
	say("detach", setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int)));
}

static void filters(void)
{
	int fd = tcp_said();

	echo_said(fd);
	/* (Newer kernels refuse it to a user without privileges.) */
	if (!getenv("LEASED"))
		filter(fd);
	filter(udp());
}

static void peek_off(void)
{
	int fd = tcp_said(), off = 0;
	socklen_t len = sizeof(off);
	char b[8] = "";

	say("peek", setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &(int){2}, sizeof(int)));
	say("send", send(fd, "0123456789", 10, 0));
	sleep_ms(150);
	say("peek", recv(fd, b, 3, MSG_PEEK));
	printf("%s\n", b);
	say("peek", recv(fd, b, 3, MSG_PEEK));
	printf("%s\n", b);
	say("offset", getsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, &len));
	printf("%d\n", off);
	close(fd);
}

static void tx_time(void)
{
	struct sock_txtime set = {CLOCK_MONOTONIC, 0}, is = {-1, 0};
	socklen_t len = sizeof(is);
	int fd = tcp_said();

	say("txtime", setsockopt(fd, SOL_SOCKET, SO_TXTIME, &set, sizeof(set)));
	say("txtime", getsockopt(fd, SOL_SOCKET, SO_TXTIME, &is, &len));
	printf("%d\n", is.clockid);
	close(fd);
}

static volatile int s_fd, s_hits;

static void on_io(int sig, siginfo_t *info, void *context)
{
	s_fd = info->si_fd;
	s_hits++;
}

static void told(int fd)
{
	char b[8];

	s_hits = 0;
	s_fd = -1;
	say("send", send(fd, "hello", 5, 0));
	for (int i = 0; i < 200 && !s_hits; i++)
		sleep_ms(10);
	printf("told %d, by number %d\n", s_hits > 0, s_fd == fd);
	say("recv", recv(fd, b, sizeof(b), MSG_DONTWAIT));
	close(fd);
}

static void signals(void)
{
	struct sigaction sa = {.sa_sigaction = on_io, .sa_flags = SA_SIGINFO | SA_RESTART};

	CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0);
	for (int i = 0; i < 4; i++) {
		int fd = i & 1 ? udp() : tcp_said();

		CHECK(fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_SETSIG, SIGRTMIN) == 0);
		if (i < 2)
			CHECK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0);
		else
			CHECK(ioctl(fd, FIOASYNC, &(int){1}) == 0);
		printf("flags %#x\n", (unsigned)fcntl(fd, F_GETFL));
		told(fd);
	}
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"filters", filters},
					      {"peek_off", peek_off},
					      {"tx_time", tx_time},
					      {"signals", signals},
					      {NULL, NULL}};

	return t_main(argc, argv, cases);
}
