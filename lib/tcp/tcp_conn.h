/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection block (RFC 9293 3.3.1, "TCB"). Variables have the RFCs' names. Owners embed it
 * and may read it; only lib/tcp writes, except for the fields under "options of the owner". */
#ifndef SL_TCP_CONN_H
#define SL_TCP_CONN_H

#include "tcp/tcp.h"

/* A piece of the send queue: at most one segment's bytes, in a frame of its own. */
struct sl_txseg {
	uint32_t frame; /* SL_NO_FRAME: SYN or FIN alone */
	uint32_t seq;
	uint16_t off; /* offset of the bytes in the frame */
	uint16_t len;
	uint16_t sum;  /* checksum sum of the bytes, folded, not complemented (SL_CSUM from an even
			  start) */
	uint8_t flags; /* flags sent with it: SL_TCP_SYN, FIN, PSH, URG */
	uint8_t marks; /* SL_TXS_* */
	uint8_t sent;  /* times sent, saturating */
	uint64_t sent_us; /* time of the last transmission */
	/* delivery rate and RACK (draft-cheng-iccrg-delivery-rate-estimation) */
	uint32_t delivered;
	uint32_t tsval;
};
#define SL_TXS_SACKED (1u << 0)
#define SL_TXS_LOST   (1u << 1)
#define SL_TXS_RETX   (1u << 2) /* retransmitted and that copy is in flight */

/* Received bytes in order. */
struct sl_rxseg {
	uint32_t frame;
	uint16_t off, len;
};
/* Received bytes beyond a hole; a sorted array, disjoint. */
struct sl_oooseg {
	uint32_t seq;
	uint32_t frame; /* SL_NO_FRAME: a FIN alone */
	uint16_t off, len;
	bool fin;
	bool scrap; /* shares its frame with other pieces (sl_scrap_put()) */
};

/* The queue of data beyond a hole, with its SACK blocks, the one that changed last first (RFC 2018
 * 4). */
struct sl_ooo {
	uint32_t size; /* pieces that fit */
	/* tcp_mem.c's links, used while there are pieces and the connection is not frozen */
	struct sl_list greedy; /* in host->mem.greedy[class] */
	struct sl_list aged;   /* in host->mem.aged */
	struct sl_tcp *of;
	uint64_t since_us; /* when the oldest hole was opened, or the one before it was filled */
	uint32_t held;     /* bytes of packet memory */
	uint8_t class;
	bool packed; /* no small piece with a frame of its own is left to pack */
	struct sl_tcp_block last_sack[SL_TCP_MAX_SACK];
	struct sl_oooseg seg[];
};

/* A congestion control algorithm, as a table of functions (like tcp_congestion_ops of Linux).
 * Called with c->cwnd in segments of c->mss. */
struct sl_cc {
	const char *name;
	void (*init)(struct sl_tcp *c);
	/* segments newly acknowledged (not in recovery) */
	void (*on_ack)(struct sl_tcp *c, uint32_t acked_segs, uint32_t rtt_us);
	uint32_t (*ssthresh)(struct sl_tcp *c); /* ssthresh after a loss, in segments */
	void (*on_rto)(struct sl_tcp *c);
	uint32_t (*undo_cwnd)(struct sl_tcp *c); /* cwnd if the reduction was spurious */
	void (*on_idle)(struct sl_tcp *c);       /* sending starts again after an idle time */
};
#define SL_CC_PRIV 8 /* words of private state */

/* State needed only after a loss, retransmission or reordering. */
struct sl_tcp_trouble {
	/* the episode (RFC 5681, 6937, 3522): valid during it, or while its bit in sl_tcp is set */
	uint32_t prior_cwnd, prior_ssthresh;
	uint32_t prr_delivered, prr_out; /* RFC 6937 */
	uint32_t retrans_tsval; /* time stamp of the episode's first retransmission (Eifel) */
	uint32_t undo_marker;   /* snd_una when the window was reduced */
	int32_t undo_retrans;   /* retransmissions without a DSACK so far; -1: there was none yet */
	uint32_t rack_dsack_round;
	struct sl_tcp_board *board; /* tcp_rack.c's; NULL while nothing is missing */
	/* for TCP_INFO */
	uint32_t total_retrans, dsack_dups, reord_seen, rcv_ooopack;
	uint64_t bytes_retrans;
	uint16_t total_rto; /* retransmission time-outs */
};

enum sl_tcp_ca { SL_CA_OPEN, SL_CA_DISORDER, SL_CA_CWR, SL_CA_RECOVERY, SL_CA_LOSS };

struct sl_tcp {
	struct sl_tcp_node node; /* in the host's table; has the key */
	struct sl_timer timer; /* the only timer, set to the nearest deadline below. Must follow the
				  node: sl_tcp_node_of() */
	struct sl_tcp_host *host;
	struct sl_list accept_node; /* in the listener's children, until accepted */
	struct sl_list out_node;    /* in host->out, room, held or trains */

