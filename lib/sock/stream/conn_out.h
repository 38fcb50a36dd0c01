/* SPDX-License-Identifier: BSD-2-Clause */
/* The way out of a connection: functions of struct sl_tcp_ops (tcp/tcp.h). */
#ifndef SL_CONN_OUT_H
#define SL_CONN_OUT_H

#include "sock/stream/tconn.h"

bool sl_conn_send(struct sl_tcp *t, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		  uint64_t psum);
bool sl_conn_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		   const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope);
uint32_t sl_conn_scope(const struct sl_tcp_key *key, const void *from);
struct sl_tcp_route sl_conn_route(struct sl_tcp_host *h, const struct sl_tcp *t,
				  const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				  uint32_t scope);

#endif
