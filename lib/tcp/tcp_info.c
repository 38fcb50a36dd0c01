/* SPDX-License-Identifier: BSD-2-Clause */
/* getsockopt(TCP_INFO) in Linux' units, since monitoring programs (and ss) expect its numbers.
 * Values that we do not measure stay zero. */

#include <linux/tcp.h>
#include <string.h>

#include "tcp/loss/tcp_rate.h"
#include "tcp/tcp_chrono.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_info.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"
#include "tcp/tcp_user.h"

static uint32_t ms_since(const struct sl_tcp *c, uint64_t then_us)
{
	uint64_t from = then_us ? then_us : c->born_us;

	return c->host->now_us > from ? (uint32_t)((c->host->now_us - from) / 1000) : 0;
}

static void options(const struct sl_tcp *c, struct tcp_info *info)
{
	info->tcpi_options = (c->ts_ok ? TCPI_OPT_TIMESTAMPS : 0) |
			     (c->sack_ok ? TCPI_OPT_SACK : 0) |
			     (c->wscale_ok ? TCPI_OPT_WSCALE : 0) | (c->ecn_ok ? TCPI_OPT_ECN : 0) |
			     (c->syn_data_acked ? TCPI_OPT_SYN_DATA : 0);
	if (c->wscale_ok) {
		info->tcpi_snd_wscale = c->snd_wscale & 15;
		info->tcpi_rcv_wscale = c->rcv_wscale & 15;
	}
}

static void loss(const struct sl_tcp *c, struct tcp_info *info)
{
	info->tcpi_ca_state = c->ca;
	info->tcpi_retransmits = c->retries;
	info->tcpi_probes = c->probes;
	info->tcpi_backoff = c->backoff;
	info->tcpi_unacked = sl_tcp_pieces_out(c);
	info->tcpi_sacked = c->sacked_out;
	info->tcpi_lost = c->lost_out;
	info->tcpi_retrans = c->retx_out;
	if (c->trouble) {
		info->tcpi_total_retrans = c->trouble->total_retrans;
		info->tcpi_bytes_retrans = c->trouble->bytes_retrans;
		info->tcpi_dsack_dups = c->trouble->dsack_dups;
		info->tcpi_reord_seen = c->trouble->reord_seen;
		info->tcpi_rcv_ooopack = c->trouble->rcv_ooopack;
		info->tcpi_delivered_ce = c->trouble->delivered_ce;
	}
	/* Linux' tcp_reordering until more was seen. RACK itself measures time. */
	info->tcpi_reordering = sl_tcp_dup_thresh(c);
}

static void times(const struct sl_tcp *c, struct tcp_info *info)
{
	info->tcpi_rto = c->rto_us;
	info->tcpi_ato = c->ato_us;
	info->tcpi_rtt = c->srtt_us;
	info->tcpi_rttvar = c->mdev_us;
	/* Linux: all ones until there is one. */
	info->tcpi_min_rtt = c->min_rtt_us ? c->min_rtt_us : UINT32_MAX;
	info->tcpi_rcv_rtt = c->rcv_rtt_us >> 3;
	info->tcpi_last_data_sent = ms_since(c, c->last_sent_us);
	info->tcpi_last_data_recv = ms_since(c, c->last_rcv_us);
	info->tcpi_last_ack_recv = ms_since(c, c->last_ack_us);
}

static void windows(const struct sl_tcp *c, struct tcp_info *info)
{
	bool v4 = sl_addr_is_v4(&c->node.key.local);

	info->tcpi_snd_mss = c->mss;
	info->tcpi_rcv_mss = c->rcv_mss;
	info->tcpi_advmss = sl_tcp_adv_bytes(c);
	/* MTU of the path, else of the device: both are stored as the segment size that fits. */
	info->tcpi_pmtu = (c->pmtu_mss ? c->pmtu_mss : c->adv_mss) + (v4 ? 40u : 60u);
	info->tcpi_rcv_ssthresh = c->rcv_ssthresh;
	info->tcpi_rcv_space = c->rcvq_space;
	info->tcpi_snd_wnd = c->snd_wnd;
	info->tcpi_snd_cwnd = c->cwnd;
	info->tcpi_snd_ssthresh = sl_min(c->ssthresh, 0x7fffffffu); /* TCP_INFINITE_SSTHRESH */
}

/* Bytes a second. Linux keeps a pacing rate for any connection, twice what the window makes in slow
 * start and 1.2 times afterwards (tcp_update_pacing_rate). The rate of delivery is that of the time
 * from the newest arrival's departure to its acknowledgment. */
static void rates(const struct sl_tcp *c, struct tcp_info *info)
{
	uint64_t rate = UINT64_MAX, most = sl_tcp_opt(c, pace.bytes_s);
	uint64_t us = c->delivered_us - c->rack_sent_us;

	if (c->srtt_us)
		rate = (uint64_t)c->mss * c->cwnd *
		       (c->cwnd < c->ssthresh / 2 ? sl_tcp_params.pacing_ss
						  : sl_tcp_params.pacing_ca) *
		       10000 / c->srtt_us;
	most = most ? most : UINT64_MAX;
	info->tcpi_max_pacing_rate = most;
	if (sl_tcp_opt(c, rate))
		rate = sl_tcp_rate(c)->bytes_s;
	info->tcpi_pacing_rate = sl_min(rate, most);
	if (c->delivered && c->rack_sent_us && c->delivered_us > c->rack_sent_us)
		info->tcpi_delivery_rate =
			(uint64_t)(c->delivered - c->rack_delivered) * c->mss * 1000000 / us;
}

static void counts(const struct sl_tcp *c, struct tcp_info *info)
{
	struct sl_tcp_chrono_times t = sl_tcp_chrono_times(c);
	bool syn_acked = c->snd_una != c->iss;

	/* Linux' sequence numbers count SYN and FIN, but not the SYN of a SYN-ACK. */
	info->tcpi_bytes_acked = c->bytes_acked + (syn_acked && !c->child);
	info->tcpi_bytes_received = c->bytes_received + c->fin_rcvd;
	info->tcpi_bytes_sent = c->bytes_sent;
	info->tcpi_segs_in = c->segs_in + c->child; /* a child's SYN */
	info->tcpi_segs_out = c->segs_out;
	info->tcpi_data_segs_in = c->data_segs_in;
	info->tcpi_data_segs_out = c->data_segs_out;
	info->tcpi_notsent_bytes = sl_tcp_unsent(c);
	info->tcpi_delivered = c->delivered + syn_acked;
	info->tcpi_busy_time = t.busy_us;
	info->tcpi_rwnd_limited = t.rwnd_us;
	info->tcpi_sndbuf_limited = t.sndbuf_us;
}

void sl_tcp_info(const struct sl_tcp *c, struct tcp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->tcpi_state = c->state;
	options(c, info);
	times(c, info);
	windows(c, info);
	rates(c, info);
	counts(c, info);
	loss(c, info);
}

void sl_tcp_info_more(const struct sl_tcp *c, struct sl_tcp_info_more *more)
{
	*more = (struct sl_tcp_info_more){
		.rcv_wnd = c->rcv_wnd,
		.total_rto = c->trouble ? c->trouble->total_rto : 0,
	};
}
