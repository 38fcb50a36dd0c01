/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy: which event arms which deadline (tcp_timer.c). */
#ifndef SL_TCP_TIMER_H
#define SL_TCP_TIMER_H

#include "base/timer.h"
#include "tcp/tcp.h"

void sl_tcp_timer_rearm(struct sl_tcp *c);     /* sets the one timer after deadlines changed */
void sl_tcp_timer_on_sent(struct sl_tcp *c);   /* data were sent: RTO, TLP */
void sl_tcp_timer_on_syn(struct sl_tcp *c);    /* SYN or SYN-ACK was sent */
void sl_tcp_timer_on_acked(struct sl_tcp *c);  /* snd_una moved, or all is acked */
void sl_tcp_timer_on_window(struct sl_tcp *c); /* data wait at a zero window: persist */
void sl_tcp_timer_on_alive(struct sl_tcp *c);  /* a segment came: keepalive */
void sl_tcp_timer_thin(struct sl_tcp *c, uint32_t us);
void sl_tcp_timer_stop(struct sl_tcp *c);
void sl_tcp_timer_fire(struct sl_timer *t, void *host);

#endif
