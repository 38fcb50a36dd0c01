/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP (RFC 9293) as a machine: segments, calls and time go in, segments and events come out. It
 * does no I/O, takes no lock and reads no clock: the caller holds the host (a lane) and has set
 * host->now_us. It knows frames (io/frame.h) as the memory of its queues, and nothing of sockets.
 *
 * Objects: a *host* is what the connections of one lane share. A *connection* (struct sl_tcp) is
 * embedded in an object of the caller (a socket, a simulator's). A *request* is a connection of
 * which only a SYN came; it and a TIME_WAIT are small records of the host. A *listener* has
 * requests, and children that wait to be accepted. */
#ifndef SL_TCP_H
#define SL_TCP_H

#include <sys/uio.h>

#include "base/pace.h"
#include "base/timer.h"
#include "io/frame.h"
#include "wire/tcp_seg.h"

struct sl_tcp;
struct sl_tcp_host;
struct sl_tcp_listener;
struct sl_tcp_trouble;

/* Linux' numbers, since TCP_INFO and /proc show them. */
enum sl_tcp_state {
	SL_TCP_ESTABLISHED = 1,
	SL_TCP_SYN_SENT,
	SL_TCP_SYN_RCVD,
	SL_TCP_FIN_WAIT1,
	SL_TCP_FIN_WAIT2,
	SL_TCP_TIME_WAIT,
	SL_TCP_CLOSED,
	SL_TCP_CLOSE_WAIT,
	SL_TCP_LAST_ACK,
	SL_TCP_LISTEN,
	SL_TCP_CLOSING,
};

/* RFC 9293 3.3.2: both sides' sequence numbers are known. TIME_WAIT is a record, no connection. */
static inline bool sl_tcp_is_synchronised(uint8_t state)
{
	switch (state) {
	case SL_TCP_ESTABLISHED:
	case SL_TCP_FIN_WAIT1:
	case SL_TCP_FIN_WAIT2:
	case SL_TCP_CLOSE_WAIT:
	case SL_TCP_LAST_ACK:
	case SL_TCP_CLOSING:
		return true;
	}
	return false;
}

/* Addresses of a connection; IPv4 as ::ffff:a.b.c.d. Host order. */
struct sl_tcp_key {
	struct sl_addr local, remote;
	uint16_t lport, rport;
};

/* 32-bit words of it */
#define SL_TCP_KEY_WORDS 9

static inline bool sl_tcp_key_eq(const struct sl_tcp_key *a, const struct sl_tcp_key *b)
{
	return a->lport == b->lport && a->rport == b->rport && sl_addr_eq(&a->remote, &b->remote) &&
	       sl_addr_eq(&a->local, &b->local);
}

/* The host's table: connections, requests and TIME_WAIT by key. */
enum sl_tcp_kind { SL_TCP_CONN, SL_TCP_REQ, SL_TCP_TW, SL_TCP_LATE };
struct sl_tcp_node {
	struct sl_tcp_node *next;
	struct sl_tcp_key key;
	uint8_t kind;
	bool hashed;
};

/* What a connection tells its owner (sl_tcp_ops.event), in any mix. */
#define SL_TCP_EV_CONNECTED (1u << 0) /* our connect() has succeeded */
#define SL_TCP_EV_IN        (1u << 1) /* data, or the end of them, can be read now */
#define SL_TCP_EV_OUT       (1u << 2) /* room in the send queue again, after there was none */
#define SL_TCP_EV_URG       (1u << 3) /* an urgent pointer is new (SIGURG, EPOLLPRI) */
#define SL_TCP_EV_RDHUP     (1u << 4) /* FIN came */
#define SL_TCP_EV_ERROR     (1u << 5) /* c->error: reset, timed out, unreachable */
#define SL_TCP_EV_SENT      (1u << 6) /* snd_una has moved (MSG_ZEROCOPY, SIOCOUTQ waiters) */
#define SL_TCP_EV_CLOSED                                                                           \
	(1u << 7) /* CLOSED: the host knows it no longer; the last event.                          \
		     When c->orphan the owner frees it now (sl_tcp_fini) */

/* What a route says to TCP. */
struct sl_tcp_route {
	uint16_t mss;      /* allowed: device MTU less IP and TCP header, without options */
	uint16_t adv_mss;  /* to be announced */
	uint8_t init_cwnd; /* segments, 0: it does not say */
};

/* What the core needs of the world. All are called with the host held; none may call back into the
 * connection. */
struct sl_tcp_ops {
	/* Sends a segment of c. Its payload is seg->len bytes at off in frame (SL_NO_FRAME: none),
	 * psum their checksum sum. The frame stays the core's: who sends adds a reference if he
	 * needs it longer. Data at an off above SL_TCP_HEADROOM have others in front of them that
	 * must not be overwritten. False: no room now (sl_tcp_on_room() later). */
	bool (*send)(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		     uint64_t psum);
	/* A segment that belongs to no connection (reset, SYN-ACK, challenge, TIME_WAIT): never has
	 * data, may be lost. l: whose handshake it belongs to, or NULL. scope: of what it answers.
	 * False: it is lost for want of a way, which may be there soon (the neighbour is asked
	 * for).
	 */
	bool (*reply)(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		      const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope);
	/* By which device a segment came, if it alone tells where the peer is (link-local
	 * addresses), else 0. from: what it was received as (opaque, not NULL). May be NULL: there
	 * is one device. */
	uint32_t (*scope)(const struct sl_tcp_key *key, const void *from);
	void (*event)(struct sl_tcp *c, uint32_t events);
	/* c->opts->nic is set: does the NIC keep c's pace? True: the next segment may be posted at
	 * *at_us, which may have passed. False: c is to keep it. NULL where nobody sets that. */
	bool (*paced)(struct sl_tcp *c, uint64_t *at_us);
	/* A connection for a completed handshake of l: memory that holds a struct sl_tcp, zeroed,
	 * with the owner's own fields set. scope: its SYN's. NULL: none to be had (the handshake's
	 * ACK is dropped). */
	struct sl_tcp *(*child_new)(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope);
	/* The child could not be made or accepted after all. */
	void (*child_free)(struct sl_tcp *c);
	/* Memory of SL_TCP_REQ_BYTES for a request of l, NULL: none (the SYN is dropped); and back.
	 * Both may be NULL: malloc(3) has it. */
	void *(*req_new)(struct sl_tcp_listener *l);
	void (*req_free)(void *r);
	/* A child has joined l's accept queue. */
	void (*accept_ready)(struct sl_tcp_listener *l);
	/* c has said nothing for a while: what it holds for sending may go, until send() is called
	 * again. May be NULL. Who has something to give back then sets c->awake in send(). */
	void (*rest)(struct sl_tcp *c);
	/* Of a connection with that key. c: which it is; NULL: a handshake of l's with that scope.
	 */
	struct sl_tcp_route (*route)(struct sl_tcp_host *h, const struct sl_tcp *c,
				     const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				     uint32_t scope);
	/* What the peer's SYN-ACK says to our Fast Open SYN: its MSS, perhaps a cookie, to be kept
	 * for the next time. lost: a SYN without option and data had to do. May be NULL. */
	void (*tfo_answer)(struct sl_tcp *c, const struct sl_tcp_seg *synack, bool lost);
	/* Counters live with the caller: adds n to counter id (enum sl_tcp_count). */
	void (*count)(struct sl_tcp_host *h, unsigned id, uint32_t n);
};

/* What is counted: the list is in stats.def. */
enum sl_tcp_count {
#define SL_STAT(block, name, unit, help)
#define SL_TCP(id, name, unit, help) SL_TCPC_##id,
#include "base/stats.def"
#undef SL_STAT
	SL_TCPC_COUNT
};

/* Settings of all connections: read from /proc/sys/net/ipv4/tcp_* by the caller, so that an
 * offloaded program behaves as the machine is set. sl_tcp_params_default() has Linux' defaults. */
struct sl_tcp_params {
	uint32_t rmem_min, rmem_default, rmem_max; /* tcp_rmem, bytes */
	uint32_t wmem_min, wmem_default, wmem_max;
	uint32_t init_cwnd; /* segments (RFC 6928) */
	uint32_t syn_retries, syn_linear_timeouts, synack_retries, retries2, orphan_retries;
	uint32_t keepalive_time_ms, keepalive_intvl_ms, keepalive_probes;
	uint32_t notsent_lowat;  /* bytes; 0: none */
	uint32_t fin_timeout_ms; /* orphaned FIN_WAIT2 */
	uint32_t rto_min_ms, rto_max_ms;
	uint32_t delack_min_ms, delack_max_ms; /* 40, 200 */
	uint32_t quickack_segs;                /* ACKs sent at once at the start */
	bool quickack;                         /* all are */
	uint32_t quickack_max;    /* then, and with TCP_QUICKACK: not of more payload; 0: any */
	uint32_t ack_every_bytes; /* 0: every second full segment */
	bool timestamps, window_scaling, sack, dsack, ecn_out, ecn_in;
	int8_t wscale_fixed; /* the shift that we announce; -1: what rmem_max needs */
	uint8_t ecn;         /* tcp_ecn: 0, 1, 2 */
	bool moderate_rcvbuf;
	bool abort_on_overflow;
	bool autocorking;
	bool slow_start_after_idle;
	bool frto, recovery_rack, tlp;
	bool tw_reuse;
	bool rfc1337;             /* a reset does not end TIME_WAIT */
	uint8_t syncookies;       /* 0, 1, 2 (always) */
	uint32_t max_syn_backlog; /* of a listener, without cookies */
	uint32_t tfo;             /* tcp_fastopen bits */
	bool mtu_probing;         /* black-hole detection */
	uint32_t base_mss, min_snd_mss;
	uint32_t challenge_ack_limit; /* a second, host wide */
	uint32_t max_syn_rate;        /* the same; more are dropped; 0: any number is taken */
	uint32_t invalid_ratelimit_ms;
	char congestion[16]; /* "cubic" */
	/* ip_local_port_range; 0: only the kernel can choose a port (see sock/tcp_port.c) */
	uint16_t port_min, port_max;
};
extern struct sl_tcp_params sl_tcp_params;
void sl_tcp_params_default(struct sl_tcp_params *p);

/* What is left of a limit of so many a second: sl_tcp_quota_take(). */
struct sl_tcp_quota {
	uint64_t from_us; /* when this second began; 0: none has */
	uint32_t left;
};

/* Queues of data beyond holes, whose frames can be had back (tcp_mem.c). */
#define SL_TCP_MEM_CLASSES 33
struct sl_tcp_mem {
	struct sl_list greedy[SL_TCP_MEM_CLASSES]; /* by the logarithm of what they hold */
	struct sl_list aged;                       /* all of them, the oldest first */
};

/* What the connections of a lane share. */
struct sl_tcp_host {
	const struct sl_tcp_ops *ops;
	struct sl_frames *frames;
	struct sl_wheel wheel;
	uint64_t now_us;                      /* set by the caller before every call */
	uint32_t tsval_ms;                    /* derived from now_us by sl_tcp_set_now() */
	struct sl_tcp_trouble *spare_trouble; /* when there is no memory: what is written is lost */
	struct sl_tcp_node **bucket;          /* power of two; grows */
	uint32_t nbuckets, nnodes;
	struct sl_tcp_node **old_bucket; /* half as many, while they move over; NULL: done */
	uint32_t moved;                  /* how many of those have */
	struct sl_list out;  /* connections that owe an ACK or may send: sl_tcp_flush() */
	struct sl_list room; /* connections whose send() was refused: sl_tcp_on_room() */
	struct sl_list held; /* connections that hold a short piece back: sl_tcp_flush() */
	bool hold;           /* that may do so, this once */
	bool paced; /* somebody waits for its rate: timers are to be punctual. Whoever looks clears
		       it */
	struct sl_list trains; /* connections that hold an ACK back: sl_tcp_end_trains() */
	uint64_t train_us;     /* when the last segment came that one of them did it for */
	uint8_t key[16];       /* secret: ISN, cookies, time stamp offset (RFC 6528, 7323 5.4) */
	uint64_t table_key[SL_TCP_KEY_WORDS + 1]; /* made of it: the table's hash */
	struct sl_tcp_quota challenges;           /* tcp_challenge_ack_limit */
	struct sl_tcp_quota syns;                 /* max_syn_rate */
	uint32_t ntw, nreq;
	void *owner;              /* the lane */
	struct sl_tcp_mem mem;
	struct sl_tcp_late *late; /* answers that found no way yet (tcp_late.c); NULL: never any */
};

int sl_tcp_host_init(struct sl_tcp_host *h, const struct sl_tcp_ops *ops, struct sl_frames *frames,
		     const uint8_t secret[16], uint64_t now_us, void *owner);
/* Frees tables and records. Connections must have been ended before. */
void sl_tcp_host_fini(struct sl_tcp_host *h);
static inline void sl_tcp_set_now(struct sl_tcp_host *h, uint64_t now_us)
{
	h->now_us = now_us;
}

/* Expires timers that are due. Returns the time of the next call at the latest, UINT64_MAX: none.
 */
uint64_t sl_tcp_run_timers(struct sl_tcp_host *h);
/* Sends what connections owe after a batch of input or calls (ACKs, data that the window now
 * allows). Once at the end of a turn or a call. With h->hold, which is taken back, a short piece at
 * the end of a queue waits, whatever TCP_NODELAY says: who sets it knows that the program is about
 * to write more, and sees that this is called again soon (tcp_autocorking of Linux, where what
 * waits for it is the device). */
void sl_tcp_flush(struct sl_tcp_host *h);
/* When nothing has come for a moment: puts the connections that hold an ACK back among those that
 * sl_tcp_flush() lets send. now: at once. False: there are none, or it is too early. Who does not
 * call this sends them a tick of the wheel later. */
bool sl_tcp_end_trains(struct sl_tcp_host *h, bool now);
/* Frames are short, perhaps: gives back of what peers can send again (tcp_mem.c). */
void sl_tcp_relieve(struct sl_tcp_host *h);
/* There is room to send again. */
void sl_tcp_on_room(struct sl_tcp_host *h);

/* Input ---------------------------------------------------------------------------------------- */

/* A received segment for key (local is ours), its payload in frame at off. from: opaque, for
 * ops->reply. l: the listener on the local port, or NULL. The table decides: connection, request,
 * TIME_WAIT, else the listener, else a reset (RFC 9293 3.10.7). Returns whether the frame was
 * kept (the caller's reference is then the core's). */
bool sl_tcp_input(struct sl_tcp_host *h, const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
		  uint32_t frame, uint16_t off, struct sl_tcp_listener *l, void *from);
/* The same when the connection is known already (the slot of the steering program). */
bool sl_tcp_conn_input(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		       void *from);
/* The connection of that key, or NULL (also for requests and TIME_WAIT). */
struct sl_tcp *sl_tcp_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* Is that a connection here, or was one, or is about to be? */
bool sl_tcp_knows(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* The route to c's peer, or its device, may have another MTU now. */
void sl_tcp_route_changed(struct sl_tcp *c);
/* ICMP for a segment of c with sequence number seq: err as Linux maps it (ECONNREFUSED,
 * EHOSTUNREACH, ...), hard or soft; mtu above 0: fragmentation needed, the next hop's MTU less the
 * IP header. RFC 5927: what is not in flight is ignored. */
void sl_tcp_icmp(struct sl_tcp *c, uint32_t seq, int err, bool hard, uint32_t mtu);

/* Calls ---------------------------------------------------------------------------------------- */

/* Makes c (zeroed memory) a closed connection of h with the defaults. */
void sl_tcp_init(struct sl_tcp *c, struct sl_tcp_host *h);
/* Ends it at once without a word to the peer, frees queues. The memory is the caller's again. */
void sl_tcp_fini(struct sl_tcp *c);

/* OPEN: sends SYN. 0; -EADDRINUSE (the key is taken; a TIME_WAIT is reused by RFC 6191), -ENOMEM.
 */
int sl_tcp_connect(struct sl_tcp *c, const struct sl_tcp_key *key);
/* Before sl_tcp_connect(): Fast Open with that cookie, which lets the SYN wait for the first
 * sl_tcp_write(), also one of no bytes; with len 0 the SYN asks for one. without: no option, the
 * data go nevertheless. mss: of an earlier connection to the peer, 0: not known. 0, -ENOMEM,
 * -EINVAL. */
int sl_tcp_fast_open(struct sl_tcp *c, const void *cookie, uint8_t len, bool without, uint16_t mss);
/* SEND: copies from iov, skipping the first `skip` bytes. Returns bytes taken (0: queue full; less
 * than there are: send what was taken, see what has come, call again),
 * -EPIPE after shutdown, -c->error once, -ENOTCONN. oob: the last byte is urgent. more: MSG_MORE.
 * What goes out at once does so in sl_tcp_flush(). */
long sl_tcp_write(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t skip, bool more,
		  bool oob);
/* The same, without flags, for bytes that lengthen a short segment which waits, and will go on
 * waiting, for an earlier short one to be acknowledged (Nagle): nothing is to be sent, so neither
 * the time nor sl_tcp_flush() is needed. False: it is not so, and nothing was taken. */
bool sl_tcp_append(struct sl_tcp *c, const void *buf, size_t len);
/* RECEIVE: copies up to the length of iov; 0: nothing there (look at sl_tcp_at_eof()). peek leaves
 * it; trunc discards instead of copying; stops at the urgent mark as Linux does. */
long sl_tcp_read(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t peek_off, bool peek,
		 bool trunc);
/* The urgent byte: 1 and *b; 0: not arrived yet (EAGAIN); -EINVAL: none. */
int sl_tcp_read_oob(struct sl_tcp *c, uint8_t *b, bool peek);
bool sl_tcp_at_mark(const struct sl_tcp *c);
bool sl_tcp_at_eof(const struct sl_tcp *c);       /* everything was read, and FIN or an end came */
uint32_t sl_tcp_readable(const struct sl_tcp *c); /* bytes that can be read now */
uint32_t sl_tcp_inq(const struct sl_tcp *c);      /* FIONREAD */
/* SIOCOUTQ, SIOCOUTQNSD: SYN and FIN count, as in Linux. */
uint32_t sl_tcp_outq(const struct sl_tcp *c, bool unsent);
bool sl_tcp_is_readable(const struct sl_tcp *c, uint32_t lowat); /* as poll(2) sees it */
uint32_t sl_tcp_unsent(const struct sl_tcp *c);                  /* SIOCOUTQNSD */
uint32_t sl_tcp_unacked(const struct sl_tcp *c); /* SIOCOUTQ: written, not acknowledged */
uint32_t
sl_tcp_write_room(const struct sl_tcp *c); /* bytes; 0: full. Writable as sk_stream_is_writeable */
/* Is there not enough room yet to wake a writer that waits (sk_stream_write_space())? Then there
 * will be SL_TCP_EV_OUT. */
bool sl_tcp_is_short(struct sl_tcp *c);
/* SHUT_WR: FIN after the data. 0 or -ENOTCONN. SHUT_RD needs nothing of the peer. */
int sl_tcp_shutdown(struct sl_tcp *c, bool rd, bool wr);
/* CLOSE: the owner lets go. linger_ms: -1 off, 0 reset, else as SO_LINGER (the waiting is the
 * caller's). Unread data: RST (RFC 2525 2.17). c->orphan is set: it goes on by itself until
 * SL_TCP_EV_CLOSED. True: it is CLOSED already (the event has come, orphan is not set): the memory
 * is the caller's to sl_tcp_fini() and free. */
bool sl_tcp_close(struct sl_tcp *c, int linger_ms);
/* ABORT: RST to the peer where RFC 9293 3.10.5 says so, error for the owner. */
void sl_tcp_abort(struct sl_tcp *c, int err);
/* Options that are to be written: never NULL, but without memory they are soon forgotten. */
struct sl_tcp_opts *sl_tcp_opts(struct sl_tcp *c);
/* Of the Ethernet frame of a segment with so many bytes: a pace is that of frames, as of datagrams
 * and as a NIC keeps it. */
uint32_t sl_tcp_frame_bytes(const struct sl_tcp *c, uint32_t payload);
/* Someone changed an option (NODELAY, CORK off, rcvbuf, quickack...): do what follows from it. */
void sl_tcp_option_changed(struct sl_tcp *c);
/* 0 or -ENOENT. The table's name becomes c's algorithm. */
int sl_tcp_set_congestion(struct sl_tcp *c, const char *name);
const char *sl_tcp_congestion(const struct sl_tcp *c);
/* Names of all algorithms, in order; NULL at the end. */
const char *const *sl_tcp_congestions(void);
struct tcp_info;
void sl_tcp_info(const struct sl_tcp *c, struct tcp_info *info); /* linux/tcp.h's, all we know */
/* What newer kernels have behind tcpi_snd_wnd, in their order. */
struct sl_tcp_info_more {
	uint32_t rcv_wnd, rehash;
	uint16_t total_rto, total_rto_recoveries;
	uint32_t total_rto_time_ms;
};
void sl_tcp_info_more(const struct sl_tcp *c, struct sl_tcp_info_more *more);

/* Listening ------------------------------------------------------------------------------------ */

/* Options that few programs set. */
struct sl_tcp_opts {
	uint16_t user_mss;                                 /* TCP_MAXSEG, 0: none */
	uint16_t syncnt;                                   /* TCP_SYNCNT, 0: params */
	uint32_t keep_time_ms, keep_intvl_ms, keep_probes; /* 0: params */
	uint32_t user_timeout_ms;
	uint32_t linger2_ms; /* TCP_LINGER2; UINT32_MAX: close FIN_WAIT2 at once */
	struct sl_pace pace; /* SO_MAX_PACING_RATE, of frames */
	/* Of the owner's, who may have a NIC that keeps the pace: ops->paced() is to be asked, and
	 * when the segment that was given to the NIC last leaves it; 0: none was. */
	bool nic;
	uint8_t init_cwnd; /* sl_tcp_route, 0: params */
	uint64_t leaves_us;
};

struct sl_tcp_listener {
	struct sl_list children; /* established, to be accepted; nodes are sl_tcp.accept_node */
	struct sl_list requests; /* oldest first */
	uint32_t nchildren, nrequests;
	uint32_t backlog;        /* as listen(2) clamps it; Linux accepts backlog + 1 */
	uint32_t defer_accept_s; /* TCP_DEFER_ACCEPT, 0: off */
	uint32_t tfo_qlen;       /* TCP_FASTOPEN, 0: off */
	uint32_t ntfo;
	bool tfo_no_cookie;   /* TCP_FASTOPEN_NO_COOKIE: data with a SYN are believed */
	uint64_t overflow_us; /* of the last overflow: cookies are accepted for a while */
	/* inherited by children */
	uint32_t rcvbuf, sndbuf, window_clamp;
	bool nodelay, keepalive, rcvbuf_locked, sndbuf_locked;
	struct sl_tcp_opts opts;
	char congestion[16];
	bool closed; /* no more children */
	bool holds;  /* SYNs wait for their answer */
	void *owner;
};
void sl_tcp_listener_init(struct sl_tcp_listener *l);
/* From now on a SYN makes a request that is not answered, so that nothing follows it; one that
 * finds no room is dropped. Until false: then they are answered. */
void sl_tcp_listener_hold(struct sl_tcp_host *h, struct sl_tcp_listener *l, bool hold);
/* The keys of up to n requests, of those alone that were answered or were not; how many. */
uint32_t sl_tcp_listener_keys(const struct sl_tcp_listener *l, bool held, struct sl_tcp_key *keys,
			      uint32_t n);
/* Takes the oldest child, or NULL. */
struct sl_tcp *sl_tcp_accept(struct sl_tcp_host *h, struct sl_tcp_listener *l);
/* Resets children that were not accepted, forgets requests. */
void sl_tcp_listener_fini(struct sl_tcp_host *h, struct sl_tcp_listener *l);

/* Hand-back and take-over ---------------------------------------------------------------------- */

/* All that TCP_REPAIR needs (net/ipv4/tcp.c, CRIU's soccr): a synchronised connection as the kernel
 * would have it. The queues stay in c: read them by sl_tcp_repair_*. Sequence numbers count bytes
 * only: a FIN, sent or received, is a flag beside them. */
struct sl_tcp_repair {
	struct sl_tcp_key key;
	uint8_t state;    /* enum sl_tcp_state */
	uint32_t snd_nxt; /* of the first byte not in the send queue: snd_una + bytes queued */
	uint32_t snd_una, rcv_nxt; /* rcv_nxt: after the bytes of the receive queue */
	uint32_t snd_wl1, snd_wnd, max_window, rcv_wnd, rcv_wup;
	uint32_t unsent; /* bytes at the end of the send queue that were never sent */
	uint32_t sndq, rcvq;
	uint32_t sndbuf, rcvbuf; /* sizes as SO_SNDBUF and SO_RCVBUF read */
	uint16_t mss_clamp;
	uint8_t snd_wscale, rcv_wscale;
	bool wscale_ok, sack_ok, ts_ok, ecn_ok;
	bool fin_sent, fin_rcvd, fin_queued;
	bool rx_shut;   /* shutdown(2) for reading; not what a FIN of the peer's means */
	uint32_t tsval; /* what TCP_TIMESTAMP is to be set to */
	uint32_t ts_recent;
	uint32_t scope_id; /* the caller's: interface of link-local addresses */
};
/* False: not in a state that the kernel can take (not synchronised). */
bool sl_tcp_repair_get(const struct sl_tcp *c, struct sl_tcp_repair *r);
/* A SYN of ours that is not answered, so that the kernel can send it once more if it has taken data
 * along. `data`: room for SL_TCP_SYN_MAX bytes. */
#define SL_TCP_SYN_MAX 4096 /* what a frame has room for */
struct sl_tcp_repair_syn {
	uint32_t iss;
	uint32_t tsval;    /* of its option; only if ts_ok */
	uint32_t bytes;    /* of data */
	uint16_t mss;      /* that such a SYN takes for the peer's, with room for options */
	uint16_t user_mss; /* TCP_MAXSEG, 0: none */
	bool ts_ok;
};
void sl_tcp_repair_get_syn(const struct sl_tcp *c, struct sl_tcp_repair_syn *syn, void *data);
/* Copies up to n bytes from `at` of the send or receive queue; how many. */
uint32_t sl_tcp_repair_sndq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n);
uint32_t sl_tcp_repair_rcvq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n);
/* Of a closed connection that has something to be read: key, rcv_nxt and rcvq, and else what makes
 * a possible connection without options. */
