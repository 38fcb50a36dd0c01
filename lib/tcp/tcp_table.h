/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's table: connections, requests and TIME_WAIT records by key (tcp_table.c). */
#ifndef SL_TCP_TABLE_H
#define SL_TCP_TABLE_H

#include "tcp/tcp.h"

/* NULL: there is none. */
struct sl_tcp_node *sl_tcp_table_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* 0 or -ENOMEM. n->key must not be in the table: this is not checked. */
int sl_tcp_table_add(struct sl_tcp_host *h, struct sl_tcp_node *n);
/* Does nothing if n is not in the table. */
void sl_tcp_table_del(struct sl_tcp_host *h, struct sl_tcp_node *n);
/* Calls fn for every node; fn may remove and free the node that it gets. */
void sl_tcp_table_each(struct sl_tcp_host *h, void (*fn)(struct sl_tcp_node *n, void *arg),
		       void *arg);
/* True: a connection or a TIME_WAIT stands in the way of bind(2) to that port and address (any: a
 * wildcard), as in inet_csk_bind_conflict(). bound: SL_TCP_BOUND_* of the socket that binds. */
bool sl_tcp_table_binds(struct sl_tcp_host *h, const struct sl_addr *addr, uint16_t port,
			uint8_t bound);
void sl_tcp_table_fini(struct sl_tcp_host *h); /* frees the arrays, not the nodes */

#endif
