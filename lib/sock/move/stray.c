/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections whose segments the kernel gets, since the peer sends them to another device of
 * this host, or in fragments.
 *
 * Theory of operation: the guards of the steering program hold the resets back that the kernel
 * would send, and note whose they are (bpf/reset.bpf.h). The keeper asks for them, and gives those
 * connections to the kernel, which can take them from anywhere. That takes seconds, so for a while
 * what connects to the same peer is the kernel's at once.
 *
 * The reverse happens, too: a peer connects to us by an offloaded device, while the way back leads
 * over a device that is not offloaded. The keeper lets the flow pass to the kernel's listener,
 * which gets the SYN when the peer sends it again. */
#include "base/clock.h"
#include "net/rtnl.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/move/move.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/port.h"

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

	if (c->dead || c->tcp.frozen || !is_stray(&c->tcp.node.key, s) ||
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

	while (sl_strays_take_asked(&key))
		sl_sock_find(let_pass, &key);
}
