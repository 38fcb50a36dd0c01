/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of a test by RDMA: made, connected, sent and received by. */
#if __has_include(<infiniband/verbs.h>)
#include "rdma_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRH_BYTES 40
/* Bits that rdma_ucm of old kernels sets by mistake on InfiniBand (rdma-core masks them as well).
 */
#define ROCE_BITS 0xe00000

/* Remembers a call that failed. Returns -errno, or 0. */
static int step(struct sl_rdma_pair *p, const char *name, bool failed)
{
	if (!failed)
		return 0;
	p->step = name;
	return errno ? -errno : -EIO;
}

static uint8_t *slot(struct sl_rdma_pair *p, enum sl_rdma_kind kind, bool receives, unsigned i)
{
	return p->mem + ((kind * 2 + receives) * SL_RDMA_SLOTS + i) * (size_t)SL_RDMA_SLOT_BYTES;
}

#define MEM_BYTES ((size_t)SL_RDMA_KINDS * 2 * SL_RDMA_SLOTS * SL_RDMA_SLOT_BYTES)

static int post_receive(struct sl_rdma_pair *p, enum sl_rdma_kind kind, unsigned i)
{
	struct ibv_sge sge = {.addr = (uintptr_t)slot(p, kind, true, i),
			      .length = SL_RDMA_SLOT_BYTES,
			      .lkey = p->mr->lkey};
	struct ibv_recv_wr *bad,
		wr = {.wr_id = (uint64_t)kind << 8 | i, .sg_list = &sge, .num_sge = 1};

	errno = ibv_post_recv(p->qp[kind], &wr, &bad);
	return step(p, "ibv_post_recv", errno);
}

static int make_queues(struct sl_rdma_pair *p)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UD};
	struct ibv_qp_init_attr attr = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = {.max_send_wr = SL_RDMA_SLOTS,
			.max_recv_wr = SL_RDMA_SLOTS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	for (unsigned k = 0; k < SL_RDMA_KINDS; k++) {
		attr.qp_type = types[k];
		p->qp[k] = p->lib->ibv.create_qp(p->pd, &attr);
		if (!p->qp[k])
			return step(p, "ibv_create_qp", true);
	}
	return 0;
}

int sl_rdma_pair_init(struct sl_rdma_pair *p, const struct sl_rdma_lib *lib, struct sl_rdma_id *id)
{
	*p = (struct sl_rdma_pair){.lib = lib, .id = id};
	errno = ENOMEM;
	p->mem = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), MEM_BYTES);
	if (!p->mem)
		return step(p, "malloc", true);
	memset(p->mem, 0, MEM_BYTES);
	p->pd = lib->ibv.alloc_pd(id->verbs);
	if (!p->pd)
		return step(p, "ibv_alloc_pd", true);
	p->mr = lib->ibv.reg_mr(p->pd, p->mem, MEM_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!p->mr)
		return step(p, "ibv_reg_mr", true);
	p->cq = lib->ibv.create_cq(id->verbs, 4 * SL_RDMA_SLOTS, NULL, NULL, 0);
	if (!p->cq)
		return step(p, "ibv_create_cq", true);
	return make_queues(p);
}

void sl_rdma_pair_fini(struct sl_rdma_pair *p)
{
	if (p->ah)
		p->lib->ibv.destroy_ah(p->ah);
	for (unsigned k = 0; k < SL_RDMA_KINDS; k++)
		if (p->qp[k])
			p->lib->ibv.destroy_qp(p->qp[k]);
	if (p->cq)
		p->lib->ibv.destroy_cq(p->cq);
	if (p->mr)
		p->lib->ibv.dereg_mr(p->mr);
	if (p->pd)
		p->lib->ibv.dealloc_pd(p->pd);
	free(p->mem);
	*p = (struct sl_rdma_pair){.lib = p->lib, .step = p->step, .bad = p->bad};
}

/* Takes the connected queue pair to a state. The kernel's connection manager knows its attributes.
 */
static int advance(struct sl_rdma_pair *p, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	int mask;

	*attr = (struct ibv_qp_attr){.qp_state = state};
	if (p->lib->init_qp_attr(p->id, attr, &mask))
		return step(p, "rdma_init_qp_attr", true);
	if (mask & IBV_QP_AV && !attr->ah_attr.is_global)
		mask &= ~ROCE_BITS;
	errno = p->lib->ibv.modify_qp(p->qp[SL_RDMA_RC], attr, mask);
	return step(p, "ibv_modify_qp", errno);
}

