/* SPDX-License-Identifier: BSD-2-Clause */
/* mlockall(2) within a limit of locked memory that is the program's, not the library's: what the
 * program has is locked, and its connection goes on. The peer echoes. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "t.h"

static void round_trip(int s, const char *when)
{
	char b[4];

	CHECK(send(s, "ping", 4, 0) == 4);
	CHECK(recv(s, b, 4, MSG_WAITALL) == 4);
	printf("%s: answered\n", when);
}

/* True: the kernel says that the mapping is locked. */
static bool is_locked(const void *at)
{
	unsigned long from = 0, to = 0;
	bool locked = false;
	char line[1000];
	FILE *f = fopen("/proc/self/smaps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "%lx-%lx ", &from, &to);
		if (!strncmp(line, "VmFlags:", 8) && (unsigned long)at >= from &&
		    (unsigned long)at < to)
			locked = strstr(line, " lo") != NULL;
	}
	if (f)
		fclose(f);
	return locked;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	char *own, on_stack = 0;
	int s;

	CHECK(argc == 4);
	parse(argv[3], 0, &t_own);
	parse(argv[1], atoi(argv[2]), &t_peer);
	CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	printf("a limit: %d\n", limit.rlim_cur <= 64 << 20);
	own = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(own != MAP_FAILED);
	s = socket(t_peer.ss_family, SOCK_STREAM, 0);
	CHECK(connect(s, (struct sockaddr *)&t_peer, t_len) == 0);
	round_trip(s, "before");
	say("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
	printf("own %d, constants %d, stack %d\n", is_locked(own), is_locked(argv[0]),
	       is_locked(&on_stack));
	round_trip(s, "after");
	own = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(own != MAP_FAILED);
	printf("later %d\n", is_locked(own));
	say("munlockall", munlockall());
	printf("own %d\n", is_locked(own));
	round_trip(s, "at last");
	limit.rlim_cur = 1 << 20;
	CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	say("mlockall", mlockall(MCL_CURRENT));
	return 0;
}
