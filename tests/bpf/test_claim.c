/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims, local addresses and rules in the maps of a real port: a veth device in a network
 * namespace of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/device/dev.h"
#include "ctl/device/device.h"
#include "ctl/front/broker.h"

static struct sl_port_info info[2];
static unsigned ifindex;

static int map(enum sl_map which)
{
	return sl_device_find(ifindex)->attach.map_fd[which];
}

static struct sl_claim_req request(uint8_t last, uint16_t remote_port, uint32_t slot)
{
	struct sl_claim_req r = {
		.ifindex = ifindex,
		.shadow_fd = -1,
		.key = {.local_port = 5000, .proto = IPPROTO_UDP, .remote_port = remote_port},
		.claim = {.slot = slot, .gen = slot + 100},
	};

	r.key.local[10] = r.key.local[11] = 0xff;
	if (last) {
		r.key.local[12] = 10;
		r.key.local[15] = last;
	}
	return r;
}

static int claim(uint8_t last, uint32_t slot, bool spread)
{
	struct sl_claim_req r = request(last, 0, slot);

	r.spread = spread;
	return sl_broker_claim(&r, NULL);
}

static void unclaim(uint8_t last, uint32_t slot)
{
	struct sl_claim_req r = request(last, 0, slot);

	sl_broker_unclaim(&r);
}

/* The entry of an endpoint: 0 or -ENOENT. */
static int entry(uint8_t last, struct sl_claim *c)
{
	struct sl_claim_req r = request(last, 0, 0);
	struct sl_endpoint_key k = {.local_port = r.key.local_port, .proto = r.key.proto};

	memcpy(k.local, r.key.local, 16);
	return bpf_map_lookup_elem(map(SL_MAP_ENDPOINTS), &k, c) ? -errno : 0;
}

static struct sl_group group_of(uint8_t last)
{
	struct sl_group g = {0};
	struct sl_claim c;

	assert_int_equal(entry(last, &c), 0);
	assert_true(c.flags & SL_CLAIM_GROUP);
	assert_int_equal(bpf_map_lookup_elem(map(SL_MAP_GROUPS), &c.slot, &g), 0);
	return g;
}

static uint64_t bits(void)
{
	return info[0].ports[5000] & SL_L4_PORT_BITS;
}

static uint64_t tcp_bits(void)
{
	return info[0].ports[65536 + 5000] & SL_L4_PORT_BITS;
}

/* True: the port has a new generation since the last call, so that the steering program forgets
 * what it remembers of the port. */
static bool forgets(void)
{
	static uint64_t had;
	uint64_t old = had;

	had = info[0].ports[5000] / SL_L4_PORT_GEN + info[0].ports[65536 + 5000] / SL_L4_PORT_GEN;
	return had != old;
}

static void test_one_endpoint(void **state)
{
	struct sl_claim c;

	assert_int_equal(bits(), 0);
	assert_int_equal(claim(1, 7, false), 0);
	assert_int_equal(entry(1, &c), 0);
	assert_int_equal(c.slot, 7);
	assert_int_equal(c.gen, 107);
	assert_int_equal(c.pid, getpid());
	assert_int_equal(bits(), SL_L4_PORT_ENDPOINT);
	assert_int_equal(claim(1, 7, false), 0); /* the same again */
	assert_int_equal(claim(1, 8, false), -EADDRINUSE);
	assert_int_equal(claim(2, 8, false), 0); /* another address */
	unclaim(1, 8);                           /* not its own */
	assert_int_equal(entry(1, &c), 0);
	unclaim(1, 7);
	assert_int_equal(entry(1, &c), -ENOENT);
	assert_int_equal(bits(), SL_L4_PORT_ENDPOINT);
	unclaim(2, 8);
	unclaim(2, 8);
	assert_int_equal(bits(), 0);
}

static void test_kinds_have_bits_of_their_own(void **state)
{
	struct sl_claim_req f1 = request(1, 1111, 1), f2 = request(1, 2222, 1);
	struct sl_claim_req taken = request(1, 1111, 2), tcp = request(1, 0, 3);

	assert_int_equal(sl_broker_claim(&f1, NULL), 0);
	assert_int_equal(sl_broker_claim(&f2, NULL), 0);
	taken.spread = true; /* flows are never shared */
	assert_int_equal(sl_broker_claim(&taken, NULL), -EADDRINUSE);
	assert_int_equal(claim(0, 4, false), 0);
	assert_int_equal(bits(), SL_L4_PORT_FLOW | SL_L4_PORT_WILDCARD);
	tcp.key.proto = IPPROTO_TCP;
	assert_int_equal(sl_broker_claim(&tcp, NULL), 0);
	assert_int_equal(tcp_bits(), SL_L4_PORT_ENDPOINT);
	sl_broker_unclaim(&f1);
	assert_int_equal(bits(), SL_L4_PORT_FLOW | SL_L4_PORT_WILDCARD);
	sl_broker_unclaim(&f2);
	assert_int_equal(bits(), SL_L4_PORT_WILDCARD);
	unclaim(0, 4);
	sl_broker_unclaim(&tcp);
	assert_int_equal(bits() | tcp_bits(), 0);
}

