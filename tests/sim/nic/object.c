/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles by which the program names its protection domains, queues and registrations to the
 * kernel. */
#include <errno.h>
#include <string.h>

#include "nic.h"
#include "sys.h"

static struct sim_obj objs[SIM_MAX_OBJ];
static uint32_t beyond = 1; /* all that there ever were are below */

uint32_t sim_obj_new(enum sim_type type, int ctx)
{
	for (uint32_t h = 1; h < SIM_MAX_OBJ; h++) {
		if (objs[h].type != SIM_NONE)
			continue;
		objs[h] = (struct sim_obj){.type = type, .ctx = ctx};
		beyond = h < beyond ? beyond : h + 1;
		return h;
	}
	return 0;
}

struct sim_obj *sim_obj_get(uint32_t handle, enum sim_type type)
{
	return handle && handle < SIM_MAX_OBJ && objs[handle].type == type ? &objs[handle] : NULL;
}

uint32_t sim_obj_handle(const struct sim_obj *obj)
{
	return (uint32_t)(obj - objs);
}

struct sim_obj *sim_obj_next(uint32_t *at, enum sim_type type)
{
	while (++*at < beyond) {
		if (objs[*at].type == type)
			return &objs[*at];
	}
	return NULL;
}

static void unref(uint32_t handle, enum sim_type type)
{
	struct sim_obj *obj = sim_obj_get(handle, type);

	if (obj && obj->refs)
		obj->refs--;
}

/* Lets go of what the object holds. */
static void release(struct sim_obj *obj)
{
	switch (obj->type) {
	case SIM_QP:
		sim_pace_clear(&obj->qp);
		unref(obj->qp.pd, SIM_PD);
		unref(obj->qp.send_cq, SIM_CQ);
		unref(obj->qp.recv_cq, SIM_CQ);
		break;
	case SIM_MR:
		unref(obj->mr.pd, SIM_PD);
		if (obj->mr.dm)
			unref(obj->mr.dm, SIM_DM);
		break;
	case SIM_CQ:
		unref(obj->cq.channel, SIM_CHANNEL);
		break;
	case SIM_FLOW:
		unref(obj->flow.qp, SIM_QP);
		sim_nic.rules--;
		break;
	case SIM_CHANNEL:
		sim_fd_close(obj->channel.nic_fd);
		break;
	default:
		break;
	}
	obj->type = SIM_NONE;
}

int sim_obj_free(uint32_t handle, enum sim_type type)
{
	struct sim_obj *obj = sim_obj_get(handle, type);

	if (!obj)
		return EINVAL;
	if (obj->refs)
		return EBUSY;
	if (type == SIM_FLOW) {
		obj->flow.going = true;
		sim_steal();
		while (sim_arrive())
			; /* what has come before is the rule's */
	}
	release(obj);
	if (type == SIM_FLOW && !sim_nic.rules)
		sim_steal();
	return 0;
}

void sim_obj_free_all(int ctx)
{
	bool rules = false;

	/* Rules and queues first: the rest is what they refer to. */
	for (uint32_t h = 1; h < beyond; h++) {
		if (objs[h].type == SIM_FLOW && objs[h].ctx == ctx) {
			release(&objs[h]);
			rules = true;
		}
	}
	if (rules)
		sim_steal();
	for (uint32_t h = 1; h < beyond; h++) {
		if (objs[h].type == SIM_QP && objs[h].ctx == ctx)
			release(&objs[h]);
	}
	for (uint32_t h = 1; h < beyond; h++) {
		if (objs[h].type != SIM_NONE && objs[h].ctx == ctx)
			release(&objs[h]);
	}
}
