/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that send: a datagram, or bytes of a stream. */
#include <errno.h>
#include <limits.h>

#include "base/compat.h"
#include "base/guard.h"
#include "base/heap.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/call/rwf.h"
#include "sock/dgram/send.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

/* A stream has no use for the name, but refuses a bad one (move_addr_to_kernel()). */
static SL_COLD int check_name(const struct sl_tx_req *r)
{
	const size_t most = sizeof(struct sockaddr_storage);

	if ((int)r->namelen < 0 || (!r->msg && r->namelen > most))
		return -EINVAL;
	return sl_guard_touch(r->name, sl_min((size_t)r->namelen, most));
}

static SL_COLD int check_control(const struct msghdr *m)
{
	return m->msg_controllen > INT_MAX ? -ENOBUFS
					   : sl_guard_touch(m->msg_control, m->msg_controllen);
}

/* sendto(MSG_FASTOPEN) to a name. */
static SL_COLD ssize_t send_to_name(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct sl_tx_req named = *r;
	struct msghdr m = {
		.msg_name = sl_unconst(r->name),
		.msg_namelen = r->namelen,
		.msg_iov = sl_unconst(r->iov),
		.msg_iovlen = r->niov,
	};

	named.msg = &m;
	return sl_tcp_sock_send(sk, fd, &named);
}

static ssize_t send_stream(struct sl_sock *sk, int fd, const struct sl_tx_req *r);

static SL_COLD ssize_t send_most(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	struct sl_tx_req cut = *r;
	struct iovec *iov = sl_iov_cut(r->iov, &cut.niov);
	struct msghdr m;
	ssize_t n;

	if (!iov)
		return -ENOMEM;
	if (r->msg) {
		m = *r->msg;
		m.msg_iov = iov;
		m.msg_iovlen = cut.niov;
		cut.msg = &m;
	}
	cut.iov = iov;
	cut.len = SL_CALL_MOST;
	n = send_stream(sk, fd, &cut);
	sl_free(iov);
	return n;
}

/* The checks are those that the kernel makes before the protocol gets the call. */
static SL_APART ssize_t send_stream(struct sl_sock *sk, int fd, const struct sl_tx_req *r)
{
	int err = 0;

	if (sl_unlikely(r->name))
		err = check_name(r);
	if (sl_unlikely(r->msg && r->msg->msg_controllen && !err))
		err = check_control(r->msg);
	if (sl_unlikely(err))
		return err;
	if (sl_unlikely(r->len > SL_CALL_MOST))
		return send_most(sk, fd, r);
	return sl_unlikely(r->flags & MSG_FASTOPEN && !r->msg) ? send_to_name(sk, fd, r)
							       : sl_tcp_sock_send(sk, fd, r);
}

static inline __attribute__((always_inline)) ssize_t send_one(struct sl_sock *sk, int fd,
							      const struct sl_tx_req *r)
{
	if (sk->proto == IPPROTO_TCP)
		return send_stream(sk, fd, r);
	return sl_likely(sl_dgram_send_straight(sk, r)) ? (ssize_t)r->len
							: sl_dgram_send(sk, fd, r);
}

SL_API
ssize_t sl_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		  socklen_t addrlen)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct iovec iov = {sl_unconst(buf), sl_min(len, SL_CALL_MOST)};
	struct sl_tx_req r = {&iov, 1, iov.iov_len, addr, addrlen, flags & ~(int)MSG_CMSG_COMPAT,
			      NULL};

	return sk ? send_one(sk, fd, &r) : sl_sys_sendto(fd, buf, len, flags, addr, addrlen);
}

SL_API
ssize_t sl_send(int fd, const void *buf, size_t len, int flags)
{
	return sl_sendto(fd, buf, len, flags, NULL, 0);
}

SL_API
ssize_t sl_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_tx_req r;
	int err;

	if (!sk || sl_unlikely(flags < 0)) /* MSG_CMSG_COMPAT: the kernel refuses it */
		return sl_sys_sendmsg(fd, msg, flags);
	err = sl_tx_req_of(&r, msg, flags);
	return sl_unlikely(err) ? err : send_one(sk, fd, &r);
}

/* rwf: RWF_*. Without bytes nothing is sent; write(2) of no bytes sends an empty datagram. */
static ssize_t write_pieces(struct sl_sock *sk, int fd, const struct iovec *iov, int n, int rwf)
{
	struct sl_tx_req r = {.iov = iov, .niov = (size_t)n};
	ssize_t len = sl_rwf_bytes(iov, n, rwf, &r.flags);

	if (len <= 0)
		return len;
	r.len = (size_t)len;
	return send_one(sk, fd, &r);
}

SL_API
ssize_t sl_writev(int fd, const struct iovec *iov, int n)
{
	struct sl_sock *sk = sl_sock_of_pieces(fd, n);

	if (!sk)
		return sl_sys(SYS_writev, fd, iov, n);
	return write_pieces(sk, fd, iov, n, 0);
}

SL_API
ssize_t sl_pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	struct sl_sock *sk = off == -1 ? sl_sock_of_pieces(fd, n) : NULL; /* no positions */

	if (!sk)
		return sl_sys(SYS_pwritev2, fd, iov, n, off, 0, flags);
	return write_pieces(sk, fd, iov, n, flags);
}

/* True: the lengths of what was sent can be written. */
static bool takes_lengths(struct mmsghdr *msgs, unsigned n)
{
	char *first = (char *)&msgs[0].msg_len, *end = (char *)&msgs[n];

	return n && !sl_guard_touch_out(first, (size_t)(end - first));
}

SL_API
int sl_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	unsigned done = 0, bytes;
	bool at_once;

	if (!sk || sl_unlikely(flags < 0))
		return (int)sl_sys(SYS_sendmmsg, fd, msgs, n, flags);
	n = sl_min(n, (unsigned)SL_IOV_MAX);
	at_once = sk->proto == IPPROTO_UDP && takes_lengths(msgs, n);
	while (done < n) {
		struct sl_tx_req r;
		ssize_t len;

		if (at_once)
			done += sl_dgram_send_many(sk, msgs + done, n - done, flags);
		if (done == n)
			break;
		len = sl_tx_req_of(&r, &msgs[done].msg_hdr, flags);
		if (!len)
			len = send_one(sk, fd, &r);
		if (len < 0)
			return done ? (int)done : (int)len;
		bytes = (unsigned)len;
		if (sl_guard_copy(&msgs[done].msg_len, &bytes, sizeof(bytes)))
			return done ? (int)done : -EFAULT;
		done++;
		if (sl_unlikely((size_t)len < sl_min(r.len, SL_CALL_MOST)))
			break; /* the next message would follow a part of this one */
	}
	return (int)done;
}
