/* SPDX-License-Identifier: BSD-2-Clause */
/* DCTCP for networks whose switches mark early (RFC 8257; net/ipv4/tcp_dctcp.c of Linux).
 *
 * Theory of operation: the receiver echoes each mark exactly (tcp_text.c), so that the sender knows
 * which part of a window was marked. alpha is the average of that part, and a mark takes only half
 * of alpha off the window. Slow start and avoidance are NewReno's, and so is the answer to a loss.
 * A connection whose peer does not do ECN is NewReno, by the name of dctcp-reno. */
#include <assert.h>
#include <linux/inet_diag.h>

#include "tcp/loss/cc.h"
#include "tcp/loss/tcp_loss.h"
#include "tcp/tcp_conn.h"

#define ALPHA_MAX  1024u
#define ALPHA_BITS 10
#define GAIN_SHIFT 4 /* of the average: a sixteenth (RFC 8257 4.2) */

struct dctcp {
	uint32_t alpha;             /* of 1,024 */
	uint32_t next_seq;          /* when it is acknowledged, the window is over */
	uint32_t delivered, marked; /* segments in this window */
	uint32_t loss_cwnd;
};
static_assert(sizeof(struct dctcp) <= SL_CC_PRIV * sizeof(uint64_t), "private state");

static struct dctcp *state_of(const struct sl_tcp *c)
{
	return (struct dctcp *)(uintptr_t)c->cc_priv;
}

static void dctcp_init(struct sl_tcp *c)
{
	struct dctcp *d = state_of(c);

	c->cwnd_cnt = 0;
	*d = (struct dctcp){.alpha = ALPHA_MAX, .next_seq = c->snd_nxt};
}

static void dctcp_on_any_ack(struct sl_tcp *c, const struct sl_tcp_ack *a)
{
	struct dctcp *d = state_of(c);
	uint32_t less;

	d->delivered += a->delivered;
	if (a->ece)
		d->marked += a->delivered;
	if (sl_seq_lt(c->snd_una, d->next_seq))
		return;
	less = d->alpha >> GAIN_SHIFT;
	d->alpha -= less ? less : d->alpha;
	if (d->marked) {
		uint64_t part = ((uint64_t)d->marked << (ALPHA_BITS - GAIN_SHIFT)) /
				sl_max(d->delivered, 1u);

		d->alpha = (uint32_t)sl_min(d->alpha + part, (uint64_t)ALPHA_MAX);
	}
	d->next_seq = c->snd_nxt;
	d->delivered = d->marked = 0;
}

static void dctcp_on_ack(struct sl_tcp *c, uint32_t acked, uint32_t rtt_us)
{
	sl_cc_reno.on_ack(c, acked, rtt_us);
}

static uint32_t dctcp_ssthresh(struct sl_tcp *c)
{
	struct dctcp *d = state_of(c);
	uint32_t less = (uint32_t)((uint64_t)c->cwnd * d->alpha >> (ALPHA_BITS + 1));

	d->loss_cwnd = c->cwnd;
	return sl_max(c->cwnd - less, 2u);
}

/* RFC 8257 3.5: a loss is answered as by any other sender. */
static void dctcp_on_loss(struct sl_tcp *c)
{
	state_of(c)->loss_cwnd = c->cwnd;
	c->ssthresh = sl_max(c->cwnd / 2, 2u);
}

static uint32_t dctcp_undo_cwnd(struct sl_tcp *c)
{
	return sl_max(c->cwnd, state_of(c)->loss_cwnd);
}

static uint32_t dctcp_info(const struct sl_tcp *c, union tcp_cc_info *info)
{
	const struct dctcp *d = state_of(c);
	bool on = c->cc == &sl_cc_dctcp;

	info->dctcp = (struct tcp_dctcp_info){
		.dctcp_enabled = on,
		.dctcp_alpha = on ? d->alpha : 0,
		.dctcp_ab_ecn = on ? d->marked * c->mss : 0,
		.dctcp_ab_tot = on ? d->delivered * c->mss : 0,
	};
	return sizeof(info->dctcp);
}

static uint32_t reno_ssthresh(struct sl_tcp *c)
{
	return sl_cc_reno.ssthresh(c);
}

static uint32_t reno_undo_cwnd(struct sl_tcp *c)
{
	return sl_cc_reno.undo_cwnd(c);
}

static void reno_init(struct sl_tcp *c)
{
	sl_cc_reno.init(c);
}

const struct sl_cc sl_cc_dctcp = {
	.name = "dctcp",
	.init = dctcp_init,
	.on_ack = dctcp_on_ack,
	.on_any_ack = dctcp_on_any_ack,
	.ssthresh = dctcp_ssthresh,
	.on_rto = dctcp_on_loss,
	.on_recovery = dctcp_on_loss,
	.undo_cwnd = dctcp_undo_cwnd,
	.ecn = true,
	.without_ecn = &sl_cc_dctcp_reno,
	.info = dctcp_info,
};

const struct sl_cc sl_cc_dctcp_reno = {
	.name = "dctcp-reno",
	.init = reno_init,
	.on_ack = dctcp_on_ack,
	.ssthresh = reno_ssthresh,
	.undo_cwnd = reno_undo_cwnd,
	.info = dctcp_info,
};
