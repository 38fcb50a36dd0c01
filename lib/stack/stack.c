/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a turn of a lane: receive, deliver, give frames back. The file to read first.
 *
 * Theory of operation: a thread that needs a lane to make progress makes a turn of it: a call that
 * finds its socket's queue empty, a thread that spins in poll, or the keeper when no other thread
 * does. Packets go from the ring to the socket's queue in one pass (run to completion), and
 * sleepers are woken on the way, under the lane's lock. A socket on another lane gets its copy
 * after the lock is released, since a thread never holds two lanes. TCP connections send at the
 * end of the turn: ACKs for the whole batch, and data that these ACKs allow (tcp.c). */

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "net/bufs.h"
#include "net/gro.h"
#include "net/rtnl.h"
#include "stack/due.h"
#include "stack/lane_tcp.h"
#include "stack/lead.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "stack/port.h"
#include "tcp/tcp_host.h"

__thread uint32_t sl_waits_ended __attribute__((tls_model("initial-exec")));

/* Idle turns between two looks at the clock: TCP's timers need no better, and the keeper sees to
 * them, too. */
#define CLOCK_EVERY 8

/* A ring without frames receives no packets, so no turn with packets refills it: idle turns do. */
static void refill(struct sl_lane *lane, struct sl_rx *rx)
{
	rx->hungry = !rx->ops->refill(rx, &lane->frames);
	if (sl_unlikely(rx->hungry))
		lane->stats->rx_no_frames++;
}

static void prefetch(const uint8_t *data, size_t len)
{
	for (size_t at = 0; at < len; at += SL_CACHELINE)
		__builtin_prefetch(data + at);
}

/* SLUICE_RX_PREFETCH_BYTES of more than the line that receive() fetches ahead. */
static SL_APART void prefetch_batch(const struct sl_rx_desc *descs, unsigned n)
{
	size_t most = (size_t)sl_settings.rx_prefetch_bytes;

	for (unsigned i = 0; i < n; i++)
		prefetch(sl_frame_ptr(descs[i].frame) + descs[i].off, sl_min(descs[i].len, most));
}

/* SLUICE_RX_PREFETCH_BYTES_BEFORE_POLL: in copy mode the kernel writes the next packet into the
 * frame that the fill ring has next. (A driver with zero-copy has taken frames ahead.) */
static SL_APART void prefetch_next(const struct sl_xsk *x)
{
	size_t room;
	const uint8_t *next = sl_xsk_next_packet(x, &room);

	if (next)
		prefetch(next, sl_min(room, (size_t)sl_settings.rx_prefetch_bytes_before_poll));
}

/* Passes up several frames. TCP's segments among them are aggregated. */
static void take_batch(struct sl_in *in, struct sl_rx *rx, const struct sl_rx_desc *descs,
		       unsigned n, struct sl_gro *gro)
{
	struct sl_bufs bufs;
	unsigned k = 1;

	in->gro = gro;
	for (unsigned i = 0; i < n; i += k) {
		if (i + 1 < n)
			__builtin_prefetch(sl_frame_ptr(descs[i + 1].frame) + descs[i + 1].off);
		else if (gro && !sl_gro_is_holding(gro))
			in->gro = NULL; /* nothing can follow the last one */
		if (sl_unlikely(rx->several)) {
			k = sl_bufs_begin(in, &bufs, &descs[i], n - i, &rx->cut);
			if (bufs.none)
				continue;
		}
		sl_net_input(in, &descs[i]);
		if (sl_unlikely(in->bufs))
			sl_bufs_end(in);
	}
	if (gro)
		sl_gro_end(gro);
}

/* True: a packet with the sum of its pseudo-header alone is one whose sender left the rest to a
 * device. The packet socket tells such packets; of others it is a wrong checksum, by which a packet
 * would be dropped on its way by all that look at it, and be taken here. */
static inline bool is_partial_ok(uint32_t flags)
{
	return flags & SL_PORT_PARTIAL_CSUM &&
	       (flags & (SL_PORT_PACKET | SL_PORT_VERBS)) != SL_PORT_PACKET;
}

/* Fills what the packets of a batch have in common. */
static inline void begin(struct sl_in *in, struct sl_leg *leg)
{
	struct sl_lane *lane = leg->lane;

	in->cache = &lane->frames;
	in->stats = lane->stats;
	in->lane = lane;
	in->bufs = NULL;
	in->gro = NULL;
	in->run = NULL;
	in->nmore = 0;
	in->stamp_ns = sl_unlikely(sl_settings.latency_stats) ? sl_now_ns() : 0;
	in->ifindex = leg->port->info.ifindex;
	in->sources = lane->sources;
	in->ends = sl_sources_begin(lane->sources, in->ifindex);
	in->partial_ok = is_partial_ok(leg->port->info.flags);
}

