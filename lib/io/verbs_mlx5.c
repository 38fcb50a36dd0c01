/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the requests and reads the completions of a ConnectX without libmlx5: half of the time
 * that its calls take for a packet goes into things that a raw-packet queue never needs.
 *
 * Theory of operation: libmlx5 makes the queue and says where it is (mlx5dv_init_obj(3)); then it
 * is ours alone until it is destroyed. When a queue is opened, libmlx5 makes a request of each
 * kind, all called off again, and ours must be the same, byte for byte. This tells what the device
 * wants in each request (the bytes of the Ethernet header, which no call tells). If they differ, or
 * the device is unknown, libibverbs makes the requests (verbs_wr.c).
 *
 * A request that goes over the end of the ring is made beside it and copied in two parts; else it
 * is made in its place. */
#if __has_include(<infiniband/verbs.h>)

#include "base/heap.h"
#include "base/settings.h"
#include "io/mlx5_cqe.h"
#include "io/mlx5_wqe.h"
#include "io/verbs_int.h"

struct sl_verbs_mlx5 {
	struct sl_mlx5_wqe wqe;
	struct sl_mlx5_cq cq;
	struct sl_mlx5_bell bell;
	uint8_t *ring;
	uint32_t mask;  /* blocks of the ring - 1 */
	uint32_t whole; /* from this block on a request may go over the end */
	uint32_t next;  /* block of the next request */
	uint32_t nop;   /* block of the last request that sends nothing */
	uint32_t burst; /* bytes that may go with the doorbell, if the register is ours alone */
	uint32_t *sharers;
	uint8_t aside[SL_MLX5_WQE_MAX];
	uint32_t end[]; /* by a request's first block: the descriptor behind its last one */
};

/* Requests ------------------------------------------------------------------------------------- */

static uint32_t put_one(struct sl_verbs_tx *v, uint8_t *wqe, const struct sl_tx_desc *d,
			uint8_t ctrl)
{
	const struct sl_verbs_mlx5 *m = v->direct;
	uint8_t *packet = sl_frame_ptr(d->frame) + d->off;
	struct sl_mlx5_req r = {(uint16_t)m->next, ctrl, d->flags & SL_TXD_CSUM, 0, 0};
	struct ibv_sge sge[2];

	if (d->len <= v->inline_bytes)
		return sl_mlx5_put_inline(wqe, &m->wqe, r, packet, d->len);
	if (v->mem && sl_verbs_mem_put(v, v->made, sge))
		return sl_mlx5_put_send(wqe, &m->wqe, r, sge, 2);
	sge[0] = (struct ibv_sge){(uintptr_t)packet, d->len, v->lkey};
	return sl_mlx5_put_send(wqe, &m->wqe, r, sge, 1);
}

static uint32_t put_train(struct sl_verbs_tx *v, uint8_t *wqe, const struct sl_tx_desc *d,
			  uint32_t n, uint8_t ctrl)
{
	const struct sl_verbs_mlx5 *m = v->direct;
	struct sl_mlx5_req r = {(uint16_t)m->next, ctrl, d->flags & SL_TXD_CSUM,
				(uint16_t)(d->len - d->hdr), d->hdr};
	struct ibv_sge sge[SL_TSO_NIC_SEGS];

	sl_verbs_train_sges(v, v->made, n, sge);
	return sl_mlx5_put_tso(wqe, &m->wqe, r, sl_frame_ptr(d->frame) + d->off, sge, n);
}

static void copy_over_end(struct sl_verbs_mlx5 *m, uint32_t at, uint32_t bytes)
{
	uint32_t first = sl_min(bytes, (m->mask + 1 - at) * SL_MLX5_BLOCK);

	memcpy(m->ring + at * SL_MLX5_BLOCK, m->aside, first);
	memcpy(m->ring, m->aside + first, bytes - first);
}

