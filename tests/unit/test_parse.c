/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP parser accepts packets that we built, and none that is cut, stretched or corrupted. */
#include "packet.h"

#include <unistd.h>

#include "base/heap.h"
#include "wire/tcp_seg.h"

static struct sl_frames cache;

/* A packet in memory of its own size, so that a sanitizer sees a read behind its end. */
struct sample {
	struct sl_pkt p;
	uint32_t udp_end; /* padding follows */
};

static struct sample make_from(const struct sl_udp_build *b, uint16_t len, unsigned pad)
{
	uint8_t data[1500];
	struct sample s = {0};
	struct sl_rx_desc d;
	struct sl_udp_hdr h;

	for (unsigned i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + 3);
	d = packet(&cache, b, data, len, 0, 1);
	sl_build_udp_hdr(&h, b);
	s.p.data = sl_calloc(1, d.len + pad);
	memcpy(s.p.data, sl_frame_ptr(d.frame) + d.off, d.len);
	sl_frame_put(&cache, d.frame);
	s.p.len = d.len + pad;
	s.p.l3 = h.l3;
	s.p.l4 = h.l4;
	s.udp_end = d.len;
	return s;
}

static struct sample make(bool v6, uint16_t len, unsigned pad)
{
	struct sl_udp_build b = v6 ? udp_between("2001:db8::1", 1000, "2001:db8::2", 2000)
				   : udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);

	b.tos = 0xb8;
	b.ttl = 3;
	return make_from(&b, len, pad);
}

/* The parser's answer about a copy; the sample stays as it is. */
static enum sl_parse_result parse(const struct sample *s, bool partial_ok)
{
	struct sl_pkt p = s->p;

	return sl_parse_udp(&p, partial_ok);
}

static void put_udp_csum(struct sample *s, uint16_t v)
{
	memcpy(s->p.data + s->p.l4 + 6, &v, 2);
}

/* After a change of the IPv4 header. */
static void fix_ip_csum(struct sample *s)
{
	uint8_t *h = s->p.data + s->p.l3;
	uint16_t v = 0;

	memcpy(h + 10, &v, 2);
	v = sl_csum_fold(sl_csum_add(0, h, (h[0] & 15) * 4u));
	memcpy(h + 10, &v, 2);
}

static uint64_t pseudo(const struct sample *s)
{
	struct sl_pkt p = s->p;
	struct sl_addr src, dst;

	p.v6 = p.data[p.l3] >> 4 == 6;
	sl_pkt_saddr(&p, &src);
	sl_pkt_daddr(&p, &dst);
	return sl_pseudo_sum(&src, &dst, IPPROTO_UDP, sl_get_be16(p.data + p.l4 + 4));
}

static void test_good_ones(void **state)
{
	static const uint16_t lens[] = {0, 1, 2, 17, 64, 1400, 1472};

	for (int v6 = 0; v6 < 2; v6++)
		for (unsigned i = 0; i < sl_array_len(lens); i++)
			for (unsigned pad = 0; pad < 30; pad += 13) {
				struct sample s = make(v6, lens[i], pad);

				assert_int_equal(sl_parse_udp(&s.p, false), SL_PARSE_OK);
				assert_int_equal(s.p.v6, v6);
				assert_int_equal(s.p.payload, s.p.l4 + 8);
				assert_int_equal(s.p.payload_len, lens[i]);
				assert_int_equal(s.p.tos, 0xb8);
				assert_int_equal(s.p.ttl, 3);
				sl_free(s.p.data);
			}
}

static void test_every_truncation(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make(v6, 50, 6);

		for (uint32_t len = 0; len < s.udp_end; len++) {
			struct sample t = s;

			t.p.data = sl_malloc(len ? len : 1);
			memcpy(t.p.data, s.p.data, len);
			t.p.len = len;
			if (parse(&t, true) != SL_PARSE_LEN)
				fail_msg("v6 %d cut to %u", v6, len);
			sl_free(t.p.data);
		}
		s.p.len = s.udp_end;
		assert_int_equal(parse(&s, false), SL_PARSE_OK);
		sl_free(s.p.data);
	}
}

