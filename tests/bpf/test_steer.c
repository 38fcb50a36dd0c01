/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program: which socket a packet belongs to, its verdict, its counter, and the record
 * in front of it. */
#include "rig.h"

static void test_not_ip(void **state)
{
	static const uint8_t arp[28];
	struct frame f;

	eth(&f);
	put16(&f, ETH_P_ARP);
	put(&f, arp, sizeof(arp));
	assert_pass(&f, pass_not_ip);
}

static void test_miss(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);

	assert_pass(&f, pass_miss);
	f = udp6(A6, SPORT, DPORT);
	assert_pass(&f, pass_miss);
	/* The port is claimed, but not at this address, nor for TCP. */
	endpoint("10.0.0.9", 1);
	flow(A4, "10.0.0.77", IPPROTO_UDP, 2);
	f = udp4(A4, SPORT, DPORT);
	assert_pass(&f, pass_miss);
	eth(&f);
	ip4(&f, "10.0.0.9", IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	assert_pass(&f, pass_miss);
}

static void test_flow_before_endpoint_before_wildcard(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT), other = udp4(A4, SPORT + 1, DPORT);
	struct frame elsewhere = udp4("10.0.0.3", SPORT, DPORT);

	flow(A4, B4, IPPROTO_UDP, 1);
	endpoint(A4, 2);
	endpoint("0.0.0.0", 3);
	local(A4);
	local("10.0.0.3");
	assert_steered(&f, redirect_flow, 1);
	assert_steered(&other, redirect_endpoint, 2);
	assert_steered(&elsewhere, redirect_wildcard, 3);
}

static void test_wildcard_is_for_local_addresses_only(void **state)
{
	struct frame f4 = udp4("10.0.0.3", SPORT, DPORT), f6 = udp6("fd00::3", SPORT, DPORT);

	endpoint("0.0.0.0", 1);
	endpoint("::", 2);
	assert_pass(&f4, pass_miss);
	assert_pass(&f6, pass_miss);
	local("10.0.0.3");
	local("fd00::3");
	assert_steered(&f4, redirect_wildcard, 1);
	assert_steered(&f6, redirect_wildcard, 2);
}

static void test_ipv6(void **state)
{
	struct frame f = udp6(A6, SPORT, DPORT);
	struct sl_meta m;

	endpoint(A6, 5);
	m = assert_steered(&f, redirect_endpoint, 5);
	assert_int_equal(m.proto, IPPROTO_UDP);
	flow(A6, B6, IPPROTO_UDP, 6);
	assert_steered(&f, redirect_flow, 6);
}

static void test_tcp(void **state)
{
	struct sl_claim c = claim_of(4);
	struct frame f;
	struct sl_meta m;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	m = assert_steered(&f, redirect_endpoint, 4);
	assert_int_equal(m.proto, IPPROTO_TCP);
	flow(A4, B4, IPPROTO_TCP, 9);
	assert_steered(&f, redirect_flow, 9);
}

/* A connection of a claimed port that is the kernel's. */
static void test_flow_that_passes(void **state)
{
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = IPPROTO_TCP};
	struct sl_claim c = claim_of(4), pass = {.flags = SL_CLAIM_PASS};
	struct frame f;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	addr(k.local, A4);
	addr(k.remote, B4);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &pass, 0), 0);
	set_bit(IPPROTO_TCP, DPORT, SL_L4_PORT_FLOW);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	assert_pass(&f, pass_miss);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT + 1, DPORT);
	assert_steered(&f, redirect_endpoint, 4);
}

/* A flow's claim tells whether the peer has acknowledged something; a SYN, an answer to one, and a
 * reset are no sign of a connection. */
static void test_peer_that_is_heard(void **state)
{
	static const struct {
		bool syn, ack, rst, heard;
	} segments[] = {{true, false, false, false}, {true, true, false, false},
			{false, true, true, false},  {false, false, false, false},
			{false, true, false, true},  {true, false, false, true}};
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = IPPROTO_TCP};
	struct sl_claim c;
	struct tcphdr *t;
	struct frame f;

	addr(k.local, A4);
	addr(k.remote, B4);
	flow(A4, B4, IPPROTO_TCP, 9);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	t = (struct tcphdr *)(f.b + f.l4);
	for (unsigned i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
		t->syn = segments[i].syn;
		t->ack = segments[i].ack;
		t->rst = segments[i].rst;
		assert_steered(&f, redirect_flow, 9);
		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.flows), &k, &c), 0);
		assert_int_equal(!!(c.flags & SL_CLAIM_HEARD), segments[i].heard);
	}
}

