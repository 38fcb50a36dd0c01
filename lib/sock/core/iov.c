/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the pieces of a message: what is left of a call, and what one call may have. */
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

size_t sl_iov_rest(const struct iovec *iov, size_t n, size_t skip, size_t bytes, struct iovec *to)
{
	size_t used = 0;

	for (size_t i = 0; i < n && used < SL_IOV_REST && bytes; i++) {
		size_t len = iov[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		len = sl_min(len - skip, bytes);
		to[used++] = (struct iovec){(char *)iov[i].iov_base + skip, len};
		bytes -= len;
		skip = 0;
	}
	return used;
}
