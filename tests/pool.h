/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of frames in plain memory, of a group of one. */
#ifndef POOL_H
#define POOL_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/heap.h"
#include "io/frame.h"

/* Anew; base: what the frames are in, the caller's. 0 or -errno. */
static inline int pool_make(void *base, uint32_t nframes, uint32_t shift)
{
	static void *mem;
	static size_t bytes;
	struct sl_share_geometry l;
	struct sl_share g;

	sl_free(sl_pool.charge);
	if (mem)
		munmap(mem, bytes);
	sl_share_geometry_make(&l, nframes, shift, 4, 16);
	bytes = l.bytes + l.told_bytes; /* (words of 4 bytes, both) */
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		abort();
	sl_share_init(&g, mem, (char *)mem + l.bytes, &l);
	return sl_pool_attach(base, 1u << shift, &g, (uint8_t)sl_share_join(&g, nframes, 0));
}

#endif
