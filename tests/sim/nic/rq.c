/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues: writes frames into the buffers that the program has posted. */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "nic.h"
#include "sys.h"

static uint16_t posted(const struct sim_qp *qp)
{
	return (uint16_t)(be32toh(qp->db[MLX5_RCV_DBR]) - qp->rq_consumed);
}

/* Writes as a device would: an address that is not mapped is a syndrome, never a signal. */
static bool write_host(uint64_t addr, const uint8_t *from, size_t n)
{
	struct iovec local = {(void *)(uintptr_t)from, n}, remote = {(void *)(uintptr_t)addr, n};

	return syscall(SYS_process_vm_writev, (long)sim_getpid(), &local, 1L, &remote, 1L, 0L) ==
	       (ssize_t)n;
}

static int put(const struct sim_qp *qp, const struct mlx5_wqe_data_seg *seg, const uint8_t *from,
	       uint32_t n)
{
	uint32_t lkey = be32toh(seg->lkey);
	uint64_t addr = be64toh(seg->addr);
	struct sim_obj *mr = sim_obj_get(lkey >> 8, SIM_MR);

	if (!mr || mr->mr.lkey != lkey || mr->mr.pd != qp->pd || mr->mr.dm || addr < mr->mr.addr ||
	    n > mr->mr.len || addr - mr->mr.addr > mr->mr.len - n || !write_host(addr, from, n))
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	return 0;
}

/* Returns a syndrome. */
static int scatter(const struct sim_qp *qp, const struct sim_arrival *a)
{
	const struct mlx5_wqe_data_seg *seg =
		(const void *)(qp->rq +
			       (size_t)(qp->rq_consumed & (qp->rq_wqes - 1)) * qp->rq_bytes);
	uint32_t done = 0;
	int syndrome;

	for (unsigned i = 0; i < qp->rq_bytes / sizeof(*seg) && done < a->len; i++) {
		uint32_t n = be32toh(seg[i].byte_count);

		if (!n && be32toh(seg[i].lkey) == MLX5_INVALID_LKEY)
			break;
		n = n < a->len - done ? n : a->len - done;
		syndrome = put(qp, &seg[i], a->frame + done, n);
		if (syndrome)
			return syndrome;
		done += n;
	}
	return done < a->len ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : 0;
}

void sim_rq_deliver(struct sim_qp *qp, const struct sim_arrival *a, uint32_t tag)
{
	struct sim_arrival bad = {0};
	int syndrome;

	if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)
		return;
	if (!posted(qp) || qp->stalled) {
		sim_nic.out_of_buffer++;
		return;
	}
	/* Pairs with the write barrier before libmlx5's doorbell record. */
	atomic_thread_fence(memory_order_acquire);
	syndrome = scatter(qp, a);
	if (syndrome) {
		bad.syndrome = (uint8_t)syndrome;
		qp->state = IBV_QPS_ERR;
	} else {
		sim_nic.received++;
		sim_nic.received_bytes += a->len;
	}
	sim_cq_push_received(qp, syndrome ? &bad : a, qp->rq_consumed, tag);
	qp->rq_consumed++;
}

bool sim_rq_flush(struct sim_qp *qp)
{
	const struct sim_arrival flushed = {.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR};
	bool any = qp->rq && qp->state == IBV_QPS_ERR && posted(qp);

	while (any && posted(qp))
		sim_cq_push_received(qp, &flushed, qp->rq_consumed++, 0);
	return any;
}
