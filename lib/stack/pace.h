/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing of a socket's packets (SO_MAX_PACING_RATE). A paced socket posts to its pacer's leg
 * instead of the real leg. The pacer keeps each packet until its time and then passes it on to the
 * real leg, so sockets without pacing pay nothing. Call all functions with the lane held, unless
 * their comment says otherwise. */
#ifndef SL_STACK_PACE_H
#define SL_STACK_PACE_H

#include "base/pace.h"
#include "base/stats.h"
#include "base/timer.h"
#include "io/io.h"

struct sl_lane;
struct sl_leg;
struct sl_pacer;

/* A lane's state for its pacers. */
struct sl_lane_pace {
	struct sl_wheel wheel;
	struct sl_list pacers; /* all pacers on the lane */
	struct sl_list nics;   /* pacers with a send queue of the NIC */
	struct sl_list posted; /* pacers whose queue has packets not yet started */
};

/* A pacer for a socket with these counters; on no lane yet. NULL: no memory. */
struct sl_pacer *sl_pacer_new(struct sl_sock_stats *stats);
/* Changes the rate from now on. The pacer may still be on no lane. */
void sl_pacer_set(struct sl_pacer *p, const struct sl_pace_ask *ask);
struct sl_pace_ask sl_pacer_ask(const struct sl_pacer *p);
/* The leg to post to instead of `leg`. Puts a new pacer on the lane of `leg`. */
struct sl_leg *sl_pacer_leg(struct sl_pacer *p, struct sl_leg *leg);
/* True: a packet may bypass the pacer on that lane now, and is counted. False: other packets wait,
 * or its time has not come. */
bool sl_pacer_pass(struct sl_pacer *p, struct sl_lane *lane, uint32_t bytes);
/* Registers a sender that waits for room: lane->on_room() gets the entry when there may be some. */
void sl_pacer_block(struct sl_pacer *p, struct sl_list *entry);
/* Removes the rate: everything that waits is sent now, later packets at once. */
void sl_pacer_flush(struct sl_pacer *p);
/* The socket is gone; packets that wait are still sent at their time. */
void sl_pacer_put(struct sl_pacer *p);

/* For TCP connections. TCP paces itself in software and lets the NIC pace where it can. The pacer
 * then tells TCP when to post and to which leg (pace_tcp.c). */
/* From now on packets of up to frame_bytes leave by `leg` at the rate of `ask`. */
void sl_pacer_follow(struct sl_pacer *p, struct sl_leg *leg, const struct sl_pace_ask *ask,
		     uint32_t frame_bytes);
/* True: the NIC paces, or packets still wait on the way from one pacing to the other; post the
 * next packet at *at_ns. False: pace in software from due_ns on. */
bool sl_pacer_until(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns, uint64_t *at_ns);
/* True: the NIC does not pace, no queue of it is open or asked for, and nothing waits. */
bool sl_pacer_is_idle(const struct sl_pacer *p);
bool sl_pacer_is_by_nic(const struct sl_pacer *p);
/* The leg to post to instead of `leg`, so that the packet does not overtake earlier ones. */
struct sl_leg *sl_pacer_way(struct sl_pacer *p, struct sl_leg *leg);
/* Call after posting a packet of `bytes` to that leg. Returns when it leaves the NIC; 0: the NIC
 * does not pace it. */
uint64_t sl_pacer_posted(struct sl_pacer *p, struct sl_leg *leg, uint32_t bytes, uint64_t now_ns);
/* When the next packet could leave, as far as the pacer knows, and what was measured. */
const struct sl_pace *sl_pacer_pace(const struct sl_pacer *p);
/* Stops posting to the NIC's queue. True: everything posted before has left. */
bool sl_pacer_leave(struct sl_pacer *p);
/* Starts packets posted to NIC queues, and those that must leave before a new NIC queue is used. */
void sl_lane_pace_start(struct sl_lane *lane);

/* Called in a turn: sends the packets that are due. */
void sl_lane_pace_turn(struct sl_lane *lane);
/* Reaps completions of the NIC's paced queues. */
void sl_lane_pace_reap(struct sl_lane *lane);
/* Called about once a second: checks that those queues still work. True: packets are under way in
 * them. */
bool sl_lane_pace_check(struct sl_lane *lane, uint64_t now_ns);
/* Called by the keeper in each round: opens a queue that was asked for, or closes one that is no
 * longer used, and wakes the keeper again if there are more. No lane held. */
void sl_pace_nic_serve(void);
/* At exit: sends what waits, at its rate for a while, then at once. No lane held. */
void sl_pace_exit(void);
/* in a child of fork: forgets all pacers */
void sl_pace_child(void);

/* Set once. Called with the lane held when a packet with a tag (struct sl_frame_charge) was posted
 * to the device. */
extern void (*sl_pace_on_posted)(struct sl_leg *leg, const struct sl_tx_desc *d);

#endif
