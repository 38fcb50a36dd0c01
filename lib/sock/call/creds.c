/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that becomes another user, or gives up capabilities, groups or its root directory.
 *
 * Theory of operation: a lease (or the broker inside the process) was given to the credentials that
 * the process had at that time. Before a call that changes them, all offloaded sockets are handed
 * back to the kernel, as at exit: afterwards the process may lack the right to do so. Then the
 * process leaves its devices and closes its connection to the daemon. Packet memory, the owners of
 * frames and connections are replaced, at the same addresses, by private copies of the parts that
 * this process has in use, so that a thread that works with them goes on. The keeper ends:
 * capset(2) and bare system calls change only the calling thread, so the keeper would stay a thread
 * with all rights in a process that has none. Sockets made afterwards may get a lease under the new
 * credentials (start.c) once nothing of the old lease is in use. Sockets that went to the kernel
 * stay there, except non-blocking listeners: the process gets a part of those as of inherited ones.
 *
 * Effective IDs alone do not count as a change: a process that has saved the old ones can set them
 * again at any moment. For the same reason the groups of a process that stays root do not count
 * (sshd takes those of the user that logs in for a moment), nor do calls that change nothing or
 * cannot succeed. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/front/broker.h"
#include "io/verbs.h"
#include "sluice.h"
#include "sock/call/devices.h"
#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/listen/listen.h"
#include "sock/move/move.h"
#include "sock/proc/fdtab.h"
#include "sock/call/start.h"
#include "sock/core/sock.h"
#include "sock/core/stranger.h"
#include "sock/core/extra.h"
#include "sock/core/udp_sock.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/lane_tcp.h"
#include "stack/retire.h"

#define KEEP     ((uint32_t)-1) /* setresuid(2): it stays */
#define COMPARED 256            /* more groups than that are taken for others */

/* Does it change? --------------------------------------------------------------------------------
 */

struct caps {
	struct __user_cap_data_struct part[2];
};

static bool get_caps(struct caps *c)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};

	*c = (struct caps){0};
	return sl_sys(SYS_capget, &hdr, c->part) == 0;
}

