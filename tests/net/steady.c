/* SPDX-License-Identifier: BSD-2-Clause */
/* A steady question-and-answer, for tests that break things under it.
 *
 *   steady ADDRESS PORT [FILE [INTERVAL-US [SIZE [connected]]]]
 *
 * Sends a numbered datagram each interval (2000) to an echo at ADDRESS PORT, receives what comes
 * back, and keeps in FILE one line: sent, answered, doubled, wrong (not what was sent), failed
 * sends, the longest gap between two answers in ms. Ends on SIGTERM, which also prints the line. */
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

#define SEEN (1u << 20)

struct steady {
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

static void tell(const struct steady *s, const char *file)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%lu %lu %lu %lu %lu %lu\n", s->sent, s->answered,
			 s->doubled, s->wrong, s->failed, s->gap_ns / 1000000);
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644) : 1;
	if (fd < 0 || write(fd, line, n) != n)
		exit(1);
	if (fd > 1)
		close(fd);
}

static void ask(struct steady *s, int fd, const struct sockaddr *to, socklen_t len)
{
	uint8_t data[65536];
	memset(data, 'a' + s->sent % 26, s->size);
	memcpy(data, &s->sent, sizeof(s->sent));
	ssize_t ret = to ? sendto(fd, data, s->size, MSG_DONTWAIT, to, len)
			 : send(fd, data, s->size, MSG_DONTWAIT);
	if (ret == (ssize_t)s->size)
		s->sent++;
	else
		s->failed++;
}

static void take(struct steady *s, int fd)
{
	uint8_t data[65536];
	uint64_t n, now;
	ssize_t len;
	while ((len = recv(fd, data, sizeof(data), MSG_DONTWAIT)) >= 0) {
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

int main(int argc, char **argv)
{
	static struct steady s;
	struct sigaction sa = {.sa_handler = on_signal};
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to = {};
	if (argc < 3)
		return 2;
	const char *file = argc > 3 ? argv[3] : NULL;
	uint64_t interval = (argc > 4 ? atoi(argv[4]) : 2000) * 1000ull;
	s.size = argc > 5 ? atoi(argv[5]) : 100;
	bool connected = argc > 6;
	socklen_t len = strchr(argv[1], ':') ? sizeof(to.in6) : sizeof(to.in);
	to.sa.sa_family = len == sizeof(to.in) ? AF_INET : AF_INET6;
	to.in.sin_port = htons(atoi(argv[2])); /* at the same place in both */
	if (inet_pton(to.sa.sa_family, argv[1],
		      len == sizeof(to.in) ? (void *)&to.in.sin_addr : &to.in6.sin6_addr) != 1)
		return 2;
	sigaction(SIGTERM, &sa, NULL);
	int fd = socket(to.sa.sa_family, SOCK_DGRAM, 0);
	if (fd < 0 || (connected && connect(fd, &to.sa, len)))
		return 1;
	uint64_t next = now_ns(), told = next;
	while (!stopped) {
		uint64_t now = now_ns();
		if (now >= next) {
			ask(&s, fd, connected ? NULL : &to.sa, len);
			next = now + interval;
		}
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct timespec ts = {0, next - now > 100000000 ? 0 : next - now};
		ppoll(&p, 1, &ts, NULL);
		take(&s, fd);
		if (now - told > 20000000 && file) {
			tell(&s, file);
			told = now;
		}
	}
	tell(&s, NULL);
	return 0;
}
