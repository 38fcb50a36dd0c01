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
	int fd = sl_repair_socket(&r->key);

	if (fd < 0)
		return false;
	(void)sl_repair_kernel(fd, r, &src);
	sl_sys_close(fd);
	return live;
}
