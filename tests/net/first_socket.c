/* SPDX-License-Identifier: BSD-2-Clause */
/* first_socket udp|tcp|nonblock|bound|datagram ADDRESS: makes one socket, binds it (and listens;
 * nonblock: by a socket that does not block), or sends a datagram by it (bound: from that address,
 * to the next one), and prints the kilobytes that are resident then. */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7000)};
	bool nonblock = argc == 3 && !strcmp(argv[1], "nonblock");
	bool tcp = nonblock || (argc == 3 && !strcmp(argv[1], "tcp"));
	int s;

	if (argc != 3 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		errx(2, "usage: first_socket udp|tcp|nonblock|bound|datagram ADDRESS");
	s = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | (nonblock ? SOCK_NONBLOCK : 0), 0);
	if (s < 0)
		err(1, "socket");
	if (!strcmp(argv[1], "datagram")) {
		if (sendto(s, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1)
			err(1, "sendto");
	} else if (bind(s, (struct sockaddr *)&to, sizeof(to)) || (tcp && listen(s, 5))) {
		err(1, "bind");
	}
	if (!strcmp(argv[1], "bound")) {
		to.sin_addr.s_addr ^= htonl(3); /* (the peer of an address that ends in 1 or 2) */
		if (sendto(s, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1)
			err(1, "sendto");
	}
	printf("%ld\n", resident_kb());
	return 0;
}
