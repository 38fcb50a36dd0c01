/* SPDX-License-Identifier: BSD-2-Clause */
/* A receive queue of a ConnectX without libmlx5 on the way of a packet: where its completions are
 * (read by verbs_rx.c), its requests, and the doorbell that asks for an event. libmlx5 makes the
 * queue pair and says where they are (mlx5dv_init_obj(3)); then they are ours alone until it is
 * destroyed. All requests are alike but for the buffer's address. */
#if __has_include(<infiniband/verbs.h>)
#include "base/heap.h"
#include "io/nic/verbs_rx_int.h"

#define ARM_RECORD 1u /* word of the completion queue's doorbell record; the first counts */

static bool is_pow2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_known_layout(const struct sl_verbs_rx *v, const struct mlx5dv_qp *qp,
			    const struct mlx5dv_cq *cq)
{
	return SL_MLX5_DIRECT && is_pow2(qp->rq.wqe_cnt) && qp->rq.wqe_cnt >= v->depth &&
	       qp->rq.wqe_cnt <= 0x8000 && is_pow2(qp->rq.stride) &&
	       qp->rq.stride >= sizeof(struct mlx5_wqe_data_seg) && qp->rq.stride <= 256 &&
	       is_pow2(cq->cqe_cnt) && (cq->cqe_size == 64 || cq->cqe_size == 128) && cq->cq_uar;
}

/* Writes what is the same in all requests: one buffer, and the end of the list where there is room
 * for more. */
static void fill_requests(const struct sl_verbs_rx *v, const struct sl_verbs_rx_mlx5 *m)
{
	for (uint32_t i = 0; i <= m->mask; i++) {
		struct mlx5_wqe_data_seg *seg = (void *)(m->ring + ((size_t)i << m->shift));

		seg[0] = (struct mlx5_wqe_data_seg){
			.byte_count = htobe32((1u << sl_pool.shift) - SL_VERBS_RX_OFF),
			.lkey = htobe32(v->dev->mr->lkey)};
		if (1u << m->shift > sizeof(*seg))
			seg[1] = (struct mlx5_wqe_data_seg){.lkey = htobe32(MLX5_INVALID_LKEY)};
	}
}

const char *sl_verbs_rx_open_mlx5(struct sl_verbs_rx *v)
{
	struct mlx5dv_qp qp = {0};
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.qp = {v->qp, &qp}, .cq = {ibv_cq_ex_to_cq(v->cq), &cq}};
	struct sl_verbs_rx_mlx5 *m;

	if (!v->dev->mlx5)
		return "it is no mlx5 device";
	if (v->dev->mlx5->init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ) ||
	    !is_known_layout(v, &qp, &cq))
		return "its queues are of an unknown kind";
	m = sl_calloc(1, sizeof(*m));
	if (!m)
		return "no memory";
	*m = (struct sl_verbs_rx_mlx5){
		.cq = {.last = (uint8_t *)cq.buf + cq.cqe_size - 64,
		       .record = (uint32_t *)cq.dbrec,
		       .entries = cq.cqe_cnt,
		       .shift = cq.cqe_size == 128 ? 7 : 6},
		.ring = qp.rq.buf,
		.record = (uint32_t *)&qp.dbrec[MLX5_RCV_DBR],
		.arm = (uint8_t *)cq.cq_uar + MLX5_CQ_DOORBELL,
		.arm_rec = (uint32_t *)&cq.dbrec[ARM_RECORD],
		.mask = qp.rq.wqe_cnt - 1,
		.shift = (uint32_t)__builtin_ctz(qp.rq.stride),
		.cqn = cq.cqn,
	};
	fill_requests(v, m);
	v->direct = m;
	return NULL;
}

void sl_verbs_rx_post_mlx5(struct sl_verbs_rx *v, uint32_t n)
{
	const struct sl_verbs_rx_mlx5 *m = v->direct;

	for (uint32_t at = v->head; at != v->head + n; at++) {
		struct mlx5_wqe_data_seg *seg =
			(void *)(m->ring + ((size_t)(at & m->mask) << m->shift));
		uint8_t *frame = sl_frame_ptr(v->ring[at & v->mask]);

		seg->addr = htobe64((uintptr_t)frame + SL_VERBS_RX_OFF);
	}
	sl_to_device(); /* requests before the record */
	*(volatile uint32_t *)m->record = htobe32((v->head + n) & 0xffff);
}

void sl_verbs_rx_ask_mlx5(struct sl_verbs_rx *v)
{
	const struct sl_verbs_rx_mlx5 *m = v->direct;
	/* (An index that has gone on meanwhile gives an event too many.) */
	uint32_t from = __atomic_load_n(&m->cq.read, __ATOMIC_RELAXED) & 0xffffff;
	uint32_t word = (v->events & 3) << 28 | MLX5_CQ_DB_REQ_NOT | from;

	*(volatile uint32_t *)m->arm_rec = htobe32(word);
	sl_wc_flush(); /* the record before the register */
	*(volatile uint64_t *)m->arm = htobe64((uint64_t)word << 32 | m->cqn);
	sl_wc_flush();
}
#endif
