/* SPDX-License-Identifier: BSD-2-Clause */
/* A new daemon takes over from a dead one, out of the vault's records.
 *
 * Theory of operation: the records say what was lent to which session (keep.c); the maps say which
 * packets are claimed, and for which lane. An object that a record names and that does not exist
 * was being given or taken back at the daemon's death: a device without a session is closed, a lane
 * without a session is dropped, a claim without a lane is deleted. A request that was not answered
 * still lies in its session's socket (session.c), and is done again from the beginning. The
 * connection of a process that died meanwhile has ended, which ends its session as always. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/adopt.h"
#include "ctl/broker/embedded.h"
#include "ctl/claim/bury.h"
#include "ctl/claim/recall.h"
#include "ctl/device/device.h"
#include "ctl/device/part.h"
#include "ctl/kern/say.h"
#include "ctl/lease/msg.h"
#include "ctl/lease/vault.h"
#include "ctl/umem/umem.h"
#include "claims.h"
#include "conns.h"
#include "deliver.h"
#include "keep.h"
#include "memory.h"
#include "session.h"
#include "sluiced.h"
#include "vlan.h"

/* Sessions --------------------------------------------------------------------------------------
 */

/* Adopts the session's devices. One may be closed already, and only its record is left. */
static void adopt_ports(struct sl_session *s, const struct sl_session_kept *k)
{
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++) {
		struct sl_device *d = sl_device_find(k->port[i].ifindex);
		struct sl_part *part = d ? sl_part_of(d, k->umem) : NULL;

		if (!part)
			continue;
		s->port[i].ifindex = k->port[i].ifindex;
		s->port[i].nqueues = k->port[i].nqueues;
		memcpy(s->port[i].ifname, k->port[i].ifname, sizeof(s->port[i].ifname));
		sl_part_take(part, k->umem);
	}
}

static void fill_session(struct sl_session *s, const struct sl_session_kept *k)
{
	s->id = k->id;
	s->member = k->member;
	s->greeted = k->greeted;
	s->share = k->share;
	s->said = k->said;
	s->outside = k->outside;
	s->leaving = k->leaving;
	s->eof = k->eof;
	s->tries = k->tries;
	s->begun = k->begun;
	s->since_ns = k->since_ns;
	s->cred = k->cred;
	s->ngids = k->ngids;
	s->limits = k->limits;
	s->vlans = k->vlans;
	s->conns.gone.layout = k->layout;
	memcpy(s->gid, k->gid, sizeof(s->gid));
	memcpy(s->program, k->program, sizeof(s->program));
	memcpy(s->group, k->group, sizeof(s->group));
	s->again = true;
}

static void adopt_boxes(struct sl_session *s, struct sl_vault_msg *m,
			const struct sl_session_kept *k)
{
	for (uint32_t i = 0; i < k->nboxes; i++) {
		int fd = sl_vault_take(m, k->box[i].fd);

		if (fd >= 0)
			s->boxes.box[s->boxes.n++] = (struct sl_gone_box){
				fd, k->box[i].listener, k->box[i].port, k->box[i].family};
	}
}

bool sl_session_is_sound(const struct sl_session_kept *k)
{
	for (unsigned i = 0; i < SL_SESSION_PORTS; i++)
		if (strnlen(k->port[i].ifname, sizeof(k->port[i].ifname)) ==
		    sizeof(k->port[i].ifname))
			return false;
	return k->ngids <= sl_array_len(k->gid) && k->nboxes <= SL_SESSION_BOXES &&
	       strnlen(k->program, sizeof(k->program)) < sizeof(k->program) &&
	       strnlen(k->group, sizeof(k->group)) < sizeof(k->group);
}

static int adopt_session(struct sl_vault_msg *m)
{
	const struct sl_session_kept *k = (const struct sl_session_kept *)m->body;
	struct sl_session *s;

	if (m->bytes != sizeof(*k) || !sl_session_is_sound(k))
		return -EPROTO;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	fill_session(s, k);
	s->fd = sl_vault_take(m, k->conn);
	s->pidfd = sl_vault_take(m, k->pidfd);
	s->conns.gone.fd = sl_vault_take(m, k->conns);
	adopt_boxes(s, m, k);
	if (s->share)
		sl_memory_adopt(s, k->umem);
	if (s->memory)
		adopt_ports(s, k);
	sluiced.last_id = sl_max(sluiced.last_id, s->id);
	sluiced.last_member = sl_max(sluiced.last_member, s->member);
	if (s->fd < 0)
		s->leaving = true;
	sl_session_add(s);
	return 0;
}

