/* SPDX-License-Identifier: BSD-2-Clause */
/* House-keeping of ports: what the kernel dropped, and whether device and steering program are
 * still there. */
#include <errno.h>
#include <net/if.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "io/packet.h"
#include "io/nic/verbs_rx.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/nic_rx.h"
#include "stack/port.h"

struct count_walk {
	const struct sl_port *port;
	struct sl_xsk_counts sum;
	uint64_t fill_empty[SL_MAX_QUEUES];
	uint64_t pkts; /* received by its lanes */
};

static void count_leg(struct count_walk *w, struct sl_leg *leg)
{
	struct sl_xsk_counts c;

	for (uint32_t q = 0; q < leg->nqueues && q < SL_MAX_QUEUES; q++) {
		if (sl_xsk_read_counts(&leg->xsk[q], &c) < 0)
			continue;
		sl_packet_read_counts(&leg->xsk[q], &c);
		sl_verbs_rx_counts(&leg->xsk[q], &c);
		w->sum.rx_dropped += c.rx_dropped;
		w->sum.rx_ring_full += c.rx_ring_full;
		w->sum.tx_invalid += c.tx_invalid;
		w->fill_empty[q] = sl_max(w->fill_empty[q], c.fill_empty);
	}
}

static void count_lane(struct sl_lane *lane, void *arg)
{
	struct count_walk *w = arg;
	uint32_t n = sl_load_acquire(&lane->nlegs);

	for (uint32_t i = 0; i < n; i++)
		if (lane->leg[i]->port == w->port) {
			count_leg(w, lane->leg[i]);
			w->pkts += sl_load(&lane->stats->rx_pkts);
		}
}

/* Adds differences, since a reader may have reset the counters. Sees to the interrupts, too. */
static void count_drops(struct sl_port *p)
{
	struct count_walk w = {.port = p};
	struct sl_xsk_counts *was = &p->counted, *now = &w.sum;
	struct sl_port_stats *s = p->stats;

	sl_lane_for_each(count_lane, &w);
	for (uint32_t q = 0; q < SL_MAX_QUEUES; q++)
		now->fill_empty += w.fill_empty[q];
	s->xsk_rx_dropped += now->rx_dropped - was->rx_dropped;
	s->xsk_rx_ring_full += now->rx_ring_full - was->rx_ring_full;
	s->xsk_fill_empty += now->fill_empty - was->fill_empty;
	s->xsk_tx_invalid += now->tx_invalid - was->tx_invalid;
	*was = *now;
	sl_moderate(&p->moderation, p->info.ifname, w.pkts, sl_now_ns());
}

void sl_ports_end(void)
{
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++)
		sl_moderate_end(&p->moderation, p->info.ifname);
}

/* No more frames come back: sending goes through the kernel at once. */
static void end_legs(struct sl_lane *lane, void *arg)
{
	if (!sl_lane_lock(lane))
		return;
	for (uint32_t i = 0; i < lane->nlegs; i++)
		lane->leg[i]->dead |= lane->leg[i]->port == arg;
	sl_lane_unlock(lane);
}

/* True: what ended the steering is over at once, or may be over some time. (A daemon that ends, or
 * shared memory that is broken, is another matter: no device of the process can be opened then.) */
static bool may_come_back(enum sl_port_end end)
{
	return end == SL_PORT_END_TAKEN_OFF || end == SL_PORT_END_REPLACED ||
	       end == SL_PORT_END_QUEUES || end == SL_PORT_END_UNKNOWN || end == SL_PORT_END_NIC;
}

static void say_ended(const struct sl_port *p, enum sl_port_end end)
{
	sl_warn("port", "%s: %s: traffic goes on through the kernel%s", p->info.ifname,
		sl_port_end_text(end),
		end == SL_PORT_END_REPLACED ? "; it is offloaded again when that program has gone"
		: p->lost ? ", until the device is taken into use again, which is tried now"
			  : "; remedy: start this program anew to offload it again");
}

