/* SPDX-License-Identifier: BSD-2-Clause */
/* Call these when the path of a connection may have changed (tcp_icmp.c). */
#ifndef SL_TCP_ICMP_H
#define SL_TCP_ICMP_H

#include "tcp/tcp.h"

/* Call when the MTU of the route to c's peer, or of its device, may have changed. */
void sl_tcp_route_changed(struct sl_tcp *c);
/* Call when a part of the path has gone, or the path is back: what is out is tried at the next run
 * of the timers, not only when they are due (tcp_timer.c). */
void sl_tcp_try_now(struct sl_tcp *c);
/* Handles an ICMP error for a segment of c with sequence number seq: err as Linux maps it
 * (ECONNREFUSED, EHOSTUNREACH, ...); mtu above 0: fragmentation needed, the next hop's MTU less the
 * IP header. An error ends a connection that is not synchronised, another one keeps it as a soft
 * error (RFC 5927 5.2). Ignores segments that are not in flight. */
void sl_tcp_icmp(struct sl_tcp *c, uint32_t seq, int err, uint32_t mtu);
/* Call beside sl_tcp_icmp() when a router has no way to the peer (RFC 6069 3): what was sent again
 * after a time-out did not meet congestion, so the time-out's last doubling is taken back
 * (tcp_ld_RTO_revert() of Linux; tcp_timer.c). */
void sl_tcp_unreachable(struct sl_tcp *c, uint32_t seq);

#endif
