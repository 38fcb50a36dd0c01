/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims of a device, found in its maps: a new daemon believes only these, since packets are
 * steered by them. */
#include "ctl/claim/recall.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/heap.h"
#include "ctl/claim/claim.h"
#include "ctl/claim/group.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/kern/libbpf.h"
#include "ctl/steer/maps.h"

/* The claims found in the maps. */
struct recall {
	struct sl_device *d;
	struct sl_claim_req *req;
	uint32_t n, max;
	bool group[SL_MAX_GROUPS]; /* in use */
	int err;
};

static void add(struct recall *r, const struct sl_flow_key *key, const struct sl_claim *claim,
		const struct sl_narrow *narrow, bool spread)
{
	if (r->n == r->max) {
		uint32_t max = r->max ? 2 * r->max : 256;
		void *p = sl_realloc(r->req, max * sizeof(*r->req));

		if (!p) {
			r->err = -ENOMEM;
			return;
		}
		r->req = p;
		r->max = max;
	}
	r->req[r->n++] = (struct sl_claim_req){
		.ifindex = r->d->info.ifindex,
		.shadow_fd = -1,
		.key = *key,
		.claim = *claim,
		.narrow = *narrow,
		.spread = spread,
	};
}

static void add_group(struct recall *r, const struct sl_flow_key *key, uint32_t index)
{
	struct sl_members g;

	if (index >= SL_MAX_GROUPS || sl_group_get(r->d, index, &g))
		return;
	r->group[index] = true;
	for (uint32_t i = 0; i < g.count; i++)
		add(r, key, &g.target[i], &g.narrow[i], !key->remote_port);
	r->d->replaced += key->remote_port != 0;
}

static uint16_t *uses_of(const struct sl_device *d, const struct sl_flow_key *k, uint32_t *index,
			 uint32_t *bit)
{
	const struct sl_addr local = sl_addr_of(k->local);

	*index = k->local_port + (k->proto == IPPROTO_TCP ? 65536 : 0);
	*bit = k->remote_port           ? SL_L4_PORT_FLOW
	       : sl_addr_is_any(&local) ? SL_L4_PORT_WILDCARD
					: SL_L4_PORT_ENDPOINT;
	return *index + (*bit == SL_L4_PORT_FLOW       ? d->uses->flow
			 : *bit == SL_L4_PORT_ENDPOINT ? d->uses->endpoint
						       : d->uses->wildcard);
}

/* Notes one entry of a map. */
static void found(struct recall *r, const struct sl_flow_key *key, const struct sl_claim *claim)
{
	uint32_t index, bit;
	uint16_t *uses = uses_of(r->d, key, &index, &bit);

	if (*uses != UINT16_MAX)
		++*uses;
	sl_port_word_change(&r->d->info.ports[index], bit, 0);
	if (claim->flags & SL_CLAIM_GROUP)
		add_group(r, key, claim->slot);
	else
		add(r, key, claim, &(struct sl_narrow){0}, false);
}

static void found_endpoint(struct recall *r, const struct sl_endpoint_key *e,
			   const struct sl_claim *claim)
{
	struct sl_flow_key key = {.local_port = e->local_port, .proto = e->proto, .vlan = e->vlan};

	memcpy(key.local, e->local, sizeof(key.local));
	found(r, &key, claim);
}

/* Reads all entries of a hash, in one call. Returns how many. */
static int read_map(int fd, size_t key_bytes, void **keys, struct sl_claim **claims)
{
	uint32_t n = SL_MAX_FLOWS, batch;

	*keys = sl_malloc(n * key_bytes);
	*claims = sl_malloc(n * sizeof(**claims));
	if (!*keys || !*claims)
		return -ENOMEM;
	if (bpf_map_lookup_batch(fd, NULL, &batch, *keys, *claims, &n, NULL) && errno != ENOENT)
		return -errno;
	return (int)n;
}

static int look(struct recall *r, enum sl_map map, size_t key_bytes)
{
	struct sl_claim *claims;
	void *keys;
	int n = read_map(r->d->attach.map_fd[map], key_bytes, &keys, &claims);

	for (int i = 0; i < n; i++)
		if (map == SL_MAP_FLOWS)
			found(r, (struct sl_flow_key *)keys + i, &claims[i]);
		else
			found_endpoint(r, (struct sl_endpoint_key *)keys + i, &claims[i]);
	sl_free(keys);
	sl_free(claims);
	return n < 0 ? n : r->err;
}

/* Frees groups that no endpoint leads to: they were half made, or half dropped. */
static void free_groups(struct recall *r)
{
	r->d->group_head = r->d->group_nfree = 0;
	for (uint32_t i = 0; i < SL_MAX_GROUPS; i++)
		if (!r->group[i])
			sl_group_drop(r->d, i);
}

/* Clears bits that no claim stands behind. */
static void clear_bits(struct sl_device *d)
{
	for (uint32_t i = 0; i < SL_MAX_PORTS; i++) {
		uint64_t bits;

		if (!(d->info.ports[i] & SL_L4_PORT_BITS))
			continue;
		bits = (d->uses->flow[i] ? SL_L4_PORT_FLOW : 0) |
		       (d->uses->endpoint[i] ? SL_L4_PORT_ENDPOINT : 0) |
		       (d->uses->wildcard[i] ? SL_L4_PORT_WILDCARD : 0);
		sl_port_word_change(&d->info.ports[i], bits, SL_L4_PORT_BITS & ~bits);
	}
}

static int recall(struct recall *r)
{
	int err = look(r, SL_MAP_FLOWS, sizeof(struct sl_flow_key));

	if (!err)
		err = look(r, SL_MAP_ENDPOINTS, sizeof(struct sl_endpoint_key));
	if (err)
		return err;
	free_groups(r);
	clear_bits(r->d);
	return 0;
}

int sl_claims_recall(uint32_t ifindex, sl_recall_fn *keep, void *arg)
{
	struct recall r = {.d = sl_device_find(ifindex)};
	struct sl_broker_guard g;
	int err;

	if (!r.d)
		return -ENODEV;
	sl_broker_enter(&g);
	err = recall(&r);
	sl_broker_leave(&g);
	for (uint32_t i = 0; !err && i < r.n; i++)
		if (!keep(arg, &r.req[i]))
			sl_embedded_unclaim(&r.req[i]);
	sl_free(r.req);
	return err;
}
