/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Told to a stand-in's BPF programs (tags.bpf.c) by device.c. */
#ifndef VLAN_TAGS_H
#define VLAN_TAGS_H

#include <linux/types.h>

struct vlan_at {
	__u32 lower, peer; /* the device below, and the stand-in's other end */
	__u16 proto, vid;  /* host order */
	__u8 pcp[128];     /* egress-qos-map: PCP by skb->priority */
};

#endif
