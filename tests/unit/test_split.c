/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that the kernel joined is cut into the wire's packets again (io/split.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>

#include "io/split.h"
#include "steer.h"
#include "wire/csum.h"
#include "wire/wire.h"

static uint8_t pkt[256];
static uint16_t csum_start; /* as the kernel says it of the packet made last */

/* Writes the headers of a packet of total bytes into pkt. tags: VLAN tags; words: of the IP header
 * and its extensions; tcp: bytes of TCP's header, 0: UDP. */
static uint32_t make(bool v6, unsigned tags, unsigned words, unsigned tcp, uint32_t total)
{
	uint32_t l3 = 14 + 4 * tags, l4 = l3 + 4 * words;

	memset(pkt, 0, sizeof(pkt));
	for (unsigned i = 0; i < tags; i++)
		sl_put_be16(pkt + 12 + 4 * i, ETH_P_8021Q);
	sl_put_be16(pkt + l3 - 2, v6 ? ETH_P_IPV6 : ETH_P_IP);
	pkt[l3] = v6 ? 0x60 : (uint8_t)(0x40 | words);
	if (v6)
		sl_put_be16(pkt + l3 + 4, (uint16_t)(total - l3 - 40));
	else
		sl_put_be16(pkt + l3 + 2, (uint16_t)(total - l3));
	csum_start = (uint16_t)l4;
	if (tcp)
		pkt[l4 + 12] = (uint8_t)(tcp / 4 << 4);
	else
		sl_put_be16(pkt + l4 + 4, (uint16_t)(total - l4));
	return l4 + (tcp ? tcp : 8);
}

static int parse(struct sl_split *s, uint32_t avail, uint32_t total, uint8_t proto, unsigned words,
		 uint8_t gso, uint16_t size)
{
	struct virtio_net_hdr v = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = gso,
		.gso_size = size,
		.csum_start = csum_start,
	};
	const struct sl_packet_record rec = {.proto = proto, .l4_words = (uint8_t)words};

	return sl_split_parse(s, pkt, avail, total, &rec, &v);
}

static void test_headers(void **state)
{
	struct sl_split s;

	for (unsigned tags = 0; tags <= 2; tags++) {
		uint32_t h = make(false, tags, 5, 32, 60000);

		assert_int_equal(parse(&s, h, 60000, IPPROTO_TCP, 5, 1, 1448), 0);
		assert_int_equal(s.hlen, h);
		assert_int_equal(s.l3, 14 + 4 * tags);
		assert_true(s.stream && s.csum_ok && !s.v6);
		/* one byte of the headers is missing, in what is there and in the packet */
		assert_int_equal(parse(&s, h - 1, 60000, IPPROTO_TCP, 5, 1, 1448), -EINVAL);
		assert_int_equal(parse(&s, h, h - 1, IPPROTO_TCP, 5, 0, 0), -EINVAL);
	}
	make(false, 3, 5, 20, 100);
	assert_int_equal(parse(&s, 100, 100, IPPROTO_TCP, 5, 0, 0), -EINVAL);
}

static void test_refused(void **state)
{
	struct sl_split s;
	uint32_t h = make(true, 0, 10, 20, 5000);

	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 4, 1000), 0);
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 1, 1000), -EINVAL); /* of IPv4 */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 4, 0), -EINVAL);
	assert_int_equal(parse(&s, h, 5001, IPPROTO_TCP, 10, 4, 1000), -EINVAL); /* IP's length */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 9, 4, 1000), -EINVAL);
	assert_int_equal(parse(&s, h, 5000, IPPROTO_UDP, 10, 4, 1000), -EINVAL);
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 5, 1000), -EINVAL);
	for (int bit = 1; bit <= 0x80; bit <<= 1) { /* SYN and RST are for one segment */
		pkt[h - 20 + 13] = (uint8_t)bit;
		assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 4, 1000),
				 bit & 6 ? -EINVAL : 0);
		assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 0, 0), 0);
	}
	pkt[h - 20 + 13] = 0;
	csum_start--; /* the kernel vouches for a header in front, which is off */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 4, 1000), -EINVAL);
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 0, 0), 0);
	assert_false(s.csum_ok);
	csum_start = (uint16_t)-16; /* it was so far in front of the packet now */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 0, 0), 0);
	assert_false(s.csum_ok);
	csum_start = 14 + 40 + 50; /* or for one that is inside */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 0, 0), 0);
	assert_true(s.csum_ok);
	pkt[14 + 40 + 12] = 4 << 4; /* too short a header of TCP */
	assert_int_equal(parse(&s, h, 5000, IPPROTO_TCP, 10, 4, 1000), -EINVAL);
	make(false, 0, 6, 20, 5000); /* IHL is not as the record says */
	assert_int_equal(parse(&s, 200, 5000, IPPROTO_TCP, 5, 1, 1000), -EINVAL);
}

