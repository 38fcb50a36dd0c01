/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: an XSK on each queue, which shares the anchor's memory and rings (umem/xsk.c).
 *
 * Where rings are lent once (umem/ring.c) a lane is opened first, then mapped by the process that
 * gets it, and then bound. */
#include "base/compat.h"
#include "ctl/claim/lane.h"

#include <errno.h>
#include <linux/if_xdp.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/claim/spare.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/part.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "ctl/steer/maps.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"
#include "ctl/umem/xsk.h"

/* Busy polling moves the driver's work into the thread that waits (kernel 5.11). */
static void set_busy_poll(int fd)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	int on = 1, us = o->busy_poll_us ? (int)o->busy_poll_us : 20;
	int budget = o->busy_poll_budget ? (int)o->busy_poll_budget : 64;
	int err;

	if (!o->busy_poll)
		return;
	err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof(on));
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us));
	if (!err)
		err = sl_sys_setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget,
					sizeof(budget));
	if (err)
		sl_warn_once("port", "busy polling of the driver is not possible: %s",
			     sl_strerror(err));
}

static void lease_close(struct sl_part *part, struct sl_xsk_lease *l)
{
	sl_lease_close(l); /* the sockets leave `lanes` by themselves */
	sl_share_xsk_close(&part->umem->info.share, l->share_xsk);
}

static bool is_by_packet(const struct sl_device *port)
{
	return sl_attach_is_by_packet(port->attach.kind);
}

static int steer_to(struct sl_device *port, uint32_t xsk, uint32_t ifindex)
{
	return bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &ifindex, 0) ? -errno
											 : 0;
}

static int make_pair(struct sl_device *port, uint32_t xsk, struct sl_xsk_lease *l,
		     const char **step)
{
	uint32_t ifindex;
	int err = sl_pair_make(l, &ifindex, port->attach.drop_fd, port->rings.rx, step);

	if (err)
		return err;
	*step = "map of lanes";
	return steer_to(port, xsk, ifindex);
}

/* The pair that is there. (Its device may have been removed by hand.) */
static int take_pair(struct sl_device *port, uint32_t xsk, struct sl_xsk_lease *l)
{
	uint32_t ifindex;
	int err;

	if (!sl_spare_take(port, l, &ifindex))
		return -ENOENT;
	err = steer_to(port, xsk, ifindex);
	if (err)
		sl_packet_ring_close(l);
	return err;
}

/* The lane receives by the packet socket of a private device, whatever the queue. xsk: the lane's
 * first index. */
static int open_pair(struct sl_device *port, uint32_t xsk, struct sl_xsk_lease *l,
		     const char **step)
{
	int err = take_pair(port, xsk, l);

	if (err)
		err = make_pair(port, xsk, l, step);
	if (!err && sl_broker_opts()->serve)
		sl_spare_begin(port);
	return err;
}

static int lease_bind(struct sl_device *port, uint32_t xsk, struct sl_xsk_lease *l)
{
	int err = sl_xsk_bind(l->fd, port, l->queue, XDP_SHARED_UMEM,
			      port->queue[l->queue].anchor_fd);

	if (!err && !is_by_packet(port) &&
	    bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &l->fd, 0))
		err = -errno;
	if (err)
		return err;
	l->unbound = false;
	set_busy_poll(l->fd);
	return 0;
}

/* In a process that dies the packets of each XSK are lost from the end of its shadows to its own,
 * and each end takes a grace period: where several receive, all end before the shadows. */
static void last_closed(const struct sl_device *port, uint32_t xsk, int fd)
{
	if (is_by_packet(port) || !xsk)
		sl_broker_fd_last(fd, !is_by_packet(port));
}

