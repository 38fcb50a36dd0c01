/* SPDX-License-Identifier: BSD-2-Clause */
/* A lane's legs: opened at first use of a port, closed when the port retires. */
#include "net/qdisc.h"
#include "stack/leg_open.h"

#include <errno.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "base/sys.h"
#include "io/gso.h"
#include "ctl/umem/ring.h"
#include "io/packet.h"
#include "io/nic/verbs_rx.h"
#include "net/rtnl.h"
#include "net/tunnel.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/nic_rx.h"
#include "stack/port.h"
#include "stack/tap.h"
#include "tcp/tcp_params.h"

static struct sl_port_stats no_stats;
struct sl_port sl_port_nowhere = {.stats = &no_stats, .retired = true};

static struct sl_leg *find_leg(const struct sl_lane *lane, const struct sl_port *port)
{
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n; i++)
		if (lane->leg[i]->port == port && !lane->leg[i]->is_class)
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

/* Receives by the packet socket that the broker has made, if it has. 0 or -errno. */
static int open_packet(struct sl_leg *leg, struct sl_xsk_lease *l)
{
	struct sl_frames none = {0};
	int err = 0;

	if (!l->packet_places)
		return 0;
	if (!l->packet_ring)
		err = sl_packet_ring_map(l);
	if (!err) {
		const struct sl_packet_ring ring = {l->packet_fd, l->packet_ring, l->packet_places,
						    SL_PACKET_PLACE};

		err = sl_packet_open(&leg->xsk[0], &ring, &leg->lane->frames);
	}
	if (!err)
		return 0;
	sl_packet_ring_close(l);
	for (uint32_t q = 0; q < leg->nqueues; q++)
		sl_xsk_close(&leg->xsk[q], &none);
	return err;
}

/* Lets the leg send from frames that are not registered with its XSK, too. 0 or -errno. */
static int open_far(struct sl_leg *leg, const struct sl_xsk_lease *l)
{
	struct sl_frames none = {0};
	struct sl_far *far;
	int err;

	if (!l->near)
		return 0;
	far = sl_pool.share.told->bounce ? sl_far_open_bounce(&leg->lane->frames)
					 : sl_far_open(leg->port->info.ifindex, &leg->lane->frames);
	if (far) {
		sl_xsk_set_far(&leg->xsk[0], far, l->near);
		return 0;
	}
	err = -errno;
	sl_packet_close(&leg->xsk[0], &none);
	for (uint32_t q = 0; q < leg->nqueues; q++)
		sl_xsk_close(&leg->xsk[q], &none);
	return err;
}

/* Receives by a queue of the NIC, where the device does. 0 or -errno. */
static int open_nic(struct sl_leg *leg, const char **why)
{
	struct sl_frames none = {0};
	int err = sl_leg_open_rx(leg, why);

	for (uint32_t q = 0; q < leg->nqueues && err; q++)
		sl_xsk_close(&leg->xsk[q], &none);
	return err;
}

static bool is_low_closed(const void *arg)
{
	const struct sl_leg *low = arg;

	return low->dead || sl_leg_is_closed(low);
}

static int kick_low(void *leg)
{
	return sl_leg_kick(leg);
}

static struct sl_dst *low_dst(void *arg, const struct sl_route_key *key, uint64_t now_ns)
{
	const struct sl_leg *low = arg;

	return sl_lane_dst(low->lane, key, now_ns);
}

static void send_by_daemon(void *arg, const void *frame, size_t bytes)
{
	const struct sl_port *port = arg;

	(void)sl_broker_vxlan_send(port->lower, port->vlan_nr, frame, bytes);
}

