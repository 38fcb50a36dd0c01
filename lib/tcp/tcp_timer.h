/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy: which event arms which deadline (tcp_timer.c). */
#ifndef SL_TCP_TIMER_H
#define SL_TCP_TIMER_H

#include "base/timer.h"
#include "tcp/tcp.h"

void sl_tcp_timer_rearm(struct sl_tcp *c);   /* arms the one timer after deadlines have changed */
void sl_tcp_timer_on_sent(struct sl_tcp *c); /* data were sent: RTO, TLP */
/* Call when the first piece was sent again, or any piece while no time-out is armed. */
void sl_tcp_timer_on_sent_again(struct sl_tcp *c);
void sl_tcp_timer_on_syn(struct sl_tcp *c);    /* SYN or SYN-ACK was sent */
void sl_tcp_timer_on_acked(struct sl_tcp *c);  /* snd_una moved, or all is acked */
void sl_tcp_timer_on_window(struct sl_tcp *c); /* data wait, but no ACK is expected: persist */
void sl_tcp_timer_on_alive(struct sl_tcp *c);  /* a segment came: keepalive */
/* Sends the ACK of a train after us microseconds at the latest (tcp_ack.c). */
void sl_tcp_timer_thin(struct sl_tcp *c, uint32_t us);
/* Clears all deadlines and cancels the timer. */
void sl_tcp_timer_stop(struct sl_tcp *c);
/* Callback of the wheel, for each kind of node. */
void sl_tcp_timer_fire(struct sl_timer *t, void *host);

#endif
