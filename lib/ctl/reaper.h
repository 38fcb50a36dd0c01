/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaper: a small process that does for its owner, when he has died, what he can no longer do:
 * tells the peers of his connections (tools/death), removes the steering program. */
#ifndef SL_REAPER_H
#define SL_REAPER_H

#include "ctl/broker.h"

/* Descriptors it is started with: 3 + these. */
enum {
	SL_REAPER_LIFE,  /* socket: the owner holds the other end, closed on exec */
	SL_REAPER_PIDFD, /* the owner */
	SL_REAPER_OWNER, /* the name of the device */
	SL_REAPER_CONNS, /* the owner's TCP connections, or no file */
	SL_REAPER_FDS
};

/* On that socket: first how the connections lie (struct sl_conns_layout), and at the end: */
#define SL_REAPER_BYE "q" /* the owner has cleaned up himself */

/* A process has a reaper for each device; the first of them to set this byte, behind the
 * connections' file as it was made, tells their peers. */
#define SL_REAPER_TOLD(layout) ((uint64_t)(layout)->stride * (layout)->max)

/* Waits for the owner's end. False: he has cleaned up himself. layout, out: of SL_REAPER_CONNS. */
bool sl_reaper_wait(struct sl_conns_layout *layout);
/* Detaches the program from the device and unlinks the pins. parts: how it was divided, as the
 * argument says behind the device's number. */
void sl_reaper_clean(uint32_t ifindex, const char *parts);

#endif
