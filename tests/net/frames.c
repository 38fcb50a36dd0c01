/* SPDX-License-Identifier: BSD-2-Clause */
/* frames PID: where the frames are of the packet memory that the daemon PID serves: in the pool,
 * with living members, with dead ones, posted by the dead; the rest is in fill and receive rings or
 * in the hands of devices. One line of these five numbers. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/share.h"

/* The memory of the group among the descriptors of the process. */
static int open_share(const char *pid)
{
	char dir[64], path[512], to[64];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%s/fd", pid);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = 0;
		if (strstr(to, "memfd:sluice-share"))
			return open(path, O_RDWR);
	}
	return -1;
}

int main(int argc, char **argv)
{
	uint32_t pool, living = 0, dead = 0, orphans = 0, rest = 0;
	struct sl_share g;
	struct stat st;
	void *mem;
	int fd = argc == 2 ? open_share(argv[1]) : -1;

	if (fd < 0 || fstat(fd, &st))
		return 2;
	mem = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED || sl_share_map(&g, mem, (size_t)st.st_size))
		return 2;
	pool = sl_share_left(&g);
	for (uint32_t i = 0; i < g.nframes; i++) {
		union sl_frame_word w = {.all = sl_load(&g.word[i].all)};

		if (w.owner && sl_load(&g.member[w.owner].state) == SL_MEMBER_LIVE)
			living++;
		else if (w.owner)
			dead++;
		else if (w.flight)
			orphans++;
		else
			rest++;
	}
	printf("%u %u %u %u %u\n", pool, living, dead, orphans, rest - pool);
	return 0;
}
