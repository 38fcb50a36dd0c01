/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules made and destroyed. */
#include <errno.h>
#include <string.h>

#include "sys.h"
#include "uverbs.h"

#define MOST_BYTES 1024u

static bool is_there(const struct sim_flow *f)
{
	struct sim_obj *obj;
	uint32_t at = 0;

	while ((obj = sim_obj_next(&at, SIM_FLOW))) {
		const struct sim_flow *o = &obj->flow;

		/* (Queues share a rule of the same tag, or of none.) */
		if (o->priority == f->priority && o->nwords == f->nwords && o->vid == f->vid &&
		    o->vid_mask == f->vid_mask &&
		    !memcmp(o->word, f->word, f->nwords * sizeof(f->word[0])) &&
		    (o->tag != f->tag || o->qp == f->qp))
			return true;
	}
	return false;
}

int sim_create_flow(const struct sim_call *call)
{
	const struct ib_uverbs_attr *attr = sim_attr(call, UVERBS_ATTR_CORE_IN);
	union {
		struct ib_uverbs_create_flow in;
		uint8_t bytes[MOST_BYTES];
	} u;
	struct ib_uverbs_create_flow_resp resp = {0};
	struct sim_flow f = {0};
	struct sim_obj *qp;
	uint32_t h;
	int err;

	sim_attr_get(call, UVERBS_ATTR_CORE_IN, &u, sizeof(u));
	if (!attr || attr->len < sizeof(u.in) || attr->len > sizeof(u))
		return EINVAL;
	qp = sim_obj_get(u.in.qp_handle, SIM_QP);
	if (!qp || !qp->qp.rq)
		return EINVAL;
	f.qp = u.in.qp_handle;
	err = sim_flow_parse(&f, &u.in, attr->len);
	if (!err && is_there(&f))
		err = EEXIST;
	if (!err && sim_nic.rules >= sim_nic.flows_usable)
		err = ENOSPC;
	if (!err)
		err = sim_arrive_open();
	if (err)
		return err;
	h = sim_obj_new(SIM_FLOW, call->ctx_index);
	if (!h)
		return ENOMEM;
	/* A frame that came before is the kernel's, and not the queue's as well. */
	f.since_ns = UINT64_MAX;
	sim_obj_get(h, SIM_FLOW)->flow = f;
	qp->refs++;
	sim_nic.rules++;
	err = sim_steal();
	if (err) {
		sim_obj_free(h, SIM_FLOW);
		return err;
	}
	sim_obj_get(h, SIM_FLOW)->flow.coming = true;
	resp.flow_handle = h;
	sim_attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int sim_destroy_flow(const struct sim_call *call)
{
	struct ib_uverbs_destroy_flow in;

	sim_attr_get(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	return sim_obj_free(in.flow_handle, SIM_FLOW);
}
