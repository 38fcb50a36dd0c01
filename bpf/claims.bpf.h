/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps that hold claims (steer.h describes them). The steering program and the guards each
 * declare them here; the loader connects them by name. */
#ifndef SL_CLAIMS_BPF_H
#define SL_CLAIMS_BPF_H

#include "steer.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_claim);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_MAX_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_endpoint_key);
	__type(value, struct sl_claim);
} endpoints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_MAX_PORTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SL_MAX_STRAYS);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_stray);
} strays SEC(".maps");

#endif
