/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by congestion control algorithms: their list, slow start and avoidance (RFC 5681), and
 * whether the window is fully used (RFC 7661's question, Linux' answer). */
#include <string.h>

#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_opts.h"

static const struct sl_cc *const algorithms[] = {&sl_cc_cubic, &sl_cc_reno,  &sl_cc_bbr,
						 &sl_cc_bbr3,  &sl_cc_dctcp, &sl_cc_dctcp_reno};

const struct sl_cc *sl_cc_find(const char *name)
{
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++)
		if (!strcmp(algorithms[i]->name, name))
			return algorithms[i];
	return NULL;
}

const char *const *sl_tcp_congestions(void)
{
	static const char *const names[] = {"cubic", "reno",       "bbr", "bbr3",
					    "dctcp", "dctcp-reno", NULL};

	return names;
}

void sl_cc_start(struct sl_tcp *c)
{
	if (c->cc->controls) {
		(void)sl_tcp_opts(c);
		if (!sl_tcp_rate_new(c))
			c->cc = &sl_cc_cubic;
	}
	memset(c->cc_priv, 0, sizeof(c->cc_priv));
	c->cc->init(c);
}

void sl_cc_opened(struct sl_tcp *c)
{
	if (sl_likely(!c->cc->ecn) || c->ecn_ok)
		return;
	c->cc = c->cc->without_ecn;
	c->cc->init(c);
}

/* Growing ------------------------------------------------------------------------------------- */

uint32_t sl_cc_slow_start(struct sl_tcp *c, uint32_t acked)
{
	uint32_t room = c->ssthresh > c->cwnd ? c->ssthresh - c->cwnd : 0;
	uint32_t step = acked < room ? acked : room;

	c->cwnd += step;
	sl_tcp_cap_cwnd(c);
	return acked - step;
}

/* Grows by one segment for every w acknowledged. Counts instead of dividing: acked is rarely above
 * w, so the loop runs once in a window. */
void sl_cc_avoid(struct sl_tcp *c, uint32_t w, uint32_t acked)
{
	if (c->cwnd_cnt >= w) { /* credit of a larger w */
		c->cwnd_cnt = 0;
		c->cwnd++;
	}
	c->cwnd_cnt += acked;
	while (w && c->cwnd_cnt >= w) {
		c->cwnd_cnt -= w;
		c->cwnd++;
	}
	sl_tcp_cap_cwnd(c);
}

/* Is the window used? ------------------------------------------------------------------------- */

/* True: the window limits the connection. In slow start it may be twice what was in flight, since
 * it doubles in a round trip. */
bool sl_cc_is_limited(const struct sl_tcp *c)
{
	if (c->cwnd_limited)
		return true;
	return sl_cc_in_slow_start(c) && c->cwnd < 2 * c->max_in_flight;
}

/* The least that is kept of an old window: the restart window of RFC 5681. */
static uint32_t restart_window(const struct sl_tcp *c)
{
	return sl_min(sl_tcp_init_cwnd(c), c->cwnd);
}

/* The slow start threshold for a window that is given up because it was not used, or in vain: most
 * of that window. */
uint32_t sl_cc_current_ssthresh(const struct sl_tcp *c)
{
	uint32_t w = c->cwnd / 2 + c->cwnd / 4;

	if (c->ca == SL_CA_CWR || c->ca == SL_CA_RECOVERY)
		return c->ssthresh;
	return c->ssthresh > w ? c->ssthresh : w;
}

static uint32_t units(uint64_t us)
{
	return (uint32_t)(us >> SL_TCP_UNIT_BITS);
}

/* Call when the program has not filled the window for an RTO: takes the window half-way back to
 * what the program did use. */
static void application_limited(struct sl_tcp *c)
{
	uint32_t used = sl_max(c->cwnd_used, sl_tcp_init_cwnd(c));

	if (c->ca == SL_CA_OPEN && used < c->cwnd) {
		c->ssthresh = sl_cc_current_ssthresh(c);
		c->cwnd = (c->cwnd + used) / 2;
	}
	c->cwnd_used = 0;
	c->cwnd_stamp = units(c->host->now_us);
}

void sl_cc_on_sent(struct sl_tcp *c, uint32_t in_flight)
{
	bool limited = in_flight >= c->cwnd;
	uint64_t now = c->host->now_us;

	/* Remember the highest use of this window seen so far. */
	if (limited || sl_seq_ge(c->snd_una, c->cwnd_usage_seq) ||
	    (!c->cwnd_limited && in_flight > c->max_in_flight)) {
		c->cwnd_limited = limited;
		c->max_in_flight = in_flight;
		c->cwnd_usage_seq = c->snd_nxt;
	}
	if (sl_cc_is_limited(c)) {
		c->cwnd_used = 0;
		c->cwnd_stamp = units(now);
		return;
	}
	if (in_flight > c->cwnd_used)
		c->cwnd_used = in_flight;
	if (sl_tcp_params.slow_start_after_idle && !c->cc->controls &&
	    units(now) - c->cwnd_stamp > units(c->rto_us))
		application_limited(c);
}

void sl_cc_idle_check(struct sl_tcp *c)
{
	uint64_t idle = c->host->now_us - c->last_sent_us;
	uint32_t least = restart_window(c);

	if (!c->last_sent_us || c->tx_una != c->tx_nxt)
		return;
	if (c->cc->on_idle)
		c->cc->on_idle(c);
	if (!sl_tcp_params.slow_start_after_idle || idle <= c->rto_us || c->cc->controls)
		return;
	c->ssthresh = sl_cc_current_ssthresh(c);
	/* Half for each RTO. */
	for (; idle > c->rto_us && c->cwnd > least; idle -= c->rto_us)
		c->cwnd /= 2;
	if (c->cwnd < least)
		c->cwnd = least;
	c->cwnd_stamp = units(c->host->now_us);
	c->cwnd_used = 0;
}
