/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the NIC for claimed packets, as ibv_create_flow(3) gets them: which specs, in which
 * order, with which bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if __has_include(<infiniband/verbs.h>)
#include <endian.h>
#include <netinet/in.h>

#include "io/nic/verbs_rx_int.h"
#include "vxlan.h"

#define V4(a, b, c, d)                                                                             \
	{                                                                                          \
		[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d)           \
	}

static struct sl_verbs_rule udp4(void)
{
	return (struct sl_verbs_rule){
		.key = {.local = V4(192, 0, 2, 1), .local_port = 7000, .proto = IPPROTO_UDP},
		.mac = {2, 0, 0, 0, 0, 1},
		.priority = 3,
	};
}

/* The n-th spec, which must be of that type and end within the rule. */
static const struct ibv_flow_spec *spec(const struct sl_verbs_flow *f, unsigned n, uint32_t type)
{
	const uint8_t *at = f->bytes + sizeof(f->attr);
	const struct ibv_flow_spec *s = (const void *)at;

	assert_true(n < f->attr.num_of_specs);
	while (n--) {
		at += s->hdr.size;
		s = (const void *)at;
	}
	assert_int_equal(s->hdr.type, type);
	assert_true(at + s->hdr.size <= f->bytes + f->attr.size);
	return s;
}

static void test_local_port(void **state)
{
	const struct sl_verbs_rule r = udp4();
	const struct ibv_flow_spec *s;
	struct sl_verbs_flow f;

	assert_true(sl_verbs_flow_build(&f, &r, 0x1234, false));
	assert_int_equal(f.attr.num_of_specs, 4);
	assert_int_equal(f.attr.priority, 3);
	assert_int_equal(f.attr.port, 1);
	s = spec(&f, 0, IBV_FLOW_SPEC_ETH);
	assert_memory_equal(s->eth.val.dst_mac, r.mac, 6);
	s = spec(&f, 1, IBV_FLOW_SPEC_IPV4_EXT);
	assert_int_equal(be32toh(s->ipv4_ext.val.dst_ip), 0xc0000201);
	assert_int_equal(s->ipv4_ext.mask.dst_ip, UINT32_MAX);
	assert_int_equal(s->ipv4_ext.mask.src_ip, 0);
	assert_int_equal(s->ipv4_ext.mask.tos, 0);
	s = spec(&f, 2, IBV_FLOW_SPEC_UDP);
	assert_int_equal(be16toh(s->tcp_udp.val.dst_port), 7000);
	assert_int_equal(s->tcp_udp.mask.src_port, 0);
	s = spec(&f, 3, IBV_FLOW_SPEC_ACTION_TAG);
	assert_int_equal(s->flow_tag.tag_id, 0x1234);
}

static void test_flow6(void **state)
{
	struct sl_verbs_rule r = {
		.key = {.local = {0x20, 1, [15] = 1},
			.remote = {0x20, 1, [15] = 2},
			.local_port = 80,
			.remote_port = 40000,
			.proto = IPPROTO_TCP},
	};
	const struct ibv_flow_spec *s;
	struct sl_verbs_flow f;

	assert_true(sl_verbs_flow_build(&f, &r, 7, false));
	s = spec(&f, 1, IBV_FLOW_SPEC_IPV6);
	assert_memory_equal(s->ipv6.val.dst_ip, r.key.local, 16);
	assert_memory_equal(s->ipv6.val.src_ip, r.key.remote, 16);
	assert_int_equal(s->ipv6.mask.src_ip[15], 0xff);
	assert_int_equal(s->ipv6.mask.flow_label, 0);
	s = spec(&f, 2, IBV_FLOW_SPEC_TCP);
	assert_int_equal(be16toh(s->tcp_udp.val.dst_port), 80);
	assert_int_equal(be16toh(s->tcp_udp.val.src_port), 40000);
	assert_int_equal(s->tcp_udp.mask.src_port, 0xffff);
}

