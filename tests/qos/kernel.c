/* SPDX-License-Identifier: BSD-2-Clause */
/* A stand-in for the kernel's DCB netlink (net/dcb/dcbnl.c) over a NIC with a driver like mlx5's:
 * linked into the tool with --wrap of the netlink requests. The device that QOS_DEVICE names is
 * such a NIC, its state is in the file QOS_STATE; all other questions go to the kernel. QOS_DRIVER:
 * "mlx5", "many" (a DSCP may have several priorities), "fixed" (DCBX stays the firmware's, which
 * undoes what is set), "bare" (classes alone). QOS_VLAN=NAME: this device is VLAN 5 on it, with an
 * egress map. */
#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/kern/netlink.h"

#define MAX_APPS 512

int __real_sl_netlink_send(int fd, const struct nlmsghdr *q);
int __wrap_sl_netlink_send(int fd, const struct nlmsghdr *q);
int __real_sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got);
int __wrap_sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got);
int __real_sl_netlink_ask(int fd, const struct nlmsghdr *q, void *buf, size_t bytes,
			  const struct nlmsghdr **answer);
int __wrap_sl_netlink_ask(int fd, const struct nlmsghdr *q, void *buf, size_t bytes,
			  const struct nlmsghdr **answer);

static struct nic {
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate rate;
	struct dcbnl_buffer buffer;
	struct dcb_app app[MAX_APPS]; /* the newest first */
	unsigned apps;
	uint8_t dcbx;
	unsigned mqprio; /* classes */
} nic;
static char answer_buf[32768] __attribute__((aligned(8)));
static struct nlmsghdr *pending; /* the answer to the last question, if it was the stand-in's */

static bool driver_is(const char *name)
{
	const char *driver = getenv("QOS_DRIVER");

	return !strcmp(driver ? driver : "mlx5", name);
}

static void load(void)
{
	FILE *f = fopen(getenv("QOS_STATE"), "r");

	if (f && fread(&nic, sizeof(nic), 1, f) == 1) {
		fclose(f);
		return;
	}
	if (f)
		fclose(f);
	memset(&nic, 0, sizeof(nic));
	nic.dcbx = DCB_CAP_DCBX_VER_IEEE | DCB_CAP_DCBX_VER_CEE;
	if (!driver_is("fixed"))
		nic.dcbx |= DCB_CAP_DCBX_HOST;
	nic.pfc.pfc_cap = 8;
	nic.pfc.delay = 7;
	nic.buffer.total_size = 262016;
	nic.buffer.buffer_size[0] = 130944;
	for (unsigned i = 0; i < 8; i++) {
		static const uint8_t classes[8] = {1, 0, 2, 3, 4, 5, 6, 7};

		nic.ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		nic.ets.prio_tc[i] = classes[i];
	}
	nic.ets.ets_cap = 8;
}

static void save(void)
{
	FILE *f = fopen(getenv("QOS_STATE"), "w");

	if (f) {
		fwrite(&nic, sizeof(nic), 1, f);
		fclose(f);
	}
}

/* The driver: each returns 0 or -errno, as dcbnl_rtnl_ops do. ------------------------------------
 */
static int set_ets(const struct ieee_ets *ets)
{
	unsigned sum = 0;
	bool any = false;

	for (unsigned i = 0; i < 8; i++) {
		if (ets->prio_tc[i] >= 8)
			return -EINVAL;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = true;
			sum += ets->tc_tx_bw[i];
		}
	}
	if (any && sum != 100)
		return -EINVAL;
	if (!driver_is("fixed"))
		nic.ets = *ets;
	return 0;
}

static int set_rate(const struct ieee_maxrate *rate)
{
	for (unsigned i = 0; i < 8; i++) { /* in steps of 100 Mbit/s, at least one */
		uint64_t steps = rate->tc_maxrate[i] / 100000;

		nic.rate.tc_maxrate[i] = rate->tc_maxrate[i] ? (steps ? steps : 1) * 100000 : 0;
	}
	return 0;
}