static int make_mlx5(struct sl_verbs_tx *v)
{
	struct sl_verbs_mlx5 *m = v->direct;
	uint32_t first = v->made, bytes = 0;
	uint8_t *wqe = NULL;

	while (v->made != v->head) {
		const struct sl_tx_desc *d = &v->desc[v->made & v->mask];
		uint32_t n = d->hdr ? sl_verbs_train(v, v->made) : 1, end = v->made + n;
		bool signalled = sl_verbs_wants_signal(v, end);
		uint8_t ctrl = signalled ? SL_MLX5_SIGNALLED : 0;
		uint32_t at = m->next & m->mask;

		wqe = sl_likely(at < m->whole) ? m->ring + at * SL_MLX5_BLOCK : m->aside;
		bytes = n == 1 ? put_one(v, wqe, d, ctrl) : put_train(v, wqe, d, n, ctrl);
		if (sl_unlikely(wqe == m->aside))
			copy_over_end(m, at, bytes);
		if (signalled)
			sl_verbs_await(v, end);
		m->end[at] = end;
		m->next += (bytes + SL_MLX5_BLOCK - 1) / SL_MLX5_BLOCK;
		v->made = end;
	}
	if (sl_unlikely(v->mem != NULL))
		sl_wc_flush(); /* on-device memory is written before the record */
	/* If the only new request contains its whole packet, it is written with the doorbell. */
	bytes = (bytes + SL_MLX5_BLOCK - 1) & ~(SL_MLX5_BLOCK - 1);
	if (v->made - first != 1 || bytes > m->burst || sl_load(m->sharers) != 1 ||
	    v->desc[first & v->mask].len > v->inline_bytes || wqe == m->aside)
		bytes = 0;
	sl_mlx5_ring(&m->bell, (uint16_t)m->next, wqe, bytes);
	return 0;
}

static int make_nop(struct sl_verbs_tx *v)
{
	struct sl_verbs_mlx5 *m = v->direct;
	uint32_t at = m->next & m->mask;
	uint8_t *wqe = m->ring + at * SL_MLX5_BLOCK;

	sl_mlx5_put_nop(wqe, &m->wqe, (uint16_t)m->next, SL_MLX5_SIGNALLED);
	m->end[at] = v->made;
	m->nop = m->next++;
	sl_mlx5_ring(&m->bell, (uint16_t)m->next, wqe, 0);
	return 0;
}

/* Completions ---------------------------------------------------------------------------------- */

static bool is_nop(const struct sl_verbs_tx *v, uint16_t block)
{
	return (int32_t)(v->nop - v->tail) > 0 && (uint16_t)v->direct->nop == block;
}

static enum ibv_wc_status poll(struct sl_verbs_tx *v, uint32_t *to)
{
	struct sl_verbs_mlx5 *m = v->direct;
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	const struct mlx5_cqe64 *cqe;
	uint32_t was = m->cq.read;

	while (!status && (cqe = sl_mlx5_cq_next(&m->cq))) {
		uint16_t block = sl_mlx5_cqe_block(cqe);

		*to = m->end[block & m->mask];
		status = sl_mlx5_cqe_status(cqe);
		if (sl_unlikely(status) && !is_nop(v, block))
			*to = sl_verbs_train_begin(v, *to - 1);
		if (sl_unlikely(v->stamps.n) && !status)
			sl_verbs_stamps_done(v, *to, sl_mlx5_cqe_stamp(cqe));
	}
	if (m->cq.read != was)
		sl_mlx5_cq_release(&m->cq);
	return status;
}

static const struct sl_verbs_ways by_mlx5 = {
	.make = make_mlx5,
	.make_nop = make_nop,
	.poll = poll,
};

/* Doorbell registers and how many queues use each. Queues of a process may share one: then each
 * writes only the doorbell there, a single store. A new sharer is counted here milliseconds before
 * its first doorbell. */