/* Flips each bit. Exempt: IPv6's first 4 bytes, next header and hop limit. */
static void test_every_flipped_bit(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make(v6, 31, 0);
		uint32_t l3 = s.p.l3;

		for (uint32_t i = l3; i < s.udp_end; i++)
			for (unsigned bit = 0; bit < 8; bit++) {
				bool free_bit = v6 && (i - l3 < 4 || i - l3 == 6 || i - l3 == 7);

				s.p.data[i] ^= (uint8_t)(1u << bit);
				if (!free_bit && parse(&s, false) == SL_PARSE_OK &&
				    !(i == s.p.l4 + 6u || i == s.p.l4 + 7u))
					fail_msg("v6 %d byte %u bit %u", v6, i - l3, bit);
				if (i == s.p.l4 + 6u || i == s.p.l4 + 7u)
					assert_int_equal(parse(&s, false), SL_PARSE_CSUM);
				s.p.data[i] ^= (uint8_t)(1u << bit);
			}
		sl_free(s.p.data);
	}
}

static void test_version_nibble_decides(void **state)
{
	struct sample s = make(false, 20, 0);

	for (unsigned v = 0; v < 16; v++) {
		s.p.data[s.p.l3] = (uint8_t)(v << 4 | 5);
		if (v != 4)
			assert_int_not_equal(parse(&s, true), SL_PARSE_OK);
	}
	sl_free(s.p.data);
}

static void test_ipv4_header_length(void **state)
{
	struct sample s = make(false, 60, 0);

	for (unsigned ihl = 0; ihl < 16; ihl++) {
		s.p.data[s.p.l3] = (uint8_t)(0x40 | ihl);
		fix_ip_csum(&s);
		s.p.l4 = (uint16_t)(s.p.l3 + ihl * 4);
		if (ihl < 5)
			assert_int_equal(parse(&s, true), SL_PARSE_LEN);
		s.p.l4 = (uint16_t)(s.p.l3 + 20); /* the steering program says otherwise */
		if (ihl != 5)
			assert_int_equal(parse(&s, true), SL_PARSE_LEN);
	}
	sl_free(s.p.data);
}

static void test_ipv4_options(void **state)
{
	struct sample s = make(false, 30, 4);

	memmove(s.p.data + s.p.l4 + 4, s.p.data + s.p.l4, s.udp_end - s.p.l4);
	memcpy(s.p.data + s.p.l4, "\x94\x04\x00\x00", 4); /* router alert */
	s.p.data[s.p.l3] = 0x46;
	sl_put_be16(s.p.data + s.p.l3 + 2, (uint16_t)(s.udp_end - s.p.l3 + 4));
	s.p.l4 += 4;
	fix_ip_csum(&s);
	assert_int_equal(parse(&s, false), SL_PARSE_OK);
	s.p.data[s.p.l4 - 1] ^= 1;
	assert_int_equal(parse(&s, false), SL_PARSE_CSUM);
	sl_free(s.p.data);
}

static void test_ipv4_total_length(void **state)
{
	struct sample s = make(false, 60, 10);
	unsigned right = s.udp_end - s.p.l3;

	for (unsigned total = 0; total < 70000; total += total < 200 ? 1 : 997) {
		bool ok = total >= right && total <= right + 10; /* padding may count */

		sl_put_be16(s.p.data + s.p.l3 + 2, (uint16_t)total);
		fix_ip_csum(&s);
		if ((parse(&s, false) == SL_PARSE_OK) != (ok && total < 65536))
			if (total < 65536)
				fail_msg("total %u", total);
	}
	sl_free(s.p.data);
}

