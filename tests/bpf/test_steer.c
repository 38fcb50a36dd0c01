/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program under BPF_PROG_TEST_RUN: each verdict, its counter, and the record that is
 * put in front of a packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "steer.h"
#include "steer.skel.h"

#define LANE  8 /* the XSKMAP entry with a receiver */
#define SPORT 7777
#define DPORT 5000

static struct steer *skel;
static int xsk = -1;
static uint64_t *ports;
static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const char *const A4 = "10.0.0.1", *const B4 = "10.0.0.2";
static const char *const A6 = "fd00::1", *const B6 = "fd00::2";

/* Frames ----------------------------------------------------------------------------------------
 */

struct frame {
	uint8_t b[512];
	unsigned len, l3, l4;
};

static void put(struct frame *f, const void *data, unsigned n)
{
	memcpy(f->b + f->len, data, n);
	f->len += n;
}

static void put16(struct frame *f, uint16_t v)
{
	v = htons(v);
	put(f, &v, 2);
}

static void eth(struct frame *f)
{
	memset(f, 0, sizeof(*f));
	put(f, our_mac, 6);
	put(f, peer_mac, 6);
}

static void tag(struct frame *f, uint16_t tpid, uint16_t tci)
{
	put16(f, tpid);
	put16(f, tci);
}

static void ip4(struct frame *f, const char *dst, uint8_t proto, const void *opts, unsigned optlen)
{
	struct iphdr ip = {.version = 4, .ihl = 5 + optlen / 4, .ttl = 64, .protocol = proto};

	put16(f, ETH_P_IP);
	inet_pton(AF_INET, B4, &ip.saddr);
	inet_pton(AF_INET, dst, &ip.daddr);
	f->l3 = f->len;
	put(f, &ip, sizeof(ip));
	put(f, opts, optlen);
}

static void ip6(struct frame *f, const char *dst, uint8_t next)
{
	struct ip6_hdr ip = {.ip6_flow = htonl(6u << 28), .ip6_nxt = next, .ip6_hlim = 64};

	put16(f, ETH_P_IPV6);
	inet_pton(AF_INET6, B6, &ip.ip6_src);
	inet_pton(AF_INET6, dst, &ip.ip6_dst);
	f->l3 = f->len;
	put(f, &ip, sizeof(ip));
}

static void udp(struct frame *f, uint16_t sport, uint16_t dport)
{
	f->l4 = f->len;
	put16(f, sport);
	put16(f, dport);
	put16(f, 8 + 5);
	put16(f, 0);
	put(f, "hello", 5);
}

static void tcp(struct frame *f, uint16_t sport, uint16_t dport)
{
	struct tcphdr t = {.source = htons(sport), .dest = htons(dport), .doff = 5, .syn = 1};

	f->l4 = f->len;
	put(f, &t, sizeof(t));
}

static struct frame udp4(const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f;

	eth(&f);
	ip4(&f, dst, IPPROTO_UDP, NULL, 0);
	udp(&f, sport, dport);
	return f;
}

static struct frame udp6(const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f;

	eth(&f);
	ip6(&f, dst, IPPROTO_UDP);
	udp(&f, sport, dport);
	return f;
}

/* Running ---------------------------------------------------------------------------------------
 */

struct result {
	int verdict;
	struct sl_counters c; /* what this run added */
	struct sl_meta meta;  /* when it was redirected */
	uint64_t stamp_ns;
	uint8_t out[1024];
	unsigned out_len;
};

static struct sl_counters counters(void)
{
	struct sl_counters per_cpu[libbpf_num_possible_cpus()], sum = {0};
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.counters), &zero, per_cpu), 0);
	for (int i = 0; i < libbpf_num_possible_cpus(); i++) {
		for (unsigned k = 0; k < sizeof(sum) / 8; k++)
			((uint64_t *)&sum)[k] += ((uint64_t *)&per_cpu[i])[k];
	}
	return sum;
}

