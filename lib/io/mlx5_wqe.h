/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to send as a ConnectX reads them: a control segment, an Ethernet segment with the
 * headers that belong in it, and then pointers to the rest of the packet, or the rest itself. The
 * functions only write bytes into memory of the caller's. (Sources: providers/mlx5/qp.c of
 * rdma-core and the kernel's include/linux/mlx5/qp.h.) */
#ifndef SL_MLX5_WQE_H
#define SL_MLX5_WQE_H

#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "base/base.h"

#define SL_MLX5_WQE_MAX    1024u /* bytes: the length has 6 bits and counts units of 16 */
#define SL_MLX5_INLINE_MAX (SL_MLX5_WQE_MAX - 16 - 36)

/* The fields that are the same in all requests of a queue. */
struct sl_mlx5_wqe {
	uint32_t qpn;      /* number of the queue pair << 8 */
	uint32_t l2_bytes; /* bytes of each packet that the device wants in the Ethernet segment */
};
#define SL_MLX5_SIGNALLED MLX5_WQE_CTRL_CQ_UPDATE

/* Offsets in a request. */
#define SL_MLX5_ETH_AT 16u
#define SL_MLX5_HDR_AT                                                                             \
	(SL_MLX5_ETH_AT + (uint32_t)offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start))
#define SL_MLX5_SEG_BYTES 16u

static inline void sl_mlx5_put32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static inline void sl_mlx5_put64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

/* Writes the control segment. index: number of the request's first block; bytes: the whole
 * request's; ctrl: SL_MLX5_SIGNALLED or 0. */
static inline void sl_mlx5_put_ctrl(uint8_t *wqe, const struct sl_mlx5_wqe *q, uint8_t opcode,
				    uint16_t index, uint32_t bytes, uint8_t ctrl)
{
	sl_mlx5_put64(wqe,
		      (uint64_t)((uint32_t)index << 8 | opcode) << 32 | q->qpn | (bytes + 15) / 16);
	sl_mlx5_put64(wqe + 8, (uint64_t)ctrl << 32);
}

/* Writes the Ethernet segment. csum: the device writes the checksums; mss: payload bytes of each
 * TCP segment, 0: it does not segment; hdr: bytes of headers that the caller copies to
 * SL_MLX5_HDR_AT. Returns where the next segment begins. */
static inline uint32_t sl_mlx5_put_eth(uint8_t *wqe, bool csum, uint16_t mss, uint32_t hdr)
{
	uint8_t flags = csum ? MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM : 0;

	sl_mlx5_put64(wqe + SL_MLX5_ETH_AT, (uint64_t)flags << 24 | mss);
	sl_mlx5_put64(wqe + SL_MLX5_ETH_AT + 8, (uint64_t)hdr << 16);
	return hdr ? (SL_MLX5_HDR_AT + hdr + 15) & ~15u : SL_MLX5_ETH_AT + 16;
}

/* Writes a data segment: a place of the packet. */
static inline void sl_mlx5_put_data(uint8_t *seg, uint64_t addr, uint32_t bytes, uint32_t lkey)
{
	sl_mlx5_put64(seg, (uint64_t)bytes << 32 | lkey);
	sl_mlx5_put64(seg + 8, addr);
}

/* All functions below write a whole request and return its length in bytes. */

/* Handed over by value: these functions are inlined, and it costs nothing. */
struct sl_mlx5_req {
	uint16_t index; /* of its first block */
	uint8_t ctrl;   /* SL_MLX5_SIGNALLED, or 0 */
	bool csum;      /* the device writes the checksums */
	uint16_t mss;   /* of TCP's segments: sl_mlx5_put_tso() alone */
	uint16_t hdr;   /* bytes of their headers */
};

/* A request that contains the packet itself. */
static inline uint32_t sl_mlx5_put_inline(uint8_t *wqe, const struct sl_mlx5_wqe *q,
					  struct sl_mlx5_req r, const uint8_t *packet, uint32_t len)
{
	uint32_t hdr = sl_min(q->l2_bytes, len), at = sl_mlx5_put_eth(wqe, r.csum, 0, hdr), bytes;

	if (sl_unlikely(hdr)) {
		memcpy(wqe + SL_MLX5_HDR_AT, packet, hdr);
		packet += hdr;
		len -= hdr;
	}
	sl_mlx5_put32(wqe + at, len | MLX5_INLINE_SEG);
	memcpy(wqe + at + 4, packet, len);
	bytes = at + 4 + len;
	sl_mlx5_put_ctrl(wqe, q, MLX5_OPCODE_SEND, r.index, bytes, r.ctrl);
	return bytes;
}

/* A request to send a packet that lies in n places; the first one has its Ethernet header. */
static inline uint32_t sl_mlx5_put_send(uint8_t *wqe, const struct sl_mlx5_wqe *q,
					struct sl_mlx5_req r, const struct ibv_sge *sge, unsigned n)
{
	uint32_t hdr = sl_min(q->l2_bytes, sge->length), at = sl_mlx5_put_eth(wqe, r.csum, 0, hdr);

	if (sl_unlikely(hdr))
		memcpy(wqe + SL_MLX5_HDR_AT, (const void *)(uintptr_t)sge->addr, hdr);
	for (unsigned i = 0; i < n; i++, hdr = 0) {
		if (sl_unlikely(sge[i].length == hdr))
			continue;
		sl_mlx5_put_data(wqe + at, sge[i].addr + hdr, sge[i].length - hdr, sge[i].lkey);
		at += SL_MLX5_SEG_BYTES;
	}
	sl_mlx5_put_ctrl(wqe, q, MLX5_OPCODE_SEND, r.index, at, r.ctrl);
	return at;
}

/* A request to cut the payload in n places into TCP segments of r.mss bytes, with a copy of the
 * r.hdr bytes of headers in front of each. */
static inline uint32_t sl_mlx5_put_tso(uint8_t *wqe, const struct sl_mlx5_wqe *q,
				       struct sl_mlx5_req r, const uint8_t *headers,
				       const struct ibv_sge *sge, unsigned n)
{
	uint32_t at = sl_mlx5_put_eth(wqe, r.csum, r.mss, r.hdr);

	memcpy(wqe + SL_MLX5_HDR_AT, headers, r.hdr);
	for (unsigned i = 0; i < n; i++, at += SL_MLX5_SEG_BYTES)
		sl_mlx5_put_data(wqe + at, sge[i].addr, sge[i].length, sge[i].lkey);
	sl_mlx5_put_ctrl(wqe, q, MLX5_OPCODE_TSO, r.index, at, r.ctrl);
	return at;
}

/* A request that sends nothing. */
static inline uint32_t sl_mlx5_put_nop(uint8_t *wqe, const struct sl_mlx5_wqe *q, uint16_t index,
				       uint8_t ctrl)
{
	sl_mlx5_put_ctrl(wqe, q, MLX5_OPCODE_NOP, index, 16, ctrl);
	return 16;
}

#endif
