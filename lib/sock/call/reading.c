/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that receive: datagrams, or bytes of a stream. */
#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/guard.h"
#include "base/heap.h"
#include "base/settings.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/call/rwf.h"
#include "sock/core/extra.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/core/shadow.h"
#include "sock/dgram/recv.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"

static SL_COLD ssize_t receive_most(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	size_t niov = r->niov;
	struct iovec *iov = sl_iov_cut(r->iov, &niov), *given = r->msg ? r->msg->msg_iov : NULL;
	ssize_t n;

	if (!iov)
		return -ENOMEM;
	if (r->msg) /* the kernel's call may be made with it */
		r->msg->msg_iov = iov;
	n = sl_tcp_sock_recv(sk, fd, iov, niov, SL_CALL_MOST, r->msg, r->flags);
	if (r->msg)
		r->msg->msg_iov = given;
	sl_free(iov);
	return n;
}

static inline ssize_t receive_one(struct sl_sock *sk, int fd, const struct sl_rx_req *r)
{
	if (sk->proto != IPPROTO_TCP)
		return sl_dgram_recv(sk, fd, r);
	if (sl_unlikely(r->len > SL_CALL_MOST))
		return receive_most(sk, fd, r);
	return sl_tcp_sock_recv(sk, fd, r->iov, r->niov, r->len, r->msg, r->flags);
}

/* 0; -EMSGSIZE: too many pieces; -EINVAL: a negative length; -EFAULT: there is no memory at m, or
 * at its pieces, or m cannot be written. */
static SL_APART int request_of(struct sl_rx_req *r, struct msghdr *m, int flags)
{
	volatile int *was = &m->msg_flags;
	ssize_t len;

	*was = *was;

	if (sl_unlikely(m->msg_name && (int)m->msg_namelen < 0))
		return -EINVAL;
	if (sl_unlikely(m->msg_iovlen > SL_IOV_MAX))
		return -EMSGSIZE;
	len = sl_iov_bytes(m->msg_iov, m->msg_iovlen);
	if (sl_unlikely(len < 0))
		return (int)len;
	*r = (struct sl_rx_req){m->msg_iov, m->msg_iovlen, m, flags, (size_t)len};
	return 0;
}
SL_GUARDED(request_of, (uint64_t)-EFAULT);

/* request_of() has failed. The kernel finds that m cannot be written when the message is gone. */
static SL_COLD ssize_t receive_read_only(struct sl_sock *sk, int fd, const struct msghdr *m,
					 int flags)
{
	struct msghdr copy;
	struct sl_rx_req r;
	ssize_t n = sl_guard_copy(&copy, m, sizeof(copy));

	if (n == 0)
		n = request_of(&r, &copy, flags);
	if (n == 0)
		n = receive_one(sk, fd, &r);
	return n < 0 ? n : -EFAULT;
}

SL_API
ssize_t sl_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct sl_rx_req r;
	int err;

	if (!sk || sl_unlikely(flags < 0)) /* MSG_CMSG_COMPAT: the kernel refuses it */
		return sl_sys_recvmsg(fd, msg, flags);
	err = request_of(&r, msg, flags);
	if (sl_unlikely(err))
		return err == -EFAULT ? receive_read_only(sk, fd, msg, flags) : err;
	return receive_one(sk, fd, &r);
}

SL_API
ssize_t sl_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		    socklen_t *addrlen)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct iovec iov = {buf, sl_min(len, SL_CALL_MOST)};
	struct msghdr msg = {
		.msg_name = addr,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	struct sl_rx_req r = {&iov, 1, &msg, flags, iov.iov_len};
	bool bad = false; /* there is no memory at addrlen */
	ssize_t n;

	if (!sk)
		return sl_sys_recvfrom(fd, buf, len, flags, addr, addrlen);
	if (sl_unlikely(((intptr_t)buf | flags) < 0)) {
		if ((intptr_t)buf < 0)
			return -EFAULT; /* the kernel finds it before it takes anything */
		r.flags = flags & ~(int)MSG_CMSG_COMPAT; /* (recvmsg(2) alone refuses it) */
	}
	if (addr)
		bad = sl_guard_touch_out(addrlen, sizeof(*addrlen));
	msg.msg_namelen = addr && sl_likely(!bad) ? *addrlen : 0;
	if (!addr)
		r.msg = sk->want & SL_WANT_GRO ? &msg : NULL;
	else if ((int)msg.msg_namelen < 0)
		msg.msg_namelen = 0;
	n = receive_one(sk, fd, &r);
	if (!addr || n < 0)
		return n;
	if (sl_unlikely(bad)) /* move_addr_to_user(), when the datagram is gone */
		return -EFAULT;
	if ((int)*addrlen < 0)
		return -EINVAL;
	*addrlen = msg.msg_namelen;
	return n;
}

SL_API
ssize_t sl_recv(int fd, void *buf, size_t len, int flags)
{
	return sl_recvfrom(fd, buf, len, flags, NULL, NULL);
}

/* rwf: RWF_* */
static ssize_t read_pieces(struct sl_sock *sk, int fd, const struct iovec *iov, int n, int rwf)
{
	struct sl_rx_req r = {.iov = iov, .niov = (size_t)n};
	ssize_t len = sl_rwf_bytes(iov, n, rwf, &r.flags);

	if (len <= 0)
		return len;
	r.len = (size_t)len;
	return receive_one(sk, fd, &r);
}

SL_API
ssize_t sl_readv(int fd, const struct iovec *iov, int n)
{
	struct sl_sock *sk = sl_sock_of_pieces(fd, n);

	if (!sk)
		return sl_sys(SYS_readv, fd, iov, n);
	return read_pieces(sk, fd, iov, n, 0);
}

