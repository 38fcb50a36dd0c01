/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that may not read the time stamp counter goes on: first its socket, then that. */
#include "t.h"

#include <sys/prctl.h>

static void confined_later(void)
{
	struct pollfd p = {.events = POLLIN};
	int fd = udp(), tcp = tcp_said();
	char b[8];

	echo_said(tcp);
	say("prctl", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	echo_said(tcp);
	say("send", send(fd, "hello", 5, 0));
	say("recv", recv(fd, b, sizeof(b), 0));
	p.fd = fd;
	say("poll", poll(&p, 1, 20));
	close(tcp);
	echo_said(tcp_said());
}

static void confined_first(void)
{
	say("prctl", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	echo_said(tcp_said());
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"confined_later", confined_later},
					      {"confined_first", confined_first},
					      {NULL, NULL}};

	return t_main(argc, argv, cases);
}
