/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The ABI of the steering maps: keys, values and the metadata record. Shared by the XDP program,
 * the library, the tools and whoever reads the pins with bpftool. Addresses are 16 bytes in wire
 * order (IPv4 as ::ffff:a.b.c.d), everything else is in host order so that a dump reads well. */
#ifndef SL_STEER_H
#define SL_STEER_H

#include <linux/types.h>

#define SL_STEER_ABI 6

#define SL_MAX_FLOWS     262144 /* entries of `flows` and `endpoints` (not preallocated) */
#define SL_MAX_LOCALS    4096
#define SL_MAX_GROUPS    1024
#define SL_GROUP_TARGETS 64
#define SL_MAX_PICKED    65536 /* entries of `picked` */
#define SL_MAX_RULES     256
#define SL_MAX_XSKS      4096   /* lanes * RX queues */
#define SL_MAX_PORTS     131072 /* entries of `ports` */
#define SL_MAX_STRAYS    1024   /* entries of `strays` */

/* In a VLAN: the tag is of 802.1ad (0x88a8), else of 802.1Q. Linux has a device for each kind. */
#define SL_VLAN_AD 0x8000

/* `flows`: exact flow of a connected socket. */
struct sl_flow_key {
	__u8 local[16];
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u8 proto; /* IPPROTO_UDP or IPPROTO_TCP */
	__u8 pad[3];
	__u32 vlan; /* 0: untagged; inner tag, outer tag << 16 with two: VID | SL_VLAN_AD */
};

/* `endpoints`: local endpoint of an unconnected socket, or a multicast group and port. Wildcard:
 * local is ::ffff:0.0.0.0 or ::; it matches addresses found in `locals` only, so that traffic
 * that this host forwards is never taken. */
struct sl_endpoint_key {
	__u8 local[16];
	__u16 local_port;
	__u8 proto;
	__u8 pad;
	__u32 vlan;
};

#define SL_CLAIM_STAMP (1u << 0) /* somebody wants receive time stamps: read the clock */
#define SL_CLAIM_GROUP (1u << 1) /* slot is an index into `groups` */
#define SL_CLAIM_PASS  (1u << 2) /* a flow that is the kernel's, though its endpoint is claimed */
#define SL_CLAIM_AWAY  (1u << 3) /* of a group of TCP's: it gets no new connection */

/* The VLAN device that a claim is for: a number that its process gives out; 0: none. */
#define SL_MAX_VLANS         64
#define SL_CLAIM_VLAN(nr)    ((__u32)(nr) << 26)
#define SL_CLAIM_VLAN_NR(fl) ((__u32)(fl) >> 26)

/* Whose a packet is: the value of `flows` and `endpoints`, and each target of a group. */
struct sl_claim {
	__u32 lane;  /* index into `lanes` of the lane's first XSK; the RX queue index is added */
	__u32 slot;  /* socket slot in the process (or group index) */
	__u32 gen;   /* generation of the slot; user space drops what is stale */
	__u32 flags; /* SL_CLAIM_* */
	__u32 pid;   /* of the claiming process, for the reader of a dump */
};

/* `groups`: sockets that share an endpoint (SO_REUSEPORT), or processes that share a listening
 * socket; one is picked by the flow's hash. A TCP endpoint that may be shared is a group from the
 * first claim on. */
struct sl_group {
	__u32 count;
	__u32 open; /* so many of them are not away, the first ones: one of these is picked */
	struct sl_claim target[SL_GROUP_TARGETS];
};

/* `picked`: TCP flows of groups and the target that the SYN was sent to, so that others may come to
 * the group and leave it. Keys are struct sl_flow_key, values struct sl_claim. The steering program
 * writes it, nobody deletes: the least recently used one goes. */

/* `ports`: the first thing looked at, mmapable; index is port, plus 65536 for TCP. Says which
 * look-ups can succeed at all, so that foreign traffic costs one array look-up. The rest of the
 * word is a generation: the steering program remembers what it found under a word (`recent`), so
 * who has changed `flows`, `endpoints`, `groups` or `locals` raises that of all ports concerned. */
#define SL_PORT_FLOW     (1u << 0)
#define SL_PORT_ENDPOINT (1u << 1)
#define SL_PORT_WILDCARD (1u << 2)
#define SL_PORT_BITS     0xffu
#define SL_PORT_GEN      0x100u /* what the generation is raised by */

/* `locals`: addresses of this host that the device may receive for (value: 1). */
struct sl_local_key {
	__u8 addr[16];
};

/* `strays`: TCP flows of ports that have claims, of which the kernel has got segments, which it
 * would have reset (see guard.bpf.c): they came by another device, or as fragments, or their claim
 * was taken out by hand. Keys are struct sl_flow_key. The guards write it, the broker deletes, and
 * enters those of the dead, with first_ns 0; the least recently used one goes. */
struct sl_stray {
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC */
};

/* `config`: one entry, what the program must know about the device, and whose it is. */
struct sl_port_config {
	__u32 abi;     /* SL_STEER_ABI */
	__u32 nqueues; /* RX queues covered; packets on others pass */
	__u32 pid;     /* of the process that has the device */
	__u32 ifindex;
	__u32 netns;      /* inode number of the network namespace */
	__u16 mac[3];     /* unicast frames to another station pass */
	__u8 in_frame;    /* 1: records go into the frame, though the driver may carry metadata */
	__u8 forgets;     /* 1: nothing is remembered in `recent` */
	__u16 nought;     /* 0, which the verifier does not know: see veil() */
	__u16 room;       /* bytes of the longest packet that comes by a lane */
	__u64 vlans_left; /* by number: packets of that VLAN device pass, whatever is claimed */
};

