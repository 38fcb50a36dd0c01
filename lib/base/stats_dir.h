/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of processes' counters. Without a setting it belongs to the process's user alone:
 * in another user's directory that user could put links in the place of our files. */
#ifndef SL_STATS_DIR_H
#define SL_STATS_DIR_H

#include "base/base.h"

#define SL_STATS_AUTO "auto" /* stats_shmem_dir's default */

/* Opens the directory of this process: the one of stats_shmem_dir, else the first that can be had
 * of /run/sluice/UID, /run/user/UID/sluice and /dev/shm/sluice-UID. Returns a descriptor (the
 * caller's) and the path; -ENOENT when the setting is empty (no file is wanted), or another errno.
 */
int sl_stats_dir_open(char *path, size_t size);

/* Opens the directory of this process's user, which no other user may read: the first of the three
 * above that can be had. Returns as sl_stats_dir_open(). */
int sl_user_dir_open(char *path, size_t size);

/* Calls f for each directory that may have files of counters: the setting's alone, else those
 * above; for root those of all users. Stops when f says false. For tools: allocates. */
void sl_stats_dirs(const char *setting, bool (*f)(const char *path, void *arg), void *arg);

#endif
