/* SPDX-License-Identifier: BSD-2-Clause */
/* echo ADDRESS PORT [spin]: sends every datagram back to where it came from; blocking, or spinning
 * on a non-blocking socket. Its receive buffer is the largest possible, since it may get no core
 * for a while. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	static char data[65536];
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at = {};
	if (argc < 3)
		return 2;
	at.sa.sa_family = strchr(argv[1], ':') ? AF_INET6 : AF_INET;
	at.in.sin_port = htons(atoi(argv[2]));
	if (inet_pton(at.sa.sa_family, argv[1],
		      at.sa.sa_family == AF_INET ? (void *)&at.in.sin_addr : &at.in6.sin6_addr) !=
	    1)
		return 2;
	int fd = socket(at.sa.sa_family, SOCK_DGRAM, 0), one = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){1 << 30}, sizeof(int));
	if (fd < 0 || bind(fd, &at.sa, at.sa.sa_family == AF_INET ? sizeof(at.in) : sizeof(at.in6)))
		return 1;
	if (argc > 3)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		socklen_t len = sizeof(at);
		ssize_t n = recvfrom(fd, data, sizeof(data), 0, &at.sa, &len);
		if (n >= 0)
			sendto(fd, data, n, 0, &at.sa, len);
	}
}