	uint8_t state;  /* enum sl_tcp_state */
	bool orphan;    /* the owner has closed it */
	bool frozen;    /* its state is being read: nothing may change (sl_tcp_repair_freeze) */
	bool tfo_child; /* made by Fast Open, handshake not complete (listener->ntfo) */
	bool tfo_defer; /* SYN_SENT, but the SYN waits for the first write (sl_tcp_fast_open) */
	bool child : 1; /* made by a listener */
	bool syn_data_acked : 1; /* data were sent or received with the SYN */
	bool reported : 1;       /* SL_TCP_EV_CLOSED was sent */
	/* the last write had MSG_MORE: a short last piece waits as under cork */
	bool more : 1;
	bool awake : 1; /* it holds something that sl_tcp_ops.rest() can release */
	bool fin_queued : 1, fin_sent : 1, fin_acked : 1;
	bool fin_rcvd;
	bool rx_shut, tx_shut;
	bool want_out; /* the owner waits for room and must get EV_OUT */
	int16_t error; /* positive errno, reported to the owner once */
	int16_t soft_error;

	/* options agreed with the peer */
	bool ts_ok : 1, wscale_ok : 1, sack_ok : 1, ecn_ok : 1;
	bool ece_owed : 1; /* we must echo CE until CWR comes (RFC 3168) */
	bool cwr_owed : 1;
	bool starved : 1; /* a write found no free frame (tcp_mem.c) */
	uint8_t snd_wscale, rcv_wscale;
	uint8_t quick; /* number of ACKs to send at once */
	uint16_t mss;  /* largest payload to send now, without options present on every segment */
	uint16_t mss_clamp; /* limit from the peer's SYN and TCP_MAXSEG, without options */
	uint16_t adv_mss;   /* what we announced */
	uint16_t last_seg;  /* length of the last short segment received */
	uint16_t rcv_mss;   /* estimated segment size of the peer (delayed ACK, silly window) */
	uint16_t pmtu_mss;  /* limit of the path, 0: unknown */
	uint16_t route_mss; /* limit of the route and its device when last checked */

	/* options of the owner; call sl_tcp_option_changed() after a change */
	bool nodelay : 1, cork : 1, keepalive : 1;
	bool oobinline : 1; /* SO_OOBINLINE: the urgent byte stays in the stream */
	bool rcvbuf_locked : 1, sndbuf_locked : 1; /* set by the program: no auto-tuning */
	uint8_t quickack_user;                     /* 0: not set, 1: off, 2: on (TCP_QUICKACK) */
	uint8_t tos;
	bool urg_in : 1;    /* the stream has an urgent mark at rcv_up, not read past yet */
	bool urg_have : 1;  /* urg_byte holds the urgent byte, not yet taken (EPOLLPRI) */
	bool urg_taken : 1; /* sl_tcp_read_oob() has taken the urgent byte */
	bool urg_out : 1;
	uint32_t cwnd_usage_seq;  /* end of the window that max_in_flight (below) belongs to */
	struct sl_tcp_opts *opts; /* NULL: all zero; sl_tcp_opt(), sl_tcp_opts() */
	uint32_t rcvbuf, sndbuf;  /* bytes of charged memory */
	uint32_t notsent_lowat;   /* 0: use sl_tcp_params */
	uint32_t window_clamp;

	/* send sequence (RFC 9293 figure 3) */
	uint32_t iss, snd_una, snd_nxt, snd_wl1, snd_wl2;
	uint32_t snd_wnd, max_window;
	union {
		uint32_t snd_up;   /* urgent pointer; valid while urg_out */
		uint32_t rx_first; /* while sl_tcp_is_queued(): first received frame, or SL_NO_FRAME
				    */
	};
	uint32_t write_seq; /* after the last queued byte (and FIN) */
	uint32_t snd_sml;   /* after the last short segment sent (Nagle, Minshall) */

	/* send queue: a ring of txsize (power of two) pieces, indexed by tx_una <= tx_nxt <=
	 * tx_tail. tx_nxt is the first piece never sent. */
	struct sl_txseg *tx;
	uint32_t txsize, tx_una, tx_nxt, tx_tail;
	uint32_t wmem; /* bytes charged for the queue */

	/* receive sequence */
	uint32_t irs, rcv_nxt, rcv_wnd, rcv_wup, rcv_up, copied_seq;
	uint32_t rcv_ssthresh; /* current limit for the window */

	/* receive queue */
	struct sl_rxseg *rx;
	uint32_t rxsize, rx_head, rx_tail;
	uint32_t rx_bytes;
	struct sl_ooo *ooo; /* NULL: nothing is missing */
	uint32_t noo;
	uint32_t rmem;             /* bytes charged for both queues */
	struct sl_tcp_block dsack; /* duplicate to report with the next ACK */

	/* time stamps (RFC 7323) */
	uint32_t ts_recent;
	uint32_t ts_off;       /* added to our clock for the time stamps we send */
	uint64_t ts_recent_us; /* when ts_recent was taken */

