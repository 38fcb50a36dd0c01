/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's TCP settings. */
#ifndef SL_TCP_SYSCTL_H
#define SL_TCP_SYSCTL_H

#include "tcp/tcp_params.h"

#define SL_TCP_SYSCTL_DIR "/proc/sys/net/ipv4"

/* Fills p with Linux' defaults, then with what the files of dir say (SL_TCP_SYSCTL_DIR; those of
 * the caller's network namespace). A file that is missing, or has no sense, keeps its default. */
void sl_tcp_sysctl_read(struct sl_tcp_params *p, const char *dir);

/* Reads all again, with the SLUICE_* settings, and stores what has changed: other threads may read
 * p meanwhile. Leaves all as it is where dir cannot be read (any more: chroot(2), Landlock). One
 * thread at a time. */
void sl_tcp_sysctl_follow(struct sl_tcp_params *p, const char *dir);

/* Overrides the machine's values with those of the SLUICE_* settings. */
void sl_tcp_settings_apply(struct sl_tcp_params *p);

#endif
