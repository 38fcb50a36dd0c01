/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The ABI of the steering maps: keys, values and the metadata record. Shared by the XDP program,
 * the library, the tools and people who read the pins with bpftool. Addresses are 16 bytes in wire
 * order (IPv4 as ::ffff:a.b.c.d), everything else is in host order so that a dump reads well. */
#ifndef SL_STEER_H
#define SL_STEER_H

#include <linux/types.h>

#include "meta.h"
#include "rules_abi.h"
#include "vxlan.h"

#define SL_STEER_ABI 15

#define SL_MAX_FLOWS      262144 /* most entries of `flows` and `endpoints` (SLUICE_MAX_FLOWS) */
#define SL_MAX_LOCALS     4096
#define SL_MAX_GROUPS     1024
#define SL_PICKED_FLOWS   "picked_flows"
#define SL_GROUP_TARGETS  64
#define SL_HASH_KEYS      10 /* words of the key that spreads a group's flows */
#define SL_GROUP_NARROWED 16
#define SL_MAX_PICKED     65536  /* entries of `picked` at the most flows */
#define SL_MAX_XSKS       4096   /* lanes * RX queues */
#define SL_MAX_PORTS      131072 /* entries of `ports` */
#define SL_MAX_STRAYS     1024   /* entries of `strays` */

/* Bit of a VLAN number: the tag is 802.1ad (0x88a8), else 802.1Q. Linux has a device for each
 * kind. */
#define SL_VLAN_AD 0x8000

