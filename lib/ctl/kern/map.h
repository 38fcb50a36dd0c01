/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of BPF maps by the bare system call. libbpf calls syscall(2), which preload/ looks into:
 * for each entry that is put it asks the kernel whether the map takes sockets, and clients come and
 * go by the ten thousand a second. */
#ifndef SL_KERN_MAP_H
#define SL_KERN_MAP_H

#include <linux/bpf.h>
#include <stdint.h>

#include "base/memcheck.h"
#include "base/sys.h"

/* The members of union bpf_attr that these commands have. */
struct sl_map_attr {
	uint32_t map_fd;
	uint64_t key, value, flags;
};

static inline int sl_map_call(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	struct sl_map_attr attr = {
		.map_fd = (uint32_t)fd,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.flags = flags,
	};

	return sl_sysi(SYS_bpf, cmd, &attr, sizeof(attr));
}

/* 0 or -errno, all four. */
static inline int sl_map_get(int fd, const void *key, void *value)
{
	return sl_map_call(BPF_MAP_LOOKUP_ELEM, fd, key, value, 0);
}

static inline int sl_map_put(int fd, const void *key, const void *value, uint64_t flags)
{
	return sl_map_call(BPF_MAP_UPDATE_ELEM, fd, key, value, flags);
}

/* The key after that one. key NULL: the first. */
static inline int sl_map_next(int fd, const void *key, void *next)
{
	int err;

	(void)sl_memcheck(SL_MEMCHECK_QUIET, 1, 0);
	err = sl_map_call(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
	(void)sl_memcheck(SL_MEMCHECK_QUIET, (uintptr_t)-1, 0);
	return err;
}

static inline int sl_map_delete(int fd, const void *key)
{
	return sl_map_call(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

#endif
