/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory of all connections (tcp_mem.c). */
#ifndef SL_TCP_MEM_H
#define SL_TCP_MEM_H

#include "tcp/tcp_host.h"

struct sl_ooo;

/* A look at a connection's progress, for sl_tcp_judge(). All zero: no look yet. */
struct sl_tcp_look {
	uint32_t at_ms;    /* sl_tcp_judge()'s now_ms; 0: none */
	uint32_t una, end; /* what was written and not acknowledged then: [una, end) */
};

void sl_tcp_mem_init(struct sl_tcp_mem *m);
/* Call when c's pieces beyond holes have changed: updates the place of c->ooo in the lists of
 * struct sl_tcp_mem. */
void sl_tcp_mem_settle(struct sl_tcp *c);
/* Removes o from these lists until the next sl_tcp_mem_settle(), which begins its age anew. */
void sl_tcp_mem_unsettle(struct sl_ooo *o);
/* True: c's send queue must not take another frame. */
bool sl_tcp_mem_is_over(struct sl_tcp *c);
/* is: counts c among the process's orphans; else counts it no more. Idempotent; any lane. */
void sl_tcp_orphan_count(struct sl_tcp *c, bool is);
/* Call in a child of fork(): it has no orphans. */
void sl_tcp_orphan_child(void);
/* True: c, whose program closes it or has closed it, must be reset, because there are too many
 * orphans (tcp_max_orphans; their number is shifted left by shift), or memory is too short for its
 * unsent data (tcp_check_oom() of Linux). */
bool sl_tcp_orphan_is_over(struct sl_tcp *c, unsigned shift);
/* Call when a write found no frame: c is not writable until one may be free. This is checked when
 * an ACK comes; for a queue that expects none, whenever host->room is checked. */
void sl_tcp_mem_starve(struct sl_tcp *c);
/* True: there is still no frame for c. False: writing may be tried again. */
bool sl_tcp_mem_is_starved(struct sl_tcp *c);
/* Call about once a second while memory is short. False: l keeps what waits now, and a later call
 * judges. True: c was judged, and l is free. *slow, only written then: the peer takes what waits so
 * slowly that it would be at it for more than a quarter of a minute. now_ms is of a clock that may
 * wrap. c's lane need not be held, since a wrong answer costs no more than a needless move. */
bool sl_tcp_judge(const struct sl_tcp *c, struct sl_tcp_look *l, uint32_t now_ms, bool *slow);
/* True: l is of another shortage of memory. */
bool sl_tcp_look_is_old(const struct sl_tcp_look *l, uint32_t now_ms);

#endif
