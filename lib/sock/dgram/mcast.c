/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast: memberships and the fan-out of one packet to several sockets.
 *
 * Theory of operation: the kernel joins on the shadow and speaks IGMP and MLD. What it accepted is
 * read back from it (MCAST_MSFILTER), so filters are never computed twice. A fan is a claim on
 * (group, port, device): its packets come to one lane, and each socket of the process that the
 * kernel would have given a copy gets one: members by their source filter, others bound to the
 * wildcard by IP_MULTICAST_ALL. As long as another program of the host would get copies, too,
 * the fan claims nothing and the kernel serves everybody. */
#include <errno.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/kern/diag.h"
#include "net/ipconf.h"
#include "sluice.h"
#include "sock/core/endpoint.h"
#include "sock/core/life.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "sock/dgram/dgram.h"
#include "sock/dgram/fan.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/restart.h"

#define FIRST_SOURCES 16
#define MAX_SOURCES   (1u << 20) /* (more than igmp_max_msf and mld_max_msf allow) */
#define FIRST_FAN     8
#define MAX_FAN       (1u << 15) /* each may hold a reference to one frame, which counts to 2^16 */

/* A socket's membership of a group, as the kernel reports it. */
struct sl_member {
	struct sl_member *next;
	struct sl_addr group;
	uint32_t ifindex;
	bool exclude; /* the listed sources, or: include them alone */
	uint32_t nsources;
	struct sl_addr source[]; /* sorted */
};

struct sl_lock sl_fans_lock;
struct sl_list sl_fans = {&sl_fans, &sl_fans};

/* Which options are memberships ---------------------------------------------------------------- */

bool sl_mcast_is_membership(int level, int name)
{
	if (level == IPPROTO_IP)
		return (name >= IP_ADD_MEMBERSHIP && name <= IP_DROP_SOURCE_MEMBERSHIP) ||
		       name == IP_MSFILTER || (name >= MCAST_JOIN_GROUP && name <= MCAST_MSFILTER);
	return level == IPPROTO_IPV6 && (name == IPV6_JOIN_GROUP || name == IPV6_LEAVE_GROUP ||
					 (name >= MCAST_JOIN_GROUP && name <= MCAST_MSFILTER));
}

static uint32_t device_of_v4(uint32_t be_addr, const struct sl_addr *group)
{
	struct sl_addr a = sl_addr_v4(be_addr);
	struct sl_route_key key = {.dst = *group, .src = sl_addr_v4(0)};
	struct sl_route route;

	if (be_addr)
		return sl_device_of_addr(&a);
	return sl_route_get(&key, &route) == 0 ? route.ifindex : 0; /* ip_mc_find_dev() */
}

static bool target_ip(int name, const void *val, socklen_t len, struct sl_addr *group,
		      uint32_t *ifindex)
{
	struct ip_mreqn mn = {0};
	struct ip_mreq_source ms;

	if (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP) {
		memcpy(&mn, val, sl_min((size_t)len, sizeof(mn)));
		*group = sl_addr_v4(mn.imr_multiaddr.s_addr);
		*ifindex = mn.imr_ifindex ? (uint32_t)mn.imr_ifindex
					  : device_of_v4(mn.imr_address.s_addr, group);
		return true;
	}
	if (name == IP_MSFILTER || len < sizeof(ms)) {
		struct ip_msfilter f;

		if (name != IP_MSFILTER || len < sizeof(f))
			return false;
		memcpy(&f, val, sizeof(f));
		*group = sl_addr_v4(f.imsf_multiaddr.s_addr);
		*ifindex = device_of_v4(f.imsf_interface.s_addr, group);
		return true;
	}
	memcpy(&ms, val, sizeof(ms));
	*group = sl_addr_v4(ms.imr_multiaddr.s_addr);
	*ifindex = device_of_v4(ms.imr_interface.s_addr, group);
	return true;
}

