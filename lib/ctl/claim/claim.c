/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims: entries of `flows` and `endpoints`, and the bits of `ports` that let them be looked up.
 */
#include "ctl/claim/claim.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/log.h"
#include "base/settings.h"
#include "ctl/claim/group.h"
#include "ctl/device/aim.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/part.h"
#include "ctl/kern/map.h"
#include "ctl/kern/say.h"
#include "ctl/steer/guard.h"
#include "ctl/steer/maps.h"
#include "ctl/steer/nic_rule.h"

/* Which entry a request is about. */
struct entry {
	struct sl_device *port;
	int map_fd;
	union {
		struct sl_flow_key flow;
		struct sl_endpoint_key endpoint;
	};
	uint32_t bit;   /* SL_L4_PORT_* */
	uint32_t index; /* into `ports` */
};

static bool is_any(const uint8_t a[16])
{
	static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff}, any6[16];

	return !memcmp(a, any4, 16) || !memcmp(a, any6, 16);
}

static int entry_init(struct entry *e, const struct sl_claim_req *req)
{
	const struct sl_flow_key *k = &req->key;
	int err;

	memset(e, 0, sizeof(*e));
	e->port = sl_device_find(req->ifindex);
	if (!e->port)
		return -ENODEV;
	e->index = k->local_port + (k->proto == IPPROTO_TCP ? 65536 : 0);
	err = sl_maps_use_port(e->port, e->index);
	if (err)
		return err;
	if (k->remote_port) {
		e->map_fd = e->port->attach.map_fd[SL_MAP_FLOWS];
		e->bit = SL_L4_PORT_FLOW;
		e->flow = *k;
		memset(e->flow.pad, 0, sizeof(e->flow.pad));
		return 0;
	}
	e->map_fd = e->port->attach.map_fd[SL_MAP_ENDPOINTS];
	e->bit = is_any(k->local) ? SL_L4_PORT_WILDCARD : SL_L4_PORT_ENDPOINT;
	memcpy(e->endpoint.local, k->local, 16);
	e->endpoint.local_port = k->local_port;
	e->endpoint.proto = k->proto;
	e->endpoint.vlan = k->vlan;
	return 0;
}

static int entry_get(const struct entry *e, struct sl_claim *c)
{
	return sl_map_get(e->map_fd, &e->flow, c);
}

static void change_word(const struct entry *e, uint64_t set, uint64_t clear)
{
	sl_port_word_change(&e->port->info.ports[e->index], set, clear);
}

static int entry_put(const struct entry *e, const struct sl_claim *c)
{
	int err = sl_map_put(e->map_fd, &e->flow, c, BPF_ANY);

	change_word(e, 0, 0);
	return err;
}

static uint16_t *entry_uses(const struct entry *e)
{
	struct sl_port_uses *u = e->port->uses;

	return e->index + (e->bit == SL_L4_PORT_FLOW       ? u->flow
			   : e->bit == SL_L4_PORT_ENDPOINT ? u->endpoint
							   : u->wildcard);
}

static bool is_tcp(const struct entry *e)
{
	return e->index >= 65536;
}

/* True: only flows have claims on the port, so the program remembers nothing that one overrides. */
static bool has_flows_alone(const struct entry *e)
{
	const struct sl_port_uses *u = e->port->uses;

	return u->flow[e->index] && !u->endpoint[e->index] && !u->wildcard[e->index];
}

/* Adds the entry, then the bit that lets it be looked up; the program forgets what the entry
 * overrides. -EEXIST: there is one. */
static int entry_add(const struct entry *e, const struct sl_claim *c)
{
	int err = sl_map_put(e->map_fd, &e->flow, c, BPF_NOEXIST);
	uint16_t *uses;

	if (err)
		return err;
	uses = entry_uses(e);
	if (e->bit != SL_L4_PORT_FLOW || !has_flows_alone(e))
		change_word(e, e->bit, 0);
	if (*uses != UINT16_MAX)
		++*uses;
	return 0;
}