/* `rules`: the policy in order, first match wins; mmapable. Entry 0.. SL_MAX_RULES-1; an entry
 * with action SL_RULE_NONE is skipped. */
enum sl_rule_action { SL_RULE_NONE, SL_RULE_SLUICE, SL_RULE_OS };
#define SL_ROLE_TCP_SERVER   (1u << 0)
#define SL_ROLE_TCP_CLIENT   (1u << 1)
#define SL_ROLE_UDP_SENDER   (1u << 2)
#define SL_ROLE_UDP_RECEIVER (1u << 3)
#define SL_ROLE_UDP_CONNECT  (1u << 4)

/* One side of a rule. prefix_len counts bits of the 128 (IPv4 /24 is 120), 0 matches all. */
struct sl_rule_end {
	__u8 addr[16];
	__u32 prefix_len;
	__u16 port_min; /* 0-65535: all */
	__u16 port_max;
};

struct sl_rule {
	__u32 action;              /* enum sl_rule_action */
	__u32 roles;               /* SL_ROLE_* bits */
	struct sl_rule_end first;  /* as written first: remote of clients, senders and connects,
				      local of servers and receivers */
	struct sl_rule_end second; /* local, for the four-part roles */
	char program[32];          /* target program, a glob; empty: any */
	char app_id[32];           /* application id; empty: any */
	__u32 line;                /* line of the configuration file, 0: set at run time */
	__u32 hits;                /* decisions it made, counted by user space */
};

/* `rules` has one entry more, the last: its `line` field is a generation, raised by every writer
 * that is ours. bpftool need not. */

/* `counters`: one entry, per CPU. */
struct sl_counters {
	__u64 pass_not_ip;      /* not IPv4 or IPv6, or more than two VLAN tags */
	__u64 pass_fragment;    /* IP fragments */
	__u64 pass_unknown;     /* a header or option it does not know, truncated, other protocol */
	__u64 pass_miss;        /* TCP/UDP that nobody has claimed */
	__u64 pass_no_receiver; /* claimed, but the lane has no XSK on this queue */
	__u64 pass_large;       /* claimed, but longer than that */
	__u64 redirect_flow;
	__u64 redirect_endpoint;
	__u64 redirect_wildcard;
	__u64 redirect_bytes;
};

/* The record in front of each packet that is redirected (XDP metadata; each kernel tried, from 5.10
 * on, carries 32 bytes). Short, because the receiver's core has to fetch each cache line of it and
 * of the packet from the core that ran the driver. User space trusts none of it for memory safety.
 */
#define SL_META_MAGIC 0x51c2
struct sl_meta {
	__u16 magic;
	__u8 proto; /* IPPROTO_UDP, IPPROTO_TCP; IPPROTO_ICMP or _ICMPV6: an error about a segment
		     */
	__u8 flags; /* SL_META_* */
	__u16 l3;   /* offset of the IP header from the start of the frame */
	__u16 l4;   /* offset of the TCP/UDP header */
	__u32 slot;
	__u32 gen;
};
/* With SL_META_SW in flags there is a time stamp in front of the record, with SL_META_HW, too, one
 * more in front of that. */
struct sl_meta_stamped {
	__u64 stamp_ns; /* CLOCK_MONOTONIC when the steering program saw the packet */
	struct sl_meta meta;
};
struct sl_meta_hw {
	__u64 hw_ns; /* as the driver says (bpf_xdp_metadata_rx_timestamp); never 0 */
	struct sl_meta_stamped sw;
};
#define SL_META_HW (1u << 0)
#define SL_META_SW (1u << 1)
/* The rest of flags: number of the VLAN device that it came by, as the claim has it. */
#define SL_META_VLAN(nr)    ((__u8)((nr) << 2))
#define SL_META_VLAN_NR(fl) ((__u8)(fl) >> 2)

/* In the steering program's calls these stand for functions of the kernel, whose numbers (BTF ids)
 * are put in their place when it is loaded (lib/ctl/broker_load.c). No helper has such a number, so
 * a call that is left as it is must be one that the verifier finds dead. */
#define SL_KFUNC_FIRST 0x51c00000
#define SL_KFUNC_STAMP 0x51c00000 /* bpf_xdp_metadata_rx_timestamp, Linux 6.3 */
#define SL_KFUNC_TAG   0x51c00001 /* bpf_xdp_metadata_rx_vlan_tag, 6.8 */
#define SL_KFUNCS      2

/* Drivers that carry no metadata (vmxnet3, hv_netvsc, gve): the frame begins with this mark, then
 * the record with its stamps, then the packet. No packet looks like it: where its EtherType would
 * be is one that is never redirected. */
#define SL_MARK_MAGIC 0x51c3
struct sl_mark {
	__u8 pad[12];
	__u16 magic;
	__u16 len; /* of mark, stamps and record */
};

#ifndef __bpf__
_Static_assert(sizeof(struct sl_flow_key) == 44, "map ABI");
_Static_assert(sizeof(struct sl_endpoint_key) == 24, "map ABI");
_Static_assert(sizeof(struct sl_claim) == 20, "map ABI");
_Static_assert(sizeof(struct sl_port_config) == 40, "map ABI");
_Static_assert(sizeof(struct sl_rule) == 128, "map ABI");
_Static_assert(sizeof(struct sl_meta) == 16, "metadata record");
_Static_assert(sizeof(struct sl_meta_stamped) == 24, "metadata record with time stamp");
_Static_assert(sizeof(struct sl_mark) == 16, "mark");
_Static_assert(sizeof(struct sl_meta_hw) == 32, "the longest that every kernel carries");
#endif

#endif
