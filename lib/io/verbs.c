/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, watches and closes devices and their transmit queues.
 *
 * Theory of operation: a device is opened once for the process, with one protection domain and one
 * memory region over all frames; each lane has a queue pair and a completion queue of its own, used
 * under the lane's lock (verbs_tx.c). A frame under way is marked as in flight
 * (base/share/share.h): the queue pair ends with our process, but perhaps a moment later.
 *
 * A failed queue stays dead: after an error completion, a fatal event, or completions that do not
 * come, kick() returns -EIO, and the lane goes on by AF_XDP (stack/leg.c). */
#include "io/verbs.h"

#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/heap.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "io/verbs_int.h"

static const struct sl_verbs_lib *lib;

/* Queues --------------------------------------------------------------------------------------- */

static const char *make_cq(struct sl_verbs_tx *v, uint32_t depth)
{
	struct verbs_context *ops = verbs_get_ctx_op(v->dev->ctx, create_cq_ex);
	struct ibv_cq_init_attr_ex attr = {.cqe = depth};
	bool stamps = sl_verbs_may_stamp(v->dev);

	attr.wc_flags = stamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0;
	if (ops)
		v->cq = ops->create_cq_ex(v->dev->ctx, &attr);
	if (v->cq && stamps)
		sl_verbs_start_stamps(v);
	return v->cq ? NULL : "no completion queue";
}

static const char *make_qp(struct sl_verbs_tx *v, uint32_t depth, uint32_t inline_bytes,
			   uint32_t caps)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(v->cq);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = v->dev->pd,
		.cap = {.max_send_wr = depth, .max_send_sge = 2, .max_inline_data = inline_bytes},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	if (caps & SL_TX_TSO)
		sl_verbs_ask_tso(&attr);
	v->qp = sl_verbs_make_qp(v, &attr);
	if (!v->qp)
		return errno == EPERM ? "no right to send raw packets (CAP_NET_RAW)"
				      : "no raw-packet queue pair";
	v->tx.caps |= caps;
	v->tx.segs = SL_TSO_NIC_SEGS;
	v->depth = sl_min(depth, attr.cap.max_send_wr) -
		   1; /* one place is for the request that sends nothing */
	v->inline_bytes = sl_min(inline_bytes, attr.cap.max_inline_data);
	return NULL;
}

static const char *start_qp(struct sl_verbs_tx *v)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int err = lib->modify_qp(v->qp, &attr, IBV_QP_STATE | IBV_QP_PORT);

	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = lib->modify_qp(v->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = lib->modify_qp(v->qp, &attr, IBV_QP_STATE);
	return err ? "the queue pair does not start" : NULL;
}

static void free_queue(struct sl_verbs_tx *v)
{
	if (v->qp)
		lib->destroy_qp(v->qp);
	sl_verbs_close_mlx5(v);
	sl_verbs_mem_close(v);
	if (v->cq)
		lib->destroy_cq(ibv_cq_ex_to_cq(v->cq));
	sl_verbs_dev_put(v->dev);
	sl_free(v);
}

/* Gives the frames back after the queue pair is destroyed: the device cannot read them any more. */
static void end_queue(struct sl_tx *tx, struct sl_frames *cache)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);

	if (!sl_lock(&sl_verbs_lock))
		return;
	sl_verbs_stamps_end(v);
	lib->destroy_qp(v->qp);
	v->qp = NULL;
	sl_verbs_give_back_all(v, cache);
	free_queue(v);
	sl_unlock(&sl_verbs_lock);
}

/* Chooses whether libibverbs makes the queue's requests or we write them. Returns NULL, or why
 * neither works. */
static const char *choose_way(struct sl_verbs_tx *v)
{
	const char *why;

	if (sl_settings.tx_requests == SL_REQUESTS_IBV)
		return NULL;
	why = sl_verbs_open_mlx5(v);
	if (!why || sl_settings.tx_requests == SL_REQUESTS_DIRECT)
		return why;
	sl_info("verbs", "%s: requests are libibverbs' to make: %s", v->dev->name, why);
	return NULL;
}

/* Returns how many requests share a completion: TX_WRE_BATCHING, rounded down to a power of two, at
 * most half the queue. */
static uint32_t signal_every(uint32_t depth)
{
	uint32_t n = 1, most = sl_min(depth / 2, (uint32_t)sl_settings.tx_wre_batching);

	while (2 * n <= most)
		n *= 2;
	return n;
}

