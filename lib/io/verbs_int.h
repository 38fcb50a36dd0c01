/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the verbs backend: the open devices of the process, and a lane's queue on
 * one. */
#ifndef SL_VERBS_INT_H
#define SL_VERBS_INT_H

#include "base/clock.h"
#include "base/lock.h"
#include "base/stats.h"
#include "base/timemap.h"
#include "io/offload.h"
#include "io/verbs.h"
#include "io/verbs_lib.h"

/* How long completions may be missing: no pause frame holds a queue up for longer. */
#define SL_VERBS_PATIENCE_NS 2000000000ull

/* An RDMA device that is open in this process; sl_verbs_lock protects it. */
struct sl_verbs_dev {
	uint32_t ifindex; /* 0: free */
	char name[64];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t users;      /* queues on it */
	uint32_t caps;       /* SL_TX_* */
	uint64_t max_dm;     /* on-device memory, bytes */
	uint64_t clock_mask; /* bits of the counter in completions; 0: no stamps */
	uint64_t clock_khz;
	uint32_t pace_min_kbps, pace_max_kbps; /* rates of a queue pair; 0: it keeps none */
	const struct sl_mlx5_lib *mlx5;        /* NULL: the NIC is no mlx5 */
	const char *dead;                      /* why it cannot be used; NULL: it works */
	bool has_counter;                      /* a receive queue tells of its drops */
};

/* Converts the device's counter to times, for one user. */
struct sl_verbs_clock {
	struct sl_verbs_dev *dev;
	struct sl_timemap map; /* from the counter to CLOCK_REALTIME */
	uint64_t paired_ns;    /* when the map got its last pair */
};

/* Send times that were asked for, in the order of the packets. */
#define SL_VERBS_ASKS 64
struct sl_verbs_stamps {
	uint32_t first, n;
	uint32_t at[SL_VERBS_ASKS]; /* number of the packet's descriptor */
	struct sl_tx_ask ask[SL_VERBS_ASKS];
	struct sl_verbs_clock clock;
};

/* verbs_dev.c ------------------------------------------------------------------------------------
 */

/* Protects the table of devices; held while send queues are opened and closed. */
extern struct sl_lock sl_verbs_lock;
/* The device of that name, opened, with one more user. NULL, and *why. Lock held. */
struct sl_verbs_dev *sl_verbs_dev_get(uint32_t ifindex, const char *name, const char **why);
void sl_verbs_dev_put(struct sl_verbs_dev *dev); /* lock held */
/* sl_verbs_dev_get() of the network device's RDMA device, whose name it fills in; the frame pool
 * must be attached. NULL: it cannot, and *why is the reason; NULL there if it is no RDMA device.
 * Slow. */
struct sl_verbs_dev *sl_verbs_dev_open(uint32_t ifindex, const char *ifname, char name[64],
				       const char **why);
void sl_verbs_dev_close(struct sl_verbs_dev *dev);
/* Takes the device's events. The reason if it has failed, else NULL. errno may change. */
const char *sl_verbs_dev_look(struct sl_verbs_dev *dev);
void sl_verbs_devs_child(void);

struct sl_verbs_tx;

/* How requests get to the device, and completions from it: by libibverbs or directly. */
struct sl_verbs_ways {
	/* Makes requests of all that is posted, and starts them. 0, or an errno: none started. */
	int (*make)(struct sl_verbs_tx *v);
	/* Makes and starts a request that sends nothing, but completes. 0, or an errno. NULL: the
	 * device has no such request. */
	int (*make_nop)(struct sl_verbs_tx *v);
	/* Takes all completions: descriptors before *to are done then. Returns the status of the
	 * first error: nothing has left from *to on. */
	enum ibv_wc_status (*poll)(struct sl_verbs_tx *v, uint32_t *to);
};

struct sl_verbs_tx {
	struct sl_tx tx;
	const struct sl_verbs_ways *ways;
	struct sl_verbs_mlx5 *direct; /* verbs_mlx5.c; NULL: by libibverbs */
	struct sl_verbs_dev *dev;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct mlx5dv_qp_ex *dv_qpx; /* NULL: it takes no requests of the driver's own kinds */
	uint32_t lkey;
	uint32_t inline_bytes;
	uint32_t mask;    /* number of entries of desc, less 1 */
	uint32_t depth;   /* descriptors that the queue takes */
	uint32_t every;   /* one in so many requests has a completion; a power of two */
	uint32_t signal;  /* a request is signalled when one of these bits of its number changes */
	bool ends;        /* the last request of each kick is signalled, too */
	uint32_t head;    /* posted */
	uint32_t made;    /* requests were made of those before this */
	uint32_t awaited; /* a completion will come for all before this */
	uint32_t nop;     /* value of awaited when the last request that sends nothing was made */
	uint32_t tail;    /* completed */
	uint64_t progress_ns; /* when a completion came last, or the wait for one began */
	uint64_t patience_ns; /* longest wait for a completion */
	const char *dead;     /* why it is dead; NULL: it works */
	uint32_t doubt_to;    /* of a dead queue: descriptors from tail to this may have left */
	struct sl_offload_undo undo;
	struct sl_verbs_mem *mem; /* on-device memory; NULL: none */
	struct sl_verbs_stamps stamps;
	void (*close)(struct sl_tx *tx, struct sl_frames *cache); /* set by verbs.c */
	struct sl_tx_desc desc[];
};

/* verbs_tx.c -------------------------------------------------------------------------------------
 */

