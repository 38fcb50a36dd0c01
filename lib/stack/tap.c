/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts taps in front of the backends of lanes while a capture is open, and takes them away. */
#include "stack/tap.h"

#include "io/tap.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace_int.h"
#include "stack/port.h"

static struct sl_tap_at place_of(const struct sl_lane *lane, const struct sl_leg *leg)
{
	return (struct sl_tap_at){.ifindex = leg->port->info.ifindex,
				  .lane = (uint16_t)lane->id,
				  .port = (uint8_t)(leg->port->index % SL_TAP_PORTS)};
}

/* A VLAN device's leg has no queues of its own: its packets are seen, with their tag, on the device
 * below. */
static void tap_leg(const struct sl_lane *lane, struct sl_leg *leg)
{
	struct sl_tap_at at = place_of(lane, leg);

	if ((leg->below && !leg->is_class) || sl_leg_is_closed(leg))
		return;
	for (uint32_t q = 0; q < leg->nqueues; q++)
		sl_tap_rx(&leg->xsk[q].rx, &at);
	sl_tap_tx(leg->tx, &at);
}

void sl_leg_untap(struct sl_leg *leg)
{
	if (leg->below)
		return;
	for (uint32_t q = 0; q < leg->nqueues; q++) {
		sl_untap_rx(&leg->xsk[q].rx);
		sl_untap_tx(&leg->xsk[q].tx);
	}
	if (leg->verbs)
		sl_untap_tx(leg->verbs);
	if (leg->tunnel)
		sl_untap_tx(leg->tx);
}

/* Queues of the NIC that belong to paced sockets. */
static void tap_paced(struct sl_lane *lane, bool on)
{
	if (!lane->pace)
		return;
	sl_list_for_each_safe (it, &lane->pace->nics) {
		struct sl_pacer *p = sl_container_of(it, struct sl_pacer, nic_node);

		if (on) {
			struct sl_tap_at at = place_of(lane, p->nic_leg);

			sl_tap_tx(p->nic, &at);
		} else {
			sl_untap_tx(p->nic);
		}
	}
}

void sl_lane_tap(struct sl_lane *lane)
{
	bool on = sl_taps_on();

	for (uint32_t i = 0; i < lane->nlegs; i++) {
		if (on)
			tap_leg(lane, lane->leg[i]);
		else
			sl_leg_untap(lane->leg[i]);
	}
	tap_paced(lane, on);
}
