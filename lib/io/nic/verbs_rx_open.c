/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, watches and closes receive queues of NICs. */
#include "io/nic/verbs_rx.h"

#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fds.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "io/nic/verbs_rx_int.h"

static uint32_t buffers; /* of all open queues */
static uint32_t serials; /* of queues, so that a rule's number is never another queue's */

static const char *make_cq(struct sl_verbs_rx *v)
{
	struct verbs_context *ops = verbs_get_ctx_op(v->dev->ctx, create_cq_ex);
	bool stamps = sl_verbs_may_stamp(v->dev);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = v->depth,
		.channel = v->channel,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_FLOW_TAG |
			(stamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0);
	if (ops)
		v->cq = ops->create_cq_ex(v->dev->ctx, &attr);
	if (!v->cq)
		return "no completion queue with flow tags";
	v->stamps = stamps && sl_verbs_clock_init(&v->clock, v->dev);
	return NULL;
}

static const char *make_channel(struct sl_verbs_rx *v)
{
	int flags;

	v->channel = v->lib->create_comp_channel(v->dev->ctx);
	if (!v->channel)
		return "no completion channel";
	v->channel->fd = sl_fd_keep(v->channel->fd);
	flags = sl_sys_fcntl(v->channel->fd, F_GETFL, 0);
	sl_sys_fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK);
	return NULL;
}

