/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets that a program holds of a socket, by names that are looked up and never followed. */
#ifndef SL_KEPT_H
#define SL_KEPT_H

#include "sluice_extra.h"
#include "sock/core/extra.h"
#include "stack/lane.h"

/* Bits of a packet's name: its place in the table, the count of uses, and above them the number of
 * the table. */
#define SL_KEPT_PLACE_BITS 20
#define SL_KEPT_COUNT_BITS 24
#define SL_HELD_BITS       (SL_KEPT_PLACE_BITS + SL_KEPT_COUNT_BITS)

/* struct sl_packets (sluice_extra.h) with one packet. */
struct sl_list_of_one {
	size_t count;
	void *id;
	size_t niov;
	struct iovec iov[SL_RX_BUFS];
} __attribute__((packed));
#define SL_LIST_BYTES(niov) (offsetof(struct sl_list_of_one, iov) + (niov) * sizeof(struct iovec))

/* extra.c: the socket's part, made at first use. NULL: no memory, or a signal handler in the midst
 * of a call. No lane held. */
struct sl_extra *sl_extra_get(struct sl_sock *sk);
/* Makes room for more packets. False: no memory, or too many. Lane held. */
bool sl_kept_grow(struct sl_extra *x);
/* Enters a packet; the table owns its frames from now on. Its name; 0: no memory, or too many. Lane
 * held. */
static inline uint64_t sl_kept_add(struct sl_extra *x, uint32_t frame, uint8_t nmore,
				   uint32_t charge)
{
	uint32_t i = x->free;
	struct sl_kept *h;

	if (sl_unlikely(i == x->size) && !sl_kept_grow(x))
		return 0;
	h = &x->held[i];
	x->free = h->frame;
	x->count = (x->count + 1) & ((1u << SL_KEPT_COUNT_BITS) - 1);
	h->id = x->base | (uint64_t)x->count << SL_KEPT_PLACE_BITS | i;
	h->frame = frame;
	h->charge = charge;
	h->nmore = nmore;
	h->sends = h->given = false;
	sl_store(&x->nheld, x->nheld + 1);
	return h->id;
}
/* The packet of that name, or NULL. Any id is safe. Lane held. */
static inline struct sl_kept *sl_kept_find(struct sl_extra *x, uint64_t id)
{
	uint32_t i = (uint32_t)id & ((1u << SL_KEPT_PLACE_BITS) - 1);

	return sl_likely(i < x->size && id && x->held[i].id == id) ? &x->held[i] : NULL;
}
/* The buffer to send from of that name, or NULL. Lane held. */
static inline struct sl_kept *sl_kept_buffer(struct sl_extra *x, const struct sl_zbuf *b)
{
	struct sl_kept *h = sl_kept_find(x, (uintptr_t)b->id);

	return h && h->sends && !h->given ? h : NULL;
}
/* Removes an entry; its frames are the caller's. Lane held. */
static inline void sl_kept_del(struct sl_extra *x, struct sl_kept *h)
{
	uint32_t i = (uint32_t)h->id & ((1u << SL_KEPT_PLACE_BITS) - 1);

	h->id = 0;
	if (sl_unlikely(h->sends)) {
		sl_store(&x->nsends, x->nsends - 1);
		sl_pool.charge[h->frame].tag &= ~SL_FRAME_FILLED;
	}
	h->frame = x->free;
	x->free = i;
	sl_store(&x->nheld, x->nheld - 1);
}
/* Removes an entry and gives its frames and its charge back. Lane held. */
static inline void sl_kept_put(struct sl_sock *sk, struct sl_extra *x, struct sl_lane *lane,
			       struct sl_kept *h)
{
	if (sl_unlikely(h->sends)) {
		sl_frame_put(&lane->frames, h->frame);
	} else if (sl_likely(sl_sock_is_udp(sk))) {
		sl_udp_release(&sl_udp_sk(sk)->udp, &lane->frames, h->frame, h->nmore, h->charge);
	} else {
		x->charged -= h->charge;
		sl_frame_put(&lane->frames, h->frame);
	}
	sl_kept_del(x, h);
}
/* Gives all back: the socket ends. Lane held. */
void sl_kept_end(struct sl_sock *sk, struct sl_lane *lane);
/* zc_stream.c: sl_zc_send() on a stream. No lane held. */
int sl_zc_stream(struct sl_sock *sk, struct sl_extra *x, int fd, struct sl_zbuf *buf, unsigned n,
		 int flags);
