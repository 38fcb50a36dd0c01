/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel about VXLAN devices, by rtnetlink. */
#include "ctl/kern/vxlan.h"

#include <endian.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"
#include "ctl/kern/say.h"

#define ANSWER_BYTES 16384

static struct nlmsghdr *question(void *buf, uint32_t ifindex, uint16_t flags)
{
	struct ifinfomsg *ifi = sl_netlink_question(buf, RTM_GETLINK, flags, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	return buf;
}

/* The attribute of that type behind `first`; NULL: there is none. */
static const struct nlattr *find(const struct nlattr *first, const void *end, uint16_t type)
{
	for (const struct nlattr *a = first;
	     mnl_attr_ok(a, (int)((const char *)end - (const char *)a)); a = mnl_attr_next(a))
		if (mnl_attr_get_type(a) == type)
			return a;
	return NULL;
}

static const struct nlattr *inside(const struct nlattr *nest, uint16_t type)
{
	return nest ? find(mnl_attr_get_payload(nest), (const char *)nest + nest->nla_len, type)
		    : NULL;
}

static uint32_t number(const struct nlattr *data, uint16_t type)
{
	const struct nlattr *a = inside(data, type);
	uint32_t v = 0;

	if (a)
		memcpy(&v, mnl_attr_get_payload(a), sl_min(mnl_attr_get_payload_len(a), sizeof(v)));
	return v;
}

/* Copies an address of n bytes into the last ones of to. */
static void put_addr(uint8_t to[16], const struct nlattr *a, size_t n)
{
	if (a && mnl_attr_get_payload_len(a) == n)
		memcpy(to + 16 - n, mnl_attr_get_payload(a), n);
}

/* (A device without any address receives IPv4.) */
static void read_ends(const struct nlattr *data, struct sl_vxlan_dev *out)
{
	bool group;

	out->v6 = inside(data, IFLA_VXLAN_LOCAL6) || inside(data, IFLA_VXLAN_GROUP6);
	out->no_sum6 = number(data, IFLA_VXLAN_UDP_ZERO_CSUM6_RX);
	if (out->v6) {
		put_addr(out->local, inside(data, IFLA_VXLAN_LOCAL6), 16);
		put_addr(out->remote, inside(data, IFLA_VXLAN_GROUP6), 16);
		group = out->remote[0] == 0xff;
	} else {
		put_addr(out->local, inside(data, IFLA_VXLAN_LOCAL), 4);
		put_addr(out->remote, inside(data, IFLA_VXLAN_GROUP), 4);
		group = (out->remote[12] & 0xf0) == 0xe0;
	}
	if (group)
		memset(out->remote, 0, sizeof(out->remote));
}

static const char *obstacle(const struct nlattr *data)
{
	if (number(data, IFLA_VXLAN_COLLECT_METADATA))
		return "its VNI is chosen for each packet (external)";
	if (inside(data, IFLA_VXLAN_GBP) || inside(data, IFLA_VXLAN_GPE) ||
	    number(data, IFLA_VXLAN_REMCSUM_RX))
		return "it receives an extension of VXLAN";
	return NULL;
}

static int parse(const struct nlmsghdr *nlh, struct sl_vxlan_dev *out, const char **why)
{
	const void *end = mnl_nlmsg_get_payload_tail(nlh);
	const struct nlattr *first = mnl_nlmsg_get_payload_offset(nlh, sizeof(struct ifinfomsg)),
			    *info = find(first, end, IFLA_LINKINFO),
			    *kind = inside(info, IFLA_INFO_KIND),
			    *data = inside(info, IFLA_INFO_DATA),
			    *mac = find(first, end, IFLA_ADDRESS);
	const char *problem;

	if (!kind || !data || !mac || mnl_attr_get_payload_len(mac) != 6 ||
	    mnl_attr_get_payload_len(kind) != sizeof("vxlan") ||
	    memcmp(mnl_attr_get_payload(kind), "vxlan", sizeof("vxlan")) != 0)
		return -ENODEV;
	problem = obstacle(data);
	if (problem) {
		sl_why(why, "%s", problem);
		return -EOPNOTSUPP;
	}
	*out = (struct sl_vxlan_dev){
		.vni = number(data, IFLA_VXLAN_ID),
		.lower = find(first, end, IFLA_LINK_NETNSID) ? 0 : number(data, IFLA_VXLAN_LINK),
		.port = be16toh((uint16_t)number(data, IFLA_VXLAN_PORT)),
	};
	out->learns = number(data, IFLA_VXLAN_LEARNING);
	read_ends(data, out);
	memcpy(out->mac, mnl_attr_get_payload(mac), 6);
	return 0;
}

int sl_vxlan_read(uint32_t ifindex, struct sl_vxlan_dev *out, const char **why)
{
	uint8_t ask[64] __attribute__((aligned(8))) = {0};
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	const struct nlmsghdr *got;
	int fd = sl_netlink_open(NETLINK_ROUTE), err;

	if (fd < 0)
		return fd;
	err = sl_netlink_ask(fd, question(ask, ifindex, 0), buf, sizeof(buf), &got);
	if (!err)
		err = got->nlmsg_type == RTM_NEWLINK ? parse(got, out, why) : -EBADMSG;
	sl_sys_close(fd);
	return err;
}

/* The bound stations found so far. */
struct bound {
	uint32_t ifindex;
	struct sl_vxlan_bound *out;
	int n, max;
};

/* True: it is among those found. The kernel compares with the first of a station's hosts. */
static bool is_known(const struct bound *b, const uint8_t *mac)
{
	for (int i = 0; i < sl_min(b->n, b->max); i++)
		if (memcmp(b->out[i].mac, mac, 6) == 0)
			return true;
	return false;
}

static void on_neigh(struct bound *b, const struct nlmsghdr *nlh)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const void *end = mnl_nlmsg_get_payload_tail(nlh);
	const struct nlattr *first = mnl_nlmsg_get_payload_offset(nlh, sizeof(*ndm)), *mac, *dst;
	static const uint8_t all_others[6];
	struct sl_vxlan_bound *at;

