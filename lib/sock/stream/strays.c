/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers whose segments do not come by our devices, or that we cannot answer by them.
 *
 * Theory of operation: the keeper finds connections whose segments the kernel gets (move/stray.c)
 * and remembers their peers here for a while: new connections to these peers are the kernel's from
 * the start. This file also notes peers that we cannot answer, for the keeper. */
#include "base/clock.h"
#include "base/hash.h"
#include "net/rtnl.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

#define PEERS   64
#define PEER_NS 60000000000ull /* routes change: it is tried again */

/* Written by the keeper; connect() reads it. */
static struct peer {
	uint64_t hash, until_ns;
} peers[PEERS];
static struct sl_hash_key *hash_key;
static bool any;

#define ASKED_MAX 64
static struct sl_lock asked_lock; /* a leaf */
static struct sl_tcp_key asked[ASKED_MAX];
static unsigned nasked;

/* Peers that are remembered ---------------------------------------------------------------------
 */

/* Keyed: a peer cannot choose addresses that push another peer out. */
static uint64_t hash_of(const struct sl_addr *local, const struct sl_addr *remote)
{
	const struct sl_hash_key *key = sl_hash_key_get(&hash_key);
	uint32_t h = sl_hash_addr(key, 0, local);

	return (uint64_t)sl_hash_addr(key, h, remote) << 32 | sl_hash_addr(key, h ^ 1, remote);
}

static struct peer *peer_at(uint64_t hash)
{
	return &peers[hash >> 58 & (PEERS - 1)];
}

void sl_strays_remember(const struct sl_tcp_key *k)
{
	struct peer *p;
	uint64_t h;

	h = hash_of(&k->local, &k->remote);
	p = peer_at(h);
	sl_store(&p->hash, h);
	sl_store(&p->until_ns, sl_now_ns() + PEER_NS);
	sl_store_release(&any, true);
}

bool sl_strays_from(const struct sl_addr *local, const struct sl_addr *remote)
{
	const struct peer *p;
	uint64_t h;

	if (sl_likely(!sl_load_acquire(&any)))
		return false;
	h = hash_of(local, remote);
	p = peer_at(h);
	return sl_load(&p->hash) == h && sl_now_ns() < sl_load(&p->until_ns);
}

/* Peers that have no way back -------------------------------------------------------------------
 */

void sl_strays_asks(const struct sl_tcp_key *key)
{
	bool first;

	if (!sl_lock(&asked_lock))
		return;
	first = !nasked;
	if (nasked < ASKED_MAX)
		asked[nasked++] = *key;
	sl_unlock(&asked_lock);
	if (first)
		sl_rtnl_wake();
}

bool sl_strays_take_asked(struct sl_tcp_key *key)
{
	bool any_left;

	if (!sl_load(&nasked) || !sl_lock(&asked_lock))
		return false;
	any_left = nasked > 0;
	if (any_left)
		*key = asked[--nasked];
	sl_unlock(&asked_lock);
	return any_left;
}
