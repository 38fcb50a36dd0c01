/* SPDX-License-Identifier: BSD-2-Clause */
/* The abilities of a NIC's RDMA device, for `sluice doctor`. */
#include "io/verbs.h"

#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io/verbs_lib.h"

static struct ibv_context *open_named(const struct sl_verbs_lib *lib, const char *name)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int n;

	list = lib->get_device_list(&n);
	for (int i = 0; list && i < n && !ctx; i++)
		if (strcmp(lib->get_device_name(list[i]), name) == 0)
			ctx = lib->open_device(list[i]);
	lib->free_device_list(list);
	return ctx;
}

/* Makes a queue pair to see whether it works; nothing is sent by it. */
static struct ibv_qp *make_qp(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq,
			      uint32_t inline_bytes, struct sl_verbs_caps *out)
{
	struct verbs_context *ops = verbs_get_ctx_op(ctx, create_qp_ex);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = pd,
		.cap = {.max_send_wr = 16, .max_send_sge = 1, .max_inline_data = inline_bytes},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ops ? ops->create_qp_ex(ctx, &attr) : NULL;

	out->inline_bytes = qp ? attr.cap.max_inline_data : 0;
	out->raw_error = qp ? 0 : ops ? errno : EOPNOTSUPP;
	return qp;
}

static void try_raw(const struct sl_verbs_lib *lib, struct ibv_context *ctx, uint32_t inline_bytes,
		    struct sl_verbs_caps *out)
{
	struct verbs_context *ops = verbs_get_ctx_op(ctx, create_cq_ex);
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct ibv_pd *pd = lib->alloc_pd(ctx);
	struct ibv_cq_ex *cq = pd && ops ? ops->create_cq_ex(ctx, &attr) : NULL;
	struct ibv_qp *qp;

	out->raw_error = errno;
	qp = cq ? make_qp(ctx, pd, ibv_cq_ex_to_cq(cq), inline_bytes, out) : NULL;
	if (qp)
		lib->destroy_qp(qp);
	if (cq)
		lib->destroy_cq(ibv_cq_ex_to_cq(cq));
	if (pd)
		lib->dealloc_pd(pd);
}

static bool for_raw(uint32_t types)
{
	return types & 1u << IBV_QPT_RAW_PACKET;
}

static int query_caps(struct ibv_context *ctx, struct sl_verbs_caps *out)
{
	struct verbs_context *ops = verbs_get_ctx_op(ctx, query_device_ex);
	struct ibv_device_attr_ex attr = {0};
	int err = ops ? ops->query_device_ex(ctx, NULL, &attr, sizeof(attr)) : EOPNOTSUPP;

	if (err)
		return err < 0 ? err : -err;
	snprintf(out->firmware, sizeof(out->firmware), "%s", attr.orig_attr.fw_ver);
	out->checksums = attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM;
	if (for_raw(attr.tso_caps.supported_qpts))
		out->tso_bytes = attr.tso_caps.max_tso;
	if (for_raw(attr.packet_pacing_caps.supported_qpts)) {
		out->pace_min_kbps = attr.packet_pacing_caps.qp_rate_limit_min;
		out->pace_max_kbps = attr.packet_pacing_caps.qp_rate_limit_max;
	}
	out->memory_bytes = attr.max_dm_size;
	out->clock_khz = attr.completion_timestamp_mask ? attr.hca_core_clock : 0;
	return 0;
}

int sl_verbs_caps(uint32_t ifindex, const char *ifname, uint32_t inline_bytes,
		  struct sl_verbs_caps *out)
{
	const struct sl_verbs_lib *lib;
	struct ibv_context *ctx;
	int err;

	*out = (struct sl_verbs_caps){0};
	if (!sl_verbs_name_of(ifindex, ifname, out->device, sizeof(out->device)))
		return -ENODEV;
	lib = sl_verbs_lib();
	if (!lib)
		return -ELIBACC;
	ctx = open_named(lib, out->device);
	if (!ctx)
		return errno ? -errno : -EIO;
	err = query_caps(ctx, out);
	if (!err)
		try_raw(lib, ctx, inline_bytes, out);
	lib->close_device(ctx);
	return err;
}
#else
#include <errno.h>

int sl_verbs_caps(uint32_t ifindex, const char *ifname, uint32_t inline_bytes,
		  struct sl_verbs_caps *out)
{
	return -ENODEV;
}
#endif
