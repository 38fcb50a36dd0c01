/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing. */
#include "real.h"

#include <linux/aio_abi.h>
#include <sys/syscall.h>

/* (A number of ours that has no socket, an epoll set's, is read and written like a file.) */
ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t n;

	if (!ours_point(fd) || (ssize_t)len < 0) /* which the kernel refuses */
		return REAL(read)(fd, buf, len);
	if (!len)
		return 0; /* as net/socket.c: sock_read_iter */
	n = lib.recv(fd, buf, len, 0);
	return sl_unlikely(n == -ENOTSOCK) ? REAL(read)(fd, buf, len) : done(n);
}

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return read(fd, buf, len);
}

ssize_t readv(int fd, const struct iovec *iov, int n)
{
	if (!ours_point(fd))
		return REAL(readv)(fd, iov, n);
	return done(lib.readv(fd, iov, n));
}

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	if (!ours_point(fd))
		return REAL(preadv2)(fd, iov, n, off, flags);
	return done(lib.preadv2(fd, iov, n, off, flags));
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	if (!ours_point(fd))
		return REAL(recv)(fd, buf, len, flags);
	return done(lib.recv(fd, buf, len, flags));
}

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	if (len > room)
		__chk_fail();
	return recv(fd, buf, len, flags);
}

ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		 socklen_t *addrlen)
{
	if (!ours_point(fd))
		return REAL(recvfrom)(fd, buf, len, flags, addr, addrlen);
	return done(lib.recvfrom(fd, buf, len, flags, addr, addrlen));
}

ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
		       socklen_t *addrlen)
{
	if (len > room)
		__chk_fail();
	return recvfrom(fd, buf, len, flags, addr, addrlen);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n;

	if (ours_point(fd))
		return done(lib.recvmsg(fd, msg, flags));
	n = REAL(recvmsg)(fd, msg, flags);
	if (n >= 0 && msg->msg_controllen)
		sl_given_received(msg);
	return n;
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
	int got;

	if (ours_point(fd))
		return (int)done(lib.recvmmsg(fd, msgs, n, flags, timeout));
	got = REAL(recvmmsg)(fd, msgs, n, flags, timeout);
	for (int i = 0; i < got; i++)
		if (msgs[i].msg_hdr.msg_controllen)
			sl_given_received(&msgs[i].msg_hdr);
	return got;
}

SL_SYS(recvmsg)
{
	struct msghdr *msg = (struct msghdr *)b;
	long n;

	SL_SYS_UNUSED;
	if (ours((int)a))
		return done(lib.recvmsg((int)a, msg, (int)c));
	n = sl_raw(SYS_recvmsg, a, b, c);
	if (n >= 0 && msg->msg_controllen)
		sl_given_received(msg);
	return n;
}

SL_SYS(recvmmsg)
{
	struct mmsghdr *msgs = (struct mmsghdr *)b;
	long got;

	SL_SYS_UNUSED;
	if (ours((int)a))
		return done(lib.recvmmsg((int)a, msgs, (unsigned)c, (int)d, (struct timespec *)e));
	got = sl_raw(SYS_recvmmsg, a, b, c, d, e);
	for (long i = 0; i < got; i++)
		if (msgs[i].msg_hdr.msg_controllen)
			sl_given_received(&msgs[i].msg_hdr);
	return got;
}

/* The kernel takes the position in two halves; on 64-bit machines the first has all of it. */
SL_SYS(preadv2)
{
	if (!ours((int)a))
		return sl_raw(SYS_preadv2, a, b, c, d, e, f);
	return done(lib.preadv2((int)a, (const struct iovec *)b, (int)c, d, (int)f));
}

SL_SYS(pwritev2)
{
	if (!ours((int)a))
		return sl_raw(SYS_pwritev2, a, b, c, d, e, f);
	return done(lib.pwritev2((int)a, (const struct iovec *)b, (int)c, d, (int)f));
}

ssize_t write(int fd, const void *buf, size_t len)
{
	ssize_t n;

	if (!ours_point(fd) || (ssize_t)len < 0)
		return REAL(write)(fd, buf, len);
	n = lib.send(fd, buf, len, 0);
	return sl_unlikely(n == -ENOTSOCK) ? REAL(write)(fd, buf, len) : done(n);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	if (!ours_point(fd))
		return REAL(writev)(fd, iov, n);
	return done(lib.writev(fd, iov, n));
}

ssize_t pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	if (!ours_point(fd))
		return REAL(pwritev2)(fd, iov, n, off, flags);
	return done(lib.pwritev2(fd, iov, n, off, flags));
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	if (!ours_point(fd))
		return REAL(send)(fd, buf, len, flags);
	return done(lib.send(fd, buf, len, flags));
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	       socklen_t addrlen)
{
	if (!ours_point(fd))
		return REAL(sendto)(fd, buf, len, flags, addr, addrlen);
	return done(lib.sendto(fd, buf, len, flags, addr, addrlen));
}

