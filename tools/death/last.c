/* SPDX-License-Identifier: BSD-2-Clause */
/* The FIN of a connection whose process is dead.
 *
 * When a process ends, the kernel closes its connections: it delivers the send queue, then a FIN;
 * or it resets them, when bytes were not read (tcp_close(), RFC 2525 2.17). A connection of ours
 * with empty queues can become a kernel socket (TCP_REPAIR), which is closed: the kernel then does
 * the retransmission, the states that follow and TIME_WAIT. */
#include <errno.h>
#include <netinet/in.h>

#include "base/sys.h"
#include "death.h"
#include "sock/repair/repair.h"

static uint32_t no_bytes(void *arg, uint32_t at, void *buf, uint32_t n)
{
	return 0;
}

static void on_live(void *arg)
{
	*(bool *)arg = true;
}

/* The next process can use the port again, as that of a server, if it sets SO_REUSEADDR, too. */
static int new_socket(const struct sl_tcp_key *key)
{
	int family = sl_addr_is_v4(&key->local) ? AF_INET : AF_INET6, one = 1;
	int fd = sl_sys_socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd >= 0)
		(void)sl_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

/* Segments of the peer may come late, or meet no connection: the kernel copes with that. */
bool sl_last_fin(const struct sl_tcp_repair *r)
{
	bool live = false;
	struct sl_repair_source src = {
		.sndq = no_bytes,
		.rcvq = no_bytes,
		.live = on_live,
		.arg = &live,
		.hurry = true,
	};
	int fd = new_socket(&r->key);

	if (fd < 0)
		return false;
	(void)sl_repair_kernel(fd, r, &src);
	sl_sys_close(fd);
	return live;
}
