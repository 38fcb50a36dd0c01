/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of pacing share: a pacer, on the lane's wheel (pace.c) or the NIC's (pace_nic.c),
 * or of a TCP connection (pace_tcp.c). */
#ifndef SL_STACK_PACE_INT_H
#define SL_STACK_PACE_INT_H

#include "stack/stack.h"

#define SL_PACE_RETRY_NS 1000000ull /* who finds a ring full, or waits for completions */
/* Packets under way in a paced queue, a power of two: three quarters are 4 ms of 1,500 bytes at 1
 * Gbit/s (pace_tcp.c). */
#define SL_PACE_DEPTH 512

/* Where the packets of one leg are posted. */
struct sl_pace_gate {
	struct sl_tx tx;
	struct sl_pacer *pacer;
	struct sl_leg *real;
	struct sl_leg *leg; /* its tx is ours */
};

/* Who lets the packets go. On the way to the NIC it is the wheel still, until all of before have
 * left when the next one is due: a NIC makes up for no time that is lost. On the way back nothing
 * goes. */
enum sl_pace_way { SL_WAY_WHEEL, SL_WAY_TO_NIC, SL_WAY_NIC, SL_WAY_TO_WHEEL };

struct sl_pacer {
	struct sl_list node; /* of its lane's, or of spare */
	struct sl_list told; /* of a turn's: its sender may have room */
	struct sl_timer timer;
	struct sl_lane *lane; /* NULL: none yet */
	struct sl_sock_stats *stats;
	struct sl_pace pace;
	struct sl_pace_ask ask;
	bool orphan;         /* without a socket */
	bool called;         /* the sender was told of room, and has not come yet: it is not idle */
	struct sl_list room; /* at most one entry: the sender that waits */
	uint32_t head, tail; /* frames; tail is good when there are any */
	uint32_t waiting;
	/* pace_nic.c */
	uint8_t way;             /* enum sl_pace_way */
	bool wants_nic;          /* there is a rate, and the NIC was not asked for a queue yet */
	bool asks;               /* the keeper is to ask it */
	bool opening;            /* it does so now */
	struct sl_list nic_node; /* of the lane's that have a queue */
	struct sl_tx *nic;       /* the NIC's queue at the rate; NULL: there is none */
	struct sl_leg *nic_leg;  /* that sends by it */
	struct sl_tx *beside;    /* the lane's queue, at whose device that is */
	uint32_t mark;           /* SL_WAY_TO_NIC: what is to have left that one, */
	uint64_t queue_ns;       /* since when the NIC's queue is there, */
	bool holds;              /* and too long: nothing more goes by the lane's */
	uint64_t nic_pkts, nic_bytes; /* posted to it */
	uint64_t nic_ns; /* when a completion came last, while there were more to come */
	/* pace_tcp.c */
	bool direct;                  /* a connection's, which posts to the NIC's queue itself */
	struct sl_list posted;        /* of those that have, since the last kick */
	bool full;                    /* there is enough in the queue for now */
	uint32_t frame_bytes;         /* of a full one */
	uint64_t byte_rate, byte_ns;  /* at that rate a byte takes, as a fixed-point number */
	uint32_t total;               /* posted to the queue, */
	uint32_t upto[SL_PACE_DEPTH]; /* and up to and with each packet of it; modulo 2^32 */
	bool ends[SL_PACE_DEPTH];     /* the last packet of a kick: it has a completion */
	uint64_t more_ns;             /* so much longer than AHEAD_NS is it to be */
	uint32_t next_end;            /* the first one whose completion is to come, or before it */
	uint32_t kicked;              /* before it they are started */
	uint64_t followed_ns;         /* up to then the NIC has been followed where it is slower */

	uint32_t ngates;
	struct sl_pace_gate gate[SL_STATS_PORTS];
};

/* pace.c: the queue. */
/* Its first packet, as one to be posted. */
struct sl_tx_desc sl_pacer_first(const struct sl_pacer *p);
void sl_pacer_pop(struct sl_pacer *p);
/* In front of the others. */
void sl_pacer_push_back(struct sl_pacer *p, const struct sl_tx_desc *d);
bool sl_pacer_post(struct sl_leg *leg, const struct sl_tx_desc *d);
/* Lets go what may, and starts it. */
void sl_pacer_run(struct sl_pacer *p);
/* If nothing is left of it that anybody needs: it is gone. */
void sl_pacer_end(struct sl_pacer *p);
void sl_pacer_show(struct sl_pacer *p);

/* pace_nic.c */
/* Another rate was asked for. */
void sl_pace_nic_set(struct sl_pacer *p);
/* Its packets go to more than one device now, or its socket is gone: the NIC's queue ends. */
void sl_pace_nic_leave(struct sl_pacer *p);
/* Asks the keeper for a queue, if it can be had. */
void sl_pace_nic_want(struct sl_pacer *p);
/* The wheel does not let go: when to look next. */
uint64_t sl_pace_nic_next(const struct sl_pacer *p, uint64_t now_ns);
/* What has left, and which way it is now. due_ns: when the next packet might have gone, had
 * somebody looked. */
void sl_pace_nic_look(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns);
/* Starts what was posted to its queue; one that refuses is left. */
void sl_pace_nic_start(struct sl_pacer *p);
/* On the way to the NIC: more went by the wheel. It is started, and its completion asked for. */
void sl_pace_nic_passed(struct sl_pacer *p);
/* Not by the wheel: posts what may go now, and starts it; how many. When the wheel lets go
 * afterwards, the rest is that one's. */
uint32_t sl_pace_nic_go(struct sl_pacer *p, uint64_t now_ns, uint64_t due_ns);
static inline bool sl_pace_is_by_wheel(const struct sl_pacer *p)
{
	return p->way == SL_WAY_WHEEL;
}

static inline bool sl_pace_wheel_lets_go(const struct sl_pacer *p)
{
	return p->way == SL_WAY_WHEEL || (p->way == SL_WAY_TO_NIC && !p->holds);
}

#endif
