/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: which device, which next hop, which addresses. Caches the kernel's answer for each
 * destination of a lane; events of the mirrors make it stale.
 *
 * Theory of operation: asking costs a system call, and the kernel may take milliseconds (rtnl). A
 * sender asks only if there is no answer or it is known to be wrong. An answer that is merely old
 * stays in use; its key is put on a list, and the keeper asks again without holding the lane and
 * stores the new answer (sl_dst_answer). */
#include "base/hash.h"
#include "net/ipconf.h"
#include "net/net.h"

static uint32_t key_hash(const struct sl_route_key *k)
{
	static struct sl_hash_key *key; /* lanes that race for it ask the kernel once more */
	uint32_t rest = k->src.w[3] ^ k->oif ^ (uint32_t)k->tos << 24 ^
			((uint32_t)k->sport << 16 | k->dport);

	return sl_hash_addr(sl_hash_key_get(&key), rest, &k->dst);
}

void sl_dst_outdate(struct sl_dst *dst)
{
	if (dst)
		dst->route.gen = sl_load(&sl_route_gen) - 1;
}

/* True: d has the neighbour entry of its next hop. */
static bool has_neigh(const struct sl_dst *d)
{
	return d->neigh && d->neigh->ifindex == d->route.ifindex &&
	       sl_addr_eq(&d->neigh->addr, &d->route.nexthop);
}

static void read_neigh(struct sl_dst *d)
{
	if (d->route.kind == SL_ROUTE_MULTICAST) {
		d->neigh = NULL;
		sl_addr_group_mac(&d->key.dst, d->dmac);
		d->mac_ok = true;
		return;
	}
	if (!has_neigh(d))
		d->neigh = sl_neigh_get(d->route.ifindex, &d->route.nexthop);
	if (!d->neigh) {
		d->mac_ok = false;
		return;
	}
	if (sl_load(&d->neigh->wants_probe))
		sl_neigh_use(d->neigh);
	d->mac_ok = sl_neigh_read(d->neigh, d->dmac, &d->neigh_seq);
	if (sl_unlikely(!has_neigh(d))) /* reused for another neighbour meanwhile */
		d->mac_ok = false;
}

/* Derives leg and neighbour from d->route. */
static void take_route(struct sl_dst *d, void *lane, sl_leg_finder find)
{
	d->leg = NULL;
	/* With IP_MULTICAST_LOOP off, members on this host must not get a copy. */
	if (d->route.kind == SL_ROUTE_LOCAL && d->key.mc_noloop && d->route.ifindex)
		d->route.kind = SL_ROUTE_MULTICAST;
	if (d->route.kind == SL_ROUTE_DEVICE || d->route.kind == SL_ROUTE_MULTICAST)
		find(lane, d);
	if (!d->leg)
		d->neigh = NULL;
}

static void ask_route(struct sl_dst *d, void *lane, sl_leg_finder find, uint64_t now_ns)
{
	d->asked_ns = now_ns;
	if (sl_route_get(&d->key, &d->route) < 0) {
		d->route.gen = sl_load(&sl_route_gen);
		d->route.kind = SL_ROUTE_OTHER;
	}
	take_route(d, lane, find);
}

/* Leaves the question to the keeper. False: its list is full. */
static bool put_off_question(struct sl_dst_cache *c, struct sl_dst *d, uint64_t now_ns)
{
	if (c->naged == SL_DST_AGED)
		return false;
	c->aged[c->naged] = d->key;
	sl_store(&c->naged, c->naged + 1);
	d->asked_ns = now_ns;
	return true;
}

static void refresh(struct sl_dst_cache *c, struct sl_dst *d, void *lane, sl_leg_finder find,
		    uint64_t now_ns)
{
	if (d->route.gen != sl_load(&sl_route_gen)) {
		ask_route(d, lane, find, now_ns);
	} else if (now_ns - d->asked_ns > SL_DST_REASK_NS) {
		if (!put_off_question(c, d, now_ns))
			ask_route(d, lane, find, now_ns);
		else if (sl_dst_fresh(d, now_ns) && (d->mac_ok || !d->leg))
			return;
	}
	if (d->leg)
		read_neigh(d);
	d->serial++;
}

