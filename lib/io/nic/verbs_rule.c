/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of a receive queue, and whose packets they bring.
 *
 * Theory of operation: each rule has a tag, which the NIC writes into the completion of a packet
 * that the rule has brought: the number of its target. Rules for multicast groups have none, since
 * the NIC gives a group's packets to several queues (of other processes, too) only if their rules
 * are alike; their targets are found by address and port. A completion may come after its rule has
 * gone: the place of a target is used again last, and the packet's port is compared with it. */
#if __has_include(<infiniband/verbs.h>)
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "base/lock.h"
#include "io/nic/verbs_rx_int.h"

static bool is_multicast(const uint8_t a[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a, mapped, sizeof(mapped)) ? a[0] == 0xff : a[12] >> 4 == 14;
}

static uint32_t chain_of(const uint8_t addr[16], uint16_t port)
{
	uint32_t low;

	memcpy(&low, addr + 12, sizeof(low));
	return (uint32_t)(sl_mix(low, port) & (SL_VERBS_GROUPS - 1));
}

const struct sl_verbs_target *sl_verbs_group_find(const struct sl_verbs_rx *v,
						  const uint8_t addr[16], uint16_t port,
						  uint16_t vlan)
{
	uint32_t tag = sl_load_acquire(&v->group[chain_of(addr, port)]);
	const struct sl_verbs_target *t;

	for (; tag; tag = sl_load_acquire(&t->next)) {
		t = sl_verbs_target(v, tag);
		if (sl_load(&t->port) == port && t->vlan == vlan && !memcmp(t->addr, addr, 16))
			return t;
	}
	return NULL;
}

/* A place for a target, the one that has been free for longest. 0: none. */
static uint32_t take_place(struct sl_verbs_rx *v)
{
	uint32_t tag = v->free_first, chunk = v->ntargets / SL_VERBS_CHUNK;

	if (tag) {
		v->free_first = sl_verbs_target(v, tag)->next;
		if (!v->free_first)
			v->free_last = 0;
		return tag;
	}
	if (chunk == SL_VERBS_CHUNKS)
		return 0;
	if (!v->chunk[chunk]) {
		void *p = sl_calloc(SL_VERBS_CHUNK, sizeof(struct sl_verbs_target));

		if (!p)
			return 0;
		sl_store_release(&v->chunk[chunk], p);
	}
	tag = v->ntargets;
	sl_store_release(&v->ntargets, tag + 1);
	return tag;
}

static void free_place(struct sl_verbs_rx *v, uint32_t tag)
{
	struct sl_verbs_target *t = sl_verbs_target(v, tag);

	sl_store(&t->port, 0);
	t->next = 0;
	if (v->free_last)
		sl_verbs_target(v, v->free_last)->next = tag;
	else
		v->free_first = tag;
	v->free_last = tag;
}

static void link_group(struct sl_verbs_rx *v, uint32_t tag)
{
	struct sl_verbs_target *t = sl_verbs_target(v, tag);
	uint32_t *first = &v->group[chain_of(t->addr, t->port)];

	t->next = *first;
	sl_store_release(first, tag);
}

static void unlink_group(struct sl_verbs_rx *v, uint32_t tag)
{
	const struct sl_verbs_target *t = sl_verbs_target(v, tag);
	uint32_t *at = &v->group[chain_of(t->addr, t->port)];

	while (*at && *at != tag)
		at = &sl_verbs_target(v, *at)->next;
	if (*at)
		sl_store_release(at, t->next);
}

static void end_flows(struct sl_verbs_target *t)
{
	for (unsigned i = 0; i < SL_VERBS_FLOWS; i++)
		if (t->flow[i])
			ibv_destroy_flow(t->flow[i]);
	memset(t->flow, 0, sizeof(t->flow));
}

/* The steps of sl_verbs_rule_add(): 1 if no packet can fit. */
static int make_flows(struct sl_verbs_rx *v, const struct sl_verbs_rule *r, uint32_t tag,
		      struct sl_verbs_target *t)
{
	struct sl_verbs_flow f;

	for (unsigned i = 0; i < (t->tunnel ? 2u : 1u); i++) {
		if (!sl_verbs_flow_build(&f, r, tag, i == 1))
			return 1;
		t->flow[i] = ibv_create_flow(v->qp, &f.attr);
		if (!t->flow[i]) {
			int err = -errno;

			end_flows(t);
			return err ? err : -EINVAL;
		}
	}
	return 0;
}

/* Makes the claims the target's. A packet that is looked at meanwhile may find one's slot with
 * another's generation, and is dropped. Blocks that became too small stay until the queue closes:
 * with each the next one's size doubles. */
