/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls whose arguments hold the number of a socket that the kernel itself will use from then on:
 * maps of BPF, block devices over the network, and others.
 *
 * Theory of operation: the kernel gets the file behind the number, past any later call of the
 * program, so the socket becomes the kernel's first. One that cannot (its state does not allow it)
 * makes the call fail with EBUSY: the kernel would use a socket without a connection. (io_uring is
 * in uring.c, SCM_RIGHTS in rw.c.) */
#include "real.h"

#include <dlfcn.h>
#include <linux/bpf.h>
#include <linux/kcm.h>
#include <linux/nbd.h>
#include <linux/ppp_defs.h>
#include <linux/if_pppox.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

bool sl_pass(int fd)
{
	int saved = errno, err = 0;

	if (ours(fd))
		err = lib.hand_back(fd);
	if (err == -EBADF)
		err = lib.epoll_hand_back(fd);
	errno = saved;
	return err != -EBUSY;
}

bool sl_may_have_ours(void)
{
	return (lib_is_there() || sl_load(&sl_given_left)) && !sl_in_vfork;
}

bool sl_get(void *to, const void *from, size_t n)
{
	if (lib_is_there() && !lib.is_memory(from, n))
		return false;
	memcpy(to, from, n);
	return true;
}

bool sl_pass_list(const int *fds, size_t n)
{
	bool all = true;
	int fd;

	for (size_t i = 0; sl_may_have_ours() && i < n && sl_get(&fd, &fds[i], sizeof(fd)); i++)
		all &= sl_pass(fd);
	return all;
}

/* ioctl(2) --------------------------------------------------------------------------------------
 */

static bool is_of_domain(int fd, int domain)
{
	socklen_t len = sizeof(int);
	int is = 0;

	return sl_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &is, &len) == 0 && is == domain;
}

/* SIOCKCMATTACH is also the number of calls of other protocols. */
static bool pass_to_kcm(int fd, const void *arg)
{
	struct kcm_attach at;
	int saved = errno;
	bool is_kcm = is_of_domain(fd, AF_KCM);

	errno = saved;
	return !is_kcm || !sl_get(&at, arg, sizeof(at)) || sl_pass(at.fd);
}

bool sl_pass_by_ioctl(int fd, unsigned long request, void *arg)
{
	struct seccomp_notif_addfd add;

	switch (request) {
	case NBD_SET_SOCK:
		return sl_pass((int)(long)arg);
	case SIOCKCMATTACH:
		return !sl_may_have_ours() || pass_to_kcm(fd, arg);
	case SECCOMP_IOCTL_NOTIF_ADDFD:
		return !sl_may_have_ours() || !sl_get(&add, arg, sizeof(add)) ||
		       sl_pass((int)add.srcfd);
	}
	return true;
}

/* connect(2) ------------------------------------------------------------------------------------
 */

/* A session of L2TP has the socket of its tunnel in its address. */
bool sl_pass_by_address(const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_pppol2tp to;

	if (len < sizeof(to) || !sl_may_have_ours() || !sl_get(&to, addr, sizeof(to)))
		return true;
	return to.sa_family != AF_PPPOX || to.sa_protocol != PX_PROTO_OL2TP ||
	       sl_pass(to.pppol2tp.fd);
}

/* bpf(2) ----------------------------------------------------------------------------------------
 */

#if defined(__x86_64__)
struct batch {
	__u64 from, to, keys, values;
	__u32 count, map_fd;
};
_Static_assert(sizeof(struct batch) == 40 && offsetof(union bpf_attr, batch.map_fd) == 36,
	       "struct batch is the head of the kernel's");

/* Where an update of such a map has the numbers of sockets: `step` bytes apart. */
struct numbers {
	const char *at;
	size_t step;
};

static bool find_numbers(int map_fd, const void *keys, const void *values, struct numbers *n)
{
	struct bpf_map_info map = {0};
	union bpf_attr ask = {0};

	ask.info.bpf_fd = (__u32)map_fd;
	ask.info.info_len = sizeof(map);
	ask.info.info = (uintptr_t)&map;
	if (sl_raw(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)))
		return false;
	switch (map.type) {
	case BPF_MAP_TYPE_SOCKMAP:
	case BPF_MAP_TYPE_SOCKHASH:
	case BPF_MAP_TYPE_REUSEPORT_SOCKARRAY:
		*n = (struct numbers){values, map.value_size};
		return map.value_size >= sizeof(int);
	case BPF_MAP_TYPE_SK_STORAGE:
		*n = (struct numbers){keys, map.key_size};
		return map.key_size >= sizeof(int);
	}
	return false;
}

static bool pass_numbers(int map_fd, __u64 keys, __u64 values, __u32 count)
{
	struct numbers n;
	bool all = true;
	int fd;

	if (!find_numbers(map_fd, (const void *)keys, (const void *)values, &n))
		return true;
	for (__u32 i = 0; i < count && sl_get(&fd, n.at + i * n.step, sizeof(fd)); i++)
		all &= sl_pass(fd);
	return all;
}

static bool pass_to_map(long cmd, const void *attr, size_t size)
{
	struct {
		__u32 map_fd;
		__u64 key, value, flags;
	} one;
	struct batch batch;

	if (cmd == BPF_MAP_UPDATE_ELEM && size >= sizeof(one) - sizeof(one.flags) &&
	    sl_get(&one, attr, sizeof(one) - sizeof(one.flags)))
		return pass_numbers((int)one.map_fd, one.key, one.value, 1);
	if (cmd == BPF_MAP_UPDATE_BATCH && size >= sizeof(batch) &&
	    sl_get(&batch, attr, sizeof(batch)))
		return pass_numbers((int)batch.map_fd, batch.keys, batch.values, batch.count);
	return true;
}

SL_SYS(bpf)
{
	int saved = errno;

	SL_SYS_UNUSED;
	if (sl_may_have_ours() && !pass_to_map(a, (const void *)b, (size_t)(unsigned)c))
		return done(-EBUSY);
	errno = saved;
	return sl_raw(SYS_bpf, a, b, c);
}
#endif

/* Another namespace has a C library of its own, whose calls do not come here. */
__attribute__((visibility("default"), optimize("optimize-sibling-calls"))) void *
dlmopen(Lmid_t space, const char *file, int how)
{
	if (space != LM_ID_BASE)
		sl_leave_all("dlmopen(3) brings another C library, which uses sockets by number");
	/* (No frame of this function is in between: the caller says where to search.) */
	return REAL(dlmopen)(space, file, how);
}
