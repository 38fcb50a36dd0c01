/* SPDX-License-Identifier: BSD-2-Clause */
/* The uverbs ioctl: reads and writes attributes, finds the method. */
#include "uverbs.h"

#include <errno.h>
#include <string.h>

struct ib_uverbs_attr *sim_attr(const struct sim_call *call, uint16_t id)
{
	for (int i = 0; i < call->hdr->num_attrs; i++) {
		if (call->hdr->attrs[i].attr_id == id)
			return &call->hdr->attrs[i];
	}
	return NULL;
}

/* Inputs of up to eight bytes stand in the attribute itself. */
void sim_attr_get(const struct sim_call *call, uint16_t id, void *to, size_t size)
{
	const struct ib_uverbs_attr *attr = sim_attr(call, id);
	const void *from;

	memset(to, 0, size);
	if (!attr)
		return;
	from = attr->len <= sizeof(attr->data) ? (const void *)&attr->data
					       : (const void *)(uintptr_t)attr->data;
	memcpy(to, from, attr->len < size ? attr->len : size);
}

uint64_t sim_attr_value(const struct sim_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = sim_attr(call, id);
	uint64_t value = 0;

	if (attr && !attr->len) /* a handle */
		return attr->data;
	sim_attr_get(call, id, &value, sizeof(value));
	return value;
}

void sim_attr_put(const struct sim_call *call, uint16_t id, const void *from, size_t size)
{
	struct ib_uverbs_attr *attr = sim_attr(call, id);
	void *to;

	if (!attr)
		return;
	to = (void *)(uintptr_t)attr->data;
	memset(to, 0, attr->len);
	memcpy(to, from, size < attr->len ? size : attr->len);
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

void sim_attr_put_handle(const struct sim_call *call, uint16_t id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = sim_attr(call, id);

	if (attr)
		attr->data = handle;
}

struct sim_obj *sim_attr_obj(const struct sim_call *call, uint16_t id, enum sim_type type)
{
	return sim_obj_get((uint32_t)sim_attr_value(call, id), type);
}

static int pd_destroy(const struct sim_call *call)
{
	return sim_obj_free((uint32_t)sim_attr_value(call, UVERBS_ATTR_DESTROY_PD_HANDLE), SIM_PD);
}

static int pd_query(const struct sim_call *call)
{
	struct sim_obj *pd = sim_attr_obj(call, MLX5_IB_ATTR_QUERY_PD_HANDLE, SIM_PD);
	uint32_t number;

	if (!pd)
		return EINVAL;
	number = sim_obj_handle(pd);
	sim_attr_put(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &number, sizeof(number));
	return 0;
}

static const struct {
	uint16_t object, method;
	sim_method_fn run;
} methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, sim_invoke_write},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, sim_get_context},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, sim_query_context},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, sim_query_port},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, sim_query_gid_table},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, sim_query_gid_entry},
	{UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, sim_async_event_alloc},
	{UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, pd_destroy},
	{UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, pd_query},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, sim_cq_create},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, sim_cq_destroy},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, sim_qp_create},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, sim_qp_destroy},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, sim_mr_destroy},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, sim_mr_query},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, sim_dm_mr_reg},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, sim_dm_create},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, sim_dm_destroy},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, sim_dm_query},
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, sim_uar_alloc},
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, sim_uar_destroy},
};

static int run(const struct sim_call *call)
{
	if (sim_nic.fatal || call->ctx->dead)
		return EIO;
	if (sim_nic.fail_call && !--sim_nic.fail_call)
		return sim_nic.fail_errno;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (methods[i].object == call->hdr->object_id &&
		    methods[i].method == call->hdr->method_id)
			return methods[i].run(call);
	}
	/* Calls that libmlx5 tries first and can do without. */
	if (call->hdr->object_id == MLX5_IB_OBJECT_DEVX ||
	    call->hdr->object_id == UVERBS_OBJECT_DEVICE)
		return EOPNOTSUPP;
	return EPROTONOSUPPORT;
}

int sim_uverbs(struct sim_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct sim_call call = {.hdr = hdr, .ctx = ctx, .ctx_index = (int)(ctx - sim_ctx)};
	int err = run(&call);

	sim_debug("object %#x method %#x: %s", hdr->object_id, hdr->method_id,
		  err ? strerror(err) : "done");
	return err;
}
