/* SPDX-License-Identifier: BSD-2-Clause */
/* The far end of TCP: a connection's first byte says what is done with it.
 *
 *	tcp_peer ADDRESS PORT
 *
 *	e	echoes until the end		s	sends STREAM bytes and ends
 *	h	holds still until the end	r	resets at the next byte
 *	c	connects back to the port after its own, CALLS times, one after the other */
#include "tcp_stream.h"

static void echo(int fd)
{
	char buf[16384];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		if (!send_all(fd, buf, (size_t)n))
			return;
}

static void stream(int fd)
{
	uint8_t buf[10000];

	for (uint32_t at = 0; at < STREAM; at += sizeof(buf)) {
		for (uint32_t i = 0; i < sizeof(buf); i++)
			buf[i] = byte_at(at + i);
		if (!send_all(fd, buf, sizeof(buf)))
			return;
	}
}

static void call_back(int fd)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);
	char got;

	CHECK(getpeername(fd, (struct sockaddr *)&to, &len) == 0);
	set_port(&to, (uint16_t)(port_of(&t_own) + 1));
	for (int i = 0; i < CALLS; i++) {
		int s = socket(to.ss_family, SOCK_STREAM, 0);

		if (connect(s, (struct sockaddr *)&to, len) == 0 && send_all(s, "x", 1) &&
		    recv(s, &got, 1, 0) == 1)
			send_all(fd, &got, 1);
		close(s);
	}
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	struct linger now = {1, 0};
	char what;

	if (recv(fd, &what, 1, 0) == 1) {
		switch (what) {
		case 'e':
			echo(fd);
			break;
		case 's':
			stream(fd);
			break;
		case 'c':
			call_back(fd);
			break;
		case 'r':
			recv(fd, &what, 1, 0);
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
			break;
		default:
			poll(&p, 1, 20000);
		}
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int ls, on = 1;

	if (argc != 3) {
		fprintf(stderr, "%s ADDRESS PORT\n", argv[0]);
		return 2;
	}
	parse(argv[1], atoi(argv[2]), &t_own);
	ls = socket(t_own.ss_family, SOCK_STREAM, 0);
	CHECK(setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(bind(ls, (struct sockaddr *)&t_own, t_len) == 0);
	CHECK(listen(ls, 100) == 0);
	for (;;) {
		int fd = accept(ls, NULL, NULL);
		pthread_t t;

		CHECK(fd >= 0);
		CHECK(pthread_create(&t, NULL, serve, (void *)(intptr_t)fd) == 0);
		pthread_detach(t);
	}
}
