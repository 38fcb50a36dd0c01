/* SPDX-License-Identifier: BSD-2-Clause */
/* NewReno: slow start, avoidance and halving (RFC 5681). Recovery itself is tcp_loss.c's. */

#include "tcp/loss/cc.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_trouble.h"

static void reno_init(struct sl_tcp *c)
{
	c->cwnd_cnt = 0;
}

static void reno_on_ack(struct sl_tcp *c, uint32_t acked, uint32_t rtt_us)
{
	(void)rtt_us;
	if (!sl_cc_is_limited(c))
		return;
	if (sl_cc_in_slow_start(c))
		acked = sl_cc_slow_start(c, acked);
	if (acked)
		sl_cc_avoid(c, c->cwnd, acked);
}

static uint32_t reno_ssthresh(struct sl_tcp *c)
{
	return c->cwnd > 4 ? c->cwnd / 2 : 2;
}

static uint32_t reno_undo_cwnd(struct sl_tcp *c)
{
	return sl_max(c->cwnd, sl_tcp_trouble(c)->prior_cwnd);
}

const struct sl_cc sl_cc_reno = {
	.name = "reno",
	.init = reno_init,
	.on_ack = reno_on_ack,
	.ssthresh = reno_ssthresh,
	.undo_cwnd = reno_undo_cwnd,
};