/* Lock held. */
static struct sl_verbs_tx *open_tx(struct sl_verbs_dev *dev, uint32_t depth, uint32_t inline_bytes,
				   const char **why)
{
	struct sl_verbs_tx *v = sl_calloc(1, sizeof(*v) + depth * sizeof(v->desc[0]));

	if (!v) {
		*why = "no memory";
		sl_verbs_dev_put(dev);
		return NULL;
	}
	v->close = end_queue;
	v->dev = dev;
	v->lkey = dev->mr->lkey;
	v->mask = depth - 1;
	v->every = v->signal = signal_every(depth);
	v->patience_ns = SL_VERBS_PATIENCE_NS;
	*why = make_cq(v, depth);
	if (!*why)
		*why = make_qp(v, depth, inline_bytes, dev->caps);
	if (*why && v->cq && dev->caps & SL_TX_TSO) /* perhaps it cannot segment */
		*why = make_qp(v, depth, inline_bytes, dev->caps & ~SL_TX_TSO);
	if (!*why)
		*why = start_qp(v);
	if (!*why)
		*why = choose_way(v);
	if (!*why)
		return v;
	free_queue(v);
	return NULL;
}

struct sl_tx *sl_verbs_open(uint32_t ifindex, const char *ifname, const struct sl_verbs_want *want,
			    struct sl_verbs_info *info, const char **why)
{
	struct sl_verbs_tx *v = NULL;
	struct sl_verbs_dev *dev;

	*why = NULL;
	if (!sl_verbs_name_of(ifindex, ifname, info->device, sizeof(info->device)) ||
	    !sl_lock(&sl_verbs_lock))
		return NULL;
	lib = sl_verbs_lib();
	*why = sl_verbs_lack();
	dev = lib ? sl_verbs_dev_get(ifindex, info->device, why) : NULL;
	if (dev)
		v = open_tx(dev, want->depth, want->inline_bytes, why);
	if (v && want->device_bytes)
		sl_verbs_mem_open(v, want);
	sl_unlock(&sl_verbs_lock);
	if (!v)
		return NULL;
	v->tx.ops = &sl_verbs_tx_ops;
	info->depth = v->depth;
	info->inline_bytes = v->inline_bytes;
	info->direct = v->direct != NULL;
	return &v->tx;
}

struct sl_tx *sl_verbs_open_beside(struct sl_tx *beside, const struct sl_verbs_want *want,
				   const char **why)
{
	struct sl_verbs_dev *dev = sl_verbs_of(beside)->dev;
	struct sl_verbs_tx *v = NULL;

	*why = "in a signal handler";
	if (!sl_lock(&sl_verbs_lock))
		return NULL;
	*why = dev->dead;
	if (!dev->dead) {
		dev->users++;
		v = open_tx(dev, want->depth, want->inline_bytes, why);
	}
	sl_unlock(&sl_verbs_lock);
	if (!v)
		return NULL;
	v->tx.ops = &sl_verbs_tx_ops;
	return &v->tx;
}

/* Watching ---------------------------------------------------------------------------------------
 */

void sl_verbs_check(struct sl_tx *tx, uint64_t now_ns)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);
	int saved = errno;

	sl_verbs_dev_look(v->dev);
	errno = saved;
	if (!v->dead && v->dev->dead)
		sl_verbs_die(v, v->dev->dead, v->made);
	if (!v->dead && v->awaited != v->tail && now_ns > v->progress_ns + v->patience_ns)
		sl_verbs_die(v, "completions do not come", v->made);
}

void sl_verbs_child(void)
{
	sl_verbs_mlx5_child();
	sl_verbs_devs_child();
}
#else
struct sl_tx *sl_verbs_open(uint32_t ifindex, const char *ifname, const struct sl_verbs_want *want,
			    struct sl_verbs_info *info, const char **why)
{
	*why = NULL;
	return NULL;
}

struct sl_tx *sl_verbs_open_beside(struct sl_tx *beside, const struct sl_verbs_want *want,
				   const char **why)
{
	*why = NULL;
	return NULL;
}

void sl_verbs_check(struct sl_tx *tx, uint64_t now_ns)
{
}

const char *sl_verbs_dead(const struct sl_tx *tx)
{
	return NULL;
}

unsigned sl_verbs_unsent(struct sl_tx *tx, struct sl_tx_desc *descs, unsigned n)
{
	return 0;
}

void sl_verbs_child(void)
{
}
#endif