/* Reads the group and the device from a membership option's value. */
static bool target(int level, int name, const void *val, socklen_t len, struct sl_addr *group,
		   uint32_t *ifindex)
{
	struct ipv6_mreq m6;
	struct group_req gr; /* group_source_req and group_filter begin alike */
	uint16_t port;
	uint32_t scope;

	if (name >= MCAST_JOIN_GROUP && name <= MCAST_MSFILTER) {
		if (len < sizeof(gr))
			return false;
		memcpy(&gr, val, sizeof(gr));
		*ifindex = gr.gr_interface;
		if (sl_addr_from_sockaddr((struct sockaddr *)&gr.gr_group, sizeof(gr.gr_group),
					  group, &port, &scope) < 0)
			return false;
	} else if (level == IPPROTO_IPV6) {
		if (len < sizeof(m6))
			return false;
		memcpy(&m6, val, sizeof(m6));
		*group = sl_addr_v6(&m6.ipv6mr_multiaddr);
		*ifindex = m6.ipv6mr_interface;
	} else if (!target_ip(name, val, len, group, ifindex)) {
		return false;
	}
	if (*ifindex == 0) {
		struct sl_route_key key = {.dst = *group};
		struct sl_route route;

		if (sl_addr_is_v4(group))
			key.src = sl_addr_v4(0);
		if (sl_route_get(&key, &route) == 0)
			*ifindex = route.ifindex;
	}
	return *ifindex != 0;
}

/* Memberships ---------------------------------------------------------------------------------- */

static struct sl_member **find_member(struct sl_sock *sk, const struct sl_addr *group,
				      uint32_t ifindex)
{
	struct sl_member **m = &sl_udp_sk(sk)->members;

	while (*m && !((*m)->ifindex == ifindex && sl_addr_eq(&(*m)->group, group)))
		m = &(*m)->next;
	return m;
}

/* The filter with room for so many sources; f->gf_numsrc is how many the kernel has. NULL: the
 * socket is no member, or there is no memory. The caller frees it. */
static struct group_filter *ask_filter(const struct sl_sock *sk, const struct sl_addr *group,
				       uint32_t ifindex, uint32_t room)
{
	socklen_t len = (socklen_t)GROUP_FILTER_SIZE(room), slen;
	struct group_filter *f = sl_calloc(1, len);
	bool v4 = sl_addr_is_v4(group);

	if (!f)
		return NULL;
	slen = sizeof(f->gf_group);
	f->gf_interface = ifindex;
	sl_addr_to_sockaddr(group, 0, 0, v4 ? AF_INET : AF_INET6, (struct sockaddr *)&f->gf_group,
			    &slen);
	f->gf_numsrc = room;
	if (!sl_sys_getsockopt(sk->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, MCAST_MSFILTER, f, &len))
		return f;
	sl_free(f);
	return NULL;
}

static struct group_filter *whole_filter(const struct sl_sock *sk, const struct sl_addr *group,
					 uint32_t ifindex)
{
	uint32_t room = FIRST_SOURCES;
	struct group_filter *f = ask_filter(sk, group, ifindex, room);

	while (f && f->gf_numsrc > room) {
		room = f->gf_numsrc;
		sl_free(f);
		f = room <= MAX_SOURCES ? ask_filter(sk, group, ifindex, room) : NULL;
	}
	return f;
}

/* Puts a source into its place of the sorted ones. */
static void add_source(struct sl_member *m, const struct sl_addr *a)
{
	uint32_t i = m->nsources++;

	for (; i && memcmp(&m->source[i - 1], a, sizeof(*a)) > 0; i--)
		m->source[i] = m->source[i - 1];
	m->source[i] = *a;
}

