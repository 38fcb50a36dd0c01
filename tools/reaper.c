/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice reaper: the library's helper process (lib/ctl/reaper.h); not for users. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "ctl/reaper.h"
#include "death/death.h"
#include "tools.h"

#define SETTLE_MS 20

static bool any(void *arg, const struct sl_flow_key *k)
{
	return true;
}

/* True for one reaper of the process. */
static bool am_first(int fd, const struct sl_conns_layout *layout)
{
	uint64_t at = SL_REAPER_TOLD(layout), page = at & ~4095ull;
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);

	return p != MAP_FAILED && !__atomic_exchange_n(p + (at - page), 1, __ATOMIC_ACQ_REL);
}

/* The process has ended, or its program; in the former case its sockets are closed before its
 * pidfd says so, a moment after the end was seen. What it had on the wire comes to the kernel then.
 */
static void tell_peers(const struct sl_conns_layout *layout)
{
	struct pollfd end = {.fd = 3 + SL_REAPER_PIDFD, .events = POLLIN};
	struct sl_gone_conns c;

	if (sl_gone_open(&c, 3 + SL_REAPER_CONNS, layout) || !am_first(c.fd, layout))
		return;
	(void)poll(&end, 1, SETTLE_MS);
	while (sl_gone_read(&c, any, NULL))
		;
	while (sl_gone_tell(&c, UINT32_MAX, true))
		;
}

int sl_tool_reaper(int argc, char **argv)
{
	struct sl_conns_layout layout;
	char *end;
	unsigned long ifindex;

	if (argc != 2)
		goto usage;
	ifindex = strtoul(argv[1], &end, 10);
	if ((*end && *end != ',') || !ifindex || ifindex > UINT32_MAX)
		goto usage;
	if (sl_reaper_wait(&layout)) {
		tell_peers(&layout);
		sl_reaper_clean((uint32_t)ifindex, end);
	}
	return 0;
usage:
	fprintf(stderr, "sluice reaper is started by libsluice\n");
	return 2;
}
