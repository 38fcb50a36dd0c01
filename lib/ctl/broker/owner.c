/* SPDX-License-Identifier: BSD-2-Clause */
/* Ownership of a device.
 *
 * Theory of operation: the owner of a device listens on the abstract UNIX socket
 * "sluice/port/<ifindex>". Such a name belongs to the network namespace and dies with the last
 * descriptor, and a process that finds it taken can ask for the process id of its holder. The
 * reaper (see reaper.c) holds a copy of the socket, so that after a death no process gets the
 * device before it has been cleaned. The holder of the name may therefore remove any steering
 * program and any pins of the device that are there.
 *
 * Any user can bind that name. A holder that is neither root's nor our user's is ignored: then the
 * lock in root's file decides (owner_lock.c). A process that has the name looks whether the lock is
 * taken, and a process that has the lock looks whether an owner has the name by now, so of two that
 * come at the same time at most one has the device. */
#include "ctl/broker/owner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/owner_lock.h"
#include "ctl/device/opts.h"
#include "ctl/kern/say.h"

#define BACKLOG    1024
#define TRY_MS     10
#define LIVE_TRIES 5   /* of TRY_MS: a process that was just killed lives that long */
#define TAKE_TRIES 300 /* of TRY_MS: how long a dying owner's cleaning may take */
#define EXITING    4ul /* in a process's flags: it has begun to exit (linux/sched.h: PF_EXITING) */

static socklen_t owner_name(uint32_t ifindex, struct sockaddr_un *sun)
{
	int n;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	n = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "sluice/port/%u", ifindex);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int owner_bind(const struct sockaddr_un *sun, socklen_t len)
{
	int fd = sl_fd_keep(sl_sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int err;

	if (fd < 0)
		return fd;
	err = sl_sys_bind(fd, sun, len);
	if (!err)
		err = (int)sl_sys(SYS_listen, fd, BACKLOG);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err;
}

/* Process id of the listener; 0 when it cannot be seen (another process namespace, or gone). */
static pid_t owner_ask(const struct sockaddr_un *sun, socklen_t len)
{
	int fd = sl_sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred cred = {0};
	socklen_t credlen = sizeof(cred);

	if (fd < 0)
		return 0;
	if (sl_sys_connect(fd, sun, len) ||
	    sl_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &credlen))
		cred.pid = 0;
	sl_sys_close(fd);
	return cred.pid;
}

static void process_name(pid_t pid, char name[32])
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	sl_read_text(path, name, 32);
}

/* A name whose holder is dead (a zombie, too), or was this process before exec, is held by its
 * reaper: wait. True: it is dead, or dies within so many milliseconds. */
static bool dies_within(pid_t pid, long ms)
{
	const struct timespec most = {.tv_nsec = ms * 1000 * 1000};
	struct pollfd p = {.events = POLLIN};
	bool dead;

	if (pid <= 0 || pid == getpid())
		return pid > 0;
	p.fd = (int)sl_sys(SYS_pidfd_open, pid, 0);
	if (p.fd < 0)
		return p.fd == -ESRCH;
	dead = sl_sys(SYS_ppoll, &p, 1, &most, NULL, 8) == 1;
	sl_sys_close(p.fd);
	return dead;
}

/* False: the process lives, and no death is on its way, so waiting for the device would be in vain.
 * A process that is killed has SIGKILL pending from kill() on, and flags that say so once it exits.
 * True also where /proc shows nothing of the process. */
static bool may_be_ending(pid_t pid)
{
	char path[48], text[2048], *at;
	unsigned long flags = 0, pending = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sl_read_text(path, text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at, ") %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (sl_read_text(path, text, sizeof(text)) <= 0 || !(at = strstr(text, "\nSigPnd:")) ||
	    sscanf(at, "\nSigPnd: %lx", &pending) != 1)
		return true;
	return flags & EXITING || pending & 1ul << (SIGKILL - 1);
}

/* True: a user who may not have the device has the name. A user that cannot be seen counts as an
 * owner. */
static bool is_foreign(const struct sockaddr_un *sun, socklen_t len, uint32_t *uid)
{
	int err = sl_unix_name_uid(sun, len, uid);

	return !err && *uid && *uid != (uint32_t)sl_sys(SYS_geteuid);
}

bool sl_owner_is_taken(uint32_t ifindex)
{
	struct sockaddr_un sun;
	socklen_t len = owner_name(ifindex, &sun);
	uint32_t uid;
	pid_t pid = owner_ask(&sun, len);

	return pid && !dies_within(pid, 0) && !is_foreign(&sun, len, &uid);
}

