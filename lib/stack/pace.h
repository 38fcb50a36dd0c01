/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing of a socket's packets (SO_MAX_PACING_RATE). A pacer is a leg in a leg's place: what is
 * posted to it waits for its time and goes on to the leg behind it. So who is not paced has no
 * part in it. All with the lane held, where nothing else is said. */
#ifndef SL_STACK_PACE_H
#define SL_STACK_PACE_H

#include "base/pace.h"
#include "base/stats.h"
#include "base/timer.h"
#include "io/io.h"

struct sl_lane;
struct sl_leg;
struct sl_pacer;

/* What a lane has for its pacers. */
struct sl_lane_pace {
	struct sl_wheel wheel;
	struct sl_list pacers; /* that are on the lane */
	struct sl_list nics;   /* those with a queue of the NIC's */
	struct sl_list posted; /* those in whose queue something is to be started */
};

struct sl_lane_pace *sl_lane_pace_new(void); /* NULL: no memory */

/* One for a socket, whose counters are these; on no lane yet. NULL: no memory. */
struct sl_pacer *sl_pacer_new(struct sl_sock_stats *stats);
/* Asks for another rate from now on. Also of one that is on no lane. */
void sl_pacer_set(struct sl_pacer *p, const struct sl_pace_ask *ask);
struct sl_pace_ask sl_pacer_ask(const struct sl_pacer *p);
/* The leg to post to in place of that one, on whose lane the pacer is from then on. */
struct sl_leg *sl_pacer_leg(struct sl_pacer *p, struct sl_leg *leg);
/* May a packet go another way, which is its lane's? Not before what waits, nor its time. True: it
 * is counted. */
bool sl_pacer_pass(struct sl_pacer *p, struct sl_lane *lane, uint32_t bytes);
/* A sender waits for room: the entry is given to lane->on_room() when there may be some. */
void sl_pacer_block(struct sl_pacer *p, struct sl_list *entry);
/* All that waits goes now, and what comes later at once. */
void sl_pacer_flush(struct sl_pacer *p);
/* Its socket is gone; what waits goes at its time. */
void sl_pacer_put(struct sl_pacer *p);

/* A TCP connection keeps its pace itself, and has a NIC keep it where one can: its pacer then tells
 * it when to post, and to which leg (pace_tcp.c). */
/* Packets of up to frame_bytes go by that leg at that rate from now on. */
void sl_pacer_follow(struct sl_pacer *p, struct sl_leg *leg, const struct sl_pace_ask *ask,
		     uint32_t frame_bytes);
/* Does the NIC keep the pace, or stand between? Then the next packet may be posted at *at_ns. The
 * caller keeps it otherwise, by whose reckoning one may be from due_ns on. */
bool sl_pacer_until(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns, uint64_t *at_ns);
/* It does not, nor will it. */
bool sl_pacer_is_idle(const struct sl_pacer *p);
bool sl_pacer_is_by_nic(const struct sl_pacer *p);
/* The leg to post to, in place of that one, so that the packet is not before any that has been. */
struct sl_leg *sl_pacer_way(struct sl_pacer *p, struct sl_leg *leg);
/* A packet of so many bytes was posted there. When it leaves the NIC, 0: that does not pace it. */
uint64_t sl_pacer_posted(struct sl_pacer *p, struct sl_leg *leg, uint32_t bytes, uint64_t now_ns);
/* When a packet more would leave, by what the pacer knows; and what was measured. */
const struct sl_pace *sl_pacer_pace(const struct sl_pacer *p);
/* Nothing is to be posted to the NIC any more. True: and all that was has left. */
bool sl_pacer_leave(struct sl_pacer *p);
/* Starts what was posted to NICs' queues, and beside one that is to come. */
void sl_lane_pace_start(struct sl_lane *lane);

/* In a turn: lets go what is due. */
void sl_lane_pace_turn(struct sl_lane *lane);
/* What the NIC's paced queues are done with. */
void sl_lane_pace_reap(struct sl_lane *lane);
/* About once a second: do those still work? True: something is under way in them. */
bool sl_lane_pace_check(struct sl_lane *lane, uint64_t now_ns);
/* The keeper's: queues that are asked for or done with. No lane held. */
void sl_pace_nic_serve(void);
/* At exit: what waits goes, for a while at its rate; no lane held. */
void sl_pace_exit(void);
/* In a child: there are no lanes. */
void sl_pace_child(void);

/* Set once: called when a packet with a tag (struct sl_frame_charge) has been posted to the device,
 * lane held. */
extern void (*sl_pace_on_posted)(struct sl_leg *leg, const struct sl_tx_desc *d);

#endif
