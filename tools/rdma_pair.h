/* SPDX-License-Identifier: BSD-2-Clause */
/* An end of a path that is tested by RDMA. A connected queue pair measures latency. A queue pair
 * of datagrams beside it measures loss: the connected one sends again what is lost. */
#ifndef SL_TOOLS_RDMA_PAIR_H
#define SL_TOOLS_RDMA_PAIR_H

#include "rdma_lib.h"

enum sl_rdma_kind { SL_RDMA_RC, SL_RDMA_UD, SL_RDMA_KINDS };

#define SL_RDMA_SLOTS      16   /* of each kind, to send and to receive */
#define SL_RDMA_SLOT_BYTES 2048 /* the global route header of a datagram stands in front */

/* Travels in the private data of the request and of its answer. */
struct sl_rdma_hello {
	uint32_t magic;   /* SL_RDMA_MAGIC, in network order as all of it */
	uint32_t ud_qp;   /* number of the queue pair of datagrams */
	uint32_t ud_qkey; /* its key */
};
#define SL_RDMA_MAGIC 0x534c5201u
#define SL_RDMA_QKEY  0x51cce001u

struct sl_rdma_pair {
	const struct sl_rdma_lib *lib;
	struct sl_rdma_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[SL_RDMA_KINDS];
	struct ibv_ah *ah; /* way of the datagrams */
	struct ibv_mr *mr;
	uint8_t *mem;
	uint32_t peer_ud, peer_qkey;
	unsigned sent[SL_RDMA_KINDS];   /* posted */
	unsigned unsent[SL_RDMA_KINDS]; /* without a completion yet */
	uint8_t ack_timeout;            /* that the kernel gave the queue pair */
	const char *step;               /* call that failed last */
	enum ibv_wc_status bad;         /* status of a completion that failed, if step is that */
};

/* A message that has arrived. */
struct sl_rdma_got {
	enum sl_rdma_kind kind;
	const uint8_t *bytes; /* until the next call */
	uint32_t len;
};

/* Makes the queue pairs and their memory on the device of id. 0 or -errno of the
 * call that p->step names. End it by sl_rdma_pair_fini() in both cases. */
int sl_rdma_pair_init(struct sl_rdma_pair *p, const struct sl_rdma_lib *lib, struct sl_rdma_id *id);
void sl_rdma_pair_fini(struct sl_rdma_pair *p);
/* Brings the queue pairs to where they send and receive, by rdma_init_qp_attr() and
 * ibv_modify_qp(): the peer's number is known to the kernel by then (CONNECT_REQUEST, or
 * CONNECT_RESPONSE). */
int sl_rdma_pair_ready(struct sl_rdma_pair *p, const struct sl_rdma_hello *peer);
/* Posts a message. -EAGAIN: too many are on their way. */
int sl_rdma_pair_send(struct sl_rdma_pair *p, enum sl_rdma_kind kind, const void *bytes,
		      uint32_t len);
/* Looks for a message. 1: *got is one; 0: there is none; -errno: a completion failed (p->bad). */
int sl_rdma_pair_poll(struct sl_rdma_pair *p, struct sl_rdma_got *got);

#endif
