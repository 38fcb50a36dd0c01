/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP (RFC 9293) as a state machine: segments, calls and time go in, segments and events come out.
 * It does no I/O, takes no lock and reads no clock: the caller holds the host (a lane) and has set
 * host->now_us. It uses frames (io/frame.h) as memory for its queues and knows nothing of sockets.
 *
 * Objects: a *host* holds the state that the connections of one lane share. A *connection* (struct
 * sl_tcp) is embedded in an object of the caller (a socket, a simulator's). A *request* is a
 * handshake for which only a SYN came; requests and TIME_WAIT are small records of the host. A
 * *listener* has requests, and children that wait to be accepted. */
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

/* size of struct sl_tcp_key in 32-bit words */
#define SL_TCP_KEY_WORDS 9

static inline bool sl_tcp_key_eq(const struct sl_tcp_key *a, const struct sl_tcp_key *b)
{
	return a->lport == b->lport && a->rport == b->rport && sl_addr_eq(&a->remote, &b->remote) &&
	       sl_addr_eq(&a->local, &b->local);
}

/* An entry of the host's table: a connection, request or TIME_WAIT by its key. */
enum sl_tcp_kind { SL_TCP_CONN, SL_TCP_REQ, SL_TCP_TW, SL_TCP_LATE };
struct sl_tcp_node {
	struct sl_tcp_node *next;
	struct sl_tcp_key key;
	uint8_t kind;
	bool hashed;
};

/* Events that a connection reports to its owner (sl_tcp_ops.event), combined as bits. */
#define SL_TCP_EV_CONNECTED (1u << 0) /* our connect() has succeeded */
#define SL_TCP_EV_IN        (1u << 1) /* data, or their end, can be read now */
#define SL_TCP_EV_OUT       (1u << 2) /* room in the send queue again, after there was none */
#define SL_TCP_EV_URG       (1u << 3) /* a new urgent pointer came (SIGURG, EPOLLPRI) */
#define SL_TCP_EV_RDHUP     (1u << 4) /* FIN came */
#define SL_TCP_EV_ERROR     (1u << 5) /* c->error: reset, timed out, unreachable */
#define SL_TCP_EV_SENT      (1u << 6) /* snd_una has moved (MSG_ZEROCOPY, SIOCOUTQ waiters) */
#define SL_TCP_EV_CLOSED                                                                           \
	(1u << 7) /* CLOSED: the host knows it no longer; the last event.                          \
		     When c->orphan the owner frees it now (sl_tcp_fini) */

/* TCP's view of a route. */
struct sl_tcp_route {
	uint16_t mss;      /* largest to send: device MTU less IP and TCP header, without options */
	uint16_t adv_mss;  /* MSS to announce */
	uint8_t init_cwnd; /* segments, 0: the route sets none */
};

/* Callbacks of the core. Each is called with the host held; none may call back into the
 * connection. */
struct sl_tcp_ops {
	/* Sends a segment of c. Its payload is seg->len bytes at off in frame (SL_NO_FRAME: none),
	 * psum their checksum sum. The frame belongs to the core: a callback that needs it longer
	 * adds a reference. If off is above SL_TCP_HEADROOM, other data lie in front of the
	 * payload and must not be overwritten. False: no room now (call sl_tcp_on_room() later). */
	bool (*send)(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		     uint64_t psum);
	/* Sends a segment that belongs to no connection (reset, SYN-ACK, challenge, TIME_WAIT):
	 * never has data, may be lost. l: the listener whose handshake it belongs to, or NULL.
	 * scope: that of the segment it answers. False: lost because there is no way to send it,
	 * but there may be one soon (the neighbour is being resolved). */
	bool (*reply)(struct sl_tcp_host *h, const struct sl_tcp_listener *l,
		      const struct sl_tcp_key *key, const struct sl_tcp_seg *seg, uint32_t scope);
	/* ifindex of the device that a segment came by, if the peer's address alone does not
	 * identify it (link-local addresses), else 0. from: opaque, as passed to the input
	 * function, not NULL. The callback may be NULL: there is only one device. */
	uint32_t (*scope)(const struct sl_tcp_key *key, const void *from);
	void (*event)(struct sl_tcp *c, uint32_t events);
	/* Asked while c->opts->nic is set. True: the NIC paces c; post the next segment at *at_us,
	 * which may be past. False: c must pace itself. NULL if no owner sets opts->nic. */
	bool (*paced)(struct sl_tcp *c, uint64_t *at_us);
	/* Allocates a connection for a completed handshake of l: zeroed memory with a struct
	 * sl_tcp, and the owner's own fields set. scope: that of the SYN. NULL: no memory (the
	 * handshake's ACK is dropped). */
	struct sl_tcp *(*child_new)(struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				    uint32_t scope);
	/* Frees a child that could not be made or accepted. */
	void (*child_free)(struct sl_tcp *c);
	/* Allocate and free SL_TCP_REQ_BYTES for a request of l. NULL: no memory (the SYN is
	 * dropped). Both callbacks may be NULL: malloc(3) is used. */
	void *(*req_new)(struct sl_tcp_listener *l);
	void (*req_free)(void *r);
	/* Tells that a child has joined l's accept queue. */
	void (*accept_ready)(struct sl_tcp_listener *l);
	/* Tells that c has been quiet for a while: the owner may release what it holds for
	 * sending, until the next send(). May be NULL. Called only if send() has set c->awake. */
	void (*rest)(struct sl_tcp *c);
	/* The route for a key. c: the connection; NULL: a handshake of l with that scope. */
	struct sl_tcp_route (*route)(struct sl_tcp_host *h, const struct sl_tcp *c,
				     const struct sl_tcp_listener *l, const struct sl_tcp_key *key,
				     uint32_t scope);
	/* Reports the peer's answer to our Fast Open SYN: its MSS, and perhaps a cookie to keep
	 * for next time. lost: the peer answered only a SYN without option and data. May be NULL.
	 */
	void (*tfo_answer)(struct sl_tcp *c, const struct sl_tcp_seg *synack, bool lost);
	/* Adds n to counter id (enum sl_tcp_count); the caller keeps the counters. */
	void (*count)(struct sl_tcp_host *h, unsigned id, uint32_t n);
};

/* Counters; stats.def lists them. */
enum sl_tcp_count {
#define SL_STAT(block, name, unit, help)
#define SL_TCP(id, name, unit, help) SL_TCPC_##id,
#include "base/stats.def"
#undef SL_STAT
	SL_TCPC_COUNT
};

/* Settings for all connections. The caller reads them from /proc/sys/net/ipv4/tcp_*, so that an
 * offloaded program behaves as the machine is configured. sl_tcp_params_default() sets Linux'
 * defaults. */
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
	uint32_t quickack_segs;                /* ACKs sent at once at the start of a connection */
	bool quickack;                         /* send every ACK at once */
	uint32_t quickack_max; /* quickack and TCP_QUICKACK apply to segments of up to this payload;
				  0: any */
	uint32_t ack_every_bytes; /* send an ACK after so many bytes; 0: after every second full
				     segment */
	bool timestamps, window_scaling, sack, dsack, ecn_out, ecn_in;
	int8_t wscale_fixed; /* window shift to announce; -1: as rmem_max needs */
	uint8_t ecn;         /* tcp_ecn: 0, 1, 2 */
	bool moderate_rcvbuf;
	bool abort_on_overflow;
	bool autocorking;
	bool slow_start_after_idle;
	bool frto, recovery_rack, tlp;
	bool tw_reuse;
	bool rfc1337;             /* a reset does not end TIME_WAIT */
	uint8_t syncookies;       /* 0, 1, 2 (always) */
	uint32_t max_syn_backlog; /* requests of a listener, without cookies */
	uint32_t tfo;             /* tcp_fastopen bits */
	bool mtu_probing;         /* black-hole detection */
	uint32_t base_mss, min_snd_mss;
	uint32_t challenge_ack_limit; /* per second, for the whole host */
	uint32_t max_syn_rate;        /* SYNs per second, the rest is dropped; 0: no limit */
	uint32_t invalid_ratelimit_ms;
	char congestion[16]; /* "cubic" */
	/* ip_local_port_range; 0: only the kernel can choose a port number (see
	 * sock/stream/tcp_port.c) */
	uint16_t port_min, port_max;
};
extern struct sl_tcp_params sl_tcp_params;
void sl_tcp_params_default(struct sl_tcp_params *p);

