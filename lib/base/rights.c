/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives packets with descriptors. */
#include "base/rights.h"

#include <string.h>
#include <sys/socket.h>

#include "base/compat.h"
#include "base/sys.h"

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(SL_RIGHTS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

long sl_rights_send(int sock, const void *data, size_t bytes, const int *fd, uint32_t nfds,
		    int flags)
{
	struct iovec iov = {sl_unconst(data), bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c;

	if (nfds) {
		memset(&c.align, 0, sizeof(c.align));
		msg.msg_control = c.space;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c.align.cmsg_level = SOL_SOCKET;
		c.align.cmsg_type = SCM_RIGHTS;
		c.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&c.align), fd, nfds * sizeof(int));
	}
	return sl_sys_sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
}

/* Closes the descriptors that there is no room for. */
static void take_fds(const struct cmsghdr *h, struct sl_rights *r)
{
	const int *got = (const int *)CMSG_DATA(h);
	uint32_t n = (uint32_t)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));

	for (; n > r->max; r->truncated = MSG_CTRUNC)
		sl_sys_close(got[--n]);
	memcpy(r->fd, got, n * sizeof(int));
	r->n = n;
}

/* The kernel gives no more descriptors than there is room for, and the room is not padded, so none
 * is lost. The sender's credentials come first. */
long sl_rights_recv(int sock, void *data, size_t bytes, int flags, struct sl_rights *r)
{
	const size_t room = r->from ? CMSG_SPACE(sizeof(*r->from)) : 0;
	struct iovec iov = {data, bytes};
	union control c;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.space,
			     .msg_controllen = room + CMSG_LEN(r->max * sizeof(int))};
	long n = sl_sys_recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);

	r->n = 0;
	r->truncated = 0;
	if (r->from)
		*r->from = (struct ucred){0};
	if (n < 0)
		return n;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
		if (h->cmsg_level != SOL_SOCKET)
			continue;
		if (h->cmsg_type == SCM_RIGHTS)
			take_fds(h, r);
		else if (h->cmsg_type == SCM_CREDENTIALS && r->from)
			memcpy(r->from, CMSG_DATA(h), sizeof(*r->from));
	}
	r->truncated |= msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	return n;
}

/* Room for all control messages that the other end can switch on (SO_PASSCRED, SO_PASSSEC,
 * SO_PASSPIDFD). */
union any_control {
	struct cmsghdr align;
	char space[CMSG_SPACE(253 * sizeof(int)) + CMSG_SPACE(3 * sizeof(int)) +
		   CMSG_SPACE(sizeof(int)) + CMSG_SPACE(256)];
};

/* A descriptor of the sender's process, which the sender of the packet did not choose, is closed
 * here: that does not wait. */
static uint32_t take_any_fds(const struct cmsghdr *h, int *fd, uint32_t room)
{
	uint32_t n;

	if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_PIDFD &&
	    h->cmsg_len >= CMSG_LEN(sizeof(int)) && *(const int *)CMSG_DATA(h) >= 0)
		sl_sys_close(*(const int *)CMSG_DATA(h));
	if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
		return 0;
	n = sl_min((uint32_t)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int)), room);
	memcpy(fd, CMSG_DATA(h), n * sizeof(int));
	return n;
}

long sl_rights_recv_any(int sock, void *data, size_t bytes, int fd[SL_RIGHTS_ANY], uint32_t *nfds)
{
	struct iovec iov = {data, bytes};
	union any_control c;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.space,
			     .msg_controllen = sizeof(c.space)};
	long n = sl_sys_recvmsg(sock, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	*nfds = 0;
	if (n < 0)
		return n;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h))
		*nfds += take_any_fds(h, fd + *nfds, SL_RIGHTS_ANY - *nfds);
	return n;
}