/* Hands back sockets that a message passes to another process, which needs plain kernel sockets. */
static void release_rights(const struct msghdr *msg)
{
	struct msghdr *m = sl_unconst(msg);
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			(void)sl_pass(fd);
		}
	}
}

/* The message can be read, and has control data. The kernel reports a bad address. */
static bool has_control(const struct msghdr *msg)
{
	return lib_is_there() && !sl_in_vfork && lib.is_memory(msg, sizeof(*msg)) &&
	       msg->msg_controllen && lib.is_memory(msg->msg_control, msg->msg_controllen);
}

void sl_pass_rights(const struct msghdr *msg)
{
	if (has_control(msg))
		release_rights(msg);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (ours_point(fd))
		return done(lib.sendmsg(fd, msg, flags));
	sl_pass_rights(msg);
	return REAL(sendmsg)(fd, msg, flags);
}

int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	if (ours_point(fd))
		return (int)done(lib.sendmmsg(fd, msgs, n, flags));
	for (unsigned i = 0; i < n; i++)
		sl_pass_rights(&msgs[i].msg_hdr);
	return REAL(sendmmsg)(fd, msgs, n, flags);
}

SL_SYS(sendmsg)
{
	const struct msghdr *msg = (const struct msghdr *)b;

	SL_SYS_UNUSED;
	if (ours((int)a))
		return done(lib.sendmsg((int)a, msg, (int)c));
	sl_pass_rights(msg);
	return sl_raw(SYS_sendmsg, a, b, c);
}

SL_SYS(sendmmsg)
{
	struct mmsghdr *msgs = (struct mmsghdr *)b;

	SL_SYS_UNUSED;
	if (ours((int)a))
		return done(lib.sendmmsg((int)a, msgs, (unsigned)c, (int)d));
	for (unsigned i = 0; i < (unsigned)c; i++)
		sl_pass_rights(&msgs[i].msg_hdr);
	return sl_raw(SYS_sendmmsg, a, b, c, d);
}

ssize_t sendfile(int out, int in, off_t *off, size_t len)
{
	ssize_t n;
	int state;

	if (!ours(out) && !ours(in))
		return REAL(sendfile)(out, in, off, len);
	/* The C library's is no cancellation point, so it is none where the library sleeps either.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	n = lib.sendfile(out, in, off, len);
	pthread_setcancelstate(state, NULL);
	return done(n);
}

/* On 64-bit machines off64_t is off_t. */
_Static_assert(sizeof(off_t) == sizeof(off64_t), "build with -D_FILE_OFFSET_BITS=64");
ssize_t sendfile64(int out, int in, off64_t *off, size_t len) __attribute__((alias("sendfile")));
ssize_t preadv64v2(int fd, const struct iovec *iov, int n, off64_t off, int flags)
	__attribute__((alias("preadv2")));
ssize_t pwritev64v2(int fd, const struct iovec *iov, int n, off64_t off, int flags)
	__attribute__((alias("pwritev2")));

ssize_t splice(int in, off64_t *in_off, int out, off64_t *out_off, size_t len, unsigned flags)
{
	if (ours_point(in) || ours_point(out))
		return done(lib.splice(in, in_off, out, out_off, len, flags));
	return REAL(splice)(in, in_off, out, out_off, len, flags);
}

SL_SYS(sendfile)
{
	SL_SYS_UNUSED;
	if (!ours((int)a) && !ours((int)b))
		return sl_raw(SYS_sendfile, a, b, c, d);
	return done(lib.sendfile((int)a, (int)b, (off_t *)c, (size_t)d));
}

SL_SYS(splice)
{
	if (!ours((int)a) && !ours((int)c))
		return sl_raw(SYS_splice, a, b, c, d, e, f);
	return done(lib.splice((int)a, (off64_t *)b, (int)c, (off64_t *)d, (size_t)e, (unsigned)f));
}

/* The kernel's asynchronous I/O gets descriptors by number and would use the kernel's sockets, so
 * offloaded ones among them are handed back first. (The C library has no function for this
 * call.) */
SL_SYS(io_submit)
{
	struct iocb *const *list = (struct iocb *const *)c;

	SL_SYS_UNUSED;
	if (!lib_is_there() && !sl_load(&sl_given_left))
		return sl_raw(SYS_io_submit, a, b, c);
	for (long i = 0; i < b; i++) {
		if (lib_is_there() && (!lib.is_memory(&list[i], sizeof(list[i])) ||
				       !lib.is_memory(list[i], sizeof(*list[i]))))
			break; /* the kernel reports it */
		if (ours((int)list[i]->aio_fildes))
			lib.hand_back((int)list[i]->aio_fildes);
	}
	return sl_raw(SYS_io_submit, a, b, c);
}

ssize_t __read(int fd, void *buf, size_t len) __attribute__((alias("read")));
ssize_t __write(int fd, const void *buf, size_t len) __attribute__((alias("write")));
ssize_t __send(int fd, const void *buf, size_t len, int flags) __attribute__((alias("send")));
