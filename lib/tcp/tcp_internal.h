/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and types shared inside lib/tcp. */
#ifndef SL_TCP_INTERNAL_H
#define SL_TCP_INTERNAL_H

#include "tcp/tcp.h"

/* RFC 7323 5.5: ignore a ts_recent older than this. */
#define SL_TCP_PAWS_IDLE_US (24ull * 24 * 3600 * 1000000)

static inline void tcp_count(struct sl_tcp_host *h, unsigned id, uint32_t n)
{
	h->ops->count(h, id, n);
}

/* Takes one of `limit` permits for this second. False: none is left. */
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

/* Cost of a piece in sndbuf and rcvbuf in addition to its bytes: roughly the kernel's cost of an
 * skb, so that a stream of tiny pieces is limited, too. Code that queues, cuts or drops a piece
 * keeps wmem and rmem equal to the sum over the queues. */
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

/* Every kind of node is followed by its timer, so that the wheel's single callback
 * (sl_tcp_timer_fire) can find the node of a timer. */
static inline struct sl_tcp_node *sl_tcp_node_of(struct sl_timer *t)
{
	return (struct sl_tcp_node *)((char *)t - sizeof(struct sl_tcp_node));
}
void sl_tcp_req_timer(struct sl_tcp_host *h, struct sl_tcp_node *n); /* tcp_req.c */
void sl_tcp_tw_timer(struct sl_tcp_host *h, struct sl_tcp_node *n);  /* tcp_tw.c: frees it */

void sl_tcp_late_timer(struct sl_tcp_host *h); /* tcp_late.c */

/* Sends by h->ops->reply, and tries again if there was no way to send: at most SL_TCP_STUCK_MOST
 * times, after 2 ms to 512 ms, in all a second. Later tries do not use the listener's options,
 * since it may be gone by then. */
#define SL_TCP_STUCK_US   2000ull
#define SL_TCP_STUCK_MOST 9
void sl_tcp_reply(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		  const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, void *from);
/* Calls h->ops->scope; 0 if from is NULL. */
uint32_t sl_tcp_scope(struct sl_tcp_host *h, const struct sl_tcp_key *key, const void *from);

/* tcp_table.c: nodes by key */
struct sl_tcp_node *sl_tcp_table_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
int sl_tcp_table_add(struct sl_tcp_host *h, struct sl_tcp_node *n); /* -ENOMEM */
void sl_tcp_table_del(struct sl_tcp_host *h, struct sl_tcp_node *n);
/* Calls fn for every node; fn may remove and free that node. */
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
/* The MSS encoded in the cookie, 0: not our cookie, or older than two minutes. */
uint16_t sl_tcp_cookie_check(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t cookie,
			     uint32_t peer_isn);

/* tcp_conn.c: states. Sequence numbers: the SYN has iss and is in no queue (an active open sets
 * snd_una = iss, snd_nxt = write_seq = iss + 1 and calls sl_tcp_send_syn()); a FIN is queued and
 * counts in write_seq. tcp_in.c moves snd_una (before sl_tcp_snd_drop()) and sets fin_acked;
 * tcp_out.c moves snd_nxt and sets fin_sent. A connection that is over keeps its receive queue for
 * reading, if it is not accepted yet or not orphaned. */
void sl_tcp_set_state(struct sl_tcp *c, enum sl_tcp_state s);
/* Makes c CLOSED: stops timers, leaves the table, frees queues; reports EV_CLOSED, with err also
 * EV_ERROR. */
void sl_tcp_done(struct sl_tcp *c, int err);
void sl_tcp_event(struct sl_tcp *c, uint32_t events);
/* Sets MSS and windows once both SYNs are known. */
void sl_tcp_take_syn_options(struct sl_tcp *c, const struct sl_tcp_seg *syn);
void sl_tcp_start_buffers(struct sl_tcp *c);
/* Sets the variables of a connection before its SYN is sent. */
void sl_tcp_start(struct sl_tcp *c, const struct sl_tcp_key *key, uint32_t iss);
uint8_t sl_tcp_rcv_wscale(uint32_t rcvbuf, bool locked, uint32_t clamp);
uint32_t sl_tcp_first_window(uint32_t rcvbuf, uint32_t clamp, uint16_t mss);
/* RFC 9293 3.7.1: the MSS to announce, from the route; the user may want a smaller one. */
uint16_t sl_tcp_our_mss(uint16_t route_mss, uint16_t user_mss);
void sl_tcp_send_fin(struct sl_tcp *c);         /* enters the next state and queues the FIN */
void sl_tcp_orphan_fin_wait2(struct sl_tcp *c); /* c becomes CLOSED */

