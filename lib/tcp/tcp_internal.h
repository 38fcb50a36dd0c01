/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lib/tcp say to each other. */
#ifndef SL_TCP_INTERNAL_H
#define SL_TCP_INTERNAL_H

#include "tcp/tcp.h"

/* RFC 7323 5.5: a time stamp that is older tells nothing. */
#define SL_TCP_PAWS_IDLE_US (24ull * 24 * 3600 * 1000000) /* RFC 7323 5.5 */

static inline void tcp_count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	h->ops->count(h, id, n);
}

/* One of `limit` a second. False: this second has had them all. */
static inline bool sl_tcp_quota_take(struct sl_tcp_quota *q, uint32_t limit, uint64_t now_us)
{
	if (!q->from_us || now_us - q->from_us >= 1000000) {
		q->from_us = now_us;
		q->left = limit;
	}
	if (!q->left)
		return false;
	q->left--;
	return true;
}

/* What a piece counts against sndbuf and rcvbuf beside the bytes it (still) has: what the kernel
 * spends on an skb, roughly, so that a stream of tiny pieces is bounded too. Whoever queues, cuts
 * or drops a piece keeps wmem and rmem equal to the sum over their queues. */
#define SL_TCP_TX_COST 64u
#define SL_TCP_RX_COST 256u
static inline uint32_t sl_tcp_tx_charge(uint32_t len)
{
	return len + SL_TCP_TX_COST;
}
static inline uint32_t sl_tcp_rx_charge(uint32_t len)
{
	return len + SL_TCP_RX_COST;
}

/* All kinds of nodes have their timer right behind it, so that the wheel's one callback
 * (sl_tcp_timer_fire) can tell whose it is. */
static inline struct sl_tcp_node *sl_tcp_node_of(struct sl_timer *t)
{
	return (struct sl_tcp_node *)((char *)t - sizeof(struct sl_tcp_node));
}
void sl_tcp_req_timer(struct sl_tcp_host *h, struct sl_tcp_node *n); /* tcp_req.c */
void sl_tcp_tw_timer(struct sl_tcp_host *h, struct sl_tcp_node *n);  /* tcp_tw.c: frees it */

void sl_tcp_late_timer(struct sl_tcp_host *h); /* tcp_late.c */

/* Answers h->ops->reply, and again when there was no way; tried so often, after 2 ms to 512 ms: a
 * second in all. (By then the listener may be gone: it is not asked what options it has.) */
#define SL_TCP_STUCK_US   2000ull
#define SL_TCP_STUCK_MOST 9
void sl_tcp_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		  const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, void *from);
/* h->ops->scope; from may be NULL. */
uint32_t sl_tcp_scope(struct sl_tcp_host *h, const struct sl_tcp_key *key, const void *from);

/* tcp_table.c: who has a key */
struct sl_tcp_node *sl_tcp_table_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
int sl_tcp_table_add(struct sl_tcp_host *h, struct sl_tcp_node *n); /* -ENOMEM */
void sl_tcp_table_del(struct sl_tcp_host *h, struct sl_tcp_node *n);
/* Calls fn for every node; fn may take that one out and free it. */
void sl_tcp_table_each(struct sl_tcp_host *h, void (*fn)(struct sl_tcp_node *n, void *arg),
		       void *arg);
void sl_tcp_table_fini(struct sl_tcp_host *h); /* frees the arrays, not the nodes */

/* tcp_hash.c: keyed hash (SipHash-2-4): ISN, cookies, time stamp offsets */
uint64_t sl_tcp_siphash(const uint8_t key[16], const void *data, size_t n);
void sl_tcp_hash_init(struct sl_tcp_host *h);
uint32_t sl_tcp_key_hash(const struct sl_tcp_host *h, const struct sl_tcp_key *key);
uint32_t sl_tcp_isn(struct sl_tcp_host *h, const struct sl_tcp_key *key); /* RFC 6528 */
uint32_t sl_tcp_ts_offset(struct sl_tcp_host *h, const struct sl_tcp_key *key);
uint32_t sl_tcp_cookie(struct sl_tcp_host *h, const struct sl_tcp_key *key,
		       const struct sl_tcp_seg *syn);
