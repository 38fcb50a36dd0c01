/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in several frames: what in.c leaves to bufs.c. */
#ifndef SL_BUFS_H
#define SL_BUFS_H

#include "net/net.h"

/* What of a packet is behind its first frame. */
struct sl_bufs {
	const struct sl_rx_desc *rest;
	unsigned n; /* of rest, at least 1 */
	bool taken; /* each of rest is kept or free */
	bool none;  /* there is no packet: what there was is dropped */
	struct sl_piece tail[SL_RX_BUFS - 1];
};

/* Before sl_net_input() with the first of n received frames, which a packet in several may begin
 * with; of how many it is. *cut: sl_rx's. And after it, if in->bufs is set then. */
unsigned sl_bufs_begin(struct sl_in *in, struct sl_bufs *b, const struct sl_rx_desc *descs,
		       unsigned n, bool *cut);
void sl_bufs_end(struct sl_in *in);
/* The packet whose first frame in->pkt has is in these, too: completes in->pkt. False: its headers
 * may be beyond the first one. */
bool sl_bufs_join(struct sl_in *in, struct sl_bufs *b);
/* As sl_in_dispatch(); sees to the frames of in->bufs. */
bool sl_bufs_dispatch(const struct sl_slot *s, struct sl_in *in);

#endif
