/* SPDX-License-Identifier: BSD-2-Clause */
/* Many TCP connections: what they cost, how fast they are made, how fast some of them are served.
 *
 *   tcpmany serve ADDRESS PORT COUNT
 *       Accepts and answers each message with the same bytes. Once there are COUNT connections:
 *       accepted N NANOSECONDS-EACH BYTES-EACH
 *   tcpmany sink ADDRESS PORT
 *       Accepts and closes at once, so that TIME_WAIT is here.
 *   tcpmany hold ADDRESS PORT COUNT FIRST-SOURCE SOURCES [ACTIVE SECONDS]...
 *       Opens COUNT connections from so many addresses, FIRST-SOURCE and those after it:
 *       opened N NANOSECONDS-EACH BYTES-EACH
 *       For each pair: sends a message on ACTIVE of them round robin, IN_FLIGHT at a time, each the
 *       next one when its answer has come:
 *       active N REQUESTS-A-SECOND USER+SYSTEM-NANOSECONDS-EACH
 *       and then stays until SIGTERM.
 *   tcpmany rate ADDRESS PORT SECONDS IN-FLIGHT
 *       Opens connections, waits for the peer's end, closes:
 *       rate CONNECTIONS-A-SECOND NANOSECONDS-OF-CPU-EACH
 *
 * BYTES-EACH is the process's own memory, two seconds later (the packet memory is there before);
 * what the kernel needs for the descriptors is not in it. Every server says on SIGTERM:
 *   ended CONNECTIONS NANOSECONDS-OF-CPU-EACH */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load.h"

#define MESSAGE   64
#define IN_FLIGHT 64
#define EVENTS    256
#define REST_NS   2000000000ull /* then a connection that says nothing is at rest */
#define WARM_UP   64            /* connections that bring everything up before it is measured */

static volatile sig_atomic_t stopped;
static int ep;

static void on_signal(int sig)
{
	stopped = 1;
}

/* bytes of memory that only this process has */
static long own_bytes(void)
{
	char line[128];
	long kib = 0, one;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	if (!f)
		load_die("smaps_rollup");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Clean: %ld", &one) == 1 ||
		    sscanf(line, "Private_Dirty: %ld", &one) == 1)
			kib += one;
	fclose(f);
	return kib * 1024;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void watch(int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		load_die("epoll_ctl");
}

static void say(const char *what, unsigned n, uint64_t ns, long bytes)
{
	printf("%s %u %.0f %ld\n", what, n, (double)ns / n, bytes / (long)n);
	fflush(stdout);
}

/* Servers -------------------------------------------------------------------------------------- */

static int listen_on(const char *text, unsigned port)
{
	union load_addr addr;
	socklen_t len = load_addr(&addr, text, port);
	int fd = socket(addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &addr.sa, len) || listen(fd, 4096))
		load_die("listen");
	watch(fd, EPOLLIN);
	return fd;
}

static void answer(int fd)
{
	char data[4096];
	ssize_t n;
	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		if (send(fd, data, n, MSG_NOSIGNAL) != n)
			break;
	if (n == 0 || (n < 0 && errno != EAGAIN))
		close(fd);
}

static void serve(const char *text, unsigned port, unsigned count, int sink)
{
	struct epoll_event ev[EVENTS];
	int listener = listen_on(text, port), fd;
	unsigned n = 0;
	uint64_t start = 0, cpu = 0, took = 0;
	long before = 0;
	while (!stopped) {
		int got = epoll_wait(ep, ev, EVENTS, 100);
		if (took && load_now_ns() > start + took + REST_NS) {
			say("accepted", count, took, own_bytes() - before);
			took = 0;
		}
		for (int i = 0; i < got; i++) {
			if (ev[i].data.fd != listener) {
				answer(ev[i].data.fd);
				continue;
			}
			while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
				if (++n == WARM_UP) {
					before = own_bytes();
					start = load_now_ns();
					cpu = cpu_ns();
				}
				if (sink)
					close(fd);
				else
					watch(fd, EPOLLIN);
				if (count && n == count + WARM_UP)
					took = load_now_ns() - start;
			}
			if (errno != EAGAIN && errno != ECONNABORTED)
				load_die("accept");
		}
	}
	if (n > WARM_UP)
		say("ended", n - WARM_UP, cpu_ns() - cpu, 0);
}

/* Clients -------------------------------------------------------------------------------------- */

struct peer {
	union load_addr to, from;
	socklen_t len;
	unsigned sources, next;
	unsigned pending;
};