static struct sl_dst *find_dst(struct sl_dst_cache *c, const struct sl_route_key *key, uint32_t set)
{
	for (unsigned w = 0; w < SL_DST_WAYS; w++)
		if (c->dst[set][w].used && sl_route_key_eq(&c->dst[set][w].key, key))
			return &c->dst[set][w];
	return NULL;
}

static uint32_t ms_of(uint64_t ns)
{
	return (uint32_t)(ns >> 20); /* nearly */
}

void sl_dst_stir_id(struct sl_dst *d, uint64_t now_ns)
{
	uint32_t ms = ms_of(now_ns), since = ms - d->id_ms;

	if (!since)
		return;
	d->id_ms = ms;
	d->ip_id += (uint16_t)((sl_ip_random(d) * (uint64_t)since) >> 32) + 1;
}

struct sl_dst *sl_dst_get(struct sl_dst_cache *c, const struct sl_route_key *key, void *lane,
			  sl_leg_finder find, uint64_t now_ns)
{
	uint32_t set = key_hash(key) % SL_DST_SETS;
	struct sl_dst *d = find_dst(c, key, set);
	uint32_t serial;

	if (d) {
		if (sl_unlikely(!sl_dst_fresh(d, now_ns)))
			refresh(c, d, lane, find, now_ns);
		return d;
	}
	d = &c->dst[set][c->next[set]++ % SL_DST_WAYS];
	serial = d->serial;
	*d = (struct sl_dst){.key = *key,
			     .used = true,
			     .serial = serial,
			     .ip_id = (uint16_t)sl_ip_random(d),
			     .id_ms = ms_of(now_ns)};
	ask_route(d, lane, find, now_ns);
	if (d->leg)
		read_neigh(d);
	d->serial++;
	return d;
}

/* True: the answer about d is right for each address of its span. A neighbour is its own next hop.
 */
static bool is_for_span(const struct sl_dst *d)
{
	return !d->route.is_own && !(d->leg && sl_addr_eq(&d->route.nexthop, &d->key.dst));
}

struct sl_dst *sl_dst_get_alike(struct sl_dst_cache *c, const struct sl_route_key *key, void *lane,
				sl_leg_finder find, uint64_t now_ns)
{
	struct sl_dst *d = find_dst(c, key, key_hash(key) % SL_DST_SETS);
	struct sl_route_key first = *key;

	if (d && sl_dst_fresh(d, now_ns))
		return d;
	if (sl_span_use(&c->asks, now_ns, &first.dst)) {
		d = sl_dst_get(c, &first, lane, find, now_ns);
		if (is_for_span(d))
			return d;
	}
	return sl_dst_get(c, key, lane, find, now_ns);
}

unsigned sl_dst_take_aged(struct sl_dst_cache *c, struct sl_route_key *keys, unsigned max)
{
	uint32_t n = sl_min(c->naged, (uint32_t)max);

	memcpy(keys, c->aged + c->naged - n, n * sizeof(keys[0]));
	sl_store(&c->naged, c->naged - n);
	return n;
}

static bool same_route(const struct sl_route *a, const struct sl_route *b)
{
	return a->kind == b->kind && a->error == b->error && a->ifindex == b->ifindex &&
	       a->mtu == b->mtu && a->hoplimit == b->hoplimit && sl_addr_eq(&a->src, &b->src) &&
	       sl_addr_eq(&a->nexthop, &b->nexthop);
}

void sl_dst_answer(struct sl_dst_cache *c, const struct sl_route_key *key,
		   const struct sl_route *route, void *lane, sl_leg_finder find)
{
	struct sl_dst *d = find_dst(c, key, key_hash(key) % SL_DST_SETS);
	struct sl_route old;
	void *leg;

	/* Routing has changed since the question: the next user asks again. */
	if (!d || d->route.gen != route->gen)
		return;
	old = d->route;
	leg = d->leg;
	d->route = *route;
	take_route(d, lane, find);
	if (same_route(&old, &d->route) && leg == d->leg)
		return;
	if (d->leg)
		read_neigh(d);
	d->serial++;
}
