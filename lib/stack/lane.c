/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: how sockets get them, and how lanes get their legs. */

#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "io/gso.h"
#include "io/verbs.h"
#include "stack/due.h"
#include "stack/hwclock.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "stack/port.h"
#include "stack/retire.h"

#define MAX_CROSS 256

struct sl_lane sl_limbo;

static struct sl_lock lock; /* protects the tables below and the opening of legs */
static struct sl_lane *lanes[SL_MAX_LANES];
static uint64_t keys[SL_MAX_LANES]; /* key for which each lane was made */
static uint32_t nlanes;
static void (*room_fn)(struct sl_list *entry);

/* Sockets with the same key share a lane (VMA: ring allocation logic). */
static uint64_t lane_key(uint32_t ifindex, int fd)
{
	switch (sl_settings.ring_allocation_logic_rx) {
	case SL_RING_SOCKET:
		return 1ull << 32 | (uint32_t)fd;
	case SL_RING_THREAD:
		return 2ull << 32 | sl_tid();
	case SL_RING_CORE:
	case SL_RING_CORE_ATTACH:
		return 3ull << 32 | (uint32_t)sl_max(sched_getcpu(), 0);
	default: /* a socket on every device (0) uses the first lane, with a leg on each device */
		return ifindex;
	}
}

static struct sl_lane *lane_new(uint64_t key)
{
	struct sl_lane *l;
	void *mem;

	if (nlanes == SL_MAX_LANES || !(mem = sl_aligned_alloc(SL_CACHELINE, sizeof(*l))))
		return NULL;
	l = memset(mem, 0, sizeof(*l));
	l->dst = sl_calloc(1, sizeof(*l->dst));
	l->sources = sl_calloc(1, sizeof(*l->sources));
	l->cross = sl_calloc(MAX_CROSS, sizeof(*l->cross));
	l->pace = sl_lane_pace_new();
	if (!l->dst || !l->sources || !l->cross || !l->pace) {
		sl_free(l->dst);
		sl_free(l->sources);
		sl_free(l->cross);
		sl_free(l->pace);
		sl_free(l);
		return NULL;
	}
	l->max_cross = MAX_CROSS;
	sl_list_init(&l->blocked);
	l->room_next_us = UINT64_MAX;
	l->on_room = room_fn;
	l->id = nlanes;
	l->stats = sl_stats_lane(l->id);
	l->stats->id = l->id;
	sl_store_release(&l->stats->used, 1);
	keys[nlanes] = key;
	lanes[nlanes] = l;
	sl_store_release(&nlanes, nlanes + 1);
	return l;
}

/* If no new lane is free, the socket shares one; keys are spread evenly. */
struct sl_lane *sl_lane_pick(uint32_t ifindex, int fd)
{
	uint64_t key = lane_key(sl_port_lower(ifindex), fd);
	uint32_t limit = sl_settings.ring_limit_per_interface > 0
				 ? (uint32_t)sl_settings.ring_limit_per_interface
				 : SL_MAX_LANES;
	struct sl_lane *l = NULL;

	if (!sl_lock(&lock))
		return NULL;
	for (uint32_t i = 0; i < nlanes && !l; i++)
		if (keys[i] == key)
			l = lanes[i];
	if (!l && nlanes < limit)
		l = lane_new(key);
	if (!l && nlanes)
		l = lanes[key % nlanes];
	sl_unlock(&lock);
	return l;
}

void sl_lane_for_each(void (*fn)(struct sl_lane *lane, void *arg), void *arg)
{
	uint32_t n = sl_load_acquire(&nlanes);

	for (uint32_t i = 0; i < n; i++)
		if (sl_load_acquire(&lanes[i]->nlegs))
			fn(lanes[i], arg);
}

/* Legs --------------------------------------------------------------------------------------- */

static struct sl_leg *find_leg(const struct sl_lane *lane, const struct sl_port *port)
{
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n; i++)
		if (lane->leg[i]->port == port)
			return lane->leg[i];
	return NULL;
}

