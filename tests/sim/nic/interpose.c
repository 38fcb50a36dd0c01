/* SPDX-License-Identifier: BSD-2-Clause */
/* Catches the calls by which libibverbs reaches the kernel. Calls that are not for the device go on
 * to the next object: the library under test interposes some of them too. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/close_range.h>
#include <linux/netlink.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "nic.h"
#include "sys.h"
#include "uverbs.h"

#define PUBLIC      __attribute__((visibility("default")))
#define DEVICE_PATH "/dev/infiniband/uverbs0"
#define STAND_IN    "/dev/null" /* a character device of the number in the sysfs tree */
#define MAX_FD      8192u       /* a device's is not looked for beyond */

/* The declarations of the C library carry attributes and asm names that a definition may not. */
int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
int ioctl(int fd, unsigned long request, ...);

#define NEXT(name) ((__typeof__(&(name)))next(&name##_real, #name))
static void *open_real, *stat_real, *socket_real, *close_real, *close_range_real, *dup2_real,
	*dup3_real, *ioctl_real, *mmap_real, *mmap64_real;

static void *next(void **cache, const char *name)
{
	void *f = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		__atomic_store_n(cache, f, __ATOMIC_RELAXED);
	}
	return f;
}

static bool is_device(const char *path)
{
	return sim_nic.running && !strcmp(path, DEVICE_PATH);
}

static int open_device(void)
{
	int fd = sim_nic.gone ? -1 : sim_open(STAND_IN, O_RDWR | O_CLOEXEC, 0), err;

	if (fd < 0) {
		errno = sim_nic.gone ? ENXIO : errno;
		return -1;
	}
	pthread_mutex_lock(&sim_lock);
	err = sim_device_open(fd);
	pthread_mutex_unlock(&sim_lock);
	if (!err)
		return fd;
	sim_close(fd);
	errno = -err;
	return -1;
}

static int mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;
}

PUBLIC int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return is_device(path) ? open_device() : NEXT(open)(path, flags, mode);
}

/* (open(), where offsets have 64 bits.) */
PUBLIC int open64(const char *path, int flags, ...) __attribute__((alias("open")));

PUBLIC int stat(const char *restrict path, struct stat *restrict st)
{
	return NEXT(stat)(is_device(path) ? STAND_IN : path, st);
}

/* Without RDMA netlink libibverbs looks the devices up in sysfs. */
PUBLIC int socket(int domain, int type, int protocol)
{
	if (sim_nic.running && domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return NEXT(socket)(domain, type, protocol);
}

/* The device ends with its descriptor, unless somebody has kept it open: found before, looked at
 * after. */
struct ending {
	int fd[SIM_MAX_CTX]; /* -1: none */
};

static void before(struct ending *e, unsigned first, unsigned last)
{
	struct sim_ctx *ctx;

	memset(e, 0xff, sizeof(*e));
	/* Not a child's of vfork, whose descriptors are its own and whose memory is not. */
	if (!sim_nic.running || sim_nic.pid != sim_getpid())
		return;
	pthread_mutex_lock(&sim_lock);
	for (unsigned fd = first; fd <= last && fd < MAX_FD; fd++) {
		ctx = sim_ctx_of((int)fd);
		if (ctx)
			e->fd[ctx - sim_ctx] = (int)fd;
	}
	pthread_mutex_unlock(&sim_lock);
}

static void after(const struct ending *e)
{
	int saved = errno;

	for (int i = 0; i < SIM_MAX_CTX; i++) {
		if (e->fd[i] < 0 || sim_ctx_of(e->fd[i]) == &sim_ctx[i])
			continue;
		pthread_mutex_lock(&sim_lock);
		sim_device_close(&sim_ctx[i]);
		pthread_mutex_unlock(&sim_lock);
	}
	errno = saved;
}

static bool is_own(int fd)
{
	return sim_nic.running && fd >= 0 && sim_fd_next((unsigned)fd) == (unsigned)fd;
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

PUBLIC int close(int fd)
{
	struct ending e;
	int r;

	if (is_own(fd))
		return refuse(EBADF);
	before(&e, (unsigned)fd, (unsigned)fd);
	r = NEXT(close)(fd);
	after(&e);
	return r;
}

/* The range without our own. */
static int close_around(unsigned first, unsigned last, int flags)
{
	unsigned hole;
	int r = 0;

	while (r == 0 && (hole = sim_fd_next(first)) <= last) {
		if (hole > first)
			r = NEXT(close_range)(first, hole - 1, flags);
		if (hole == last)
			return r;
		first = hole + 1;
	}
	return r ? r : NEXT(close_range)(first, last, flags);
}

PUBLIC int close_range(unsigned first, unsigned last, int flags)
{
	struct ending e;
	int r;

	if (!sim_nic.running || flags & CLOSE_RANGE_CLOEXEC || first > last)
		return NEXT(close_range)(first, last, flags);
	before(&e, first, last);
	r = close_around(first, last, flags);
	after(&e);
	return r;
}

/* (The C library's calls the one above inside of it.) */
PUBLIC void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned)first, UINT32_MAX, 0);
}

PUBLIC int dup2(int fd, int fd2)
{
	return is_own(fd2) ? refuse(EBUSY) : NEXT(dup2)(fd, fd2);
}

PUBLIC int dup3(int fd, int fd2, int flags)
{
	return is_own(fd2) ? refuse(EBUSY) : NEXT(dup3)(fd, fd2, flags);
}

PUBLIC int ioctl(int fd, unsigned long request, ...)
{
	struct sim_ctx *ctx;
	va_list args;
	void *arg;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != RDMA_VERBS_IOCTL || !(ctx = sim_ctx_of(fd)))
		return NEXT(ioctl)(fd, request, arg);
	pthread_mutex_lock(&sim_lock);
	err = sim_uverbs(ctx, arg);
	pthread_mutex_unlock(&sim_lock);
	if (!err)
		return 0;
	errno = err;
	return -1;
}

PUBLIC void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *mem;

	if (!sim_ctx_of(fd))
		return NEXT(mmap)(at, len, prot, flags, fd, off);
	pthread_mutex_lock(&sim_lock);
	mem = sim_map(at, len, prot, (uint64_t)off / SIM_PAGE);
	pthread_mutex_unlock(&sim_lock);
	return mem;
}

PUBLIC void *mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	return sim_ctx_of(fd) ? mmap(at, len, prot, flags, fd, off)
			      : NEXT(mmap64)(at, len, prot, flags, fd, off);
}
