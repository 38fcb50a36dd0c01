/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaper: a process that the owner of a device starts. It waits for the owner's death, and then
 * cleans up in the owner's place.
 *
 * Theory of operation: a program attached through libxdp's dispatcher is pinned and outlives its
 * process (a bpf_link would not, but does not let other programs in). No packet is lost: the kernel
 * empties the map of lanes when the sockets die, so packets pass. But no program of ours should
 * stay on a device that we do not use. The reaper sees the owner's end in two ways: the pidfd tells
 * a death even when children still hold the socket; the socket, closed on exec, tells that the
 * process has become another program.
 *
 * An owner that exits leaves descriptors to its reaper that take long to close: whoever waits for
 * the owner's end does not wait for that, but the next owner of the device does.
 *
 * The kernel does not know the TCP connections that were ours, either: it resets one whose peer
 * sends something, but a peer that waits would wait for ever. So the reaper tells the peers
 * (tools/death). */
#include "ctl/broker/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/fds.h"
#include "base/rights.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/broker/helper.h"
#include "ctl/device/aim.h"
#include "ctl/device/link.h"
#include "ctl/device/opts.h"
#include "ctl/device/part.h"
#include "ctl/steer/attach.h"
#include "ctl/steer/attach_skb.h"
#include "ctl/steer/left.h"
#include "ctl/steer/pin.h"
#include "ctl/umem/umem.h"

_Static_assert((int)SL_REAPER_FDS == SL_HELPER_FDS, "a reaper is a helper");

#define SLOW_MOST 64 /* descriptors that the last message bears */

/* The owner's side -------------------------------------------------------------------------------
 */

static struct {
	int fd; /* of the program's connections; 0: none */
	struct sl_conns_layout layout;
} conns;

int sl_embedded_conns(int memfd, const struct sl_conns_layout *layout)
{
	conns.fd = memfd;
	conns.layout = *layout;
	return 0;
}

/* Makes the descriptor that shows the owner's death to a reaper, beside the socket. For sluiced it
 * is one that shows nothing: only daemon and vault (vault.h) have the socket's other end. */
static int owner_death(void)
{
	return sl_broker_opts()->serve ? sl_sysi(SYS_eventfd2, 0, EFD_CLOEXEC)
				       : (int)sl_sys(SYS_pidfd_open, getpid(), 0);
}

/* Fills in what the packet memory's file holds. Returns the file; without one, `none`. */
static int packet_memory(struct sl_reaper_files *files, int none)
{
	const struct sl_umem *u = sl_broker_opts()->serve ? NULL : sl_umem_first();

	if (!u || u->info.memfd < 0)
		return none;
	files->nframes = u->info.nframes;
	files->frame_size = u->info.frame_size;
	return u->info.memfd;
}

