/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls by which libibverbs reaches the kernel. What is not the device's goes on to whoever is
 * next: the library under test interposes some of them too. */
#include <dlfcn.h>
#include <errno.h>
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

/* The declarations of the C library carry attributes and asm names that a definition may not. */
int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
int ioctl(int fd, unsigned long request, ...);

#define NEXT(name) ((__typeof__(&(name)))next(&name##_real, #name))
static void *open_real, *stat_real, *socket_real, *close_real, *ioctl_real, *mmap_real,
	*mmap64_real;

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

/* (The same, where offsets have 64 bits.) */
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

/* A completion channel ends with its descriptor. */
static void close_channel(int fd)
{
	struct sim_obj *obj;
	uint32_t at = 0;

	while ((obj = sim_obj_next(&at, SIM_CHANNEL))) {
		if (obj->channel.user_fd == fd) {
			sim_obj_free(at, SIM_CHANNEL);
			return;
		}
	}
}

static bool any_open(void)
{
	for (int i = 0; i < SIM_MAX_CTX; i++) {
		if (sim_ctx[i].used)
			return true;
	}
	return false;
}

PUBLIC int close(int fd)
{
	struct sim_ctx *ctx;

	/* Not a child's of vfork, whose descriptors are its own and whose memory is not. */
	if (sim_nic.running && any_open() && sim_nic.pid == sim_getpid()) {
		pthread_mutex_lock(&sim_lock);
		ctx = sim_ctx_of(fd);
		if (ctx)
			sim_device_close(ctx);
		else
			close_channel(fd);
		pthread_mutex_unlock(&sim_lock);
	}
	return NEXT(close)(fd);
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