/* The MSS that the cookie stands for, 0: it is none of ours, or older than two minutes. */
uint16_t sl_tcp_cookie_check(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t cookie,
			     uint32_t peer_isn);

/* tcp_conn.c: states. Sequence numbers: SYN has iss and is in no queue (who opens sets snd_una =
 * iss, snd_nxt = write_seq = iss + 1 and calls sl_tcp_send_syn()); FIN is queued and counts in
 * write_seq. tcp_in.c moves snd_una (before sl_tcp_snd_drop()) and sets fin_acked; tcp_out.c moves
 * snd_nxt and sets fin_sent. An unaccepted or not orphaned connection that is done keeps its
 * receive queue: it can still be read. */
void sl_tcp_set_state(struct sl_tcp *c, enum sl_tcp_state s);
/* To CLOSED: timers, table and queues; tells the owner EV_CLOSED, with err also EV_ERROR. */
void sl_tcp_done(struct sl_tcp *c, int err);
void sl_tcp_event(struct sl_tcp *c, uint32_t events);
/* MSS and windows once both SYNs are known. */
void sl_tcp_take_syn_options(struct sl_tcp *c, const struct sl_tcp_seg *syn);
void sl_tcp_start_buffers(struct sl_tcp *c);
/* The variables that a connection has before it knows anything of the peer (SYN is not sent). */
void sl_tcp_start(struct sl_tcp *c, const struct sl_tcp_key *key, uint32_t iss);
uint8_t sl_tcp_rcv_wscale(uint32_t rcvbuf, bool locked, uint32_t clamp);
uint32_t sl_tcp_first_window(uint32_t rcvbuf, uint32_t clamp, uint16_t mss);
/* RFC 9293 3.7.1: what we can receive, by the route; the user may want less. */
uint16_t sl_tcp_our_mss(uint16_t route_mss, uint16_t user_mss);
void sl_tcp_send_fin(struct sl_tcp *c);         /* the state that follows, and FIN into the queue */
void sl_tcp_orphan_fin_wait2(struct sl_tcp *c); /* c becomes CLOSED */

/* tcp_user.c: the user's bytes */
/* EV_OUT when it is owed and there is room again. */
void sl_tcp_write_space(struct sl_tcp *c);
/* The next byte is the urgent one, which does not belong to the stream. */
void sl_tcp_pass_mark(struct sl_tcp *c);
/* A new piece at the end of the send queue, empty and charged; NULL: no memory. */
struct sl_txseg *sl_tcp_snd_new(struct sl_tcp *c);

/* tcp_tw.c: TIME_WAIT records */
#define SL_TCP_TIMEWAIT_MS 60000 /* 2 MSL as Linux has it */
void sl_tcp_time_wait(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms); /* c becomes CLOSED */
/* A segment for a TIME_WAIT. True: a SYN that may reuse it (RFC 6191): the record is gone, *isn is
 * the lowest initial sequence number to use. */
bool sl_tcp_tw_input(struct sl_tcp_host *h, struct sl_tcp_node *n, const struct sl_tcp_seg *seg,
		     void *from, uint32_t *isn);
/* An active open on the key, whose port the program or an earlier connection has chosen: true, the
 * record is gone, *isn as above. */
bool sl_tcp_tw_may_reuse(const struct sl_tcp_node *n);
bool sl_tcp_tw_reuse(struct sl_tcp_host *h, struct sl_tcp_node *n, uint32_t *isn);
void sl_tcp_tw_free(struct sl_tcp_host *h, struct sl_tcp_node *n);

/* tcp_listen.c, tcp_req.c, tcp_child.c */
void sl_tcp_listen_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t frame,
			 uint16_t off, bool *kept, uint32_t isn, void *from);
bool sl_tcp_req_input(struct sl_tcp_host *h, struct sl_tcp_node *n, struct sl_tcp_listener *l,
		      const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off, void *from);
void sl_tcp_req_free(struct sl_tcp_host *h, struct sl_tcp_node *n);
void sl_tcp_tfo_done(struct sl_tcp *c);   /* the handshake of a Fast Open child is over */
void sl_tcp_child_gone(struct sl_tcp *c); /* off its listener's queue */

