/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program takes packets of claimed flows out of VXLAN, and lets all others pass as
 * they came. The sums are made from the whole packet here, unlike the program's. */
#include "rig.h"

#define VNI   0xabc123
#define VPORT 4789

static const uint8_t vx_mac[6] = {2, 0, 0, 0, 1, 1}, far_mac[6] = {2, 0, 0, 0, 1, 2};
static const char *const I4 = "192.168.7.1", *const I6 = "fd07::1";

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t add(uint32_t sum, const uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum += (uint32_t)p[i] << (i % 2 ? 0 : 8);
	return sum;
}

static void store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Lengths and checksums of the IP packet at l3, which ends with the frame; wants_sum: of UDP or
 * TCP, too. */
static void finish(struct frame *f, unsigned l3, unsigned l4, bool wants_sum)
{
	bool v6 = f->b[l3] >> 4 == 6;
	uint8_t *ip = f->b + l3, *t = f->b + l4;
	unsigned n = f->len - l4, proto = ip[v6 ? 6 : 9], at = proto == IPPROTO_UDP ? 6 : 16;
	uint32_t sum = proto + n;

	if (v6) {
		store16(ip + 4, (uint16_t)(f->len - l3 - 40));
	} else {
		store16(ip + 2, (uint16_t)(f->len - l3));
		store16(ip + 10, 0);
		store16(ip + 10, (uint16_t)~fold(add(0, ip, 20)));
	}
	if (proto == IPPROTO_UDP)
		store16(t + 4, (uint16_t)n);
	store16(t + at, 0);
	sum = v6 ? add(sum, ip + 8, 32) : add(sum, ip + 12, 8);
	if (wants_sum)
		store16(t + at, (uint16_t)~fold(add(sum, t, n)));
}

static bool v6; /* the outer headers are */

/* The inner frame in its outer headers. */
static struct frame wrap(const struct frame *inner, uint32_t vni, bool wants_sum)
{
	uint32_t w[2] = {htonl(0x08000000), htonl(vni << 8)};
	struct frame f;

	eth(&f);
	if (v6)
		ip6(&f, A6, IPPROTO_UDP);
	else
		ip4(&f, A4, IPPROTO_UDP, NULL, 0);
	f.l4 = f.len;
	put16(&f, 33333);
	put16(&f, VPORT);
	put16(&f, 0);
	put16(&f, 0);
	put(&f, w, sizeof(w));
	put(&f, inner->b, inner->len);
	finish(&f, f.l3, f.l4, wants_sum);
	return f;
}

static struct frame inner_of(struct frame f, bool wants_sum)
{
	memcpy(f.b, vx_mac, 6);
	memcpy(f.b + 6, far_mac, 6);
	finish(&f, f.l3, f.l4, wants_sum);
	return f;
}

static struct frame inner_tcp(void)
{
	struct frame f;

	eth(&f);
	ip4(&f, I4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	return inner_of(f, true);
}

static void claim(const char *local, uint8_t proto, uint32_t flags, uint32_t slot)
{
	struct sl_claim c = claim_of(slot);

	c.flags = SL_CLAIM_VLAN(5) | flags;
	add_endpoint(local, DPORT, proto, SL_VXLAN_TAG(VNI), &c);
}

static void device(uint32_t flags)
{
	struct sl_vxlan_key key = {.vni = VNI, .port = VPORT};
	struct sl_vxlan v = {.tag = SL_VXLAN_TAG(VNI), .flags = flags};

	memcpy(v.mac, vx_mac, 6);
	if (v6)
		v.flags |= SL_VXLAN_V6;
	addr(v.local, v6 ? A6 : A4);
	addr(v.remote, v6 ? B6 : B4);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vxlans), &key, &v, 0), 0);
	set_bit(IPPROTO_UDP, VPORT, SL_L4_PORT_VXLAN);
}

