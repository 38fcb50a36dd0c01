/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's hash table of connections, requests and TIME_WAIT records, by key.
 *
 * Theory of operation: chains in a power of two of buckets, with a keyed hash, so that a peer
 * cannot choose its port numbers to build collisions. The table doubles when it has as many nodes
 * as buckets, without a pause: the old array stays beside the new one, and each addition moves a
 * few of its buckets. Buckets of the old array below `moved` are empty. */
#include "base/heap.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_table.h"

#include <errno.h>

#define FIRST_BUCKETS 64
#define MOVE          4 /* old buckets that an addition moves: done long before the next doubling */

static struct sl_tcp_node **bucket_of(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	uint32_t x = sl_tcp_key_hash(h, key);

	if (sl_unlikely(h->old_bucket != NULL)) {
		uint32_t i = x & (h->nbuckets / 2 - 1);

		if (i >= h->moved)
			return &h->old_bucket[i];
	}
	return &h->bucket[x & (h->nbuckets - 1)];
}

struct sl_tcp_node *sl_tcp_table_find(struct sl_tcp_host *h, const struct sl_tcp_key *key)
{
	if (!h->nnodes)
		return NULL;
	for (struct sl_tcp_node *n = *bucket_of(h, key); n; n = n->next)
		if (sl_tcp_key_eq(&n->key, key))
			return n;
	return NULL;
}

static void move_some(struct sl_tcp_host *h)
{
	uint32_t end = sl_min(h->moved + MOVE, h->nbuckets / 2);

	while (h->moved < end) {
		struct sl_tcp_node *n = h->old_bucket[h->moved], *next;

		h->old_bucket[h->moved++] = NULL; /* sl_tcp_table_each() */
		for (; n; n = next) {
			struct sl_tcp_node **b = bucket_of(h, &n->key);

			next = n->next;
			n->next = *b;
			*b = n;
		}
	}
	if (h->moved == h->nbuckets / 2) {
		sl_free(h->old_bucket);
		h->old_bucket = NULL;
	}
}

/* Begins to double the table. Without memory the chains grow instead. */
static void grow(struct sl_tcp_host *h)
{
	uint32_t n = h->nbuckets ? h->nbuckets * 2 : FIRST_BUCKETS;
	struct sl_tcp_node **b = n ? sl_calloc(n, sizeof(struct sl_tcp_node *)) : NULL;

	if (!b)
		return;
	h->old_bucket = h->bucket;
	h->moved = 0;
	h->bucket = b;
	h->nbuckets = n;
}

int sl_tcp_table_add(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct sl_tcp_node **b;

	if (h->old_bucket)
		move_some(h);
	else if (h->nnodes >= h->nbuckets)
		grow(h);
	if (!h->bucket)
		return -ENOMEM;
	b = bucket_of(h, &n->key);
	n->next = *b;
	*b = n;
	n->hashed = true;
	h->nnodes++;
	h->on_port[n->key.lport]++;
	return 0;
}

void sl_tcp_table_del(struct sl_tcp_host *h, struct sl_tcp_node *n)
{
	struct sl_tcp_node **b;

	if (!n->hashed)
		return;
	for (b = bucket_of(h, &n->key); *b != n; b = &(*b)->next)
		;
	*b = n->next;
	n->next = NULL;
	n->hashed = false;
	h->nnodes--;
	h->on_port[n->key.lport]--;
}

static void walk(struct sl_tcp_node **b, uint32_t n, void (*fn)(struct sl_tcp_node *, void *),
		 void *arg)
{
	for (uint32_t i = 0; b && i < n; i++)
		for (struct sl_tcp_node *node = b[i], *next; node; node = next) {
			next = node->next;
			fn(node, arg);
		}
}

void sl_tcp_table_each(struct sl_tcp_host *h, void (*fn)(struct sl_tcp_node *n, void *arg),
		       void *arg)
{
	walk(h->old_bucket, h->nbuckets / 2, fn, arg);
	walk(h->bucket, h->nbuckets, fn, arg);
}

struct bind {
	const struct sl_addr *addr;
	uint16_t port;
	uint8_t bound;
	bool conflict;
};

/* The kernel has its own in its table: those whose shadow is bound, those that went to it. */
static bool holds_port(const struct sl_tcp_node *n)
{
	const struct sl_tcp *c = sl_container_of_const(n, struct sl_tcp, node);

	return n->kind == SL_TCP_TW ||
	       (n->kind == SL_TCP_CONN && !c->frozen && c->state != SL_TCP_CLOSED);
}

static void meets(struct sl_tcp_node *n, void *arg)
{
	struct bind *b = arg;
	const struct sl_addr *have = &n->key.local;
	bool v4 = sl_addr_is_v4(have);

	if (n->key.lport != b->port || n->bound & b->bound & SL_TCP_BOUND_REUSE || !holds_port(n))
		return;
	if (!sl_addr_is_any(b->addr))
		b->conflict |= sl_addr_eq(have, b->addr);
	else if (sl_addr_is_v4(b->addr))
		b->conflict |= v4 || !(n->bound & SL_TCP_BOUND_V6ONLY);
	else
		b->conflict |= !(v4 && b->bound & SL_TCP_BOUND_V6ONLY);
}

bool sl_tcp_table_binds(struct sl_tcp_host *h, const struct sl_addr *addr, uint16_t port,
			uint8_t bound)
{
	struct bind b = {addr, port, bound, false};

	if (h->on_port[port])
		sl_tcp_table_each(h, meets, &b);
	return b.conflict;
}

void sl_tcp_table_fini(struct sl_tcp_host *h)
{
	sl_free(h->old_bucket);
	sl_free(h->bucket);
	sl_free(h->on_port);
	h->old_bucket = h->bucket = NULL;
	h->on_port = NULL;
	h->nbuckets = h->nnodes = 0;
}
