/* SPDX-License-Identifier: BSD-2-Clause */
/* member ADDRESS PORT: sends back what comes by TCP and by UDP, from one thread; one of the crowd
 * that tests/net/crowd.c starts and kills. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS 16

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static char data[65536];

static int bound(const union addr *at, int type)
{
	socklen_t len = at->sa.sa_family == AF_INET ? sizeof(at->in) : sizeof(at->in6);
	int fd = socket(at->sa.sa_family, type, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, &at->sa, len) || (type == SOCK_STREAM && listen(fd, 16)))
		exit(1);
	return fd;
}

static void echo_datagrams(int fd)
{
	union addr from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, data, sizeof(data), MSG_DONTWAIT, &from.sa, &len)) >= 0) {
		sendto(fd, data, n, 0, &from.sa, len);
		len = sizeof(from);
	}
}

/* False: it is over. (What it asks for is less than a buffer, so it does not block.) */
static bool echo_bytes(int fd)
{
	ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);

	if (n > 0)
		n = send(fd, data, n, MSG_NOSIGNAL);
	return n > 0;
}

int main(int argc, char **argv)
{
	struct pollfd p[2 + CONNS];
	union addr at = {};
	nfds_t n = 2;

	if (argc != 3)
		return 2;
	at.sa.sa_family = strchr(argv[1], ':') ? AF_INET6 : AF_INET;
	at.in.sin_port = htons(atoi(argv[2])); /* at the same place in both */
	if (inet_pton(at.sa.sa_family, argv[1],
		      at.sa.sa_family == AF_INET ? (void *)&at.in.sin_addr : &at.in6.sin6_addr) !=
	    1)
		return 2;
	p[0] = (struct pollfd){bound(&at, SOCK_DGRAM), POLLIN, 0};
	p[1] = (struct pollfd){bound(&at, SOCK_STREAM), POLLIN, 0};
	for (;;) {
		if (poll(p, n, -1) < 0)
			return 1;
		if (p[0].revents)
			echo_datagrams(p[0].fd);
		for (nfds_t i = n; i-- > 2;)
			if (p[i].revents && !echo_bytes(p[i].fd)) {
				close(p[i].fd);
				p[i] = p[--n];
			}
		if (p[1].revents && n < 2 + CONNS)
			p[n++] = (struct pollfd){accept(p[1].fd, NULL, NULL), POLLIN, 0};
	}
}
