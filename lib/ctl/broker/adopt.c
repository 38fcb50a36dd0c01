/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices, lanes and packet memory as records of the vault (vault.h), and out of them again.
 *
 * Theory of operation: the kernel keeps what matters as long as somebody holds the descriptors: the
 * rings with what lies in them, the maps, the attachment. A new daemon maps them again (Linux 6.4),
 * and makes anew what only it had in its own memory. Rings that are lent once (umem/ring.c) stay
 * with the process that has them: all that is lost with it is what they hold when it dies, until
 * the group's memory goes. What the dead daemon was in the middle of is finished or undone by the
 * group's memory (base/share/share_bury.c); records there that nothing refers to were of things
 * half made. */
#include "ctl/broker/adopt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/broker/owner.h"
#include "ctl/claim/bury.h"
#include "ctl/claim/lane.h"
#include "ctl/device/device.h"
#include "ctl/device/link.h"
#include "ctl/device/lock.h"
#include "ctl/device/part.h"
#include "ctl/device/port.h"
#include "ctl/lease/vault.h"
#include "ctl/steer/load.h"
#include "ctl/steer/maps.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"
#include "ctl/umem/xsk.h"

/* Packet memory ---------------------------------------------------------------------------------
 */

struct umem_kept {
	uint32_t id, nframes, frame_size, headroom, huge;
	int8_t memfd, share_fd, told_fd;
	struct sl_share_geometry geometry; /* not to be learnt from the memory, where all write */
};

void sl_umem_keep(const struct sl_umem *u, struct sl_vault_msg *m)
{
	struct umem_kept *k = (struct umem_kept *)m->body;

	*k = (struct umem_kept){
		.id = u->info.id,
		.nframes = u->info.nframes,
		.frame_size = u->info.frame_size,
		.headroom = u->info.headroom,
		.huge = u->info.huge,
		.memfd = sl_vault_add(m, u->info.memfd),
		.share_fd = sl_vault_add(m, u->info.share_fd),
		.told_fd = sl_vault_add(m, u->info.told_fd),
		.geometry = u->info.geometry,
	};
	m->bytes = sizeof(*k);
}

static void umem_close_fds(const struct sl_umem_info *u)
{
	const int fd[] = {u->memfd, u->share_fd, u->told_fd};

	for (size_t i = 0; i < sl_array_len(fd); i++)
		if (fd[i] >= 0)
			sl_sys_close(fd[i]);
}

int sl_umem_adopt(struct sl_vault_msg *m)
{
	const struct umem_kept *k = (const struct umem_kept *)m->body;
	struct sl_umem_info u = {
		.id = k->id,
		.nframes = k->nframes,
		.frame_size = k->frame_size,
		.headroom = k->headroom,
		.huge = k->huge,
		.member = SL_SHARE_BROKER,
		.geometry = k->geometry,
	};
	int err;

	if (m->bytes != sizeof(*k))
		return -EPROTO;
	u.memfd = sl_fd_keep(sl_vault_take(m, k->memfd));
	u.share_fd = sl_fd_keep(sl_vault_take(m, k->share_fd));
	u.told_fd = sl_fd_keep(sl_vault_take(m, k->told_fd));
	err = sl_umem_is_sound(u.nframes, u.frame_size, u.headroom, &u.geometry) &&
			      !sl_umem_find(u.id)
		      ? sl_umem_map_again(&u)
		      : -EPROTO;
	if (err)
		umem_close_fds(&u);
	return err;
}

/* Devices ---------------------------------------------------------------------------------------
 */

struct device_kept {
	struct sl_port_info info; /* without its pointers */
	uint32_t kind, mode, prog_id, hints, main_id;
	uint8_t beside, guard_tried, lent_once, frags, vxlan;
	uint64_t hash_key[SL_HASH_KEYS];
	uint64_t vlans_left;
	struct sl_device_vlan vlan[SL_MAX_VLANS];
	struct sl_ring_sizes rings;
	uint32_t nparts;
	struct {
		uint32_t first, n, umem;
		uint8_t taken, zerocopy, bound;
	} part[SL_MAX_PARTS];
	struct sl_nic nic;
	uint32_t share_queue[SL_MAX_QUEUES];
	int8_t owner, reaper, link, drop, guard, map[SL_MAP_COUNT], anchor[SL_MAX_QUEUES];
};
_Static_assert(sizeof(struct device_kept) <= SL_VAULT_BYTES, "a record");
_Static_assert(5 + SL_MAP_COUNT + SL_MAX_QUEUES <= SL_VAULT_FDS, "a record");

