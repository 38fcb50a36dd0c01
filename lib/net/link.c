/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the devices and their addresses.
 *
 * Two sorted arrays under one lock, written only by the keeper. Callbacks and the for-each calls
 * hold no lock: they step from one key to the next, so entries may come and go meanwhile. An
 * address counts while its device is up (the kernel removes its local routes when the device goes
 * down) and while IPv6's duplicate address detection does not doubt it. */
#include <endian.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <string.h>

#include "base/heap.h"
#include "base/log.h"
#include "net/rtnl.h"
#include "steer.h"

struct link {
	struct sl_link pub;
	uint32_t mark;
};

struct local {
	struct sl_addr addr;
	uint32_t ifindex;
	uint32_t flags; /* IFA_F_* */
	uint32_t prefix;
	uint32_t mark;
};

static struct sl_lock lock;
static struct link *links; /* by ifindex */
static unsigned nlinks, links_room;
static struct local *locals; /* by address, then ifindex */
static unsigned nlocals, locals_room;
static uint32_t mark;

/* Arrays ----------------------------------------------------------------------------------- */

/* The first link with this index or a higher one. Lock held. */
static unsigned link_pos(uint32_t ifindex)
{
	unsigned lo = 0, hi = nlinks;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (links[mid].pub.ifindex < ifindex)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct link *link_find(uint32_t ifindex)
{
	unsigned at = link_pos(ifindex);

	return at < nlinks && links[at].pub.ifindex == ifindex ? &links[at] : NULL;
}

static bool link_is_up(uint32_t ifindex)
{
	const struct link *l = link_find(ifindex);

	return l && l->pub.flags & IFF_UP;
}

static int local_cmp(const struct local *l, const struct sl_addr *addr, uint32_t ifindex)
{
	int d = memcmp(l->addr.b, addr->b, 16);

	return d ? d : l->ifindex < ifindex ? -1 : l->ifindex > ifindex;
}

/* The first entry not below (addr, ifindex). Lock held. */
static unsigned local_pos(const struct sl_addr *addr, uint32_t ifindex)
{
	unsigned lo = 0, hi = nlocals;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (local_cmp(&locals[mid], addr, ifindex) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool local_counts(const struct local *l)
{
	if (l->flags & IFA_F_DADFAILED)
		return false;
	if (l->flags & IFA_F_TENTATIVE && !(l->flags & IFA_F_OPTIMISTIC))
		return false;
	return link_is_up(l->ifindex);
}

/* Makes room for an element at `at`; false: no memory, so the mirror lacks it. Lock held. */
static bool array_open(void **array, unsigned *n, unsigned *room, size_t size, unsigned at)
{
	char *p = *array;

	if (*n == *room) {
		unsigned more = *room ? 2 * *room : 16;

		p = sl_realloc(p, more * size);
		if (!p)
			return false;
		*array = p;
		*room = more;
	}
	memmove(p + (at + 1) * size, p + at * size, (*n - at) * size);
	memset(p + at * size, 0, size);
	++*n;
	return true;
}

static void array_close(void *array, unsigned *n, size_t size, unsigned at)
{
	char *p = array;

	memmove(p + at * size, p + (at + 1) * size, (*n - at - 1) * size);
	--*n;
}

/* Callbacks ------------------------------------------------------------------------------------ */

static void tell_link(const struct sl_link *link, bool gone)
{
	if (sl_rtnl_events.link_changed)
		sl_rtnl_events.link_changed(link, gone);
}

static bool works(const struct sl_link *link)
{
	return link->flags & IFF_UP && link->carrier_up;
}

/* now: NULL if it has gone. */
static void tell_part(const struct sl_link *was, const struct sl_link *now)
{
	if (was->master && works(was) && !(now && now->master == was->master && works(now)) &&
	    sl_rtnl_events.part_gone)
		sl_rtnl_events.part_gone(was, was->master);
}

static void tell_addr(uint32_t ifindex, const struct sl_addr *addr, bool gone)
{
	if (sl_rtnl_events.addr_changed)
		sl_rtnl_events.addr_changed(ifindex, addr, gone);
}

/* Copies the first entry after (addr, ifindex), or with `first` the very first. False: no more. */
static bool local_next(struct local *cur, bool first, bool *counts)
{
	unsigned at;
	bool found;

	if (!sl_lock(&lock))
		return false;
	at = first ? 0 : local_pos(&cur->addr, cur->ifindex + 1);
	found = at < nlocals;
	if (found) {
		*cur = locals[at];
		*counts = local_counts(cur);
	}
	sl_unlock(&lock);
	return found;
}

/* Reports the addresses of a device that went up or down. */
static void tell_addrs_of(uint32_t ifindex, bool up)
{
	struct local cur;
	bool counts;

	for (bool first = true; local_next(&cur, first, &counts); first = false)
		if (cur.ifindex == ifindex && counts == up)
			tell_addr(ifindex, &cur.addr, !up);
}

/* Links ------------------------------------------------------------------------------------ */

static void parse_text(const struct nlattr *a, char *out, size_t size)
{
	size_t n;

	if (!a)
		return;
	n = strnlen(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a));
	n = sl_min(n, size - 1);
	memcpy(out, mnl_attr_get_payload(a), n);
	out[n] = 0;
}

static void parse_egress(const struct nlattr *map, struct sl_egress *e)
{
	struct ifla_vlan_qos_mapping m;
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, map) {
		if (mnl_attr_get_type(a) != IFLA_VLAN_QOS_MAPPING ||
		    mnl_attr_get_payload_len(a) < sizeof(m))
			continue;
		memcpy(&m, mnl_attr_get_payload(a), sizeof(m));
		if (e->n < SL_EGRESS_MOST) {
			e->prio[e->n] = m.from;
			e->pcp[e->n] = m.to & 7;
		}
		e->n++;
	}
}

static void parse_vlan(const struct nlattr *data, struct link *l)
{
	const struct nlattr *tb[IFLA_VLAN_MAX + 1];

	sl_rtnl_nested(data, tb, IFLA_VLAN_MAX);
	if (tb[IFLA_VLAN_ID] && mnl_attr_get_payload_len(tb[IFLA_VLAN_ID]) == sizeof(uint16_t))
		l->pub.vlan_tag = mnl_attr_get_u16(tb[IFLA_VLAN_ID]) & 0xfff;
	if (tb[IFLA_VLAN_PROTOCOL] &&
	    mnl_attr_get_payload_len(tb[IFLA_VLAN_PROTOCOL]) == sizeof(uint16_t) &&
	    mnl_attr_get_u16(tb[IFLA_VLAN_PROTOCOL]) == htobe16(ETH_P_8021AD))
		l->pub.vlan_tag |= SL_VLAN_AD;
	if (tb[IFLA_VLAN_EGRESS_QOS])
		parse_egress(tb[IFLA_VLAN_EGRESS_QOS], &l->pub.egress);
}

static void parse_sources(const struct nlattr *a, struct sl_vxlan_out *out)
{
	uint16_t range[2];

	if (!a || mnl_attr_get_payload_len(a) < sizeof(range))
		return;
	memcpy(range, mnl_attr_get_payload(a), sizeof(range));
	out->port_min = be16toh(range[0]);
	out->port_max = be16toh(range[1]);
}

static void parse_source(const struct nlattr **tb, struct sl_vxlan_out *out)
{
	struct sl_addr local;

	if (!sl_rtnl_addr(tb[IFLA_VXLAN_LOCAL], AF_INET, &local) &&
	    !sl_rtnl_addr(tb[IFLA_VXLAN_LOCAL6], AF_INET6, &local))
		return;
	memcpy(out->local, local.b, sizeof(out->local));
	out->flags |= SL_VXLAN_OUT_LOCAL;
}

static void parse_vxlan_out(const struct nlattr **tb, struct sl_vxlan_out *out)
{
	uint16_t port = htobe16(4789);

	if (tb[IFLA_VXLAN_PORT] && mnl_attr_get_payload_len(tb[IFLA_VXLAN_PORT]) >= sizeof(port))
		memcpy(&port, mnl_attr_get_payload(tb[IFLA_VXLAN_PORT]), sizeof(port));
	/* (Field by field: links are compared with their padding, which stays zero.) */
	out->port = be16toh(port);
	out->ttl = sl_rtnl_u8(tb[IFLA_VXLAN_TTL], 0);
	out->tos = sl_rtnl_u8(tb[IFLA_VXLAN_TOS], 0);
	out->df = sl_rtnl_u8(tb[IFLA_VXLAN_DF], 0);
	out->label = be32toh(sl_rtnl_u32(tb[IFLA_VXLAN_LABEL], 0)) & 0xfffff;
	if (sl_rtnl_u8(tb[IFLA_VXLAN_TTL_INHERIT], 0))
		out->flags |= SL_VXLAN_OUT_TTL;
	if (sl_rtnl_u8(tb[IFLA_VXLAN_UDP_CSUM], 0))
		out->flags |= SL_VXLAN_OUT_SUM4;
	if (!sl_rtnl_u8(tb[IFLA_VXLAN_UDP_ZERO_CSUM6_TX], 0))
		out->flags |= SL_VXLAN_OUT_SUM6;
	if (sl_rtnl_u8(tb[IFLA_VXLAN_RSC], 0))
		out->flags |= SL_VXLAN_OUT_RSC;
	if (sl_rtnl_u8(tb[IFLA_VXLAN_LEARNING], 0))
		out->flags |= SL_VXLAN_OUT_LEARNS;
	if (sl_rtnl_u8(tb[IFLA_VXLAN_REMCSUM_TX], 0))
		out->flags |= SL_VXLAN_OUT_REMSUM;
	parse_sources(tb[IFLA_VXLAN_PORT_RANGE], out);
	parse_source(tb, out);
}

/* (A device with collected metadata is of all VNIs.) */
static void parse_vxlan(const struct nlattr *data, struct link *l)
{
	const struct nlattr *tb[IFLA_VXLAN_MAX + 1];

	sl_rtnl_nested(data, tb, IFLA_VXLAN_MAX);
	if (sl_rtnl_u8(tb[IFLA_VXLAN_COLLECT_METADATA], 0) == 0)
		l->pub.vni_after = sl_rtnl_u32(tb[IFLA_VXLAN_ID], UINT32_MAX) + 1;
	l->pub.lower = sl_rtnl_u32(tb[IFLA_VXLAN_LINK], 0);
	parse_vxlan_out(tb, &l->pub.vxlan);
}

static void parse_kind(const struct nlattr *info, struct link *l)
{
	const struct nlattr *tb[IFLA_INFO_MAX + 1];

	if (!info)
		return;
	sl_rtnl_nested(info, tb, IFLA_INFO_MAX);
	parse_text(tb[IFLA_INFO_KIND], l->pub.kind, sizeof(l->pub.kind));
	if (strcmp(l->pub.kind, "vlan") == 0 && tb[IFLA_INFO_DATA])
		parse_vlan(tb[IFLA_INFO_DATA], l);
	if (strcmp(l->pub.kind, "vxlan") == 0 && tb[IFLA_INFO_DATA])
		parse_vxlan(tb[IFLA_INFO_DATA], l);
}

static void parse_xdp(const struct nlattr *xdp, struct link *l)
{
	const struct nlattr *tb[IFLA_XDP_MAX + 1];

	if (!xdp)
		return;
	sl_rtnl_nested(xdp, tb, IFLA_XDP_MAX);
	l->pub.xdp_id = sl_rtnl_u32(tb[IFLA_XDP_PROG_ID], 0);
	if (!l->pub.xdp_id)
		l->pub.xdp_id = sl_rtnl_u32(tb[IFLA_XDP_DRV_PROG_ID], 0);
}

static void parse_link(const struct ifinfomsg *ifi, const struct nlattr **tb, struct link *l)
{
	char qdisc[16] = "";

	memset(l, 0, sizeof(*l));
	l->pub.ifindex = (uint32_t)ifi->ifi_index;
	l->pub.flags = ifi->ifi_flags;
	l->pub.type = ifi->ifi_type;
	l->pub.mtu = sl_rtnl_u32(tb[IFLA_MTU], 0);
	l->pub.master = sl_rtnl_u32(tb[IFLA_MASTER], 0);
	l->pub.carrier_up = sl_rtnl_u8(tb[IFLA_CARRIER], !!(ifi->ifi_flags & IFF_LOWER_UP));
	parse_text(tb[IFLA_IFNAME], l->pub.name, sizeof(l->pub.name));
	parse_text(tb[IFLA_QDISC], qdisc, sizeof(qdisc));
	l->pub.no_qdisc = strcmp(qdisc, "noqueue") == 0;
	parse_kind(tb[IFLA_LINKINFO], l);
	parse_xdp(tb[IFLA_XDP], l);
	if (tb[IFLA_ADDRESS] && mnl_attr_get_payload_len(tb[IFLA_ADDRESS]) == 6)
		memcpy(l->pub.mac, mnl_attr_get_payload(tb[IFLA_ADDRESS]), 6);
	/* IFLA_LINK of a veth is its peer; in another namespace the number means nothing here. */
	if (tb[IFLA_LINK_NETNSID])
		l->pub.lower = 0;
	else if (strcmp(l->pub.kind, "veth") != 0)
		l->pub.lower = sl_rtnl_u32(tb[IFLA_LINK], l->pub.lower);
	if (l->pub.lower == l->pub.ifindex)
		l->pub.lower = 0;
}

static unsigned local_gone(const struct local *gone);

/* Removes the addresses of a deleted device, for which the kernel sends no messages. */
static void locals_gone_of(uint32_t ifindex)
{
	struct local cur;
	bool counts;

	for (bool first = true; local_next(&cur, first, &counts); first = false)
		if (cur.ifindex == ifindex)
			local_gone(&cur);
}

static unsigned link_gone(uint32_t ifindex)
{
	struct sl_link old;
	unsigned at;
	bool had;

	locals_gone_of(ifindex);
	if (!sl_lock(&lock))
		return 0;
	at = link_pos(ifindex);
	had = at < nlinks && links[at].pub.ifindex == ifindex;
	if (had) {
		old = links[at].pub;
		array_close(links, &nlinks, sizeof(*links), at);
	}
	sl_unlock(&lock);
	if (!had)
		return 0;
	tell_part(&old, NULL);
	tell_link(&old, true);
	return SL_RTNL_ROUTES;
}

/* Puts the link into the table; *old: the entry before (ifindex 0: none). */
static bool link_put(const struct link *new, struct sl_link *old, bool *changed)
{
	unsigned at;
	bool ok = true;

	if (!sl_lock(&lock))
		return false;
	at = link_pos(new->pub.ifindex);
	memset(old, 0, sizeof(*old));
	if (at < nlinks && links[at].pub.ifindex == new->pub.ifindex)
		*old = links[at].pub;
	else
		ok = array_open((void **)&links, &nlinks, &links_room, sizeof(*links), at);
	if (ok) {
		*changed = memcmp(old, &new->pub, sizeof(*old)) != 0;
		links[at] = *new;
		links[at].mark = mark;
	}
	sl_unlock(&lock);
	return ok;
}

/* True: only the XDP program of the device has changed. */
static bool is_xdp_alone(const struct sl_link *old, const struct sl_link *new)
{
	struct sl_link same = *old;

	same.xdp_id = new->xdp_id;
	return memcmp(&same, new, sizeof(same)) == 0;
}

unsigned sl_link_on_msg(const struct nlmsghdr *nlh)
{
	const struct nlattr *tb[IFLA_MAX + 1];
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct link new;
	struct sl_link old;
	bool changed = false, was_up, is_up;

	if (!sl_rtnl_attrs(nlh, sizeof(*ifi), tb, IFLA_MAX) || ifi->ifi_index <= 0)
		return 0;
	if (ifi->ifi_family != AF_UNSPEC)
		return 0;
	if (nlh->nlmsg_type == RTM_DELLINK)
		return link_gone((uint32_t)ifi->ifi_index);
	parse_link(ifi, tb, &new);
	if (!link_put(&new, &old, &changed)) {
		sl_warn_once("net", "no memory for the mirror of device %s", new.pub.name);
		return 0;
	}
	if (!changed)
		return 0;
	if (is_xdp_alone(&old, &new.pub)) {
		tell_link(&new.pub, false);
		return 0;
	}
	tell_part(&old, &new.pub);
	was_up = old.flags & IFF_UP;
	is_up = new.pub.flags &IFF_UP;
	tell_link(&new.pub, false);
	if (was_up != is_up)
		tell_addrs_of(new.pub.ifindex, is_up);
	return SL_RTNL_ROUTES;
}

/* Addresses -------------------------------------------------------------------------------- */

/* Reads the attributes; false: not an address to mirror. */
static bool parse_local(const struct nlmsghdr *nlh, struct local *l)
{
	const struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);

	if (!sl_rtnl_attrs(nlh, sizeof(*ifa), tb, IFA_MAX))
		return false;
	if (!ifa->ifa_index || ifa->ifa_index > INT32_MAX) /* not a valid ifindex */
		return false;
	memset(l, 0, sizeof(*l));
	l->ifindex = ifa->ifa_index;
	l->prefix = ifa->ifa_prefixlen;
	l->flags = sl_rtnl_u32(tb[IFA_FLAGS], ifa->ifa_flags);
	/* On a point-to-point device IFA_ADDRESS is the peer's. */
	return sl_rtnl_addr(tb[IFA_LOCAL], ifa->ifa_family, &l->addr) ||
	       sl_rtnl_addr(tb[IFA_ADDRESS], ifa->ifa_family, &l->addr);
}

