/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment-level scripts in the manner of packetdrill: one host of the simulator, and a peer that is
 * the script. Segments are written as there:
 *
 *	in(t, "S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>");
 *	out(t, "S. 0:0(0) ack 1 <mss 1460,sackOK,wscale 7>");
 *	in(t, ". 1:1(0) ack 1 win 257");
 *
 * Numbers are relative to the initial ones of both sides. Flags: S F R P . (ACK) U E W (CWR).
 * Options: mss N, wscale N, sackOK, TS VAL ECR, sack A:B ..., tfo [HEX]; in `out` a * stands for
 *any number, PSH is not compared, and options only if <> is there. Our time stamps are relative to
 *our first one. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "sim.h"

#define T_PORT 80
#define MS     1000ull
#define T_RTT  (10 * MS) /* of the handshakes that t_open() and its like make */

struct t {
	struct sim s;
	const char *name;
	struct sim_host *h, *peer;
	struct sim_listener *l;
	struct sim_conn *c; /* the connection, once it is open or accepted */
	struct sim_conn *second;
	struct sim_pkt *got[1024]; /* sent by us, not looked at yet */
	uint64_t got_at[1024];
	uint32_t ngot, nlooked;
	bool ect;              /* the last segment that was looked at is capable of ECN */
	uint16_t lport, rport; /* ours, the peer's */
	uint32_t iss, irs;     /* ours, the peer's */
	bool know_iss, know_ts;
	uint32_t ts0;
	bool ce;         /* segments from the peer say congestion experienced */
	uint32_t events; /* that the program was told */
	uint32_t naccepted;
	bool freed;
	uint8_t tfo[16], tfo_len; /* the last cookie that was sent or received */
};

void t_begin(struct t *t, const char *name);
void t_end(struct t *t);

/* The peer sends a segment now. */
void in(struct t *t, const char *spec);
/* We have sent this segment just now, as the next one. */
void out(struct t *t, const char *spec);
/* We send this segment, as the next one, in that many microseconds (as exactly as the wheel is). */
void out_in(struct t *t, uint64_t us, const char *spec);
/* Nothing (more) has been sent, and nothing is for so long. */
void quiet(struct t *t, uint64_t us);
/* Time passes; what is sent meanwhile can be looked at by out(). */
void pass(struct t *t, uint64_t us);
/* Forgets the segments that were sent and not yet looked at. Returns how many. */
uint32_t skip(struct t *t);

/* Calls of the program. */
void t_listen(struct t *t, uint32_t backlog);
void t_client(struct t *t); /* opens the socket for t_connect(), if something must be set first */
void t_connect(struct t *t);
void t_write(struct t *t, uint32_t n);
void t_write_none(struct t *t); /* a call with no bytes */
void t_write_more(struct t *t, uint32_t n);
void t_read(struct t *t, uint32_t want, long expected);
void t_close(struct t *t);
void t_shutdown(struct t *t);
void t_changed(struct t *t);
void t_kick(struct t *t);

/* Passive: listens (backlog 5) and completes a handshake without time stamps (peer: mss 1000,
 * window scale 7, window 32896). Active: the same by connect(). */
void t_open(struct t *t);
void t_open_ts(struct t *t); /* with time stamps; the peer's begins at 100 */
void t_connected(struct t *t);

void t_state(struct t *t, enum sl_tcp_state state, int line);
#define state(t, s)    t_state(t, s, __LINE__)
#define check(t, cond) sim_check(&(t)->s, cond)
#define saw(t, ev)     check(t, ((t)->events & (ev)) == (uint32_t)(ev))
#define saw_not(t, ev) check(t, ((t)->events & (ev)) == 0)
#define counted(t, id) ((t)->h->count[id])

#endif
