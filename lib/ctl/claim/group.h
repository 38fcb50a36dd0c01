/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of one endpoint as a group. */
#ifndef SL_CTL_GROUP_H
#define SL_CTL_GROUP_H

#include "ctl/device/device.h"

/* The claims of an endpoint, in any order, each with its narrowing. */
struct sl_members {
	uint32_t count;
	struct sl_claim target[SL_GROUP_TARGETS];
	struct sl_narrow narrow[SL_GROUP_TARGETS];
};

/* True: the narrowing is one that a claim can have; none is. */
bool sl_narrow_is_sound(const struct sl_narrow *n);
static inline bool sl_is_narrow(const struct sl_narrow *n)
{
	return n->mask.word;
}
static inline bool sl_narrow_is_same(const struct sl_narrow *a, const struct sl_narrow *b)
{
	return a->mask.word == b->mask.word && a->marks.word == b->marks.word;
}
int sl_group_make(struct sl_device *port, const struct sl_members *m, struct sl_claim *out);
void sl_group_drop(struct sl_device *port, uint32_t group);
int sl_group_get(struct sl_device *port, uint32_t group, struct sl_members *out);

#endif
