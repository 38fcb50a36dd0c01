/* SPDX-License-Identifier: BSD-2-Clause */
/* Measurements of closed connections, for the next one to the same address (tcp_metrics.c). */
#ifndef SL_TCP_METRICS_H
#define SL_TCP_METRICS_H

#include "tcp/tcp_conn.h"

/* Call when c is established, after its first round-trip sample: it begins with what is kept.
 * Returns the reordering that was seen, in segments; 0: none. cwnd_most: out, the most segments
 * that the route allows in flight; 0: any number. */
uint32_t sl_tcp_metrics_begin(struct sl_tcp *c, uint32_t *cwnd_most);
/* Call when a router has told c of its path's MTU: other connections there begin with that. */
void sl_tcp_metrics_keep_path(struct sl_tcp *c);
/* Lowers r to what another connection with these addresses was told in the last ten minutes. */
void sl_tcp_metrics_path(const struct sl_tcp_host *h, const struct sl_tcp_key *key,
			 struct sl_tcp_route *r);
/* Call when both ends have closed c: keeps what it has learned. */
void sl_tcp_metrics_keep(struct sl_tcp *c);

#endif
