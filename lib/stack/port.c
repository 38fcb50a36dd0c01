/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: the devices in use, each opened once for the process. */

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/handler.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/roomy.h"
#include "base/settings.h"
#include "ctl/device/pair.h"
#include "ctl/kern/netdev.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "net/rtnl.h"
#include "net/vxlan.h"
#include "stack/lane.h"
#include "stack/leg.h"
#include "stack/port.h"
#include "stack/refused.h"
#include "stack/restart.h"
#include "tcp/tcp_params.h"

static struct sl_lock lock; /* ports are opened one at a time */
static struct sl_port *ports[SL_STATS_PORTS];
static uint32_t nports;
static bool closed;     /* no port may be opened */
static bool have_vlans; /* a VLAN device was opened */
uint32_t sl_ports_changed;

bool sl_port_allowed(const struct sl_link *link)
{
	return link->type == ARPHRD_ETHER && !(link->flags & IFF_LOOPBACK) && link->master == 0 &&
	       (link->flags & IFF_UP) && !sl_pair_is(link->name, link->kind) &&
	       sl_globs_match(sl_settings.devices, link->name);
}

struct sl_port *sl_port_find(uint32_t ifindex)
{
	uint32_t n = sl_load_acquire(&nports);

	for (uint32_t i = 0; i < n; i++)
		if (sl_load(&ports[i]->info.ifindex) == ifindex)
			return ports[i];
	return NULL;
}

struct sl_port *sl_port_at(uint32_t index)
{
	return index < sl_load_acquire(&nports) ? ports[index] : NULL;
}

void sl_port_forget(uint32_t ifindex)
{
	if (!sl_lock(&lock))
		return;
	sl_refused_forget(ifindex);
	sl_unlock(&lock);
}

bool sl_port_is_hopeless(uint32_t ifindex)
{
	bool hopeless;

	if (!sl_lock(&lock))
		return false;
	hopeless = sl_refused_for_good(ifindex);
	sl_unlock(&lock);
	return hopeless;
}

static void fill_stats(struct sl_port *p, uint32_t ifindex)
{
	struct sl_port_stats *s = sl_stats_port(ifindex);

	p->stats = s;
	memcpy(s->ifname, p->info.ifname, sizeof(s->ifname));
	memcpy(s->driver, p->info.driver, sizeof(s->driver));
	s->flags = p->info.flags;
	s->nqueues = p->info.nqueues;
	s->mtu = p->info.mtu;
	s->alive = 1;
	sl_store_release(&s->used, 1);
}

/* The object of a retired port, or a new one; NULL: too many. Lock held. */
static struct sl_port *port_alloc(void)
{
	for (uint32_t i = 0; i < nports; i++)
		if (sl_load_acquire(&ports[i]->retired))
			return ports[i];
	return nports < SL_STATS_PORTS ? sl_calloc(1, sizeof(struct sl_port)) : NULL;
}

/* Fills in and publishes p. The ifindex comes last, because ports are found by it. */
static void add_port(struct sl_port *p, const struct sl_port *as)
{
	bool again = p->retired;
	uint32_t index = again ? p->index : nports;

	*p = *as;
	p->opened_ns = sl_now_ns();
	p->info.ifindex = 0;
	p->index = index;
	fill_stats(p, as->info.ifindex);
	sl_store_release(&p->info.ifindex, as->info.ifindex);
	__atomic_fetch_add(&sl_ports_changed, 1, __ATOMIC_RELEASE);
	if (again)
		return;
	ports[nports] = p;
	sl_store_release(&nports, nports + 1);
}

/* VLAN devices --------------------------------------------------------------------------------- */

/* A VLAN device uses the port of the device below it. Its claims are in that port's maps, with the
 * tag in the key, and a number in the value tells user space which device it is. Its packets leave
 * by that port's queues, with the tag in the frame. If this is not possible the kernel keeps the
 * device: by itself it would have generic mode only, and get packets whose checksums a device
 * below left out. When it is deleted, or can no longer be offloaded, the steering program passes
 * its packets (left). A new device with the same tag gets the old one's port, and so the claims
 * still there. */

static bool is_vlan(const struct sl_link *link)
{
	return strcmp(link->kind, "vlan") == 0;
}

static bool is_vxlan(const struct sl_link *link)
{
	return link->vni_after && link->lower;
}

uint32_t sl_port_lower(uint32_t ifindex)
{
	struct sl_link link;

	for (int i = 0; i < 2 && sl_link_get(ifindex, &link) && is_vlan(&link); i++)
		ifindex = link.lower;
	return ifindex;
}

