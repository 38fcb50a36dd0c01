/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on sockets: make, name, connect, query and set options. (socketpair(2) makes kernel sockets
 * only, so it is not wrapped.) */
#include "bare.h"
#include "named.h"
#include "real.h"
#include "vma_api.h"

#include <linux/netlink.h>
#include <sys/syscall.h>

static bool may_offload(int domain, int type)
{
	int base = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	return (domain == AF_INET || domain == AF_INET6) &&
	       (base == SOCK_DGRAM || base == SOCK_STREAM);
}

/* With SLUICE_SOCKETXTREME each socket is polled by its lane. */
static int watched(int fd)
{
	if (fd >= 0)
		lib.lane_join_new(fd);
	return fd;
}

/* A socket that nobody uses starts the library, which then has a log to say it in. */
static void leave_to_wrapper(void)
{
	static bool said;
	int saved = errno, fd = -1;

	sl_leave_all("a library behind this one in LD_PRELOAD has connect(2) or bind(2)");
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fd = lib.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		lib.close(fd);
	errno = saved;
}

int socket(int domain, int type, int protocol)
{
	if (sl_unlikely(domain == AF_NETLINK && protocol == NETLINK_ISCSI))
		sl_leave_all("messages of iSCSI name sockets by number");
	if (!may_offload(domain, type) || sl_in_vfork || !sl_lib_load())
		return REAL(socket)(domain, type, protocol);
	if (sl_unlikely(sl_is_wrapped())) {
		leave_to_wrapper();
		return REAL(socket)(domain, type, protocol);
	}
	sl_bare_look();
	(void)sl_leave_tell();
	return watched((int)done(lib.socket(domain, type, protocol)));
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!ours(fd))
		return REAL(bind)(fd, addr, len);
	return (int)done(lib.bind(fd, addr, len));
}

/* A connection with the number of a stream of stdio, which the program closed before, becomes the
 * kernel's: the C library may use it itself (stdio.c). */
static bool goes_to_stdio(int fd)
{
	if (sl_likely((unsigned)fd > STDERR_FILENO) || !ours(fd) || lib.hand_back(fd))
		return false;
	lib.replace(fd);
	return true;
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!ours_point(fd) || goes_to_stdio(fd)) {
		if (!sl_pass_by_address(addr, len))
			return (int)done(-EBUSY);
		return REAL(connect)(fd, addr, len);
	}
	return (int)done(lib.connect(fd, addr, len));
}

SL_SYS(connect)
{
	int fd = (int)a;

	SL_SYS_UNUSED;
	if (ours(fd) && !goes_to_stdio(fd))
		return done(lib.connect(fd, (const struct sockaddr *)b, (socklen_t)c));
	if (!sl_pass_by_address((const struct sockaddr *)b, (socklen_t)c))
		return done(-EBUSY);
	return sl_raw(SYS_connect, a, b, c);
}

int listen(int fd, int backlog)
{
	if (sl_unlikely(sl_load(&sl_uring_seen)))
		sl_uring_listens(fd);
	if (!ours(fd))
		return REAL(listen)(fd, backlog);
	return (int)done(lib.listen(fd, backlog));
}

static int accepted(int fd)
{
	int saved = errno;

	if (!goes_to_stdio(fd))
		watched(fd);
	errno = saved;
	return fd;
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (!ours_point(fd))
		return REAL(accept4)(fd, addr, len, flags);
	return accepted((int)done(lib.accept4(fd, addr, len, flags)));
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (!ours_point(fd))
		return REAL(accept)(fd, addr, len);
	return accepted((int)done(lib.accept4(fd, addr, len, 0)));
}

int shutdown(int fd, int how)
{
	if (!ours(fd)) {
		if (sl_unlikely(sl_in_vfork))
			sl_used_in_vfork(fd);
		return REAL(shutdown)(fd, how);
	}
	return (int)done(lib.shutdown(fd, how));
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (!ours(fd))
		return REAL(getsockname)(fd, addr, len);
	return (int)done(lib.getsockname(fd, addr, len));
}

int getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (!ours(fd))
		return REAL(getpeername)(fd, addr, len);
	return (int)done(lib.getpeername(fd, addr, len));
}

int getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	if (!ours(fd)) {
		if (sl_unlikely(fd == -1) && sl_vma_api(level, name, val, len))
			return 0;
		return REAL(getsockopt)(fd, level, name, val, len);
	}
	if (sl_unlikely(level == SOL_SOCKET && name >= SL_VMA_FIRST && name <= SL_VMA_LAST))
		return (int)done(sl_vma_getsockopt(fd, name, val, len));
	return (int)done(lib.getsockopt(fd, level, name, val, len));
}

int setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	if (!ours(fd))
		return REAL(setsockopt)(fd, level, name, val, len);
	if (sl_unlikely(level == SOL_SOCKET && name >= SL_VMA_FIRST && name <= SL_VMA_LAST))
		return (int)done(sl_vma_setsockopt(fd, name, val, len));
	return (int)done(lib.setsockopt(fd, level, name, val, len));
}

int __connect(int fd, const struct sockaddr *addr, socklen_t len) __attribute__((alias("connect")));

/* RFC 3678's functions, which the C library makes of an option by a call of its own. (Those that
 * ask find the answer in the shadow, which is a member of the groups.) */

#define SOURCES_MAX 4096 /* more than any kernel takes: ENOBUFS */

static int set_filter(int fd, int level, int name, void *filter, size_t len)
{
	int r = filter ? setsockopt(fd, level, name, filter, (socklen_t)len) : -1;

	free(filter);
	return r;
}

int setsourcefilter(int fd, uint32_t dev, const struct sockaddr *group, socklen_t group_len,
		    uint32_t mode, uint32_t n, const struct sockaddr_storage *sources)
{
	size_t len = GROUP_FILTER_SIZE((size_t)n);
	struct group_filter *f;
	int family;

	if (!ours(fd))
		return REAL(setsourcefilter)(fd, dev, group, group_len, mode, n, sources);
	family = group->sa_family;
	if (group_len > sizeof(f->gf_group) || (family != AF_INET && family != AF_INET6))
		return (int)done(-EINVAL);
	if (n > SOURCES_MAX)
		return (int)done(-ENOBUFS);
	f = calloc(1, len);
	if (f) {
		f->gf_interface = dev;
		f->gf_fmode = mode;
		f->gf_numsrc = n;
		memcpy(&f->gf_group, group, group_len);
		memcpy(f->gf_slist, sources, n * sizeof(*sources));
	}
	return set_filter(fd, family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, MCAST_MSFILTER, f,
			  len);
}

int setipv4sourcefilter(int fd, struct in_addr dev, struct in_addr group, uint32_t mode, uint32_t n,
			const struct in_addr *sources)
{
	size_t len = IP_MSFILTER_SIZE((size_t)n);
	struct ip_msfilter *f;

	if (!ours(fd))
		return REAL(setipv4sourcefilter)(fd, dev, group, mode, n, sources);
	if (n > SOURCES_MAX)
		return (int)done(-ENOBUFS);
	f = calloc(1, len);
	if (f) {
		f->imsf_multiaddr = group;
		f->imsf_interface = dev;
		f->imsf_fmode = mode;
		f->imsf_numsrc = n;
		memcpy(f->imsf_slist, sources, n * sizeof(*sources));
	}
	return set_filter(fd, IPPROTO_IP, IP_MSFILTER, f, len);
}
