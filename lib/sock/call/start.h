/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing the library up and down. For the files of this room. */
#ifndef SL_START_H
#define SL_START_H

#include "sock/proc/up.h"

/* Makes sure the library is up (tables, keeper). 0 or -errno; then everything is the kernel's. */
int sl_start(void);
/* Call for a socket that the kernel gave this process: in a child that cannot start the library
 * again, `sluice stat` is told once that all its sockets are the kernel's, and why. errno may
 * change. */
void sl_start_not_here(void);
/* Takes it down for good: as at exit, or before execve(2). Sockets are the kernel's already, or are
 * finished. */
void sl_shut_down(void);
/* The first part of sl_shut_down(): ends all sockets that are still offloaded; no more begin. */
void sl_stop(void);
/* Ends the keeper and closes what it watches. False: the keeper does not end (sl_keeper_stop()). */
bool sl_stop_keeper(void);
/* True: the process still has something that a lease gave, or that its own broker holds. */
bool sl_is_lent(void);
/* The process is about to become another user: if sl_is_lent(), calls part(up), up: the library is
 * up and has sockets. The start's lock is held meanwhile, so that there is no fork and no start.
 * The library may come up again when clear() says that nothing of before is in use any more. */
void sl_start_part(void (*part)(bool up), bool (*clear)(void));

#endif
