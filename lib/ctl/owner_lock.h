/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the name of a device's owner (broker_owner.c) is held by somebody who may not have it,
 * and what decides then. */
#ifndef SL_OWNER_LOCK_H
#define SL_OWNER_LOCK_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/base.h"

/* The user whose socket is bound to that abstract name, in this network namespace. 0; -ENOENT:
 * nobody's; -errno: it cannot be seen. */
int sl_unix_name_uid(const struct sockaddr_un *sun, socklen_t len, uint32_t *uid);

#define SL_OWNER_DIR "/run/sluice"
/* Root's lock of the device, in a file that only root can open: a descriptor with which it goes, or
 * with its last copy; -EAGAIN: another has it; -errno: there is no such file for us. */
int sl_owner_lock(uint32_t ifindex);
/* Has another process that lock? */
bool sl_owner_is_locked(uint32_t ifindex);

#endif