static void test_changes_are_seen_at_once(void **state)
{
	static const uint8_t addr[16] = {0xfd, [15] = 3};
	struct sl_claim_req f1 = request(1, 1111, 1), f2 = request(1, 2222, 1),
			    up = request(1, 0, 2);

	forgets();
	sl_broker_local_add(addr);
	assert_false(forgets());
	assert_int_equal(claim(0, 4, false), 0);
	assert_true(forgets());
	sl_broker_local_del(addr);
	assert_true(forgets()); /* of wildcards */
	unclaim(0, 4);
	assert_true(forgets());
	assert_int_equal(claim(1, 2, false), 0);
	assert_true(forgets());
	up.claim.flags = SL_CLAIM_STAMP;
	assert_int_equal(sl_broker_claim_update(&up), 0);
	assert_true(forgets());
	assert_int_equal(sl_broker_claim(&f1, NULL), 0); /* goes before the endpoint */
	assert_true(forgets());
	sl_broker_unclaim(&f1);
	assert_true(forgets());
	sl_broker_local_add(addr);
	sl_broker_local_del(addr);
	assert_false(forgets()); /* no wildcard is left */
	unclaim(1, 2);
	/* A new connection changes nothing that is remembered, one that ends does. */
	f1.key.proto = f2.key.proto = IPPROTO_TCP;
	assert_int_equal(sl_broker_claim(&f1, NULL), 0);
	forgets();
	assert_int_equal(sl_broker_claim(&f2, NULL), 0);
	assert_false(forgets());
	assert_int_equal(sl_broker_claim_update(&f2), 0);
	assert_true(forgets());
	sl_broker_unclaim(&f2);
	assert_true(forgets());
	/* But beside a listener, before which it goes. */
	up.key.proto = IPPROTO_TCP;
	assert_int_equal(sl_broker_claim(&up, NULL), 0);
	forgets();
	assert_int_equal(sl_broker_claim(&f2, NULL), 0);
	assert_true(forgets());
	sl_broker_unclaim(&f2);
	sl_broker_unclaim(&up);
	sl_broker_unclaim(&f1);
	assert_int_equal(bits() | tcp_bits(), 0);
}

/* A connection of the kernel's on a claimed port. It may become ours, and the other way round. */
static void test_flow_that_passes(void **state)
{
	struct sl_claim_req pass = request(1, 1111, 5), end = request(1, 0, 5);
	struct sl_claim c;

	pass.claim.flags = end.claim.flags = SL_CLAIM_PASS;
	assert_int_equal(sl_broker_claim(&end, NULL), -EINVAL);
	assert_int_equal(bits(), 0);
	assert_int_equal(sl_broker_claim(&pass, NULL), 0);
	assert_int_equal(bits(), SL_L4_PORT_FLOW);
	assert_int_equal(bpf_map_lookup_elem(map(SL_MAP_FLOWS), &pass.key, &c), 0);
	assert_int_equal(c.flags, SL_CLAIM_PASS);
	pass.claim.flags = 0;
	pass.claim.lane = 8;
	assert_int_equal(sl_broker_claim_update(&pass), 0);
	assert_int_equal(bpf_map_lookup_elem(map(SL_MAP_FLOWS), &pass.key, &c), 0);
	assert_int_equal(c.flags, 0);
	assert_int_equal(c.lane, 8);
	pass.claim.slot = 6; /* another slot takes it over */
	assert_int_equal(sl_broker_claim(&pass, NULL), -EADDRINUSE);
	pass.replace = true;
	assert_int_equal(sl_broker_claim(&pass, NULL), 0);
	sl_broker_unclaim(&pass);
	assert_int_equal(bits(), 0);
}