/* Asks the kernel for the filter in force. NULL: not a member (any more). */
static struct sl_member *read_filter(const struct sl_sock *sk, const struct sl_addr *group,
				     uint32_t ifindex)
{
	struct group_filter *f = whole_filter(sk, group, ifindex);
	struct sl_member *m = NULL;
	struct sl_addr source;
	uint32_t scope;
	uint16_t port;

	if (f && (f->gf_fmode == MCAST_EXCLUDE || f->gf_numsrc))
		m = sl_calloc(1, sizeof(*m) + f->gf_numsrc * sizeof(m->source[0]));
	if (!m) {
		sl_free(f);
		return NULL;
	}
	m->group = *group;
	m->ifindex = ifindex;
	m->exclude = f->gf_fmode == MCAST_EXCLUDE;
	for (uint32_t i = 0; i < f->gf_numsrc; i++)
		if (sl_addr_from_sockaddr((struct sockaddr *)&f->gf_slist[i],
					  sizeof(f->gf_slist[i]), &source, &port, &scope) == 0)
			add_source(m, &source);
	sl_free(f);
	return m;
}

static void show_groups(struct sl_sock *sk)
{
	uint32_t n = 0;

	for (const struct sl_member *m = sl_udp_sk(sk)->members; m; m = m->next, n++)
		if (n < sl_array_len(sk->stats->group))
			sk->stats->group[n] = m->group;
	sk->stats->ngroups = n;
}

/* Fan-out -------------------------------------------------------------------------------------- */

static bool has_source(const struct sl_member *m, const struct sl_addr *src)
{
	uint32_t from = 0, to = m->nsources;

	while (from < to) {
		uint32_t i = (from + to) / 2;
		int order = memcmp(&m->source[i], src, sizeof(*src));

		if (!order)
			return true;
		if (order < 0)
			from = i + 1;
		else
			to = i;
	}
	return false;
}

/* ip_mc_sf_allow() of the kernel. */
static bool wants_packet(struct sl_sock *sk, const struct sl_fan *f, const struct sl_addr *src)
{
	const struct sl_member *m = *find_member(sk, &f->group, f->ifindex);

	if (!m)
		return sl_udp_sk(sk)->mc_all;
	return has_source(m, src) != m->exclude;
}

/* Handler of SL_SLOT_FAN; the fan's lane is held. */
static bool fan_input(void *obj, struct sl_in *in)
{
	struct sl_fan *f = obj;
	struct sl_addr src;

	if (sl_unlikely(sl_load(&f->lane) != in->lane)) { /* see sl_udp_input() */
		if (f->moved)
			sl_lane_cross(in->lane, sl_load(&f->lane), f->slot, in,
				      sl_load(&f->moving));
		else
			in->stats->rx_stale++;
		return false;
	}
	sl_pkt_saddr(&in->pkt, &src);
	for (uint32_t i = 0; i < f->nsocks; i++) {
		struct sl_sock *sk = f->sock[i];
		struct sl_lane *lane = sl_load_acquire(&sk->lane);

		if (!wants_packet(sk, f, &src))
			continue;
		if (lane != in->lane) {
			sl_lane_cross(in->lane, lane, sk->slot, in, false);
			continue;
		}
		sl_in_ref(in);
		if (!sl_udp_input(&sl_udp_sk(sk)->udp, in))
			sl_in_put(in);
	}
	return false; /* each copy holds a reference of its own */
}

void sl_mcast_init(void)
{
	sl_in_register(SL_SLOT_FAN, fan_input);
}

void sl_mcast_child(void)
{
	memset(&sl_fans_lock, 0, sizeof(sl_fans_lock));
	sl_list_init(&sl_fans);
}

static struct sl_fan *find_fan(const struct sl_addr *group, uint16_t port, uint32_t ifindex)
{
	sl_list_for_each (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (f->port == port && f->ifindex == ifindex && sl_addr_eq(&f->group, group))
			return f;
	}
	return NULL;
}

