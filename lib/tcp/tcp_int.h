/* SPDX-License-Identifier: BSD-2-Clause */
/* Nearly every file of lib/tcp needs these: the block, its host, the settings, and small inlines.
 */
#ifndef SL_TCP_INT_H
#define SL_TCP_INT_H

#include "tcp/tcp_conn.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_params.h"

/* RFC 7323 5.5: ignore a ts_recent older than this. */
#define SL_TCP_PAWS_IDLE_US (24ull * 24 * 3600 * 1000000)
#define SL_TCP_PAWS_BITS    20 /* units of ts_recent_at */
#define SL_TCP_PAWS_IDLE    ((uint32_t)(SL_TCP_PAWS_IDLE_US >> SL_TCP_PAWS_BITS))

static inline uint32_t sl_tcp_paws_now(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us >> SL_TCP_PAWS_BITS);
}

static inline void tcp_count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	h->ops->count(h, id, n);
}

/* Takes one of `limit` permits for this second. False: none is left. */
static inline bool sl_tcp_quota_take(struct sl_tcp_quota *q, uint32_t limit, uint64_t now_us)
{
	if (!q->from_us || now_us - q->from_us >= 1000000) {
		q->from_us = now_us;
		q->left = limit;
	}
	if (!q->left)
		return false;
	q->left--;
	return true;
}

static inline struct sl_tcp_note *sl_tcp_note_at(uint32_t frame)
{
	return (struct sl_tcp_note *)(void *)sl_frame_ptr(frame);
}

/* The process may be killed between any two stores. */
static inline void sl_tcp_note_write(struct sl_tcp_note *n, uint64_t id, struct sl_tcp_note is)
{
	n->id = 0;
	sl_share_step();
	*n = is;
	sl_share_step();
	n->id = id;
}

/* Cost of a piece in sndbuf and rcvbuf in addition to its bytes: roughly the kernel's cost of an
 * skb, so that a stream of tiny pieces is limited, too. Code that queues, cuts or drops a piece
 * keeps wmem and rmem equal to the sum over the queues. */
#define SL_TCP_TX_COST 64u
#define SL_TCP_RX_COST 256u
static inline uint32_t sl_tcp_tx_charge(uint32_t len)
{
	return len + SL_TCP_TX_COST;
}
static inline uint32_t sl_tcp_rx_charge(uint32_t len)
{
	return len + SL_TCP_RX_COST;
}

/* Every kind of node is followed by its timer, so that the wheel's single callback
 * (sl_tcp_timer_fire) can find the node of a timer. */
static inline struct sl_tcp_node *sl_tcp_node_of(struct sl_timer *t)
{
	return (struct sl_tcp_node *)((char *)t - sizeof(struct sl_tcp_node));
}

/* A deadline keeps the low 32 bits of the time, so it must be at most half an hour away. Never 0.
 */
static inline uint32_t sl_tcp_at(uint64_t us)
{
	return (uint32_t)us + !(uint32_t)us;
}

/* The full time of a deadline. */
static inline uint64_t sl_tcp_at_us(const struct sl_tcp *c, uint32_t at)
{
	uint64_t now = c->host->now_us;

	return now + (uint64_t)(int64_t)(int32_t)(at - (uint32_t)now);
}

static inline uint32_t sl_tcp_now_ms(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us / 1000);
}
/* The time stamp to send now (RFC 7323): milliseconds, plus the connection's offset. */
static inline uint32_t sl_tcp_tsval(const struct sl_tcp *c)
{
	return sl_tcp_now_ms(c->host) + c->ts_off;
}

/* Payload bytes of a segment of the size that we announced (Linux' tp->advmss). */
static inline uint32_t sl_tcp_adv_bytes(const struct sl_tcp *c)
{
	return c->adv_mss - (c->ts_ok ? 12u : 0);
}

#endif