/* An error from a router about a segment (or datagram) that DPORT sent to SPORT. */
static struct frame icmp(bool v6, uint8_t type, uint8_t proto)
{
	uint8_t head[8] = {type}, ports_seq[8] = {0};
	struct frame f, inner;

	eth(&f);
	eth(&inner);
	if (v6) {
		ip6(&inner, B6, proto);
		memcpy(inner.b + inner.l3 + 8, inner.b + inner.l3 + 24, 16);
		inet_pton(AF_INET6, A6, inner.b + inner.l3 + 8);
		inet_pton(AF_INET6, B6, inner.b + inner.l3 + 24);
		ip6(&f, A6, IPPROTO_ICMPV6);
	} else {
		ip4(&inner, B4, proto, NULL, 0);
		inet_pton(AF_INET, A4, inner.b + inner.l3 + 12);
		ip4(&f, A4, IPPROTO_ICMP, NULL, 0);
	}
	f.l4 = f.len;
	put(&f, head, 8);
	put(&f, inner.b + inner.l3, inner.len - inner.l3);
	ports_seq[0] = DPORT >> 8;
	ports_seq[1] = DPORT & 0xff;
	ports_seq[2] = SPORT >> 8;
	ports_seq[3] = SPORT & 0xff;
	put(&f, ports_seq, 8);
	return f;
}

static void test_icmp_follows_the_flow(void **state)
{
	static const uint8_t types[][2] = {{0, 3}, {0, 11}, {1, 1}, {1, 2}, {1, 3}};
	struct frame f;
	struct sl_meta m;

	flow(A4, B4, IPPROTO_TCP, 1);
	flow(A6, B6, IPPROTO_TCP, 2);
	for (unsigned i = 0; i < sl_array_len(types); i++) {
		bool v6 = types[i][0];

		f = icmp(v6, types[i][1], IPPROTO_TCP);
		m = assert_steered(&f, redirect_flow, v6 ? 2 : 1);
		assert_int_equal(m.proto, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
		for (f.len--; f.len >= 14; f.len--) {
			struct result r = run(&f);

			assert_int_equal(r.verdict, XDP_PASS);
			assert_int_equal(r.c.pass_unknown + r.c.pass_not_ip, 1);
		}
	}
}

static void test_icmp_to_endpoints(void **state)
{
	struct sl_claim c = claim_of(3), g = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct frame f = icmp(false, 3, IPPROTO_TCP), seg;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	assert_steered(&f, redirect_endpoint, 3);
	add_endpoint("::", DPORT, IPPROTO_TCP, 0, &c);
	f = icmp(true, 1, IPPROTO_TCP);
	assert_pass(&f, pass_unknown);
	local(A6);
	assert_steered(&f, redirect_wildcard, 3);
	/* of a group: the socket that has the connection */
	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &g);
	set_group(3, 8);
	f = icmp(false, 3, IPPROTO_TCP);
	eth(&seg);
	ip4(&seg, A4, IPPROTO_TCP, NULL, 0);
	tcp(&seg, SPORT, DPORT);
	assert_steered(&f, redirect_endpoint, run(&seg).meta.slot);
}

/* UDP's errors are the kernel's, which has the shadow; so is what asks, or is nobody's. */
static void test_icmp_that_passes(void **state)
{
	struct sl_claim pass = {.flags = SL_CLAIM_PASS};
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = IPPROTO_TCP};
	struct frame f;

	flow(A4, B4, IPPROTO_UDP, 1);
	endpoint(A4, 2);
	f = icmp(false, 3, IPPROTO_UDP);
	assert_pass(&f, pass_unknown);
	f = icmp(false, 3, IPPROTO_TCP);
	assert_pass(&f, pass_unknown);
	flow(A4, B4, IPPROTO_TCP, 3);
	flow(A6, B6, IPPROTO_TCP, 4);
	f = icmp(false, 8, IPPROTO_TCP); /* echo */
	assert_pass(&f, pass_unknown);
	f = icmp(true, 135, IPPROTO_TCP); /* neighbour solicitation */
	assert_pass(&f, pass_unknown);
	f = icmp(true, 1, IPPROTO_TCP);
	f.b[f.l4 + 8] = 0x40; /* another version within */
	assert_pass(&f, pass_unknown);
	f = icmp(false, 3, IPPROTO_TCP);
	f.b[f.l4 + 8 + 7] = 1; /* a later fragment */
	assert_pass(&f, pass_unknown);
	f = icmp(false, 3, IPPROTO_TCP);
	f.b[5] ^= 1; /* another station */
	assert_pass(&f, pass_unknown);
	addr(k.local, A4);
	addr(k.remote, B4);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &pass, 0), 0);
	f = icmp(false, 3, IPPROTO_TCP);
	assert_pass(&f, pass_unknown);
}

