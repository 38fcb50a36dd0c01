/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket calls in the log: each with its result, at level DEBUG, as with VMA. Calls that move data
 * are not among them; their packets are told at FINE (io/tap_log.c). */
#ifndef SL_TOLD_H
#define SL_TOLD_H

#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/log.h"

/* Is `result`, a count or -errno, and logs it with the call's text. The arguments of the text are
 * evaluated only when the line is wanted. */
#define sl_told(result, fmt, ...)                                                                  \
	({                                                                                         \
		long told_ = (result);                                                             \
		sl_debug("call", fmt " = %ld%s%s", __VA_ARGS__, told_ < 0 ? -1l : told_,           \
			 told_ < 0 ? " " : "", told_ < 0 ? strerrorname_np((int)-told_) : "");     \
		(int)told_;                                                                        \
	})

#define SL_TOLD_NAME (SL_ADDR_STRLEN + 10)
/* The text of an address that the program has given; it may lie anywhere. Returns buf. */
const char *sl_told_name(const struct sockaddr *addr, socklen_t len, char buf[SL_TOLD_NAME]);

#endif
