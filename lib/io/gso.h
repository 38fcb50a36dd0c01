/* SPDX-License-Identifier: BSD-2-Clause */
/* AF_XDP transmit with segmentation: large TCP segments go whole to the kernel, through a packet
 * socket. */
#ifndef SL_GSO_H
#define SL_GSO_H

#include "io/xsk.h"

/* Puts segmentation in front of the transmit side of x, on the device that x is bound to. qdisc:
 * the device has one. frames: the cache for sent frames. x stays as it was if the device has
 * several transmit queues, or a qdisc and no segmentation, or we may not (CAP_NET_RAW), or there is
 * no memory. tx.ops->close() undoes it, before x is closed. No other thread uses x. */
void sl_gso_open(struct sl_xsk *x, uint32_t ifindex, const char *ifname, bool qdisc,
		 struct sl_frames *frames);
/* In a forked child: closes the packet socket, which the child does not use. */
void sl_gso_child(const struct sl_xsk *x);

#endif
