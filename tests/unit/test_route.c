/* SPDX-License-Identifier: BSD-2-Clause */
/* The meaning of answers to RTM_GETROUTE. */
#include <errno.h>
#include <linux/in_route.h>
#include <linux/lwtunnel.h>

#include "nlbuild.h"

static struct sl_route route;

static struct nlmsghdr *answer(int family, uint8_t type, uint32_t flags, uint32_t oif)
{
	struct rtmsg rtm = {.rtm_family = (uint8_t)family, .rtm_type = type, .rtm_flags = flags};
	struct nlmsghdr *nlh = nl_begin(RTM_NEWROUTE, &rtm, sizeof(rtm));

	if (oif)
		mnl_attr_put_u32(nlh, RTA_OIF, oif);
	return nlh;
}

static int parse(const struct nlmsghdr *nlh, const char *dst, const char *src)
{
	struct sl_route_key key = {.dst = nl_addr(dst)};

	if (src)
		key.src = nl_addr(src);
	memset(&route, 0, sizeof(route));
	return sl_route_parse(nlh, &key, &route);
}

static void assert_addr(const struct sl_addr *got, const char *want)
{
	struct sl_addr w = nl_addr(want);

	assert_memory_equal(got->b, w.b, 16);
}

static void test_on_link(void **state)
{
	struct nlmsghdr *nlh = answer(AF_INET, RTN_UNICAST, RTM_F_CLONED, 7);

	(void)state;
	nl_put_addr(nlh, RTA_PREFSRC, "10.0.0.1");
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_DEVICE);
	assert_int_equal(route.ifindex, 7);
	assert_int_equal(route.mtu, 0);
	assert_addr(&route.src, "10.0.0.1");
	assert_addr(&route.nexthop, "10.0.0.2");
}

static void test_gateway_and_metrics(void **state)
{
	struct nlmsghdr *nlh = answer(AF_INET6, RTN_UNICAST, 0, 3);
	struct nlattr *m;

	(void)state;
	nl_put_addr(nlh, RTA_GATEWAY, "fe80::1");
	m = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MTU, 1400);
	mnl_attr_put_u32(nlh, RTAX_HOPLIMIT, 300);
	mnl_attr_nest_end(nlh, m);
	assert_int_equal(parse(nlh, "2001:db8::1", "2001:db8::9"), 0);
	assert_int_equal(route.mtu, 1400);
	assert_int_equal(route.hoplimit, 255);
	assert_addr(&route.nexthop, "fe80::1");
	assert_addr(&route.src, "2001:db8::9"); /* no RTA_PREFSRC: the one that was asked with */
}

static void put_via(struct nlmsghdr *nlh, uint16_t family, size_t bytes, const char *text)
{
	uint8_t via[32] = {0};
	struct sl_addr a = nl_addr(text);

	memcpy(via, &family, 2);
	memcpy(via + 2, sl_addr_is_v4(&a) ? &a.b[12] : a.b, bytes);
	mnl_attr_put(nlh, RTA_VIA, 2 + bytes, via);
}

static void test_next_hop_of_the_other_family(void **state)
{
	struct nlmsghdr *nlh = answer(AF_INET, RTN_UNICAST, 0, 3);

	(void)state;
	put_via(nlh, AF_INET6, 16, "fe80::2");
	assert_int_equal(parse(nlh, "192.0.2.1", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_DEVICE);
	assert_addr(&route.nexthop, "fe80::2");

	nlh = answer(AF_INET, RTN_UNICAST, 0, 3);
	put_via(nlh, AF_INET6, 4, "fe80::2"); /* too short for its family */
	assert_int_equal(parse(nlh, "192.0.2.1", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_OTHER);
}

static void test_kinds(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t flags;
		enum sl_route_kind kind;
		int error;
	} t[] = {
		{RTN_LOCAL, RTCF_LOCAL, SL_ROUTE_LOCAL, 0},
		{RTN_ANYCAST, 0, SL_ROUTE_LOCAL, 0},
		{RTN_BROADCAST, RTCF_BROADCAST | RTCF_LOCAL, SL_ROUTE_BROADCAST, 0},
		{RTN_UNICAST, RTCF_BROADCAST, SL_ROUTE_BROADCAST, 0},
		{RTN_MULTICAST, RTCF_MULTICAST, SL_ROUTE_MULTICAST, 0},
		{RTN_MULTICAST, RTCF_MULTICAST | RTCF_LOCAL, SL_ROUTE_LOCAL, 0},
		{RTN_NAT, 0, SL_ROUTE_OTHER, 0},
		{RTN_UNREACHABLE, 0, SL_ROUTE_UNREACHABLE, -EHOSTUNREACH},
		{RTN_PROHIBIT, 0, SL_ROUTE_UNREACHABLE, -EACCES},
		{RTN_BLACKHOLE, 0, SL_ROUTE_UNREACHABLE, -EINVAL},
	};

	(void)state;
	for (unsigned i = 0; i < sl_array_len(t); i++) {
		assert_int_equal(parse(answer(AF_INET, t[i].type, t[i].flags, 2), "10.0.0.2", NULL),
				 0);
		assert_int_equal(route.kind, t[i].kind);
		assert_int_equal(route.error, t[i].error);
	}
}

static void test_ipv6_error_inside_a_route(void **state)
{
	struct rta_cacheinfo ci = {.rta_error = (uint32_t)-ENETUNREACH};
	struct nlmsghdr *nlh = answer(AF_INET6, RTN_UNICAST, 0, 1);

	(void)state;
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(ci), &ci);
	assert_int_equal(parse(nlh, "2001:db8::1", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_UNREACHABLE);
	assert_int_equal(route.error, -ENETUNREACH);
}

static void test_encapsulated_and_multipath_are_the_kernels(void **state)
{
	struct nlmsghdr *nlh = answer(AF_INET, RTN_UNICAST, 0, 3);

	(void)state;
	mnl_attr_put_u16(nlh, RTA_ENCAP_TYPE, LWTUNNEL_ENCAP_MPLS);
	assert_int_equal(parse(nlh, "192.0.2.1", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_OTHER);
	nlh = answer(AF_INET, RTN_UNICAST, 0, 3);
	mnl_attr_nest_end(nlh, mnl_attr_nest_start(nlh, RTA_MULTIPATH));
	assert_int_equal(parse(nlh, "192.0.2.1", NULL), 0);
	assert_int_equal(route.kind, SL_ROUTE_OTHER);
}

/* Exceptions are for one destination: a redirect, a path MTU that ends, an entry of IPv6's cache.
 */
static void test_exceptions(void **state)
{
	struct rta_cacheinfo ci = {.rta_expires = 0};
	struct nlmsghdr *nlh = answer(AF_INET, RTN_UNICAST, RTM_F_CLONED, 7);

	(void)state;
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(ci), &ci);
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), 0);
	assert_false(route.is_own);
	nlh = answer(AF_INET, RTN_UNICAST, RTM_F_CLONED, 7);
	ci.rta_expires = 500;
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(ci), &ci);
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), 0);
	assert_true(route.is_own);
	nlh = answer(AF_INET, RTN_UNICAST, RTM_F_CLONED | RTCF_REDIRECTED, 7);
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), 0);
	assert_true(route.is_own);
	nlh = answer(AF_INET6, RTN_UNICAST, 0, 7);
	mnl_attr_put(nlh, RTA_CACHEINFO, sizeof(ci), &ci); /* of a router's advertisement */
	assert_int_equal(parse(nlh, "fd00::2", NULL), 0);
	assert_false(route.is_own);
	nlh = answer(AF_INET6, RTN_UNICAST, RTM_F_CLONED, 7);
	assert_int_equal(parse(nlh, "fd00::2", NULL), 0);
	assert_true(route.is_own);
}

