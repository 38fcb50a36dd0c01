/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Stands in for a VLAN device where the kernel has none (device.c): puts a tag on frames that the
 * stand-in sends, and gives it frames that come by the device below with that tag, without the tag.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tags.h"

const volatile struct vlan_at at;

/* On the stand-in itself: the veth's other end sees no priority any more. */
SEC("tc")
int map(struct __sk_buff *skb)
{
	__u32 prio = skb->priority;

	skb->mark = prio < sizeof(at.pcp) ? at.pcp[prio] & 7 : 0;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int tag(struct __sk_buff *skb)
{
	__u16 tci = at.vid | (skb->mark & 7) << 13;

	return bpf_skb_vlan_push(skb, bpf_htons(at.proto), tci) ? TC_ACT_SHOT
								: bpf_redirect(at.lower, 0);
}

SEC("tc")
int untag(struct __sk_buff *skb)
{
	if (!skb->vlan_present || skb->vlan_proto != bpf_htons(at.proto) ||
	    (skb->vlan_tci & 0xfff) != at.vid)
		return TC_ACT_UNSPEC;
	return bpf_skb_vlan_pop(skb) ? TC_ACT_SHOT : bpf_redirect(at.peer, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