/* tcp_fastopen.c: our own SYN with data */
void sl_tcp_tfo_defer(struct sl_tcp *c); /* segment size until the SYN goes */
void sl_tcp_tfo_option(const struct sl_tcp *c, struct sl_tcp_seg *seg);
/* False: the SYN has no data to take along. */
bool sl_tcp_tfo_send(struct sl_tcp *c, struct sl_tcp_seg *seg, bool *sent);
/* The handshake is complete, snd_una behind the SYN. */
void sl_tcp_tfo_answer(struct sl_tcp *c, const struct sl_tcp_seg *seg);
void sl_tcp_tfo_free(struct sl_tcp *c);

/* tcp_in.c: a segment arrives, RFC 9293 3.10.7 (tcp_in.h is between it and tcp_text.c) */
/* What sl_tcp_conn_input() does, without counting. */
bool sl_tcp_arrives(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    void *from);
void sl_tcp_take_syn(struct sl_tcp *c, const struct sl_tcp_seg *syn);
/* Both SYNs are acknowledged; the segment that says so begins at seq (SYN cut off). */
void sl_tcp_established(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t seq);
void sl_tcp_reset_reply(struct sl_tcp_host *h, const struct sl_tcp_key *key,
			const struct sl_tcp_seg *seg, void *from);
/* RFC 5961 5, 7; rate-limited */
void sl_tcp_challenge_ack(struct sl_tcp *c);

/* tcp_reass.c: the receive queues */
/* Takes the payload (from seq, len bytes at off; already cut to the window, what was below rcv_nxt
 * was reported as DSACK by the caller) and FIN. Returns whether the frame was kept. Moves rcv_nxt,
 * over the FIN too: fin_rcvd is set then. */
bool sl_tcp_rcv_queue(struct sl_tcp *c, uint32_t seq, uint32_t frame, uint16_t off, uint16_t len,
		      bool fin);
void sl_tcp_rcv_free(struct sl_tcp *c);
/* [start, end) has come twice: to be reported with the next ACK (who sends it clears have_dsack).
 */
void sl_tcp_dsack(struct sl_tcp *c, uint32_t start, uint32_t end);
/* Are there fewer free frames than divisor times what c holds? */
bool sl_tcp_rcv_is_pressed(const struct sl_tcp *c, uint32_t divisor);
uint8_t sl_tcp_sack_blocks(const struct sl_tcp *c, struct sl_tcp_block *b, uint8_t max);

/* Small pieces beyond holes that have a frame each share one from now on, while frames are scarce.
 * False: there were none. c->ooo is not NULL. */
bool sl_tcp_ooo_pack(struct sl_tcp *c);
/* Takes all of the pieces beyond holes away; the peer sends them again (RFC 2018 8). */
void sl_tcp_ooo_drop(struct sl_tcp *c);

/* tcp_mem.c: packet memory of all connections */
void sl_tcp_mem_init(struct sl_tcp_mem *m);
/* c's pieces beyond holes have changed: its place among those that may have to give. */
void sl_tcp_mem_settle(struct sl_tcp *c);
/* They have none, until they are settled again: they are not old then. */
void sl_tcp_mem_unsettle(struct sl_ooo *o);
/* They had one, and are at another address. */
void sl_tcp_mem_moved(struct sl_ooo *o);
/* May c's send queue have no frame more? */
bool sl_tcp_mem_is_over(struct sl_tcp *c);
/* Is memory too short to keep what an orphan has not sent (tcp_out_of_memory() of Linux)? */
bool sl_tcp_mem_is_out(struct sl_tcp *c);
/* A write found no frame: c is not writable until there may be one. An acknowledgement is an
 * occasion to see; for a queue that awaits none, each look at host->room. */
void sl_tcp_mem_starve(struct sl_tcp *c);
/* Is that so still? False: it is over. */
bool sl_tcp_mem_is_starved(struct sl_tcp *c);

/* tcp_repair.c: all but the time */
void sl_tcp_repair_state(const struct sl_tcp *c, struct sl_tcp_repair *r);

/* tcp_window.c: the receive window and the buffer behind it */
/* The window to announce now in bytes (the header has it >> rcv_wscale), with silly-window
 * avoidance; never shrinks (RFC 9293 3.8.6.2.2). Sets rcv_wnd and rcv_wup: for what is sent. */