static bool local_put(const struct local *new, bool *counted, bool *counts, bool *changed)
{
	unsigned at;
	bool ok = true, had;

	if (!sl_lock(&lock))
		return false;
	at = local_pos(&new->addr, new->ifindex);
	had = at < nlocals && !local_cmp(&locals[at], &new->addr, new->ifindex);
	*counted = had && local_counts(&locals[at]);
	*changed = !had || locals[at].flags != new->flags || locals[at].prefix != new->prefix;
	if (!had)
		ok = array_open((void **)&locals, &nlocals, &locals_room, sizeof(*locals), at);
	if (ok) {
		locals[at] = *new;
		locals[at].mark = mark;
		*counts = local_counts(&locals[at]);
	}
	sl_unlock(&lock);
	return ok;
}

static unsigned local_gone(const struct local *gone)
{
	unsigned at, did = 0;
	bool counted = false;

	if (!sl_lock(&lock))
		return 0;
	at = local_pos(&gone->addr, gone->ifindex);
	if (at < nlocals && !local_cmp(&locals[at], &gone->addr, gone->ifindex)) {
		counted = local_counts(&locals[at]);
		array_close(locals, &nlocals, sizeof(*locals), at);
		did = SL_RTNL_ROUTES;
	}
	sl_unlock(&lock);
	if (counted)
		tell_addr(gone->ifindex, &gone->addr, true);
	return did;
}

