/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that stands still for a while, which no veth can play: the transmit ring of a real lane
 * is replaced by one that takes a few descriptors and starts none, until it is let go.
 *
 *   txroom OWN PEER PORT CASE
 *
 *   order    datagrams wait on the ring, and a blocking sender behind them, for long
 *   segments the same with one call of more segments than there is room for
 *   poll     a non-blocking sender that was refused waits in poll(2) for POLLOUT
 *   timeo    SO_SNDTIMEO ends the wait      signal   so does a signal handler
 *   link     nothing lets it go: the device's link is lost meanwhile
 *
 * Prints what the calls gave, and whether the wait was a sleep. Datagrams are single bytes, a and
 * so on, and a '.' at the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/leg.h"

#define HOLDS    8      /* packets that the ring takes while it stands still */
#define STALL_US 400000 /* a sender spins for less, unless it tries a thousand times */

static const struct sl_tx_ops *real;
static bool still;
static uint32_t held;
static int fd;
static struct sockaddr_in peer;

static unsigned post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	if (sl_load(&still)) {
		if (held == HOLDS)
			return 0;
		held += n;
	}
	return real->post(tx, descs, n);
}

static int kick(struct sl_tx *tx)
{
	return sl_load(&still) ? -EAGAIN : real->kick(tx);
}

static unsigned reap(struct sl_tx *tx, struct sl_frames *cache)
{
	return real->reap(tx, cache);
}

static uint32_t room(struct sl_tx *tx)
{
	return sl_load(&still) ? HOLDS - held : real->room(tx);
}

static void *let_go(void *arg)
{
	int tos = 0x10;

	usleep(STALL_US / 4);
	sl_setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)); /* new headers make no room */
	usleep(STALL_US * 3 / 4);
	sl_store(&still, false);
	return arg;
}

static void on_alarm(int sig)
{
	(void)sig;
	sl_signal_seen(sig, NULL, NULL, false);
}

static uint64_t us_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static ssize_t put(char c)
{
	return sl_sendto(fd, &c, 1, 0, (struct sockaddr *)&peer, sizeof(peer));
}

static ssize_t put_segments(void)
{
	int one = 1;

	sl_setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &one, sizeof(one));
	return sl_sendto(fd, "ijklmnopqrstuvwx", 16, 0, (struct sockaddr *)&peer, sizeof(peer));
}

static ssize_t put_when_told(void)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	ssize_t n;
	int told;

	sl_fcntl(fd, F_SETFL, O_NONBLOCK);
	n = put('i');
	told = sl_poll(&p, 1, NULL, NULL);
	printf("refused: %zd, told: %d %d\n", n, told, p.revents);
	return put('i');
}

static ssize_t wait_in(const char *what)
{
	struct timeval tv = {.tv_usec = STALL_US / 2};
	struct itimerval in = {.it_value = tv};
	struct sigaction sa = {.sa_handler = on_alarm};

	if (!strcmp(what, "timeo"))
		sl_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (!strcmp(what, "signal")) {
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &in, NULL);
	}
	if (!strcmp(what, "segments"))
		return put_segments();
	return !strcmp(what, "poll") ? put_when_told() : put('i');
}

static bool open_socket(const char *addr)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	struct sl_sock *sk;

	inet_pton(AF_INET, addr, &own.sin_addr);
	fd = sl_socket(AF_INET, SOCK_DGRAM, 0);
	sk = sl_fd_sock(fd);
	if (!sk || sl_bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return false;
	/* Until the neighbour is known the kernel sends. */
	for (int i = 0; i < 500 && (!sl_udp_sk(sk)->path.leg || sk->stats->tx_pkts == 0); i++) {
		put('_');
		usleep(10000);
	}
	return sl_udp_sk(sk)->path.leg && sk->stats->tx_pkts;
}

static void stand_still(void)
{
	static const struct sl_tx_ops ops = {
		.name = "still", .post = post, .kick = kick, .reap = reap, .room = room};
	struct sl_tx *tx = sl_udp_sk(sl_fd_sock(fd))->path.leg->tx;

	real = tx->ops;
	still = true;
	tx->ops = &ops;
	for (char c = 'a'; c < 'a' + HOLDS; c++)
		put(c);
}

int main(int argc, char **argv)
{
	uint64_t cpu, wall;
	pthread_t t;
	ssize_t n;

	if (argc != 5)
		return 2;
	peer = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(argv[3]))};
	inet_pton(AF_INET, argv[2], &peer.sin_addr);
	if (!open_socket(argv[1]))
		return 1;
	stand_still();
	printf("still\n");
	fflush(stdout);
	if (strcmp(argv[4], "link") != 0)
		pthread_create(&t, NULL, let_go, NULL);
	wall = us_of(CLOCK_MONOTONIC);
	cpu = us_of(CLOCK_THREAD_CPUTIME_ID);
	n = wait_in(argv[4]);
	wall = us_of(CLOCK_MONOTONIC) - wall;
	cpu = us_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%s: %zd, waited: %d, slept: %d\n", argv[4], n, wall >= STALL_US / 2,
	       cpu * 4 < wall);
	if (strcmp(argv[4], "link") != 0) {
		pthread_join(t, NULL);
		put('.');
	}
	return 0;
}