void sl_leg_input(struct sl_leg *leg, const struct sl_rx_desc *desc)
{
	struct sl_lane *lane = leg->lane;
	struct sl_in in;

	if (lane->tcp)
		sl_lane_tcp_begin(lane);
	begin(&in, leg);
	sl_net_input(&in, desc);
	if (lane->tcp)
		sl_lane_tcp_turn(lane);
}

/* Bytes that programs have not read: with more of them what comes is no longer in the core's cache
 * when it is read (a core of today has half a megabyte of its own or more). */
#define UNREAD_MANY 200000u

static int receive(struct sl_leg *leg, struct sl_xsk *x)
{
	struct sl_lane *lane = leg->lane;
	struct sl_rx_desc *descs = lane->descs;
	struct sl_in in;
	unsigned n = sl_min((unsigned)sl_settings.cq_poll_batch_max, (unsigned)SL_LANE_BATCH);

	x->rx.full = lane->tcp && lane->tcp->unread >= UNREAD_MANY;
	n = x->rx.ops->burst(&x->rx, descs, n);
	lane->left |= x->rx.left;

	if (sl_likely(n == 0)) {
		if (sl_unlikely(x->rx.hungry))
			refill(lane, &x->rx);
		if (sl_unlikely(sl_settings.rx_prefetch_bytes_before_poll))
			prefetch_next(x);
		return 0;
	}
	if (sl_unlikely(sl_settings.rx_prefetch_bytes > SL_CACHELINE))
		prefetch_batch(descs, n);
	if (lane->tcp)
		sl_lane_tcp_begin(lane);
	begin(&in, leg);
	if (n == 1 && !x->rx.several)
		sl_net_input(&in, descs);
	else
		take_batch(&in, &x->rx, descs, n, lane->gro);
	refill(lane, &x->rx);
	return (int)n;
}

/* For waiting senders: reaps completions and tells them of room. */
static void make_send_room(struct sl_lane *lane)
{
	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->nqueues || lane->leg[i]->is_class)
			sl_leg_kick(lane->leg[i]);
	sl_lane_reap(lane);
	sl_list_for_each_safe (it, &lane->blocked) {
		lane->on_room(it);
	}
	sl_list_for_each_safe (it, &lane->reaped) {
		sl_lane_on_reaped(it);
	}
	sl_store(&lane->room_next_us, sl_list_empty(&lane->blocked) && sl_list_empty(&lane->reaped)
					      ? UINT64_MAX
					      : sl_now_ns() / 1000 + SL_ROOM_US);
	if (lane->tcp) {
		sl_lane_tcp_begin(lane);
		sl_tcp_on_room(lane->tcp);
	}
}

static void block(struct sl_lane *lane, struct sl_list *list, struct sl_list *entry)
{
	sl_list_add_tail(list, entry);
	sl_lane_due(&lane->room_next_us, sl_now_ns() / 1000 + SL_ROOM_US, SL_ROOM_US);
}

void sl_lane_block(struct sl_lane *lane, struct sl_list *entry)
{
	block(lane, &lane->blocked, entry);
}

void (*sl_lane_on_reaped)(struct sl_list *entry);

void sl_lane_block_reaped(struct sl_lane *lane, struct sl_list *entry)
{
	block(lane, &lane->reaped, entry);
}

/* May say true with nobody waiting: a waiter that leaves does not reset room_next_us. */
static bool is_blocked(const struct sl_lane *lane)
{
	return lane->room_next_us != UINT64_MAX || (lane->tcp && !sl_list_empty(&lane->tcp->room));
}