/* tcp_user.c: the user's bytes */
/* Reports EV_OUT if the owner waits for room and there is some again. */
void sl_tcp_write_space(struct sl_tcp *c);
/* Skips the urgent byte, which is next to read and does not belong to the stream. */
void sl_tcp_pass_mark(struct sl_tcp *c);
/* Adds an empty, charged piece at the end of the send queue; NULL: no memory. */
struct sl_txseg *sl_tcp_snd_new(struct sl_tcp *c);

/* tcp_tw.c: TIME_WAIT records */
#define SL_TCP_TIMEWAIT_MS 60000 /* 2 MSL as Linux has it */
void sl_tcp_time_wait(struct sl_tcp *c, bool fin_wait2, uint32_t timeout_ms); /* c becomes CLOSED */
/* Handles a segment for a TIME_WAIT. True: a SYN may reuse the key (RFC 6191): the record is
 * freed, *isn is the lowest initial sequence number to use. */
bool sl_tcp_tw_input(struct sl_tcp_host *h, struct sl_tcp_node *n, const struct sl_tcp_seg *seg,
		     void *from, uint32_t *isn);
/* For an active open on the record's key, with a port number chosen by the program or an earlier
 * connection. sl_tcp_tw_may_reuse() only checks; sl_tcp_tw_reuse() frees the record when it
 * returns true, *isn as above. */
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
void sl_tcp_tfo_done(struct sl_tcp *c);   /* call when the handshake of a Fast Open child is over */
void sl_tcp_child_gone(struct sl_tcp *c); /* removes c from its listener's queue */

/* tcp_fastopen.c: our own SYN with data */
void sl_tcp_tfo_defer(struct sl_tcp *c); /* sets the segment size to use until the SYN is sent */
void sl_tcp_tfo_option(const struct sl_tcp *c, struct sl_tcp_seg *seg);
/* False: the SYN carries no data. */
bool sl_tcp_tfo_send(struct sl_tcp *c, struct sl_tcp_seg *seg, bool *sent);
/* Call with the segment that completes our handshake, before snd_una passes its data. */
void sl_tcp_tfo_answer(struct sl_tcp *c, const struct sl_tcp_seg *seg);
void sl_tcp_tfo_free(struct sl_tcp *c);

/* tcp_in.c: a segment arrives, RFC 9293 3.10.7 (tcp_in.h is shared with tcp_text.c) */
/* sl_tcp_conn_input() without counting. */
bool sl_tcp_arrives(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		    void *from);
void sl_tcp_take_syn(struct sl_tcp *c, const struct sl_tcp_seg *syn);
/* Enters ESTABLISHED: both SYNs are acknowledged. seq: start of the segment without its SYN. */
void sl_tcp_established(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t seq);
void sl_tcp_reset_reply(struct sl_tcp_host *h, const struct sl_tcp_key *key,
			const struct sl_tcp_seg *seg, void *from);
/* Sends a challenge ACK (RFC 5961 5, 7); rate-limited. */
void sl_tcp_challenge_ack(struct sl_tcp *c);

/* tcp_reass.c: the receive queues */
/* Queues the payload (from seq, len bytes at off) and FIN. The caller has cut it to the window,
 * and reported bytes below rcv_nxt as DSACK. True: the frame was kept. Moves rcv_nxt, also over
 * the FIN: fin_rcvd is set then. */
bool sl_tcp_rcv_queue(struct sl_tcp *c, uint32_t seq, uint32_t frame, uint16_t off, uint16_t len,
		      bool fin);
void sl_tcp_rcv_free(struct sl_tcp *c);
/* Notes that [start, end) came twice: the next ACK reports it and clears have_dsack. */
void sl_tcp_dsack(struct sl_tcp *c, uint32_t start, uint32_t end);
/* True: fewer frames are free than divisor times the number that c holds. */
bool sl_tcp_rcv_is_pressed(const struct sl_tcp *c, uint32_t divisor);
uint8_t sl_tcp_sack_blocks(const struct sl_tcp *c, struct sl_tcp_block *b, uint8_t max);

