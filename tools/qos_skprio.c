/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps of socket priorities to user priorities: mqprio's, RoCE's, and the egress maps of VLAN
 * devices. */
#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "ctl/kern/netlink.h"
#include "qos.h"

#define ANSWER_BYTES 32768
#define TCS          8

/* The kernel's table of ToS (ip_tos2prio in net/ipv4/route.c) the other way round: the lowest ToS
 * of each priority that a ToS alone leads to. */
static const uint8_t tos_of[SL_QOS_SKPRIOS] = {[2] = 8, [4] = 24, [6] = 16};

static void add_skprio(struct sl_skprio *s, uint32_t skprio, uint32_t up, uint16_t vid)
{
	if (s->n == sl_array_len(s->map) || skprio > UINT8_MAX || up >= TCS)
		return;
	s->map[s->n].skprio = (uint8_t)skprio;
	s->map[s->n].up = (uint8_t)up;
	s->map[s->n++].vid = vid;
}

/* (Only what the attribute's length covers is read.) */
static bool says(const struct nlattr *a, const char *word)
{
	size_t n = strlen(word) + 1;

	return mnl_attr_get_payload_len(a) >= n && !memcmp(mnl_attr_get_payload(a), word, n);
}

/* mqprio --------------------------------------------------------------------------------------- */
/* Reads the options of the root queueing discipline if it is mqprio. 0, or -errno (-ENOENT: another
 * one). */
static int read_mqprio(int fd, unsigned ifindex, struct tc_mqprio_qopt *opt)
{
	char question[MNL_NLMSG_HDRLEN + 64] = {0}, buf[ANSWER_BYTES];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(question);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	const struct nlmsghdr *answer;
	const struct nlattr *a;
	bool is_mqprio = false;
	int err;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	tc->tcm_ifindex = (int)ifindex;
	tc->tcm_parent = TC_H_ROOT;
	err = sl_netlink_ask(fd, nlh, buf, sizeof(buf), &answer);
	if (err)
		return err;
	err = -ENOENT;
	mnl_attr_for_each (a, answer, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			is_mqprio = says(a, "mqprio");
		if (mnl_attr_get_type(a) != TCA_OPTIONS || !is_mqprio ||
		    mnl_attr_get_payload_len(a) < sizeof(*opt))
			continue;
		memcpy(opt, mnl_attr_get_payload(a), sizeof(*opt));
		err = 0;
	}
	return err;
}

static void add_mqprio(struct sl_skprio *s, int fd, unsigned ifindex)
{
	struct tc_mqprio_qopt opt;

	if (read_mqprio(fd, ifindex, &opt))
		return;
	s->tcs = opt.num_tc;
	for (unsigned i = 0; i < SL_QOS_SKPRIOS; i++)
		add_skprio(s, i, opt.prio_tc_map[i], 0);
}

/* tc(8)'s defaults; the driver divides the queues (hw 1). */
static int add_mqprio_qdisc(int fd, unsigned ifindex)
{
	static const struct tc_mqprio_qopt opt = {
		.num_tc = TCS,
		.prio_tc_map = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 1, 1, 3, 3, 3, 3},
		.hw = TC_MQPRIO_HW_OFFLOAD_TCS,
	};
	char question[MNL_NLMSG_HDRLEN + 256] = {0}, buf[ANSWER_BYTES];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(question);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	const struct nlmsghdr *answer;
	int err;

	nlh->nlmsg_type = RTM_NEWQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
	tc->tcm_ifindex = (int)ifindex;
	tc->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(nlh, TCA_KIND, "mqprio");
	mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
	err = sl_netlink_send(fd, nlh);
	if (!err)
		err = sl_netlink_receive(fd, buf, sizeof(buf), &answer);
	return err ? err : sl_netlink_error(answer);
}

/* VLAN devices --------------------------------------------------------------------------------- */
struct vlan {
	uint32_t lower;
	uint16_t vid;
	const struct nlattr *egress;
};

static void take_vlan(const struct nlattr *info, struct vlan *v)
{
	const struct nlattr *a, *b;

	mnl_attr_for_each_nested (a, info) {
		if (mnl_attr_get_type(a) != IFLA_INFO_DATA)
			continue;
		mnl_attr_for_each_nested (b, a) {
			if (mnl_attr_get_type(b) == IFLA_VLAN_ID &&
			    mnl_attr_get_payload_len(b) >= sizeof(v->vid))
				v->vid = mnl_attr_get_u16(b);
			else if (mnl_attr_get_type(b) == IFLA_VLAN_EGRESS_QOS)
				v->egress = b;
		}
	}
}

static bool is_vlan(const struct nlattr *info)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, info) {
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND && says(a, "vlan"))
			return true;
	}
	return false;
}

