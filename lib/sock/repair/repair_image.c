/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's state as it crosses between a process and the daemon (ctl/lease/image.h), both
 * ways. The other side may send anything: sl_repair_unpack() checks what the kernel does not. */
#include <errno.h>
#include <string.h>

#include "ctl/front/broker.h"
#include "ctl/lease/image.h"
#include "sock/repair/repair.h"

#define MSS_MIN    48u /* net/ipv4/tcp.c: TCP_MIN_SND_MSS */
#define WINDOW_MAX (65535u << 14)
#define QUEUE_MAX  (SL_BUFFER_MAX / 2) /* bytes */

void sl_repair_pack(const struct sl_tcp_repair *r, struct sl_lease_conn *c)
{
	*c = (struct sl_lease_conn){
		.lport = r->key.lport,
		.rport = r->key.rport,
		.scope_id = r->scope_id,
		.snd_una = r->snd_una,
		.rcv_nxt = r->rcv_nxt,
		.snd_wl1 = r->snd_wl1,
		.snd_wnd = r->snd_wnd,
		.max_window = r->max_window,
		.rcv_wnd = r->rcv_wnd,
		.rcv_wup = r->rcv_wup,
		.unsent = r->unsent,
		.sndq = r->sndq,
		.rcvq = r->rcvq,
		.sndbuf = sl_min(r->sndbuf, SL_BUFFER_MAX),
		.rcvbuf = sl_min(r->rcvbuf, SL_BUFFER_MAX),
		.tsval = r->tsval,
		.ts_recent = r->ts_recent,
		.mss_clamp = r->mss_clamp,
		.state = r->state,
		.snd_wscale = r->snd_wscale,
		.rcv_wscale = r->rcv_wscale,
		.flags = (uint16_t)((r->wscale_ok ? SL_LEASE_CONN_WSCALE : 0) |
				    (r->sack_ok ? SL_LEASE_CONN_SACK : 0) |
				    (r->ts_ok ? SL_LEASE_CONN_TS : 0) |
				    (r->ecn_ok ? SL_LEASE_CONN_ECN : 0) |
				    (r->fin_sent ? SL_LEASE_CONN_FIN_OUT : 0) |
				    (r->fin_rcvd ? SL_LEASE_CONN_FIN_IN : 0) |
				    (r->fin_queued ? SL_LEASE_CONN_FIN_DUE : 0) |
				    (r->rx_shut ? SL_LEASE_CONN_RX_SHUT : 0) |
				    (r->lively ? SL_LEASE_CONN_LIVELY : 0)),
	};
	memcpy(c->local, r->key.local.b, sizeof(c->local));
	memcpy(c->remote, r->key.remote.b, sizeof(c->remote));
}

static bool is_end(const struct sl_addr *a, uint16_t port)
{
	return port && !sl_addr_is_any(a) && !sl_addr_is_multicast(a);
}

static bool is_possible(const struct sl_tcp_repair *r, bool over)
{
	return is_end(&r->key.local, r->key.lport) && is_end(&r->key.remote, r->key.rport) &&
	       sl_addr_is_v4(&r->key.local) == sl_addr_is_v4(&r->key.remote) &&
	       (over ? r->state == SL_TCP_CLOSED : sl_tcp_is_synchronised(r->state)) &&
	       r->snd_wnd <= WINDOW_MAX && r->max_window <= WINDOW_MAX &&
	       r->rcv_wnd <= WINDOW_MAX && r->snd_wscale <= 14 && r->rcv_wscale <= 14 &&
	       r->mss_clamp >= MSS_MIN && r->sndbuf <= SL_BUFFER_MAX &&
	       r->rcvbuf <= SL_BUFFER_MAX && r->sndq <= QUEUE_MAX && r->rcvq <= QUEUE_MAX &&
	       r->unsent <= r->sndq && (!r->fin_sent || (r->fin_queued && !r->unsent));
}

int sl_repair_unpack(const struct sl_lease_conn *c, bool over, struct sl_tcp_repair *r)
{
	*r = (struct sl_tcp_repair){
		.key = {.lport = c->lport, .rport = c->rport},
		.scope_id = c->scope_id,
		.snd_una = c->snd_una,
		.snd_nxt = c->snd_una + c->sndq,
		.rcv_nxt = c->rcv_nxt,
		.snd_wl1 = c->snd_wl1,
		.snd_wnd = c->snd_wnd,
		.max_window = c->max_window,
		.rcv_wnd = c->rcv_wnd,
		.rcv_wup = c->rcv_wup,
		.unsent = c->unsent,
		.sndq = c->sndq,
		.rcvq = c->rcvq,
		.sndbuf = c->sndbuf,
		.rcvbuf = c->rcvbuf,
		.tsval = c->tsval,
		.ts_recent = c->ts_recent,
		.mss_clamp = c->mss_clamp,
		.state = c->state,
		.snd_wscale = c->snd_wscale,
		.rcv_wscale = c->rcv_wscale,
		.wscale_ok = c->flags & SL_LEASE_CONN_WSCALE,
		.sack_ok = c->flags & SL_LEASE_CONN_SACK,
		.ts_ok = c->flags & SL_LEASE_CONN_TS,
		.ecn_ok = c->flags & SL_LEASE_CONN_ECN,
		.fin_sent = c->flags & SL_LEASE_CONN_FIN_OUT,
		.fin_rcvd = c->flags & SL_LEASE_CONN_FIN_IN,
		.fin_queued = c->flags & SL_LEASE_CONN_FIN_DUE,
		.rx_shut = c->flags & SL_LEASE_CONN_RX_SHUT,
		.lively = c->flags & SL_LEASE_CONN_LIVELY,
	};
	memcpy(r->key.local.b, c->local, sizeof(c->local));
	memcpy(r->key.remote.b, c->remote, sizeof(c->remote));
	return is_possible(r, over) ? 0 : -EINVAL;
}