extern const struct sl_tx_ops sl_verbs_tx_ops;
/* Marks the queue as dead. Descriptors from sure_from on have certainly not left. */
void sl_verbs_die(struct sl_verbs_tx *v, const char *why, uint32_t sure_from);
/* Gives all frames back after the queue pair is destroyed, sent or not. */
void sl_verbs_give_back_all(struct sl_verbs_tx *v, struct sl_frames *cache);

bool sl_verbs_mem_is_used(const struct sl_verbs_tx *v); /* below */

/* True: the request that ends before `end` must be signalled. */
static inline bool sl_verbs_wants_signal(const struct sl_verbs_tx *v, uint32_t end)
{
	return (v->made ^ end) & v->signal ||
	       (end == v->head && (v->ends || (v->mem && sl_verbs_mem_is_used(v))));
}

/* Notes that the request that ends before `end` is signalled. */
static inline void sl_verbs_await(struct sl_verbs_tx *v, uint32_t end)
{
	if (v->awaited == v->tail)
		v->progress_ns = sl_now_ns();
	v->awaited = end;
}

/* verbs_wr.c -------------------------------------------------------------------------------------
 */

/* Makes a queue pair that takes requests from libibverbs. NULL: it cannot be made. */
struct ibv_qp *sl_verbs_make_qp(struct sl_verbs_tx *v, struct ibv_qp_init_attr_ex *attr);

/* verbs_mlx5.c -----------------------------------------------------------------------------------
 */

/* Lets us write the requests of a fresh queue pair. NULL, or why libibverbs must make them. The
 * devices' lock is held. */
const char *sl_verbs_open_mlx5(struct sl_verbs_tx *v);
void sl_verbs_close_mlx5(struct sl_verbs_tx *v); /* the queue pair is gone */
void sl_verbs_mlx5_child(void);                  /* after a fork: there is no queue */

/* verbs_offload.c -------------------------------------------------------------------------------
 */

/* Reads the device's abilities into *dev. */
void sl_verbs_query(struct sl_verbs_dev *dev);
/* Adds segmentation to the attributes for a new queue pair. */
void sl_verbs_ask_tso(struct ibv_qp_init_attr_ex *attr);
/* Number of descriptors from `at` on that make one request: a packet, and those that continue
 * it. */
uint32_t sl_verbs_train(const struct sl_verbs_tx *v, uint32_t at);
/* Writes to sge where those n descriptors have their bytes, without the first one's headers. */
void sl_verbs_train_sges(const struct sl_verbs_tx *v, uint32_t at, uint32_t n, struct ibv_sge *sge);
/* The first descriptor of the request to which `at` belongs. */
uint32_t sl_verbs_train_begin(const struct sl_verbs_tx *v, uint32_t at);

/* verbs_mem.c -----------------------------------------------------------------------------------
 */

/* Gives a queue that much on-device memory; when there is none, the log says why. */
void sl_verbs_mem_open(struct sl_verbs_tx *v, const struct sl_verbs_want *want);
/* Frames to reap completions with, when little on-device memory is left: that frees some. NULL:
 * enough is left. */
struct sl_frames *sl_verbs_mem_short(const struct sl_verbs_tx *v);
void sl_verbs_mem_close(struct sl_verbs_tx *v); /* the queue pair is gone */
/* True: on-device memory holds packets that have not completed. */
bool sl_verbs_mem_is_used(const struct sl_verbs_tx *v);
/* Copies the packet of descriptor `slot`, but for its head, into on-device memory. sge: where head
 * and rest are. False: there is no room, or the packet is too short; nothing was done. */
bool sl_verbs_mem_put(const struct sl_verbs_tx *v, uint32_t slot, struct ibv_sge sge[2]);
/* Descriptors from `from` to (not with) `to` are completed. */
void sl_verbs_mem_done(struct sl_verbs_tx *v, uint32_t from, uint32_t to);

/* verbs_stamp.c --------------------------------------------------------------------------------
 */

/* Reads the mask and the rate of the device's clock. */
void sl_verbs_query_clock(struct sl_verbs_dev *dev, const struct ibv_device_attr_ex *attr);
/* Begins to convert; false: stamps cannot be converted as the settings say, and the log says so. */
bool sl_verbs_clock_init(struct sl_verbs_clock *c, struct sl_verbs_dev *dev);
/* Converts a completion's stamp as the settings say. False: it cannot be converted now. */
bool sl_verbs_clock_ns(struct sl_verbs_clock *c, uint64_t raw, uint64_t *ns);
/* True: make the completion queue with stamps, and call sl_verbs_start_stamps() afterwards. */
bool sl_verbs_may_stamp(const struct sl_verbs_dev *dev);
void sl_verbs_start_stamps(struct sl_verbs_tx *v);
bool sl_verbs_stamp(struct sl_tx *tx, const struct sl_tx_ask *ask); /* sl_tx_ops.stamp */
/* Call when descriptors before `to` have completed, at `raw` by the device's counter. */
void sl_verbs_stamps_done(struct sl_verbs_tx *v, uint32_t to, uint64_t raw);
/* Reports the stamps that are still waited for as unknown: nothing completes any more. */
void sl_verbs_stamps_end(struct sl_verbs_tx *v);

/* The queue that tx is part of. */
static inline struct sl_verbs_tx *sl_verbs_of(struct sl_tx *tx)
{
	return sl_container_of(tx, struct sl_verbs_tx, tx);
}

#endif
