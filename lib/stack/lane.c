/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: how sockets get them. */

#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/settings.h"
#include "base/sys.h"
#include "io/gso.h"
#include "io/packet.h"
#include "io/nic/verbs_rx.h"
#include "net/tunnel.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "stack/port.h"

#define MAX_CROSS 256

struct sl_lane sl_limbo;

struct sl_lock sl_lanes_lock;
static struct sl_lane *lanes[SL_MAX_LANES];
static uint64_t keys[SL_MAX_LANES]; /* key of the sockets that each lane is for; atomic */
static uint32_t nlanes;
static void (*room_fn)(struct sl_list *entry);

#define KEY(kind, id) ((uint64_t)(kind) << 32 | (id))
enum { KEY_SOCKET = 1, KEY_THREAD, KEY_CORE, KEY_USER_ID };

/* Sockets with the same key share a lane (VMA: ring allocation logic). id: the socket's
 * descriptor, or the program's number. */
static uint64_t lane_key(int logic, uint32_t ifindex, uint32_t id)
{
	switch (logic) {
	case SL_RING_SOCKET:
		return KEY(KEY_SOCKET, id);
	case SL_RING_USER_ID:
		return KEY(KEY_USER_ID, id);
	case SL_RING_THREAD:
		return KEY(KEY_THREAD, sl_tid());
	case SL_RING_CORE:
	case SL_RING_CORE_ATTACH:
		return KEY(KEY_CORE, (uint32_t)sl_max(sched_getcpu(), 0));
	default: /* a socket on every device (0) uses the first lane, with a leg on each device */
		return ifindex;
	}
}

static struct sl_lane_pace *pace_new(void)
{
	struct sl_lane_pace *lp = sl_malloc(sizeof(*lp));

	if (!lp)
		return NULL;
	sl_wheel_init(&lp->wheel, sl_now_ns() / 1000);
	sl_list_init(&lp->pacers);
	sl_list_init(&lp->nics);
	sl_list_init(&lp->posted);
	return lp;
}

/* With sl_lanes_lock. */
static void set_key(uint32_t i, uint64_t key)
{
	sl_store(&keys[i], key);
	lanes[i]->stats->tid = key >> 32 == KEY_THREAD ? (uint32_t)key : 0;
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
	l->pace = pace_new();
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
	sl_list_init(&l->reaped);
	l->room_next_us = l->later_us = UINT64_MAX;
	l->on_room = room_fn;
	l->id = nlanes;
	l->stats = sl_stats_lane(l->id);
	l->stats->id = l->id;
	sl_store_release(&l->stats->used, 1);
	lanes[nlanes] = l;
	set_key(nlanes, key);
	sl_store_release(&nlanes, nlanes + 1);
	return l;
}

static uint32_t most_lanes(void)
{
	return sl_settings.ring_limit_per_interface > 0
		       ? (uint32_t)sl_settings.ring_limit_per_interface
		       : SL_MAX_LANES;
}

static struct sl_lane *find_lane(uint64_t key, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (sl_load(&keys[i]) == key)
			return lanes[i];
	return NULL;
}

/* A thread's key: gives it the lane of a thread that has ended, with the sockets that it left.
 * (Threads may come and go for ever; lanes are not freed.) NULL: there is none. */
static struct sl_lane *inherit(uint64_t key)
{
	if (key >> 32 != KEY_THREAD)
		return NULL;
	for (uint32_t i = 0; i < nlanes; i++) {
		if (keys[i] >> 32 != KEY_THREAD ||
		    sl_sys(SYS_tgkill, sl_sys(SYS_getpid), (uint32_t)keys[i], 0) != -ESRCH)
			continue;
		set_key(i, key);
		return lanes[i];
	}
	return NULL;
}

/* If no new lane is free, the socket shares one; keys are spread evenly. */
struct sl_lane *sl_lane_of_key(uint64_t key)
{
	struct sl_lane *l;

	if (!sl_lock(&sl_lanes_lock))
		return NULL;
	l = find_lane(key, nlanes);
	if (!l)
		l = inherit(key);
	if (!l && nlanes < most_lanes())
		l = lane_new(key);
	if (!l && nlanes)
		l = lanes[key % nlanes];
	sl_unlock(&sl_lanes_lock);
	return l;
}

bool sl_lane_fits(const struct sl_lane *lane, uint64_t key)
{
	uint32_t n = sl_load_acquire(&nlanes);

	if (lane == &sl_limbo || sl_load(&keys[lane->id]) == key)
		return true;
	return n >= most_lanes() && !find_lane(key, n) && lane == lanes[key % n];
}

