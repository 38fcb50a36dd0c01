/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts of short messages with TCP_NODELAY, after which the program calls nothing: what was
 * written last must come all the same.
 *
 *   tcp_burst sink ADDRESS PORT FILE              takes connections in turn, counts bytes in FILE
 *   tcp_burst send ADDRESS PORT FILE BURSTS N     BURSTS times N messages of 100 bytes in a tight
 *                                                 loop, then waits until FILE has counted them all
 *   tcp_burst pairs ADDRESS PORT FILE N           N answers in two pieces, each when the one before
 * is acknowledged, then one in a single piece
 *
 * pairs prints how many segments N answers took, and how late the last one was. Another program
 * that has the core between the two pieces parts them, rightly: such an answer is made again, and
 * not one of the N. send prints how late the last byte of a burst was counted, median and worst in
 * microseconds; its status is 1 when one did not come within five seconds of no calls. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 100
#define WAIT_NS 5000000000ull

struct count {
	uint64_t bytes;
	uint64_t at_ns; /* when the last of them came */
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static struct count *map(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct count)) < 0)
		die(file);
	p = mmap(NULL, sizeof(struct count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	close(fd);
	return p;
}

static int open_socket(const char *host, const char *port, struct sockaddr_storage *ss,
		       socklen_t *len)
{
	struct sockaddr_in *in = (void *)ss;
	struct sockaddr_in6 *in6 = (void *)ss;
	int one = 1, fd;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
		*len = sizeof(*in);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
		*len = sizeof(*in6);
	} else {
		die(host);
	}
	fd = socket(ss->ss_family, SOCK_STREAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		die("socket");
	return fd;
}

static int sink(char **arg)
{
	struct count *c = map(arg[2]);
	struct sockaddr_storage ss;
	char buf[65536];
	socklen_t len;
	ssize_t n;
	int fd = open_socket(arg[0], arg[1], &ss, &len), conn;

	if (bind(fd, (struct sockaddr *)&ss, len) < 0 || listen(fd, 1) < 0)
		die("listen");
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		while ((n = recv(conn, buf, sizeof(buf), 0)) > 0) {
			__atomic_store_n(&c->at_ns, now_ns(), __ATOMIC_RELAXED);
			__atomic_store_n(&c->bytes, c->bytes + (uint64_t)n, __ATOMIC_RELEASE);
		}
		close(conn);
	}
	return 1;
}

/* Sleeps, so that others can run where there is one processor only. */
static void wait_for(const struct count *c, uint64_t bytes)
{
	struct timespec nap = {0, 20000};
	uint64_t end = now_ns() + WAIT_NS;

	while (__atomic_load_n(&c->bytes, __ATOMIC_ACQUIRE) < bytes) {
		if (now_ns() > end) {
			fprintf(stderr, "tcp_burst: %lu of %lu bytes came\n", c->bytes, bytes);
			exit(1);
		}
		nanosleep(&nap, NULL);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int connect_to(const char *host, const char *port)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd = open_socket(host, port, &ss, &len), one = 1;

	if (connect(fd, (struct sockaddr *)&ss, len) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		die("connect");
	return fd;
}

static int send_bursts(char **arg)
{
	struct count *c = map(arg[2]);
	unsigned bursts = (unsigned)atoi(arg[3]), n = (unsigned)atoi(arg[4]);
	uint64_t *late = calloc(bursts, sizeof(*late)), sent = c->bytes;
	char message[MESSAGE] = {0};
	int fd = connect_to(arg[0], arg[1]);

	for (unsigned i = 0; i < bursts; i++) {
		uint64_t end;

		for (unsigned k = 0; k < n; k++, sent += MESSAGE)
			if (send(fd, message, MESSAGE, 0) != MESSAGE)
				die("send");
		end = now_ns();
		wait_for(c, sent);
		late[i] = c->at_ns > end ? c->at_ns - end : 0;
	}
	qsort(late, bursts, sizeof(*late), by_size);
	printf("%u bursts of %u: last byte late by %.1f us, at most %.1f\n", bursts, n,
	       (double)late[bursts / 2] / 1e3, (double)late[bursts - 1] / 1e3);
	return 0;
}

static uint32_t info_of(int fd, size_t offset)
{
	struct tcp_info ti = {0};
	socklen_t len = sizeof(ti);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) < 0)
		die("TCP_INFO");
	return *(uint32_t *)((char *)&ti + offset);
}

static void send_piece(int fd, size_t n, uint64_t *sent)
{
	static const char message[MESSAGE];

	if (send(fd, message, n, 0) != (ssize_t)n)
		die("send");
	*sent += n;
}

static void wait_acked(int fd)
{
	while (info_of(fd, offsetof(struct tcp_info, tcpi_unacked)))
		usleep(1000);
}

/* How often another program took the core from this thread. */
static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
}

static int send_pairs(char **arg)
{
	struct count *c = map(arg[2]);
	unsigned n = (unsigned)atoi(arg[3]);
	uint64_t sent = c->bytes, end;
	int fd = connect_to(arg[0], arg[1]);
	unsigned done = 0, tries = 0, segments = 0, before;
	long was;

	for (; done < n && tries < 200 * n; tries++) {
		before = info_of(fd, offsetof(struct tcp_info, tcpi_data_segs_out));
		was = switches();
		send_piece(fd, 10, &sent);
		send_piece(fd, MESSAGE, &sent);
		was -= switches();
		wait_for(c, sent);
		wait_acked(fd);
		if (was == 0) {
			segments +=
				info_of(fd, offsetof(struct tcp_info, tcpi_data_segs_out)) - before;
			done++;
		}
	}
	if (done < n) {
		printf("only %u of %u answers had the core\n", done, tries);
		return 1;
	}
	printf("%u segments\n", segments);
	send_piece(fd, 10, &sent);
	end = now_ns();
	wait_for(c, sent);
	printf("%u answers in two pieces: a single piece after them was late by %.1f us\n", n,
	       c->at_ns > end ? (double)(c->at_ns - end) / 1e3 : 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "sink") == 0)
		return sink(argv + 2);
	if (argc == 7 && strcmp(argv[1], "send") == 0)
		return send_bursts(argv + 2);
	if (argc == 6 && strcmp(argv[1], "pairs") == 0)
		return send_pairs(argv + 2);
	fprintf(stderr, "usage: tcp_burst sink|send|pairs ADDRESS PORT FILE [BURSTS] [N]\n");
	return 2;
}
