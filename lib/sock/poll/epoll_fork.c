/* SPDX-License-Identifier: BSD-2-Clause */
/* Epoll sets after fork: in the child they go on with the kernel alone.
 *
 * Theory of operation: parent and child share the kernel's set, so the child must not add the
 * sockets that were ours there: the parent would see their events. At its first use in the child a
 * set is therefore parted: a new kernel set takes its number, with the members that the kernel
 * lists in /proc/self/fdinfo and, for ours, the shadow sockets. Children that exec pay nothing.
 * The parent's other threads may have held locks and have been in the middle of a change; the
 * lists of members are followed in one direction only, which is whole at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "sock/core/mail.h"
#include "sock/poll/epoll.h"
#include "sock/poll/sets.h"
#include "sock/proc/fdtab.h"
#include "sock/core/sock.h"

/* The threads that would empty a closed set are the parent's. */
static void end_closed(struct sl_epoll *ep)
{
	if (ep->ghost >= 0)
		sl_sys_close(ep->ghost);
	ep->ghost = -1;
	sl_epoll_forget_items(ep);
	ep->state = SL_EP_FREE;
}

void sl_epoll_fork_child(void)
{
	memset(&sl_nest_lock, 0, sizeof(sl_nest_lock));
	memset(&sl_epoll_sets_lock, 0, sizeof(sl_epoll_sets_lock));
	sl_list_for_each (l, &sl_epoll_sets) {
		struct sl_epoll *ep = sl_container_of(l, struct sl_epoll, node);

		memset(&ep->lock, 0, sizeof(ep->lock));
		memset(&ep->ctl, 0, sizeof(ep->ctl));
		sl_list_init(&ep->sleepers);
		sl_list_init(&ep->watchers);
		sl_list_init(&ep->ready);
		ep->users = ep->spinning = ep->inside = ep->missed = ep->nready = 0;
		if (ep->state == SL_EP_CLOSED || ep->state == SL_EP_ENDING)
			end_closed(ep);
		ep->inherited = ep->state == SL_EP_OPEN && !sl_list_empty(&ep->items);
	}
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* The number after the label in the text. False: the label is not there. */
static bool number(const char *line, const char *label, int base, uint64_t *v)
{
	const char *p = strstr(line, label);

	if (!p)
		return false;
	for (p += strlen(label); *p == ' '; p++)
		;
	for (*v = 0; digit(*p) < base; p++)
		*v = *v * (unsigned)base + (unsigned)digit(*p);
	return true;
}

/* Returns the data that the program gave: an inner set is registered with our item as its data
 * (epoll_ctl.c). */
static uint64_t program_data(struct sl_epoll *ep, uint64_t data)
{
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);

		if (it->inner && (uintptr_t)it == data)
			return it->data;
	}
	return data;
}

/* Copies the member of a line of fdinfo (proc(5)):
 * "tfd:   5 events:   19 data:   5  pos:0 ino:61 sdev:5". */
static void copy_member(struct sl_epoll *ep, int to, const char *line)
{
	uint64_t fd, events, data, ino;
	struct epoll_event ev;
	struct stat st;

	if (!number(line, "tfd:", 10, &fd) || !number(line, "events:", 16, &events) ||
	    !number(line, "data:", 16, &data) || !number(line, "ino:", 16, &ino))
		return;
	if (sl_sys(SYS_fstat, (int)fd, &st) < 0 || st.st_ino != ino)
		return; /* the number means something else by now */
	ev.events = (uint32_t)events;
	ev.data.u64 = program_data(ep, data);
	sl_sys_epoll_ctl(to, EPOLL_CTL_ADD, (int)fd, &ev);
}

static void each_line(struct sl_epoll *ep, int to, int info)
{
	char buf[1024], *end;
	size_t have = 0;
	long n;

	while ((n = sl_sys_read(info, buf + have, sizeof(buf) - 1 - have)) > 0) {
		have += (size_t)n;
		buf[have] = 0;
		while ((end = memchr(buf, '\n', have))) {
			*end++ = 0;
			copy_member(ep, to, buf);
			have -= (size_t)(end - buf);
			memmove(buf, end, have + 1);
		}
		if (have == sizeof(buf) - 1)
			have = 0; /* not a line of ours */
	}
}

static int open_fdinfo(int epfd)
{
	char path[40] = "/proc/self/fdinfo/", digits[12];
	size_t n = strlen(path), d = 0;

	for (unsigned v = (unsigned)epfd; v || !d; v /= 10)
		digits[d++] = (char)('0' + v % 10);
	while (d)
		path[n++] = digits[--d];
	path[n] = 0;
	return (int)sl_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

static void copy_ours(struct sl_epoll *ep, int to)
{
	sl_list_for_each (l, &ep->items) {
		struct sl_epitem *it = sl_container_of(l, struct sl_epitem, node);
		struct epoll_event ev = {.events = it->events, .data.u64 = it->data};

		if (!it->sk)
			continue;
		/* First: the number may stand for another file then. */
		if (sl_sock_is(it->sk, it->fd) && it->sk->passed)
			sl_keeper_tell_parent(it->sk);
		sl_epoll_ctl_kernel(to, EPOLL_CTL_ADD, it->fd, &ev);
	}
}

/* Every number of the set gets the new kernel set. */
static void replace(struct sl_epoll *ep, int to)
{
	uint32_t size = sl_load(&sl_fdtab_end);

	for (uint32_t fd = 0; fd < size; fd++) {
		int flags;

		if (sl_fd_epoll((int)fd) != ep)
			continue;
		flags = sl_sys_fcntl((int)fd, F_GETFD, 0);
		sl_sys(SYS_dup3, to, (int)fd, flags > 0 && (flags & FD_CLOEXEC) ? O_CLOEXEC : 0);
	}
}

/* The items stay where they are in the memory: a parent's thread may have been changing them. */
void sl_epoll_forget_items(struct sl_epoll *ep)
{
	sl_list_init(&ep->items);
	sl_list_init(&ep->dead);
	ep->hash = NULL;
	ep->hash_size = ep->nitems = ep->nnested = ep->nleft = 0;
	ep->kick = -1;
	ep->inherited = ep->lanes_known = false;
}

void sl_epoll_part(struct sl_epoll *ep, int epfd)
{
	int to, info;

	if (!sl_lock(&ep->ctl))
		return;
	to = ep->inherited ? sl_sys_epoll_create1(EPOLL_CLOEXEC) : -1;
	if (to >= 0) {
		info = open_fdinfo(epfd);
		if (info >= 0) {
			each_line(ep, to, info);
			sl_sys_close(info);
		}
		copy_ours(ep, to);
		replace(ep, to);
		sl_sys_close(to);
		sl_epoll_forget_items(ep);
		ep->nos = 1;
	}
	sl_unlock(&ep->ctl);
}
