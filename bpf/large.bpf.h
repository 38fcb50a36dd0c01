/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Packets that are too long for their lane. They go to the kernel, as IP fragments do, which
 * delivers them to the socket's shadow. */
#ifndef SL_LARGE_BPF_H
#define SL_LARGE_BPF_H

#include "parse.bpf.h"

/* 1: the kernel takes packets in several buffers of the driver (BPF_F_XDP_HAS_FRAGS, Linux 5.18),
 * which an XSK gets whole, in one frame or several (6.6). Set before the program is loaded, so that
 * a verifier that does not know the helper finds its call dead. */
const volatile __u8 has_frags = 0;

/* Length of the whole packet; sl_view covers its first buffer only. */
static __always_inline __u64 packet_bytes(struct xdp_md *ctx, const struct sl_view *p)
{
	return has_frags ? bpf_xdp_get_buff_len(ctx) : (__u64)(p->data_end - p->data);
}

#endif