/* A limit per second: sl_tcp_quota_take(). */
struct sl_tcp_quota {
	uint64_t from_us; /* start of the current second; 0: none yet */
	uint32_t left;
};

/* Queues of data beyond holes: tcp_mem.c can drop them to free frames. */
#define SL_TCP_MEM_CLASSES 33
struct sl_tcp_mem {
	struct sl_list
		greedy[SL_TCP_MEM_CLASSES]; /* by the logarithm of the memory that they hold */
	struct sl_list aged;                /* all of them, oldest first */
};

/* State that the connections of a lane share. */
struct sl_tcp_host {
	const struct sl_tcp_ops *ops;
	struct sl_frames *frames;
	struct sl_wheel wheel;
	uint64_t now_us;   /* set by the caller before every call */
	uint32_t tsval_ms; /* derived from now_us by sl_tcp_set_now() */
	struct sl_tcp_trouble
		*spare_trouble; /* used when there is no memory: values written to it are lost */
	struct sl_tcp_node **bucket; /* power of two; grows */
	uint32_t nbuckets, nnodes;
	struct sl_tcp_node **old_bucket; /* old table, half the size, while its entries move to the
					    new one; NULL: none */
	uint32_t moved;                  /* buckets of the old table already moved */
	struct sl_list out;  /* connections that owe an ACK or may send: sl_tcp_flush() */
	struct sl_list room; /* connections whose send() was refused: sl_tcp_on_room() */
	struct sl_list held; /* connections that hold a short piece back: sl_tcp_flush() */
	bool hold;           /* allows holding back in the next sl_tcp_flush() */
	bool paced; /* a connection waits for its rate, so timers must be punctual. The reader
		       clears it */
	struct sl_list trains; /* connections that hold an ACK back: sl_tcp_end_trains() */
	uint64_t train_us;     /* arrival of the last segment whose ACK was held back */
	uint8_t key[16];       /* secret: ISN, cookies, time stamp offset (RFC 6528, 7323 5.4) */
	uint64_t table_key[SL_TCP_KEY_WORDS + 1]; /* derived from key: hash of the table */
	struct sl_tcp_quota challenges;           /* tcp_challenge_ack_limit */
	struct sl_tcp_quota syns;                 /* max_syn_rate */
	uint32_t ntw, nreq;
	void *owner; /* the lane */
	struct sl_tcp_mem mem;
	struct sl_tcp_late
		*late; /* answers that could not be sent yet (tcp_late.c); NULL: never any */
};

