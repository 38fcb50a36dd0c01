/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that a rule matches are the queue's and not the kernel's: a program at the ingress of the
 * device that plays the port (tcx, Linux 6.6) drops them there, behind the packet socket that the
 * model reads (arrive.c). It is made anew of all rules when one comes or goes, and the kernel ends
 * it with the process, as it ends the rules of a process's context. It notes the stamp of the first
 * frame that it sees: from that one on the rules are the new ones, in the model, too, so that no
 * frame is lost in a change, and none is taken by both. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "nic.h"
#include "sys.h"

#define TCX_INGRESS 46u /* BPF_TCX_INGRESS */
#define TCX_DROP    2
#define TCX_NEXT    (-1)
#define MOST        60000u
#define NO_VID      0x1000
#define PAGE        4096u
#define BEFORE_NS   50000u

static struct bpf_insn code[MOST];
static unsigned n;
static int link_fd = -1;
static volatile uint64_t *first; /* the map's entry */

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, (long)cmd, attr, sizeof(*attr));
}

static void put(uint8_t op, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	if (n < MOST)
		code[n++] = (struct bpf_insn){op, dst, src, off, imm};
}

static void put_exit(int32_t with)
{
	put(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, with);
	put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Register 8: the tag's VID, NO_VID without one of 802.1Q. (The kernel has taken the tag out of the
 * frame.) */
static void put_vid(void)
{
	put(BPF_ALU64 | BPF_MOV | BPF_K, 8, 0, 0, NO_VID);
	put(BPF_LDX | BPF_MEM | BPF_W, 0, 6, offsetof(struct __sk_buff, vlan_present), 0);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4, 0);
	put(BPF_LDX | BPF_MEM | BPF_W, 0, 6, offsetof(struct __sk_buff, vlan_proto), 0);
	put(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, htobe16(ETH_P_8021Q));
	put(BPF_LDX | BPF_MEM | BPF_W, 8, 6, offsetof(struct __sk_buff, vlan_tci), 0);
	put(BPF_ALU | BPF_AND | BPF_K, 8, 0, 0, 0xfff);
}

/* Drops what fits the rule; else goes on behind. */
static void put_rule(const struct sim_flow *f)
{
	unsigned jump[SIM_FLOW_WORDS + 2], njumps = 0, most = 0;

	for (unsigned i = 0; i < f->nwords; i++)
		most = f->word[i].at > most ? f->word[i].at : most;
	jump[njumps++] = n;
	put(BPF_JMP | BPF_JLT | BPF_K, 7, 0, 0, (int32_t)most + 4);
	if (f->vid_mask) {
		jump[njumps++] = n;
		put(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 0, f->vid);
	}
	for (unsigned i = 0; i < f->nwords; i++) {
		const struct sim_flow_word *w = &f->word[i];

		put(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, w->at);
		put(BPF_ALU | BPF_AND | BPF_K, 0, 0, 0, (int32_t)w->mask);
		jump[njumps++] = n;
		put(BPF_JMP32 | BPF_JNE | BPF_K, 0, 0, 0, (int32_t)w->value);
	}
	put_exit(TCX_DROP);
	for (unsigned i = 0; i < njumps && n < MOST; i++)
		code[jump[i]].off = (int16_t)(n - jump[i] - 1);
}

static void put_imm64(uint8_t reg, uint8_t kind, uint64_t v)
{
	put(BPF_LD | BPF_DW | BPF_IMM, reg, kind, 0, (int32_t)(uint32_t)v);
	put(0, 0, 0, 0, (int32_t)(uint32_t)(v >> 32));
}

/* Notes when the first frame has come: its stamp, or the time where it has another's (TCP's): then
 * the packet socket has stamped it a little before. */
