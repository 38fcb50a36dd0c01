/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and queue pairs: made, changed, asked, destroyed. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <string.h>

#include "sys.h"
#include "uverbs.h"

#define CQ_NUMBER 0x400
#define QP_NUMBER 0x1000
#define SQ_NUMBER 0x2000

/* The channel of this descriptor, which the program may have moved to another number; 0: none. */
static uint32_t channel_of(const struct sim_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = sim_attr(call, id);
	struct sim_obj *obj;
	uint64_t inode = attr ? sim_inode((int)attr->data_s64) : 0;
	uint32_t at = 0;

	while (inode && (obj = sim_obj_next(&at, SIM_CHANNEL))) {
		if (obj->channel.inode == inode)
			return at;
	}
	return 0;
}

int sim_cq_create(const struct sim_call *call)
{
	uint32_t want = (uint32_t)sim_attr_value(call, UVERBS_ATTR_CREATE_CQ_CQE), entries = 1, h;
	uint32_t channel = channel_of(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	struct mlx5_ib_create_cq_resp resp;
	struct mlx5_ib_create_cq in;

	sim_attr_get(call, UVERBS_ATTR_UHW_IN, &in, sizeof(in));
	if (!want || want > SIM_MAX_CQES || !in.buf_addr || !in.db_addr ||
	    (in.cqe_size != 64 && in.cqe_size != 128))
		return EINVAL;
	h = sim_obj_new(SIM_CQ, call->ctx_index);
	if (!h)
		return ENOMEM;
	while (entries < want + 1)
		entries <<= 1;
	sim_obj_get(h, SIM_CQ)->cq = (struct sim_cq){
		.buf = (void *)(uintptr_t)in.buf_addr,
		.db = (void *)(uintptr_t)in.db_addr,
		.entries = entries,
		.entry_bytes = in.cqe_size,
		.number = CQ_NUMBER + h,
		.real_time = in.flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS,
		.channel = channel,
		.armed = SIM_NEVER_ARMED,
		.user_handle = sim_attr_value(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE)};
	/* libmlx5's first doorbell has the value that the record begins with. */
	sim_obj_get(h, SIM_CQ)->cq.db[1] = SIM_NEVER_ARMED;
	if (channel)
		sim_obj_get(channel, SIM_CHANNEL)->refs++;
	entries--;
	resp = (struct mlx5_ib_create_cq_resp){.cqn = CQ_NUMBER + h};
	sim_attr_put(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &entries, sizeof(entries));
	sim_attr_put_handle(call, UVERBS_ATTR_CREATE_CQ_HANDLE, h);
	sim_attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	return 0;
}

int sim_cq_destroy(const struct sim_call *call)
{
	struct sim_obj *obj = sim_attr_obj(call, UVERBS_ATTR_DESTROY_CQ_HANDLE, SIM_CQ);
	struct ib_uverbs_destroy_cq_resp resp = {.comp_events_reported = obj ? obj->cq.events : 0};
	int err = obj ? sim_obj_free(sim_obj_handle(obj), SIM_CQ) : EINVAL;

	if (!err)
		sim_attr_put(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
	return err;
}

static bool may_send_raw(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	return !sim_config.deny_raw && !syscall(SYS_capget, &head, data) &&
	       (data[0].effective & 1u << CAP_NET_RAW);
}

static int qp_check(const struct sim_call *call, const struct mlx5_ib_create_qp *in,
		    const struct ib_uverbs_qp_cap *cap)
{
	if (!sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, SIM_PD) ||
	    !sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, SIM_CQ))
		return EINVAL;
	if (sim_attr_value(call, UVERBS_ATTR_CREATE_QP_TYPE) != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (!may_send_raw())
		return EPERM;
	if (in->sq_wqe_count & (in->sq_wqe_count - 1) || in->sq_wqe_count > SIM_MAX_SQ_WQES ||
	    cap->max_send_sge > 30 || !in->db_addr || (in->sq_wqe_count && !in->sq_buf_addr))
		return EINVAL;
	if (in->rq_wqe_count & (in->rq_wqe_count - 1) || in->rq_wqe_count > SIM_MAX_SQ_WQES ||
	    in->rq_wqe_shift > 9 || (in->rq_wqe_count && (!in->buf_addr || in->rq_wqe_shift < 4)))
		return EINVAL;
	if (in->rq_wqe_count && !sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, SIM_CQ))
		return EINVAL;
	return in->sq_wqe_count || in->rq_wqe_count ? 0 : EINVAL;
}

