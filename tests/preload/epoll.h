/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the programs about epoll. */
#ifndef T_EPOLL_H
#define T_EPOLL_H

#include "t.h"

static inline void add(int ep, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = {.events = events, .data.u64 = data};

	CHECK(epoll_ctl(ep, op, fd, &ev) == 0);
}

static inline int by_data(const void *a, const void *b)
{
	const struct epoll_event *x = a, *y = b;

	return x->data.u64 < y->data.u64 ? -1 : x->data.u64 > y->data.u64;
}

/* Calls epoll_wait() once and prints the number and each event, in order of data. */
static inline int show(const char *what, int ep, int max, int ms)
{
	struct epoll_event ev[64];
	int n = epoll_wait(ep, ev, max, ms);

	if (n < 0) {
		say(what, n);
		return n;
	}
	qsort(ev, (size_t)n, sizeof(ev[0]), by_data);
	printf("%s: %d", what, n);
	for (int i = 0; i < n; i++)
		printf(" [%llu %#x]", (unsigned long long)ev[i].data.u64, ev[i].events);
	printf("\n");
	fflush(stdout);
	return n;
}

#endif
