/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives by a packet socket (packet(7)) in place of an XSK's receive ring. */
#ifndef SL_PACKET_H
#define SL_PACKET_H

#include "io/xsk.h"

/* Makes x receive by the packet socket fd, which is new, bound to no device, and in the network
 * namespace of the device ifindex (ctl/device/pair.h). entries: packets that may wait. frames: the
 * lane's. Owns fd from now on. 0 or -errno (then fd is the caller's still, and x as before). */
int sl_packet_open(struct sl_xsk *x, int fd, uint32_t ifindex, uint32_t entries,
		   struct sl_frames *frames);
/* Closes it, if there is one; before sl_xsk_close(). Packets that wait are dropped. Lane held. */
void sl_packet_close(struct sl_xsk *x, struct sl_frames *cache);
/* In a forked child, which has no mapping of the ring: closes the descriptor. Async-signal-safe. */
void sl_packet_child(const struct sl_xsk *x);
/* Adds what the packet socket has dropped since it was made to the counts of the XSK. A system
 * call; the keeper alone. */
void sl_packet_read_counts(struct sl_xsk *x, struct sl_xsk_counts *c);

#endif
