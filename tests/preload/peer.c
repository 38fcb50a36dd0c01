/* SPDX-License-Identifier: BSD-2-Clause */
/* The other end of the programs of this room, on the kernel's sockets: `peer ADDRESS PORT`. A
 * datagram "S count len delay gap" is answered by `count` datagrams of `len` bytes that begin with
 * their number, `gap` ms apart, the first after `delay` ms; any other datagram comes back. Bytes of
 * a TCP connection come back, too. */
#include "t.h"

struct job {
	int fd;
	struct sockaddr_storage to;
	socklen_t len;
	int count, bytes, delay, gap;
};

static void *serve(void *arg)
{
	struct job *j = arg;
	char buf[65536];

	sleep_ms(j->delay);
	for (int i = 0; i < j->count; i++) {
		memset(buf, '.', sizeof(buf));
		snprintf(buf, sizeof(buf), "%d", i);
		sendto(j->fd, buf, (size_t)j->bytes, 0, (struct sockaddr *)&j->to, j->len);
		if (j->gap)
			sleep_ms(j->gap);
	}
	free(j);
	return NULL;
}

static void *echo(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[65536];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		send(fd, buf, (size_t)n, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

static int lsn;

static void *streams(void *arg)
{
	pthread_attr_t *attr = arg;
	pthread_t t;

	for (;;) {
		int fd = accept(lsn, NULL, NULL);

		if (fd >= 0)
			CHECK(pthread_create(&t, attr, echo, (void *)(intptr_t)fd) == 0);
	}
}

int main(int argc, char **argv)
{
	char buf[65536];
	pthread_attr_t attr;
	pthread_t t;
	int fd;

	if (argc != 3)
		return 2;
	parse(argv[1], atoi(argv[2]), &t_own);
	/* Tests wait for the UDP socket, and then connect. */
	lsn = socket(t_own.ss_family, SOCK_STREAM, 0);
	CHECK(setsockopt(lsn, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0);
	CHECK(bind(lsn, (struct sockaddr *)&t_own, t_len) == 0 && listen(lsn, 100) == 0);
	fd = udp_bound();
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	CHECK(pthread_create(&t, NULL, streams, &attr) == 0);
	for (;;) {
		struct job *j = calloc(1, sizeof(*j));
		ssize_t n;

		j->len = sizeof(j->to);
		n = recvfrom(fd, buf, sizeof(buf) - 1, 0, (struct sockaddr *)&j->to, &j->len);
		if (n < 0)
			continue;
		buf[n] = 0;
		j->fd = fd;
		if (sscanf(buf, "S %d %d %d %d", &j->count, &j->bytes, &j->delay, &j->gap) == 4) {
			CHECK(pthread_create(&t, &attr, serve, j) == 0);
			continue;
		}
		sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&j->to, j->len);
		free(j);
	}
}