static void test_group_grows_and_shrinks(void **state)
{
	struct sl_claim_req up = request(1, 0, 2);
	struct sl_group g;
	struct sl_claim c;

	assert_int_equal(claim(1, 1, true), 0);
	assert_int_equal(claim(1, 2, true), 0);
	assert_int_equal(claim(1, 3, true), 0);
	g = group_of(1);
	assert_int_equal(g.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(g.target[i].slot, i + 1);
	/* A change of one member leaves the others. */
	up.spread = true;
	up.claim.flags = SL_CLAIM_STAMP;
	assert_int_equal(sl_broker_claim_update(&up), 0);
	g = group_of(1);
	assert_int_equal(g.count, 3);
	assert_int_equal(g.target[0].flags, 0);
	assert_int_equal(g.target[1].flags, SL_CLAIM_STAMP);
	unclaim(1, 1);
	g = group_of(1);
	assert_int_equal(g.count, 2);
	unclaim(1, 2);
	assert_int_equal(entry(1, &c), 0); /* one left: no group any more */
	assert_int_equal(c.flags, 0);
	assert_int_equal(c.slot, 3);
	assert_int_equal(bits(), SL_L4_PORT_ENDPOINT);
	unclaim(1, 3);
	assert_int_equal(entry(1, &c), -ENOENT);
	assert_int_equal(bits(), 0);
}

static struct sl_claim_req narrowed(uint16_t remote_port, uint32_t slot, uint32_t dscp,
				    uint32_t label)
{
	struct sl_claim_req r = request(1, remote_port, slot);

	r.narrow.mask.dscp = dscp ? 0x3f : 0;
	r.narrow.marks.dscp = dscp & 0x3f;
	r.narrow.mask.label = label ? 0xfffff : 0;
	r.narrow.marks.label = label & 0xfffff;
	r.narrow.mask.v4 = label != 0;
	return r;
}

/* Narrowed claims stand beside one that is not, and beside each other if they differ. */
static void test_narrowed_claims(void **state)
{
	struct sl_claim_req ef = narrowed(0, 1, 46, 0), both = narrowed(0, 2, 46, 5);
	struct sl_claim_req same = narrowed(0, 3, 46, 0), none = narrowed(0, 1, 0, 0);
	struct sl_group g;
	struct sl_claim c;

	assert_int_equal(sl_broker_claim(&ef, NULL), 0);
	g = group_of(1); /* also alone */
	assert_int_equal(g.count, 1);
	assert_int_equal(g.open, 0);
	assert_int_equal(g.narrowed, 1);
	assert_int_equal(claim(1, 9, false), 0);
	assert_int_equal(claim(1, 8, false), -EADDRINUSE);
	assert_int_equal(sl_broker_claim(&both, NULL), 0);
	assert_int_equal(sl_broker_claim(&same, NULL), -EADDRINUSE);
	same.spread = true;
	assert_int_equal(sl_broker_claim(&same, NULL), 0);
	g = group_of(1);
	assert_int_equal(g.count, 4);
	assert_int_equal(g.open, 1);
	assert_int_equal(g.narrowed, 3);
	assert_int_equal(g.target[0].slot, 9);
	assert_int_equal(g.target[1].slot, 2); /* more bits come first */
	assert_int_equal(g.target[2].slot, 1);
	assert_int_equal(g.target[3].slot, 3);
	assert_int_equal(g.narrow[0].alike, 1);
	assert_int_equal(g.narrow[1].alike, 2);
	assert_int_equal(g.narrow[2].alike, 1);
	assert_int_equal(g.narrow[0].marks.label, 5);
	assert_int_equal(g.narrow[1].marks.dscp, 46);
	assert_int_equal(sl_broker_claim_update(&none), -EADDRINUSE); /* 9 has those */
	sl_broker_unclaim(&same);
	sl_broker_unclaim(&both);
	unclaim(1, 9);
	assert_int_equal(sl_broker_claim_update(&none), 0);
	assert_int_equal(entry(1, &c), 0);
	assert_int_equal(c.flags, 0);
	unclaim(1, 1);
	assert_int_equal(bits(), 0);
	assert_int_equal(sl_device_find(ifindex)->group_nfree, SL_MAX_GROUPS);
}

/* The socket bound last takes the place of one that is narrowed alike, of no other. */
static void test_narrowed_replaced(void **state)
{
	struct sl_claim_req ef = narrowed(0, 1, 46, 0), again = narrowed(0, 2, 46, 0);
	struct sl_group g;

	assert_int_equal(claim(1, 9, false), 0);
	assert_int_equal(sl_broker_claim(&ef, NULL), 0);
	again.replace = true;
	assert_int_equal(sl_broker_claim(&again, NULL), 0);
	g = group_of(1);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.target[0].slot, 9);
	assert_int_equal(g.target[1].slot, 2);
	sl_broker_unclaim(&again);
	unclaim(1, 9);
	assert_int_equal(bits(), 0);
}

