/* SPDX-License-Identifier: BSD-2-Clause */
/* Invariants of a connection between any two calls of the core, whatever the peer sent. */
#include "sim.h"
#include "tcp/tcp_int.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sndq.h"

/* The pieces follow each other without a gap, and the sums are theirs. */
static void check_send_queue(const struct sim *s, const struct sl_tcp *c)
{
	uint32_t mem = 0, sacked = 0, lost = 0, retx = 0, seq = c->snd_una;

	sim_check(s, c->tx_nxt - c->tx_una <= c->tx_tail - c->tx_una);
	sim_check(s, c->tx_tail - c->tx_una <= c->txsize);
	for (uint32_t i = c->tx_una; i != c->tx_tail; i++) {
		const struct sl_txseg *p = sl_tcp_piece(c, i);

		/* The first may be acknowledged in part. */
		sim_check(s, i == c->tx_una ? sl_seq_le(p->seq, seq) : p->seq == seq);
		sim_check(s, p->len || p->flags & SL_TCP_FIN);
		sim_check(s, (p->frame == SL_NO_FRAME) == (p->len == 0));
		if (p->len)
			sim_check(s, sl_frame_refs(p->frame) && p->off >= SL_TCP_HEADROOM &&
					     (uint32_t)p->off + p->len <= 1u << sl_pool.shift);
		if (i - c->tx_una < c->tx_nxt - c->tx_una) {
			sacked += !!(p->marks & SL_TXS_SACKED);
			lost += !!(p->marks & SL_TXS_LOST);
			retx += !!(p->marks & SL_TXS_RETX);
			sim_check(s, p->sent);
			sim_check(s, !(p->marks & SL_TXS_SACKED) ||
					     !(p->marks & (SL_TXS_LOST | SL_TXS_RETX)));
		} else {
			sim_check(s, !p->sent && !(p->marks &
						   (SL_TXS_SACKED | SL_TXS_LOST | SL_TXS_RETX)));
			if (i == c->tx_nxt)
				sim_check(s, p->seq == c->snd_nxt);
		}
		mem += sl_tcp_tx_charge(p->len);
		seq = p->seq + p->len + !!(p->flags & SL_TCP_FIN);
	}
	if (c->tx_una != c->tx_tail)
		sim_check(s, seq == c->write_seq);
	sim_check(s, mem == c->wmem);
	sim_check(s, c->sack_ok ? c->sacked_out == sacked : !sacked);
	sim_check(s, c->lost_out == lost && c->retx_out == retx);
	sim_check(s, c->sacked_out + c->lost_out <= sl_tcp_pieces_out(c));
}

static void check_receive_queue(const struct sim *s, const struct sl_tcp *c)
{
	uint32_t bytes = 0, mem = 0, end = c->rcv_nxt;
	struct sl_ooo_at at;

	sim_check(s, c->rx_tail - c->rx_head <= c->rxsize && (!c->noo || c->ooo->nblocks));
	for (uint32_t i = c->rx_head; i != c->rx_tail; i++) {
		const struct sl_rxseg *r = &c->rx[i & (c->rxsize - 1)];

		sim_check(s, r->len && sl_frame_refs(r->frame) &&
				     (uint32_t)r->off + r->len <= 1u << sl_pool.shift);
		bytes += r->len;
		mem += sl_tcp_rx_charge(r->len);
	}
	sim_check(s, bytes == c->rx_bytes);
	at = c->noo ? sl_ooo_first(c->ooo) : (struct sl_ooo_at){0};
	for (uint32_t i = 0; i < c->noo; i++, at = sl_ooo_next(c->ooo, at)) {
		const struct sl_oooseg *o = sl_ooo_piece(c->ooo, at);

		sim_check(s, i ? sl_seq_ge(o->seq, end) : sl_seq_gt(o->seq, end));
		sim_check(s, (o->len == 0) == (o->frame == SL_NO_FRAME));
		sim_check(s, o->len || o->fin);
		end = o->seq + o->len + o->fin;
		mem += sl_tcp_rx_charge(o->len);
	}
	sim_check(s, mem == c->rmem);
	/* A segment may pass the limit, and another one that fills the hole at the front. */
	if (!c->rcvbuf_locked)
		sim_check(s, mem <= c->rcvbuf + 2 * sl_tcp_rx_charge(2048));
	sim_check(s, c->nlast_sack <= SL_TCP_MAX_SACK);
}

static bool is_synchronised(const struct sl_tcp *c)
{
	return c->state != SL_TCP_CLOSED && c->state != SL_TCP_SYN_SENT &&
	       c->state != SL_TCP_SYN_RCVD;
}

void sim_check_conn(const struct sim *s, const struct sl_tcp *c)
{
	check_receive_queue(s, c);
	sim_check(s, c->state >= SL_TCP_ESTABLISHED && c->state <= SL_TCP_CLOSING);
	sim_check(s, c->state != SL_TCP_LISTEN && c->state != SL_TCP_TIME_WAIT);
	sim_check(s, c->node.hashed == (c->state != SL_TCP_CLOSED));
	if (c->state == SL_TCP_CLOSED) {
		sim_check(s, !sl_timer_is_armed(&c->timer) && c->tx_una == c->tx_tail);
		sim_check(s, sl_list_empty(&c->out_node));
		return;
	}
	sim_check(s, sl_seq_le(c->snd_una, c->snd_nxt) && sl_seq_le(c->snd_nxt, c->write_seq));
	if (!is_synchronised(c))
		return;
	check_send_queue(s, c);
	sim_check(s, c->cwnd >= 1 && c->mss >= 1);
	sim_check(s, c->copied_seq + c->rx_bytes + c->fin_rcvd == c->rcv_nxt || c->rx_shut);
	sim_check(s, !c->ack_now || c->frozen || !sl_list_empty(&c->out_node));
	/* Whoever waits for an answer has a timer. */
	if (c->tx_una != c->tx_nxt && sl_list_empty(&c->out_node))
		sim_check(s, sl_timer_is_armed(&c->timer) && (c->rto_at || c->tlp_at || c->reo_at));
}
