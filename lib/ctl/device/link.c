/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks every second at a device's program, address, MTU and link, over a descriptor that stays
 * open: the keeper must not take and give back low numbers, since a program may close a descriptor
 * and count on getting its number again (close(0), open). */
#include "ctl/device/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/sys.h"
#include "ctl/kern/netlink.h"

#define ANSWER_BYTES 16384
#define STALE_MAX    8 /* answers of earlier questions that may still be there */

static int link_fd = -1;
static uint32_t seq;

int sl_link_open(void)
{
	int fd;

	if (link_fd >= 0)
		return link_fd;
	fd = sl_fd_keep(sl_netlink_open(NETLINK_ROUTE));
	if (fd >= 0)
		link_fd = fd;
	return fd;
}

static int ask(int fd, uint32_t ifindex)
{
	uint8_t buf[64] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = ++seq;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return sl_netlink_send(fd, nlh);
}

/* Returns the device's program; if it has several, the native one. */
static uint32_t xdp_id(const struct nlattr *xdp)
{
	uint32_t id = 0, native = 0;
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, xdp) {
		if (mnl_attr_get_payload_len(a) < sizeof(uint32_t))
			continue;
		if (mnl_attr_get_type(a) == IFLA_XDP_PROG_ID)
			id = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == IFLA_XDP_DRV_PROG_ID)
			native = mnl_attr_get_u32(a);
	}
	return id ? id : native;
}

/* 1: it was the answer. 0: that of an earlier question. -errno. */
static int parse(const struct nlmsghdr *nlh, long n, struct sl_link_now *out)
{
	const struct nlattr *a;

	if (n < (long)sizeof(*nlh) || nlh->nlmsg_len > (uint64_t)n || nlh->nlmsg_seq != seq)
		return 0;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return -ENODEV;
	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(struct ifinfomsg))
		return -EBADMSG;
	*out = (struct sl_link_now){.carrier = true};
	mnl_attr_for_each (a, nlh, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(a) == IFLA_ADDRESS && mnl_attr_get_payload_len(a) == 6)
			memcpy(out->mac, mnl_attr_get_payload(a), 6);
		else if (mnl_attr_get_type(a) == IFLA_XDP)
			out->xdp_id = xdp_id(a);
		else if (mnl_attr_get_type(a) == IFLA_MTU && mnl_attr_get_payload_len(a) == 4)
			out->mtu = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == IFLA_CARRIER && mnl_attr_get_payload_len(a) == 1)
			out->carrier = mnl_attr_get_u8(a);
	}
	return 1;
}

int sl_link_look(uint32_t ifindex, struct sl_link_now *out)
{
	uint8_t buf[ANSWER_BYTES] __attribute__((aligned(8)));
	int fd = sl_link_open();
	int err = fd < 0 ? fd : ask(fd, ifindex);

	for (int i = 0; i < STALE_MAX && !err; i++) {
		long n = sl_sys_recvfrom(fd, buf, sizeof(buf), 0, NULL, NULL);

		if (n < 0 && n != -EINTR)
			return (int)n;
		err = n < 0 ? 0 : parse((struct nlmsghdr *)buf, n, out);
	}
	return err == 1 ? 0 : err ? err : -EBADMSG;
}

void sl_link_look_child(void)
{
	if (link_fd >= 0)
		sl_sys_close(link_fd);
	link_fd = -1;
}