static struct sl_tunnel *open_tunnel(struct sl_port *port, struct sl_leg *below)
{
	struct sl_tunnel_low low = {
		.ifindex = &port->info.ifindex,
		.leg = below,
		.tx = &below->tx,
		.ifname = below->port->info.ifname,
		.frames = &below->lane->frames,
		.port_min = &sl_tcp_params.port_min,
		.port_max = &sl_tcp_params.port_max,
		.is_closed = is_low_closed,
		.kick = kick_low,
		.dst = low_dst,
		.send = send_by_daemon,
		.port = port,
	};

	return sl_tunnel_open(&low);
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
	if (!(port->vlan & SL_VXLAN_TAG_BIT)) {
		if (below->port->info.flags & SL_PORT_VERBS)
			sl_nic_rx_errors(port);
		return leg;
	}
	leg->below = NULL;
	leg->tunnel = open_tunnel(port, below);
	if (leg->tunnel) {
		leg->tx = sl_tunnel_tx(leg->tunnel);
		return leg;
	}
	sl_free(leg);
	return NULL;
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
	if (err < 0)
		sl_packet_ring_close(&leases[0]);
	else
		err = open_packet(leg, &leases[0]);
	if (err >= 0)
		err = open_far(leg, &leases[0]);
	if (err >= 0)
		err = open_nic(leg, &why);
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

	if (leg->below && !leg->is_class)
		leg->tx = leg->below->tx; /* below may have left a failed queue meanwhile */
	lane->frames.floor = SL_FRAME_FLOOR;
	for (uint32_t q = 0; q < leg->nqueues; q++)
		leg->xsk[q].rx.ops->refill(&leg->xsk[q].rx, &lane->frames);
	sl_store_release(&lane->leg[place], leg);
	if (place == lane->nlegs) {
		sl_store_release(&lane->nlegs, place + 1);
		lane->stats->nlegs = lane->nlegs;
	}
	sl_lane_tap(lane);
	sl_rtnl_wake(); /* the keeper may sleep, and knows nothing of this leg */
}

static unsigned none_post(struct sl_tx *tx, const struct sl_tx_desc *descs, unsigned n)
{
	return 0;
}

static int none_kick(struct sl_tx *tx)
{
	tx->posted = 0;
	return -ENODEV;
}

static unsigned none_reap(struct sl_tx *tx, struct sl_frames *cache)
{
	tx->unreaped = 0;
	return 0;
}

static void none_close(struct sl_tx *tx, struct sl_frames *cache)
{
}

static const struct sl_tx_ops none_ops = {
	.post = none_post,
	.kick = none_kick,
	.reap = none_reap,
	.close = none_close,
};

/* Marks the leg closed; its rings are closed by the caller. Lane held. */
static void mark_closed(struct sl_leg *leg)
{
	leg->none = (struct sl_tx){.ops = &none_ops};
	leg->tx = &leg->none;
	leg->verbs = NULL;
	leg->verbs_ns = 0;
	leg->nqueues = 0;
	leg->dead = true;
	leg->again = false;
	sl_store_release(&leg->port, &sl_port_nowhere);
}

static bool is_above(const struct sl_leg *leg, const struct sl_leg *low)
{
	while (leg && leg != low)
		leg = leg->below;
	return leg;
}

/* Closes the classes of this leg, and of those above it. Lane held. */
static void close_classes(struct sl_lane *lane, const struct sl_leg *leg)
{
	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *c = lane->leg[i];

		if (c->is_class && !sl_leg_is_closed(c) && is_above(c, leg))
			mark_closed(c);
	}
}

/* Lane held. */
static void close_leg(struct sl_lane *lane, struct sl_leg *leg)
{
	uint32_t nqueues = leg->nqueues;

	close_classes(lane, leg);
	sl_leg_untap(leg);
	if (leg->verbs)
		leg->verbs->ops->close(leg->verbs, &lane->frames);
	else if (nqueues)
		leg->tx->ops->reap(leg->tx, &lane->frames);
	mark_closed(leg);
	if (leg->tunnel)
		sl_tunnel_close(leg->tunnel);
	leg->tunnel = NULL;
	for (uint32_t q = 0; q < nqueues; q++) {
		leg->xsk[q].tx.ops->close(&leg->xsk[q].tx, &lane->frames);
		sl_packet_close(&leg->xsk[q], &lane->frames);
		sl_verbs_rx_close(&leg->xsk[q], &lane->frames);
		sl_xsk_close(&leg->xsk[q], &lane->frames);
	}
}

