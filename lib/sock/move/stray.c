/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections whose segments the kernel gets, since the peer sends them to another device of
 * this host, or in fragments.
 *
 * Theory of operation: the guards of the steering program hold the resets back that the kernel
 * would send, and note whose they are (bpf/reset.bpf.h). The keeper asks for them, and gives those
 * connections to the kernel, which can take them from anywhere. That takes seconds, so for a while
 * what connects to the same peer is the kernel's at once.
 *
 * Such segments can be forged by anybody who knows addresses and ports. A connection moves only
 * when segments that its peer can have sent reached the kernel twice, some time apart: a peer
 * acknowledges all it has, so no less than what we know that it has, and no more than we have sent.
 * The keeper looks a while after they came, and the connection may have gone on meanwhile; so it
 * notes what had been acknowledged when it looked before. While a connection rests one number of
 * 2^32 moves it.
 *
 * The reverse happens, too: a peer connects to us by an offloaded device, while the way back leads
 * over a device that is not offloaded. The keeper lets the flow pass to the kernel's listener,
 * which gets the SYN when the peer sends it again. */
#include "base/clock.h"
#include "base/hash.h"
#include "net/rtnl.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/port.h"

/* Belief ----------------------------------------------------------------------------------------
 */

/* Times here are in units of 2^SL_STRAY_TICK ns, about a ms, modulo 2^32. */
#define APART     48     /* between segments that are no accident (ctl/claim/stray.c: STRAY_NS) */
#define FRESH     2861   /* 3 s: the last segment is no older */
#define FORGOTTEN 114441 /* 2 min: no peer waits longer before it sends again (RFC 6298) */

/* Reported flows: what their peers had acknowledged when the keeper looked. Each flow has one
 * place, by a keyed hash. The keeper's. */
#define SEEN 256
static struct seen {
	uint64_t hash;
	uint32_t at, una; /* when it was looked at, and snd_una then */
	uint32_t first;   /* when the first segment came that the peer can have sent */
	bool any;         /* there was one */
} seen[SEEN];
static struct sl_hash_key *seen_key;
static uint32_t since; /* what strayed before does not count; the keeper's */

static uint32_t tick(void)
{
	return (uint32_t)(sl_now_ns() >> SL_STRAY_TICK);
}

static uint64_t hash_of(const struct sl_tcp_key *k)
{
	const struct sl_hash_key *key = sl_hash_key_get(&seen_key);
	uint32_t h = sl_hash_addr(key, (uint32_t)k->lport << 16 | k->rport, &k->local);

	return (uint64_t)sl_hash_addr(key, h, &k->remote) << 32 |
	       sl_hash_addr(key, h ^ 1, &k->remote);
}

static struct seen *seen_of(const struct sl_tcp *c, uint32_t now, uint32_t una)
{
	struct seen *s;
	uint64_t hash;

	hash = hash_of(&c->node.key);
	s = &seen[hash >> 32 & (SEEN - 1)];
	if (s->hash != hash || now - s->at > FORGOTTEN)
		*s = (struct seen){.hash = hash, .at = now, .una = una};
	return s;
}

/* The kernel may have got segments until now for lack of a claim on a device that has just come. */
void sl_strays_forget(void)
{
	since = tick();
	for (unsigned i = 0; i < SEEN; i++)
		seen[i].any = false;
}

/* True: segments that the peer can have sent reach the kernel again and again. */
static bool is_peers(const struct sl_tcp *c, const struct sl_stray_told *told)
{
	uint32_t now = tick(), una = sl_load(&c->snd_una), last = 0;
	struct seen *s = seen_of(c, now, una);
	bool any = false;

	for (uint32_t i = 0; i < told->n; i++) {
		const struct sl_stray_note *n = &told->note[i];
		bool later = (int32_t)(n->at - s->at) >= 0;

		if (sl_seq_gt(n->seq, sl_load(&c->snd_nxt)) ||
		    sl_seq_lt(n->seq, later ? s->una : una) || n->seq == c->iss ||
		    (int32_t)(n->at - since) < 0)
			continue;
		if (!s->any || (int32_t)(n->at - s->first) < 0)
			s->first = n->at;
		if (!any || (int32_t)(n->at - last) > 0)
			last = n->at;
		any = s->any = true;
	}
	s->at = now;
	s->una = una;
	return any && now - last <= FRESH && last - s->first >= APART;
}

/* Connections -----------------------------------------------------------------------------------
 */

struct strays {
	struct sl_stray_told told[SL_STRAYS_TOLD];
	unsigned n;
	uint32_t moved;
};

static bool is_stray(const struct sl_tcp *c, const struct strays *s)
{
	const struct sl_tcp_key *k = &c->node.key;

	for (unsigned i = 0; i < s->n; i++) {
		const struct sl_flow_key *f = &s->told[i].key;

		if (f->local_port == k->lport && f->remote_port == k->rport &&
		    !memcmp(f->remote, k->remote.b, sizeof(f->remote)) &&
		    !memcmp(f->local, k->local.b, sizeof(f->local)))
			return is_peers(c, &s->told[i]);
	}
	return false;
}

/* True: the answer to our SYN came by another device, as each later one will. The kernel can then
 * connect anew, from the same port, with the data of Fast Open. */
static bool can_begin_anew(const struct sl_tconn *c)
{
	return sl_load(&c->tcp.state) == SL_TCP_SYN_SENT;
}

/* A connection in its handshake, or not accepted yet, is skipped: its segments will stray again. */
static void look_at_stray(struct sl_tconn *c, void *arg)
{
	struct strays *s = arg;
	struct sl_sock *sk = sl_load_acquire(&c->sk);

	if (c->dead || c->tcp.frozen || !is_stray(&c->tcp, s) ||
	    (sl_tconn_is_connecting(c) && !can_begin_anew(c)))
		return;
	if (!c->tcp.child)
		sl_strays_remember(&c->tcp.node.key);
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
			s.n = sl_broker_port_strays(p->info.ifindex, told, s.told, SL_STRAYS_TOLD);
			told += s.n;
			if (s.n)
				sl_tconn_for_each(look_at_stray, &s);
		} while (s.n == SL_STRAYS_TOLD && told < SL_MAX_STRAYS);
	}
	return s.moved;
}

/* Peers that have no way back -------------------------------------------------------------------
 */

static bool let_sock_pass(struct sl_sock *sk, void *arg)
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

	while (sl_strays_take_asked(&key))
		sl_sock_find(let_sock_pass, &key);
}
