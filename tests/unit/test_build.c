/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers that are sent: read back byte by byte, and by the parser. */
#include "packet.h"
#include "steer.h"
#include "wire/tcp_seg.h"

static uint8_t buf[2048];
static uint8_t *const payload = buf + 256;

struct way {
	bool v6;
	uint32_t vlan;
};
static const struct way ways[] = {
	{false, 0}, {false, 100}, {false, (SL_VLAN_AD | 200u) << 16 | 100},
	{true, 0},  {true, 100},  {true, (SL_VLAN_AD | 200u) << 16 | 100},
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

		b.pcp = 7 << 4 | 5; /* (without a tag it means nothing) */
		f = build(&b, 10, 0, &p);
		assert_memory_equal(f, macs, 12);
		assert_int_equal(p.l3, 14 + 4 * tags);
		if (tags == 2) {
			assert_int_equal(sl_get_be16(f + 12), ETH_P_8021AD); /* 802.1Q: outer */
			assert_int_equal(sl_get_be16(f + 14), 7 << 13 | 200);
		}
		if (tags) {
			assert_int_equal(sl_get_be16(f + p.l3 - 6), ETH_P_8021Q);
			assert_int_equal(sl_get_be16(f + p.l3 - 4), 5 << 13 | 100);
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

/* TCP ------------------------------------------------------------------------------------------ */

/* The Internet checksum as RFC 1071 says it, two bytes at a time: 0 when all is right. */
static uint16_t plain_sum(uint32_t sum, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Header and payload with the pseudo-header of RFC 9293 3.1, or RFC 8200 8.1. */
static bool tcp_sum_is_right(const struct sl_pkt *p, bool v6)
{
	const uint8_t *ip = p->data + p->l3;
	uint32_t n = p->len - p->l4, sum = 6 + n;

	sum += v6 ? plain_sum(0, ip + 8, 32) : plain_sum(0, ip + 12, 8);
	return plain_sum(sum, p->data + p->l4, n) == 0xffff;
}

static const struct sl_tcp_seg some_seg = {
	.seq = 0x01020304,
	.ack = 0xfffefdfc,
	.wnd = 0xabcd,
	.urg = 0x1234,
	.flags = SL_TCP_ACK | SL_TCP_PSH | SL_TCP_CWR,
	.mss = 1460,
	.wscale = 9,
	.tsval = 0x99887766,
	.tsecr = 0x55443322,
	.nsack = 3,
	.sack = {{1, 2}, {0xffffffff, 5}, {0x80000000, 0x80000001}},
};

static uint8_t *build_tcp(const struct sl_udp_build *b, const struct sl_tcp_seg *s, uint16_t id,
			  struct sl_pkt *p)
{
	struct sl_tcp_hdr h;
	uint8_t *f;

	sl_build_tcp_hdr(&h, b);
	f = sl_build_tcp(&h, s, payload, id, sl_csum_add(0, payload, s->len));
	*p = (struct sl_pkt){
		.data = f, .len = (uint32_t)(payload + s->len - f), .l3 = h.l3, .l4 = h.l4};
	return f;
}

static void check_tcp(const struct way *w, const struct sl_tcp_seg *s)
{
	struct sl_udp_build b = between(w);
	struct sl_tcp_seg r;
	struct sl_pkt p;

	build_tcp(&b, s, 7, &p);
	assert_true(tcp_sum_is_right(&p, w->v6));
	if (!w->v6)
		assert_int_equal(plain_sum(0, p.data + p.l3, 20), 0xffff);
	memset(&r, 0xee, sizeof(r));
	assert_int_equal(sl_parse_tcp(&p, false, &r), SL_PARSE_OK);
	assert_int_equal(sl_get_be16(p.data + p.l4), 1000);
	assert_int_equal(sl_get_be16(p.data + p.l4 + 2), 2000);
	assert_ptr_equal(p.data + p.payload, payload);
	assert_int_equal(p.payload_len, s->len);
	assert_int_equal(r.seq, s->seq);
	assert_int_equal(r.ack, s->ack);
	assert_int_equal(r.wnd, s->wnd);
	assert_int_equal(r.urg, s->urg);
	assert_int_equal(r.flags, s->flags);
	assert_int_equal(r.opts, s->opts);
	assert_int_equal(r.len, s->len);
	if (s->opts & SL_TCPO_SACK)
		assert_memory_equal(r.sack, s->sack, 2 * sizeof(r.sack[0]));
}

static void test_tcp_round_trip(void **state)
{
	static const uint8_t opts[] = {
		0,
		SL_TCPO_TS,
		SL_TCPO_TS | SL_TCPO_SACK,
		SL_TCPO_SACK,
		SL_TCPO_MSS | SL_TCPO_TS | SL_TCPO_SACK_OK | SL_TCPO_WSCALE,
	};
	struct sl_tcp_seg s = some_seg;

	for (unsigned i = 0; i < 1600; i++)
		payload[i] = (uint8_t)(i * 11 + i / 256);
	for (unsigned w = 0; w < sl_array_len(ways); w++)
		for (unsigned o = 0; o < sl_array_len(opts); o++)
			for (uint16_t len = 0; len <= 1460; len += 1 + len / 4) {
				s.opts = opts[o];
				s.len = len;
				check_tcp(&ways[w], &s);
			}
}

static void test_tcp_fields(void **state)
{
	struct sl_udp_build b = between(&ways[0]);
	struct sl_tcp_seg s = some_seg;
	struct sl_pkt p;
	uint8_t *ip;

	b.df = true;
	b.tos = 0x2e << 2 | 3;
	s.opts = SL_TCPO_TS;
	s.len = 100;
	ip = build_tcp(&b, &s, 0x1234, &p) + 14;
	assert_int_equal(ip[1], 0x2e << 2); /* ECN is not the program's to set */
	assert_int_equal(sl_get_be16(ip + 2), 20 + 32 + 100);
	assert_int_equal(sl_get_be16(ip + 4), 0x1234);
	assert_int_equal(sl_get_be16(ip + 6), 0x4000);
	assert_int_equal(ip[9], IPPROTO_TCP);
	assert_memory_equal(ip + 20,
			    "\x03\xe8\x07\xd0\x01\x02\x03\x04\xff\xfe\xfd\xfc\x80\x98\xab\xcd", 16);
	b = between(&ways[3]);
	ip = build_tcp(&b, &s, 1, &p) + 14;
	assert_int_equal(sl_get_be16(ip + 4), 32 + 100);
	assert_int_equal(ip[6], IPPROTO_TCP);
}

/* ECT(0) goes out, congestion experienced is seen (RFC 3168 5). */
static void test_tcp_ecn(void **state)
{
	struct sl_tcp_seg s = some_seg, r;

	s.ce = true;
	for (unsigned w = 0; w < sl_array_len(ways); w++)
		for (unsigned tos = 0; tos < 256; tos += 0x44) {
			struct sl_udp_build b = between(&ways[w]);
			struct sl_pkt p;

			b.tos = (uint8_t)tos;
			build_tcp(&b, &s, (uint16_t)(tos * 257), &p);
			assert_int_equal(sl_parse_tcp(&p, false, &r), SL_PARSE_OK);
			assert_int_equal(p.tos, (tos & 0xfc) | 2);
			assert_false(r.ce);
			if (!ways[w].v6)
				continue;
			p.data[p.l3 + 1] |= 3 << 4; /* a router marks it */
			assert_int_equal(sl_parse_tcp(&p, false, &r), SL_PARSE_OK);
			assert_true(r.ce);
		}
}

static void test_tcp_writes_its_header_only(void **state)
{
	struct sl_tcp_seg s = some_seg;

	s.opts = 0x3f;
	for (unsigned i = 0; i < sl_array_len(ways); i++) {
		struct sl_udp_build b = between(&ways[i]);
		uint8_t before[sizeof(buf)];
		struct sl_tcp_hdr h;
		uint8_t *f;

		sl_build_tcp_hdr(&h, &b);
		memset(buf, 0xa5, sizeof(buf));
		memcpy(before, buf, sizeof(buf));
		f = sl_build_tcp(&h, &s, payload, 1, 0);
		assert_memory_equal(buf, before, (size_t)(f - buf));
		assert_memory_equal(payload, before, sizeof(buf) - 256);
		assert_true(payload - f <= SL_TCP_HEADROOM);
	}
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
		cmocka_unit_test(test_tcp_round_trip),
		cmocka_unit_test(test_tcp_fields),
		cmocka_unit_test(test_tcp_ecn),
		cmocka_unit_test(test_tcp_writes_its_header_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