static void entry_del(const struct entry *e)
{
	uint16_t *uses = entry_uses(e);

	/* The entry may have been removed by hand; then the count stays, which is harmless. */
	bool last = !sl_map_delete(e->map_fd, &e->flow) && *uses != UINT16_MAX && --*uses == 0;

	change_word(e, 0, last ? e->bit : 0);
}

/* Finds the claim of the same slot of the same process. */
static struct sl_claim *group_find(struct sl_members *g, const struct sl_claim *c)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->target[i].slot == c->slot && g->target[i].pid == c->pid)
			return &g->target[i];
	}
	return NULL;
}

/* True: a member other than `mine` has packets of the same narrowing. */
static bool has_rival(const struct sl_members *g, const struct sl_claim *mine,
		      const struct sl_narrow *narrow)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (&g->target[i] != mine && sl_narrow_is_same(&g->narrow[i], narrow))
			return true;
	return false;
}

static bool has_narrowed(const struct sl_members *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (sl_is_narrow(&g->narrow[i]))
			return true;
	return false;
}

static void remove_at(struct sl_members *g, uint32_t i)
{
	g->count--;
	g->target[i] = g->target[g->count];
	g->narrow[i] = g->narrow[g->count];
}

static int group_make(const struct entry *e, const struct sl_members *m, struct sl_claim *out)
{
	if (is_tcp(e))
		sl_maps_want_picked(e->port);
	return sl_group_make(e->port, m, out);
}

/* Replaces the entry (nothing, one claim or a group) by the targets. A TCP group stays one even
 * with one target: which flows that target has must be known when others come again. */
static int swing(const struct entry *e, const struct sl_claim *old, const struct sl_members *g)
{
	bool was_group = old->flags & SL_CLAIM_GROUP, is_group = false;
	struct sl_claim fresh = g->target[0];
	int err = 0;

	if (g->count == 0) {
		entry_del(e);
	} else if (g->count > 1 || has_narrowed(g) || (is_tcp(e) && was_group)) {
		err = group_make(e, g, &fresh);
		is_group = !err;
	}
	if (!err && g->count)
		err = entry_put(e, &fresh);
	if (err && is_group)
		sl_group_drop(e->port, fresh.slot);
	if (!err && was_group)
		sl_group_drop(e->port, old->slot);
	if (!err && e->bit == SL_L4_PORT_FLOW)
		e->port->replaced += is_group - was_group;
	return err;
}

/* Reads the entry into *old, and its claims as a group, even if it is a single claim. */
static int members(const struct entry *e, struct sl_claim *old, struct sl_members *g)
{
	int err = entry_get(e, old);

	if (err)
		return err;
	if (old->flags & SL_CLAIM_GROUP)
		return sl_group_get(e->port, old->slot, g);
	memset(g, 0, sizeof(*g));
	g->count = 1;
	g->target[0] = *old;
	return 0;
}

/* Removes the members with that narrowing if the process of the claim may take their place: they
 * are its own, or flows that are let pass, which are the kernel's. */
static int take_place(const struct entry *e, struct sl_members *g, const struct sl_claim_req *req)
{
	for (uint32_t i = g->count; i-- > 0;) {
		if (!sl_narrow_is_same(&g->narrow[i], &req->narrow))
			continue;
		if (g->target[i].pid != req->claim.pid && !(g->target[i].flags & SL_CLAIM_PASS))
			return -EADDRINUSE;
		remove_at(g, i);
		e->port->replaced += e->bit == SL_L4_PORT_FLOW;
	}
	return 0;
}

/* Makes room for a new member, whose packets another may have. */
static int make_place(const struct entry *e, struct sl_members *g, const struct sl_claim_req *req)
{
	if (has_rival(g, NULL, &req->narrow)) {
		if (req->spread)
			return e->bit == SL_L4_PORT_FLOW ? -EADDRINUSE : 0;
		return req->replace ? take_place(e, g, req) : -EADDRINUSE;
	}
	/* (A flow that passes is not shared.) */
	return g->count && g->target[0].flags & SL_CLAIM_PASS ? -EADDRINUSE : 0;
}