int sl_reaper_start(struct sl_device *port)
{
	struct sl_reaper_files files = {.conns = conns.layout};
	int life[2], fd[SL_HELPER_FDS], err;
	char word[SL_PARTS_WORD], arg[16 + SL_PARTS_WORD];

	sl_parts_word(port, word);
	snprintf(arg, sizeof(arg), "%u%s", port->info.ifindex, word);
	/* Not a pipe: telling one whose reaper was killed would raise SIGPIPE in the program. */
	err = (int)sl_sys(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life);
	if (err)
		return err;
	fd[SL_REAPER_LIFE] = life[0];
	fd[SL_REAPER_OWNER] = port->owner_fd;
	fd[SL_REAPER_CONNS] = conns.fd ? conns.fd : life[0];
	fd[SL_REAPER_UMEM] = packet_memory(&files, life[0]);
	fd[SL_REAPER_RULES] =
		sl_settings.nic_steering && !sl_broker_opts()->serve ? sl_aims_fd() : -1;
	if (fd[SL_REAPER_RULES] < 0)
		fd[SL_REAPER_RULES] = life[0];
	err = fd[SL_REAPER_PIDFD] = owner_death();
	if (err >= 0) {
		err = sl_min(sl_helper_start("reaper", arg, fd), 0);
		sl_sys_close(fd[SL_REAPER_PIDFD]);
	}
	sl_sys_close(life[0]);
	if (err)
		sl_sys_close(life[1]);
	else
		port->reaper_fd = sl_fd_keep(life[1]);
	/* (The new socket has room for it.) */
	if (!err)
		sl_sys(SYS_sendto, port->reaper_fd, &files, sizeof(files),
		       MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
	return err;
}

/* The library's descriptors that a close waits for: the kernel ends packet sockets and XSKs after a
 * grace period of RCU each (about 10 ms). */
static unsigned slow_ones(int fd[SLOW_MOST])
{
	unsigned n = 0;

	for (uint32_t i = 0; n < SLOW_MOST && (i = sl_fd_next_kept(i)) != UINT32_MAX; i++) {
		int domain = 0;
		socklen_t len = sizeof(domain);

		if (!sl_sys_getsockopt((int)i, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
		    (domain == AF_PACKET || domain == AF_XDP))
			fd[n++] = (int)i;
	}
	return n;
}

static long say_bye(const struct sl_device *port, const int *fd, unsigned n)
{
	return sl_rights_send(port->reaper_fd, SL_REAPER_BYE, 1, fd, n, MSG_DONTWAIT);
}

void sl_reaper_stop(struct sl_device *port, bool exiting)
{
	int fd[SLOW_MOST], err;
	struct sl_link_now now;
	unsigned n;

	if (port->reaper_fd < 0)
		return;
	/* Without descriptors libxdp cannot detach, and without privileges no filter goes: then the
	 * reaper must. */
	err = sl_link_look(port->info.ifindex, &now);
	if (err == -ENODEV || (!err && !now.xdp_id && !port->attach.left)) {
		/* (The daemon's reaper does not see its end.) */
		n = exiting && !sl_broker_opts()->serve ? slow_ones(fd) : 0;
		if (say_bye(port, fd, n) < 0 && n)
			(void)say_bye(port, fd, 0);
	}
	sl_sys_close(port->reaper_fd);
	port->reaper_fd = -1;
}

/* The reaper's own side --------------------------------------------------------------------------
 */

static void *close_one(void *fd)
{
	sl_sys_close((int)(intptr_t)fd);
	return NULL;
}

/* Closes what the owner has left to its reaper, one descriptor a thread: the kernel's waits run
 * side by side. Waits for the owner's end first, since a close by a reaper that is quicker would
 * not be the last one, and the owner's end would wait for the kernel. (A function that the program
 * runs at its exit may keep the owner alive.) */
static void close_left(const int *fd, unsigned n)
{
	struct pollfd end = {.fd = 3 + SL_REAPER_PIDFD, .events = POLLIN};
	const struct timespec most = {.tv_sec = 1};
	pthread_t thread[SLOW_MOST];
	unsigned started = 0;

	(void)sl_sys(SYS_ppoll, &end, 1, &most, NULL, 8);
	for (unsigned i = 0; i < n; i++) {
		if (!pthread_create(&thread[started], NULL, close_one, (void *)(intptr_t)fd[i]))
			started++;
		else
			sl_sys_close(fd[i]);
	}
	while (started)
		pthread_join(thread[--started], NULL);
}

/* Returns true if the owner has said that it has cleaned up. */
static bool hear_bye(void)
{
	int fd[SLOW_MOST];
	struct sl_rights r = {.fd = fd, .max = SLOW_MOST};
	char c;

	if (sl_rights_recv(3 + SL_REAPER_LIFE, &c, 1, 0, &r) != 1)
		return false;
	if (r.n)
		close_left(fd, r.n);
	return true;
}

/* True when the owner has gone without cleaning up. */
static bool wait_for_end(void)
{
	struct pollfd fds[2] = {
		{.fd = 3 + SL_REAPER_LIFE, .events = POLLIN},
		{.fd = 3 + SL_REAPER_PIDFD, .events = POLLIN},
	};

	while (sl_sys(SYS_ppoll, fds, 2, NULL, NULL, 8) < 0)
		;
	return !hear_bye();
}

bool sl_reaper_wait(struct sl_reaper_files *files)
{
	sigset_t all;

	/* A signal to the owner's session or service must not stop its cleaning. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sl_sys(SYS_chdir, "/");
	if (sl_sys_read(3 + SL_REAPER_LIFE, files, sizeof(*files)) != sizeof(*files))
		*files = (struct sl_reaper_files){0};
	sl_sys_fcntl(3 + SL_REAPER_LIFE, F_SETFL, O_NONBLOCK);
	return wait_for_end();
}

void sl_reaper_clean(uint32_t ifindex, const char *parts)
{
	bool had_link = sl_left_had_link(ifindex);

	sl_attach_clean(ifindex);
	sl_attach_skb_clean(ifindex);
	if (had_link)
		sl_left_without(ifindex);
	sl_pin_remove(ifindex);
	sl_parts_clean(ifindex, parts);
	sl_aims_clean(ifindex, 3 + SL_REAPER_RULES);
}
