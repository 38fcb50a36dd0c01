/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of a message that is longer than one call may be. */
#include "sock/core/iov.h"

#include "base/heap.h"

struct iovec *sl_iov_cut(const struct iovec *iov, size_t *n)
{
	size_t left = SL_CALL_MOST, used = 0;
	int saved = errno;
	struct iovec *cut = sl_malloc(*n * sizeof(*iov));

	errno = saved;
	for (; cut && used < *n && left; used++) {
		cut[used] = iov[used];
		cut[used].iov_len = sl_min(iov[used].iov_len, left);
		left -= cut[used].iov_len;
	}
	*n = used;
	return cut;
}
