/* SPDX-License-Identifier: BSD-2-Clause */
/* ICMP errors about TCP segments: what they mean as Linux has it, and that nothing damaged, cut or
 * about somebody else's segment is told. */
#include "packet.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>

static struct sl_frames cache;
static struct sl_lane_stats stats;
static struct sl_in in;
static uint32_t slot;
static unsigned told;
static struct sl_in_icmp last;
static int object;

static void handler(void *obj, const struct sl_in_icmp *e, struct sl_in *i)
{
	assert_ptr_equal(obj, &object);
	assert_ptr_equal(i, &in);
	assert_int_equal(i->slot, slot);
	last = *e;
	told++;
}

static bool segment_handler(void *obj, struct sl_in *i)
{
	fail_msg("an error is no segment");
	return false;
}

static int setup(void **state)
{
	in = (struct sl_in){.cache = &cache, .stats = &stats, .ifindex = 3};
	slot = in_setup(&in, SL_SLOT_TCP, &object);
	sl_in_register(SL_SLOT_TCP, segment_handler);
	sl_in_register_icmp(SL_SLOT_TCP, handler);
	told = 0;
	return 0;
}

static int teardown(void **state)
{
	sl_slot_free(slot);
	assert_int_equal(pool_free(&cache), POOL_FRAMES);
	return 0;
}

/* An error in a frame, and where its parts are. */
struct error {
	struct sl_rx_desc d;
	uint8_t *ip, *icmp, *inner, *seg;
	bool v6;
};

static void ip_header(uint8_t *p, bool v6, uint8_t proto, unsigned len, const char *from,
		      const char *to)
{
	struct sl_addr src = addr(from), dst = addr(to);
	uint16_t sum = 0;

	memset(p, 0, v6 ? 40 : 20);
	if (v6) {
		p[0] = 0x60;
		sl_put_be16(p + 4, (uint16_t)len);
		p[6] = proto;
		p[7] = 64;
		memcpy(p + 8, src.b, 16);
		memcpy(p + 24, dst.b, 16);
		return;
	}
	p[0] = 0x45;
	sl_put_be16(p + 2, (uint16_t)(20 + len));
	p[8] = 64;
	p[9] = proto;
	memcpy(p + 12, src.b + 12, 4);
	memcpy(p + 16, dst.b + 12, 4);
	sum = sl_csum_fold(sl_csum_add(0, p, 20));
	memcpy(p + 10, &sum, 2);
}

/* After a change. */
static void fix_sum(struct error *e)
{
	struct sl_addr src, dst;
	struct sl_pkt p = {.data = e->ip, .v6 = e->v6};
	uint16_t v = 0, len = (uint16_t)(e->d.len - (e->icmp - e->ip) - 14);
	uint64_t sum = 0;

	if (e->v6) {
		sl_pkt_saddr(&p, &src);
		sl_pkt_daddr(&p, &dst);
		sum = sl_pseudo_sum(&src, &dst, IPPROTO_ICMPV6, len);
	}
	memcpy(e->icmp + 2, &v, 2);
	v = sl_csum_fold(sl_csum_add(sum, e->icmp, len));
	memcpy(e->icmp + 2, &v, 2);
}

/* From a router, about our segment 10.0.0.1:5000 > 10.0.0.2:7777. */
static struct error error(bool v6, uint8_t type, uint8_t code, uint32_t rest)
{
	const char *us = v6 ? "fd00::1" : "10.0.0.1", *peer = v6 ? "fd00::2" : "10.0.0.2";
	const char *router = v6 ? "fd00::99" : "192.0.2.1";
	unsigned ip = v6 ? 40 : 20;
	struct error e = {.v6 = v6, .d = {sl_frame_get(&cache), 256, 0}};
	uint8_t *f = sl_frame_ptr(e.d.frame) + 256;
	struct sl_meta m = {
		.magic = SL_META_MAGIC,
		.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
		.l3 = 14,
		.l4 = (uint16_t)(14 + ip),
		.slot = slot,
		.gen = sl_slots[slot].gen,
	};

	memset(f, 0, 14);
	e.ip = f + 14;
	e.icmp = e.ip + ip;
	e.inner = e.icmp + 8;
	e.seg = e.inner + ip;
	e.d.len = (uint16_t)(e.seg + 8 - f);
	ip_header(e.ip, v6, m.proto, 8 + ip + 8, router, us);
	ip_header(e.inner, v6, IPPROTO_TCP, 1000, us, peer);
	sl_put_be16(e.seg, 5000);
	sl_put_be16(e.seg + 2, 7777);
	memcpy(e.seg + 4, "\x89\xab\xcd\xef", 4);
	e.icmp[0] = type;
	e.icmp[1] = code;
	sl_put_be16(e.icmp + 4, (uint16_t)(rest >> 16));
	sl_put_be16(e.icmp + 6, (uint16_t)rest);
	fix_sum(&e);
	memcpy(f - sizeof(m), &m, sizeof(m));
	return e;
}

static struct sl_in_icmp tell(bool v6, uint8_t type, uint8_t code, uint32_t rest)
{
	struct error e = error(v6, type, code, rest);
	unsigned before = told;

	sl_net_input(&in, &e.d);
	assert_int_equal(told, before + 1);
	return last;
}

static void test_whose_segment(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sl_addr us = addr(v6 ? "fd00::1" : "10.0.0.1");
		struct sl_addr peer = addr(v6 ? "fd00::2" : "10.0.0.2");
		struct sl_in_icmp e = tell(v6, v6 ? ICMPV6_DEST_UNREACH : ICMP_DEST_UNREACH, 0, 0);

		assert_true(sl_addr_eq(&e.local, &us));
		assert_true(sl_addr_eq(&e.remote, &peer));
		assert_int_equal(e.lport, 5000);
		assert_int_equal(e.rport, 7777);
		assert_int_equal(e.seq, 0x89abcdef);
		assert_int_equal(e.v6, v6);
		assert_int_equal(e.err, ENETUNREACH);
		assert_int_equal(e.mtu, 0);
	}
}

