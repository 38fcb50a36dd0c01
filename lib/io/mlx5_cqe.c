/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns the syndrome of a failed completion into the status that libibverbs would give. */
#if __has_include(<infiniband/verbs.h>)
#include "io/mlx5_cqe.h"

static const uint8_t status_of[] = {
	[MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR] = IBV_WC_LOC_LEN_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
	[MLX5_CQE_SYNDROME_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
	[MLX5_CQE_SYNDROME_MW_BIND_ERR] = IBV_WC_MW_BIND_ERR,
	[MLX5_CQE_SYNDROME_BAD_RESP_ERR] = IBV_WC_BAD_RESP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR] = IBV_WC_LOC_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_OP_ERR] = IBV_WC_REM_OP_ERR,
	[MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR] = IBV_WC_REM_ABORT_ERR,
};

enum ibv_wc_status sl_mlx5_cqe_status(const struct mlx5_cqe64 *cqe)
{
	uint8_t syndrome = ((const struct mlx5_err_cqe *)cqe)->syndrome, status = 0;

	if (cqe->op_own >> 4 == MLX5_CQE_REQ)
		return IBV_WC_SUCCESS;
	if (cqe->op_own >> 4 == MLX5_CQE_REQ_ERR && syndrome < sl_array_len(status_of))
		status = status_of[syndrome];
	return status ? (enum ibv_wc_status)status : IBV_WC_GENERAL_ERR;
}
#endif