struct leave_walk {
	const struct sl_port *port;
	bool all;
};

static void leave_port(struct sl_lane *lane, void *arg)
{
	struct leave_walk *w = arg;
	struct sl_leg *leg = find_leg(lane, w->port);

	if (!leg)
		return;
	if (!sl_lane_lock(lane)) {
		w->all = false;
		return;
	}
	close_leg(lane, leg);
	sl_lane_unlock(lane);
}

bool sl_lanes_leave(struct sl_port *p)
{
	struct leave_walk w = {.port = p, .all = true};

	if (!sl_lock(&sl_lanes_lock))
		return false;
	sl_lane_for_each(leave_port, &w);
	sl_unlock(&sl_lanes_lock);
	return w.all;
}

static struct sl_leg *make_leg(struct sl_lane *lane, struct sl_port *port)
{
	struct sl_leg *leg, *below = NULL;
	int saved = errno;

	if (port->base) {
		below = sl_lane_leg(lane, port->base);
		if (!below)
			return NULL;
	}
	if (!sl_lock(&sl_lanes_lock))
		return NULL;
	leg = find_leg(lane, port);
	if (!leg && free_place(lane) < SL_STATS_PORTS) {
		leg = below ? open_vlan_leg(port, below) : open_leg(lane, port);
		if (leg && sl_lane_lock(lane)) {
			add_leg(lane, leg);
			sl_lane_unlock(lane);
		}
	}
	sl_unlock(&sl_lanes_lock);
	errno = saved;
	return leg;
}

/* Classes (mqprio) ------------------------------------------------------------------------------
 */

#define PLACES_LEFT 8 /* that legs of classes leave to devices */

static struct sl_leg *find_class(const struct sl_leg *leg, const struct sl_tx *tx)
{
	const struct sl_lane *lane = leg->lane;

	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->below == leg && lane->leg[i]->is_class && lane->leg[i]->tx == tx)
			return lane->leg[i];
	return NULL;
}

static struct sl_leg *make_class(struct sl_leg *leg, struct sl_tx *tx)
{
	struct sl_leg *c;

	if (free_place(leg->lane) + PLACES_LEFT >= SL_STATS_PORTS ||
	    !(c = sl_calloc(1, sizeof(*c))))
		return NULL;
	c->port = leg->port;
	c->lane = leg->lane;
	c->first = leg->first;
	c->below = leg;
	c->is_class = true;
	c->tx = tx;
	add_leg(leg->lane, c);
	return c;
}

struct sl_leg *sl_leg_by_prio(struct sl_leg *leg, uint32_t prio)
{
	struct sl_leg *own = leg, *c;
	struct sl_class class;
	uint32_t queue;

	while (own->below)
		own = own->below;
	class = sl_qdisc_class(own->port->info.ifindex, prio);
	if (sl_likely(!class.n) || own->tunnel || own->verbs)
		return leg;
	queue = class.first + leg->lane->id % class.n;
	if (queue == own->tx_queue || queue >= own->nqueues)
		return leg;
	own->xsk[queue].tx.caps |= own->tx->caps & SL_TX_SG;
	c = find_class(leg, &own->xsk[queue].tx);
	return c ?: make_class(leg, &own->xsk[queue].tx) ?: leg;
}

struct sl_leg *sl_lane_leg(struct sl_lane *lane, struct sl_port *port)
{
	struct sl_leg *leg = find_leg(lane, port);

	return leg || lane == &sl_limbo ? leg : SL_ROOMY(make_leg, lane, port);
}
