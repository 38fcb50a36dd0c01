/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which target of a group got the SYN of a TCP flow (steer.h, `picked`). */
#ifndef SL_PICKED_BPF_H
#define SL_PICKED_BPF_H

#include "parse.bpf.h"

/* Has one entry. It is empty until the broker makes the table (sl_maps_want_picked()). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_LRU_HASH);
			__uint(max_entries, 1);
			__type(key, struct sl_flow_key);
			__type(value, struct sl_claim);
		});
} picked SEC(".maps");

/* The table of picked flows; NULL: there is none yet. */
static __always_inline void *picked_flows(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&picked, &zero);
}

#endif