static struct result run(const struct frame *f)
{
	struct sl_counters before = counters();
	struct result r = {.verdict = -1};
	struct xdp_md in = {.data_end = f->len, .ingress_ifindex = 1}, out = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
		    .data_out = r.out, .data_size_out = sizeof(r.out), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
		    .repeat = 1);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts), 0);
	r.verdict = (int)opts.retval;
	r.out_len = opts.data_size_out;
	r.c = counters();
	for (unsigned k = 0; k < sizeof(r.c) / 8; k++)
		((uint64_t *)&r.c)[k] -= ((uint64_t *)&before)[k];
	if (r.verdict == XDP_REDIRECT) {
		/* The record, a stamp perhaps in front of it, and the frame, unchanged. */
		assert_in_range(out.data, sizeof(struct sl_meta), sizeof(struct sl_meta_stamped));
		assert_int_equal(r.out_len, out.data + f->len);
		assert_memory_equal(r.out + out.data, f->b, f->len);
		memcpy(&r.meta, r.out + out.data - sizeof(r.meta), sizeof(r.meta));
		r.stamp_ns = 0;
		assert_int_equal(out.data, r.meta.flags ? sizeof(struct sl_meta_stamped)
							: sizeof(struct sl_meta));
		if (r.meta.flags)
			memcpy(&r.stamp_ns, r.out, sizeof(r.stamp_ns));
	} else {
		assert_int_equal(r.verdict, XDP_PASS);
		assert_int_equal(r.out_len, f->len);
		assert_memory_equal(r.out, f->b, f->len);
	}
	return r;
}

/* Passed, and counted as exactly this. */
static void assert_pass_(const struct frame *f, size_t counter, int line)
{
	struct result r = run(f);
	uint64_t want[sizeof(r.c) / 8] = {0};

	want[counter / 8] = 1;
	if (r.verdict != XDP_PASS || memcmp(&r.c, want, sizeof(want)))
		fail_msg("line %d: verdict %d, wrong counter", line, r.verdict);
}
#define assert_pass(f, name) assert_pass_((f), offsetof(struct sl_counters, name), __LINE__)

static struct sl_meta assert_steered_(const struct frame *f, size_t counter, uint32_t slot,
				      int line)
{
	struct result r = run(f);
	uint64_t want[sizeof(r.c) / 8] = {0};

	want[counter / 8] = 1;
	want[offsetof(struct sl_counters, redirect_bytes) / 8] = f->len;
	if (r.verdict != XDP_REDIRECT || memcmp(&r.c, want, sizeof(want)))
		fail_msg("line %d: verdict %d, wrong counter", line, r.verdict);
	if (r.meta.magic != SL_META_MAGIC || r.meta.slot != slot || r.meta.l3 != f->l3 ||
	    r.meta.l4 != f->l4 || r.meta.gen != slot + 100)
		fail_msg("line %d: wrong record: slot %u l3 %u l4 %u", line, r.meta.slot, r.meta.l3,
			 r.meta.l4);
	return r.meta;
}
#define assert_steered(f, name, slot)                                                              \
	assert_steered_((f), offsetof(struct sl_counters, name), (slot), __LINE__)

/* Claims ----------------------------------------------------------------------------------------
 */

static void addr(uint8_t a[16], const char *text)
{
	memset(a, 0, 16);
	if (strchr(text, ':')) {
		inet_pton(AF_INET6, text, a);
		return;
	}
	a[10] = a[11] = 0xff;
	inet_pton(AF_INET, text, a + 12);
}

static struct sl_claim claim_of(uint32_t slot)
{
	return (struct sl_claim){.lane = LANE, .slot = slot, .gen = slot + 100};
}

static void set_bit(uint8_t proto, uint16_t port, uint32_t bit)
{
	ports[port + (proto == IPPROTO_TCP ? 65536 : 0)] |= bit;
}

static void add_endpoint(const char *local, uint16_t port, uint8_t proto, uint32_t vlan,
			 const struct sl_claim *c)
{
	struct sl_endpoint_key k = {.local_port = port, .proto = proto, .vlan = vlan};
	bool any = !strcmp(local, "0.0.0.0") || !strcmp(local, "::");

	addr(k.local, local);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.endpoints), &k, c, 0), 0);
	set_bit(proto, port, any ? SL_PORT_WILDCARD : SL_PORT_ENDPOINT);
}

static void endpoint(const char *local, uint32_t slot)
{
	struct sl_claim c = claim_of(slot);

	add_endpoint(local, DPORT, IPPROTO_UDP, 0, &c);
}

static void flow(const char *local, const char *remote, uint8_t proto, uint32_t slot)
{
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = proto};
	struct sl_claim c = claim_of(slot);

	addr(k.local, local);
	addr(k.remote, remote);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &c, 0), 0);
	set_bit(proto, DPORT, SL_PORT_FLOW);
}

static void local(const char *text)
{
	struct sl_local_key k;
	uint32_t one = 1;

	addr(k.addr, text);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.locals), &k, &one, 0), 0);
}

static void set_group(uint32_t index, uint32_t count)
{
	struct sl_group g = {.count = count};

	for (uint32_t i = 0; i < sl_array_len(g.target); i++)
		g.target[i] = claim_of(i);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &g, 0), 0);
}

static void clear_map(struct bpf_map *map)
{
	uint8_t key[64];

	while (!bpf_map_get_next_key(bpf_map__fd(map), NULL, key))
		bpf_map_delete_elem(bpf_map__fd(map), key);
}

