/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: what one thread needs to talk to the wire alone. A lane has a leg on each port it is
 * open on (one XSK for each RX queue, one transmit queue), frames, and the sockets on it. */
#ifndef SL_STACK_H
#define SL_STACK_H

#include <poll.h>

#include "base/base.h"

struct sl_lane;

/* One turn: receive a batch, deliver it, give frames back. Takes and releases the lane's lock.
 * Returns the number of packets handled (0: nothing), never blocks. */
int sl_lane_turn(struct sl_lane *lane);

/* The descriptors that become readable when packets arrive. Writes at most max entries (events
 * POLLIN), returns how many there are. */
unsigned sl_lane_fds(struct sl_lane *lane, struct pollfd *fds, unsigned max);
#define SL_LANE_MAX_FDS 64

#endif