/* Maps the leased rings. Undoes everything on failure. */
static int map_leases(struct sl_leg *leg, const struct sl_xsk_lease *leases)
{
	struct sl_frames none = {0};

	for (uint32_t q = 0; q < leg->nqueues; q++) {
		const struct sl_xsk_lease *ls = &leases[q];
		struct sl_xsk_sizes sizes = {ls->rx_size,   ls->tx_size,     ls->fill_size,
					     ls->comp_size, ls->share_queue, ls->share_xsk};
		struct sl_xsk_maps maps = {ls->rx_map, ls->tx_map, ls->fill_map, ls->comp_map};
		int err;

		err = sl_xsk_open(&leg->xsk[q], ls->fd, &leg->port->queue[ls->queue], &sizes,
				  &maps);
		if (err == 0)
			continue;
		for (uint32_t i = q; i < leg->nqueues; i++)
			sl_sys_close(leases[i].fd);
		while (q-- > 0)
			sl_xsk_close(&leg->xsk[q], &none);
		return err;
	}
	return 0;
}

/* A VLAN device's leg, which uses the leg of the device below. */
static struct sl_leg *open_vlan_leg(struct sl_port *port, struct sl_leg *below)
{
	struct sl_leg *leg = sl_calloc(1, sizeof(*leg));

	if (!leg)
		return NULL;
	leg->port = port;
	leg->lane = below->lane;
	leg->first = below->first;
	leg->below = below;
	leg->tx = below->tx;
	return leg;
}

/* In zero-copy mode sending by the ring is cheaper, so GSO is not used. */
static void open_gso(struct sl_leg *leg)
{
	const struct sl_port_info *port = &leg->port->info;
	struct sl_link link;

	if (!sl_settings.tso || port->flags & SL_PORT_ZEROCOPY ||
	    !sl_link_get(port->ifindex, &link))
		return;
	sl_gso_open(&leg->xsk[leg->tx_queue], port->ifindex, port->ifname, !link.no_qdisc,
		    &leg->lane->frames);
}

static struct sl_leg *open_leg(struct sl_lane *lane, struct sl_port *port)
{
	uint32_t nq = port->info.nqueues, ifindex = port->info.ifindex;
	struct sl_leg *leg = sl_calloc(1, sizeof(*leg) + nq * sizeof(leg->xsk[0]));
	struct sl_xsk_lease leases[SL_MAX_QUEUES];
	const char *why = NULL;
	int err = -ENOMEM;

	if (!leg)
		goto out;
	leg->port = port;
	leg->lane = lane;
	leg->nqueues = nq;
	err = sl_broker_lane_open(ifindex, lane->id, leases, &leg->first, &why);
	if (err < 0)
		goto out;
	err = map_leases(leg, leases);
	if (err < 0) {
		sl_broker_lane_close(ifindex, lane->id);
		goto out;
	}
	/* Lanes of one device spread their transmit work over its queues. */
	leg->tx_queue = lane->id % nq;
	leg->tx = &leg->xsk[leg->tx_queue].tx;
	if (sl_port_rx_mtu(port) > sl_pool.mtu) /* then it can also send long packets */
		leg->tx->caps |= SL_TX_SG;
	sl_leg_open_verbs(leg);
	if (!leg->verbs)
		open_gso(leg);
	return leg;
out:
	sl_warn("lane", "lane %u has no place on %s: %s (%s)", lane->id, port->info.ifname,
		why ? why : "rings", strerrorname_np(-err));
	sl_free(leg);
	return NULL;
}

/* Index for a new leg. Call with the tables' lock held, so that no other thread adds one. */
static uint32_t free_place(const struct sl_lane *lane)
{
	uint32_t i = 0;

	while (i < lane->nlegs && !sl_leg_is_closed(lane->leg[i]))
		i++;
	return i;
}

/* Lane held. */
static void add_leg(struct sl_lane *lane, struct sl_leg *leg)
{
	uint32_t place = free_place(lane);

	if (leg->below)
		leg->tx = leg->below->tx; /* below may have left a failed queue meanwhile */
	lane->frames.floor = SL_FRAME_FLOOR;
	for (uint32_t q = 0; q < leg->nqueues; q++)
		leg->xsk[q].rx.ops->refill(&leg->xsk[q].rx, &lane->frames);
	sl_store_release(&lane->leg[place], leg);
	if (place < lane->nlegs)
		return;
	sl_store_release(&lane->nlegs, place + 1);
	lane->stats->nlegs = lane->nlegs;
}

/* Lane held. */
static void close_leg(struct sl_lane *lane, struct sl_leg *leg)
{
	uint32_t nqueues = leg->nqueues;

	if (leg->verbs)
		leg->verbs->ops->close(leg->verbs, &lane->frames);
	else if (nqueues)
		leg->tx->ops->reap(leg->tx, &lane->frames);
	sl_leg_close(leg);
	for (uint32_t q = 0; q < nqueues; q++) {
		leg->xsk[q].tx.ops->close(&leg->xsk[q].tx, &lane->frames);
		sl_xsk_close(&leg->xsk[q], &lane->frames);
	}
}

