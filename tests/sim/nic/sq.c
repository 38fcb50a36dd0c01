/* SPDX-License-Identifier: BSD-2-Clause */
/* Send queues: reads work requests as the device does, makes frames of them, completes them. */
#include <infiniband/mlx5dv.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "nic.h"
#include "sys.h"

#define BLOCK         64u
#define MAX_WQE       1024u
#define INLINE_MAX    0x3ffu
#define CE_ALWAYS     2  /* of the control segment: a completion is wanted */
#define ETH_INLINE_AT 14 /* of the Ethernet segment: where inlined headers begin */

/* A work request, copied out of the ring. */
struct wqe {
	uint16_t index;
	uint8_t opcode;
	bool signalled;
	unsigned bytes;
	uint8_t seg[MAX_WQE];
};

/* A frame being put together, and where it goes. */
struct frame {
	uint8_t bytes[SIM_MAX_FRAME + MAX_WQE];
	size_t len;
	uint64_t wire_bytes; /* what pacing counts */
	uint64_t departed_ns;
};

static bool is_empty(const struct sim_qp *qp)
{
	return qp->consumed == (uint16_t)be32toh(qp->db[MLX5_SND_DBR]);
}

/* Returns a syndrome. The ring may wrap inside a request. */
static int fetch(const struct sim_qp *qp, struct wqe *w)
{
	uint32_t ring = qp->sq_wqes * BLOCK, off = (qp->consumed & (qp->sq_wqes - 1)) * BLOCK;
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)(qp->sq + off);
	uint32_t op = be32toh(ctrl->opmod_idx_opcode), qpn_ds = be32toh(ctrl->qpn_ds), least;

	w->index = qp->consumed;
	w->opcode = (uint8_t)op;
	w->signalled = (ctrl->fm_ce_se >> 2 & 3) == CE_ALWAYS || qp->signal_all;
	w->bytes = (qpn_ds & 0x3f) * 16;
	least = w->opcode == MLX5_OPCODE_NOP ? 16 : 32;
	if (qpn_ds >> 8 != qp->number || (uint16_t)(op >> 8) != w->index || w->bytes < least) {
		sim_say("bad request %u: queue %#x, index %u, %u bytes", w->index, qpn_ds >> 8,
			op >> 8 & 0xffff, w->bytes);
		if (!w->bytes)
			w->bytes = BLOCK;
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
	for (unsigned i = 0; i < w->bytes; i += 16)
		memcpy(w->seg + i, qp->sq + (off + i) % ring, 16);
	return 0;
}

/* Reads as a device would: an address that is not mapped is a syndrome, never a signal. */
static bool read_host(uint8_t *to, uint64_t addr, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)addr, n};

	return syscall(SYS_process_vm_readv, (long)sim_getpid(), &local, 1L, &remote, 1L, 0L) ==
	       (ssize_t)n;
}

static int gather_from(const struct sim_qp *qp, const struct mlx5_wqe_data_seg *seg,
		       struct frame *f)
{
	uint32_t n = be32toh(seg->byte_count), lkey = be32toh(seg->lkey);
	uint64_t addr = be64toh(seg->addr);
	struct sim_obj *mr = sim_obj_get(lkey >> 8, SIM_MR);

	if (!mr || mr->mr.lkey != lkey || mr->mr.pd != qp->pd || addr < mr->mr.addr ||
	    n > mr->mr.len || addr - mr->mr.addr > mr->mr.len - n)
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	if (f->len + n > SIM_MAX_FRAME)
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	if (mr->mr.dm) {
		memcpy(f->bytes + f->len, mr->mr.bytes + addr, n);
		sim_nic.dm_sends++;
		sim_nic.dm_bytes += n;
	} else if (!read_host(f->bytes + f->len, addr, n)) {
		return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	}
	f->len += n;
	return 0;
}

/* The data segments from `at` on. */
static int gather(const struct sim_qp *qp, const struct wqe *w, unsigned at, struct frame *f)
{
	while (at < w->bytes) {
		const struct mlx5_wqe_data_seg *seg = (const void *)(w->seg + at);
		uint32_t n = be32toh(seg->byte_count);
		int syndrome;

		if (!(n & MLX5_INLINE_SEG)) {
			if ((syndrome = gather_from(qp, seg, f)))
				return syndrome;
			at += sizeof(*seg);
			continue;
		}
		n &= INLINE_MAX;
		if (at + 4 + n > w->bytes)
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		memcpy(f->bytes + f->len, w->seg + at + 4, n);
		f->len += n;
		sim_nic.inline_bytes += n;
		at += (4 + n + 15) & ~15u;
	}
	return 0;
}

