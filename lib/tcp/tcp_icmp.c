/* SPDX-License-Identifier: BSD-2-Clause */
/* What ICMP says about a connection, as far as it is believed (RFC 5927). */
#include "tcp/tcp_internal.h"

/* RFC 1191, 8201; a router's word is not believed below what every path must carry. */
static void take_mtu(struct sl_tcp *c, uint32_t mtu)
{
	uint32_t least = sl_addr_is_v4(&c->node.key.remote) ? 512 : 1220;
	uint32_t mss = mtu > 20 + least ? mtu - 20 : least;

	if (mss >= c->pmtu_mss)
		return;
	c->pmtu_mss = (uint16_t)mss;
	sl_tcp_mss_changed(c);
	sl_tcp_want_out(c);
}

void sl_tcp_icmp(struct sl_tcp *c, uint32_t seq, int err, bool hard, uint32_t mtu)
{
	/* RFC 5927 4.1: only what is in flight can have been the cause. */
	if (c->state == SL_TCP_CLOSED || c->frozen || sl_seq_lt(seq, c->snd_una) ||
	    sl_seq_ge(seq, c->snd_nxt))
		return;
	if (mtu)
		take_mtu(c, mtu);
	else if (c->state == SL_TCP_SYN_SENT || c->state == SL_TCP_SYN_RCVD)
		sl_tcp_done(c, err);
	else /* RFC 5927 5.2: hard errors too, once the connection is synchronised */
		c->soft_error = err;
}