static void test_narrowed_flows(void **state)
{
	struct sl_claim_req ef = narrowed(1111, 1, 46, 0), rest = request(1, 1111, 2);
	uint32_t replaced = sl_device_find(ifindex)->replaced;
	struct sl_claim c;

	assert_int_equal(sl_broker_claim(&rest, NULL), 0);
	assert_int_equal(sl_broker_claim(&ef, NULL), 0);
	assert_int_equal(bpf_map_lookup_elem(map(SL_MAP_FLOWS), &ef.key, &c), 0);
	assert_int_equal(c.flags, SL_CLAIM_GROUP);
	sl_broker_unclaim(&rest); /* leaves the other one alone */
	assert_int_equal(bpf_map_lookup_elem(map(SL_MAP_FLOWS), &ef.key, &c), 0);
	sl_broker_unclaim(&ef);
	assert_int_equal(bits(), 0);
	assert_int_equal(sl_device_find(ifindex)->group_nfree, SL_MAX_GROUPS);
	assert_int_equal(sl_device_find(ifindex)->replaced, replaced);
}

static void test_narrowing_must_make_sense(void **state)
{
	struct sl_claim_req r = narrowed(0, 1, 46, 0);

	r.narrow.mask.dscp = 0x30;
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	r.narrow.mask.dscp = 0x3f;
	r.narrow.marks.label = 1;
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	r = narrowed(0, 1, 46, 7);
	r.narrow.mask.v4 = 0;
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	r = narrowed(0, 1, 46, 0);
	r.narrow.mask.unused = 1;
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	r = narrowed(1111, 1, 46, 0);
	r.key.proto = IPPROTO_TCP; /* a connection's segments may have any marks */
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	r = narrowed(1111, 1, 46, 0);
	r.claim.flags = SL_CLAIM_PASS;
	assert_int_equal(sl_broker_claim(&r, NULL), -EINVAL);
	assert_int_equal(bits() | tcp_bits(), 0);
}

static void test_narrowed_are_bounded(void **state)
{
	struct sl_claim_req r = narrowed(0, 0, 46, 0);

	r.spread = true;
	for (uint32_t i = 0; i <= SL_GROUP_NARROWED; i++) {
		r.claim.slot = i;
		assert_int_equal(sl_broker_claim(&r, NULL), i < SL_GROUP_NARROWED ? 0 : -ENOSPC);
	}
	assert_int_equal(group_of(1).narrowed, SL_GROUP_NARROWED);
	for (uint32_t i = 0; i < SL_GROUP_NARROWED; i++) {
		r.claim.slot = i;
		sl_broker_unclaim(&r);
	}
	assert_int_equal(bits(), 0);
}

static void test_group_numbers_are_used_again(void **state)
{
	assert_int_equal(claim(1, 1, true), 0);
	for (unsigned i = 0; i < 3 * SL_MAX_GROUPS; i++) {
		assert_int_equal(claim(1, 2, true), 0);
		assert_int_equal(group_of(1).count, 2);
		unclaim(1, 2);
	}
	assert_int_equal(sl_device_find(ifindex)->group_nfree, SL_MAX_GROUPS);
	unclaim(1, 1);
}

static void test_group_is_bounded(void **state)
{
	const char *why = NULL;
	struct sl_claim_req r = request(1, 0, 1000);

	for (uint32_t i = 0; i < SL_GROUP_TARGETS; i++)
		assert_int_equal(claim(1, i, true), 0);
	r.spread = true;
	assert_int_equal(sl_broker_claim(&r, &why), -ENOSPC);
	assert_non_null(why);
	assert_int_equal(group_of(1).count, SL_GROUP_TARGETS);
	for (uint32_t i = 0; i < SL_GROUP_TARGETS; i++)
		unclaim(1, i);
	assert_int_equal(bits(), 0);
}

static void test_unknown_port(void **state)
{
	struct sl_claim_req r = request(1, 0, 1);
	const char *why = NULL;

	r.ifindex = 12345;
	assert_int_equal(sl_broker_claim(&r, &why), -ENODEV);
	assert_non_null(why);
	sl_broker_unclaim(&r);
}

static bool is_local(uint32_t port, const uint8_t addr[16])
{
	uint32_t one;

	return !bpf_map_lookup_elem(sl_device_find(port)->attach.map_fd[SL_MAP_LOCALS], addr, &one);
}

