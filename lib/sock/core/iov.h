/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of a message. */
#ifndef SL_IOV_H
#define SL_IOV_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/base.h"
#include "sock/proc/fdtab.h"

#define SL_IOV_MAX 1024 /* pieces that one call may have: UIO_MAXIOV */

/* A datagram, or bytes of a stream, to send, from any of the send calls. */
struct sl_tx_req {
	const struct iovec *iov;
	size_t niov;
	size_t len;
	const struct sockaddr *name; /* NULL: to the peer */
	socklen_t namelen;
	int flags;
	const struct msghdr *msg; /* NULL: no control */
};

/* False: a buffer is NULL, for which the call ends before it takes any byte. Any other bad address
 * is found when it is used (base/guard.h). */
static inline bool sl_iov_is_good(const struct iovec *iov, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sl_unlikely(!iov[i].iov_base && iov[i].iov_len))
			return false;
	return true;
}

/* The socket for a call with n pieces; NULL: the call is the kernel's, which also reports a bad n.
 */
static inline struct sl_sock *sl_sock_of_pieces(int fd, int n)
{
	return n < 0 || n > SL_IOV_MAX ? NULL : sl_fd_sock(fd);
}

/* Bytes in all the pieces. */
static inline size_t sl_iov_len(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

#endif
