/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that few programs set; a connection gets the struct when one of them is set
 * (tcp_conn.c). */
#ifndef SL_TCP_OPTS_H
#define SL_TCP_OPTS_H

#include "base/pace.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_params.h"

struct sl_tcp_mtup;
struct sl_tcp_rate;

/* Options that few programs set. */
struct sl_tcp_opts {
	uint16_t user_mss;                                 /* TCP_MAXSEG, 0: none */
	uint16_t syncnt;                                   /* TCP_SYNCNT, 0: params */
	uint32_t keep_time_ms, keep_intvl_ms, keep_probes; /* 0: params */
	uint32_t user_timeout_ms;
	uint32_t linger2_ms;    /* TCP_LINGER2; UINT32_MAX: close FIN_WAIT2 at once */
	struct sl_pace pace;    /* of frames: SO_MAX_PACING_RATE, or less by the owner */
	uint64_t asked_bytes_s; /* SO_MAX_PACING_RATE, 0: none; the owner's */
	/* Set by the owner if a NIC may pace: the core then asks ops->paced(). leaves_us: when the
	 * segment given to the NIC last leaves it; 0: none was given. */
	bool nic;
	/* the route's (sl_route_tcp); 0: params, none */
	uint8_t init_cwnd;
	bool route_quickack, route_ecn;
	uint32_t route_rto_min_ms;
	uint32_t cwnd_most; /* of a route, for peers that are known (tcp_metrics.c); 0: none */
	uint64_t leaves_us;
	struct sl_tcp_rate *rate; /* of an algorithm that paces; NULL: it does not */
	struct sl_tcp_mtup *mtup; /* the search for the path's MTU; NULL: there is none */
};

/* The options, for writing. Never NULL: without memory they are a shared dummy, whose values are
 * soon lost. */
struct sl_tcp_opts *sl_tcp_opts(struct sl_tcp *c);
/* the value of an option of struct sl_tcp_opts; 0 if none was ever set */
#define sl_tcp_opt(c, name) ((c)->opts ? (c)->opts->name : 0)

static inline uint32_t sl_tcp_init_cwnd(const struct sl_tcp *c)
{
	uint32_t n = sl_tcp_opt(c, init_cwnd), most = sl_tcp_opt(c, cwnd_most);

	n = n ? n : sl_tcp_params.init_cwnd;
	return sl_likely(!most) ? n : sl_min(n, most);
}

/* Holds a window that has grown to what the route allows. */
static inline void sl_tcp_cap_cwnd(struct sl_tcp *c)
{
	uint32_t most = sl_tcp_opt(c, cwnd_most);

	if (sl_unlikely(most) && c->cwnd > most)
		c->cwnd = most;
}

static inline uint32_t sl_tcp_rto_min_ms(const struct sl_tcp *c)
{
	uint32_t ms = sl_tcp_opt(c, route_rto_min_ms);

	return ms ? ms : sl_tcp_params.rto_min_ms;
}

#endif
