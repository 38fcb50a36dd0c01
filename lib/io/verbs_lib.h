/* SPDX-License-Identifier: BSD-2-Clause */
/* libibverbs, loaded when first needed: its functions that are not inline. */
#ifndef SL_VERBS_LIB_H
#define SL_VERBS_LIB_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "base/base.h"

/* A macro of this name calls functions that are not in the table below. */
#undef ibv_reg_mr

#define SL_VERBS_CALLS(X)                                                                          \
	X(get_device_list)                                                                         \
	X(free_device_list)                                                                        \
	X(get_device_name)                                                                         \
	X(open_device)                                                                             \
	X(close_device)                                                                            \
	X(alloc_pd)                                                                                \
	X(dealloc_pd)                                                                              \
	X(reg_mr)                                                                                  \
	X(dereg_mr)                                                                                \
	X(destroy_cq)                                                                              \
	X(modify_qp)                                                                               \
	X(destroy_qp)                                                                              \
	X(qp_to_qp_ex)                                                                             \
	X(create_comp_channel)                                                                     \
	X(destroy_comp_channel)                                                                    \
	X(get_cq_event)                                                                            \
	X(ack_cq_events)                                                                           \
	X(get_async_event)                                                                         \
	X(ack_async_event)                                                                         \
	X(wc_status_str)                                                                           \
	X(event_type_str)

struct sl_verbs_lib {
#define X(name) __typeof__(&ibv_##name) name;
	SL_VERBS_CALLS(X)
#undef X
};

/* Loads libibverbs at the first call. NULL: it is not installed, or too old. The caller serialises
 * calls. */
const struct sl_verbs_lib *sl_verbs_lib(void);
const char *sl_verbs_lack(void); /* why it is NULL */

/* libmlx5, the driver of mlx5 devices. libibverbs has loaded it already when such a device is
 * open. */
#define SL_MLX5_CALLS(X)                                                                           \
	X(is_supported)                                                                            \
	X(init_obj)                                                                                \
	X(create_qp)                                                                               \
	X(qp_ex_from_ibv_qp_ex)                                                                    \
	X(get_clock_info)

struct sl_mlx5_lib {
#define X(name) __typeof__(&mlx5dv_##name) name;
	SL_MLX5_CALLS(X)
#undef X
};

/* Its functions. NULL: the device is no mlx5, or the library is too old. The caller serialises
 * calls. */
const struct sl_mlx5_lib *sl_mlx5_lib(struct ibv_context *ctx);

/* Finds the RDMA device of a network device, by sysfs (SYSFS_PATH names another root than /sys, as
 * for libibverbs). False: it has none. */
bool sl_verbs_name_of(uint32_t ifindex, const char *ifname, char *name, size_t size);

#endif
