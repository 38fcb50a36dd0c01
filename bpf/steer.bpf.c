/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The steering program: sends packets of claimed flows to the XSK of their lane, passes everything
 * else to the kernel. The maps are described in steer.h. */
#include "parse.bpf.h"
#include <xdp/xdp_helpers.h>

#include "hints.bpf.h"

#include "steer.h"

#include "claims.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_LOCALS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_local_key);
	__type(value, __u32);
} locals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_GROUPS);
	__type(key, __u32);
	__type(value, struct sl_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SL_MAX_PICKED);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_claim);
} picked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, SL_MAX_XSKS);
	__type(key, __u32);
	__type(value, __u32);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_RULES + 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_port_config);
} config SEC(".maps");

/* After filters (xdp-filter runs at 10, the default is 50): what they drop never reaches us. */
struct {
	__uint(priority, 80);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(steer);

enum match { MATCH_NONE, MATCH_FLOW, MATCH_ENDPOINT, MATCH_WILDCARD };

/* The verifier goes through all that follows anew for each way that leads to it, unless it knows
 * the same of all of them: of what is behind the veil it knows mask alone. (A call of a global
 * function does that, too, and costs a packet ten nanoseconds.) */
static __always_inline __u32 veil(__u32 x, const struct sl_port_config *cfg, __u32 mask)
{
	__u32 nought = cfg->nought;

	asm volatile("%0 ^= %1" : "+r"(x) : "r"(nought));
	return x & mask;
}

/* An address as the maps have it. Only what a look-up needs is read: most packets need one. */
static __always_inline int load_dst(const struct sl_pkt *p, __u32 dst[4])
{
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		__builtin_memcpy(dst, &ip->daddr, 16);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		dst[0] = dst[1] = 0;
		dst[2] = bpf_htonl(0xffff);
		dst[3] = ip->daddr;
	}
	return 0;
}

static __always_inline int load_src(const struct sl_pkt *p, __u32 src[4])
{
	if (p->v6) {
		struct ipv6hdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		__builtin_memcpy(src, &ip->saddr, 16);
	} else {
		struct iphdr *ip = sl_at(p, p->l3, sizeof(*ip));

		if (!ip)
			return -1;
		src[0] = src[1] = 0;
		src[2] = bpf_htonl(0xffff);
		src[3] = ip->saddr;
	}
	return 0;
}

/* Which end of a packet is this host: what came is for its destination, what an ICMP error is about
 * was sent by its source. Its port is always in dst_port. */
enum side { OUR_DST, OUR_SRC };

static __always_inline int load_local(const struct sl_pkt *p, enum side ours, __u32 a[4])
{
	return ours == OUR_DST ? load_dst(p, a) : load_src(p, a);
}

static __always_inline int load_remote(const struct sl_pkt *p, enum side ours, __u32 a[4])
{
	return ours == OUR_DST ? load_src(p, a) : load_dst(p, a);
}

static __always_inline struct sl_claim *find_flow(const struct sl_pkt *p, enum side ours)
{
	struct sl_flow_key key = {
		.local_port = p->dst_port,
		.remote_port = p->src_port,
		.proto = p->proto,
		.vlan = p->vlan,
	};

	if (load_local(p, ours, (__u32 *)key.local) || load_remote(p, ours, (__u32 *)key.remote))
		return 0;
	return bpf_map_lookup_elem(&flows, &key);
}

/* Most specific first, as the kernel does: flow, address and port, port alone. */
static __always_inline struct sl_claim *find_claim(const struct sl_pkt *p, enum side ours,
						   __u32 bits, enum match *match)
{
	struct sl_endpoint_key key = {
		.local_port = p->dst_port,
		.proto = p->proto,
		.vlan = p->vlan,
	};
	struct sl_claim *claim;

	if (bits & SL_PORT_FLOW) {
		*match = MATCH_FLOW;
		claim = find_flow(p, ours);
		if (claim)
			return claim;
	}
	if (load_local(p, ours, (__u32 *)key.local))
		return 0;
	if (bits & SL_PORT_ENDPOINT) {
		*match = MATCH_ENDPOINT;
		claim = bpf_map_lookup_elem(&endpoints, &key);
		if (claim)
			return claim;
	}
	if (!(bits & SL_PORT_WILDCARD) || !bpf_map_lookup_elem(&locals, key.local))
		return 0;
	*match = MATCH_WILDCARD;
	__builtin_memset(key.local, 0, 16);
	if (!p->v6)
		key.local[10] = key.local[11] = 0xff;
	return bpf_map_lookup_elem(&endpoints, &key);
}

