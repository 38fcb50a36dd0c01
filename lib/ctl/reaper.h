/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaper: a small process that removes the steering program when its owner has died. */
#ifndef SL_REAPER_H
#define SL_REAPER_H

#include "base/base.h"

/* Descriptors it is started with: 3 + these. */
enum {
	SL_REAPER_LIFE,  /* socket: the owner holds the other end, closed on exec */
	SL_REAPER_PIDFD, /* the owner */
	SL_REAPER_OWNER, /* the name of the device */
	SL_REAPER_FDS
};

#define SL_REAPER_BYE "q" /* on that socket: the owner has cleaned up himself */

/* Waits for the owner's end, then detaches the program from the device and unlinks the pins.
 * Returns 0. */
int sl_reaper_run(uint32_t ifindex);

#endif