static void check_alive(struct sl_port *p)
{
	enum sl_port_end end;
	struct sl_link link;

	if (!p->stats->alive)
		return;
	if (p->info.flags & SL_PORT_VERBS)
		sl_nic_rx_look(p->info.ifindex);
	end = sl_broker_port_end(p->info.ifindex, p->info.flags);
	if (end == SL_PORT_END_STEERED && sl_nic_rx_dead(p))
		end = SL_PORT_END_NIC;
	if (end == SL_PORT_END_STEERED)
		return;
	p->stats->alive = 0;
	p->ended_ns = sl_now_ns();
	__atomic_fetch_add(&sl_ports_changed, 1, __ATOMIC_RELEASE);
	if (end == SL_PORT_END_BROKEN) {
		sl_pool.share.wary = true; /* do not wait for its locks */
		sl_lane_for_each(end_legs, p);
		__atomic_fetch_add(&sl_route_gen, 1,
				   __ATOMIC_RELEASE); /* connections look for another way */
	}
	/* The mirror or the broker may not know yet that the device is gone. */
	if (end != SL_PORT_END_GONE && sl_link_get(p->info.ifindex, &link)) {
		p->lost = may_come_back(end);
		say_ended(p, end);
	} else {
		sl_info("port", "%s is gone", p->info.ifname);
	}
}

struct empty_walk {
	const struct sl_port *port;
	bool done;
};

static void empty_lane(struct sl_lane *lane, void *arg)
{
	struct empty_walk *w = arg;

	if (!sl_lane_lock(lane)) {
		w->done = false;
		return;
	}
	for (uint32_t i = 0; i < lane->nlegs; i++)
		for (uint32_t q = 0; lane->leg[i]->port == w->port && q < lane->leg[i]->nqueues;
		     q++)
			w->done &= sl_xsk_device_gone(&lane->leg[i]->xsk[q], &lane->frames);
	sl_lane_unlock(lane);
}

struct naming {
	uint32_t ifindex;
	bool no_name;
};

/* (The C library makes a socket for the question.) */
static void ask_name(void *arg)
{
	struct naming *q = arg;
	char name[IF_NAMESIZE];

	q->no_name = !if_indextoname(q->ifindex, name) && errno == ENXIO;
}

/* Asks the kernel, since the mirror may be about to be read again. Uses the keeper's errno. */
static bool link_is_gone(uint32_t ifindex)
{
	struct naming q = {.ifindex = ifindex};
	struct sl_link link;

	if (!sl_link_get(ifindex, &link))
		sl_aside(ask_name, &q);
	return q.no_name;
}

bool sl_port_is_gone(const struct sl_port *p)
{
	while (p->base)
		p = p->base;
	return !sl_load(&p->stats->alive) && link_is_gone(p->info.ifindex);
}

bool sl_port_is_lost(const struct sl_port *p)
{
	while (p->base)
		p = p->base;
	return p->lost && !p->retired && !sl_load(&p->stats->alive);
}

/* Takes back the receive frames of a device that is gone, for the next device. */
static void empty_gone(struct sl_port *p)
{
	struct empty_walk w = {.port = p, .done = true};

	if (p->stats->alive || p->emptied || !link_is_gone(p->info.ifindex))
		return;
	sl_lane_for_each(empty_lane, &w);
	p->emptied = w.done;
}

/* Counts the buffers that vma_stats shows of a completion queue. A lane that a thread holds keeps
 * what was seen last. */
static void look_at_posted(struct sl_lane *lane, void *arg)
{
	struct sl_xsk_posted p = {0};

	if (!sl_lane_trylock(lane))
		return;
	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *leg = lane->leg[i];

		for (uint32_t q = 0; q < leg->nqueues && !sl_leg_is_closed(leg); q++)
			if (leg->xsk[q].packet)
				sl_packet_read_posted(&leg->xsk[q], &p);
			else if (leg->xsk[q].verbs)
				sl_verbs_rx_posted(&leg->xsk[q], &p);
			else if (leg->xsk[q].q)
				sl_xsk_read_posted(&leg->xsk[q], &p);
	}
	sl_lane_unlock(lane);
	lane->stats->rx_posted = p.frames;
	lane->stats->rx_disorder = p.looked_at ? p.jumps * 10000u / p.looked_at : 0;
}

void sl_ports_check(void)
{
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		if (p->retired)
			continue;
		if (p->base) {
			sl_port_check_vlan(p);
			continue;
		}
		count_drops(p);
		check_alive(p);
		empty_gone(p);
		sl_port_check_tags(p);
	}
	sl_lane_for_each(look_at_posted, NULL);
}