/* Packs small pieces beyond holes into shared frames, now and while frames are scarce. False:
 * there were none. c->ooo must not be NULL. */
bool sl_tcp_ooo_pack(struct sl_tcp *c);
/* Drops all pieces beyond holes; the peer sends them again (RFC 2018 8). */
void sl_tcp_ooo_drop(struct sl_tcp *c);

/* tcp_mem.c: packet memory of all connections */
void sl_tcp_mem_init(struct sl_tcp_mem *m);
/* Call when c's pieces beyond holes have changed: updates its place in the lists of struct
 * sl_tcp_mem. */
void sl_tcp_mem_settle(struct sl_tcp *c);
/* Removes o from these lists until sl_tcp_mem_settle(); its age starts anew then. */
void sl_tcp_mem_unsettle(struct sl_ooo *o);
/* Repairs the lists after o was moved to another address. */
void sl_tcp_mem_moved(struct sl_ooo *o);
/* True: c's send queue must not take another frame. */
bool sl_tcp_mem_is_over(struct sl_tcp *c);
/* True: memory is too short to keep the unsent data of an orphan (tcp_out_of_memory() of Linux). */
bool sl_tcp_mem_is_out(struct sl_tcp *c);
/* Call when a write found no frame: c is not writable until one may be free. Checked again when an
 * ACK comes; for a queue that expects none, whenever host->room is checked. */
void sl_tcp_mem_starve(struct sl_tcp *c);
/* True: there is still no frame for c. False: writing may be tried again. */
bool sl_tcp_mem_is_starved(struct sl_tcp *c);

/* tcp_repair.c: fills all but the time stamp */
void sl_tcp_repair_state(const struct sl_tcp *c, struct sl_tcp_repair *r);

/* tcp_window.c: the receive window and the buffer behind it */
/* The window to announce now, in bytes (the header has it >> rcv_wscale). Avoids silly windows and
 * never shrinks (RFC 9293 3.8.6.2.2). Sets rcv_wnd and rcv_wup, so call it only when sending. */
uint32_t sl_tcp_select_window(struct sl_tcp *c);
/* Call after taking len bytes of a segment: the window may open further. */
void sl_tcp_rcv_grow_window(struct sl_tcp *c, uint32_t len);
/* Call for each data segment: measures the round trip of a connection that only receives. */
void sl_tcp_rcv_rtt_ts(struct sl_tcp *c, const struct sl_tcp_seg *seg);
/* Auto-tuning of the buffer: call after data came, and after the program has read. */
void sl_tcp_rcv_tune(struct sl_tcp *c);
/* Call when the program has read: sends a window update if one is due. */
void sl_tcp_rcv_space_freed(struct sl_tcp *c);

/* tcp_out.c */
void sl_tcp_want_out(struct sl_tcp *c); /* puts c on host->out */
/* True: the only unsent piece is held back by Nagle's algorithm, and still will be with `more`
 * additional bytes. */
bool sl_tcp_stays_held(const struct sl_tcp *c, size_t more);
void sl_tcp_no_room(struct sl_tcp *c); /* send() was refused: puts c on host->room */
void sl_tcp_output(struct sl_tcp *c);  /* sends data, then an ACK if owed */
/* sl_tcp_send_one() sends one new segment (or what fits the window) regardless of cwnd and Nagle,
 * as a tail loss probe. sl_tcp_send_persist() sends that or a window probe. */
bool sl_tcp_send_one(struct sl_tcp *c);
void sl_tcp_send_persist(struct sl_tcp *c);
/* Sends the piece at index i, first or again; false: no room. */
bool sl_tcp_xmit_piece(struct sl_tcp *c, uint32_t i, bool retransmission);

/* tcp_ack.c: segments without data, and when an ACK is due */
void sl_tcp_send_ack(struct sl_tcp *c); /* at once */
/* Sends SYN, or in SYN_RCVD SYN-ACK (simultaneous open); arms rto_at to repeat it. */
void sl_tcp_send_syn(struct sl_tcp *c);
void sl_tcp_send_rst(struct sl_tcp *c);
void sl_tcp_send_probe(struct sl_tcp *c, bool data); /* window probe, keepalive */
/* Call when a data segment came: sends an ACK at once or later (RFC 1122 4.2.3.2, 5681 4.2). fin:
 * the peer has ended its stream and we have not: our FIN may carry the ACK. */
