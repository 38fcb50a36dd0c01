/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives by a raw-packet queue pair of the NIC (verbs) in place of an XSK's receive ring: the NIC
 * itself steers claimed packets to it by rules, and there is neither XDP nor tc on the device. */
#ifndef SL_VERBS_RX_H
#define SL_VERBS_RX_H

#include "io/xsk.h"
#include "steer.h"

/* A packet that the rules bring here and that is the kernel's all the same (SL_CLAIM_PASS). vid: of
 * its tag; 0: it has none. ip: the packet from its IP header on. Lane held. */
typedef void sl_verbs_pass_fn(uint32_t ifindex, uint16_t vid, const void *ip, size_t bytes);

struct sl_verbs_rx_want {
	uint32_t ifindex;
	const char *ifname;
	uint32_t depth;           /* buffers that wait in the queue at most; a power of two */
	struct sl_frames *frames; /* the lane's */
	sl_verbs_pass_fn *pass;
	char name[64]; /* out: the RDMA device's name */
	bool direct;   /* out: libibverbs is not on the way of packets */
};

/* Makes x receive by a queue pair. 0 or -errno, and *why. Slow; errno may change. */
int sl_verbs_rx_open(struct sl_xsk *x, struct sl_verbs_rx_want *want, const char **why);
/* Closes it, if there is one, with all its rules; before sl_xsk_close(). Packets that wait are
 * dropped. Lane held. */
void sl_verbs_rx_close(struct sl_xsk *x, struct sl_frames *cache);
/* Buffers that the open queues of this process may hold, together. */
uint32_t sl_verbs_rx_buffers(void);
/* Before a thread sleeps on x->rx_fd: has the device write an event there when a packet comes, or
 * at once when one waits. Any thread; errno may change. */
void sl_verbs_rx_arm(struct sl_xsk *x);
/* Why the queue receives nothing any more, or NULL. Looks for events of the device. No lane held;
 * errno may change. */
const char *sl_verbs_rx_dead(struct sl_xsk *x);
/* Adds packets that were dropped since the queue was opened to the counts of the XSK: for lack of
 * buffers (by all queues of this kind on the device together), and those that no claim is for. */
void sl_verbs_rx_counts(struct sl_xsk *x, struct sl_xsk_counts *c);
/* Adds the buffers that wait in the queue. Lane held. */
void sl_verbs_rx_posted(const struct sl_xsk *x, struct sl_xsk_posted *p);
/* 0 if the network device has an RDMA device that has raw-packet queue pairs for this process, else
 * -errno, and *why. Opens the device anew. */
int sl_verbs_rx_may(uint32_t ifindex, const char *ifname, const char **why);

/* Which packets a rule of the NIC is for, and whose they are. */
struct sl_verbs_rule {
	struct sl_flow_key
		key; /* remote_port 0: of any peer; local: an address, not the wildcard */
	struct sl_narrow narrow;
	const struct sl_claim
		*claim; /* n of them: a packet is for the one that the hash of its flow says */
	uint32_t n;
	uint8_t mac[6];      /* of the device (or the VXLAN device) that the packets come by */
	uint16_t priority;   /* 0 to 15: the lowest that fits a packet decides */
	uint16_t vxlan_port; /* of the VXLAN device that the key names */
};
/* Makes the rule. *id names it; 0: no packet can fit, and there is no rule. 0 or -errno, and *why.
 * A system call that takes the NIC a while; errno may change. */
int sl_verbs_rule_add(struct sl_xsk *x, const struct sl_verbs_rule *r, uint64_t *id,
		      const char **why);
/* The packets of that rule are those claims' from now on. 0 or -ENOMEM. */
int sl_verbs_rule_move(struct sl_xsk *x, uint64_t id, const struct sl_claim *claim, uint32_t n);
void sl_verbs_rule_del(struct sl_xsk *x, uint64_t id); /* nothing if x has been closed since */

#endif