unsigned sl_local_on_msg(const struct nlmsghdr *nlh)
{
	struct local l;
	bool counted, counts, changed;

	if (!parse_local(nlh, &l))
		return 0;
	if (nlh->nlmsg_type == RTM_DELADDR)
		return local_gone(&l);
	if (!local_put(&l, &counted, &counts, &changed)) {
		sl_warn_once("net", "no memory for the mirror of the addresses");
		return 0;
	}
	if (counted != counts)
		tell_addr(l.ifindex, &l.addr, !counts);
	return changed ? SL_RTNL_ROUTES : 0;
}

/* Mark and sweep --------------------------------------------------------------------------- */

void sl_link_mark(void)
{
	mark++;
}

static bool stale_local(struct local *out)
{
	bool found = false;

	if (!sl_lock(&lock))
		return false;
	for (unsigned i = 0; i < nlocals && !found; i++)
		if (locals[i].mark != mark) {
			*out = locals[i];
			found = true;
		}
	sl_unlock(&lock);
	return found;
}

static uint32_t stale_link(void)
{
	uint32_t found = 0;

	if (!sl_lock(&lock))
		return 0;
	for (unsigned i = 0; i < nlinks && !found; i++)
		if (links[i].mark != mark)
			found = links[i].pub.ifindex;
	sl_unlock(&lock);
	return found;
}