static void add_vlan(struct sl_skprio *s, const struct nlmsghdr *link, uint32_t lower)
{
	const struct ifla_vlan_qos_mapping *m;
	struct vlan v = {0};
	const struct nlattr *a;

	mnl_attr_for_each (a, link, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(a) == IFLA_LINK &&
		    mnl_attr_get_payload_len(a) >= sizeof(v.lower))
			v.lower = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == IFLA_LINKINFO && is_vlan(a))
			take_vlan(a, &v);
	}
	if (v.lower != lower || !v.egress)
		return;
	mnl_attr_for_each_nested (a, v.egress) {
		m = mnl_attr_get_payload(a);
		if (mnl_attr_get_payload_len(a) >= sizeof(*m))
			add_skprio(s, m->from, m->to, v.vid);
	}
}

static void add_vlans(struct sl_skprio *s, int fd, uint32_t lower)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		char question[MNL_NLMSG_HDRLEN + 64] = {0}, buf[ANSWER_BYTES];
		struct nlmsghdr *nlh = mnl_nlmsg_put_header(question);
		struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
		const struct nlmsghdr *answer;

		nlh->nlmsg_type = RTM_GETLINK;
		nlh->nlmsg_flags = NLM_F_REQUEST;
		ifi->ifi_index = (int)i->if_index;
		/* (A device may go while this thread asks about it.) */
		if (!sl_netlink_ask(fd, nlh, buf, sizeof(buf), &answer))
			add_vlan(s, answer, lower);
	}
	if_freenameindex(all);
}

/* sysfs ---------------------------------------------------------------------------------------- */
bool sl_skprio_path(const char *name, char *path, size_t len)
{
	struct dirent *e;
	unsigned port = 0;
	bool found = false;
	FILE *f;
	DIR *d;

	snprintf(path, len, "/sys/class/net/%.15s/dev_port", name);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%u", &port) != 1)
			port = 0;
		fclose(f);
	}
	snprintf(path, len, "/sys/class/net/%.15s/device/infiniband", name);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, len, "/sys/class/infiniband/%.63s/ports/%u/skprio2up", e->d_name,
			 port + 1);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

static void add_roce(struct sl_skprio *s, const char *name)
{
	unsigned up, skprio = 0;
	char path[160];
	FILE *f = sl_skprio_path(name, path, sizeof(path)) ? fopen(path, "re") : NULL;

	if (!f)
		return;
	while (skprio < SL_QOS_SKPRIOS && fscanf(f, "%u", &up) == 1)
		add_skprio(s, skprio++, up, 0);
	fclose(f);
}

static FILE *open_tc_num(const char *name, const char *mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/qos/tc_num", name);
	return fopen(path, mode);
}

/* The whole ------------------------------------------------------------------------------------ */
void sl_skprio_read(struct sl_skprio *s, const char *name)
{
	unsigned ifindex = if_nametoindex(name);
	int fd = sl_netlink_open(NETLINK_ROUTE);

	memset(s, 0, sizeof(*s));
	add_roce(s, name);
	if (fd < 0)
		return;
	if (!s->n)
		add_mqprio(s, fd, ifindex);
	add_vlans(s, fd, ifindex);
	close(fd);
}

unsigned sl_skprio_tcs(const char *name)
{
	struct tc_mqprio_qopt opt = {0};
	FILE *f = open_tc_num(name, "re");
	unsigned n = 0;
	int fd;

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 0;
		fclose(f);
		return n;
	}
	fd = sl_netlink_open(NETLINK_ROUTE);
	if (fd < 0)
		return 0;
	if (read_mqprio(fd, if_nametoindex(name), &opt))
		opt.num_tc = 0;
	close(fd);
	return opt.num_tc;
}

int sl_skprio_make_tcs(const char *name)
{
	FILE *f;
	int fd, err;

	if (sl_skprio_tcs(name) == TCS)
		return 0;
	f = open_tc_num(name, "r+e");
	if (f) {
		fprintf(f, "%d", TCS);
		return fclose(f) ? -errno : 0;
	}
	fd = sl_netlink_open(NETLINK_ROUTE);
	if (fd < 0)
		return fd;
	err = add_mqprio_qdisc(fd, if_nametoindex(name));
	close(fd);
	return err;
}

static void print_notes(uint16_t vid, unsigned tos)
{
	if (vid && tos)
		printf(" (vlan %u tos: %u)", vid, tos);
	else if (vid)
		printf(" (vlan %u)", vid);
	else if (tos)
		printf(" (tos: %u)", tos);
}

void sl_skprio_print(const struct sl_skprio *s, unsigned up, const char *lead)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint8_t skprio = s->map[i].skprio;

		if (s->map[i].up != up)
			continue;
		printf("%s%u", lead, skprio);
		print_notes(s->map[i].vid, skprio < SL_QOS_SKPRIOS ? tos_of[skprio] : 0);
		putchar('\n');
	}
}