void sl_tcp_repair_get_closed(const struct sl_tcp *c, struct sl_tcp_repair *r);
/* Nothing changes c any more: what comes for it is dropped, it sends nothing, calls find queues
 * full or empty. So the state may be read without holding the host, until sl_tcp_fini(), or
 * sl_tcp_repair_thaw(), after which it goes on as if nothing had been. False: not synchronised,
 * nothing was done. */
bool sl_tcp_repair_freeze(struct sl_tcp *c);
void sl_tcp_repair_thaw(struct sl_tcp *c);
/* It lives elsewhere: its queues are freed. It stays in the table for what is still under way to
 * it, which is dropped, until sl_tcp_fini(). Host held. */
void sl_tcp_repair_gone(struct sl_tcp *c);
/* Makes c (initialised) a connection in that state: set, then all of the queues in pieces of any
 * size, then start, from which on it lives. 0, -EINVAL (not a possible state; the queues are not
 * complete), -EADDRINUSE, -ENOMEM: c is to be ended by sl_tcp_fini(). */
int sl_tcp_repair_set(struct sl_tcp *c, const struct sl_tcp_repair *r);
/* Before that, and before its state is known: c is in the table, frozen. -EADDRINUSE, -ENOMEM. It
 * is frozen still after sl_tcp_repair_start(), until sl_tcp_repair_thaw(). */