size_t sl_device_kept_bytes(void)
{
	return sizeof(struct device_kept);
}

static void keep_fds(const struct sl_device *d, struct device_kept *k, struct sl_vault_msg *m)
{
	k->owner = sl_vault_add(m, d->owner_fd);
	k->reaper = sl_vault_add(m, d->reaper_fd);
	k->link = sl_vault_add(m, d->attach.link_fd);
	k->drop = sl_vault_add(m, d->attach.drop_fd);
	k->guard = sl_vault_add(m, d->attach.guard_fd);
	for (unsigned i = 0; i < SL_MAP_COUNT; i++)
		k->map[i] = sl_vault_add(m, d->attach.map_fd[i]);
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++) /* (an unbound queue has nothing to keep) */
		k->anchor[i] =
			sl_vault_add(m, sl_queue_is_bound(d, i) ? d->queue[i].anchor_fd : -1);
}

void sl_device_keep(const struct sl_device *d, struct sl_vault_msg *m)
{
	struct device_kept *k = (struct device_kept *)m->body;

	*k = (struct device_kept){
		.info = d->info,
		.kind = d->attach.kind,
		.mode = (uint32_t)d->attach.mode,
		.prog_id = d->attach.prog_id,
		.hints = d->attach.hints,
		.main_id = d->attach.main_id,
		.beside = d->attach.beside,
		.guard_tried = d->attach.guard_tried,
		.lent_once = d->lent_once,
		.frags = d->attach.frags,
		.vxlan = d->attach.vxlan,
		.vlans_left = d->vlans_left,
		.rings = d->rings,
		.nparts = d->nparts,
		.nic = d->nic,
	};
	memcpy(k->vlan, d->vlan, sizeof(k->vlan));
	if (d->attach.hash_key)
		memcpy(k->hash_key, d->attach.hash_key, sizeof(k->hash_key));
	for (uint32_t i = 0; i < d->nparts; i++) {
		const struct sl_part *p = &d->part[i];

		k->part[i].first = p->first;
		k->part[i].n = p->n;
		k->part[i].umem = p->umem_id;
		k->part[i].taken = p->taken;
		k->part[i].zerocopy = p->zerocopy;
		k->part[i].bound = p->bound;
	}
	k->info.ports = NULL;
	k->info.rules = k->info.rules_rw = NULL;
	k->info.paces = NULL;
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++)
		k->share_queue[i] = d->queue[i].share_queue;
	keep_fds(d, k, m);
	m->bytes = sizeof(*k);
}

static void take_fds(struct sl_device *d, const struct device_kept *k, struct sl_vault_msg *m)
{
	d->owner_fd = sl_fd_keep(sl_vault_take(m, k->owner));
	d->reaper_fd = sl_fd_keep(sl_vault_take(m, k->reaper));
	d->attach.link_fd = sl_fd_keep(sl_vault_take(m, k->link));
	d->attach.drop_fd = sl_fd_keep(sl_vault_take(m, k->drop));
	d->attach.guard_fd = sl_fd_keep(sl_vault_take(m, k->guard));
	for (unsigned i = 0; i < SL_MAP_COUNT; i++)
		d->attach.map_fd[i] = sl_fd_keep(sl_vault_take(m, k->map[i]));
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++) {
		d->queue[i].anchor_fd = sl_fd_keep(sl_vault_take(m, k->anchor[i]));
		d->queue[i].share_queue = k->share_queue[i];
	}
}

static bool is_ring_size(uint32_t n)
{
	return n && n <= 4 * SL_XSK_MAX && !(n & (n - 1));
}

static bool part_is_sound(const struct device_kept *k, uint32_t i)
{
	const struct sl_umem *u = sl_umem_find(k->part[i].umem);
	uint32_t first = k->part[i].first, n = k->part[i].n;

	if (first > k->info.nqueues || n > k->info.nqueues - first || (k->part[i].taken && !n))
		return false;
	for (uint32_t q = first; k->part[i].bound && q < first + n; q++)
		if (!k->part[i].taken || !u || k->share_queue[q] >= u->info.geometry.nqueues ||
		    k->anchor[q] < 0)
			return false;
	return true;
}

