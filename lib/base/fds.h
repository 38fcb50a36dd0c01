/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own descriptors inside of a program: kept away from the numbers that the program
 * counts on, and safe from a program that closes everything. */
#ifndef SL_FDS_H
#define SL_FDS_H

#include "base/base.h"

#define SL_FD_MAX (1u << 20) /* the kernel's usual fs.nr_open; numbers beyond are not protected */

extern uint64_t sl_fd_bits[SL_FD_MAX / 64];

/* Takes a descriptor that was just opened for the library: moves it to a high number, past the
 * program's limit where that is possible, and marks it as ours until sl_sys_close(). Close-on-exec
 * is set. Returns the number it has now; it stays where it is when it cannot be moved. A negative
 * fd (an error) is returned as it is, -EBADF when the program has closed it already. Any thread;
 * errno is not touched. */
int sl_fd_keep(int fd);
/* Duplicates fd as a descriptor of the library's own. Returns it or -errno. */
int sl_fd_dup(int fd);

/* When this process dies the kernel closes this file after the program's, since to close it takes a
 * grace period of RCU (10 ms, hundreds at load): until the last shadow is closed its peers are not
 * refused. steers: while the file is open packets come to this process, so it is the first of
 * those. Any descriptor that sl_fd_keep() has returned; a negative one is ignored. sl_sys_close()
 * ends it. */
void sl_fd_last(int fd, bool steers);

/* Notes a descriptor of the library's that forked children must close, although they do not have
 * the memory in which its number stands. Returns fd, -1 for an error. */
int sl_fd_guard(int fd);
/* Marks fd as the library's without moving it: a move closes the old number, which may block
 * (sock/core/stranger.c). */
void sl_fd_protect(int fd);

/* A descriptor that stays open for what is asked again and again: each opening takes, for a moment,
 * a number that a thread of the program may be about to get. A child of fork opens its own. */
struct sl_fd_once {
	uint64_t word; /* process id << 32 | number; 0: not open */
};
/* The descriptor, which open(arg) makes at the first call. -errno of open(). Any thread. */
int sl_fd_once(struct sl_fd_once *o, int (*open)(const char *arg), const char *arg);
/* Closes it; the next call opens it anew. No other thread uses it meanwhile. */
void sl_fd_once_end(struct sl_fd_once *o);
/* sl_read_text() of a file of /proc or /sys by such a descriptor. */
long sl_fd_once_read(struct sl_fd_once *o, const char *path, char *text, size_t size);

/* True: this number is a descriptor of the library. */
static inline bool sl_fd_is_kept(int fd)
{
	return (uint32_t)fd < SL_FD_MAX &&
	       sl_unlikely(sl_load(&sl_fd_bits[(uint32_t)fd / 64]) >> (fd % 64) & 1);
}

/* The lowest number from first on that is the library's; UINT32_MAX: none. */
uint32_t sl_fd_next_kept(uint32_t first);
/* The number is no longer ours. sl_sys_close() does it. */
void sl_fd_forget(int fd);
/* In a forked child, after it has closed what it does not need: closes the descriptors that
 * sl_fd_guard() noted, and forgets the numbers of closed ones. */
void sl_fd_child(void);

/* Calls fn for each open descriptor of the process but the one it reads, as /proc/self/fd lists
 * them. fn may close them. 0; -errno: the list cannot be read. errno is not touched. */
int sl_fd_each(void (*fn)(int fd, void *arg), void *arg);

#endif