int sl_tcp_host_init(struct sl_tcp_host *h, const struct sl_tcp_ops *ops, struct sl_frames *frames,
		     const uint8_t secret[16], uint64_t now_us, void *owner);
/* Frees tables and records. End all connections before. */
void sl_tcp_host_fini(struct sl_tcp_host *h);
static inline void sl_tcp_set_now(struct sl_tcp_host *h, uint64_t now_us)
{
	h->now_us = now_us;
}

/* Runs the timers that are due. Returns when to call it again at the latest, UINT64_MAX: no
 * timer. */
uint64_t sl_tcp_run_timers(struct sl_tcp_host *h);
/* Sends what connections owe after a batch of input or calls (ACKs, data that the window now
 * allows). Call once at the end of a turn or a call. If h->hold is set (it is cleared), a short
 * piece at the end of a queue waits, even with TCP_NODELAY: a caller sets it when the program is
 * about to write more, and must call this again soon (like tcp_autocorking of Linux, which waits
 * for the device instead). */
void sl_tcp_flush(struct sl_tcp_host *h);
/* Call when nothing has come for a moment: lets sl_tcp_flush() send the ACKs that connections hold
 * back. now: without waiting longer. False: there are none, or it is too early. Without this call
 * they are sent one wheel tick later. */
bool sl_tcp_end_trains(struct sl_tcp_host *h, bool now);
/* Frees data that peers can send again, if frames are short (tcp_mem.c). */
void sl_tcp_relieve(struct sl_tcp_host *h);
/* Call when there is room to send again. */
void sl_tcp_on_room(struct sl_tcp_host *h);

