/* SPDX-License-Identifier: BSD-2-Clause */
/* The path's MTU: ICMP errors about a connection, as far as they are trusted (RFC 5927), and the
 * route. */

#include "net/ipconf.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/loss/tcp_metrics.h"
#include "tcp/tcp.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_icmp.h"
#include "tcp/tcp_mtup.h"
#include "tcp/tcp_out.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"

static void set_path_mss(struct sl_tcp *c, uint16_t mss)
{
	c->pmtu_mss = mss;
	sl_tcp_mss_changed(c);
	sl_tcp_want_out(c);
}

/* The route has changed: takes its MSS. A larger one than before counts only when no router had
 * asked for less (RFC 8899 5.2 would probe). Linux looks at each send: tcp_current_mss(). */
void sl_tcp_route_changed(struct sl_tcp *c)
{
	uint16_t mss, was = c->route_mss;
	struct sl_tcp_route route;

	if (!sl_tcp_is_synchronised(c->state) || c->frozen)
		return;
	route = c->host->ops->route(c->host, c, NULL, &c->node.key, 0);
	sl_tcp_take_metrics(c, route.tcp, false);
	mss = route.mss;
	if (mss == was)
		return;
	c->route_mss = mss;
	if (mss < c->pmtu_mss || c->pmtu_mss == was) {
		c->pmtu_mss = mss;
		sl_tcp_mtup_route(c);
		set_path_mss(c, mss);
	}
}

/* Takes the path MTU of a report (RFC 1191, 8201). A report below what every path must carry is not
 * believed. */
static void take_mtu(struct sl_tcp *c, uint32_t mtu)
{
	uint32_t least =
		sl_addr_is_v4(&c->node.key.remote) ? sl_ip_min_pmtu() - 40u : SL_TCP_MSS_V6;
	uint32_t mss = mtu > 20 + least ? mtu - 20 : least;

	if (mss >= c->pmtu_mss || c->host->ops->route(c->host, c, NULL, &c->node.key, 0).mtu_locked)
		return;
	set_path_mss(c, (uint16_t)mss);
	sl_tcp_metrics_keep_path(c);
	/* A SYN that follows asks for no more: the route's MTU is the way back's, too, as far as
	 * anyone knows (ipv4_default_advmss()). */
	if (c->state == SL_TCP_SYN_SENT)
		c->adv_mss = sl_min(c->adv_mss, (uint16_t)mss);
}

void sl_tcp_icmp(struct sl_tcp *c, uint32_t seq, int err, uint32_t mtu)
{
	/* RFC 5927 4.1: only what is in flight can have been the cause. */
	if (c->state == SL_TCP_CLOSED || c->frozen || sl_seq_lt(seq, c->snd_una) ||
	    sl_seq_ge(seq, c->snd_nxt))
		return;
	if (mtu) {
		take_mtu(c, mtu);
		sl_tcp_tfo_too_big(c);
	} else if (c->state == SL_TCP_SYN_SENT || c->state == SL_TCP_SYN_RCVD) {
		sl_tcp_done(c, err);
	} else { /* RFC 5927 5.2: hard errors too, once the connection is synchronised */
		c->soft_error = err;
	}
}
