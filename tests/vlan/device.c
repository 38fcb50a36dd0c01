/* SPDX-License-Identifier: BSD-2-Clause */
/* A stand-in for a VLAN device where the kernel has none (CONFIG_VLAN_8021Q): one end of a veth
 * whose other end gives what is sent to the device below, with the tag (tags.bpf.c).
 *
 *   device OBJECT LOWER PEER VID[ad] [FROM:TO...]     PEER: the other end; the rest: an
 *                                                     egress-qos-map. Ends when all is in place.
 *
 * Its name is LOWER.VID[ad], by which told.c knows it. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tags.h"

static int attach(const struct bpf_object *obj, const char *name, uint32_t ifindex,
		  enum bpf_tc_attach_point point, uint32_t priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = priority, .flags = BPF_TC_F_REPLACE,
		    .prog_fd = bpf_program__fd(bpf_object__find_program_by_name(obj, name)));
	int err = bpf_tc_hook_create(&hook);

	return err && err != -EEXIST ? err : bpf_tc_attach(&hook, &opts);
}

static void read_map(char **arg, struct vlan_at *w)
{
	unsigned from, to;

	for (; *arg; arg++)
		if (sscanf(*arg, "%u:%u", &from, &to) == 2 && from < sizeof(w->pcp))
			w->pcp[from] = (uint8_t)to;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	struct vlan_at w;
	int err;

	if (argc < 5)
		return 2;
	w = (struct vlan_at){
		.lower = if_nametoindex(argv[2]),
		.peer = if_nametoindex(argv[3]),
		.proto = strstr(argv[4], "ad") ? ETH_P_8021AD : ETH_P_8021Q,
		.vid = (uint16_t)atoi(argv[4]),
	};
	read_map(argv + 5, &w);
	libbpf_set_print(NULL); /* (of a hook that is there already) */
	obj = bpf_object__open(argv[1]);
	err = obj ? bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"), &w,
					       sizeof(w))
		  : -errno;
	if (!err)
		err = bpf_object__load(obj);
	if (!err)
		err = attach(obj, "tag", w.peer, BPF_TC_INGRESS, 1);
	if (!err) {
		char name[64];

		snprintf(name, sizeof(name), "%s.%s", argv[2], argv[4]);
		err = attach(obj, "map", if_nametoindex(name), BPF_TC_EGRESS, 1);
	}
	/* (A VLAN that was deleted and is made anew takes the old one's place.) */
	if (!err)
		err = attach(obj, "untag", w.lower, BPF_TC_INGRESS,
			     w.vid + (w.proto == ETH_P_8021AD) * 4096u);
	if (err)
		fprintf(stderr, "%s on %s: %s\n", argv[4], argv[2], strerror(-err));
	return err != 0;
}