static void test_udp_length(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make(v6, 60, 10);

		put_udp_csum(&s, 0);
		for (unsigned len = 0; len < 65536; len++) {
			enum sl_parse_result want = v6 ? SL_PARSE_CSUM : SL_PARSE_OK;

			sl_put_be16(s.p.data + s.p.l4 + 4, (uint16_t)len);
			if (len < 8 || len > 68)
				want = SL_PARSE_LEN;
			if (parse(&s, true) != want)
				fail_msg("v6 %d length %u", v6, len);
		}
		sl_free(s.p.data);
	}
}

static void test_fragments_and_other_protocols(void **state)
{
	static const uint16_t frag[] = {0x2000, 0x0001, 0x1fff, 0x3fff, 0x2001, 0x6000};
	struct sample s = make(false, 60, 0);

	for (unsigned i = 0; i < sl_array_len(frag); i++) {
		sl_put_be16(s.p.data + s.p.l3 + 6, frag[i]);
		fix_ip_csum(&s);
		assert_int_equal(parse(&s, false), SL_PARSE_LEN);
	}
	sl_put_be16(s.p.data + s.p.l3 + 6, 0x4000); /* DF */
	fix_ip_csum(&s);
	assert_int_equal(parse(&s, false), SL_PARSE_OK);
	s.p.data[s.p.l3 + 9] = IPPROTO_TCP;
	fix_ip_csum(&s);
	assert_int_equal(parse(&s, false), SL_PARSE_LEN);
	sl_free(s.p.data);
}

static void test_partial_checksum(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make(v6, 60, 0);
		uint16_t sum = (uint16_t)~sl_csum_fold(pseudo(&s));

		put_udp_csum(&s, sum);
		assert_int_equal(parse(&s, true), SL_PARSE_OK);
		assert_int_equal(parse(&s, false), SL_PARSE_CSUM);
		put_udp_csum(&s, (uint16_t)(sum ^ 1));
		assert_int_equal(parse(&s, true), SL_PARSE_CSUM);
		put_udp_csum(&s, (uint16_t)~sum);
		assert_int_equal(parse(&s, true), SL_PARSE_CSUM);
		sl_free(s.p.data);
	}
}

static void test_no_checksum(void **state)
{
	struct sample s4 = make(false, 60, 0), s6 = make(true, 60, 0);

	put_udp_csum(&s4, 0);
	put_udp_csum(&s6, 0);
	assert_int_equal(parse(&s4, false), SL_PARSE_OK);
	assert_int_equal(parse(&s6, false), SL_PARSE_CSUM); /* RFC 8200, 8.1 */
	assert_int_equal(parse(&s6, true), SL_PARSE_CSUM);
	sl_free(s4.p.data);
	sl_free(s6.p.data);
}

/* A destination options header between IPv6 and UDP: the steering program says where UDP is. */
static void test_ipv6_extension_header(void **state)
{
	struct sample s = make(true, 30, 8);
	uint8_t *ip6 = s.p.data + s.p.l3;

	memmove(s.p.data + s.p.l4 + 8, s.p.data + s.p.l4, s.udp_end - s.p.l4);
	memcpy(s.p.data + s.p.l4, "\x11\x00\x01\x04\x00\x00\x00\x00", 8);
	ip6[6] = IPPROTO_DSTOPTS;
	sl_put_be16(ip6 + 4, (uint16_t)(sl_get_be16(ip6 + 4) + 8));
	assert_int_not_equal(parse(&s, false), SL_PARSE_OK); /* the old place is wrong now */
	s.p.l4 += 8;
	assert_int_equal(parse(&s, false), SL_PARSE_OK);
	sl_free(s.p.data);
}

/* The record in front of the packet may say anything. */
static void test_hostile_offsets(void **state)
{
	static const uint16_t at[] = {0,  1,  13, 14, 15,  22,   33,    34,    53,    54,
				      60, 61, 62, 63, 100, 1000, 32767, 65527, 65528, 65535};

	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make(v6, 30, 0);
		uint16_t l3 = s.p.l3, l4 = s.p.l4;

		for (unsigned i = 0; i < sl_array_len(at); i++)
			for (unsigned j = 0; j < sl_array_len(at); j++) {
				s.p.l3 = at[i];
				s.p.l4 = at[j];
				if (parse(&s, true) == SL_PARSE_OK && (at[i] != l3 || at[j] != l4))
					fail_msg("v6 %d l3 %u l4 %u", v6, at[i], at[j]);
			}
		sl_free(s.p.data);
	}
}

