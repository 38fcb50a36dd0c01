/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the verbs backend share: a device of the process, a lane's queue on it. */
#ifndef SL_VERBS_INT_H
#define SL_VERBS_INT_H

#include "io/verbs.h"
#include "io/verbs_lib.h"

struct sl_verbs_dev {
	uint32_t ifindex; /* 0: free */
	char name[64];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t users;
	const char *dead; /* why */
};

struct sl_verbs_tx {
	struct sl_tx tx;
	struct sl_verbs_dev *dev;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	uint32_t lkey;
	uint32_t inline_bytes;
	uint32_t mask;        /* of desc */
	uint32_t depth;       /* descriptors the queue takes */
	uint32_t head;        /* posted */
	uint32_t made;        /* made requests of */
	uint32_t tail;        /* completed */
	uint64_t progress_ns; /* when a completion came, or the queue was empty */
	const char *dead;     /* why */
	uint32_t doubt_to;    /* of a dead queue: what lies between tail and this may have left */
	struct sl_tx_desc desc[];
};

static inline struct sl_verbs_tx *sl_verbs_of(struct sl_tx *tx)
{
	return sl_container_of(tx, struct sl_verbs_tx, tx);
}

#endif