int sim_qp_create(const struct sim_call *call)
{
	struct sim_obj *pd = sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, SIM_PD);
	struct sim_obj *cq = sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, SIM_CQ);
	struct sim_obj *rcq = sim_attr_obj(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, SIM_CQ);
	uint64_t flags = sim_attr_value(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct mlx5_ib_create_qp_resp resp;
	struct ib_uverbs_qp_cap cap;
	struct mlx5_ib_create_qp in;
	struct sim_qp *qp;
	uint32_t h;
	int err;

	sim_attr_get(call, UVERBS_ATTR_UHW_IN, &in, sizeof(in));
	sim_attr_get(call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	if ((err = qp_check(call, &in, &cap)))
		return err;
	h = sim_obj_new(SIM_QP, call->ctx_index);
	if (!h)
		return ENOMEM;
	qp = &sim_obj_get(h, SIM_QP)->qp;
	*qp = (struct sim_qp){
		.sq = (void *)(uintptr_t)in.sq_buf_addr,
		.db = (void *)(uintptr_t)in.db_addr,
		.sq_wqes = in.sq_wqe_count,
		.number = QP_NUMBER + h,
		.uidx = in.uidx,
		.pd = sim_obj_handle(pd),
		.send_cq = sim_obj_handle(cq),
		.user_handle = sim_attr_value(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
		.state = IBV_QPS_RESET,
		.rate = -1,
		.uar = in.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX ? in.bfreg_index : SIM_MAX_UARS,
		.signal_all = flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL,
		.recv_cq = rcq ? sim_obj_handle(rcq) : 0,
		.rq = in.rq_wqe_count ? (void *)(uintptr_t)in.buf_addr : NULL,
		.rq_wqes = in.rq_wqe_count,
		.rq_bytes = 1u << in.rq_wqe_shift};
	memcpy(qp->caps, &cap, sizeof(qp->caps));
	sim_bell_begin(qp);
	pd->refs++;
	cq->refs++;
	if (rcq)
		rcq->refs++;
	resp = (struct mlx5_ib_create_qp_resp){.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_SQN |
							    MLX5_IB_CREATE_QP_RESP_MASK_TISN,
					       .sqn = SQ_NUMBER + h,
					       .tisn = h};
	sim_attr_put(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	sim_attr_put(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->number, sizeof(qp->number));
	sim_attr_put_handle(call, UVERBS_ATTR_CREATE_QP_HANDLE, h);
	sim_attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	return 0;
}

int sim_qp_destroy(const struct sim_call *call)
{
	uint32_t h = (uint32_t)sim_attr_value(call, UVERBS_ATTR_DESTROY_QP_HANDLE);
	struct sim_obj *obj = sim_obj_get(h, SIM_QP);
	struct ib_uverbs_destroy_qp_resp resp = {0};
	int err;

	if (obj && !obj->refs)
		sim_bell_end(&obj->qp);
	err = sim_obj_free(h, SIM_QP);

	if (!err)
		sim_attr_put(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	return err;
}

/* The kernel's table of state changes, as far as raw packets go: which attributes must, and which
 * may be given. 0 or EINVAL. */
static int check_change(const struct sim_qp *qp, int to, uint32_t mask)
{
	uint32_t must = 0, may = IBV_QP_STATE | IBV_QP_CUR_STATE;
	int from = qp->state;

	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		;
	else if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		must = IBV_QP_PORT;
	else if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		;
	else if ((from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD) &&
		 to == IBV_QPS_RTS)
		may |= IBV_QP_RATE_LIMIT;
	else
		return EINVAL;
	return (mask & must) != must || mask & ~(must | may) ? EINVAL : 0;
}

static int change(struct sim_qp *qp, const struct ib_uverbs_ex_modify_qp *in,
		  const struct mlx5_ib_modify_qp *mlx5, bool extended)
{
	uint32_t mask = in->base.attr_mask;
	int to = mask & IBV_QP_STATE ? in->base.qp_state : qp->state, err;

	if (mask & IBV_QP_CUR_STATE && in->base.cur_qp_state != qp->state)
		return EINVAL;
	if ((err = check_change(qp, to, mask)))
		return err;
	if (mask & IBV_QP_PORT && in->base.port_num != 1)
		return EINVAL;
	if (mask & IBV_QP_RATE_LIMIT) {
		err = extended ? sim_pace_set(qp, in->rate_limit, mlx5->burst_info.max_burst_sz,
					      mlx5->burst_info.typical_pkt_sz)
			       : EINVAL;
		if (err)
			return err;
	}
	if (mask & IBV_QP_PORT)
		qp->port = in->base.port_num;
	if (to == IBV_QPS_RESET && qp->state != IBV_QPS_RESET) {
		qp->consumed = qp->rq_consumed = 0;
		qp->last_bytes = 0;
		sim_pace_clear(qp);
	}
	qp->state = to;
	return 0;
}

int sim_modify_qp(const struct sim_call *call, bool extended)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {.response_length = sizeof(resp)};
	struct ib_uverbs_ex_modify_qp in;
	struct mlx5_ib_modify_qp mlx5;
	struct sim_obj *obj;
	int err;

	memset(&in, 0, sizeof(in));
	sim_attr_get(call, UVERBS_ATTR_CORE_IN, &in, extended ? sizeof(in) : sizeof(in.base));
	sim_attr_get(call, UVERBS_ATTR_UHW_IN, &mlx5, sizeof(mlx5));
	obj = sim_obj_get(in.base.qp_handle, SIM_QP);
	if (!obj)
		return EINVAL;
	err = change(&obj->qp, &in, &mlx5, extended);
	if (!err && extended)
		sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return err;
}

int sim_query_qp(const struct sim_call *call)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_query_qp in;
	const struct sim_qp *qp;
	struct sim_obj *obj;

	sim_attr_get(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	obj = sim_obj_get(in.qp_handle, SIM_QP);
	if (!obj)
		return EINVAL;
	qp = &obj->qp;
	resp = (struct ib_uverbs_query_qp_resp){.max_send_wr = qp->caps[0],
						.max_recv_wr = qp->caps[1],
						.max_recv_sge = qp->caps[3],
						.max_send_sge = qp->caps[2],
						.max_inline_data = qp->caps[4],
						.qp_state = (uint8_t)qp->state,
						.cur_qp_state = (uint8_t)qp->state,
						.port_num = (uint8_t)qp->port};
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}
