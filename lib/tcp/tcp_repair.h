/* SPDX-License-Identifier: BSD-2-Clause */
/* Hand-back and take-over: a connection's state, out of it and into it (tcp_repair.c). */
#ifndef SL_TCP_REPAIR_H
#define SL_TCP_REPAIR_H

#include "tcp/tcp.h"

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
	bool lively;    /* the peer was heard of lately, and the way to it is as it was */
	uint32_t tsval; /* value to set as TCP_TIMESTAMP */
	uint32_t ts_recent;
	uint32_t scope_id; /* set by the caller: interface of link-local addresses */
};

/* Reads the state of c into *r. False: c is not synchronised, so the kernel cannot take it. */
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

/* Copy up to n bytes from offset `at` of the send or receive queue; return how many. Host held, or
 * c frozen. */
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
 * of any size, then start. Each returns 0, -EINVAL (impossible state, or the queues are incomplete)
 * or -ENOMEM; on an error end c by sl_tcp_fini(). The key must be free, unless c was reserved. */
int sl_tcp_repair_set(struct sl_tcp *c, const struct sl_tcp_repair *r);
/* Optional, before the state is known: puts c into the table, frozen. The key must be free. 0 or
 * -ENOMEM. c is still frozen after sl_tcp_repair_start(), until sl_tcp_repair_thaw(). */
int sl_tcp_repair_reserve(struct sl_tcp *c, const struct sl_tcp_key *key);
int sl_tcp_repair_add_sndq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_add_rcvq(struct sl_tcp *c, const void *buf, uint32_t n);
int sl_tcp_repair_start(struct sl_tcp *c, const struct sl_tcp_repair *r);

/* Inside lib/tcp ------------------------------------------------------------------------------- */

/* Fills all but the time stamp. */
void sl_tcp_repair_state(const struct sl_tcp *c, struct sl_tcp_repair *r);

#endif
