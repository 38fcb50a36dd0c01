/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of memory of the process's control groups. */
#ifndef SL_MEMCG_H
#define SL_MEMCG_H

#include "base/base.h"

/* The bytes that the process may still take before the kernel ends a process of the group: the
 * least of its group and those around it, with page cache that has not been used of late counted as
 * free. UINT64_MAX: no limit, or none that the file system of control groups shows. Reads files, so
 * for threads that are making descriptors anyway. */
uint64_t sl_memcg_room(void);

#endif
