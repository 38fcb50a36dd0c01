/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the steering program in the best form that kernel and driver take.
 *
 * Theory of operation: bound to its device (Linux 6.3, a driver that has hints) it may ask for
 * hardware time stamps and, since 6.8 and of a driver that tells them, for tags that are not in
 * the frame; else it asks for nothing. A bound program runs natively and alone: a dispatcher's
 * programs take after the dispatcher, and libxdp knows no way to bind that (xdp-tools, pull request
 * 495).
 *
 * Kernels (to 6.18 at least) have a defect. A device lists the programs that are bound to it, by
 * address, to let go of them at its end (kernel/bpf/offload.c), and does not hear when one is
 * moved: then its end dies in freed memory with rtnl held, and no network of the machine is ever
 * changed again. Two things move a program: additions of the verifier that need more pages
 * (bpf_prog_realloc()), and a JIT that blinds constants and replaces it by its clone. So
 * - the bound program brings room for additions (make_room() of bpf/hints.bpf.h), far more than any
 *   kernel seen adds; tests/bpf/test_room.c checks that;
 * - a loaded program is measured; if it may have been moved it is closed at once, and this process
 *   loads no other bound one. That is safe as long as the device stays for the moment: a program
 *   that is freed in the orderly way is found by its new address, and goes from the list;
 * - where constants are blinded no bound program is loaded. (Ours would survive it: of a program
 *   with functions only these are cloned. A process that may not read the setting relies on that.)
 */
#include "ctl/steer/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/sys.h"
#include "ctl/device/libs.h"
#include "ctl/device/opts.h"
#include "ctl/kern/ktypes.h"
#include "ctl/kern/libbpf.h"
#include "ctl/kern/netdev.h"
#include "ctl/kern/say.h"
#include "ctl/kern/vxlan.h"
#include "ctl/steer/maps.h"
#include "steer.skel.h"
#include "steer_bound.skel.h"

#define DEV_BOUND_ONLY (1u << 6) /* BPF_F_XDP_DEV_BOUND_ONLY, which older headers do not have */
#define HAS_FRAGS      (1u << 5) /* BPF_F_XDP_HAS_FRAGS, 5.18 */

#define KEY_BYTES (SL_HASH_KEYS * sizeof(uint64_t))

/* (The stack of a child has what the parent's stack has, so the kernel writes into the page.) */
bool sl_steer_make_key(struct sl_attach *a, bool random)
{
	a->hash_key = sl_apart_secret(KEY_BYTES);
	if (!a->hash_key)
		return false;
	if (random && sl_sys(SYS_getrandom, a->hash_key, KEY_BYTES, 0) != (long)KEY_BYTES)
		for (unsigned i = 0; i < SL_HASH_KEYS; i++)
			a->hash_key[i] = sl_mix(sl_now_ns(), (uintptr_t)a + i);
	return true;
}

void sl_steer_drop_key(struct sl_attach *a)
{
	if (!a->hash_key)
		return;
	sl_apart_wipe(a->hash_key, KEY_BYTES);
	sl_sys(SYS_munmap, a->hash_key, KEY_BYTES);
	a->hash_key = NULL;
}

#define LEAST_FLOWS     1024u
#define LEAST_ENDPOINTS 8192u
/* More than the local ports that the kernel gives to connections with one peer. */
#define LEAST_OWN_FLOWS 32768u

/* Entries for a process that has the device for itself: one for each descriptor that it may open,
 * and some for connections whose descriptors are closed. (The kernel serves sockets beyond them.)
 */
static uint32_t own_entries(uint32_t least)
{
	struct rlimit64 files;

	if (sl_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) || files.rlim_cur < least)
		return least;
	return (uint32_t)sl_min(files.rlim_cur, (uint64_t)SL_MAX_FLOWS);
}

/* The kernel makes the buckets of a hash with the map, and touches them all: with the most flows
 * that takes longer than the rest of a program's start. */
