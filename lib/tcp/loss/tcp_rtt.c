/* SPDX-License-Identifier: BSD-2-Clause */
/* The round trip and the retransmission time-out (RFC 6298).
 *
 * Theory of operation: as Linux (tcp_rtt_estimator()). With a sample for every ACK the RFC's
 * variance would shrink within a window what one late segment had taught. So the deviation is
 * smoothed for each sample, its greatest of a window raises rttvar at once, and rttvar falls by a
 * quarter of the difference once a window. It has a floor of rto_min / 4: RTO = srtt + 4 rttvar is
 * thereby rto_min above the round trip, not merely rto_min at least. */

#include "tcp/loss/tcp_rtt.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_opts.h"

#define RTO_INITIAL_US  1000000u /* RFC 6298 2.1 */
#define RTO_FALLBACK_US 3000000u /* 5.7 */

static uint32_t floor_us(const struct sl_tcp *c)
{
	return sl_tcp_rto_min_ms(c) * 250u;
}

void sl_tcp_rtt_init(struct sl_tcp *c)
{
	c->srtt_us = c->rttvar_us = c->mdev_us = c->min_rtt_us = 0;
	c->min_rtt_at = 0;
	c->rto_us = RTO_INITIAL_US;
	c->backoff = 0;
}

void sl_tcp_rtt_none(struct sl_tcp *c)
{
	c->rttvar_us = c->mdev_us = c->mdev_max_us = RTO_FALLBACK_US;
	c->rto_us = RTO_FALLBACK_US;
	c->backoff = 0;
}

static void first_sample(struct sl_tcp *c, uint32_t r)
{
	c->srtt_us = r;
	c->mdev_us = r / 2;
	c->rttvar_us = c->mdev_max_us = sl_max(c->mdev_us, floor_us(c));
	c->rtt_seq = c->snd_nxt;
}

static void next_sample(struct sl_tcp *c, uint32_t r)
{
	int32_t err = (int32_t)r - (int32_t)c->srtt_us;
	uint32_t dev = (uint32_t)(err < 0 ? -err : err);
	int32_t more = (int32_t)dev - (int32_t)c->mdev_us;

	/* A round trip that gets shorter is no reason for a longer time-out. */
	if (err < 0 && more > 0)
		more /= 8;
	c->mdev_us = (uint32_t)((int32_t)c->mdev_us + more / 4);
	c->srtt_us = (uint32_t)((int32_t)c->srtt_us + (err + (err < 0 ? -4 : 4)) / 8);
	if (c->mdev_us > c->mdev_max_us) {
		c->mdev_max_us = c->mdev_us;
		c->rttvar_us = sl_max(c->rttvar_us, c->mdev_max_us);
	}
	if (sl_seq_gt(c->snd_una, c->rtt_seq)) {
		if (c->mdev_max_us < c->rttvar_us)
			c->rttvar_us -= (c->rttvar_us - c->mdev_max_us) / 4;
		c->rtt_seq = c->snd_nxt;
		c->mdev_max_us = floor_us(c);
	}
}

/* Keeps the least round trip of the last minutes: the path's own delay. */
static void min_rtt(struct sl_tcp *c, uint32_t r)
{
	uint32_t now = (uint32_t)(c->host->now_us >> 20);
	uint32_t life = (uint32_t)(sl_tcp_params.min_rtt_s * UINT64_C(1000000) >> 20);

	if (c->min_rtt_us && r > c->min_rtt_us && now - c->min_rtt_at < life)
		return;
	c->min_rtt_us = r;
	c->min_rtt_at = now;
}

void sl_tcp_rtt_set_rto(struct sl_tcp *c)
{
	uint64_t rto = c->srtt_us + 4ull * c->rttvar_us;

	c->rto_us = (uint32_t)sl_min(rto, sl_tcp_params.rto_max_ms * 1000ull);
}

void sl_tcp_rtt_sample(struct sl_tcp *c, uint32_t rtt_us)
{
	uint32_t r = rtt_us ? sl_min(rtt_us, 1u << 28) : 1;

	if (c->srtt_us)
		next_sample(c, r);
	else
		first_sample(c, r);
	c->srtt_us = sl_max(c->srtt_us, 1u);
	min_rtt(c, r);
	sl_tcp_rtt_set_rto(c);
	c->backoff = 0; /* RFC 6298 5.7: Karn's, until there is a new sample */
}
