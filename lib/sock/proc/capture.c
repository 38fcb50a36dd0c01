/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and ends captures.
 *
 * Theory of operation: `sluice capture` listens on a socket in the directory of the counters and
 * writes its number into our block, which wakes the keeper. The keeper connects, checks that the
 * listener is root's or this user's, and gets a file in memory, into which taps (io/tap.h) write.
 * The file must be sealed, so that it cannot shrink under the mapping, and lies on the kernel's own
 * mount, which has no limit of its own: writing to it raises no SIGBUS. The connection stays open
 * as long as the capture: when the tool ends in any way, the keeper sees it and unmaps the file. */
#include "sock/proc/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/stats.h"
#include "base/sys.h"
#include "base/trust.h"
#include "io/tap.h"
#include "sock/proc/keeper.h"
#include "stack/lane.h"
#include "stack/tap.h"

#define TMPFS 0x01021994

struct capture {
	int fd; /* connection to the tool; 0: free */
	int nr; /* of its tap; -1: its request has not come yet, or the tap has ended */
	void *mem;
	size_t bytes;
};

static struct capture captures[SL_TAP_MAX];

static void serve_tools(uint32_t events)
{
	sl_capture_serve();
}

static bool is_tool(int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);

	return sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) >= 0 &&
	       len == sizeof(who) && (who.uid == 0 || who.uid == sl_sole_user());
}

/* Connects to the tool that listens under the number. Its descriptor or -errno. */
static int connect_tool(uint32_t number)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *path = sl_stats_path(), *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : -1, n, fd, err;

	if (dir < 0)
		return -ENOENT;
	n = snprintf(at.sun_path, sizeof(at.sun_path), "%.*s/sluice.%u.%08x.tap", dir, path,
		     sl_stats->pid, number);
	if (n >= (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	fd = sl_fd_keep(sl_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return fd;
	err = sl_sys_connect(fd, &at, sizeof(at));
	if (!err && !is_tool(fd))
		err = -EPERM;
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

static void accept_request(uint32_t number)
{
	struct capture *c = NULL;
	int fd;

	for (unsigned i = 0; i < SL_TAP_MAX && !c; i++)
		if (!captures[i].fd)
			c = &captures[i];
	fd = c ? connect_tool(number) : -ENOSPC;
	if (fd < 0) {
		sl_info("capture", "a capture is not begun: %s", strerrorname_np(-fd));
		return;
	}
	*c = (struct capture){.fd = fd, .nr = -1};
	sl_keeper_watch_fd(fd, EPOLLIN, serve_tools);
}

static void tap_lane(struct sl_lane *lane, void *arg)
{
	bool *all = arg;

	if (!sl_lane_lock(lane)) {
		*all = false;
		return;
	}
	sl_lane_tap(lane);
	sl_lane_unlock(lane);
}

/* Makes all lanes as sl_taps_on() says. When it has returned true, no thread uses a tap that was
 * ended before. */
static bool tap_lanes(void)
{
	bool all = true;

	sl_lane_for_each(tap_lane, &all);
	return all;
}

/* Ends the tap first; the memory goes when no thread can be writing to it. */
static void end_capture(struct capture *c)
{
	if (c->fd > 0) {
		sl_keeper_unwatch_fd(c->fd);
		sl_sys_close(c->fd);
		c->fd = -1;
	}
	if (c->nr >= 0)
		sl_tap_end(c->nr);
	c->nr = -1;
	if (c->mem && !tap_lanes())
		return; /* the keeper tries again */
	if (c->mem)
		sl_sys(SYS_munmap, c->mem, c->bytes);
	*c = (struct capture){.fd = 0};
}

/* True: writing into the file can never fail. */
static bool is_sound(int fd, uint64_t bytes)
{
	struct statfs fs;
	struct stat st;
	int seals = sl_sys_fcntl(fd, F_GET_SEALS, 0);

	return seals >= 0 && seals & F_SEAL_SHRINK && !(seals & F_SEAL_WRITE) &&
	       !sl_sys(SYS_fstatfs, fd, &fs) && fs.f_type == TMPFS && !sl_sys(SYS_fstat, fd, &st) &&
	       S_ISREG(st.st_mode) && st.st_size >= 0 && (uint64_t)st.st_size == bytes;
}

static int begin(struct capture *c, const struct sl_tap_ask *ask, int file)
{
	int err;

	c->bytes = SL_TAP_HEAD + (size_t)ask->bytes;
	if (!is_sound(file, c->bytes))
		return -EINVAL;
	err = sl_sys_mmap(&c->mem, NULL, c->bytes, MAP_SHARED, file, 0);
	if (err) {
		c->mem = NULL;
		return err;
	}
	sl_apart(c->mem, c->bytes);
	c->nr = sl_tap_begin(ask, c->mem);
	if (c->nr < 0)
		return c->nr;
	tap_lanes();
	return 0;
}

/* Reads what the tool has sent: its request, or its end. */
static void serve_tool(struct capture *c)
{
	struct sl_tap_answer answer = {.magic = SL_TAP_MAGIC};
	struct sl_tap_ask ask;
	int fds[SL_RIGHTS_ANY];
	uint32_t nfds = 0;
	long n = sl_rights_recv_any(c->fd, &ask, sizeof(ask), fds, &nfds);
	int file = nfds ? fds[0] : -1;

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n == sizeof(ask) && nfds == 1 && c->nr < 0 && !c->mem) {
		answer.err = sl_tap_ask_is_good(&ask) ? begin(c, &ask, file) : -EINVAL;
		if (sl_rights_send(c->fd, &answer, sizeof(answer), NULL, 0, MSG_DONTWAIT) < 0)
			answer.err = -EPIPE;
	} else {
		answer.err = -EPIPE; /* the tool is gone, or talks nonsense */
	}
	while (nfds)
		sl_sys_close(fds[--nfds]);
	if (answer.err)
		end_capture(c);
}

/* The log's level may have been changed by `sluice stat`. */
static void follow_level(void)
{
	static bool were_on;
	bool on = sl_taps_on();

	if (on != were_on && tap_lanes())
		were_on = on;
}

void sl_capture_serve(void)
{
	follow_level();
	for (unsigned i = 0; i < SL_STATS_TAPS; i++) {
		uint32_t number = __atomic_exchange_n(&sl_stats->tap_want[i], 0, __ATOMIC_ACQUIRE);

		if (number)
			accept_request(number);
	}
	for (unsigned i = 0; i < SL_TAP_MAX; i++) {
		struct capture *c = &captures[i];

		if (c->fd > 0) {
			/* The keeper may have been started anew. */
			sl_keeper_watch_fd(c->fd, EPOLLIN, serve_tools);
			serve_tool(c);
		} else if (c->fd < 0) {
			end_capture(c);
		}
	}
}

uint64_t sl_capture_due_ns(uint64_t now_ns, bool quiet)
{
	bool any = false;

	for (unsigned i = 0; i < SL_TAP_MAX; i++)
		any |= captures[i].fd != 0;
	return any ? now_ns + SL_JOB_SECOND_NS : 0;
}

void sl_capture_child(void)
{
	sl_taps_child();
	for (unsigned i = 0; i < SL_TAP_MAX; i++) {
		if (captures[i].fd > 0)
			sl_sys_close(captures[i].fd);
		captures[i] = (struct capture){.fd = 0};
	}
}
