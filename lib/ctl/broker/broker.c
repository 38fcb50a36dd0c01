/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's calls: one lock around them, the list of ports, opening and closing a port. */
#include "ctl/device/broker_int.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sys.h"
#include "ctl/device/lock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sl_device *ports;
static struct sl_broker_opts opts;
static uint32_t pid; /* 0: not asked yet */

static void hold_still(struct sl_broker_guard *g)
{
	sigset_t all;

	g->saved_errno = errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &g->mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
}

static void let_go(const struct sl_broker_guard *g)
{
	pthread_setcancelstate(g->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
	errno = g->saved_errno;
}

void sl_broker_enter(struct sl_broker_guard *g)
{
	hold_still(g);
	pthread_mutex_lock(&lock);
}

bool sl_broker_try_enter(struct sl_broker_guard *g)
{
	hold_still(g);
	if (!pthread_mutex_trylock(&lock))
		return true;
	let_go(g);
	return false;
}

void sl_broker_leave(struct sl_broker_guard *g)
{
	pthread_mutex_unlock(&lock);
	let_go(g);
}

void sl_why(const char **why, const char *fmt, ...)
{
	static __thread char text[320];
	va_list ap;

	if (!why)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*why = text;
}

const char *sl_strerror(int err)
{
	const char *name = strerrordesc_np(err < 0 ? -err : err);

	return name ? name : "unknown error";
}

struct sl_device *sl_device_find(uint32_t ifindex)
{
	struct sl_device *p = ports;

	while (p && p->info.ifindex != ifindex)
		p = p->next;
	return p;
}

struct sl_device *sl_port_first(void)
{
	return ports;
}

const struct sl_broker_opts *sl_broker_opts(void)
{
	return &opts;
}

struct sl_broker_opts sl_broker_opts_set(void)
{
	return (struct sl_broker_opts){
		.xdp = (enum sl_broker_xdp)sl_settings.xdp_mode,
		.zerocopy = (enum sl_broker_zc)sl_settings.zerocopy,
		.rx_ring = (uint32_t)sl_settings.rx_wre,
		.tx_ring = (uint32_t)sl_settings.tx_wre,
		.busy_poll = sl_settings.busy_poll,
		.busy_poll_budget = (uint32_t)sl_settings.busy_poll_budget,
		.in_frame = !sl_settings.xdp_metadata,
		.lend_once = sl_settings.lend_once,
		.guard_nft = sl_settings.guard_nft,
		.no_huge = sl_settings.mem_alloc_type == SL_MEM_ANON,
		.want_huge = sl_settings.mem_alloc_type == SL_MEM_HUGE,
	};
}

uint32_t sl_broker_pid(void)
{
	if (!pid)
		pid = (uint32_t)sl_sys(SYS_getpid);
	return pid;
}

uint32_t sl_netns_ino(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : (uint32_t)st.st_ino;
}

void sl_embedded_init(const struct sl_broker_opts *o)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	opts = *o;
	sl_broker_leave(&g);
}

static void port_free(struct sl_device *p)
{
	if (p->owner_fd >= 0)
		sl_sys_close(p->owner_fd);
	sl_free(p);
}

struct sl_device *sl_device_new(void)
{
	struct sl_device *p = sl_calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->owner_fd = p->reaper_fd = p->attach.link_fd = p->attach.guard_fd = p->attach.guard_prog =
		-1;
	for (unsigned i = 0; i < SL_MAX_QUEUES; i++)
		p->queue[i].anchor_fd = -1;
	for (unsigned i = 0; i < SL_GUARD_NF; i++)
		p->attach.guard_nf[i] = -1;
	for (unsigned i = 0; i < SL_MAP_COUNT; i++)
		p->attach.map_fd[i] = -1;
	return p;
}

void sl_device_add(struct sl_device *p)
{
	p->next = ports;
	ports = p;
}

