/* SPDX-License-Identifier: BSD-2-Clause */
/* A steady question-and-answer, for tests that break things under it.
 *
 *   steady [-i INTERVAL-US] [-n COUNT] [-s SIZE] [-c] ADDRESS PORT FILE [ADDRESS PORT FILE]...
 *
 * For each triple, on a socket of its own (-c: connected): sends a numbered datagram each interval
 * (2000) to the echo at ADDRESS PORT, receives what comes back, and keeps in FILE one line: sent,
 * answered, doubled, wrong (not what was sent), failed sends, the longest gap between two answers
 * in ms. Ends on SIGTERM, or after COUNT datagrams of each, when all is answered, or nothing came
 * for a second. Its receive buffer holds what an echo that got no core for a while answers then. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SEEN      (1u << 20)
#define FLOWS_MAX 16
#define REST_NS   1000000000
#define BUFFER    (4 << 20)

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct steady {
	int fd;
	bool connected;
	union addr to;
	socklen_t to_len;
	const char *file;
	uint64_t sent, answered, doubled, wrong, failed, gap_ns, last_ns;
	unsigned size;
	uint8_t seen[SEEN];
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void tell(const struct steady *s)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%lu %lu %lu %lu %lu %lu\n", s->sent, s->answered,
			 s->doubled, s->wrong, s->failed, s->gap_ns / 1000000);
	/* Written in one piece: the test may read it at any time. */
	int fd = open(s->file, O_WRONLY | O_CREAT, 0644);
	if (fd < 0 || pwrite(fd, line, n, 0) != n || ftruncate(fd, n))
		exit(1);
	close(fd);
}

static void ask(struct steady *s)
{
	uint8_t data[65536];
	memset(data, 'a' + s->sent % 26, s->size);
	memcpy(data, &s->sent, sizeof(s->sent));
	/* The first send waits until the device is open; the kernel sends for calls that do not
	 * wait. */
	int flags = s->sent ? MSG_DONTWAIT : 0;
	ssize_t ret = s->connected ? send(s->fd, data, s->size, flags)
				   : sendto(s->fd, data, s->size, flags, &s->to.sa, s->to_len);
	if (ret == (ssize_t)s->size)
		s->sent++;
	else
		s->failed++;
}

static void take(struct steady *s)
{
	uint8_t data[65536];
	uint64_t n, now;
	ssize_t len;
	while ((len = recv(s->fd, data, sizeof(data), MSG_DONTWAIT)) >= 0) {
		memcpy(&n, data, sizeof(n));
		if (len != (ssize_t)s->size || n >= s->sent || data[len - 1] != 'a' + n % 26) {
			s->wrong++;
			continue;
		}
		if (s->seen[n % SEEN] == 1 + n / SEEN % 2)
			s->doubled++;
		s->seen[n % SEEN] = 1 + n / SEEN % 2;
		s->answered++;
		now = now_ns();
		if (s->last_ns && now - s->last_ns > s->gap_ns)
			s->gap_ns = now - s->last_ns;
		s->last_ns = now;
	}
}

static void open_flow(struct steady *s, char **argv, unsigned size, bool connected)
{
	bool six = strchr(argv[0], ':');
	s->size = size;
	s->connected = connected;
	s->file = argv[2];
	s->to_len = six ? sizeof(s->to.in6) : sizeof(s->to.in);
	s->to.sa.sa_family = six ? AF_INET6 : AF_INET;
	s->to.in.sin_port = htons(atoi(argv[1])); /* at the same place in both */
	if (inet_pton(s->to.sa.sa_family, argv[0],
		      six ? (void *)&s->to.in6.sin6_addr : &s->to.in.sin_addr) != 1)
		exit(2);
	s->fd = socket(s->to.sa.sa_family, SOCK_DGRAM, 0);
	setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){BUFFER}, sizeof(int));
	if (s->fd < 0 || (connected && connect(s->fd, &s->to.sa, s->to_len))) {
		perror("steady");
		exit(1);
	}
}

/* Waits for answers until then and takes them. */
static void wait_until(struct steady **flow, int n, uint64_t until)
{
	struct pollfd p[FLOWS_MAX];
	uint64_t now = now_ns();
	struct timespec ts = {0, until > now ? until - now : 0};
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = flow[i]->fd, .events = POLLIN};
	ppoll(p, n, &ts, NULL);
	for (int i = 0; i < n; i++)
		take(flow[i]);
}

static void wait_for_rest(struct steady **flow, int n)
{
	uint64_t last = now_ns();
	while (now_ns() - last < REST_NS) {
		bool all = true;
		wait_until(flow, n, now_ns() + 10000000);
		for (int i = 0; i < n; i++) {
			all = all && flow[i]->answered >= flow[i]->sent;
			if (flow[i]->last_ns > last)
				last = flow[i]->last_ns;
		}
		if (all)
			return;
	}
}

int main(int argc, char **argv)
{
	struct steady *flow[FLOWS_MAX];
	struct sigaction sa = {.sa_handler = on_signal};
	uint64_t interval = 2000000, left = UINT64_MAX, next, told;
	unsigned size = 100;
	bool connected = false;
	int opt, n;
	while ((opt = getopt(argc, argv, "i:n:s:c")) != -1) {
		if (opt == 'i')
			interval = atoi(optarg) * 1000ull;
		else if (opt == 'n')
			left = atoi(optarg);
		else if (opt == 's')
			size = atoi(optarg);
		else if (opt == 'c')
			connected = true;
		else
			return 2;
	}
	n = (argc - optind) / 3;
	if (n < 1 || n > FLOWS_MAX || (argc - optind) % 3 || size < 9 || size > 65000)
		return 2;
	sigaction(SIGTERM, &sa, NULL);
	for (int i = 0; i < n; i++) {
		flow[i] = calloc(1, sizeof(*flow[i]));
		open_flow(flow[i], argv + optind + 3 * i, size, connected);
	}
	told = next = now_ns();
	while (!stopped && left) {
		uint64_t now = now_ns();
		if (now >= next) {
			for (int i = 0; i < n; i++)
				ask(flow[i]);
			next = now + interval;
			left--;
		}
		wait_until(flow, n, next);
		if (now - told > 20000000) {
			for (int i = 0; i < n; i++)
				tell(flow[i]);
			told = now;
		}
	}
	wait_for_rest(flow, n);
	for (int i = 0; i < n; i++)
		tell(flow[i]);
	return 0;
}
