/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims on a device that receives by verbs, as rules of its NIC. Broker lock, but for
 * sl_nic_find(). */
#ifndef SL_CTL_NIC_RULE_H
#define SL_CTL_NIC_RULE_H

#include "ctl/device/device.h"

/* Claimed packets, and whose they are. */
struct sl_nic_rule {
	struct sl_flow_key key; /* local: an address, not the wildcard */
	struct sl_narrow narrow;
	uint32_t lane;
	uint32_t n; /* claims, all of that lane if it is TCP: a packet is for the one that its
		       flow's hash says */
	const struct sl_claim *claim;
	uint8_t mac[6];      /* of the device by which they come */
	uint16_t priority;   /* 0 to 11: the lowest that fits a packet decides */
	uint16_t vxlan_port; /* if the key names a VXLAN device */
};

/* The lanes' side, which has the queues. Each call returns 0 or -errno, and *why. */
struct sl_nic_ops {
	/* The device can receive by verbs. */
	int (*may)(uint32_t ifindex, const char *ifname, const char **why);
	/* Makes a rule; *id names it. */
	int (*add)(uint32_t ifindex, const struct sl_nic_rule *r, uint64_t *id, const char **why);
	/* The rule's packets are those n claims', of the same lane. */
	int (*move)(uint32_t ifindex, uint32_t lane, uint64_t id, const struct sl_claim *claim,
		    uint32_t n);
	void (*del)(uint32_t ifindex, uint32_t lane, uint64_t id);
};
extern const struct sl_nic_ops *sl_nic_ops; /* NULL: nobody receives by verbs (the daemon) */

/* A claim of an entry in `flows` or `endpoints`. */
struct sl_nic_target {
	struct sl_claim claim;
	struct sl_narrow narrow;
};
/* Makes the NIC's rules for the entry what its n claims say; n 0: there are none. -EOPNOTSUPP:
 * listeners of several lanes share the packets, which no rule can say. After an error there may be
 * fewer rules than claims. */
int sl_nic_follow(struct sl_device *d, const struct sl_flow_key *key, const struct sl_nic_target *t,
		  uint32_t n, const char **why);
/* Finds a claim for packets of that flow: its own, that of its local address and port, or the
 * wildcard's. False: none has rules. Takes the broker's lock. */
bool sl_nic_find(uint32_t ifindex, const struct sl_flow_key *flow, struct sl_claim *out);
/* An address of the host comes or goes: wildcard claims get a rule for each. */
void sl_nic_local_add(const uint8_t addr[16]);
void sl_nic_local_del(const uint8_t addr[16]);
/* The device with that number is left to the kernel, or no longer (d->vlans_left says which). */
void sl_nic_vlan_leave(struct sl_device *d, uint32_t nr);
void sl_nic_rules_close(struct sl_device *d);

#endif
