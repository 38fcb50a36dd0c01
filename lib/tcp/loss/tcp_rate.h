/* SPDX-License-Identifier: BSD-2-Clause */
/* Delivery-rate samples and a pace, for algorithms that are made of them (tcp_rate.c). */
#ifndef SL_TCP_RATE_H
#define SL_TCP_RATE_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_queue.h"

#define SL_RATE_PRIV 24 /* words of the algorithm's private state */

/* A connection has it while its algorithm needs it (c->opts->rate). */
struct sl_tcp_rate {
	/* the pace */
	uint64_t bytes_s;   /* 0: none yet */
	uint64_t byte_time; /* ns for a byte, times 2^20 */
	uint64_t next_ns;   /* when the next burst may leave */
	uint32_t burst_ns;  /* length of a burst at this rate */
	bool closed;        /* the burst is over: wait until next_ns */
	bool rtt_seen;      /* it was set when the round trip was known */
	bool waited;        /* the pace alone has held segments up: they may catch up */
	/* samples; times are the low 32 bits of microseconds */
	uint32_t first_us;    /* departure of the newest segment that has arrived */
	uint32_t acked_us;    /* arrival of the ACK for it */
	uint32_t app_limited; /* samples are the program's until so many were delivered; 0: no */
	uint32_t end_seq;     /* the segment of the last sample */
	uint32_t sacked_end, sacked_lost; /* the newest one that a SACK block has reported */
	bool sacked;                      /* it has, since the last sample */
	uint64_t sent_us;
	uint32_t una; /* tx_una after the last ACK */
	uint64_t priv[SL_RATE_PRIV];
};

/* How fast the path delivered between the departure of a segment and its arrival. */
struct sl_rate_sample {
	uint32_t delivered;       /* segments */
	uint32_t prior_delivered; /* c->delivered when the segment left */
	uint32_t interval_us;     /* 0: no sample */
	uint32_t in_flight;       /* segments in flight when the segment left, with it */
	uint32_t lost;            /* segments found lost since then */
	bool app_limited;
};

static inline struct sl_tcp_rate *sl_tcp_rate(const struct sl_tcp *c)
{
	return c->opts->rate;
}
/* Allocates c->opts->rate, or begins it anew. False: there is no memory, or no c->opts. */
bool sl_tcp_rate_new(struct sl_tcp *c);
void sl_tcp_rate_free(struct sl_tcp *c);
/* Call when piece s was sent, before it counts as in flight. */
void sl_tcp_rate_on_sent(struct sl_tcp *c, struct sl_txseg *s);
/* Call when a SACK block reports piece s, which RACK has seen, before its run is written. */
void sl_tcp_rate_on_sack(struct sl_tcp *c, const struct sl_txseg *s);
/* True: the program, not the path, set the rate when piece s was sent. */
bool sl_tcp_rate_is_limited(const struct sl_txseg *s);
/* Call once for each ACK, after its pieces were dropped and counted. acked: how many arrived. */
struct sl_rate_sample sl_tcp_rate_on_ack(struct sl_tcp *c, uint32_t acked);
/* Sets the pace: bytes of payload a second, in bursts of that many bytes. */
void sl_tcp_rate_set(struct sl_tcp_rate *r, uint64_t bytes_s, uint32_t burst_bytes);
/* When the pace allows the next segment, in us; not above now_us: at once. */
uint64_t sl_tcp_rate_until(struct sl_tcp_rate *r, uint64_t now_us);

#endif