uint32_t sl_port_rx_mtu(const struct sl_port *p)
{
	while (p->base)
		p = p->base;
	/* info.mtu is the MTU at the time of opening. */
	return p->info.flags & SL_PORT_FRAGS && p->info.mtu > sl_pool.mtu ? SL_PACKET_MOST
									  : sl_pool.mtu;
}

void sl_port_wire(const struct sl_port *p, uint8_t smac[6], uint32_t *mtu)
{
	struct sl_link link;

	memcpy(smac, sl_link_get(p->info.ifindex, &link) ? link.mac : p->info.mac, 6);
	/* Devices accept one tag beyond their MTU, but not all accept two. */
	if (sl_port_tags(p) >> 16 && sl_link_get(p->lower, &link) && link.mtu > 4)
		*mtu = sl_min(*mtu, link.mtu - 4);
}

static uint8_t pcp_of(const struct sl_port *p, uint32_t prio)
{
	struct sl_link link;

	if (!p->base)
		return 0;
	if (prio < sl_array_len(p->pcp))
		return sl_load(&p->pcp[prio]);
	return sl_link_get(sl_load(&p->info.ifindex), &link) ? sl_egress_pcp(&link.egress, prio)
							     : 0;
}

uint8_t sl_port_pcp(const struct sl_port *p, uint32_t prio)
{
	if (!p->base)
		return 0;
	return (uint8_t)(pcp_of(p, prio) | pcp_of(p->base, prio) << 4);
}

/* Lock held: it protects the static text. */
static const char *hidden_tags(const struct sl_port *base)
{
	static char text[160];

	while (base->base)
		base = base->base;
	if (sl_netdev_has_tags_beside(base->info.driver))
		snprintf(text, sizeof(text),
			 "VLAN tags are beside the frames of %s, and the steering program cannot "
			 "ask for them there",
			 base->info.ifname);
	else
		snprintf(text, sizeof(text),
			 "%s takes VLAN tags off, and the steering program cannot ask for them; "
			 "remedy: ethtool -K %s rxvlan off",
			 base->info.ifname, base->info.ifname);
	return text;
}

/* Why the port below cannot carry the VLAN device; NULL: it can. Lock held. */
static const char *vlan_obstacle(const struct sl_link *link, const struct sl_port *base)
{
	if (!(link->vlan_tag & 0xfff))
		return "its tags are priorities alone";
	if (link->master)
		return "it belongs to another device now";
	if (link->egress.n > SL_EGRESS_MOST)
		return "its egress-qos-map has more than 32 entries";
	if (!base || sl_load(&base->left))
		return "the device below it is not offloaded";
	if (memcmp(link->mac, base->info.mac, sizeof(link->mac)) != 0)
		return "its MAC address is not that of the device below it";
	if (!base->tags)
		return hidden_tags(base);
	if (base->vlan >> 16)
		return "packets have more than two tags there";
	return NULL;
}

/* Why the port below cannot receive the VXLAN device's packets, which it then receives by itself.
 */
static const char *vxlan_obstacle(const struct sl_link *link, const struct sl_port *base)
{
	if (link->master)
		return "it belongs to another device now";
	if (!base || sl_load(&base->left))
		return "the device below it is not offloaded";
	if (base->base)
		return "the device below it is a VLAN device";
	return base->tags ? NULL : hidden_tags(base);
}

static const char *obstacle(const struct sl_link *link, const struct sl_port *base)
{
	return is_vxlan(link) ? vxlan_obstacle(link, base) : vlan_obstacle(link, base);
}

/* Gives the VLAN device to the kernel for good: the kernel may have connections on it by the time
 * it could be offloaded again. */
static void leave_vlan(struct sl_port *p)
{
	sl_store(&p->left, true);
	sl_broker_vlan_leave(p->lower, p->vlan_nr, true);
	/* Cached routes use the device, and its connections must be checked. */
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
}

/* Lock held. A thread that sends meanwhile may read some of the old map: the new generation comes
 * after it, and makes that thread build its headers again. */
static void follow_egress(struct sl_port *p, const struct sl_link *link)
{
	if (memcmp(&p->egress, &link->egress, sizeof(p->egress)) == 0)
		return;
	p->egress = link->egress;
	for (uint32_t i = 0; i < sl_array_len(p->pcp); i++)
		sl_store(&p->pcp[i], sl_egress_pcp(&link->egress, i));
	sl_info("port", "%s: %u entries in its egress-qos-map", link->name, link->egress.n);
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE);
}

