/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the pacing files: a pacer runs on the lane's timing wheel (pace.c), on a NIC queue
 * (pace_nic.c), or serves a TCP connection (pace_tcp.c). */
#ifndef SL_STACK_PACE_INT_H
#define SL_STACK_PACE_INT_H

#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/pace.h"

#define SL_PACE_RETRY_NS 1000000ull /* retry delay: a ring is full, or completions are awaited */
/* Packets that fit into a paced queue, a power of two: three quarters are 4 ms of 1,500-byte
 * packets at 1 Gbit/s (pace_tcp.c). */
#define SL_PACE_DEPTH 512

/* The leg that a paced socket posts to, one for each real leg. */
struct sl_pace_gate {
	struct sl_tx tx;
	struct sl_pacer *pacer;
	struct sl_leg *real;
	struct sl_leg *leg; /* leg->tx points to tx above */
};

/* Which side paces. SL_WAY_TO_NIC: the wheel still sends, until all earlier packets have left just
 * when the next one is due, because a NIC does not catch up lost time. SL_WAY_TO_WHEEL: nothing is
 * sent until the NIC's queue is empty. */
enum sl_pace_way { SL_WAY_WHEEL, SL_WAY_TO_NIC, SL_WAY_NIC, SL_WAY_TO_WHEEL };

struct sl_pacer {
	struct sl_list node; /* in the lane's list of pacers, or in `spare` */
	struct sl_list told; /* in a turn's list: its sender may have room */
	struct sl_timer timer;
	struct sl_lane *lane; /* NULL: none yet */
	struct sl_sock_stats *stats;
	struct sl_pace pace;
	struct sl_pace_ask ask;
	bool orphan; /* its socket is gone */
	bool called; /* the sender was told of room and has not posted yet, so it is not idle */
	struct sl_list room; /* at most one entry: the waiting sender */
	uint32_t head, tail; /* first and last waiting frame; tail is valid only if frames wait */
	uint32_t waiting;
	/* pace_nic.c */
	uint8_t way;             /* enum sl_pace_way */
	bool wants_nic;          /* a rate is set and no NIC queue was asked for yet */
	bool asks;               /* the keeper must open a queue */
	bool opening;            /* the keeper is opening one now */
	struct sl_list nic_node; /* in the lane's list of pacers with a NIC queue */
	struct sl_tx *nic;       /* the NIC's queue with this rate; NULL: none */
	struct sl_leg *nic_leg;  /* leg whose tx is nic */
	struct sl_tx *beside;    /* the lane's own queue on the same device as nic */
	uint32_t mark;           /* SL_WAY_TO_NIC: number in `beside` that must be sent first */
	uint64_t queue_ns;       /* when the NIC's queue was opened */
	bool holds;              /* it waited too long: the wheel sends nothing more meanwhile */
	uint64_t nic_pkts, nic_bytes; /* posted to the NIC's queue */
	uint64_t nic_ns; /* time of the last completion while packets were under way; else 0 */
	/* pace_tcp.c */
	bool direct;           /* a TCP connection posts to the NIC's queue itself */
	struct sl_list posted; /* in the lane's list of pacers with packets not yet started */
	bool full;             /* the queue has enough for now */
	uint32_t frame_bytes;  /* bytes of a full-sized frame */
	uint64_t byte_rate,
		byte_ns; /* that rate, and nanoseconds for a byte as a fixed-point number */
	uint32_t total;  /* bytes posted to the queue, modulo 2^32 */
	uint32_t upto[SL_PACE_DEPTH]; /* value of total after each packet in the queue */
	bool ends[SL_PACE_DEPTH];     /* last packet of a kick: it has a completion */
	uint64_t more_ns;     /* extra time, beyond AHEAD_NS, for which the queue is filled */
	uint32_t next_end;    /* next packet with a completion to come, or one before it */
	uint32_t kicked;      /* packets before this number are started */
	uint64_t followed_ns; /* up to this time next_ns was adjusted to a NIC slower than its rate
			       */

	uint32_t ngates;
	struct sl_pace_gate gate[SL_STATS_PORTS];
};

/* pace.c: the queue */
/* The first waiting packet, as a descriptor to post. */
struct sl_tx_desc sl_pacer_first(const struct sl_pacer *p);
void sl_pacer_pop(struct sl_pacer *p);
/* Puts a packet in front of those that wait. */
void sl_pacer_push_back(struct sl_pacer *p, const struct sl_tx_desc *d);
bool sl_pacer_post(struct sl_leg *leg, const struct sl_tx_desc *d);
/* Sends what is due and starts it. */
void sl_pacer_run(struct sl_pacer *p);
/* Frees the pacer if its socket is gone and nothing waits. */
void sl_pacer_end(struct sl_pacer *p);
void sl_pacer_show(struct sl_pacer *p);

/* pace_nic.c */
/* Sets the changed rate on the NIC's queue. */
void sl_pace_nic_set(struct sl_pacer *p);
/* Stops using the NIC's queue: the packets now go to several devices, or the socket is gone. */
void sl_pace_nic_leave(struct sl_pacer *p);
/* Asks the keeper for a NIC queue where one is possible. */
void sl_pace_nic_want(struct sl_pacer *p);
/* When to look again while the wheel does not send. */
uint64_t sl_pace_nic_next(const struct sl_pacer *p, uint64_t now_ns);
/* Reaps completions and changes the way if it is time. due_ns: when the next packet could have
 * been sent, had a thread looked. */
void sl_pace_nic_look(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns);
/* Starts the packets posted to the NIC's queue; if the queue has failed, the wheel takes over. */
void sl_pace_nic_start(struct sl_pacer *p);
/* SL_WAY_TO_NIC: the wheel sent more packets. Starts them and asks for a completion. */
void sl_pace_nic_passed(struct sl_pacer *p);
/* Posts and starts what the NIC's queue may get now; returns how many packets. If the wheel paces
 * afterwards, it sends the rest. */
uint32_t sl_pace_nic_go(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns);
static inline bool sl_pace_is_by_wheel(const struct sl_pacer *p)
{
	return p->way == SL_WAY_WHEEL;
}

static inline bool sl_pace_wheel_lets_go(const struct sl_pacer *p)
{
	return p->way == SL_WAY_WHEEL || (p->way == SL_WAY_TO_NIC && !p->holds);
}

/* True: a pacer was made in this process. Any thread. */
bool sl_pace_is_used(void);

#endif
