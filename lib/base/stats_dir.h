/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the counters of processes are when no setting says so: in a directory that belongs to the
 * process's user alone, since files that others can make names for, or links in place of, are no
 * place to write to. */
#ifndef SL_STATS_DIR_H
#define SL_STATS_DIR_H

#include "base/base.h"

#define SL_STATS_AUTO "auto" /* stats_shmem_dir's default */

/* The directory of this process: what stats_shmem_dir says, else the first that there can be of
 * /run/sluice/UID, /run/user/UID/sluice and /dev/shm/sluice-UID. A descriptor of it (the caller's)
 * and its path; -ENOENT when the setting is empty (no file is wanted), or another errno. */
int sl_stats_dir_open(char *path, size_t size);

/* Calls f for each directory that may have files of counters: the setting's alone, else those
 * above; for root those of all users. Stops when f says false. For tools: allocates. */
void sl_stats_dirs(const char *setting, bool (*f)(const char *path, void *arg), void *arg);

#endif
