/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection block (RFC 9293 3.3.1, "TCB"). Variables have the RFCs' names. Owners embed it
 * and may read it; only lib/tcp writes, except for the fields under "options of the owner". */
#ifndef SL_TCP_CONN_H
#define SL_TCP_CONN_H

#include "tcp/tcp.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_queue.h"

struct sl_cc;
struct sl_tcp_opts;
struct sl_tcp_tfo;
struct sl_tcp_trouble;
union tcp_cc_info;

enum sl_tcp_ca { SL_CA_OPEN, SL_CA_DISORDER, SL_CA_CWR, SL_CA_RECOVERY, SL_CA_LOSS };

#define SL_TCP_UNIT_BITS 10 /* of times with 32 bits that need no more than milliseconds */
#define SL_CC_PRIV       8  /* words of a congestion control's private state */

struct sl_tcp {
	struct sl_tcp_node node; /* in the host's table; has the key */
	struct sl_timer timer; /* the only timer, set to the nearest deadline below. Must follow the
				  node: sl_tcp_node_of() */
	struct sl_tcp_host *host;
	union {
		struct sl_list accept_node; /* in the listener's children, until accepted */
		uint32_t pass_seq;          /* filtered: what is before it may be read */
	};
	struct sl_list out_node; /* in host->out, room, held or trains */

	uint8_t state;  /* enum sl_tcp_state */
	bool orphan;    /* the owner has closed it */
	bool frozen;    /* its state is being read, so nothing may change (sl_tcp_repair_freeze) */
	bool tfo_child; /* made by Fast Open, handshake not complete (tcp_pending.c) */
	bool tfo_defer; /* SYN_SENT, but the SYN waits for the first write (sl_tcp_fast_open) */
	bool child : 1; /* made by a listener */
	bool syn_data_acked : 1; /* data were sent or received with the SYN */
	bool reported : 1;       /* SL_TCP_EV_CLOSED was sent */
	bool more : 1;  /* the last write had MSG_MORE: a short last piece waits as under cork */
	bool awake : 1; /* it holds something that sl_tcp_ops.rest() can release */
	bool fin_queued : 1, fin_sent : 1, fin_acked : 1;
	bool fin_rcvd;
	bool rx_shut, tx_shut;
	/* the owner waits for EV_OUT; the SYN's data go again; sl_tcp_note() was called */
	bool want_out : 1, tfo_again : 1, noted : 1;
	int16_t error; /* positive errno, reported to the owner once */
	int16_t soft_error;

	/* options agreed with the peer */
	bool ts_ok : 1, wscale_ok : 1, sack_ok : 1, ecn_ok : 1;
	bool ece_owed : 1; /* we must echo CE until CWR comes (RFC 3168) */
	bool cwr_owed : 1;
	bool starved : 1;  /* a write found no free frame (tcp_mem.c) */
	bool filtered : 1; /* the owner looks first (tcp_filter.h) */
	uint8_t snd_wscale, rcv_wscale;
	uint8_t quick;      /* number of ACKs to send at once */
	uint16_t mss;       /* largest payload to send now, less the options on every segment */
	uint16_t mss_clamp; /* limit from the peer's SYN and TCP_MAXSEG, without options */
	uint16_t adv_mss;   /* what we announced */
	uint16_t last_seg;  /* length of the last short segment received */
	uint16_t rcv_mss;   /* estimated segment size of the peer (delayed ACK, silly window) */
	uint16_t pmtu_mss;  /* limit of the path, 0: unknown */
	uint16_t route_mss; /* limit of the route and its device when last checked */

	/* options of the owner, which calls sl_tcp_option_changed() after a change. (counted, urg_*
	 * and cwnd_usage_seq stand here to fill gaps; lib/tcp writes them.) */
	bool nodelay : 1, cork : 1, keepalive : 1;
	bool counted : 1;   /* among the orphans (tcp_mem.c) */
	bool expects : 1;   /* counted in host->nexpect (tcp_out.c) */
	bool oobinline : 1; /* SO_OOBINLINE: the urgent byte stays in the stream */
	bool rcvbuf_locked : 1, sndbuf_locked : 1; /* set by the program: no auto-tuning */
	uint8_t quickack_user;                     /* 0: not set, 1: off, 2: on (TCP_QUICKACK) */
	uint8_t tos;
	bool urg_in : 1;    /* the stream has an urgent mark at rcv_up, not read past yet */
	bool urg_have : 1;  /* urg_byte holds the urgent byte, not yet taken (EPOLLPRI) */
	bool urg_taken : 1; /* sl_tcp_read_oob() has taken the urgent byte */
	bool urg_out : 1;
	bool thin_lto : 1;        /* TCP_THIN_LINEAR_TIMEOUTS */
	uint8_t chrono : 2;       /* enum sl_tcp_chrono; lib/tcp writes it, and `blocked` */
	bool blocked : 1;         /* the program had more to write than there was room for */
	uint32_t cwnd_usage_seq;  /* end of the window that max_in_flight (below) belongs to */
	struct sl_tcp_opts *opts; /* NULL: all zero; sl_tcp_opt(), sl_tcp_opts() */
	uint32_t rcvbuf, sndbuf;  /* bytes of charged memory */
	uint32_t notsent_lowat;   /* 0: use sl_tcp_params */
	uint32_t window_clamp;

