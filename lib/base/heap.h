/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's own heap, for memory that comes and goes with sockets and connections.
 *
 * Why not malloc(3): POSIX lets a signal handler call send(), recv() and the like
 * (signal-safety(7)). Such a handler may have interrupted malloc() on its own thread, whose lock it
 * would then wait for without end; and the program may have a malloc() of its own that calls
 * sockets. No function here takes a lock: a handler, another thread and a forked child find the
 * heap whole at every instruction, also after a siglongjmp() out of the midst of a call.
 *
 * Memory that another library frees, or has allocated, is malloc(3)'s. Builds with a sanitizer have
 * malloc(3) beneath these names, so that it finds uses of freed memory.
 */
#ifndef SL_HEAP_H
#define SL_HEAP_H

#include "base/base.h"

/* Each may be called by any thread and any signal handler. Memory is aligned to 16 bytes, is not
 * cleared but by sl_calloc(), and is given back with sl_free() alone. NULL: there is none, or too
 * much was asked for; errno stays as it was. */
void *sl_malloc(size_t bytes) __attribute__((malloc, alloc_size(1)));
void *sl_calloc(size_t n, size_t bytes) __attribute__((malloc, alloc_size(1, 2)));
/* mem stays as it is when NULL is returned. mem NULL: as sl_malloc(). */
void *sl_realloc(void *mem, size_t bytes) __attribute__((alloc_size(2)));
/* align: a power of two up to 4096. */
void *sl_aligned_alloc(size_t align, size_t bytes) __attribute__((malloc, alloc_size(2)));
/* mem may be NULL. */
void sl_free(void *mem);

#endif