static void test_no_receiver(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);
	struct sl_claim c = claim_of(1);

	c.lane = LANE + 1;
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	assert_pass(&f, pass_no_receiver);
	c.lane = SL_MAX_XSKS + 5;
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	assert_pass(&f, pass_no_receiver);
	/* A queue that is not covered. */
	endpoint(A4, 1);
	set_config(0);
	assert_pass(&f, pass_no_receiver);
	set_config(1);
	assert_steered(&f, redirect_endpoint, 1);
}

static void test_stamp(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);
	struct sl_claim c = claim_of(1);
	struct timespec ts;
	struct sl_meta m;
	struct result r;
	uint64_t before, after;

	endpoint(A4, 1);
	m = assert_steered(&f, redirect_endpoint, 1);
	assert_int_equal(m.flags, 0);
	c.flags = SL_CLAIM_STAMP;
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	before = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	r = run(&f);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	after = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	assert_int_equal(r.verdict, XDP_REDIRECT);
	assert_int_equal(r.meta.flags, SL_META_SW);
	assert_in_range(r.stamp_ns, before, after);
}

static void test_group_spreads_by_flow(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	unsigned hits[4] = {0};

	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	set_group(3, 4);
	for (unsigned i = 0; i < 1000; i++) {
		struct frame f = udp4(A4, (uint16_t)(20000 + i), DPORT);
		struct result r = run(&f), again = run(&f);

		assert_int_equal(r.verdict, XDP_REDIRECT);
		assert_in_range(r.meta.slot, 0, 3);
		assert_int_equal(r.meta.slot, again.meta.slot);
		hits[r.meta.slot]++;
	}
	/* 250 expected, standard deviation 14. */
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(hits[i], 180, 320);
}

/* Flows that one hash sends to one socket are spread by the same program with another key: who does
 * not know the key cannot choose them. */
static void test_group_hash_has_a_key(void **state)
{
	static const uint64_t other[] = {5, 0x1234567890abcdef, 0x9e3779b97f4a7c15, 3,
					 0xd6e8feb86659fd93};
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	uint64_t key[10] = {0};
	uint16_t chosen[64];
	unsigned n = 0, still = 0;
	struct frame f;

	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	set_group(3, 4);
	for (uint16_t i = 0; n < sl_array_len(chosen); i++) {
		f = udp4(A4, (uint16_t)(20000 + i), DPORT);
		if (run(&f).meta.slot == 2)
			chosen[n++] = (uint16_t)(20000 + i);
	}
	unload(NULL);
	memcpy(key, other, sizeof(other));
	hash_key = key;
	assert_int_equal(load(NULL), 0);
	hash_key = NULL;
	clear(NULL);
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	set_group(3, 4);
	for (unsigned i = 0; i < n; i++) {
		f = udp4(A4, chosen[i], DPORT);
		still += run(&f).meta.slot == 2;
	}
	assert_in_range(still, 4, 30); /* 16 expected */
}

static void seg_of(struct frame *f, uint16_t sport, bool syn)
{
	eth(f);
	ip4(f, A4, IPPROTO_TCP, NULL, 0);
	tcp(f, sport, DPORT);
	((struct tcphdr *)(f->b + f->l4))->syn = syn;
	((struct tcphdr *)(f->b + f->l4))->ack = !syn;
}

/* A member that is away keeps the flows that it has, answered or not, and gets no new ones. */
static void test_group_away(void **state)
{
	struct sl_claim g = {.slot = 3, .flags = SL_CLAIM_GROUP};
	uint32_t had[32], index = 3;
	struct sl_group group;
	struct frame f;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &g);
	set_group(3, 2);
	for (uint16_t i = 0; i < 32; i++) {
		seg_of(&f, 1000 + i, true);
		had[i] = run(&f).meta.slot;
	}
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.groups), &index, &group), 0);
	group.open = 1;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &group, 0), 0);
	for (uint16_t i = 0; i < 32; i++) {
		seg_of(&f, 1000 + i, false);
		assert_int_equal(run(&f).meta.slot, had[i]);
		seg_of(&f, 2000 + i, true);
		assert_int_equal(run(&f).meta.slot, group.target[0].slot);
		seg_of(&f, 1000 + i, true);
		assert_int_equal(run(&f).meta.slot, group.target[0].slot);
	}
	/* All of them: the kernel's. */
	group.open = 0;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &group, 0), 0);
	seg_of(&f, 3000, true);
	assert_pass(&f, pass_miss);
	seg_of(&f, 1000, false);
	assert_int_equal(run(&f).meta.slot, group.target[0].slot);
}

