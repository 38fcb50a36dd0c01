/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program with a driver's hints, which are not in the frame: hardware time stamps, and
 * VLAN tags that the driver took off. */
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
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "steer.h"
#include "steer_fake.skel.h"

#define LANE 8
#define PORT 5000

static struct steer_fake *skel;
static int xsk = -1;
static const uint8_t addr4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

struct frame {
	uint8_t b[128];
	unsigned len;
};

static void put16(struct frame *f, uint16_t v)
{
	v = htons(v);
	memcpy(f->b + f->len, &v, 2);
	f->len += 2;
}

/* Tags as TPID << 16 | TCI, ended by 0. */
static struct frame frame(const uint32_t *tags)
{
	struct frame f = {.b = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}, .len = 12};
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
	struct udphdr udp = {.source = htons(7777), .dest = htons(PORT), .len = htons(8)};

	for (; tags && *tags; tags++) {
		put16(&f, (uint16_t)(*tags >> 16));
		put16(&f, (uint16_t)*tags);
	}
	put16(&f, ETH_P_IP);
	inet_pton(AF_INET, "10.0.0.2", &ip.saddr);
	inet_pton(AF_INET, "10.0.0.1", &ip.daddr);
	memcpy(f.b + f.len, &ip, sizeof(ip));
	memcpy(f.b + f.len + sizeof(ip), &udp, sizeof(udp));
	f.len += sizeof(ip) + sizeof(udp);
	return f;
}

static void claim(uint32_t vlan, uint32_t slot, uint32_t flags)
{
	struct sl_endpoint_key k = {.local_port = PORT, .proto = IPPROTO_UDP, .vlan = vlan};
	struct sl_claim c = {.lane = LANE, .slot = slot, .gen = 1, .flags = flags};
	static uint64_t word;
	uint32_t port = PORT;

	memcpy(k.local, addr4, 16);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.endpoints), &k, &c, 0), 0);
	word = (word + SL_L4_PORT_GEN) | SL_L4_PORT_ENDPOINT;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.ports), &port, &word, 0), 0);
}

struct result {
	bool passed;
	uint32_t meta_len;
	struct sl_meta_hw m; /* its end, if there is less */
};

static struct result run(const struct frame *f)
{
	struct xdp_md in = {.data_end = f->len, .ingress_ifindex = 1}, ctx = {0};
	uint8_t out[256];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &ctx, .ctx_size_out = sizeof(ctx),
		    .repeat = 1);
	struct result r = {0};

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.steer), &opts), 0);
	r.passed = opts.retval == XDP_PASS;
	if (r.passed)
		return r;
	assert_int_equal(opts.retval, XDP_REDIRECT);
	assert_memory_equal(out + ctx.data, f->b, f->len);
	r.meta_len = ctx.data;
	assert_in_range(r.meta_len, sizeof(struct sl_meta), sizeof(r.m));
	memcpy((uint8_t *)&r.m + sizeof(r.m) - r.meta_len, out, r.meta_len);
	return r;
}

static int setup(void **state)
{
	skel->bss->fake_stamp = 0;
	skel->bss->fake_stamp_err = skel->bss->fake_tag_err = -ENODATA;
	return 0;
}

static int teardown(void **state)
{
	int fd = bpf_map__fd(skel->maps.endpoints);
	struct sl_endpoint_key k;

	while (!bpf_map_get_next_key(fd, NULL, &k))
		bpf_map_delete_elem(fd, &k);
	return 0;
}

static void test_stamp_of_the_hardware(void **state)
{
	struct frame f = frame(NULL);
	struct result r;

	claim(0, 1, SL_CLAIM_STAMP);
	skel->bss->fake_stamp = 1ull << 60 | 7;
	skel->bss->fake_stamp_err = 0;
	r = run(&f);
	assert_int_equal(r.meta_len, sizeof(struct sl_meta_hw));
	assert_int_equal(r.m.sw.meta.magic, SL_META_MAGIC);
	assert_int_equal(r.m.sw.meta.flags, SL_META_HW | SL_META_SW);
	assert_int_equal(r.m.hw_ns, 1ull << 60 | 7);
	assert_true(r.m.sw.stamp_ns != 0);
	claim(0, 1, SL_CLAIM_STAMP | SL_CLAIM_VLAN(63)); /* stamps beside the device's number */
	r = run(&f);
	assert_int_equal(r.m.sw.meta.flags & 3, SL_META_HW | SL_META_SW);
	assert_int_equal(SL_META_VLAN_NR(r.m.sw.meta.flags), 63);
	claim(0, 1, 0); /* nobody wants one */
	r = run(&f);
	assert_int_equal(r.meta_len, sizeof(struct sl_meta));
	assert_int_equal(r.m.sw.meta.flags, 0);
}

