/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims as rules of a NIC.
 *
 * Theory of operation: on a device that receives by verbs no program looks claims up. For each
 * claim the NIC has a rule instead: for a flow, for a local address and port (one for each address
 * of the host if the claim is for all), or for a multicast group, each perhaps narrowed. Priorities
 * order them as the steering program does: flows before local ends before wildcards, the narrowed
 * ones first. The maps stay what they are, so all that reads them sees the claims. What must stay
 * without a gap (another socket of the same lane takes a place over) changes the rule's target, not
 * the rule. */
#include "ctl/steer/nic_rule.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/heap.h"
#include "base/log.h"
#include "ctl/device/flow_hash.h"
#include "ctl/device/link.h"
#include "ctl/device/lock.h"
#include "ctl/kern/say.h"
#include "vxlan.h"

#define BUCKETS     1024u
#define MOST_LOCALS 256u
#define VID_MASK    0xfffu
#define PRIORITIES  6u /* of the rules of a device */

const struct sl_nic_ops *sl_nic_ops;

struct rule {
	struct rule *next;
	struct sl_flow_key key; /* of the claim */
	struct sl_nic_rule r;
	struct sl_claim *claim; /* those of r */
	uint64_t id;            /* 0: the NIC has none */
	bool keep;              /* of sl_nic_follow() */
};

struct sl_nic_rules {
	struct rule *bucket[BUCKETS];
};

static uint8_t locals[MOST_LOCALS][16];
static uint32_t nlocals;

/* (Programs choose the flows, and the daemon serves many: none may know where a flow's place is.)
 */
static uint32_t bucket_of(const struct sl_flow_key *k)
{
	static struct sl_hash_key *at;

	return sl_flow_hash(sl_hash_key_get(&at), 0, k) % BUCKETS;
}

static bool is_v4(const uint8_t addr[16])
{
	const struct sl_addr a = sl_addr_of(addr);

	return sl_addr_is_v4(&a);
}

static bool is_any(const uint8_t addr[16])
{
	const struct sl_addr a = sl_addr_of(addr);

	return sl_addr_is_any(&a);
}

static bool is_loopback(const uint8_t addr[16])
{
	const struct sl_addr a = sl_addr_of(addr);

	return sl_addr_is_loopback(&a);
}

/* (A rule without a tag fits packets with one, too: those of VLAN devices come first.) */
static uint16_t priority_of(const struct sl_flow_key *k, const struct sl_narrow *n)
{
	uint16_t p = k->remote_port ? 0 : is_any(k->local) ? 4 : 2;

	return (uint16_t)(p + !n->mask.word + (k->vlan ? 0 : PRIORITIES));
}

static bool is_alike(const struct rule *o, const struct sl_nic_rule *r)
{
	return !memcmp(&o->r.key, &r->key, sizeof(r->key)) &&
	       o->r.narrow.mask.word == r->narrow.mask.word &&
	       o->r.narrow.marks.word == r->narrow.marks.word;
}

static bool has_lane(const struct sl_device *d, const struct sl_nic_rule *r, uint32_t lane)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->claim[i].lane / d->info.nqueues == lane)
			return true;
	return false;
}

static void free_rule(struct rule *o)
{
	if (o->claim)
		sl_free(o->claim);
	sl_free(o);
}

static void drop(const struct sl_device *d, struct rule **at)
{
	struct rule *o = *at;

	*at = o->next;
	if (o->id)
		sl_nic_ops->del(d->info.ifindex, o->r.lane, o->id);
	free_rule(o);
}

/* True: a rule for packets of a VLAN device whose packets are the kernel's now. */
static bool is_left(const struct sl_device *d, const struct sl_nic_rule *r)
{
	return r->key.vlan && d->vlans_left >> SL_CLAIM_VLAN_NR(r->claim[0].flags) & 1;
}

/* Makes the rule in the NIC, unless it is noted alone: its address is the wildcard, or its VLAN
 * device is left to the kernel. */
static int make(const struct sl_device *d, const struct sl_nic_rule *r, uint64_t *id,
		const char **why)
{
	return is_any(r->key.local) || is_left(d, r) ? 0
						     : sl_nic_ops->add(d->info.ifindex, r, id, why);
}

/* Gives the rule a copy of the claims. 0 or -ENOMEM. */
static int set_claims(struct rule *o, const struct sl_nic_rule *r)
{
	size_t bytes = r->n * sizeof(r->claim[0]);
	struct sl_claim *copy = sl_malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, r->claim, bytes);
	if (o->claim)
		sl_free(o->claim);
	o->r.claim = o->claim = copy;
	o->r.n = r->n;
	return 0;
}

/* Gives an existing rule to the claims. If none of them is of the rule's lane any more it is made
 * anew: two rules for the same packets cannot be there at once, so the kernel gets those that come
 * in between. */
