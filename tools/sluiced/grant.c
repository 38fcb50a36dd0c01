/* SPDX-License-Identifier: BSD-2-Clause */
/* Lends devices and lanes to sessions. */
#include "grant.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/share/share_bury.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/claim/bury.h"
#include "ctl/claim/lane.h"
#include "ctl/claim/stray.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/device/port.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/xsk.h"
#include "net/neigh.h"
#include "net/route.h"
#include "claims.h"
#include "conns.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "session.h"
#include "sluiced.h"
#include "vlan.h"

/* A queue pair may outlive its process for so long: in a child that has not run its handler of
 * fork(), or exec(), yet. */
#define QUEUE_PAIR_NS 1000000000ull

/* The dead --------------------------------------------------------------------------------------
 */

/* Lists all lanes of the session, for its burial. Returns how many. */
static unsigned list_lanes(const struct sl_session *s, struct sl_broker_lane *lanes)
{
	unsigned n = 0;

	for (const struct sl_session_port *p = s->port; p < s->port + SL_SESSION_PORTS; p++)
		for (unsigned i = 0; p->ifindex && i < SL_SESSION_LANES; i++)
			if (p->lane[i] && p->lease[i])
				lanes[n++] = (struct sl_broker_lane){
					.ifindex = p->ifindex,
					.lane = p->lane[i] - 1u,
					.leases = p->lease[i],
					.nleases = p->nqueues,
				};
	return n;
}

static void forget_lanes(struct sl_session *s)
{
	for (struct sl_session_port *p = s->port; p < s->port + SL_SESSION_PORTS; p++)
		for (unsigned i = 0; i < SL_SESSION_LANES; i++) {
			bool was = p->lane[i];

			free(p->lease[i]);
			p->lease[i] = NULL;
			p->lane[i] = 0;
			if (was)
				sl_keep_lane(s, p, i);
		}
	s->nlanes = 0;
}

/* Little comes until the grace period is over, since the claims are gone. Packets that have come
 * already do not wait for its end. */
bool sl_umem_bury(struct sl_session *s)
{
	static struct sl_broker_lane lanes[SL_SESSION_PORTS * SL_SESSION_LANES];
	struct sl_share_left left;
	unsigned n;

	if (!s->share)
		return true;
	n = list_lanes(s, lanes);
	if (!s->mute) {
		sl_broker_mute(lanes, n);
		s->grace = sl_grace_begin();
		s->mute = true;
		sl_late(s, lanes, n);
	}
	if (!sl_grace_is_over(s->grace) || (sl_now_ns() < s->mended_ns + QUEUE_PAIR_NS &&
					    sl_broker_is_posted(s->memory->umem, s->share)))
		return false;
	sl_late(s, lanes, n);
	if (sl_broker_bury(s->memory->umem, s->share, lanes, n, &left))
		return false;
	sl_debug("sluiced", "lease %u: %u frames came back, %u are in flight", s->member,
		 left.frames, left.in_flight);
	forget_lanes(s);
	return true;
}

/* Devices ---------------------------------------------------------------------------------------
 */

/* *groups: how many may have the device. */
static int may_lend(const struct sl_session *s, uint32_t ifindex, uint32_t *groups,
		    const char **why)
{
	struct sl_link link;

	if (sluiced.draining) {
		sl_why(why, "no more leases are given: the daemon is about to end");
		return -ESHUTDOWN;
	}
	if (!sl_link_get(ifindex, &link)) {
		sl_why(why, "there is no device %u", ifindex);
		return -ENODEV;
	}
	if (!sl_limits_allow_device(&s->limits, link.name)) {
		sl_why(why, "the policy does not give %s to user %u", link.name, s->cred.uid);
		return -EPERM;
	}
	if (link.master || !(link.flags & IFF_UP) || link.flags & IFF_LOOPBACK) {
		sl_why(why, "%s is down, or part of another device", link.name);
		return -EOPNOTSUPP;
	}
	*groups = sl_policy_groups(&sluiced.policy, link.name);
	return 0;
}

void sl_port_describe(const struct sl_port_info *info, struct sl_lease_port_ok *out)
{
	*out = (struct sl_lease_port_ok){
		.ifindex = info->ifindex,
		.mtu = info->mtu,
		.nqueues = info->nqueues,
		.flags = info->flags,
		.max_lanes = info->max_lanes,
	};
	memcpy(out->mac, info->mac, sizeof(out->mac));
	memcpy(out->ifname, info->ifname, sizeof(out->ifname));
	memcpy(out->driver, info->driver, sizeof(out->driver));
	memcpy(out->pin_dir, info->pin_dir, sizeof(out->pin_dir));
}

/* The session's part of a device that it has open. */
static struct sl_part *part_of(const struct sl_session *s, uint32_t ifindex)
{
	return sl_part_of(sl_device_find(ifindex), s->memory->umem);
}

