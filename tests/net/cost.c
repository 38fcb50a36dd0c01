/* SPDX-License-Identifier: BSD-2-Clause */
/* cost udp|tcp ADDRESS PORT send|sendmmsg|recv|zcopy|pingpong COUNT: calls with datagrams, or
 * messages, of 64 bytes, made in measured() alone, where callgrind counts them. What is received
 * has come already, so that nothing is counted that depends on when it comes. The far end sends
 * back what it gets (with send and sendmmsg it need not). zcopy: by recvfrom_zcopy() and
 * free_packets(), of UDP. */
#include <arpa/inet.h>
#include <err.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/compat/vma_extra.h"

#define SIZE      64
#define BATCH     32
#define SEGMENT   20
#define PAUSES    8 /* of what is done one by one, with pauses, so many times fewer */
#define WARM      4600
#define ECHO_PORT 7000 /* of UDP */

enum what { SEND, SENDMMSG, RECV, ZCOPY };

static struct vma_api_t *api;

static void rest(unsigned us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000l}, NULL);
}

static void send_many(int fd)
{
	static char data[SIZE];
	struct iovec iov = {data, SIZE};
	struct mmsghdr m[BATCH] = {0};

	for (int i = 0; i < BATCH; i++) {
		m[i].msg_hdr.msg_iov = &iov;
		m[i].msg_hdr.msg_iovlen = 1;
	}
	if (sendmmsg(fd, m, BATCH, 0) != BATCH)
		err(1, "sendmmsg");
}

static void receive(int fd, char *data)
{
	ssize_t n, got = 0;

	for (int tries = 0; got<SIZE; got += n> 0 ? n : 0) {
		n = recv(fd, data + got, (size_t)(SIZE - got), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && ++tries == 50))
			err(1, "recv");
		if (n < 0)
			rest(20000); /* (the machine is busy) */
	}
}

static void receive_zcopy(int fd)
{
	char list[100];
	int flags = MSG_DONTWAIT;
	ssize_t n = api->recvfrom_zcopy(fd, list, sizeof(list), &flags, NULL, NULL);

	for (int tries = 0; n < 0 && tries < 50; tries++) {
		rest(20000);
		flags = MSG_DONTWAIT;
		n = api->recvfrom_zcopy(fd, list, sizeof(list), &flags, NULL, NULL);
	}
	if (n != SIZE || flags != MSG_VMA_ZCOPY ||
	    api->free_packets(fd, ((struct vma_packets_t *)list)->pkts, 1))
		err(1, "recvfrom_zcopy");
}

void measured(int fd, enum what what, int n);

/* So many calls. */
__attribute__((noinline)) void measured(int fd, enum what what, int n)
{
	char data[SIZE] = {0};

	for (int i = 0; i < n; i++) {
		if (what == SENDMMSG)
			send_many(fd);
		else if (what == SEND && send(fd, data, SIZE, 0) != SIZE)
			err(1, "send");
		else if (what == RECV)
			receive(fd, data);
		else if (what == ZCOPY)
			receive_zcopy(fd);
	}
}

static void send_unmeasured(int fd, int n)
{
	static const char data[SIZE];

	for (int i = 0; i < n; i++)
		if (send(fd, data, SIZE, 0) != SIZE)
			err(1, "send");
}

/* Takes in what has come meanwhile, acknowledgments above all. */
static void drain(int fd)
{
	char data[65536];

	while (recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

/* A stream's window is open for a whole batch and nothing is under way: what a send finds, however
 * late the far end has acknowledged the last (a segment that has to wait is a cheaper send). */
static void settle(int fd)
{
	for (int tries = 0; tries < 500; tries++) {
		struct tcp_info info = {0};
		int waiting = 0;

		drain(fd);
		if (ioctl(fd, SIOCOUTQ, &waiting) ||
		    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &(socklen_t){sizeof(info)}))
			err(1, "the stream's state");
		if (!waiting && info.tcpi_snd_cwnd >= BATCH)
			return;
		if (!waiting)
			send_unmeasured(fd, BATCH);
		rest(5000);
	}
	errx(1, "the stream's window does not open");
}

static void ask(int fd, int n, bool stream)
{
	static const char data[SEGMENT * SIZE];

	if (stream) /* by one segment, as are the answers */
		send(fd, data, (size_t)n * SIZE, 0);
	else
		send_unmeasured(fd, n);
}

static void run(int fd, const char *how, int count, bool stream)
{
	bool zcopy = !strcmp(how, "zcopy"), recv = zcopy || !strcmp(how, "recv");
	int each = !strcmp(how, "pingpong") ? 1 : recv ? SEGMENT : BATCH;

	if (each == 1)
		count /= PAUSES;
	for (int done = 0; done < count; done += each) {
		if (stream)
			settle(fd);
		if (!strcmp(how, "send")) {
			measured(fd, SEND, each);
		} else if (!strcmp(how, "sendmmsg")) {
			measured(fd, SENDMMSG, 1);
		} else if (recv) {
			ask(fd, each, stream);
			rest(30000);
			measured(fd, zcopy ? ZCOPY : RECV, each);
		} else {
			measured(fd, SEND, 1);
			rest(10000);
			measured(fd, RECV, 1);
		}
		rest(1000);
		drain(fd);
	}
}

/* Until the rings are as they are in the long run: more come than the fill ring had at first. */
static void warm_up(struct sockaddr_in to, uint16_t port)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), got = 0;
	char data[SIZE];

	to.sin_port = htons(port);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "connect");
	for (int i = 0; i < 200 && got < WARM; i++) {
		send_unmeasured(fd, 2 * BATCH);
		rest(10000);
		while (recv(fd, data, SIZE, MSG_DONTWAIT) == SIZE)
			got++;
	}
	if (got < WARM)
		errx(1, "only %d of %d came back", got, WARM);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char hello[SIZE] = "e";
	int fd, count;
	bool stream;

	if (argc != 6)
		errx(2, "usage: cost udp|tcp ADDRESS PORT send|sendmmsg|recv|zcopy|pingpong COUNT");
	inet_pton(AF_INET, argv[2], &to.sin_addr);
	to.sin_port = htons((uint16_t)atoi(argv[3]));
	count = atoi(argv[5]);
	stream = !strcmp(argv[1], "tcp");
	fd = socket(AF_INET, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "connect");
	if (!strcmp(argv[1], "tcp") && send(fd, hello, 1, 0) != 1) /* tcp_peer: an echo is wanted */
		err(1, "send");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* (of a stream) */
	warm_up(to, ECHO_PORT);
	api = vma_get_api();
	if (!strcmp(argv[4], "zcopy") && !api)
		errx(1, "no vma_get_api()");
	run(fd, argv[4], BATCH, stream); /* paths, caches, pages */
	printf("ready\n");
	run(fd, argv[4], count, stream);
	return 0;
}
