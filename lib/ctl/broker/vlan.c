/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of VLAN devices. A claim carries the number of its VLAN device (SL_CLAIM_VLAN), and the
 * process that gets the packet looks the device up by it alone. So a number is unique among the
 * VLAN devices of all ports. A number belongs to a tag: when a VLAN device is deleted and made
 * anew, the claims in the maps are its again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/say.h"
#include "ctl/kern/vxlan.h"
#include "ctl/steer/maps.h"
#include "ctl/steer/nic_rule.h"
#include "ctl/steer/renew.h"

#define MOST_BOUND 256 /* stations of a VXLAN device's in `stations` */

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
	if (d->vlans_left == old)
		return;
	sl_maps_set_config(d);
	sl_nic_vlan_leave(d, nr);
}

/* VXLAN devices: `vxlans` has those that are numbered. */

static struct sl_vxlan_key key_of(const struct sl_device_vlan *v)
{
	return (struct sl_vxlan_key){.vni = SL_VXLAN_TAG_VNI(v->tag), .port = v->port};
}

/* The kernel takes the higher one of the two settings. */
static uint16_t source_flags(const char *ifname)
{
	const char *const of[] = {"all", ifname};
	char path[80], text[4];
	int most = 0;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%.15s/rp_filter", of[i]);
		if (sl_read_text(path, text, sizeof(text)) > 0)
			most = sl_max(most, text[0] - '0');
	}
	return most == 1 ? SL_VXLAN_STRICT : most ? SL_VXLAN_LOOSE : 0;
}

static bool is_among(const uint8_t mac[6], const struct sl_vxlan_bound *bound, int n)
{
	for (int i = 0; i < n; i++)
		if (memcmp(bound[i].mac, mac, 6) == 0)
			return true;
	return false;
}

/* Takes stations of the VXLAN device out of `stations` that are not among the n given. Lock held.
 * (Anybody may change the map by hand, so the walk has an end of its own.) */
static void remove_stations(int map, const struct sl_vxlan_key *of,
			    const struct sl_vxlan_bound *bound, int n)
{
	struct sl_station_key at, next;
	bool more = !bpf_map_get_next_key(map, NULL, &at);

	for (int left = SL_MAX_STATIONS; more && left; left--) {
		more = !bpf_map_get_next_key(map, &at, &next);
		if (memcmp(&at.of, of, sizeof(*of)) == 0 && !is_among(at.mac, bound, n))
			bpf_map_delete_elem(map, &at);
		at = next;
	}
}

/* Lock held. */
static void remove_vxlan(struct sl_device *d, struct sl_device_vlan *v)
{
	struct sl_vxlan_key key = key_of(v);
	uint16_t port = v->port;
	bool more = false;

	if (!port)
		return;
	v->port = 0;
	bpf_map_delete_elem(d->attach.map_fd[SL_MAP_VXLANS], &key);
	remove_stations(d->attach.map_fd[SL_MAP_STATIONS], &key, NULL, 0);
	for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
		more |= d->vlan[nr].port == port;
	if (!more)
		sl_port_word_change(&d->info.ports[port], 0, SL_L4_PORT_VXLAN);
}

/* Fills `stations` with those that the VXLAN device binds. 0 or -errno. Lock held. */
static int set_stations(int map, uint32_t ifindex, const struct sl_vxlan_key *of, const char **why)
{
	struct sl_vxlan_bound *bound = sl_malloc(MOST_BOUND * sizeof(*bound));
	int n = bound ? sl_vxlan_read_bound(ifindex, bound, MOST_BOUND) : -ENOMEM,
	    err = sl_min(n, 0);

	if (n > MOST_BOUND) {
		sl_why(why,
		       "it learns, and its fdb has more than %d permanent entries; remedy: "
		       "nolearning",
		       MOST_BOUND);
		err = -E2BIG;
	}
	for (int i = 0; i < n && !err; i++) {
		struct sl_station_key key = {.of = *of};
		struct sl_station host;

		memcpy(key.mac, bound[i].mac, sizeof(key.mac));
		memcpy(host.remote, bound[i].remote, sizeof(host.remote));
		if (bpf_map_update_elem(map, &key, &host, 0))
			err = -errno;
	}
	if (!err)
		remove_stations(map, of, bound, n);
	sl_free(bound);
	return err;
}

/* Puts the VXLAN device with that number into `vxlans`, as it is now. Lock held. */
static int add_vxlan(struct sl_device *d, struct sl_device_vlan *v, const char **why)
{
	struct sl_vxlan entry = {.tag = v->tag, .flags = source_flags(d->info.ifname)};
	struct sl_vxlan_dev dev;
	struct sl_vxlan_key key;
	int err = sl_vxlan_read(v->ifindex, &dev, why);

	if (!err && (dev.vni != SL_VXLAN_TAG_VNI(v->tag) || dev.lower != d->info.ifindex))
		err = -ENODEV;
	if (!err)
		err = sl_attach_add_vxlan(&d->attach, &d->info, why);
	if (!err)
		err = sl_maps_use_port(d, dev.port);
	if (err)
		return err;
	if (v->port != dev.port)
		remove_vxlan(d, v);
	v->port = dev.port;
	key = key_of(v);
	memcpy(entry.mac, dev.mac, sizeof(entry.mac));
	memcpy(entry.local, dev.local, sizeof(entry.local));
	memcpy(entry.remote, dev.remote, sizeof(entry.remote));
	if (dev.v6)
		entry.flags = SL_VXLAN_V6 | (dev.no_sum6 ? SL_VXLAN_NO_SUM : 0);
	if (dev.learns) {
		entry.flags |= SL_VXLAN_BINDS;
		err = set_stations(d->attach.map_fd[SL_MAP_STATIONS], v->ifindex, &key, why);
		if (err)
			return err;
	}
	if (bpf_map_update_elem(d->attach.map_fd[SL_MAP_VXLANS], &key, &entry, 0))
		return -errno;
	sl_port_word_change(&d->info.ports[dev.port], SL_L4_PORT_VXLAN, 0);
	return 0;
}

int sl_embedded_vlan_get(uint32_t ifindex, uint32_t vlan, uint32_t tag, const char **why)
{
	struct sl_broker_guard g;
	struct sl_device *d;
	uint32_t nr = 0;
	bool is_new;
	int err = 0;

	sl_broker_enter(&g);
	d = tag ? sl_device_find(ifindex) : NULL;
	if (d)
		nr = find_number(d, tag);
	if (nr) {
		is_new = !d->vlan[nr].tag;
		d->vlan[nr].tag = tag;
		d->vlan[nr].ifindex = vlan;
		set_left(d, nr, false);
		if (tag & SL_VXLAN_TAG_BIT)
			err = add_vxlan(d, &d->vlan[nr], why);
		if (err)
			remove_vxlan(d, &d->vlan[nr]);
		if (err && is_new)
			d->vlan[nr] = (struct sl_device_vlan){0};
	}
	sl_broker_leave(&g);
	if (!d || err)
		return d ? err : -ENODEV;
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
		remove_vxlan(d, &d->vlan[nr]);
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
