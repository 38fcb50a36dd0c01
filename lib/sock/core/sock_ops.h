/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a socket, where datagram sockets and streams differ. Cold calls only: the
 * packet path and the program's calls know the protocol themselves. A function that is NULL has
 * nothing to do. `slow` is held, and no lane, where nothing else is said. */
#ifndef SL_SOCK_OPS_H
#define SL_SOCK_OPS_H

#include "base/stats.h"

struct sl_sock;
struct sl_lane;

struct sl_sock_ops {
	/* Sets up what only this kind has, in a new object. 0 or -errno. No lock. */
	int (*start)(struct sl_sock *sk);
	/* The socket goes to the kernel: gives up claims, connection and listener. False: the
	 * socket stays ours. */
	bool (*to_kernel)(struct sl_sock *sk, enum sl_reason reason);
	/* The socket leaves its lane, which is held. keep_queue: its queue is still read through
	 * us. */
	void (*left)(struct sl_sock *sk, struct sl_lane *lane, bool keep_queue);
	/* Moves our queue into the kernel's, for other processes that have the socket. Lane held.
	 */
	void (*requeue)(struct sl_sock *sk, struct sl_lane *lane);
	/* The socket has gone to the kernel. No lock. */
	void (*moved)(struct sl_sock *sk);
	/* The last descriptor, fd, closes, and a child may have the socket. */
	bool (*parks)(struct sl_sock *sk, int fd); /* true: it stays, without a number */
	bool (*needs_kernel)(struct sl_sock *sk);  /* true: only the kernel can serve both */
	bool (*stays)(struct sl_sock *sk);         /* true: it ends later, by itself */
	void (*closed_to_child)(const struct sl_sock *sk, int fd); /* when it has ended; no lock */
	/* The last descriptor, fd, closes while the socket is ours. */
	void (*close)(struct sl_sock *sk, int fd);
	/* Nothing stands for the socket any more. */
	void (*ended)(struct sl_sock *sk);
	/* The number from which time stamps of bytes count; lane held. next: that of the next byte
	 * written, else of the first unacknowledged one. */
	uint32_t (*count_from)(const struct sl_sock *sk, bool next);
	/* In a child after fork, where the socket is the parent's; no lock. True: it may become
	 * ours once it has been used for a while. */
	bool (*child)(struct sl_sock *sk);
};

extern const struct sl_sock_ops sl_dgram_ops; /* dgram/udp_life.c */

/* By kind, set before the first start. */
void sl_sock_set_ops(const struct sl_sock_ops *dgram, const struct sl_sock_ops *stream);
const struct sl_sock_ops *sl_sock_ops(const struct sl_sock *sk);

#endif
