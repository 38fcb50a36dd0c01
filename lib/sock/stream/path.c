/* SPDX-License-Identifier: BSD-2-Clause */
/* The path by which a connection sends: route, neighbour, leg and headers, cached with the
 * connection as UDP's are. Without a way out segments are lost, and the protocol sends them again.
 */
#include "sock/stream/path.h"

#include "base/heap.h"
#include "net/ipconf.h"
#include "stack/paces.h"

static void make_key(struct sl_route_key *key, const struct sl_tcp_key *k, uint32_t oif,
		     uint32_t mark, uint8_t tos)
{
	*key = (struct sl_route_key){
		.dst = k->remote,
		.src = k->local,
		.oif = oif,
		.mark = mark,
		.tos = tos,
	};
	sl_route_key_ports(key, IPPROTO_TCP, k->lport, k->rport);
}

/* By the mirror: without a neighbour each segment asks, and so does each SYN of a flood. */
static bool has_link(uint32_t ifindex)
{
	struct sl_link link;

	return !sl_link_get(ifindex, &link) || link.carrier_up;
}

/* The kernel resolves the neighbour meanwhile. It repeats a question once a second, and asks
 * nothing more when a link comes back: without a link it is not told, so that it asks at once then.
 */
static struct sl_dst *with_neigh(struct sl_dst *d)
{
	if (sl_unlikely(d->leg && !d->mac_ok && d->neigh) && has_link(d->route.ifindex))
		sl_neigh_use(d->neigh);
	return d;
}

struct sl_dst *sl_tconn_find_dst(struct sl_lane *lane, const struct sl_tcp_key *k, uint32_t oif,
				 uint32_t mark, uint8_t tos)
{
	struct sl_route_key key;

	make_key(&key, k, oif, mark, tos);
	return with_neigh(sl_lane_dst(lane, &key, sl_host_now_ns(lane->tcp)));
}

struct sl_dst *sl_tconn_find_back(struct sl_lane *lane, const struct sl_tcp_key *k, uint32_t oif,
				  uint32_t mark, uint8_t tos)
{
	struct sl_route_key key;

	make_key(&key, k, oif, mark, tos);
	return with_neigh(sl_lane_dst_alike(lane, &key, sl_host_now_ns(lane->tcp)));
}

void sl_tconn_make_headers(struct sl_tcp_hdr *hdr, const struct sl_dst *d,
			   const struct sl_tcp_key *k, const struct sl_tconn_look *look)
{
	const struct sl_leg *leg = d->leg;
	struct sl_udp_build b = {
		.vlan = d->vlan,
		.pcp = sl_port_pcp(leg->port, look->prio),
		.src = k->local,
		.dst = k->remote,
		.sport = k->lport,
		.dport = k->rport,
		.tos = look->tos,
		.ttl = look->ttl ? look->ttl : d->route.hoplimit,
		.df = look->df,
		.flowlabel =
			sl_ip_flow_label(IPPROTO_TCP, &k->local, &k->remote, k->lport, k->rport),
	};

	memcpy(b.smac, d->smac, 6);
	memcpy(b.dmac, d->dmac, 6);
	sl_build_tcp_hdr(hdr, &b);
}

struct sl_leg *sl_tconn_leg_of(const struct sl_dst *d)
{
	struct sl_leg *leg = d->mac_ok ? d->leg : NULL;

	return leg && !leg->dead ? leg : NULL;
}

void sl_tconn_make_path(struct sl_tconn *c)
{
	const struct sl_tcp_key *k = &c->tcp.node.key;
	struct sl_dst *d = sl_tconn_find_dst(c->lane, k, c->oif, c->mark, c->tcp.tos);
	struct sl_tconn_path *p = c->path ? c->path : sl_calloc(1, sizeof(*p));

	c->path = p;
	if (!p)
		return;
	c->tcp.awake = true;
	p->d = d;
	p->serial = d->serial;
	p->leg = c->coming ? NULL : sl_tconn_leg_of(d);
	if (p->leg) {
		sl_tconn_make_headers(&p->hdr, d, k,
				      &(struct sl_tconn_look){.prio = c->prio,
							      .tos = c->tcp.tos,
							      .ttl = c->ttl,
							      .df = c->special & SL_TCONN_DF &&
								    !d->route.mtu_locked});
		p->leg = sl_leg_by_prio(p->leg, c->prio);
	}
	if (p->leg && sl_unlikely(sl_load(&sl_paces_used)))
		sl_tconn_rate(c);
	if (p->leg)
		sl_tconn_pace(c);
}

void sl_tconn_rest(struct sl_tconn *c)
{
	sl_free(c->path);
	c->path = NULL;
}

struct sl_dst *sl_tconn_dst(struct sl_tconn *c)
{
	if (sl_tconn_path_fresh(c))
		return c->path->d;
	return sl_tconn_find_dst(c->lane, &c->tcp.node.key, c->oif, c->mark, c->tcp.tos);
}

struct sl_leg *sl_tconn_leg(struct sl_tconn *c)
{
	return sl_tconn_dst(c)->leg;
}