bool sl_lanes_leave(struct sl_port *p)
{
	bool all = true;

	if (!sl_lock(&lock))
		return false;
	for (uint32_t i = 0; i < nlanes; i++) {
		struct sl_leg *leg = find_leg(lanes[i], p);

		if (!leg)
			continue;
		if (!sl_lane_lock(lanes[i])) {
			all = false;
			continue;
		}
		close_leg(lanes[i], leg);
		sl_lane_unlock(lanes[i]);
	}
	sl_unlock(&lock);
	return all;
}

struct sl_leg *sl_lane_leg(struct sl_lane *lane, struct sl_port *port)
{
	struct sl_leg *leg = find_leg(lane, port), *below = NULL;
	int saved = errno;

	if (leg || lane == &sl_limbo)
		return leg;
	if (port->base) {
		below = sl_lane_leg(lane, port->base);
		if (!below)
			return NULL;
	}
	if (!sl_lock(&lock))
		return NULL;
	leg = find_leg(lane, port);
	if (!leg && free_place(lane) < SL_STATS_PORTS) {
		leg = below ? open_vlan_leg(port, below) : open_leg(lane, port);
		if (leg && sl_lane_lock(lane)) {
			add_leg(lane, leg);
			sl_lane_unlock(lane);
		}
	}
	sl_unlock(&lock);
	errno = saved;
	return leg;
}

/* POLLOUT if senders wait and the kernel can tell when packets have completed. */
static short late_events(const struct sl_lane *lane, const struct sl_xsk *x)
{
	return sl_load(&lane->room_next_us) != UINT64_MAX && sl_xsk_tx_is_behind(x) ? POLLOUT : 0;
}

unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max)
{
	unsigned n = 0;
	uint32_t legs = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < legs; i++)
		for (uint32_t q = 0; q < lane->leg[i]->nqueues; q++, n++)
			if (n < max)
				fds[n] = (struct pollfd){
					.fd = lane->leg[i]->xsk[q].fd,
					.events = POLLIN | late_events(lane, &lane->leg[i]->xsk[q]),
				};
	return n;
}

/* Start and fork ----------------------------------------------------------------------------- */

int sl_stack_init(void (*on_room)(struct sl_list *entry))
{
	struct sl_umem_info umem;
	const char *why = NULL;
	int err;

	room_fn = on_room;
	sl_list_init(&sl_limbo.blocked);
	sl_limbo.room_next_us = UINT64_MAX;
	sl_limbo.stats = sl_stats_lane(SL_MAX_LANES - 1);
	err = sl_broker_umem((uint32_t)sl_settings.frames, (uint32_t)sl_settings.frame_size, &umem,
			     &why);
	if (err < 0) {
		sl_warn("lane", "no packet memory: %s", why ? why : strerrorname_np(-err));
		return err;
	}
	return sl_pool_attach(umem.base, sl_umem_mtu(&umem), &umem.share, umem.member);
}

/* The old lanes stay allocated, without frames: sockets handed back to the kernel may still point
 * to them. */
void sl_stack_renew(void)
{
	bool locked = sl_lock(&lock);

	for (uint32_t i = 0; i < nlanes; i++) {
		bool held = sl_lane_lock(lanes[i]);

		memset(&lanes[i]->frames, 0, sizeof(lanes[i]->frames));
		if (held)
			sl_lane_unlock(lanes[i]);
	}
	sl_store_release(&nlanes, 0);
	if (locked)
		sl_unlock(&lock);
	sl_ports_close(false);
}

static void close_in_child(const struct sl_leg *leg)
{
	for (uint32_t q = 0; q < leg->nqueues; q++) {
		sl_sys_close(leg->xsk[q].fd);
		sl_gso_child(&leg->xsk[q]);
	}
}

void sl_stack_child(void)
{
	memset(&lock, 0, sizeof(lock));
	memset(&sl_limbo.lock, 0, sizeof(sl_limbo.lock));
	sl_port_child();
	sl_lanes_due_child();
	sl_pace_child();
	sl_hwclock_child();
	for (uint32_t i = 0; i < nlanes; i++)
		for (uint32_t j = 0; j < lanes[i]->nlegs; j++)
			close_in_child(lanes[i]->leg[j]);
	sl_verbs_child();
	nlanes = 0;
}