/* A connection on its way, from the next of the source addresses. */
static int open_one(struct peer *p)
{
	union load_addr from = p->from;
	int fd = socket(p->to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
	if (fd < 0)
		load_die("socket");
	if (p->sources) {
		uint8_t *last = p->to.sa.sa_family == AF_INET ? (uint8_t *)&from.in.sin_addr + 3
							      : (uint8_t *)&from.in6.sin6_addr + 15;
		*last += p->next++ % p->sources;
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
		if (bind(fd, &from.sa, p->len))
			load_die("bind");
	}
	if (connect(fd, &p->to.sa, p->len) && errno != EINPROGRESS)
		load_die("connect");
	return fd;
}

/* Those that are connected now. */
static unsigned take_connected(struct epoll_event *ev, int got)
{
	unsigned n = 0;
	for (int i = 0; i < got; i++) {
		struct epoll_event in = {.events = EPOLLIN, .data.fd = ev[i].data.fd};
		int err = 0;
		socklen_t len = sizeof(err);
		if (getsockopt(ev[i].data.fd, SOL_SOCKET, SO_ERROR, &err, &len) || err) {
			errno = err;
			load_die("connect");
		}
		epoll_ctl(ep, EPOLL_CTL_MOD, ev[i].data.fd, &in);
		n++;
	}
	return n;
}

static void open_many(struct peer *p, int *fds, unsigned count)
{
	struct epoll_event ev[EVENTS];
	unsigned opened = 0, done = 0;
	while (done < count) {
		while (opened < count && opened - done < IN_FLIGHT) {
			fds[opened] = open_one(p);
			watch(fds[opened++], EPOLLOUT);
		}
		done += take_connected(ev, epoll_wait(ep, ev, EVENTS, 1000));
	}
}

static void active(const int *fds, unsigned count, double seconds)
{
	char data[MESSAGE] = {0};
	struct epoll_event ev[EVENTS];
	uint64_t start = load_now_ns(), cpu = cpu_ns(), end = start + seconds * 1e9;
	unsigned next = 0, sent = 0, done = 0;
	while (done < sent || load_now_ns() < end) {
		while (sent - done < IN_FLIGHT && sent - done < count && load_now_ns() < end) {
			if (send(fds[next++ % count], data, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
				load_die("send");
			sent++;
		}
		int got = epoll_wait(ep, ev, EVENTS, 1000);
		if (got <= 0 && load_now_ns() > end + 5000000000ull)
			load_die("an answer never came");
		for (int i = 0; i < got; i++) {
			if (recv(ev[i].data.fd, data, MESSAGE, MSG_WAITALL) != MESSAGE)
				load_die("recv");
			done++;
		}
	}
	printf("active %u %.0f %.0f\n", count, done * 1e9 / (load_now_ns() - start),
	       (double)(cpu_ns() - cpu) / done);
	fflush(stdout);
}

/* In a call of the library, as a program's event loop is. */
static void rest(void)
{
	struct epoll_event ev;
	uint64_t end = load_now_ns() + REST_NS;
	while (load_now_ns() < end && !stopped)
		epoll_wait(ep, &ev, 1, 100);
}

static void hold(struct peer *p, unsigned count, char **phases)
{
	int *fds = calloc(count + WARM_UP, sizeof(*fds));
	long before;
	uint64_t start;
	memset(fds, 1, (count + WARM_UP) * sizeof(*fds)); /* its pages are no connection's */
	open_many(p, fds, WARM_UP);
	before = own_bytes();
	start = load_now_ns();
	open_many(p, fds + WARM_UP, count);
	start = load_now_ns() - start;
	rest();
	say("opened", count, start, own_bytes() - before);
	for (; phases[0] && phases[1]; phases += 2)
		active(fds, atoi(phases[0]), atof(phases[1]));
	while (!stopped)
		rest();
}

static void rate(struct peer *p, double seconds, unsigned in_flight)
{
	struct epoll_event ev[EVENTS];
	uint64_t start = 0, cpu = 0, end = UINT64_MAX;
	unsigned opened = 0, done = 0, first = 0;
	char c;
	while (load_now_ns() < end) {
		if (!start && done >= WARM_UP) {
			start = load_now_ns();
			cpu = cpu_ns();
			end = start + seconds * 1e9;
			first = done;
		}
		for (; opened - done < in_flight; opened++)
			watch(open_one(p), EPOLLIN | EPOLLRDHUP);
		int got = epoll_wait(ep, ev, EVENTS, 1000);
		for (int i = 0; i < got; i++) {
			if (recv(ev[i].data.fd, &c, 1, 0))
				load_die("recv");
			close(ev[i].data.fd);
			done++;
		}
	}
	done -= first;
	printf("rate %.0f %.0f\n", done * 1e9 / (load_now_ns() - start),
	       (double)(cpu_ns() - cpu) / done);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct rlimit lim = {1 << 20, 1 << 20};
	struct peer p = {0};
	if (argc < 4)
		return 2;
	/* Without privilege what there is must do. */
	if (setrlimit(RLIMIT_NOFILE, &lim)) {
		getrlimit(RLIMIT_NOFILE, &lim);
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	sigaction(SIGTERM, &sa, NULL);
	ep = epoll_create1(0);
	p.len = load_addr(&p.to, argv[2], atoi(argv[3]));
	if (!strcmp(argv[1], "serve") && argc == 5) {
		serve(argv[2], atoi(argv[3]), atoi(argv[4]), 0);
	} else if (!strcmp(argv[1], "sink")) {
		serve(argv[2], atoi(argv[3]), 0, 1);
	} else if (!strcmp(argv[1], "hold") && argc >= 7) {
		load_addr(&p.from, argv[5], 0);
		p.sources = atoi(argv[6]);
		hold(&p, atoi(argv[4]), argv + 7);
	} else if (!strcmp(argv[1], "rate") && argc == 6) {
		rate(&p, atof(argv[4]), atoi(argv[5]));
	} else {
		return 2;
	}
	return 0;
}
