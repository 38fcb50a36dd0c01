/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirrors of the kernel's tables, in the order in which rtnl.c calls them. */
#include "base/base.h"
#include "net/qdisc.h"
#include "net/rtnl.h"
#include "net/span.h"
#include "net/vxlan.h"

static unsigned neigh_on_msg(const struct nlmsghdr *nlh)
{
	sl_neigh_on_msg(nlh);
	sl_fdb_on_msg(nlh);
	return 0;
}

static const struct sl_mirror mirrors[] = {
	{
		.new_type = RTM_NEWLINK,
		.del_type = RTM_DELLINK,
		.on_msg = sl_link_on_msg,
		.mark = sl_link_mark, /* of the addresses, too */
		.sweep = sl_link_sweep,
		.forget = sl_link_fini,
		.child = sl_link_child,
	},
	{.new_type = RTM_NEWADDR, .del_type = RTM_DELADDR, .on_msg = sl_local_on_msg},
	{
		.new_type = RTM_NEWNEIGH,
		.del_type = RTM_DELNEIGH,
		.on_msg = neigh_on_msg,
		.mark = sl_neigh_mark,
		.sweep = sl_neigh_sweep,
		.work = sl_neigh_work,
		.forget = sl_neigh_forget,
		.child = sl_neigh_child,
	},
	{
		.new_type = RTM_NEWQDISC,
		.del_type = RTM_DELQDISC,
		.on_msg = sl_qdisc_on_msg,
		.mark = sl_qdisc_mark,
		.sweep = sl_qdisc_sweep,
		.forget = sl_qdisc_forget,
		.child = sl_qdisc_child,
	},
	{
		.sweep = sl_fdb_forget,
		.work = sl_fdb_work,
		.forget = sl_fdb_forget,
		.child = sl_fdb_child,
	},
	{.child = sl_route_child},
	{.work = sl_spans_work, .child = sl_spans_child},
};

void sl_mirrors_register(void)
{
	sl_rtnl_set_mirrors(mirrors, sl_array_len(mirrors));
}

int sl_net_open(const struct sl_net_events *events)
{
	sl_mirrors_register();
	return sl_rtnl_open(events);
}
