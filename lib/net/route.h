/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirror of the kernel's links and addresses, by rtnetlink, and its answers about routes, so that
 * we route as the kernel does. The kernel is asked for each destination (RTM_GETROUTE), which makes
 * policy routing and overlapping subnets come out right. An answer is valid until the generation
 * changes. */
#ifndef SL_ROUTE_H
#define SL_ROUTE_H

#include "base/addr.h"
#include "base/base.h"

/* Raised by every event that may change an answer: routes, rules, addresses, links. A cached
 * sl_route is valid while its gen equals this. Read with sl_load(). */
extern uint32_t sl_route_gen;
/* Grows when the kernel's settings of devices (net.ipv4.conf, rp_filter among them) change. */
extern uint32_t sl_netconf_gen;

enum sl_route_kind {
	SL_ROUTE_DEVICE,      /* unicast out of a device */
	SL_ROUTE_MULTICAST,   /* multicast out of a device, no local member */
	SL_ROUTE_LOCAL,       /* this host, or multicast with local members: left to the kernel */
	SL_ROUTE_BROADCAST,   /* left to the kernel */
	SL_ROUTE_UNREACHABLE, /* refused by the kernel, with the errno in error */
	SL_ROUTE_OTHER, /* encapsulated (MPLS, lwtunnel), multipath by hash: left to the kernel */
};

struct sl_route_key {
	struct sl_addr dst;
	struct sl_addr src; /* any: the kernel chooses */
	uint32_t oif;       /* SO_BINDTODEVICE, IP_MULTICAST_IF, scope id; 0: any */
	uint8_t tos;
	uint32_t mark;
	bool mc_noloop; /* the user wants no local copies of multicast; not sent to the kernel */
	/* For policy rules that look at protocol or ports; all 0 if there is no such rule (set them
	 * by sl_route_key_ports()), so that flows with different ports share an answer. */
	uint8_t proto;
	uint16_t sport, dport; /* host order; 0: not known yet */
};

/* Inline: a lane compares keys for each packet to another destination than the last. */
static inline bool sl_route_key_eq(const struct sl_route_key *a, const struct sl_route_key *b)
{
	return sl_addr_eq(&a->dst, &b->dst) && sl_addr_eq(&a->src, &b->src) && a->oif == b->oif &&
	       a->tos == b->tos && a->mark == b->mark && a->mc_noloop == b->mc_noloop &&
	       a->proto == b->proto && a->sport == b->sport && a->dport == b->dport;
}

/* True: this host has, or has had, a policy rule that looks at the protocol or at ports. */
extern bool sl_route_by_port;

static inline void sl_route_key_ports(struct sl_route_key *key, uint8_t proto, uint16_t sport,
				      uint16_t dport)
{
	if (sl_likely(!sl_load(&sl_route_by_port)))
		return;
	key->proto = proto;
	key->sport = sport;
	key->dport = dport;
}

/* Metrics of a route that TCP alone reads (ip-route(8)); 0: the route sets none. */
struct sl_route_tcp {
	uint32_t window;     /* RTAX_WINDOW: the most to announce, bytes */
	uint32_t rto_min_ms; /* RTAX_RTO_MIN, which counts only if it is locked */
	uint32_t cwnd_most;  /* RTAX_CWND, likewise: the congestion window grows no further */
	uint32_t ssthresh;   /* segments */
	uint32_t rtt_us;
	uint32_t reordering;
	uint8_t init_cwnd, init_rwnd; /* segments */
	bool quickack;                /* every ACK is sent at once */
	bool ecn;                     /* RTAX_FEATURE_ECN: ECN is asked for and granted */
	bool tfo_no_cookie;           /* Fast Open without cookies, both ways */
	char congestion[16];          /* RTAX_CC_ALGO, "": the route names none */
};

struct sl_route {
	uint32_t gen; /* value of sl_route_gen when the kernel was asked */
	enum sl_route_kind kind;
	int error; /* -errno for SL_ROUTE_UNREACHABLE */
	uint32_t ifindex;
	uint32_t mtu;     /* path MTU: of the route, an exception or the link */
	uint8_t hoplimit; /* the route's, else the machine's or device's */
	uint16_t adv_mss; /* RTAX_ADVMSS, 0: as the MTU allows */
	bool is_own;      /* an exception for this destination alone: a redirect, a path MTU */
	bool mtu_locked;  /* IPv4: no router's report changes the MTU, and routers may fragment */
	bool has_tcp;     /* any field of tcp is set */
	struct sl_route_tcp tcp;
	struct sl_addr src;     /* source address the kernel would choose */
	struct sl_addr nexthop; /* gateway, or the destination itself */
};

/* A VLAN device's egress-qos-map: the priority in the tag (PCP) by a packet's priority. Priorities
 * without an entry have PCP 0. */
#define SL_EGRESS_MOST 32
struct sl_egress {
	uint32_t n; /* entries that the device has; beyond SL_EGRESS_MOST they are not here */
	uint32_t prio[SL_EGRESS_MOST];
	uint8_t pcp[SL_EGRESS_MOST];
};

/* The PCP of a packet with this priority, as vlan_dev_get_egress_qos_mask(). */
static inline uint8_t sl_egress_pcp(const struct sl_egress *e, uint32_t prio)
{
	for (uint32_t i = 0; i < e->n && i < SL_EGRESS_MOST; i++)
		if (e->prio[i] == prio)
			return e->pcp[i];
	return 0;
}