static int fill(struct sl_verbs_rx *v, struct sl_verbs_target *t, const struct sl_claim *c,
		uint32_t n)
{
	if (n > t->room) {
		uint32_t room = t->room ? t->room : 1;
		struct sl_verbs_block *b;

		while (room < n)
			room *= 2;
		b = sl_calloc(1, sizeof(*b) + room * sizeof(b->member[0]));
		if (!b)
			return -ENOMEM;
		for (uint32_t i = 0; i < t->n; i++)
			b->member[i] = t->member[i];
		b->next = v->blocks;
		v->blocks = b;
		t->room = room;
		sl_store_release(&t->member, b->member);
	}
	for (uint32_t i = 0; i < n; i++) {
		sl_store(&t->member[i].slot, c[i].slot);
		sl_store(&t->member[i].flags, c[i].flags);
		sl_store_release(&t->member[i].gen, c[i].gen);
	}
	sl_store_release(&t->n, n);
	return 0;
}

static int add(struct sl_verbs_rx *v, const struct sl_verbs_rule *r, uint64_t *id)
{
	bool group = is_multicast(r->key.local);
	uint32_t tag = take_place(v);
	struct sl_verbs_target *t;
	int err;

	if (!tag)
		return -ENOSPC;
	t = sl_verbs_target(v, tag);
	memcpy(t->addr, r->key.local, 16);
	t->proto = r->key.proto;
	t->tunnel = r->key.vlan & SL_VXLAN_TAG_BIT;
	t->vlan = t->tunnel ? 0 : (uint16_t)r->key.vlan;
	err = fill(v, t, r->claim, r->n);
	if (!err) { /* (a packet may find it now: it has its claims) */
		sl_store_release(&t->port, r->key.local_port);
		if (group)
			link_group(v, tag);
		err = make_flows(v, r, group ? 0 : tag, t);
		if (err && group)
			unlink_group(v, tag);
	}
	if (err)
		free_place(v, tag);
	*id = err ? 0 : (uint64_t)v->serial << 32 | tag;
	return sl_min(err, 0);
}

static const char *why_of(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return "no right to rules of the NIC (CAP_NET_RAW)";
	case -ENOSPC:
	case -ENOMEM:
		return "the NIC has no room for more rules";
	case -EEXIST:
		return "the NIC has another rule for these packets";
	case -EOPNOTSUPP:
	case -EINVAL:
		return "the NIC does not know such a rule";
	case -ENODEV:
		return "the receive queue is closed";
	}
	return "the NIC refuses the rule";
}

int sl_verbs_rule_add(struct sl_xsk *x, const struct sl_verbs_rule *r, uint64_t *id,
		      const char **why)
{
	int err = -ENODEV;

	*id = 0;
	if (!sl_lock(&x->verbs_lock))
		return -EDEADLK;
	if (x->verbs)
		err = add(x->verbs, r, id);
	sl_unlock(&x->verbs_lock);
	if (err)
		*why = why_of(err);
	return err;
}

/* The target, if the queue is the one that it was in. Locked. */
static struct sl_verbs_target *target_of(const struct sl_xsk *x, uint64_t id)
{
	return x->verbs && id >> 32 == x->verbs->serial ? sl_verbs_target(x->verbs, (uint32_t)id)
							: NULL;
}

int sl_verbs_rule_move(struct sl_xsk *x, uint64_t id, const struct sl_claim *claim, uint32_t n)
{
	struct sl_verbs_target *t;
	int err = 0;

	if (!id || !sl_lock(&x->verbs_lock))
		return 0;
	t = target_of(x, id);
	if (t)
		err = fill(x->verbs, t, claim, n);
	sl_unlock(&x->verbs_lock);
	return err;
}

void sl_verbs_rule_del(struct sl_xsk *x, uint64_t id)
{
	struct sl_verbs_target *t;

	if (!id || !sl_lock(&x->verbs_lock))
		return;
	t = target_of(x, id);
	if (t) {
		end_flows(t);
		if (is_multicast(t->addr))
			unlink_group(x->verbs, (uint32_t)id);
		free_place(x->verbs, (uint32_t)id);
	}
	sl_unlock(&x->verbs_lock);
}

void sl_verbs_rules_end(struct sl_verbs_rx *v)
{
	for (uint32_t tag = 1; tag < v->ntargets; tag++)
		end_flows(sl_verbs_target(v, tag));
}

void sl_verbs_rules_free(struct sl_verbs_rx *v)
{
	while (v->blocks) {
		struct sl_verbs_block *b = v->blocks;

		v->blocks = b->next;
		sl_free(b);
	}
	for (uint32_t i = 0; i < SL_VERBS_CHUNKS; i++)
		if (v->chunk[i])
			sl_free(v->chunk[i]);
}
#endif