/* SYNs of other flows, as many as `picked` has places and more, of many addresses. */
static void flood(uint32_t n)
{
	struct frame f;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.b, .repeat = 1);

	seg_of(&f, 1, true);
	opts.data_size_in = f.len;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(f.b + f.l3 + 12, &(uint32_t){htonl(0x0b000000 + i)}, 4);
		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts),
				 0);
		assert_int_equal(opts.retval, XDP_REDIRECT);
	}
}

/* A flood of SYNs makes nobody forget where a connection is, whatever happens to the group then;
 * and a handshake that is pushed out ends at the same member. */
static void test_group_keeps_flows_in_a_flood(void **state)
{
	struct sl_claim g = {.slot = 3, .flags = SL_CLAIM_GROUP};
	uint32_t had[32], late[32], index = 3;
	struct sl_group group;
	struct frame f;

	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &g);
	set_group(3, 2);
	for (uint16_t i = 0; i < 32; i++) {
		seg_of(&f, 4000 + i, true);
		had[i] = run(&f).meta.slot;
		seg_of(&f, 4000 + i, false);
		assert_int_equal(run(&f).meta.slot, had[i]);
		seg_of(&f, 5000 + i, true);
		late[i] = run(&f).meta.slot;
	}
	flood(SL_MAX_PICKED * 6);
	for (uint16_t i = 0; i < 32; i++) {
		seg_of(&f, 5000 + i, false);
		assert_int_equal(run(&f).meta.slot, late[i]);
	}
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.groups), &index, &group), 0);
	group.open = 1;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &group, 0), 0);
	for (uint16_t i = 0; i < 32; i++) {
		seg_of(&f, 4000 + i, false);
		assert_int_equal(run(&f).meta.slot, had[i]);
	}
}

static void test_group_empty_or_wrong_passes(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct frame f = udp4(A4, SPORT, DPORT);

	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	set_group(3, 0);
	assert_pass(&f, pass_miss);
	c.slot = SL_MAX_GROUPS + 1;
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	assert_pass(&f, pass_miss);
}

/* A narrowed target at that place from the end. */
static void narrowed(struct sl_group *g, uint32_t i, int dscp, uint32_t label, uint32_t mask)
{
	struct sl_narrowed *n = &g->narrow[i];

	if (dscp >= 0) {
		n->mask.dscp = 0x3f;
		n->marks.dscp = (uint32_t)dscp & 0x3f;
	}
	n->marks.label = label & 0xfffff;
	n->mask.label = mask & 0xfffff;
	n->mask.v4 = mask != 0;
	n->alike = 1;
	g->narrowed = i + 1;
}

static void set_narrowed_group(const struct sl_group *g)
{
	uint32_t index = 3;

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, g, 0), 0);
}

static struct frame marked4(uint16_t sport, uint8_t dscp)
{
	struct frame f = udp4(A4, sport, DPORT);

	f.b[f.l3 + 1] = (uint8_t)(dscp << 2 | (sport & 3)); /* ECN is no part of it */
	return f;
}

static struct frame marked6(uint8_t dscp, uint32_t label)
{
	struct frame f = udp6(A6, SPORT, DPORT);
	uint32_t first = htonl(6u << 28 | (uint32_t)dscp << 22 | 1 << 20 | label);

	memcpy(f.b + f.l3, &first, 4);
	return f;
}

static uint32_t slot_of(struct frame f)
{
	struct result r = run(&f);

	return r.verdict == XDP_REDIRECT ? r.meta.slot : 1000;
}

/* Narrowed targets get what fits them, the one with most bits first; the rest goes to the others,
 * and without others to the kernel. */