static struct sl_session *session_by_id(uint32_t id)
{
	struct sl_session *s = sluiced.sessions;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* Lanes -----------------------------------------------------------------------------------------
 */

static struct sl_xsk_lease *leases_of(struct sl_vault_msg *m, const struct sl_lane_kept *k)
{
	struct sl_xsk_lease *l = calloc(k->nqueues, sizeof(*l));

	for (uint32_t i = 0; l && i < k->nqueues; i++)
		l[i] = sl_lease_of(&k->queue[i], sl_fd_keep(sl_vault_take(m, (int8_t)i)));
	if (l && k->packet_places) {
		l[0].packet_places = k->packet_places;
		l[0].packet_fd = sl_fd_keep(sl_vault_take(m, (int8_t)k->nqueues));
	}
	return l;
}

/* The daemon before us may have taken the lane out of the map, which for packet sockets looks as if
 * somebody had deleted the private device. Requests of others come before this process is buried.
 */
static void mute_if_dead(const struct sl_session *s, uint32_t ifindex, uint32_t lane)
{
	const struct sl_broker_lane dead = {.ifindex = ifindex, .lane = lane};

	if (s->pidfd < 0 ? s->eof : sl_is_dead(s->pidfd))
		sl_broker_mute(&dead, 1);
}

bool sl_lane_is_sound(const struct sl_lane_kept *k, uint32_t nfds)
{
	return k->port < SL_SESSION_PORTS && k->number < SL_SESSION_LANES &&
	       k->nqueues <= SL_MAX_QUEUES && k->lane < SL_MAX_XSKS &&
	       nfds == k->nqueues + !!k->packet_places;
}

static int adopt_lane(struct sl_vault_msg *m)
{
	const struct sl_lane_kept *k = (const struct sl_lane_kept *)m->body;
	struct sl_session *s = m->bytes == sizeof(*k) ? session_by_id(k->session) : NULL;
	struct sl_session_port *p;
	struct sl_xsk_lease *leases;
	int err;

	if (!s || !s->share || !sl_lane_is_sound(k, m->nfds) || !s->port[k->port].ifindex)
		return -ENOENT;
	p = &s->port[k->port];
	leases = leases_of(m, k);
	if (!leases)
		return -ENOMEM;
	err = sl_lane_adopt(p->ifindex, s->memory->umem, k->lane, leases, k->nqueues);
	/* An incomplete lane is taken back when the process asks for it, or dies. */
	p->lane[k->number] = (uint16_t)(k->lane + 1);
	p->lease[k->number] = leases;
	s->nlanes++;
	mute_if_dead(s, p->ifindex, k->lane);
	return err;
}

static int adopt_restore(struct sl_vault_msg *m)
{
	struct sl_session *s = session_by_id((uint32_t)m->hdr.key);

	return s ? sl_restore_adopt(s, m) : -ENOENT;
}

/* Claims ----------------------------------------------------------------------------------------
 */

/* The session that owns each lane of a device. */
struct owners {
	uint32_t nqueues;
	struct sl_session *of[SL_MAX_XSKS];
};

static void find_owners(struct owners *o, const struct sl_device *d)
{
	memset(o, 0, sizeof(*o));
	o->nqueues = d->info.nqueues;
	for (struct sl_session *s = sluiced.sessions; s; s = s->next) {
		const struct sl_session_port *p = sl_session_port(s, d->info.ifindex);

		for (unsigned i = 0; p && i < SL_SESSION_LANES; i++)
			if (p->lane[i] && p->lane[i] <= SL_MAX_XSKS)
				o->of[p->lane[i] - 1] = s;
	}
}

/* Finds a claim's session: by its lane, or, for the kernel's flows, which have no lane, by process.
 */
static struct sl_session *owner_of(const struct owners *o, const struct sl_claim *c)
{
	struct sl_session *s = sluiced.sessions;