/* Input ---------------------------------------------------------------------------------------- */

/* Handles a received segment for key (local is ours) with its payload in frame at off. from:
 * opaque, for ops->scope. l: the listener on the local port number, or NULL. The table decides:
 * connection, request, TIME_WAIT, else the listener, else a reset (RFC 9293 3.10.7). True: the
 * frame was kept (the caller's reference is then the core's). */
bool sl_tcp_input(struct sl_tcp_host *h, const struct sl_tcp_key *key, const struct sl_tcp_seg *seg,
		  uint32_t frame, uint16_t off, struct sl_tcp_listener *l, void *from);
/* Like sl_tcp_input(), when the connection is known already (by the steering program's slot). */
bool sl_tcp_conn_input(struct sl_tcp *c, const struct sl_tcp_seg *seg, uint32_t frame, uint16_t off,
		       void *from);
/* The connection with that key. NULL also for requests and TIME_WAIT. */
struct sl_tcp *sl_tcp_find(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* True: the table has a connection, request or TIME_WAIT with that key. */
bool sl_tcp_knows(struct sl_tcp_host *h, const struct sl_tcp_key *key);
/* Call when the MTU of the route to c's peer, or of its device, may have changed. */
void sl_tcp_route_changed(struct sl_tcp *c);
/* Handles an ICMP error for a segment of c with sequence number seq: err as Linux maps it
 * (ECONNREFUSED, EHOSTUNREACH, ...), hard or soft; mtu above 0: fragmentation needed, the next
 * hop's MTU less the IP header. Ignores segments that are not in flight (RFC 5927). */
void sl_tcp_icmp(struct sl_tcp *c, uint32_t seq, int err, bool hard, uint32_t mtu);

/* Calls ---------------------------------------------------------------------------------------- */

/* Makes c (zeroed memory) a closed connection of h with the defaults. */
void sl_tcp_init(struct sl_tcp *c, struct sl_tcp_host *h);
/* Ends c at once without telling the peer, and frees its queues. The memory is the caller's
 * again. */
void sl_tcp_fini(struct sl_tcp *c);

/* OPEN: sends SYN. 0; -EADDRINUSE (the key is in use; a TIME_WAIT is reused by RFC 6191),
 * -ENOMEM. */
int sl_tcp_connect(struct sl_tcp *c, const struct sl_tcp_key *key);
/* Call before sl_tcp_connect() for Fast Open. With a cookie, the SYN waits for the first
 * sl_tcp_write(), which may be of no bytes; with len 0 the SYN asks for a cookie. without: send
 * data but no option. mss: from an earlier connection to the peer, 0: unknown. 0, -ENOMEM,
 * -EINVAL. */
int sl_tcp_fast_open(struct sl_tcp *c, const void *cookie, uint8_t len, bool without, uint16_t mss);
/* SEND: copies from iov, skipping the first `skip` bytes. Returns the bytes taken (0: queue full;
 * less than given: flush, receive, and call again), -EPIPE after shutdown, -c->error once,
 * -ENOTCONN. oob: the last byte is urgent. more: MSG_MORE. sl_tcp_flush() sends the segments that
 * can leave at once. */
long sl_tcp_write(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t skip, bool more,
		  bool oob);
/* Adds bytes to a short segment that waits, and will go on waiting, until an earlier short one is
 * acknowledged (Nagle). Nothing is sent, so neither the time nor sl_tcp_flush() is needed. False:
 * there is no such segment, nothing was taken. */
bool sl_tcp_append(struct sl_tcp *c, const void *buf, size_t len);
/* RECEIVE: copies up to the length of iov; 0: no data (check sl_tcp_at_eof()). peek leaves the
 * data; trunc discards them instead of copying; stops at the urgent mark as Linux does. */
long sl_tcp_read(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t peek_off, bool peek,
		 bool trunc);
/* Reads the urgent byte: 1 and *b; 0: not arrived yet (EAGAIN); -EINVAL: none. */
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
/* True: there is not yet enough room to wake a waiting writer (sk_stream_write_space());
 * SL_TCP_EV_OUT will tell when there is. */
bool sl_tcp_is_short(struct sl_tcp *c);
/* SHUT_WR: queues FIN after the data. 0 or -ENOTCONN. SHUT_RD sends nothing to the peer. */
int sl_tcp_shutdown(struct sl_tcp *c, bool rd, bool wr);
/* CLOSE: the owner gives c up. linger_ms: -1 off, 0 reset, else as SO_LINGER (the caller waits).
 * Unread data: RST (RFC 2525 2.17). False: c->orphan is set and c goes on by itself until
 * SL_TCP_EV_CLOSED. True: c is CLOSED already (the event was sent, orphan is not set): the caller
 * calls sl_tcp_fini() and frees it. */
bool sl_tcp_close(struct sl_tcp *c, int linger_ms);
/* ABORT: RST to the peer where RFC 9293 3.10.5 says so, error for the owner. */
void sl_tcp_abort(struct sl_tcp *c, int err);
/* The options, for writing. Never NULL, but without memory the values written are soon lost. */
struct sl_tcp_opts *sl_tcp_opts(struct sl_tcp *c);
/* Bytes of the Ethernet frame for a segment with that payload. Rates count frames, as for
 * datagrams and as a NIC does. */
uint32_t sl_tcp_frame_bytes(const struct sl_tcp *c, uint32_t payload);
/* Call after changing an option (NODELAY, CORK off, rcvbuf, quickack...). */
void sl_tcp_option_changed(struct sl_tcp *c);
/* Selects c's algorithm by name. 0 or -ENOENT. */
int sl_tcp_set_congestion(struct sl_tcp *c, const char *name);
const char *sl_tcp_congestion(const struct sl_tcp *c);
/* Names of all algorithms in order; NULL at the end. */
const char *const *sl_tcp_congestions(void);
struct tcp_info;
void sl_tcp_info(const struct sl_tcp *c,
		 struct tcp_info *info); /* fills linux/tcp.h's struct as far as known */
/* Fields that newer kernels have after tcpi_snd_wnd, in their order. */
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
	/* Set by the owner if a NIC may pace: the core then asks ops->paced(). leaves_us: when the
	 * segment given to the NIC last leaves it; 0: none was given. */
	bool nic;
	uint8_t init_cwnd; /* segments (sl_tcp_route), 0: params */
	uint64_t leaves_us;
};

