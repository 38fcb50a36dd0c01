/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own types (BTF, /sys/kernel/btf/vmlinux) as far as our BPF programs need them.
 * libbpf would read, copy and index all of them for each object that asks for one, which was most
 * of the start time of a program. Found once in a process; call with the broker's lock held. */
#ifndef SL_KTYPES_H
#define SL_KTYPES_H

#include <stdbool.h>
#include <stdint.h>

/* The BTF id of a function that BPF programs may call (SL_KFUNC_ of steer.h). 0: this kernel has
 * none of that name, or its types cannot be read. */
uint32_t sl_ktypes_func(uint32_t kfunc);
/* Where the driver of veth has the skb of a packet that its XDP program sees, in bytes from its
 * struct xdp_buff on; where ip_summed begins in the skb: byte and lowest bit. False: it is not
 * known. */
struct sl_ktypes_sums {
	uint16_t skb, byte;
	uint8_t shift;
};
bool sl_ktypes_sums(struct sl_ktypes_sums *at);
/* Makes a file with the structures and fields that bpf/guard_nf.bpf.c reads, where this kernel has
 * them: for bpf_object_open_opts.btf_custom_path. Returns the descriptor of a memfd, to close when
 * the object is loaded, or -errno. */
int sl_ktypes_file(void);

#endif
