/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves a TCP connection into a kernel socket, or out of one, by TCP_REPAIR: by system calls only,
 * so that its peer notices nothing. The broker has the privileges for it. Every function here may
 * sleep: call it with no lane held. */
#ifndef SL_REPAIR_H
#define SL_REPAIR_H

#include "ctl/lease/image.h"
#include "tcp/tcp_repair.h"

/* Gives the bytes of the queues: sndq() and rcvq() copy up to n bytes from offset `at` on, and
 * return how many they have copied. */
struct sl_repair_source {
	uint32_t (*sndq)(void *arg, uint32_t at, void *buf, uint32_t n);
	uint32_t (*rcvq)(void *arg, uint32_t at, void *buf, uint32_t n);
	/* Called when the kernel's socket has become the connection: packets may reach it from now
	 * on. May be NULL. */
	void (*live)(void *arg);
	void *arg;
	bool hurry; /* fail soon instead of waiting for the kernel */
};

/* The program's socket options that repair changes, or that would disturb it. */
struct sl_repair_saved {
	int reuse, sndbuf, rcvbuf, locks, lowat;
	bool asks;             /* the last acknowledged byte goes once more */
	uint32_t filled, rest; /* bytes that the kernel has; of those never sent */
	bool live;
};

/* A closed kernel socket of the connection's family, for sl_repair_kernel(). The next process can
 * use the port again, as that of a server, if it sets SO_REUSEADDR, too. The descriptor, which the
 * caller closes, or -errno. */
int sl_repair_socket(const struct sl_tcp_key *key);
/* Makes the closed socket fd, bound to the connection's local end or not bound, the connection r,
 * and lets packets reach it. A failure before `live` is called leaves a closed socket (a name it
 * got stays). A later failure loses the connection: the kernel does not take its data (-ENOMEM) or
 * does not see a FIN (-EIO). If the peer resets the connection at once, the result is 0: the kernel
 * tells the program the error. -EPERM: no privilege; -EADDRNOTAVAIL: the kernel has a connection of
 * this name; -EINVAL: fd is no such socket; others as bind(2) and connect(2) say. */
int sl_repair_kernel(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src);
/* The part of sl_repair_kernel() that the daemon leaves to us: has fd (live already) send the bytes
 * that were never sent, and the FIN behind them. Returns as sl_repair_kernel(). */
int sl_repair_rest(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src);
/* sl_repair_kernel() in two steps. After the first the kernel has the connection, drops packets
 * that come for it, and sends none; fd may be closed then without a packet to the peer. */
int sl_repair_begin(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		    struct sl_repair_saved *s);
int sl_repair_finish(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     const struct sl_repair_saved *s);

/* sl_repair_begin() and _finish() in pieces, for a loop that must not stay long. sl_repair_start()
 * makes the connection with empty queues; sl_repair_fill() is called as long as it returns 1. Both
 * fail as sl_repair_begin() does. sl_repair_finish_some() is called as long as it returns 1; its
 * last value is that of sl_repair_finish(). */
int sl_repair_start(int fd, const struct sl_tcp_repair *r, struct sl_repair_saved *s);
int sl_repair_fill(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		   struct sl_repair_saved *s);
int sl_repair_finish_some(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
			  struct sl_repair_saved *s);

/* Makes the closed socket fd the rest of a connection that is over: the program reads the bytes of
 * the receive queue, then the end, or with reset the error ECONNRESET, or (fin_rcvd) both: then the
 * error is EPIPE without fin_sent. Only the key, rcv_nxt and rcvq of r matter besides. With port 0
 * in the key the kernel chooses one. Returns as sl_repair_kernel(). */
int sl_repair_closed(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     bool reset);
/* sl_repair_closed() in pieces: sl_repair_closed_fill() is called as long as it returns 1. r: a
 * port that the kernel chooses is written there. */
int sl_repair_closed_start(int fd, struct sl_tcp_repair *r, struct sl_repair_saved *s);
int sl_repair_closed_fill(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
			  struct sl_repair_saved *s, bool reset);

/* repair_syn.c: connects the closed socket fd, bound to the connection's local end, to key->remote
 * by the SYN that we have sent before: a peer that has answered it repeats its answer. The kernel
 * drops the peer's packets until sl_broker_drop_packets(fd, false). A failure leaves a closed
 * socket. -EPERM: no privilege; -EOPNOTSUPP: the kernel sends no SYN with data now; others as
 * bind(2) and connect(2) say. */
int sl_repair_syn(int fd, const struct sl_tcp_key *key, uint32_t scope,
		  const struct sl_tcp_repair_syn *syn, const void *data);