/* Follows a change of the VLAN device; lock held. While the device is down, user space drops its
 * packets, as the kernel would. */
static void follow_vlan(struct sl_port *p)
{
	struct sl_link link;
	const char *why;

	if (!p->info.ifindex)
		return;
	if (!sl_link_get(p->info.ifindex, &link)) {
		sl_info("port", "%s is gone", p->info.ifname);
		sl_store(&p->info.ifindex, 0);
		leave_vlan(p);
		link.flags = 0;
	} else if (!sl_load(&p->left)) {
		p->stats->mtu = link.mtu;
		follow_egress(p, &link);
		why = obstacle(&link, p->base);
		if (!why && is_vxlan(&link) &&
		    sl_broker_vlan_get(p->lower, link.ifindex, p->vlan, &why) < 0 && !why)
			why = "it was changed";
		if (why) {
			sl_info("port", "%s goes on through the kernel: %s", p->info.ifname, why);
			leave_vlan(p);
		}
	}
	sl_store(&sl_in_vlan[p->vlan_nr], link.flags & IFF_UP ? p->info.ifindex : 0);
	sl_store(&p->stats->alive, !sl_load(&p->left) && sl_load(&p->base->stats->alive));
}

static void name_vlan(struct sl_port *p, const struct sl_link *link)
{
	p->info.mtu = link->mtu;
	memcpy(p->info.ifname, link->name, sizeof(p->info.ifname));
	memcpy(p->info.mac, link->mac, sizeof(p->info.mac));
	sl_store(&p->info.ifindex, link->ifindex);
}

/* The port of a deleted device with that tag. */
static struct sl_port *find_vlan(const struct sl_port *base, uint32_t vlan)
{
	for (uint32_t i = 0; i < nports; i++)
		if (ports[i]->base == base && ports[i]->vlan == vlan && !ports[i]->info.ifindex &&
		    !ports[i]->retired)
			return ports[i];
	return NULL;
}

static void revive_vlan(struct sl_port *p, const struct sl_link *link)
{
	name_vlan(p, link);
	sl_store(&p->opened_ns, sl_now_ns());
	p->stats->ifindex = link->ifindex;
	memcpy(p->stats->ifname, link->name, sizeof(p->stats->ifname));
	sl_store(&p->left, false);
	__atomic_fetch_add(&sl_ports_changed, 1, __ATOMIC_RELEASE);
}

/* Logs the refusal, as a warning only the first time. */
static void stays(const struct sl_link *link, int err, const char *why)
{
	bool first = sl_refused_add(link->ifindex, err, sl_now_ns());

	sl_log(first ? SL_LOG_WARN : SL_LOG_DEBUG, "port", "%s stays with the kernel: %s (%s)",
	       link->name, sl_why_of(why, link->name), strerrorname_np(-err));
}

void sl_port_vlan_over(const struct sl_port *p)
{
	if (!p->vlan_nr || !sl_lock(&lock))
		return;
	sl_store(&sl_in_vlan[p->vlan_nr], 0);
	sl_broker_vlan_put(p->lower, p->vlan_nr);
	sl_unlock(&lock);
}

static struct sl_port *new_vlan(const struct sl_link *link, struct sl_port *base, uint32_t nr,
				uint32_t tag)
{
	struct sl_port *p = port_alloc();
	struct sl_port as = {
		.info = base->info,
		.base = base,
		.tags = base->tags,
		.lower = base->lower,
		.vlan = tag,
		.vlan_nr = nr,
	};

	if (!p) {
		sl_broker_vlan_put(base->lower, nr);
		return NULL;
	}
	have_vlans = true;
	name_vlan(&as, link);
	add_port(p, &as);
	return p;
}

/* The port of the device that the broker gave the number; NULL: it gave none, or there is no room.
 * The number is that of the tag: a port that is used again keeps its own. Lock held. */
static struct sl_port *numbered(const struct sl_link *link, struct sl_port *base, int nr,
				uint32_t tag)
{
	struct sl_port *p = nr > 0 ? find_vlan(base, tag) : NULL;

	if (!p || p->vlan_nr != (uint32_t)nr)
		return nr > 0 ? new_vlan(link, base, (uint32_t)nr, tag) : NULL;
	revive_vlan(p, link);
	return p;
}

