/* SPDX-License-Identifier: BSD-2-Clause */
/* The path by which a connection sends. Lane held. */
#ifndef SL_STREAM_PATH_H
#define SL_STREAM_PATH_H

#include "sock/stream/tconn.h"

static inline uint64_t sl_host_now_ns(const struct sl_tcp_host *h)
{
	return h->now_us * 1000;
}

static inline uint32_t sl_tconn_child_oif(const struct sl_sock *sk, uint32_t scope)
{
	return sk->bound_if ? sk->bound_if : scope;
}

static inline bool sl_tconn_path_fresh(const struct sl_tconn *c)
{
	const struct sl_tconn_path *p = c->path;

	return p && p->d->serial == p->serial && sl_dst_fresh(p->d, sl_host_now_ns(c->tcp.host)) &&
	       p->leg && !p->leg->dead;
}

/* The lane's destination for a flow; the kernel resolves the neighbour meanwhile, if need be. */
struct sl_dst *sl_tconn_find_dst(struct sl_lane *lane, const struct sl_tcp_key *k, uint32_t oif,
				 uint32_t mark, uint8_t tos);
/* Like that, for the answer to a SYN, or to a stray segment: many do not cost a question each. */
struct sl_dst *sl_tconn_find_back(struct sl_lane *lane, const struct sl_tcp_key *k, uint32_t oif,
				  uint32_t mark, uint8_t tos);
/* The leg to send by; NULL: there is no way out now. */
struct sl_leg *sl_tconn_leg_of(const struct sl_dst *d);
/* Fields of a connection's packets that its socket's options set. */
struct sl_tconn_look {
	uint8_t prio, tos, ttl; /* as in struct sl_sock; ttl 0: the route's */
	bool df;
};
/* Headers of segments to d, which has a leg. */
void sl_tconn_make_headers(struct sl_tcp_hdr *hdr, const struct sl_dst *d,
			   const struct sl_tcp_key *k, const struct sl_tconn_look *look);
/* Makes the connection's path anew; c->path is NULL without memory. */
void sl_tconn_make_path(struct sl_tconn *c);

#endif
