/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of the `sluice` tool that outlive this one. */
#ifndef SL_CTL_HELPER_H
#define SL_CTL_HELPER_H

/* Starts a process of the tool that outlives us, with fd[] as its descriptors 3 to 8 and nothing
 * else of ours. Returns its process id; -ENOENT: no tool. */
#define SL_HELPER_FDS 6
int sl_helper_start(const char *command, const char *arg, const int fd[SL_HELPER_FDS]);

#endif