/* Lock held. */
static struct sl_port *open_vlan(const struct sl_link *link, struct sl_port *base)
{
	const char *why = vlan_obstacle(link, base);
	struct sl_port *p;
	uint32_t tag;
	int nr;

	if (!base || why) {
		/* The device below may be available later. */
		stays(link, base ? -EOPNOTSUPP : -EBUSY, why);
		return NULL;
	}
	tag = base->vlan << 16 | link->vlan_tag;
	nr = sl_broker_vlan_get(base->lower, link->ifindex, tag, &why);
	p = numbered(link, base, nr, tag);
	if (!p) {
		stays(link, nr > 0 ? -EOPNOTSUPP : nr, why ? why : "there are too many devices");
		return NULL;
	}
	follow_vlan(p);
	sl_info("port", "%s: offloaded by %s, VLAN %u", link->name, base->info.ifname,
		link->vlan_tag & 0xfff);
	return p;
}

static struct sl_port *open_vxlan(const struct sl_link *link, struct sl_port *base)
{
	const char *why = vxlan_obstacle(link, base);
	uint32_t tag = SL_VXLAN_TAG(link->vni_after - 1);
	struct sl_port *p;
	int nr = 0;

	for (uint32_t i = 0; i < nports && !why; i++)
		if (ports[i]->base == base && ports[i]->vlan == tag && ports[i]->info.ifindex)
			why = "another VXLAN device has its VNI";
	if (!why)
		nr = sl_broker_vlan_get(base->lower, link->ifindex, tag, &why);
	p = numbered(link, base, nr, tag);
	if (!p) {
		sl_info("port", "%s: not taken out of VXLAN below: %s", link->name,
			why ? why : strerrorname_np(-nr));
		return NULL;
	}
	p->vni_after = link->vni_after;
	sl_tcp_params.errors_unseen = true;
	follow_vlan(p);
	sl_info("port", "%s: taken out of VXLAN on %s", link->name, base->info.ifname);
	return p;
}

void sl_port_link_changed(struct sl_port *p, const struct sl_link *link, bool gone)
{
	if (!sl_lock(&lock))
		return;
	if (p->base) {
		follow_vlan(p);
	} else if (!gone) {
		p->stats->mtu = link->mtu;
		memcpy(p->info.mac, link->mac, sizeof(p->info.mac));
		if (link->carrier_up)
			sl_port_has_link(p);
	}
	sl_unlock(&lock);
}

/* Ports ---------------------------------------------------------------------------------------- */

static struct sl_port *open_port(const struct sl_link *link)
{
	struct sl_port *p = port_alloc(), as = {0};
	const char *why = NULL;
	int err;

	if (!p)
		return NULL;
	err = sl_broker_port_open(link->ifindex, !sl_refused_before(link->ifindex), &as.info, &why);
	if (err < 0) {
		stays(link, err, why ? why : "the broker refused it");
		if (!p->retired)
			sl_free(p);
		return NULL;
	}
	as.lower = as.info.ifindex;
	as.vni_after = link->vni_after;
	as.tags = as.info.flags & SL_PORT_TAGS;
	sl_port_opened(&as);
	add_port(p, &as);
	return p;
}

/* Lock held. */
static struct sl_port *open_link(const struct sl_link *link, struct sl_port *base)
{
	struct sl_port *p = sl_port_find(link->ifindex);

	if (p)
		return sl_load(&p->left) ? NULL : p;
	if (sl_refused(link->ifindex, sl_now_ns()))
		return NULL;
	if (is_vlan(link))
		p = open_vlan(link, base);
	else if (is_vxlan(link))
		p = open_vxlan(link, base);
	if (!p && !is_vlan(link))
		p = open_port(link);
	if (p)
		sl_refused_forget(link->ifindex);
	return p;
}

void sl_ports_close(bool is_closed)
{
	bool locked = sl_lock(&lock);

	sl_store(&closed, is_closed);
	if (locked)
		sl_unlock(&lock);
}

void (*sl_port_put_off)(void);

struct sl_port *sl_port_open(uint32_t ifindex)
{
	struct sl_port *p = ifindex ? sl_port_find(ifindex) : NULL, *base = NULL;
	struct sl_link link;
	int saved = errno;

