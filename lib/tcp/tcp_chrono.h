/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a connection had something to send, and what held it up (tcp_chrono_start() of Linux):
 * TCP_INFO's tcpi_busy_time, tcpi_rwnd_limited and tcpi_sndbuf_limited. The reason with the highest
 * number counts. The functions are in tcp_conn.c. */
#ifndef SL_TCP_CHRONO_H
#define SL_TCP_CHRONO_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"

enum sl_tcp_chrono {
	SL_CHRONO_IDLE,
	SL_CHRONO_BUSY,   /* something is queued or not acknowledged */
	SL_CHRONO_RWND,   /* and the peer's window holds it up */
	SL_CHRONO_SNDBUF, /* and the program writes less than the path takes, for want of room */
};

/* Microseconds, as TCP_INFO shows them; busy includes the other two. */
struct sl_tcp_chrono_times {
	uint64_t busy_us, rwnd_us, sndbuf_us;
};

/* Enters a state; the time since the last change counts for the one before. */
void sl_tcp_chrono_set(struct sl_tcp *c, enum sl_tcp_chrono to);
struct sl_tcp_chrono_times sl_tcp_chrono_times(const struct sl_tcp *c);

static inline void sl_tcp_chrono_start(struct sl_tcp *c, enum sl_tcp_chrono what)
{
	if (what > c->chrono)
		sl_tcp_chrono_set(c, what);
}

/* Call when `what` holds no longer, or (BUSY) when everything that was sent is acknowledged. */
static inline void sl_tcp_chrono_stop(struct sl_tcp *c, enum sl_tcp_chrono what)
{
	if (c->tx_una == c->tx_tail)
		sl_tcp_chrono_set(c, SL_CHRONO_IDLE);
	else if (what == c->chrono)
		sl_tcp_chrono_set(c, SL_CHRONO_BUSY);
}

#endif