/* Bytes that a buffer for the stream has room for: a segment; 0: there is no connection. Lane
 * held. */
uint32_t sl_zc_stream_room(const struct sl_sock *sk);
/* zc_wait.c; lane held ----------------------------------------------------------------------- */

/* Makes room for one more numbered send. False: no memory. */
bool sl_zc_may_wait(struct sl_extra *x);
/* The buffer was given to the device or to the connection: its number is complete when they are
 * done with it, and the buffer is the library's then, unless `keep`. There is room. */
void sl_zc_wait(struct sl_sock *sk, struct sl_extra *x, struct sl_kept *h, bool keep);
/* sl_extra_ops.complete */
void sl_zc_complete(struct sl_sock *sk, bool all);
void sl_zc_wait_init(void);            /* once, before the first send */
void sl_zc_forget(struct sl_extra *x); /* the socket ends */
/* Where a buffer's bytes are, for a send that copies them. off: in front of them, for headers. 0;
 * -ENOENT: no such buffer; -EBUSY: called by a signal handler in the midst of a call. No lane held.
 */
int sl_zc_bytes(struct sl_sock *sk, struct sl_extra *x, const struct sl_zbuf *b, uint32_t off,
		struct iovec *iov);
/* The buffer was sent by a copy of its bytes: says so in it, completes the send's number if it has
 * one, and gives the buffer back, unless `keep`. No lane held. */
void sl_zc_copied(struct sl_sock *sk, struct sl_extra *x, struct sl_zbuf *b, bool numbers,
		  bool keep);

/* zcopy_stream.c: sl_recv_zcopy() of a stream. Bytes, and buf has a list; 0: the stream has ended;
 * -EREMCHG: its next bytes must be copied; else as sl_recv_zcopy(). No lane held. */
ssize_t sl_zcopy_stream(struct sl_sock *sk, struct sl_extra *x, int fd, void *buf, size_t len,
			int flags, bool force);
/* zcopy.c: the hardware's stamp of the datagram that the thread received last, 0: none. */
extern __thread uint64_t sl_zcopy_hw_ns;
/* extra.c: called in a forked child if the process has polled lanes (lane_poll.c). NULL: not. */
extern void (*sl_extra_polls_child)(void);
/* The callback when a batch was taken, and what then waited for receive calls. */
struct sl_filter_run {
	int (*callback)(int fd, size_t niov, struct iovec *iov, struct sl_packet_info *info,
			void *arg); /* NULL: none */
	void *arg;
	int fd;
	uint32_t pkts, bytes;
	uint32_t flow_tag;
};
/* Bytes of a struct sl_packet_info. A program without a flow tag may have been built with the
 * shorter structure, so it is not written beyond that. */
static inline size_t sl_filter_info_bytes(uint32_t flow_tag)
{
	return flow_tag ? sizeof(struct sl_packet_info) : offsetof(struct sl_packet_info, flow_tag);
}
#define SL_FILTER_BATCH 16 /* packets taken under one lock */
static inline struct timespec sl_filter_time(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}
/* filter_stream.c: shows the callback a batch of a stream's queue; returns how many pieces.
 * -EDEADLK: as sl_sock_lock(); -ENOBUFS: the program holds as much as it may, or the connection is
 * on its way to the kernel. No lane held. */
int sl_filter_stream(struct sl_sock *sk, struct sl_extra *x);
/* True: the callback has not seen all of the queue. No lock. */
bool sl_filter_stream_unseen(const struct sl_sock *sk);
/* The socket's connection, if it has one, is filtered from now on if there is a callback. Lane
 * held. */
void sl_filter_connected(struct sl_sock *sk);
/* filter.c: the callback's part of struct sl_extra_ops. */
bool sl_filter_list(struct sl_sock *sk, struct sl_extra *x); /* false: no memory; lane held */
void sl_filter_run(struct sl_sock *sk);
void sl_filter_all(void);
void sl_filter_end(struct sl_extra *x); /* the socket ends; lane held */
void sl_filter_child(void);

#endif