/* The finishing step of murmur3: every bit of the input reaches every bit of the result. */
static __always_inline __u32 mix(__u64 h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

static __always_inline __u32 flow_hash(const struct sl_pkt *p, enum side ours)
{
	__u64 h = (__u64)p->src_port << 32 | (__u32)p->dst_port << 16 | p->proto;
	__u32 src[4], dst[4];

	if (load_remote(p, ours, src) || load_local(p, ours, dst))
		return 0;
	h = h * 31 + ((__u64)src[0] << 32 | src[1]);
	h = h * 31 + ((__u64)src[2] << 32 | src[3]);
	h = h * 31 + ((__u64)dst[0] << 32 | dst[1]);
	h = h * 31 + ((__u64)dst[2] << 32 | dst[3]);
	return mix(h);
}

static __always_inline struct sl_claim *pick_target(__u32 group, __u32 hash)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);
	__u32 i;

	if (!g || !g->open)
		return 0;
	i = ((__u64)hash * g->open) >> 32;
	__asm__ volatile("" : "+r"(i)); /* the verifier is to see what is compared */
	if (i >= SL_GROUP_TARGETS)
		return 0;
	return &g->target[i];
}

/* Global, so that the verifier walks the loop once. 0: it is none; 1: it is; 2: for what it has. */
__noinline int is_target(__u32 group, __u32 slot, __u32 gen, __u32 pid)
{
	struct sl_group *g = bpf_map_lookup_elem(&groups, &group);

	for (__u32 i = 0; g && i < SL_GROUP_TARGETS && i < g->count; i++)
		if (!((g->target[i].slot ^ slot) | (g->target[i].gen ^ gen) |
		      (g->target[i].pid ^ pid)))
			return i < g->open ? 1 : 2;
	return 0;
}

/* The first segment of a handshake. */
static __always_inline int is_syn(const struct sl_pkt *p)
{
	struct tcphdr *tcp = sl_at(p, p->l4, sizeof(*tcp));

	return tcp && tcp->syn && !tcp->ack && !tcp->rst;
}

/* Has the kernel a connection of that flow, or the beginning of one? One in TIME_WAIT gives way to
 * a SYN. */