/* Adds a claim to an existing entry: replaces the claim of the same slot, or joins the group. */
static int claim_join(const struct entry *e, const struct sl_claim_req *req)
{
	const struct sl_claim *claim = &req->claim;
	struct sl_claim old, *mine;
	struct sl_members g;
	uint32_t heard;
	int err = members(e, &old, &g);

	if (!err && !sl_part_is_same(e->port, &g.target[0], claim))
		err = -EADDRINUSE;
	if (err)
		return err;
	mine = group_find(&g, claim);
	if (!mine) {
		err = make_place(e, &g, req);
		if (err)
			return err;
		if (g.count == SL_GROUP_TARGETS)
			return -ENOSPC;
		mine = &g.target[g.count++];
		mine->flags = 0;
	} else if (!sl_narrow_is_same(&g.narrow[mine - g.target], &req->narrow) && !req->spread &&
		   has_rival(&g, mine, &req->narrow)) {
		return -EADDRINUSE;
	}
	heard = mine->flags & SL_CLAIM_HEARD;
	*mine = *claim;
	mine->flags |= heard;
	g.narrow[mine - g.target] = req->narrow;
	return swing(e, &old, &g);
}

/* The first claim of a TCP endpoint that others may share makes a group from the beginning, and so
 * does a narrowed claim. */
static int claim_first(const struct entry *e, const struct sl_claim_req *req)
{
	struct sl_members m = {.count = 1, .target = {req->claim}, .narrow = {req->narrow}};
	struct sl_claim group;
	int err = group_make(e, &m, &group);

	if (err)
		return err;
	err = entry_add(e, &group);
	if (err)
		sl_group_drop(e->port, group.slot);
	else
		e->port->replaced += e->bit == SL_L4_PORT_FLOW;
	return err;
}

static int claim_put(const struct entry *e, const struct sl_claim_req *req)
{
	bool group = sl_is_narrow(&req->narrow) ||
		     (req->spread && is_tcp(e) && e->bit != SL_L4_PORT_FLOW);
	int err = group ? claim_first(e, req) : entry_add(e, &req->claim);

	return err == -EEXIST ? claim_join(e, req) : err;
}

/* The checks of a claim's form. */
static int check(const struct sl_claim_req *req)
{
	bool passes = req->claim.flags & SL_CLAIM_PASS;

	if (passes && !req->key.remote_port)
		return -EINVAL;
	if (!sl_narrow_is_sound(&req->narrow))
		return -EINVAL;
	return sl_is_narrow(&req->narrow) &&
			       (passes || (req->key.remote_port && req->key.proto == IPPROTO_TCP))
		       ? -EINVAL
		       : 0;
}

/* True: the NIC is to bring the claim's packets to a queue of its lane. (The daemon's groups have
 * queues of their own instead: tools/sluiced/divide.c.) */
static bool is_aimed(const struct sl_device *d, const struct sl_claim_req *req)
{
	return sl_settings.nic_steering && !sl_broker_opts()->serve && d->info.nqueues > 1 &&
	       d->attach.kind < SL_ATTACH_MAPS && !(req->claim.flags & SL_CLAIM_PASS);
}

/* The queues of the lanes of all claims on the entry, a bit set; 0: there are none, or some are of
 * a part of its packets alone, or of the kernel's. */
static uint64_t queues_of(const struct entry *e)
{
	uint32_t n = e->port->info.nqueues;
	struct sl_members g;
	struct sl_claim old;
	uint64_t queues = 0;

	if (members(e, &old, &g) || has_narrowed(&g))
		return 0;
	for (uint32_t i = 0; i < g.count; i++) {
		if (g.target[i].flags & SL_CLAIM_PASS)
			return 0;
		queues |= 1ull << g.target[i].lane / n % n;
	}
	return queues;
}

