/* SPDX-License-Identifier: BSD-2-Clause */
/* The user's bytes: written, read, counted (tcp_user.c). */
#ifndef SL_TCP_USER_H
#define SL_TCP_USER_H

#include <sys/uio.h>

struct sl_rxseg;

#include "tcp/tcp.h"

struct sl_txseg;

/* SEND: copies from iov, skipping the first `skip` bytes. Returns the bytes taken (0: queue full;
 * less than given: flush, receive, and call again), -EPIPE after shutdown or the end, -c->error
 * once, -EFAULT: memory of iov cannot be read. oob: the last byte is urgent. more: MSG_MORE.
 * sl_tcp_flush() sends the segments that can leave at once. */
long sl_tcp_write(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t skip, bool more,
		  bool oob);
/* SEND of n bytes that are at SL_TCP_HEADROOM in a frame already, which becomes the queue's: the
 * caller's reference is its own. more: more bytes come at once. 0; -EAGAIN: no room or not
 * connected, as sl_tcp_write()'s 0; else as that. */
int sl_tcp_write_frame(struct sl_tcp *c, uint32_t frame, uint16_t n, bool more);
/* Adds bytes to a short segment that waits, and will go on waiting, until an earlier short one is
 * acknowledged (Nagle). Nothing is sent, so neither the time nor sl_tcp_flush() is needed. False:
 * there is no such segment, or buf cannot be read; nothing was taken. */
bool sl_tcp_append(struct sl_tcp *c, const void *buf, size_t len);
/* Lets what is queued now go, however short, though there is a cork (TCP_NODELAY over TCP_CORK).
 * The caller calls sl_tcp_option_changed() afterwards. Lane held. */
void sl_tcp_push(struct sl_tcp *c);
/* Ends a segment behind the last byte written: no later write lengthens it (MSG_EOR). Lane held. */
void sl_tcp_end_record(struct sl_tcp *c);
/* RECEIVE: copies up to the length of iov; 0: no data (check sl_tcp_at_eof()); -EFAULT: memory of
 * iov cannot be written. peek leaves the data and skips the first peek_off bytes; trunc discards
 * data instead of copying. Stops at the urgent mark as Linux does. */
long sl_tcp_read(struct sl_tcp *c, const struct iovec *iov, size_t n, size_t peek_off, bool peek,
		 bool trunc);
/* The oldest piece of the receive queue; NULL: there is none, the urgent mark is in it, or the
 * filter has not let all of it pass. Valid until c changes. */
const struct sl_rxseg *sl_tcp_oldest(const struct sl_tcp *c);
/* Takes that piece, which must be there, off the queue as read. Its frame is the caller's. */
void sl_tcp_take_oldest(struct sl_tcp *c);
/* Reads the urgent byte: 1 and *b; 0: not arrived yet (EAGAIN); -EINVAL: none; -ENOTCONN: c is
 * closed. */
int sl_tcp_read_oob(struct sl_tcp *c, uint8_t *b, bool peek);
bool sl_tcp_at_mark(const struct sl_tcp *c); /* the urgent byte is the next to read (SIOCATMARK) */
bool sl_tcp_at_eof(const struct sl_tcp *c);  /* everything was read, and FIN or an end came */
uint32_t sl_tcp_readable(const struct sl_tcp *c); /* bytes that can be read now */
uint32_t sl_tcp_inq(const struct sl_tcp *c);      /* FIONREAD */
/* unsent: SIOCOUTQNSD, else SIOCOUTQ. A FIN counts, as in Linux; 0 during the handshake. */
uint32_t sl_tcp_outq(const struct sl_tcp *c, bool unsent);
bool sl_tcp_is_readable(const struct sl_tcp *c, uint32_t lowat); /* as poll(2) sees it */
uint32_t sl_tcp_unsent(const struct sl_tcp *c);  /* bytes not sent yet, without FIN */
uint32_t sl_tcp_unacked(const struct sl_tcp *c); /* bytes not acknowledged, without FIN */
uint32_t
sl_tcp_write_room(const struct sl_tcp *c); /* bytes; 0: full, as sk_stream_is_writeable() sees it */
/* True: there is not yet enough room to wake a waiting writer (sk_stream_write_space());
 * SL_TCP_EV_OUT will tell when there is. */
bool sl_tcp_is_short(struct sl_tcp *c);

/* Inside lib/tcp ------------------------------------------------------------------------------- */

/* Reports EV_OUT if the owner waits for room and there is some again. */
void sl_tcp_write_space(struct sl_tcp *c);
/* Call when bytes were taken off the receive queue: the window opens. */
void sl_tcp_has_read(struct sl_tcp *c);
/* Skips the urgent byte, which is next to read and does not belong to the stream. */
void sl_tcp_pass_mark(struct sl_tcp *c);

#endif
