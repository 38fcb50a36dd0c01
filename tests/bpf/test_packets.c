/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program and packets of all shapes: it steers those that it can read, and lets the
 * rest pass. */
#include "rig.h"

static void test_other_protocols_pass(void **state)
{
	struct frame f;

	endpoint(A4, 1);
	eth(&f);
	ip4(&f, A4, IPPROTO_ICMP, NULL, 0);
	udp(&f, SPORT, DPORT);
	assert_pass(&f, pass_unknown);
}

static void test_fragments_pass(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);
	struct iphdr *ip = (struct iphdr *)(f.b + f.l3);
	uint8_t hdr[8] = {IPPROTO_UDP};
	static const uint8_t pad[8] = {IPPROTO_FRAGMENT, 0, 1, 4};

	endpoint(A4, 1);
	endpoint(A6, 2);
	ip->frag_off = htons(IP_DF); /* not a fragment */
	assert_steered(&f, redirect_endpoint, 1);
	ip->frag_off = htons(IP_MF);
	assert_pass(&f, pass_fragment);
	ip->frag_off = htons(185);
	assert_pass(&f, pass_fragment);
	eth(&f);
	ip6(&f, A6, IPPROTO_FRAGMENT);
	put(&f, hdr, 8);
	udp(&f, SPORT, DPORT);
	assert_pass(&f, pass_fragment);
	eth(&f);
	ip6(&f, A6, IPPROTO_HOPOPTS);
	put(&f, pad, 8);
	put(&f, hdr, 8);
	udp(&f, SPORT, DPORT);
	assert_pass(&f, pass_fragment);
}

static struct frame with_opts(const void *opts, unsigned len)
{
	struct frame f;

	eth(&f);
	ip4(&f, A4, IPPROTO_UDP, opts, len);
	udp(&f, SPORT, DPORT);
	return f;
}

static void test_ipv4_options(void **state)
{
	static const uint8_t nops[40] = {[0 ... 39] = 1}, ra[4] = {148, 4}, end[4] = {0, 1, 2, 3},
			     mixed[12] = {1, 1, 148, 4, 0, 0, 148, 4, 0, 0, 1, 0};
	static const uint8_t rr[40] = {7, 39, 4}, stamp[4] = {68, 4, 5}, short_ra[4] = {148, 2},
			     lsrr[8] = {131, 7, 4}, cipso[8] = {134, 8}, zero_len[4] = {7, 0},
			     too_long[4] = {7, 5, 4}, last[4] = {1, 1, 1, 7},
			     over[4] = {1, 1, 148, 4}, behind[8] = {1, 1, 1, 1, 1, 1, 7, 2};
	/* The most steps of the walk: bytes of one, then an alert, again and again. */
	static const uint8_t turns[40] = {1, 148, 4,   0,   0, 1, 148, 4,   0,   0, 1, 148, 4,   0,
					  0, 1,   148, 4,   0, 0, 1,   148, 4,   0, 0, 1,   148, 4,
					  0, 0,   1,   148, 4, 0, 0,   1,   148, 4, 0, 0},
			     pairs[40] = {148, 4, 0,   0, 148, 4, 0,   0, 148, 4, 0,   0, 148, 4,
					  0,   0, 148, 4, 0,   0, 148, 4, 0,   0, 148, 4, 0,   0,
					  148, 4, 0,   0, 148, 4, 0,   0, 148, 4, 0,   0};
	struct frame f;

	endpoint(A4, 1);
#define good(o) (f = with_opts((o), sizeof(o)), assert_steered(&f, redirect_endpoint, 1))
#define bad(o)                                                                                     \
	do {                                                                                       \
		f = with_opts((o), sizeof(o));                                                     \
		assert_pass(&f, pass_unknown);                                                     \
	} while (0)
	good(nops);
	good(ra);
	good(end);
	good(mixed);
	good(turns);
	good(pairs);
	bad(over); /* the alert ends behind the header */
	bad(behind);
	bad(rr); /* the kernel checks it and writes into it */
	bad(stamp);
	bad(short_ra);
	bad(lsrr);
	bad(cipso);
	bad(zero_len);
	bad(too_long);
	bad(last);
}

/* An IPv6 packet with the given extension headers; types[i] is the type of the i-th. */
static struct frame with_ext(const uint8_t *types, unsigned n, const uint8_t body[6])
{
	struct frame f;

