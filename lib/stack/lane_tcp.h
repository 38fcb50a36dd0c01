/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP on a lane: the bracket around calls of lib/tcp (tcp.c), and which short writes wait for the
 * next one (hold.c).
 *
 *      lock the lane
 *      sl_lane_tcp_begin()     the host gets the time; frames are freed if they are short
 *          sl_tcp_...()        any calls of lib/tcp: they only mark output
 *      sl_lane_tcp_done()      sends ACKs and data, kicks the legs, sees to the next timer;
 *        or, after a write,    or sl_lane_tcp_wrote(): the same, unless a short piece is held back
 *      unlock the lane
 *
 * A turn is such a bracket by itself: it begins with the first TCP packet of its batch and ends
 * with sl_lane_tcp_turn() or sl_lane_tcp_idle(). lib/tcp's callbacks run inside of one. */
#ifndef SL_LANE_TCP_H
#define SL_LANE_TCP_H

#include "stack/lane.h"
#include "tcp/tcp.h"

/* Sets the operations for the lanes' hosts. Call once, before the first host is made. Gets the
 * secret for sequence numbers from the kernel. 0 or -errno. */
int sl_stack_tcp_init(const struct sl_tcp_ops *ops);
/* The process becomes another user: forgets the secrets that segments are made with. What hosts
 * need to find their connections stays. */
void sl_stack_tcp_part(void);
/* The lane's TCP host, made at the first call; its owner is the lane. NULL: no memory, or
 * sl_limbo. Lane not held. */
struct sl_tcp_host *sl_lane_tcp(struct sl_lane *lane);
/* Call these two around calls of lib/tcp for the lane's connections outside a turn, lane held.
 * begin() tells the host the time. done() sends what is due (ACKs, data), starts it, and makes
 * sure that the timers will run. Do not call them in lib/tcp's callbacks: the turn does it. */
void sl_lane_tcp_begin(struct sl_lane *lane);
void sl_lane_tcp_done(struct sl_lane *lane);
/* Call instead of done() after a write of n bytes to c. It may hold back a short write that is one
 * of many in a row, or the first of a likely pair, until the next write, turn or call, or until
 * the keeper comes (hold.c). fresh: before the write, c had nothing unsent or unacknowledged.
 * sl_tcp_append() needs neither begin() nor done(), but must not be used for the second write of a
 * pair. */
void sl_lane_tcp_wrote(struct sl_lane *lane, const struct sl_tcp *c, size_t n, bool fresh);

/* True: c's first write of a pair is held back and the second is expected. */
static inline bool sl_lane_tcp_awaits(const struct sl_lane *lane, const struct sl_tcp *c)
{
	return lane->pair.of == c;
}
#define SL_HOLD_US     32
#define SL_BURST_LEAST 128 /* short writes in a row that are a burst */

/* True: a burst of short writes is or was a moment ago under way. Called by the keeper. */
bool sl_lane_is_bursting(const struct sl_lane *lane, uint64_t now_us);
/* How much later than SL_HOLD_US the keeper may come for the data held back now. */
uint64_t sl_lane_hold_late_us(const struct sl_lane *lane);
/* End of a turn: sl_lane_tcp_turn() if TCP received something, else sl_lane_tcp_idle(). Lane
 * held. */
void sl_lane_tcp_turn(struct sl_lane *lane);
void sl_lane_tcp_idle(struct sl_lane *lane);
/* End of a turn that found nothing while data were held back. Lane held. */
void sl_lane_tcp_late(struct sl_lane *lane);
/* Called by the keeper about once a second: frees frames if they are short, even if the lane
 * receives nothing. Lane not held. */
void sl_lane_tcp_relieve(struct sl_lane *lane);
/* Sends the ACKs that were delayed in the hope of more data. Call before a thread that made the
 * lane's turns sleeps. Lane not held. */
void sl_lane_tcp_sleeps(struct sl_lane *lane);

#endif
