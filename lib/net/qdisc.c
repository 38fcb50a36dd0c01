/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the traffic classes of devices: mqprio and taprio as the root queueing discipline give
 * each priority a class, and each class some of the transmit queues. */
#include "net/qdisc.h"

#include <linux/pkt_sched.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "net/rtnl.h"

#define MOST_DEVICES 32

struct device {
	uint32_t ifindex; /* 0: free place */
	struct tc_mqprio_qopt map;
	bool named; /* by a message since sl_qdisc_mark() */
};

static struct sl_lock lock; /* a leaf */
static struct device devices[MOST_DEVICES];
static uint32_t ndevices; /* in use: nearly always 0 */

static struct device *find(uint32_t ifindex)
{
	for (unsigned i = 0; i < MOST_DEVICES; i++)
		if (devices[i].ifindex == ifindex)
			return &devices[i];
	return NULL;
}

/* netdev_get_prio_tc_map(), skb_tx_hash() */
struct sl_class sl_qdisc_class(uint32_t ifindex, uint32_t prio)
{
	struct sl_class c = {0};
	struct device *d;
	uint8_t tc;

	if (sl_likely(!sl_load(&ndevices)) || !sl_lock(&lock))
		return c;
	d = find(ifindex);
	if (d) {
		tc = d->map.prio_tc_map[prio & TC_QOPT_BITMASK] & TC_QOPT_BITMASK;
		c = (struct sl_class){d->map.offset[tc], d->map.count[tc]};
	}
	sl_unlock(&lock);
	return c;
}

/* The map in the options, which for taprio are attributes. */
static bool read_map(const char *kind, const struct nlattr *options, struct tc_mqprio_qopt *map)
{
	const struct nlattr *tb[TCA_TAPRIO_ATTR_PRIOMAP + 1];

	if (options && strcmp(kind, "taprio") == 0) {
		sl_rtnl_nested(options, tb, TCA_TAPRIO_ATTR_PRIOMAP);
		options = tb[TCA_TAPRIO_ATTR_PRIOMAP];
	} else if (strcmp(kind, "mqprio") != 0) {
		return false;
	}
	if (!options || mnl_attr_get_payload_len(options) < sizeof(*map))
		return false;
	memcpy(map, mnl_attr_get_payload(options), sizeof(*map));
	return map->num_tc > 0 && map->num_tc <= TC_QOPT_MAX_QUEUE;
}

/* map: NULL for none. True: that is something new. Lock held. */
static bool set(uint32_t ifindex, const struct tc_mqprio_qopt *map)
{
	struct device *d = find(ifindex);
	bool had = d;

	if (!d && map)
		d = find(0);
	if (!d || (had && map && memcmp(&d->map, map, sizeof(*map)) == 0)) {
		if (d)
			d->named = true;
		return false;
	}
	if (map)
		*d = (struct device){ifindex, *map, true};
	else
		d->ifindex = 0;
	sl_store(&ndevices, ndevices + !!map - had);
	return true;
}

unsigned sl_qdisc_on_msg(const struct nlmsghdr *nlh)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[TCA_OPTIONS + 1];
	struct tc_mqprio_qopt map;
	char kind[16] = "";
	struct sl_link link;
	bool has, changed;

	if (!sl_rtnl_attrs(nlh, sizeof(*tcm), tb, TCA_OPTIONS) || tcm->tcm_ifindex <= 0 ||
	    tcm->tcm_parent != TC_H_ROOT)
		return 0;
	if (tb[TCA_KIND])
		memcpy(kind, mnl_attr_get_payload(tb[TCA_KIND]),
		       sl_min(mnl_attr_get_payload_len(tb[TCA_KIND]), sizeof(kind) - 1));
	has = read_map(kind, tb[TCA_OPTIONS], &map);
	if (nlh->nlmsg_type == RTM_DELQDISC) {
		if (!has)
			return 0;
		has = false;
	}
	if (!sl_lock(&lock))
		return 0;
	changed = set((uint32_t)tcm->tcm_ifindex, has ? &map : NULL);
	sl_unlock(&lock);
	if (!changed)
		return 0;
	if (sl_link_get((uint32_t)tcm->tcm_ifindex, &link))
		sl_info("net", "%s has %u traffic classes", link.name, has ? map.num_tc : 0u);
	return SL_RTNL_ROUTES;
}

void sl_qdisc_mark(void)
{
	for (unsigned i = 0; i < MOST_DEVICES; i++)
		devices[i].named = false;
}

void sl_qdisc_sweep(void)
{
	if (!sl_lock(&lock))
		return;
	for (unsigned i = 0; i < MOST_DEVICES; i++)
		if (devices[i].ifindex && !devices[i].named)
			set(devices[i].ifindex, NULL);
	sl_unlock(&lock);
}

void sl_qdisc_forget(void)
{
	sl_qdisc_mark();
	sl_qdisc_sweep();
}

void sl_qdisc_child(void)
{
	memset(&lock, 0, sizeof(lock));
	memset(devices, 0, sizeof(devices));
	ndevices = 0;
}