#ifdef RIG_SKB
/* The record is in the place of the Ethernet addresses. */
static void assert_opened_(const struct frame *outer, const struct frame *inner, uint32_t slot,
			   int line)
{
	struct result r = run(outer);
	struct sl_packet_record m;

	memcpy(&m, r.out, sizeof(m));
	if (r.verdict != XDP_REDIRECT || r.out_len != inner->len ||
	    memcmp(r.out + sizeof(m), inner->b + sizeof(m), inner->len - sizeof(m)))
		fail_msg("line %d: verdict %d, %u bytes", line, r.verdict, r.out_len);
	if (m.magic != SL_PACKET_MAGIC || m.slot != slot || m.gen != slot + 100 ||
	    m.l4_words * 4u != inner->l4 - inner->l3 || SL_META_VLAN_NR(m.flags) != 5 ||
	    m.proto != inner->b[inner->b[inner->l3] >> 4 == 6 ? inner->l3 + 6 : inner->l3 + 9] ||
	    r.c.redirect_bytes != inner->len)
		fail_msg("line %d: wrong record: slot %u", line, m.slot);
}
#else
/* Runs the outer frame: the inner one must come out, for that slot. */
static void assert_opened_(const struct frame *outer, const struct frame *inner, uint32_t slot,
			   int line)
{
	struct xdp_md in = {.data_end = outer->len, .ingress_ifindex = 1}, out = {0};
	uint8_t data[1024];
	struct sl_meta m;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = outer->b, .data_size_in = outer->len,
		    .data_out = data, .data_size_out = sizeof(data), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
		    .repeat = 1);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts), 0);
	if (opts.retval != XDP_REDIRECT || opts.data_size_out != sizeof(m) + inner->len ||
	    memcmp(data + sizeof(m), inner->b, inner->len))
		fail_msg("line %d: verdict %u, %u bytes", line, opts.retval, opts.data_size_out);
	memcpy(&m, data, sizeof(m));
	if (m.magic != SL_META_MAGIC || m.slot != slot || m.gen != slot + 100 ||
	    m.l3 != inner->l3 || m.l4 != inner->l4 || SL_META_VLAN_NR(m.flags) != 5)
		fail_msg("line %d: wrong record: slot %u l3 %u l4 %u", line, m.slot, m.l3, m.l4);
}
#endif
#define assert_opened(f, inner, slot) assert_opened_((f), (inner), (slot), __LINE__)

static void test_claimed(void **state)
{
	struct frame in[] = {inner_of(udp4(I4, SPORT, DPORT), true), inner_tcp(),
			     inner_of(udp6(I6, SPORT, DPORT), true)};

	device(SL_VXLAN_NO_SUM);
	claim(I4, IPPROTO_UDP, 0, 1);
	claim(I4, IPPROTO_TCP, 0, 2);
	claim(I6, IPPROTO_UDP, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned sum = 0; sum < 2; sum++) {
			struct frame f = wrap(&in[i], VNI, sum);

			assert_opened(&f, &in[i], i + 1);
		}
}

static void test_group(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), f = wrap(&in, VNI, true);
	struct sl_group g = {.count = 1, .open = 1, .target[0] = claim_of(7)};
	uint32_t index = 3;

	device(0);
	g.target[0].flags = SL_CLAIM_VLAN(5);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &g, 0), 0);
	claim(I4, IPPROTO_UDP, SL_CLAIM_GROUP, index);
	assert_opened(&f, &in, 7);
	g.open = 0; /* nobody takes it */
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &g, 0), 0);
	assert_int_equal(run(&f).verdict, XDP_PASS);
}

static void test_unclaimed(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), other, f;

	device(0);
	f = wrap(&in, VNI, true);
	assert_pass(&f, pass_miss); /* nobody has the port */
	claim("192.168.7.9", IPPROTO_UDP, 0, 1);
	assert_int_equal(run(&f).verdict, XDP_PASS); /* another address has: it comes back whole */
	claim(I4, IPPROTO_UDP, 0, 1);
	assert_opened(&f, &in, 1);
	f = wrap(&in, VNI ^ 1, true);
	assert_pass(&f, pass_miss);
	other = in;
	other.b[5] ^= 4; /* another station's */
	f = wrap(&other, VNI, true);
	assert_pass(&f, pass_miss);
	other = in;
	memcpy(other.b + 6, vx_mac, 6); /* our own, in a circle */
	f = wrap(&other, VNI, true);
	assert_pass(&f, pass_miss);
	other = inner_of(udp4(I4, SPORT, DPORT), false); /* no sum to rely on */
	f = wrap(&other, VNI, true);
	assert_pass(&f, pass_miss);
	device(SL_VXLAN_NO_SUM);
	f = wrap(&other, VNI, false);
	assert_opened(&f, &other, 1);
}

/* Each byte of the headers that is wrong makes the packet the kernel's. */
static void test_forged(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), good = wrap(&in, VNI, true), f;
	unsigned most = good.l4 + 16 + 14 + 20;

	device(0);
	claim(I4, IPPROTO_UDP, 0, 1);
	for (unsigned at = 14; at < most; at++) {
		/* The receiver's check of the inner sum covers the inner addresses. IPv6 has no
		 * sum over traffic class, flow label and hop limit. */
		if ((at >= most - 8 && at < most - 4) ||
		    (v6 && (at == 15 || at == 16 || at == 17 || at == 21)))
			continue;
		f = good;
		f.b[at] ^= 0x40;
		if (run(&f).verdict != XDP_PASS)
			fail_msg("byte %u", at);
	}
	assert_opened(&good, &in, 1);
	f = good;
	if (v6) {
		addr(f.b + 22, "fd00::77");
		local("fd00::77");
	} else {
		f.b[26] = 10, f.b[29] = 1;
		local(A4);
	}
	finish(&f, f.l3, f.l4, true);
	assert_pass(&f, pass_miss); /* from an address of this host */
}

