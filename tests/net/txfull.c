/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that takes no more, which no veth can play: the transmit ring of a real lane is replaced
 * by one that is always full.
 *
 *   txfull OWN PEER PORT
 *
 * Prints what a non-blocking send gives: with an empty send buffer, and with a full one. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/leg.h"

static unsigned full(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	return 0;
}

static int no_kick(struct sl_tx *tx)
{
	return -EAGAIN;
}

static unsigned no_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	return 0;
}

static struct sockaddr_in name(const char *addr, int port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, addr, &sin.sin_addr);
	return sin;
}

int main(int argc, char **argv)
{
	static const struct sl_tx_ops ops = {
		.name = "full", .post = full, .kick = no_kick, .reap = no_reap};
	struct sockaddr_in own, peer;
	struct sl_sock *sk;
	int fd;

	if (argc != 4)
		return 2;
	own = name(argv[1], 0);
	peer = name(argv[2], atoi(argv[3]));
	fd = sl_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	sk = sl_fd_sock(fd);
	if (!sk || sl_bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return 1;
	/* Until the neighbour is known the kernel sends. */
	for (int i = 0; i < 500 && (!sl_udp_sk(sk)->path.leg || sk->stats->tx_pkts == 0); i++) {
		sl_sendto(fd, "x", 1, 0, (struct sockaddr *)&peer, sizeof(peer));
		usleep(10000);
	}
	if (!sl_udp_sk(sk)->path.leg || sk->stats->tx_pkts == 0)
		return 1;
	sl_udp_sk(sk)->path.leg->tx->ops = &ops;
	sk->stats->tx_eagain = 0;
	printf("room in the buffer: %zd\n",
	       sl_sendto(fd, "hello", 5, 0, (struct sockaddr *)&peer, sizeof(peer)));
	sl_udp_sk(sk)->wmem = sl_udp_sk(sk)->sndbuf;
	printf("none: %zd\n", sl_sendto(fd, "hello", 5, 0, (struct sockaddr *)&peer, sizeof(peer)));
	printf("counted: %d\n", (int)sk->stats->tx_eagain);
	return 0;
}
