/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls about a port: opening and closing it, and whether it is still steered. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memcheck.h"
#include "base/sys.h"
#include "ctl/broker/embedded.h"
#include "ctl/broker/owner.h"
#include "ctl/broker/reaper.h"
#include "ctl/claim/bury.h"
#include "ctl/claim/lane.h"
#include "ctl/claim/spare.h"
#include "ctl/device/aim.h"
#include "ctl/device/dev.h"
#include "ctl/device/device.h"
#include "ctl/device/link.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/device/pair.h"
#include "ctl/device/part.h"
#include "ctl/device/port.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/memcg.h"
#include "ctl/kern/netdev.h"
#include "ctl/kern/say.h"
#include "ctl/kern/tc.h"
#include "ctl/steer/attach.h"
#include "ctl/steer/attach_skb.h"
#include "ctl/steer/guard.h"
#include "ctl/steer/holders.h"
#include "ctl/steer/left.h"
#include "ctl/steer/load.h"
#include "ctl/steer/maps.h"
#include "ctl/steer/nic_rule.h"
#include "ctl/steer/pin.h"
#include "ctl/umem/ring.h"
#include "ctl/umem/umem.h"
#include "ctl/umem/xsk.h"

static int port_attach(struct sl_device *p, const char **why)
{
	int err;

	/* Remove the leftovers of a process that died; the device is ours now. */
	sl_attach_clean(p->info.ifindex);
	if (!sl_tcx_is_there())
		sl_attach_skb_clean(p->info.ifindex);
	sl_pin_remove(p->info.ifindex);
	err = sl_reaper_start(p);
	if (err)
		sl_info("port",
			"%s: no reaper (%s): attached alone and not pinned; remedy: install "
			"the sluice tool beside the library",
			p->info.ifname, sl_strerror(err));
	(void)sl_memcheck(SL_MEMCHECK_QUIET, 1, 0);
	err = sl_attach_open(&p->attach, &p->info, p->reaper_fd >= 0,
			     p->info.flags & SL_PORT_PACKET, why);
	(void)sl_memcheck(SL_MEMCHECK_QUIET, (uintptr_t)-1, 0);
	if (err)
		sl_reaper_stop(p, false);
	if (!sl_attach_is_by_packet(p->attach.kind) && p->attach.kind != SL_ATTACH_MAPS)
		p->info.flags &= ~SL_PORT_PACKET;
	return err;
}

/* The steering program sees the tags of all packets: in the frame, or by the driver. */
static void look_for_tags(struct sl_device *p)
{
	bool all = p->attach.hints & SL_HINT_TAG || p->info.flags & SL_PORT_PACKET;
	int tags = all ? 1 : sl_dev_leaves_tags(&p->info);

	if (tags > 0)
		p->info.flags |= SL_PORT_TAGS;
	else if (tags == 0)
		p->info.flags &= ~SL_PORT_TAGS;
}

/* The steering program asks the driver for stamps, and the driver has them. (Linux before 6.7 does
 * not say whether it has: a driver with other hints would answer that there is none.) */
static void look_for_stamps(struct sl_device *p)
{
	struct sl_netdev dev;

	if (p->info.flags & SL_PORT_VERBS) /* completions have them */
		p->info.flags |= SL_PORT_HW_STAMP;
	if (p->attach.hints & SL_HINT_STAMP && (sl_netdev_query(p->info.ifindex, &dev) ||
						!dev.hints_known || dev.hints & SL_XDP_HINT_STAMP))
		p->info.flags |= SL_PORT_HW_STAMP;
}

/* (The embedded broker's packet memory may not be known yet: then the first lane binds the queues.)
 */
static int part_open(struct sl_part *part, uint32_t umem, const char **why)
{
	part->umem = sl_umem_find(umem);
	return part->umem ? sl_queues_bind(part, why) : 0;
}

/* Packets of the device are to come by packet sockets (SLUICE_RX_BACKEND). */
static bool wants_packet(const struct sl_device *p)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	const char *why = NULL;

	if (o->rx == SL_BROKER_RX_XDP)
		return false;
	if (o->rx != SL_BROKER_RX_PACKET &&
	    (o->xdp != SL_BROKER_XDP_AUTO || o->zerocopy == SL_BROKER_ZC_FORCE ||
	     !sl_dev_is_better_without_xdp(&p->info)))
		return false;
	if (o->zerocopy == SL_BROKER_ZC_FORCE)
		why = "zero-copy is demanded";
	else if (!sl_pair_may())
		why = "they need CAP_SYS_ADMIN and, in a unit of systemd, RestrictNamespaces=net and "
		      "RestrictAddressFamilies with AF_PACKET";
	if (why)
		sl_info("port", "%s: no packet sockets (%s): by XDP", p->info.ifname, why);
	return !why;
}