/* TCP ------------------------------------------------------------------------------------------ */

/* A segment with 12 bytes of options. */
static struct sample make_tcp(bool v6, uint16_t len, unsigned pad)
{
	struct sl_udp_build b = v6 ? udp_between("2001:db8::1", 1000, "2001:db8::2", 2000)
				   : udp_between("10.0.0.1", 1000, "10.0.0.2", 2000);
	struct sl_tcp_seg seg = {.seq = 1, .flags = SL_TCP_ACK, .opts = SL_TCPO_TS, .len = len};
	uint8_t room[2048], *payload = room + SL_TCP_HEADROOM, *f;
	struct sample s = {0};
	struct sl_tcp_hdr h;

	for (unsigned i = 0; i < len; i++)
		payload[i] = (uint8_t)(i * 7 + 3);
	sl_build_tcp_hdr(&h, &b);
	f = sl_build_tcp(&h, &seg, payload, 5, sl_csum_add(0, payload, len));
	s.udp_end = (uint32_t)(payload + len - f);
	s.p.len = s.udp_end + pad;
	s.p.data = sl_calloc(1, s.p.len);
	memcpy(s.p.data, f, s.udp_end);
	s.p.l3 = h.l3;
	s.p.l4 = h.l4;
	return s;
}

static enum sl_parse_result parse_tcp(const struct sample *s, bool partial_ok)
{
	struct sl_pkt p = s->p;
	struct sl_tcp_seg seg;

	return sl_parse_tcp(&p, partial_ok, &seg);
}

static void test_tcp_lengths(void **state)
{
	for (int v6 = 0; v6 < 2; v6++)
		for (uint16_t len = 0; len <= 1400; len += 1 + len / 3)
			for (unsigned pad = 0; pad < 30; pad += 13) {
				struct sample s = make_tcp(v6, len, pad);
				struct sl_tcp_seg seg;

				assert_int_equal(sl_parse_tcp(&s.p, false, &seg), SL_PARSE_OK);
				assert_int_equal(s.p.v6, v6);
				assert_int_equal(s.p.payload, s.p.l4 + 32);
				assert_int_equal(s.p.payload_len, len);
				assert_int_equal(seg.len, len);
				sl_free(s.p.data);
			}
}

static void test_tcp_every_truncation(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make_tcp(v6, 50, 6);

		for (uint32_t len = 0; len < s.udp_end; len++) {
			struct sample t = s;

			t.p.data = sl_malloc(len ? len : 1);
			memcpy(t.p.data, s.p.data, len);
			t.p.len = len;
			if (parse_tcp(&t, true) != SL_PARSE_LEN)
				fail_msg("v6 %d cut to %u", v6, len);
			sl_free(t.p.data);
		}
		sl_free(s.p.data);
	}
}

static void test_tcp_every_flipped_bit(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make_tcp(v6, 31, 0);
		uint32_t l3 = s.p.l3;

		for (uint32_t i = l3; i < s.udp_end; i++)
			for (unsigned bit = 0; bit < 8; bit++) {
				bool free_bit = v6 && (i - l3 < 4 || i - l3 == 6 || i - l3 == 7);

				s.p.data[i] ^= (uint8_t)(1u << bit);
				if (!free_bit && parse_tcp(&s, false) == SL_PARSE_OK)
					fail_msg("v6 %d byte %u bit %u", v6, i - l3, bit);
				s.p.data[i] ^= (uint8_t)(1u << bit);
			}
		sl_free(s.p.data);
	}
}