	if (p)
		return sl_load(&p->left) ? NULL : p;
	if (!ifindex || !sl_link_get(ifindex, &link) || !sl_port_allowed(&link))
		return NULL;
	/* (The keeper is where the library works.) */
	if (sl_in_signal() || sl_netns_is_foreign()) {
		if (sl_port_put_off)
			sl_port_put_off();
		return NULL;
	}
	/* Open the device below first: the kernel refuses a program on a device while one above it
	 * has one (dev_xdp_attach()), as a macvlan would. */
	if (link.lower && link.egress.n <= SL_EGRESS_MOST)
		base = sl_port_open(link.lower);
	sl_broker_ready();
	if (sl_lock(&lock)) {
		p = closed ? NULL : SL_ROOMY(open_link, &link, base);
		sl_unlock(&lock);
	}
	errno = saved;
	return p;
}

bool sl_port_is_taken(uint32_t ifindex)
{
	return !sl_port_find(ifindex) && sl_broker_port_is_taken(sl_port_lower(ifindex));
}

static uint32_t wanted;        /* ifindex of a device that the keeper is to open, 0: none */
static uint64_t wanted_ns;     /* when it begins; atomic */
static uint64_t asked_ns;      /* when a call first wanted it; atomic */
static bool begun;             /* the keeper is about to look at the time, or opens it; atomic */
#define POSTPONED_NS 200000000 /* a device is put off for so long in all */

/* True: opening it would take long. The lock is busy while any device is being opened. */
static bool takes_long(uint32_t ifindex)
{
	bool hopeless;

	if (sl_in_signal() || sl_netns_is_foreign())
		return false;
	if (!sl_trylock(&lock))
		return true;
	hopeless = closed || sl_refused(ifindex, sl_now_ns());
	sl_unlock(&lock);
	return !hopeless;
}

struct sl_port *sl_port_open_soon(uint32_t ifindex, uint64_t after_ns, bool *coming)
{
	uint64_t now_ns = sl_now_ns();
	struct sl_link link;
	uint32_t none = 0;

	*coming = false;
	if (!ifindex || sl_port_find(ifindex) || !sl_link_get(ifindex, &link) ||
	    !sl_port_allowed(&link) || !takes_long(ifindex))
		return sl_port_open(ifindex);
	*coming = true;
	if (!sl_load(&wanted)) {
		sl_store(&wanted_ns, now_ns + after_ns);
		sl_store(&asked_ns, now_ns);
	}
	/* (While another device is there, the caller asks again at its next call.) */
	if (__atomic_compare_exchange_n(&wanted, &none, ifindex, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		sl_rtnl_wake();
	else if (!after_ns)
		sl_port_hurry();
	return NULL;
}

bool sl_port_is_wanted(void)
{
	return sl_load_acquire(&wanted) && (sl_load(&lock.word) & ~SL_LOCK_SLEEPERS) != sl_tid();
}

uint64_t sl_port_wanted_ns(void)
{
	return sl_load(&wanted_ns);
}

void sl_port_hurry(void)
{
	if (!sl_load(&wanted_ns))
		return;
	sl_store(&wanted_ns, 0);
	sl_rtnl_wake();
}

/* Either the keeper sees the new time, or this thread sees that it has begun. */
bool sl_port_postpone(uint64_t ns)
{
	uint64_t now_ns = sl_now_ns();

	if (!sl_load(&wanted_ns) || now_ns - sl_load(&asked_ns) > POSTPONED_NS)
		return false;
	sl_store(&wanted_ns, now_ns + ns);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !sl_load(&begun);
}

bool sl_port_open_wanted(uint64_t now_ns)
{
	uint32_t ifindex = sl_load_acquire(&wanted);

	if (!ifindex || now_ns < sl_load(&wanted_ns))
		return false;
	sl_store(&begun, true);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (now_ns < sl_load(&wanted_ns))
		ifindex = 0;
	else
		sl_port_open(ifindex);
	sl_store(&begun, false);
	if (!ifindex)
		return false;
	sl_store_release(&wanted, 0);
	return true;
}

/* No event reports that a NIC now strips tags. */
void sl_port_check_tags(struct sl_port *p)
{
	if (!sl_lock(&lock))
		return;
	if (have_vlans)
		p->tags = sl_broker_port_has_tags(p->lower);
	sl_unlock(&lock);
}

/* The device below may have changed, too. */
void sl_port_check_vlan(struct sl_port *p)
{
	if (!sl_lock(&lock))
		return;
	p->tags = p->base->tags;
	follow_vlan(p);
	sl_unlock(&lock);
}

/* Keeps the structs allocated: freeing is not async-signal-safe. */
void sl_port_child(void)
{
	memset(&lock, 0, sizeof(lock));
	sl_refused_reset();
	nports = 0;
	have_vlans = false;
	wanted = 0;
	begun = false;
}
