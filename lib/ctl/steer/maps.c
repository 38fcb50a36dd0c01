/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of a port: opening, the host's addresses, the policy. */
#include "ctl/steer/maps.h"
#include "ctl/steer/nic_rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "base/apart.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/device.h"
#include "ctl/device/lock.h"
#include "ctl/device/opts.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/map.h"
#include "ctl/kern/netns.h"
#include "ctl/kern/say.h"
#include "ctl/rules/rule.h"
#include "ctl/umem/xsk.h"

const char *const sl_map_names[SL_MAP_COUNT] = {
	[SL_MAP_CONFIG] = "config",       [SL_MAP_FLOWS] = "flows",
	[SL_MAP_ENDPOINTS] = "endpoints", [SL_MAP_LOCALS] = "locals",
	[SL_MAP_GROUPS] = "groups",       [SL_MAP_PORTS] = "ports",
	[SL_MAP_LANES] = "lanes",         [SL_MAP_RULES] = "rules",
	[SL_MAP_COUNTERS] = "counters",   [SL_MAP_PICKED] = "picked",
	[SL_MAP_STRAYS] = "strays",       [SL_MAP_PACES] = "paces",
	[SL_MAP_VXLANS] = "vxlans",       [SL_MAP_STATIONS] = "stations",
};

#define PORTS_BYTES (SL_MAX_PORTS * sizeof(uint64_t))

/* Contents for the maps of ports opened later. */
static struct sl_local_key *locals;
static unsigned nlocals, max_locals;
static struct sl_rule rules[SL_MAX_RULES];
static unsigned nrules;
static struct sl_pace_rule paces[SL_MAX_PACES];

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static size_t rules_bytes(void)
{
	return whole_pages((SL_MAX_RULES + 1) * sizeof(struct sl_rule));
}

static size_t paces_bytes(void)
{
	return whole_pages(sizeof(paces));
}

/* True: a real-time kernel. There one packet's steering may interrupt another's on the same CPU,
 * half way through an entry of `recent`. */
static bool is_realtime(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT");
}

/* Bytes of the longest packet that fits in the frames of every group. 0: there is no group yet. */
static uint16_t room(const struct sl_device *port)
{
	uint32_t least = 0;

	for (const struct sl_part *p = port->part; p < port->part + port->nparts; p++)
		if (p->umem)
			least = least ? sl_min(least, sl_queues_room(p)) : sl_queues_room(p);
	return (uint16_t)least;
}

void sl_maps_set_config(struct sl_device *port)
{
	struct sl_port_config cfg = {
		.abi = SL_STEER_ABI,
		.nqueues = port->info.nqueues,
		.pid = sl_broker_pid(),
		.ifindex = port->info.ifindex,
		.netns = sl_netns_ino(),
		.in_frame = sl_broker_opts()->in_frame,
		.forgets = is_realtime(),
		.room = room(port),
		.vlans_left = port->vlans_left,
	};
	uint32_t zero = 0;

	memcpy(cfg.mac, port->info.mac, sizeof(cfg.mac));
	bpf_map_update_elem(port->attach.map_fd[SL_MAP_CONFIG], &zero, &cfg, 0);
}

static void local_put(struct sl_device *port, const struct sl_local_key *key)
{
	uint32_t one = 1;
	int err = bpf_map_update_elem(port->attach.map_fd[SL_MAP_LOCALS], key, &one, 0);

	if (err)
		sl_warn_once("port",
			     "%s: more than %u local addresses: traffic to the others stays "
			     "with the kernel",
			     port->info.ifname, SL_MAX_LOCALS);
}

static int try_map(struct sl_device *port)
{
	void *p;

	/* The kernel maps all pages of a map at once. A process alone uses few ports, so it maps
	 * their pages only (sl_maps_use_port()), over pages of zeros. */
	if (sl_broker_opts()->serve)
		p = mmap(NULL, PORTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 port->attach.map_fd[SL_MAP_PORTS], 0);
	else
		p = mmap(NULL, PORTS_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	memset(port->ports_pages, sl_broker_opts()->serve ? 0xff : 0, sizeof(port->ports_pages));
	sl_apart(p, PORTS_BYTES);
	port->info.ports = p;
	p = mmap(NULL, rules_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
		 port->attach.map_fd[SL_MAP_RULES], 0);
	if (p == MAP_FAILED)
		return -errno;
	sl_apart(p, rules_bytes());
	port->rules = p;
	port->info.rules = port->info.rules_rw = port->rules;
	p = mmap(NULL, paces_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
		 port->attach.map_fd[SL_MAP_PACES], 0);
	if (p == MAP_FAILED)
		return -errno;
	sl_apart(p, paces_bytes());
	port->info.paces = port->paces = p;
	/* Touched where there are claims only. */
	p = mmap(NULL, sizeof(*port->uses), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	port->uses = p;
	return 0;
}

int sl_maps_use_port(struct sl_device *port, uint32_t index)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE), page = index * sizeof(uint64_t) / bytes;
	uint64_t *word = &port->ports_pages[page / 64], bit = 1ull << (page % 64);
	char *at = (char *)port->info.ports + page * bytes;

	if (*word & bit)
		return 0;
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 port->attach.map_fd[SL_MAP_PORTS], (off_t)(page * bytes)) == MAP_FAILED)
		return -errno;
	sl_apart(at, bytes);
	*word |= bit;
	return 0;
}