static void test_segments(void **state)
{
	uint32_t h = make(false, 0, 5, 20, 54 + 3000), at[] = {0, 1400, 2800},
		 len[] = {1400, 1400, 200};
	uint8_t *ip, *tcp, copy[sizeof(pkt)];
	struct sl_split s;

	pkt[14 + 20 + 13] = 0x80 | 0x20 | 0x10 | 0x08 | 0x01; /* CWR URG ACK PSH FIN */
	sl_put_be16(pkt + 14 + 20 + 18, 1500);
	sl_put_be16(pkt + 14 + 4, 65535);
	memset(pkt + 14 + 20 + 4, 0xff, 4); /* the sequence number wraps */
	assert_int_equal(parse(&s, h, 54 + 3000, IPPROTO_TCP, 5, 1 | 0x80, 1400), 0);
	for (unsigned i = 0; i < 3; i++) {
		memcpy(copy, pkt, sizeof(copy));
		sl_split_header(&s, copy, i, at[i], len[i]);
		ip = copy + 14;
		tcp = ip + 20;
		assert_int_equal(sl_get_be16(ip + 2), 40 + len[i]);
		assert_int_equal(sl_get_be16(ip + 4), (uint16_t)(65535 + i));
		assert_int_equal(sl_csum_fold(sl_csum_add(0, ip, 20)), 0);
		assert_int_equal((uint32_t)sl_get_be16(tcp + 4) << 16 | sl_get_be16(tcp + 6),
				 (uint32_t)(0xffffffff + at[i]));
		assert_int_equal(tcp[13] & 0x80, i ? 0 : 0x80);
		assert_int_equal(tcp[13] & 0x09, i == 2 ? 0x09 : 0);
		assert_int_equal(tcp[13] & 0x20, i < 2 ? 0x20 : 0);
		if (i < 2)
			assert_int_equal(sl_get_be16(tcp + 18), 1500 - at[i]);
	}
}

static void test_datagrams(void **state)
{
	uint32_t h = make(true, 0, 12, 0, 14 + 48 + 8 + 2500);
	struct sl_split s;

	assert_int_equal(parse(&s, h, 14 + 48 + 8 + 2500, IPPROTO_UDP, 12, 5, 1000), 0);
	assert_int_equal(s.segment, 1000);
	assert_false(s.stream);
	sl_split_header(&s, pkt, 2, 2000, 500);
	assert_int_equal(sl_get_be16(pkt + 14 + 4), 8 + 8 + 500);
	assert_int_equal(sl_get_be16(pkt + 14 + 48 + 4), 8 + 500);
	/* UDP's length is not that of the packet. */
	assert_int_equal(parse(&s, h, 14 + 48 + 8 + 500, IPPROTO_UDP, 12, 5, 100), 0);
	sl_put_be16(pkt + 14 + 48 + 4, 8 + 501);
	assert_int_equal(parse(&s, h, 14 + 48 + 8 + 500, IPPROTO_UDP, 12, 5, 100), -EINVAL);
	sl_put_be16(pkt + 14 + 48 + 4, 8 + 499);
	assert_int_equal(parse(&s, h, 14 + 48 + 8 + 500, IPPROTO_UDP, 12, 5, 100), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
