/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets with several threads, many sockets, and two sources of one socket. */
#include "epoll.h"

static int t_ep, t_fd;

static void *waiter(void *arg)
{
	struct epoll_event ev;
	int n = epoll_wait(t_ep, &ev, 1, *(int *)arg);

	return (void *)(intptr_t)(n == 1 ? (int)ev.data.u64 : n);
}

static intptr_t join(pthread_t t)
{
	void *r;

	CHECK(pthread_join(t, &r) == 0);
	return (intptr_t)r;
}

/* Another thread changes the set while one waits, polling or asleep. */
static void changes(void)
{
	for (int ms = 30; ms <= 250; ms += 220) {
		int limit = 5000;
		pthread_t t;

		t_ep = epoll_create1(0);
		t_fd = udp();
		CHECK(pthread_create(&t, NULL, waiter, &limit) == 0);
		sleep_ms(ms);
		add(t_ep, EPOLL_CTL_ADD, t_fd, EPOLLOUT, 41);
		printf("added: %ld\n", join(t));
		add(t_ep, EPOLL_CTL_MOD, t_fd, EPOLLIN, 42);
		CHECK(pthread_create(&t, NULL, waiter, &limit) == 0);
		sleep_ms(ms);
		add(t_ep, EPOLL_CTL_MOD, t_fd, EPOLLOUT, 43);
		printf("modified: %ld\n", join(t));
		add(t_ep, EPOLL_CTL_MOD, t_fd, EPOLLIN, 44);
		CHECK(pthread_create(&t, NULL, waiter, &limit) == 0);
		sleep_ms(ms);
		ask(t_fd, 1, 10, 0, 0);
		printf("arrived: %ld\n", join(t));
		drain(t_fd);
		limit = 400;
		CHECK(pthread_create(&t, NULL, waiter, &limit) == 0);
		sleep_ms(ms);
		add(t_ep, EPOLL_CTL_DEL, t_fd, 0, 0);
		ask(t_fd, 1, 10, 0, 0);
		printf("deleted: %ld\n", join(t));
		close(t_fd);
		close(t_ep);
	}
}

/* When several waiters wait for an edge, one of them gets it. */
static void one_of_many(void)
{
	for (int ms = 20; ms <= 250; ms += 230) {
		int limit = ms + 1200, got = 0;
		pthread_t t[4];

		t_ep = epoll_create1(0);
		t_fd = udp();
		add(t_ep, EPOLL_CTL_ADD, t_fd, EPOLLIN | EPOLLET, 1);
		for (int i = 0; i < 4; i++)
			CHECK(pthread_create(&t[i], NULL, waiter, &limit) == 0);
		sleep_ms(ms);
		ask(t_fd, 1, 10, 0, 0);
		for (int i = 0; i < 4; i++)
			got += join(t[i]) == 1;
		printf("woken: %d\n", got);
		close(t_fd);
		close(t_ep);
	}
}

static void *taker(void *arg)
{
	int limit = 5000, *got = arg;
	struct epoll_event ev;
	char buf[100];

	while (epoll_wait(t_ep, &ev, 1, limit) == 1) {
		while (recv(t_fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
			(*got)++;
		limit = 1500;
	}
	return NULL;
}

/* Several threads empty one socket: nothing is lost. */
static void many_takers(void)
{
	int got[3] = {0};
	pthread_t t[3];

	t_ep = epoll_create1(0);
	t_fd = udp();
	nonblock(t_fd);
	add(t_ep, EPOLL_CTL_ADD, t_fd, EPOLLIN | EPOLLET, 1);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, taker, &got[i]) == 0);
	ask(t_fd, 200, 50, 10, 1);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	printf("taken: %d\n", got[0] + got[1] + got[2]);
	close(t_fd);
	close(t_ep);
}

static void *exclusive_waiter(void *arg)
{
	struct epoll_event ev;

	return (void *)(intptr_t)epoll_wait(*(int *)arg, &ev, 1, 1500);
}

static void exclusive(void)
{
	int fd = udp(), ep[3], got = 0;
	pthread_t t[3];

	for (int i = 0; i < 3; i++) {
		ep[i] = epoll_create1(0);
		add(ep[i], EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLEXCLUSIVE, 1);
		CHECK(pthread_create(&t[i], NULL, exclusive_waiter, &ep[i]) == 0);
	}
	sleep_ms(250);
	ask(fd, 1, 10, 0, 0);
	for (int i = 0; i < 3; i++)
		got += (int)join(t[i]);
	printf("at least one set woken: %d\n", got >= 1);
	for (int i = 0; i < 3; i++)
		close(ep[i]);
	close(fd);
}

static void many_sockets(void)
{
	enum { N = 100 };
	int fd[N], ep = epoll_create1(0), got = 0;
	struct epoll_event ev[N];
	char buf[100];

	for (int i = 0; i < N; i++) {
		fd[i] = udp();
		add(ep, EPOLL_CTL_ADD, fd[i], EPOLLIN, (uint64_t)i);
	}
	for (int i = 0; i < N; i += 3)
		ask(fd[i], 1, 10, 100, 0);
	while (got < (N + 2) / 3) {
		int n = epoll_wait(ep, ev, N, 5000);

		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			CHECK(ev[i].data.u64 % 3 == 0 && ev[i].events == EPOLLIN);
			CHECK(recv(fd[ev[i].data.u64], buf, sizeof(buf), MSG_DONTWAIT) == 10);
			got++;
		}
	}
	printf("answers: %d\n", got);
	/* All writable: more than fit into one call, in turn. */
	for (int i = 0; i < N; i++)
		add(ep, EPOLL_CTL_MOD, fd[i], EPOLLOUT, (uint64_t)i);
	printf("writable: %d\n", epoll_wait(ep, ev, N, 1000));
	bool seen[N] = {false};
	int distinct = 0;
	for (int k = 0; k < 30; k++) {
		int n = epoll_wait(ep, ev, 7, 1000);

		for (int i = 0; i < n; i++) {
			distinct += !seen[ev[i].data.u64];
			seen[ev[i].data.u64] = true;
		}
	}
	printf("seen seven at a time: %d\n", distinct);
	for (int i = 0; i < N; i++)
		close(fd[i]);
	show("all closed", ep, 8, 20);
	close(ep);
}

/* Datagrams of the wire and of the host's own sockets arrive at one socket, and all are told of. */
static void merged(void)
{
	int fd = udp_bound(), other = udp_bound(), ep = epoll_create1(0), wire = 0, local = 0;
	struct sockaddr_storage me;
	socklen_t n = sizeof(me);
	char buf[100];

	CHECK(getsockname(fd, (struct sockaddr *)&me, &n) == 0);
	add(ep, EPOLL_CTL_ADD, fd, EPOLLIN, 1);
	for (int i = 0; i < 20; i++) {
		int got = 0;

		CHECK(sendto(other, "local", 5, 0, (struct sockaddr *)&me, n) == 5);
		show("local", ep, 8, 5000);
		ask(fd, 1, 10, i % 5 * 30, 0);
		while (got < 2) {
			struct epoll_event ev;

			CHECK(epoll_wait(ep, &ev, 1, 5000) == 1);
			CHECK(recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0);
			got++;
			if (buf[0] == 'l')
				local++;
			else
				wire++;
		}
		show("nothing", ep, 8, 0);
	}
	printf("wire %d, local %d\n", wire, local);
	close(other);
	close(fd);
	close(ep);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"changes", changes},
		{"one_of_many", one_of_many},
		{"many_takers", many_takers},
		{"exclusive", exclusive},
		{"many_sockets", many_sockets},
		{"merged", merged},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