static int port_get(struct sl_session *s, uint32_t ifindex, struct sl_port_info *info,
		    const char **why)
{
	struct sl_session_port *p = sl_session_port(s, 0);
	uint32_t groups;
	int err;

	if (s->again && ifindex && sl_session_port(s, ifindex)) {
		sl_part_describe(part_of(s, ifindex), info);
		return 0;
	}
	if (!s->share || !ifindex || sl_session_port(s, ifindex))
		return -EINVAL;
	if (!p) {
		sl_why(why, "a lease has at most %u devices", SL_SESSION_PORTS);
		return -ENOSPC;
	}
	err = sl_broken_check(s->memory, why);
	if (!err)
		err = may_lend(s, ifindex, &groups, why);
	if (!err && sl_device_find(ifindex) && sl_embedded_port_end(ifindex))
		sl_linger_end_all(); /* then the device may be opened anew */
	if (!err && sl_memory_is_anothers(s, ifindex, why)) {
		s->outside = true;
		sl_keep_session(s);
		err = -EBUSY;
	}
	if (!err)
		err = sl_embedded_port_open(ifindex, s->memory->umem, groups, info, why);
	if (err)
		return err;
	*p = (struct sl_session_port){.ifindex = ifindex, .nqueues = info->nqueues};
	memcpy(p->ifname, info->ifname, sizeof(p->ifname));
	if (part_of(s, ifindex)->users == 1)
		sl_keep_device(ifindex);
	sl_linger_end(s->cred.pid);
	sl_keep_session(s);
	return 0;
}

int sl_on_port_open(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	uint32_t ifindex = m->body.port.ifindex;
	struct sl_port_info info;
	int err = port_get(s, ifindex, &info, why);

	if (err)
		return err;
	sl_port_describe(&info, &m->body.port_ok);
	m->fd[0] = sl_view_get(ifindex);
	if (m->fd[0] < 0) {
		sl_why(why, "%s: a view of the rules: %s", info.ifname, sl_strerror(m->fd[0]));
		sl_port_put(s, sl_session_port(s, ifindex));
		return m->fd[0];
	}
	m->nfds = 1;
	return 0;
}

/* While the process lives it saves the packets in its rings itself. */
static void lane_put(struct sl_session *s, struct sl_session_port *p, unsigned number)
{
	struct sl_xsk_lease *leases = p->lease[number];

	if (!p->lane[number])
		return;
	sl_embedded_lane_close(p->ifindex, p->lane[number] - 1);
	for (uint32_t q = 0; leases && q < p->nqueues; q++)
		sl_lease_close(&leases[q]);
	free(leases);
	p->lease[number] = NULL;
	p->lane[number] = 0;
	s->nlanes--;
	sl_keep_lane(s, p, number);
}

void sl_port_put(struct sl_session *s, struct sl_session_port *p)
{
	uint32_t ifindex = p->ifindex;

	for (unsigned i = 0; i < SL_SESSION_LANES; i++)
		lane_put(s, p, i);
	sl_vlans_drop(s, ifindex);
	sl_port_release(ifindex, s->memory->umem);
	*p = (struct sl_session_port){0};
	sl_keep_session(s);
}

/* The session's port that a request is about, or NULL. */
static struct sl_session_port *port_of(struct sl_session *s, const struct sl_lease_msg *m)
{
	return m->body.port.ifindex ? sl_session_port(s, m->body.port.ifindex) : NULL;
}

int sl_on_port_close(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);

	if (!p)
		return -ENODEV;
	sl_port_put(s, p);
	return 0;
}

int sl_on_port_alive(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	const struct sl_device *d = p ? sl_device_find(p->ifindex) : NULL;
	enum sl_port_end end = SL_PORT_END_LEFT;

	if (d && s->memory && s->memory->broken_ns)
		end = SL_PORT_END_BROKEN;
	else if (d && !sluiced.leaving)
		end = sl_embedded_port_end(p->ifindex);
	m->body.alive_ok = (struct sl_lease_alive_ok){
		.alive = end == SL_PORT_END_STEERED,
		.end = (uint8_t)end,
	};
	if (d)
		memcpy(m->body.alive_ok.mac, d->info.mac, sizeof(d->info.mac));
	return 0;
}

int sl_on_port_tags(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	bool tags = p && sl_embedded_port_has_tags(p->ifindex);

	m->body.tags_ok.tags = tags;
	return p ? 0 : -ENODEV;
}

/* Only for its own device, and only when no other session has connections there. */
int sl_on_unguard(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	struct sl_device *d = p ? sl_device_find(p->ifindex) : NULL;

	if (!d)
		return -ENODEV;
	if (d->users == 1) {
		sl_embedded_port_unguard(p->ifindex);
		sl_keep_device(p->ifindex);
	}
	return 0;
}

int sl_on_strays(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_strays ask = m->body.strays;
	struct sl_lease_strays_ok *ok = &m->body.strays_ok;

	if (!ask.ifindex || !sl_session_port(s, ask.ifindex))
		return -ENODEV;
	*ok = (struct sl_lease_strays_ok){0};
	ok->n = sl_embedded_port_strays(ask.ifindex, sl_claim_pid(s), ask.skip, ok->stray,
					SL_STRAYS_TOLD);
	return 0;
}