/* An error, or the 0 of veth: this packet has none. */
static void test_no_stamp_of_the_hardware(void **state)
{
	struct frame f = frame(NULL);
	struct result r;

	claim(0, 1, SL_CLAIM_STAMP);
	for (int err = -ENODATA; err <= 0; err -= err ? err : -1) {
		skel->bss->fake_stamp = err ? 5 : 0;
		skel->bss->fake_stamp_err = err;
		r = run(&f);
		assert_int_equal(r.meta_len, sizeof(struct sl_meta_stamped));
		assert_int_equal(r.m.sw.meta.flags, SL_META_SW);
	}
}

/* The driver says whether the checksum is left to a device; without an skb it says nothing. */
static void test_unfinished_sums(void **state)
{
	struct frame f = frame(NULL);

	claim(0, 1, 0);
	for (unsigned told = 0; told < 2; told++)
		for (uint8_t summed = 0; summed < 4; summed++) {
			skel->bss->fake_buff.skb = told;
			skel->bss->fake_buff.bits = summed | 0xa0;
			assert_int_equal(run(&f).m.sw.meta.proto,
					 IPPROTO_UDP | (told && summed != 3 ? SL_META_SUMMED : 0));
		}
	skel->bss->fake_buff.skb = 0;
}

static void hide(uint16_t proto, uint16_t tci)
{
	skel->bss->fake_proto = htons(proto);
	skel->bss->fake_tci = tci;
	skel->bss->fake_tag_err = 0;
}

static void assert_slot(const struct frame *f, uint32_t slot)
{
	struct result r = run(f);

	assert_int_equal(!r.passed, slot != 0);
	if (slot)
		assert_int_equal(r.m.sw.meta.slot, slot);
}

/* In each VLAN the same address belongs to another host. */
static void test_hidden_tag(void **state)
{
	static const uint32_t inner[] = {ETH_P_8021Q << 16 | 7, 0};
	static const uint32_t two[] = {ETH_P_8021Q << 16 | 8, ETH_P_8021Q << 16 | 7, 0};
	struct frame plain = frame(NULL), tagged = frame(inner), more = frame(two);

	claim(0, 1, 0);
	claim(7, 2, 0);
	claim(SL_VLAN_AD | 7, 3, 0);
	claim(100 << 16 | 7, 4, 0);
	claim(8 << 16 | 7, 5, 0);
	assert_slot(&plain, 1);
	assert_slot(&tagged, 2);
	assert_slot(&more, 5);
	hide(ETH_P_8021Q, 0xe007); /* its priority says nothing of the VLAN */
	assert_slot(&plain, 2);
	hide(ETH_P_8021AD, 7);
	assert_slot(&plain, 3);
	hide(ETH_P_8021Q, 9);
	assert_slot(&plain, 0);
	hide(ETH_P_8021Q, 0xe000); /* a priority and no VLAN */
	assert_slot(&plain, 1);
	hide(ETH_P_8021Q, 100);
	assert_slot(&tagged, 4);
	assert_slot(&more, 0); /* a third one */
}

static int load(void **state)
{
	struct sl_port_config cfg = {.abi = SL_STEER_ABI,
				     .nqueues = 1,
				     .room = 1024,
				     .mac = {htons(0x200), 0, htons(1)}};
	uint32_t entries = 64, index = LANE, zero = 0;

	skel = steer_fake__open_and_load();
	xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (!skel || xsk < 0 || setsockopt(xsk, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.lanes), &index, &xsk, 0) ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.config), &zero, &cfg, 0))
		return -1;
	return 0;
}

static int unload(void **state)
{
	close(xsk);
	steer_fake__destroy(skel);
	return 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_stamp_of_the_hardware),
		T(test_no_stamp_of_the_hardware),
		T(test_unfinished_sums),
		T(test_hidden_tag),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