	eth(&f);
	ip6(&f, A6, n ? types[0] : IPPROTO_UDP);
	for (unsigned i = 0; i < n; i++) {
		uint8_t head[2] = {i + 1 < n ? types[i + 1] : IPPROTO_UDP, 0};

		put(&f, head, 2);
		put(&f, body, 6);
	}
	udp(&f, SPORT, DPORT);
	return f;
}

static void test_ipv6_extension_headers(void **state)
{
	static const uint8_t all[5] = {IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_DSTOPTS,
				       IPPROTO_DSTOPTS, IPPROTO_DSTOPTS},
			     late[2] = {IPPROTO_DSTOPTS, IPPROTO_HOPOPTS};
	static const uint8_t padn[6] = {1, 4}, pad1[6] = {0}, unknown00[6] = {0x1e, 4},
			     jumbo[6] = {0xc2, 4}, home[6] = {0xc9, 4}, calipso[6] = {7, 4},
			     beyond[6] = {1, 5}, short_of[6] = {1, 2, 0, 0, 1, 1},
			     alert[6] = {5, 2, 0, 0, 1, 0}, long_alert[6] = {5, 4},
			     ioam[6] = {49, 4}, not_nought[6] = {1, 4, 0, 0, 0, 1},
			     left[6] = {4, 1}, /* routing: type 4, one segment left */
		done[6] = {4, 0};
	static const uint8_t routing[1] = {IPPROTO_ROUTING}, auth[1] = {IPPROTO_AH};
	struct frame f;

	endpoint(A6, 1);
#define good6(types, n, body)                                                                      \
	(f = with_ext((types), (n), (body)), assert_steered(&f, redirect_endpoint, 1))
#define bad6(types, n, body)                                                                       \
	do {                                                                                       \
		f = with_ext((types), (n), (body));                                                \
		assert_pass(&f, pass_unknown);                                                     \
	} while (0)
	good6(all, 1, padn);
	good6(all, 2, pad1);
	good6(all, 1, unknown00);
	good6(all, 1, alert);
	bad6(all, 1, long_alert);
	bad6(all, 1, ioam);
	bad6(all, 1, not_nought);
	bad6(late, 2, padn);
	bad6(routing, 1, done);
	bad6(all, 1, jumbo);
	bad6(all, 1, home);
	bad6(all, 1, calipso);
	bad6(all, 1, beyond);
	bad6(all, 1, short_of);
	bad6(routing, 1, left);
	bad6(auth, 1, padn);
	good6(all, 4, pad1);
	bad6(all, 5, pad1);
}

static void test_vlan(void **state)
{
	struct sl_claim c1 = claim_of(1), c2 = claim_of(2);
	struct sl_meta m;
	struct frame f;

	add_endpoint(A4, DPORT, IPPROTO_UDP, 7, &c1);
	add_endpoint(A4, DPORT, IPPROTO_UDP, (SL_VLAN_AD | 100) << 16 | 7, &c2);
	f = udp4(A4, SPORT, DPORT);
	assert_pass(&f, pass_miss); /* untagged is another network */
	eth(&f);
	tag(&f, ETH_P_8021Q, 0xe007); /* priority bits do not matter */
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	m = assert_steered(&f, redirect_endpoint, 1);
	assert_int_equal(m.l3, 18);
	eth(&f);
	tag(&f, ETH_P_8021AD, 100);
	tag(&f, ETH_P_8021Q, 7);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	m = assert_steered(&f, redirect_endpoint, 2);
	assert_int_equal(m.l3, 22);
	eth(&f);
	tag(&f, ETH_P_8021AD, 7); /* not the device of 802.1Q's 7 */
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	assert_pass(&f, pass_miss);
	eth(&f);
	tag(&f, ETH_P_8021AD, 0xe000); /* a priority alone */
	tag(&f, ETH_P_8021Q, 7);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	assert_steered(&f, redirect_endpoint, 1);
	eth(&f);
	tag(&f, ETH_P_8021AD, 1);
	tag(&f, ETH_P_8021Q, 2);
	tag(&f, ETH_P_8021Q, 3);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	assert_pass(&f, pass_not_ip);
}

