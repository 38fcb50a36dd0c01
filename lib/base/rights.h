/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet with descriptors on a UNIX socket (unix(7), SCM_RIGHTS). */
#ifndef SL_RIGHTS_H
#define SL_RIGHTS_H

#include <sys/socket.h>

#include "base/base.h"

#define SL_RIGHTS_MAX 128u /* below SCM_MAX_FD */

/* Sends bytes with nfds descriptors, of which the receiver gets copies. MSG_NOSIGNAL; flags:
 * others. How many bytes, or -errno. */
long sl_rights_send(int sock, const void *data, size_t bytes, const int *fd, uint32_t nfds,
		    int flags);
/* Receives a packet and up to max descriptors, close-on-exec, the receiver's from now on; nfds is
 * how many. MSG_TRUNC or MSG_CTRUNC in *truncated: not all of it. How many bytes, or -errno. */
long sl_rights_recv(int sock, void *data, size_t bytes, int *fd, uint32_t max, uint32_t *nfds,
		    int flags, int *truncated);
/* The same where SO_PASSCRED may be set; *from: the sender, pid 0 when the kernel does not say. */
long sl_rights_recv_from(int sock, void *data, size_t bytes, int *fd, uint32_t max, uint32_t *nfds,
			 int flags, int *truncated, struct ucred *from);

/* The same from a sender that is not trusted: there is room for all that one packet can carry, so
 * that the kernel has none to close, which can block. All of them are the receiver's to close.
 * bytes: the packet's own length is returned, also when it is longer. */
#define SL_RIGHTS_ANY 254u /* SCM_MAX_FD, and a pidfd */
long sl_rights_recv_any(int sock, void *data, size_t bytes, int fd[SL_RIGHTS_ANY], uint32_t *nfds);

#endif
