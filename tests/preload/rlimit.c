/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that allows itself fewer descriptors than it has, as sandboxes do: its calls go on. */
#include "t.h"

#include <sys/resource.h>

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

static void lowered(void)
{
	int fd[2][3];

	for (int i = 0; i < 6; i++)
		fd[i / 3][i % 3] = udp();
	calls(1, fd[0]);
	calls(0, fd[1]);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"lowered", lowered}, {NULL, NULL}};

	return t_main(argc, argv, cases);
}