static bool is_text(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

/* Checks each number of the record that is used as an index, and that its texts end. */
static bool device_is_sound(const struct device_kept *k)
{
	const struct sl_port_info *i = &k->info;
	bool bound = false;

	if (!i->ifindex || !i->nqueues || i->nqueues > SL_MAX_QUEUES ||
	    i->max_lanes != SL_MAX_XSKS / i->nqueues || k->nparts > SL_MAX_PARTS ||
	    k->nic.nspread > SL_NIC_SPREADS || !is_text(i->ifname, sizeof(i->ifname)) ||
	    !is_text(i->driver, sizeof(i->driver)) || !is_text(i->pin_dir, sizeof(i->pin_dir)))
		return false;
	for (uint32_t p = 0; p < k->nparts; p++) {
		if (!part_is_sound(k, p))
			return false;
		bound |= k->part[p].bound;
	}
	return !bound || (is_ring_size(k->rings.rx) && is_ring_size(k->rings.tx) &&
			  is_ring_size(k->rings.fill) && is_ring_size(k->rings.comp));
}

static struct sl_device *device_of(struct sl_vault_msg *m)
{
	const struct device_kept *k = (const struct device_kept *)m->body;
	bool sound = m->bytes == sizeof(*k) && device_is_sound(k);
	struct sl_attach key = {0};
	struct sl_device *d = sound && sl_steer_make_key(&key, false) ? sl_device_new() : NULL;

	if (!d) {
		sl_steer_drop_key(&key);
		return NULL;
	}
	d->info = k->info;
	d->attach.kind = (enum sl_attach_kind)k->kind;
	d->attach.mode = (int)k->mode;
	d->attach.prog_id = k->prog_id;
	d->attach.hints = k->hints;
	d->attach.main_id = k->main_id;
	d->attach.beside = k->beside;
	d->attach.guard_tried = k->guard_tried;
	d->attach.frags = k->frags;
	d->attach.vxlan = k->vxlan;
	d->attach.groups = true;
	d->attach.hash_key = key.hash_key;
	memcpy(d->attach.hash_key, k->hash_key, sizeof(k->hash_key));
	d->lent_once = k->lent_once;
	d->vlans_left = k->vlans_left;
	memcpy(d->vlan, k->vlan, sizeof(d->vlan));
	d->rings = k->rings;
	d->nparts = k->nparts;
	d->nic = k->nic;
	for (uint32_t i = 0; i < k->nparts; i++)
		d->part[i] = (struct sl_part){
			.port = d,
			.first = k->part[i].first,
			.n = k->part[i].n,
			.taken = k->part[i].taken,
			.umem_id = k->part[i].umem,
			.umem = k->part[i].taken ? sl_umem_find(k->part[i].umem) : NULL,
			.zerocopy = k->part[i].zerocopy,
			.bound = k->part[i].bound,
		};
	take_fds(d, k, m);
	return d;
}

/* -ENOENT: the group that has a part has no packet memory any more. */
static int parts_map_again(struct sl_device *d)
{
	int err = 0;

	for (struct sl_part *p = d->part; p < d->part + d->nparts && !err; p++)
		if (p->taken)
			err = p->umem ? sl_queues_map_again(p) : -ENOENT;
	return err;
}

/* Adopts a device of the daemon before. Only processes with leases ran meanwhile, which cannot
 * change it. Resources that no record names go with their last descriptor. */
int sl_device_adopt(struct sl_vault_msg *m, const char **why)
{
	struct sl_broker_guard g;
	struct sl_device *d;
	int err = -EPROTO;

	sl_broker_enter(&g);
	d = device_of(m);
	if (d)
		err = parts_map_again(d);
	if (!err)
		err = sl_maps_open_again(d, why);
	if (!err) {
		(void)sl_link_open();
		if (d->lent_once)
			sl_rings_are_lent_once();
		sl_owner_again(d->owner_fd);
		sl_device_add(d);
	} else if (d) {
		sl_device_drop(d);
	}
	sl_broker_leave(&g);
	return err;
}

/* True: the lease fits the part's i-th queue. */
static bool lease_is_sound(const struct sl_part *part, uint32_t i, const struct sl_xsk_lease *l)
{
	return part->umem && l->queue == part->first + i && l->fd >= 0 &&
	       l->share_queue == part->port->queue[l->queue].share_queue &&
	       l->share_xsk < part->umem->info.geometry.nxsks && is_ring_size(l->rx_size) &&
	       is_ring_size(l->tx_size) && l->packet_places <= SL_PACKET_PLACES;
}

int sl_lane_adopt(uint32_t ifindex, uint32_t umem, uint32_t lane, struct sl_xsk_lease *leases,
		  uint32_t n)
{
	struct sl_device *d = sl_device_find(ifindex);
	struct sl_part *part = d ? sl_part_of(d, umem) : NULL;
	struct sl_broker_guard g;
	int err = 0;

	if (!part || n != part->n || lane >= d->info.max_lanes)
		return -ENODEV;
	sl_broker_enter(&g);
	for (uint32_t i = 0; i < n && !err; i++)
		err = lease_is_sound(part, i, &leases[i])
			      ? sl_lane_map_again(part, lane, &leases[i])
			      : -EPROTO;
	sl_broker_leave(&g);
	return err;
}

/* The group's memory ----------------------------------------------------------------------------
 */

static void forget_queues(const struct sl_umem *u)
{
	const struct sl_share *g = &u->info.share;
	uint32_t open = 0;

	for (uint32_t i = 0; i < g->nqueues; i++)
		if (g->told_queue[i].state == SL_QUEUE_OPEN)
			g->told_queue[i].state = SL_QUEUE_CLOSED;
	for (struct sl_device *d = sl_port_first(); d; d = d->next) {
		const struct sl_part *p = sl_part_of(d, u->info.id);

		for (uint32_t i = 0; p && p->bound && i < p->n; i++) {
			g->told_queue[d->queue[p->first + i].share_queue].state = SL_QUEUE_OPEN;
			open++;
		}
	}
	sl_store(&g->told->open, open);
}

static void remember_xsk(const struct sl_share *g, uint32_t xsk, uint32_t queue)
{
	g->told_xsk[xsk].used = queue + 1;
	sl_store(&g->told_queue[queue].xsks, g->told_queue[queue].xsks + 1);
}

/* True: an open lane has an XSK of that packet memory. */
static bool has_xsk(const struct sl_device *d, const struct sl_umem *u, uint32_t xsk)
{
	uint32_t lane = xsk / d->info.nqueues, queue = xsk % d->info.nqueues;
	const struct sl_part *p = &d->part[d->lane_part[lane]];

	return d->lane_open[lane / 64] >> lane % 64 & 1 && p->umem == u && queue - p->first < p->n;
}

static void forget_xsks(const struct sl_umem *u)
{
	const struct sl_share *g = &u->info.share;

	for (uint32_t i = 0; i < g->nxsks; i++)
		g->told_xsk[i].used = 0;
	for (uint32_t i = 0; i < g->nqueues; i++)
		sl_store(&g->told_queue[i].xsks, 0);
	for (struct sl_device *d = sl_port_first(); d; d = d->next)
		for (uint32_t i = 0; i < SL_MAX_XSKS; i++)
			if (has_xsk(d, u, i))
				remember_xsk(g, d->xsk[i],
					     d->queue[i % d->info.nqueues].share_queue);
}

/* Buries members without a session; marks those with a session live even if they were free. */
static void bury_unused(struct sl_umem *u, bool (*is_used)(uint32_t umem, uint8_t member))
{
	uint32_t id = u->info.id;

	for (uint8_t i = 1; i < SL_SHARE_BROKER; i++) {
		uint32_t *state = &u->info.share.told->member[i].state;

		if (is_used(id, i)) {
			if (sl_load(state) == SL_MEMBER_FREE)
				sl_store(state, SL_MEMBER_LIVE);
			continue;
		}
		if (sl_load(state) == SL_MEMBER_FREE)
			continue;
		sl_broker_died(id, i);
		u->unburied[i] = true;
	}
	u->unburied[SL_SHARE_BROKER] = true;
}

void sl_broker_again(bool (*is_used)(uint32_t umem, uint8_t member))
{
	struct sl_broker_guard guard;

	if (!sl_umem_first())
		return;
	sl_broker_enter(&guard);
	for (struct sl_umem *u = sl_umem_first(); u; u = u->next) {
		forget_queues(u);
		forget_xsks(u);
	}
	sl_broker_leave(&guard);
	for (struct sl_umem *u = sl_umem_first(); u; u = u->next)
		sl_broker_died(u->info.id, SL_SHARE_BROKER);
	sl_broker_grace();
	for (struct sl_umem *u = sl_umem_first(); u; u = u->next)
		bury_unused(u, is_used);
	sl_broker_enter(&guard);
	sl_umems_bury_left();
	sl_broker_leave(&guard);
}
