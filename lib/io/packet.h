/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives by a packet socket (packet(7)) in place of an XSK's receive ring. */
#ifndef SL_PACKET_H
#define SL_PACKET_H

#include "io/xsk.h"

/* A packet socket's receive ring: of TPACKET_V2 with virtio headers, bound (ctl/umem/packet.h). */
struct sl_packet_ring {
	int fd;
	void *map;
	uint32_t places, place_bytes;
};

/* Makes x receive by that ring. frames: the lane's. Owns the descriptor and the mapping from now
 * on. 0 or -ENOMEM (then both are the caller's still, and x as before). */
int sl_packet_open(struct sl_xsk *x, const struct sl_packet_ring *r, struct sl_frames *frames);
/* Closes it, if there is one; before sl_xsk_close(). Packets that wait are dropped. Lane held. */
void sl_packet_close(struct sl_xsk *x, struct sl_frames *cache);
/* In a forked child, which has no mapping of the ring: closes the descriptor. Async-signal-safe. */
void sl_packet_child(const struct sl_xsk *x);
/* Adds the places of the ring, which are always in order. Lane held. */
void sl_packet_read_posted(const struct sl_xsk *x, struct sl_xsk_posted *p);
/* Adds the packets that the socket has dropped since it was made to the counts of the XSK. A system
 * call; only the keeper calls it. */
void sl_packet_read_counts(struct sl_xsk *x, struct sl_xsk_counts *c);

#endif