/* `flows`: exact flow of a connected socket. */
struct sl_flow_key {
	__u8 local[16];
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u8 proto; /* IPPROTO_UDP or IPPROTO_TCP */
	__u8 pad[3];
	__u32 vlan; /* 0: untagged; VID | SL_VLAN_AD of the inner tag; outer tag << 16; or the VNI
		       as SL_VXLAN_TAG() */
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

#define SL_CLAIM_STAMP (1u << 0) /* a socket wants receive time stamps: read the clock */
#define SL_CLAIM_GROUP (1u << 1) /* slot is an index into `groups` */
#define SL_CLAIM_PASS  (1u << 2) /* the flow is the kernel's, though its endpoint is claimed */
#define SL_CLAIM_AWAY  (1u << 3) /* target of a TCP group that gets no new connection */
/* The peer of a TCP flow has acknowledged something: the steering program has seen that. */
#define SL_CLAIM_HEARD (1u << 4)

/* Number of the VLAN or VXLAN device that a claim is for, given out by the claiming process or
 * by the daemon for all of its processes; 0: none. */
#define SL_MAX_VLANS         64
#define SL_CLAIM_VLAN(nr)    ((__u32)(nr) << 26)
#define SL_CLAIM_VLAN_NR(fl) ((__u32)(fl) >> 26)

/* Owner of a packet: the value of `flows` and `endpoints`, and each target of a group. */
struct sl_claim {
	__u32 lane;  /* index into `lanes`: the lane's device, or first XSK (plus the RX queue) */
	__u32 slot;  /* socket slot in the process (or group index) */
	__u32 gen;   /* generation of the slot; user space drops packets of an older one */
	__u32 flags; /* SL_CLAIM_* */
	__u32 pid;   /* of the claiming process: tells targets of a group apart */
};

struct sl_narrowed {
	struct sl_marks marks, mask;
	__u32 alike; /* from this target on so many are narrowed alike */
};
/* `groups`: sockets that share an endpoint (SO_REUSEPORT), or processes that share a listening
 * socket; one is picked by the flow's hash. A TCP endpoint that may be shared is a group from the
 * first claim on, and so is any entry with a narrowed claim: its packets go to the narrowed targets
 * that they fit, else to the open ones, else to the kernel. */
struct sl_group {
	__u32 count;
	__u32 open;     /* targets that are neither away nor narrowed: the first ones */
	__u32 narrowed; /* narrowed targets that are not away: the last ones, those alike together
			 */
	struct sl_narrowed narrow[SL_GROUP_NARROWED];
	struct sl_claim target[SL_GROUP_TARGETS];
};

/* `picked`: has one entry, the table of TCP flows of groups and the target that got the SYN, so
 * that targets may come to the group and leave it. The broker makes the table with the first TCP
 * group, since the kernel takes longer for it than for all other maps: it touches each place. It is
 * pinned as SL_PICKED_FLOWS. Keys are struct sl_flow_key, values struct sl_claim. The steering
 * program writes entries and nobody deletes them: the map drops the least recently used one, and
 * first those that no second segment has looked up, such as forged SYNs (test_steer.c). A flow
 * without an entry is found by its hash, unless the group has changed since its SYN. */

/* `ports`: the map looked at first, mmapable; index is port, plus 65536 for TCP. Its bits say which
 * look-ups can succeed at all, so that foreign traffic costs one array look-up. The rest of the
 * word is a generation: the steering program remembers what it found under a word (`recent`), so a
 * program that changes `flows`, `endpoints`, `groups` or `locals` must raise it for all ports
 * concerned. */
#define SL_L4_PORT_FLOW     (1u << 0)
#define SL_L4_PORT_ENDPOINT (1u << 1)
#define SL_L4_PORT_WILDCARD (1u << 2)
#define SL_L4_PORT_CLAIMED  (SL_L4_PORT_FLOW | SL_L4_PORT_ENDPOINT | SL_L4_PORT_WILDCARD)
#define SL_L4_PORT_VXLAN    (1u << 3) /* UDP: a VXLAN device receives there (`vxlans`) */
#define SL_L4_PORT_BITS     0xffu
#define SL_L4_PORT_GEN      0x100u /* added to the word to raise its generation */

/* `locals`: addresses of this host that the device may receive for (value: 1). */
struct sl_local_key {
	__u8 addr[16];
};

/* `strays`: TCP flows of claimed ports whose segments reached the kernel, which would have reset
 * them (guard.bpf.c): they came by another device, or as fragments, or somebody took their claim
 * out by hand. Keys are struct sl_flow_key. The guards write entries; the broker deletes them, and
 * enters flows of dead processes, with first_ns 0; the map drops the least recently used one.
 *
 * Anybody can forge such a segment. A reset bears the number that its segment acknowledges; the
 * owner believes only those that its connection can have sent (lib/sock/move/stray.c). Some of the
 * numbers are kept: the first ones, then each in a random place, so that forged ones do not push
 * the peer's own out at once. */
#define SL_STRAY_NOTES 8
#define SL_STRAY_TICK  20 /* log2 of the ns in a unit of `at` */
struct sl_stray_note {
	__u32 at;  /* CLOCK_MONOTONIC in units of 2^SL_STRAY_TICK ns, low 32 bits */
	__u32 seq; /* of the reset */
};
struct sl_stray {
	__u64 first_ns, last_ns; /* CLOCK_MONOTONIC */
	__u32 n;                 /* resets noted; at most SL_STRAY_NOTES are in note[] */
	__u32 pad;
	struct sl_stray_note note[SL_STRAY_NOTES];
};

/* `config`: one entry: facts about the device that the program needs, and the device's owner. */
struct sl_port_config {
	__u32 abi;     /* SL_STEER_ABI */
	__u32 nqueues; /* RX queues covered; packets on others pass */
	__u32 pid;     /* of the process that has the device */
	__u32 ifindex;
	__u32 netns;      /* inode number of the network namespace */
	__u16 mac[3];     /* unicast frames to another station pass */
	__u8 in_frame;    /* 1: records go into the frame, even if the driver may carry metadata */
	__u8 forgets;     /* 1: nothing is remembered in `recent` */
	__u16 nought;     /* always 0, which the verifier cannot know: see veil() */
	__u16 room;       /* bytes of the longest packet that a lane takes */
	__u64 vlans_left; /* by number: packets of that VLAN device pass, even if claimed */
};

/* `counters`: one entry, per CPU. */
struct sl_counters {
	__u64 pass_not_ip;      /* not IPv4 or IPv6, or more than two VLAN tags */
	__u64 pass_fragment;    /* IP fragments */
	__u64 pass_unknown;     /* a header or option it does not know, truncated, other protocol */
	__u64 pass_miss;        /* TCP/UDP that nobody has claimed */
	__u64 pass_no_receiver; /* claimed, but the lane has no XSK on this queue, or no device */
	__u64 pass_large;       /* claimed, but longer than a lane takes */
	__u64 redirect_flow;
	__u64 redirect_endpoint;
	__u64 redirect_wildcard;
	__u64 redirect_bytes;
};

/* Placeholders in the steering program's calls for functions of the kernel; the loader puts the
 * functions' numbers (BTF ids) in their place (lib/ctl/steer/load.c). No helper has such a number,
 * so the verifier must find any call dead that still has its placeholder. */
#define SL_KFUNC_FIRST 0x51c00000
#define SL_KFUNC_STAMP 0x51c00000 /* bpf_xdp_metadata_rx_timestamp, Linux 6.3 */
#define SL_KFUNC_TAG   0x51c00001 /* bpf_xdp_metadata_rx_vlan_tag, 6.8 */
#define SL_KFUNC_CTX   0x51c00002 /* bpf_cast_to_kern_ctx, 6.2 */
#define SL_KFUNCS      3

#ifndef __bpf__
_Static_assert(sizeof(struct sl_flow_key) == 44, "map ABI");
_Static_assert(sizeof(struct sl_endpoint_key) == 24, "map ABI");
_Static_assert(sizeof(struct sl_claim) == 20, "map ABI");
_Static_assert(sizeof(struct sl_port_config) == 40, "map ABI");
_Static_assert(sizeof(struct sl_stray) == 88, "map ABI");
#endif

#endif
