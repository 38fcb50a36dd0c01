/* SPDX-License-Identifier: BSD-2-Clause */
/* uring_accept ADDRESS PORT FILE N: a server that listens, lets N connections come until FILE
 * exists, then makes an io_uring, and accepts by that alone: those that waited, and one that comes
 * later. It echoes once to each.
 * uring_accept ADDRESS PORT "" N: a server that reads a file by an io_uring, then listens, and
 * accepts N connections by accept(2). It echoes once to each.
 * uring_accept ADDRESS PORT sets N: the same, but it makes the ring first, waits in an epoll set,
 * and changes this by the ring alone, as libuv does. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned *tail, *cq_head, *cq_tail, mask, cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static int make_ring(void)
{
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	size_t len = p.cq_off.cqes + p.cq_entries * sizeof(*cqes) + p.sq_off.array + 64;
	char *at;

	if (fd < 0)
		exit(77);
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQES);
	if (at == MAP_FAILED || sqes == MAP_FAILED)
		exit(1);
	tail = (unsigned *)(at + p.sq_off.tail);
	mask = p.sq_entries - 1;
	for (unsigned i = 0; i < p.sq_entries; i++)
		((unsigned *)(at + p.sq_off.array))[i] = i;
	cq_head = (unsigned *)(at + p.cq_off.head);
	cq_tail = (unsigned *)(at + p.cq_off.tail);
	cqes = (struct io_uring_cqe *)(at + p.cq_off.cqes);
	cq_mask = p.cq_entries - 1;
	return fd;
}

static int once(int ring, struct io_uring_sqe e)
{
	unsigned h = *cq_head;
	int res;

	sqes[*tail & mask] = e;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -1;
	while (h == __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE))
		syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	res = cqes[h & cq_mask].res;
	__atomic_store_n(cq_head, h + 1, __ATOMIC_RELEASE);
	return res;
}

static void serve(int ring, int lsn, int by)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char buf[100];
	int fd, n;

	fd = once(ring, (struct io_uring_sqe){.opcode = IORING_OP_ACCEPT,
					      .fd = lsn,
					      .addr = (uintptr_t)&ss,
					      .addr2 = (uintptr_t)&len,
					      .accept_flags = SOCK_CLOEXEC,
					      .user_data = 5});
	if (fd < 0 || ss.ss_family == 0) {
		printf("accept %d: %d\n", by, fd);
		exit(1);
	}
	n = once(ring, (struct io_uring_sqe){.opcode = IORING_OP_RECV,
					     .fd = fd,
					     .addr = (uintptr_t)buf,
					     .len = sizeof(buf)});
	if (n > 0)
		once(ring, (struct io_uring_sqe){.opcode = IORING_OP_SEND,
						 .fd = fd,
						 .addr = (uintptr_t)buf,
						 .len = (unsigned)n});
	close(fd);
}

static void read_file(int ring)
{
	static char buf[4096];
	int fd = open("/proc/self/exe", O_RDONLY);

	if (once(ring, (struct io_uring_sqe){.opcode = IORING_OP_READ,
					     .fd = fd,
					     .addr = (uintptr_t)buf,
					     .len = sizeof(buf)}) != sizeof(buf))
		exit(1);
	close(fd);
}

static void serve_by_calls(int lsn)
{
	char buf[100];
	ssize_t n;
	int fd = accept(lsn, NULL, NULL);

	n = recv(fd, buf, sizeof(buf), 0);
	if (n < 0 || send(fd, buf, (size_t)n, 0) != n)
		exit(1);
	close(fd);
}

/* Changes a set by the ring; the result must be `want`. */
static void change(int ring, int set, int op, int fd, const void *ev, int want)
{
	int res = once(ring, (struct io_uring_sqe){.opcode = IORING_OP_EPOLL_CTL,
						   .fd = set,
						   .len = (unsigned)op,
						   .off = (uint64_t)fd,
						   .addr = (uintptr_t)ev});

	if (res == want)
		return;
	printf("epoll_ctl %d of %d: %d, not %d\n", op, fd, res, want);
	exit(1);
}

