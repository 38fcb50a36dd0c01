/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers VLAN devices, and VXLAN devices, which have them as VLAN devices do.
 *
 * Theory of operation: a number stands for a tag on a device (ctl/broker/vlan.c), for all sessions
 * alike, since they share the device's maps. A session has the numbers that it asked for by the
 * VLAN device's ifindex; the daemon reads from its own mirror of the kernel's devices what that
 * device is. The mirror shows the devices of the daemon's namespace, which is the session's
 * (session.c). A VLAN device that was moved away from the device below, or whose device below is in
 * another namespace, has no device below in the mirror.
 *
 * A claim must carry a tag and the number that its session has for it: nobody diverts packets of a
 * VLAN device that the policy does not give, or that belongs to another namespace. */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "net/route.h"
#include "claims.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "session.h"
#include "sluiced.h"
#include "vlan.h"

static bool stale; /* a VXLAN device, or its fdb, has changed */

static bool is_vxlan(const struct sl_link *link)
{
	return link->vni_after && link->lower;
}

static bool is_vlan(const struct sl_link *link)
{
	return !strcmp(link->kind, "vlan") && link->vlan_tag & 0xfff;
}

/* Why the kernel must have the VLAN device; NULL: it need not. */
static const char *obstacle(const struct sl_link *link, const struct sl_link *below)
{
	if (link->master)
		return "it belongs to another device";
	if (link->egress.n > SL_EGRESS_MOST)
		return "its egress-qos-map is longer than its processes apply";
	if (memcmp(link->mac, below->mac, sizeof(link->mac)) != 0)
		return "its MAC address is not that of the device below it";
	return NULL;
}

/* Reads the tag of the VLAN device over d, as in struct sl_flow_key. 0; -ENODEV: there is none;
 * -EOPNOTSUPP: the kernel must have it. */
static int read_tag(const struct sl_device *d, const struct sl_link *vlan, uint32_t *tag,
		    const char **why)
{
	struct sl_link lower, mid;
	const char *not = NULL;

	*tag = is_vxlan(vlan) ? SL_VXLAN_TAG(vlan->vni_after - 1) : vlan->vlan_tag;
	if ((!is_vlan(vlan) && !is_vxlan(vlan)) || !sl_link_get(d->info.ifindex, &lower))
		return -ENODEV;
	if (vlan->lower != lower.ifindex) {
		if (!is_vlan(vlan) || !vlan->lower || !sl_link_get(vlan->lower, &mid) ||
		    !is_vlan(&mid) || mid.lower != lower.ifindex)
			return -ENODEV;
		*tag |= (uint32_t)mid.vlan_tag << 16;
		not = obstacle(&mid, &lower);
	}
	if (!not &&!is_vxlan(vlan))
		not = obstacle(vlan, &lower);
	else if (vlan->master)
		not = "it belongs to another device";
	if (!not &&!(d->info.flags & SL_PORT_TAGS))
		not = "VLAN tags of the device below it are not seen";
	if (!not )
		return 0;
	sl_why(why, "%s", not );
	return -EOPNOTSUPP;
}

/* True: the VLAN device is there, and may be offloaded. */
static bool is_fit(const struct sl_device *d, uint32_t nr)
{
	struct sl_link link;
	uint32_t tag;

	return sl_link_get(d->vlan[nr].ifindex, &link) && !read_tag(d, &link, &tag, NULL) &&
	       tag == d->vlan[nr].tag;
}

static bool has(const struct sl_session *s, const struct sl_device *d, uint32_t nr)
{
	return nr && nr < SL_MAX_VLANS && s->vlans >> nr & 1 && d->vlan[nr].tag;
}

static unsigned count_users(uint32_t nr)
{
	unsigned n = 0;

	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		n += s->vlans >> nr & 1;
	return n;
}

/* True: a claim of the session carries the number. */
static bool is_carried(const struct sl_session *s, uint32_t nr)
{
	for (uint32_t i = 0; s->held.n && i < s->held.max; i++)
		if (s->held.slot[i].used && SL_CLAIM_VLAN_NR(s->held.slot[i].req.claim.flags) == nr)
			return true;
	return false;
}

bool sl_vlan_is_of(const struct sl_session *s, uint32_t ifindex)
{
	for (const struct sl_device *d = s->vlans ? sl_port_first() : NULL; d; d = d->next)
		for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
			if (has(s, d, nr) && d->vlan[nr].ifindex == ifindex && is_fit(d, nr))
				return true;
	return false;
}

/* Claims ----------------------------------------------------------------------------------------
 */

bool sl_vlan_is_sound(const struct sl_session *s, const struct sl_claim_req *req)
{
	uint32_t nr = SL_CLAIM_VLAN_NR(req->claim.flags);
	const struct sl_device *d = sl_device_find(req->ifindex);

	if (!nr && !req->key.vlan)
		return true;
	/* A flow that passes needs no number, since no process gets its packets. */
	for (uint32_t i = 1; !nr && d && req->claim.flags & SL_CLAIM_PASS && i < SL_MAX_VLANS; i++)
		if (d->vlan[i].tag == req->key.vlan && has(s, d, i))
			return true;
	return d && has(s, d, nr) && d->vlan[nr].tag == req->key.vlan;
}

