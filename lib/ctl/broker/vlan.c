/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of VLAN devices. A claim carries the number of its VLAN device (SL_CLAIM_VLAN), and the
 * process that gets the packet looks the device up by it alone. So a number is unique among the
 * VLAN devices of all ports. A number belongs to a tag: when a VLAN device is deleted and made
 * anew, the claims in the maps are its again. */
#include <errno.h>

#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/kern/say.h"
#include "ctl/steer/maps.h"

/* Lock held. */
static bool is_used(uint32_t nr)
{
	const struct sl_device *d = sl_port_first();

	while (d && !d->vlan[nr].tag)
		d = d->next;
	return d;
}

/* 0: all are in use. Lock held. */
static uint32_t find_number(const struct sl_device *d, uint32_t tag)
{
	for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
		if (d->vlan[nr].tag == tag)
			return nr;
	for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
		if (!is_used(nr))
			return nr;
	return 0;
}

/* Lock held. */
static void set_left(struct sl_device *d, uint32_t nr, bool leave)
{
	uint64_t bit = 1ull << nr, old = d->vlans_left;

	d->vlans_left = leave ? old | bit : old & ~bit;
	if (d->vlans_left != old)
		sl_maps_set_config(d);
}

int sl_embedded_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why)
{
	struct sl_broker_guard g;
	struct sl_device *d;
	uint32_t nr = 0;

	sl_broker_enter(&g);
	d = tag ? sl_device_find(ifindex) : NULL;
	if (d)
		nr = find_number(d, tag);
	if (nr) {
		d->vlan[nr] = (struct sl_device_vlan){.tag = tag, .ifindex = vlan};
		set_left(d, nr, false);
	}
	sl_broker_leave(&g);
	if (!d)
		return -ENODEV;
	if (nr)
		return (int)nr;
	sl_why(why, "%u VLAN devices are in use", SL_MAX_VLANS - 1);
	return -ENOSPC;
}

void sl_embedded_vlan_put(uint32_t ifindex, uint32_t nr)
{
	struct sl_broker_guard g;
	struct sl_device *d;

	sl_broker_enter(&g);
	d = sl_device_find(ifindex);
	if (d && nr && nr < SL_MAX_VLANS) {
		d->vlan[nr] = (struct sl_device_vlan){0};
		set_left(d, nr, false);
	}
	sl_broker_leave(&g);
}

void sl_embedded_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave)
{
	struct sl_broker_guard g;
	struct sl_device *d;

	sl_broker_enter(&g);
	d = sl_device_find(ifindex);
	if (d && nr < SL_MAX_VLANS)
		set_left(d, nr, leave);
	sl_broker_leave(&g);
}
