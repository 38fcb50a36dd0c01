/* SPDX-License-Identifier: BSD-2-Clause */
/* The host: the state that the connections of a lane share, and the calls that its owner makes in
 * each turn. sl_tcp_host_init() and _fini() are in tcp_host.c, the others in the files that they
 * are about. */
#ifndef SL_TCP_HOST_H
#define SL_TCP_HOST_H

#include "base/list.h"
#include "base/timer.h"
#include "io/frame.h"
#include "tcp/tcp.h"

struct sl_tcp_late;
struct sl_tcp_pending;
struct sl_tcp_trouble;

/* A limit per second: sl_tcp_quota_take(). */
struct sl_tcp_quota {
	uint64_t from_us; /* start of the current second; 0: none yet */
	uint32_t left;
};

/* The queues of data beyond holes, which tcp_mem.c can drop to free frames. */
#define SL_TCP_MEM_CLASSES 33
struct sl_tcp_mem {
	struct sl_list
		greedy[SL_TCP_MEM_CLASSES]; /* by the logarithm of the memory that they hold */
	struct sl_list aged;                /* all of them, oldest first */
};

/* The large windows that connections have announced, by when they did (tcp_window.c). */
struct sl_tcp_told {
	uint64_t bytes[2]; /* in period `at`, and in the one before */
	uint32_t at;
};

/* Secrets, which hosts may have in common. Who knows them can forge segments and handshakes, so the
 * owner keeps them in memory that no child has (base/apart.h). */
struct sl_tcp_keys {
	uint8_t own[16];                      /* cookies (RFC 4987 3.6) */
	uint8_t pair[16];                     /* ISN, time stamp offset (RFC 6528, 7323 5.4) */
	uint64_t table[SL_TCP_KEY_WORDS + 1]; /* hash of the table; derived from own */
};

/* A host; embedded in an object of its owner. */
struct sl_tcp_host {
	const struct sl_tcp_ops *ops;
	struct sl_frames *frames;
	struct sl_wheel wheel;
	uint64_t now_us; /* set by the caller before every call */
	uint64_t unread; /* bytes in order that programs have not read, of all connections */
	struct sl_tcp_told told;
	struct sl_tcp_trouble
		*spare_trouble; /* used when there is no memory: values written to it are lost */
	struct sl_tcp_node **bucket; /* power of two; grows */
	uint32_t nbuckets, nnodes;
	struct sl_tcp_node **old_bucket; /* old table, half the size, while its entries move to the
					    new one; NULL: none */
	uint32_t moved;                  /* buckets of the old table already moved */
	uint32_t *on_port;  /* nodes in the table, by local port; pages without any are not there */
	struct sl_list out; /* connections that owe an ACK or may send: sl_tcp_flush() */
	struct sl_list room; /* connections whose send() was refused: sl_tcp_on_room() */
	struct sl_list held; /* connections that hold a short piece back: sl_tcp_flush() */
	bool hold;           /* the next sl_tcp_flush() may hold short pieces back */
	bool paced;       /* a connection waits for its rate, so timers must be punctual. The reader
			     clears it */
	uint32_t nexpect; /* connections that must answer the peer's next segment at once: they hold
			     data back, or miss some */
	struct sl_list trains; /* connections that hold an ACK back: sl_tcp_end_trains() */
	uint64_t train_us;     /* arrival of the last segment whose ACK was held back */
	const struct sl_tcp_keys *keys;
	struct sl_tcp_quota challenges; /* tcp_challenge_ack_limit */
	struct sl_tcp_quota syns;       /* max_syn_rate */
	uint32_t ntw, nreq;
#define SL_TCP_WAITS 256
	uint64_t waits[SL_TCP_WAITS / 64]; /* sl_tcp_note_wait() */
	void *owner;                       /* the lane */
	struct sl_tcp_mem mem;
	struct sl_tcp_metrics *metrics; /* tcp_metrics.c; NULL: nothing is kept yet */
	struct sl_tcp_late
		*late; /* answers that could not be sent yet (tcp_late.c); NULL: never any */
	struct sl_tcp_pending *pending; /* of Fast Open (tcp_pending.c); NULL: never any */
};

/* Makes an empty host; frames and keys must stay. 0 or -ENOMEM. */
int sl_tcp_host_init(struct sl_tcp_host *h, const struct sl_tcp_ops *ops, struct sl_frames *frames,
		     const struct sl_tcp_keys *keys, uint64_t now_us, void *owner);

/* Frees tables and records. End all connections before. */
void sl_tcp_host_fini(struct sl_tcp_host *h);
/* Call before all other calls of a turn. */
static inline void sl_tcp_set_now(struct sl_tcp_host *h, uint64_t now_us)
{
	h->now_us = now_us;
}

/* tcp_timer.c: runs the timers that are due. Returns the time in us at which to call it again at
 * the latest; UINT64_MAX: no timer. */
uint64_t sl_tcp_run_timers(struct sl_tcp_host *h);
/* tcp_out.c: sends what connections owe after a batch of input or calls (ACKs, data that the window
 * now allows). Call once at the end of a turn or a call. If h->hold is set (it is cleared), a short
 * piece at the end of a queue waits, even with TCP_NODELAY: a caller sets it when the program is
 * about to write more, and must call this again soon (like tcp_autocorking of Linux, which waits
 * for the device instead). */
void sl_tcp_flush(struct sl_tcp_host *h);
/* tcp_ack.c: call when nothing has come for a moment: lets sl_tcp_flush() send the ACKs that
 * connections hold back. now: without waiting longer. False: there are none, or it is too early.
 * Without this call they are sent one wheel tick later. */
bool sl_tcp_end_trains(struct sl_tcp_host *h, bool now);
/* Frees data that peers can send again, if frames are short (tcp_mem.c). */
void sl_tcp_relieve(struct sl_tcp_host *h);
/* tcp_out.c: call when there is room to send again. */
void sl_tcp_on_room(struct sl_tcp_host *h);

#endif
