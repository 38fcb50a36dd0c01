/* SPDX-License-Identifier: BSD-2-Clause */
/* The vault's packets, for both ends. */
#include "ctl/vault.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sys.h"

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(SL_VAULT_FDS * sizeof(int))];
};

int sl_vault_send(int sock, const struct sl_vault_msg *m, int flags)
{
	struct iovec iov = {(void *)m, sizeof(m->hdr) + m->bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c;
	long n;

	if (m->nfds) {
		memset(&c.align, 0, sizeof(c.align));
		msg.msg_control = c.space;
		msg.msg_controllen = CMSG_SPACE(m->nfds * sizeof(int));
		c.align.cmsg_level = SOL_SOCKET;
		c.align.cmsg_type = SCM_RIGHTS;
		c.align.cmsg_len = CMSG_LEN(m->nfds * sizeof(int));
		memcpy(CMSG_DATA(&c.align), m->fd, m->nfds * sizeof(int));
	}
	n = sl_sys_sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	return n < 0 ? (int)n : 0;
}

static void take_fds(struct msghdr *msg, struct sl_vault_msg *m)
{
	m->nfds = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		n = sl_min(n, (size_t)SL_VAULT_FDS - m->nfds);
		memcpy(m->fd + m->nfds, CMSG_DATA(c), n * sizeof(int));
		m->nfds += (uint32_t)n;
	}
}

void sl_vault_close_fds(struct sl_vault_msg *m)
{
	while (m->nfds)
		if (m->fd[--m->nfds] >= 0)
			sl_sys_close(m->fd[m->nfds]);
}

static bool sound(const struct sl_vault_msg *m, long n, int flags)
{
	return n >= (long)sizeof(m->hdr) && m->hdr.magic == SL_VAULT_MAGIC &&
	       m->hdr.version == SL_VAULT_VERSION && m->hdr.kind < SL_KEEP_KINDS &&
	       !(flags & (MSG_TRUNC | MSG_CTRUNC));
}

int sl_vault_recv(int sock, struct sl_vault_msg *m, int flags)
{
	struct iovec iov = {m, offsetof(struct sl_vault_msg, bytes)};
	union control c;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.space,
			     .msg_controllen = sizeof(c.space)};
	long n = sl_sys_recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);

	m->nfds = 0;
	if (n <= 0)
		return (int)n;
	take_fds(&msg, m);
	if (!sound(m, n, msg.msg_flags)) {
		sl_vault_close_fds(m);
		return -EPROTO;
	}
	m->bytes = (uint32_t)(n - (long)sizeof(m->hdr));
	return 1;
}
