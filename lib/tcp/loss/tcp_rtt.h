/* SPDX-License-Identifier: BSD-2-Clause */
/* The round-trip time (tcp_rtt.c; RFC 6298, 7323 4). */
#ifndef SL_TCP_RTT_H
#define SL_TCP_RTT_H

#include "tcp/tcp.h"

/* Updates srtt_us, rttvar_us and rto_us by a sample, and ends the back-off. */
void sl_tcp_rtt_sample(struct sl_tcp *c, uint32_t rtt_us);
/* Sets rto_us by the samples alone, without back-off. */
void sl_tcp_rtt_set_rto(struct sl_tcp *c);
/* Forgets all samples; the RTO is a second (RFC 6298 2.1). */
void sl_tcp_rtt_init(struct sl_tcp *c);
/* Call when the handshake gave no sample, since the SYN was sent again and there are no time
 * stamps: sets the time-out to three seconds (RFC 6298 5.7). */
void sl_tcp_rtt_none(struct sl_tcp *c);

#endif