	/* send sequence (RFC 9293 figure 3) */
	uint32_t iss, snd_una, snd_nxt, snd_wl1;
	uint32_t snd_wnd, max_window, told_at; /* told_at: see sl_tcp_told; 0: not counted there */
	union {
		uint32_t snd_up;   /* urgent pointer; valid while urg_out */
		uint32_t rx_first; /* while sl_tcp_is_queued(): first received frame, or none */
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
	uint32_t ts_off;       /* added to our clock for our time stamps; 0: chosen at the start */
	uint32_t ts_recent_at; /* when ts_recent was taken, in units of 2^20 us */
	uint32_t busy;         /* how long there was something to send, in units of 2^10 us */

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
	uint8_t backoff, retries, probes;
	bool data_follow : 1; /* a call is about to send behind our SYN: let data carry the ACK */
	bool pingpong : 1;    /* interactive: delay ACKs */
	bool rcv_push : 1;    /* the peer ends its messages with PSH: do not wait long for more */
	bool thin : 1;        /* an ACK is held back: c is in host->trains (tcp_ack.c) */
	uint8_t ack_now;      /* SL_TCP_ACK_* */
	uint8_t train;        /* full segments in quick succession, saturating */
	uint8_t reo_wnd_mult, reo_wnd_persist;
	bool ack_pending, have_dsack; /* dsack is valid */
	uint8_t nlast_sack;
	uint8_t urg_byte;
	uint32_t tlp_end_seq;
	uint32_t high_seq;                       /* recovery point */
	uint32_t sacked_out, lost_out, retx_out; /* counts of pieces */
	uint32_t rack_end_seq;
	uint64_t rack_sent_us;
	uint32_t rack_rtt_us, rack_fack;
	uint32_t loss_hint; /* no piece below it needs to be sent again */
	uint32_t rack_hint; /* every piece below it was judged by RACK, or was sent again */
	struct sl_tcp_trouble *trouble; /* NULL: no trouble yet; sl_tcp_trouble() */

	/* congestion window (RFC 5681), segments */
	const struct sl_cc *cc;
	uint32_t cwnd, ssthresh, cwnd_cnt;
	uint32_t delivered, lost;
	uint32_t rack_delivered; /* `delivered` when the piece that arrived last was sent */
	uint32_t cwnd_used, max_in_flight; /* RFC 7661: is the window used? */
	uint32_t cwnd_stamp; /* when the window was last fully used, in units of 2^10 us */
	uint32_t chrono_at;  /* when `chrono` changed, in these units (tcp_chrono.c) */
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
	uint64_t stuck_since_us; /* when the first unanswered segment was sent: user timeout,
				    retries2 */

	/* auto-tuning */
	uint32_t rcvq_space, rcvq_seq;
	uint32_t rcvq_time_us; /* low 32 bits of the time, as rcv_rtt_time_us */
	uint32_t rcv_rtt_us, rcv_rtt_seq, rcv_rtt_time_us; /* rcv_rtt_us: in eighths */

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

/* Makes c, which is zeroed memory, a closed connection of h with the default options. */
void sl_tcp_init(struct sl_tcp *c, struct sl_tcp_host *h);
/* Ends c at once without telling the peer, and frees its queues. Afterwards the memory is the
 * caller's again. */
void sl_tcp_fini(struct sl_tcp *c);
/* OPEN: sends the SYN. 0; -EISCONN (c is not closed), -EADDRINUSE (the key is in use; a TIME_WAIT
 * is reused by RFC 6191), -ENOMEM. */
int sl_tcp_connect(struct sl_tcp *c, const struct sl_tcp_key *key);
/* SHUT_WR: queues FIN after the data. SHUT_RD sends nothing to the peer. In SYN_SENT both end c
 * with ECONNRESET. 0 or -ENOTCONN. */
int sl_tcp_shutdown(struct sl_tcp *c, bool rd, bool wr);
/* CLOSE: the owner gives c up. linger_ms: -1 off, 0 reset, else as SO_LINGER (the caller waits).
 * Unread data: RST (RFC 2525 2.17). False: c->orphan is set and c goes on by itself until
 * SL_TCP_EV_CLOSED. True: c is CLOSED already (the event was sent, orphan is not set): the caller
 * calls sl_tcp_fini() and frees it. */
bool sl_tcp_close(struct sl_tcp *c, int linger_ms);
/* ABORT: RST to the peer where RFC 9293 3.10.5 says so, error for the owner. */
void sl_tcp_abort(struct sl_tcp *c, int err);
/* Call after changing an option (NODELAY, CORK off, rcvbuf, quickack...). */
void sl_tcp_option_changed(struct sl_tcp *c);

/* Selects c's congestion control by name (loss/cc.h). 0 or -ENOENT. Lane held. */
int sl_tcp_set_congestion(struct sl_tcp *c, const char *name);
/* The name of c's congestion control, a constant string. */
const char *sl_tcp_congestion(const struct sl_tcp *c);
/* Fills *info as TCP_CC_INFO gives it. Returns the bytes that are filled; 0: the algorithm has
 * none. */
uint32_t sl_tcp_cc_info(const struct sl_tcp *c, union tcp_cc_info *info);

#endif
