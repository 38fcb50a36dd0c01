/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that allows itself fewer descriptors than it has, as sandboxes do, or no more than it
 * needs: its calls go on. */
#include "t.h"

#include <sys/resource.h>

#define EXACT 5000 /* as servers set it that count their clients */

/* A list is at an address where there is none, on purpose. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static double cpu_ms(void)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_SELF, &u) == 0);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* Each call sleeps until the peer's datagram comes. */
static void calls(rlim_t most, const int fd[3])
{
	int s = fd[0], t = fd[1], u = fd[2];
	struct pollfd p = {.fd = t, .events = POLLIN};
	struct rlimit lim = {most, most};
	struct timeval tv = {5, 0};
	double cpu, t0;
	fd_set set;
	char b[100];

	nonblock(t);
	ask(s, 1, 10, 200, 0);
	ask(t, 1, 10, 500, 0);
	ask(u, 1, 10, 800, 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	say("recv", recv(s, b, sizeof(b), 0));
	if (most)
		say("poll", poll(&p, 1, 5000));
	FD_ZERO(&set);
	FD_SET(u, &set);
	say("select", select(u + 1, &set, NULL, NULL, &tv));
	say("recv", recv(u, b, sizeof(b), 0));
	t0 = now_ms();
	cpu = cpu_ms();
	sleep_ms(1000);
	cpu = cpu_ms() - cpu;
	printf("idle: %s\n", cpu < (now_ms() - t0) / 2 ? "yes" : "no");
}

/* poll(2) takes no longer list than there may be descriptors; select(2) does not mind. */
static void lists(void)
{
	static const rlim_t limit[] = {1000, 70, 64, 20, 5, 4, 3, 1, 0};
	static const nfds_t n[] = {0, 1, 2, 4, 5, 6, 20, 21, 63, 64, 65, 70, 71, 200};
	struct rlimit lim = {0, 1000};
	struct pollfd p[200] = {0};
	struct timespec zero = {0, 0};
	struct epoll_event ev = {.events = EPOLLIN};
	int fd[70], ep = epoll_create1(0);
	struct timeval tv;
	char what[64];
	fd_set set;

	for (int i = 0; i < 70; i++)
		fd[i] = udp();
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev) == 0);
	ask(fd[0], 1, 10, 0, 0);
	wait_in(fd[0]);
	for (int i = 0; i < 200; i++)
		p[i] = (struct pollfd){i ? -1 : fd[0], POLLIN, 0};
	for (int j = 0; j < (int)(sizeof(limit) / sizeof(*limit)); j++) {
		lim.rlim_cur = limit[j];
		CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
		for (int i = 0; i < (int)(sizeof(n) / sizeof(*n)); i++) {
			snprintf(what, sizeof(what), "limit %d, poll of %d", (int)limit[j],
				 (int)n[i]);
			say(what, poll(p, n[i], 0));
			say("  ppoll", ppoll(p, n[i], &zero, NULL));
		}
#ifndef __SANITIZE_ADDRESS__ /* which handles SIGSEGV itself */
		say("  at 8", poll((struct pollfd *)8, 10, 0));
#endif
		FD_ZERO(&set);
		for (int i = 0; i < 70; i++)
			FD_SET(fd[i], &set);
		tv = (struct timeval){0, 0};
		say("  select", select(fd[69] + 1, &set, NULL, NULL, &tv));
		say("  epoll_wait", epoll_wait(ep, &ev, 1, 0));
	}
	lim.rlim_cur = lim.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	say("again", poll(p, 200, 0));
	for (int i = 0; i < 70; i++)
		close(fd[i]);
	close(ep);
}

static void lowered(void)
{
	int fd[2][3];

	for (int i = 0; i < 6; i++)
		fd[i / 3][i % 3] = udp();
	calls(1, fd[0]);
	calls(0, fd[1]);
}

/* The soft limit is what the program needs, with nothing to spare, before its first socket. (Where
 * the device opens behind the program the two would take numbers at the same time.) */
static void exact(void)
{
	const char *start = getenv("SLUICE_START");
	struct rlimit lim;
	int s, fd, last = -1, n = 0;
	char b[100];

	if (start && !strcmp(start, "background"))
		return;
	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	lim.rlim_cur = EXACT;
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	s = udp();
	ask(s, 1, 10, 0, 0);
	say("recv", recv(s, b, sizeof(b), 0));
	while ((fd = dup(s)) >= 0) {
		last = fd;
		n++;
	}
	say("dup", fd);
	printf("last %d, free %d\n", last, EXACT - n - s);
	for (fd = s; fd <= last; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"exact", exact},
		{"lists", lists},
		{"lowered", lowered},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
