/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal handler that leaves by siglongjmp(3), at a random moment of each call: nothing stays
 * locked. */
#include <netinet/tcp.h>
#include <setjmp.h>

#include "t.h"

static sigjmp_buf env;
static volatile sig_atomic_t armed;
static int s, u, lsn, ep, rounds;
static uint64_t seed = 88172645463325252u;

static void on_alarm(int sig)
{
	if (!armed)
		return;
	armed = 0;
	siglongjmp(env, 1);
}

static unsigned some(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % below);
}

/* A connection to the peer, which echoes. */
static int tcp(void)
{
	struct sockaddr_storage to = t_peer;
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);
	struct timeval patience = {5, 0};

	CHECK(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	CHECK(connect(fd, (struct sockaddr *)&to, t_len) == 0);
	return fd;
}

static void by_recv(void)
{
	char b[64];

	recv(s, b, sizeof(b), some(2) ? MSG_DONTWAIT : 0);
}

static void by_send(void)
{
	if (send(s, "0123456789", 10, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		recv(s, (char[4096]){0}, 4096, MSG_DONTWAIT);
	recv(s, (char[64]){0}, 64, MSG_DONTWAIT);
}

static void by_datagram(void)
{
	struct pollfd p = {.fd = u, .events = POLLIN};

	if (some(2))
		poll(&p, 1, 1);
	recv(u, (char[64]){0}, 64, MSG_DONTWAIT);
}

static void by_poll(void)
{
	struct pollfd p[3] = {
		{.fd = s, .events = POLLIN}, {.fd = u, .events = POLLIN}, {.fd = lsn}};

	poll(p, 3, (int)some(3));
}

static void by_epoll(void)
{
	struct epoll_event ev;

	epoll_wait(ep, &ev, 1, (int)some(3));
}

static void by_accept(void)
{
	int fd = accept(lsn, NULL, NULL);

	if (fd >= 0)
		close(fd);
}

/* (A socket whose number the jump loses stays open.) */
static void by_connect(void)
{
	static int fd = -1;

	if (fd >= 0)
		close(fd);
	fd = -1;
	fd = socket(t_peer.ss_family, SOCK_STREAM, 0);
	if (fd >= 0)
		connect(fd, (struct sockaddr *)&t_peer, t_len);
}

static void jumps(const char *what, void (*call)(void), int n, unsigned most_us)
{
	volatile int i;

	for (i = 0; i < n; i++) {
		struct itimerval it = {{0, 0}, {0, 1 + some(most_us)}};

		if (sigsetjmp(env, 1))
			continue;
		armed = 1;
		setitimer(ITIMER_REAL, &it, NULL);
		for (;;)
			call();
	}
	say(what, i);
}

static void *other(void *arg)
{
	char b[16];
	struct pollfd p = {.fd = s, .events = POLLIN};
	struct epoll_event ev;

	while (recv(s, b, sizeof(b), MSG_DONTWAIT) > 0 ||
	       (sleep_ms(100), recv(s, b, sizeof(b), MSG_DONTWAIT) > 0))
		;
	CHECK(send(s, "ping", 4, 0) == 4);
	CHECK(poll(&p, 1, 5000) == 1);
	CHECK(epoll_wait(ep, &ev, 1, 5000) == 1);
	CHECK(recv(s, b, sizeof(b), 0) == 4);
	return (void *)"ok";
}

static void goes_on(const char *what)
{
	void *said = NULL;
	pthread_t t;

	printf("%s: own thread %s\n", what, (char *)other(NULL));
	CHECK(pthread_create(&t, NULL, other, NULL) == 0);
	pthread_join(t, &said);
	printf("%s: another thread %s\n", what, (char *)said);
	close(tcp());
	fflush(stdout);
}

/* program PEER PORT OWN [ROUNDS]; the peer echoes. */
int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*call)(void);
		int part; /* of the rounds */
		unsigned most_us;
	} kinds[] = {
		{"recv", by_recv, 1, 400},
		{"send", by_send, 1, 400},
		{"datagram", by_datagram, 1, 400},
		{"poll", by_poll, 1, 400},
		{"epoll_wait", by_epoll, 1, 400},
		{"accept", by_accept, 1, 400},
		{"connect, close", by_connect, 20, 3000},
	};
	const int resets[] = {0, SA_RESTART, SA_NODEFER};
	struct sigaction sa = {.sa_handler = on_alarm};
	struct epoll_event ev = {.events = EPOLLIN};

	parse(argv[3], 0, &t_own);
	parse(argv[1], atoi(argv[2]), &t_peer);
	rounds = argc > 4 ? atoi(argv[4]) : 1000;
	s = tcp();
	u = socket(t_peer.ss_family, SOCK_DGRAM, 0);
	CHECK(connect(u, (struct sockaddr *)&t_peer, t_len) == 0);
	lsn = socket(t_peer.ss_family, SOCK_STREAM, 0);
	CHECK(bind(lsn, (struct sockaddr *)&t_own, t_len) == 0 && listen(lsn, 5) == 0);
	ep = epoll_create1(0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev) == 0);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		sa.sa_flags = resets[i % 3];
		sigaction(SIGALRM, &sa, NULL);
		jumps(kinds[i].name, kinds[i].call, rounds / kinds[i].part, kinds[i].most_us);
		goes_on(kinds[i].name);
	}
	_exit(0);
}
