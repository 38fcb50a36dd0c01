/* SPDX-License-Identifier: BSD-2-Clause */
/* nproc PEER PORT OWN before|after|soft|inherited: a program whose limit of processes allows no
 * thread, set before its first socket, after it, below a higher hard limit, or by its parent. Says
 * its process id when it has its connection, and ends with its standard input. The peer echoes. */
#include <sys/resource.h>

#include "t.h"

static void limit(rlim_t most, rlim_t hard)
{
	struct rlimit to = {most, hard};

	CHECK(setrlimit(RLIMIT_NPROC, &to) == 0);
}

static void round_trip(int s, const char *when)
{
	char b[4];

	CHECK(send(s, "ping", 4, 0) == 4);
	CHECK(recv(s, b, 4, MSG_WAITALL) == 4);
	printf("%s: answered\n", when);
}

static int meet(void)
{
	int s = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(connect(s, (struct sockaddr *)&t_peer, t_len) == 0);
	return s;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	struct rlimit now;
	pthread_t thread;
	int s = -1, t;
	char b;

	CHECK(argc == 5);
	parse(argv[3], 0, &t_own);
	parse(argv[1], atoi(argv[2]), &t_peer);
	CHECK(getrlimit(RLIMIT_NPROC, &now) == 0);
	if (!strcmp(argv[4], "after")) {
		s = meet();
		round_trip(s, "before the limit");
	}
	if (!strcmp(argv[4], "soft"))
		limit(1, now.rlim_max);
	else if (strcmp(argv[4], "inherited") != 0)
		limit(0, 0);
	t = meet();
	round_trip(t, "under the limit");
	if (s >= 0)
		round_trip(s, "the first one");
	CHECK(getrlimit(RLIMIT_NPROC, &now) == 0);
	printf("limit %d, a thread: %d\n", (int)now.rlim_cur,
	       pthread_create(&thread, NULL, nothing, NULL));
	sleep_ms(50); /* (what arrives meanwhile is answered without the program) */
	round_trip(t, "after a pause");
	fprintf(stderr, "%d\n", getpid());
	CHECK(read(0, &b, 1) == 0);
	round_trip(t, "at last");
	return 0;
}
