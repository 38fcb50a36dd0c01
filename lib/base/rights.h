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
/* Descriptors that come with a packet, and its sender. The caller gives the first three. */
struct sl_rights {
	int *fd;            /* out: room for max descriptors */
	uint32_t max;       /* at most SL_RIGHTS_MAX */
	struct ucred *from; /* out: the sender, pid 0 if unknown. NULL: SO_PASSCRED is not set */
	uint32_t n;         /* out: descriptors that have come */
	int truncated;      /* out: MSG_TRUNC, MSG_CTRUNC: bytes or descriptors were lost */
};
/* Receives a packet and descriptors (close-on-exec; the caller must close them). Returns the bytes,
 * or -errno; r->n and r->truncated are set in either case. */
long sl_rights_recv(int sock, void *data, size_t bytes, int flags, struct sl_rights *r);

/* Receives from an untrusted sender: has room for every descriptor that one packet can carry, so
 * that the kernel closes none itself, which can block. The caller must close them all. Returns the
 * packet's own length, even if it is more than bytes. */
#define SL_RIGHTS_ANY 254u /* SCM_MAX_FD, and a pidfd */
long sl_rights_recv_any(int sock, void *data, size_t bytes, int fd[SL_RIGHTS_ANY], uint32_t *nfds);

#endif