/* Packets of the device are to come by queues of its NIC, which steers itself. */
static bool wants_verbs(const struct sl_device *p)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	const char *why = "the daemon lends no queues of NICs";

	if (o->rx != SL_BROKER_RX_VERBS)
		return false;
	if (sl_nic_ops && !o->serve && !sl_nic_ops->may(p->info.ifindex, p->info.ifname, &why))
		return true;
	sl_info("port", "%s: not by verbs (%s): as with SLUICE_RX_BACKEND=auto", p->info.ifname,
		why);
	return false;
}

/* Attaches, and binds the queues. */
static int start_attached(struct sl_device *p, uint32_t umem, const char **why)
{
	int err = port_attach(p, why);

	if (err)
		return err;
	err = part_open(&p->part[0], umem, why);
	if (err) {
		sl_attach_close(&p->attach, p->info.ifindex);
		sl_reaper_stop(p, false);
	}
	return err;
}

/* Does it while a thread makes the private pair of the first lane. (The device may receive by XDP
 * after all.) */
static int start_packet(struct sl_device *p, uint32_t umem, const char **why)
{
	int err;

	sl_queues_choose_rings(&p->rings);
	p->attach.vxlan = sl_steer_wants_vxlan(); /* (it would wait for the threads) */
	if (!sl_attach_drop(&p->attach))
		sl_spare_begin(p);
	err = start_attached(p, umem, why);
	sl_spare_wait(p);
	if (err || !(p->info.flags & SL_PORT_PACKET))
		sl_spare_close(p);
	return err;
}

/* For XDP the queues come first, as in libxdp: that step fails most often, and the device is not
 * touched until it has the queues. For packet sockets the attachment comes first, which decides
 * what the queues are for. */
static int start_steering(struct sl_device *p, uint32_t umem, const char **why)
{
	int err;

	if (p->info.flags & SL_PORT_VERBS)
		return start_attached(p, umem, why);
	if (p->info.flags & SL_PORT_PACKET)
		return start_packet(p, umem, why);
	err = part_open(&p->part[0], umem, why);
	if (err)
		return err;
	err = port_attach(p, why);
	if (err)
		sl_queues_close(&p->part[0], true);
	return err;
}

/* The libraries, the steering program, its check by the verifier and the smallest packet memory
 * take 5 to 7 MB together. In a control group with less room the kernel would kill a process,
 * perhaps another one than this. */
#define ROOM_BYTES (8ull << 20)

static int room_for_steering(const char **why)
{
	uint64_t room = sl_memcg_room();

	if (room >= ROOM_BYTES)
		return 0;
	sl_why(why,
	       "the memory control group leaves %u KB, and a device takes %u; remedy: a higher "
	       "limit",
	       (uint32_t)(room >> 10), (uint32_t)(ROOM_BYTES >> 10));
	return -ENOMEM;
}

static int port_start(struct sl_device *p, uint32_t ifindex, uint32_t umem, uint32_t groups,
		      const char **why)
{
	int err = room_for_steering(why);

	if (!err)
		err = sl_libbpf_load(why);

	if (!err)
		err = sl_dev_query(ifindex, &p->info, why);
	if (err)
		return err;
	(void)sl_link_open();
	err = sl_owner_take(ifindex, p->info.ifname, &p->owner_fd, why);
	if (err)
		return err;
	if (wants_verbs(p))
		p->info.flags |= SL_PORT_VERBS | SL_PORT_PACKET;
	else if (wants_packet(p))
		p->info.flags |= SL_PORT_PACKET;
	else
		err = sl_attach_held(ifindex, p->info.ifname, why);
	if (err)
		return err;
	if (sl_left_had_link(ifindex))
		p->link_ns = sl_now_ns() + SL_LINK_BACK_NS;
	sl_parts_make(p, groups, sl_rings_lent_once());
	err = start_steering(p, umem, why);
	if (err)
		goto undivide;
	if (sl_attach_is_generic(&p->attach))
		p->info.flags |= SL_PORT_GENERIC;
	if (p->attach.frags)
		p->info.flags |= SL_PORT_FRAGS;
	look_for_tags(p);
	look_for_stamps(p);
	err = sl_maps_open(p, why);
	if (err)
		goto detach;
	if (p->reaper_fd >= 0 && sl_pin_maps(p) == 0)
		p->info.flags |= SL_PORT_PINNED;
	return 0;
detach:
	sl_spare_close(p);
	sl_attach_close(&p->attach, ifindex);
	sl_reaper_stop(p, false);
	sl_queues_close(&p->part[0], true);
undivide:
	sl_parts_end(p);
	return err;
}

