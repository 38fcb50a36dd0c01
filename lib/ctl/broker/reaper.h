/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaper: a small process that cleans up after its owner's death: it tells the peers of the
 * owner's connections (tools/death) and removes the steering program. */
#ifndef SL_REAPER_H
#define SL_REAPER_H

#include "base/base.h"
#include "ctl/device/conns.h"

struct sl_device;

/* Descriptors that the reaper is started with: 3 + these. */
enum {
	SL_REAPER_LIFE,  /* socket: the owner holds the other end, closed on exec */
	SL_REAPER_PIDFD, /* the owner */
	SL_REAPER_OWNER, /* the name of the device */
	SL_REAPER_CONNS, /* the owner's TCP connections, or no file */
	SL_REAPER_RULES, /* notes of the owner's rules in NICs, or no file */
	SL_REAPER_UMEM,  /* the owner's packet memory, or no file */
	SL_REAPER_FDS
};

/* Messages on SL_REAPER_LIFE: first what the files hold, and SL_REAPER_BYE at the end, perhaps with
 * sockets to close. */
struct sl_reaper_files {
	struct sl_conns_layout conns;
	uint32_t nframes, frame_size;
};
#define SL_REAPER_BYE "q" /* the owner has cleaned up itself */

/* A process has a reaper for each device. The first reaper to set this byte, behind the entries of
 * the connections' file, tells the peers. */
#define SL_REAPER_TOLD(layout) ((uint64_t)(layout)->stride * (layout)->max)

/* The owner's side ------------------------------------------------------------------------------
 */

/* Starts the process that cleans up if we die. -ENOENT: no tool. */
int sl_reaper_start(struct sl_device *port);
/* Ends the reaper; it cleans up what is still on the device. exiting: it also gets the library's
 * sockets, so that the process's end does not wait for the kernel to close them. */
void sl_reaper_stop(struct sl_device *port, bool exiting);
/* sl_broker_conns() by the broker in this process. */
int sl_embedded_conns(int memfd, const struct sl_conns_layout *layout);

/* The reaper's own side --------------------------------------------------------------------------
 */

/* Waits for the owner's end. False: the owner has cleaned up itself. Fills in *files. */
bool sl_reaper_wait(struct sl_reaper_files *files);
/* Detaches the program from the device and unlinks the pins. parts: how the device was divided, the
 * argument's text behind the device's number. */
void sl_reaper_clean(uint32_t ifindex, const char *parts);

#endif
