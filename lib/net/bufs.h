/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in several frames: bufs.c handles them for in.c. */
#ifndef SL_BUFS_H
#define SL_BUFS_H

#include "net/net.h"

/* The frames of a packet behind its first one. receive() (stack/stack.c) has one. */
struct sl_bufs {
	const struct sl_rx_desc *rest;
	unsigned n; /* frames in rest, at least 1 */
	bool taken; /* each frame of rest was kept or freed */
	bool none;  /* no packet: its frames were dropped */
	struct sl_piece tail[SL_RX_BUFS - 1];
};

/* Call before sl_net_input() with n received frames. Returns how many of them belong to the first
 * packet. *cut: as sl_rx.cut. If in->bufs is set then, call sl_bufs_end() after sl_net_input(). If
 * b->none, call neither: the frames were dropped. */
unsigned sl_bufs_begin(struct sl_in *in, struct sl_bufs *b, const struct sl_rx_desc *descs,
		       unsigned n, bool *cut);
void sl_bufs_end(struct sl_in *in);
/* Completes in->pkt, whose first frame was parsed, with the other frames. False: its headers may
 * extend beyond the first frame. */
bool sl_bufs_join(struct sl_in *in, struct sl_bufs *b);
/* Like sl_in_dispatch(); also keeps or frees the frames of in->bufs. */
bool sl_bufs_dispatch(const struct sl_slot *s, struct sl_in *in);

#endif