/* Call after the entry has changed. */
static void aim(const struct entry *e, const struct sl_claim_req *req)
{
	uint64_t queues;

	if (!is_aimed(e->port, req))
		return;
	queues = queues_of(e);
	if (queues)
		sl_aim(e->port, &req->key, queues);
	else
		sl_aim_end(e->port, &req->key);
}

/* Makes the NIC's rules, where it has some, what the entry says now. gone: there is none. */
static int follow(const struct entry *e, const struct sl_flow_key *key, bool gone, const char **why)
{
	struct sl_nic_target t[SL_GROUP_TARGETS];
	struct sl_members g = {0};
	struct sl_claim old;
	int err = 0;

	if (e->port->attach.kind != SL_ATTACH_MAPS)
		return 0;
	if (!gone)
		err = members(e, &old, &g);
	if (err && err != -ENOENT)
		return err;
	for (uint32_t i = 0; i < g.count; i++)
		t[i] = (struct sl_nic_target){g.target[i], g.narrow[i]};
	return sl_nic_follow(e->port, key, t, g.count, why);
}

static int claim_leave(const struct entry *e, const struct sl_claim *claim);

/* The kernel keeps the packets of a claim that the NIC refuses. */
static int follow_claim(const struct entry *e, const struct sl_claim_req *req, const char **why)
{
	const char *none;
	int err = follow(e, &req->key, false, why);

	if (!err)
		return 0;
	sl_warn_once("port", "%s: packets of a socket stay with the kernel: %s",
		     e->port->info.ifname, *why ? *why : sl_strerror(err));
	claim_leave(e, &req->claim);
	(void)follow(e, &req->key, false, &none);
	return err;
}

static int claim(const struct sl_claim_req *asked, const char **why)
{
	struct sl_claim_req req = *asked;
	struct entry e;
	int err = check(asked);

	if (!err)
		err = entry_init(&e, asked);
	req.claim.flags &= ~(SL_CLAIM_GROUP | SL_CLAIM_AWAY | SL_CLAIM_HEARD);
	if (!req.claim.pid) /* the daemon sets its owner */
		req.claim.pid = sl_broker_pid();
	/* (Opening the guard takes ten milliseconds. With a listener's claim in force already,
	 * connections would wait meanwhile.) */
	if (!err && req.key.proto == IPPROTO_TCP)
		sl_guard_open(&e.port->attach, req.ifindex);
	if (!err)
		err = claim_put(&e, &req);
	if (!err)
		err = follow_claim(&e, &req, why);
	if (!err)
		aim(&e, &req);
	return err;
}

/* Removes the claim of that slot from the entry. */
static int claim_leave(const struct entry *e, const struct sl_claim *claim)
{
	struct sl_claim old, *mine;
	struct sl_members g;
	int err = members(e, &old, &g);

	if (err)
		return err;
	mine = group_find(&g, claim);
	if (!mine)
		return -ENOENT;
	remove_at(&g, (uint32_t)(mine - g.target));
	return swing(e, &old, &g);
}

/* A flow's entry need not be read when no claim of a flow has taken another's place: connections
 * come and go by the ten thousand a second, and each look costs a system call. */
static int unclaim(const struct sl_claim_req *req)
{
	struct sl_claim c = req->claim;
	const char *none;
	struct entry e;
	int err = entry_init(&e, req);

	if (err)
		return err;
	if (e.bit == SL_L4_PORT_FLOW && !e.port->replaced) {
		entry_del(&e);
		(void)follow(&e, &req->key, true, &none);
		if (is_aimed(e.port, req))
			sl_aim_end(e.port, &req->key);
		return 0;
	}
	if (!c.pid)
		c.pid = sl_broker_pid();
	err = claim_leave(&e, &c);
	(void)follow(&e, &req->key, false, &none);
	aim(&e, req);
	if (err == -ENOENT && e.bit == SL_L4_PORT_FLOW)
		e.port->replaced--;
	return err;
}