static int move(const struct sl_device *d, struct rule *o, const struct sl_nic_rule *r,
		const char **why)
{
	int err = 0;

	o->keep = true;
	if (o->id && !has_lane(d, r, o->r.lane)) {
		sl_nic_ops->del(d->info.ifindex, o->r.lane, o->id);
		o->id = 0;
	}
	if (!o->id) { /* or the NIC has refused it before, or it is noted alone */
		o->r.lane = r->lane;
		err = make(d, r, &o->id, why);
		return err ? err : set_claims(o, r);
	}
	if (o->r.n == r->n && !memcmp(o->r.claim, r->claim, r->n * sizeof(r->claim[0])))
		return 0;
	err = sl_nic_ops->move(d->info.ifindex, o->r.lane, o->id, r->claim, r->n);
	return err ? err : set_claims(o, r);
}

/* Makes the rule, or gives an existing one to the claims. One whose address is the wildcard is
 * noted alone, for addresses that come. */
static int put(struct sl_device *d, const struct sl_flow_key *key, const struct sl_nic_rule *r,
	       const char **why)
{
	struct rule **first = &d->nic_rules->bucket[bucket_of(key)], *o = *first;
	int err;

	while (o && (memcmp(&o->key, key, sizeof(*key)) || !is_alike(o, r)))
		o = o->next;
	if (o)
		return move(d, o, r, why);
	o = sl_calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->key = *key;
	o->r = *r;
	o->r.claim = NULL;
	o->keep = true;
	err = set_claims(o, r);
	if (!err)
		err = make(d, r, &o->id, why);
	if (err) {
		free_rule(o);
		return err;
	}
	o->next = *first;
	*first = o;
	return 0;
}

/* The VXLAN device's own addresses (a VLAN device has those of the device below). -EOPNOTSUPP for a
 * tag that rules cannot have. */
static int fill_device(const struct sl_device *d, const struct sl_claim *c, struct sl_nic_rule *r,
		       const char **why)
{
	const struct sl_device_vlan *v = &d->vlan[SL_CLAIM_VLAN_NR(c->flags)];
	struct sl_link_now now;

	memcpy(r->mac, d->info.mac, sizeof(r->mac));
	if (!(r->key.vlan & ~VID_MASK))
		return 0;
	if (!(r->key.vlan & SL_VXLAN_TAG_BIT)) {
		sl_why(why, "rules of the NIC know one VLAN tag, of 802.1Q");
		return -EOPNOTSUPP;
	}
	if (!v->port || sl_link_look(v->ifindex, &now)) {
		sl_why(why, "its VXLAN device is gone");
		return -ENODEV;
	}
	memcpy(r->mac, now.mac, sizeof(r->mac));
	r->vxlan_port = v->port;
	return 0;
}

static bool is_narrowed_alike(const struct sl_nic_target *a, const struct sl_nic_target *b)
{
	return a->narrow.mask.word == b->narrow.mask.word &&
	       a->narrow.marks.word == b->narrow.marks.word;
}

/* The claims with the narrowing of t[first], without those that are away, unless all are: their
 * connections go on. (A claim's lane is its first index in `lanes`.) Returns how many. */
static uint32_t collect(const struct sl_nic_target *t, uint32_t n, uint32_t first,
			struct sl_claim *out)
{
	uint32_t k = 0;

	for (int away = 0; away < 2 && !k; away++)
		for (uint32_t i = first; i < n; i++)
			if (is_narrowed_alike(&t[i], &t[first]) &&
			    (away || !(t[i].claim.flags & SL_CLAIM_AWAY)))
				out[k++] = t[i].claim;
	return k;
}

/* Makes the rules of t[first] and those narrowed alike. */
static int put_target(struct sl_device *d, const struct sl_flow_key *key,
		      const struct sl_nic_target *t, uint32_t n, uint32_t first, const char **why)
{
	struct sl_claim claim[SL_GROUP_TARGETS];
	struct sl_nic_rule r = {
		.key = *key,
		.narrow = t[first].narrow,
		.n = collect(t, n, first, claim),
		.claim = claim,
		.priority = priority_of(key, &t[first].narrow),
	};
	int err = fill_device(d, claim, &r, why);

	r.lane = claim[0].lane / d->info.nqueues;
	/* (A datagram may be handed to another lane; a listener's table is its lane's.) */
	for (uint32_t i = 1; i < r.n && !err && key->proto == IPPROTO_TCP; i++)
		if (claim[i].lane != claim[0].lane) {
			sl_why(why,
			       "listeners of several lanes share the port, and no rule of the NIC "
			       "spreads connections");
			err = -EOPNOTSUPP;
		}
	if (!err)
		err = put(d, key, &r, why);
	if (!is_any(key->local))
		return err;
	for (uint32_t i = 0; i < nlocals && !err; i++) {
		if (is_v4(locals[i]) != is_v4(key->local) || is_loopback(locals[i]))
			continue;
		memcpy(r.key.local, locals[i], 16);
		err = put(d, key, &r, why);
	}
	return err;
}

/* True: an earlier claim is narrowed alike. */
static bool is_done(const struct sl_nic_target *t, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (is_narrowed_alike(&t[i], &t[j]))
			return true;
	return false;
}