/* A frame of another kind inside. */
static void test_other_inner(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), nested, f, g;

	device(0);
	claim(I4, IPPROTO_UDP, 0, 1);
	nested = wrap(&in, VNI, true);
	memcpy(nested.b, vx_mac, 6);
	memcpy(nested.b + 6, far_mac, 6);
	f = wrap(&nested, VNI, true);
	assert_int_equal(run(&f).verdict, XDP_PASS);
	g = in; /* with a tag */
	memmove(g.b + 16, g.b + 12, g.len - 12);
	store16(g.b + 12, 0x8100);
	store16(g.b + 14, 5);
	g.len += 4;
	f = wrap(&g, VNI, true);
	assert_pass(&f, pass_miss);
	g = in; /* a fragment */
	g.b[20] |= 0x20;
	finish(&g, g.l3, g.l4, true);
	f = wrap(&g, VNI, true);
	assert_pass(&f, pass_miss);
	g = in; /* an inner packet that says it is longer, in a sound outer one */
	store16(g.b + 16, (uint16_t)(in.len - 14 + 8));
	f = wrap(&g, VNI, true);
	assert_pass(&f, pass_miss);
	store16(g.b + 16, (uint16_t)(in.len - 14 - 8)); /* or shorter */
	f = wrap(&g, VNI, true);
	assert_pass(&f, pass_miss);
}

/* Without an outer checksum IPv6 is taken where the device says so; IPv4 is. The other family is
 * never the device's. */
static void test_no_sum_and_family(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), f = wrap(&in, VNI, false);

	device(0);
	claim(I4, IPPROTO_UDP, 0, 1);
	if (v6)
		assert_pass(&f, pass_miss);
	else
		assert_opened(&f, &in, 1);
	device(SL_VXLAN_NO_SUM);
	assert_opened(&f, &in, 1);
	v6 = !v6;
	f = wrap(&in, VNI, true);
	v6 = !v6;
	assert_pass(&f, pass_miss);
}

static void test_truncated_at_each_byte(void **state)
{
	struct frame in = inner_tcp(), good = wrap(&in, VNI, true);

	device(0);
	claim(I4, IPPROTO_TCP, 0, 1);
	/* (The kernel wants a whole IP header for the test run of a tc program.) */
	for (unsigned n = RIG_NO_CONTEXT ? good.l4 : 14; n < good.len; n++) {
		struct frame f = good;

		f.len = n;
		assert_int_equal(run(&f).verdict, XDP_PASS);
	}
}

/* RFC 6040: the kernel's ip_tunnel does the same. */
static void test_congestion(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), marked, f;

	device(0);
	claim(I4, IPPROTO_UDP, 0, 1);
	f = wrap(&in, VNI, true);
	f.b[15] |= v6 ? 3 << 4 : 3;
	finish(&f, f.l3, f.l4, true);
	assert_pass(&f, pass_miss); /* the inner one knows no marks: the kernel drops it */
	in.b[15] |= 2;
	in = inner_of(in, true);
	marked = in;
	marked.b[15] |= 3;
	marked = inner_of(marked, true);
	f = wrap(&in, VNI, true);
	f.b[15] |= v6 ? 3 << 4 : 3;
	finish(&f, f.l3, f.l4, true);
	assert_opened(&f, &marked, 1);
}

static void set_station(const uint8_t mac[6], const char *host)
{
	struct sl_station_key key = {.of = {.vni = VNI, .port = VPORT}};
	struct sl_station s;

	memcpy(key.mac, mac, 6);
	addr(s.remote, host);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.stations), &key, &s, 0), 0);
}

/* A station that is bound to a host sends by no other. */
static void test_bound(void **state)
{
	struct frame in = inner_of(udp4(I4, SPORT, DPORT), true), f = wrap(&in, VNI, true), other;

	device(SL_VXLAN_BINDS);
	claim(I4, IPPROTO_UDP, 0, 1);
	assert_opened(&f, &in, 1); /* it has no entry */
	set_station(far_mac, v6 ? "fd00::99" : "10.0.0.99");
	assert_pass(&f, pass_miss);
	set_station(far_mac, "::");
	assert_pass(&f, pass_miss);
	set_station(far_mac, v6 ? B6 : B4);
	assert_opened(&f, &in, 1);
	set_station(far_mac, v6 ? "fd00::99" : "10.0.0.99");
	other = in;
	other.b[11] ^= 1; /* another station */
	f = wrap(&other, VNI, true);
	assert_opened(&f, &other, 1);
	device(0); /* such a device does not learn */
	f = wrap(&in, VNI, true);
	assert_opened(&f, &in, 1);
}

static int clear_v4(void **state)
{
	clear_map(skel->maps.stations);
	v6 = false;
	return clear(state);
}

static int clear_v6(void **state)
{
	clear_map(skel->maps.stations);
	v6 = true;
	return clear(state);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, clear_v4), cmocka_unit_test_setup(name, clear_v6)
	static const struct CMUnitTest tests[] = {
		T(test_claimed),     T(test_group),
		T(test_unclaimed),   T(test_forged),
		T(test_other_inner), T(test_no_sum_and_family),
		T(test_congestion),  T(test_truncated_at_each_byte),
		T(test_bound),
	};

	if (!may_load())
		return 77;
	return cmocka_run_group_tests(tests, load, unload);
}
