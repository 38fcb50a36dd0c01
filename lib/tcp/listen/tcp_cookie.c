/* SPDX-License-Identifier: BSD-2-Clause */
/* SYN cookies (RFC 4987 3.6): when the SYN queue is full, all that we need to know later is in the
 * SYN-ACK's sequence number and time stamp, and comes back with the ACK. */

#include "tcp/listen/tcp_cookie.h"
#include "tcp/listen/tcp_req.h"
#include "tcp/tcp_hash.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_int.h"

#define COOKIE_FOR 120000000ull /* they are believed that long after the last overflow */
#define TS_BITS    6            /* what a cookie hides in the time stamp */
#define TS_WSCALE  0xfu         /* 15: no scaling */
#define TS_SACK    0x10u
#define TS_ECN     0x20u

/* The options that a cookie has no room for go into the low bits of the time stamp, which must not
 * be ahead of the clock (as Linux, cookie_init_timestamp). */
static uint32_t cookie_tsval(const struct sl_tcp_host *h, const struct sl_tcp_req *r)
{
	uint32_t bits = TS_WSCALE, now = sl_tcp_now_ms(h), ts;

	if (r->syn.opts & SL_TCPO_WSCALE)
		bits = sl_min(r->syn.wscale, (uint8_t)14);
	if (r->syn.opts & SL_TCPO_SACK_OK)
		bits |= TS_SACK;
	if (sl_tcp_wants_ecn(r))
		bits |= TS_ECN;
	ts = now >> TS_BITS << TS_BITS | bits;
	if (ts > now)
		ts -= 1u << TS_BITS;
	return ts + r->ts_off;
}

void sl_tcp_cookie_send(struct sl_tcp_host *h, struct sl_tcp_listener *l, struct sl_tcp_req *r,
			void *from)
{
	tcp_count(h, SL_TCPC_SYN_COOKIES_SENT, 1);
	l->overflow_us = h->now_us;
	if (!(r->syn.opts & SL_TCPO_TS) || !sl_tcp_params.timestamps)
		r->syn.opts &= (uint8_t) ~(SL_TCPO_WSCALE | SL_TCPO_SACK_OK);
	r->syn.flags &= (uint8_t) ~(r->syn.opts & SL_TCPO_TS ? 0 : SL_TCP_ECE | SL_TCP_CWR);
	r->iss = sl_tcp_cookie(h, &r->node.key, &r->syn);
	sl_tcp_send_synack(h, r, cookie_tsval(h, r), from);
}

/* Reconstructs the SYN from the ACK of our cookie. */
static void syn_of_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
			  const struct sl_tcp_seg *seg, uint16_t mss, struct sl_tcp_seg *syn)
{
	uint32_t bits = seg->tsecr - sl_tcp_ts_offset(h, key);

	*syn = (struct sl_tcp_seg){
		.flags = SL_TCP_SYN,
		.seq = seg->seq - 1,
		.wnd = seg->wnd,
		.opts = SL_TCPO_MSS,
		.mss = mss,
		.tos = seg->tos,
	};
	if (!(seg->opts & SL_TCPO_TS) || !sl_tcp_params.timestamps)
		return;
	syn->opts |= SL_TCPO_TS;
	syn->tsval = seg->tsval;
	if (bits & TS_SACK)
		syn->opts |= SL_TCPO_SACK_OK;
	if (bits & TS_ECN)
		syn->flags |= SL_TCP_ECE | SL_TCP_CWR;
	if ((bits & TS_WSCALE) != TS_WSCALE) {
		syn->opts |= SL_TCPO_WSCALE;
		syn->wscale = bits & TS_WSCALE;
	}
}

bool sl_tcp_cookie_take(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
			const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
			struct sl_tcp_seg *syn)
{
	bool recent = l->overflow_us && h->now_us - l->overflow_us < COOKIE_FOR;
	uint16_t mss;

	if (!sl_tcp_params.syncookies || !recent)
		return false;
	mss = sl_tcp_cookie_check(h, key, seg->ack - 1, seg->seq - 1);
	tcp_count(h, mss ? SL_TCPC_SYN_COOKIES_RECV : SL_TCPC_SYN_COOKIES_FAILED, 1);
	if (mss)
		syn_of_cookie(h, key, seg, mss, syn);
	return mss;
}
