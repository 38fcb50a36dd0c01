/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes outlive execve(2), for the program that gets the listener.
 *
 * Theory of operation: connections that waited in the queue of a process that executes another
 * program, or of the parent of such a child, are in the queue of the kernel's listener by then, or,
 * where they could not be put there (repair/repair_queue.c), in the listener's box. So the box's
 * two ends stay open over the execve, and one of them has a name with the listener's inode. The new
 * program finds both ends by that name when it uses the listener for the first time (given.c), and
 * accepts from box and queue, as a forked child does. A program without the library has two more
 * descriptors. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "base/fds.h"
#include "base/sys.h"
#include "sock/core/sock.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"

#define NAME        "sluice-box/"
#define NUMBERS_MAX 65536 /* that are looked at one by one: some milliseconds */
#define BEYOND      1024  /* and so many past the limit, where the library keeps its own */

/* Writes n in hexadecimal digits, at most 16; returns behind them. */
static char *put_hex(char *to, uint64_t n)
{
	char digits[16];
	unsigned d = 0;

	do
		digits[d++] = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	while (d)
		*to++ = digits[--d];
	*to++ = '/';
	return to;
}

/* The part of the name that all boxes of the listener have; returns its length. The first byte is
 * 0: abstract. */
static socklen_t prefix_of(uint32_t inode, char *path)
{
	path[0] = 0;
	memcpy(path + 1, NAME, sizeof(NAME) - 1);
	return (socklen_t)(put_hex(path + sizeof(NAME), inode) - path);
}

bool sl_tlisten_over_exec(const struct sl_sock *sk)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t len = prefix_of(sk->inode, name.sun_path);
	int end[2];
	char byte;

	if (!sl_tbox_ends(sk, end))
		return false;
	/* The process and a descriptor of it make the name unique. A box has one already if it came
	 * over an execve. */
	len = (socklen_t)(put_hex(name.sun_path + len,
				  (uint64_t)sl_sys(SYS_getpid) << 32 | (uint32_t)end[1]) -
			  name.sun_path);
	(void)sl_sys(SYS_bind, end[1], &name, offsetof(struct sockaddr_un, sun_path) + (size_t)len);
	for (int i = 0; i < 2; i++)
		(void)sl_sys_fcntl(end[i], F_SETFD, 0);
	return sl_sys_recvfrom(end[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) > 0;
}

void sl_tlisten_spawned(const struct sl_sock *sk)
{
	int end[2];

	if (!sl_tbox_ends(sk, end))
		return;
	for (int i = 0; i < 2; i++)
		(void)sl_sys_fcntl(end[i], F_SETFD, FD_CLOEXEC);
}

/* In the new program ---------------------------------------------------------------------------
 */

static bool has_prefix(const struct sockaddr_un *name, socklen_t len, const char *path,
		       socklen_t want)
{
	return name->sun_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path) + want &&
	       memcmp(name->sun_path, path, want) == 0;
}

struct search {
	char path[64];
	socklen_t len; /* of path */
	int in, out;
};

static void look_at_fd(int fd, void *arg)
{
	struct search *s = arg;
	struct sockaddr_un name;
	socklen_t len = sizeof(name);

	if (sl_sys_getsockname(fd, &name, &len) < 0)
		return;
	if (has_prefix(&name, len, s->path, s->len)) {
		s->out = fd;
		return;
	}
	len = sizeof(name);
	if (name.sun_family == AF_UNIX && sl_sys_getpeername(fd, &name, &len) == 0 &&
	    has_prefix(&name, len, s->path, s->len))
		s->in = fd;
}

static void look_at_numbers(struct search *s)
{
	struct rlimit64 files = {.rlim_cur = 0};
	int end;

	(void)sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files);
	end = (int)sl_min(files.rlim_cur, (uint64_t)NUMBERS_MAX) + BEYOND;
	for (int fd = 0; fd < end; fd++)
		look_at_fd(fd, s);
}

void sl_tlisten_after_exec(const struct sl_sock *sk)
{
	struct search s = {.in = -1, .out = -1};

	s.len = prefix_of(sk->inode, s.path);
	if (sl_fd_each(look_at_fd, &s)) /* no /proc in this root */
		look_at_numbers(&s);
	if (s.in >= 0 && s.out >= 0)
		sl_tbox_adopt(sk, s.in, s.out);
}
