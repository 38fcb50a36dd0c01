/* SPDX-License-Identifier: BSD-2-Clause */
/* TIME_WAIT records (tcp_tw.c). */
#ifndef SL_TCP_TW_H
#define SL_TCP_TW_H

#include "tcp/tcp.h"

#define SL_TCP_TIMEWAIT_MS 60000 /* 2 MSL as Linux has it */
void sl_tcp_time_wait(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms); /* c becomes CLOSED */
void sl_tcp_tw_timer(struct sl_tcp_host *h, struct sl_tcp_node *n);           /* frees it */
/* Handles a segment for a TIME_WAIT. True: a SYN may reuse the key (RFC 6191): the record is
 * freed, *isn is the lowest initial sequence number to use. */
bool sl_tcp_tw_input(struct sl_tcp_host *h, struct sl_tcp_node *n, const struct sl_tcp_seg *seg,
		     void *from, uint32_t *isn);
/* For an active open on the record's key, with a port number chosen by the program or an earlier
 * connection. sl_tcp_tw_may_reuse() only checks; sl_tcp_tw_reuse() frees the record when it
 * returns true, *isn as above. */
bool sl_tcp_tw_may_reuse(const struct sl_tcp_node *n);
bool sl_tcp_tw_reuse(struct sl_tcp_host *h, struct sl_tcp_node *n, uint32_t *isn);
void sl_tcp_tw_free(struct sl_tcp_host *h, struct sl_tcp_node *n);

#endif
