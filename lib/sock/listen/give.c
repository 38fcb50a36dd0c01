/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that wait in our queue go to other processes that have the listener (share.c). */
#include "base/log.h"
#include "base/sys.h"
#include "sock/core/life.h"
#include "sock/listen/box.h"
#include "sock/listen/listen.h"
#include "sock/stream/tconn.h"

void sl_tlisten_give(struct sl_sock *sk)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	unsigned n = 0;
	int fd;

	if ((!sk->heir && !sk->lsn->others) || !sl_tlisten_is_shared(sk))
		return;
	while ((fd = sl_tcp_sock_accept_ours(sk, &peer, &len)) >= 0) {
		struct sl_sock *child = sl_fd_sock(fd);
		bool given = sl_fd_hand_back(fd) == 0 && sl_tbox_put(sk, fd, &peer, len);

		n += given;
		if (!given)
			sl_warn("tcp",
				"fd %d: a connection that waits cannot go to another process",
				sk->fd);
		if (child)
			sl_sock_drop_fd(child, fd);
		sl_sys_close(fd);
		len = sizeof(peer);
	}
	if (n)
		sl_debug("tcp", "fd %d: %u that waited are for the others", sk->fd, n);
}
