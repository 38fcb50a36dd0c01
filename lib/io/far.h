/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending from far frames, beside an XSK: from frames that are not registered with it. */
#ifndef SL_FAR_H
#define SL_FAR_H

#include "io/io.h"

struct sl_far;

/* Makes a packet socket on the device. frames: the cache of the lane that will send; it gets the
 * frames that were sent. NULL with errno set: it cannot be made. */
struct sl_far *sl_far_open(uint32_t ifindex, struct sl_frames *frames);
/* Makes one without a packet socket, which needs privileges: sl_far_bounce() copies. */
struct sl_far *sl_far_open_bounce(struct sl_frames *frames);
/* Makes one that gives each packet of one frame to that call, which copies it. */
typedef void sl_far_fn(void *arg, const void *packet, size_t bytes);
struct sl_far *sl_far_open_by(sl_far_fn *send, void *arg, struct sl_frames *frames);
bool sl_far_bounces(const struct sl_far *f);
struct sl_frames *sl_far_frames(const struct sl_far *f);
/* Copies the n frames of a packet into bounce frames (base/share/share_bounce.h), and describes
 * these in copy[], for the ring. False: too few are free, send it again later. The frames are held
 * as by sl_far_send(). Lane held. */
bool sl_far_bounce(struct sl_far *f, const struct sl_tx_desc *descs, struct sl_tx_desc *copy,
		   unsigned n);
/* Sends a packet of n frames, at most SL_TX_BUFS. False: the socket's buffer is full, send it again
 * later. A packet that the device refuses for another reason is dropped. The frames are held until
 * sl_far_release(), or the next packet but some, since callers note things about a frame after they
 * have posted it. Lane held. */
bool sl_far_send(struct sl_far *f, const struct sl_tx_desc *descs, unsigned n);
/* Gives the frames that were sent to the cache; returns how many. Lane held. */
unsigned sl_far_release(struct sl_far *f);
/* Closes the socket and frees f. Lane held. */
void sl_far_close(struct sl_far *f);
/* A forked child closes its copy of the descriptor. */
void sl_far_child(const struct sl_far *f);

#endif
