/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Packets that are too long for their lane. They are the kernel's, as IP fragments are: it delivers
 * them by the socket's shadow. */
#ifndef SL_LARGE_BPF_H
#define SL_LARGE_BPF_H

#include "parse.bpf.h"

/* Packets may lie in several buffers of the driver (BPF_F_XDP_HAS_FRAGS, Linux 5.18), and an XSK
 * gets them whole, in one frame or several (6.6). Set when it is loaded, so that a verifier that
 * does not know the helper finds its call dead. */
const volatile __u8 has_frags = 0;

/* All bytes of the packet; sl_pkt has those of its first buffer. */
static __always_inline __u64 packet_bytes(struct xdp_md *ctx, const struct sl_pkt *p)
{
	return has_frags ? bpf_xdp_get_buff_len(ctx) : (__u64)(p->data_end - p->data);
}

#endif