	if (!(c->flags & SL_CLAIM_PASS))
		return c->lane < SL_MAX_XSKS ? o->of[c->lane / o->nqueues] : NULL;
	while (s && sl_claim_pid(s) != c->pid)
		s = s->next;
	return s;
}

static bool adopt_claim(void *arg, const struct sl_claim_req *req)
{
	struct sl_session *s = owner_of(arg, &req->claim);
	const struct sl_proof seen_before = {0};

	uint32_t rule = 0;

	if (!s || !s->memory || !sl_vlan_is_sound(s, req) || sl_divide_get(s, req, &rule, NULL))
		return false;
	if (!sl_held_put(&s->held, req, false, rule)) {
		(void)sl_watch_add(s, req, &seen_before);
		return true;
	}
	sl_divide_put(rule);
	return false;
}

/* All together ----------------------------------------------------------------------------------
 */

static int each(enum sl_keep kind, int (*adopt)(struct sl_vault_msg *m))
{
	struct sl_vault_msg *m;
	unsigned at = 0;

	while ((m = sl_keep_next(kind, &at))) {
		int err = adopt(m);

		if (!err)
			continue;
		sl_log(err == -ENOENT ? SL_LOG_DEBUG : SL_LOG_WARN, "sluiced",
		       "record %u/%llx of the daemon before is not taken over: %s", kind,
		       (unsigned long long)m->hdr.key, sl_strerror(err));
		sl_keep_drop(m);
	}
	return 0;
}

static int adopt_device(struct sl_vault_msg *m)
{
	const char *why = NULL;
	int err = sl_device_adopt(m, &why);

	if (err && why)
		sl_warn("sluiced", "%s", why);
	return err;
}

static int adopt_view(struct sl_vault_msg *m)
{
	return m->nfds ? sl_view_adopt((uint32_t)m->hdr.key, sl_vault_take(m, 0)) : -EPROTO;
}

static int adopt_umem(struct sl_vault_msg *m)
{
	uint32_t id = (uint32_t)m->hdr.key;

	sluiced.last_umem = sl_max(sluiced.last_umem, id);
	return sl_umem_adopt(m);
}

static bool is_used(uint32_t umem, uint8_t member)
{
	for (const struct sl_session *s = sluiced.sessions; s; s = s->next)
		if (s->memory && s->memory->umem == umem && s->share == member)
			return true;
	return false;
}

static bool has_users(uint32_t umem)
{
	for (const struct sl_memory *m = sluiced.memory; m < sluiced.memory + SL_MEMORIES_MAX; m++)
		if (m->users && m->umem == umem)
			return true;
	return false;
}

static void drop_unused(void)
{
	struct sl_umem *next;

	for (struct sl_umem *u = sl_umem_first(); u; u = next) {
		uint32_t id = u->info.id;

		next = u->next;
		if (!has_users(id))
			sl_umem_drop(id);
		sl_keep_umem(id);
	}
}

/* Closes the parts of the device that no session has; all of it, if no session has any. */
static void close_parts(struct sl_device *d)
{
	uint32_t ifindex = d->info.ifindex, umem[SL_MAX_PARTS], n = 0;

	for (uint32_t i = 0; i < d->nparts; i++) {
		struct sl_part *part = &d->part[i];

		if (part->users || !(part->taken || (i == 0 && !d->users)))
			continue;
		umem[n++] = part->umem_id;
		sl_part_take(part, part->umem_id);
	}
	while (n--)
		sl_embedded_port_close(ifindex, umem[n]);
}

static void close_unused(void)
{
	struct sl_device *d = sl_port_first(), *next;

	for (; d; d = next) {
		uint32_t ifindex = d->info.ifindex;

		next = d->next;
		close_parts(d);
		sl_keep_device(ifindex);
	}
	drop_unused();
}

int sl_adopt(void)
{
	static struct owners owners;

	each(SL_KEEP_UMEM, adopt_umem);
	each(SL_KEEP_DEVICE, adopt_device);
	each(SL_KEEP_VIEW, adopt_view);
	each(SL_KEEP_SESSION, adopt_session);
	each(SL_KEEP_LANE, adopt_lane);
	each(SL_KEEP_RESTORE, adopt_restore);
	each(SL_KEEP_HEIR, sl_heirs_adopt);
	sl_broker_again(is_used);
	for (struct sl_device *d = sl_port_first(); d; d = d->next) {
		find_owners(&owners, d);
		sl_divide_begin(d);
		sl_claims_recall(d->info.ifindex, adopt_claim, &owners);
	}
	sl_divide_end();
	close_unused();
	sl_vlans_adopted();
	sl_keep_taken();
	sl_info("sluiced", "took over from the daemon before: %u connections", sluiced.nsessions);
	return 0;
}