static void test_narrowed(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct sl_group g = {.count = 4, .open = 1};

	for (uint32_t i = 0; i < 4; i++)
		g.target[i] = claim_of(i);
	narrowed(&g, 0, 46, 0xabc00, 0xfff00); /* target 1 */
	narrowed(&g, 1, -1, 0xabcde, 0xfffff); /* 2 */
	narrowed(&g, 2, 46, 0, 0);             /* 3 */
	set_narrowed_group(&g);
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	add_endpoint(A6, DPORT, IPPROTO_UDP, 0, &c);
	for (uint16_t i = 0; i < 8; i++)
		for (uint8_t dscp = 0; dscp < 64; dscp++)
			assert_int_equal(slot_of(marked4(1000 + i, dscp)), dscp == 46 ? 3 : 0);
	assert_int_equal(slot_of(marked6(46, 0xabc55)), 1);
	assert_int_equal(slot_of(marked6(46, 0xabcde)), 1);
	assert_int_equal(slot_of(marked6(0, 0xabcde)), 2);
	assert_int_equal(slot_of(marked6(0, 0xabcdf)), 0);
	assert_int_equal(slot_of(marked6(46, 0x12345)), 3);
	/* No socket gets the rest. */
	g.open = 0;
	g.count = 3;
	memmove(g.target, g.target + 1, 3 * sizeof(g.target[0]));
	set_narrowed_group(&g);
	assert_int_equal(slot_of(marked6(46, 0x12345)), 3);
	assert_int_equal(slot_of(marked4(1, 0)), 1000);
	assert_int_equal(slot_of(marked6(0, 0xabcdf)), 1000);
}

static void test_narrowed_alike(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct sl_group g = {.count = 5, .open = 1};
	unsigned hits[5] = {0};

	for (uint32_t i = 0; i < 5; i++)
		g.target[i] = claim_of(i);
	for (uint32_t i = 0; i < 4; i++) {
		narrowed(&g, i, 10, 0, 0);
		g.narrow[i].alike = 4 - i;
	}
	set_narrowed_group(&g);
	add_endpoint(A4, DPORT, IPPROTO_UDP, 0, &c);
	for (uint16_t i = 0; i < 1000; i++)
		hits[slot_of(marked4(20000 + i, 10))]++;
	assert_int_equal(hits[0], 0);
	for (unsigned i = 1; i < 5; i++)
		assert_in_range(hits[i], 180, 320);
}

/* The first segment of a connection decides, the marks of later ones count no more. */
static void test_narrowed_connection(void **state)
{
	struct sl_claim c = {.slot = 3, .flags = SL_CLAIM_GROUP};
	struct sl_group g = {.count = 2, .open = 1};
	struct frame f;

	g.target[0] = claim_of(0);
	g.target[1] = claim_of(1);
	narrowed(&g, 0, 46, 0, 0);
	set_narrowed_group(&g);
	add_endpoint(A4, DPORT, IPPROTO_TCP, 0, &c);
	seg_of(&f, 6000, true);
	f.b[f.l3 + 1] = 46 << 2;
	assert_int_equal(run(&f).meta.slot, 1);
	seg_of(&f, 6000, false);
	assert_int_equal(run(&f).meta.slot, 1);
	seg_of(&f, 6001, true);
	assert_int_equal(run(&f).meta.slot, 0);
	seg_of(&f, 6001, false);
	f.b[f.l3 + 1] = 46 << 2;
	assert_int_equal(run(&f).meta.slot, 0);
}

static void test_multicast_endpoint(void **state)
{
	struct frame f = udp4("239.1.2.3", SPORT, DPORT);

	endpoint("0.0.0.0", 1);
	assert_pass(&f, pass_miss); /* a group is never in `locals` */
	endpoint("239.1.2.3", 2);
	assert_steered(&f, redirect_endpoint, 2);
}

/* No assertion on time, only the figure: foreign traffic must be cheap. */
static void test_cost_of_a_miss(void **state)
{
	struct frame f = udp4(A4, SPORT, DPORT);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.b, .data_size_in = f.len,
		    .repeat = 1000000);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts), 0);
	assert_int_equal(opts.retval, XDP_PASS);
	print_message("           a miss costs %u ns\n", opts.duration);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, clear)
	static const struct CMUnitTest tests[] = {
		T(test_not_ip),
		T(test_miss),
		T(test_flow_before_endpoint_before_wildcard),
		T(test_wildcard_is_for_local_addresses_only),
		T(test_ipv6),
		T(test_tcp),
		T(test_flow_that_passes),
		T(test_peer_that_is_heard),
		T(test_icmp_follows_the_flow),
		T(test_icmp_to_endpoints),
		T(test_icmp_that_passes),
		T(test_no_receiver),
		T(test_stamp),
		T(test_group_spreads_by_flow),
		T(test_group_hash_has_a_key),
		T(test_group_away),
		T(test_group_keeps_flows_in_a_flood),
		T(test_group_empty_or_wrong_passes),
		T(test_narrowed),
		T(test_narrowed_alike),
		T(test_narrowed_connection),
		T(test_multicast_endpoint),
		T(test_cost_of_a_miss),
	};

	if (!may_load())
		return 77;
	return run_both_ways(tests);
}
