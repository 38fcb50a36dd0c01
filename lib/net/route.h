/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes, links and addresses of the kernel, mirrored by rtnetlink: "routing is the same as the
 * OS routing". Destinations are asked of the kernel one by one (RTM_GETROUTE), so policy routing
 * and twin subnets come out right; what was answered holds until the generation changes. */
#ifndef SL_ROUTE_H
#define SL_ROUTE_H

#include "base/addr.h"
#include "base/base.h"

/* Raised by every event that may change an answer: routes, rules, addresses, links. A cached
 * sl_route is good while its gen equals this. Read with sl_load(). */
extern uint32_t sl_route_gen;

enum sl_route_kind {
	SL_ROUTE_DEVICE,      /* unicast out of a device */
	SL_ROUTE_MULTICAST,   /* multicast out of a device, no local member */
	SL_ROUTE_LOCAL,       /* this host, or multicast that has local members: the kernel's */
	SL_ROUTE_BROADCAST,   /* the kernel's */
	SL_ROUTE_UNREACHABLE, /* error says with which errno the kernel refuses */
	SL_ROUTE_OTHER,       /* encapsulated (MPLS, lwtunnel), multipath by hash: the kernel's */
};

struct sl_route_key {
	struct sl_addr dst;
	struct sl_addr src; /* any: let the kernel choose */
	uint32_t oif;       /* SO_BINDTODEVICE, IP_MULTICAST_IF, scope id; 0: any */
	uint8_t tos;
	uint32_t mark;
	bool mc_noloop; /* the user does not want local copies of multicast; not asked of the kernel
			 */
};

struct sl_route {
	uint32_t gen; /* sl_route_gen when it was asked */
	enum sl_route_kind kind;
	int error; /* -errno for SL_ROUTE_UNREACHABLE */
	uint32_t ifindex;
	uint32_t mtu;           /* path MTU: the route's, exception's or the link's */
	uint8_t hoplimit;       /* the route's, or the machine's or device's */
	uint8_t init_cwnd;      /* RTAX_INITCWND, 0: the default */
	uint16_t adv_mss;       /* RTAX_ADVMSS, 0: what the MTU allows */
	struct sl_addr src;     /* source address the kernel would choose */
	struct sl_addr nexthop; /* gateway, or the destination itself */
};

/* A device as the kernel describes it. */
struct sl_link {
	uint32_t ifindex;
	char name[16];
	uint32_t mtu;
	uint32_t flags; /* IFF_* */
	uint8_t mac[6];
	uint16_t type;   /* ARPHRD_* */
	uint32_t lower;  /* IFLA_LINK, 0: none (as for a veth, where it is the peer) */
	uint32_t master; /* IFLA_MASTER, 0: none */
	char kind[16];   /* IFLA_INFO_KIND: "veth", "vlan"...; "" for hardware */
	/* kind "vlan": its tag as the steering maps have it (SL_VLAN_AD), and has it a map from
	 * priorities to those of the tag? */
	uint16_t vlan_tag;
	uint16_t vlan_qos;
	uint32_t carrier_up;
	uint32_t xdp_id; /* of the program that the device runs, 0: none */
	bool no_qdisc;   /* as far as it was known when the device changed last */
};

/* What the mirror tells upward, from the keeper's thread, with no lock of the mirror held. An
 * address is gone when its device goes down, too. It may be on several devices: ask
 * sl_addr_is_local() before it is forgotten. */
struct sl_net_events {
	void (*link_changed)(const struct sl_link *link, bool gone);
	void (*addr_changed)(uint32_t ifindex, const struct sl_addr *addr, bool gone);
};

/* Opens the sockets, dumps the state (without callbacks: see the for-each calls). Returns 0 or
 * -errno. Once; in the network namespace of the calling thread. */
int sl_net_open(const struct sl_net_events *events);
void sl_net_close(void);
/* After fork, in the child: forget, close the descriptors. */
void sl_net_child(void);
/* Descriptor to watch for EPOLLIN, and what to call then (keeper's thread). ENOBUFS from the
 * kernel leads to a new dump. */
int sl_net_fd(void);
void sl_net_on_readable(void);

/* Asks the kernel (one system call round trip, more for IPv6; any thread). 0 or -errno if it could
 * not be asked (-EDEADLK: from a signal handler inside another question of the thread, -EAGAIN:
 * by a device too new to be mirrored, -ENOTCONN: not open, -EINVAL: families mixed); a refusal by
 * the routing itself is 0 with kind SL_ROUTE_UNREACHABLE.
 * The kernel tells of no event when a path MTU exception is made or expires, when IPv6's own MTU
 * of a device changes, nor (before Linux 6.14) when a group is joined: ask again by age, and
 * after EMSGSIZE. The kernel may hold its configuration lock (rtnl) for milliseconds meanwhile. */
int sl_route_get(const struct sl_route_key *key, struct sl_route *out);

/* The same for who asks for each connection: what was asked within the last second, by anyone, is
 * not asked again while no event of the mirror has made it stale. */
int sl_route_recall(const struct sl_route_key *key, uint64_t now_ns, struct sl_route *out);

/* Copies the mirrored state; false if there is no such device. Any thread. */
bool sl_link_get(uint32_t ifindex, struct sl_link *out);
/* Has it a link just now? Asks the kernel, whose event of it comes up to a second later. Any
 * thread. */
bool sl_link_has_carrier(uint32_t ifindex);
/* Is it an address of this host, on a device that is up, and not tentative? (127.0.0.0/8 is;
 * ranges of the table `local` are not: sl_route_get() knows them.) Any thread. */
bool sl_addr_is_local(const struct sl_addr *addr);
/* Calls fn for each device that is up and each local address on it; stops when fn is false. */
void sl_link_for_each(bool (*fn)(const struct sl_link *link, void *arg), void *arg);
void sl_local_for_each(bool (*fn)(uint32_t ifindex, const struct sl_addr *addr, void *arg),
		       void *arg);

#endif
