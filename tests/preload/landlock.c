/* SPDX-License-Identifier: BSD-2-Clause */
/* Landlock forbids a port: the library connects to none that the kernel would not. */
#include "t.h"

#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CONNECT_TCP 2

static void restrict_to(uint64_t files, uint64_t ports)
{
	uint64_t attr[3] = {files, ports, 0};
	long set = syscall(444, attr, 16, 0);

	if (set < 0) {
		printf("no Landlock for ports\n");
		exit(0);
	}
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(446, set, 0) == 0);
}

static void ports(void)
{
	int before = tcp_said(), made = socket(t_peer.ss_family, SOCK_STREAM, 0);

#ifndef __SANITIZE_ADDRESS__ /* which handles SIGSEGV itself */
	say("bad address", syscall(444, 8L, 16, 0));
#endif
	restrict_to(0, CONNECT_TCP);
	echo_said(before);
	say("connect", connect(made, (struct sockaddr *)&t_peer, t_len));
	close(tcp_said());
	echo_said(before);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"ports", ports}, {NULL, NULL}};

	return t_main(argc, argv, cases);
}