static int port_attach(struct sl_device *p, const char **why)
{
	int err;

	/* Remove the leftovers of a process that died; the device is ours now. */
	sl_attach_clean(p->info.ifindex);
	sl_pin_remove(p->info.ifindex);
	err = sl_reaper_start(p);
	if (err)
		sl_info("port",
			"%s: no reaper (%s): attached alone and not pinned; remedy: install "
			"the sluice tool beside the library",
			p->info.ifname, sl_strerror(err));
	err = sl_attach_open(&p->attach, &p->info, p->reaper_fd >= 0, why);
	if (err)
		sl_reaper_stop(p);
	return err;
}

/* The steering program sees the tags of all packets: in the frame, or by the driver. */
static void look_for_tags(struct sl_device *p)
{
	int tags = p->attach.hints & SL_HINT_TAG ? 1 : sl_dev_leaves_tags(&p->info);

	if (tags > 0)
		p->info.flags |= SL_PORT_TAGS;
	else if (tags == 0)
		p->info.flags &= ~SL_PORT_TAGS;
}

/* (The embedded broker's packet memory may not be known yet: then the first lane binds the queues.)
 */
static int part_open(struct sl_part *part, uint32_t umem, const char **why)
{
	part->umem = sl_umem_find(umem);
	return part->umem ? sl_queues_bind(part, why) : 0;
}

static int port_start(struct sl_device *p, uint32_t ifindex, uint32_t umem, uint32_t groups,
		      const char **why)
{
	int err = sl_dev_query(ifindex, &p->info, why);

	if (err)
		return err;
	(void)sl_link_open();
	err = sl_owner_take(ifindex, p->info.ifname, &p->owner_fd, why);
	if (err)
		return err;
	err = sl_attach_held(ifindex, p->info.ifname, why);
	if (err)
		return err;
	if (sl_left_had_link(ifindex))
		p->link_ns = sl_now_ns() + SL_LINK_BACK_NS;
	/* First, as libxdp does: what is most likely to be tried again, and the device is not
	 * touched until it has the queues. */
	sl_parts_make(p, groups);
	err = part_open(&p->part[0], umem, why);
	if (err)
		goto undivide;
	err = port_attach(p, why);
	if (err)
		goto unbind;
	if (sl_attach_is_generic(&p->attach))
		p->info.flags |= SL_PORT_GENERIC;
	if (p->attach.frags)
		p->info.flags |= SL_PORT_FRAGS;
	look_for_tags(p);
	err = sl_maps_open(p, why);
	if (err)
		goto detach;
	if (p->reaper_fd >= 0 && sl_pin_maps(p) == 0)
		p->info.flags |= SL_PORT_PINNED;
	return 0;
detach:
	sl_attach_close(&p->attach, ifindex);
	sl_reaper_stop(p);
unbind:
	sl_queues_close(&p->part[0], true);
undivide:
	sl_parts_end(p);
	return err;
}

/* exiting: other threads may still use the mappings. */
static void port_stop(struct sl_device *p, bool exiting)
{
	bool had_link = sl_now_ns() < p->link_ns || sl_left_had_link(p->info.ifindex);

	sl_attach_close(&p->attach, p->info.ifindex);
	if (had_link)
		sl_left_without(p->info.ifindex);
	for (uint32_t i = 0; i < p->nparts; i++)
		sl_queues_close(&p->part[i], !exiting);
	sl_parts_end(p);
	if (!exiting)
		sl_maps_close(p);
	sl_pin_remove(p->info.ifindex);
	sl_reaper_stop(p);
	sl_info("port", "%s: released", p->info.ifname);
}

static const char *xdp_text(const struct sl_port_info *i)
{
	if (!(i->flags & SL_PORT_GENERIC))
		return "native";
	if (opts.xdp == SL_BROKER_XDP_GENERIC)
		return "generic (as configured: slow)";
	return sl_dev_hands_xdp_down(i->driver)
		       ? "generic (natively the kernel would drop what a bond's slaves deliver: slow)"
		       : "generic (the driver has no native XDP: slow)";
}

