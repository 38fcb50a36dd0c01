/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP connection moves into a kernel socket, or out of one, by TCP_REPAIR: system calls only. The
 * peer notices nothing. The broker has the privileges for it. All
 * may sleep: call with no lane held. */
#ifndef SL_REPAIR_H
#define SL_REPAIR_H

#include "ctl/lease/image.h"
#include "tcp/tcp_repair.h"

/* Where the bytes of the queues come from: copies up to n from `at` on; how many. */
struct sl_repair_source {
	uint32_t (*sndq)(void *arg, uint32_t at, void *buf, uint32_t n);
	uint32_t (*rcvq)(void *arg, uint32_t at, void *buf, uint32_t n);
	/* The kernel's socket is the connection: packets may reach it from now on. NULL: no
	 * call. */
	void (*live)(void *arg);
	void *arg;
	bool hurry; /* what the kernel does not do at once is not waited for */
};

/* The program's socket options that repair changes, or that would disturb it. */
struct sl_repair_saved {
	int reuse, sndbuf, rcvbuf, locks, lowat;
};

/* Makes the closed socket fd, bound to the connection's local end or not bound, that connection; it
 * then lives. Before `live` was called a failure leaves a closed socket (a name it got stays);
 * later failures concern data that the kernel does not take (-ENOMEM) or a FIN that it does not
 * see (-EIO), and the connection cannot be saved. One that the peer resets when it lives is closed,
 * and its error is the kernel's to tell: 0. -EPERM: no privilege; -EADDRNOTAVAIL: the kernel
 * has such a connection; -EINVAL: fd is not such a socket; others as bind(2) and connect(2) say. */
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

/* Makes the closed socket fd what is left of a connection that is over: what the receive queue
 * holds, then the end, or with reset the error ECONNRESET, or (fin_rcvd) both. Nothing else of r
 * counts but the key, rcv_nxt and rcvq. Returns as the above. */
int sl_repair_closed(int fd, const struct sl_tcp_repair *r, const struct sl_repair_source *src,
		     bool reset);

/* repair_syn.c: the closed socket fd, bound to the connection's local end, connects to `to` with a
 * SYN that was sent before, so that a peer that has answered that one is asked for the same once
 * more. What comes for it is dropped until sl_broker_drop_packets(fd, false). A failure leaves a
 * closed socket, and what has come for it. -EPERM: no privilege; -EOPNOTSUPP: the kernel opens
 * nothing so now; others as bind(2) and connect(2) say. */
int sl_repair_syn(int fd, const struct sl_tcp_key *key, uint32_t scope,
		  const struct sl_tcp_repair_syn *syn, const void *data);
/* Undoes sl_repair_syn(): fd is a closed socket again. */
void sl_repair_unsyn(int fd);

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

/* Nothing of what comes from the peer reaches the kernel connection fd any more. 0, -EBUSY: it has
 * a filter of the program's; -errno. */
int sl_repair_freeze(int fd);
/* Reads all of such a one: see sl_repair_take(). */
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

/* repair_image.c: as it crosses to the daemon and back. -EINVAL: no connection that may be. */
void sl_repair_pack(const struct sl_tcp_repair *r, struct sl_lease_conn *c);
int sl_repair_unpack(const struct sl_lease_conn *c, struct sl_tcp_repair *r);

#endif