	/* RTT (RFC 6298), microseconds */
	uint32_t srtt_us, rttvar_us, rto_us, min_rtt_us;
	uint32_t mdev_us,
		mdev_max_us; /* smoothed deviation, and its maximum since rtt_seq was sent */
	uint32_t rtt_seq;
	uint32_t min_rtt_at; /* in units of 2^20 us */

	/* loss detection and recovery (RFC 6675, 8985, 5682) */
	uint8_t ca; /* enum sl_tcp_ca */
	bool rack_reordering : 1;
	bool rack_advanced : 1; /* since RACK last checked for losses */
	bool dsack_round : 1;   /* DSACKs are ignored until rack_dsack_round */
	bool tlp_out : 1, tlp_retrans : 1;
	bool can_undo : 1;        /* undo_marker is set */
	bool retrans_stamped : 1; /* retrans_tsval is set */
	bool cwnd_limited : 1;
	uint8_t dupacks;
	uint8_t frto; /* RFC 5682: 1 the head was sent again, 2 new data were sent, 0 off */
	uint8_t backoff;
	uint8_t retries, probes;
	bool pingpong : 1; /* interactive: delay ACKs */
	bool rcv_push : 1; /* the peer ends its messages with PSH: do not wait long for more */
	bool thin : 1;     /* an ACK is held back: c is in host->trains (tcp_ack.c) */
	bool ack_now, ack_pending;
	uint8_t train; /* full segments in quick succession, saturating */
	uint8_t reo_wnd_mult, reo_wnd_persist;
	bool have_dsack; /* dsack is valid */
	uint8_t nlast_sack;
	uint8_t urg_byte;
	uint32_t tlp_end_seq;
	uint32_t high_seq;                       /* recovery point */
	uint32_t sacked_out, lost_out, retx_out; /* counts of pieces */
	uint32_t rack_end_seq;
	uint64_t rack_sent_us;
	uint32_t rack_rtt_us, rack_fack;
	uint32_t loss_hint; /* no piece below it must be sent again */
	uint32_t rack_hint; /* RACK has checked every piece below it, or it was retransmitted */
	struct sl_tcp_trouble *trouble; /* NULL: no trouble yet; sl_tcp_trouble() */

	/* congestion window (RFC 5681), segments */
	const struct sl_cc *cc;
	uint32_t cwnd, ssthresh, cwnd_cnt;
	uint32_t delivered, lost;
	uint32_t
		rack_delivered; /* value of `delivered` when the piece that arrived last was sent */
	uint32_t cwnd_used, max_in_flight; /* RFC 7661: is the window used? */
	uint64_t cwnd_stamp_us;            /* when the window was last fully used */
	uint64_t last_sent_us;
	union {
		uint64_t cc_priv[SL_CC_PRIV];
		struct { /* for the owner, once the connection is over or frozen for good */
			struct sl_tcp *next;
			uint64_t free_at_ns;
		};
	};

	/* acknowledging */
	uint64_t last_rcv_us;
	uint32_t ato_us;
	uint32_t challenge_at; /* time of the last limited answer in 2^10 us (RFC 5961,
				  tcp_invalid_ratelimit) */

	/* deadlines, 0: not armed; the low 32 bits of the time in us (sl_tcp_at()), except
	 * keep_at */
	union {
		struct {
			uint32_t rto_at, delack_at, persist_at, tlp_at, reo_at, pace_at;
		};
		uint32_t deadlines[6]; /* the same, as an array */
	};
	uint64_t keep_at;
	uint64_t stuck_since_us; /* time of the first unanswered transmission: user timeout,
				    retries2 */

	/* auto-tuning */
	uint32_t rcvq_space, rcvq_seq;
	uint32_t rcvq_time_us; /* low 32 bits of the time, as rcv_rtt_time_us */
	uint32_t rcv_rtt_us, rcv_rtt_seq, rcv_rtt_time_us;

	/* for TCP_INFO */
	uint64_t bytes_acked, bytes_received, bytes_sent;
	uint32_t segs_in, segs_out, data_segs_in, data_segs_out;
	uint64_t born_us;
	uint64_t last_ack_us;                     /* arrival of the last acceptable segment */
	uint64_t delivered_us;                    /* for the delivery rate */
	union {                                   /* `child` tells which */
		struct sl_tcp_listener *listener; /* of a child not yet accepted */
		struct sl_tcp_tfo *tfo; /* tcp_fastopen.c's; NULL once the handshake is over */
	};
};

/* True: c waits to be accepted. */
static inline bool sl_tcp_is_queued(const struct sl_tcp *c)
{
	return c->child && c->listener;
}

/* Note at the start of each received frame of a connection that waits to be accepted. If the
 * process is killed, the unread data can be found by it (tcp_dead.c). */
struct sl_rx_note {
	uint32_t seq;
	uint32_t next; /* frame of the next piece, or SL_NO_FRAME */
	uint16_t off, len;
};

/* Segments that were sent again */
static inline uint32_t sl_tcp_retransmitted(const struct sl_tcp *c)
{
	return c->trouble ? c->trouble->total_retrans : 0;
}

#endif
