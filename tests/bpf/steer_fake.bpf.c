/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The steering program bound to a device that has every hint, with values that the test sets. A
 * bound program cannot be run without packets, and no device here has a hardware clock. */
#define SL_BOUND
#define SL_FAKE_HINTS
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__u64 fake_stamp;
__be16 fake_proto;
__u16 fake_tci;
int fake_stamp_err, fake_tag_err;

static int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, __u64 *ns)
{
	*ns = fake_stamp;
	return fake_stamp_err;
}

static int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *proto, __u16 *tci)
{
	*proto = fake_proto;
	*tci = fake_tci;
	return fake_tag_err;
}

/* The driver's view of the packet: ip_summed is in the lowest bits of a byte. */
struct {
	__u64 skb;
	__u8 bits;
} fake_buff;

static void *bpf_cast_to_kern_ctx(void *ctx)
{
	if (fake_buff.skb)
		fake_buff.skb = (__u64)&fake_buff.bits;
	return &fake_buff;
}

#include "steer.bpf.c"
