/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens many UDP sockets and says what they cost.
 *
 *   many ADDRESS FIRST-PORT COUNT
 *
 * Opens and binds COUNT sockets, then waits on all of them by epoll; for each datagram that comes
 * answers it. On SIGTERM closes all. Lines printed:
 *   opened N NANOSECONDS-EACH RESIDENT-BYTES-EACH
 *   answered N
 *   closed N NANOSECONDS-EACH */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load.h"

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

/* Resident memory in bytes, packet memory that is touched included. */
static long resident(void)
{
	long size, pages;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
		exit(1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static int open_one(const char *text, unsigned port, int ep)
{
	union load_addr addr;
	socklen_t len = load_addr(&addr, text, port);
	int fd = socket(addr.sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	if (fd < 0)
		load_die("socket");
	if (bind(fd, &addr.sa, len))
		load_die("bind");
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		load_die("epoll_ctl");
	return fd;
}

static unsigned long answer(int fd)
{
	char data[2048];
	union load_addr from;
	socklen_t len = sizeof(from);
	unsigned long n = 0;
	ssize_t got;
	while ((got = recvfrom(fd, data, sizeof(data), 0, &from.sa, &len)) >= 0)
		n += sendto(fd, data, got, 0, &from.sa, len) == got;
	return n;
}

static unsigned long serve(int ep)
{
	struct epoll_event ev[64];
	unsigned long n = 0;
	while (!stopped) {
		int got = epoll_wait(ep, ev, 64, 100);
		for (int i = 0; i < got; i++)
			n += answer(ev[i].data.fd);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	if (argc != 4)
		return 2;
	unsigned port = atoi(argv[2]), count = atoi(argv[3]);
	struct rlimit lim;
	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_max < count + 100) {
		printf("skipped: at most %lu descriptors\n", (unsigned long)lim.rlim_max);
		return 77;
	}
	sigaction(SIGTERM, &sa, NULL);
	int *fds = calloc(count, sizeof(*fds)), ep = epoll_create1(0);
	/* The first one brings everything up; it is not in the figures. */
	int first = open_one(argv[1], port + count, ep);
	long before = resident();
	uint64_t t = load_now_ns();
	for (unsigned i = 0; i < count; i++)
		fds[i] = open_one(argv[1], port + i, ep);
	printf("opened %u %.0f %ld\n", count, (double)(load_now_ns() - t) / count,
	       (resident() - before) / (long)count);
	fflush(stdout);
	printf("answered %lu\n", serve(ep));
	t = load_now_ns();
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	printf("closed %u %.0f\n", count, (double)(load_now_ns() - t) / count);
	close(first);
	return 0;
}
