/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive window and the buffer behind it (tcp_window.c). */
#ifndef SL_TCP_WINDOW_H
#define SL_TCP_WINDOW_H

#include "tcp/tcp.h"

/* The window to announce now, in bytes (the header has it >> rcv_wscale). Avoids silly windows and
 * never shrinks (RFC 9293 3.8.6.2.2). Sets rcv_wnd and rcv_wup, so call it only when sending. */
uint32_t sl_tcp_select_window(struct sl_tcp *c);
/* Call after taking len bytes of a segment: the window may open further. */
void sl_tcp_rcv_grow_window(struct sl_tcp *c, uint32_t len);
/* Call after putting len bytes of a segment beyond a hole: the buffer grows with what waits there,
 * unless the connection waits to be accepted. */
void sl_tcp_rcv_grow_ooo(struct sl_tcp *c, uint32_t len);
/* Call for each data segment: measures the round trip of a connection that only receives. */
void sl_tcp_rcv_rtt_ts(struct sl_tcp *c, const struct sl_tcp_seg *seg);
/* Tunes the size of the buffer: call after data came, and after the program has read. */
void sl_tcp_rcv_tune(struct sl_tcp *c);
/* Call when the program has read: sends a window update if one is due. */
void sl_tcp_rcv_space_freed(struct sl_tcp *c);

#endif