static int size_tables(struct bpf_object *obj)
{
	const struct sl_broker_opts *o = sl_broker_opts();
	uint32_t flows = SL_MAX_FLOWS, endpoints = SL_MAX_FLOWS;
	int err = 0;

	if (o->max_flows) {
		flows = endpoints = sl_max(o->max_flows, LEAST_FLOWS);
	} else if (!o->serve) {
		flows = own_entries(LEAST_OWN_FLOWS);
		endpoints = own_entries(LEAST_ENDPOINTS);
	}
	const struct {
		const char *name;
		uint32_t entries;
	} table[] = {
		{"flows", flows},
		{"endpoints", endpoints},
	};

	for (unsigned i = 0; !err && i < sl_array_len(table); i++)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, table[i].name),
					       table[i].entries);
	return err;
}

/* The maps that the attachment has already. */
static int reuse_maps(const struct sl_attach *a, struct bpf_object *obj)
{
	int err = 0;

	for (unsigned i = 0; i < SL_MAP_COUNT && !err; i++)
		if (a->map_fd[i] >= 0)
			err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, sl_map_names[i]),
						a->map_fd[i]);
	return err;
}

static int set_constants(const struct sl_attach *a, struct bpf_map *map,
			 const struct sl_steer_constants *c)
{
	/* The structure may have padding at its end that the section does not have. */
	size_t bytes = sl_min(c->size, (size_t)bpf_map__value_size(map));
	int err;

	if (a->hash_key)
		memcpy(c->key, a->hash_key, KEY_BYTES);
	err = bpf_map__set_initial_value(map, c->bytes, bytes);
	sl_apart_wipe(c->key, KEY_BYTES);
	return err;
}

int sl_steer_prepare(const struct sl_attach *a, struct bpf_object *obj,
		     const struct sl_steer_constants *c)
{
	int err = set_constants(a, bpf_object__find_map_by_name(obj, ".rodata"), c);

	if (!err)
		err = size_tables(obj);
	return err ? err : reuse_maps(a, obj);
}

/* The object as it is loaded, or NULL and errno, closed. */
static struct bpf_object *finish_open(const struct sl_attach *a, struct bpf_object *obj,
				      uint32_t flags, const struct sl_steer_constants *c)
{
	int err;

	if (!obj)
		return NULL;
	err = sl_steer_prepare(a, obj, c);
	if (!err)
		err = bpf_program__set_flags(bpf_object__find_program_by_name(obj, SL_STEER_PROG),
					     flags);
	if (!err)
		return obj;
	bpf_object__close(obj);
	errno = -err;
	return NULL;
}

static uint32_t frags_flag(bool frags)
{
	return frags ? HAS_FRAGS : 0;
}

struct bpf_object *sl_steer_open(const struct sl_attach *a)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "steer");
	struct steer__rodata constants = {
		.has_frags = a->frags, .has_vxlan = a->vxlan, .has_groups = a->groups};
	const struct sl_steer_constants c = {&constants, sizeof(constants),
					     (uint64_t *)constants.hash_key};
	size_t size;
	const void *elf = steer__elf_bytes(&size);

	return finish_open(a, bpf_object__open_mem(elf, size, &opts), frags_flag(a->frags), &c);
}

/* Puts the kernel's functions in place of the placeholders, in programs and in the functions that
 * these call. (No other eight bytes of the file look like that.) 0 or -errno. */
static int fill_calls(struct bpf_insn *insn, size_t n, uint32_t hints)
{
	for (; n; insn++, n--) {
		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg || insn->off ||
		    (uint32_t)insn->imm - SL_KFUNC_FIRST >= SL_KFUNCS ||
		    (insn->imm == SL_KFUNC_TAG && !(hints & SL_HINT_TAG)) ||
		    (insn->imm == SL_KFUNC_CTX && !(hints & SL_HINT_SUM)))
			continue;
		insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
		insn->imm = (int32_t)sl_ktypes_func((uint32_t)insn->imm);
		if (!insn->imm)
			return -ENOENT;
	}
	return 0;
}

static struct bpf_object *open_filled(uint32_t hints)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "steer");
	struct bpf_object *obj = NULL;
	size_t size;
	const void *elf = steer_bound__elf_bytes(&size);
	void *filled = sl_malloc(size);
	int err = filled ? 0 : -ENOMEM;

	if (!err) {
		memcpy(filled, elf, size);
		err = fill_calls(filled, size / sizeof(struct bpf_insn), hints);
	}
	if (!err)
		obj = bpf_object__open_mem(filled, size, &opts);
	sl_free(filled);
	if (err)
		errno = -err;
	return obj;
}

