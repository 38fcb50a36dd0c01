/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The records that the steering program puts before a packet for user space. Part of the ABI of
 * steer.h. */
#ifndef SL_META_H
#define SL_META_H

#include <linux/types.h>

/* The record in front of each packet that is redirected (XDP metadata; every kernel tried, from
 * 5.10 on, carries 32 bytes). Short, because the receiver's core has to fetch each cache line of it
 * and of the packet from the core that ran the driver. User space relies on none of it for memory
 * safety. */
#define SL_META_MAGIC 0x51c2
struct sl_meta {
	__u16 magic;
	__u8 proto; /* IPPROTO_UDP, IPPROTO_TCP; IPPROTO_ICMP or _ICMPV6: an error about a segment;
		       and SL_META_SUMMED */
	__u8 flags; /* SL_META_* */
	__u16 l3;   /* offset of the IP header from the start of the frame */
	__u16 l4;   /* offset of the TCP/UDP header */
	__u32 slot;
	__u32 gen;
};
/* In proto: the driver says that the packet's checksum is complete. Without it the sender may have
 * left the checksum to a device that the packet never passed. */
#define SL_META_SUMMED 0x80
/* SL_META_SW in flags: a time stamp stands in front of the record (sl_meta_stamped). SL_META_HW as
 * well: one more in front of that (sl_meta_hw). */
struct sl_meta_stamped {
	__u64 stamp_ns; /* CLOCK_MONOTONIC when the steering program saw the packet */
	struct sl_meta meta;
};
struct sl_meta_hw {
	__u64 hw_ns; /* as the driver says (bpf_xdp_metadata_rx_timestamp); never 0 */
	struct sl_meta_stamped sw;
};
#define SL_META_HW (1u << 0)
#define SL_META_SW (1u << 1)
/* Rest of flags: the number of the VLAN device that the packet came by, as in its claim. */
#define SL_META_VLAN(nr)    ((__u8)((nr) << 2))
#define SL_META_VLAN_NR(fl) ((__u8)(fl) >> 2)

/* For drivers that carry no metadata (vmxnet3, hv_netvsc, gve): the frame begins with this mark,
 * then comes the record with its stamps, then the packet. No packet looks like a mark: the magic is
 * in the place of the EtherType, and packets of this type are never redirected. */
#define SL_MARK_MAGIC 0x51c3
struct sl_mark {
	__u8 pad[12];
	__u16 magic;
	__u16 len; /* bytes of mark, stamps and record */
};

/* The record of a packet that a packet socket gets (steer_skb.bpf.c), in the place of its Ethernet
 * addresses. The receiver makes a struct sl_meta of it. Untagged IPv4 has 0 for its version (the
 * private namespace's stack refuses it at its first look); sl_packet_mend() writes it again. */
#define SL_PACKET_MAGIC 0xc4
struct sl_packet_record {
	__u8 magic;
	__u8 proto;    /* as in struct sl_meta */
	__u8 flags;    /* SL_META_SW: the claim wants time stamps; the VLAN device's number */
	__u8 l4_words; /* offset of the transport header from the IP header, in 4 bytes */
	__u32 slot;
	__u32 gen;
};

#ifndef __bpf__
/* pkt has 15 bytes at least. */
static inline void sl_packet_mend(__u8 *pkt)
{
	if (pkt[12] == 8 && !pkt[13]) /* ETH_P_IP */
		pkt[14] |= 4 << 4;
}

_Static_assert(sizeof(struct sl_packet_record) == 12, "two Ethernet addresses");
_Static_assert(sizeof(struct sl_meta) == 16, "metadata record");
_Static_assert(sizeof(struct sl_meta_stamped) == 24, "metadata record with time stamp");
_Static_assert(sizeof(struct sl_mark) == 16, "mark");
_Static_assert(sizeof(struct sl_meta_hw) == 32, "the longest that every kernel carries");
#endif

#endif
