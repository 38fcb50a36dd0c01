/* SPDX-License-Identifier: BSD-2-Clause */
/* sendfile(2) and splice(2) with a TCP socket of ours: by a buffer, since the kernel cannot move
 * its pages into our frames. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/compat.h"
#include "base/guard.h"
#include "base/heap.h"
#include "base/sys.h"
#include "sluice.h"
#include "sock/core/block.h"
#include "sock/core/iov.h"
#include "sock/core/life.h"
#include "sock/stream/stream.h"
#include "sock/stream/tconn.h"
#include "tcp/tcp_user.h"

#define CHUNK        65536u
#define SPLICE_FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT)

/* A connection of ours behind the descriptor, or NULL; what else is ours goes to the kernel. */
static struct sl_sock *stream(int fd)
{
	struct sl_sock *sk = sl_tcp_sock(fd);

	if (sk && sl_load(&sk->conn))
		return sk;
	if (sl_fd_sock(fd))
		sl_fd_hand_back(fd);
	return NULL;
}

static ssize_t send_some(struct sl_sock *sk, int fd, const void *buf, size_t n, int flags)
{
	struct iovec iov = {sl_unconst(buf), n};

	return sl_tcp_sock_send(
		sk, fd, &(struct sl_tx_req){.iov = &iov, .niov = 1, .len = n, .flags = flags});
}

/* True: the file has more bytes from pos on. (For a terminal, say, that is not known: false.) */
static bool goes_on(int in, int64_t pos)
{
	struct stat st;

	return sl_sys(SYS_fstat, in, &st) == 0 && S_ISREG(st.st_mode) && pos >= 0 &&
	       pos < st.st_size;
}

/* True: a file of the kernel's own (/proc), which has bytes and no size. The kernel does not send
 * most of these. */
static bool has_no_size(int in)
{
	struct stat st;

	return sl_sys(SYS_fstat, in, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size;
}

/* Sends the file from pos on. Returns the number of bytes sent, or -errno. -EREMOTE: the
 * kernel decides, by the call itself. */
static ssize_t send_range(struct sl_sock *sk, int out, int in, int64_t pos, size_t len,
			  uint8_t *buf)
{
	size_t done = 0;

	while (done < len) {
		size_t want = sl_min(len - done, (size_t)CHUNK);
		long got = sl_sys(SYS_pread64, in, buf, want, pos + (int64_t)done);
		bool more = got > 0 && done + (size_t)got < len &&
			    goes_on(in, pos + (int64_t)done + got);
		ssize_t n;

		if (got > 0 && got < (long)want && !done && has_no_size(in))
			return -EREMOTE;
		if (got == -EISDIR)
			got = -EINVAL;
		if (got <= 0)
			return done ? (ssize_t)done : got;
		n = send_some(sk, out, buf, (size_t)got, more ? MSG_MORE : 0);
		if (n < 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
		if (n < got)
			break;
	}
	return (ssize_t)done;
}

/* Room in the send queue that a call may wait for. */
struct room {
	struct sl_sock *sk;
	uint32_t bytes;
	bool over; /* nothing can be sent any more */
};

static ssize_t reader_has_room(void *arg)
{
	struct room *r = arg;
	struct sl_lane *lane;
	ssize_t ret = -EREMOTE;

	if (!sl_sock_lock(r->sk, &lane))
		return -EDEADLK;
	sl_lane_turn_locked(lane);
	if (r->sk->conn) {
		struct sl_tcp *t = &r->sk->conn->tcp;

		r->over = t->tx_shut || t->error;
		r->bytes = r->over ? CHUNK : sl_tcp_write_room(t);
		t->want_out |= !r->bytes;
		ret = r->bytes ? 0 : -EAGAIN;
	}
	sl_lane_unlock(lane);
	return ret;
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timespec zero = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0;
}

/* Sends all the bytes: they have left the pipe and cannot be put back. */
static ssize_t send_all(struct sl_sock *sk, int fd, const uint8_t *buf, size_t len, int flags)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = send_some(sk, fd, buf + done, len - done, flags);

		if (n == -EAGAIN || n == -EINTR) {
			sl_lane_turn(sl_load_acquire(&sk->lane));
			sl_sys(SYS_sched_yield);
		} else if (n < 0) {
			return n;
		} else {
			done += (size_t)n;
		}
	}
	return (ssize_t)done;
}

