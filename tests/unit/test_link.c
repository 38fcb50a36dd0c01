/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirror of devices and addresses, fed with events. */
#include <linux/if_ether.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nlbuild.h"
#include "steer.h"

static char told[1024];

static void on_link(const struct sl_link *link, bool gone)
{
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "link %u %s;", link->ifindex, gone ? "gone" : "there");
	/* No lock is held: asking is allowed. */
	assert_int_equal(sl_link_get(link->ifindex, &(struct sl_link){0}), !gone);
}

static void on_addr(uint32_t ifindex, const struct sl_addr *addr, bool gone)
{
	char text[SL_ADDR_STRLEN];
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "addr %u %s %s;", ifindex, sl_addr_str(addr, text),
		 gone ? "gone" : "there");
}

static void on_part(const struct sl_link *part, uint32_t master)
{
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "part %u of %u;", part->ifindex, master);
}

static void assert_told(const char *want)
{
	assert_string_equal(told, want);
	told[0] = 0;
}

static bool is_local(const char *text)
{
	struct sl_addr a = nl_addr(text);

	return sl_addr_is_local(&a);
}

static int setup(void **state)
{
	static const struct sl_net_events cb = {
		.link_changed = on_link, .addr_changed = on_addr, .part_gone = on_part};

	(void)state;
	sl_link_fini();
	sl_rtnl_set_events(&cb);
	told[0] = 0;
	return 0;
}

static void test_link_is_parsed(void **state)
{
	struct ifinfomsg ifi = {.ifi_index = 5, .ifi_flags = IFF_UP | IFF_LOWER_UP, .ifi_type = 1};
	struct nlmsghdr *nlh = nl_begin(RTM_NEWLINK, &ifi, sizeof(ifi));
	struct nlattr *info, *data, *qos;
	struct sl_link l;

	(void)state;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "a-name-longer-than-a-device-may-have");
	mnl_attr_put_u32(nlh, IFLA_MTU, 9000);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, "\x02\x00\x00\x00\x00\x01");
	mnl_attr_put_u32(nlh, IFLA_LINK, 4);
	mnl_attr_put_u32(nlh, IFLA_MASTER, 3);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, 7);
	mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL, htobe16(ETH_P_8021AD));
	qos = mnl_attr_nest_start(nlh, IFLA_VLAN_EGRESS_QOS);
	mnl_attr_put(nlh, IFLA_VLAN_QOS_MAPPING, 8, "\x01\0\0\0\x03\0\0\0");
	mnl_attr_nest_end(nlh, qos);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	assert_int_equal(nl_feed(nlh), SL_RTNL_ROUTES);
	assert_true(sl_link_get(5, &l));
	assert_string_equal(l.name, "a-name-longer-t");
	assert_string_equal(l.kind, "vlan");
	assert_int_equal(l.vlan_tag, SL_VLAN_AD | 7);
	assert_int_equal(l.egress.n, 1);
	assert_int_equal(sl_egress_pcp(&l.egress, 1), 3);
	assert_int_equal(sl_egress_pcp(&l.egress, 0), 0);
	assert_int_equal(l.mtu, 9000);
	assert_int_equal(l.lower, 4);
	assert_int_equal(l.master, 3);
	assert_int_equal(l.type, 1);
	assert_true(l.carrier_up);
	assert_memory_equal(l.mac, "\x02\x00\x00\x00\x00\x01", 6);
	assert_int_equal(nl_feed(nlh), 0); /* said again: nothing changed */
	assert_told("link 5 there;");
}

static void test_peer_of_another_namespace_is_no_lower_device(void **state)
{
	struct ifinfomsg ifi = {.ifi_index = 5};
	struct nlmsghdr *nlh = nl_begin(RTM_NEWLINK, &ifi, sizeof(ifi));
	struct sl_link l;

	(void)state;
	mnl_attr_put_u32(nlh, IFLA_LINK, 4);
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	nl_feed(nlh);
	assert_true(sl_link_get(5, &l));
	assert_int_equal(l.lower, 0);
}