static int lease_open(struct sl_part *part, uint32_t q, uint32_t xsk, struct sl_xsk_lease *l)
{
	struct sl_device *port = part->port;
	const struct sl_queue *queue = &port->queue[q];
	int err;

	*l = (struct sl_xsk_lease){
		.fd = sl_xsk_new(port->rings.rx, port->rings.tx, NULL),
		.queue = q,
		.rx_size = port->rings.rx,
		.tx_size = port->rings.tx,
		.fill_size = port->rings.fill,
		.comp_size = port->rings.comp,
		.fill_map = queue->fill_map,
		.comp_map = queue->comp_map,
		.zerocopy = part->zerocopy,
		.near = sl_queues_near(part),
		.unbound = true,
		.share_queue = queue->share_queue,
	};
	if (l->fd < 0)
		return l->fd;
	last_closed(port, xsk, l->fd);
	err = sl_share_xsk_open(&part->umem->info.share, queue->share_queue);
	if (err < 0) {
		sl_sys_close(l->fd);
		return err;
	}
	l->share_xsk = port->xsk[xsk] = (uint16_t)err;
	err = sl_xsk_confine(l->fd, port);
	if (!err)
		err = sl_lease_map(l);
	if (!err && !port->lent_once)
		err = lease_bind(port, xsk, l);
	if (err)
		lease_close(part, l);
	return err;
}

static int lane_open(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *leases,
		     const char **why)
{
	uint32_t first = lane * part->port->info.nqueues, i;
	const char *step = "AF_XDP socket";
	int err = 0;

	for (i = 0; i < part->n && !err; i++) {
		uint32_t q = part->first + i;

		err = lease_open(part, q, first + q, &leases[i]);
	}
	if (!err && is_by_packet(part->port)) {
		err = open_pair(part->port, first, &leases[0], &step);
		i += !!err;
	}
	if (!err)
		return 0;
	sl_why(why, "%s: lane %u on queue %u: %s: %s", part->port->info.ifname, lane,
	       sl_min(part->first + i - 1, part->first + part->n - 1), step, sl_strerror(err));
	while (i-- > 1)
		lease_close(part, &leases[i - 1]);
	return err;
}

static bool lane_mark(struct sl_device *port, uint32_t lane, bool open)
{
	uint64_t bit = 1ull << (lane % 64), *word = &port->lane_open[lane / 64];
	bool was = *word & bit;

	*word = open ? *word | bit : *word & ~bit;
	port->lane_mute[lane / 64] &= ~bit;
	return was;
}

/* The part that the lane belongs to. */
static struct sl_part *part_of_lane(struct sl_device *port, uint32_t lane)
{
	return &port->part[port->lane_part[lane]];
}

static void lane_is_of(struct sl_part *part, uint32_t lane)
{
	part->port->lane_part[lane] = (uint8_t)(part - part->port->part);
}

int sl_lane_map_again(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *l)
{
	struct sl_device *port = part->port;
	uint32_t xsk = lane * port->info.nqueues + l->queue;
	int err = port->lent_once ? 0 : sl_lease_map(l);

	if (!err && l->packet_places)
		err = sl_packet_ring_map(l);
	/* (A private device is in the map still.) */
	if (!err && !is_by_packet(port) &&
	    bpf_map_update_elem(port->attach.map_fd[SL_MAP_LANES], &xsk, &l->fd, 0))
		err = -errno;
	l->fill_map = port->queue[l->queue].fill_map;
	l->comp_map = port->queue[l->queue].comp_map;
	port->xsk[xsk] = (uint16_t)l->share_xsk;
	lane_mark(port, lane, true);
	lane_is_of(part, lane);
	return err;
}

/* Notes the packet memory: the embedded broker makes it after it has opened the device. */
static void umem_known(struct sl_part *part)
{
	part->umem = sl_umem_find(part->umem_id);
	if (part->umem)
		sl_maps_set_config(part->port);
}

static int lane_checked_open(uint32_t ifindex, uint32_t umem, uint32_t lane,
			     struct sl_xsk_lease *leases, uint32_t *first, const char **why)
{
	struct sl_device *port = sl_device_find(ifindex);
	struct sl_part *part = port ? sl_part_of(port, umem) : NULL;
	int err = 0;

