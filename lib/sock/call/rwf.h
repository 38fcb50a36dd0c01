/* SPDX-License-Identifier: BSD-2-Clause */
/* Flags of preadv2(2) and pwritev2(2). */
#ifndef SL_RWF_H
#define SL_RWF_H

#include "base/guard.h"
#include "sock/core/iov.h"

/* The message's flags for those of preadv2(2) and pwritev2(2), or -errno (net/socket.c:
 * sock_read_iter(), sock_write_iter()). */
int sl_rwf_flags(int rwf);

/* Checks what preadv2(2) and pwritev2(2) check first. Returns the bytes of n pieces, and *flags of
 * the message; 0: the call does nothing, as in fs/read_write.c; -errno. iov: the program's, any
 * memory. */
static inline ssize_t sl_rwf_bytes(const struct iovec *iov, int n, int rwf, int *flags)
{
	ssize_t len;

	if (sl_guard_touch(iov, (size_t)n * sizeof(*iov)))
		return -EFAULT;
	len = sl_iov_bytes(iov, (size_t)n);
	if (len <= 0)
		return len;
	*flags = sl_rwf_flags(rwf);
	return *flags < 0 ? *flags : len;
}

#endif