static void set_config(uint32_t nqueues)
{
	struct sl_port_config cfg = {.abi = SL_STEER_ABI, .nqueues = nqueues};
	uint32_t zero = 0;

	memcpy(cfg.mac, our_mac, 6);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.config), &zero, &cfg, 0), 0);
}

static int clear(void **state)
{
	clear_map(skel->maps.flows);
	clear_map(skel->maps.endpoints);
	clear_map(skel->maps.locals);
	memset(ports, 0, SL_MAX_PORTS * sizeof(*ports));
	set_config(1);
	return 0;
}

/* Tests -----------------------------------------------------------------------------------------
 */

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
	set_bit(IPPROTO_TCP, DPORT, SL_PORT_FLOW);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT, DPORT);
	assert_pass(&f, pass_miss);
	eth(&f);
	ip4(&f, A4, IPPROTO_TCP, NULL, 0);
	tcp(&f, SPORT + 1, DPORT);
	assert_steered(&f, redirect_endpoint, 4);
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
	static const uint8_t rr[40] = {7, 39, 4}, nops[40] = {[0 ... 39] = 1}, ra[4] = {148, 4},
			     end[4] = {0, 1, 2, 3}, mixed[12] = {1, 68, 4, 5, 0, 148, 4};
	static const uint8_t lsrr[8] = {131, 7, 4}, cipso[8] = {134, 8}, zero_len[4] = {7, 0},
			     too_long[4] = {7, 5, 4}, last[4] = {1, 1, 1, 7};
	struct frame f;

	endpoint(A4, 1);
#define good(o) (f = with_opts((o), sizeof(o)), assert_steered(&f, redirect_endpoint, 1))
#define bad(o)                                                                                     \
	do {                                                                                       \
		f = with_opts((o), sizeof(o));                                                     \
		assert_pass(&f, pass_unknown);                                                     \
	} while (0)
	good(rr);
	good(nops);
	good(ra);
	good(end);
	good(mixed);
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
	static const uint8_t all[5] = {IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_ROUTING,
				       IPPROTO_DSTOPTS, IPPROTO_DSTOPTS};
	static const uint8_t padn[6] = {1, 4}, pad1[6] = {0}, unknown00[6] = {0x1e, 4},
			     jumbo[6] = {0xc2, 4}, home[6] = {0xc9, 4}, calipso[6] = {7, 4},
			     beyond[6] = {1, 5}, short_of[6] = {1, 2, 0, 0, 1, 1},
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
	good6(routing, 1, done);
	bad6(all, 1, jumbo);
	bad6(all, 1, home);
	bad6(all, 1, calipso);
	bad6(all, 1, beyond);
	bad6(all, 1, short_of);
	bad6(routing, 1, left);
	bad6(auth, 1, padn);
	/* pad1 is also a routing header with no segments left. */
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
	static const uint8_t opts[8] = {1, 1, 7, 3, 4, 148, 3, 0};
	static const uint8_t types[3] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS},
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
	f.b[0] |= 1; /* multicast */
	assert_steered(&f, redirect_endpoint, 1);
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

static int load(void **state)
{
	uint32_t entries = 64, index = LANE;

	skel = steer__open_and_load();
	if (!skel)
		return -1;
	ports = mmap(NULL, SL_MAX_PORTS * sizeof(*ports), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(skel->maps.ports), 0);
	xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ports == MAP_FAILED || xsk < 0 ||
	    setsockopt(xsk, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.lanes), &index, &xsk, 0))
		return -1;
	return 0;
}

static int unload(void **state)
{
	munmap(ports, SL_MAX_PORTS * sizeof(*ports));
	close(xsk);
	steer__destroy(skel);
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN && !strstr(fmt, "skipping") ? vfprintf(stderr, fmt, ap) : 0;
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
		T(test_icmp_follows_the_flow),
		T(test_icmp_to_endpoints),
		T(test_icmp_that_passes),
		T(test_other_protocols_pass),
		T(test_fragments_pass),
		T(test_ipv4_options),
		T(test_ipv6_extension_headers),
		T(test_vlan),
		T(test_truncated),
		T(test_wrong_version_or_header_length),
		T(test_frames_for_another_station_pass),
		T(test_no_receiver),
		T(test_stamp),
		T(test_group_spreads_by_flow),
		T(test_group_empty_or_wrong_passes),
		T(test_multicast_endpoint),
		T(test_cost_of_a_miss),
	};

	if (geteuid()) {
		puts("skipped: loading BPF programs needs root");
		return 77;
	}
	libbpf_set_print(quiet);
	return cmocka_run_group_tests(tests, load, unload) ? 1 : 0;
}
