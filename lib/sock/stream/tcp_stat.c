/* SPDX-License-Identifier: BSD-2-Clause */
/* State, windows, times and queues of TCP connections for `sluice stat`. The keeper writes them
 * into the shared block about once a second, and close() once more. The data path does nothing for
 * it. */
#include <linux/tcp.h>
#include <string.h>

#include "sock/core/extra.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "stack/pace.h"
#include "stack/pace_int.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_info.h"
#include "tcp/tcp_user.h"

/* Both count up while the socket lives; the reader may have set the total to zero. */
static void count_segments(struct sl_sock_stats *s, const struct tcp_info *info)
{
	s->rx_pkts += info->tcpi_data_segs_in - (uint32_t)s->tcpi_data_segs_in;
	s->tx_pkts += info->tcpi_data_segs_out - (uint32_t)s->tcpi_data_segs_out;
}

static void put_info(struct sl_sock_stats *s, const struct tcp_info *info)
{
#define SL_STAT(block, name, unit, help)
#define SL_TCPI(name, unit, help) sl_store(&s->tcpi_##name, (uint64_t)info->tcpi_##name);
#include "base/stats.def"
#undef SL_STAT
}

static void put_pace(struct sl_sock_stats *s, const struct sl_tconn *c)
{
	const struct sl_tcp_opts *o = c->tcp.opts;
	const struct sl_pacer *pacer = c->path ? c->path->pacer : NULL;
	bool nic = pacer && sl_pacer_is_by_nic(pacer);
	const struct sl_pace *p;

	if (!o || (!o->pace.bytes_s && !s->pace_how))
		return;
	s->pace_rate = o->pace.bytes_s;
	s->pace_burst_bytes = o->pace.burst_bytes;
	s->pace_how = !o->pace.bytes_s ? SL_PACE_NONE : nic ? SL_PACE_HARDWARE : SL_PACE_SOFTWARE;
	p = nic ? sl_pacer_pace(pacer) : &o->pace;
	s->pace_busy_bytes = p->busy_bytes;
	s->pace_busy_ns = p->busy_ns;
}

static void put_conn(struct sl_sock_stats *s, const struct sl_tconn *c)
{
	const struct sl_tcp *t = &c->tcp;
	struct tcp_info info;

	sl_tcp_info(t, &info);
	count_segments(s, &info);
	put_info(s, &info);
	strncpy(s->congestion, sl_tcp_congestion(t), sizeof(s->congestion) - 1);
	s->rcvbuf = t->rcvbuf;
	s->sndbuf = t->sndbuf;
	put_pace(s, c);
	sl_store(&s->rx_queue_bytes, sl_tcp_readable(t));
	sl_store(&s->tx_queue_bytes, sl_tcp_unacked(t));
}

/* Like ss(8): shows the number of connections that wait to be accepted, and the backlog. */
static void put_listener(struct sl_sock_stats *s, const struct sl_tcp_listener *l)
{
	sl_store(&s->tcpi_state, SL_TCP_LISTEN);
	sl_store(&s->rx_queue_pkts, l->nchildren);
	sl_store(&s->tx_queue_bytes, l->backlog);
}

static void put_nothing(struct sl_sock_stats *s)
{
	static const struct tcp_info none;

	put_info(s, &none);
	sl_store(&s->rx_queue_bytes, 0);
	sl_store(&s->rx_queue_pkts, 0);
	sl_store(&s->tx_queue_bytes, 0);
}

void sl_tcp_sock_stat(struct sl_sock *sk)
{
	struct sl_sock_stats *s = sk->stats;
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	if (sk->conn)
		put_conn(s, sk->conn);
	else if (sk->lsn)
		put_listener(s, &sk->lsn->tcp);
	else if (s->tcpi_state)
		put_nothing(s);
	sl_lane_unlock(lane);
}

static void stat_sock(struct sl_sock_stats *s, void *arg)
{
	struct sl_sock *sk = sl_fd_sock(s->fd);

	if (!sk || sk->stats != s)
		return;
	sl_store(&s->rx_held_pkts, sl_extra_received(sk));
	if (s->proto == IPPROTO_TCP)
		sl_tcp_sock_stat(sk);
}

static void stat_lane(struct sl_lane *lane, void *arg)
{
	const struct sl_tcp_host *h = sl_load_acquire(&lane->tcp);
	uint32_t nodes, few;

	if (!h)
		return;
	few = sl_load(&h->ntw) + sl_load(&h->nreq);
	nodes = sl_load(&h->nnodes);
	sl_store(&lane->stats->tcp_conns, nodes > few ? nodes - few : 0);
	sl_store(&lane->stats->tcp_syn_recv, sl_load(&h->nreq));
	sl_store(&lane->stats->tcp_time_wait, sl_load(&h->ntw));
}

void sl_tcp_stat(void)
{
	sl_stats_sock_for_each(stat_sock, NULL);
	sl_lane_for_each(stat_lane, NULL);
}