uint32_t sl_tcp_select_window(struct sl_tcp *c);
/* Data of a segment with len bytes were taken: the window may open further. */
void sl_tcp_rcv_grow_window(struct sl_tcp *c, uint32_t len);
/* A data segment came: how long is a round trip to one who only receives? */
void sl_tcp_rcv_rtt_ts(struct sl_tcp *c, const struct sl_tcp_seg *seg);
/* Auto-tuning: after data came; after the program has read. */
void sl_tcp_rcv_tune(struct sl_tcp *c);
/* The program has read: is a window update due? */
void sl_tcp_rcv_space_freed(struct sl_tcp *c);

/* tcp_out.c */
void sl_tcp_want_out(struct sl_tcp *c); /* puts c on host->out */
/* The last piece is the one that was not sent, Nagle's algorithm holds it, and it will with that
 * many bytes more. */
bool sl_tcp_stays_held(const struct sl_tcp *c, size_t more);
void sl_tcp_no_room(struct sl_tcp *c); /* a send was refused: onto host->room */
void sl_tcp_output(struct sl_tcp *c);  /* what may be sent now: data, then an ACK if one is owed */
/* One new segment whatever cwnd and Nagle say (tail loss probe); whatever of it fits the window, or
 * a probe (persist). */
bool sl_tcp_send_one(struct sl_tcp *c);
void sl_tcp_send_persist(struct sl_tcp *c);
/* Sends the piece at index again (or for the first time); false: no room. */
bool sl_tcp_xmit_piece(struct sl_tcp *c, uint32_t i, bool retransmission);

/* tcp_ack.c: segments without data, and when an ACK is due */
void sl_tcp_send_ack(struct sl_tcp *c); /* at once */
/* SYN, or in SYN_RCVD SYN-ACK (simultaneous open); arms rto_at, whose expiry sends it again. */
void sl_tcp_send_syn(struct sl_tcp *c);
void sl_tcp_send_rst(struct sl_tcp *c);
void sl_tcp_send_probe(struct sl_tcp *c, bool data); /* window probe, keepalive */
/* A data segment came: an ACK at once, or later (RFC 1122 4.2.3.2, 5681 4.2). fin: the peer has
 * said all, and we have not: our FIN may take the ACK along. */
void sl_tcp_ack_data(struct sl_tcp *c, uint32_t len, bool in_order, bool push, bool fin);
void sl_tcp_ack_late(struct sl_tcp *c); /* the delayed ACK is due */
void sl_tcp_ack_sent(struct sl_tcp *c); /* a segment has said all that an ACK says */
/* Acknowledgement, window, time stamp, ECE; SACK blocks into so many bytes of options (false: there
 * are some, but no room). */
void sl_tcp_fill_ack(struct sl_tcp *c, struct sl_tcp_seg *seg);
bool sl_tcp_fill_sack(struct sl_tcp *c, struct sl_tcp_seg *seg, uint32_t room);

/* tcp_sndq.c: the send queue */
void sl_tcp_queue_fin(struct sl_tcp *c);
void sl_tcp_snd_free(struct sl_tcp *c);
/* Drops what is below ack from the queue; how many whole pieces. */
uint32_t sl_tcp_snd_drop(struct sl_tcp *c, uint32_t ack);
/* Makes the piece at i begin a new one after len bytes (mss has shrunk, partial window). Was it at
 * tx_nxt, it is there still, but that and tx_una may be another index. */
bool sl_tcp_snd_split(struct sl_tcp *c, uint32_t i, uint16_t len);
void sl_tcp_mss_changed(struct sl_tcp *c);
void sl_tcp_sndbuf_grow(struct sl_tcp *c);
static inline uint32_t sl_tcp_pieces_out(const struct sl_tcp *c)
{
	return c->tx_nxt - c->tx_una;
}
/* RFC 6675 "pipe", in pieces. */
static inline uint32_t sl_tcp_in_flight(const struct sl_tcp *c)
{
	return sl_tcp_pieces_out(c) - c->sacked_out - c->lost_out + c->retx_out;
}
static inline struct sl_txseg *sl_tcp_piece(const struct sl_tcp *c, uint32_t i)
{
	return &c->tx[i & (c->txsize - 1)];
}