static struct {
	const void *reg;
	uint32_t sharers;
} registers[256];
static uint32_t many = 2; /* sharers of registers that have no place in the table */

static uint32_t *register_get(const void *reg)
{
	size_t i = 0, n = sl_array_len(registers);

	while (i < n && registers[i].reg != reg)
		i++;
	for (size_t j = 0; i == n && j < n; j++)
		if (!registers[j].sharers)
			i = j;
	if (i == n)
		return &many;
	registers[i].reg = reg;
	sl_store(&registers[i].sharers, registers[i].sharers + 1);
	return &registers[i].sharers;
}

static void register_put(uint32_t *sharers)
{
	if (sharers != &many)
		sl_store(sharers, *sharers - 1);
}

void sl_verbs_mlx5_child(void)
{
	memset(registers, 0, sizeof(registers));
}

/* Opening -------------------------------------------------------------------------------------- */

/* Requests of each kind, made to be compared: the device never reads them. */
#define KINDS    4u
#define TEST_HDR 66u
#define TEST_LEN 100u
#define TEST_MSS 1234u
#define TEST_MIN 42u /* no packet is shorter */
#define UNKNOWN  UINT32_MAX
static const uint8_t packet[TEST_LEN] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
static const struct ibv_sge places[3] = {{(uintptr_t)packet, TEST_LEN, 0x1234},
					 {0x12345678, 1500, 0x5678},
					 {0x87654321, 99, 0x9abc}};

static uint32_t inlined(const struct sl_verbs_tx *v)
{
	return sl_min(v->inline_bytes, TEST_LEN);
}

static void theirs(const struct sl_verbs_tx *v, unsigned kind, bool csum)
{
	struct ibv_qp_ex *qpx = v->qpx;

	qpx->wr_id = 0;
	qpx->wr_flags = (csum ? IBV_SEND_IP_CSUM : 0) | (kind & 1 ? IBV_SEND_SIGNALED : 0) |
			(kind == 0 ? IBV_SEND_INLINE : 0);
	if (kind == 3)
		ibv_wr_send_tso(qpx, sl_unconst(packet), TEST_HDR, TEST_MSS);
	else
		ibv_wr_send(qpx);
	if (kind == 0)
		ibv_wr_set_inline_data(qpx, sl_unconst(packet), inlined(v));
	else if (kind == 1)
		ibv_wr_set_sge(qpx, places[0].lkey, places[0].addr, places[0].length);
	else
		ibv_wr_set_sge_list(qpx, kind, places);
}

static void ours(const struct sl_verbs_tx *v, const struct sl_verbs_mlx5 *m, uint8_t *wqe,
		 unsigned kind, bool csum)
{
	const struct sl_mlx5_wqe *q = &m->wqe;
	struct sl_mlx5_req r = {0, kind & 1 ? SL_MLX5_SIGNALLED : 0, csum, TEST_MSS, TEST_HDR};

	if (kind == 0)
		sl_mlx5_put_inline(wqe, q, r, packet, inlined(v));
	else if (kind == 3)
		sl_mlx5_put_tso(wqe, q, r, packet, places, kind);
	else
		sl_mlx5_put_send(wqe, q, r, places, kind);
}

/* True: our request is the same as libmlx5's. The first comparison also learns how many bytes of
 * the Ethernet header belong in a request. */
static bool is_same_request(const struct sl_verbs_tx *v, struct sl_verbs_mlx5 *m, unsigned kind,
			    bool csum)
{
	const struct mlx5_wqe_eth_seg *eth = (const void *)(m->ring + SL_MLX5_ETH_AT);

	memset(m->ring, 0, SL_MLX5_WQE_MAX);
	memset(m->aside, 0, SL_MLX5_WQE_MAX);
	ibv_wr_start(v->qpx);
	theirs(v, kind, csum);
	ibv_wr_abort(v->qpx);
	if (m->wqe.l2_bytes == UNKNOWN)
		m->wqe.l2_bytes = be16toh(eth->inline_hdr_sz);
	if (m->wqe.l2_bytes > sizeof(eth->inline_hdr_start) + sizeof(eth->inline_hdr))
		return false;
	ours(v, m, m->aside, kind, csum);
	return !memcmp(m->ring, m->aside, SL_MLX5_WQE_MAX);
}

