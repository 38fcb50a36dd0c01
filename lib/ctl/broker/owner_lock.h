/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process that may not have it holds the name of a device's owner (broker/owner.c), and
 * root's lock, which decides then. */
#ifndef SL_OWNER_LOCK_H
#define SL_OWNER_LOCK_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/base.h"

/* Finds the user whose socket is bound to that abstract name, in this network namespace. 0;
 * -ENOENT: no such socket; -errno: unknown. */
int sl_unix_name_uid(const struct sockaddr_un *sun, socklen_t len, uint32_t *uid);

#define SL_OWNER_DIR "/run/sluice"
/* Takes root's lock of the device, on a file that only root can open. Returns a descriptor: closing
 * its last copy releases the lock. -EAGAIN: another process has it; -errno: we may not open such a
 * file. */
int sl_owner_lock(uint32_t ifindex);
/* True: another process has root's lock of the device. */
bool sl_owner_is_locked(uint32_t ifindex);

#endif
