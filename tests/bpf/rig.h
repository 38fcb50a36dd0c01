/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program under BPF_PROG_TEST_RUN: runs, what is claimed, loading. With RIG_SKB it is
 * the one for tc, whose verdicts are told as XDP's. */
#ifndef BPF_RIG_H
#define BPF_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "frames.h"
#include "steer.h"
#ifdef RIG_SKB
#include "steer_skb.skel.h"
#else
#include "steer.skel.h"
#endif

#define LANE  8 /* the XSKMAP entry with a receiver */
#define SPORT 7777
#define DPORT 5000

#ifdef RIG_SKB
static struct steer_skb *skel;
#define RIG_PROG       skel->progs.steer_skb
#define steer__load    steer_skb__load
#define steer__open    steer_skb__open
#define steer__destroy steer_skb__destroy
#define RIG_NO_CONTEXT true
#define TC_REDIRECT    7u
#define RIG_VERDICT(got)                                                                           \
	((got) == TC_REDIRECT ? XDP_REDIRECT : (got) == UINT32_MAX ? XDP_PASS : (int)(got))
#else
static struct steer *skel;
#define RIG_PROG         skel->progs.steer
#define RIG_VERDICT(got) ((int)(got))
#define RIG_NO_CONTEXT   false
#endif
static int xsk = -1;
static uint64_t *ports;
static bool in_frame; /* the record is wanted there */
static uint16_t room = 1024;
#ifndef RIG_SKB
static bool frags; /* packets may lie in several buffers */
#endif
static const uint64_t *hash_key; /* of the groups; NULL: the one that the program comes with */

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

static inline struct sl_counters counters(void)
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

/* The record, a stamp perhaps in front of it, and the frame, unchanged. */
static inline void read_record(struct result *r, const struct frame *f, uint32_t off)
{
	struct sl_mark mark;
	uint32_t begin = 0;

	if (in_frame) {
		memcpy(&mark, r->out, sizeof(mark));
		assert_int_equal(off, 0); /* metadata: none */
		assert_int_equal(mark.magic, SL_MARK_MAGIC);
		begin = sizeof(mark);
		off = mark.len;
	}
	assert_in_range(off - begin, sizeof(struct sl_meta), sizeof(struct sl_meta_stamped));
	assert_int_equal(r->out_len, off + f->len);
	assert_memory_equal(r->out + off, f->b, f->len);
	memcpy(&r->meta, r->out + off - sizeof(r->meta), sizeof(r->meta));
	r->stamp_ns = 0;
	assert_int_equal(off - begin, r->meta.flags & SL_META_SW ? sizeof(struct sl_meta_stamped)
								 : sizeof(struct sl_meta));
	if (r->meta.flags & SL_META_SW)
		memcpy(&r->stamp_ns, r->out + begin, sizeof(r->stamp_ns));
}

static inline struct result run(const struct frame *f)
{
	struct sl_counters before = counters();
	struct result r = {.verdict = -1};
	struct xdp_md in = {.data_end = f->len, .ingress_ifindex = 1}, out = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->b, .data_size_in = f->len,
		    .data_out = r.out, .data_size_out = sizeof(r.out), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
		    .repeat = 1);

	if (RIG_NO_CONTEXT)
		opts.ctx_in = opts.ctx_out = NULL, opts.ctx_size_in = opts.ctx_size_out = 0;
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(RIG_PROG), &opts), 0);
	r.verdict = RIG_VERDICT(opts.retval);
	r.out_len = opts.data_size_out;
	r.c = counters();
	for (unsigned k = 0; k < sizeof(r.c) / 8; k++)
		((uint64_t *)&r.c)[k] -= ((uint64_t *)&before)[k];
	if (r.verdict == XDP_REDIRECT && !RIG_NO_CONTEXT) {
		read_record(&r, f, out.data);
	} else if (r.verdict != XDP_REDIRECT) {
		assert_int_equal(r.verdict, XDP_PASS);
		assert_int_equal(r.out_len, f->len);
		assert_memory_equal(r.out, f->b, f->len);
	}
	return r;
}

/* Passed, and counted as exactly this. */
static inline void assert_pass_(const struct frame *f, size_t counter, int line)
{
	struct result r = run(f);
	uint64_t want[sizeof(r.c) / 8] = {0};

	want[counter / 8] = 1;
	if (r.verdict != XDP_PASS || memcmp(&r.c, want, sizeof(want)))
		fail_msg("line %d: verdict %d, wrong counter", line, r.verdict);
}
#define assert_pass(f, name) assert_pass_((f), offsetof(struct sl_counters, name), __LINE__)

static inline struct sl_meta assert_steered_(const struct frame *f, size_t counter, uint32_t slot,
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

static inline void addr(uint8_t a[16], const char *text)
{
	memset(a, 0, 16);
	if (strchr(text, ':')) {
		inet_pton(AF_INET6, text, a);
		return;
	}
	a[10] = a[11] = 0xff;
	inet_pton(AF_INET, text, a + 12);
}

static inline struct sl_claim claim_of(uint32_t slot)
{
	return (struct sl_claim){.lane = LANE, .slot = slot, .gen = slot + 100};
}

static inline void set_bit(uint8_t proto, uint16_t port, uint32_t bit)
{
	uint64_t *word = &ports[port + (proto == IPPROTO_TCP ? 65536 : 0)];

	*word = (*word + SL_L4_PORT_GEN) | bit;
}

static inline void add_endpoint(const char *local, uint16_t port, uint8_t proto, uint32_t vlan,
				const struct sl_claim *c)
{
	struct sl_endpoint_key k = {.local_port = port, .proto = proto, .vlan = vlan};
	bool any = !strcmp(local, "0.0.0.0") || !strcmp(local, "::");

	addr(k.local, local);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.endpoints), &k, c, 0), 0);
	set_bit(proto, port, any ? SL_L4_PORT_WILDCARD : SL_L4_PORT_ENDPOINT);
}