static int set_buffer(const struct dcbnl_buffer *b)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += b->buffer_size[i];
	if (sum > nic.buffer.total_size)
		return -EINVAL;
	memcpy(nic.buffer.prio2buffer, b->prio2buffer, sizeof(b->prio2buffer));
	memcpy(nic.buffer.buffer_size, b->buffer_size, sizeof(b->buffer_size));
	return 0;
}

static int find_app(const struct dcb_app *app, bool any_priority)
{
	for (unsigned i = 0; i < nic.apps; i++)
		if (nic.app[i].selector == app->selector && nic.app[i].protocol == app->protocol &&
		    (any_priority || nic.app[i].priority == app->priority))
			return (int)i;
	return -1;
}

static int del_app(const struct dcb_app *app, bool any_priority)
{
	int i = find_app(app, any_priority);

	if (i < 0)
		return -ENOENT;
	memmove(&nic.app[i], &nic.app[i + 1], (nic.apps - (unsigned)i - 1) * sizeof(*app));
	nic.apps--;
	return 0;
}

static int set_app(const struct dcb_app *app)
{
	if (driver_is("bare"))
		return -EOPNOTSUPP;
	if (app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= 64 || app->priority > 7)
		return -EINVAL;
	if (find_app(app, false) >= 0)
		return driver_is("many") ? -EEXIST : 0;
	if (!driver_is("many"))
		(void)del_app(app, true);
	if (nic.apps == MAX_APPS)
		return -ENOMEM;
	memmove(&nic.app[1], &nic.app[0], nic.apps++ * sizeof(*app));
	nic.app[0] = *app;
	return 0;
}

