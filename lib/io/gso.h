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

/* A packet socket and a run of segments for it, for a device that has no ring of its own, above
 * another. The lane is held in all calls. NULL: as sl_gso_open() says, or the device does not
 * segment. */
struct sl_gso *sl_gso_make(uint32_t ifindex, const char *ifname, bool qdisc,
			   struct sl_frames *frames);
/* Adds to the run, which has less than SL_TSO_SEGS. Returns tx.open for the caller's queue. */
uint32_t sl_gso_add(struct sl_gso *g, const struct sl_tx_desc *d);
uint32_t sl_gso_holds(const struct sl_gso *g); /* descriptors of the run */
/* Sends a run of several segments by the packet socket. False: the run is still there. */
bool sl_gso_send(struct sl_gso *g);
/* Ends the run. Returns its n segments as single packets, which the caller posts before it adds to
 * another run. */
struct sl_tx_desc *sl_gso_single(struct sl_gso *g, uint32_t *n);
void sl_gso_free(struct sl_gso *g);
void sl_gso_leave(const struct sl_gso *g); /* a forked child closes its copy of the descriptor */
/* True: sl_gso_open() has put segmentation in front of the queue. */
bool sl_gso_is_before(const struct sl_tx *tx);
/* Starts such a queue. True: it is empty. */
bool sl_gso_empties(struct sl_tx *tx);

#endif
