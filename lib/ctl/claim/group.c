/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: several sockets share an endpoint (SO_REUSEPORT). A change makes a new group and swings
 * the endpoint over to it, since packets are being steered meanwhile; the old number is used
 * again last. */
#include "ctl/claim/group.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "ctl/device/device.h"

/* Targets that are away come last. */
static void fill(struct sl_group *g, const struct sl_claim *target, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!(target[i].flags & SL_CLAIM_AWAY))
			g->target[g->open++] = target[i];
	g->count = g->open;
	for (uint32_t i = 0; i < count; i++)
		if (target[i].flags & SL_CLAIM_AWAY)
			g->target[g->count++] = target[i];
}

int sl_group_make(struct sl_device *port, const struct sl_claim *target, uint32_t count,
		  struct sl_claim *out)
{
	struct sl_group group = {0};
	uint32_t index;

	if (count > SL_GROUP_TARGETS || !port->group_nfree)
		return -ENOSPC;
	index = port->group_free[port->group_head];
	fill(&group, target, count);
	if (bpf_map_update_elem(port->attach.map_fd[SL_MAP_GROUPS], &index, &group, 0))
		return -errno;
	port->group_head = (port->group_head + 1) % SL_MAX_GROUPS;
	port->group_nfree--;
	*out = (struct sl_claim){.slot = index, .flags = SL_CLAIM_GROUP, .pid = target[0].pid};
	return 0;
}

void sl_group_drop(struct sl_device *port, uint32_t group)
{
	port->group_free[(port->group_head + port->group_nfree) % SL_MAX_GROUPS] = (uint16_t)group;
	port->group_nfree++;
}

int sl_group_get(struct sl_device *port, uint32_t group, struct sl_group *out)
{
	if (bpf_map_lookup_elem(port->attach.map_fd[SL_MAP_GROUPS], &group, out))
		return -errno;
	return out->count <= SL_GROUP_TARGETS ? 0 : -EINVAL;
}
