/* SPDX-License-Identifier: BSD-2-Clause */
/* A private pair that is made before a lane needs it: the first lane's while the steering program
 * is loaded, and a daemon's next one. Broker lock. */
#ifndef SL_CTL_SPARE_H
#define SL_CTL_SPARE_H

#include "ctl/device/device.h"
#include "ctl/umem/memory.h"

/* Makes a private pair and the ring of its packet socket: packet_fd, packet_places and packet_ring
 * of l, and *ifindex, to which steered packets go. drop_fd: see sl_pair_begin(). entries: places of
 * the ring, at most. 0, or -errno and in *step the step that failed; l has a socket then if
 * packet_places is not 0. */
int sl_pair_make(struct sl_xsk_lease *l, uint32_t *ifindex, int drop_fd, uint32_t entries,
		 const char **step);
/* Begins to make a pair for the device's next lane, in a thread. The device has drop_fd and rings.
 * (Without it, or without a thread, the lane makes its pair itself.) */
void sl_spare_begin(struct sl_device *port);
/* Waits for the thread. */
void sl_spare_wait(struct sl_device *port);
/* Waits for the thread and gives the pair to a lane; see sl_pair_make(). False: there is none. */
bool sl_spare_take(struct sl_device *port, struct sl_xsk_lease *l, uint32_t *ifindex);
/* Closes a pair that no lane has taken. */
void sl_spare_close(struct sl_device *port);
/* Closes what a forked child has of it. */
void sl_spare_child(const struct sl_device *port);

#endif
