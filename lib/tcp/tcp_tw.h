/* SPDX-License-Identifier: BSD-2-Clause */
/* TIME_WAIT records (tcp_tw.c). */
#ifndef SL_TCP_TW_H
#define SL_TCP_TW_H

#include "tcp/tcp.h"

#define SL_TCP_TIMEWAIT_MS 60000 /* 2 MSL, as in Linux */
/* Ends c and puts a record in its place in the table, if there is room and memory. fin_wait2: the
 * peer's FIN has not come yet. */
void sl_tcp_time_wait(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms); /* c becomes CLOSED */
void sl_tcp_tw_timer(struct sl_tcp_host *h, struct sl_tcp_node *n);           /* frees it */
/* Handles a segment for a TIME_WAIT. True: a SYN may reuse the key (RFC 6191): the record is freed,
 * and *isn is the lowest initial sequence number to use. False: it was handled here; the record may
 * be gone. */
bool sl_tcp_tw_input(struct sl_tcp_host *h, struct sl_tcp_node *n, const struct sl_tcp_seg *seg,
		     void *from, uint32_t *isn);
/* For an active open on the record's key, with a port number that the program or an earlier
 * connection chose. sl_tcp_tw_may_reuse() only checks; sl_tcp_tw_reuse() frees the record when it
 * returns true, and sets *isn as above. */
bool sl_tcp_tw_may_reuse(const struct sl_tcp_node *n);
bool sl_tcp_tw_reuse(struct sl_tcp_host *h, struct sl_tcp_node *n, uint32_t *isn);
/* A connection of ours has been closed by both: ours: we keep its TIME_WAIT, else the peer. */
void sl_tcp_note_wait(struct sl_tcp *c, bool ours);
/* True: the peer keeps the TIME_WAITs of connections to key's remote end, for all that is known. */
bool sl_tcp_peer_waits(const struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* Removes the record from the table and frees it. */
void sl_tcp_tw_free(struct sl_tcp_host *h, struct sl_tcp_node *n);

#endif
