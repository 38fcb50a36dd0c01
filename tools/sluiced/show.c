/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers `sluice daemon`: the daemon, its devices, its leases. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "ctl/device/device.h"
#include "ctl/device/opts.h"
#include "ctl/device/part.h"
#include "ctl/kern/say.h"
#include "ctl/umem/umem.h"
#include "grant.h"
#include "handlers.h"
#include "keep.h"
#include "memory.h"
#include "policy.h"
#include "session.h"
#include "sluice.h"
#include "sluiced.h"

static uint32_t count_ports(void)
{
	uint32_t n = 0;

	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		n++;
	return n;
}

static uint32_t count_leases(void)
{
	uint32_t n = 0;

	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		n += s->greeted && !s->leaving;
	return n;
}

int sl_on_status(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	m->body.status_ok = (struct sl_lease_status_ok){
		.pid = sl_broker_pid(),
		.netns = sluiced.netns,
		.clients = sluiced.nsessions,
		.leases = count_leases(),
		.ports = count_ports(),
		.draining = sluiced.draining,
		.uptime_ns = sl_now_ns() - sluiced.start_ns,
		.requests = sluiced.requests,
		.refused = sluiced.refused,
		.broken = sluiced.broken,
		.version = SLUICE_VERSION,
	};
	return 0;
}

/* Lanes and flows of one device, over all sessions of a group. */
static void count_use(uint32_t ifindex, uint32_t umem, uint32_t *lanes, uint32_t *flows)
{
	*lanes = *flows = 0;
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		const struct sl_session_port *p =
			s->memory && s->memory->umem == umem ? sl_session_port(s, ifindex) : NULL;

		for (unsigned i = 0; p && i < SL_SESSION_LANES; i++)
			*lanes += p->lane[i] != 0;
		for (uint32_t i = 0; p && i < s->held.max; i++)
			*flows += s->held.slot[i].used && s->held.slot[i].req.ifindex == ifindex;
	}
}

/* Counts the sessions that were refused the device and could have it otherwise. */
static uint32_t count_outsiders(const struct sl_device *d)
{
	uint32_t n = 0;

	for (struct sl_session *s = sluiced.sessions; s; s = s->next)
		n += s->outside && !s->leaving &&
		     (!sl_memory_has_part(d, s->group) || d->lent_once) &&
		     !sl_session_port(s, d->info.ifindex) &&
		     sl_limits_allow_device(&s->limits, d->info.ifname);
	return n;
}

/* The n-th part of a device that some group has. */
static const struct sl_part *nth_part(uint32_t n)
{
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t i = 0; i < d->nparts; i++)
			if (d->part[i].taken && !n--)
				return &d->part[i];
	return NULL;
}

int sl_on_show_port(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	const struct sl_part *part = nth_part(m->body.show.n);
	struct sl_lease_show_port_ok *out = &m->body.show_port_ok;
	const struct sl_memory *memory;
	const struct sl_device *d;
	struct sl_port_info info;
	enum sl_port_end end;

	if (!part)
		return -ENOENT;
	d = part->port;
	memset(out, 0, sizeof(*out));
	sl_part_describe(part, &info);
	sl_port_describe(&info, &out->port);
	out->users = part->users - sl_linger_users(info.ifindex, part->umem_id);
	out->state = sl_device_state(d, &out->port.mtu, &end);
	out->port.end = (uint8_t)end;
	count_use(info.ifindex, part->umem_id, &out->lanes, &out->flows);
	memory = sl_memory_by_umem(part->umem_id);
	if (memory)
		memcpy(out->group, memory->group, sizeof(out->group));
	out->outsiders = count_outsiders(d);
	out->lent_once = d->lent_once;
	return 0;
}

static void list_devices(const struct sl_session *s, char *out, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; i < SL_SESSION_PORTS && at < len; i++)
		if (s->port[i].ifindex)
			at += (size_t)snprintf(out + at, len - at, "%s%s", at ? "," : "",
					       s->port[i].ifname);
}

static uint32_t frames_of(const struct sl_session *s)
{
	const struct sl_umem *u = s->memory ? sl_umem_find(s->memory->umem) : NULL;

	return u ? (uint32_t)sl_max(sl_load(&u->info.share.member[s->share].held), 0) : 0;
}

int sl_on_show_lease(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	uint32_t n = m->body.show.n;
	const struct sl_session *of = sluiced.sessions;
	struct sl_lease_show_lease_ok *out = &m->body.show_lease_ok;

	while (of && (!of->greeted || of->leaving || n--))
		of = of->next;
	if (!of)
		return -ENOENT;
	*out = (struct sl_lease_show_lease_ok){
		.member = of->member,
		.pid = (uint32_t)of->cred.pid,
		.uid = of->cred.uid,
		.lanes = of->nlanes,
		.flows = of->held.n,
		.frames = frames_of(of),
		.age_ns = sl_now_ns() - of->since_ns,
	};
	memcpy(out->program, of->program, sizeof(out->program));
	memcpy(out->group, of->group, sizeof(out->group));
	list_devices(of, out->devices, sizeof(out->devices));
	return 0;
}

int sl_on_drain(struct sl_session *s, struct sl_lease_msg *m, const char **why)
{
	if (s->cred.uid) {
		sl_why(why, "only root may drain the daemon");
		return -EPERM;
	}
	sluiced.draining = true;
	sl_keep_draining();
	sl_info("sluiced", "draining: no more leases, %u to go", count_leases());
	return 0;
}
