/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers VLAN devices.
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
#include <string.h>

#include "base/log.h"
#include "ctl/broker/embedded.h"
#include "ctl/device/device.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "net/route.h"
#include "claims.h"
#include "handlers.h"
#include "keep.h"
#include "policy.h"
#include "session.h"
#include "sluiced.h"
#include "vlan.h"

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

	*tag = vlan->vlan_tag;
	if (!is_vlan(vlan) || !sl_link_get(d->info.ifindex, &lower))
		return -ENODEV;
	if (vlan->lower != lower.ifindex) {
		if (!vlan->lower || !sl_link_get(vlan->lower, &mid) || !is_vlan(&mid) ||
		    mid.lower != lower.ifindex)
			return -ENODEV;
		*tag |= (uint32_t)mid.vlan_tag << 16;
		not = obstacle(&mid, &lower);
	}
	if (!not )
		not = obstacle(vlan, &lower);
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

/* The process may know of a device a moment before the daemon: reads what the kernel has sent. */
int sl_on_vlan_get(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_vlan_get ask = m->body.vlan_get;
	const struct sl_device *d = device_of(s, ask.ifindex);
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
	if (!nr && !sl_limits_allow_device(&s->limits, link.name)) {
		sl_why(why, "the policy does not give %s to user %u", link.name, s->cred.uid);
		nr = -EPERM;
	}
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

void sl_vlans_check(void)
{
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t nr = 1; nr < SL_MAX_VLANS; nr++) {
			if (!d->vlan[nr].tag || d->vlans_left >> nr & 1 || is_fit(d, nr))
				continue;
			sl_info("sluiced",
				"%s: packets of VLAN %u go to the kernel: its device changed",
				d->info.ifname, d->vlan[nr].tag & 0xfff);
			sl_embedded_vlan_leave(d->info.ifindex, nr, true);
			sl_keep_device(d->info.ifindex);
		}
}

void sl_vlans_adopted(void)
{
	uint64_t known = 0;

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
