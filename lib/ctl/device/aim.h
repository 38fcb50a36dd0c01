/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the NIC that bring the packets of a claim to a queue of its lane (SLUICE_NIC_STEERING).
 */
#ifndef SL_CTL_AIM_H
#define SL_CTL_AIM_H

#include "ctl/device/device.h"

/* Call all with the broker's lock held, in a process that has the device for itself. */

/* Adds the rule for that end, or flow, or makes it anew if it leads to other queues (a bit set, not
 * empty). A NIC without rules, or without room, is left as it is: its packets come by any queue as
 * before; so do those of several queues where the NIC has no contexts. */
void sl_aim(struct sl_device *d, const struct sl_flow_key *key, uint64_t queues);
void sl_aim_end(struct sl_device *d, const struct sl_flow_key *key);
/* Removes all rules of the device. */
void sl_aims_close(struct sl_device *d);
/* The file in which the rules are noted, for the reaper; -1: there is none. It stays ours. */
int sl_aims_fd(void);
/* In a forked child, which has no device. Async-signal-safe. */
void sl_aims_child(void);
/* The reaper removes the rules that the file notes for the device. */
void sl_aims_clean(uint32_t ifindex, int fd);

#endif
