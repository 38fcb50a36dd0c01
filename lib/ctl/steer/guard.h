/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds back the kernel's resets of flows that are ours. */
#ifndef SL_CTL_GUARD_H
#define SL_CTL_GUARD_H

#include "ctl/device/device.h"

/* Netfilter priority, before conntrack's (NF_IP_PRI_CONNTRACK_DEFRAG is -400). */
#define SL_GUARD_PRIORITY (-800)

/* Opens the guard, once for an attachment, at its first claim of TCP; a kernel that cannot do it
 * has no guard. Closing is async-signal-safe. */
void sl_guard_open(struct sl_attach *a, uint32_t ifindex);
/* Opens the second guard, for packets that leave by other devices, together with the first. Call it
 * in a call of the program, not in the keeper, since libbpf's descriptors are low numbers for a
 * moment. A restarted daemon, which has adopted the first guard, calls it alone. */
void sl_guard_open_rest(struct sl_attach *a, uint32_t ifindex);
/* Moves the guard to the device that replaced the attachment's. False: it is there already, or
 * there is no guard. */
bool sl_guard_follow(struct sl_attach *a, uint32_t ifindex);
void sl_guard_close(struct sl_attach *a);

/* steer/nft.c: has nf_tables run the program on all that leaves the namespace, until the returned
 * descriptor is closed. -errno: the kernel cannot. */
int sl_guard_tables(int prog_fd, uint32_t ifindex);

#endif
