/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections whose segments the kernel gets, since the peer sends them to another device of
 * this host, or in fragments.
 *
 * Theory of operation: the guards of the steering program hold the resets back that the kernel
 * would send, and note whose they are (bpf/reset.bpf.h). The keeper asks for them, and gives those
 * connections to the kernel, which can take them from anywhere. That takes seconds, so for a while
 * what connects to the same peer is the kernel's at once.
 *
 * And the other way round: a peer that connects to us by an offloaded device, while the way back to
 * it is by one that is not. Its flow is let pass to the kernel's listener, which gets the SYN when
 * it is sent again. */
#include "base/clock.h"
#include "net/rtnl.h"
#include "sock/core/sock.h"
#include "sock/stream/tconn.h"

#define PEERS   64
#define PEER_NS 60000000000ull /* routes change: it is tried again */

/* Written by the keeper; connect() reads it. */
static struct peer {
	uint64_t hash, until_ns;
} peers[PEERS];
static bool any;

#define ASKED_MAX 64
static struct sl_lock asked_lock; /* a leaf */
static struct sl_tcp_key asked[ASKED_MAX];
static unsigned nasked;

/* Peers -----------------------------------------------------------------------------------------
 */

static uint64_t hash_of(const struct sl_addr *local, const struct sl_addr *remote)
{
	return sl_addr_mix(sl_addr_mix(1, local), remote);
}

static struct peer *peer_at(uint64_t hash)
{
	return &peers[hash >> 58 & (PEERS - 1)];
}

static void remember(const struct sl_tcp_key *k)
{
	uint64_t h = hash_of(&k->local, &k->remote);
	struct peer *p = peer_at(h);

	sl_store(&p->hash, h);
	sl_store(&p->until_ns, sl_now_ns() + PEER_NS);
	sl_store(&any, true);
}

bool sl_strays_from(const struct sl_addr *local, const struct sl_addr *remote)
{
	const struct peer *p;
	uint64_t h;

	if (sl_likely(!sl_load(&any)))
		return false;
	h = hash_of(local, remote);
	p = peer_at(h);
	return sl_load(&p->hash) == h && sl_now_ns() < sl_load(&p->until_ns);
}

/* Connections -----------------------------------------------------------------------------------
 */

struct strays {
	struct sl_flow_key key[SL_STRAYS_TOLD];
	unsigned n;
	uint32_t moved;
};

static bool is_stray(const struct sl_tcp_key *k, const struct strays *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct sl_flow_key *f = &s->key[i];

		if (f->local_port == k->lport && f->remote_port == k->rport &&
		    !memcmp(f->remote, k->remote.b, sizeof(f->remote)) &&
		    !memcmp(f->local, k->local.b, sizeof(f->local)))
			return true;
	}
	return false;
}

/* The answer to its SYN came by another device, as each will: the kernel connects anew, from the
 * same port, with what Fast Open was given to send. */
static bool can_begin_anew(const struct sl_tconn *c)
{
	return sl_load(&c->tcp.state) == SL_TCP_SYN_SENT;
}

/* A connection in its handshake, or not accepted yet, is skipped: its segments will stray again. */
static void look_at_stray(struct sl_tconn *c, void *arg)
{
	struct strays *s = arg;
	struct sl_sock *sk = sl_load_acquire(&c->sk);

	if (c->dead || c->tcp.frozen || !is_stray(&c->tcp.node.key, s) ||
	    (sl_tconn_is_connecting(c) && !can_begin_anew(c)))
		return;
	if (!c->tcp.child)
		remember(&c->tcp.node.key);
	if (sk && sk->conn == c)
		sl_sock_kernel_of(sk, c, SL_REASON_STRAY);
	else if (!sk && c->tcp.orphan)
		sl_tconn_orphan_to_kernel(c);
	s->moved += c->dead || !sl_load(&c->sk);
}

uint32_t sl_strays_look(void)
{
	struct strays s = {0};
	struct sl_port *p;

	for (uint32_t i = 0; (p = sl_port_at(i)); i++) {
		unsigned told = 0;

		if (p->base || p->retired)
			continue;
		do {
			s.n = sl_broker_port_strays(p->info.ifindex, told, s.key, SL_STRAYS_TOLD);
			told += s.n;
			if (s.n)
				sl_tconn_for_each(look_at_stray, &s);
		} while (s.n == SL_STRAYS_TOLD && told < SL_MAX_STRAYS);
	}
	return s.moved;
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

static bool take_asked(struct sl_tcp_key *key)
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

static bool let_pass(struct sl_sock *sk, void *arg)
{
	const struct sl_tcp_key *key = arg;
	bool is;

	if (!sl_load(&sk->lsn) || sk->local_port != key->lport || !sl_lock(&sk->slow))
		return false;
	is = sk->lsn && sk->local_port == key->lport &&
	     (!sk->bound_addr || sl_addr_eq(&sk->local, &key->local));
	if (is)
		sl_tconn_let_pass(sk->lane, key, sk->fd);
	sl_unlock(&sk->slow);
	return is;
}

void sl_strays_let_pass(void)
{
	struct sl_tcp_key key;

	while (take_asked(&key))
		sl_sock_find(let_pass, &key);
}