int sl_tcp_repair_reserve(struct sl_tcp *c, const struct sl_tcp_key *key);
int sl_tcp_repair_add_sndq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_add_rcvq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_start(struct sl_tcp *c, const struct sl_tcp_repair *r);

/* Of the dead (tcp_dead.c) --------------------------------------------------------------------- */

#define SL_TCP_BYTES sizeof(struct sl_tcp)
/* A number for the form of these bytes: another build's is another one. */
uint32_t sl_tcp_repair_form(void);

/* Packet memory, and whose of its frames are believed. */
struct sl_tcp_frames {
	const uint8_t *base;
	const union sl_frame_word *word;
	uint32_t nframes, shift;
	uint8_t owner;
};
/* What a connection was whose process is dead. */
struct sl_tcp_dead {
	struct sl_tcp_repair r;
	bool orphan; /* its program had closed it */
	bool queued; /* nobody had accepted it, and of r.rcvq bytes we know where they are: */
	uint32_t first, start; /* the first frame, and its sequence number */
	uint32_t urgent;       /* which byte of them no read would return; UINT32_MAX: none */
};
/* Makes it of the bytes that the connection was, of which nothing is believed. m: for the bytes of
 * those that wait to be accepted; NULL: these are taken as all others are. False when something is
 * in the queues (they have died with the process), it is frozen, or no kernel would take it. */
