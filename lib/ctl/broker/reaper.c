/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the death of the process that owns a device, then does what it can no longer do.
 *
 * Theory of operation: a program attached through libxdp's dispatcher is pinned and outlives its
 * process (a bpf_link would not, but does not let other programs in). Packets do not suffer: the
 * map of lanes is emptied by the kernel when the sockets die, so they pass. But nobody should find
 * a program of ours on a device that we do not use. The end is seen in two ways: the pidfd tells a
 * death even when children still hold the socket; the socket, closed on exec, tells that the
 * process has become another program.
 *
 * Nor does the kernel know the TCP connections that were ours: it resets one whose peer sends
 * something, but a peer that waits would wait for ever. */
#include "ctl/broker/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/sys.h"
#include "ctl/device/broker_int.h"

/* True when the owner has gone without cleaning up. */
static bool wait_for_end(void)
{
	struct pollfd fds[2] = {
		{.fd = 3 + SL_REAPER_LIFE, .events = POLLIN},
		{.fd = 3 + SL_REAPER_PIDFD, .events = POLLIN},
	};
	char c;

	while (sl_sys(SYS_ppoll, fds, 2, NULL, NULL, 8) < 0)
		;
	return sl_sys_read(3 + SL_REAPER_LIFE, &c, 1) != 1;
}

bool sl_reaper_wait(struct sl_conns_layout *layout)
{
	sigset_t all;

	/* A signal to the owner's session or service must not stop its cleaning. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sl_sys(SYS_chdir, "/");
	if (sl_sys_read(3 + SL_REAPER_LIFE, layout, sizeof(*layout)) != sizeof(*layout))
		*layout = (struct sl_conns_layout){0};
	sl_sys_fcntl(3 + SL_REAPER_LIFE, F_SETFL, O_NONBLOCK);
	return wait_for_end();
}

void sl_reaper_clean(uint32_t ifindex, const char *parts)
{
	bool had_link = sl_left_had_link(ifindex);

	sl_attach_clean(ifindex);
	if (had_link)
		sl_left_without(ifindex);
	sl_pin_remove(ifindex);
	sl_parts_clean(ifindex, parts);
}
