/* SPDX-License-Identifier: BSD-2-Clause */
/* The library is told that a stand-in (device.c) is a VLAN device: linked in with
 * --wrap=sl_link_on_msg and --wrap=sl_qdisc_on_msg, by which all that it knows of devices comes.
 * Such a one is a veth named LOWER.VID[ad]; an alias "qos FROM:TO..." is its egress-qos-map. Of its
 * other end nothing is told. An alias "mqprio PRIO:FIRST..." of any device is told as its queueing
 * discipline: each of these priorities has a class of its own with one transmit queue, and all
 * others have queue 0; "mqprio" alone takes it away. */
#include <endian.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/qdisc.h"
#include "net/rtnl.h"

unsigned __real_sl_link_on_msg(const struct nlmsghdr *nlh);
unsigned __wrap_sl_link_on_msg(const struct nlmsghdr *nlh);
unsigned __real_sl_qdisc_on_msg(const struct nlmsghdr *nlh);
unsigned __wrap_sl_qdisc_on_msg(const struct nlmsghdr *nlh);

static uint32_t lower_of(const char *name, const char *dot)
{
	char lower[IF_NAMESIZE] = "";

	memcpy(lower, name, (size_t)(dot - name));
	return if_nametoindex(lower);
}

/* vlan_fill_info() */
static void put_egress(struct nlmsghdr *nlh, const char *map)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_VLAN_EGRESS_QOS);
	struct ifla_vlan_qos_mapping m;
	int n;

	for (; sscanf(map, "%u:%u%n", &m.from, &m.to, &n) == 2; map += n)
		if (m.to)
			mnl_attr_put(nlh, IFLA_VLAN_QOS_MAPPING, sizeof(m), &m);
	mnl_attr_nest_end(nlh, nest);
}

static void put_vlan(struct nlmsghdr *nlh, const char *tag, const char *map)
{
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, (uint16_t)atoi(tag));
	mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL,
			 htobe16(strstr(tag, "ad") ? ETH_P_8021AD : ETH_P_8021Q));
	if (map)
		put_egress(nlh, map);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

static bool is_other_end(const char *name, const char *dot)
{
	return name[0] == 't' && dot;
}

static bool is_of_veth(uint16_t type)
{
	return type == IFLA_LINKINFO || type == IFLA_LINK || type == IFLA_LINK_NETNSID;
}

static unsigned tell(const struct nlmsghdr *nlh, const char *dot, uint32_t lower, const char *map)
{
	char buf[16384] __attribute__((aligned(8)));
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct nlmsghdr *as = mnl_nlmsg_put_header(buf);
	const struct nlattr *a;

	as->nlmsg_type = nlh->nlmsg_type;
	memcpy(mnl_nlmsg_put_extra_header(as, sizeof(*ifi)), ifi, sizeof(*ifi));
	mnl_attr_for_each (a, nlh, sizeof(*ifi))
		if (!is_of_veth(mnl_attr_get_type(a)))
			mnl_attr_put(as, mnl_attr_get_type(a), mnl_attr_get_payload_len(a),
				     mnl_attr_get_payload(a));
	mnl_attr_put_u32(as, IFLA_LINK, lower);
	put_vlan(as, dot + 1, map);
	return __real_sl_link_on_msg(as);
}

/* mqprio_dump() */
static unsigned tell_classes(const struct nlmsghdr *link, const char *map)
{
	char buf[512] __attribute__((aligned(8)));
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(link);
	struct tc_mqprio_qopt opt = {.num_tc = 1, .count = {1}};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	unsigned prio, first;
	struct tcmsg *tcm;
	int n;

	for (; sscanf(map, "%u:%u%n", &prio, &first, &n) == 2; map += n) {
		opt.prio_tc_map[prio & TC_QOPT_BITMASK] = opt.num_tc;
		opt.offset[opt.num_tc] = (uint16_t)first;
		opt.count[opt.num_tc++] = 1;
	}
	nlh->nlmsg_type = opt.num_tc > 1 ? RTM_NEWQDISC : RTM_DELQDISC;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	*tcm = (struct tcmsg){.tcm_ifindex = ifi->ifi_index, .tcm_parent = TC_H_ROOT};
	mnl_attr_put_strz(nlh, TCA_KIND, "mqprio");
	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
	return __real_sl_qdisc_on_msg(nlh);
}

/* (The kernel's own would take that away.) */
unsigned __wrap_sl_qdisc_on_msg(const struct nlmsghdr *nlh)
{
	return 0;
}

unsigned __wrap_sl_link_on_msg(const struct nlmsghdr *nlh)
{
	const char *name = NULL, *dot = NULL;
	uint32_t lower = 0;
	const char *map = NULL;
	const struct nlattr *a;

	mnl_attr_for_each (a, nlh, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(a) == IFLA_IFNAME)
			name = mnl_attr_get_payload(a);
		else if (mnl_attr_get_type(a) == IFLA_IFALIAS)
			map = mnl_attr_get_payload(a);
	}
	if (map && strncmp(map, "mqprio", 6) == 0)
		return tell_classes(nlh, map + 6) | __real_sl_link_on_msg(nlh);
	if (map)
		map = strncmp(map, "qos ", 4) ? NULL : map + 4;
	if (name)
		dot = strrchr(name, '.');
	if (name && is_other_end(name, dot))
		return 0;
	if (dot && nlh->nlmsg_type == RTM_NEWLINK)
		lower = lower_of(name, dot);
	return lower ? tell(nlh, dot, lower, map) : __real_sl_link_on_msg(nlh);
}