static ssize_t pipe_to_stream(int in, struct sl_sock *sk, int out, size_t len, unsigned flags,
			      uint8_t *buf)
{
	bool nowait = sk->nonblock || (flags & SPLICE_F_NONBLOCK);
	struct room r = {.sk = sk};
	size_t done = 0, want;

	while (done < len) {
		ssize_t n = reader_has_room(&r);

		if (n == -EAGAIN && !nowait && !done)
			n = sl_sock_block(sk, out, 0, reader_has_room, &r);
		if (n < 0)
			return done ? (ssize_t)done : n;
		if ((done || (flags & SPLICE_F_NONBLOCK)) && !is_readable(in))
			return done ? (ssize_t)done : -EAGAIN;
		if (r.over && is_readable(in)) { /* the bytes stay in the pipe */
			n = send_some(sk, out, buf, 0, 0);
			if (n < 0)
				return done ? (ssize_t)done : n;
		}
		want = sl_min(len - done, (size_t)CHUNK);
		want = sl_min(want, (size_t)r.bytes);
		n = sl_sys_cancel(SYS_read, in, buf, want);
		if (n > 0)
			n = send_all(sk, out, buf, (size_t)n, flags & SPLICE_F_MORE ? MSG_MORE : 0);
		if (n <= 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* wait_for_space() of splice.c: 0, or -errno. SIGPIPE is the write's to send. */
static ssize_t wait_pipe(const struct sl_call *s, int out, bool nowait)
{
	struct pollfd p = {.fd = out, .events = POLLOUT};
	struct timespec zero = {0, 0};
	int n;

	if (nowait)
		n = (int)sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8);
	else
		do
			n = sl_call_poll(s, &p, NULL);
		while (n == -EINTR && !sl_call_over(s));

	return n < 0 ? n : n == 0 ? -EAGAIN : 0;
}

/* Writes only as much as fits: this very thread may be the one to read the pipe later. */
static ssize_t write_pipe(int out, const uint8_t *buf, size_t n)
{
	struct iovec iov = {sl_unconst(buf), n};
	ssize_t r = sl_sys(SYS_pwritev2, out, &iov, 1, -1, -1, RWF_NOWAIT);

	/* A page fits, or the pipe would not have been writable. */
	if (r == -EOPNOTSUPP)
		r = sl_sys_cancel(SYS_write, out, buf, sl_min(n, (size_t)PIPE_BUF));
	return r;
}

/* True: the mark is next, which a splice does not pass; *r: its result then. */
static bool is_at_mark(struct sl_sock *sk, ssize_t *r)
{
	struct sl_tconn *c;
	struct sl_lane *lane;
	bool at = false, broken;

	if (!sl_sock_lock(sk, &lane))
		return false;
	c = sk->conn;
	at = c && c->tcp.rx_bytes && !sl_tcp_inq(&c->tcp);
	if (at)
		*r = sl_tcp_sock_ended(c, &broken);
	sl_lane_unlock(lane);
	if (at && *r == -EAGAIN && !sk->nonblock)
		*r = 0;
	return at;
}

/* tcp_splice_read(): waits as the socket does, for room in the pipe as the flags say. What the pipe
 * has taken leaves our queue only then. */
static ssize_t stream_to_pipe(struct sl_sock *sk, int in, int out, size_t len, bool nowait,
			      uint8_t *buf)
{
	struct sl_call s = sl_call_begin(sk, in, 0);
	size_t most = sl_min(len, (size_t)CHUNK);
	struct iovec iov = {buf, most};
	ssize_t n;

	nowait |= (sl_sys_fcntl(out, F_GETFL, 0) & O_NONBLOCK) != 0;
	do {
		n = wait_pipe(&s, out, nowait);
		if (n < 0)
			return n;
		if (is_at_mark(sk, &n))
			return n;
		n = sl_tcp_sock_recv(sk, in, &iov, 1, most, NULL, MSG_PEEK);
		if (n <= 0)
			return n;
		n = write_pipe(out, buf, (size_t)n);
	} while (n == -EAGAIN && !nowait); /* another thread has filled it meanwhile */
	if (n <= 0)
		return n;
	iov.iov_len = (size_t)n;
	sl_tcp_sock_recv(sk, in, &iov, 1, (size_t)n, NULL, MSG_TRUNC | MSG_DONTWAIT);
	return n;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return sl_sys(SYS_fstat, fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool is_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	struct timespec zero = {0, 0};

	return sl_sys(SYS_ppoll, &p, 1, &zero, NULL, 8) > 0;
}

/* Takes the error that a TCP socket without a connection keeps (tcp_disconnect()) and that its
 * shadow does not know, as -errno. The kernel asks the socket only when the file or pipe `in` has
 * bytes to send, or the pipe `out` has room for what is read. */
static ssize_t kept_error(int in, int64_t pos, int out)
{
	struct sl_sock *from = sl_tcp_sock(in), *to = sl_tcp_sock(out), *sk = from ? from : to;

	if (!sk || sl_load(&sk->conn) || !sl_load(&sk->error) || (from && !is_pipe(out)))
		return 0;
	if (from ? !is_writable(out) : !goes_on(in, pos) && !(is_pipe(in) && is_readable(in)))
		return 0;
	return -sl_sock_kept_error(sk);
}

/* sendfile(2) from a connection: to a pipe only, and without a position; else the kernel says what
 * is wrong. */
static ssize_t sendfile_from(struct sl_sock *sk, int out, int in, off_t *off, size_t len)
{
	int saved = errno;
	uint8_t *buf = NULL;
	ssize_t n;

	if (!off && len && is_pipe(out))
		buf = sl_malloc(CHUNK);
	errno = saved;
	if (!buf)
		return sl_sys_cancel(SYS_sendfile, out, in, off, len);
	n = stream_to_pipe(sk, in, out, len, false, buf);
	sl_free(buf);
	errno = saved;
	return n;
}

SL_API
ssize_t sl_sendfile(int out, int in, off_t *off, size_t len)
{
	struct sl_sock *from = sl_tcp_sock(in), *sk;
	int saved = errno;
	uint8_t *buf;
	int64_t pos;
	ssize_t n;

	if (off && sl_guard_touch_out(off, sizeof(*off)))
		return -EFAULT;
	if (off && *off < 0) /* which the kernel refuses, whatever the socket is */
		return sl_sys_cancel(SYS_sendfile, out, in, off, len);
	pos = off ? *off : sl_sys(SYS_lseek, in, 0, SEEK_CUR);
	if (from && sl_load(&from->conn))
		return sendfile_from(from, out, in, off, len);
	n = len && (!from || !off) ? kept_error(in, pos, out) : 0;
	if (n)
		return n;
	sk = stream(out);
	if (!sk || pos < 0 || !(buf = sl_malloc(CHUNK))) {
		if (sk)
			sl_fd_hand_back(out);
		errno = saved;
		return sl_sys_cancel(SYS_sendfile, out, in, off, len);
	}
	n = send_range(sk, out, in, pos, sl_min(len, SL_CALL_MOST), buf);
	sl_free(buf);
	errno = saved;
	if (n == -EREMOTE) {
		sl_fd_hand_back(out);
		errno = saved;
		return sl_sys_cancel(SYS_sendfile, out, in, off, len);
	}
	if (n > 0 && off)
		*off = pos + n;
	else if (n > 0)
		sl_sys(SYS_lseek, in, pos + n, SEEK_SET);
	return n;
}

/* The connection of ours behind the descriptor, the other end being a pipe. Neither has a position:
 * with one the kernel refuses the call (ESPIPE). */
static struct sl_sock *to_splice(int fd, const off_t *off, int pipe, const off_t *pipe_off)
{
	struct sl_sock *sk = off || pipe_off ? NULL : sl_tcp_sock(fd);

	return sk && sl_load(&sk->conn) && is_pipe(pipe) ? sk : NULL;
}

/* Before a splice is left to the kernel, for datagram sockets and for descriptors that it must
 * refuse. */
static void leave_splice(int in, int out, size_t len, bool ours)
{
	if (ours || (len && sl_fd_sock(in) && !sl_tcp_sock(in)))
		sl_fd_hand_back(in);
	if (ours || (len && sl_fd_sock(out) && !sl_tcp_sock(out)))
		sl_fd_hand_back(out);
}

SL_API
ssize_t sl_splice(int in, off_t *in_off, int out, off_t *out_off, size_t len, unsigned flags)
{
	bool odd = !len || (flags & ~SPLICE_FLAGS); /* the kernel knows what to say */
	struct sl_sock *from = odd ? NULL : to_splice(in, in_off, out, out_off);
	struct sl_sock *to = odd || from ? NULL : to_splice(out, out_off, in, in_off);
	int saved = errno;
	uint8_t *buf = NULL;
	ssize_t n = odd || in_off || out_off ? 0 : kept_error(in, -1, out);

	if (n)
		return n;
	if (from || to)
		buf = sl_malloc(CHUNK);
	errno = saved;
	if (!buf) {
		leave_splice(in, out, len, from || to);
		return sl_sys_cancel(SYS_splice, in, in_off, out, out_off, len, flags);
	}
	n = from ? stream_to_pipe(from, in, out, len, flags & SPLICE_F_NONBLOCK, buf)
		 : pipe_to_stream(in, to, out, len, flags, buf);
	sl_free(buf);
	errno = saved;
	return n;
}
