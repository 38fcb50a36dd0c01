/* SPDX-License-Identifier: BSD-2-Clause */
/* The claims that a session holds: a hash table by device, flow and slot. */
#include "claims.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/device/flow_hash.h"

#define FIRST_MAX 64

bool sl_is_shared(const struct sl_claim_req *req)
{
	return req->key.proto == IPPROTO_TCP && !req->key.remote_port && req->spread;
}

bool sl_is_tcp_flow(const struct sl_claim_req *req)
{
	return req->key.proto == IPPROTO_TCP && req->key.remote_port &&
	       !(req->claim.flags & SL_CLAIM_PASS);
}

static bool same(const struct sl_claim_req *a, const struct sl_claim_req *b)
{
	return a->ifindex == b->ifindex && a->claim.slot == b->claim.slot &&
	       !memcmp(&a->key, &b->key, sizeof(a->key));
}

/* The session chooses all of it: with a hash that it knows it could make thousands of claims
 * collide, and each growth of the table, and each claim that goes, would take the loop's time for
 * all. */
static uint32_t hash(const struct sl_claim_req *r)
{
	static struct sl_hash_key key;

	if (!key.k[0])
		sl_hash_key_make(&key);
	return sl_hash_two(&key, sl_flow_hash(&key, r->ifindex, &r->key), r->claim.slot);
}

static struct sl_held *place_of_claim(const struct sl_held_table *t, const struct sl_claim_req *req)
{
	uint32_t i = hash(req) & (t->max - 1);

	while (t->slot[i].used && !same(&t->slot[i].req, req))
		i = (i + 1) & (t->max - 1);
	return &t->slot[i];
}

struct sl_held *sl_held_find(const struct sl_held_table *t, const struct sl_claim_req *req)
{
	struct sl_held *h = t->max ? place_of_claim(t, req) : NULL;

	return h && h->used ? h : NULL;
}

static int grow_table(struct sl_held_table *t)
{
	struct sl_held_table bigger = {.max = t->max ? 2 * t->max : FIRST_MAX,
				       .n = t->n,
				       .nshared = t->nshared,
				       .nflows = t->nflows};

	bigger.slot = calloc(bigger.max, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->max; i++)
		if (t->slot[i].used)
			*place_of_claim(&bigger, &t->slot[i].req) = t->slot[i];
	free(t->slot);
	*t = bigger;
	return 0;
}

int sl_held_put(struct sl_held_table *t, const struct sl_claim_req *req, bool everywhere,
		uint32_t rule)
{
	struct sl_held *h = sl_held_find(t, req);

	if (!h) {
		if (4 * (t->n + 1) > 3 * t->max && grow_table(t))
			return -ENOMEM;
		h = place_of_claim(t, req);
		t->n++;
	}
	t->nshared += sl_is_shared(req) - (h->used && sl_is_shared(&h->req));
	t->nflows += sl_is_tcp_flow(req) - (h->used && sl_is_tcp_flow(&h->req));
	*h = (struct sl_held){
		.req = *req,
		.used = true,
		.everywhere = everywhere,
		.cookie = h->used ? h->cookie : 0,
		.uid = h->used ? h->uid : 0,
		.rule = rule,
	};
	h->req.shadow_fd = -1;
	return 0;
}

/* Moves up entries behind it that a collision had moved on (Knuth 6.4, algorithm R). */
void sl_held_del(struct sl_held_table *t, struct sl_held *h)
{
	uint32_t mask = t->max - 1, hole = (uint32_t)(h - t->slot), i = hole;

	t->slot[hole].used = false;
	t->n--;
	t->nshared -= sl_is_shared(&h->req);
	t->nflows -= sl_is_tcp_flow(&h->req);
	for (;;) {
		uint32_t home;

		i = (i + 1) & mask;
		if (!t->slot[i].used)
			return;
		home = hash(&t->slot[i].req) & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		t->slot[i].used = false;
		hole = i;
	}
}

struct sl_held *sl_held_any(struct sl_held_table *t)
{
	for (uint32_t i = 0; i < t->max && t->n; i++) {
		struct sl_held *h = &t->slot[(t->at + i) & (t->max - 1)];

		if (h->used) {
			t->at = (uint32_t)(h - t->slot);
			return h;
		}
	}
	return NULL;
}

void sl_held_free(struct sl_held_table *t)
{
	free(t->slot);
	*t = (struct sl_held_table){0};
}
