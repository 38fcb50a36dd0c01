/* SPDX-License-Identifier: BSD-2-Clause */
/* Has the NIC hold a queue pair to a rate (rdma-core: libibverbs/man/ibv_modify_qp_rate_limit.3),
 * and tells how many of its packets have left. */
#include "io/verbs.h"

#include <errno.h>

#if __has_include(<infiniband/verbs.h>)
#include "io/verbs_int.h"

#define FRAME_MOST 9216u /* bytes */

/* The rate in kbit/s, the NIC's unit. 0: no whole number of kbit/s is within 0.5 % of it. */
static uint32_t kbps_of(uint64_t bytes_s)
{
	uint64_t kbps = (bytes_s + 62) / 125, off;

	off = kbps * 125 > bytes_s ? kbps * 125 - bytes_s : bytes_s - kbps * 125;
	return kbps > UINT32_MAX || off * 200 > bytes_s ? 0 : (uint32_t)kbps;
}

/* Sets how long sl_verbs_check() waits for a completion: one in `every` packets has one. */
static void set_patience(struct sl_verbs_tx *v, uint32_t kbps)
{
	v->ends = true;
	v->patience_ns = SL_VERBS_PATIENCE_NS;
	if (kbps)
		v->patience_ns += 2ull * v->every * FRAME_MOST * 8 * 1000000 / kbps;
}

int sl_verbs_may_pace(const struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	const struct sl_verbs_dev *dev = sl_container_of_const(tx, struct sl_verbs_tx, tx)->dev;
	uint32_t kbps = kbps_of(ask->bytes_s);

	if (!dev->pace_max_kbps)
		return -EOPNOTSUPP;
	if (!kbps)
		return -ERANGE;
	return kbps < dev->pace_min_kbps || kbps > dev->pace_max_kbps ? -EINVAL : 0;
}

int sl_verbs_set_rate(struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	struct sl_verbs_tx *v = sl_verbs_of(tx);
	struct verbs_context *ops = verbs_get_ctx_op(v->dev->ctx, modify_qp_rate_limit);
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = kbps_of(ask->bytes_s),
		.max_burst_sz = ask->burst_bytes,
		.typical_pkt_sz = ask->packet_bytes,
	};
	int err;

	if (!ops)
		return -EOPNOTSUPP;
	if (ask->bytes_s && !attr.rate_limit)
		return -ERANGE;
	err = ops->modify_qp_rate_limit(v->qp, &attr);
	if (err == EINVAL && (ask->burst_bytes || ask->packet_bytes)) {
		attr.max_burst_sz = 0; /* some devices know no bursts */
		attr.typical_pkt_sz = 0;
		err = ops->modify_qp_rate_limit(v->qp, &attr);
	}
	if (!err)
		set_patience(v, attr.rate_limit);
	return -err;
}

bool sl_verbs_is_idle(const struct sl_tx *tx)
{
	const struct sl_verbs_tx *v = sl_container_of_const(tx, struct sl_verbs_tx, tx);

	return v->head == v->tail;
}

uint32_t sl_verbs_posted(const struct sl_tx *tx)
{
	return sl_container_of_const(tx, struct sl_verbs_tx, tx)->head;
}

uint32_t sl_verbs_done(const struct sl_tx *tx)
{
	return sl_container_of_const(tx, struct sl_verbs_tx, tx)->tail;
}

bool sl_verbs_has_done(const struct sl_tx *tx, uint32_t posted)
{
	return (int32_t)(sl_verbs_done(tx) - posted) >= 0;
}
#else
int sl_verbs_may_pace(const struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	return -EOPNOTSUPP;
}

int sl_verbs_set_rate(struct sl_tx *tx, const struct sl_pace_ask *ask)
{
	return -EOPNOTSUPP; /* built without libibverbs: there is no queue */
}

bool sl_verbs_is_idle(const struct sl_tx *tx)
{
	return true;
}

uint32_t sl_verbs_posted(const struct sl_tx *tx)
{
	return 0;
}

uint32_t sl_verbs_done(const struct sl_tx *tx)
{
	return 0;
}

bool sl_verbs_has_done(const struct sl_tx *tx, uint32_t posted)
{
	return true;
}
#endif
