/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers that are sent: read back byte by byte, and by the parser. */
#include "packet.h"

static uint8_t buf[2048];
static uint8_t *const payload = buf + 256;

struct way {
	bool v6;
	uint32_t vlan;
};
static const struct way ways[] = {
	{false, 0}, {false, 100}, {false, 200u << 16 | 100},
	{true, 0},  {true, 100},  {true, 200u << 16 | 100},
};

static struct sl_udp_build between(const struct way *w)
{
	struct sl_udp_build b = w->v6 ? udp_between("2001:db8::1", 1000, "2001:db8::2", 2000)
				      : udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	b.vlan = w->vlan;
	return b;
}

static uint8_t *build(const struct sl_udp_build *b, uint16_t len, uint16_t id, struct sl_pkt *p)
{
	struct sl_udp_hdr h;
	uint8_t *f;

	sl_build_udp_hdr(&h, b);
	f = sl_build_udp(&h, payload, len, id, sl_csum_add(0, payload, len));
	assert_ptr_equal(f, payload - h.len);
	*p = (struct sl_pkt){.data = f, .len = h.len + len, .l3 = h.l3, .l4 = h.l4};
	return f;
}

static void test_round_trip(void **state)
{
	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);

		b.tos = 0x2e << 2 | 1;
		b.ttl = 7;
		for (uint16_t len = 0; len <= 1472; len += 1 + len / 3) {
			struct sl_addr src, dst;
			struct sl_pkt p;

			build(&b, len, 9, &p);
			assert_int_equal(sl_parse_udp(&p, false), SL_PARSE_OK);
			sl_pkt_saddr(&p, &src);
			sl_pkt_daddr(&p, &dst);
			assert_true(sl_addr_eq(&src, &b.src));
			assert_true(sl_addr_eq(&dst, &b.dst));
			assert_int_equal(sl_get_be16(p.data + p.l4), 1000);
			assert_int_equal(sl_get_be16(p.data + p.l4 + 2), 2000);
			assert_int_equal(p.payload_len, len);
			assert_ptr_equal(p.data + p.payload, payload);
			assert_int_equal(p.tos, b.tos);
			assert_int_equal(p.ttl, 7);
		}
	}
}

static void test_ethernet_and_tags(void **state)
{
	static const uint8_t macs[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	struct sl_pkt p;
	uint8_t *f;

	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		unsigned tags = (b.vlan != 0) + (b.vlan >> 16 != 0);

		f = build(&b, 10, 0, &p);
		assert_memory_equal(f, macs, 12);
		assert_int_equal(p.l3, 14 + 4 * tags);
		if (tags == 2) {
			assert_int_equal(sl_get_be16(f + 12), ETH_P_8021AD); /* 802.1Q: outer */
			assert_int_equal(sl_get_be16(f + 14), 200);
		}
		if (tags) {
			assert_int_equal(sl_get_be16(f + p.l3 - 6), ETH_P_8021Q);
			assert_int_equal(sl_get_be16(f + p.l3 - 4), 100);
		}
		assert_int_equal(sl_get_be16(f + p.l3 - 2), ways[i].v6 ? ETH_P_IPV6 : ETH_P_IP);
		assert_int_equal(p.l4 - p.l3, ways[i].v6 ? 40 : 20);
	}
}

static void test_ipv4_fields(void **state)
{
	struct sl_udp_build b = between(&ways[0]);
	struct sl_pkt p;
	uint8_t *ip;

	b.df = true;
	ip = build(&b, 100, 0x1234, &p) + 14;
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(sl_get_be16(ip + 2), 128);
	assert_int_equal(sl_get_be16(ip + 4), 0x1234);
	assert_int_equal(sl_get_be16(ip + 6), 0x4000);
	assert_int_equal(ip[9], IPPROTO_UDP);
	b.df = false;
	ip = build(&b, 100, 0xffff, &p) + 14;
	assert_int_equal(sl_get_be16(ip + 6), 0);
	assert_int_equal(sl_get_be16(ip + 4), 0xffff);
	assert_int_equal(sl_parse_udp(&p, false), SL_PARSE_OK);
}

