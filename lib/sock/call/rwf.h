/* SPDX-License-Identifier: BSD-2-Clause */
/* Flags of preadv2(2) and pwritev2(2). */
#ifndef SL_RWF_H
#define SL_RWF_H

/* The message's flags for those of preadv2(2) and pwritev2(2), or -errno (net/socket.c:
 * sock_read_iter(), sock_write_iter()). */
int sl_rwf_flags(int rwf);

#endif
