/* SPDX-License-Identifier: BSD-2-Clause */
/* A listener: its requests, and its children that wait to be accepted (tcp_listen.c). */
#ifndef SL_TCP_LISTEN_H
#define SL_TCP_LISTEN_H

#include "base/list.h"
#include "tcp/tcp.h"
#include "tcp/tcp_opts.h"

/* Bytes of memory for a request (sl_tcp_ops.req_new). */
#define SL_TCP_REQ_BYTES 232
#define SL_TCP_TFO_KEYS  2

/* Embedded in an object of the owner, which sets the options; host held. */
struct sl_tcp_listener {
	struct sl_list children; /* not yet accepted, oldest first; linked by sl_tcp.accept_node.
				    Fast Open children may be in SYN_RCVD */
	struct sl_list requests; /* oldest first */
	uint32_t nchildren, nrequests;
	uint32_t backlog;        /* as listen(2) clamps it; Linux accepts backlog + 1 */
	uint32_t defer_accept_s; /* TCP_DEFER_ACCEPT, 0: off */
	uint32_t tfo_qlen;       /* TCP_FASTOPEN, 0: off */
	uint32_t tfo_pending;    /* handshakes that count against it (tcp_pending.c) */
	bool tfo_no_cookie; /* TCP_FASTOPEN_NO_COOKIE: accept data with a SYN without a cookie */
	/* Keys of Fast Open's cookies: the first makes them, each is believed
	 * (sl_tcp_ops.tfo_keys); 0 of them: a key of this host's own */
	const uint8_t (*tfo_key)[16];
	uint8_t tfo_own[SL_TCP_TFO_KEYS][16]; /* those that the program has set */
	uint8_t ntfo_keys;
	uint64_t tfo_keys_us; /* when they were asked for; 0: never */
	uint64_t overflow_us; /* when a cookie was last sent: cookies are accepted for a while after
				 it */
	/* inherited by children */
	uint32_t rcvbuf, sndbuf, window_clamp;
	bool nodelay, keepalive, rcvbuf_locked, sndbuf_locked, thin_lto;
	struct sl_tcp_opts opts;
	char congestion[16];
	bool closed; /* no more children */
	bool holds;  /* SYNs make requests, but are not answered for now */
	void *owner; /* not used by lib/tcp */
};
/* Makes l empty, without options. */
void sl_tcp_listener_init(struct sl_tcp_listener *l);

/* hold: from now on a SYN makes a request but is not answered, so that the peer sends nothing more;
 * a SYN without room is dropped. Not hold: answers the requests that were held. */
void sl_tcp_listener_hold(struct sl_tcp_host *h, struct sl_tcp_listener *l, bool hold);
/* Collects the keys of up to n requests, either held or answered ones; returns how many. */
uint32_t sl_tcp_listener_keys(const struct sl_tcp_listener *l, bool held, struct sl_tcp_key *keys,
			      uint32_t n);
/* tcp_child.c: removes and returns the oldest child, which the caller owns then; NULL: none. */
struct sl_tcp *sl_tcp_accept(struct sl_tcp_host *h, struct sl_tcp_listener *l);
/* Makes it the oldest child again. */
void sl_tcp_unaccept(struct sl_tcp_listener *l, struct sl_tcp *c);
/* tcp_req.c: an ICMP error (errno value) about a segment with that sequence number; ends a
 * handshake that it belongs to, if the error says that the peer cannot be reached. Lane held. */
void sl_tcp_req_icmp(struct sl_tcp_host *h, const struct sl_tcp_key *key, uint32_t seq, int err);
/* Ends l: resets and frees children that were not accepted (ops->child_free) and frees requests. */
void sl_tcp_listener_fini(struct sl_tcp_host *h, struct sl_tcp_listener *l);

/* Inside lib/tcp ------------------------------------------------------------------------------- */

struct sl_tcp_arrival;

/* LISTEN STATE (RFC 9293 3.10.7.2). isn: the lowest initial sequence number, after a TIME_WAIT (RFC
 * 6191); else 0. True: the frame was kept. */
bool sl_tcp_listen_input(struct sl_tcp_host *h, struct sl_tcp_listener *l,
			 const struct sl_tcp_key *key, struct sl_tcp_arrival *a, uint32_t isn);

#endif