static void test_every_ip_id_has_a_good_sum(void **state)
{
	struct sl_udp_build b = between(&ways[0]);
	struct sl_udp_hdr h;

	sl_build_udp_hdr(&h, &b);
	for (unsigned id = 0; id < 65536; id++) {
		uint8_t *f = sl_build_udp(&h, payload, 64, (uint16_t)id, 0);

		if (sl_csum_fold(sl_csum_add(0, f + 14, 20)) != 0)
			fail_msg("id %u", id);
	}
}

static void test_ipv6_fields(void **state)
{
	struct sl_udp_build b = between(&ways[3]);
	struct sl_pkt p;
	uint8_t *ip;

	b.tos = 0xab;
	b.flowlabel = 0xfedcba; /* 20 bits of it */
	ip = build(&b, 100, 1, &p) + 14;
	assert_memory_equal(ip, "\x6a\xbe\xdc\xba", 4);
	assert_int_equal(sl_get_be16(ip + 4), 108);
	assert_int_equal(ip[6], IPPROTO_UDP);
	assert_int_equal(ip[7], 64);
}

/* A sum of zero is sent as ffff (RFC 768), since zero means that there is none. */
static void test_zero_sum_is_sent_as_ones(void **state)
{
	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		unsigned hits = 0;
		struct sl_pkt p;

		for (unsigned v = 0; v < 65536; v++) {
			sl_put_be16(payload, (uint16_t)v);
			build(&b, 2, 0, &p);
			assert_int_not_equal(sl_get_be16(p.data + p.l4 + 6), 0);
			if (sl_get_be16(p.data + p.l4 + 6) == 0xffff) {
				hits++;
				assert_int_equal(sl_parse_udp(&p, false), SL_PARSE_OK);
			}
		}
		assert_in_range(hits, 1, 2);
	}
}

static void test_no_checksum(void **state)
{
	struct sl_udp_build b = between(&ways[0]);
	struct sl_udp_hdr h;
	uint8_t *f;

	sl_build_udp_hdr(&h, &b);
	f = sl_build_udp(&h, payload, 64, 1, SL_CSUM_NONE);
	assert_int_equal(sl_get_be16(f + 34 + 6), 0);
	assert_int_equal(sl_csum_fold(sl_csum_add(0, f + 14, 20)), 0);
}

/* Nothing outside of the header is written. */
static void test_writes_its_header_only(void **state)
{
	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		uint8_t before[sizeof(buf)];
		struct sl_udp_hdr h;
		uint8_t *f;

		sl_build_udp_hdr(&h, &b);
		memset(buf, 0xa5, sizeof(buf));
		memcpy(before, buf, sizeof(buf));
		f = sl_build_udp(&h, payload, 64, 1, 0);
		assert_memory_equal(buf, before, (size_t)(f - buf));
		assert_memory_equal(payload, before, sizeof(buf) - 256);
		assert_true(h.len <= SL_MAX_HDR);
	}
}

static void test_pseudo_sum(void **state)
{
	/* RFC 768: 10.0.0.1 to 10.0.0.2, protocol 17, length 20 */
	static const uint8_t v4[] = {10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 20};
	struct sl_addr s4 = addr("10.0.0.1"), d4 = addr("10.0.0.2");
	struct sl_addr s6 = addr("fe80::1:2"), d6 = addr("ff02::fb");
	uint8_t v6[40] = {0};

	assert_int_equal(sl_csum_fold(sl_pseudo_sum(&s4, &d4, 17, 20)),
			 sl_csum_fold(sl_csum_add(0, v4, sizeof(v4))));
	memcpy(v6, s6.b, 16);
	memcpy(v6 + 16, d6.b, 16);
	v6[35] = 20;
	v6[39] = 17;
	assert_int_equal(sl_csum_fold(sl_pseudo_sum(&s6, &d6, 17, 20)),
			 sl_csum_fold(sl_csum_add(0, v6, sizeof(v6))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_ethernet_and_tags),
		cmocka_unit_test(test_ipv4_fields),
		cmocka_unit_test(test_every_ip_id_has_a_good_sum),
		cmocka_unit_test(test_ipv6_fields),
		cmocka_unit_test(test_zero_sum_is_sent_as_ones),
		cmocka_unit_test(test_no_checksum),
		cmocka_unit_test(test_writes_its_header_only),
		cmocka_unit_test(test_pseudo_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
