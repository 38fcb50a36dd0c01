/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of a group that come and die. */
#ifndef SL_CTL_BURY_H
#define SL_CTL_BURY_H

#include "base/share/share_bury.h"
#include "ctl/umem/memory.h"

/* Adds another process as a member of the group that has this packet memory. (The embedded broker's
 * own process is a member already.) quota: the most frames it may hold; spare: frames that must be
 * left over, with all quotas used, for the fill rings and for packets in receive rings. Returns the
 * member's number, -EUSERS or -ENOSPC. */
int sl_broker_join(uint32_t umem, uint32_t quota, uint32_t spare);
/* A member has died, for certain (its pidfd says so): releases its locks and mends its half-done
 * work on rings. Call it at once: other members cannot use the rings until then. Does not block. */
void sl_broker_died(uint32_t umem, uint8_t member);
/* A lane of a dead member, with its leases. */
struct sl_broker_lane {
	uint32_t ifindex, lane;
	struct sl_xsk_lease *leases;
	uint32_t nleases;
};
/* First step of a burial, after sl_broker_died(): the kernel steers nothing to these lanes any
 * more. */
void sl_broker_mute(const struct sl_broker_lane *lanes, unsigned n);
/* Shows `late` the packets in the receive rings of a muted lane and takes them out; call it after
 * sl_broker_mute() and again before sl_broker_bury(). off: start of the packet in a copy of its
 * frame. The callback must not call the broker. */
typedef void sl_broker_late_fn(void *arg, uint32_t ifindex, const uint8_t *frame, uint32_t off,
			       uint32_t bytes);
void sl_broker_late(uint32_t umem, uint8_t member, const struct sl_broker_lane *lane,
		    sl_broker_late_fn *late, void *arg);
/* Second step: waits for a grace period of the kernel (some 10 ms, hundreds when it is busy), after
 * which no program run steers to the muted lanes. Any thread. */
void sl_broker_grace(void);
/* True: queue pairs of the NIC still hold frames of this member; a child of the dead process may
 * have the last descriptor of them for a moment. */
bool sl_broker_is_posted(uint32_t umem, uint8_t member);
/* True: a lock of that group is broken, see sl_share_look(), which this calls once. From then on
 * its shared memory is left as it is: nothing in it is mended or given back. */
bool sl_broker_is_broken(uint32_t umem, uint32_t looks, sl_share_stopped_fn *stopped, void *arg,
			 struct sl_share_fault *f);
/* Last step: takes the dead member's frames back and closes its lanes, with the leases' descriptors
 * and mappings, which the broker must have kept. -EBUSY: try again later; nothing is closed then.
 */
int sl_broker_bury(uint32_t umem, uint8_t member, const struct sl_broker_lane *lanes, unsigned n,
		   struct sl_share_left *left);
/* Takes back frames that were in flight when their owner died, on queues that no process works.
 * Returns how many came back, or -EBUSY. */
int sl_broker_reap(void);

/* With the lock held: takes back sent frames of dead members, a batch at a time. Returns how many,
 * or -EBUSY. */
int sl_queues_reap(void);
/* Tries again to bury members without lanes that a taken lock has kept from it. */
void sl_umems_bury_left(void);

#endif