int sl_nic_follow(struct sl_device *d, const struct sl_flow_key *key, const struct sl_nic_target *t,
		  uint32_t n, const char **why)
{
	int err = 0;

	if (!d->nic_rules)
		d->nic_rules = sl_calloc(1, sizeof(*d->nic_rules));
	if (!d->nic_rules)
		return -ENOMEM;
	for (struct rule *o = d->nic_rules->bucket[bucket_of(key)]; o; o = o->next)
		o->keep = false;
	for (uint32_t i = 0; i < n && !err; i++)
		if (!is_done(t, i))
			err = put_target(d, key, t, n, i, why);
	for (struct rule **at = &d->nic_rules->bucket[bucket_of(key)]; !err && *at;) {
		if (!memcmp(&(*at)->key, key, sizeof(*key)) && !(*at)->keep)
			drop(d, at);
		else
			at = &(*at)->next;
	}
	return err;
}

static const struct rule *find_rule(const struct sl_device *d, const struct sl_flow_key *k)
{
	const struct rule *o = d->nic_rules->bucket[bucket_of(k)];

	while (o && memcmp(&o->key, k, sizeof(*k)))
		o = o->next;
	return o;
}

bool sl_nic_find(uint32_t ifindex, const struct sl_flow_key *flow, struct sl_claim *out)
{
	static const uint8_t any4[12] = {[10] = 0xff, [11] = 0xff};
	const struct rule *found = NULL;
	struct sl_flow_key k = *flow;
	struct sl_broker_guard g;
	const struct sl_device *d;

	sl_broker_enter(&g);
	d = sl_device_find(ifindex);
	if (d && d->nic_rules) {
		found = find_rule(d, &k);
		memset(k.remote, 0, sizeof(k.remote));
		k.remote_port = 0;
		if (!found)
			found = find_rule(d, &k);
		memset(k.local, 0, sizeof(k.local));
		if (is_v4(flow->local))
			memcpy(k.local, any4, sizeof(any4));
		if (!found)
			found = find_rule(d, &k);
	}
	if (found)
		*out = found->r.claim[0];
	sl_broker_leave(&g);
	return found;
}

/* Addresses --------------------------------------------------------------------------------------
 */

static uint32_t find_local(const uint8_t addr[16])
{
	uint32_t i = 0;

	while (i < nlocals && memcmp(locals[i], addr, 16))
		i++;
	return i;
}

/* Adds the address to the wildcard claims in that bucket. */
static void widen(struct sl_device *d, uint32_t bucket, const uint8_t addr[16])
{
	for (struct rule *o = d->nic_rules->bucket[bucket]; o; o = o->next) {
		struct sl_nic_rule r = o->r;
		const char *why = "";

		if (!is_any(o->r.key.local) || is_v4(o->key.local) != is_v4(addr))
			continue;
		memcpy(r.key.local, addr, 16);
		if (put(d, &o->key, &r, &why))
			sl_warn_once("port",
				     "%s: an address of the host has no rule in the NIC (%s): what "
				     "is sent there stays with the kernel",
				     d->info.ifname, why);
	}
}

void sl_nic_local_add(const uint8_t addr[16])
{
	if (nlocals == MOST_LOCALS || is_loopback(addr) || find_local(addr) < nlocals)
		return;
	memcpy(locals[nlocals++], addr, 16);
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t i = 0; d->nic_rules && i < BUCKETS; i++)
			widen(d, i, addr);
}

void sl_nic_local_del(const uint8_t addr[16])
{
	uint32_t place = find_local(addr);

	if (place == nlocals)
		return;
	memmove(locals[place], locals[--nlocals], 16);
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t i = 0; d->nic_rules && i < BUCKETS; i++)
			for (struct rule **at = &d->nic_rules->bucket[i]; *at;)
				if (is_any((*at)->key.local) &&
				    !memcmp((*at)->r.key.local, addr, 16))
					drop(d, at);
				else
					at = &(*at)->next;
}

/* VLAN devices -----------------------------------------------------------------------------------
 */

void sl_nic_vlan_leave(struct sl_device *d, uint32_t nr)
{
	const char *why;

	for (uint32_t i = 0; d->nic_rules && i < BUCKETS; i++)
		for (struct rule *o = d->nic_rules->bucket[i]; o; o = o->next) {
			if (!o->r.key.vlan || SL_CLAIM_VLAN_NR(o->claim[0].flags) != nr)
				continue;
			if (is_left(d, &o->r) && o->id) {
				sl_nic_ops->del(d->info.ifindex, o->r.lane, o->id);
				o->id = 0;
			} else if (!is_left(d, &o->r) && !o->id) {
				(void)make(d, &o->r, &o->id, &why);
			}
		}
}

void sl_nic_rules_close(struct sl_device *d)
{
	for (uint32_t i = 0; d->nic_rules && i < BUCKETS; i++)
		while (d->nic_rules->bucket[i])
			drop(d, &d->nic_rules->bucket[i]);
	if (d->nic_rules)
		sl_free(d->nic_rules);
	d->nic_rules = NULL;
}
