/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory barriers for a ConnectX (rdma-core has them for more machines: util/udma_barrier.h), and
 * its doorbell: a record in memory, which the device reads when it likes, and a register, mapped
 * write-combining, that makes it look (providers/mlx5/qp.c: post_send_db()). */
#ifndef SL_MLX5_MMIO_H
#define SL_MLX5_MMIO_H

#include <endian.h>
#include <string.h>

#include "base/base.h"

#define SL_MLX5_BLOCK 64u /* bytes; requests are counted in these blocks */

#if defined(__x86_64__)
#define SL_MLX5_DIRECT 1
/* A device sees stores to ordinary memory in their order. Stores to write-combining memory need a
 * fence for that, which also sends them off. lfence keeps later loads behind the load that decides
 * about them. */
#define sl_to_device()   __asm__ volatile("" ::: "memory")
#define sl_wc_flush()    __asm__ volatile("sfence" ::: "memory")
#define sl_from_device() __asm__ volatile("lfence" ::: "memory")
#elif defined(__aarch64__)
#define SL_MLX5_DIRECT   1
/* dmb would not do: it does not order accesses for a device. */
#define sl_to_device()   __asm__ volatile("dsb st" ::: "memory")
#define sl_wc_flush()    __asm__ volatile("dsb st" ::: "memory")
#define sl_from_device() __asm__ volatile("dsb ld" ::: "memory")
#else
#define SL_MLX5_DIRECT   0 /* unknown machine: libibverbs makes the requests */
#define sl_to_device()   __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define sl_wc_flush()    __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define sl_from_device() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* The doorbell of a send queue. */
struct sl_mlx5_bell {
	uint32_t *record; /* the send queue's word of the doorbell record */
	uint8_t *reg;     /* the register */
	uint32_t off;  /* offset of the half to write next: two are used in turn, so that no write
			  waits for the one before */
	uint32_t half; /* bytes of a half; 0: the register is not divided */
};

/* Copies a block of a request into the register, in the largest pieces that every processor can
 * store. */
static inline void sl_mlx5_put_block(volatile uint8_t *reg, const uint8_t *wqe)
{
#pragma GCC unroll 4
	for (uint32_t i = 0; i < SL_MLX5_BLOCK; i += 16) {
		__attribute__((vector_size(16))) uint64_t piece;

		memcpy(&piece, wqe + i, sizeof(piece));
		*(volatile __typeof__(piece) *)(reg + i) = piece;
	}
}

/* Tells the device that requests up to (not with) block `next` are there; the last one is at `wqe`.
 * bytes: how much of it is written with the doorbell, so that the device need not fetch it: whole
 * blocks, at most `half`; 0: none. */
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
	sl_wc_flush(); /* sends the register off, and comes before the next write to it */
	b->off ^= b->half;
}

#endif
