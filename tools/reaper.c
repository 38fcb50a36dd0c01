/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice reaper: the library's helper process (lib/ctl/broker/reaper.h); not for users. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "ctl/broker/reaper.h"
#include "ctl/kern/libbpf.h"
#include "death/death.h"
#include "tools.h"

#define SETTLE_MS 20
#define DYING_MS  2000
#define EXITING   4 /* PF_EXITING of include/linux/sched.h, which proc(5) shows */

static bool any(void *arg, const struct sl_flow_key *k)
{
	return true;
}

/* True for the first reaper of the process alone. */
static bool am_first(int fd, const struct sl_conns_layout *layout)
{
	uint64_t at = SL_REAPER_TOLD(layout), page = at & ~4095ull;
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);

	return p != MAP_FAILED && !__atomic_exchange_n(p + (at - page), 1, __ATOMIC_ACQ_REL);
}

static pid_t owner(void)
{
	char path[40], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", 3 + SL_REAPER_PIDFD);
	if (sl_read_text(path, text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "\nPid:");
	return at ? (pid_t)strtol(at + 5, NULL, 10) : 0;
}

/* True: the process ends; false: it goes on as another program. */
static bool is_exiting(void)
{
	char path[40], text[1024];
	const char *at;
	unsigned long flags;
	pid_t pid = owner();

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (sl_read_text(path, text, sizeof(text)) < 0)
		return true;
	at = strrchr(text, ')'); /* the program's name may have any bytes */
	return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 && flags & EXITING;
}

/* Waits a moment, and while the process is ending (not going on as another program) until its pidfd
 * says so. Its sockets are closed then: what was on the wire for them comes to the kernel, and its
 * guards no longer hold the kernel's answers back. */
static void settle_process(void)
{
	struct pollfd end = {.fd = 3 + SL_REAPER_PIDFD, .events = POLLIN};

	for (int ms = 0; ms < DYING_MS && !poll(&end, 1, SETTLE_MS) && is_exiting();)
		ms += SETTLE_MS;
}

static void tell_peers(const struct sl_reaper_files *files)
{
	struct sl_gone_queues q = {
		.fd = 3 + SL_REAPER_UMEM,
		.nframes = files->nframes,
		.frame_size = files->frame_size,
	};
	struct sl_gone_conns c;

	if (sl_gone_open(&c, 3 + SL_REAPER_CONNS, &files->conns) || !am_first(c.fd, &files->conns))
		return;
	while (sl_gone_read(&c, any, NULL))
		;
	/* At once: a peer's segment that meets no connection is answered by a reset. */
	sl_gone_keep(&c, &q);
	settle_process();
	while (sl_gone_tell(&c, UINT32_MAX, true))
		;
}

int sl_tool_reaper(int argc, char **argv)
{
	struct sl_reaper_files files;
	char *end;
	unsigned long ifindex;

	if (argc != 2)
		goto usage;
	ifindex = strtoul(argv[1], &end, 10);
	if ((*end && *end != ',') || !ifindex || ifindex > UINT32_MAX)
		goto usage;
	if (sl_reaper_wait(&files)) {
		tell_peers(&files);
		if (sl_libbpf_load(NULL) < 0)
			return 1;
		sl_reaper_clean((uint32_t)ifindex, end);
	}
	return 0;
usage:
	fprintf(stderr, "sluice reaper is started by libsluice\n");
	return 2;
}