/* exiting: other threads may still use the mappings. */
static void port_stop(struct sl_device *p, bool exiting)
{
	bool had_link = sl_now_ns() < p->link_ns || sl_left_had_link(p->info.ifindex);

	sl_spare_close(p);
	sl_nic_rules_close(p);
	sl_attach_close(&p->attach, p->info.ifindex);
	if (had_link)
		sl_left_without(p->info.ifindex);
	for (uint32_t i = 0; i < p->nparts; i++)
		sl_queues_close(&p->part[i], !exiting);
	sl_parts_end(p);
	sl_aims_close(p);
	if (!exiting)
		sl_maps_close(p);
	sl_pin_remove(p->info.ifindex);
	sl_reaper_stop(p, exiting);
	sl_info("port", "%s: released", p->info.ifname);
}

static const char *xdp_text(const struct sl_port_info *i)
{
	if (!(i->flags & SL_PORT_GENERIC))
		return "native";
	if (sl_broker_opts()->xdp == SL_BROKER_XDP_GENERIC)
		return "generic (as configured: slow)";
	return sl_dev_hands_xdp_down(i->driver)
		       ? "generic (natively the kernel would drop what the device's slaves deliver: slow)"
		       : "generic (the driver has no native XDP: slow)";
}

static const char *packet_text(const struct sl_port_info *i)
{
	if (i->flags & SL_PORT_VERBS)
		return "queues of the NIC, which steers itself (verbs)";
	return sl_broker_opts()->rx == SL_BROKER_RX_PACKET
		       ? "packet sockets behind a tc program (as configured)"
		       : "packet sockets behind a tc program (XDP would cost more than it brings)";
}

static void say_open(const struct sl_device *p)
{
	const struct sl_port_info *i = &p->info;

	sl_info("port", "%s: offloaded: driver %s, %u RX queue%s, MTU %u, %s%s%s%s%s", i->ifname,
		i->driver, i->nqueues, i->nqueues == 1 ? "" : "s", i->mtu,
		i->flags & SL_PORT_PACKET ? packet_text(i) : "XDP ",
		i->flags & SL_PORT_PACKET ? "" : xdp_text(i),
		i->flags & SL_PORT_PACKET ? ""
		: p->attach.beside        ? ", beside other programs"
					  : ", alone",
		i->pin_dir[0] ? ", pinned at " : "", i->pin_dir);
	sl_queues_say_room(&p->part[0]);
}

/* True: each open lane still has its private device. Somebody may delete one; its packets pass to
 * the kernel then. (The lanes of a process that has ended are not in the map while the daemon
 * buries it: that ends the device for no other process.) */
static bool has_pairs(const struct sl_device *p)
{
	if (!(p->info.flags & SL_PORT_PACKET) || p->info.flags & SL_PORT_VERBS)
		return true;
	for (uint32_t lane = 0; lane < p->info.max_lanes; lane++) {
		uint64_t open = p->lane_open[lane / 64] & ~p->lane_mute[lane / 64];
		uint32_t key = lane * p->info.nqueues, dev;

		if (!open)
			lane |= 63; /* none of these 64 is open */
		else if (open >> lane % 64 & 1 &&
			 bpf_map_lookup_elem(p->attach.map_fd[SL_MAP_LANES], &key, &dev))
			return false;
	}
	return true;
}

/* The device is deleted, or has another network namespace. There it keeps the steering program, but
 * the kernel has unbound our sockets for good, and private devices' numbers are others' there. So
 * nothing is steered any more, not even when the device comes back: packets pass to the kernel. */
static void leave(struct sl_device *p)
{
	if (!p->gone)
		sl_lanes_mute(p);
	p->gone = true;
}

