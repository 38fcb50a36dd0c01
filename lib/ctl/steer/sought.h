/* SPDX-License-Identifier: BSD-2-Clause */
/* Which TCP sockets some process has. */
#ifndef SL_CTL_SOUGHT_H
#define SL_CTL_SOUGHT_H

#include "base/base.h"
#include "sought_abi.h"

struct sl_sought {
	uint32_t inode;  /* its bits SL_SOUGHT_INODE */
	uint16_t family; /* out; 0: no process has it */
	bool closed;     /* out: it is no connection and does not listen */
	uint32_t pid;    /* out: of a process that has it, in the first namespace of processes */
};

/* Looks through the files of all processes for those n sockets, SL_SOUGHT_MAX at most; for
 * milliseconds, since there may be any number of files. 0: it is done. -EAGAIN: call it again with
 * the same s to go on. -EBUSY: another one is not done. Other -errno: nothing is known (a kernel
 * without such an iterator). The first call loads the program. */
int sl_embedded_sought(struct sl_sought *s, unsigned n);
/* Ends a look that is not done; s may go then. */
void sl_embedded_sought_stop(const struct sl_sought *s);

#endif