/* The kernel speaks IGMP. Held to an old version it cannot tell routers what the socket wants. */
static void look_at_igmp(const struct sl_member *m, const char *device)
{
	uint8_t version;

	if (!sl_addr_is_v4(&m->group) || sl_settings.suppress_igmp_warning)
		return;
	version = sl_ip_igmp_version(device);
	if (version == 1)
		sl_warn_once("mcast",
			     "%s is held to IGMPv1, by which routers do not learn that a group is "
			     "left: sysctl -w net.ipv4.conf.%s.force_igmp_version=0 (and conf.all)",
			     device, device);
	else if (version == 2 && !m->exclude)
		sl_warn_once("mcast",
			     "%s is held to IGMPv2, by which routers do not learn the sources of a "
			     "group (232.0.0.0/8 needs them): sysctl -w "
			     "net.ipv4.conf.%s.force_igmp_version=0 (and conf.all)",
			     device, device);
}

bool sl_mcast_is_unwanted(const struct sl_sock *sk)
{
	const struct sl_member *m = NULL;

	if (sk->want & SL_WANT_HW_STAMP)
		m = sl_udp_sk_const(sk)->members;
	for (; m; m = m->next) {
		struct sl_port *port = sl_port_open(m->ifindex);

		if (port && !sl_sock_wants_port(sk, port))
			return true;
	}
	return false;
}

static struct sl_fan *new_fan(struct sl_sock *sk, const struct sl_member *m)
{
	struct sl_port *port = sl_port_open(m->ifindex);
	struct sl_leg *leg = port ? sl_lane_leg(sk->lane, port) : NULL;
	struct sl_fan *f = leg ? sl_calloc(1, sizeof(*f)) : NULL;
	int slot = f ? sl_slot_new() : -ENOSPC;

	if (slot < 0) {
		sl_free(f);
		return NULL;
	}
	look_at_igmp(m, port->info.ifname);
	f->group = m->group;
	f->port = sk->local_port;
	f->ifindex = m->ifindex;
	f->slot = (uint32_t)slot;
	f->lane = sk->lane;
	f->req = (struct sl_claim_req){
		.ifindex = port->lower,
		.key.proto = IPPROTO_UDP,
		.key.vlan = port->vlan,
		.key.local_port = sk->local_port,
		.claim.lane = leg->first,
		.claim.slot = f->slot,
		.claim.gen = sl_slots[slot].gen,
		/* some member may want stamps */
		.claim.flags = SL_CLAIM_STAMP | SL_CLAIM_VLAN(port->vlan_nr),
	};
	memcpy(f->req.key.local, m->group.b, 16);
	sl_slot_set(f->slot, SL_SLOT_FAN, f);
	sl_list_add_tail(&sl_fans, &f->node);
	return f;
}

/* Claims for the fan, or leaves it to the kernel while other programs share it. */
static void settle(struct sl_fan *f)
{
	struct sl_diag_claim d = {
		.local = f->group,
		.port = f->port,
		.ifindex = f->ifindex,
	};
	char buf[SL_ADDR_STRLEN];
	const char *why = NULL;
	uint32_t inode = 0;
	bool shared = sl_diag_shared(&d, sl_sock_inode_is_ours, NULL, &inode) > 0;

	if (shared || f->full) {
		if (!f->said && shared)
			sl_info("mcast",
				"group %s port %u stays with the kernel: another program "
				"of this host receives on that port, too (socket inode %u)",
				sl_addr_str(&f->group, buf), f->port, inode);
		else if (!f->said)
			sl_warn("mcast",
				"group %s port %u goes to the kernel: no memory, or more than %u "
				"sockets",
				sl_addr_str(&f->group, buf), f->port, MAX_FAN);
		f->said = true;
		if (f->claimed)
			sl_broker_unclaim(&f->req);
		f->claimed = false;
		return;
	}
	if (!f->claimed && f->nsocks) {
		f->req.shadow_fd = f->sock[0]->fd;
		f->claimed = sl_broker_claim(&f->req, &why) == 0;
		if (!f->claimed && !f->said)
			sl_warn("mcast", "group %s port %u stays with the kernel: %s",
				sl_addr_str(&f->group, buf), f->port, why ? why : "no claim");
		f->said = !f->claimed;
	}
}

