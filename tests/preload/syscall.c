/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets by syscall(2): every number that has a function in the C library does what that one does.
 */
#include "t.h"

#include <linux/aio_abi.h>
#include <linux/close_range.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../raw.h"

static int tcp(void)
{
	int fd = (int)syscall(SYS_socket, t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	say("connect", syscall(SYS_connect, fd, &t_peer, t_len));
	return fd;
}

static void show(const char *what, const char *b, long n)
{
	say(what, n);
	if (n > 0)
		printf("%.*s\n", (int)n, b);
}

static void calls(void)
{
	struct sockaddr_storage name, from;
	struct timeval tv = {5, 0};
	socklen_t len = sizeof(name);
	char b[100];
	struct iovec out = {"vector", 6}, in = {b, sizeof(b)};
	struct msghdr msg = {.msg_iov = &out, .msg_iovlen = 1};
	struct mmsghdr mm = {.msg_hdr = {.msg_iov = &in, .msg_iovlen = 1}};
	long fd = syscall(SYS_socket, t_own.ss_family, SOCK_DGRAM, 0), two, v = 0;

	say("bind", syscall(SYS_bind, fd, &t_own, t_len));
	say("connect", syscall(SYS_connect, fd, &t_peer, t_len));
	say("setsockopt", syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	say("getsockname", syscall(SYS_getsockname, fd, &name, &len));
	say("getpeername", syscall(SYS_getpeername, fd, &name, &len));
	printf("%d\n", memcmp(&name, &t_peer, t_len));
	len = sizeof(int);
	say("getsockopt", syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &v, &len));
	printf("%ld\n", v);
	say("write", syscall(SYS_write, fd, "one", 3));
	show("read", b, syscall(SYS_read, fd, b, sizeof(b)));
	say("sendto", syscall(SYS_sendto, fd, "two", 3, 0, NULL, 0));
	len = sizeof(from);
	show("recvfrom", b, syscall(SYS_recvfrom, fd, b, sizeof(b), 0, &from, &len));
	printf("%d\n", memcmp(&from, &t_peer, t_len));
	say("writev", syscall(SYS_writev, fd, &out, 1));
	show("readv", b, syscall(SYS_readv, fd, &in, 1));
	say("pwritev2", syscall(SYS_pwritev2, fd, &out, 1, -1L, 0L, 0));
	show("preadv2", b, syscall(SYS_preadv2, fd, &in, 1, -1L, 0L, 0));
	say("sendmsg", syscall(SYS_sendmsg, fd, &msg, 0));
	msg.msg_iov = &in;
	show("recvmsg", b, syscall(SYS_recvmsg, fd, &msg, 0));
	mm.msg_hdr.msg_iov = &out;
	say("sendmmsg", syscall(SYS_sendmmsg, fd, &mm, 1, 0));
	mm.msg_hdr.msg_iov = &in;
	say("recvmmsg", syscall(SYS_recvmmsg, fd, &mm, 1, 0, NULL));
	printf("%.*s\n", (int)mm.msg_len, b);
	say("FIONBIO", syscall(SYS_ioctl, fd, FIONBIO, &(int){1}));
	printf("nonblocking %d\n", !!(syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK));
	show("nothing", b, syscall(SYS_read, fd, b, sizeof(b)));
	say("FIONBIO", syscall(SYS_ioctl, fd, FIONBIO, &(int){0}));
	two = syscall(SYS_dup, fd);
	say("close", syscall(SYS_close, fd));
	say("closed", syscall(SYS_write, fd, "x", 1));
	say("dup lives", syscall(SYS_write, two, "three", 5));
	wait_in((int)two);
	show("dup", b, syscall(SYS_read, two, b, sizeof(b)));
	say("dup2", syscall(SYS_dup2, two, 100));
	say("dup3", syscall(SYS_dup3, two, 101, O_CLOEXEC));
	say("F_DUPFD", syscall(SYS_fcntl, two, F_DUPFD, 102));
	say("close_range", syscall(SYS_close_range, two, two, 0));
	say("102", syscall(SYS_write, 102, "four", 4));
	wait_in(100);
	show("101", b, syscall(SYS_read, 101, b, sizeof(b)));
	say("shutdown", syscall(SYS_shutdown, 101, SHUT_RDWR));
	say("close_range", syscall(SYS_close_range, 100, 102, 0));
	say("closed", write(101, "x", 1));
}

static void streams(void)
{
	struct sockaddr_storage own = t_own;
	socklen_t len = sizeof(own);
	long lsn = syscall(SYS_socket, t_own.ss_family, SOCK_STREAM, 0);
	int fd = tcp(), p[2];
	char b[16];

	say("bind", syscall(SYS_bind, lsn, &own, t_len));
	say("listen", syscall(SYS_listen, lsn, 5));
	say("getsockname", syscall(SYS_getsockname, lsn, &own, &len));
	say("nonblocking", syscall(SYS_fcntl, lsn, F_SETFL, O_NONBLOCK));
	say("accept", syscall(SYS_accept, lsn, NULL, NULL));
	say("accept4", syscall(SYS_accept4, lsn, NULL, NULL, SOCK_CLOEXEC));
	say("close", syscall(SYS_close, lsn));
	CHECK(pipe(p) == 0 && write(p[1], "spliced", 7) == 7);
	say("splice", syscall(SYS_splice, p[0], NULL, fd, NULL, 7, 0));
	show("recv", b, recv(fd, b, 7, MSG_WAITALL));
	say("no file", syscall(SYS_sendfile, fd, p[0], NULL, 7));
	close(p[0]);
	close(p[1]);
	say("close", syscall(SYS_close, fd));
	/* The number means another file now. */
	CHECK(pipe(p) == 0);
	printf("used again: %d\n", p[0] == (int)lsn || p[0] == fd);
	say("write", write(p[1], "p", 1));
	say("read", read(p[0], b, 1));
	close(p[0]);
	close(p[1]);
}

static void one_datagram(int fd)
{
	drain(fd);
	ask(fd, 1, 10, 50, 0);
}

static void waits(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct timespec ts = {5, 0};
	struct timeval tv = {5, 0};
	int fd = udp();
	struct pollfd p = {fd, POLLIN, 0};
	struct {
		const sigset_t *set;
		size_t bytes;
	} mask = {NULL, 8};
	sigset_t none;
	fd_set rd;
	long ep;

	sigemptyset(&none);
	one_datagram(fd);
	say("poll", syscall(SYS_poll, &p, 1, 5000));
	one_datagram(fd);
	say("ppoll", syscall(SYS_ppoll, &p, 1, &ts, &none, 8));
	printf("time is left: %d\n", ts.tv_sec == 4);
	say("ppoll, bad mask", syscall(SYS_ppoll, &p, 1, &ts, &none, 9));
	FD_ZERO(&rd);
	FD_SET(fd, &rd);
	one_datagram(fd);
	say("select", syscall(SYS_select, fd + 1, &rd, NULL, NULL, &tv));
	printf("time is left: %d\n", tv.tv_sec == 4);
	one_datagram(fd);
	ts = (struct timespec){5, 0};
	say("pselect6", syscall(SYS_pselect6, fd + 1, &rd, NULL, NULL, &ts, &mask));
	printf("time is left: %d\n", ts.tv_sec == 4);
	mask.set = &none;
	mask.bytes = 7;
	say("pselect6, bad mask", syscall(SYS_pselect6, fd + 1, &rd, NULL, NULL, &ts, &mask));
	ep = syscall(SYS_epoll_create1, EPOLL_CLOEXEC);
	say("EPOLL_CTL_ADD", syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, fd, &ev));
	one_datagram(fd);
	say("epoll_wait", syscall(SYS_epoll_wait, ep, &ev, 1, 5000));
	one_datagram(fd);
	say("epoll_pwait", syscall(SYS_epoll_pwait, ep, &ev, 1, 5000, &none, 8));
	say("epoll_pwait, bad mask", syscall(SYS_epoll_pwait, ep, &ev, 1, 5000, &none, 4));
	one_datagram(fd);
	ts = (struct timespec){5, 0};
	say("epoll_pwait2", syscall(SYS_epoll_pwait2, ep, &ev, 1, &ts, &none, 8));
	drain(fd);
	say("empty", syscall(SYS_epoll_wait, ep, &ev, 1, 0));
	syscall(SYS_close, ep);
	say("closed", epoll_wait((int)ep, &ev, 1, 0));
	ep = syscall(SYS_epoll_create, 1);
	say("EPOLL_CTL_ADD", epoll_ctl((int)ep, EPOLL_CTL_ADD, fd, &ev));
	say("writable", (syscall(SYS_epoll_ctl, ep, EPOLL_CTL_MOD, fd,
				 &(struct epoll_event){.events = EPOLLOUT}),
			 epoll_wait((int)ep, &ev, 1, 1000)));
	close((int)ep);
	close(fd);
}