	if (part && !part->umem)
		umem_known(part);
	if (!part || !part->umem) {
		sl_why(why, "lane %u: the port or the packet memory is not there", lane);
		return -ENXIO;
	}
	if (port->gone) {
		sl_why(why, "%s is gone, or was in another network namespace", port->info.ifname);
		return -ENODEV;
	}
	if (lane >= port->info.max_lanes) {
		sl_why(why, "%s has room for %u lanes", port->info.ifname, port->info.max_lanes);
		return -EINVAL;
	}
	if (port->lent_once)
		err = sl_queues_make(part, why);
	else if (!part->bound)
		err = sl_queues_bind(part, why);
	if (err)
		return err;
	if (lane_mark(port, lane, true)) {
		sl_why(why, "%s: lane %u is open already", port->info.ifname, lane);
		return -EBUSY;
	}
	lane_is_of(part, lane);
	err = lane_open(part, lane, leases, why);
	if (err) {
		lane_mark(port, lane, false);
		return err;
	}
	*first = lane * port->info.nqueues;
	return 0;
}

int sl_embedded_lane_open(uint32_t ifindex, uint32_t umem, uint32_t lane,
			  struct sl_xsk_lease *leases, uint32_t *first, const char **why)
{
	struct sl_broker_guard g;
	int err;

	sl_broker_enter(&g);
	err = lane_checked_open(ifindex, umem, lane, leases, first, why);
	sl_broker_leave(&g);
	return err;
}

/* A lane that cannot be bound leaves nothing behind that the process may have mapped. */
static int lane_bind(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *leases,
		     const char **why)
{
	struct sl_device *port = part->port;
	bool first = !part->bound;
	int err = sl_queues_bind_made(part, why);

	if (err)
		return err;
	for (uint32_t i = 0; i < part->n && !err; i++)
		err = lease_bind(port, lane * port->info.nqueues + leases[i].queue, &leases[i]);
	if (!err)
		return 0;
	sl_why(why, "%s: lane %u: bind: %s", port->info.ifname, lane, sl_strerror(err));
	if (first)
		sl_queues_close(part, true);
	return err;
}

int sl_embedded_lane_bind(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			  const char **why)
{
	struct sl_broker_guard g;
	struct sl_device *port;
	struct sl_part *part;
	int err = -ENXIO;

	sl_broker_enter(&g);
	port = sl_device_find(ifindex);
	part = port && lane < port->info.max_lanes ? part_of_lane(port, lane) : NULL;
	if (part && !port->gone && (part->bound || sl_queues_are_made(part)))
		err = lane_bind(part, lane, leases, why);
	sl_broker_leave(&g);
	return err;
}

void sl_lane_mute(uint32_t ifindex, uint32_t lane)
{
	struct sl_device *port = sl_device_find(ifindex);

	if (port && lane < port->info.max_lanes)
		port->lane_mute[lane / 64] |= 1ull << (lane % 64);
	for (uint32_t q = 0; port && q < port->info.nqueues; q++) {
		uint32_t xsk = lane * port->info.nqueues + q;

		bpf_map_delete_elem(port->attach.map_fd[SL_MAP_LANES], &xsk);
	}
}

void sl_lanes_mute(const struct sl_device *p)
{
	for (uint32_t lane = 0; lane < p->info.max_lanes; lane++) {
		if (!p->lane_open[lane / 64])
			lane |= 63; /* none of these 64 is open */
		else if (p->lane_open[lane / 64] >> lane % 64 & 1)
			sl_lane_mute(p->info.ifindex, lane);
	}
}

void sl_lane_free(uint32_t ifindex, uint32_t lane)
{
	struct sl_device *port = sl_device_find(ifindex);
	const struct sl_part *part;

	if (!port || lane >= port->info.max_lanes || !lane_mark(port, lane, false))
		return;
	part = part_of_lane(port, lane);
	for (uint32_t i = 0; i < part->n; i++)
		sl_share_xsk_close(&part->umem->info.share,
				   port->xsk[lane * port->info.nqueues + part->first + i]);
}

void sl_embedded_lane_close(uint32_t ifindex, uint32_t lane)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	sl_lane_mute(ifindex, lane);
	sl_lane_free(ifindex, lane);
	sl_broker_leave(&g);
}
