/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells. The model reads a queue's record of them in memory and needs no register; a device
 * looks only when the register is written, and a program that forgot it, or wrote it too early,
 * would hang. So each register of a queue's page is looked at: what is new in it must be the
 * beginning of a request that the record has in it by then, and a queue that has nothing more to
 * send must have rung for its last request. */
#include <infiniband/mlx5dv.h>
#include <stdatomic.h>
#include <string.h>

#include "nic.h"
#include "sys.h"

#define FIRST_AT    0x800u /* in a page: two registers of two halves each */
#define HALF_BYTES  256u
#define SLACK       1024u /* blocks that the engine does of a queue in one turn */
#define OWN_MOST    16u   /* so many queues have a register of their own (libmlx5) */
#define PATIENCE_NS 1000000000ull

static const uint8_t *half_of(const struct sim_qp *qp, unsigned n)
{
	return (const uint8_t *)sim_page(SIM_PAGE_UAR + qp->uar) + FIRST_AT + n * HALF_BYTES;
}

static uint64_t word_of(const struct sim_qp *qp, unsigned n)
{
	return atomic_load_explicit((const _Atomic uint64_t *)half_of(qp, n), memory_order_acquire);
}

void sim_bell_begin(struct sim_qp *qp)
{
	uint32_t at = 0, n = 0;

	while (sim_obj_next(&at, SIM_QP))
		n++;
	if (n > sim_nic.most_qps)
		sim_nic.most_qps = n;
	for (unsigned i = 0; qp->uar < SIM_MAX_UARS && i < SIM_HALVES; i++)
		qp->bell[i] = word_of(qp, i);
}

void sim_bell_look(struct sim_qp *qp)
{
	for (unsigned i = 0; qp->uar < SIM_MAX_UARS && i < SIM_HALVES; i++) {
		uint64_t word = word_of(qp, i), v = be64toh(word);
		uint16_t index = (uint16_t)(v >> 40), ahead;

		if (word == qp->bell[i])
			continue;
		qp->bell[i] = word;
		if ((uint32_t)v >> 8 != qp->number) /* another queue of this page */
			continue;
		ahead = (uint16_t)(be32toh(qp->db[MLX5_SND_DBR]) - index);
		sim_nic.bells++;
		if (ahead && ahead <= qp->sq_wqes + SLACK)
			continue;
		sim_say("queue %#x: the doorbell rings for request %u, its record does not say so",
			qp->number, index);
		sim_nic.bells_wrong++;
	}
}

/* The half that has the last request's beginning; SIM_HALVES: none. */
static unsigned rung(const struct sim_qp *qp)
{
	unsigned i = 0;

	while (i < SIM_HALVES && memcmp(half_of(qp, i), qp->last, sizeof(uint64_t)))
		i++;
	return i;
}

/* A register of many says nothing of one. */
static bool may_judge(const struct sim_qp *qp)
{
	return qp->uar < SIM_MAX_UARS && sim_nic.most_qps <= OWN_MOST && qp->last_bytes &&
	       qp->state == IBV_QPS_RTS && !sim_nic.fatal &&
	       qp->consumed == (uint16_t)be32toh(qp->db[MLX5_SND_DBR]);
}

void sim_bell_end(struct sim_qp *qp)
{
	uint64_t end_ns = sim_now_ns() + PATIENCE_NS;
	unsigned half;

	if (!may_judge(qp))
		return;
	sim_bell_look(qp);
	/* Another thread may be about to, when the program ends. */
	while ((half = rung(qp)) == SIM_HALVES && sim_now_ns() < end_ns)
		;
	if (half == SIM_HALVES) {
		sim_say("queue %#x: the doorbell did not ring for its last request", qp->number);
		sim_nic.bells_wrong++;
	} else if (qp->last_bytes == sizeof(qp->last)) {
		sim_nic.blue_flames += !memcmp(half_of(qp, half), qp->last, qp->last_bytes);
	}
}