void sl_tcp_ack_data(struct sl_tcp *c, uint32_t len, bool in_order, bool push, bool fin);
void sl_tcp_ack_late(struct sl_tcp *c); /* call when the delayed ACK is due */
void sl_tcp_ack_sent(struct sl_tcp *c); /* call when a segment has carried all that an ACK says */
/* Fills in acknowledgement, window, time stamp, ECE; sl_tcp_fill_sack() fills SACK blocks into
 * `room` bytes of options (false: there are blocks, but no room). */
void sl_tcp_fill_ack(struct sl_tcp *c, struct sl_tcp_seg *seg);
bool sl_tcp_fill_sack(struct sl_tcp *c, struct sl_tcp_seg *seg, uint32_t room);

/* tcp_sndq.c: the send queue */
void sl_tcp_queue_fin(struct sl_tcp *c);
void sl_tcp_snd_free(struct sl_tcp *c);
/* Drops everything below ack from the queue; returns the number of whole pieces. */
uint32_t sl_tcp_snd_drop(struct sl_tcp *c, uint32_t ack);
/* Splits the piece at i after len bytes (mss has shrunk, partial window). If it was at tx_nxt, it
 * still is, but tx_nxt and tx_una may be other indexes now. */
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
	uint32_t acked_segs;  /* newly acknowledged by the cumulative ACK */
	uint32_t sacked_segs; /* newly acknowledged by SACK */
	uint32_t delivered;   /* both together */
	uint32_t rtt_us;      /* 0: no sample */
	bool dsack, ece, data, window_changed;
	bool old; /* below snd_una: not a duplicate ACK */
	/* used only by tcp_loss.c and tcp_rack.c */
	uint32_t prior_fack, last_rtt_us, tsecr;
	bool ts, dsack_tlp, orig_acked, retx_acked;
};
/* Call for each ACK, with or without SACK blocks, before sl_tcp_snd_drop(): marks the pieces that
 * it reports, updates the RACK time, fills in a. */
void sl_tcp_loss_sack(struct sl_tcp *c, const struct sl_tcp_seg *seg, struct sl_tcp_ack *a);
/* Call before the pieces [tx_una, to) are dropped as acknowledged. */
void sl_tcp_loss_cum(struct sl_tcp *c, uint32_t to, struct sl_tcp_ack *a);
/* Call after these two, sl_tcp_snd_drop() and sl_tcp_rtt_sample() (tcp_in.c passes it a->rtt_us,
 * found in pieces sent once, else from the time stamp). Detects loss, updates congestion state and
 * window (calls c->cc; sl_tcp_loss_on_ece() for a->ece). */
void sl_tcp_loss_on_ack(struct sl_tcp *c, struct sl_tcp_ack *a);
/* Call when the RTO expires: sets marks, window and state. tcp_timer.c then calls sl_tcp_output(),
 * which gets the head from sl_tcp_loss_next(). */
void sl_tcp_loss_on_rto(struct sl_tcp *c);
/* Call after tcp_timer.c has sent a tail loss probe and set c->tlp_retrans (true: the probe
 * repeated data). Sets tlp_out and tlp_end_seq. */
void sl_tcp_loss_on_tlp(struct sl_tcp *c);
/* Called by sl_tcp_xmit_piece() after each success, with the piece's sent_us and sent set, before
 * tx_nxt moves. Sets SL_TXS_RETX, retx_out, and the state of undo, PRR and window validation. */
void sl_tcp_loss_on_sent(struct sl_tcp *c, uint32_t i, bool retransmission);
/* Called by sl_tcp_snd_split(): the piece at i has become the pieces i and i + 1 (with equal
 * marks, sent, sent_us); tx_nxt and tx_tail have moved. Keeps the counters equal to the marks. */
void sl_tcp_loss_on_split(struct sl_tcp *c, uint32_t i);
/* Called by sl_tcp_snd_free(). */
void sl_tcp_loss_free(struct sl_tcp *c);

