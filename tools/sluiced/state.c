/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the daemon, and what each of its files asks about a session. */
#include <poll.h>

#include "base/sys.h"
#include "session.h"
#include "sluiced.h"

struct sl_sluiced sluiced = {.epfd = -1, .listen_fd = -1};

struct sl_session_port *sl_session_port(struct sl_session *s, uint32_t ifindex)
{
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++)
		if (s->port[i].ifindex == ifindex)
			return &s->port[i];
	return NULL;
}

bool sl_is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	const struct timespec now = {0};

	return sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8) == 1;
}

bool sl_is_dead(int pidfd)
{
	return sl_is_readable(pidfd);
}