	if (nlh->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(nlh) < sizeof(*ndm) ||
	    ndm->ndm_family != AF_BRIDGE || (uint32_t)ndm->ndm_ifindex != b->ifindex ||
	    !(ndm->ndm_flags & NTF_SELF))
		return;
	mac = find(first, end, NDA_LLADDR);
	if (!mac || mnl_attr_get_payload_len(mac) != 6)
		return;
	if (!(ndm->ndm_state & (NUD_PERMANENT | NUD_NOARP)) && !find(first, end, NDA_NH_ID))
		return;
	mac = mnl_attr_get_payload(mac);
	if (*(const uint8_t *)mac & 1 || !memcmp(mac, all_others, 6) ||
	    is_known(b, (const void *)mac))
		return;
	if (b->n++ >= b->max)
		return;
	at = &b->out[b->n - 1];
	*at = (struct sl_vxlan_bound){0};
	memcpy(at->mac, mac, 6);
	dst = find(first, end, NDA_DST);
	if (dst && !find(first, end, NDA_NH_ID) && !find(first, end, NDA_IFINDEX))
		put_addr(at->remote, dst, mnl_attr_get_payload_len(dst) == 4 ? 4 : 16);
}

/* Reads one buffer of the answer. (A change meanwhile is told by an event.) 1: it was the last; 0;
 * -errno. */
static int read_some(int fd, struct bound *b, void *buf, size_t bytes)
{
	long n = sl_sys_recvfrom(fd, buf, bytes, 0, NULL, NULL);
	const struct nlmsghdr *nlh = buf;
	int left = (int)n;

	if (n < 0)
		return n == -EINTR ? 0 : (int)n;
	if (!mnl_nlmsg_ok(nlh, left))
		return -EBADMSG;
	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_len > (uint32_t)left) /* libmnl 1.0.4 compares as int */
			return -EBADMSG;
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 1;
		if (nlh->nlmsg_type == NLMSG_ERROR)
			return sl_min(sl_netlink_error(nlh), -1);
		on_neigh(b, nlh);
	}
	return 0;
}

int sl_vxlan_read_bound(uint32_t ifindex, struct sl_vxlan_bound *out, int max)
{
	uint8_t ask[64] __attribute__((aligned(8))) = {0};
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct ndmsg *ndm = sl_netlink_question(ask, RTM_GETNEIGH, NLM_F_DUMP, sizeof(*ndm));
	struct bound b = {.ifindex = ifindex, .out = out, .max = max};
	int fd = sl_netlink_open(NETLINK_ROUTE), err;

	if (fd < 0)
		return fd;
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)ifindex;
	err = sl_netlink_send(fd, (const void *)ask);
	while (!err)
		err = read_some(fd, &b, buf, sizeof(buf));
	sl_sys_close(fd);
	return err < 0 ? err : b.n;
}

bool sl_vxlan_any(void)
{
	uint8_t ask[128] __attribute__((aligned(8))) = {0};
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	struct nlmsghdr *q = question(ask, 0, NLM_F_DUMP);
	struct nlattr *nest = mnl_attr_nest_start(q, IFLA_LINKINFO);
	const struct nlmsghdr *got;
	int fd = sl_netlink_open(NETLINK_ROUTE), err = fd;

	mnl_attr_put_strz(q, IFLA_INFO_KIND, "vxlan");
	mnl_attr_nest_end(q, nest);
	if (fd >= 0) {
		err = sl_netlink_send(fd, q);
		if (!err)
			err = sl_netlink_receive(fd, buf, sizeof(buf), &got);
		sl_sys_close(fd);
	}
	return err || got->nlmsg_type != NLMSG_DONE;
}
