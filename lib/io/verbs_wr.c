/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and completions by libibverbs' calls (rdma-core: libibverbs/man/ibv_wr_post.3), which
 * work with every device. */
#if __has_include(<infiniband/verbs.h>)
#include <endian.h>

#include "io/verbs_int.h"

#define IS_NOP                                                                                     \
	(1ull << 32) /* a bit of a request's number; the others: the descriptor behind its last */

static void make_one(struct sl_verbs_tx *v, const struct sl_tx_desc *d, unsigned flags)
{
	uint8_t *packet = sl_frame_ptr(d->frame) + d->off;
	bool small = d->len <= v->inline_bytes;
	struct ibv_sge sge[2];

	v->qpx->wr_flags = flags | (small ? IBV_SEND_INLINE : 0);
	if (!small && v->mem && sl_verbs_mem_put(v, v->made, sge)) {
		ibv_wr_send(v->qpx);
		ibv_wr_set_sge_list(v->qpx, 2, sge);
		return;
	}
	ibv_wr_send(v->qpx);
	if (small)
		ibv_wr_set_inline_data(v->qpx, packet, d->len);
	else
		ibv_wr_set_sge(v->qpx, v->lkey, (uintptr_t)packet, d->len);
}

/* Avoids ibv_wr_set_sge(): libmlx5 (44) writes beyond the ring when headers fill it to its end. */
static void make_train(struct sl_verbs_tx *v, const struct sl_tx_desc *d, uint32_t n,
		       unsigned flags)
{
	struct ibv_sge sge[SL_TSO_NIC_SEGS];

	sl_verbs_train_sges(v, v->made, n, sge);
	v->qpx->wr_flags = flags;
	ibv_wr_send_tso(v->qpx, sl_frame_ptr(d->frame) + d->off, d->hdr,
			(uint16_t)(d->len - d->hdr));
	ibv_wr_set_sge_list(v->qpx, n, sge);
}

static int make_wr(struct sl_verbs_tx *v)
{
	ibv_wr_start(v->qpx);
	while (v->made != v->head) {
		const struct sl_tx_desc *d = &v->desc[v->made & v->mask];
		uint32_t n = d->hdr ? sl_verbs_train(v, v->made) : 1, end = v->made + n;
		bool signalled = sl_verbs_wants_signal(v, end);
		unsigned flags = (signalled ? IBV_SEND_SIGNALED : 0) |
				 (d->flags & SL_TXD_CSUM ? IBV_SEND_IP_CSUM : 0);

		v->qpx->wr_id = end;
		if (n == 1)
			make_one(v, d, flags);
		else
			make_train(v, d, n, flags);
		if (signalled)
			sl_verbs_await(v, end);
		v->made = end;
	}
	return ibv_wr_complete(v->qpx);
}

static int make_nop(struct sl_verbs_tx *v)
{
	/* The driver fills in the request's number. */
	struct mlx5_wqe_ctrl_seg nop = {
		.opmod_idx_opcode = htobe32(MLX5_OPCODE_NOP),
		.qpn_ds = htobe32(v->qp->qp_num << 8 | sizeof(nop) / 16),
		.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE,
	};

	ibv_wr_start(v->qpx);
	v->qpx->wr_id = v->made | IS_NOP;
	mlx5dv_wr_raw_wqe(v->dv_qpx, &nop);
	return ibv_wr_complete(v->qpx);
}

static enum ibv_wc_status poll(struct sl_verbs_tx *v, uint32_t *to)
{
	struct ibv_poll_cq_attr attr = {0};
	enum ibv_wc_status status;

	if (ibv_start_poll(v->cq, &attr))
		return IBV_WC_SUCCESS;
	do {
		*to = (uint32_t)v->cq->wr_id;
		status = v->cq->status;
		if (sl_unlikely(status) && !(v->cq->wr_id & IS_NOP))
			*to = sl_verbs_train_begin(v, *to - 1);
		if (sl_unlikely(v->stamps.n) && !status)
			sl_verbs_stamps_done(v, *to, ibv_wc_read_completion_ts(v->cq));
	} while (!status && !ibv_next_poll(v->cq));
	ibv_end_poll(v->cq);
	return status;
}

/* Requests made by libibverbs. */
static const struct sl_verbs_ways by_wr = {
	.make = make_wr,
	.make_nop = make_nop,
	.poll = poll,
};

/* Makes a queue pair by libmlx5 that takes raw mlx5 requests, too; only then can make_nop()
 * work. */
static struct ibv_qp *make_mlx5(struct sl_verbs_tx *v, struct ibv_qp_init_attr_ex *attr)
{
	const struct sl_mlx5_lib *mlx5 = v->dev->mlx5;
	struct mlx5dv_qp_init_attr own = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE,
	};
	struct ibv_qp_init_attr_ex asked = *attr;
	struct ibv_qp *qp = mlx5->create_qp(v->dev->ctx, attr, &own);

	if (qp)
		v->dv_qpx = mlx5->qp_ex_from_ibv_qp_ex(sl_verbs_lib()->qp_to_qp_ex(qp));
	else
		*attr = asked;
	return qp;
}

struct ibv_qp *sl_verbs_make_qp(struct sl_verbs_tx *v, struct ibv_qp_init_attr_ex *attr)
{
	struct verbs_context *ops = verbs_get_ctx_op(v->dev->ctx, create_qp_ex);
	struct ibv_qp *qp = v->dev->mlx5 ? make_mlx5(v, attr) : NULL;

	if (!qp && ops)
		qp = ops->create_qp_ex(v->dev->ctx, attr);
	if (!qp)
		return NULL;
	v->qpx = sl_verbs_lib()->qp_to_qp_ex(qp);
	v->ends = !v->dv_qpx;
	v->ways = &by_wr;
	return qp;
}
#endif
