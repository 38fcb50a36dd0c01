/* SPDX-License-Identifier: BSD-2-Clause */
/* memcheck ADDR PORT: serves one TCP connection, then datagrams until an empty one comes; sends
 * back what comes. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static int sock(int type, const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, type, 0);

	return fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET}, from;
	socklen_t len = sizeof(from);
	static char buf[65536];
	int l, u, conn;
	ssize_t n;

	if (argc < 3 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
		return 2;
	at.sin_port = htons((uint16_t)atoi(argv[2]));
	u = sock(SOCK_DGRAM, &at);
	l = sock(SOCK_STREAM, &at);
	if (u < 0 || l < 0 || listen(l, 8))
		return 1;
	conn = accept(l, NULL, NULL);
	while ((n = recv(conn, buf, sizeof(buf), 0)) > 0)
		if (send(conn, buf, (size_t)n, 0) != n)
			return 1;
	close(conn);
	do {
		struct pollfd p = {.fd = u, .events = POLLIN};

		if (poll(&p, 1, 10000) != 1)
			return 1;
		len = sizeof(from);
		n = recvfrom(u, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
		if (n < 0 || sendto(u, buf, (size_t)n, 0, (struct sockaddr *)&from, len) != n)
			return 1;
	} while (n);
	return 0;
}
