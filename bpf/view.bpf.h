/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A frame as the parser sees it: its bounds, what was found in it, and offsets that the verifier
 * believes. */
#ifndef SL_VIEW_BPF_H
#define SL_VIEW_BPF_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* The context of the program that includes this: an XDP program's, or with SL_SKB a tc program's.
 * Both have `data` and `data_end`. SL_PASS: the packet is the kernel's. */
#ifdef SL_SKB
#define sl_ctx  __sk_buff
#define SL_PASS TC_ACT_UNSPEC /* another program may still take it */
#else
#define sl_ctx  xdp_md
#define SL_PASS XDP_PASS
#endif

#define SL_MAX_L4 384 /* transport header starts below: keeps the verifier's ranges small */

enum sl_hdr {
	SL_HDR_OK,
	SL_HDR_NOT_IP,
	SL_HDR_FRAGMENT,
	SL_HDR_UNKNOWN,
	SL_HDR_ICMP, /* the ICMP of the packet's IP version; l4 is where it starts */
};

/* Result of the parser. Offsets are from the start of the frame. */
struct sl_view {
	void *data;
	void *data_end;
	__u32 l3;
	__u32 l4;
	__u32 vlan;               /* as in struct sl_flow_key */
	__u16 src_port, dst_port; /* host order */
	__u8 proto;
	__u8 v6;
};

/* Points at len bytes at an offset, or NULL when the frame ends before. */
static __always_inline void *sl_at(const struct sl_view *p, __u32 off, __u32 len)
{
	void *at = p->data + off;

	return at + len <= p->data_end ? at : 0;
}

/* The walks over options and extension headers are global functions. They are rare, so the call
 * costs nothing, and the verifier checks each one once, for all arguments, instead of along every
 * path (milliseconds instead of one second). They take the context and make their own view of
 * it. */
static __always_inline struct sl_view sl_view(struct sl_ctx *ctx)
{
	struct sl_view p = {
		.data = (void *)(long)ctx->data,
		.data_end = (void *)(long)ctx->data_end,
	};

	return p;
}

/* Makes the verifier forget how many bytes of the frame were found to be there: it knows different
 * numbers on different paths. */
static __always_inline void sl_view_again(struct sl_ctx *ctx, struct sl_view *p)
{
	p->data = (void *)(long)ctx->data;
	p->data_end = (void *)(long)ctx->data_end;
}

/* Makes an offset that was checked against SL_MAX_L4 look the same on every path, so that the
 * verifier recognises a loop iteration that it has checked. */
#define SL_FORGET(off) asm volatile("%0 &= 0x1ff" : "+r"(off))

/* 0, which the verifier cannot know: it takes two reads of four bytes of a frame for two numbers.
 */
static __always_inline __u32 sl_nought(const void *at)
{
	volatile const __u32 *word = at;
	__u32 a = *word;

	return a ^ *word;
}

/* Hides x from the verifier, which then knows only that x is within mask. The verifier checks all
 * code that follows once for each path that leads there, unless it knows the same on all of them.
 * (A call of a global function hides as well, but costs a packet ten nanoseconds.) */
static __always_inline __u32 sl_veil(__u32 x, __u32 nought, __u32 mask)
{
	asm volatile("%0 ^= %1" : "+r"(x) : "r"(nought));
	return x & mask;
}

/* Bounds an offset that a global function was given: the verifier knows nothing about it. A
 * comparison with SL_MAX_L4 is not enough: Linux 6.1 applies its result to the register, not to the
 * copy of it on the stack. */
static __always_inline __u64 sl_bounded(__u64 off)
{
	asm volatile("%0 &= 0x1ff" : "+r"(off));
	return off;
}

#endif
