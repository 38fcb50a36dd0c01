/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions as a ConnectX writes them (providers/mlx5/cq.c of rdma-core). */
#ifndef SL_MLX5_CQE_H
#define SL_MLX5_CQE_H

#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "base/base.h"
#include "io/mlx5_mmio.h"

/* A completion queue; we are its only reader. */
struct sl_mlx5_cq {
	const uint8_t *last; /* the last 64 bytes of the first entry */
	uint32_t *record;    /* tells the device how many entries were read */
	uint32_t entries;    /* power of two */
	uint32_t shift;      /* log2 of an entry's bytes */
	uint32_t read;       /* entries read so far; wraps */
};

/* Reads the next entry, which belongs to the device again after sl_mlx5_cq_release(). NULL: there
 * is none. */
static inline const struct mlx5_cqe64 *sl_mlx5_cq_next(struct sl_mlx5_cq *cq)
{
	const struct mlx5_cqe64 *cqe =
		(const void *)(cq->last + ((size_t)(cq->read & (cq->entries - 1)) << cq->shift));
	uint8_t own = *(const volatile uint8_t *)&cqe->op_own;

	/* The device inverts the owner bit in each round, and writes this byte last. */
	if (own >> 4 == MLX5_CQE_INVALID ||
	    (own & MLX5_CQE_OWNER_MASK) != !!(cq->read & cq->entries))
		return NULL;
	sl_from_device(); /* pairs with the device's writing that byte last */
	cq->read++;
	return cqe;
}

/* Gives the entries that were read back to the device. */
static inline void sl_mlx5_cq_release(const struct sl_mlx5_cq *cq)
{
	__atomic_store_n(cq->record, htobe32(cq->read & 0xffffff), __ATOMIC_RELEASE);
}

/* Number of the first block of the request that has completed. */
static inline uint16_t sl_mlx5_cqe_block(const struct mlx5_cqe64 *cqe)
{
	return be16toh(cqe->wqe_counter);
}

/* The device's counter when the request completed. */
static inline uint64_t sl_mlx5_cqe_stamp(const struct mlx5_cqe64 *cqe)
{
	return be64toh(cqe->timestamp);
}

/* How the request ended, as libibverbs would say it. */
enum ibv_wc_status sl_mlx5_cqe_status(const struct mlx5_cqe64 *cqe);

#endif