static struct bpf_object *open_bound(const struct sl_attach *a, uint32_t ifindex, uint32_t hints)
{
	struct steer_bound__rodata constants = {.has_vlan_tag = !!(hints & SL_HINT_TAG),
						.has_sums = !!(hints & SL_HINT_SUM),
						.has_frags = a->frags,
						.has_vxlan = a->vxlan,
						.has_groups = a->groups};
	const struct sl_steer_constants c = {&constants, sizeof(constants),
					     (uint64_t *)constants.hash_key};
	struct bpf_object *obj = open_filled(hints);
	struct sl_ktypes_sums at;

	if (hints & SL_HINT_SUM && sl_ktypes_sums(&at)) {
		constants.skb_at = at.skb;
		constants.sum_at = at.byte;
		constants.sum_shift = at.shift;
	}
	if (obj)
		bpf_program__set_ifindex(bpf_object__find_program_by_name(obj, SL_STEER_PROG),
					 ifindex);
	return finish_open(a, obj, DEV_BOUND_ONLY | frags_flag(a->frags), &c);
}

/* More than the header of a program in any kernel (struct bpf_prog in front of its instructions).
 */
#define PROG_HEADER 256

bool sl_steer_fits(size_t insns, size_t xlated_bytes, size_t page)
{
	size_t pages = (insns * sizeof(struct bpf_insn) + page - 1) / page;

	return xlated_bytes && xlated_bytes + PROG_HEADER <= pages * page;
}

/* True: the program is still in the pages that it was given first. */
static bool has_stayed(const struct bpf_object *obj, const struct bpf_prog_info *info)
{
	size_t insns = bpf_program__insn_cnt(bpf_object__find_program_by_name(obj, SL_STEER_PROG));

	return sl_steer_fits(insns, info->xlated_prog_len, (size_t)sysconf(_SC_PAGESIZE));
}

/* net.core.bpf_jit_harden, which is in the first network namespace alone. */
static bool blinds_constants(void)
{
	char text[4];

	return sl_read_text("/proc/sys/net/core/bpf_jit_harden", text, sizeof(text)) > 0 &&
	       text[0] == '2'; /* 1: only unprivileged users */
}

static bool bound_moves; /* no bound program in this process: the kernel has moved one */

static bool may_bind(void)
{
	static bool said;

	if (sl_load(&bound_moves))
		return false;
	if (!blinds_constants())
		return true;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		sl_info("port",
			"no hardware time stamps, and no VLAN tags that are not in the "
			"frame: bpf_jit_harden is 2; remedy: sysctl net.core.bpf_jit_harden=1");
	return false;
}

/* Owns the object in any case. */
static int load(struct sl_attach *a, struct bpf_object *obj, uint32_t hints)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd, err;

	if (!obj)
		return -errno;
	err = bpf_object__load(obj);
	fd = err ? err : bpf_program__fd(bpf_object__find_program_by_name(obj, SL_STEER_PROG));
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len))
		fd = -errno;
	if (fd >= 0 && hints && !has_stayed(obj, &info)) {
		sl_warn_once("port",
			     "the kernel needs %u bytes for the bound steering program: too "
			     "many, so there are no hardware time stamps",
			     info.xlated_prog_len);
		sl_store(&bound_moves, true);
		fd = -E2BIG;
	}
	if (fd < 0) {
		bpf_object__close(obj);
		return fd;
	}
	a->obj = obj;
	a->prog_id = info.id;
	a->hints = hints;
	return fd;
}

/* True: the driver reports VLAN tags. (One with other hints only would accept a program that asks
 * for tags, and answer nothing.) */
static bool tells_tags(uint32_t ifindex)
{
	struct sl_netdev dev;

	return !sl_netdev_query(ifindex, &dev) && dev.hints_known && dev.hints & SL_XDP_HINT_TAG;
}

/* The hints that the driver has for a bound program. */
static uint32_t hints_of(const struct sl_attach *a, uint32_t ifindex)
{
	struct sl_ktypes_sums at;

	return SL_HINT_STAMP | (tells_tags(ifindex) ? SL_HINT_TAG : 0) |
	       (a->veth && sl_ktypes_sums(&at) ? SL_HINT_SUM : 0);
}

