/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Facts about a packet that the driver knows and its bytes do not show (Documentation/networking/
 * xdp-rx-metadata.rst). An XDP program may ask only if it is bound to its device:
 * steer_bound.bpf.c. A tc program reads the VLAN tag from the skb. */
#ifndef SL_HINTS_BPF_H
#define SL_HINTS_BPF_H

#include "parse.bpf.h"

#if defined(SL_BOUND) && !defined(SL_FAKE_HINTS)
static int (*const bpf_xdp_metadata_rx_timestamp)(const struct xdp_md *ctx,
						  __u64 *ns) = (void *)SL_KFUNC_STAMP;
static int (*const bpf_xdp_metadata_rx_vlan_tag)(const struct xdp_md *ctx, __be16 *proto,
						 __u16 *tci) = (void *)SL_KFUNC_TAG;
static void *(*const bpf_cast_to_kern_ctx)(void *ctx) = (void *)SL_KFUNC_CTX;

#endif
#ifdef SL_BOUND
/* 0 before Linux 6.8, which brought bpf_xdp_metadata_rx_vlan_tag: the verifier must then find the
 * call dead. */
const volatile __u8 has_vlan_tag = 1;
/* 1: of a veth, whose driver keeps the skb behind its struct xdp_buff (struct veth_xdp_buff,
 * Linux 6.3). Where that pointer is, and where in the skb is ip_summed: byte and lowest bit. */
const volatile __u8 has_sums = 1;
const volatile __u8 sum_shift = 0;
const volatile __u16 skb_at = 0, sum_at = 0;

#define CHECKSUM_PARTIAL 3
#endif

/* Brings room for the instructions that the verifier adds: SL_ROOM that it proves dead and removes
 * before it adds any. Their space stays allocated, so the program need not be moved. A bound
 * program that was moved hangs the kernel (lib/ctl/steer/load.c); for any other, Linux (6.18)
 * copies all that it knows of the program each time an addition needs another page, which takes a
 * quarter of the load's time. Costs a packet nothing. */
#ifdef SL_BOUND
#define SL_ROOM "576"
#elif defined(SL_SKB)
#define SL_ROOM "288"
#else
#define SL_ROOM "256"
#endif
static __always_inline void make_room(void)
{
	asm volatile("r0 = 0\n"
		     "if r0 == 0 goto +" SL_ROOM "\n"
		     ".rept " SL_ROOM "\n"
		     "r0 = 0\n"
		     ".endr\n" ::
			     : "r0");
}

/* The hardware's time stamp; 0: there is none. */
static __always_inline __u64 hw_stamp(struct sl_ctx *ctx)
{
#ifdef SL_BOUND
	__u64 ns = 0;

	if (!bpf_xdp_metadata_rx_timestamp(ctx, &ns))
		return ns;
#endif
	return 0;
}

/* SL_META_SUMMED, or 0: the checksum is left to a device, or it is not known. */
static __always_inline __u8 sum_state(struct sl_ctx *ctx)
{
#ifdef SL_BOUND
	const char *buff, *skb = 0;
	__u8 bits = 0;

	if (!has_sums)
		return 0;
	buff = bpf_cast_to_kern_ctx(ctx);
	if (bpf_probe_read_kernel(&skb, sizeof(skb), buff + skb_at) || !skb ||
	    bpf_probe_read_kernel(&bits, sizeof(bits), skb + sum_at))
		return 0;
	if ((bits >> sum_shift & 3) != CHECKSUM_PARTIAL)
		return SL_META_SUMMED;
#endif
	return 0;
}

/* Adds the outermost VLAN tag if it is not in the frame, because a NIC has taken it off or the
 * sender on a veth left it to the hardware: without this the packet would look untagged. Nonzero:
 * more tags than a key can hold. */
static __always_inline int add_hidden_tag(struct sl_ctx *ctx, struct sl_view *p)
{
#if defined(SL_BOUND) || defined(SL_SKB)
	__be16 proto = 0;
	__u16 tci = 0;

#ifdef SL_SKB
	if (!ctx->vlan_present)
		return 0;
	proto = ctx->vlan_proto;
	tci = ctx->vlan_tci;
#else
	if (!has_vlan_tag || bpf_xdp_metadata_rx_vlan_tag(ctx, &proto, &tci))
		return 0;
#endif
	if (p->l3 == ETH_HLEN)
		p->vlan = sl_tag(proto, tci);
	else if (p->l3 == ETH_HLEN + sizeof(struct sl_vlan_hdr))
		p->vlan |= sl_tag(proto, tci) << 16;
	else
		return -1;
#endif
	return 0;
}

#endif
