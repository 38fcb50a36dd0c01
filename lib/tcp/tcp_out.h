/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: which data leave, and when (tcp_out.c). */
#ifndef SL_TCP_OUT_H
#define SL_TCP_OUT_H

#include "tcp/tcp.h"

/* Bytes of the Ethernet frame of a segment with that payload. Rates count frames, as for datagrams
 * and as a NIC does. */
uint32_t sl_tcp_frame_bytes(const struct sl_tcp *c, uint32_t payload);

/* Inside lib/tcp ------------------------------------------------------------------------------- */

void sl_tcp_want_out(struct sl_tcp *c); /* puts c on host->out */
/* Counts c among those that must answer the peer at once (host->nexpect), or no longer. */
void sl_tcp_expect(struct sl_tcp *c, bool expects);
/* True: the only unsent piece is held back by Nagle's algorithm, and still will be with `more`
 * additional bytes. */
bool sl_tcp_stays_held(const struct sl_tcp *c, size_t more);
void sl_tcp_no_room(struct sl_tcp *c); /* send() was refused: puts c on host->room */
void sl_tcp_output(struct sl_tcp *c);  /* sends data, then an ACK if owed */
void sl_tcp_output_data(struct sl_tcp *c);
/* Sends one new segment, or the part of it that fits the window, regardless of cwnd and Nagle (tail
 * loss probe). False: nothing was sent. */
bool sl_tcp_send_one(struct sl_tcp *c);
/* Sends a part of the next piece into a window that is open, else a window probe. */
void sl_tcp_send_persist(struct sl_tcp *c);
/* Sends the piece at index i, first or again. False: no room, no memory, or it must wait for the
 * window. */
bool sl_tcp_xmit_piece(struct sl_tcp *c, uint32_t i, bool retransmission);

/* How many of the unsent bytes the peer's window and the path's take at once. */
uint32_t sl_tcp_leaves_now(const struct sl_tcp *c);
/* Call within a write that has begun at *pushed: has the peer's program hear of the data (PSH) when
 * half of its window has been filled since. It may wait for that, and we for its window
 * (forced_push() of Linux). Sets *pushed to the end of the data if so. */
void sl_tcp_push_half(struct sl_tcp *c, uint32_t *pushed);

#endif