static __always_inline int kernel_has(struct xdp_md *ctx, const struct sl_pkt *p,
				      const struct sl_flow_key *key, int syn)
{
	struct bpf_sock_tuple t = {};
	__u32 size = sizeof(t.ipv4), state;
	struct bpf_sock *sk;

	if (p->v6) {
		size = sizeof(t.ipv6);
		__builtin_memcpy(t.ipv6.saddr, key->remote, 16);
		__builtin_memcpy(t.ipv6.daddr, key->local, 16);
		t.ipv6.sport = bpf_htons(key->remote_port);
		t.ipv6.dport = bpf_htons(key->local_port);
	} else {
		__builtin_memcpy(&t.ipv4.saddr, key->remote + 12, 4);
		__builtin_memcpy(&t.ipv4.daddr, key->local + 12, 4);
		t.ipv4.sport = bpf_htons(key->remote_port);
		t.ipv4.dport = bpf_htons(key->local_port);
	}
	sk = bpf_skc_lookup_tcp(ctx, &t, size, BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return 0;
	state = sk->state;
	bpf_sk_release(sk);
	return state != BPF_TCP_LISTEN && state != BPF_TCP_CLOSE &&
	       !(syn && state == BPF_TCP_TIME_WAIT);
}

/* Of a packet for a TCP endpoint that is shared: the target that had the flow's SYN. What the
 * kernel has (it listens, too, and may have done so alone) is the kernel's. Of a target that is not
 * there any more everything goes to another, which takes a SYN and resets the rest: who left in
 * peace has claimed the flows that it has, and is not asked here. A SYN that one who is away has
 * not answered goes to another. NULL: the kernel's. */
static __always_inline struct sl_claim *pick_tcp(struct xdp_md *ctx, const struct sl_pkt *p,
						 enum side ours, __u32 group)
{
	struct sl_flow_key key = {
		.local_port = p->dst_port,
		.remote_port = p->src_port,
		.proto = p->proto,
		.vlan = p->vlan,
	};
	int syn = ours == OUR_DST && is_syn(p);
	struct sl_claim *had, *now;
	int is = 0;

	if (load_local(p, ours, (__u32 *)key.local) || load_remote(p, ours, (__u32 *)key.remote))
		return 0;
	had = bpf_map_lookup_elem(&picked, &key);
	if (had)
		is = is_target(group, had->slot, had->gen, had->pid);
	if (is == 1 || (is && !syn))
		return had;
	if (kernel_has(ctx, p, &key, syn))
		return 0;
	now = pick_target(group, flow_hash(p, ours));
	if (now && syn)
		bpf_map_update_elem(&picked, &key, now, BPF_ANY);
	return now;
}

/* Frames for another station (promiscuous mode) are not ours, whatever address is in them. */
static __always_inline int is_for_us(const struct sl_pkt *p, const struct sl_port_config *cfg)
{
	__u16 *mac = sl_at(p, 0, 6);

	if (!mac)
		return 0;
	return *(__u8 *)mac & 1 ||
	       (mac[0] == cfg->mac[0] && mac[1] == cfg->mac[1] && mac[2] == cfg->mac[2]);
}

/* A record of n bytes inside the frame: every driver leaves XDP_PACKET_HEADROOM in front of it. */
static __always_inline void *room_in_frame(struct xdp_md *ctx, __u32 n)
{
	struct sl_mark *mark;

	if (bpf_xdp_adjust_head(ctx, -(int)(sizeof(*mark) + n)))
		return 0;
	mark = (void *)(long)ctx->data;
	if ((void *)(mark + 1) + n > (void *)(long)ctx->data_end)
		return 0;
	__builtin_memset(mark, 0, sizeof(*mark));
	mark->magic = SL_MARK_MAGIC;
	mark->len = sizeof(*mark) + n;
	return mark + 1;
}

/* Where a record of n bytes is to be written. *moved: by how much the frame begins earlier now.
 * After it the packet pointers are no longer valid. */
static __always_inline void *room(struct xdp_md *ctx, const struct sl_port_config *cfg, __u32 n,
				  __u32 *moved)
{
	void *meta;

	if (cfg->in_frame || bpf_xdp_adjust_meta(ctx, -(int)n)) {
		meta = room_in_frame(ctx, n);
		if (meta)
			*moved = sizeof(struct sl_mark) + n;
		return meta;
	}
	meta = (void *)(long)ctx->data_meta;
	return meta + n > (void *)(long)ctx->data ? 0 : meta;
}

static __always_inline int put_meta(struct xdp_md *ctx, const struct sl_port_config *cfg,
				    const struct sl_meta *meta, __u32 *moved)
{
	struct sl_meta *m = room(ctx, cfg, sizeof(*m), moved);

	if (!m)
		return -1;
	*m = *meta;
	return 0;
}

static __always_inline int put_meta_hw(struct xdp_md *ctx, const struct sl_port_config *cfg,
				       struct sl_meta *meta, __u64 hw_ns, __u32 *moved)
{
	struct sl_meta_hw *m = room(ctx, cfg, sizeof(*m), moved);

	if (!m)
		return -1;
	meta->flags |= SL_META_SW | SL_META_HW;
	m->hw_ns = hw_ns;
	m->sw.stamp_ns = bpf_ktime_get_ns();
	m->sw.meta = *meta;
	return 0;
}

static __always_inline int put_meta_stamped(struct xdp_md *ctx, const struct sl_port_config *cfg,
					    struct sl_meta *meta, __u32 *moved)
{
	__u64 hw_ns = hw_stamp(ctx);
	struct sl_meta_stamped *m;

	if (hw_ns)
		return put_meta_hw(ctx, cfg, meta, hw_ns, moved);
	m = room(ctx, cfg, sizeof(*m), moved);
	if (!m)
		return -1;
	meta->flags |= SL_META_SW;
	m->stamp_ns = bpf_ktime_get_ns();
	m->meta = *meta;
	return 0;
}

static __always_inline void count_redirect(struct sl_counters *c, enum match match, __u64 bytes)
{
	if (match == MATCH_FLOW)
		c->redirect_flow++;
	else if (match == MATCH_ENDPOINT)
		c->redirect_endpoint++;
	else
		c->redirect_wildcard++;
	c->redirect_bytes += bytes;
}

/* The packet has a claim: describe it and send it to the lane's XSK on this queue. */
static __always_inline int redirect(struct xdp_md *ctx, const struct sl_pkt *p,
				    const struct sl_claim *claim, enum match match,
				    struct sl_counters *c, const struct sl_port_config *cfg)
{
	__u32 lane = claim->lane, slot = claim->slot, gen = claim->gen, flags = claim->flags;
	__u32 xsk, vlan;
	__u64 bytes = p->data_end - p->data;
	struct sl_meta meta = {
		.magic = SL_META_MAGIC,
		.proto = p->proto,
		.l3 = p->l3,
		.l4 = p->l4,
	};
	__u32 moved = 0;
	int err;

	asm volatile("" : "+r"(lane), "+r"(slot), "+r"(gen), "+r"(flags)); /* from any map */
	match = veil(match, cfg, 3);
	xsk = lane + ctx->rx_queue_index;
	vlan = SL_CLAIM_VLAN_NR(flags);
	meta.flags = SL_META_VLAN(vlan);
	meta.slot = slot;
	meta.gen = gen;
	if (ctx->rx_queue_index >= cfg->nqueues || cfg->vlans_left >> vlan & 1 ||
	    !bpf_map_lookup_elem(&lanes, &xsk)) {
		c->pass_no_receiver++;
		return XDP_PASS;
	}
	if (flags & SL_CLAIM_STAMP)
		err = put_meta_stamped(ctx, cfg, &meta, &moved);
	else
		err = put_meta(ctx, cfg, &meta, &moved);
	if (err) {
		c->pass_unknown++;
		return XDP_PASS;
	}
	err = bpf_redirect_map(&lanes, xsk, XDP_PASS);
	if (err == XDP_REDIRECT)
		count_redirect(c, match, bytes);
	else if (moved) /* the XSK went after the look-up above: the kernel gets what came */
		bpf_xdp_adjust_head(ctx, moved);
	return err;
}

/* Whose the packet is, or NULL: the kernel's. */
static __always_inline struct sl_claim *whose(struct xdp_md *ctx, struct sl_pkt *p, enum side ours,
					      __u32 bits, const struct sl_port_config *cfg,
					      enum match *match)
{
	struct sl_claim *claim = find_claim(p, ours, bits, match);
	__u32 group;

	if (!claim || !(claim->flags & (SL_CLAIM_GROUP | SL_CLAIM_PASS)))
		return claim;
	if (claim->flags & SL_CLAIM_PASS)
		return 0;
	group = veil(claim->slot, cfg, ~0u);
	*match = veil(*match, cfg, 3);
	p->v6 = veil(p->v6, cfg, 1);
	if (p->proto == IPPROTO_TCP)
		return pick_tcp(ctx, p, ours, group);
	/* ten multiplications that others need not pay */
	return pick_target(group, flow_hash(p, ours));
}

/* A dozen ways lead out of the parser. */
static __always_inline void veil_all(struct xdp_md *ctx, struct sl_pkt *p,
				     const struct sl_port_config *cfg)
{
	p->data = (void *)(long)ctx->data;
	p->data_end = (void *)(long)ctx->data_end;
	p->l3 = veil(p->l3, cfg, 0x1f);
	p->l4 = veil(p->l4, cfg, 0x1ff);
	p->vlan = veil(p->vlan, cfg, ~0u);
	p->proto = veil(p->proto, cfg, 0xff);
	p->v6 = veil(p->v6, cfg, 1);
}

/* Some look-up can succeed for the port. */
static __always_inline int steer_port(struct xdp_md *ctx, struct sl_pkt *p, __u32 bits,
				      struct sl_counters *c)
{
	enum match match = MATCH_NONE;
	struct sl_port_config *cfg;
	struct sl_claim *claim;
	__u32 zero = 0;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		goto miss;
	veil_all(ctx, p, cfg);
	if (!is_for_us(p, cfg) || add_hidden_tag(ctx, p))
		goto miss;
	claim = whose(ctx, p, OUR_DST, bits, cfg, &match);
	if (!claim)
		goto miss;
	return redirect(ctx, p, claim, match, c, cfg);
miss:
	c->pass_miss++;
	return XDP_PASS;
}

/* linux/icmp.h needs headers of the host's C library. */
#define ICMP_LEN            8
#define ICMP_DEST_UNREACH   3
#define ICMP_TIME_EXCEEDED  11
#define ICMPV6_DEST_UNREACH 1
#define ICMPV6_PKT_TOOBIG   2
#define ICMPV6_TIME_EXCEED  3

/* Errors that are about one packet: unreachable, too big, time exceeded. */
static __always_inline int is_icmp_error(const struct sl_pkt *p)
{
	__u8 *icmp = sl_at(p, p->l4, ICMP_LEN);

	if (!icmp)
		return 0;
	if (p->v6)
		return *icmp == ICMPV6_DEST_UNREACH || *icmp == ICMPV6_PKT_TOOBIG ||
		       *icmp == ICMPV6_TIME_EXCEED;
	return *icmp == ICMP_DEST_UNREACH || *icmp == ICMP_TIME_EXCEEDED;
}

/* The segment of ours that the error brings back: addresses and ports, of which ours is dst_port.
 * Other protocols' packets are not found: their sockets hear of errors through the shadow. */
static __always_inline int parse_inner(struct sl_pkt *in)
{
	struct tcphdr *tcp;

	if (in->v6) {
		struct ipv6hdr *ip = sl_at(in, in->l3, sizeof(*ip));

		if (!ip || ip->version != 6)
			return -1;
		in->proto = ip->nexthdr;
		in->l4 = in->l3 + sizeof(*ip);
	} else {
		struct iphdr *ip = sl_at(in, in->l3, sizeof(*ip));

		if (!ip || ip->version != 4 || ip->frag_off & bpf_htons(0x1fff))
			return -1;
		in->proto = ip->protocol;
		in->l4 = in->l3 + ip->ihl * 4;
	}
	tcp = sl_at(in, in->l4, 8); /* RFC 792: no more need be there */
	if (!tcp || in->proto != IPPROTO_TCP)
		return -1;
	in->dst_port = bpf_ntohs(tcp->source);
	in->src_port = bpf_ntohs(tcp->dest);
	return 0;
}

/* An ICMP message. The kernel holds no connection that an error about a claimed segment could be
 * for, so user space gets it. Global as the walks of parse.bpf.h are. */
__noinline int steer_icmp(struct xdp_md *ctx, __u32 l3, __u32 l4, __u32 vlan, __u32 v6)
{
	struct sl_pkt p = sl_view(ctx), inner;
	enum match match = MATCH_NONE;
	struct sl_port_config *cfg;
	struct sl_counters *c;
	struct sl_claim *claim;
	__u32 key = 0;
	__u64 *bits;

	c = bpf_map_lookup_elem(&counters, &key);
	cfg = bpf_map_lookup_elem(&config, &key);
	if (!c || !cfg || l3 > SL_MAX_L4 || l4 > SL_MAX_L4)
		return XDP_PASS;
	p.l3 = l3;
	p.l4 = l4;
	p.vlan = vlan;
	p.v6 = v6;
	p.proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	if (!is_for_us(&p, cfg) || !is_icmp_error(&p) || add_hidden_tag(ctx, &p))
		goto pass;
	inner = p;
	inner.l3 = l4 + ICMP_LEN;
	if (parse_inner(&inner))
		goto pass;
	key = 65536 + inner.dst_port;
	bits = bpf_map_lookup_elem(&ports, &key);
	if (!bits || !*bits)
		goto pass;
	claim = whose(ctx, &inner, OUR_SRC, *bits, cfg, &match);
	if (claim)
		return redirect(ctx, &p, claim, match, c, cfg);
pass:
	c->pass_unknown++;
	return XDP_PASS;
}

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	struct sl_pkt p = sl_view(ctx);
	struct sl_counters *c;
	__u32 key = 0;
	__u64 *bits;

	make_room();
	c = bpf_map_lookup_elem(&counters, &key);
	if (!c)
		return XDP_PASS;
	switch (sl_parse(ctx, &p)) {
	case SL_PARSE_OK:
		break;
	case SL_PARSE_NOT_IP:
		c->pass_not_ip++;
		return XDP_PASS;
	case SL_PARSE_FRAGMENT:
		c->pass_fragment++;
		return XDP_PASS;
	case SL_PARSE_ICMP:
		return steer_icmp(ctx, p.l3, p.l4, p.vlan, p.v6);
	default:
		c->pass_unknown++;
		return XDP_PASS;
	}
	key = p.dst_port + (p.proto == IPPROTO_TCP ? 65536 : 0);
	bits = bpf_map_lookup_elem(&ports, &key);
	if (bits && *bits)
		return steer_port(ctx, &p, *bits, c);
	c->pass_miss++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