static bool has_cap(unsigned cap)
{
	struct caps c;

	return !get_caps(&c) || c.part[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

/* The process's user or group IDs before the call. */
struct ids {
	uint32_t real, effective, saved;
};

static bool is_other(uint32_t want, uint32_t have)
{
	return want != KEEP && want != have;
}

/* setuid(2): without the capability it changes the effective ID alone, which does not count. */
static bool one_changes(const struct ids *now, uint32_t id, unsigned cap)
{
	return (is_other(id, now->real) || is_other(id, now->saved)) && has_cap(cap);
}

/* setreuid(2): the saved ID follows the effective one, unless that alone becomes the real one. */
static bool two_change(const struct ids *now, uint32_t real, uint32_t effective)
{
	uint32_t saved = now->saved;

	if (real != KEEP || is_other(effective, now->real))
		saved = effective == KEEP ? now->effective : effective;
	return is_other(real, now->real) || saved != now->saved;
}

static bool ids_change(enum sl_creds what, const struct ids *now, long a, long b, long c,
		       unsigned cap)
{
	switch (what) {
	case SL_CREDS_SETUID:
	case SL_CREDS_SETGID:
		return one_changes(now, (uint32_t)a, cap);
	case SL_CREDS_SETREUID:
	case SL_CREDS_SETREGID:
		return two_change(now, (uint32_t)a, (uint32_t)b);
	default:
		return is_other((uint32_t)a, now->real) || is_other((uint32_t)c, now->saved);
	}
}

static bool has_group(const uint32_t *list, long n, uint32_t gid)
{
	for (long i = 0; i < n; i++)
		if (list[i] == gid)
			return true;
	return false;
}

static bool groups_change(long n, const uint32_t *list)
{
	uint32_t now[COMPARED];
	long have = sl_sys(SYS_getgroups, COMPARED, now);

	if (!has_cap(CAP_SETGID))
		return false;
	if (have < 0 || n < 0 || n > COMPARED || (n && !list))
		return true;
	for (long i = 0; i < n; i++)
		if (!has_group(now, have, list[i]))
			return true;
	for (long i = 0; i < have; i++)
		if (!has_group(list, n, now[i]))
			return true;
	return false;
}

static bool caps_change(const struct __user_cap_header_struct *hdr,
			const struct __user_cap_data_struct *want)
{
	unsigned parts = hdr && hdr->version == _LINUX_CAPABILITY_VERSION_1 ? 1 : 2;
	struct caps now;

	if (!hdr || !want || !get_caps(&now))
		return false;
	for (unsigned i = 0; i < parts; i++)
		if (want[i].permitted != now.part[i].permitted)
			return true;
	return parts == 1 && now.part[1].permitted;
}

static bool root_changes(const char *path)
{
	struct stat now, then;

	return has_cap(CAP_SYS_CHROOT) &&
	       (sl_sys(SYS_stat, "/", &now) || sl_sys(SYS_stat, path, &then) ||
		now.st_dev != then.st_dev || now.st_ino != then.st_ino);
}

/* True: the process stays root, so it can have any groups again at any moment. */
static bool is_root(void)
{
	struct ids now = {1, 1, 1};

	(void)sl_sys(SYS_getresuid, &now.real, &now.effective, &now.saved);
	return !now.real && !now.saved && has_cap(CAP_SETGID);
}

static bool changes(enum sl_creds what, long a, long b, long c)
{
	struct ids now = {0};

	if (what >= SL_CREDS_SETGID && what <= SL_CREDS_SETGROUPS && is_root())
		return false;
	switch (what) {
	case SL_CREDS_SETUID:
	case SL_CREDS_SETREUID:
	case SL_CREDS_SETRESUID:
		(void)sl_sys(SYS_getresuid, &now.real, &now.effective, &now.saved);
		return ids_change(what, &now, a, b, c, CAP_SETUID);
	case SL_CREDS_SETGID:
	case SL_CREDS_SETREGID:
	case SL_CREDS_SETRESGID:
		(void)sl_sys(SYS_getresgid, &now.real, &now.effective, &now.saved);
		return ids_change(what, &now, a, b, c, CAP_SETGID);
	case SL_CREDS_SETGROUPS:
		return groups_change(a, (const uint32_t *)b);
	case SL_CREDS_CAPSET:
		return caps_change((const struct __user_cap_header_struct *)a,
				   (const struct __user_cap_data_struct *)b);
	case SL_CREDS_CHROOT:
		return root_changes((const char *)a);
	case SL_CREDS_USERNS:
		return true;
	}
	return false;
}

/* Leaving ---------------------------------------------------------------------------------------
 */

static void leave_to_kernel(struct sl_sock *sk, void *arg)
{
	bool listens = sl_load(&sk->lsn);

	sl_sock_kernel(sk, SL_REASON_PASSED);
	/* Connections that waited for accept() are now in a box (listen/share.c): accept() must
	 * read it, as an heir does. */
	if (listens)
		sk->heir = true;
}

static void all_to_kernel(void)
{
	if (sl_tlisten_count())
		sl_tlisten_fork_begin();
	sl_tlisten_exit();
	sl_sock_for_each(leave_to_kernel, NULL);
	sl_stop();
}

static void part_ways(bool up)
{
	sl_info("creds", "the process becomes another user, or gives up rights: what is offloaded "
			 "goes on in the kernel");
	if (up)
		all_to_kernel();
	if (!sl_stop_keeper() || !sl_stranger_wait())
		sl_warn("creds", "a thread of the library keeps the rights of before");
	sl_tconn_hurry(0);
	sl_ports_leave();
	sl_broker_part();
	sl_tconn_part();
	sl_stack_tcp_part();
	sl_tcp_fastopen_part();
	sl_verbs_child();
	sl_stats_close();
}

static bool has_frames(struct sl_sock *sk, void *arg)
{
	return sl_sock_queued(sk) || sl_extra_held(sk) ||
	       (sl_sock_is_udp(sk) && sl_load(&sl_udp_sk(sk)->wmem)) ||
	       sl_load(&sk->state) == SL_STATE_OFFLOADED;
}

static bool is_clear(void)
{
	struct sl_sock *sk = sl_sock_find(has_frames, NULL);

	if (sk)
		sl_debug("creds", "no new lease yet: fd %d has something of the old one", sk->fd);
	if (sk || !sl_tconn_renew())
		return false;
	sl_stack_renew();
	sl_net_close();
	sl_policy_child();
	return true;
}

SL_API
void sl_creds_begin(enum sl_creds what, long a, long b, long c)
{
	int saved = errno;

	sl_fdtab_notice();
	/* (An effective ID alone changes no owner, but the rights to open a device.) */
	if (changes(what, a, b, c) || what == SL_CREDS_CHROOT || what <= SL_CREDS_SETRESUID)
		sl_devices_settle(false);
	if (what == SL_CREDS_CHROOT && sl_is_lent()) /* the new root may lack the libraries */
		sl_broker_ready();
	if (sl_is_lent() && changes(what, a, b, c))
		sl_start_part(part_ways, is_clear);
	/* A child finds the daemon, which may have to give it the connection of a parent that was
	 * killed, at a path that another root does not have. */
	if (what == SL_CREDS_CHROOT && sl_broker_was_leased() && changes(what, a, b, c))
		sl_fetch();
	if (sl_mail_is_shared() && changes(what, a, b, c))
		sl_mail_part();
	if (changes(what, a, b, c))
		sl_log_part();
	errno = saved;
}
