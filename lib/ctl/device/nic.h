/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the NIC. */
#ifndef SL_CTL_NIC_H
#define SL_CTL_NIC_H

#include "ctl/device/device.h"

/* All return 0 or -errno, with the reason in *why. sl_nic_open() checks that the NIC takes rules
 * and makes it ready. */
int sl_nic_open(struct sl_device *port, const char **why);
/* Sends packets without a rule to the first n queues only. */
int sl_nic_spread(struct sl_device *port, uint32_t n, const char **why);
/* Undoes sl_nic_open() and sl_nic_spread(), but leaves the rules. */
void sl_nic_close(struct sl_device *port);
/* Sends packets for the local end (address 0: any of its family) from the remote end (port number
 * 0: any peer) to that queue. place: names the rule from then on. */
int sl_nic_rule_add(struct sl_device *port, const struct sl_flow_key *key, uint32_t queue,
		    uint32_t *place);
void sl_nic_rule_del(struct sl_device *port, uint32_t place);
/* Has the NIC spread packets over these queues (a bit set) by a table of its own, an RSS context,
 * whose number is in *context. One that was made before is changed; 0: a new one is made. 0 or
 * -errno; -EOPNOTSUPP, -EINVAL: it has no such tables, -ENOSPC and others: none is left. */
int sl_nic_context_set(struct sl_device *port, uint64_t queues, uint32_t *context);
/* Rules that lead to it must have gone. */
void sl_nic_context_del(struct sl_device *port, uint32_t context);
/* Does as sl_nic_rule_add(), but the packets go to the queues of a context. */
int sl_nic_rule_add_spread(struct sl_device *port, const struct sl_flow_key *key, uint32_t context,
			   uint32_t *place);
/* Calls found() for each rule that leads to a queue from `first` on; only our rules use these
 * queues. A rule that leads to a context counts as one to queue 0. found() returns false: the rule
 * is removed. */
typedef bool sl_nic_found(void *arg, const struct sl_flow_key *key, uint32_t queue, uint32_t place);
void sl_nic_rules(struct sl_device *port, uint32_t first, sl_nic_found *found, void *arg);

#endif