/* A change whose chain fails before it is none. */
static void change_in_chain(int ring, int set, int fd)
{
	unsigned h = *cq_head;
	const struct io_uring_sqe fails = {
		.opcode = IORING_OP_READ, .fd = -1, .flags = IOSQE_IO_LINK};

	sqes[*tail & mask] = fails;
	sqes[(*tail + 1) & mask] = (struct io_uring_sqe){.opcode = IORING_OP_EPOLL_CTL,
							 .fd = set,
							 .len = EPOLL_CTL_DEL,
							 .off = (uint64_t)fd};
	__atomic_store_n(tail, *tail + 2, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0) != 2 ||
	    cqes[h & cq_mask].res != -EBADF || cqes[(h + 1) & cq_mask].res != -ECANCELED) {
		printf("a chain: %d, %d\n", cqes[h & cq_mask].res, cqes[(h + 1) & cq_mask].res);
		exit(1);
	}
	__atomic_store_n(cq_head, h + 2, __ATOMIC_RELEASE);
}

static void wait_for(int set, int fd)
{
	struct epoll_event ev[4];
	int n;

	do {
		n = epoll_wait(set, ev, 4, 20000);
		for (int i = 0; i < n; i++)
			if (ev[i].data.fd == fd)
				return;
	} while (n > 0);
	printf("no event of %d\n", fd);
	exit(1);
}

static void serve_by_set(int ring, int lsn, int n)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = lsn};
	int set = epoll_create1(0), fd;
	char buf[100];
	ssize_t got;

	change(ring, set, EPOLL_CTL_MOD, lsn, &ev, -ENOENT);
	change(ring, set, EPOLL_CTL_ADD, lsn, &ev, 0);
	change(ring, set, EPOLL_CTL_ADD, lsn, &ev, -EEXIST);
	change(ring, set, EPOLL_CTL_ADD, 1000, &ev, -EBADF);
	change(ring, lsn, EPOLL_CTL_ADD, lsn, &ev, -EINVAL);
	while (n--) {
		wait_for(set, lsn);
		fd = accept(lsn, NULL, NULL);
		ev = (struct epoll_event){.events = 0, .data.fd = fd};
		change(ring, set, EPOLL_CTL_ADD, fd, &ev, 0);
#ifndef __SANITIZE_ADDRESS__ /* which handles SIGSEGV itself */
		change(ring, set, EPOLL_CTL_MOD, fd, (void *)8, -EFAULT);
#endif
		ev.events = EPOLLIN;
		change(ring, set, EPOLL_CTL_MOD, fd, &ev, 0);
		wait_for(set, fd);
		got = recv(fd, buf, sizeof(buf), 0);
		if (got < 0 || send(fd, buf, (size_t)got, 0) != got)
			exit(1);
		if (!n)
			change_in_chain(ring, set, fd);
		change(ring, set, EPOLL_CTL_DEL, fd, NULL, 0);
		change(ring, set, EPOLL_CTL_DEL, fd, NULL, -ENOENT);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	int is_six = strchr(argv[1], ':') != NULL, one = 1, n = atoi(argv[4]), lsn, ring = -1;
	int by_set = !strcmp(argv[3], "sets");

	(void)argc;
	if (!*argv[3])
		read_file(make_ring());
	if (by_set)
		ring = make_ring();
	lsn = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	four.sin_port = six.sin6_port = htons((uint16_t)atoi(argv[2]));
	inet_pton(is_six ? AF_INET6 : AF_INET, argv[1],
		  is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr);
	setsockopt(lsn, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(lsn, is_six ? (void *)&six : (void *)&four, is_six ? sizeof(six) : sizeof(four)) ||
	    listen(lsn, 64))
		return 1;
	if (!*argv[3]) {
		while (n--)
			serve_by_calls(lsn);
		return 0;
	}
	if (by_set) {
		serve_by_set(ring, lsn, n);
		return 0;
	}
	while (access(argv[3], F_OK))
		usleep(10000);
	ring = make_ring();
	for (int i = 0; i <= n; i++)
		serve(ring, lsn, i);
	return 0;
}
