/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a program sees without a copy: a socket's part of lib/sluice_extra.h. Sockets that
 * never used it have none. The functions are sock/extra's. */
#ifndef SL_EXTRA_H
#define SL_EXTRA_H

#include "sock/core/udp_sock.h"

struct sl_packet_info;

/* A packet that the program holds. Its bytes stay charged to the socket's receive buffer. */
struct sl_kept {
	uint64_t id;     /* 0: the entry is free */
	uint32_t frame;  /* of a free entry: the next free one */
	uint32_t charge; /* bytes, as struct sl_dgram.truesize */
	uint8_t nmore;
	bool sends; /* memory to send from (sl_zc_alloc()) */
	bool given; /* the same, and the library's again as soon as the send is complete */
};

/* A numbered send from packet memory (MSG_ZEROCOPY) that is not complete. */
struct sl_zc_send {
	uint64_t id;     /* of the buffer */
	uint32_t behind; /* numbered sends after it that were copied: complete when it is */
};

/* A socket's numbered sends that are not complete, the oldest first. They have the last numbers
 * before sl_sock.zc_next. */
struct sl_zc_sends {
	struct sl_zc_send *ring;
	uint32_t size, first, n; /* size: a power of two, or 0 */
	uint32_t numbers;        /* of all of them, with those behind */
	bool real;               /* none of those that sl_sock.zc_done counts was copied */
	struct sl_sock *sk;      /* whose they are */
	struct sl_list reaped;   /* in the lane's list, while the device has the oldest */
};

/* Stays with the socket object, since other threads read it without a lock. The lane's lock
 * protects it, except where said. */
struct sl_extra {
	struct sl_udp accepted; /* datagrams that the callback has let pass, for receive calls */
	int (*callback)(int fd, size_t niov, struct iovec *iov, struct sl_packet_info *info,
			void *arg); /* NULL: none */
	void *arg;
	int fd;           /* the number given at registration */
	uint32_t runs;    /* thread ID of the thread that runs the callback, 0: none; atomic */
	uint32_t listed;  /* place in the list of sockets with a callback + 1; 0: not in it */
	uint32_t nheld;   /* packets that the program holds, and buffers to send from; read without
			     a lock, too */
	uint32_t nsends;  /* such buffers; as nheld */
	uint32_t size;    /* entries of held */
	uint32_t free;    /* first free entry; size: none */
	uint32_t count;   /* of names given, in 24 bits */
	uint64_t base;    /* high bits of all its names */
	uint64_t charged; /* TCP: bytes of the packets held */
	uint64_t user_data;
	uint32_t flow_tag; /* sl_flow_tag(); atomic */
	bool has_user_data;
	struct sl_kept *held;
	struct sl_zc_sends zc;
};

struct sl_extra_ops {
	/* Shows the callback what came, and sorts it. No lock. */
	void (*filter)(struct sl_sock *sk);
	/* Calls filter for each socket with a callback. No lock. */
	void (*filter_all)(void);
	/* A connection was given to the socket. Lane held. */
	void (*connected)(struct sl_sock *sk);
	/* Completes the numbered sends whose buffers are free, in their order; all: each of them.
	 * Lane held. */
	void (*complete)(struct sl_sock *sk, bool all);
	/* The socket ends: gives all frames back. Lane held. */
	void (*end)(struct sl_sock *sk, struct sl_lane *lane);
	/* In a child: forgets what is the parent's. */
	void (*child)(void);
};
/* NULL: nothing of it was used in this process. */
extern const struct sl_extra_ops *sl_extra_ops;
/* Sockets that have a callback. Atomic. */
extern uint32_t sl_extra_filters;

/* A stream's, which has no room for it in its own object: from a table. NULL: it has none. */
struct sl_extra *sl_extra_of_stream(const struct sl_sock *sk);
static inline struct sl_extra *sl_extra_of(const struct sl_sock *sk)
{
	return sl_sock_is_udp(sk) ? sl_udp_sk_const(sk)->extra : sl_extra_of_stream(sk);
}
/* Gives the socket its part. Lane held. 0 or -ENOMEM. */
int sl_extra_attach(struct sl_sock *sk, struct sl_extra *x);

/* Datagrams that receive calls can have: of a socket with a callback those that it let pass. */
static inline uint32_t sl_extra_queued(const struct sl_sock *sk)
{
	const struct sl_udp_sock *us = sl_udp_sk_const(sk);

	return sl_unlikely(us->filtered) ? sl_udp_queued(&us->extra->accepted)
					 : sl_udp_queued(&us->udp);
}
/* Datagrams in our own receive queues, those included that a callback has not seen; the kernel's
 * queue is not counted. */
static inline uint32_t sl_sock_queued(const struct sl_sock *sk)
{
	const struct sl_udp_sock *us = sl_udp_sk_const(sk);

	if (!sl_sock_is_udp(sk))
		return 0;
	return sl_udp_queued(&us->udp) + (us->extra ? sl_udp_queued(&us->extra->accepted) : 0);
}
/* Received packets of the socket that the program holds. */
static inline uint32_t sl_extra_received(const struct sl_sock *sk)
{
	const struct sl_extra *x = sl_extra_of(sk);

	return x ? sl_load(&x->nheld) - sl_load(&x->nsends) : 0;
}
/* These, and buffers from which it sends. */
static inline uint32_t sl_extra_held(const struct sl_sock *sk)
{
	const struct sl_extra *x = sl_extra_of(sk);

	return x ? sl_load(&x->nheld) : 0;
}
/* Call in a thread of the program that polls, after it has turned its lanes. No lock. */
static inline void sl_extra_filter_all(void)
{
	if (sl_unlikely(sl_load(&sl_extra_filters)))
		sl_extra_ops->filter_all();
}
/* A connection was given to the socket. Lane held. */
static inline void sl_extra_connected(struct sl_sock *sk)
{
	if (sl_unlikely(sl_load(&sl_extra_filters)))
		sl_extra_ops->connected(sk);
}
/* Numbers of sends that are not complete. Lane held. */
static inline uint32_t sl_extra_zc_numbers(const struct sl_sock *sk)
{
	const struct sl_extra *x = sl_extra_of(sk);

	return sl_unlikely(x != NULL) ? x->zc.numbers : 0;
}
/* Buffers of numbered sends may be free by now; all: they are, since the socket leaves its lane.
 * Lane held. */
static inline void sl_extra_complete(struct sl_sock *sk, bool all)
{
	if (sl_extra_zc_numbers(sk))
		sl_extra_ops->complete(sk, all);
}
/* The socket ends. Lane held. */
static inline void sl_extra_end(struct sl_sock *sk, struct sl_lane *lane)
{
	if (sl_unlikely(sl_extra_of(sk) != NULL))
		sl_extra_ops->end(sk, lane);
}
/* In a child after fork. */
void sl_extra_child(void);
/* Datagrams of accepted have been read, or moved on: gives their charge back. before: a copy of
 * the queue from before. Lane held. */
void sl_extra_uncharge(struct sl_sock *sk, const struct sl_udp *before);

#endif
