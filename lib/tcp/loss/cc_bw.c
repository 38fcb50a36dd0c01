/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that the versions of bbr share. A window is what the path holds and room for bursts; the
 * pace is the path's rate, in bursts of a millisecond, as Linux' own (tcp_tso_autosize()). */
#include "tcp/loss/cc_bw.h"
#include "tcp/tcp_host.h"

#define BURST_SHIFT 10 /* a burst is 1/1024 s */
#define BURST_BYTES 65536u
#define ONE_BYTES_S 150000u /* below 1.2 Mbit/s a burst is one segment */

#define CLUMP_MAX_US 100000u
#define CLUMP_RESET  (1u << 20)

/* The pace ------------------------------------------------------------------------------------- */

uint64_t sl_bw_bytes_s(const struct sl_tcp *c, uint64_t bw, uint32_t gain)
{
	uint64_t r = bw * c->mss * gain >> 8;

	return (r * 990000) >> SL_BW_SHIFT;
}

static uint32_t burst_bytes(const struct sl_tcp *c, uint64_t rate)
{
	uint32_t least = c->mss * (rate < ONE_BYTES_S ? 1u : 2u);
	uint32_t bytes = (uint32_t)sl_min(rate >> BURST_SHIFT, (uint64_t)BURST_BYTES);

	return sl_max(bytes, least);
}

static void set_pace(struct sl_tcp *c, uint64_t bytes_s)
{
	sl_tcp_rate_set(sl_tcp_rate(c), bytes_s, burst_bytes(c, bytes_s));
}

void sl_bw_first_pace(struct sl_tcp *c, uint32_t gain)
{
	uint64_t rtt_us = c->srtt_us ? c->srtt_us : 1000;

	sl_tcp_rate(c)->rtt_seen = c->srtt_us;
	set_pace(c, sl_bw_bytes_s(c, c->cwnd * SL_BW_UNIT / rtt_us, gain));
}

void sl_bw_pace(struct sl_tcp *c, uint32_t bw, uint32_t gain, bool full, uint32_t first)
{
	uint64_t rate = sl_bw_bytes_s(c, bw, gain);

	if (!sl_tcp_rate(c)->rtt_seen && c->srtt_us)
		sl_bw_first_pace(c, first);
	if (full || rate > sl_tcp_rate(c)->bytes_s)
		set_pace(c, rate);
}

uint32_t sl_bw_burst(const struct sl_tcp *c)
{
	return burst_bytes(c, sl_tcp_rate(c)->bytes_s) / c->mss;
}

/* Windows -------------------------------------------------------------------------------------- */

uint32_t sl_bw_sample(const struct sl_rate_sample *s)
{
	if (!s->interval_us)
		return 0;
	return (uint32_t)sl_min(s->delivered * SL_BW_UNIT / s->interval_us, (uint64_t)UINT32_MAX);
}

uint32_t sl_bw_product(uint32_t bw, uint32_t rtt_us, uint32_t gain)
{
	uint64_t w = (uint64_t)bw * rtt_us;

	return (uint32_t)((((w * gain) >> 8) + SL_BW_UNIT - 1) >> SL_BW_SHIFT);
}

uint32_t sl_bw_in_net(const struct sl_tcp *c, uint32_t bw, uint32_t in_flight)
{
	uint64_t next_us = sl_tcp_rate(c)->next_ns / 1000, now = c->host->now_us, gone;

	gone = next_us > now ? bw * (next_us - now) >> SL_BW_SHIFT : 0;
	return gone >= in_flight ? 0 : in_flight - (uint32_t)gone;
}

uint32_t sl_bw_random(const struct sl_tcp *c)
{
	return ((uint32_t)c->host->now_us ^ c->iss) * 2654435761u;
}

uint32_t sl_bw_info(const struct sl_tcp *c, uint32_t bw, struct tcp_bbr_info *info)
{
	uint64_t bytes_s = (uint64_t)bw * c->mss * 1000000 >> SL_BW_SHIFT;

	info->bbr_bw_lo = (uint32_t)bytes_s;
	info->bbr_bw_hi = (uint32_t)(bytes_s >> 32);
	return sizeof(*info);
}

/* Clumps --------------------------------------------------------------------------------------- */

void sl_bw_clumps_restart(struct sl_bw_clumps *k, uint64_t now_us)
{
	k->since_us = now_us;
	k->acked = 0;
}

void sl_bw_clumps_take(struct sl_bw_clumps *k, const struct sl_tcp *c, uint32_t bw, uint32_t acked,
		       uint8_t rounds)
{
	uint64_t now = c->host->now_us, expected;
	uint32_t extra;

	if (rounds && ++k->rounds >= rounds) {
		k->rounds = 0;
		k->i ^= 1;
		k->extra[k->i] = 0;
	}
	expected = bw * sl_min(now - k->since_us, (uint64_t)UINT32_MAX) >> SL_BW_SHIFT;
	if (k->acked <= expected || k->acked + acked >= CLUMP_RESET) {
		sl_bw_clumps_restart(k, now);
		expected = 0;
	}
	k->acked += acked;
	extra = sl_min((uint32_t)(k->acked - expected), c->cwnd);
	k->extra[k->i] = sl_max(k->extra[k->i], extra);
}

uint32_t sl_bw_clumps_most(const struct sl_bw_clumps *k, uint32_t bw)
{
	uint64_t most = (uint64_t)bw * CLUMP_MAX_US >> SL_BW_SHIFT;
	uint64_t extra = sl_max(k->extra[0], k->extra[1]);

	return (uint32_t)sl_min(extra, most);
}