static bool bound_for(const struct sl_sock *sk, const struct sl_fan *f)
{
	bool v4 = sl_addr_is_v4(&f->group);

	if (!sl_sock_is_udp(sk) || sk->local_port != f->port || !sl_sock_is_served(sk) ||
	    (sk->bound_if && sk->bound_if != f->ifindex))
		return false;
	if (sk->bound_addr)
		return sl_addr_eq(&sk->local, &f->group);
	return v4 ? sk->family == AF_INET || !sk->v6only : sk->family == AF_INET6;
}

static bool grow(struct sl_fan *f)
{
	uint32_t size = f->size ? 2 * f->size : FIRST_FAN;
	struct sl_sock **more;

	if (size > MAX_FAN)
		return false;
	more = sl_realloc(f->sock, size * sizeof(struct sl_sock *));
	if (!more)
		return false;
	f->sock = more;
	f->size = size;
	return true;
}

static void add_sock(struct sl_fan *f, struct sl_sock *sk)
{
	if (!sl_lane_lock(f->lane))
		return;
	for (uint32_t i = 0; i < f->nsocks; i++)
		if (f->sock[i] == sk)
			goto out;
	if (f->nsocks < f->size || grow(f))
		f->sock[f->nsocks++] = sk;
	else
		f->full = true; /* settle() sees it */
out:
	sl_lane_unlock(f->lane);
}

static void del_sock(struct sl_fan *f, struct sl_sock *sk)
{
	if (!sl_lane_lock(f->lane))
		return;
	for (uint32_t i = 0; i < f->nsocks; i++)
		if (f->sock[i] == sk)
			f->sock[i--] = f->sock[--f->nsocks];
	sl_lane_unlock(f->lane);
}

static void look_past(struct sl_lane *lane, void *arg)
{
	if (sl_lane_lock(lane))
		sl_lane_unlock(lane);
}

static void free_fan(struct sl_fan *f)
{
	if (f->claimed)
		sl_broker_unclaim(&f->req);
	sl_list_del(&f->node);
	if (sl_lane_lock(f->lane)) { /* no thread is in fan_input() with it any more */
		sl_slot_free(f->slot);
		sl_lane_unlock(f->lane);
	}
	if (f->moved)
		sl_lane_for_each(look_past, NULL);
	sl_free(f->sock);
	sl_free(f);
}

/* True: some socket is still a member. IP_MULTICAST_ALL alone brings no packets to the host. */
static bool has_member(const struct sl_fan *f)
{
	for (uint32_t i = 0; i < f->nsocks; i++)
		if (*find_member(f->sock[i], &f->group, f->ifindex))
			return true;
	return false;
}

/* Brings the fans in line with what this socket is and has joined. */
static void sync_fans(struct sl_sock *sk, bool going)
{
	if (!sl_lock(&sl_fans_lock))
		return;
	if (!going && sl_sock_is_served(sk))
		for (struct sl_member *m = sl_udp_sk(sk)->members; m; m = m->next)
			if (!find_fan(&m->group, sk->local_port, m->ifindex))
				new_fan(sk, m);
	sl_list_for_each_safe (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (!going && bound_for(sk, f))
			add_sock(f, sk);
		else
			del_sock(f, sk);
		if (!has_member(f))
			free_fan(f);
		else if (f->port == sk->local_port)
			settle(f);
	}
	sl_unlock(&sl_fans_lock);
}

static void add_existing(struct sl_sock *sk, void *arg)
{
	struct sl_fan *f = arg;

	if (bound_for(sk, f))
		add_sock(f, sk);
}

/* Adds all sockets on the port to the fans, also those that were there before the fan. */
static void gather_sockets(struct sl_sock *sk)
{
	if (!sl_lock(&sl_fans_lock))
		return;
	sl_list_for_each (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (f->port == sk->local_port)
			sl_sock_for_each(add_existing, f);
	}
	sl_unlock(&sl_fans_lock);
}

void sl_mcast_claim(struct sl_sock *sk)
{
	if (!sl_udp_sk(sk)->members && sl_list_empty(&sl_fans))
		return;
	sync_fans(sk, false);
	gather_sockets(sk);
}