int sl_steer_load(struct sl_attach *a, uint32_t ifindex, bool native)
{
	/* A kernel may refuse some hints: the program does without these, in this order. */
	static const uint32_t without[] = {0, SL_HINT_SUM, SL_HINT_SUM | SL_HINT_TAG};
	bool bound = native && may_bind();
	uint32_t can = bound ? hints_of(a, ifindex) : 0, tried = 0;
	int fd = -EOPNOTSUPP;

	for (unsigned i = 0; bound && i < sl_array_len(without); i++) {
		uint32_t hints = can & ~without[i];

		if (hints == tried || fd >= 0 || fd == -EPERM || fd == -E2BIG)
			continue;
		fd = load(a, open_bound(a, ifindex, hints), hints);
		tried = hints;
	}
	if (fd >= 0 || fd == -EPERM)
		return fd;
	if (native)
		sl_debug("port", "device %u: the steering program is not bound to it: %s", ifindex,
			 sl_strerror(fd));
	return load(a, sl_steer_open(a), 0);
}

int sl_steer_load_maps(struct sl_attach *a)
{
	int err;

	a->hints = 0;
	a->obj = sl_steer_open(a);
	if (!a->obj)
		return -errno;
	err = bpf_program__set_autoload(bpf_object__find_program_by_name(a->obj, SL_STEER_PROG),
					false);
	if (!err)
		err = bpf_object__load(a->obj);
	if (!err) {
		a->kind = SL_ATTACH_MAPS;
		return 0;
	}
	bpf_object__close(a->obj);
	a->obj = NULL;
	return err;
}

/* Refusals ---------------------------------------------------------------------------------------
 */

const char *sl_verifier_reason(char *log)
{
	static const char *const figures[] = {"verification time", "stack depth", "processed"};
	const char *reason = "";
	char *next;

	for (char *line = log; line && *line; line = next) {
		bool figure = false;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		for (unsigned i = 0; i < sl_array_len(figures) && !figure; i++)
			figure = !strncmp(line, figures[i], strlen(figures[i]));
		if (*line && !figure)
			reason = line;
	}
	return reason;
}

static bool verifier_refuses(bool vxlan, char *reason, size_t size)
{
	struct sl_attach as = {.vxlan = vxlan, .groups = true};
	struct bpf_object *obj;
	struct bpf_program *prog;
	char log[4096] = "";
	bool refused;

	memset(as.map_fd, 0xff, sizeof(as.map_fd));
	obj = sl_steer_open(&as);
	if (!obj)
		return false;
	prog = bpf_object__find_program_by_name(obj, SL_STEER_PROG);
	bpf_program__set_log_buf(prog, log, sizeof(log));
	bpf_program__set_log_level(prog, 4); /* figures, and what is wrong: it all fits */
	refused = bpf_object__load(obj) && *log;
	bpf_object__close(obj);
	if (refused)
		snprintf(reason, size, "%s", sl_verifier_reason(log));
	return refused;
}

/* (Missing rights, wrong settings and too large a program give the same errors as the verifier.) */
bool sl_steer_refused(int err, const char *ifname, bool vxlan, const char **why)
{
	char reason[256];
	bool refused;

	if (err != -EACCES && err != -EINVAL && err != -E2BIG)
		return false;
	sl_libs_quiet();
	refused = verifier_refuses(vxlan, reason, sizeof(reason));
	sl_libs_restore();
	if (refused)
		sl_why(why, "%s: this kernel's verifier refuses the steering program: %s", ifname,
		       reason);
	return refused;
}

static bool vxlan_refused; /* by this kernel's verifier */

bool sl_steer_may_vxlan(void)
{
	return !sl_load(&vxlan_refused);
}

bool sl_steer_wants_vxlan(void)
{
	return sl_steer_may_vxlan() && sl_vxlan_any();
}

/* The form that receives VXLAN is the larger one, so a verifier may refuse it alone. */
void sl_steer_refuse_vxlan(struct sl_attach *a, const char *why)
{
	if (!__atomic_exchange_n(&vxlan_refused, true, __ATOMIC_RELAXED))
		sl_info("port", "%s; VXLAN is not received natively", why);
	a->vxlan = false;
}