uint32_t sl_vlan_device_of(const struct sl_claim_req *req)
{
	uint32_t nr = SL_CLAIM_VLAN_NR(req->claim.flags);
	const struct sl_device *d;
	struct sl_link link;
	uint32_t tag;

	if (!req->key.vlan)
		return req->ifindex;
	d = sl_device_find(req->ifindex);
	if (!d || !nr || d->vlan[nr].tag != req->key.vlan ||
	    !sl_link_get(d->vlan[nr].ifindex, &link) || read_tag(d, &link, &tag, NULL) == -ENODEV ||
	    tag != req->key.vlan)
		return 0;
	return link.ifindex;
}

/* Numbers ---------------------------------------------------------------------------------------
 */

static void drop(struct sl_session *s, const struct sl_device *d, uint32_t nr)
{
	s->vlans &= ~(1ull << nr);
	sl_keep_session(s);
	if (count_users(nr))
		return;
	sl_embedded_vlan_put(d->info.ifindex, nr);
	sl_keep_device(d->info.ifindex);
}

void sl_vlans_drop(struct sl_session *s, uint32_t ifindex)
{
	for (struct sl_device *d = s->vlans ? sl_port_first() : NULL; d; d = d->next)
		for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
			if ((!ifindex || d->info.ifindex == ifindex) && has(s, d, nr) &&
			    !is_carried(s, nr))
				drop(s, d, nr);
}

/* The session's device that a request is about, or NULL. */
static struct sl_device *device_of(struct sl_session *s, uint32_t ifindex)
{
	return ifindex && sl_session_port(s, ifindex) ? sl_device_find(ifindex) : NULL;
}

/* True: another VXLAN device over d has that VNI, with a port of its own. */
static bool is_anothers(const struct sl_device *d, uint32_t tag, uint32_t ifindex)
{
	for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++)
		if (d->vlan[nr].tag == tag && tag & SL_VXLAN_TAG_BIT &&
		    d->vlan[nr].ifindex != ifindex && is_fit(d, nr))
			return true;
	return false;
}

/* Packets with outer headers get no rule in the NIC, so all of them come to its first part. */
static bool gets_outer(const struct sl_session *s, struct sl_device *d)
{
	return s->memory && sl_part_of(d, s->memory->umem) == &d->part[0];
}

static int check_vxlan(const struct sl_session *s, struct sl_device *d, const struct sl_link *link,
		       uint32_t tag, const char **why)
{
	if (is_anothers(d, tag, link->ifindex))
		sl_why(why, "another VXLAN device has its VNI");
	else if (!gets_outer(s, d))
		sl_why(why, "the queues of %s are divided, and its packets come to others'",
		       d->info.ifname);
	else
		return 0;
	return -EOPNOTSUPP;
}

/* Returns the number that the session has for that VXLAN device, which the steering program knows
 * as it is; 0: it has none, or the device may have changed. */
static uint32_t known_vxlan(const struct sl_session *s, const struct sl_device *d, uint32_t ifindex)
{
	for (uint32_t nr = 1; nr < SL_MAX_VLANS && !stale; nr++)
		if (has(s, d, nr) && d->vlan[nr].port && d->vlan[nr].ifindex == ifindex &&
		    !(d->vlans_left >> nr & 1))
			return nr;
	return 0;
}

/* The process may know of a device a moment before the daemon: reads what the kernel has sent. */
int sl_on_vlan_get(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_vlan_get ask = m->body.vlan_get;
	struct sl_device *d = device_of(s, ask.ifindex);
	struct sl_link link;
	uint32_t tag = 0;
	int nr = d && ask.vlan ? 0 : -ENODEV;

	sl_net_on_readable();
	if (!nr)
		nr = sl_link_get(ask.vlan, &link) ? read_tag(d, &link, &tag, why) : -ENODEV;
	if (!nr && tag != ask.tag)
		nr = -ENODEV;
	if (nr == -ENODEV)
		sl_why(why, "device %u is no VLAN device of that tag over device %u", ask.vlan,
		       ask.ifindex);
	if (!nr && tag & SL_VXLAN_TAG_BIT)
		nr = check_vxlan(s, d, &link, tag, why);
	if (!nr && !sl_limits_allow_device(&s->limits, link.name)) {
		sl_why(why, "the policy does not give %s to user %u", link.name, s->cred.uid);
		nr = -EPERM;
	}
	if (!nr && tag & SL_VXLAN_TAG_BIT) /* (each process asks once a second) */
		nr = (int)known_vxlan(s, d, ask.vlan);
	if (!nr)
		nr = sl_embedded_vlan_get(ask.ifindex, ask.vlan, tag, why);
	if (nr < 0)
		return nr;
	sl_keep_device(ask.ifindex);
	s->vlans |= 1ull << nr;
	sl_keep_session(s);
	m->body.vlan_ok = (struct sl_lease_vlan_ok){.nr = (uint32_t)nr};
	return 0;
}