bool sl_tcp_repair_dead(const void *bytes, uint64_t now_us, const struct sl_tcp_frames *m,
			struct sl_tcp_dead *d);
/* Where such a connection was, whatever is in its queues: what it would have sent and awaited next.
 * False: that is not known, or no longer its own (frozen). */
struct sl_tcp_ends {
	uint32_t snd_nxt, rcv_nxt;
};
bool sl_tcp_dead_ends(const void *bytes, struct sl_tcp_ends *ends);
/* As sl_tcp_repair_dead(), of a request: its handshake was answered, and whether the peer knows
 * that is to be seen: his window is 0 until he speaks. False: it was not answered, or is over. */
#define SL_TCP_REQ_BYTES 232
bool sl_tcp_repair_dead_req(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d);
/* Copies what was not read, from the first byte on, in pieces of any size. */
struct sl_tcp_unread {
	const struct sl_tcp_frames *m;
	uint32_t frame, begin; /* of the piece, and its sequence number */
	uint32_t seq;          /* of the next byte */
	uint32_t skip;         /* of the urgent one */
	bool skips;
};
struct sl_tcp_unread sl_tcp_unread_of(const struct sl_tcp_dead *d, const struct sl_tcp_frames *m);
uint32_t sl_tcp_unread_copy(struct sl_tcp_unread *u, void *buf, uint32_t n);

#include "tcp/tcp_conn.h"

#endif
