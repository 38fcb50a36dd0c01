/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads on one socket: two in recv, cancelled ones, a close under a waiting call. */
#include "t.h"

static int t_fd, t_ep;
static int cleaned;
static int entered; /* the thread is about to make its call */

static void clean(void *arg)
{
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

/* Starts a thread that waits, and lets it wait for so long. */
static pthread_t start(void *(*fn)(void *), int *how, int ms)
{
	pthread_t t;

	__atomic_store_n(&entered, 0, __ATOMIC_RELAXED);
	CHECK(pthread_create(&t, NULL, fn, how) == 0);
	while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
		sleep_ms(1);
	sleep_ms(ms);
	return t;
}

enum how { RECV, POLL, SELECT, EPOLL, EPOLL_EMPTY, HOWS };
static const char *const names[] = {"recv", "poll", "select", "epoll_wait",
				    "epoll_wait, no member"};

static void *waits(void *arg)
{
	struct pollfd p = {.fd = t_fd, .events = POLLIN};
	struct epoll_event ev;
	char buf[100];
	long r = 0;
	fd_set set;

	pthread_cleanup_push(clean, NULL);
	__atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
	switch (*(int *)arg) {
	case RECV:
		r = recv(t_fd, buf, sizeof(buf), 0);
		break;
	case POLL:
		r = poll(&p, 1, 10000);
		break;
	case SELECT:
		FD_ZERO(&set);
		FD_SET(t_fd, &set);
		r = select(t_fd + 1, &set, NULL, NULL, NULL);
		break;
	default:
		r = epoll_wait(t_ep, &ev, 1, 10000);
	}
	pthread_cleanup_pop(0);
	return (void *)r;
}

/* Cancelled while polling and while asleep; the socket is sound afterwards. */
static void cancels(void)
{
#ifdef __SANITIZE_ADDRESS__
	return; /* its stacks cannot be unwound out of a handler */
#endif
	for (int how = 0; how < HOWS; how++) {
		for (int ms = 50; ms <= 250; ms += 200) {
			struct epoll_event ev = {.events = EPOLLIN};
			pthread_t t;
			void *r;

			t_fd = udp();
			t_ep = epoll_create1(0);
			if (how == EPOLL)
				CHECK(epoll_ctl(t_ep, EPOLL_CTL_ADD, t_fd, &ev) == 0);
			cleaned = 0;
			t = start(waits, &how, ms);
			CHECK(pthread_cancel(t) == 0);
			CHECK(pthread_join(t, &r) == 0);
			printf("%s: cancelled %d, cleaned up %d\n", names[how],
			       r == PTHREAD_CANCELED, cleaned);
			/* Sound: another thread waits, a datagram comes. */
			if (how == EPOLL_EMPTY)
				CHECK(epoll_ctl(t_ep, EPOLL_CTL_ADD, t_fd, &ev) == 0);
			CHECK(pthread_create(&t, NULL, waits, &how) == 0);
			ask(t_fd, 1, 10, ms, 0);
			CHECK(pthread_join(t, &r) == 0);
			printf("%s: %ld\n", names[how], (long)(intptr_t)r);
			close(t_fd);
			close(t_ep);
		}
	}
}

static int s_taken[2];

static void *takes(void *arg)
{
	char buf[100];
	int *got = arg;

	while (recv(t_fd, buf, sizeof(buf), 0) >= 0 && buf[0] != 'q')
		__atomic_fetch_add(got, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int taken(void)
{
	return __atomic_load_n(&s_taken[0], __ATOMIC_RELAXED) +
	       __atomic_load_n(&s_taken[1], __ATOMIC_RELAXED);
}

static void two_in_recv(void)
{
	double end = now_ms() + 20000;
	pthread_t t[2];

	t_fd = udp();
	memset(s_taken, 0, sizeof(s_taken));
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, takes, &s_taken[i]) == 0);
	sleep_ms(30);
	for (int sum = 100; sum <= 200; sum += 100) {
		ask(t_fd, 100, 50, 0, 1);
		while (taken() < sum && now_ms() < end)
			sleep_ms(5);
		sleep_ms(300); /* first they poll, then they sleep */
	}
	CHECK(send(t_fd, "q", 1, 0) == 1 && send(t_fd, "q", 1, 0) == 1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("taken: %d\n", taken());
	close(t_fd);
}

/* Such a call does not return the same everywhere; it must end, and nothing may break. */
static void closes(void)
{
	for (int ms = 50; ms <= 250; ms += 200) {
		struct timeval tv = {0, 600000};
		int how = RECV, fd;
		pthread_t t;
		void *r;

		t_fd = udp();
		CHECK(setsockopt(t_fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
		t = start(waits, &how, ms);
		CHECK(close(t_fd) == 0);
		fd = udp(); /* the number means something else now */
		ask(fd, 1, 10, 0, 0);
		CHECK(pthread_join(t, &r) == 0);
		printf("ended without data: %d\n", (intptr_t)r == -1);
		wait_in(fd);
		printf("the new socket's datagram: %d\n", drain(fd));
		close(fd);
	}
}

static void shuts(void)
{
	for (int ms = 50; ms <= 250; ms += 200) {
		int how = RECV;
		pthread_t t;
		void *r;

		t_fd = udp();
		t = start(waits, &how, ms);
		CHECK(shutdown(t_fd, SHUT_RD) == 0);
		CHECK(pthread_join(t, &r) == 0);
		printf("shut: %ld\n", (long)(intptr_t)r);
		close(t_fd);
	}
}

static void *echoes(void *arg)
{
	int fd = udp(), ok = 0;
	char out[100], in[100];
	struct timeval tv = {5, 0};

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	for (int i = 0; i < 500; i++) {
		int n = snprintf(out, sizeof(out), "%p %d", arg, i);

		CHECK(send(fd, out, (size_t)n, 0) == n);
		ok += recv(fd, in, sizeof(in), 0) == n && memcmp(in, out, (size_t)n) == 0;
	}
	close(fd);
	return (void *)(intptr_t)ok;
}

static void sockets_each(void)
{
	pthread_t t[4];
	int sum = 0;

	for (intptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, echoes, (void *)i) == 0);
	for (int i = 0; i < 4; i++) {
		void *r;

		pthread_join(t[i], &r);
		sum += (int)(intptr_t)r;
	}
	printf("echoed: %d\n", sum);
}

static int s_stop;

static void *churns(void *arg)
{
	while (!__atomic_load_n(&s_stop, __ATOMIC_RELAXED)) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT, .data.u64 = 1};
		int fd = udp(), d = dup(fd);

		epoll_ctl(t_ep, EPOLL_CTL_ADD, fd, &ev);
		epoll_ctl(t_ep, EPOLL_CTL_MOD, fd, &ev);
		send(fd, "x", 1, 0);
		if (d & 1)
			epoll_ctl(t_ep, EPOLL_CTL_DEL, fd, NULL);
		close(fd);
		close(d);
	}
	return NULL;
}

/* Sockets come and go in a set that another thread waits on. */
static void churn(void)
{
	struct epoll_event ev[16];
	double end = now_ms() + 1500;
	pthread_t t[2];

	s_stop = 0;
	t_ep = epoll_create1(0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, churns, NULL) == 0);
	while (now_ms() < end)
		CHECK(epoll_wait(t_ep, ev, 16, 5) >= 0);
	__atomic_store_n(&s_stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("left: %d\n", epoll_wait(t_ep, ev, 16, 20));
	close(t_ep);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"cancels", cancels}, {"two_in_recv", two_in_recv},   {"closes", closes},
		{"shuts", shuts},     {"sockets_each", sockets_each}, {"churn", churn},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