static void test_what_linux_makes_of_it(void **state)
{
	static const struct {
		bool v6;
		uint8_t type, code;
		int err;
	} want[] = {
		{false, 3, 1, EHOSTUNREACH},  {false, 3, 2, ENOPROTOOPT},
		{false, 3, 3, ECONNREFUSED},  {false, 3, 13, EHOSTUNREACH},
		{false, 11, 0, EHOSTUNREACH}, {true, 1, 1, EACCES},
		{true, 1, 3, EHOSTUNREACH},   {true, 1, 4, ECONNREFUSED},
		{true, 3, 0, EHOSTUNREACH},   {false, 12, 0, EPROTO},
		{true, 4, 0, EPROTO},
	};

	for (unsigned i = 0; i < sl_array_len(want); i++) {
		struct sl_in_icmp e = tell(want[i].v6, want[i].type, want[i].code, 0xffff);

		assert_int_equal(e.err, want[i].err);
		assert_int_equal(e.mtu, 0);
	}
}

static void test_packet_too_big(void **state)
{
	assert_int_equal(tell(false, 3, 4, 1400).mtu, 1380);
	assert_int_equal(last.err, EMSGSIZE);
	assert_int_equal(tell(false, 3, 4, 68).mtu, 532); /* ip_rt_min_pmtu */
	assert_int_equal(tell(false, 3, 4, 0).mtu, 532);
	assert_int_equal(tell(false, 3, 4, 65535).mtu, 65515);
	assert_int_equal(tell(true, 2, 0, 1400).mtu, 1360);
	assert_int_equal(tell(true, 2, 0, 1280).mtu, 1240);
	assert_int_equal(tell(true, 2, 0, UINT32_MAX).mtu, 65495);
}

/* RFC 8201 4: IPv6 has no path that carries less than 1,280 bytes. */
static void test_too_small_for_ipv6(void **state)
{
	for (unsigned mtu = 0; mtu < 1280; mtu += 1279) {
		struct error e = error(true, ICMPV6_PKT_TOOBIG, 0, mtu);

		sl_net_input(&in, &e.d);
		assert_int_equal(told, 0);
	}
}

/* Each way to spoil one, with the sums put right. */
static void test_nothing_is_told(void **state)
{
	for (int v6 = 0; v6 < 2; v6++)
		for (unsigned how = 0; how < 8; how++) {
			uint8_t type = v6 ? ICMPV6_DEST_UNREACH : ICMP_DEST_UNREACH;
			struct error e = error(v6, type, how == 0 ? 16 : 0, 0);

			if (how == 1)
				e.icmp[0] = v6 ? 128 : 8; /* echo */
			else if (how == 2)
				e.inner[0] ^= 0x20; /* neither version */
			else if (how == 3)
				e.inner[v6 ? 6 : 9] = IPPROTO_UDP;
			else if (how == 4)
				e.inner[v6 ? 23 : 15] ^= 1; /* somebody else has sent it */
			else if (how == 5 && !v6)
				e.inner[0] = 0x44;
			else if (how == 5)
				e.inner[0] = 0x45;
			else if (how == 6 && !v6)
				e.inner[0] = 0x46; /* the ports are not there then */
			else if (how == 6)
				e.icmp[0] = 5; /* no error that is known */
			else if (how == 7 && !v6)
				sl_put_be16(e.inner + 6, 1); /* a later fragment */
			else if (how == 7)
				e.icmp[1] = 7;
			fix_sum(&e);
			sl_net_input(&in, &e.d);
			if (told)
				fail_msg("v6 %d, case %u", v6, how);
		}
	assert_int_equal(stats.rx_bad_len + stats.rx_bad_csum + stats.rx_bad_meta, 0);
}

static void test_damage(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		unsigned whole;
		struct error e;

		for (unsigned i = 0; i < 8u + (v6 ? 48 : 28); i++) {
			e = error(v6, v6 ? 1 : 3, 0, 0);
			e.icmp[i] ^= 0x10;
			sl_net_input(&in, &e.d);
			assert_int_equal(stats.rx_bad_csum, i + 1);
		}
		stats.rx_bad_csum = 0;
		for (uint16_t len = whole = e.d.len; len-- > 0;) {
			e = error(v6, v6 ? 1 : 3, 0, 0);
			e.d.len = len;
			sl_net_input(&in, &e.d);
		}
		assert_int_equal(stats.rx_bad_len, whole);
		stats.rx_bad_len = 0;
	}
	assert_int_equal(told, 0);
}

/* An error of one family in a record of the other, and one for a UDP socket. */
static void test_wrong_record(void **state)
{
	struct error e = error(false, 3, 0, 0);
	struct sl_meta *m = (struct sl_meta *)(e.ip - 14 - sizeof(struct sl_meta));

	m->proto = IPPROTO_ICMPV6;
	sl_net_input(&in, &e.d);
	assert_int_equal(stats.rx_bad_len, 1);
	e = error(false, 3, 0, 0);
	sl_slot_set(slot, SL_SLOT_UDP, &object);
	sl_net_input(&in, &e.d);
	assert_int_equal(stats.rx_bad_meta, 1);
	assert_int_equal(told, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whose_segment),
		T(test_what_linux_makes_of_it),
		T(test_packet_too_big),
		T(test_nothing_is_told),
		T(test_damage),
		T(test_wrong_record),
		T(test_too_small_for_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
