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
/* Above every number that has had an object: where a search of the whole table ends. (Reading all
 * of the table takes 40 ms and 8 MB the first time.) It only grows, also in a new child; atomic. */
extern uint32_t sl_fdtab_end;

/* The table's size for look-ups, in a page of its own that the kernel zeroes in a child with memory
 * of its own. There the table seems empty until sl_fork_child() has run, so that the first look-up
 * detects the fork (fdtab.c). */
#ifdef __x86_64__
#define SL_FDTAB_PAGE 4096
#else
#define SL_FDTAB_PAGE 65536 /* no architecture's pages are larger */
#endif
extern union sl_fdtab_own {
	struct {
		uint32_t size; /* atomic */
		uint32_t tid;  /* of the child's thread that has noticed the fork; atomic */
	};
	char page[SL_FDTAB_PAGE];
} sl_fdtab_own;
#define sl_fdtab_size (sl_fdtab_own.size)

/* Looks up a number beyond sl_fdtab_size; detects a fork that was not noticed. */
uintptr_t sl_fdtab_beyond(int fd);

static inline uintptr_t sl_fdtab_word(int fd)
{
	if (sl_likely((uint32_t)fd < sl_fdtab_size))
		return sl_load_acquire(&sl_fdtab[fd]);
	return sl_fdtab_beyond(fd);
}

/* For calls that look no number up: detects a fork that was not noticed. */
static inline void sl_fdtab_notice(void)
{
	if (sl_unlikely(!sl_load(&sl_fdtab_size)))
		sl_fdtab_beyond(-1);
}

/* sl_fork_child() calls these first and last. False: its work is done, since a look-up in the child
 * has noticed the fork before. */
bool sl_fdtab_child_begin(void);
void sl_fdtab_child_end(void);

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
