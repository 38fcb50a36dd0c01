/* SPDX-License-Identifier: BSD-2-Clause */
/* Fast Open of a connection that we open (RFC 7413 4.1, 4.2.1): the first bytes go with the SYN.
 *
 * Theory of operation: with a cookie connect() sends nothing. The first write fills one piece, and
 * the SYN takes it along; the piece stays in the queue as one that was never sent, with SND.NXT
 * behind it. The SYN-ACK says whether the peer took it: then it is dropped, else SND.NXT goes back
 * and it is sent as any other. So loss recovery never sees it, and a SYN that is sent again is a
 * plain one, without option and data (4.1.3: a middlebox may have dropped it for these). */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "tcp/listen/tcp_fastopen.h"
#include "tcp/tcp.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_queue.h"
#include "tcp/tcp_sndq.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_trouble.h"

#define MAX_OPTS 40 /* of the SYN: all that may be there */

struct sl_tcp_tfo {
	bool option;  /* the SYN has the option: the cookie, or with len 0 the request for one */
	bool exp;     /* ... by the experimental option */
	bool data;    /* it took data along */
	uint16_t mss; /* the peer's, of an earlier connection; 0: not known */
	uint8_t len;
	uint8_t cookie[SL_TCP_TFO_MAX];
};

int sl_tcp_fast_open(struct sl_tcp *c, const void *cookie, uint8_t len, bool without, bool exp,
		     uint16_t mss)
{
	if (len > SL_TCP_TFO_MAX)
		return -EINVAL;
	c->tfo = sl_calloc(1, sizeof(*c->tfo));
	if (!c->tfo)
		return -ENOMEM;
	c->tfo->option = !without;
	c->tfo->exp = exp;
	c->tfo->mss = mss;
	c->tfo->len = len;
	if (len)
		memcpy(c->tfo->cookie, cookie, len);
	c->tfo_defer = without || len;
	return 0;
}

/* Sets the segment size for the SYN: the peer's earlier MSS, or ours (4.1.3, 4.2.1). */
void sl_tcp_tfo_defer(struct sl_tcp *c)
{
	uint32_t mss = c->tfo->mss ? c->tfo->mss : c->adv_mss;
	uint32_t frame = (1u << sl_pool.shift) - SL_TCP_HEADROOM;

	mss = sl_min(sl_tcp_our_mss((uint16_t)mss, sl_tcp_opt(c, user_mss)), (uint32_t)c->pmtu_mss);
	mss = mss > MAX_OPTS ? mss - MAX_OPTS : 1;
	c->mss = (uint16_t)sl_min(mss, frame);
}

void sl_tcp_tfo_option(const struct sl_tcp *c, struct sl_tcp_seg *seg)
{
	if (c->state != SL_TCP_SYN_SENT || !c->tfo || !c->tfo->option || c->retries)
		return;
	seg->opts |= SL_TCPO_TFO | (c->tfo->exp ? SL_TCPO_TFO_EXP : 0);
	seg->tfo_len = c->tfo->len;
	memcpy(seg->tfo, c->tfo->cookie, c->tfo->len);
}

bool sl_tcp_tfo_send(struct sl_tcp *c, struct sl_tcp_seg *seg, bool *sent)
{
	const struct sl_txseg *s;

	if (c->state != SL_TCP_SYN_SENT || !c->tfo || c->retries || c->tx_una == c->tx_tail)
		return false;
	s = sl_tcp_piece(c, c->tx_una);
	seg->len = s->len;
	*sent = c->host->ops->send(c, seg, s->frame, s->off, s->sum);
	if (!*sent)
		return true;
	c->tfo->data = true;
	c->snd_nxt = s->seq + s->len;
	c->segs_out++;
	c->data_segs_out++;
	c->bytes_sent += s->len;
	tcp_count(c->host, SL_TCPC_OUT_SEGS, 1);
	return true;
}

/* Settles what becomes of the piece that went with the SYN: the peer has acknowledged it, or it
 * must be sent again. */
static void settle_data(struct sl_tcp *c, uint32_t ack)
{
	bool all = ack == c->snd_nxt;

	c->tx_nxt = c->tx_tail;
	sl_tcp_snd_drop(c, ack);
	c->tx_nxt = c->tx_una;
	c->bytes_acked += ack - c->snd_una;
	c->snd_una = c->snd_nxt = ack;
	c->syn_data_acked = all;
	if (!all) {
		sl_tcp_trouble(c)->total_retrans++;
		c->tfo_again = sl_tcp_piece(c, c->tx_una)->len % c->mss;
	}
	tcp_count(c->host, all ? SL_TCPC_TFO_ACTIVE : SL_TCPC_TFO_ACTIVE_FAIL, 1);
}

void sl_tcp_tfo_answer(struct sl_tcp *c, const struct sl_tcp_seg *seg)
{
	bool cookie = seg->opts & SL_TCPO_TFO && seg->tfo_len;
	struct sl_tcp_seg news = *seg;
	unsigned how = 0;

	if (c->child || !c->tfo)
		return;
	/* Only the SYN without data came through: the network may drop SYNs with data (4.1.3.1). */
	if (c->tfo->data && c->retries && !cookie && seg->ack == c->iss + 1)
		how |= SL_TFO_LOST;
	if (c->tfo->option && !c->tfo->data && !c->retries)
		how |= SL_TFO_ASKED;
	if (!c->tfo->option) /* nobody asked for a cookie */
		news.opts &= ~SL_TCPO_TFO;
	if (seg->flags & SL_TCP_SYN && c->host->ops->tfo_answer)
		c->host->ops->tfo_answer(c, &news, how);
	if (c->tfo->data)
		settle_data(c, seg->ack);
	sl_tcp_tfo_free(c);
}

/* A router's report of a smaller MTU: the SYN's data did not get through. As after its time-out a
 * plain SYN follows, but at once (tcp_simple_retransmit() of Linux). */
void sl_tcp_tfo_too_big(struct sl_tcp *c)
{
	if (c->state != SL_TCP_SYN_SENT || !c->tfo || !c->tfo->data || c->retries)
		return;
	c->retries = 1;
	sl_tcp_send_syn(c);
}

void sl_tcp_tfo_free(struct sl_tcp *c)
{
	if (c->child)
		return;
	sl_free(c->tfo);
	c->tfo = NULL;
	c->tfo_defer = false;
}
