/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for the path's MTU by segments of growing size (tcp_mtup.c; RFC 4821). */
#ifndef SL_TCP_MTUP_H
#define SL_TCP_MTUP_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_opts.h"

/* A connection has it once its search has begun (c->opts->mtup). Sizes are those of segments with
 * the options that each has. */
struct sl_tcp_mtup {
	uint16_t low;  /* the largest that is known to arrive: no segment is longer, but probes */
	uint16_t high; /* the largest that may arrive */
	uint16_t size; /* of the probe under way; 0: none */
	uint32_t from, to; /* the probe's numbers */
	uint32_t at;       /* when the search began, in units of 2^20 us */
};

void sl_tcp_mtup_free(struct sl_tcp *c);
/* Begins the search if tcp_mtu_probing is 2. Call when the options are agreed, before
 * sl_tcp_mss_changed(). */
void sl_tcp_mtup_open(struct sl_tcp *c);
/* Call for each time-out of a segment that seems to get lost for its size. */
void sl_tcp_mtup_black_hole(struct sl_tcp *c);
/* Called by sl_tcp_output() before it sends new data, while c->opts->mtup is set: sends a probe if
 * one is due. False: data must wait, so that a probe can go. */
bool sl_tcp_mtup_send(struct sl_tcp *c);
/* Call when the route's MTU is another one: the search goes up to that. */
void sl_tcp_mtup_route(struct sl_tcp *c);
/* Call when snd_una has moved. */
void sl_tcp_mtup_on_acked(struct sl_tcp *c);
/* Call when pieces were found lost. True: the probe was, for its size, and that is no sign of
 * congestion. */
bool sl_tcp_mtup_on_lost(struct sl_tcp *c);

static inline struct sl_tcp_mtup *sl_tcp_mtup(const struct sl_tcp *c)
{
	return c->opts ? c->opts->mtup : NULL;
}

/* Call when a piece is sent again: the probe that is under way tells nothing any more. */
static inline void sl_tcp_mtup_forget(struct sl_tcp *c)
{
	if (sl_tcp_mtup(c))
		c->opts->mtup->size = 0;
}

#endif
