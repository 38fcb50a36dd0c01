/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queues (tcp_reass.c). */
#ifndef SL_TCP_REASS_H
#define SL_TCP_REASS_H

#include "tcp/tcp.h"

/* Queues the payload (from seq, len bytes at off) and FIN. The caller has cut it to the window, and
 * reported bytes below rcv_nxt as DSACK. Moves rcv_nxt, also over the FIN: fin_rcvd is set then.
 * True: the frame was kept. False: its bytes were copied or dropped; rcv_nxt tells. */
bool sl_tcp_rcv_queue(struct sl_tcp *c, uint32_t seq, uint32_t frame, uint16_t off, uint16_t len,
		      bool fin);
/* Makes the ring of the bytes in order longer. False: no memory. */
bool sl_tcp_rx_grow(struct sl_tcp *c);
/* Other processes may have the connection from now on: where the bytes of its queues are is
 * written down in their frames, so that it can go on in the kernel if this process is killed. */
void sl_tcp_note(struct sl_tcp *c);
/* The bytes in that frame were read. */
void sl_tcp_rcv_forget(const struct sl_tcp *c, uint32_t frame);
/* Frees both queues; bytes that were not read are lost. */
void sl_tcp_rcv_free(struct sl_tcp *c);
/* Notes that [start, end) came twice: the next ACK reports it and clears have_dsack. */
void sl_tcp_dsack(struct sl_tcp *c, uint32_t start, uint32_t end);
/* True: fewer frames are free than divisor times the number that c holds. */
bool sl_tcp_rcv_is_pressed(const struct sl_tcp *c, uint32_t divisor);
/* So many more frames may c's queues still have, if its peer uses all of the window and the program
 * reads nothing. */
uint32_t sl_tcp_rcv_room(const struct sl_tcp *c);
/* Fills b with up to max blocks for the next ACK, the DSACK first; returns how many. */
uint8_t sl_tcp_sack_blocks(const struct sl_tcp *c, struct sl_tcp_block *b, uint8_t max);
/* Packs small pieces beyond holes into shared frames, now and while frames are scarce. False: that
 * freed nothing. c->ooo must not be NULL. */
bool sl_tcp_ooo_pack(struct sl_tcp *c);
/* Drops all pieces beyond holes and frees c->ooo; the peer sends them again (RFC 2018 8). */
void sl_tcp_ooo_drop(struct sl_tcp *c);

#endif
