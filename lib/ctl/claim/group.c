/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: several sockets share an endpoint (SO_REUSEPORT). A change makes a new group and swings
 * the endpoint over to it, since packets are being steered meanwhile; the old number is used
 * again last. */
#include "ctl/claim/group.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "ctl/device/device.h"
#include "ctl/kern/libbpf.h"
#include "ctl/steer/renew.h"

bool sl_narrow_is_sound(const struct sl_narrow *n)
{
	const struct sl_marks *is = &n->marks, *mask = &n->mask;

	return !(is->word & ~mask->word) && !mask->unused && !is->v4 &&
	       (mask->dscp == 0 || mask->dscp == 0x3f) && mask->v4 == (mask->label != 0);
}

static bool is_narrowed(const struct sl_members *m, uint32_t i)
{
	return sl_is_narrow(&m->narrow[i]) && !(m->target[i].flags & SL_CLAIM_AWAY);
}

/* True: a comes before b. Those with as many bits have an order of their own, so that equal ones
 * come together. */
static bool comes_before(const struct sl_narrow *a, const struct sl_narrow *b)
{
	int bits = __builtin_popcount(a->mask.word) - __builtin_popcount(b->mask.word);

	if (bits)
		return bits > 0;
	return a->mask.word != b->mask.word ? a->mask.word > b->mask.word
					    : a->marks.word > b->marks.word;
}

/* Puts the target in its place among the narrowed ones, behind those narrowed alike. */
static void insert(struct sl_group *g, const struct sl_claim *target,
		   const struct sl_narrow *narrow)
{
	struct sl_claim *first = &g->target[g->count - g->narrowed];
	uint32_t at = g->narrowed;

	for (; at > 0; at--) {
		struct sl_narrowed *n = &g->narrow[at - 1];

		if (!comes_before(narrow, &(struct sl_narrow){n->marks, n->mask}))
			break;
		*(n + 1) = *n;
		first[at] = first[at - 1];
	}
	first[at] = *target;
	g->narrow[at] = (struct sl_narrowed){narrow->marks, narrow->mask, 1};
	g->narrowed++;
	g->count++;
}

static void count_alike(struct sl_group *g)
{
	for (uint32_t i = g->narrowed; i-- > 1;) {
		struct sl_narrowed *a = &g->narrow[i - 1], *b = &g->narrow[i];

		if (a->mask.word == b->mask.word && a->marks.word == b->marks.word)
			a->alike = b->alike + 1;
	}
}

/* Open targets come first, then those that are away, then narrowed ones. */
static int fill(struct sl_group *g, const struct sl_members *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (!(m->target[i].flags & SL_CLAIM_AWAY) && !is_narrowed(m, i))
			g->target[g->open++] = m->target[i];
	g->count = g->open;
	for (uint32_t i = 0; i < m->count; i++)
		if (m->target[i].flags & SL_CLAIM_AWAY)
			g->target[g->count++] = m->target[i];
	for (uint32_t i = 0; i < m->count; i++) {
		if (!is_narrowed(m, i))
			continue;
		if (g->narrowed == SL_GROUP_NARROWED)
			return -ENOSPC;
		insert(g, &m->target[i], &m->narrow[i]);
	}
	count_alike(g);
	return 0;
}

int sl_group_make(struct sl_device *port, const struct sl_members *m, struct sl_claim *out)
{
	struct sl_group group = {0};
	const char *why = NULL;
	uint32_t index;
	int err = sl_attach_add_groups(&port->attach, &port->info, &why);

	if (err) {
		sl_warn_once("port", "%s: %s", port->info.ifname, why);
		return err;
	}
	if (m->count > SL_GROUP_TARGETS || !port->group_nfree || fill(&group, m))
		return -ENOSPC;
	index = port->group_free[port->group_head];
	if (bpf_map_update_elem(port->attach.map_fd[SL_MAP_GROUPS], &index, &group, 0))
		return -errno;
	port->group_head = (port->group_head + 1) % SL_MAX_GROUPS;
	port->group_nfree--;
	*out = (struct sl_claim){.slot = index, .flags = SL_CLAIM_GROUP, .pid = m->target[0].pid};
	return 0;
}

void sl_group_drop(struct sl_device *port, uint32_t group)
{
	port->group_free[(port->group_head + port->group_nfree) % SL_MAX_GROUPS] = (uint16_t)group;
	port->group_nfree++;
}

int sl_group_get(struct sl_device *port, uint32_t group, struct sl_members *out)
{
	struct sl_group g;
	uint32_t first;

	if (bpf_map_lookup_elem(port->attach.map_fd[SL_MAP_GROUPS], &group, &g))
		return -errno;
	if (g.count > SL_GROUP_TARGETS || g.narrowed > sl_min(g.count, (uint32_t)SL_GROUP_NARROWED))
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	out->count = g.count;
	memcpy(out->target, g.target, sizeof(out->target));
	first = g.count - g.narrowed;
	for (uint32_t i = 0; i < g.narrowed; i++)
		out->narrow[first + i] = (struct sl_narrow){g.narrow[i].marks, g.narrow[i].mask};
	return 0;
}