int sl_lane_turn_locked(struct sl_lane *lane)
{
	bool blocked;
	int n = 0;

	lane->left = false;
	if (sl_unlikely(lane->later_us != UINT64_MAX) && sl_here_is_keeper) {
		sl_lane_tcp_begin(lane);
		sl_lane_deliver_later(lane);
		n++; /* what it sends goes at the end of the turn */
	}

	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *leg = lane->leg[i];

		for (uint32_t q = 0; q < leg->nqueues; q++)
			n += receive(leg, &leg->xsk[q]);
	}
	if (sl_unlikely(lane->stamps))
		sl_lane_reap(lane);
	blocked = is_blocked(lane);
	if (sl_unlikely(blocked))
		make_send_room(lane);
	if (lane->tcp && (n || blocked))
		sl_lane_tcp_turn(lane);
	else if (lane->tcp && sl_unlikely(!sl_list_empty(&lane->tcp->held)))
		sl_lane_tcp_late(lane);
	else if (lane->tcp && lane->turns % CLOCK_EVERY == 0)
		sl_lane_tcp_idle(lane);
	if (sl_unlikely(sl_lane_is_paced(lane)))
		sl_lane_pace_turn(lane);
	if (n)
		sl_store(&lane->loads, lane->loads + 1);
	sl_store(&lane->turns, lane->turns + 1);
	lane->stats->turns++;
	lane->stats->idle_turns += n == 0;
	return n;
}

int sl_lane_turn(struct sl_lane *lane)
{
	int n;

	if (!sl_lane_lock(lane))
		return 0;
	n = sl_lane_turn_locked(lane);
	sl_lane_unlock(lane);
	return n;
}

int sl_lane_try_turn(struct sl_lane *lane)
{
	int n;

	if (!sl_lane_trylock(lane))
		return -EBUSY;
	n = sl_lane_turn_locked(lane);
	sl_lane_unlock(lane);
	return n;
}

void sl_lane_run(struct sl_lane *lane)
{
	if (sl_load(&lane->later_us) != UINT64_MAX ? !sl_lane_lock(lane) : !sl_lane_trylock(lane))
		return;
	sl_lane_turn_locked(lane);
	if (lane->tcp)
		sl_lane_tcp_idle(lane);
	sl_lane_unlock(lane);
}

uint32_t sl_lane_frame_slow(struct sl_lane *lane)
{
	uint32_t f = sl_frame_get_last(&lane->frames);

	if (sl_likely(f != SL_NO_FRAME))
		return f;
	sl_lane_reap(lane);
	f = sl_frame_get_last(&lane->frames);
	if (f == SL_NO_FRAME)
		lane->stats->tx_no_frames++;
	return f;
}

static void find_leg(void *arg, struct sl_dst *dst)
{
	struct sl_lane *lane = arg;

	for (uint32_t i = 0; i < lane->nlegs; i++) {
		struct sl_leg *leg = lane->leg[i];

		if (sl_load(&leg->port->info.ifindex) != dst->route.ifindex || leg->dead ||
		    leg->is_class || sl_load(&leg->port->left))
			continue;
		dst->leg = leg;
		dst->vlan = sl_port_tags(leg->port);
		sl_port_wire(leg->port, dst->smac, &dst->route.mtu);
		return;
	}
}

/* The keeper asks again for an old answer. */
static void wake_for_aged(const struct sl_lane *lane, uint32_t waiting)
{
	if (sl_unlikely(!waiting && lane->dst->naged))
		sl_rtnl_wake();
}

struct sl_dst *sl_lane_dst(struct sl_lane *lane, const struct sl_route_key *key, uint64_t now_ns)
{
	uint32_t waiting = lane->dst->naged;
	struct sl_dst *d = sl_dst_get(lane->dst, key, lane, find_leg, now_ns);

	wake_for_aged(lane, waiting);
	return d;
}

struct sl_dst *sl_lane_dst_alike(struct sl_lane *lane, const struct sl_route_key *key,
				 uint64_t now_ns)
{
	uint32_t waiting = lane->dst->naged;
	struct sl_dst *d = sl_dst_get_alike(lane->dst, key, lane, find_leg, now_ns);

	wake_for_aged(lane, waiting);
	return d;
}

/* Asks without the lane's lock, since the kernel may hold its configuration lock for
 * milliseconds. */
void sl_lane_ask_aged(struct sl_lane *lane)
{
	struct sl_route_key key[8];
	struct sl_route route[8];
	bool ok[8];
	unsigned n;

	while (sl_load(&lane->dst->naged)) {
		if (!sl_lane_lock(lane))
			return;
		n = sl_dst_take_aged(lane->dst, key, sl_array_len(key));
		sl_lane_unlock(lane);
		for (unsigned i = 0; i < n; i++)
			ok[i] = sl_route_get(&key[i], &route[i]) == 0;
		if (!sl_lane_lock(lane))
			return;
		for (unsigned i = 0; i < n; i++)
			if (ok[i])
				sl_dst_answer(lane->dst, &key[i], &route[i], lane, find_leg);
		sl_lane_unlock(lane);
	}
}