uint64_t sl_lane_key_here(void)
{
	switch (sl_settings.ring_allocation_logic_rx) {
	case SL_RING_THREAD:
	case SL_RING_CORE:
	case SL_RING_CORE_ATTACH:
		return lane_key(sl_settings.ring_allocation_logic_rx, 0, 0);
	}
	return 0;
}

struct sl_lane *sl_lane_pick_by(int logic, uint32_t ifindex, uint32_t id)
{
	return sl_lane_of_key(lane_key(logic, ifindex ? sl_port_lower(ifindex) : 0, id));
}

struct sl_lane *sl_lane_pick(uint32_t ifindex, int fd)
{
	return sl_lane_pick_by(sl_settings.ring_allocation_logic_rx, ifindex, (uint32_t)fd);
}

void sl_lane_for_each(void (*fn)(struct sl_lane *lane, void *arg), void *arg)
{
	uint32_t n = sl_load_acquire(&nlanes);

	for (uint32_t i = 0; i < n; i++)
		if (sl_load_acquire(&lanes[i]->nlegs))
			fn(lanes[i], arg);
}

/* POLLOUT if senders wait and the kernel can tell when packets have completed. */
static short late_events(const struct sl_lane *lane, const struct sl_xsk *x)
{
	return sl_load(&lane->room_next_us) != UINT64_MAX && sl_xsk_tx_is_behind(x) ? POLLOUT : 0;
}

/* The descriptor that frames arrive at, and the room that a sender waits for. A device that
 * receives by a packet socket, or by the NIC's own queue, has an XSK of its own for the latter. */
static unsigned queue_fds(const struct sl_lane *lane, struct sl_xsk *x, struct pollfd *fds,
			  unsigned max)
{
	short late = late_events(lane, x);
	int fd = sl_load_acquire(&x->rx_fd);

	if (sl_unlikely(x->verbs))
		sl_verbs_rx_arm(x);
	if (!fd)
		fd = x->fd;
	if (max)
		fds[0] = (struct pollfd){.fd = fd, .events = POLLIN | (fd == x->fd ? late : 0)};
	if (fd == x->fd || !late)
		return 1;
	if (max > 1)
		fds[1] = (struct pollfd){.fd = x->fd, .events = late};
	return 2;
}

unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max)
{
	unsigned n = 0;
	uint32_t legs = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < legs; i++)
		for (uint32_t q = 0; q < lane->leg[i]->nqueues; q++)
			n += queue_fds(lane, &lane->leg[i]->xsk[q], fds + sl_min(n, max),
				       n < max ? max - n : 0);
	return n;
}

/* Start and fork ----------------------------------------------------------------------------- */

void sl_lanes_init(void (*on_room)(struct sl_list *entry))
{
	room_fn = on_room;
	sl_list_init(&sl_limbo.blocked);
	sl_list_init(&sl_limbo.reaped);
	sl_limbo.room_next_us = sl_limbo.later_us = UINT64_MAX;
	sl_limbo.stats = sl_stats_lane(SL_MAX_LANES - 1);
}

/* The old lanes stay allocated, without frames: sockets handed back to the kernel may still point
 * to them. */
void sl_lanes_renew(void)
{
	bool locked = sl_lock(&sl_lanes_lock);

	for (uint32_t i = 0; i < nlanes; i++) {
		bool held = sl_lane_lock(lanes[i]);

		memset(&lanes[i]->frames, 0, sizeof(lanes[i]->frames));
		if (held)
			sl_lane_unlock(lanes[i]);
	}
	sl_store_release(&nlanes, 0);
	if (locked)
		sl_unlock(&sl_lanes_lock);
}

static void close_in_child(const struct sl_leg *leg)
{
	for (uint32_t q = 0; q < leg->nqueues; q++) {
		sl_sys_close(leg->xsk[q].fd);
		sl_gso_child(&leg->xsk[q]);
		if (leg->xsk[q].far)
			sl_far_child(leg->xsk[q].far);
		sl_packet_child(&leg->xsk[q]);
	}
	if (leg->tunnel)
		sl_tunnel_child(leg->tunnel);
}

void sl_lanes_child(void)
{
	memset(&sl_lanes_lock, 0, sizeof(sl_lanes_lock));
	memset(&sl_limbo.lock, 0, sizeof(sl_limbo.lock));
	for (uint32_t i = 0; i < nlanes; i++)
		for (uint32_t j = 0; j < lanes[i]->nlegs; j++)
			close_in_child(lanes[i]->leg[j]);
	nlanes = 0;
}
