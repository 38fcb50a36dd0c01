/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that receive by verbs. */
#ifndef SL_VERBS_RX_INT_H
#define SL_VERBS_RX_INT_H

#include "io/mlx5_cqe.h"
#include "io/verbs_int.h"
#include "io/nic/verbs_rx.h"

#define SL_VERBS_RX_OFF                                                                            \
	272u /* where a packet begins in its frame: there is room for the record                   \
	      */
#define SL_VERBS_RX_BATCH 32u
#define SL_VERBS_FLOWS    2u /* rules of the NIC for one of ours: VXLAN over IPv4 and IPv6 */

/* A claim that a rule is for. */
struct sl_verbs_member {
	uint32_t slot, gen, flags;
};
struct sl_verbs_block {
	struct sl_verbs_block *next;
	struct sl_verbs_member member[];
};

/* The claims that a rule brings packets for, found by the flow tag of the completion. The memory is
 * never given back while the queue is open, so it may be looked at while another thread changes it.
 */
struct sl_verbs_target {
	struct ibv_flow *flow[SL_VERBS_FLOWS];
	struct sl_verbs_member *member;
	uint32_t n, room; /* members, and places for them */
	uint16_t port;    /* of packets for it; 0: the place is free */
	uint8_t proto;
	bool tunnel;   /* its packets come in VXLAN */
	uint16_t vlan; /* the VID of its packets; 0: they have no tag */
	uint32_t next; /* free places, or groups: their tag is 0 */
	uint8_t addr[16];
};
#define SL_VERBS_CHUNK  256u
#define SL_VERBS_CHUNKS 64u
#define SL_VERBS_GROUPS 64u /* chains of rules for multicast groups; power of two */

/* A queue pair whose completions we read, and whose requests we write, without libmlx5; we are the
 * only ones. */
struct sl_verbs_rx_mlx5 {
	struct sl_mlx5_cq cq;
	uint8_t *ring;     /* requests */
	uint32_t *record;  /* the receive queue's word of the doorbell record */
	uint8_t *arm;      /* register that arms the completion queue */
	uint32_t *arm_rec; /* and its record */
	uint32_t mask;     /* requests of the ring, less 1 */
	uint32_t shift;    /* log2 of a request's bytes */
	uint32_t cqn;
};

struct sl_verbs_rx {
	struct sl_verbs_rx_mlx5 *direct; /* NULL: libibverbs reads and writes the queues */
	const struct sl_verbs_lib *lib;
	struct sl_verbs_dev *dev;
	struct ibv_comp_channel *channel;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct sl_frames *frames;
	sl_verbs_pass_fn *pass;
	uint32_t ifindex;
	uint32_t depth;      /* of the queue */
	uint32_t head, tail; /* buffers posted, and completed, in the same order */
	uint32_t mask;       /* entries of ring, less 1 */
	bool counts;         /* this queue tells of the drops of all on the device */
	bool stamps;         /* completions have stamps that can be converted */
	uint32_t polled;     /* completions so far; wraps */
	uint32_t armed_at;   /* polled when the queue was armed last */
	uint32_t events;     /* of the channel that were read */
	bool armed;
	const char *dead; /* why it is dead; NULL: it works */
	uint64_t other;   /* packets that no claim is for */
	uint64_t full_was;
	struct sl_verbs_clock clock;
	uint32_t serial;
	uint32_t ntargets; /* places there ever were, from 1 on */
	uint32_t free_first, free_last;
	struct sl_verbs_target *chunk[SL_VERBS_CHUNKS];
	struct sl_verbs_block *blocks; /* of all targets */
	uint64_t seed;                 /* spreads packets over members */
	uint32_t group[SL_VERBS_GROUPS];
	struct ibv_recv_wr wr[SL_VERBS_RX_BATCH];
	struct ibv_sge sge[SL_VERBS_RX_BATCH];
	uint32_t ring[]; /* the posted frames */
};

/* verbs_rx.c: as in struct sl_rx_ops. */
unsigned sl_verbs_rx_burst(struct sl_rx *rx, struct sl_rx_desc *descs, unsigned n);
bool sl_verbs_rx_refill(struct sl_rx *rx, struct sl_frames *cache);

/* verbs_rx_mlx5.c: lets us read the completions and write the requests of a fresh queue pair. NULL,
 * or why libibverbs does it. */
const char *sl_verbs_rx_open_mlx5(struct sl_verbs_rx *v);
/* Posts the n frames that are in v->ring from v->head on. Lane held. */
void sl_verbs_rx_post_mlx5(struct sl_verbs_rx *v, uint32_t n);
/* Has the device write an event when a packet comes. Any thread, v's XSK locked. */
void sl_verbs_rx_ask_mlx5(struct sl_verbs_rx *v);

/* The rule's target. tag: not 0, one that there was. */
static inline struct sl_verbs_target *sl_verbs_target(const struct sl_verbs_rx *v, uint32_t tag)
{
	return &v->chunk[tag / SL_VERBS_CHUNK][tag % SL_VERBS_CHUNK];
}

/* verbs_rule.c: finds the target of a packet for a group. NULL: none. */
const struct sl_verbs_target *sl_verbs_group_find(const struct sl_verbs_rx *v,
						  const uint8_t addr[16], uint16_t port,
						  uint16_t vlan);
void sl_verbs_rules_end(struct sl_verbs_rx *v);  /* destroys all */
void sl_verbs_rules_free(struct sl_verbs_rx *v); /* and their memory */

/* verbs_flow.c: a rule in libibverbs' form. */
struct sl_verbs_flow {
	union {
		struct ibv_flow_attr attr;
		uint8_t bytes[640];
	};
};
/* Writes the rule, with that tag (0: none). outer6: the outer packet of VXLAN is of IPv6. False: no
 * packet can fit it. */
bool sl_verbs_flow_build(struct sl_verbs_flow *f, const struct sl_verbs_rule *r, uint32_t tag,
			 bool outer6);

#endif
