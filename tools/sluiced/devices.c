/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of the devices that are lent: looked at every second, said once.
 *
 * The programs see it for themselves and move what they have (sock/policy.c): this is for who reads
 * the log, and for `sluice daemon ports`. */
#include <net/if.h>
#include <string.h>

#include "base/log.h"
#include "ctl/broker_int.h"
#include "net/route.h"
#include "sluiced.h"

static struct {
	uint32_t ifindex, mtu;
	enum sl_lease_device state;
} seen[SL_PORTS_MAX];

static const char *const news[] = {
	[SL_LEASE_DEVICE_OFF] = "the steering program was taken off, or the number of queues was "
				"changed: what is there goes on through the kernel; remedy: it is "
				"offloaded again when the programs that use it have ended",
	[SL_LEASE_DEVICE_STEERING] = "is steered again",
	[SL_LEASE_DEVICE_DOWN] = "is down",
	[SL_LEASE_DEVICE_GONE] =
		"is gone, or in another network namespace; a device by that name is "
		"another one",
};

enum sl_lease_device sl_device_state(const struct sl_device *d, uint32_t *mtu)
{
	struct sl_link link;

	if (!sl_link_get(d->info.ifindex, &link))
		return SL_LEASE_DEVICE_GONE;
	*mtu = link.mtu;
	if (!sl_embedded_port_alive(d->info.ifindex))
		return SL_LEASE_DEVICE_OFF;
	return link.flags & IFF_UP ? SL_LEASE_DEVICE_STEERING : SL_LEASE_DEVICE_DOWN;
}

static unsigned place_of(uint32_t ifindex, uint32_t mtu)
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
	return unused;
}

static void look_at(const struct sl_device *d)
{
	uint32_t mtu = d->info.mtu;
	enum sl_lease_device now = sl_device_state(d, &mtu);
	unsigned i = place_of(d->info.ifindex, mtu);

	if (seen[i].mtu != mtu)
		sl_info("sluiced", "%s: MTU %u, was %u", d->info.ifname, mtu, seen[i].mtu);
	if (seen[i].state != now)
		sl_log(now == SL_LEASE_DEVICE_OFF ? SL_LOG_WARN : SL_LOG_INFO, "sluiced", "%s: %s",
		       d->info.ifname, news[now]);
	seen[i].mtu = mtu;
	seen[i].state = now;
}

void sl_devices_check(void)
{
	/* (The list may not change meanwhile: there is one thread.) */
	for (const struct sl_device *d = sl_port_first(); d; d = d->next)
		look_at(d);
}