/* Takes the queue pair of datagrams to where it sends; it has the port and the partition of the
 * connected one. */
static int start_datagrams(struct sl_rdma_pair *p, const struct ibv_qp_attr *connected)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
		{IBV_QPS_RTR, IBV_QP_STATE},
		{IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
	};
	struct ibv_qp_attr attr = {.pkey_index = connected->pkey_index,
				   .port_num = connected->port_num,
				   .qkey = SL_RDMA_QKEY};

	for (unsigned i = 0; i < sl_array_len(steps); i++) {
		attr.qp_state = steps[i].state;
		errno = p->lib->ibv.modify_qp(p->qp[SL_RDMA_UD], &attr, steps[i].mask);
		if (errno)
			return step(p, "ibv_modify_qp", true);
	}
	return 0;
}

int sl_rdma_pair_ready(struct sl_rdma_pair *p, const struct sl_rdma_hello *peer)
{
	struct ibv_qp_attr attr, way;
	int err;

	p->peer_ud = ntohl(peer->ud_qp);
	p->peer_qkey = ntohl(peer->ud_qkey);
	err = advance(p, IBV_QPS_INIT, &attr);
	if (!err)
		err = start_datagrams(p, &attr);
	for (unsigned k = 0; k < SL_RDMA_KINDS; k++)
		for (unsigned i = 0; i < SL_RDMA_SLOTS && !err; i++)
			err = post_receive(p, (enum sl_rdma_kind)k, i);
	if (!err)
		err = advance(p, IBV_QPS_RTR, &way);
	if (!err)
		err = advance(p, IBV_QPS_RTS, &attr);
	if (err)
		return err;
	p->ack_timeout = attr.timeout;
	p->ah = p->lib->ibv.create_ah(p->pd, &way.ah_attr);
	return step(p, "ibv_create_ah", !p->ah);
}

int sl_rdma_pair_send(struct sl_rdma_pair *p, enum sl_rdma_kind kind, const void *bytes,
		      uint32_t len)
{
	unsigned i = p->sent[kind] % SL_RDMA_SLOTS;
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot(p, kind, false, i), .length = len, .lkey = p->mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)kind << 8 | i,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED};

	if (len > SL_RDMA_SLOT_BYTES - GRH_BYTES)
		return -EMSGSIZE;
	if (p->unsent[kind] == SL_RDMA_SLOTS)
		return -EAGAIN;
	memcpy(slot(p, kind, false, i), bytes, len);
	if (kind == SL_RDMA_UD) {
		wr.wr.ud.ah = p->ah;
		wr.wr.ud.remote_qpn = p->peer_ud;
		wr.wr.ud.remote_qkey = p->peer_qkey;
	}
	errno = ibv_post_send(p->qp[kind], &wr, &bad);
	if (errno)
		return step(p, "ibv_post_send", true);
	p->sent[kind]++;
	p->unsent[kind]++;
	return 0;
}

int sl_rdma_pair_poll(struct sl_rdma_pair *p, struct sl_rdma_got *got)
{
	static uint8_t kept[SL_RDMA_SLOT_BYTES];
	uint32_t front;
	struct ibv_wc wc;
	enum sl_rdma_kind kind;
	unsigned i;

	for (;;) {
		int n = ibv_poll_cq(p->cq, 1, &wc);

		errno = EIO;
		if (n <= 0)
			return n ? step(p, "ibv_poll_cq", true) : 0;
		kind = wc.wr_id >> 8 & 1 ? SL_RDMA_UD : SL_RDMA_RC;
		i = wc.wr_id % SL_RDMA_SLOTS;
		if (wc.status != IBV_WC_SUCCESS) {
			p->bad = wc.status;
			return step(p, "completion", true);
		}
		if (wc.opcode & IBV_WC_RECV)
			break;
		p->unsent[kind]--;
	}
	front = kind == SL_RDMA_UD ? GRH_BYTES : 0;
	if (wc.byte_len < front || wc.byte_len > sizeof(kept))
		return step(p, "completion", true);
	got->kind = kind;
	got->len = wc.byte_len - front;
	got->bytes = kept;
	memcpy(kept, slot(p, kind, true, i) + front, got->len);
	return post_receive(p, kind, i) ? -EIO : 1;
}
#endif
