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
};

/* Looks through the files of all processes, for a millisecond or some, for those n sockets,
 * SL_SOUGHT_MAX at most. 0 or -errno (a kernel without such an iterator). The first call loads the
 * program. */
int sl_embedded_sought(struct sl_sought *s, unsigned n);

#endif