static uint8_t set_dcbx(uint8_t mode)
{
	if (driver_is("fixed") || mode & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	if (mode && !(mode & DCB_CAP_DCBX_HOST))
		return 1;
	nic.dcbx = mode ? mode : DCB_CAP_DCBX_VER_IEEE | DCB_CAP_DCBX_VER_CEE;
	return 0;
}

/* dcbnl.c ----------------------------------------------------------------------------------------
 */
/* The attribute's bytes in a struct of its own alignment; NULL: too short, as the kernel's policy
 * says. */
static void *bytes_of(const struct nlattr *a, void *to, size_t n)
{
	return mnl_attr_get_payload_len(a) < n ? NULL : memcpy(to, mnl_attr_get_payload(a), n);
}

static int set_apps(const struct nlattr *table, bool gone)
{
	const struct nlattr *a;
	struct dcb_app app;
	int err = 0;

	mnl_attr_for_each_nested (a, table) {
		if (mnl_attr_get_type(a) != DCB_ATTR_IEEE_APP)
			continue;
		if (!bytes_of(a, &app, sizeof(app)))
			return -EINVAL;
		err = gone ? del_app(&app, false) : set_app(&app);
		if (err)
			return err;
	}
	return err;
}

static int set_one(const struct nlattr *a, bool gone)
{
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate rate;
	struct dcbnl_buffer buffer;

	switch (mnl_attr_get_type(a)) {
	case DCB_ATTR_IEEE_ETS:
		return bytes_of(a, &ets, sizeof(ets)) ? set_ets(&ets) : -ERANGE;
	case DCB_ATTR_IEEE_MAXRATE:
		if (driver_is("bare"))
			return 0; /* (an operation that the driver has not is passed over) */
		return bytes_of(a, &rate, sizeof(rate)) ? set_rate(&rate) : -ERANGE;
	case DCB_ATTR_DCB_BUFFER:
		return bytes_of(a, &buffer, sizeof(buffer)) ? set_buffer(&buffer) : -ERANGE;
	case DCB_ATTR_IEEE_PFC:
		if (!bytes_of(a, &pfc, sizeof(pfc)))
			return -ERANGE;
		nic.pfc.pfc_en = pfc.pfc_en;
		nic.pfc.delay = pfc.delay;
		return 0;
	case DCB_ATTR_IEEE_APP_TABLE:
		return set_apps(a, gone);
	}
	return -EINVAL;
}

static int set_ieee(const struct nlmsghdr *q, bool gone)
{
	const struct nlattr *a, *b;
	int err = -EINVAL;

	mnl_attr_for_each (a, q, sizeof(struct dcbmsg)) {
		if (mnl_attr_get_type(a) != DCB_ATTR_IEEE)
			continue;
		mnl_attr_for_each_nested (b, a) {
			err = set_one(b, gone);
			if (err)
				return err;
		}
	}
	return err;
}

static void put_ieee(struct nlmsghdr *m)
{
	struct nlattr *ieee = mnl_attr_nest_start(m, DCB_ATTR_IEEE), *table;

	mnl_attr_put(m, DCB_ATTR_IEEE_ETS, sizeof(nic.ets), &nic.ets);
	if (!driver_is("bare")) {
		mnl_attr_put(m, DCB_ATTR_IEEE_MAXRATE, sizeof(nic.rate), &nic.rate);
		mnl_attr_put(m, DCB_ATTR_DCB_BUFFER, sizeof(nic.buffer), &nic.buffer);
		mnl_attr_put(m, DCB_ATTR_IEEE_PFC, sizeof(nic.pfc), &nic.pfc);
	}
	table = mnl_attr_nest_start(m, DCB_ATTR_IEEE_APP_TABLE);
	for (unsigned i = 0; i < nic.apps; i++)
		mnl_attr_put(m, DCB_ATTR_IEEE_APP, sizeof(nic.app[i]), &nic.app[i]);
	mnl_attr_nest_end(m, table);
	mnl_attr_nest_end(m, ieee);
	mnl_attr_put_u8(m, DCB_ATTR_DCBX, nic.dcbx);
}

static struct nlmsghdr *begin(uint16_t type)
{
	struct nlmsghdr *m;

	memset(answer_buf, 0, sizeof(answer_buf));
	m = mnl_nlmsg_put_header(answer_buf);
	m->nlmsg_type = type;
	return m;
}

static void fail(int err)
{
	pending = begin(NLMSG_ERROR);
	((struct nlmsgerr *)mnl_nlmsg_put_extra_header(pending, sizeof(struct nlmsgerr)))->error =
		err;
}

static void answer_dcb(const struct nlmsghdr *q)
{
	uint8_t cmd = ((const struct dcbmsg *)mnl_nlmsg_get_payload(q))->cmd, mode = 0;
	const struct nlattr *a;
	struct nlmsghdr *m;

	if (q->nlmsg_type == RTM_SETDCB && geteuid()) {
		fail(-EPERM);
		return;
	}
	if (driver_is("bare") && (cmd == DCB_CMD_GDCBX || cmd == DCB_CMD_SDCBX)) {
		fail(-EOPNOTSUPP);
		return;
	}
	mnl_attr_for_each (a, q, sizeof(struct dcbmsg)) {
		if (mnl_attr_get_type(a) == DCB_ATTR_DCBX)
			mode = mnl_attr_get_u8(a);
	}
	m = begin(q->nlmsg_type);
	((struct dcbmsg *)mnl_nlmsg_put_extra_header(m, sizeof(struct dcbmsg)))->cmd = cmd;
	if (cmd == DCB_CMD_IEEE_GET) {
		mnl_attr_put_strz(m, DCB_ATTR_IFNAME, getenv("QOS_DEVICE"));
		put_ieee(m);
	} else if (cmd == DCB_CMD_GDCBX) {
		mnl_attr_put_u8(m, DCB_ATTR_DCBX, nic.dcbx);
	} else if (cmd == DCB_CMD_SDCBX) {
		mnl_attr_put_u8(m, DCB_ATTR_DCBX, set_dcbx(mode));
	} else {
		mnl_attr_put_u8(m, DCB_ATTR_IEEE, (uint8_t)set_ieee(q, cmd == DCB_CMD_IEEE_DEL));
	}
	pending = m;
}

static bool names_nic(const struct nlmsghdr *q)
{
	const char *name = getenv("QOS_DEVICE");
	const struct nlattr *a;

	mnl_attr_for_each (a, q, sizeof(struct dcbmsg)) {
		if (mnl_attr_get_type(a) == DCB_ATTR_IFNAME)
			return name && !strcmp(mnl_attr_get_str(a), name);
	}
	return false;
}

/* mqprio and the VLAN device ---------------------------------------------------------------------
 */
static void answer_qdisc(const struct nlmsghdr *q)
{
	struct tc_mqprio_qopt opt = {.num_tc = (uint8_t)nic.mqprio, .hw = 1};
	struct nlmsghdr *m;

	for (unsigned i = 0; i < 16; i++)
		opt.prio_tc_map[i] = i < 8 ? (uint8_t)i : 0;
	if (q->nlmsg_type == RTM_NEWQDISC) {
		nic.mqprio = 8;
		fail(0);
		return;
	}
	m = begin(RTM_NEWQDISC);
	mnl_nlmsg_put_extra_header(m, sizeof(struct tcmsg));
	mnl_attr_put_strz(m, TCA_KIND, nic.mqprio ? "mqprio" : "mq");
	if (nic.mqprio)
		mnl_attr_put(m, TCA_OPTIONS, sizeof(opt), &opt);
	pending = m;
}

static void make_vlan(struct nlmsghdr *link)
{
	struct nlattr *info, *data, *map;

	mnl_attr_put_u32(link, IFLA_LINK, if_nametoindex(getenv("QOS_DEVICE")));
	info = mnl_attr_nest_start(link, IFLA_LINKINFO);
	mnl_attr_put_strz(link, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(link, IFLA_INFO_DATA);
	mnl_attr_put_u16(link, IFLA_VLAN_ID, 5);
	map = mnl_attr_nest_start(link, IFLA_VLAN_EGRESS_QOS);
	for (uint32_t i = 0; i < 8; i++) {
		struct ifla_vlan_qos_mapping m = {.from = i, .to = i};

		mnl_attr_put(link, IFLA_VLAN_QOS_MAPPING, sizeof(m), &m);
	}
	mnl_attr_nest_end(link, map);
	mnl_attr_nest_end(link, data);
	mnl_attr_nest_end(link, info);
}

static bool is_of_nic(const struct nlmsghdr *q)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(q);

	return (q->nlmsg_type == RTM_GETQDISC || q->nlmsg_type == RTM_NEWQDISC) &&
	       tc->tcm_ifindex == (int)if_nametoindex(getenv("QOS_DEVICE"));
}

int __wrap_sl_netlink_send(int fd, const struct nlmsghdr *q)
{
	bool dcb = q->nlmsg_type == RTM_GETDCB || q->nlmsg_type == RTM_SETDCB;

	pending = NULL;
	if (!getenv("QOS_DEVICE") || (dcb ? !names_nic(q) : !is_of_nic(q)))
		return __real_sl_netlink_send(fd, q);
	load();
	if (dcb)
		answer_dcb(q);
	else
		answer_qdisc(q);
	save();
	return 0;
}

int __wrap_sl_netlink_receive(int fd, void *buf, size_t bytes, const struct nlmsghdr **got)
{
	const char *vlan = getenv("QOS_VLAN");
	int err;

	if (pending) {
		memcpy(buf, pending, pending->nlmsg_len);
		*got = buf;
		return 0;
	}
	err = __real_sl_netlink_receive(fd, buf, bytes, got);
	if (!err && vlan && (*got)->nlmsg_type == RTM_NEWLINK &&
	    ((const struct ifinfomsg *)mnl_nlmsg_get_payload(*got))->ifi_index ==
		    (int)if_nametoindex(vlan))
		make_vlan(buf);
	return err;
}

int __wrap_sl_netlink_ask(int fd, const struct nlmsghdr *q, void *buf, size_t bytes,
			  const struct nlmsghdr **answer)
{
	int err = __wrap_sl_netlink_send(fd, q);

	if (!err)
		err = __wrap_sl_netlink_receive(fd, buf, bytes, answer);
	if (err || (*answer)->nlmsg_type != NLMSG_ERROR)
		return err;
	err = sl_netlink_error(*answer);
	return err < 0 ? err : -EBADMSG;
}