/* The data offset may point into the fixed header, or behind the segment. */
static void test_tcp_data_offset(void **state)
{
	struct sample s = make_tcp(false, 4, 0); /* 36 bytes */

	for (unsigned doff = 0; doff < 16; doff++) {
		s.p.data[s.p.l4 + 12] = (uint8_t)(doff << 4);
		if (doff < 5 || doff > 9)
			assert_int_equal(parse_tcp(&s, true), SL_PARSE_LEN);
		else
			assert_int_equal(parse_tcp(&s, true),
					 doff == 8 ? SL_PARSE_OK : SL_PARSE_CSUM);
	}
	sl_free(s.p.data);
}

static void test_tcp_partial_checksum(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make_tcp(v6, 60, 3);
		struct sl_addr src, dst;
		uint16_t v;

		s.p.v6 = v6;
		sl_pkt_saddr(&s.p, &src);
		sl_pkt_daddr(&s.p, &dst);
		v = (uint16_t)~sl_csum_fold(
			sl_pseudo_sum(&src, &dst, IPPROTO_TCP, (uint16_t)(s.udp_end - s.p.l4)));
		memcpy(s.p.data + s.p.l4 + 16, &v, 2);
		assert_int_equal(parse_tcp(&s, true), SL_PARSE_OK);
		assert_int_equal(parse_tcp(&s, false), SL_PARSE_CSUM);
		s.p.data[s.p.l4 + 16] ^= 1;
		assert_int_equal(parse_tcp(&s, true), SL_PARSE_CSUM);
		memset(s.p.data + s.p.l4 + 16, 0, 2); /* TCP has no "none" */
		assert_int_equal(parse_tcp(&s, true), SL_PARSE_CSUM);
		sl_free(s.p.data);
	}
}

static void test_tcp_hostile_offsets(void **state)
{
	static const uint16_t at[] = {0,  1,  13, 14, 15,  22,   33,    34,    53,    54,
				      60, 61, 62, 63, 100, 1000, 32767, 65515, 65516, 65535};

	for (int v6 = 0; v6 < 2; v6++) {
		struct sample s = make_tcp(v6, 30, 0);
		uint16_t l3 = s.p.l3, l4 = s.p.l4;

		for (unsigned i = 0; i < sl_array_len(at); i++)
			for (unsigned j = 0; j < sl_array_len(at); j++) {
				s.p.l3 = at[i];
				s.p.l4 = at[j];
				if (parse_tcp(&s, true) == SL_PARSE_OK &&
				    (at[i] != l3 || at[j] != l4))
					fail_msg("v6 %d l3 %u l4 %u", v6, at[i], at[j]);
			}
		sl_free(s.p.data);
	}
}

static void test_udp_is_not_tcp(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sample u = make(v6, 60, 0), t = make_tcp(v6, 60, 0);

		assert_int_not_equal(parse_tcp(&u, true), SL_PARSE_OK);
		assert_int_not_equal(parse(&t, true), SL_PARSE_OK);
		sl_free(u.p.data);
		sl_free(t.p.data);
	}
}

static int setup(void **state)
{
	pool_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_ones),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_version_nibble_decides),
		cmocka_unit_test(test_ipv4_header_length),
		cmocka_unit_test(test_ipv4_options),
		cmocka_unit_test(test_ipv4_total_length),
		cmocka_unit_test(test_udp_length),
		cmocka_unit_test(test_fragments_and_other_protocols),
		cmocka_unit_test(test_partial_checksum),
		cmocka_unit_test(test_no_checksum),
		cmocka_unit_test(test_ipv6_extension_header),
		cmocka_unit_test(test_hostile_offsets),
		cmocka_unit_test(test_tcp_lengths),
		cmocka_unit_test(test_tcp_every_truncation),
		cmocka_unit_test(test_tcp_every_flipped_bit),
		cmocka_unit_test(test_tcp_data_offset),
		cmocka_unit_test(test_tcp_partial_checksum),
		cmocka_unit_test(test_tcp_hostile_offsets),
		cmocka_unit_test(test_udp_is_not_tcp),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
