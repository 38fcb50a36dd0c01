/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Another one's XDP program, which passes everything. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