static bool agrees(const struct sl_verbs_tx *v, struct sl_verbs_mlx5 *m)
{
	m->wqe.l2_bytes = UNKNOWN;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		if ((kind == 0 && v->inline_bytes < TEST_MIN) ||
		    (kind == 3 && !(v->tx.caps & SL_TX_TSO)))
			continue;
		if (!is_same_request(v, m, kind, false) ||
		    (v->tx.caps & SL_TX_CSUM && !is_same_request(v, m, kind, true)))
			return false;
	}
	memset(m->ring, 0, SL_MLX5_WQE_MAX);
	return true;
}

static bool is_pow2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_known_layout(const struct mlx5dv_qp *qp, const struct mlx5dv_cq *cq)
{
	return SL_MLX5_DIRECT && qp->sq.stride == SL_MLX5_BLOCK && is_pow2(qp->sq.wqe_cnt) &&
	       qp->sq.wqe_cnt <= 0x10000 && qp->sq.wqe_cnt >= 2 * SL_MLX5_WQE_MAX / SL_MLX5_BLOCK &&
	       is_pow2(cq->cqe_cnt) && (cq->cqe_size == 64 || cq->cqe_size == 128);
}

static void fill_queue(struct sl_verbs_mlx5 *m, const struct sl_verbs_tx *v,
		       const struct mlx5dv_qp *qp, const struct mlx5dv_cq *cq)
{
	m->wqe.qpn = v->qp->qp_num << 8;
	m->ring = qp->sq.buf;
	m->mask = qp->sq.wqe_cnt - 1;
	m->whole = qp->sq.wqe_cnt - SL_MLX5_WQE_MAX / SL_MLX5_BLOCK + 1;
	m->bell = (struct sl_mlx5_bell){.record = (uint32_t *)&qp->dbrec[MLX5_SND_DBR],
					.reg = qp->bf.reg,
					.half = qp->bf.size};
	m->burst = sl_settings.bf ? qp->bf.size : 0;
	m->cq = (struct sl_mlx5_cq){.last = (uint8_t *)cq->buf + cq->cqe_size - 64,
				    .record = (uint32_t *)cq->dbrec,
				    .entries = cq->cqe_cnt,
				    .shift = cq->cqe_size == 128 ? 7 : 6};
}

const char *sl_verbs_open_mlx5(struct sl_verbs_tx *v)
{
	struct mlx5dv_qp qp = {0};
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.qp = {v->qp, &qp}, .cq = {ibv_cq_ex_to_cq(v->cq), &cq}};
	struct sl_verbs_mlx5 *m;

	if (!v->dev->mlx5)
		return "it is no mlx5 device";
	if (v->dev->mlx5->init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ) ||
	    !is_known_layout(&qp, &cq))
		return "its queues are of an unknown kind";
	m = sl_calloc(1, sizeof(*m) + qp.sq.wqe_cnt * sizeof(m->end[0]));
	if (!m)
		return "no memory";
	fill_queue(m, v, &qp, &cq);
	if (!agrees(v, m)) {
		sl_free(m);
		return "libmlx5 makes them otherwise";
	}
	m->sharers = register_get(qp.bf.reg);
	v->inline_bytes = sl_min(v->inline_bytes, SL_MLX5_INLINE_MAX);
	v->direct = m;
	v->ways = &by_mlx5;
	v->ends = false;
	return NULL;
}

void sl_verbs_close_mlx5(struct sl_verbs_tx *v)
{
	if (v->direct)
		register_put(v->direct->sharers);
	sl_free(v->direct);
}
#endif
