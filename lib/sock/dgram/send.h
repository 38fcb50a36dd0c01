/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that send datagrams: send.c (the calls), send_path.c (finds the path),
 * send_put.c (writes frames), send_room.c (waits until there is room). */
#ifndef SL_SEND_H
#define SL_SEND_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "sock/core/cmsg.h"
#include "sock/core/iov.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"
#include "stack/leg.h"

/* Headers, and those of VXLAN, are written in the room in front: payload starts at an aligned
 * place. */
#define SL_SEND_ROOM 192
/* Bytes that a frame counts against the send buffer beside its payload. */
#define SL_SEND_OVERHEAD 256
/* Descriptors that one call may need, less where rings may be shorter (SLUICE_TX_WRE). */
#define SL_SEND_BURST 64
/* Flags that change nothing for a datagram of ours; others go to the kernel. */
#define SL_SEND_OUR_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CONFIRM)
/* Result of a send function: the kernel must send it. */
#define SL_SEND_BY_OS (-EREMOTE)

/* send_path.c; lane held -------------------------------------------------------------------- */

/* Finds the datagram's destination and sets p to it. 0: p may not be fresh; SL_SEND_BY_OS: leave
 * the datagram to the kernel. */
int sl_send_find(struct sl_sock *sk, const struct sl_tx_req *r, struct sl_path *p);
/* Makes p's headers for its destination, as ctl says (NULL: nothing). p->leg is NULL afterwards
 * when the kernel is to send there. */
void sl_send_make_path(struct sl_sock *sk, struct sl_lane *lane, struct sl_path *p,
		       const struct sl_tx_ctl *ctl, uint64_t now);

/* Family, port and address of a sockaddr_in in one word; 0: it is none, or longer than names are,
 * or there is no memory. */
uint64_t sl_send_v4_name(const struct sl_tx_req *r);

/* True: the datagram goes to the destination of p. */
static inline bool sl_send_is_same(const struct sl_path *p, const struct sl_tx_req *r)
{
	if (sl_unlikely(!p->d))
		return false;
	return r->name ? p->v4_name && p->v4_name == sl_send_v4_name(r) : p->to_peer;
}

static inline bool sl_path_is_fresh(const struct sl_path *p, uint64_t now)
{
	return p->d && p->d->serial == p->serial && sl_dst_fresh(p->d, now) &&
	       (!p->leg || !p->leg->dead);
}

/* The ID of the next datagram by p, as by the kernel (ip_select_ident_segs()): a connected socket
 * has its own, which no other peer sees. */
static inline uint16_t *sl_path_ip_id(struct sl_udp_sock *us, const struct sl_path *p)
{
	return p->to_peer ? &us->ip_id : &p->d->ip_id;
}

/* send_put.c; lane held --------------------------------------------------------------------- */

/* Posts a plain datagram to the last destination; the caller kicks sk->path.leg. False: nothing was
 * done, since the datagram needs more than this. */
bool sl_send_straight(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
		      uint64_t now);
/* Posts r->len bytes that are in the frame, SL_SEND_ROOM behind its start, as a plain datagram; the
 * caller kicks sk->path.leg. True: the frame is the device's. False: they must be copied. */
bool sl_send_filled(struct sl_sock *sk, struct sl_lane *lane, const struct sl_tx_req *r,
		    uint32_t frame, uint64_t now);
/* True: a datagram that is longer than a frame can go in several. */
bool sl_send_takes_long(const struct sl_sock *sk, const struct sl_path *p, size_t len);
/* Posts all segments of one call (one, without UDP_SEGMENT) by p, which is fresh and has a leg.
 * Returns the number of bytes posted; *ok: all were. */
size_t sl_send_put(struct sl_sock *sk, struct sl_lane *lane, const struct sl_path *p,
		   const struct sl_tx_req *r, size_t seg, bool *ok);

/* send.c; no lane held ------------------------------------------------------------------------ */

/* The request of sendmsg(). 0; -EMSGSIZE: too many pieces; -EINVAL: a negative length; -EFAULT:
 * there is no memory at m or at its pieces (which may still point anywhere). Any thread. */
int sl_tx_req_of(struct sl_tx_req *r, const struct msghdr *m, int flags);

/* Sends one datagram by the straight way, and kicks the device. False: nothing was sent, or the
 * device is gone: sl_dgram_send() knows what to do. Inline: each call of a sender passes here. */
static inline __attribute__((always_inline)) bool sl_dgram_send_straight(struct sl_sock *sk,
									 const struct sl_tx_req *r)
{
	struct sl_lane *lane;
	bool sent;

	if (sl_unlikely((r->flags & ~SL_SEND_OUR_FLAGS) || (sl_load(&sk->os) & SL_OS_ERR) ||
			!sl_sock_lock(sk, &lane)))
		return false;
	sent = sk->state == SL_STATE_OFFLOADED && sl_send_straight(sk, lane, r, sl_now_ns());
	if (sl_likely(sent))
		sent = sl_leg_kick(sl_udp_sk(sk)->path.leg) != -ENODEV;
	sl_lane_unlock(lane);
	return sent;
}
/* Sends one datagram for which sl_dgram_send_straight() was not enough, by us or through the
 * kernel; waits for room if the socket and the flags say so. Bytes, or -errno as sendmsg(2). */
ssize_t sl_dgram_send(struct sl_sock *sk, int fd, const struct sl_tx_req *r);
/* Sends a run of messages with one kick for many, and stops at the first that needs more than the
 * fast path. Returns how many were sent. */
unsigned sl_dgram_send_many(struct sl_sock *sk, struct mmsghdr *msgs, unsigned n, int flags);

/* send_room.c ------------------------------------------------------------------------------- */

/* Takes EPOLLOUT off a socket that found no room, until completions make some. Lane held. */
void sl_send_block(struct sl_sock *sk, struct sl_lane *lane);

#endif
