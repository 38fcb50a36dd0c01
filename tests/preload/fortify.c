/* SPDX-License-Identifier: BSD-2-Clause */
/* A program built with -D_FORTIFY_SOURCE=2: its calls have other names (__recv_chk, ...). */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#pragma GCC optimize("O2")
#include "t.h"

/* The compiler must know the size of the buffer and not that of the length. */
static volatile size_t len = 20;
static char buf[40];

static void sizes(void)
{
	struct timespec ts = {5, 0};
	struct sockaddr_storage from;
	socklen_t n = sizeof(from);
	struct pollfd p[2];
	volatile nfds_t one = 1;
	int fd = udp();

	p[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	CHECK(send(fd, "first", 5, 0) == 5);
	say("poll", poll(p, one, 5000));
	say("recv", recv(fd, buf, len, 0));
	CHECK(send(fd, "second!", 7, 0) == 7);
	say("ppoll", ppoll(p, one, &ts, NULL));
	say("recvfrom", recvfrom(fd, buf, len, 0, (struct sockaddr *)&from, &n));
	printf("from the peer: %d\n", n == t_len && memcmp(&from, &t_peer, 8) == 0);
	CHECK(send(fd, "3", 1, 0) == 1);
	say("read", read(fd, buf, len));
	close(fd);
	fd = udp();
	say("dprintf", dprintf(fd, "%s", "fourth"));
	say("read", read(fd, buf, len));
	close(fd);
}

/* Each goes wrong in a child of its own: SIGABRT. */
static void overflow(const char *what, int which)
{
	volatile nfds_t many = 100;
	volatile size_t more = 41;
	struct pollfd p[1];
	int st, fd = udp();
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(2);
		p[0] = (struct pollfd){.fd = fd, .events = POLLIN};
		if (which == 0)
			recv(fd, buf, more, MSG_DONTWAIT);
		else if (which == 1)
			(void)!read(fd, buf, more);
		else if (which == 2)
			recvfrom(fd, buf, more, 0, NULL, NULL);
		else
			poll(p, many, 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid);
	printf("%s: %s\n", what, WIFSIGNALED(st) ? strsignal(WTERMSIG(st)) : "nothing noticed");
	close(fd);
}

static void overflows(void)
{
	overflow("recv", 0);
	overflow("read", 1);
	overflow("recvfrom", 2);
	overflow("poll", 3);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"sizes", sizes},
		{"overflows", overflows},
		{NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