struct sl_tcp_listener {
	struct sl_list children; /* established, not yet accepted; linked by sl_tcp.accept_node */
	struct sl_list requests; /* oldest first */
	uint32_t nchildren, nrequests;
	uint32_t backlog;        /* as listen(2) clamps it; Linux accepts backlog + 1 */
	uint32_t defer_accept_s; /* TCP_DEFER_ACCEPT, 0: off */
	uint32_t tfo_qlen;       /* TCP_FASTOPEN, 0: off */
	uint32_t ntfo;
	bool tfo_no_cookie;   /* TCP_FASTOPEN_NO_COOKIE: accept data with a SYN without a cookie */
	uint64_t overflow_us; /* time of the last overflow: cookies are accepted for a while after
				 it */
	/* inherited by children */
	uint32_t rcvbuf, sndbuf, window_clamp;
	bool nodelay, keepalive, rcvbuf_locked, sndbuf_locked;
	struct sl_tcp_opts opts;
	char congestion[16];
	bool closed; /* no more children */
	bool holds;  /* SYNs are not answered for now */
	void *owner;
};
void sl_tcp_listener_init(struct sl_tcp_listener *l);
/* hold: from now on a SYN makes a request but is not answered, so that the peer sends nothing
 * more; a SYN without room is dropped. Not hold: answers them. */