/* tcp_rack.c: which pieces are lost; also sl_tcp_loss_sack(), _cum(), _next(), _on_split() */
void sl_tcp_mark_lost(struct sl_tcp *c, uint32_t i);
void sl_tcp_mark_all_lost(struct sl_tcp *c); /* after an RTO */
void sl_tcp_unmark_lost(struct sl_tcp *c);   /* none was lost */
void sl_tcp_rack_detect(struct sl_tcp *c);
bool sl_tcp_rack_on_retransmit(struct sl_tcp *c, uint32_t i); /* false: no memory */
void sl_tcp_rack_recovered(struct sl_tcp *c);                 /* call at the end of a recovery */
void sl_tcp_loss_on_reo_timer(struct sl_tcp *c);
void sl_tcp_loss_on_ece(struct sl_tcp *c);
/* Index of the next piece that recovery must send again, or UINT32_MAX. */
uint32_t sl_tcp_loss_next(struct sl_tcp *c);
/* Number of segments that may be in flight now (cwnd, PRR, limited transmit). */
uint32_t sl_tcp_loss_cwnd(const struct sl_tcp *c);
void sl_tcp_loss_init(struct sl_tcp *c);

/* tcp_rtt.c: RFC 6298, 7323 4 */
void sl_tcp_rtt_sample(struct sl_tcp *c, uint32_t rtt_us);
void sl_tcp_rtt_init(struct sl_tcp *c);

/* tcp_timer.c: the policy: which event arms which deadline */
void sl_tcp_timer_rearm(struct sl_tcp *c);     /* sets the one timer after deadlines changed */
void sl_tcp_timer_on_sent(struct sl_tcp *c);   /* data were sent: RTO, TLP */
void sl_tcp_timer_on_syn(struct sl_tcp *c);    /* SYN or SYN-ACK was sent */
void sl_tcp_timer_on_acked(struct sl_tcp *c);  /* snd_una moved, or all is acked */
void sl_tcp_timer_on_window(struct sl_tcp *c); /* data wait at a zero window: persist */
void sl_tcp_timer_on_alive(struct sl_tcp *c);  /* a segment came: keepalive */
void sl_tcp_timer_delack(struct sl_tcp *c);
void sl_tcp_timer_thin(struct sl_tcp *c, uint32_t us);
void sl_tcp_leave_train(struct sl_tcp *c);
void sl_tcp_timer_stop(struct sl_tcp *c);
void sl_tcp_timer_fire(struct sl_timer *t, void *host);

/* cc.c: the list of algorithms */
#define SL_TCP_INFINITE_SSTHRESH 0x7fffffffu /* as TCP_INFO shows it */
extern const struct sl_cc sl_cc_cubic, sl_cc_reno;
const struct sl_cc *sl_cc_find(const char *name);
/* RFC 5681 slow start and congestion avoidance, for all algorithms; slow start returns the
 * segments that it did not use. */
uint32_t sl_cc_slow_start(struct sl_tcp *c, uint32_t acked);
void sl_cc_avoid(struct sl_tcp *c, uint32_t w, uint32_t acked);
static inline bool sl_cc_in_slow_start(const struct sl_tcp *c)
{
	return c->cwnd < c->ssthresh;
}
/* RFC 7661: true if the window is fully used, since growing makes sense only then. */
bool sl_cc_is_limited(const struct sl_tcp *c);
/* Called by sl_tcp_output() before it sends new data while none are in flight: after an idle time
 * the window may be wrong (RFC 5681 4.1, tcp_slow_start_after_idle). */
void sl_cc_idle_check(struct sl_tcp *c);
/* The ssthresh to remember for the case that the reduction is undone (RFC 2861). */
uint32_t sl_cc_current_ssthresh(const struct sl_tcp *c);
/* Call when a segment was sent: notes whether the window is used and lets an unused one decay. */
void sl_cc_on_sent(struct sl_tcp *c, uint32_t in_flight);

/* The connection's record of trouble, allocated when first needed; never NULL. */
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

/* the value of an option of struct sl_tcp_opts */
#define sl_tcp_opt(c, name) ((c)->opts ? (c)->opts->name : 0)

static inline uint32_t sl_tcp_init_cwnd(const struct sl_tcp *c)
{
	uint32_t n = sl_tcp_opt(c, init_cwnd);

	return n ? n : sl_tcp_params.init_cwnd;
}

/* A deadline keeps the low 32 bits of the time, so it must be at most half an hour away. Never 0.
 */
static inline uint32_t sl_tcp_at(uint64_t us)
{
	return (uint32_t)us + !(uint32_t)us;
}
/* The full time of a deadline. */
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

/* Payload bytes of a segment of the size that we announced (Linux' tp->advmss). */
static inline uint32_t sl_tcp_adv_bytes(const struct sl_tcp *c)
{
	return c->adv_mss - (c->ts_ok ? 12u : 0);
}

#endif
