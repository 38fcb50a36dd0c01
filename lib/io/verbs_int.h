/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the verbs backend share: a device of the process, a lane's queue on it. */
#ifndef SL_VERBS_INT_H
#define SL_VERBS_INT_H

#include "base/stats.h"
#include "base/timemap.h"
#include "io/offload.h"
#include "io/verbs.h"
#include "io/verbs_lib.h"

#define SL_SIGNAL_EVERY 64 /* power of two */
/* Longer than any pause frame holds a queue up. */
#define SL_VERBS_PATIENCE_NS 2000000000ull

struct sl_verbs_dev {
	uint32_t ifindex; /* 0: free */
	char name[64];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t users;
	uint32_t caps;       /* SL_TX_* */
	uint64_t max_dm;     /* on-device memory, bytes */
	uint64_t clock_mask; /* of the counter that completions are stamped with; 0: they are not */
	uint64_t clock_khz;
	const char *dead; /* why */
};

/* Stamps that somebody waits for, in the order of their packets. */
#define SL_VERBS_ASKS 64
struct sl_verbs_stamps {
	uint32_t first, n;
	uint32_t at[SL_VERBS_ASKS]; /* the packet's descriptor */
	struct sl_tx_ask ask[SL_VERBS_ASKS];
	struct sl_timemap map; /* of the counter to CLOCK_REALTIME */
	uint64_t paired_ns;    /* when it got its last pair */
};

struct sl_verbs_tx {
	struct sl_tx tx;
	struct sl_verbs_dev *dev;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	uint32_t lkey;
	uint32_t inline_bytes;
	uint32_t mask;   /* of desc */
	uint32_t depth;  /* descriptors the queue takes */
	uint32_t signal; /* a request is signalled when one of these bits of its number changes */
	uint32_t head;   /* posted */
	uint32_t made;   /* made requests of */
	uint32_t tail;   /* completed */
	uint64_t progress_ns; /* when a completion came, or the queue was empty */
	uint64_t patience_ns; /* so long it may take until one comes */
	const char *dead;     /* why */
	uint32_t doubt_to;    /* of a dead queue: what lies between tail and this may have left */
	struct sl_offload_undo undo;
	struct sl_verbs_mem *mem; /* on the device; NULL: none */
	struct sl_verbs_stamps stamps;
	struct sl_tx_desc desc[];
};

/* verbs_offload.c -------------------------------------------------------------------------------
 */

/* What the device can do. */
void sl_verbs_query(struct sl_verbs_dev *dev);
/* Asks for large segments in what a queue pair is made of. */
void sl_verbs_ask_tso(struct ibv_qp_init_attr_ex *attr);
/* How many descriptors from `at` on make one request: those that are carried on. */
uint32_t sl_verbs_train(const struct sl_verbs_tx *v, uint32_t at);
/* Makes a request of n of them; wr_id and wr_flags are set. */
void sl_verbs_make_train(const struct sl_verbs_tx *v, uint32_t at, uint32_t n);
/* The first descriptor of the request that `at` is of. */
uint32_t sl_verbs_train_begin(const struct sl_verbs_tx *v, uint32_t at);

/* verbs_mem.c -----------------------------------------------------------------------------------
 */

/* Gives a queue that much on-device memory, if it is to be had; else the log says why not. */
void sl_verbs_mem_open(struct sl_verbs_tx *v, const struct sl_verbs_want *want);
/* Little of it is left: the frames to reap completions with, for that frees it; NULL: no need. */
struct sl_frames *sl_verbs_mem_short(const struct sl_verbs_tx *v);
void sl_verbs_mem_close(struct sl_verbs_tx *v); /* the queue pair is gone */
/* Makes a request of a descriptor whose packet goes by that memory; wr_id and wr_flags are set.
 * False: there is no room, nothing was done. */
bool sl_verbs_mem_make(const struct sl_verbs_tx *v, uint32_t slot);
/* Descriptors from `from` to (not with) `to` are completed. */
void sl_verbs_mem_done(struct sl_verbs_tx *v, uint32_t from, uint32_t to);

/* verbs_stamp.c --------------------------------------------------------------------------------
 */

/* What clock the device has. */
void sl_verbs_query_clock(struct sl_verbs_dev *dev, const struct ibv_device_attr_ex *attr);
/* Is a completion queue to be made with stamps? And one has been. */
bool sl_verbs_may_stamp(const struct sl_verbs_dev *dev);
void sl_verbs_start_stamps(struct sl_verbs_tx *v);
bool sl_verbs_stamp(struct sl_tx *tx, const struct sl_tx_ask *ask); /* sl_tx_ops.stamp */
/* The completion that is being looked at is that of all up to (not with) `to`. */
void sl_verbs_stamps_done(struct sl_verbs_tx *v, uint32_t to);
/* Nothing completes any more. */
void sl_verbs_stamps_end(struct sl_verbs_tx *v);

static inline struct sl_verbs_tx *sl_verbs_of(struct sl_tx *tx)
{
	return sl_container_of(tx, struct sl_verbs_tx, tx);
}

#endif