static const char *make_qp(struct sl_verbs_rx *v)
{
	struct verbs_context *ops = verbs_get_ctx_op(v->dev->ctx, create_qp_ex);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = ibv_cq_ex_to_cq(v->cq),
		.recv_cq = ibv_cq_ex_to_cq(v->cq),
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = v->dev->pd,
		.cap = {.max_recv_wr = v->depth, .max_recv_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	v->qp = ops ? ops->create_qp_ex(v->dev->ctx, &attr) : NULL;
	if (!v->qp)
		return errno == EPERM ? "no right to raw packets (CAP_NET_RAW)"
				      : "no raw-packet queue pair";
	v->depth = sl_min(v->depth, attr.cap.max_recv_wr);
	if (v->lib->modify_qp(v->qp, &to, IBV_QP_STATE | IBV_QP_PORT))
		return "the queue pair does not start";
	to.qp_state = IBV_QPS_RTR;
	return v->lib->modify_qp(v->qp, &to, IBV_QP_STATE) ? "the queue pair does not start" : NULL;
}

static void free_rx(struct sl_verbs_rx *v)
{
	sl_verbs_rules_free(v);
	if (v->qp)
		v->lib->destroy_qp(v->qp);
	if (v->cq)
		v->lib->destroy_cq(ibv_cq_ex_to_cq(v->cq));
	if (v->channel) { /* libibverbs cannot close descriptors that sl_fd_keep() marked */
		if (sl_fd_is_kept(v->channel->fd))
			sl_fd_forget(v->channel->fd);
		v->lib->destroy_comp_channel(v->channel);
	}
	sl_verbs_dev_close(v->dev);
	sl_free(v->direct);
	sl_free(v);
}

/* Reads how many packets the NIC has dropped since it came up because a raw-packet queue, of any
 * process, had no buffers. */
static uint64_t read_full(const struct sl_verbs_rx *v)
{
	const char *root = secure_getenv("SYSFS_PATH");
	char path[256], text[32];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/1/hw_counters/out_of_buffer",
		 root ? root : "/sys", v->dev->name);
	return sl_read_text(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

static const char *open_queue(struct sl_verbs_rx *v, const struct sl_verbs_rx_want *want)
{
	const char *why, *by;

	v->lib = sl_verbs_lib();
	v->frames = want->frames;
	v->pass = want->pass;
	v->ifindex = want->ifindex;
	v->depth = want->depth;
	v->mask = want->depth - 1;
	v->ntargets = 1;
	v->serial = ++serials;
	if (sl_sys(SYS_getrandom, &v->seed, sizeof(v->seed), 0) != sizeof(v->seed))
		v->seed = sl_mix(sl_now_ns(), v->serial);
	for (uint32_t i = 0; i < SL_VERBS_RX_BATCH; i++) {
		v->sge[i].length = (1u << sl_pool.shift) - SL_VERBS_RX_OFF;
		v->sge[i].lkey = v->dev->mr->lkey;
		v->wr[i].sg_list = &v->sge[i];
		v->wr[i].num_sge = 1;
	}
	why = make_channel(v);
	if (!why)
		why = make_cq(v);
	if (!why)
		why = make_qp(v);
	by = why ? NULL : "the setting TX_REQUESTS";
	if (by && sl_settings.tx_requests != SL_REQUESTS_IBV)
		by = sl_verbs_rx_open_mlx5(v);
	if (by)
		sl_debug("verbs", "%s: libibverbs reads the receive queue: %s", v->dev->name, by);
	return why;
}

static int verbs_fd(struct sl_rx *rx)
{
	return sl_container_of(rx, struct sl_xsk, rx)->rx_fd;
}

static void verbs_close(struct sl_rx *rx, struct sl_frames *cache)
{
	sl_verbs_rx_close(sl_container_of(rx, struct sl_xsk, rx), cache);
}

static const struct sl_rx_ops verbs_rx_ops = {
	.name = "verbs",
	.burst = sl_verbs_rx_burst,
	.refill = sl_verbs_rx_refill,
	.fd = verbs_fd,
	.close = verbs_close,
};

int sl_verbs_rx_open(struct sl_xsk *x, struct sl_verbs_rx_want *want, const char **why)
{
	struct sl_verbs_dev *dev = sl_verbs_dev_open(want->ifindex, want->ifname, want->name, why);
	struct sl_verbs_rx *v;

	if (!dev) {
		*why = *why ? *why : "it is no RDMA device";
		return -ENODEV;
	}
	v = sl_calloc(1, sizeof(*v) + want->depth * sizeof(v->ring[0]));
	if (!v) {
		sl_verbs_dev_close(dev);
		*why = "no memory";
		return -ENOMEM;
	}
	v->dev = dev;
	*why = open_queue(v, want);
	if (*why) {
		free_rx(v);
		return -EOPNOTSUPP;
	}
	v->full_was = read_full(v);
	__atomic_fetch_add(&buffers, v->mask + 1, __ATOMIC_RELAXED);
	v->counts = !__atomic_exchange_n(&dev->has_counter, true, __ATOMIC_RELAXED);
	want->direct = v->direct;
	x->verbs = v;
	x->rx.ops = &verbs_rx_ops;
	sl_store_release(&x->rx_fd, v->channel->fd);
	return 0;
}

/* The device writes to no buffer any more once the queue pair is destroyed. */
static void take_back(struct sl_verbs_rx *v, struct sl_frames *cache)
{
	for (; v->tail != v->head; v->tail++) {
		uint32_t frame = v->ring[v->tail & v->mask];

		sl_frame_landed(frame);
		sl_frame_free(cache, frame);
	}
}

void sl_verbs_rx_close(struct sl_xsk *x, struct sl_frames *cache)
{
	struct sl_verbs_rx *v = x->verbs;

	if (!v || !sl_lock(&x->verbs_lock))
		return;
	x->verbs = NULL;
	x->rx.ops = &sl_xsk_rx_ops;
	sl_store(&x->rx_fd, 0);
	sl_unlock(&x->verbs_lock);
	sl_verbs_rules_end(v);
	v->lib->destroy_qp(v->qp);
	v->qp = NULL;
	take_back(v, cache);
	__atomic_fetch_sub(&buffers, v->mask + 1, __ATOMIC_RELAXED);
	if (v->counts)
		sl_store(&v->dev->has_counter, false);
	free_rx(v);
}

uint32_t sl_verbs_rx_buffers(void)
{
	return sl_load(&buffers);
}

const char *sl_verbs_rx_dead(struct sl_xsk *x)
{
	const char *dead = NULL, *why;

	if (!sl_lock(&x->verbs_lock))
		return NULL;
	if (x->verbs) {
		why = sl_verbs_dev_look(x->verbs->dev);
		dead = sl_load(&x->verbs->dead);
		dead = dead ? dead : why;
	}
	sl_unlock(&x->verbs_lock);
	return dead;
}

void sl_verbs_rx_counts(struct sl_xsk *x, struct sl_xsk_counts *c)
{
	if (!x->verbs || !sl_lock(&x->verbs_lock))
		return;
	if (x->verbs) {
		uint64_t full = read_full(x->verbs);

		if (x->verbs->counts)
			c->rx_ring_full += full - sl_min(full, x->verbs->full_was);
		c->rx_dropped += sl_load(&x->verbs->other);
	}
	sl_unlock(&x->verbs_lock);
}

void sl_verbs_rx_posted(const struct sl_xsk *x, struct sl_xsk_posted *p)
{
	p->frames += x->verbs->head - x->verbs->tail;
	p->looked_at += x->verbs->head - x->verbs->tail;
}

int sl_verbs_rx_may(uint32_t ifindex, const char *ifname, const char **why)
{
	struct sl_verbs_caps caps;
	int err = sl_verbs_caps(ifindex, ifname, 0, &caps);

	if (err == -ENODEV)
		*why = "it is no RDMA device";
	else if (err == -ELIBACC)
		*why = "libibverbs is not installed";
	else if (err)
		*why = "its RDMA device cannot be opened";
	else if (caps.raw_error)
		*why = caps.raw_error == EPERM ? "no right to raw packets (CAP_NET_RAW)"
					       : "no raw-packet queue pair";
	return err ? err : -caps.raw_error;
}
#else
#include <errno.h>

int sl_verbs_rx_open(struct sl_xsk *x, struct sl_verbs_rx_want *want, const char **why)
{
	*why = "the library was built without rdma-core";
	return -EOPNOTSUPP;
}

void sl_verbs_rx_close(struct sl_xsk *x, struct sl_frames *cache)
{
}

void sl_verbs_rx_arm(struct sl_xsk *x)
{
}

uint32_t sl_verbs_rx_buffers(void)
{
	return 0;
}

const char *sl_verbs_rx_dead(struct sl_xsk *x)
{
	return NULL;
}

void sl_verbs_rx_counts(struct sl_xsk *x, struct sl_xsk_counts *c)
{
}

void sl_verbs_rx_posted(const struct sl_xsk *x, struct sl_xsk_posted *p)
{
}

int sl_verbs_rx_may(uint32_t ifindex, const char *ifname, const char **why)
{
	*why = "the library was built without rdma-core";
	return -EOPNOTSUPP;
}

int sl_verbs_rule_add(struct sl_xsk *x, const struct sl_verbs_rule *r, uint64_t *id,
		      const char **why)
{
	*why = "the library was built without rdma-core";
	return -EOPNOTSUPP;
}

int sl_verbs_rule_move(struct sl_xsk *x, uint64_t id, const struct sl_claim *claim, uint32_t n)
{
	return 0;
}

void sl_verbs_rule_del(struct sl_xsk *x, uint64_t id)
{
}
#endif
