/* SPDX-License-Identifier: BSD-2-Clause */
/* left_callback ADDRESS PORT: UDP sockets on PORT, with a callback, and PORT + 1. The callback is
 * left by pthread_exit(3), then by longjmp(3). Prints what still works. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice_extra.h"

static int (*set)(int fd, sl_recv_fn *fn, void *arg);
static unsigned seen;

static int by_exit(int fd, size_t niov, struct iovec *iov, struct sl_packet_info *info, void *arg)
{
	pthread_exit(NULL);
}

static int as_usual(int fd, size_t niov, struct iovec *iov, struct sl_packet_info *info, void *arg)
{
	seen++;
	return SL_PACKET_RECV;
}

static int udp(const char *own, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval patience = {.tv_sec = 10};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, own, &a.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a))) {
		perror("bind");
		exit(1);
	}
	return fd;
}

/* How many of five calls bring a datagram. */
static int five(int fd)
{
	char b[100];
	int n = 0;

	for (int i = 0; i < 5; i++)
		n += recv(fd, b, sizeof(b), 0) > 0;
	return n;
}

static void *reader(void *arg)
{
	five(*(int *)arg);
	return "not left";
}

static void *poller(void *arg)
{
	struct pollfd p = {.fd = *(int *)arg, .events = POLLIN};

	for (int i = 0; i < 5; i++) {
		char b[100];

		poll(&p, 1, 10000);
		recv(p.fd, b, sizeof(b), MSG_DONTWAIT);
	}
	return "not left";
}

int main(int argc, char **argv)
{
	void *so, *ret;
	int port = atoi(argv[2]), fd = udp(argv[1], port), other = udp(argv[1], port + 1);
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);

	so = dlopen("libsluice.so.1", RTLD_LAZY | RTLD_NOLOAD); /* the first socket has loaded it */
	*(void **)&set = dlsym(so ? so : RTLD_DEFAULT, "sl_recv_callback");
	puts("ready");
	fflush(stdout);
	if (!set || five(fd) != 5 || five(other) != 5)
		return 2;
	for (int i = 0; i < 2; i++) {
		set(fd, by_exit, NULL);
		pthread_create(&t, NULL, i ? poller : reader, &fd);
		pthread_join(t, &ret);
		printf("the thread ended %s\n", ret ? "otherwise" : "in the callback");
		set(fd, as_usual, NULL);
		for (seen = 0; seen < 5 && five(fd) == 5;)
			;
		printf("afterwards the callback is asked: %d, the other socket: %d\n", seen >= 5,
		       five(other));
	}
	close(fd);
	fd = udp(argv[1], port);
	printf("a new socket: %d\n", five(fd));
	return 0;
}