static void test_address_comes_and_goes(void **state)
{
	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	assert_int_equal(nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.1", 0), SL_RTNL_ROUTES);
	assert_int_equal(nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.1", 0), 0);
	assert_true(is_local("10.0.0.1"));
	assert_false(is_local("10.0.0.2"));
	assert_true(is_local("127.3.2.1"));
	assert_int_equal(nl_feed_addr(RTM_DELADDR, 2, "10.0.0.1", 0), SL_RTNL_ROUTES);
	assert_int_equal(nl_feed_addr(RTM_DELADDR, 2, "10.0.0.1", 0), 0);
	assert_false(is_local("10.0.0.1"));
	assert_told("link 2 there;addr 2 10.0.0.1 there;addr 2 10.0.0.1 gone;");
}

static void test_address_goes_down_with_its_device(void **state)
{
	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	nl_feed_link(RTM_NEWLINK, 3, IFF_UP, 1500);
	nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.1", 0);
	nl_feed_addr(RTM_NEWADDR, 3, "10.0.0.1", 0);
	told[0] = 0;
	nl_feed_link(RTM_NEWLINK, 2, 0, 1500);
	assert_told("link 2 there;addr 2 10.0.0.1 gone;");
	assert_true(is_local("10.0.0.1")); /* on the other device still */
	nl_feed_link(RTM_NEWLINK, 3, 0, 1500);
	assert_false(is_local("10.0.0.1"));
	told[0] = 0;
	nl_feed_link(RTM_NEWLINK, 3, IFF_UP, 1500);
	assert_told("link 3 there;addr 3 10.0.0.1 there;");
	nl_feed_link(RTM_DELLINK, 3, 0, 1500);
	assert_told("addr 3 10.0.0.1 gone;link 3 gone;");
	assert_false(is_local("10.0.0.1"));
}

static void feed_part(uint32_t flags, uint32_t master)
{
	struct ifinfomsg ifi = {.ifi_index = 5, .ifi_flags = flags};
	struct nlmsghdr *nlh = nl_begin(RTM_NEWLINK, &ifi, sizeof(ifi));

	if (master)
		mnl_attr_put_u32(nlh, IFLA_MASTER, master);
	told[0] = 0;
	nl_feed(nlh);
}

/* The end of a bond's or a failover pair's part is told once, whichever event is the first. */
static void test_part_goes_once(void **state)
{
	const uint32_t works = IFF_UP | IFF_LOWER_UP;

	(void)state;
	feed_part(0, 0); /* it is plugged in, becomes a part, and gets its link last */
	feed_part(IFF_UP, 9);
	assert_told("link 5 there;");
	feed_part(works, 9);
	assert_told("link 5 there;");
	feed_part(IFF_UP, 9);
	assert_told("part 5 of 9;link 5 there;");
	feed_part(0, 0);
	assert_told("link 5 there;");
	feed_part(works, 9);
	feed_part(works, 0);
	assert_told("part 5 of 9;link 5 there;");
	feed_part(works, 9);
	told[0] = 0;
	nl_feed_link(RTM_DELLINK, 5, 0, 1500);
	assert_told("part 5 of 9;link 5 gone;");
}

static void test_tentative_address_waits(void **state)
{
	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	told[0] = 0;
	nl_feed_addr(RTM_NEWADDR, 2, "fe80::1", IFA_F_TENTATIVE);
	assert_false(is_local("fe80::1"));
	assert_told("");
	nl_feed_addr(RTM_NEWADDR, 2, "fe80::1", 0);
	assert_true(is_local("fe80::1"));
	nl_feed_addr(RTM_NEWADDR, 2, "fe80::1", IFA_F_DADFAILED | IFA_F_PERMANENT);
	assert_false(is_local("fe80::1"));
	assert_told("addr 2 fe80::1 there;addr 2 fe80::1 gone;");
}

static void test_point_to_point_counts_its_own_end(void **state)
{
	struct ifaddrmsg ifa = {.ifa_family = AF_INET, .ifa_index = 2};
	struct nlmsghdr *nlh;

	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	nlh = nl_begin(RTM_NEWADDR, &ifa, sizeof(ifa));
	nl_put_addr(nlh, IFA_ADDRESS, "10.0.0.2");
	nl_put_addr(nlh, IFA_LOCAL, "10.0.0.1");
	nl_feed(nlh);
	assert_true(is_local("10.0.0.1"));
	assert_false(is_local("10.0.0.2"));
}

static bool count(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	(void)ifindex;
	(void)addr;
	return ++*(unsigned *)arg != 300;
}

static bool remove_it(uint32_t ifindex, const struct sl_addr *addr, void *arg)
{
	char text[SL_ADDR_STRLEN];

	++*(unsigned *)arg;
	nl_feed_addr(RTM_DELADDR, ifindex, sl_addr_str(addr, text), 0);
	return true;
}

static void test_many_addresses_in_any_order(void **state)
{
	unsigned n = 0;
	char text[32];

	(void)state;
	sl_rtnl_set_events(NULL);
	for (uint32_t dev = 1; dev <= 5; dev++)
		nl_feed_link(RTM_NEWLINK, 6 - dev, IFF_UP, 1500);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.1.%u.%u", i * 7 % 250, i / 250);
		nl_feed_addr(RTM_NEWADDR, 1 + i % 5, text, 0);
	}
	sl_local_for_each(count, &n);
	assert_int_equal(n, 300); /* stopped */
	n = 0;
	sl_local_for_each(remove_it, &n);
	assert_int_equal(n, 1000); /* each once, though they went while being listed */
}

static void test_what_a_dump_does_not_name_is_gone(void **state)
{
	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	nl_feed_link(RTM_NEWLINK, 3, IFF_UP, 1500);
	nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.1", 0);
	nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.2", 0);
	nl_feed_addr(RTM_NEWADDR, 3, "10.0.0.3", 0);
	told[0] = 0;
	sl_link_mark();
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.2", 0);
	assert_told("");
	sl_link_sweep();
	assert_told("addr 2 10.0.0.1 gone;addr 3 10.0.0.3 gone;link 3 gone;");
	assert_true(is_local("10.0.0.2"));
}

static void test_child_starts_empty(void **state)
{
	int status = -1;
	pid_t pid;

	(void)state;
	nl_feed_link(RTM_NEWLINK, 2, IFF_UP, 1500);
	nl_feed_addr(RTM_NEWADDR, 2, "10.0.0.1", 0);
	pid = fork();
	if (pid == 0) {
		sl_net_child();
		_exit(is_local("10.0.0.1") || sl_link_get(2, &(struct sl_link){0}));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_local("10.0.0.1"));
}

/* A mirror without messages (routes are asked for) has no type that could come. */
static void test_types_without_a_mirror_are_skipped(void **state)
{
	struct ifinfomsg ifi = {.ifi_index = 2};

	(void)state;
	for (uint16_t type = 0; type < 0x10; type++)
		nl_feed(nl_begin(type, &ifi, sizeof(ifi)));
	assert_false(sl_link_get(2, &(struct sl_link){0}));
}

static int teardown(void **state)
{
	(void)state;
	sl_link_fini();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_link_is_parsed, setup),
		cmocka_unit_test_setup(test_peer_of_another_namespace_is_no_lower_device, setup),
		cmocka_unit_test_setup(test_address_comes_and_goes, setup),
		cmocka_unit_test_setup(test_address_goes_down_with_its_device, setup),
		cmocka_unit_test_setup(test_part_goes_once, setup),
		cmocka_unit_test_setup(test_tentative_address_waits, setup),
		cmocka_unit_test_setup(test_point_to_point_counts_its_own_end, setup),
		cmocka_unit_test_setup(test_many_addresses_in_any_order, setup),
		cmocka_unit_test_setup(test_what_a_dump_does_not_name_is_gone, setup),
		cmocka_unit_test_setup(test_child_starts_empty, setup),
		cmocka_unit_test_setup(test_types_without_a_mirror_are_skipped, setup),
	};

	return cmocka_run_group_tests(tests, NULL, teardown) ? 1 : 0;
}