void sl_tcp_listener_hold(struct sl_tcp_host *h, struct sl_tcp_listener *l, bool hold);
/* Collects the keys of up to n requests, either held or answered ones; returns how many. */
uint32_t sl_tcp_listener_keys(const struct sl_tcp_listener *l, bool held, struct sl_tcp_key *keys,
			      uint32_t n);
/* Removes and returns the oldest child, or NULL. */
struct sl_tcp *sl_tcp_accept(struct sl_tcp_host *h, struct sl_tcp_listener *l);
/* Resets children that were not accepted and frees requests. */
void sl_tcp_listener_fini(struct sl_tcp_host *h, struct sl_tcp_listener *l);

/* Hand-back and take-over ---------------------------------------------------------------------- */

/* Everything that TCP_REPAIR needs (net/ipv4/tcp.c, CRIU's soccr): a synchronised connection as
 * the kernel would have it. The queues stay in c: read them by sl_tcp_repair_*. Sequence numbers
 * count bytes only: a FIN, sent or received, is a separate flag. */
struct sl_tcp_repair {
	struct sl_tcp_key key;
	uint8_t state;    /* enum sl_tcp_state */
	uint32_t snd_nxt; /* sequence number after the send queue: snd_una + bytes queued */
	uint32_t snd_una, rcv_nxt; /* rcv_nxt: after the bytes of the receive queue */
	uint32_t snd_wl1, snd_wnd, max_window, rcv_wnd, rcv_wup;
	uint32_t unsent; /* bytes at the end of the send queue that were never sent */
	uint32_t sndq, rcvq;
	uint32_t sndbuf, rcvbuf; /* sizes as SO_SNDBUF and SO_RCVBUF read */
	uint16_t mss_clamp;
	uint8_t snd_wscale, rcv_wscale;
	bool wscale_ok, sack_ok, ts_ok, ecn_ok;
	bool fin_sent, fin_rcvd, fin_queued;
	bool rx_shut;   /* shutdown(2) for reading; not set by the peer's FIN */
	uint32_t tsval; /* value to set as TCP_TIMESTAMP */
	uint32_t ts_recent;
	uint32_t scope_id; /* set by the caller: interface of link-local addresses */
};
/* False: c is not synchronised, so the kernel cannot take it. */
bool sl_tcp_repair_get(const struct sl_tcp *c, struct sl_tcp_repair *r);
/* Describes our unanswered SYN, so that the kernel can send it again, with the data that it may
 * carry. `data`: room for SL_TCP_SYN_MAX bytes. */
#define SL_TCP_SYN_MAX 4096 /* the most that a frame can hold */
struct sl_tcp_repair_syn {
	uint32_t iss;
	uint32_t tsval;    /* time stamp of its option; only if ts_ok */
	uint32_t bytes;    /* data bytes */
	uint16_t mss;      /* MSS that such a SYN assumes for the peer, with room for options */
	uint16_t user_mss; /* TCP_MAXSEG, 0: none */
	bool ts_ok;
};
void sl_tcp_repair_get_syn(const struct sl_tcp *c, struct sl_tcp_repair_syn *syn, void *data);
/* Copy up to n bytes from offset `at` of the send or receive queue; return how many. */
uint32_t sl_tcp_repair_sndq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n);
uint32_t sl_tcp_repair_rcvq(const struct sl_tcp *c, uint32_t at, void *buf, uint32_t n);
/* For a closed connection with unread data: fills key, rcv_nxt and rcvq, and values of a plain
 * connection without options for the rest. */
