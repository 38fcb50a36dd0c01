/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit time stamps of a socket (Documentation/networking/timestamping.rst): the stamps
 * asked of each message, and the error queue by which they come back.
 *
 * Send calls look at sk->stamps, which is 0 for nearly all sockets. The kernel stamps messages that
 * go by the shadow, into the shadow's error queue. A read of the error queue merges both queues,
 * and numbers the messages as if all had gone one way. */
#ifndef SL_ERRQ_H
#define SL_ERRQ_H

#include <linux/net_tstamp.h>
#include <sys/socket.h>

#include "base/compat.h"
#include "sock/core/sock.h"
#include "stack/hwclock.h"
#include "stack/leg.h"

/* SOF_TIMESTAMPING_* flags that older headers lack. */
#define SL_TS_OPT_ID_TCP    (1u << 16)
#define SL_TS_OPT_RX_FILTER (1u << 17)
#define SL_TS_COMPLETION    (1u << 18)
/* Flags that one message may set. */
#define SL_TS_RECORD (SOF_TIMESTAMPING_TX_RECORD_MASK | SL_TS_COMPLETION)

/* A stamp that came back. */
struct sl_sent {
	uint64_t mono_ns; /* by our clock, CLOCK_MONOTONIC; 0: it is the hardware's */
	union {
		uint64_t hw_ns; /* by the hardware's; 0: it is ours */
		struct {        /* of SL_SENT_ICMP */
			uint32_t info;
			uint8_t err, type, code;
			bool v6;
		} icmp;
	};
	uint32_t id;    /* ee_data; of SL_SENT_ICMP: where in the frame the error's IP header is */
	uint32_t order; /* of the message among those that were to be stamped */
	uint32_t flags; /* while it waits: SOF_TIMESTAMPING_TX_*; of SL_SENT_ICMP: where in the
			 * frame the IP header of our packet is */
	uint32_t ifindex; /* of the device, of a packet that is looped back whole; 0: no packet */
	uint32_t frame;   /* what is looped back; SL_NO_FRAME: nothing */
	uint16_t off, len;
	uint8_t type; /* SCM_TSTAMP_*, SL_SENT_ICMP */
};
/* Not a stamp: an ICMP error, with our TCP header as the router has sent it back. */
#define SL_SENT_ICMP 255

/* State of a socket that ever asked for stamps by SO_TIMESTAMPING. It stays allocated with the
 * socket object, since poll() reads n without a lock. The lane's lock protects all the rest. */
#define SL_ERRQ_SIZE       512
#define SL_ERRQ_BACK       64
#define SL_ERRQ_WAIT       64
#define SL_ERRQ_MARKS      64
#define SL_ERRQ_MARK_BYTES 24
struct sl_errq {
	uint32_t n, head;
	uint32_t flags;   /* SO_TIMESTAMPING, as the program set it */
	uint32_t charged; /* about what the kernel would charge the receive buffer for it */
	uint32_t limit;   /* SO_RCVBUF */
	uint32_t key;     /* of datagrams the next number */
	uint32_t order;   /* of the next message */
	/* Messages that went by the shadow: their numbers by the kernel's, which begin with 0, too.
	 */
	uint32_t os_next, os_id[SL_ERRQ_BACK];
	uint32_t os_order; /* of the oldest whose stamps may be there unread */
	bool os_waits;     /* there is one */
	bool os_own; /* the program gave numbers itself (SCM_TS_OPT_ID): they are not ours to change
		      */
	bool took_icmp; /* the last one read was an ICMP error */
	/* For a stream: marks (errq_tcp.c), and how far our byte count is ahead of the kernel's.
	 * Its key is the sequence number that counts as 0. */
	uint32_t mark_first, nmarks;
	uint32_t os_offset;
	void *marks;    /* ring of SL_ERRQ_MARKS, behind sent's */
	uint64_t hw_ns; /* of a stream: the hardware's stamp of the last segment with data */
	uint32_t hw_ifindex;
	/* Stamps due from the hardware or the pacer: a bit for each place behind the ring. */
	uint64_t waiting;
	uint32_t asked;
	struct sl_sent *sent; /* ring of SL_ERRQ_SIZE; NULL: nothing was stamped yet */
};

/* Does the error queue that is ours hold something? Any thread, no lock. */
static inline bool sl_errq_has(const struct sl_sock *sk)
{
	const struct sl_errq *q = sl_load(&sk->errq);

	return sl_unlikely(sl_load(&sk->zc_done)) || (sl_unlikely(q != NULL) && sl_load(&q->n));
}

/* SO_TIMESTAMPING, as far as it matters to what is sent. */
static inline uint32_t sl_errq_flags(const struct sl_sock *sk)
{
	return sk->errq ? sk->errq->flags : 0;
}
/* Applies the flags that SO_TIMESTAMPING was set to, as far as they concern sending. False: an
 * offloaded socket cannot do it. Lane not held. */
bool sl_errq_set(struct sl_sock *sk, uint32_t flags);
/* Reads SO_RCVBUF, which limits the queue, anew: it has changed. */
void sl_errq_limit(struct sl_sock *sk);
/* Makes the queue if there is none. False: no memory. Lane held. */
bool sl_errq_make(struct sl_sock *sk);
/* A send with MSG_ZEROCOPY was copied: its number is complete. No lane held. */
void sl_errq_copied(struct sl_sock *sk);
/* recvmsg(MSG_ERRQUEUE): completions of numbered sends, then stamps from both queues. Never
 * waits. */
ssize_t sl_errq_recv(struct sl_sock *sk, int fd, struct msghdr *msg, int flags);
/* True: only packets that the kernel sends get stamps of the hardware. Lane held. */
static inline bool sl_errq_is_os(const struct sl_leg *leg)
{
	return !sl_leg_has_stamps(leg) && sl_port_os_stamps(leg->port);
}
/* Stamps the packet of a datagram that was just posted, as sk->stamps asks. Lane held. */
void sl_errq_posted(struct sl_sock *sk, struct sl_leg *leg, const struct sl_tx_desc *d);
/* Numbers a message that the kernel took to send. msg: its control messages, or NULL. No lane
 * held. */
void sl_errq_sent_by_os(struct sl_sock *sk, const struct msghdr *msg);
void sl_errq_init(void); /* once */
/* Empties the queue of a socket that ends. Lane held. */
void sl_errq_fini(struct sl_sock *sk, struct sl_frames *cache);
/* In a child: forgets the queue's stamps, which are the parent's. */
void sl_errq_child(struct sl_sock *sk);

/* For errq_tcp.c; lane held. Gets memory for stamps and marks. False: there is none. */
bool sl_errq_has_ring(struct sl_errq *q);
/* Queues a stamp, with a reference to its frame. False: the stamp is lost, since the queue is full
 * or memory short. */
bool sl_errq_push(struct sl_sock *sk, const struct sl_sent *s);
/* Makes the stamps that s->flags ask for, of a packet that was just posted to the device. */
void sl_errq_left(struct sl_sock *sk, struct sl_leg *leg, struct sl_sent *s);

/* The stamps that a message asks for: by its control messages if they say so, else `flags`; *own is
 * set if it brings a number of its own. */
uint32_t sl_errq_asked_by(const struct msghdr *msg, uint32_t flags, bool *own);

#endif