static void test_bad_messages(void **state)
{
	struct nlmsghdr *nlh = answer(AF_INET6, RTN_UNICAST, 0, 3);

	(void)state;
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), -EBADMSG); /* of the other family */
	nlh = answer(AF_INET, RTN_UNICAST, 0, 0);
	nlh->nlmsg_len = MNL_NLMSG_HDRLEN + sizeof(struct rtmsg) - 1;
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), -EBADMSG);
	nlh = answer(AF_INET, RTN_UNICAST, 0, 0);
	nlh->nlmsg_type = RTM_NEWLINK;
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), -EBADMSG);
	/* An attribute that claims more than the message has, and one shorter than its value. */
	nlh = answer(AF_INET, RTN_UNICAST, 0, 0);
	mnl_attr_put(nlh, RTA_OIF, 2, "\x07\x00");
	mnl_attr_put_u32(nlh, RTA_PREFSRC, 1);
	((struct nlattr *)((char *)mnl_nlmsg_get_payload_tail(nlh) - 8))->nla_len = 200;
	assert_int_equal(parse(nlh, "10.0.0.2", NULL), 0);
	assert_int_equal(route.ifindex, 0);
	assert_addr(&route.src, "::");
}

static void test_refusals(void **state)
{
	(void)state;
	assert_true(sl_route_is_refusal(-ENETUNREACH));
	assert_true(sl_route_is_refusal(-EACCES));
	assert_true(sl_route_is_refusal(-EINVAL));
	assert_false(sl_route_is_refusal(-EPERM));
	assert_false(sl_route_is_refusal(-ENOBUFS));
	assert_false(sl_route_is_refusal(-ENOTCONN));
}

/* Nothing is open: it could not be asked, which is no refusal. */
static void test_not_open(void **state)
{
	struct sl_route_key key = {.dst = nl_addr("10.0.0.2")};

	(void)state;
	assert_int_equal(sl_route_get(&key, &route), -ENOTCONN);
	key.src = nl_addr("fe80::1");
	assert_int_equal(sl_route_get(&key, &route), -EINVAL);
}

static void test_generation(void **state)
{
	struct rtmsg rtm = {.rtm_family = AF_INET, .rtm_flags = RTM_F_CLONED};
	uint32_t gen = sl_route_gen;

	(void)state;
	nl_feed(nl_begin(RTM_NEWROUTE, &rtm, sizeof(rtm)));
	assert_int_equal(sl_route_gen, gen);
	rtm.rtm_flags = 0;
	nl_feed(nl_begin(RTM_NEWROUTE, &rtm, sizeof(rtm)));
	assert_int_equal(sl_route_gen, gen + 1);
	nl_feed(nl_begin(RTM_DELRULE, &rtm, sizeof(rtm)));
	assert_int_equal(sl_route_gen, gen + 2);
	assert_int_equal(nl_feed(nl_begin(NLMSG_OVERRUN, &rtm, 0)), SL_RTNL_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_link),
		cmocka_unit_test(test_gateway_and_metrics),
		cmocka_unit_test(test_next_hop_of_the_other_family),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_ipv6_error_inside_a_route),
		cmocka_unit_test(test_encapsulated_and_multipath_are_the_kernels),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_not_open),
		cmocka_unit_test(test_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
