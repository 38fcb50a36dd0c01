/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory barriers for a ConnectX (rdma-core has them for more machines: util/udma_barrier.h), and
 * its doorbell: a record in memory, which the device reads when it likes, and a register, mapped
 * write-combining, that makes it look (providers/mlx5/qp.c: post_send_db()). */
#ifndef SL_MLX5_MMIO_H
#define SL_MLX5_MMIO_H

#include <endian.h>
#include <string.h>

#include "base/base.h"

#define SL_MLX5_BLOCK 64u /* bytes: what requests are counted in */

#if defined(__x86_64__)
#define SL_MLX5_DIRECT 1
/* Stores to ordinary memory are seen in their order; those to write-combining memory only by a
 * fence, which also sends them off. Loads are not done ahead of one that decides about them. */
#define sl_to_device()   __asm__ volatile("" ::: "memory")
#define sl_wc_flush()    __asm__ volatile("sfence" ::: "memory")
#define sl_from_device() __asm__ volatile("lfence" ::: "memory")
#elif defined(__aarch64__)
#define SL_MLX5_DIRECT   1
/* A device is outside of the domain that dmb is about. */
#define sl_to_device()   __asm__ volatile("dsb st" ::: "memory")
#define sl_wc_flush()    __asm__ volatile("dsb st" ::: "memory")
#define sl_from_device() __asm__ volatile("dsb ld" ::: "memory")
#else
#define SL_MLX5_DIRECT   0 /* unknown machine: libibverbs makes the requests */
#define sl_to_device()   __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define sl_wc_flush()    __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define sl_from_device() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

struct sl_mlx5_bell {
	uint32_t *record; /* the send queue's word of it */
	uint8_t *reg;
	uint32_t off;  /* the register has two halves, used in turn, so that no write awaits one
			  before */
	uint32_t half; /* bytes of each; 0: there is one only */
};

/* A block of a request into the register, in the largest pieces that every processor has. */
static inline void sl_mlx5_put_block(volatile uint8_t *reg, const uint8_t *wqe)
{
#pragma GCC unroll 4
	for (uint32_t i = 0; i < SL_MLX5_BLOCK; i += 16) {
		__attribute__((vector_size(16))) uint64_t piece;

		memcpy(&piece, wqe + i, sizeof(piece));
		*(volatile __typeof__(piece) *)(reg + i) = piece;
	}
}

/* Requests up to (not with) block `next` are there, the last of them at `wqe`. bytes: so much of it
 * goes with the doorbell, that the device need not fetch it: whole blocks, not more than half has;
 * 0: none. */
static inline void sl_mlx5_ring(struct sl_mlx5_bell *b, uint16_t next, const uint8_t *wqe,
				uint32_t bytes)
{
	volatile uint8_t *reg = b->reg + b->off;
	uint64_t word;

	sl_to_device(); /* requests before the record */
	*(volatile uint32_t *)b->record = htobe32(next);
	sl_wc_flush(); /* the record before the register */
	if (bytes) {
		for (uint32_t i = 0; i < bytes; i += SL_MLX5_BLOCK)
			sl_mlx5_put_block(reg + i, wqe + i);
	} else {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a request was made */
		memcpy(&word, wqe, sizeof(word));
		*(volatile uint64_t *)reg = word;
	}
	sl_wc_flush(); /* off it goes, and before what is written there next */
	b->off ^= b->half;
}

#endif
