/* SPDX-License-Identifier: BSD-2-Clause */
/* The RDMA devices that are open in this process: each once, with one protection domain and one
 * memory region over all frames. */
#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fds.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "io/verbs_int.h"

#define MAX_DEVICES 16

struct sl_lock sl_verbs_lock;
static struct sl_verbs_dev devices[MAX_DEVICES];
static const struct sl_verbs_lib *lib;

/* Devices -------------------------------------------------------------------------------------- */

static const char *open_context(struct sl_verbs_dev *dev)
{
	struct ibv_device **list;
	int n;

	list = lib->get_device_list(&n);
	for (int i = 0; list && i < n && !dev->ctx; i++)
		if (strcmp(lib->get_device_name(list[i]), dev->name) == 0)
			dev->ctx = lib->open_device(list[i]);
	lib->free_device_list(list);
	return dev->ctx ? NULL : "its RDMA device cannot be opened";
}

static void forget_fd(int fd)
{
	if (sl_fd_is_kept(fd))
		sl_fd_forget(fd);
}

static void close_device(struct sl_verbs_dev *dev)
{
	if (dev->mr)
		lib->dereg_mr(dev->mr);
	if (dev->pd)
		lib->dealloc_pd(dev->pd);
	if (dev->ctx) { /* libibverbs cannot close descriptors that sl_fd_keep() marked */
		forget_fd(dev->ctx->cmd_fd);
		forget_fd(dev->ctx->async_fd);
		lib->close_device(dev->ctx);
	}
	*dev = (struct sl_verbs_dev){0};
}

static const char *fill_device(struct sl_verbs_dev *dev)
{
	const char *why = open_context(dev);
	int flags;

	if (why)
		return why;
	/* Keeps the descriptors from a program that closes everything. */
	dev->ctx->cmd_fd = sl_fd_keep(dev->ctx->cmd_fd);
	dev->ctx->async_fd = sl_fd_keep(dev->ctx->async_fd);
	/* Reading the device's events must not block. */
	flags = sl_sys_fcntl(dev->ctx->async_fd, F_GETFL, 0);
	sl_sys_fcntl(dev->ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	dev->mlx5 = sl_mlx5_lib(dev->ctx);
	sl_verbs_query(dev);
	dev->pd = lib->alloc_pd(dev->ctx);
	if (!dev->pd)
		return "no protection domain";
	dev->mr = lib->reg_mr(dev->pd, sl_pool.base, (size_t)sl_pool.nframes << sl_pool.shift,
			      IBV_ACCESS_LOCAL_WRITE);
	return dev->mr ? NULL : "packet memory cannot be registered (ulimit -l?)";
}

struct sl_verbs_dev *sl_verbs_dev_get(uint32_t ifindex, const char *name, const char **why)
{
	struct sl_verbs_dev *dev = NULL;

	lib = sl_verbs_lib();
	for (int i = 0; i < MAX_DEVICES; i++) {
		if (devices[i].ifindex == ifindex && !devices[i].dead) {
			devices[i].users++;
			return &devices[i];
		}
		if (!devices[i].ifindex && !dev)
			dev = &devices[i];
	}
	*why = "too many RDMA devices";
	if (!dev)
		return NULL;
	dev->ifindex = ifindex;
	dev->users = 1;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	*why = fill_device(dev);
	if (!*why)
		return dev;
	close_device(dev);
	return NULL;
}

void sl_verbs_dev_put(struct sl_verbs_dev *dev)
{
	if (--dev->users == 0)
		close_device(dev);
}

struct sl_verbs_dev *sl_verbs_dev_open(uint32_t ifindex, const char *ifname, char name[64],
				       const char **why)
{
	struct sl_verbs_dev *dev = NULL;

	*why = NULL;
	if (!sl_verbs_name_of(ifindex, ifname, name, 64) || !sl_lock(&sl_verbs_lock))
		return NULL;
	if (sl_verbs_lib())
		dev = sl_verbs_dev_get(ifindex, name, why);
	else
		*why = sl_verbs_lack();
	sl_unlock(&sl_verbs_lock);
	return dev;
}

void sl_verbs_dev_close(struct sl_verbs_dev *dev)
{
	if (!sl_lock(&sl_verbs_lock))
		return;
	sl_verbs_dev_put(dev);
	sl_unlock(&sl_verbs_lock);
}

/* Watching ---------------------------------------------------------------------------------------
 */

static void take_events(struct sl_verbs_dev *dev)
{
	struct ibv_async_event event;

	while (!dev->dead && lib->get_async_event(dev->ctx, &event) == 0) {
		sl_info("verbs", "%s: %s", dev->name, lib->event_type_str(event.event_type));
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			dev->dead = "the device has failed";
		lib->ack_async_event(&event);
	}
}

const char *sl_verbs_dev_look(struct sl_verbs_dev *dev)
{
	if (sl_lock(&sl_verbs_lock)) {
		take_events(dev);
		sl_unlock(&sl_verbs_lock);
	}
	return dev->dead;
}

void sl_verbs_devs_child(void)
{
	memset(&sl_verbs_lock, 0, sizeof(sl_verbs_lock));
	for (int i = 0; i < MAX_DEVICES; i++) {
		if (!devices[i].ctx)
			continue;
		sl_sys_close(devices[i].ctx->cmd_fd);
		sl_sys_close(devices[i].ctx->async_fd);
		devices[i] = (struct sl_verbs_dev){0};
	}
}
#endif
