/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that were write(2)s once, wrapped in an ioctl. */
#include <errno.h>
#include <sys/socket.h>

#include "sys.h"
#include "uverbs.h"

#define EXTENDED(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##cmd)

static int alloc_pd(const struct sim_call *call)
{
	uint32_t h = sim_obj_new(SIM_PD, call->ctx_index);
	struct ib_uverbs_alloc_pd_resp resp = {.pd_handle = h};
	struct mlx5_ib_alloc_pd_resp mlx5 = {.pdn = h};

	if (!h)
		return ENOMEM;
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	sim_attr_put(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	return 0;
}

/* Frees the channels whose descriptors the program has all closed. */
static void sim_channels_sweep(void)
{
	struct sim_obj *obj;
	uint32_t at = 0;

	while ((obj = sim_obj_next(&at, SIM_CHANNEL))) {
		struct pollfd end = {.fd = obj->channel.nic_fd};

		if (syscall(SYS_poll, &end, 1L, 0L) > 0 && end.revents & POLLHUP)
			sim_obj_free(at, SIM_CHANNEL);
	}
}

static int create_comp_channel(const struct sim_call *call)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct sim_obj *obj;
	uint32_t h;
	int fds[2];

	if (sim_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return errno;
	sim_channels_sweep();
	h = sim_obj_new(SIM_CHANNEL, call->ctx_index);
	if (!h) {
		sim_close(fds[0]);
		sim_close(fds[1]);
		return ENOMEM;
	}
	obj = sim_obj_get(h, SIM_CHANNEL);
	obj->channel =
		(struct sim_channel){.inode = sim_inode(fds[0]), .nic_fd = sim_fd_keep(fds[1])};
	resp.fd = (uint32_t)fds[0];
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int sim_invoke_write(const struct sim_call *call)
{
	/* libibverbs' question whether the ioctl knows these commands at all. */
	if (!sim_attr(call, UVERBS_ATTR_CORE_IN) && !sim_attr(call, UVERBS_ATTR_CORE_OUT))
		return ENOSPC;
	switch (sim_attr_value(call, UVERBS_ATTR_WRITE_CMD)) {
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return alloc_pd(call);
	case IB_USER_VERBS_CMD_REG_MR:
		return sim_reg_mr(call);
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		return create_comp_channel(call);
	case IB_USER_VERBS_CMD_MODIFY_QP:
		return sim_modify_qp(call, false);
	case EXTENDED(MODIFY_QP):
		return sim_modify_qp(call, true);
	case IB_USER_VERBS_CMD_QUERY_QP:
		return sim_query_qp(call);
	case EXTENDED(CREATE_FLOW):
		return sim_create_flow(call);
	case EXTENDED(DESTROY_FLOW):
		return sim_destroy_flow(call);
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
	case EXTENDED(QUERY_DEVICE):
		return sim_query_device(call);
	}
	return EOPNOTSUPP;
}
