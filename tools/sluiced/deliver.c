/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's choice among sockets, for all packets of a claim at once.
 *
 * Theory of operation: for one packet the kernel looks among the sockets bound to the address, then
 * among those bound to none, and takes the one with the best score (udp4_lib_lookup2(),
 * udp6_lib_lookup2(), inet_lookup_listener()): a peer and a device count, and for IPv4 the family.
 * Among sockets with equal scores the kernel takes the one that was bound last, but does not show
 * the order. SO_INCOMING_CPU adds one point on one of the cores, and the kernel does not show it
 * either. So `own` must be ahead by more than that point. A packet to a group goes to all sockets
 * that match. */
#include "deliver.h"

#include <netinet/in.h>

#include "ctl/kern/diag_sock.h"

#define BOUND_POINTS 64 /* more than all others together */
#define CPU_POINTS   1

static bool takes_family(const struct sl_diag_sock *s, bool v4)
{
	if (s->family == AF_INET)
		return v4;
	if (!sl_addr_is_any(&s->local))
		return sl_addr_is_v4(&s->local) == v4;
	return !v4 || !s->v6only;
}

/* Whether the socket's address overlaps the claim's. Packets to a loopback address never come by a
 * device, so no claim covers them. */
static bool meets_local(const struct sl_deliver_claim *c, const struct sl_diag_sock *s)
{
	if (!takes_family(s, sl_addr_is_v4(&c->local)) || sl_addr_is_loopback(&s->local))
		return false;
	if (sl_addr_is_any(&s->local) || sl_addr_eq(&s->local, &c->local))
		return true;
	/* The claim of a wildcard covers the host's own addresses, but no groups. */
	return sl_addr_is_any(&c->local) && !sl_addr_is_multicast(&s->local);
}

static bool meets_remote(const struct sl_deliver_claim *c, const struct sl_diag_sock *s)
{
	return !s->remote_port || !c->remote_port ||
	       (s->remote_port == c->remote_port && sl_addr_eq(&s->remote, &c->remote));
}

bool sl_deliver_reaches(const struct sl_deliver_claim *c, const struct sl_diag_sock *s)
{
	if (s->ifindex && c->ifindex && s->ifindex != c->ifindex)
		return false;
	return meets_local(c, s) && meets_remote(c, s);
}

static unsigned points(const struct sl_deliver_claim *c, const struct sl_diag_sock *s)
{
	bool v4 = sl_addr_is_v4(&c->local);
	unsigned n = sl_addr_is_any(&s->local) ? 0 : BOUND_POINTS;

	if (s->remote_port)
		n += v4 ? 8 : 2;
	if (s->ifindex)
		n += v4 && c->proto == IPPROTO_UDP ? 4 : 1;
	if (v4)
		n += s->family == AF_INET ? 2 : 1;
	return n;
}

bool sl_deliver_prefers(const struct sl_deliver_claim *c, const struct sl_diag_sock *own,
			const struct sl_diag_sock *other)
{
	if (!sl_deliver_reaches(c, other))
		return false;
	/* Nothing comes to a socket that does not listen (yet). */
	if (c->proto == IPPROTO_TCP && own->state != SL_DIAG_LISTEN)
		return true;
	return c->to_all || points(c, own) <= points(c, other) + CPU_POINTS;
}
