/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that are cancelled asynchronously, in the midst of calls, leave the socket to others. */
#include "t.h"

#define ROUNDS 150

static int s, set;
static volatile bool runs;
static unsigned what;

static void *calls(void *arg)
{
	char buf[64];

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;) {
		runs = true;
		send(s, "ping", 4, MSG_DONTWAIT);
		recv(s, buf, sizeof(buf), MSG_DONTWAIT);
	}
	return arg;
}

/* Nothing comes: the kernel's call sleeps. */
static void *waits(void *arg)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	struct epoll_event ev;
	char buf[64];
	fd_set rd;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	FD_ZERO(&rd);
	FD_SET(s, &rd);
	runs = true;
	switch (what % 5) {
	case 0:
		recv(s, buf, sizeof(buf), 0);
		break;
	case 1:
		poll(&p, 1, -1);
		break;
	case 2:
		epoll_wait(set, &ev, 1, -1);
		break;
	case 3:
		select(s + 1, &rd, NULL, NULL, NULL);
		break;
	case 4:
		read(s, buf, sizeof(buf));
		break;
	}
	return arg;
}

static void *accepts(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	runs = true;
	accept(s, NULL, NULL);
	return arg;
}

static void cancel_each(void *(*fn)(void *), unsigned rounds, unsigned most_us)
{
	unsigned cancelled = 0;

	alarm(20);
	for (unsigned i = 0; i < rounds; i++) {
		pthread_t t;
		void *how;

		runs = false;
		what = i;
		CHECK(!pthread_create(&t, NULL, fn, NULL));
		while (!runs)
			usleep(20);
		usleep(i * 7 % most_us);
		pthread_cancel(t);
		pthread_join(t, &how);
		cancelled += how == PTHREAD_CANCELED;
	}
	say("cancelled", (long)cancelled);
}

/* (The peer may have dropped a datagram among so many.) */
static void comes(void)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	int tries = 50;

	do
		CHECK(send(s, "come", 4, 0) == 4);
	while (!poll(&p, 1, 100) && --tries);
	say("comes", tries > 0);
}

static void still_works(void)
{
	(void)drain(s);
	comes();
	say("close", close(s));
}

static void in_calls(void)
{
	s = udp();
	comes();
	cancel_each(calls, ROUNDS, 50);
	still_works();
}

static void in_waits(void)
{
	struct epoll_event ev = {.events = EPOLLIN};

	s = udp();
	set = epoll_create1(0);
	comes();
	sleep_ms(100);
	(void)drain(s);
	CHECK(!epoll_ctl(set, EPOLL_CTL_ADD, s, &ev));
	cancel_each(waits, ROUNDS, 200);
	still_works();
	say("close", close(set));
}

static void in_stream(void)
{
	s = tcp_said();
	echo_said(s);
	cancel_each(waits, ROUNDS / 3, 200);
	echo_said(s);
	say("close", close(s));
}

static void in_accept(void)
{
	struct pollfd p;

	s = socket(t_own.ss_family, SOCK_STREAM, 0);
	p = (struct pollfd){.fd = s, .events = POLLIN};
	CHECK(!bind(s, (struct sockaddr *)&t_own, t_len) && !listen(s, 5));
	cancel_each(accepts, ROUNDS / 3, 200);
	say("poll", poll(&p, 1, 0));
	say("close", close(s));
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"in_calls", in_calls},   {"in_waits", in_waits}, {"in_stream", in_stream},
		{"in_accept", in_accept}, {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