static void test_later_ports_know_addresses_and_rules(void **state)
{
	static const uint8_t addr[16] = {0xfd, [15] = 1}, gone[16] = {0xfd, [15] = 2};
	struct sl_rule r[2] = {{.action = SL_RULE_OS, .line = 3}, {.action = SL_RULE_SLUICE}};
	unsigned other = if_nametoindex("sltest1");
	uint32_t gen = info[0].rules[SL_MAX_RULES].line;

	sl_broker_local_add(addr);
	sl_broker_local_add(addr);
	sl_broker_local_add(gone);
	assert_true(is_local(ifindex, addr));
	sl_broker_local_del(gone);
	assert_false(is_local(ifindex, gone));
	assert_int_equal(sl_broker_rules_set(r, 2), 0);
	assert_int_equal(info[0].rules[0].line, 3);
	assert_int_not_equal(info[0].rules[SL_MAX_RULES].line, gen);
	assert_int_equal(sl_broker_port_open(other, true, &info[1], NULL), 0);
	assert_true(is_local(other, addr));
	assert_false(is_local(other, gone));
	assert_int_equal(info[1].rules[0].action, SL_RULE_OS);
	assert_int_equal(info[1].rules[1].action, SL_RULE_SLUICE);
	assert_int_equal(info[1].rules[2].action, SL_RULE_NONE);
	assert_int_equal(sl_broker_rules_set(NULL, 0), 0);
	assert_int_equal(info[1].rules[0].action, SL_RULE_NONE);
	sl_broker_port_close(other, NULL);
	sl_broker_local_del(addr);
}

static void test_ports_are_counted(void **state)
{
	struct sl_port_info again;

	assert_int_equal(sl_broker_port_open(ifindex, true, &again, NULL), 0);
	assert_ptr_equal(again.ports, info[0].ports);
	sl_broker_port_close(ifindex, NULL);
	assert_int_equal(sl_broker_port_end(ifindex, 0), SL_PORT_END_STEERED);
	assert_int_not_equal(sl_broker_port_end(12345, 0), SL_PORT_END_STEERED);
}

static void test_broker_leaves_the_thread_alone(void **state)
{
	sigset_t before, after;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = 4711;
	claim(1, 1, false);
	unclaim(1, 1);
	sl_broker_port_end(12345, 0);
	assert_int_equal(errno, 4711);
	sigprocmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(unsigned long));
	sigemptyset(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A child forgets everything and may start anew; the parent keeps the device. */
static void test_child(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct sl_port_info mine;
		const char *why = "";
		int err;

		sl_broker_child();
		err = sl_broker_port_open(ifindex, true, &mine, &why);
		_exit(err == -EBUSY && strstr(why, "is used by process") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sl_broker_port_end(ifindex, 0), SL_PORT_END_STEERED);
	assert_int_equal(claim(1, 1, false), 0);
	unclaim(1, 1);
}

/* Natively the packets of its slaves would be lost without a word. */
static void test_bond_is_not_native(void **state)
{
	assert_true(sl_dev_hands_xdp_down("bonding"));
	assert_false(sl_dev_hands_xdp_down("veth"));
	assert_false(sl_dev_hands_xdp_down("unknown"));
}

static int setup(void **state)
{
	const char *why = "";

	sl_log_level = SL_LOG_ERROR;
	if (unshare(CLONE_NEWNET) || system("ip link add sltest0 type veth peer name sltest1 && "
					    "ip link set sltest0 up && ip link set sltest1 up"))
		return -1;
	ifindex = if_nametoindex("sltest0");
	if (sl_broker_port_open(ifindex, true, &info[0], &why)) {
		print_error("%s\n", why);
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	sl_broker_fini();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_endpoint),
		cmocka_unit_test(test_kinds_have_bits_of_their_own),
		cmocka_unit_test(test_changes_are_seen_at_once),
		cmocka_unit_test(test_flow_that_passes),
		cmocka_unit_test(test_group_grows_and_shrinks),
		cmocka_unit_test(test_narrowed_claims),
		cmocka_unit_test(test_narrowed_replaced),
		cmocka_unit_test(test_narrowed_flows),
		cmocka_unit_test(test_narrowing_must_make_sense),
		cmocka_unit_test(test_narrowed_are_bounded),
		cmocka_unit_test(test_group_numbers_are_used_again),
		cmocka_unit_test(test_group_is_bounded),
		cmocka_unit_test(test_unknown_port),
		cmocka_unit_test(test_later_ports_know_addresses_and_rules),
		cmocka_unit_test(test_ports_are_counted),
		cmocka_unit_test(test_broker_leaves_the_thread_alone),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_bond_is_not_native),
	};

	if (geteuid()) {
		puts("skipped: needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
