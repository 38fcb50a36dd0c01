/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptor table: whose a descriptor is, a look-up decides. One word for each descriptor number,
 * read without a lock; objects behind it are type-stable (never given back to the system), so a
 * stale pointer is safe to look at: take its lock, then check that it is still what you meant. */
#ifndef SL_FDTAB_H
#define SL_FDTAB_H

#include "base/base.h"

struct sl_sock;
struct sl_epoll;

enum sl_fd_kind { SL_FD_NONE, SL_FD_SOCK, SL_FD_EPOLL };

extern uintptr_t *sl_fdtab; /* word: pointer | kind (2 bits) */
extern uint32_t sl_fdtab_size;

static inline uintptr_t sl_fdtab_word(int fd)
{
	return sl_likely((uint32_t)fd < sl_fdtab_size) ? sl_load_acquire(&sl_fdtab[fd]) : 0;
}

static inline struct sl_sock *sl_fd_sock(int fd)
{
	uintptr_t w = sl_fdtab_word(fd);

	return (w & 3) == SL_FD_SOCK ? (struct sl_sock *)(w - SL_FD_SOCK) : NULL;
}

static inline struct sl_epoll *sl_fd_epoll(int fd)
{
	uintptr_t w = sl_fdtab_word(fd);

	return (w & 3) == SL_FD_EPOLL ? (struct sl_epoll *)(w - SL_FD_EPOLL) : NULL;
}

int sl_fdtab_init(void);
/* Puts an object behind a number. -EMFILE: the number is beyond the table. */
int sl_fdtab_set(int fd, enum sl_fd_kind kind, void *obj);
void sl_fdtab_clear(int fd);

#endif