static void say_open(const struct sl_device *p)
{
	const struct sl_port_info *i = &p->info;

	sl_info("port", "%s: offloaded: driver %s, %u RX queue%s, MTU %u, XDP %s%s%s%s", i->ifname,
		i->driver, i->nqueues, i->nqueues == 1 ? "" : "s", i->mtu, xdp_text(i),
		p->attach.beside ? ", beside other programs" : ", alone",
		i->pin_dir[0] ? ", pinned at " : "", i->pin_dir);
	sl_queues_say_room(&p->part[0]);
}

/* Checks that packets of the port's queues still come by our sockets. */
static enum sl_port_end look(struct sl_device *p)
{
	struct sl_link_now now;
	int err = sl_link_look(p->info.ifindex, &now);

	if (err)
		return err == -ENODEV ? SL_PORT_END_GONE : SL_PORT_END_UNKNOWN;
	if (memcmp(now.mac, p->info.mac, sizeof(now.mac))) {
		memcpy(p->info.mac, now.mac, sizeof(now.mac));
		sl_maps_set_config(p);
	}
	if (!sl_attach_alive(&p->attach, p->info.ifindex, now.xdp_id))
		return now.xdp_id ? SL_PORT_END_REPLACED : SL_PORT_END_TAKEN_OFF;
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
		port_free(p);
		return NULL;
	}
	sl_device_add(p);
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

/* The part of the group with that packet memory, or one for it. */
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
	struct sl_device **at = &ports;

	while (!exiting && sl_queues_reap() > 0)
		;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	port_stop(p, exiting);
	port_free(p);
}

/* Others have other parts. */
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
	sl_attach_child(&p->attach);
	for (uint32_t i = 0; i < p->nparts; i++)
		sl_queues_close(&p->part[i], true);
	sl_maps_close(p);
	if (p->reaper_fd >= 0)
		sl_sys_close(p->reaper_fd);
	port_free(p);
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

void sl_embedded_vlan_leave(uint32_t ifindex, uint32_t nr, bool leave)
{
	struct sl_broker_guard g;
	struct sl_device *p;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p && nr < SL_MAX_VLANS) {
		uint64_t bit = 1ull << nr;

		p->vlans_left = leave ? p->vlans_left | bit : p->vlans_left & ~bit;
		sl_maps_set_config(p);
	}
	sl_broker_leave(&g);
}

void sl_embedded_port_unguard(uint32_t ifindex)
{
	struct sl_broker_guard g;
	struct sl_device *p;

	sl_broker_enter(&g);
	p = sl_device_find(ifindex);
	if (p)
		sl_guard_close(&p->attach);
	sl_broker_leave(&g);
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
	for (struct sl_device *p = ports; p && !old; p = p->next)
		if (came_for(p, ifindex, name) && sl_guard_follow(&p->attach, ifindex))
			old = p->info.ifindex;
	sl_broker_leave(&g);
	return old;
}

void sl_broker_fork_begin(void)
{
	pthread_mutex_lock(&lock);
}

void sl_broker_fork_end(void)
{
	pthread_mutex_unlock(&lock);
}

/* The structs stay where they are: freeing is not async-signal-safe. */
void sl_embedded_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	for (struct sl_device *p = ports; p; p = p->next) {
		sl_attach_child(&p->attach);
		for (unsigned i = 0; i < SL_MAX_QUEUES; i++) {
			if (p->queue[i].anchor_fd >= 0)
				sl_sys_close(p->queue[i].anchor_fd);
		}
		if (p->reaper_fd >= 0)
			sl_sys_close(p->reaper_fd);
		if (p->owner_fd >= 0)
			sl_sys_close(p->owner_fd);
	}
	ports = NULL;
	pid = 0;
	(void)sl_embedded_conns(0, &(struct sl_conns_layout){0});
	sl_link_look_child();
	sl_umem_child();
	sl_holders_child();
	lock = fresh;
}

void sl_embedded_part(void)
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	while (ports)
		port_unlink(ports, false);
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
	while (ports)
		port_unlink(ports, true);
	sl_broker_leave(&g);
}