/* tcp_loss.c: what an ACK says about loss; recovery */
struct sl_tcp_ack {
	uint32_t prior_una, prior_in_flight;
	uint32_t acked_segs;  /* newly, cumulatively */
	uint32_t sacked_segs; /* newly, selectively */
	uint32_t delivered;   /* both */
	uint32_t rtt_us;      /* 0: no sample */
	bool dsack, ece, data, window_changed;
	bool old; /* below snd_una: no duplicate ACK */
	/* filled in and used by tcp_loss.c and tcp_rack.c alone */
	uint32_t prior_fack, last_rtt_us, tsecr;
	bool ts, dsack_tlp, orig_acked, retx_acked;
};
/* For each ACK, with SACK blocks or without: marks what they report, newest RACK time; fills in a.
 * Before snd_drop. */
void sl_tcp_loss_sack(struct sl_tcp *c, const struct sl_tcp_seg *seg, struct sl_tcp_ack *a);
/* Pieces [tx_una, to) are about to be dropped as acknowledged. */
void sl_tcp_loss_cum(struct sl_tcp *c, uint32_t to, struct sl_tcp_ack *a);
/* After both, sl_tcp_snd_drop() and sl_tcp_rtt_sample() (by tcp_in.c with a->rtt_us, which the two
 * calls above found in pieces sent once; else from the time stamp): detection, state of congestion,
 * window (calls c->cc; sl_tcp_loss_on_ece() for a->ece). */
void sl_tcp_loss_on_ack(struct sl_tcp *c, struct sl_tcp_ack *a);
/* The RTO has expired: marks, window and state; tcp_timer.c then calls sl_tcp_output(), to which
 * sl_tcp_loss_next() gives the head. */
void sl_tcp_loss_on_rto(struct sl_tcp *c);
/* A tail loss probe has gone out (sent by tcp_timer.c, which has set c->tlp_retrans: it was data
 * that were sent before). Sets tlp_out and tlp_end_seq. */
void sl_tcp_loss_on_tlp(struct sl_tcp *c);
/* Called by sl_tcp_xmit_piece() after each success, when the piece's sent_us and sent are set and
 * before tx_nxt moves: SL_TXS_RETX, retx_out, what undo, PRR and window validation need. */
void sl_tcp_loss_on_sent(struct sl_tcp *c, uint32_t i, bool retransmission);
/* Called by sl_tcp_snd_split(): the piece at i is now the pieces i and i + 1 (both with its marks,
 * sent, sent_us); tx_nxt and tx_tail have moved. Keeps the counters equal to the marks. */
void sl_tcp_loss_on_split(struct sl_tcp *c, uint32_t i);
/* Called by sl_tcp_snd_free(). */
void sl_tcp_loss_free(struct sl_tcp *c);

/* tcp_rack.c: which pieces are lost; also sl_tcp_loss_sack(), _cum(), _next(), _on_split() */
void sl_tcp_mark_lost(struct sl_tcp *c, uint32_t i);
void sl_tcp_mark_all_lost(struct sl_tcp *c); /* an RTO */
void sl_tcp_unmark_lost(struct sl_tcp *c);   /* none was */
void sl_tcp_rack_detect(struct sl_tcp *c);
bool sl_tcp_rack_on_retransmit(struct sl_tcp *c, uint32_t i); /* false: no memory */
void sl_tcp_rack_recovered(struct sl_tcp *c);                 /* a recovery is over */
void sl_tcp_loss_on_reo_timer(struct sl_tcp *c);
void sl_tcp_loss_on_ece(struct sl_tcp *c);
/* The next piece that recovery wants sent again, or UINT32_MAX. */
uint32_t sl_tcp_loss_next(struct sl_tcp *c);
/* How many segments may be in flight now (cwnd, PRR, limited transmit). */
uint32_t sl_tcp_loss_cwnd(const struct sl_tcp *c);
void sl_tcp_loss_init(struct sl_tcp *c);

/* tcp_rtt.c: RFC 6298, 7323 4 */
void sl_tcp_rtt_sample(struct sl_tcp *c, uint32_t rtt_us);
void sl_tcp_rtt_init(struct sl_tcp *c);