void sl_mcast_pause(struct sl_sock *sk)
{
	if (sl_udp_sk(sk)->members || !sl_list_empty(&sl_fans))
		sync_fans(sk, true);
}

void sl_mcast_leave(uint32_t ifindex)
{
	if (!sl_lock(&sl_fans_lock))
		return;
	sl_list_for_each_safe (it, &sl_fans) {
		struct sl_fan *f = sl_container_of(it, struct sl_fan, node);

		if (f->req.ifindex == ifindex)
			free_fan(f);
	}
	sl_unlock(&sl_fans_lock);
}

static void join_again(struct sl_sock *sk, void *arg)
{
	if (!sl_sock_is_udp(sk) || !sl_load(&sl_udp_sk(sk)->members) || !sl_trylock(&sk->slow))
		return;
	if (sk->nfds && sk->state == SL_STATE_OFFLOADED)
		sl_mcast_claim(sk);
	sl_unlock(&sk->slow);
}

void sl_mcast_again(void)
{
	sl_sock_for_each(join_again, NULL);
}

void sl_mcast_forget(struct sl_sock *sk)
{
	struct sl_udp_sock *us = sl_udp_sk(sk);

	sl_mcast_pause(sk);
	while (us->members) {
		struct sl_member *m = us->members;

		us->members = m->next;
		sl_free(m);
	}
}

struct sl_port *sl_mcast_without_link(struct sl_sock *sk)
{
	struct sl_port *p, *found = NULL;

	if (!sl_load(&sl_udp_sk(sk)->members) || !sl_lock(&sk->slow))
		return NULL;
	for (const struct sl_member *m = sl_udp_sk(sk)->members; m && !found; m = m->next) {
		p = sl_port_find(m->ifindex);
		if (p && sl_port_cost_link(p))
			found = p;
	}
	sl_unlock(&sk->slow);
	return found;
}

bool sl_mcast_in_use(void)
{
	return !sl_list_empty(&sl_fans);
}

/* From the keeper, about once a second: programs come and go. */
void sl_mcast_recheck(void)
{
	if (sl_list_empty(&sl_fans) || !sl_lock(&sl_fans_lock))
		return;
	sl_list_for_each (it, &sl_fans) {
		settle(sl_container_of(it, struct sl_fan, node));
	}
	sl_unlock(&sl_fans_lock);
}

/* Puts a new filter in the place of the old one, with the fans' lanes out of the way. */
static void replace(struct sl_sock *sk, struct sl_member *fresh, const struct sl_addr *group,
		    uint32_t ifindex)
{
	struct sl_fan *f = NULL;
	struct sl_member **at, *old;
	bool locked;

	sl_lock(&sl_fans_lock);
	f = find_fan(group, sk->local_port, ifindex);
	locked = f && sl_lane_lock(f->lane);
	at = find_member(sk, group, ifindex);
	old = *at;
	if (fresh) {
		fresh->next = old ? old->next : NULL;
		*at = fresh;
	} else if (old) {
		*at = old->next;
	}
	if (locked)
		sl_lane_unlock(f->lane);
	sl_unlock(&sl_fans_lock);
	sl_free(old);
}

int sl_mcast_setsockopt(struct sl_sock *sk, int level, int name, const void *val, socklen_t len)
{
	int err = sl_sys_setsockopt(sk->fd, level, name, val, len);
	struct sl_addr group;
	uint32_t ifindex = 0;

	if (err < 0 || sk->state == SL_STATE_KERNEL)
		return err;
	if (!target(level, name, val, len, &group, &ifindex)) {
		sl_sock_kernel(sk, SL_REASON_OPTION);
		return err;
	}
	sl_lock(&sk->slow);
	replace(sk, read_filter(sk, &group, ifindex), &group, ifindex);
	show_groups(sk);
	if (sk->state == SL_STATE_OFFLOADED) {
		sync_fans(sk, false);
		gather_sockets(sk);
	}
	sl_unlock(&sk->slow);
	return err;
}
