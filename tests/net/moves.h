/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice's own calls, for test programs that run with and without it. */
#ifndef TESTS_MOVES_H
#define TESTS_MOVES_H

#include <dlfcn.h>

/* Calls the function of libsluice.so with that name; -1: this is a plain kernel process. */
static inline int sl_moves_call(const char *name, int fd)
{
	void *so = dlopen("libsluice.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*fn)(int);

	*(void **)&fn = so ? dlsym(so, name) : dlsym(RTLD_DEFAULT, name);
	return fn ? fn(fd) : -1;
}

static inline int sl_moves_hand_back(int fd)
{
	return sl_moves_call("sl_hand_back", fd);
}

static inline int sl_moves_take_over(int fd)
{
	return sl_moves_call("sl_take_over", fd);
}

#endif
