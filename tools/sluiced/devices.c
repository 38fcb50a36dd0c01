/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the lent devices every second, and when a program leaves one, and logs each change once.
 *
 * The programs see changes for themselves and move their sockets (sock/move/policy.c): this file
 * serves the reader of the log, and `sluice daemon ports`. */
#include <net/if.h>
#include <string.h>

#include "base/log.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/port.h"
#include "ctl/lease/proto.h"
#include "net/route.h"
#include "grant.h"
#include "sluiced.h"

static struct {
	uint32_t ifindex, mtu;
	enum sl_lease_device state;
	enum sl_port_end end;
} seen[SL_PORTS_MAX];

static const char *const news[] = {
	[SL_LEASE_DEVICE_OFF] =
		"what is there goes on through the kernel; it is offloaded again when "
		"the programs that use it have left it, which they do by themselves",
	[SL_LEASE_DEVICE_STEERING] = "is steered again",
	[SL_LEASE_DEVICE_DOWN] = "is down",
	[SL_LEASE_DEVICE_GONE] =
		"is gone, or in another network namespace; a device by that name is "
		"another one",
};

enum sl_lease_device sl_device_state(const struct sl_device *d, uint32_t *mtu,
				     enum sl_port_end *end)
{
	struct sl_link link;

	*end = SL_PORT_END_GONE;
	if (!sl_link_get(d->info.ifindex, &link))
		return SL_LEASE_DEVICE_GONE;
	*mtu = link.mtu;
	*end = sl_embedded_port_end(d->info.ifindex);
	if (*end != SL_PORT_END_STEERED)
		return *end == SL_PORT_END_GONE ? SL_LEASE_DEVICE_GONE : SL_LEASE_DEVICE_OFF;
	return link.flags & IFF_UP ? SL_LEASE_DEVICE_STEERING : SL_LEASE_DEVICE_DOWN;
}

static unsigned place_of_device(uint32_t ifindex, uint32_t mtu)
{
	unsigned i = 0, unused = 0;

	for (; i < SL_PORTS_MAX && seen[i].ifindex != ifindex; i++)
		if (!sl_device_find(seen[i].ifindex))
			unused = i;
	if (i < SL_PORTS_MAX)
		return i;
	seen[unused].ifindex = ifindex;
	seen[unused].mtu = mtu;
	seen[unused].state = SL_LEASE_DEVICE_STEERING;
	seen[unused].end = SL_PORT_END_STEERED;
	return unused;
}

static void look_at_device(const struct sl_device *d)
{
	uint32_t mtu = d->info.mtu;
	enum sl_port_end end;
	enum sl_lease_device now = sl_device_state(d, &mtu, &end);
	unsigned i = place_of_device(d->info.ifindex, mtu);

	if (seen[i].mtu != mtu)
		sl_info("sluiced", "%s: MTU %u, was %u", d->info.ifname, mtu, seen[i].mtu);
	if (now == SL_LEASE_DEVICE_OFF && seen[i].end != end)
		sl_warn("sluiced", "%s: %s: %s", d->info.ifname, sl_port_end_text(end), news[now]);
	else if (seen[i].state != now)
		sl_info("sluiced", "%s: %s", d->info.ifname, news[now]);
	seen[i].mtu = mtu;
	seen[i].state = now;
	seen[i].end = end;
}

void sl_device_check(uint32_t ifindex)
{
	const struct sl_device *d = sl_device_find(ifindex);

	if (d)
		look_at_device(d);
}

void sl_devices_check(void)
{
	/* (The list cannot change meanwhile: there is one thread.) */
	for (const struct sl_device *d = sl_port_first(); d; d = d->next)
		look_at_device(d);
}
