/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What sought.bpf.c says of each descriptor of a wanted socket. */
#ifndef SL_SOUGHT_ABI_H
#define SL_SOUGHT_ABI_H

#include <linux/types.h>

#define SL_SOUGHT_MAX   256
#define SL_SOUGHT_INODE 0x7fffffff /* the bits of an inode that count */

struct sl_sought_seen {
	__u32 inode;
	__u16 family;
	__u16 closed; /* it is no connection and does not listen */
};

#endif