void sl_link_sweep(void)
{
	struct local l;
	uint32_t ifindex;

	while (stale_local(&l))
		local_gone(&l);
	while ((ifindex = stale_link()))
		link_gone(ifindex);
}

void sl_link_fini(void)
{
	if (!sl_lock(&lock))
		return;
	sl_free(links);
	sl_free(locals);
	links = NULL;
	locals = NULL;
	nlinks = links_room = nlocals = locals_room = 0;
	sl_unlock(&lock);
}

/* In a child of fork: abandons the arrays, since another thread may have held the lock or the
 * heap. */
void sl_link_child(void)
{
	memset(&lock, 0, sizeof(lock));
	links = NULL;
	locals = NULL;
	nlinks = links_room = nlocals = locals_room = 0;
}

/* Questions -------------------------------------------------------------------------------- */

bool sl_link_get(uint32_t ifindex, struct sl_link *out)
{
	const struct link *l;

	if (!sl_lock(&lock))
		return false;
	l = link_find(ifindex);
	if (l)
		*out = l->pub;
	sl_unlock(&lock);
	return l;
}

int sl_link_ask(uint32_t ifindex, sl_rtnl_fn fn, void *arg)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return sl_rtnl_ask(nlh, fn, arg);
}

static int carrier_on_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *tb[IFLA_MAX + 1];

	if (sl_rtnl_attrs(nlh, sizeof(struct ifinfomsg), tb, IFLA_MAX))
		*(bool *)arg = sl_rtnl_u8(tb[IFLA_CARRIER], 1);
	return 0;
}