/* Asynchronous I/O of the kernel (io_submit has no function in the C library) */
static void submits(void)
{
	struct iocb cb = {.aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN}, *cbs[1] = {&cb};
	struct timespec ts = {5, 0};
	aio_context_t ctx = 0;
	struct io_event e = {0};
	int fd = tcp();

	cb.aio_fildes = (uint32_t)fd;
	say("io_setup", syscall(SYS_io_setup, 4, &ctx));
	say("io_submit", syscall(SYS_io_submit, ctx, 1, cbs));
	say("bad list", syscall(SYS_io_submit, ctx, 1, NULL));
	say("send", send(fd, "x", 1, 0));
	say("io_getevents", syscall(SYS_io_getevents, ctx, 1, 1, &e, &ts));
	printf("%#llx\n", (long long)e.res);
	say("io_destroy", syscall(SYS_io_destroy, ctx));
	close(fd);
}

/* A close that no library sees: the number is taken for the old socket no longer. */
static void unseen(void)
{
	int fd = tcp(), two;
	char b[4];

	CHECK(raw(SYS_close, fd) == 0);
	say("closed", fcntl(fd, F_GETFD));
	say("send", send(fd, "x", 1, 0));
	CHECK((fd = tcp()) >= 0 && raw(SYS_close, fd) == 0);
	two = tcp();
	printf("used again: %d\n", two == fd);
	say("send", send(two, "two", 3, 0));
	show("recv", b, recv(two, b, 3, MSG_WAITALL));
	say("close", close(two));
	say("closed", send(two, "x", 1, 0));
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"calls", calls},     {"streams", streams}, {"waits", waits},
		{"submits", submits}, {"unseen", unseen},   {NULL, NULL},
	};

	return t_main(argc, argv, cases);
}
