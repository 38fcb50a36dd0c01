/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with a function OWN that has a name of libbpf's (dnsdist has a bpf_prog_load()):
 * answers ten datagrams to ADDRESS 7000, and prints whether the function was called. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#ifndef OWN
#define OWN bpf_prog_load
#endif

static int calls;

__attribute__((visibility("default"))) long OWN(void);
long OWN(void)
{
	calls++;
	return -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(7000)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char buf[2048];

	if (argc != 2 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return 1;
	for (int i = 0; i < 10; i++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

		if (n < 0 || sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len) != n)
			return 1;
	}
	printf("answered ten, called %d times\n", calls);
	return 0;
}