/* An endpoint that is not a group has no other member to take its connections. */
static int claim_away(const struct sl_claim_req *req, bool away)
{
	struct sl_claim old = {0}, *mine;
	struct sl_members g;
	const char *none;
	struct entry e;
	int err = entry_init(&e, req);

	if (!err)
		err = members(&e, &old, &g);
	if (!err && !(old.flags & SL_CLAIM_GROUP && is_tcp(&e)))
		err = -ENOENT;
	if (err)
		return err;
	mine = group_find(&g, &req->claim);
	if (!mine)
		return -ENOENT;
	if (away)
		mine->flags |= SL_CLAIM_AWAY;
	else
		mine->flags &= ~SL_CLAIM_AWAY;
	g.narrow[mine - g.target] = req->narrow; /* the map has none of those that are away */
	err = swing(&e, &old, &g);
	return err ? err : follow(&e, &req->key, false, &none);
}

/* nic: the NIC's reason, if it has refused the claim. */
static void say_why(int err, const char *nic, const char **why)
{
	if (nic) {
		sl_why(why, "%s", nic);
		return;
	}
	if (err == -E2BIG)
		sl_warn_once("port", "a steering table is full: more sockets stay with the kernel; "
				     "remedy: a higher SLUICE_MAX_FLOWS");
	if (err == -EADDRINUSE)
		sl_why(why, "another socket of this process receives on the same address and port");
	else if (err == -E2BIG || err == -ENOMEM)
		sl_why(why, "the steering table is full (SLUICE_MAX_FLOWS)");
	else if (err == -ENOSPC)
		sl_why(why, "more than %u sockets (%u narrowed) on one port, or %u such ports",
		       SL_GROUP_TARGETS, SL_GROUP_NARROWED, SL_MAX_GROUPS);
	else if (err == -ENODEV)
		sl_why(why, "the device is not offloaded");
	else if (err)
		sl_why(why, "the steering rule could not be added: %s", sl_strerror(err));
}

int sl_embedded_claim(const struct sl_claim_req *req, const char **why)
{
	struct sl_broker_guard g;
	const char *nic = NULL;
	int err;

	sl_broker_enter(&g);
	err = claim(req, &nic);
	say_why(err, nic, why);
	sl_broker_leave(&g);
	return err;
}

int sl_embedded_claim_update(const struct sl_claim_req *req)
{
	struct sl_broker_guard g;
	const char *nic = NULL;
	int err;

	sl_broker_enter(&g);
	err = claim(req, &nic);
	sl_broker_leave(&g);
	return err;
}

int sl_embedded_claim_away(const struct sl_claim_req *req, bool away)
{
	struct sl_broker_guard g;
	int err;

	sl_broker_enter(&g);
	err = claim_away(req, away);
	sl_broker_leave(&g);
	return err;
}

bool sl_embedded_claim_is_heard(const struct sl_claim_req *req)
{
	struct sl_claim old, *mine = NULL;
	struct sl_broker_guard guard;
	struct sl_members g;
	struct entry e;
	bool heard = true;

	sl_broker_enter(&guard);
	if (!entry_init(&e, req) && e.port->attach.kind != SL_ATTACH_MAPS && !members(&e, &old, &g))
		mine = group_find(&g, &req->claim);
	if (mine)
		heard = mine->flags & SL_CLAIM_HEARD;
	sl_broker_leave(&guard);
	return heard;
}

void sl_embedded_unclaim_all(const struct sl_claim_req *reqs, unsigned n)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	for (unsigned i = 0; i < n; i++)
		unclaim(&reqs[i]);
	sl_broker_leave(&g);
}

void sl_embedded_unclaim(const struct sl_claim_req *req)
{
	sl_embedded_unclaim_all(req, 1);
}