static void put_first(int map_fd)
{
	put_imm64(9, BPF_PSEUDO_MAP_VALUE, (uint32_t)map_fd);
	put(BPF_LDX | BPF_MEM | BPF_DW, 0, 9, 0, 0);
	put(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 7, 0);
	put(BPF_LDX | BPF_MEM | BPF_DW, 0, 6, offsetof(struct __sk_buff, tstamp), 0);
	put(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 4, 0);
	put(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	put_imm64(1, 0, sim_clock_wall_ns() - sim_now_ns() - BEFORE_NS);
	put(BPF_ALU64 | BPF_ADD | BPF_X, 0, 1, 0, 0);
	put(BPF_STX | BPF_MEM | BPF_DW, 9, 0, 0, 0);
}

uint64_t sim_steal_when(void)
{
	return first ? *first : 0;
}

/* The rules that have come since the last change are in force from its time on. */
static void settle(void)
{
	uint64_t when = sim_steal_when();
	struct sim_obj *obj;
	uint32_t at = 0;

	while (when && (obj = sim_obj_next(&at, SIM_FLOW))) {
		if (obj->flow.coming)
			obj->flow.since_ns = when;
		obj->flow.coming = false;
	}
}

/* A map with a new place for the first frame's time. 0 or errno. */
static int new_first(int *map_fd)
{
	union bpf_attr attr;
	void *at;

	if (first)
		syscall(SYS_munmap, first, PAGE);
	first = NULL;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE;
	*map_fd = (int)bpf(BPF_MAP_CREATE, &attr);
	if (*map_fd < 0)
		return errno;
	at = sim_mmap(NULL, PAGE, PROT_READ, MAP_SHARED, *map_fd, 0);
	if (at != MAP_FAILED)
		first = at;
	return first ? 0 : errno;
}

static void make(int map_fd)
{
	struct sim_obj *obj;
	uint32_t at = 0;

	n = 0;
	put(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	put_first(map_fd);
	put(BPF_LDX | BPF_MEM | BPF_W, 7, 6, 0, 0); /* its length */
	put_vid();
	while ((obj = sim_obj_next(&at, SIM_FLOW)))
		if (!obj->flow.going)
			put_rule(&obj->flow);
	put_exit(TCX_NEXT);
}

static int load(void)
{
	static const char license[] = "BSD";
	union bpf_attr attr;
	int fd;

	if (n == MOST)
		return -ENOSPC;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = n;
	attr.license = (uintptr_t)license;
	memcpy(attr.prog_name, "simulated_nic", 14);
	fd = (int)bpf(BPF_PROG_LOAD, &attr);
	return fd < 0 ? -errno : fd;
}

static int attach(int prog)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)prog;
	attr.link_create.target_ifindex = sim_wire_ifindex();
	attr.link_create.attach_type = TCX_INGRESS;
	fd = (int)bpf(BPF_LINK_CREATE, &attr);
	if (fd < 0)
		return errno;
	link_fd = sim_fd_keep(fd);
	return 0;
}

static int update(int prog)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_update.link_fd = (uint32_t)link_fd;
	attr.link_update.new_prog_fd = (uint32_t)prog;
	return bpf(BPF_LINK_UPDATE, &attr) ? errno : 0;
}

static int take_share(void)
{
	int prog = -1, map = -1, err;

	if (!sim_nic.rules) {
		if (link_fd >= 0)
			sim_fd_close(link_fd);
		link_fd = -1;
		return 0;
	}
	settle();
	err = new_first(&map);
	if (!err) {
		make(map);
		prog = load();
		err = prog < 0 ? -prog : link_fd < 0 ? attach(prog) : update(prog);
	}
	if (prog >= 0)
		sim_close(prog);
	if (map >= 0) /* (the program has it) */
		sim_close(map);
	return err;
}

/* A device needs no descriptors of the process that makes a rule: where that one has no more, it
 * may have a few for the moment. */
int sim_steal(void)
{
	struct rlimit was, more;
	int err = take_share();

	if (err == EMFILE && !getrlimit(RLIMIT_NOFILE, &was)) {
		more = was;
		more.rlim_cur = more.rlim_max;
		setrlimit(RLIMIT_NOFILE, &more);
		err = take_share();
		setrlimit(RLIMIT_NOFILE, &was);
	}
	if (err)
		sim_say("the kernel's share of %lu rules cannot be taken: %s", sim_nic.rules,
			strerror(err));
	return err;
}

/* A child's copy of the descriptor would keep the rules when the parent has died. */
void sim_steal_child(void)
{
	if (link_fd >= 0)
		sim_close(link_fd);
	link_fd = -1;
}
