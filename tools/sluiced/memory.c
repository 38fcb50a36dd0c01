/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups and their packet memory.
 *
 * Theory of operation: a group's memory comes into being with its first member and goes with its
 * last. A queue has one packet memory, so a device, or each part of one that is divided
 * (ctl/device/part.c), belongs to the group that opened it first, until the last process of that
 * group leaves it. The file join.c admits processes to groups. */
#include "memory.h"

#include <string.h>

#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/umem/umem.h"
#include "grant.h"
#include "keep.h"
#include "session.h"
#include "sluiced.h"

struct sl_memory *sl_memory_by_umem(uint32_t umem)
{
	for (struct sl_memory *m = sluiced.memory; m < sluiced.memory + SL_MEMORIES_MAX; m++)
		if (m->users && m->umem == umem)
			return m;
	return NULL;
}

void sl_memory_get(struct sl_memory *m)
{
	m->users++;
	sluiced.memory_users++;
}

void sl_memory_put(struct sl_memory *m)
{
	sluiced.memory_users--;
	if (--m->users)
		return;
	sl_umem_drop(m->umem);
	sl_keep_umem(m->umem);
}

bool sl_memory_has_part(const struct sl_device *d, const char *group)
{
	for (const struct sl_part *p = d->part; p < d->part + d->nparts; p++) {
		const struct sl_memory *m = p->taken ? sl_memory_by_umem(p->umem_id) : NULL;

		if (m && !strcmp(m->group, group))
			return true;
	}
	return false;
}

/* Frames in the rings of a closed device are lost, so the memory ends with its last session, and
 * the next session gets new memory. */
void sl_umem_put(struct sl_session *s)
{
	if (!s->share)
		return;
	s->share = 0;
	sl_memory_put(s->memory);
	s->memory = NULL;
}

/* Only the last use by a group changes the record of the device for the next daemon. */
void sl_port_release(uint32_t ifindex, uint32_t umem)
{
	struct sl_device *d;

	/* Programs leave a device soon after it has lost its steering: the reason must be told. */
	sl_device_check(ifindex);
	sl_embedded_port_close(ifindex, umem);
	d = sl_device_find(ifindex);
	if (!d || !sl_part_of(d, umem))
		sl_keep_device(ifindex);
}
