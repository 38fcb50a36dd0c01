/* SPDX-License-Identifier: BSD-2-Clause */
/* RWF_* flags of preadv2(2) and pwritev2(2), as a socket takes them. */
#include <errno.h>
#include <sys/socket.h>

#include "sock/call/rwf.h"
#include "sock/core/sock.h"

/* linux/fs.h; the C library's headers may be older. */
#define HIPRI    0x01
#define DSYNC    0x02
#define SYNC     0x04
#define NOWAIT   0x08
#define APPEND   0x10
#define NOAPPEND 0x20
#define NOSIGNAL 0x100 /* Linux 6.18 */

/* kiocb_set_rw_flags(): what is about files means nothing to a socket, but for what a file must be
 * able to (RWF_ATOMIC, RWF_DONTCACHE). */
int sl_rwf_flags(int rwf)
{
	if (sl_likely(!rwf))
		return 0;
	if (rwf & ~(HIPRI | DSYNC | SYNC | NOWAIT | APPEND | NOAPPEND | NOSIGNAL))
		return -EOPNOTSUPP;
	if ((rwf & APPEND) && (rwf & NOAPPEND))
		return -EINVAL;
	return (rwf & NOWAIT ? MSG_DONTWAIT : 0) | (rwf & NOSIGNAL ? MSG_NOSIGNAL : 0);
}
