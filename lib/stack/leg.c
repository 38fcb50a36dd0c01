/* SPDX-License-Identifier: BSD-2-Clause */
/* A leg sends: packets are posted to its queue, started, and their frames taken back. */
#include <errno.h>

#include "base/log.h"
#include "io/verbs.h"
#include "stack/due.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace.h"
#include "stack/port.h"
#include "stack/tap.h"

/* Posts packets that did not leave to AF_XDP. */
static void move_unsent(struct sl_lane *lane, struct sl_tx *from, struct sl_tx *to)
{
	struct sl_tx_desc descs[32];
	unsigned n, took;

	while ((n = sl_verbs_unsent(from, descs, sl_array_len(descs)))) {
		took = to->ops->post(to, descs, n);
		for (unsigned i = took; i < n; i++)
			sl_frame_sent(&lane->frames, descs[i].frame);
	}
}

void sl_leg_swap(struct sl_lane *lane, const struct sl_tx *from, struct sl_tx *to)
{
	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->tx == from)
			lane->leg[i]->tx = to;
	sl_lane_tap(lane);
}

/* Makes the leg send by AF_XDP after its NIC queue failed. Lane held. */
static SL_COLD void leave_verbs(struct sl_leg *leg)
{
	struct sl_lane *lane = leg->lane;
	struct sl_tx *failed = leg->tx, *tx = NULL;

	for (uint32_t i = 0; i < lane->nlegs; i++)
		if (lane->leg[i]->verbs == failed)
			tx = sl_leg_xdp(lane->leg[i]);
	if (!tx)
		return;
	sl_leg_swap(lane, failed, tx);
	sl_warn("lane", "lane %u sends on %s by AF_XDP from now on: %s", lane->id,
		leg->port->info.ifname, sl_verbs_dead(failed));
	move_unsent(lane, failed, tx);
}

void sl_lane_reap(struct sl_lane *lane)
{
	for (uint32_t i = 0; i < lane->nlegs; i++)
		sl_tx_reap(lane->leg[i]->tx, &lane->frames);
	if (sl_unlikely(lane->pace && !sl_list_empty(&lane->pace->nics)))
		sl_lane_pace_reap(lane);
}

bool sl_leg_post_desc(struct sl_leg *leg, const struct sl_tx_desc *d)
{
	if (sl_unlikely(leg->tx->ops->post(leg->tx, d, 1) == 0)) {
		leg->lane->stats->tx_ring_full++;
		return false;
	}
	leg->lane->stats->tx_pkts++;
	leg->lane->stats->tx_bytes += d->len;
	return true;
}

bool sl_leg_post_long(struct sl_leg *leg, const struct sl_tx_desc *d, unsigned n)
{
	if (sl_leg_room(leg) < n || leg->tx->ops->post(leg->tx, d, n) == 0) {
		leg->lane->stats->tx_ring_full++;
		return false;
	}
	leg->lane->stats->tx_pkts++;
	for (unsigned i = 0; i < n; i++)
		leg->lane->stats->tx_bytes += d[i].len;
	return true;
}

bool sl_leg_stamp(struct sl_leg *leg, void *who, uint64_t what)
{
	struct sl_tx_ask ask = {.lane = leg->lane, .who = who, .what = what};

	if (!sl_leg_has_stamps(leg) || !leg->tx->ops->stamp(leg->tx, &ask))
		return false;
	sl_store(&leg->lane->stamps, leg->lane->stamps + 1);
	sl_lane_await(leg->lane);
	return true;
}

#define REAP_EVERY 32

int sl_leg_kick(struct sl_leg *leg)
{
	int err = leg->tx->ops->kick(leg->tx);

	if (sl_unlikely(err == -EIO)) {
		leave_verbs(leg);
		err = leg->tx->ops->kick(leg->tx);
	}

	leg->lane->stats->tx_kicks++;
	if (sl_unlikely(!leg->lane->watched) && leg->tx->ops->settle)
		sl_lane_watch(leg->lane);
	leg->again = err == -EAGAIN;
	if (leg->tx->unreaped >= REAP_EVERY)
		leg->tx->ops->reap(leg->tx, &leg->lane->frames);
	if (sl_likely(err == 0) || err == -EAGAIN)
		return err;
	/* The link is down: packets on the ring leave when it is up again, as from a device's
	 * queue. The kernel must not send them too, or they would arrive twice. */
	if (err == -ENETDOWN)
		return 0;
	leg->dead = true;
	return -ENODEV;
}
