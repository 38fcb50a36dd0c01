/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for the path's MTU where no router tells it (RFC 4821; tcp_mtu_probe() of Linux).
 *
 * Theory of operation: the segment size stays at the low end of a range. While there is much to
 * send and nothing is missing, one segment of the range's middle goes out. If it arrives it is the
 * new low end; if it alone is lost, the high end lies below it, its bytes go again in segments that
 * fit, and the congestion window stays. The search rests when the range is small, and begins anew
 * after tcp_probe_interval, since paths change. Time-outs one after the other may mean that even
 * the low end is too large (a black hole), which lowers it. */

#include "base/heap.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_trouble.h"

#define PROBE_CWND   11u /* the loss of one of so many is repaired without a time-out */
#define SECOND_UNITS 20  /* units of 2^20 us are a second, about */

/* Bytes of the options that each segment has. */
static uint32_t opts_len(const struct sl_tcp *c)
{
	return c->ts_ok ? 12 : 0;
}

static uint32_t now_units(const struct sl_tcp *c)
{
	return (uint32_t)(c->host->now_us >> SECOND_UNITS);
}

/* The packet of a segment of that size, options included. */
static uint32_t mtu_of(const struct sl_tcp *c, uint32_t size)
{
	return size + 20 + (sl_addr_is_v4(&c->node.key.remote) ? 20 : 40);
}

static void begin(struct sl_tcp *c, struct sl_tcp_mtup *m, uint32_t low)
{
	m->low = (uint16_t)sl_min(low, (uint32_t)UINT16_MAX);
	m->high = (uint16_t)sl_tcp_mss_limit(c);
	m->size = 0;
	m->at = now_units(c);
}

/* Begins the search at tcp_base_mss. Without memory there is none. */
static void start_search(struct sl_tcp *c)
{
	struct sl_tcp_mtup *m = sl_tcp_mtup(c);

	if (!m) {
		(void)sl_tcp_opts(c);
		if (!c->opts)
			return;
		m = c->opts->mtup = sl_malloc(sizeof(*m));
	}
	if (m)
		begin(c, m, sl_tcp_params.base_mss + opts_len(c));
}

void sl_tcp_mtup_free(struct sl_tcp *c)
{
	if (!c->opts)
		return;
	sl_free(c->opts->mtup);
	c->opts->mtup = NULL;
}

void sl_tcp_mtup_open(struct sl_tcp *c)
{
	if (sl_unlikely(sl_tcp_params.mtu_probing > 1))
		start_search(c);
}

/* tcp_mtu_probing() of Linux: at first the search begins, then its low end is halved. */
void sl_tcp_mtup_black_hole(struct sl_tcp *c)
{
	struct sl_tcp_mtup *m = sl_tcp_mtup(c);
	uint32_t mss;

	if (!m) {
		start_search(c);
	} else {
		mss = m->low > opts_len(c) ? (m->low - opts_len(c)) / 2 : 0;
		mss = sl_min(mss, sl_tcp_params.base_mss);
		mss = sl_max(mss, sl_tcp_params.mtu_probe_floor);
		mss = sl_max(mss, sl_tcp_params.min_snd_mss);
		m->low = (uint16_t)(mss + opts_len(c));
	}
	sl_tcp_mss_changed(c);
}

void sl_tcp_mtup_route(struct sl_tcp *c)
{
	if (sl_tcp_mtup(c))
		begin(c, c->opts->mtup, sl_min(c->opts->mtup->low, sl_tcp_mss_limit(c)));
}

/* Begins anew when the last search is long ago (tcp_mtu_check_reprobe()). */
static void search_again(struct sl_tcp *c, struct sl_tcp_mtup *m)
{
	if ((uint64_t)(now_units(c) - m->at) << SECOND_UNITS >=
	    sl_tcp_params.probe_interval_s * UINT64_C(1000000))
		begin(c, m, c->mss + opts_len(c));
}

/* True: segments overtake each other, are missing, or are too few, so that a lost probe would not
 * be told from others. */
static bool is_bad_time(const struct sl_tcp *c, const struct sl_tcp_mtup *m)
{
	return m->size || c->ca != SL_CA_OPEN || c->cwnd < PROBE_CWND || c->sacked_out ||
	       c->lost_out || c->retx_out || c->nlast_sack || c->have_dsack || c->urg_out ||
	       c->state != SL_TCP_ESTABLISHED;
}

/* Sends the first len unsent bytes as one segment. */
static void send_probe(struct sl_tcp *c, struct sl_tcp_mtup *m, uint32_t len)
{
	uint16_t mss = c->mss;
	uint32_t from = c->snd_nxt;
	bool sent;

	if (!sl_tcp_snd_join(c, (uint16_t)len))
		return;
	c->mss = (uint16_t)len;
	sent = sl_tcp_xmit_piece(c, c->tx_nxt, false);
	c->mss = mss;
	if (!sent)
		return;
	m->size = (uint16_t)(len + opts_len(c));
	m->from = from;
	m->to = c->snd_nxt;
	c->cwnd--; /* it counts for about two */
}

bool sl_tcp_mtup_send(struct sl_tcp *c)
{
	struct sl_tcp_mtup *m = c->opts->mtup;
	uint32_t size = ((uint32_t)m->low + m->high) / 2, in_flight = sl_tcp_in_flight(c);
	uint32_t need;

	if (is_bad_time(c, m))
		return true;
	if (m->high < m->low || (uint32_t)(m->high - m->low) < sl_tcp_params.probe_threshold) {
		search_again(c, m);
		return true;
	}
	size -= opts_len(c);
	need = size + (sl_tcp_dup_thresh(c) + 1) * c->mss;
	if (c->write_seq - c->snd_nxt < need || c->snd_wnd < need || size > c->max_window / 2)
		return true;
	if (sl_seq_gt(c->snd_nxt + need, c->snd_una + c->snd_wnd))
		return false;
	if (in_flight + 2 > c->cwnd)
		return !in_flight;
	send_probe(c, m, size);
	return true;
}

/* The probe has arrived: what it has of the path is had by more bytes now
 * (tcp_mtup_probe_success()). */
void sl_tcp_mtup_on_acked(struct sl_tcp *c)
{
	struct sl_tcp_mtup *m = c->opts->mtup;
	uint64_t bytes;

	if (!m || !m->size || sl_seq_lt(c->snd_una, m->to))
		return;
	bytes = (uint64_t)c->cwnd * mtu_of(c, c->mss + opts_len(c));
	c->cwnd = (uint32_t)sl_max(bytes / mtu_of(c, m->size), UINT64_C(1));
	c->cwnd_cnt = 0;
	c->cwnd_stamp = (uint32_t)(c->host->now_us >> SL_TCP_UNIT_BITS);
	c->ssthresh = sl_cc_current_ssthresh(c);
	m->low = m->size;
	m->size = 0;
	sl_tcp_mss_changed(c);
}

bool sl_tcp_mtup_on_lost(struct sl_tcp *c)
{
	struct sl_tcp_mtup *m = sl_tcp_mtup(c);

	if (sl_likely(!m) || !m->size || c->ca >= SL_CA_CWR || c->snd_una != m->from ||
	    !(sl_tcp_piece(c, c->tx_una)->marks & SL_TXS_LOST))
		return false;
	m->high = sl_min(m->high, (uint16_t)(m->size - 1));
	m->size = 0;
	c->cwnd++; /* send_probe() has taken it */
	sl_tcp_lose_too_long(c);
	return true;
}