/* The kernel has a VLAN device that was taken from us, and that one alone. */
static void test_vlan_left(void **state)
{
	struct sl_port_config cfg = {
		.abi = SL_STEER_ABI,
		.nqueues = 1,
		.in_frame = in_frame,
		.room = 1024,
		.vlans_left = 1ull << 63,
	};
	struct sl_claim c1 = claim_of(1), c2 = claim_of(2);
	uint32_t zero = 0;
	struct sl_meta m;
	struct frame f;

	c1.flags = SL_CLAIM_VLAN(63);
	c2.flags = SL_CLAIM_VLAN(62);
	add_endpoint(A4, DPORT, IPPROTO_UDP, 7, &c1);
	add_endpoint(A4, DPORT, IPPROTO_UDP, 8, &c2);
	eth(&f);
	tag(&f, ETH_P_8021Q, 7);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	m = assert_steered(&f, redirect_endpoint, 1);
	assert_int_equal(m.flags, SL_META_VLAN(63));
	memcpy(cfg.mac, our_mac, sizeof(cfg.mac));
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.config), &zero, &cfg, 0), 0);
	assert_pass(&f, pass_no_receiver);
	eth(&f);
	tag(&f, ETH_P_8021Q, 8);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	m = assert_steered(&f, redirect_endpoint, 2);
	assert_int_equal(m.flags, SL_META_VLAN(62));
}

/* Cut at each byte: passes until the whole transport header is there. */
static void cut(const struct frame *whole, unsigned l4_len, uint32_t slot)
{
	for (unsigned n = ETH_HLEN; n <= whole->len; n++) {
		struct frame f = *whole;
		struct result r;
		uint64_t sum = 0;

		f.len = n;
		r = run(&f);
		assert_int_equal(r.verdict, n >= f.l4 + l4_len ? XDP_REDIRECT : XDP_PASS);
		if (r.verdict == XDP_REDIRECT) {
			assert_int_equal(r.meta.slot, slot);
			continue;
		}
		sum = r.c.pass_not_ip + r.c.pass_unknown;
		assert_int_equal(sum, 1);
		assert_int_equal(r.c.pass_fragment + r.c.pass_miss + r.c.pass_no_receiver, 0);
	}
}

static void test_truncated(void **state)
{
	static const uint8_t opts[8] = {1, 1, 1, 148, 4, 0, 0, 0};
	static const uint8_t types[3] = {IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_DSTOPTS},
			     pad[6] = {0};
	struct sl_claim c = claim_of(3), tagged = claim_of(4);
	struct frame f = udp4(A4, SPORT, DPORT);

	endpoint(A4, 1);
	endpoint(A6, 2);
	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	add_endpoint(A4, DPORT, IPPROTO_UDP, (SL_VLAN_AD | 5) << 16 | 6, &tagged);
	cut(&f, 8, 1);
	f = with_opts(opts, sizeof(opts));
	cut(&f, 8, 1);
	f = with_ext(types, 3, pad);
	cut(&f, 8, 2);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	cut(&f, 20, 3);
	eth(&f);
	tag(&f, ETH_P_8021AD, 5);
	tag(&f, ETH_P_8021Q, 6);
	ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	udp(&f, SPORT, DPORT);
	cut(&f, 8, 4);
}

static void test_wrong_version_or_header_length(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);

	endpoint(A4, 1);
	endpoint(A6, 2);
	f.b[f.l3] = 0x65;
	assert_pass(&f, pass_unknown);
	f.b[f.l3] = 0x44;
	assert_pass(&f, pass_unknown);
	f = udp6(A6, SPORT, DPORT);
	f.b[f.l3] = 0x45;
	assert_pass(&f, pass_unknown);
}

static void test_frames_for_another_station_pass(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);

	endpoint(A4, 1);
	f.b[5] ^= 0x10;
	assert_pass(&f, pass_miss);
	f.b[0] |= 1; /* multicast, while the address is one host's */
	assert_pass(&f, pass_miss);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, clear)
	static const struct CMUnitTest tests[] = {
		T(test_other_protocols_pass),
		T(test_fragments_pass),
		T(test_ipv4_options),
		T(test_ipv6_extension_headers),
		T(test_vlan),
		T(test_vlan_left),
		T(test_truncated),
		T(test_wrong_version_or_header_length),
		T(test_frames_for_another_station_pass),
	};

	if (!may_load())
		return 77;
	return run_both_ways(tests);
}