/* Makes the map of picked flows, with the types of `flows`, for bpftool. */
static int picked_make(int flows)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	struct bpf_map_info is = {0};
	uint32_t len = sizeof(is), entries;
	int fd, btf;

	if (bpf_obj_get_info_by_fd(flows, &is, &len))
		return -errno;
	btf = is.btf_id ? bpf_btf_get_fd_by_id(is.btf_id) : -1;
	if (btf >= 0) {
		opts.btf_fd = (uint32_t)btf;
		opts.btf_key_type_id = is.btf_key_type_id;
		opts.btf_value_type_id = is.btf_value_type_id;
	}
	entries = sl_max(is.max_entries / (SL_MAX_FLOWS / SL_MAX_PICKED), 1u);
	fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, SL_PICKED_FLOWS, sizeof(struct sl_flow_key),
			    sizeof(struct sl_claim), entries, &opts);
	if (btf >= 0)
		sl_sys_close(btf);
	return fd;
}

void sl_maps_want_picked(struct sl_device *port)
{
	const int *map_fd = port->attach.map_fd;
	uint32_t zero = 0, id;
	char path[128];
	int fd, err;

	if (port->has_picked)
		return;
	/* (A daemon before this one may have made it.) */
	port->has_picked = !bpf_map_lookup_elem(map_fd[SL_MAP_PICKED], &zero, &id);
	if (port->has_picked)
		return;
	err = fd = picked_make(map_fd[SL_MAP_FLOWS]);
	if (fd >= 0)
		err = bpf_map_update_elem(map_fd[SL_MAP_PICKED], &zero, &fd, 0);
	port->has_picked = err >= 0 || err == -EPERM; /* else the next group may have it */
	if (err < 0)
		sl_info("port", "%s: flows of shared TCP ports are not noted: %s",
			port->info.ifname, sl_strerror(err));
	snprintf(path, sizeof(path), "%s/" SL_PICKED_FLOWS, port->info.pin_dir);
	if (err >= 0 && port->info.pin_dir[0])
		(void)bpf_obj_pin(fd, path);
	if (fd >= 0)
		sl_sys_close(fd);
}

/* Writes the policy over what was there. Entries beyond it have no pages in this process. */
static void put_rules(struct sl_device *port)
{
	struct sl_rule *last = &port->rules[SL_MAX_RULES];
	unsigned was = sl_rules_used(port->rules);

	if (nrules)
		memcpy(port->rules, rules, nrules * sizeof(*rules));
	if (was > nrules)
		memset(&port->rules[nrules], 0, (was - nrules) * sizeof(*rules));
	sl_store_release(&last->hits, nrules);
	__atomic_fetch_add(&last->line, 1, __ATOMIC_RELEASE);
}

static int map_shared(struct sl_device *port, const char **why)
{
	int err = try_map(port);

	port->has_picked = false;
	if (!err)
		return 0;
	sl_maps_close(port);
	sl_why(why, "%s: cannot map the steering maps: %s", port->info.ifname, sl_strerror(err));
	return err;
}

int sl_maps_open(struct sl_device *port, const char **why)
{
	int err = map_shared(port, why);

	if (err)
		return err;
	for (unsigned i = 0; i < SL_MAX_GROUPS; i++)
		port->group_free[i] = (uint16_t)i;
	port->group_nfree = SL_MAX_GROUPS;
	for (unsigned i = 0; i < nlocals; i++)
		local_put(port, &locals[i]);
	put_rules(port);
	memcpy(port->paces, paces, sizeof(paces));
	sl_maps_set_config(port);
	return 0;
}

/* An address is no longer this host's: makes the steering program forget flows that came to it by a
 * wildcard claim. */
