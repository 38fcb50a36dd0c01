/* SPDX-License-Identifier: BSD-2-Clause */
/* A process's queues. */
#ifndef SL_CTL_LANE_H
#define SL_CTL_LANE_H

#include "ctl/device/device.h"
#include "ctl/umem/memory.h"

/* sl_broker_lane_open() and sl_broker_lane_close() by the broker in this process, with the packet
 * memory of that number. */
int sl_embedded_lane_open(uint32_t ifindex, uint32_t umem, uint32_t lane,
			  struct sl_xsk_lease *leases, uint32_t *first, const char **why);
/* Binds a lane that was left unbound (sl_xsk_lease.unbound), once the receiving process has mapped
 * its rings. -EAGAIN: a queue is not free yet; close the lane and open it again. */
int sl_embedded_lane_bind(uint32_t ifindex, uint32_t lane, struct sl_xsk_lease *leases,
			  const char **why);
void sl_embedded_lane_close(uint32_t ifindex, uint32_t lane);

/* Maps a lane's XSK on a queue again and puts it into the map. */
int sl_lane_map_again(struct sl_part *part, uint32_t lane, struct sl_xsk_lease *l);
/* Takes a lane's XSKs out of the map; gives its number and records free. */
void sl_lane_mute(uint32_t ifindex, uint32_t lane);
void sl_lanes_mute(const struct sl_device *p); /* all of the device */
void sl_lane_free(uint32_t ifindex, uint32_t lane);

#endif
