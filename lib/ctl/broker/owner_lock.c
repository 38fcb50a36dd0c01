/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel which user has bound an abstract name, since anybody can bind it (by unix_diag:
 * connecting would depend on the holder's backlog). Where a user without privileges has the name, a
 * lock in root's file decides: a byte for each device of each network namespace. */
#include "ctl/broker/owner_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "ctl/kern/netns.h"

#ifndef UDIAG_SHOW_UID /* Linux 5.3 */
#define UDIAG_SHOW_UID 0x40
#endif
#define DIAG_UID     7 /* UNIX_DIAG_UID */
#define LOCK_FILE    SL_OWNER_DIR "/owners"
#define DIAG_SECONDS 1

/* The name ----------------------------------------------------------------------------------------
 */

struct wanted {
	const char *name; /* from its zero byte on */
	size_t bytes;
	uint32_t uid;
	bool found;
};

static void look_at_socket(const struct nlmsghdr *h, struct wanted *w)
{
	const struct unix_diag_msg *d = NLMSG_DATA(h);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*d));
	const struct rtattr *name = NULL, *uid = NULL;

	for (const struct rtattr *a = (const struct rtattr *)(d + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_NAME)
			name = a;
		if (a->rta_type == DIAG_UID)
			uid = a;
	}
	if (!name || !uid || RTA_PAYLOAD(name) != w->bytes || RTA_PAYLOAD(uid) < sizeof(w->uid) ||
	    memcmp(RTA_DATA(name), w->name, w->bytes))
		return;
	/* (Accepted sockets have their listener's name, and its user.) */
	memcpy(&w->uid, RTA_DATA(uid), sizeof(w->uid));
	w->found = true;
}

/* Reads to the end of the list. */
static int read_list(int fd, struct wanted *w)
{
	static char buf[16384]
		__attribute__((aligned(NLMSG_ALIGNTO))); /* (the broker is entered) */

	for (;;) {
		long n = sl_sys_recvfrom(fd, buf, sizeof(buf), 0, NULL, NULL);
		const struct nlmsghdr *h = (const struct nlmsghdr *)buf;

		if (n == -EINTR) /* this process was stopped */
			continue;
		if (n <= 0)
			return n ? (int)n : -EPROTO;
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(h))->error ?: -EPROTO;
			if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				look_at_socket(h, w);
		}
	}
}

int sl_unix_name_uid(const struct sockaddr_un *sun, socklen_t len, uint32_t *uid)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = {
		.h = {sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
		.r = {.sdiag_family = AF_UNIX,
		      .udiag_states = ~0u,
		      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID},
	};
	struct wanted w = {sun->sun_path, len - offsetof(struct sockaddr_un, sun_path), 0, false};
	const struct timeval limit = {.tv_sec = DIAG_SECONDS};
	int fd = sl_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), err;

	if (fd < 0)
		return fd;
	sl_sys_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	err = (int)sl_sys_sendto(fd, &ask, sizeof(ask), 0, NULL, 0);
	err = err < 0 ? err : read_list(fd, &w);
	sl_sys_close(fd);
	*uid = w.uid;
	return err ? err : w.found ? 0 : -ENOENT;
}

/* The lock ----------------------------------------------------------------------------------------
 */

static int open_lock(void)
{
	struct stat st;
	int fd;

	(void)sl_sys(SYS_mkdirat, AT_FDCWD, SL_OWNER_DIR, 0755);
	fd = (int)sl_sys(SYS_openat, AT_FDCWD, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			 0600);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && !st.st_uid && S_ISREG(st.st_mode) && !(st.st_mode & 022))
		return fd;
	sl_sys_close(fd);
	return -EPERM;
}

static struct flock byte_of(uint32_t ifindex)
{
	return (struct flock){
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)((uint64_t)(sl_netns_ino() & 0x7fffffffu) << 32 | ifindex),
		.l_len = 1,
	};
}

int sl_owner_lock(uint32_t ifindex)
{
	struct flock l = byte_of(ifindex);
	int fd = sl_fd_keep(open_lock()), err;

	if (fd < 0)
		return fd;
	err = sl_sys_fcntl(fd, F_OFD_SETLK, &l);
	if (!err)
		return fd;
	sl_sys_close(fd);
	return err == -EACCES ? -EAGAIN : err;
}

bool sl_owner_is_locked(uint32_t ifindex)
{
	struct flock l = byte_of(ifindex);
	int fd = open_lock();
	bool locked;

	if (fd < 0)
		return false;
	locked = !sl_sys_fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
	sl_sys_close(fd);
	return locked;
}