static inline void endpoint(const char *local, uint32_t slot)
{
	struct sl_claim c = claim_of(slot);

	add_endpoint(local, DPORT, IPPROTO_UDP, 0, &c);
}

static inline void flow(const char *local, const char *remote, uint8_t proto, uint32_t slot)
{
	struct sl_flow_key k = {.local_port = DPORT, .remote_port = SPORT, .proto = proto};
	struct sl_claim c = claim_of(slot);

	addr(k.local, local);
	addr(k.remote, remote);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &k, &c, 0), 0);
	set_bit(proto, DPORT, SL_L4_PORT_FLOW);
}

static inline void local(const char *text)
{
	struct sl_local_key k;
	uint32_t one = 1;

	addr(k.addr, text);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.locals), &k, &one, 0), 0);
}

static inline void set_group(uint32_t index, uint32_t count)
{
	struct sl_group g = {.count = count, .open = count};

	for (uint32_t i = 0; i < sl_array_len(g.target); i++)
		g.target[i] = claim_of(i);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.groups), &index, &g, 0), 0);
}

static inline void clear_map(struct bpf_map *map)
{
	uint8_t key[64];

	while (!bpf_map_get_next_key(bpf_map__fd(map), NULL, key))
		bpf_map_delete_elem(bpf_map__fd(map), key);
}

static inline void set_config(uint32_t nqueues)
{
	struct sl_port_config cfg = {
		.abi = SL_STEER_ABI,
		.nqueues = nqueues,
		.in_frame = in_frame,
		.room = room,
	};
	uint32_t zero = 0;

	memcpy(cfg.mac, our_mac, 6);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.config), &zero, &cfg, 0), 0);
}

static inline int clear(void **state)
{
	clear_map(skel->maps.flows);
	clear_map(skel->maps.endpoints);
	clear_map(skel->maps.locals);
	for (uint32_t i = 0; i < SL_MAX_PORTS; i++)
		if (ports[i] & SL_L4_PORT_BITS)
			ports[i] = (ports[i] | SL_L4_PORT_BITS) + 1;
	set_config(1);
	return 0;
}

/* Loading -------------------------------------------------------------------------------------- */

/* The table of `picked`, which the broker makes. */
static inline int make_picked(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, SL_PICKED_FLOWS, sizeof(struct sl_flow_key),
				sizeof(struct sl_claim), SL_MAX_PICKED, NULL);
	uint32_t zero = 0;
	int err = fd < 0 ? -1 : bpf_map_update_elem(bpf_map__fd(skel->maps.picked), &zero, &fd, 0);

	close(fd);
	return err;
}

static inline int load(void **state)
{
	uint32_t entries = 64, index = LANE;

	skel = steer__open();
	if (!skel)
		return -1;
#ifndef RIG_SKB
	skel->rodata->has_frags = frags;
	if (frags)
		bpf_program__set_flags(skel->progs.steer, 1u << 5); /* BPF_F_XDP_HAS_FRAGS */
#endif
	if (hash_key)
		memcpy((void *)skel->rodata->hash_key, hash_key, sizeof(skel->rodata->hash_key));
	if (steer__load(skel) || make_picked())
		return -1;
	ports = mmap(NULL, SL_MAX_PORTS * sizeof(*ports), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(skel->maps.ports), 0);
	xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ports == MAP_FAILED || xsk < 0 ||
	    setsockopt(xsk, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)))
		return -1;
	/* (lo stands for the lane's private device: a test run sends nothing.) */
	return bpf_map_update_elem(bpf_map__fd(skel->maps.lanes), &index,
				   RIG_NO_CONTEXT ? &(int){1} : &xsk, 0);
}

static inline int unload(void **state)
{
	munmap(ports, SL_MAX_PORTS * sizeof(*ports));
	close(xsk);
	steer__destroy(skel);
	return 0;
}

/* With the record in metadata, and in the frame. */
#define run_both_ways(tests)                                                                       \
	({                                                                                         \
		int failed_ = cmocka_run_group_tests((tests), load, unload);                       \
		in_frame = true;                                                                   \
		failed_ += cmocka_run_group_tests((tests), load, unload);                          \
		failed_ ? 1 : 0;                                                                   \
	})

static inline int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN && !strstr(fmt, "skipping") ? vfprintf(stderr, fmt, ap) : 0;
}

/* Where a packet begins after a test run is told in its context: since Linux 5.15. */
static inline bool has_run_context(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	uint8_t data[64] = {0};
	struct xdp_md in = {.data_end = sizeof(data)};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data),
		    .ctx_in = &in, .ctx_size_in = sizeof(in), .repeat = 1);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "probe", "GPL", pass, sl_array_len(pass), NULL);
	int err = fd < 0 ? fd : bpf_prog_test_run_opts(fd, &opts);

	if (fd >= 0)
		close(fd);
	return err != -EINVAL;
}

static inline bool may_load(void)
{
	libbpf_set_print(quiet);
	if (geteuid())
		puts("skipped: loading BPF programs needs root");
	else if (!has_run_context())
		puts("skipped: test runs of XDP programs have no context here (before Linux 5.15)");
	else
		return true;
	return false;
}

#endif