bool sl_link_has_carrier(uint32_t ifindex)
{
	bool has = true;

	(void)sl_link_ask(ifindex, carrier_on_msg, &has);
	return has;
}

bool sl_addr_is_local(const struct sl_addr *addr)
{
	bool found = false;

	if (sl_addr_is_loopback(addr))
		return true;
	if (!sl_lock(&lock))
		return false;
	for (unsigned i = local_pos(addr, 0); i < nlocals && !found; i++) {
		if (!sl_addr_eq(&locals[i].addr, addr))
			break;
		found = local_counts(&locals[i]);
	}
	sl_unlock(&lock);
	return found;
}

static bool link_next(struct sl_link *cur)
{
	unsigned at;
	bool found;

	if (!sl_lock(&lock))
		return false;
	for (at = link_pos(cur->ifindex + 1); at < nlinks; at++)
		if (links[at].pub.flags & IFF_UP)
			break;
	found = at < nlinks;
	if (found)
		*cur = links[at].pub;
	sl_unlock(&lock);
	return found;
}

void sl_link_for_each(bool (*fn)(const struct sl_link *link, void *arg), void *arg)
{
	struct sl_link cur = {0};

	while (link_next(&cur))
		if (!fn(&cur, arg))
			return;
}

void sl_local_for_each(bool (*fn)(uint32_t ifindex, const struct sl_addr *addr, void *arg),
		       void *arg)
{
	struct local cur;
	bool counts;

	for (bool first = true; local_next(&cur, first, &counts); first = false)
		if (counts && !fn(cur.ifindex, &cur.addr, arg))
			return;
}
