/* SPDX-License-Identifier: BSD-2-Clause */
/* Netlink messages as the kernel would send them, for the tests of the mirror. */
#ifndef TEST_NLBUILD_H
#define TEST_NLBUILD_H

#include <arpa/inet.h>
#include <linux/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "net/rtnl.h"

static uint8_t nl_buf[4096] __attribute__((aligned(8)));

static inline struct nlmsghdr *nl_begin(uint16_t type, const void *head, size_t bytes)
{
	struct nlmsghdr *nlh;

	memset(nl_buf, 0, sizeof(nl_buf));
	nlh = mnl_nlmsg_put_header(nl_buf);
	nlh->nlmsg_type = type;
	memcpy(mnl_nlmsg_put_extra_header(nlh, bytes), head, bytes);
	return nlh;
}

static inline struct sl_addr nl_addr(const char *text)
{
	uint8_t b[16];

	if (inet_pton(AF_INET, text, b) == 1)
		return sl_addr_v4(*(uint32_t *)b);
	assert_int_equal(inet_pton(AF_INET6, text, b), 1);
	return sl_addr_v6(b);
}

static inline void nl_put_addr(struct nlmsghdr *nlh, uint16_t type, const char *text)
{
	struct sl_addr a = nl_addr(text);

	sl_rtnl_put_addr(nlh, type, &a);
}

static inline unsigned nl_feed(const struct nlmsghdr *nlh)
{
	sl_mirrors_register();
	return sl_rtnl_feed(nlh, nlh->nlmsg_len);
}

static inline unsigned nl_feed_link(uint16_t type, uint32_t ifindex, unsigned flags, uint32_t mtu)
{
	struct ifinfomsg ifi = {.ifi_index = (int)ifindex, .ifi_flags = flags};
	struct nlmsghdr *nlh = nl_begin(type, &ifi, sizeof(ifi));

	mnl_attr_put_strz(nlh, IFLA_IFNAME, "test0");
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	return nl_feed(nlh);
}

static inline unsigned nl_feed_addr(uint16_t type, uint32_t ifindex, const char *text,
				    uint32_t flags)
{
	struct sl_addr a = nl_addr(text);
	struct ifaddrmsg ifa = {.ifa_family = (uint8_t)sl_rtnl_family(&a), .ifa_index = ifindex};
	struct nlmsghdr *nlh = nl_begin(type, &ifa, sizeof(ifa));

	sl_rtnl_put_addr(nlh, sl_addr_is_v4(&a) ? IFA_LOCAL : IFA_ADDRESS, &a);
	mnl_attr_put_u32(nlh, IFA_FLAGS, flags);
	return nl_feed(nlh);
}

#endif
