/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: entries with time stamps, and the events of completion channels. */
#include <infiniband/mlx5dv.h>
#include <rdma/ib_user_verbs.h>
#include <stdatomic.h>
#include <string.h>

#include "nic.h"
#include "sys.h"

#define INDEX_MASK   0xffffffu /* consumer indexes in doorbell records */
#define ERR_VENDOR   54        /* bytes of an error entry */
#define ERR_SYNDROME 55
#define VENDOR_SIM   0x68

static uint64_t stamp(const struct sim_cq *cq, uint64_t ns)
{
	uint64_t real_ns;

	if (!cq->real_time)
		return sim_clock_cycles(ns);
	real_ns = sim_clock_real_ns(ns);
	return real_ns / SIM_NS_PER_S << 32 | real_ns % SIM_NS_PER_S;
}

static bool is_full(const struct sim_cq *cq)
{
	uint32_t consumed = be32toh(cq->db[0]) & INDEX_MASK;

	return ((cq->produced - consumed) & INDEX_MASK) >= cq->entries;
}

/* The next entry, zero; NULL: there is no room, and the queue pair is in error now. */
static struct mlx5_cqe64 *begin(struct sim_cq *cq, struct sim_qp *qp)
{
	uint32_t slot = cq->produced & (cq->entries - 1);
	struct mlx5_cqe64 *cqe;

	if (is_full(cq)) {
		if (!cq->overrun)
			sim_event_all(IBV_EVENT_CQ_ERR, cq->user_handle);
		cq->overrun = true;
		qp->state = IBV_QPS_ERR;
		return NULL;
	}
	cqe = (void *)(cq->buf + (size_t)slot * cq->entry_bytes + (cq->entry_bytes - sizeof(*cqe)));
	memset(cqe, 0, sizeof(*cqe) - 1);
	cqe->srqn_uidx = htobe32(qp->uidx);
	return cqe;
}

static void fail(struct mlx5_cqe64 *cqe, uint8_t syndrome)
{
	((uint8_t *)cqe)[ERR_SYNDROME] = syndrome;
	((uint8_t *)cqe)[ERR_VENDOR] = VENDOR_SIM;
	sim_nic.errors++;
}

static void finish(struct sim_cq *cq, struct mlx5_cqe64 *cqe, uint8_t op)
{
	/* The owner bit is what libmlx5 looks at, before all else of the entry. */
	atomic_thread_fence(memory_order_release);
	*(volatile uint8_t *)&cqe->op_own = (uint8_t)(op << 4 | !!(cq->produced & cq->entries));
	cq->produced++;
	sim_nic.completions++;
}

void sim_cq_push(struct sim_qp *qp, const struct sim_completion *done)
{
	struct sim_cq *cq = &sim_obj_get(qp->send_cq, SIM_CQ)->cq;
	struct mlx5_cqe64 *cqe = begin(cq, qp);

	if (!cqe)
		return;
	cqe->wqe_counter = htobe16(done->wqe);
	cqe->sop_drop_qpn = htobe32((uint32_t)done->opcode << 24 | qp->number);
	if (done->syndrome)
		fail(cqe, done->syndrome);
	else
		cqe->timestamp = htobe64(stamp(cq, done->departed_ns));
	finish(cq, cqe, done->syndrome ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ);
}

void sim_cq_push_received(struct sim_qp *qp, const struct sim_arrival *a, uint16_t wqe,
			  uint32_t tag)
{
	struct sim_cq *cq = &sim_obj_get(qp->recv_cq, SIM_CQ)->cq;
	struct mlx5_cqe64 *cqe = begin(cq, qp);

	if (!cqe)
		return;
	cqe->wqe_counter = htobe16(wqe);
	cqe->sop_drop_qpn = htobe32(tag); /* where the rule has a tag, else it is zero */
	if (a->syndrome) {
		fail(cqe, a->syndrome);
	} else {
		cqe->byte_cnt = htobe32(a->len);
		cqe->hds_ip_ext = (uint8_t)((a->l3_ok ? MLX5_CQE_L3_OK : 0) |
					    (a->l4_ok ? MLX5_CQE_L4_OK : 0));
		cqe->l4_hdr_type_etc = (uint8_t)(a->l3 << 2);
		cqe->timestamp = htobe64(stamp(cq, a->arrived_ns));
	}
	finish(cq, cqe, a->syndrome ? MLX5_CQE_RESP_ERR : MLX5_CQE_RESP_SEND);
}

/* db[1] holds the consumer index from which the program wants to hear of the next entry. */
void sim_cq_notify(struct sim_cq *cq)
{
	struct ib_uverbs_comp_event_desc event = {.cq_handle = cq->user_handle};
	struct sim_obj *channel = sim_obj_get(cq->channel, SIM_CHANNEL);
	uint32_t armed = be32toh(cq->db[1]), ahead = (cq->produced - armed) & INDEX_MASK;

	if (!channel || armed == SIM_NEVER_ARMED || armed == cq->armed || !ahead ||
	    ahead > INDEX_MASK / 2)
		return;
	cq->armed = armed;
	if (sim_nic.lose_events) {
		sim_nic.lose_events--;
		sim_nic.events_lost++;
		return;
	}
	if (sim_send(channel->channel.nic_fd, &event, sizeof(event)) == sizeof(event))
		cq->events++;
}