int sl_on_vlan_put(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_vlan v = m->body.vlan;
	const struct sl_device *d = device_of(s, v.ifindex);

	if (!d || !has(s, d, v.nr))
		return -ENOENT;
	if (is_carried(s, v.nr))
		return -EBUSY;
	drop(s, d, v.nr);
	return 0;
}

/* Alone a session may give its VLAN device to the kernel as it likes. With others it may not: there
 * the device itself must have changed. */
int sl_on_vlan_leave(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_vlan v = m->body.vlan;
	const struct sl_device *d = device_of(s, v.ifindex);
	bool fit;

	if (!d || !has(s, d, v.nr))
		return -EINVAL;
	sl_net_on_readable();
	fit = is_fit(d, v.nr);
	if (v.leave ? fit && count_users(v.nr) > 1 : !fit)
		return -EBUSY;
	sl_embedded_vlan_leave(v.ifindex, v.nr, v.leave);
	sl_keep_device(v.ifindex);
	return 0;
}

/* A packet socket that is on no device and receives nothing. */
static int open_sender(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	fd = sl_fd_keep(sl_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	if (fd >= 0)
		(void)sl_sys_set_int(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	return fd;
}

/* (A process with a lane on the device below may send any frame there. This check keeps it from
 * sending by VXLAN devices that the policy does not give it.) */
int sl_on_vxlan_send(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_frame *f = &m->body.frame;
	const struct sl_device *d = device_of(s, f->ifindex);
	struct sockaddr_ll to = {.sll_family = AF_PACKET};
	struct sl_link link;
	int fd;
	long n;

	if (!d || !has(s, d, f->nr) || !(d->vlan[f->nr].tag & SL_VXLAN_TAG_BIT))
		return -ENOENT;
	if (f->bytes < ETH_HLEN || f->bytes > sizeof(f->frame))
		return -EINVAL;
	if (!is_fit(d, f->nr) || !sl_link_get(d->vlan[f->nr].ifindex, &link))
		return -ENODEV;
	if (memcmp(f->frame + 6, link.mac, 6) != 0) {
		sl_why(why, "the frame's source is not %s's address", link.name);
		return -EPERM;
	}
	fd = open_sender();
	to.sll_ifindex = (int)link.ifindex;
	n = fd < 0 ? fd
		   : sl_sys_sendto(fd, f->frame, f->bytes, MSG_DONTWAIT, (const void *)&to,
				   sizeof(to));
	return (int)sl_min(n, 0l);
}

/* Tells the steering program how the VXLAN device with that number is now. */
static void follow_vxlan(struct sl_device *d, uint32_t nr)
{
	const char *why = NULL;
	int err = sl_embedded_vlan_get(d->info.ifindex, d->vlan[nr].ifindex, d->vlan[nr].tag, &why);

	if (err < 0)
		sl_info("sluiced", "%s: VNI %u goes to the kernel: %s", d->info.ifname,
			SL_VXLAN_TAG_VNI(d->vlan[nr].tag), why ? why : sl_strerror(err));
	sl_keep_device(d->info.ifindex);
}

void sl_vlans_changed(void)
{
	stale = true;
}

bool sl_vlans_are_due(void)
{
	return stale;
}

void sl_vlans_check(void)
{
	static uint32_t seen_gen;
	bool all = stale || sl_load(&sl_netconf_gen) != seen_gen;

	seen_gen = sl_load(&sl_netconf_gen);
	stale = false;
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++) {
			bool vxlan = d->vlan[nr].tag & SL_VXLAN_TAG_BIT, fit;

			if (!d->vlan[nr].tag || d->vlans_left >> nr & 1)
				continue;
			fit = is_fit(d, nr);
			if (fit && vxlan && all)
				follow_vxlan(d, nr);
			if (fit)
				continue;
			sl_info("sluiced",
				"%s: packets of %s %u go to the kernel: its device changed",
				d->info.ifname, vxlan ? "VNI" : "VLAN",
				vxlan ? SL_VXLAN_TAG_VNI(d->vlan[nr].tag)
				      : d->vlan[nr].tag & 0xfff);
			sl_embedded_vlan_leave(d->info.ifindex, nr, true);
			sl_keep_device(d->info.ifindex);
		}
}

void sl_vlans_adopted(void)
{
	uint64_t known = 0;

	stale = true; /* it may have changed while no daemon looked */
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++) {
			if (!d->vlan[nr].tag)
				continue;
			known |= 1ull << nr;
			if (count_users(nr))
				continue;
			sl_embedded_vlan_put(d->info.ifindex, nr);
			sl_keep_device(d->info.ifindex);
		}
	for (struct sl_session *s = sluiced.sessions; s; s = s->next)
		s->vlans &= known;
}