/* Lets any user do it, since each can make the kernel do it by sending a datagram there. */
int sl_on_neigh(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_lease_neigh *n = &m->body.neigh;
	struct sl_addr addr;

	memcpy(addr.b, n->addr, sizeof(addr.b));
	if (!n->ifindex || (!sl_session_port(s, n->ifindex) && !sl_vlan_is_of(s, n->ifindex)) ||
	    sl_addr_is_any(&addr) || sl_addr_is_multicast(&addr))
		return -EINVAL;
	return sl_neigh_tell(n->ifindex, &addr);
}

/* Lanes ------------------------------------------------------------------------------------------
 */

static bool lane_is_used(uint32_t ifindex, uint32_t lane)
{
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		const struct sl_session_port *p = sl_session_port(s, ifindex);

		for (unsigned i = 0; p && i < SL_SESSION_LANES; i++)
			if (p->lane[i] == lane + 1)
				return true;
	}
	return false;
}

static int pass_fd(struct sl_lease_msg *m, int own)
{
	int fd = sl_fd_dup(own);

	if (fd < 0)
		return fd;
	m->fd[m->nfds++] = fd;
	return 0;
}

/* Copies the XSKs' descriptors into the answer. The daemon keeps them, too: by them it reads the
 * rings when the process dies. With the anchors, if the lane is not bound. */
static int pass_lane(const struct sl_part *part, const struct sl_xsk_lease *leases, uint32_t first,
		     struct sl_lease_msg *m)
{
	bool made = sl_queues_are_made(part);
	uint32_t n = part->n;
	int err = 0;

	memset(&m->body.lane_ok, 0, sizeof(m->body.lane_ok));
	m->body.lane_ok.first = first;
	for (uint32_t i = 0; i < n && !err; i++) {
		err = pass_fd(m, leases[i].fd);
		m->body.lane_ok.queue[i] = sl_lease_described(&leases[i]);
	}
	for (uint32_t i = 0; i < n && made && !err; i++)
		err = pass_fd(m, part->port->queue[part->first + i].anchor_fd);
	if (!err && leases[0].packet_places)
		err = pass_fd(m, leases[0].packet_fd);
	m->body.lane_ok.packet_places = leases[0].packet_places;
	m->body.lane_ok.nqueues = n;
	m->body.lane_ok.unbound = leases[0].unbound;
	m->body.lane_ok.nanchors = made ? n : 0;
	return err;
}

int sl_on_lane_open(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	uint32_t number = m->body.port.lane, lane = 0, first;
	struct sl_xsk_lease *leases;
	int err;

	if (!p || number >= SL_SESSION_LANES)
		return -EINVAL;
	if (s->again && p->lane[number])
		return pass_lane(part_of(s, p->ifindex), p->lease[number],
				 (p->lane[number] - 1u) * sl_device_find(p->ifindex)->info.nqueues,
				 m);
	if (p->lane[number])
		return -EINVAL;
	err = sl_broken_check(s->memory, why);
	if (err)
		return err;
	if (s->nlanes >= s->limits.lanes) {
		sl_why(why, "the policy gives user %u %u lanes", s->cred.uid, s->limits.lanes);
		return -EDQUOT;
	}
	while (lane_is_used(p->ifindex, lane))
		lane++;
	leases = calloc(p->nqueues, sizeof(*leases));
	if (!leases)
		return -ENOMEM;
	err = sl_embedded_lane_open(p->ifindex, s->memory->umem, lane, leases, &first, why);
	if (err) {
		free(leases);
		return err;
	}
	p->lane[number] = (uint16_t)(lane + 1);
	p->lease[number] = leases;
	s->nlanes++;
	sl_keep_lane(s, p, number);
	err = pass_lane(part_of(s, p->ifindex), leases, first, m);
	if (err)
		lane_put(s, p, number);
	return err;
}

/* The daemon before us may have bound it already, or may have known the lane in another state. */
int sl_on_lane_bind(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	uint32_t number = m->body.port.lane;
	struct sl_xsk_lease *leases;
	int err;

	if (!p || number >= SL_SESSION_LANES)
		return -EINVAL;
	leases = p->lease[number];
	if (!leases)
		return s->again ? -EAGAIN : -EINVAL;
	if (!leases[0].unbound)
		return s->again ? 0 : -EINVAL;
	err = sl_embedded_lane_bind(p->ifindex, p->lane[number] - 1u, leases, why);
	if (err) {
		lane_put(s, p, number);
		return err;
	}
	sl_keep_device(p->ifindex);
	sl_keep_lane(s, p, number);
	return 0;
}

int sl_on_lane_close(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	struct sl_session_port *p = port_of(s, m);
	uint32_t number = m->body.port.lane;

	if (!p || number >= SL_SESSION_LANES || !p->lane[number])
		return -EINVAL;
	lane_put(s, p, number);
	return 0;
}