SL_API
ssize_t sl_preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	struct sl_sock *sk = off == -1 ? sl_sock_of_pieces(fd, n) : NULL; /* no positions */

	if (!sk)
		return sl_sys(SYS_preadv2, fd, iov, n, off, 0, flags);
	return read_pieces(sk, fd, iov, n, flags);
}

/* do_recvmmsg(): the error that ends the call after the first message is the socket's from then on.
 * (The kernel keeps its own ERESTARTSYS, too, which no program can know: the next call returns
 * errno 512. EBADF: it would have held the file.) */
static void keep_error(struct sl_sock *sk, int err)
{
	if (err == EAGAIN || err == EBADF || (err == EINTR && !sk->rcvtimeo_ns))
		return;
	if (sk->proto == IPPROTO_TCP)
		sl_tcp_sock_put_error(sk, err);
	else
		sl_sock_keep_error(sk, err);
}

/* Receives up to n datagrams: how many came, or -errno of the first. end_ns 0: no time-out. */
static int receive_many(struct sl_sock *sk, int fd, struct mmsghdr *msgs, unsigned n, int flags,
			uint64_t end_ns)
{
	unsigned got = 0;
	ssize_t ret = 0;

	for (; got < n; got++) {
		struct msghdr *m = &msgs[got].msg_hdr;
		struct sl_rx_req r;

		int how = flags & ~MSG_WAITFORONE;

		if (got && (flags & MSG_WAITFORONE))
			how |= MSG_DONTWAIT;
		ret = request_of(&r, m, how);
		if (ret == -EFAULT)
			ret = receive_read_only(sk, fd, m, how);
		if (ret < 0)
			break;
		ret = receive_one(sk, fd, &r);
		if (ret < 0)
			break;
		msgs[got].msg_len = (unsigned)ret;
		if ((end_ns && sl_now_ns() >= end_ns) || m->msg_flags & MSG_OOB) {
			got++;
			break;
		}
	}
	if (got && ret < 0)
		keep_error(sk, (int)-ret);
	return got ? (int)got : (int)ret;
}

/* Takes the socket's error: do_recvmmsg() returns it before it looks for a message, even if asked
 * for none. */
static int error_of(struct sl_sock *sk, int fd)
{
	int err = 0;

	if (sk->proto == IPPROTO_TCP)
		return -sl_tcp_sock_take_error(sk);
	if (sl_unlikely(sl_load(&sk->os) & SL_OS_ERR) && sl_sock_is_udp(sk)) {
		err = sl_sock_pending_error(sk, fd);
		sl_sock_look_error(sk, fd); /* (the queue of errors is another matter) */
	}
	return err;
}

/* Receives by a socket of the kernel's, which keeps its errors itself. -EREMOTE: receive one
 * message after the other, since the socket still has datagrams here, its connection may come back,
 * or the program asks for the ends of sends, and some sends were ours. */
static int receive_in_kernel(struct sl_sock *sk, int fd, struct mmsghdr *msgs, unsigned n,
			     int flags, struct timespec *timeout)
{
	int got;

	if (flags & MSG_ERRQUEUE || sl_sock_queued(sk) || sk->told_mss ||
	    sl_settings.rx_poll_init || !sl_sock_in_kernel(sk))
		return -EREMOTE;
	pthread_cleanup_push(sl_sock_end_kernel_call, sk);
	got = (int)sl_sys_cancel(SYS_recvmmsg, fd, msgs, n, flags, timeout);
	pthread_cleanup_pop(1);
	for (int i = 0; i < got; i++)
		sl_stats_rx_os(sk->stats, msgs[i].msg_len, flags & MSG_PEEK);
	return got;
}

/* recvmmsg(2): the time-out is looked at after each datagram only, as Linux does it (BUGS), and
 * what is left of it is told when one has come. */
SL_API
int sl_recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
	struct sl_sock *sk = sl_fd_sock(fd);
	struct timespec left;
	uint64_t end = 0, now;
	int ret;

	if (!sk || sl_unlikely(flags < 0))
		return (int)sl_sys(SYS_recvmmsg, fd, msgs, n, flags, timeout);
	if (timeout && sl_guard_touch(timeout, sizeof(*timeout)))
		return -EFAULT;
	if (timeout && (timeout->tv_sec < 0 || (uint64_t)timeout->tv_nsec >= 1000000000))
		return -EINVAL;
	if (timeout)
		end = sl_now_ns() + (uint64_t)timeout->tv_sec * 1000000000ull +
		      (uint64_t)timeout->tv_nsec;
	ret = flags & MSG_ERRQUEUE ? 0 : error_of(sk, fd);
	if (ret)
		return ret;
	if (!n) /* the kernel looks for an error all the same */
		return (int)sl_sys(SYS_recvmmsg, fd, msgs, 0, flags, NULL);
	if (sl_load(&sk->state) == SL_STATE_KERNEL) {
		ret = receive_in_kernel(sk, fd, msgs, n, flags, timeout);
		if (ret != -EREMOTE)
			return ret;
	}
	ret = receive_many(sk, fd, msgs, n, flags, end);
	if (timeout && ret > 0) {
		now = sl_now_ns();
		end = end > now ? end - now : 0;
		left = (struct timespec){(time_t)(end / 1000000000), (long)(end % 1000000000)};
		if (sl_guard_copy(timeout, &left, sizeof(left)))
			return -EFAULT;
	}
	return ret;
}
