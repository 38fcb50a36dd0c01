/* SPDX-License-Identifier: BSD-2-Clause */
/* false_counters DIRECTORY LIKE INODE: a hostile program's counters, which are LIKE's, but that all
 * sockets are listeners with that inode; does as if it followed each request. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/stats.h"

static struct sl_stats *map(const char *path, int flags, size_t *bytes)
{
	int fd = open(path, flags, 0600);
	struct stat st;
	void *p;

	if (fd < 0 || (*bytes && ftruncate(fd, (off_t)*bytes)) || fstat(fd, &st))
		return NULL;
	*bytes = (size_t)st.st_size;
	p = mmap(NULL, *bytes, PROT_READ | (flags & O_RDWR ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	const struct sl_stats *like;
	struct sl_stats *s;
	size_t bytes = 0;
	char path[256];

	if (argc != 4 || !(like = map(argv[2], O_RDONLY, &bytes)))
		return 2;
	snprintf(path, sizeof(path), "%s/sluice.%d.stats", argv[1], (int)getpid());
	s = map(path, O_RDWR | O_CREAT, &bytes);
	if (!s)
		return 2;
	memcpy(s, like, bytes);
	s->pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < s->max_socks; i++) {
		s->sock[i].inode = (uint32_t)atoi(argv[3]);
		s->sock[i].proto = IPPROTO_TCP;
		s->sock[i].tcpi_state = 10; /* TCP_LISTEN */
		s->sock[i].remote_port = 0;
	}
	puts("ready");
	fflush(stdout);
	for (;; nanosleep(&pause, NULL)) {
		if (s->move_done == s->move_want)
			continue;
		for (uint32_t i = 0; i < s->max_socks; i++)
			s->sock[i].state = 0;
		s->move_done = s->move_want;
	}
}
