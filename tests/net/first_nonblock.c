/* SPDX-License-Identifier: BSD-2-Clause */
/* first_nonblock nonblock|block ADDRESS PORT FILE: its first call that needs a device connects,
 * then datagrams go out; both are echoed, which it says. The word "calls" is written to standard
 * error before and after the first calls. It ends when the file is there. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE 20000 /* ms */

static void wait_for(int s, short what)
{
	struct pollfd p = {.fd = s, .events = what};

	if (poll(&p, 1, PATIENCE) != 1)
		errx(1, "nothing happens");
}

static void mark(void)
{
	if (write(2, "calls\n", 6) != 6)
		err(1, "write");
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int flag = argc == 5 && !strcmp(argv[1], "nonblock") ? SOCK_NONBLOCK : 0, t, u, error;
	socklen_t len = sizeof(error);
	char buf[8] = "";

	if (argc != 5 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		errx(2, "usage: first_nonblock nonblock|block ADDRESS PORT FILE");
	to.sin_port = htons((uint16_t)atoi(argv[3]));
	t = socket(AF_INET, SOCK_STREAM | flag, 0);
	u = socket(AF_INET, SOCK_DGRAM | flag, 0);
	mark();
	if (connect(t, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		err(1, "connect");
	if (sendto(u, "one", 3, 0, (struct sockaddr *)&to, sizeof(to)) != 3)
		err(1, "sendto");
	mark();
	wait_for(t, POLLOUT);
	if (getsockopt(t, SOL_SOCKET, SO_ERROR, &error, &len) || error)
		errx(1, "connect: %s", strerror(error));
	if (send(t, "hello", 5, 0) != 5)
		err(1, "send");
	wait_for(t, POLLIN);
	if (recv(t, buf, 5, MSG_WAITALL) == 5)
		printf("stream %s\n", buf);
	for (int i = 0; i < 2; i++) {
		wait_for(u, POLLIN);
		if (recv(u, buf, 3, 0) == 3)
			printf("datagram %.3s\n", buf);
		if (!i && sendto(u, "two", 3, 0, (struct sockaddr *)&to, sizeof(to)) != 3)
			err(1, "sendto");
	}
	fflush(stdout);
	for (int i = 0; access(argv[4], F_OK) && i < PATIENCE / 10; i++)
		usleep(10000);
	return 0;
}
