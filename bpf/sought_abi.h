/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The iterator (sought.bpf.c) writes one record of each wanted socket that a process has. */
#ifndef SL_SOUGHT_ABI_H
#define SL_SOUGHT_ABI_H

#include <linux/types.h>

#define SL_SOUGHT_MAX   256
#define SL_SOUGHT_INODE 0x7fffffff /* the bits of an inode that count */
/* Descriptors that a read of the iterator looks at, at most; after those of one long queue it ends,
 * too. */
#define SL_SOUGHT_PIECE 4096

struct sl_sought_seen {
	__u32 inode;
	__u16 family;
	__u16 closed; /* it is no connection and does not listen */
	__u32 pid;    /* of a process that has it */
};

#endif
