/* SPDX-License-Identifier: BSD-2-Clause */
/* A uverbs ioctl: its attributes, and the methods that answer it. */
#ifndef SIM_UVERBS_H
#define SIM_UVERBS_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "nic.h"

struct sim_call {
	struct ib_uverbs_ioctl_hdr *hdr;
	struct sim_ctx *ctx;
	int ctx_index;
};

struct ib_uverbs_attr *sim_attr(const struct sim_call *call, uint16_t id); /* or NULL */
/* The value of an attribute of at most eight bytes (a handle too); 0 without it. */
uint64_t sim_attr_value(const struct sim_call *call, uint16_t id);
/* Copies an input; what it has not is zero. */
void sim_attr_get(const struct sim_call *call, uint16_t id, void *to, size_t size);
/* Copies an output, if it is asked for. */
void sim_attr_put(const struct sim_call *call, uint16_t id, const void *from, size_t size);
void sim_attr_put_handle(const struct sim_call *call, uint16_t id, uint32_t handle);
struct sim_obj *sim_attr_obj(const struct sim_call *call, uint16_t id, enum sim_type type);

/* Each returns 0 or errno, as the kernel does. */
typedef int (*sim_method_fn)(const struct sim_call *call);

int sim_invoke_write(const struct sim_call *call); /* uverbs_write.c */

int sim_get_context(const struct sim_call *call); /* uverbs_device.c */
int sim_query_context(const struct sim_call *call);
int sim_query_device(const struct sim_call *call);
int sim_query_port(const struct sim_call *call);
int sim_query_gid_table(const struct sim_call *call);
int sim_query_gid_entry(const struct sim_call *call);
int sim_async_event_alloc(const struct sim_call *call);

int sim_cq_create(const struct sim_call *call); /* uverbs_queue.c */
int sim_cq_destroy(const struct sim_call *call);
int sim_qp_create(const struct sim_call *call);
int sim_qp_destroy(const struct sim_call *call);
int sim_modify_qp(const struct sim_call *call, bool extended);
int sim_query_qp(const struct sim_call *call);

int sim_create_flow(const struct sim_call *call); /* uverbs_flow.c */
int sim_destroy_flow(const struct sim_call *call);

int sim_reg_mr(const struct sim_call *call); /* uverbs_memory.c */
int sim_mr_destroy(const struct sim_call *call);
int sim_mr_query(const struct sim_call *call);
int sim_dm_mr_reg(const struct sim_call *call);
int sim_dm_create(const struct sim_call *call);
int sim_dm_destroy(const struct sim_call *call);
int sim_dm_query(const struct sim_call *call);
int sim_uar_alloc(const struct sim_call *call);
int sim_uar_destroy(const struct sim_call *call);
/* Maps a page of the device. Returns -errno as a pointer, for MAP_FAILED with errno set. */
void *sim_map(void *at, size_t len, int prot, uint64_t page);

#endif
