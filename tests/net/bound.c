/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits until sockets are bound to a port in a network namespace: what lib.sh would else ask `ss`
 * for fifty times a second.
 *
 *   bound NETNS SECONDS udp|tcp PORT [SOCKETS]
 *
 * Exit status: 0 there are (TCP's listen), 1 not in that time, 2 it cannot tell. */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LISTEN 0x0a /* TCP_LISTEN of the kernel's enum, as /proc/net/tcp has it */

static int bound(const char *path, unsigned int port, int tcp)
{
	FILE *f = fopen(path, "r");
	unsigned int local, state;
	char line[512];
	int n = 0;

	if (!f) /* (no IPv6) */
		return 0;
	while (fgets(line, sizeof(line), f))
		n += sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) == 2 &&
		     local == port && (!tcp || state == LISTEN);
	fclose(f);
	return n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int ns = argc >= 5 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	double end = now() + (argc >= 5 ? strtod(argv[2], NULL) : 0);
	int tcp, want = argc > 5 ? atoi(argv[5]) : 1;
	unsigned int port;

	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		err(2, "bound NETNS SECONDS udp|tcp PORT [SOCKETS]");
	tcp = !strcmp(argv[3], "tcp");
	port = (unsigned int)strtoul(argv[4], NULL, 10);
	while (bound(tcp ? "/proc/net/tcp" : "/proc/net/udp", port, tcp) +
		       bound(tcp ? "/proc/net/tcp6" : "/proc/net/udp6", port, tcp) <
	       want) {
		if (now() > end)
			return 1;
		usleep(10000);
	}
	return 0;
}