/* tcp_timer.c: the policy: which event arms what */
void sl_tcp_timer_rearm(struct sl_tcp *c);     /* deadlines have changed: the one timer follows */
void sl_tcp_timer_on_sent(struct sl_tcp *c);   /* data were sent: RTO, TLP */
void sl_tcp_timer_on_syn(struct sl_tcp *c);    /* SYN or SYN-ACK was sent */
void sl_tcp_timer_on_acked(struct sl_tcp *c);  /* snd_una moved, or all is acked */
void sl_tcp_timer_on_window(struct sl_tcp *c); /* zero window with data waiting: persist */
void sl_tcp_timer_on_alive(struct sl_tcp *c);  /* something came: keepalive */
void sl_tcp_timer_delack(struct sl_tcp *c);
void sl_tcp_timer_thin(struct sl_tcp *c, uint32_t us);
void sl_tcp_leave_train(struct sl_tcp *c);
void sl_tcp_timer_stop(struct sl_tcp *c);
void sl_tcp_timer_fire(struct sl_timer *t, void *host);

/* cc.c: the list of algorithms */
#define SL_TCP_INFINITE_SSTHRESH 0x7fffffffu /* as TCP_INFO shows it */
extern const struct sl_cc sl_cc_cubic, sl_cc_reno;
const struct sl_cc *sl_cc_find(const char *name);
/* RFC 5681 slow start and avoidance, for all who need them; segments left over. */
uint32_t sl_cc_slow_start(struct sl_tcp *c, uint32_t acked);
void sl_cc_avoid(struct sl_tcp *c, uint32_t w, uint32_t acked);
static inline bool sl_cc_in_slow_start(const struct sl_tcp *c)
{
	return c->cwnd < c->ssthresh;
}
/* RFC 7661: growing makes sense only when the window is used. */
bool sl_cc_is_limited(const struct sl_tcp *c);
/* Before new data are sent while none are in flight (sl_tcp_output()): after an idle time the
 * window is no longer known to be right (RFC 5681 4.1, tcp_slow_start_after_idle). */
void sl_cc_idle_check(struct sl_tcp *c);
/* What ssthresh is to be remembered as when the window may be given back (RFC 2861). */
uint32_t sl_cc_current_ssthresh(const struct sl_tcp *c);
/* A segment went out: notes whether the window is used, lets one that is not decay. */
void sl_cc_on_sent(struct sl_tcp *c, uint32_t in_flight);

/* The connection's record of trouble, made at the first; never NULL. */
struct sl_tcp_trouble *sl_tcp_trouble_new(struct sl_tcp *c);
static inline struct sl_tcp_trouble *sl_tcp_trouble(struct sl_tcp *c)
{
	return c->trouble ? c->trouble : sl_tcp_trouble_new(c);
}

/* NULL while nothing is missing */
static inline struct sl_tcp_board *sl_tcp_board(const struct sl_tcp *c)
{
	return c->trouble ? c->trouble->board : NULL;
}

/* An option of struct sl_tcp_opts */
#define sl_tcp_opt(c, name) ((c)->opts ? (c)->opts->name : 0)

static inline uint32_t sl_tcp_init_cwnd(const struct sl_tcp *c)
{
	uint32_t n = sl_tcp_opt(c, init_cwnd);

	return n ? n : sl_tcp_params.init_cwnd;
}

/* A deadline has 32 bits of the time: it is half an hour away at most. Never 0. */
static inline uint32_t sl_tcp_at(uint64_t us)
{
	return (uint32_t)us + !(uint32_t)us;
}
/* The whole of it */
static inline uint64_t sl_tcp_at_us(const struct sl_tcp *c, uint32_t at)
{
	uint64_t now = c->host->now_us;

	return now + (uint64_t)(int64_t)(int32_t)(at - (uint32_t)now);
}

static inline uint32_t sl_tcp_now_ms(const struct sl_tcp_host *h)
{
	return (uint32_t)(h->now_us / 1000);
}
static inline uint32_t sl_tcp_tsval(const struct sl_tcp *c)
{
	return sl_tcp_now_ms(c->host) + c->ts_off;
}

/* Of a segment of the size that we announced: what is left for bytes (Linux' tp->advmss). */
static inline uint32_t sl_tcp_adv_bytes(const struct sl_tcp *c)
{
	return c->adv_mss - (c->ts_ok ? 12u : 0);
}

#endif
