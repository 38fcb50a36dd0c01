/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of dead processes, read out of the memory that they left (tcp_dead.c). */
#ifndef SL_TCP_DEAD_H
#define SL_TCP_DEAD_H

#include "base/share/share.h"
#include "tcp/tcp_conn.h"
#include "tcp/tcp_repair.h"

#define SL_TCP_BYTES sizeof(struct sl_tcp)
/* Identifies the layout of these bytes: a build with another layout has another number. */
uint32_t sl_tcp_repair_form(void);

/* Packet memory, and the owner whose frames are accepted. */
struct sl_tcp_frames {
	const uint8_t *base;
	/* Reads n bytes at an offset of the packet memory of arg. False: they are not there.
	 * Members can take pages of that memory away, so a daemon does not touch its mapping. NULL:
	 * from base. */
	bool (*read)(const void *arg, uint64_t at, void *to, uint32_t n);
	const void *arg;
	const union sl_frame_word *word;
	uint32_t nframes, shift;
	uint8_t owner;
	/* Pieces counted so far in all connections of the process; NULL: not counted. Each has a
	 * frame of its own, so more than nframes are not looked at. */
	uint32_t *counted;
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

/* Reads the connection from the SL_TCP_BYTES that the process left; every value is checked. m:
 * memory with the data of connections not yet accepted; NULL: treats these like all others. False:
 * there are data in the queues (they died with the process), it is frozen, or no kernel would take
 * it. */
bool sl_tcp_repair_dead(const void *bytes, uint64_t now_us, const struct sl_tcp_frames *m,
			struct sl_tcp_dead *d);

/* Like sl_tcp_repair_dead() without m, for a connection that other processes may have: bytes may be
 * in its queues, r.sndq and r.rcvq of them. The notes in the frames (struct sl_tcp_note) tell where
 * they are: those of `from`. */
struct sl_tcp_noted {
	uint64_t send_id, rcv_id;
	uint32_t send_seq, rcv_seq; /* of the first byte */
	uint32_t urgent; /* offset of a received byte that no read returns, and r.rcvq does not
			    count; UINT32_MAX: none */
};
bool sl_tcp_dead_is_noted(const void *bytes); /* sl_tcp_note() was called */
bool sl_tcp_repair_dead_noted(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d,
			      struct sl_tcp_noted *from);

/* Finds the next sequence numbers that a dead process's connection would have sent and expected,
 * whatever is in its queues. False: not known, or the connection had been given away (frozen). */
struct sl_tcp_ends {
	uint32_t snd_nxt, rcv_nxt;
};
bool sl_tcp_dead_ends(const void *bytes, struct sl_tcp_ends *ends);

/* Like sl_tcp_repair_dead(), for a request whose SYN was answered; bytes: a struct sl_tcp_req. The
 * send window is 0 until the peer sends something, since only that shows whether it has the answer.
 * False: not answered, or over. */
bool sl_tcp_repair_dead_req(const void *bytes, uint64_t now_us, struct sl_tcp_dead *d);

/* Reads the unread bytes, from the first one on, in pieces of any size. m must stay. */
struct sl_tcp_unread {
	const struct sl_tcp_frames *m;
	uint32_t frame, begin; /* the current piece and its sequence number */
	uint32_t seq;          /* sequence number of the next byte */
	uint32_t skip;         /* sequence number of the urgent byte */
	bool skips;
};
/* Begins at the first unread byte. */
struct sl_tcp_unread sl_tcp_unread_of(const struct sl_tcp_dead *d, const struct sl_tcp_frames *m);
/* Copies up to n of the next bytes to buf, from a few pieces; returns how many. 0: they end here,
 * or a frame is broken. */
uint32_t sl_tcp_unread_copy(struct sl_tcp_unread *u, void *buf, uint32_t n);

#endif
