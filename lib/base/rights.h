/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet with descriptors on a UNIX socket (unix(7), SCM_RIGHTS). */
#ifndef SL_RIGHTS_H
#define SL_RIGHTS_H

#include <sys/socket.h>

#include "base/base.h"

#define SL_RIGHTS_MAX 129u /* below SCM_MAX_FD */

/* Sends bytes with copies of nfds descriptors. Adds MSG_NOSIGNAL to flags. Returns the number of
 * bytes, or -errno. */
long sl_rights_send(int sock, const void *data, size_t bytes, const int *fd, uint32_t nfds,
		    int flags);
/* Receives a packet and up to max descriptors (close-on-exec; the caller must close them), *nfds in
 * number. MSG_TRUNC or MSG_CTRUNC in *truncated: some were lost. Returns the bytes, or -errno. */
long sl_rights_recv(int sock, void *data, size_t bytes, int *fd, uint32_t max, uint32_t *nfds,
		    int flags, int *truncated);
/* Like sl_rights_recv(), where SO_PASSCRED may be set; *from: the sender, or pid 0 if unknown. */
long sl_rights_recv_from(int sock, void *data, size_t bytes, int *fd, uint32_t max, uint32_t *nfds,
			 int flags, int *truncated, struct ucred *from);

/* Receives from an untrusted sender: has room for every descriptor that one packet can carry, so
 * that the kernel closes none itself, which can block. The caller must close them all. Returns the
 * packet's own length, even if it is more than bytes. */
#define SL_RIGHTS_ANY 254u /* SCM_MAX_FD, and a pidfd */
long sl_rights_recv_any(int sock, void *data, size_t bytes, int fd[SL_RIGHTS_ANY], uint32_t *nfds);

#endif