void sl_tcp_repair_get_closed(const struct sl_tcp *c, struct sl_tcp_repair *r);
/* Freezes c: input is dropped, nothing is sent, and calls find the queues full or empty. So its
 * state can be read without holding the host, until sl_tcp_fini() or sl_tcp_repair_thaw(), after
 * which c continues as before. False: c is not synchronised, nothing was done. */
bool sl_tcp_repair_freeze(struct sl_tcp *c);
void sl_tcp_repair_thaw(struct sl_tcp *c);
/* Frees c's queues after the connection has moved elsewhere. c stays in the table until
 * sl_tcp_fini(), so that segments still under way to it are dropped. Host held. */
void sl_tcp_repair_gone(struct sl_tcp *c);
/* Turns c (initialised) into a connection in that state: call set, then add both queues in pieces
 * of any size, then start. 0, -EINVAL (impossible state, or the queues are incomplete),
 * -EADDRINUSE, -ENOMEM: end c by sl_tcp_fini(). */
int sl_tcp_repair_set(struct sl_tcp *c, const struct sl_tcp_repair *r);
/* Optional, before the state is known: puts c into the table, frozen. -EADDRINUSE, -ENOMEM. c is
 * still frozen after sl_tcp_repair_start(), until sl_tcp_repair_thaw(). */
int sl_tcp_repair_reserve(struct sl_tcp *c, const struct sl_tcp_key *key);
int sl_tcp_repair_add_sndq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_add_rcvq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_start(struct sl_tcp *c, const struct sl_tcp_repair *r);

/* Connections of dead processes (tcp_dead.c) --------------------------------------------------- */

#define SL_TCP_BYTES sizeof(struct sl_tcp)
/* Identifies the layout of these bytes: a build with another layout has another number. */
uint32_t sl_tcp_repair_form(void);

/* Packet memory, and the owner whose frames are accepted. */
struct sl_tcp_frames {
	const uint8_t *base;
	const union sl_frame_word *word;
	uint32_t nframes, shift;
	uint8_t owner;
};
/* The connection of a dead process. */
struct sl_tcp_dead {
	struct sl_tcp_repair r;
	bool orphan; /* the program had closed it */
	bool queued; /* it was not accepted yet, and the places of its r.rcvq unread bytes are
			known: */
	uint32_t first, start; /* first frame of these bytes, and its sequence number */
	uint32_t urgent; /* offset of the urgent byte, which no read returns; UINT32_MAX: none */
};
/* Reads the connection from the bytes that the process left; every value is checked. m: memory
 * with the data of connections not yet accepted; NULL: treats these like all others. False: there
 * are data in the queues (they died with the process), it is frozen, or no kernel would take it. */
bool sl_tcp_repair_dead(const void *bytes, uint64_t now_us, const struct sl_tcp_frames *m,
			struct sl_tcp_dead *d);
/* Finds the next sequence numbers that such a connection would have sent and expected, whatever is
 * in its queues. False: not known, or the connection had been given away (frozen). */
struct sl_tcp_ends {
	uint32_t snd_nxt, rcv_nxt;
};
bool sl_tcp_dead_ends(const void *bytes, struct sl_tcp_ends *ends);
/* Like sl_tcp_repair_dead(), for a request whose SYN was answered. Whether the peer has the answer
 * shows later: its window is 0 until it sends something. False: not answered, or over. */
#define SL_TCP_REQ_BYTES 232
bool sl_tcp_repair_dead_req(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d);
/* Copies the unread bytes, from the first one on, in pieces of any size. */
struct sl_tcp_unread {
	const struct sl_tcp_frames *m;
	uint32_t frame, begin; /* the current piece and its sequence number */
	uint32_t seq;          /* sequence number of the next byte */
	uint32_t skip;         /* sequence number of the urgent byte */
	bool skips;
};
struct sl_tcp_unread sl_tcp_unread_of(const struct sl_tcp_dead *d, const struct sl_tcp_frames *m);
uint32_t sl_tcp_unread_copy(struct sl_tcp_unread *u, void *buf, uint32_t n);

#include "tcp/tcp_conn.h"

#endif
