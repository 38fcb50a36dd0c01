/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps of the policy: rules and rates, and the marks by which a rule may narrow a claim. Part
 * of the ABI of steer.h. */
#ifndef SL_RULES_ABI_H
#define SL_RULES_ABI_H

#include <linux/types.h>

#define SL_MAX_RULES 512
/* Entries of `rules` that are looked at in any case; the others only up to the number in use. */
#define SL_RULES_SEEN 256
#define SL_MAX_PACES  64
#define SL_RULE_NAME  128 /* bytes; the last is 0. (Each process has the map in its memory.) */

/* Bits of a packet that a claim may be narrowed by: the DSCP, and the flow label of IPv6. */
struct sl_marks {
	union {
		struct {
			__u32 label : 20;
			__u32 dscp : 6;
			__u32 v4 : 1; /* the packet is of IPv4, which has no label */
			__u32 unused : 5;
		};
		__u32 word;
	};
};
#define SL_MARKS_DSCP(n) ((__u32)(n) << 20)
#define SL_MARKS_LABEL   0xfffffu
#define SL_MARKS_V4      (1u << 26)
/* The claim is for packets with these marks where the mask has ones: all of them if it has none.
 * Where it has bits of the label it has v4, too. */
struct sl_narrow {
	struct sl_marks marks, mask;
};
/* `rules`: the policy in order, first match wins; mmapable. Entry 0.. SL_MAX_RULES-1; an entry
 * with action SL_RULE_NONE is skipped. */
enum sl_rule_action { SL_RULE_NONE, SL_RULE_SLUICE, SL_RULE_OS };
#define SL_ROLE_TCP_SERVER   (1u << 0)
#define SL_ROLE_TCP_CLIENT   (1u << 1)
#define SL_ROLE_UDP_SENDER   (1u << 2)
#define SL_ROLE_UDP_RECEIVER (1u << 3)
#define SL_ROLE_UDP_CONNECT  (1u << 4)

/* A side of a rule. prefix_len counts the bits of 128 (IPv4 /24 is 120), 0 matches all. */
struct sl_rule_end {
	__u8 addr[16];
	__u32 prefix_len;
	__u16 port_min; /* 0-65535: all */
	__u16 port_max;
};

struct sl_rule {
	__u32 action;               /* enum sl_rule_action */
	__u32 roles;                /* SL_ROLE_* bits */
	struct sl_rule_end first;   /* as written first: remote of clients, senders and connects,
				       local of servers and receivers */
	struct sl_rule_end second;  /* local, for the four-part roles */
	char program[SL_RULE_NAME]; /* target program, a glob; empty: any */
	char app_id[SL_RULE_NAME];  /* application id; empty: any */
	__u32 line;                 /* line of the configuration file, 0: set at run time */
	__u32 hits;                 /* decisions it made, counted by user space */
	struct sl_narrow narrow;    /* SL_RULE_SLUICE: only such packets are claimed */
	__u32 vni;                  /* of the VXLAN device, with SL_RULE_VNI */
	__u32 match;                /* SL_RULE_VNI */
};
#define SL_RULE_VNI (1u << 0) /* the rule is for VXLAN devices with that VNI alone */

/* `rules` has one entry more at its end. Its `line` is a generation, its `hits` the number of
 * entries in use, counted to the last one that is not empty. Every writer of ours sets both;
 * bpftool sets neither, so it writes to the first SL_RULES_SEEN entries, or to others in use. */

/* `paces`: rates that the administrator gives to destinations; mmapable. The entry with address and
 * port decides, else that with the address (the longest prefix first), else that with the port,
 * else that with neither. Each socket that sends there is held to the rate. User space reads it. */
struct sl_pace_rule {
	__u8 addr[16];
	__u32 prefix_len; /* bits of 128 (IPv4 /24 is 120); 0: any address */
	__u16 port;       /* 0: any */
	__u16 pad;
	__u64 rate_kbps; /* 0: the entry is not used */
	__u32 burst_bytes;
	__u32 line; /* line of the configuration file, 0: set at run time */
};

#ifndef __bpf__
_Static_assert(sizeof(struct sl_rule) == 336, "map ABI");
_Static_assert(sizeof(struct sl_narrow) == 8, "map ABI");
_Static_assert(sizeof(struct sl_pace_rule) == 40, "map ABI");
#endif

#endif