static void forget_wildcards(struct sl_device *port)
{
	for (uint32_t i = 0; i < SL_MAX_PORTS; i++)
		if (port->info.ports[i] & SL_L4_PORT_WILDCARD)
			sl_port_word_change(&port->info.ports[i], 0, 0);
}

/* Drops addresses that the host lost while no process watched. */
static void drop_locals(struct sl_device *port)
{
	int fd = port->attach.map_fd[SL_MAP_LOCALS];
	struct sl_local_key key, next;
	bool more = !sl_map_next(fd, NULL, &next);

	while (more) {
		bool known = false;

		key = next;
		more = !sl_map_next(fd, &key, &next);
		for (unsigned i = 0; i < nlocals && !known; i++)
			known = !memcmp(&locals[i], &key, sizeof(key));
		if (!known)
			bpf_map_delete_elem(fd, &key);
	}
}

int sl_maps_open_again(struct sl_device *port, const char **why)
{
	int err = map_shared(port, why);

	if (err)
		return err;
	for (unsigned i = 0; i < nlocals; i++)
		local_put(port, &locals[i]);
	drop_locals(port);
	forget_wildcards(port);
	sl_maps_set_config(port);
	return 0;
}

void sl_maps_close(struct sl_device *port)
{
	if (port->info.ports)
		munmap(port->info.ports, PORTS_BYTES);
	if (port->rules)
		munmap(port->rules, rules_bytes());
	if (port->paces)
		munmap(port->paces, paces_bytes());
	if (port->uses)
		munmap(port->uses, sizeof(*port->uses));
	port->info.ports = NULL;
	port->info.rules = port->info.rules_rw = port->rules = NULL;
	port->info.paces = port->paces = NULL;
	port->uses = NULL;
}

/* Addresses of the host -------------------------------------------------------------------------
 */

static struct sl_local_key *local_find(const uint8_t addr[16])
{
	for (unsigned i = 0; i < nlocals; i++) {
		if (!memcmp(locals[i].addr, addr, 16))
			return &locals[i];
	}
	return NULL;
}

static void local_add(const uint8_t addr[16])
{
	if (local_find(addr))
		return;
	if (nlocals == max_locals) {
		unsigned n = max_locals ? max_locals * 2 : 32;
		void *p = sl_realloc(locals, n * sizeof(*locals));

		if (!p)
			return; /* its traffic stays with the kernel */
		locals = p;
		max_locals = n;
	}
	memcpy(locals[nlocals].addr, addr, 16);
	for (struct sl_device *p = sl_port_first(); p; p = p->next)
		local_put(p, &locals[nlocals]);
	nlocals++;
}

void sl_embedded_local_add(const uint8_t addr[16])
{
	struct sl_broker_guard g;

	sl_broker_enter(&g);
	local_add(addr);
	sl_nic_local_add(addr);
	sl_broker_leave(&g);
}

void sl_embedded_local_del(const uint8_t addr[16])
{
	struct sl_broker_guard g;
	struct sl_local_key *l;

	sl_broker_enter(&g);
	l = local_find(addr);
	if (l) {
		for (struct sl_device *p = sl_port_first(); p; p = p->next) {
			bpf_map_delete_elem(p->attach.map_fd[SL_MAP_LOCALS], l);
			forget_wildcards(p);
		}
		*l = locals[--nlocals];
	}
	sl_nic_local_del(addr);
	sl_broker_leave(&g);
}

/* Policy ----------------------------------------------------------------------------------------
 */

int sl_embedded_rules_set(const struct sl_rule *r, unsigned n)
{
	struct sl_broker_guard g;

	if (n > SL_MAX_RULES)
		return -E2BIG;
	sl_broker_enter(&g);
	if (n)
		memcpy(rules, r, n * sizeof(*r));
	nrules = n;
	for (struct sl_device *p = sl_port_first(); p; p = p->next)
		put_rules(p);
	sl_broker_leave(&g);
	return 0;
}

int sl_embedded_paces_set(const struct sl_pace_rule *r, unsigned n)
{
	struct sl_broker_guard g;

	if (n > SL_MAX_PACES)
		return -E2BIG;
	sl_broker_enter(&g);
	memset(paces, 0, sizeof(paces));
	if (n)
		memcpy(paces, r, n * sizeof(*r));
	for (struct sl_device *p = sl_port_first(); p; p = p->next)
		memcpy(p->paces, paces, sizeof(paces));
	sl_broker_leave(&g);
	return 0;
}