static void test_groups_have_no_tag(void **state)
{
	static const uint8_t mac4[6] = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
	static const uint8_t mac6[6] = {0x33, 0x33, 0, 0, 0x12, 0x34};
	struct sl_verbs_rule r = udp4();
	struct sl_verbs_flow f;

	memcpy(r.key.local + 12, (const uint8_t[]){239, 129, 2, 3}, 4);
	assert_true(sl_verbs_flow_build(&f, &r, 0, false));
	assert_int_equal(f.attr.num_of_specs, 3);
	assert_memory_equal(spec(&f, 0, IBV_FLOW_SPEC_ETH)->eth.val.dst_mac, mac4, 6);
	memset(r.key.local, 0, 16);
	memcpy(r.key.local, (const uint8_t[]){0xff, 2}, 2);
	memcpy(r.key.local + 14, (const uint8_t[]){0x12, 0x34}, 2);
	assert_true(sl_verbs_flow_build(&f, &r, 0, false));
	assert_memory_equal(spec(&f, 0, IBV_FLOW_SPEC_ETH)->eth.val.dst_mac, mac6, 6);
}

static void test_narrowed(void **state)
{
	struct sl_verbs_rule r = udp4();
	const struct ibv_flow_spec *s;
	struct sl_verbs_flow f;

	r.narrow.marks.word = SL_MARKS_DSCP(46);
	r.narrow.mask.word = SL_MARKS_DSCP(63);
	assert_true(sl_verbs_flow_build(&f, &r, 1, false));
	s = spec(&f, 1, IBV_FLOW_SPEC_IPV4_EXT);
	assert_int_equal(s->ipv4_ext.val.tos, 46 << 2);
	assert_int_equal(s->ipv4_ext.mask.tos, 0xfc);
	/* No packet of IPv4 has a flow label. */
	r.narrow.marks.word = 0xabcde;
	r.narrow.mask.word = SL_MARKS_LABEL | SL_MARKS_V4;
	assert_false(sl_verbs_flow_build(&f, &r, 1, false));
	memset(r.key.local, 0, 12);
	r.key.local[0] = 0x20;
	assert_true(sl_verbs_flow_build(&f, &r, 1, false));
	s = spec(&f, 1, IBV_FLOW_SPEC_IPV6);
	assert_int_equal(be32toh(s->ipv6.val.flow_label), 0xabcde);
	assert_int_equal(be32toh(s->ipv6.mask.flow_label), 0xfffff);
	assert_int_equal(s->ipv6.mask.traffic_class, 0);
}

static void test_vxlan(void **state)
{
	struct sl_verbs_rule r = udp4();
	const struct ibv_flow_spec *s;
	struct sl_verbs_flow f;

	r.key.vlan = SL_VXLAN_TAG(0x123456);
	r.vxlan_port = 4789;
	assert_true(sl_verbs_flow_build(&f, &r, 1, false));
	spec(&f, 0, IBV_FLOW_SPEC_IPV4_EXT);
	s = spec(&f, 1, IBV_FLOW_SPEC_UDP);
	assert_int_equal(be16toh(s->tcp_udp.val.dst_port), 4789);
	s = spec(&f, 2, IBV_FLOW_SPEC_VXLAN_TUNNEL);
	assert_int_equal(be32toh(s->tunnel.val.tunnel_id), 0x123456);
	assert_int_equal(be32toh(s->tunnel.mask.tunnel_id), 0xffffff);
	s = spec(&f, 3, (uint32_t)IBV_FLOW_SPEC_ETH | IBV_FLOW_SPEC_INNER);
	assert_memory_equal(s->eth.val.dst_mac, r.mac, 6);
	s = spec(&f, 4, (uint32_t)IBV_FLOW_SPEC_IPV4_EXT | IBV_FLOW_SPEC_INNER);
	assert_int_equal(be32toh(s->ipv4_ext.val.dst_ip), 0xc0000201);
	s = spec(&f, 5, (uint32_t)IBV_FLOW_SPEC_UDP | IBV_FLOW_SPEC_INNER);
	assert_int_equal(be16toh(s->tcp_udp.val.dst_port), 7000);
	assert_true(sl_verbs_flow_build(&f, &r, 1, true));
	spec(&f, 0, IBV_FLOW_SPEC_IPV6);
	assert_true(f.attr.size <= sizeof(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_port),
		cmocka_unit_test(test_flow6),
		cmocka_unit_test(test_groups_have_no_tag),
		cmocka_unit_test(test_narrowed),
		cmocka_unit_test(test_vxlan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 77;
}
#endif