/* The frame of a request: headers in the Ethernet segment, then data. */
static int assemble(const struct sim_qp *qp, const struct wqe *w, struct frame *f, size_t *hdr)
{
	const unsigned eth_at = sizeof(struct mlx5_wqe_ctrl_seg);
	const struct mlx5_wqe_eth_seg *eth = (const void *)(w->seg + eth_at);
	unsigned n = be16toh(eth->inline_hdr_sz),
		 eth_bytes = n <= 2 ? 16 : (ETH_INLINE_AT + n + 15) & ~15u;
	unsigned least = w->opcode == MLX5_OPCODE_TSO ? 14 : sim_config.min_inline;

	if ((w->opcode != MLX5_OPCODE_SEND && w->opcode != MLX5_OPCODE_TSO) || n < least ||
	    eth_at + eth_bytes > w->bytes || (w->opcode == MLX5_OPCODE_TSO && !sim_config.tso))
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	memcpy(f->bytes, w->seg + eth_at + ETH_INLINE_AT, n);
	f->len = n;
	*hdr = n;
	return gather(qp, w, eth_at + eth_bytes, f);
}

static void measure(const uint8_t *frame, size_t len, void *arg)
{
	((struct frame *)arg)->wire_bytes += len;
}

static void emit(const uint8_t *frame, size_t len, void *arg)
{
	sim_wire_send(frame, len, ((struct frame *)arg)->departed_ns);
	sim_nic.segments++;
}

static int transmit(struct sim_qp *qp, const struct wqe *w, struct frame *f, size_t hdr,
		    uint64_t now_ns)
{
	const struct mlx5_wqe_eth_seg *eth =
		(const void *)(w->seg + sizeof(struct mlx5_wqe_ctrl_seg));
	unsigned mss = be16toh(eth->mss), what = 0;

	if (w->opcode == MLX5_OPCODE_TSO) {
		f->wire_bytes = 0;
		if (sim_segment(f->bytes, f->len, hdr, mss, measure, f))
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		f->departed_ns = sim_pace_account(&qp->pace, now_ns, f->wire_bytes);
		sim_segment(f->bytes, f->len, hdr, mss, emit, f);
		return 0;
	}
	what |= eth->cs_flags & MLX5_ETH_WQE_L3_CSUM ? SIM_CSUM_L3 : 0;
	what |= eth->cs_flags & MLX5_ETH_WQE_L4_CSUM ? SIM_CSUM_L4 : 0;
	sim_checksum(f->bytes, f->len, what);
	f->departed_ns = sim_pace_account(&qp->pace, now_ns, f->len);
	sim_wire_send(f->bytes, f->len, f->departed_ns);
	return 0;
}

/* Does what the request says; returns a syndrome. */
static int carry_out(struct sim_qp *qp, const struct wqe *w, struct frame *f, uint64_t now_ns)
{
	size_t hdr = 0;
	int syndrome;

	f->departed_ns = now_ns;
	if (qp->state == IBV_QPS_ERR)
		return MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	if (qp->fail_after && !--qp->fail_after)
		return qp->fail_syndrome;
	if (w->opcode == MLX5_OPCODE_NOP)
		return qp->nop_syndrome;
	syndrome = assemble(qp, w, f, &hdr);
	return syndrome ? syndrome : transmit(qp, w, f, hdr, now_ns);
}

int64_t sim_sq_step(struct sim_qp *qp, uint64_t now_ns)
{
	static struct frame f; /* both under the lock */
	static struct wqe w;
	uint64_t wait_ns;
	int syndrome;

	if (is_empty(qp)) {
		qp->pace.backlog = false;
		return -1;
	}
	if (qp->state < IBV_QPS_RTS || qp->stalled)
		return -1;
	wait_ns = qp->state == IBV_QPS_ERR ? 0 : sim_pace_wait(&qp->pace, now_ns);
	if (wait_ns)
		return (int64_t)wait_ns;
	/* Pairs with the write barrier before libmlx5's doorbell record. */
	atomic_thread_fence(memory_order_acquire);
	syndrome = fetch(qp, &w);
	f.departed_ns = now_ns;
	if (!syndrome)
		syndrome = carry_out(qp, &w, &f, now_ns);
	qp->consumed = (uint16_t)(qp->consumed + (w.bytes + BLOCK - 1) / BLOCK);
	sim_nic.blocks += (w.bytes + BLOCK - 1) / BLOCK;
	qp->last_bytes = syndrome ? 0 : w.bytes < sizeof(qp->last) ? w.bytes : sizeof(qp->last);
	memcpy(qp->last, w.seg, qp->last_bytes);
	sim_nic.requests++;
	if (syndrome)
		qp->state = IBV_QPS_ERR;
	if (syndrome || w.signalled)
		sim_cq_push(qp, &(struct sim_completion){.wqe = w.index,
							 .opcode = w.opcode,
							 .syndrome = (uint8_t)syndrome,
							 .departed_ns = f.departed_ns});
	return 0;
}
