/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's states (tcp_conn.c), for the other files of lib/tcp.
 *
 * Sequence numbers: the SYN has iss and is in no queue (sl_tcp_start() sets
 * snd_una = iss, snd_nxt = write_seq = iss + 1); a FIN is queued and counts in write_seq. tcp_in.c
 * moves snd_una (before sl_tcp_snd_drop()) and sets fin_acked; tcp_out.c moves snd_nxt and sets
 * fin_sent. A connection that is over keeps its receive queue for reading, unless it is an orphan.
 */
#ifndef SL_TCP_STATE_H
#define SL_TCP_STATE_H

#include "tcp/tcp.h"

void sl_tcp_set_state(struct sl_tcp *c, enum sl_tcp_state s);
/* Makes c CLOSED: stops timers, leaves the table, frees the send queue, and of an orphan the
 * receive queue; reports EV_CLOSED, with err also EV_ERROR. An orphan may be gone afterwards. */
void sl_tcp_done(struct sl_tcp *c, int err);
/* Reports events to the owner, if there are any. */
void sl_tcp_event(struct sl_tcp *c, uint32_t events);
/* Takes the options of the peer's SYN: sets MSS, window scale, SACK and time stamps. */
void sl_tcp_take_syn_options(struct sl_tcp *c, const struct sl_tcp_seg *syn);
/* Sets up auto-tuning and the first quick ACKs, when c is established. */
void sl_tcp_start_buffers(struct sl_tcp *c);
/* Sets the variables of a connection before its SYN is sent. */
void sl_tcp_start(struct sl_tcp *c, const struct sl_tcp_key *key, uint32_t iss);
/* The window shift to announce; rcvbuf and clamp in bytes, clamp 0: none. */
uint8_t sl_tcp_rcv_wscale(uint32_t rcvbuf, bool locked, uint32_t clamp);
/* The window of the first segments, in bytes. */
uint32_t sl_tcp_first_window(uint32_t rcvbuf, uint32_t clamp, uint16_t mss);
/* RFC 9293 3.7.1: the MSS to announce, from the route; the user may want a smaller one. */
uint16_t sl_tcp_our_mss(uint16_t route_mss, uint16_t user_mss);
/* The first receive window: the route's initrwnd (segments of mss bytes) where that is less. */
uint32_t sl_tcp_route_window(const struct sl_route_tcp *r, uint32_t window, uint16_t mss);
/* Takes the metrics of the route; NULL: it has none. begins: the connection has no peer yet. */
void sl_tcp_take_metrics(struct sl_tcp *c, const struct sl_route_tcp *r, bool begins);
/* True: our SYN asks for ECN. */
bool sl_tcp_asks_ecn(const struct sl_tcp *c);
void sl_tcp_send_fin(struct sl_tcp *c);         /* enters the next state and queues the FIN */
void sl_tcp_orphan_fin_wait2(struct sl_tcp *c); /* c becomes CLOSED */

#endif