/* Takes root's lock, because a stranger has the name. */
static int take_lock(uint32_t ifindex, const char *ifname, const struct sockaddr_un *sun,
		     socklen_t len, uint32_t uid, const char **why)
{
	int fd = sl_owner_lock(ifindex);

	if (fd >= 0 && !is_foreign(sun, len, &uid)) {
		/* By now an owner has the name, or nobody has it. */
		sl_sys_close(fd);
		return -EADDRINUSE;
	}
	if (fd >= 0)
		sl_warn_once("port",
			     "%s: user %u has bound the name by which owners of devices are known: "
			     "that is ignored",
			     ifname, uid);
	else if (fd == -EAGAIN)
		sl_why(why, "device %s is used by another process", ifname);
	else
		sl_why(why,
		       "%s: user %u has bound the name by which owners of devices are known, and "
		       "there is no " SL_OWNER_DIR
		       "/owners beside it (%s); remedy: end that process",
		       ifname, uid, sl_strerror(fd));
	return fd < 0 && fd != -EAGAIN ? -EBUSY : fd;
}

/* Takes the name, or the lock. -EADDRINUSE: another owner has the device, or may have it. */
static int take_once(uint32_t ifindex, const char *ifname, const struct sockaddr_un *sun,
		     socklen_t len, const char **why)
{
	uint32_t uid = 0;
	int fd = owner_bind(sun, len);

	if (fd >= 0 && sl_owner_is_locked(ifindex)) {
		sl_why(why, "device %s is used by another process", ifname);
		sl_sys_close(fd);
		return -EAGAIN;
	}
	if (fd != -EADDRINUSE || !is_foreign(sun, len, &uid))
		return fd;
	return take_lock(ifindex, ifname, sun, len, uid, why);
}

/* Number of attempts: a daemon makes fewer, since its other clients wait meanwhile. */
static int tries_of(void)
{
	return sl_broker_opts()->serve ? LIVE_TRIES + 1 : TAKE_TRIES;
}

int sl_owner_take(uint32_t ifindex, const char *ifname, int *owner_fd, const char **why)
{
	const struct timespec pause = {.tv_nsec = TRY_MS * 1000 * 1000};
	struct sockaddr_un sun;
	socklen_t len = owner_name(ifindex, &sun);
	char name[32];
	pid_t pid = 0;

	for (int i = 0; i < tries_of(); i++) {
		int fd = take_once(ifindex, ifname, &sun, len, why);

		if (fd >= 0) {
			*owner_fd = fd;
			return 0;
		}
		if (fd == -EAGAIN && i < LIVE_TRIES) {
			sl_sys(SYS_nanosleep, &pause, NULL);
			continue;
		}
		if (fd == -EAGAIN || fd == -EBUSY) /* (*why is set) */
			return -EBUSY;
		if (fd != -EADDRINUSE) {
			sl_why(why, "%s: %s", ifname, sl_strerror(fd));
			return fd;
		}
		pid = owner_ask(&sun, len);
		if (pid && i < LIVE_TRIES && may_be_ending(pid) &&
		    !dies_within(pid, (LIVE_TRIES - i) * TRY_MS)) {
			i = LIVE_TRIES - 1; /* one more look */
			continue;
		}
		if (pid && !dies_within(pid, 0))
			break;
		sl_sys(SYS_nanosleep, &pause, NULL);
	}
	if (!pid) {
		sl_why(why, "device %s is used by a process of another container", ifname);
		return sl_broker_opts()->serve ? -EINPROGRESS : -EBUSY;
	}
	if (sl_broker_opts()->serve && dies_within(pid, 0))
		return -EINPROGRESS; /* the dead owner's reaper is cleaning */
	process_name(pid, name);
	sl_why(why, "device %s is used by process %d (%s)", ifname, (int)pid, name);
	return -EBUSY;
}

/* Listens again: the kernel notes the credentials of each caller (its unix_listen()). */
void sl_owner_again(int owner_fd)
{
	sl_sys(SYS_listen, owner_fd, BACKLOG);
}

void sl_owner_drain(int owner_fd)
{
	const struct timespec now = {0};
	struct pollfd p = {.fd = owner_fd, .events = POLLIN};
	int fd;

	/* accept takes a number for a moment even when there is nobody (see device/link.c). */
	if (sl_sys(SYS_ppoll, &p, 1, &now, NULL, 8) <= 0)
		return;
	while ((fd = (int)sl_sys(SYS_accept4, owner_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		sl_sys_close(fd);
}