/* Checks that packets of the port's queues still come by our sockets. */
static enum sl_port_end look(struct sl_device *p)
{
	struct sl_link_now now;
	int err = sl_link_look(p->info.ifindex, &now);

	if (err == -ENODEV) {
		leave(p);
		return SL_PORT_END_GONE;
	}
	if (err)
		return SL_PORT_END_UNKNOWN;
	if (p->gone)
		return SL_PORT_END_TAKEN_OFF;
	if (memcmp(now.mac, p->info.mac, sizeof(now.mac))) {
		memcpy(p->info.mac, now.mac, sizeof(now.mac));
		sl_maps_set_config(p);
	}
	if (!sl_attach_alive(&p->attach, p->info.ifindex, now.xdp_id))
		return now.xdp_id && !(p->info.flags & SL_PORT_PACKET) ? SL_PORT_END_REPLACED
								       : SL_PORT_END_TAKEN_OFF;
	if (!has_pairs(p))
		return SL_PORT_END_UNKNOWN;
	for (uint32_t i = 0; i < p->nparts; i++)
		sl_queues_check_mtu(&p->part[i], now.mtu);
	return sl_dev_has_changed(sl_link_open(), &p->info) ? SL_PORT_END_QUEUES
							    : SL_PORT_END_STEERED;
}

static struct sl_device *port_new(uint32_t ifindex, uint32_t umem, uint32_t groups, int *err,
				  const char **why)
{
	struct sl_device *p = sl_device_new();

	if (!p) {
		sl_why(why, "out of memory");
		*err = -ENOMEM;
		return NULL;
	}
	*err = port_start(p, ifindex, umem, groups, why);
	if (*err) {
		sl_device_free(p);
		return NULL;
	}
	sl_device_add(p);
	sl_queues_reclaim(0); /* it may have had these queues before */
	say_open(p);
	return p;
}

/* Another use, or another group, may have an open device if it is unchanged. */
static int check_open(struct sl_device *p, const char **why)
{
	enum sl_port_end end = look(p);

	if (end == SL_PORT_END_STEERED)
		return 0;
	sl_why(why,
	       "%s: %s while others use it; remedy: it is offloaded again when they have ended",
	       p->info.ifname, sl_port_end_text(end));
	return -EBUSY;
}

/* Finds the part with that packet memory, or opens one for it. */
static struct sl_part *part_for(struct sl_device *p, uint32_t umem, int *err, const char **why)
{
	struct sl_part *part = sl_part_of(p, umem);

	*err = 0;
	if (part)
		return part;
	part = sl_part_unused(p);
	if (!part) {
		sl_why(why, "%s: its queues have another packet memory", p->info.ifname);
		*err = -EBUSY;
		return NULL;
	}
	*err = part_open(part, umem, why);
	if (!*err && part->umem)
		sl_maps_set_config(p);
	return *err ? NULL : part;
}

static struct sl_part *port_open(uint32_t ifindex, uint32_t umem, uint32_t groups, int *err,
				 const char **why)
{
	struct sl_device *p = sl_device_find(ifindex);

	if (!p) {
		p = port_new(ifindex, umem, groups, err, why);
		return p ? &p->part[0] : NULL;
	}
	*err = check_open(p, why);
	return *err ? NULL : part_for(p, umem, err, why);
}

int sl_embedded_port_open(uint32_t ifindex, uint32_t umem, uint32_t groups,
			  struct sl_port_info *out, const char **why)
{
	struct sl_broker_guard g;
	struct sl_part *part;
	int err = 0;

	sl_broker_enter(&g);
	part = port_open(ifindex, umem, groups, &err, why);
	if (part) {
		sl_part_take(part, umem);
		sl_part_describe(part, out);
		if (sl_now_ns() < part->port->link_ns)
			out->flags |= SL_PORT_HAD_LINK;
	}
	sl_broker_leave(&g);
	return err;
}

static void port_unlink(struct sl_device *p, bool exiting)
{
	while (!exiting && sl_queues_reap() > 0)
		;
	sl_device_remove(p);
	port_stop(p, exiting);
	sl_device_free(p);
}

/* Closes one part; other groups use the others. */
static void part_close(struct sl_part *part)
{
	while (sl_queues_reap() > 0)
		;
	sl_queues_close(part, true);
	part->taken = part->zerocopy = false;
	part->umem = NULL;
}

