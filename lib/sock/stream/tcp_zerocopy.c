/* SPDX-License-Identifier: BSD-2-Clause */
/* MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst): sends are numbered, and the error queue
 * says up to which number the program may use its buffers again.
 *
 * Theory of operation: frames are in packet memory, so the bytes are copied, and the completion,
 * which says so (SO_EE_CODE_ZEROCOPY_COPIED), is there when the call returns, as the kernel's is
 * for a device without scatter-gather. Numbers come one after the other, so what is in the queue
 * is one range, as the kernel would have merged it. A connection that went to the kernel is
 * numbered from zero there: what comes from its queue is put behind what we had. */
#include <errno.h>
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>

#include "base/sys.h"
#include "sock/core/cmsg.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

void sl_tcp_zerocopy_sent(struct sl_sock *sk)
{
	struct sl_lane *lane;

	if (!sl_sock_lock(sk, &lane))
		return;
	sk->zc_next++;
	sl_store(&sk->zc_done, sk->zc_done + 1);
	sl_sock_notify(sk, EPOLLERR);
	sl_lane_unlock(lane);
}

/* The message of ip_recv_error() and ipv6_recv_error(), without an offender's address. */
static void put_completion(const struct sl_sock *sk, uint32_t first, uint32_t n, struct msghdr *msg)
{
	struct {
		struct sock_extended_err ee;
		struct sockaddr_in6 offender;
	} e = {.ee = {.ee_origin = SO_EE_ORIGIN_ZEROCOPY,
		      .ee_code = SO_EE_CODE_ZEROCOPY_COPIED,
		      .ee_info = first,
		      .ee_data = first + n - 1}};
	bool v6 = sk->family == AF_INET6;

	msg->msg_namelen = 0;
	msg->msg_flags = MSG_ERRQUEUE;
	sl_cmsg_put_one(msg, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &e,
			sizeof(e.ee) +
				(v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)));
}

/* The kernel's numbers are behind ours. */
static void renumber(const struct sl_sock *sk, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct sock_extended_err ee;

		if (!((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		      (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) ||
		    c->cmsg_len < CMSG_LEN(sizeof(ee)))
			continue;
		memcpy(&ee, CMSG_DATA(c), sizeof(ee));
		if (ee.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			continue;
		ee.ee_info += sk->zc_next;
		ee.ee_data += sk->zc_next;
		memcpy(CMSG_DATA(c), &ee, sizeof(ee));
	}
}

ssize_t sl_tcp_errqueue(struct sl_sock *sk, int fd, struct msghdr *msg, int flags)
{
	uint32_t n = 0, first = 0;
	struct sl_lane *lane;
	ssize_t r;

	if (sl_sock_lock(sk, &lane)) {
		n = sk->zc_done;
		first = sk->zc_next - n;
		sl_store(&sk->zc_done, 0);
		sl_lane_unlock(lane);
	}
	if (n) {
		put_completion(sk, first, n, msg);
		msg->msg_flags |= flags & MSG_CMSG_CLOEXEC;
		return 0;
	}
	r = sl_errq_recv(sk, fd, msg, flags);
	if (r >= 0 && sk->zc_next)
		renumber(sk, msg);
	return r;
}
