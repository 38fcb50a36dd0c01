/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of closed queues.
 *
 * Theory of operation: a device may be released while the group goes on with its memory elsewhere.
 * The frames in its fill and receive rings, and those that a zero-copy driver holds, would be lost
 * with them; so each frame that was given to a queue bears the queue's name (base/share/share.h),
 * and is taken back by that name. But not before the kernel is done: it gives a queue up some time
 * after its last socket was closed (a work item), and processes close theirs at any time. The
 * kernel is done when it lets another socket have the queue. So this code binds a socket there,
 * with a page of its own as memory, in copy mode, which no driver notices. A queue that we have
 * bound again was free before. (One that is about to be bound is not tried: the kernel would give
 * that socket's queue up late, too.) */
#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/umem/umem.h"

#define PAGE 4096

static int set_u32(int fd, int opt, uint32_t value)
{
	return sl_sys_setsockopt(fd, SOL_XDP, opt, &value, sizeof(value));
}

/* Gives the socket the least that bind needs: memory, its two rings, one ring more. */
static int prepare(int fd, void *page)
{
	const struct xdp_umem_reg reg = {
		.addr = (uintptr_t)page, .len = PAGE, .chunk_size = PAGE / 2};
	int err = sl_sys_setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));

	if (!err)
		err = set_u32(fd, XDP_UMEM_FILL_RING, 2);
	if (!err)
		err = set_u32(fd, XDP_UMEM_COMPLETION_RING, 2);
	return err ? err : set_u32(fd, XDP_RX_RING, 2);
}

/* 0: it has the queue; -ENODEV: there is no such device any more, -EINVAL: no such queue; other
 * errors. */
static int try_bind(uint32_t ifindex, uint32_t nr, void *page)
{
	const struct sockaddr_xdp sxdp = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_COPY,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = nr,
	};
	int fd = sl_sys_socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return fd;
	err = prepare(fd, page) ? -EAGAIN : 0;
	if (!err)
		err = sl_sys_bind(fd, &sxdp, sizeof(sxdp));
	sl_sys_close(fd);
	return err;
}

static bool is_bound_again(uint32_t ifindex, uint32_t nr)
{
	const struct sl_device *d = sl_device_find(ifindex);

	return d && sl_queue_is_bound(d, nr);
}

static bool is_given_up(uint32_t ifindex, uint32_t nr)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (page == MAP_FAILED)
		return false;
	err = try_bind(ifindex, nr, page);
	munmap(page, PAGE);
	return !err || err == -ENODEV || err == -EINVAL;
}

static void reclaim(struct sl_share *g, uint32_t opening)
{
	for (uint32_t i = 0; i < g->nqueues; i++) {
		const struct sl_share_told_queue *q = &g->told_queue[i];
		int n;

		if (sl_load(&q->state) != SL_QUEUE_CLOSED ||
		    (!is_bound_again(q->ifindex, q->nr) &&
		     (q->ifindex == opening || !is_given_up(q->ifindex, q->nr))))
			continue;
		n = sl_share_reclaim(g, i);
		if (n > 0)
			sl_debug("port", "%d frames of queue %u of device %u came back", n, q->nr,
				 q->ifindex);
	}
}

void sl_queues_reclaim(uint32_t opening)
{
	for (struct sl_umem *u = sl_umem_first(); u; u = u->next)
		if (!u->broken)
			reclaim(&u->info.share, opening);
}
