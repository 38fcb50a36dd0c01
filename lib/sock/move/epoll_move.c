/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves the epoll memberships of a socket that comes back from the kernel from the kernel's sets to
 * ours. Only the kernel knows the registered events and data; /proc/PID/fdinfo shows them. */
#include <fcntl.h>
#include <stdio.h>

#include "base/sys.h"
#include "sluice.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/poll/epoll.h"
#include "sock/proc/fdtab.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

struct reader {
	int fd;
	char buf[1024];
	long len, at;
};

/* The next line, without its end; NULL: no more. */
static const char *next_line(struct reader *r, char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		if (r->at == r->len) {
			r->len = sl_sys_read(r->fd, r->buf, sizeof(r->buf));
			r->at = 0;
			if (r->len <= 0)
				return NULL;
		}
		char c = r->buf[r->at++];

		if (c == '\n')
			break;
		if (n < size - 1)
			line[n++] = c;
	}
	line[n] = 0;
	return line;
}

static uint64_t number(const char *s, unsigned base)
{
	uint64_t v = 0;

	while (*s == ' ' || *s == '\t')
		s++;
	for (; *s; s++) {
		unsigned d = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
			     : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
						      : 99;

		if (d >= base)
			break;
		v = v * base + d;
	}
	return v;
}

static const char *after(const char *line, const char *name)
{
	const char *p = strstr(line, name);

	return p ? p + strlen(name) : NULL;
}

/* Reads what fd is registered for from a line of fdinfo:
 * "tfd:        5 events:       19 data:                5  pos:0 ino:..." */
static bool find_member(int epfd, int fd, struct epoll_event *ev)
{
	char path[48], line[160];
	const char *p, *events, *data;
	struct reader r = {0};
	bool found = false;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epfd);
	r.fd = (int)sl_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (r.fd < 0)
		return false;
	while (!found && next_line(&r, line, sizeof(line))) {
		p = after(line, "tfd:");
		if (!p || number(p, 10) != (uint64_t)fd)
			continue;
		events = after(line, "events:");
		data = after(line, "data:");
		found = events && data;
		if (found) {
			ev->events = (uint32_t)number(events, 16) & ~(EPOLLERR | EPOLLHUP);
			ev->data.u64 = number(data, 16);
		}
	}
	sl_sys_close(r.fd);
	return found;
}

static void take_out(struct sl_epoll *ep, struct sl_epoll_moved *m, const struct sl_sock *sk)
{
	int fd = sk->fd, both = sl_tlisten_waited_fd(sk), epfd;
	struct epoll_event ev;

	if (m->n == SL_EP_MOVED || sl_load(&ep->state) != SL_EP_OPEN)
		return;
	epfd = sl_epoll_any_fd(ep);
	if (epfd < 0 ||
	    (!find_member(epfd, fd, &ev) && (both < 0 || !find_member(epfd, both, &ev))))
		return;
	if (sl_epoll_ctl_kernel(epfd, EPOLL_CTL_DEL, fd, NULL) < 0)
		return;
	m->set[m->n].epfd = epfd;
	m->set[m->n].fd = fd;
	m->set[m->n++].ev = ev;
}

void sl_epoll_leave_kernel(const struct sl_sock *sk, struct sl_epoll_moved *m)
{
	uint32_t end = sl_load(&sl_fdtab_end);

	m->n = 0;
	for (uint32_t i = 0; i < end; i++) {
		struct sl_epoll *ep = sl_fd_epoll((int)i);

		/* Each set once, by its first number. */
		if (!ep || sl_epoll_any_fd(ep) != (int)i)
			continue;
		take_out(ep, m, sk);
	}
}

void sl_epoll_enter_ours(const struct sl_epoll_moved *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		struct epoll_event ev = m->set[i].ev;

		(void)sl_epoll_ctl(m->set[i].epfd, EPOLL_CTL_ADD, m->set[i].fd, &ev);
	}
}