/* Undoes sl_repair_syn(): fd is a closed socket again. */
void sl_repair_unsyn(int fd);
/* Leaves ECONNRESET in the closed socket fd, as a connection does that connect(AF_UNSPEC) ends: its
 * next call, or the next poll(2), of any process says so. No packet leaves this host, and fd keeps
 * the name that the program gave it. 0 or -errno, after which fd has no error; -EOPNOTSUPP: it is
 * bound to a device. */
int sl_repair_error(int fd);

/* Bytes of a queue that sl_repair_take() has read, in memory that sl_repair_free() frees. */
struct sl_repair_bytes {
	void *p; /* NULL: none */
	size_t map_bytes;
};
struct sl_repair_taken {
	struct sl_tcp_repair r;
	struct sl_repair_bytes sndq, rcvq;
	int reuse; /* SO_REUSEADDR, which repair mode forgets */
};

/* Has the kernel drop all packets for its connection fd. 0; -EBUSY: the program has set a filter on
 * the socket; -errno. */
int sl_repair_freeze(int fd);
/* Reads a connection that sl_repair_freeze() has frozen: see sl_repair_take(). */
int sl_repair_read(int fd, struct sl_repair_taken *t);
/* Freezes the kernel connection fd and reads all of it. Nothing of what comes from the peer
 * meanwhile reaches it, and only the caller may use it. Then either leave, drop (and close
 * fd), or cancel, and free in any case. -ENOTCONN: not synchronised; -EBUSY: something about it
 * cannot be taken (a filter, urgent data, a peek offset); -EAGAIN: it moved, try again; -EPERM,
 * -ENOMEM. A failure leaves it as it was. */
int sl_repair_take(int fd, struct sl_repair_taken *t);
/* The kernel's connection goes on. Its unsent bytes may wait for a retransmission time-out. */
void sl_repair_cancel(int fd, const struct sl_repair_taken *t);
/* The kernel forgets the connection without a word to the peer. fd is then a closed socket, bound
 * to the same local end. 0 or what bind(2) says. */
int sl_repair_leave(int fd, const struct sl_repair_taken *t);
void sl_repair_free(struct sl_repair_taken *t);
/* Memory for n bytes of a queue, and one more. -ENOMEM. */
int sl_repair_memory(struct sl_repair_bytes *q, uint32_t n);

/* repair_fin.c: gives the connection of fd (in repair mode) the peer's FIN, which it has
 * acknowledged but the kernel's socket has not seen; sl_broker_may_inject() says beforehand whether
 * that is allowed. -EIO: it does not arrive; with hurry: has not yet. */
int sl_repair_fin(int fd, const struct sl_tcp_repair *r, bool hurry);
/* The connection has ended, in order or by the peer's reset. */
bool sl_repair_is_over(int fd);
/* Like sl_repair_fin(), but gives the peer's RST, or its acknowledgment of our FIN: the connection
 * is then over. */
int sl_repair_end(int fd, const struct sl_tcp_repair *r, bool reset, bool hurry);

/* A segment that the peer might have sent. */
struct sl_forged {
	uint32_t seq, ack;
	const void *opts, *bytes;
	uint16_t nopts, n; /* bytes of each */
	uint8_t flags;
};
#define SL_FORGED_OPTS 12u /* at most */
#define SL_FORGED_MOST 4096u
/* Sends it to fd's host. 0 or -errno. */
int sl_repair_forge(int fd, const struct sl_tcp_repair *r, const struct sl_forged *f);

/* repair_queue.c: puts a connection that waits for accept(2) into the queue of the kernel's
 * listener, of whatever processes that is. r: nothing was sent. 0; else the kernel has nothing of
 * it: -EPERM: no privilege; -EOPNOTSUPP, -EADDRNOTAVAIL: not by this listener; -EALREADY: the
 * kernel has a connection of that name; -EAGAIN: the kernel did not take it (no room) or would
 * announce another window than we have. */
int sl_repair_queue(int listener, const struct sl_tcp_repair *r,
		    const struct sl_repair_source *src);
/* repair.c: makes the closed socket fd, and leaves, a TIME_WAIT of the connection r, which is
 * established and has no option: both FINs follow its numbers. */
int sl_repair_time_wait(int fd, const struct sl_tcp_repair *r);

/* repair_image.c: the form in which a connection crosses to the daemon and back. unpack: over: the
 * connection is closed, else it is synchronised; -EINVAL: there can be no such connection. */
void sl_repair_pack(const struct sl_tcp_repair *r, struct sl_lease_conn *c);
int sl_repair_unpack(const struct sl_lease_conn *c, bool over, struct sl_tcp_repair *r);

#endif