/* How a VXLAN device wraps its packets. */
struct sl_vxlan_out {
	uint8_t local[16];           /* source; unset: the route's */
	uint32_t label;              /* flow label of IPv6, host order */
	uint16_t port;               /* destination, unless the fdb has another; host order */
	uint16_t port_min, port_max; /* sources; none: of the machine's range */
	uint8_t ttl;                 /* 0: the route's */
	uint8_t tos;                 /* SL_VXLAN_TOS_INNER: that of the inner packet */
	uint8_t df;                  /* enum ifla_vxlan_df */
	uint8_t flags;               /* SL_VXLAN_OUT_* */
};
#define SL_VXLAN_TOS_INNER  1
#define SL_VXLAN_OUT_LOCAL  (1u << 0) /* local is set */
#define SL_VXLAN_OUT_TTL    (1u << 1) /* the TTL is that of the inner packet */
#define SL_VXLAN_OUT_SUM4   (1u << 2) /* with checksum over IPv4 */
#define SL_VXLAN_OUT_SUM6   (1u << 3) /* and over IPv6 */
#define SL_VXLAN_OUT_RSC    (1u << 4) /* the kernel changes inner frames to routers */
#define SL_VXLAN_OUT_REMSUM (1u << 5) /* remote checksum offload */
#define SL_VXLAN_OUT_LEARNS                                                                        \
	(1u << 6) /* the fdb learns: a fixed entry binds its station to a host */

/* A device as the kernel describes it. */
struct sl_link {
	uint32_t ifindex;
	char name[16];
	uint32_t mtu;
	uint32_t flags; /* IFF_* */
	uint8_t mac[6];
	uint16_t type;   /* ARPHRD_* */
	uint32_t lower;  /* IFLA_LINK, the device below; 0: none, a veth, or in another namespace */
	uint32_t master; /* IFLA_MASTER, 0: none */
	char kind[16];   /* IFLA_INFO_KIND: "veth", "vlan"...; "" for hardware */
	/* kind "vlan": the tag as in the steering maps (SL_VLAN_AD) */
	uint16_t vlan_tag;
	uint32_t vni_after; /* kind "vxlan": its VNI + 1; 0: it has none of its own */
	struct sl_vxlan_out vxlan;
	struct sl_egress egress;
	uint32_t carrier_up;
	uint32_t xdp_id; /* id of the XDP program on the device, 0: none */
	bool no_qdisc;   /* as last reported: the device has no queueing discipline */
};

/* Callbacks of the mirror, run by the keeper with no lock of the mirror held. An address also
 * counts as gone when its device goes down. It may be on another device too: ask
 * sl_addr_is_local() before you forget it. */
struct sl_net_events {
	void (*link_changed)(const struct sl_link *link, bool gone);
	void (*addr_changed)(uint32_t ifindex, const struct sl_addr *addr, bool gone);
	/* A device that is part of another one (its master) has lost its link, or has gone. */
	void (*part_gone)(const struct sl_link *part, uint32_t master);
};

/* Opens the sockets and reads the state (without callbacks: use the for-each calls). 0 or -errno.
 * Call in the network namespace to mirror; again only after sl_net_close(). */
int sl_net_open(const struct sl_net_events *events);
/* Closes the sockets and forgets the state; later questions return -ENOTCONN. */
void sl_net_close(void);
/* In a child of fork: forgets the state and closes the descriptors. */
void sl_net_child(void);
/* Descriptor to watch for EPOLLIN, and the function that reads all that is there. ENOBUFS from the
 * kernel makes it read the whole state again. */
int sl_net_fd(void);
void sl_net_on_readable(void);
/* Reads what is there, too, but leaves the events of a storm (storm.c) for the job below; the
 * thread that calls it must run that job. The second function says when. */
void sl_net_on_wake(void);
void sl_net_storm(uint64_t now_ns);
uint64_t sl_net_storm_ns(uint64_t now_ns, bool quiet);

/* Asks the kernel (one system call round trip, more for IPv6; any thread). 0 or -errno if it could
 * not be asked (-EDEADLK: a signal handler interrupted another question of the thread, -EAGAIN:
 * the answer names a device not yet mirrored, -ENOTCONN: not open, -EINVAL: families mixed). If
 * routing refuses the destination it returns 0 with kind SL_ROUTE_UNREACHABLE.
 * The kernel reports no event when a path MTU exception is made or expires, when a device's own
 * IPv6 MTU changes, nor (before Linux 6.14) when a group is joined: ask again by age, and after
 * EMSGSIZE. The kernel may hold its configuration lock (rtnl) for milliseconds meanwhile. */
int sl_route_get(const struct sl_route_key *key, struct sl_route *out);

/* Like sl_route_get(), for callers that ask for each connection: reuses an answer that is less than
 * a second old, also one to another caller, unless an event of the mirror has made it stale. */
int sl_route_recall(const struct sl_route_key *key, uint64_t now_ns, struct sl_route *out);

/* Copies the mirrored state of a device. False: there is no such device. Any thread. */
bool sl_link_get(uint32_t ifindex, struct sl_link *out);
/* True: the device has a link now. Asks the kernel, since its event may come up to a second later.
 * Any thread. */
bool sl_link_has_carrier(uint32_t ifindex);
/* True: an address of this host, on a device that is up, and not tentative. Includes 127.0.0.0/8,
 * but not ranges of the table `local`, which sl_route_get() knows. Any thread. */
bool sl_addr_is_local(const struct sl_addr *addr);
/* Call fn for each device that is up, and for each local address on it; stop when fn returns false.
 * fn is called without a lock. Any thread. */
void sl_link_for_each(bool (*fn)(const struct sl_link *link, void *arg), void *arg);
void sl_local_for_each(bool (*fn)(uint32_t ifindex, const struct sl_addr *addr, void *arg),
		       void *arg);

#endif
