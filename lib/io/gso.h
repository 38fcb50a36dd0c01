/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP transmit with segmentation: large TCP segments go whole to the kernel by a packet socket.
 */
#ifndef SL_GSO_H
#define SL_GSO_H

#include "io/xsk.h"

/* Puts itself in front of the transmit side of x, on the device that x is bound to. qdisc: the
 * device has one. frames: where frames go that are sent. x stays as it was where the device has
 * several transmit queues, or a qdisc and no segmentation, or we may not (CAP_NET_RAW), or
 * there is no memory. Undone by tx.ops->close(), before x is closed. Nobody else uses x. */
void sl_gso_open(struct sl_xsk *x, uint32_t ifindex, const char *ifname, bool qdisc,
		 struct sl_frames *frames);
/* In a forked child, which uses nothing of it. */
void sl_gso_child(const struct sl_xsk *x);

#endif
