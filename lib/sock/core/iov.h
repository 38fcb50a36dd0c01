/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of a message. */
#ifndef SL_IOV_H
#define SL_IOV_H

#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>

#include "base/base.h"
#include "sock/proc/fdtab.h"

#define SL_IOV_MAX   1024                 /* pieces that one call may have: UIO_MAXIOV */
#define SL_CALL_MOST ((size_t)0x7ffff000) /* bytes that one call moves: MAX_RW_COUNT */

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

/* Bytes in all the pieces; from SL_CALL_MOST + 1 on only that they are too many for one call.
 * -EINVAL: a length is negative; -EFAULT: an address that no program has (import_iovec()). */
static inline ssize_t sl_iov_bytes(const struct iovec *iov, size_t n)
{
	size_t bytes = 0, lens = 0, ends = 0;

	for (size_t i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)iov[i].iov_base;

		bytes += iov[i].iov_len;
		lens |= iov[i].iov_len;
		ends |= at | (at + iov[i].iov_len);
	}
	if (sl_unlikely((ssize_t)lens < 0))
		return -EINVAL;
	if (sl_unlikely((ssize_t)ends < 0))
		return -EFAULT;
	return sl_unlikely(lens >> 32) ? (ssize_t)SL_CALL_MOST + 1 : (ssize_t)bytes;
}

/* Lists the next `bytes` bytes of a call that has moved `skip` bytes, in at most SL_IOV_REST
 * pieces. Returns how many pieces. */
#define SL_IOV_REST 16
size_t sl_iov_rest(const struct iovec *iov, size_t n, size_t skip, size_t bytes, struct iovec *to);
/* The pieces of a call that is too long, without what is behind SL_CALL_MOST bytes: *n of them, the
 * caller frees them by sl_free(). NULL: no memory. errno is not touched. */
struct iovec *sl_iov_cut(const struct iovec *iov, size_t *n);

#endif