void sl_embedded_port_close(uint32_t ifindex, uint32_t umem)
{
	struct sl_broker_guard g;
	struct sl_device *p;
	struct sl_part *part;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	part = p ? sl_part_of(p, umem) : NULL;
	if (part) {
		part->users--;
		if (--p->users == 0)
			port_unlink(p, false);
		else if (!part->users)
			part_close(part);
	}
	sl_broker_leave(&g);
}

/* Leaves the attachment to the process that cleans up after the last descriptor. */
void sl_device_drop(struct sl_device *p)
{
	sl_steer_drop_key(&p->attach);
	sl_attach_child(&p->attach);
	sl_spare_close(p);
	for (uint32_t i = 0; i < p->nparts; i++)
		sl_queues_close(&p->part[i], true);
	sl_maps_close(p);
	if (p->reaper_fd >= 0)
		sl_sys_close(p->reaper_fd);
	sl_device_free(p);
}

enum sl_port_end sl_embedded_port_end(uint32_t ifindex)
{
	enum sl_port_end end = SL_PORT_END_LEFT;
	struct sl_broker_guard g;
	struct sl_device *p;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p)
		sl_owner_drain(p->owner_fd);
	if (p)
		end = look(p);
	sl_broker_leave(&g);
	return end;
}

bool sl_embedded_port_has_tags(uint32_t ifindex)
{
	struct sl_broker_guard g;
	struct sl_device *p;
	bool tags = false;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p) {
		look_for_tags(p);
		tags = p->info.flags & SL_PORT_TAGS;
	}
	sl_broker_leave(&g);
	return tags;
}

/* Calls fn with the device, if it is open here. */
static void with_device(uint32_t ifindex, void (*fn)(struct sl_device *))
{
	struct sl_broker_guard g;
	struct sl_device *p;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p)
		fn(p);
	sl_broker_leave(&g);
}

static void unguard(struct sl_device *p)
{
	sl_guard_close(&p->attach);
}

void sl_embedded_port_unguard(uint32_t ifindex)
{
	with_device(ifindex, unguard);
}

void sl_embedded_link_gone(uint32_t ifindex)
{
	with_device(ifindex, leave);
}

/* True: p's device has gone, and its name is the other device's now. */
static bool came_for(const struct sl_device *p, uint32_t ifindex, const char *name)
{
	struct sl_link_now now;

	return p->info.ifindex != ifindex && !strcmp(p->info.ifname, name) &&
	       p->attach.guard_fd >= 0 && sl_link_look(p->info.ifindex, &now) == -ENODEV;
}

uint32_t sl_embedded_link_seen(uint32_t ifindex, const char *name)
{
	struct sl_broker_guard g;
	uint32_t old = 0;

	sl_broker_enter(&g);
	for (struct sl_device *p = sl_port_first(); p && !old; p = p->next)
		if (came_for(p, ifindex, name) && sl_guard_follow(&p->attach, ifindex))
			old = p->info.ifindex;
	sl_broker_leave(&g);
	return old;
}

/* Leaves the structs where they are: freeing is not async-signal-safe. */
void sl_embedded_child(void)
{
	for (struct sl_device *p = sl_port_first(); p; p = p->next) {
		sl_attach_child(&p->attach);
		sl_spare_child(p);
		for (unsigned i = 0; i < SL_MAX_QUEUES; i++) {
			if (p->queue[i].anchor_fd >= 0)
				sl_sys_close(p->queue[i].anchor_fd);
		}
		if (p->reaper_fd >= 0)
			sl_sys_close(p->reaper_fd);
		if (p->owner_fd >= 0)
			sl_sys_close(p->owner_fd);
	}
	sl_devices_forget();
	sl_aims_child();
	(void)sl_embedded_conns(0, &(struct sl_conns_layout){0});
	sl_link_look_child();
	sl_umem_child();
	sl_holders_child();
	sl_broker_fork_child();
}

void sl_embedded_part(void)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	while (sl_port_first())
		port_unlink(sl_port_first(), false);
	(void)sl_embedded_conns(0, &(struct sl_conns_layout){0});
	sl_link_look_child();
	sl_umem_part_all();
	sl_holders_child();
	sl_broker_leave(&g);
}

void sl_embedded_fini(void)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	while (sl_port_first())
		port_unlink(sl_port_first(), true);
	sl_broker_leave(&g);
}
