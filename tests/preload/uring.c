/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets by io_uring, whose requests name them by number in shared memory. */
#include "t.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct ring {
	int fd;
	unsigned *head, *tail, *array, mask;
	unsigned *cq_head, *cq_tail, cq_mask;
	struct io_uring_cqe *cqes;
	struct io_uring_sqe *sqes;
	unsigned flags;
	void *mem;
	size_t len, sqes_len;
};

static struct ring ring_new(unsigned flags)
{
	struct io_uring_params p = {.flags = flags, .sq_thread_idle = 1000};
	struct ring r = {.fd = (int)syscall(SYS_io_uring_setup, 8, &p), .flags = flags};
	char *at;

	CHECK(r.fd >= 0);
	r.len = p.cq_off.cqes + p.cq_entries * sizeof(*r.cqes);
	if (r.len < p.sq_off.array + p.sq_entries * 4)
		r.len = p.sq_off.array + p.sq_entries * 4;
	at = r.mem = mmap(NULL, r.len, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
	CHECK(at != MAP_FAILED);
	r.sqes_len = p.sq_entries * sizeof(*r.sqes);
	r.sqes = mmap(NULL, r.sqes_len, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, IORING_OFF_SQES);
	CHECK(r.sqes != MAP_FAILED);
	r.head = (unsigned *)(at + p.sq_off.head);
	r.tail = (unsigned *)(at + p.sq_off.tail);
	r.array = (unsigned *)(at + p.sq_off.array);
	r.mask = p.sq_entries - 1;
	r.cq_head = (unsigned *)(at + p.cq_off.head);
	r.cq_tail = (unsigned *)(at + p.cq_off.tail);
	r.cqes = (struct io_uring_cqe *)(at + p.cq_off.cqes);
	r.cq_mask = p.cq_entries - 1;
	return r;
}

static void ring_free(struct ring *r)
{
	munmap(r->mem, r->len);
	munmap(r->sqes, r->sqes_len);
	close(r->fd);
}

static void put(struct ring *r, struct io_uring_sqe e)
{
	unsigned t = *r->tail;

	r->sqes[t & r->mask] = e;
	r->array[t & r->mask] = t & r->mask;
	__atomic_store_n(r->tail, t + 1, __ATOMIC_RELEASE);
}

static void submit(struct ring *r)
{
	unsigned flags = r->flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0;

	CHECK(syscall(SYS_io_uring_enter, r->fd, 1, 0, flags, NULL, 0) == 1);
}

/* The next completion's result; -ETIME after three seconds. */
static int result(struct ring *r)
{
	int res = -ETIME;

	for (int i = 0; i < 300; i++) {
		unsigned h = *r->cq_head;

		if (h != __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) {
			res = r->cqes[h & r->cq_mask].res;
			__atomic_store_n(r->cq_head, h + 1, __ATOMIC_RELEASE);
			break;
		}
		/* (Completions by task work come in a call.) */
		syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
		sleep_ms(10);
	}
	return res;
}

static long once(struct ring *r, struct io_uring_sqe e)
{
	int res;

	put(r, e);
	submit(r);
	res = result(r);
	if (res >= 0)
		return res;
	errno = -res;
	return -1;
}

#define OP(o, f, p, n)                                                                             \
	(struct io_uring_sqe)                                                                      \
	{                                                                                          \
		.opcode = (o), .fd = (f), .addr = (uintptr_t)(p), .len = (unsigned)(n)             \
	}

static int tcp(void)
{
	int fd = socket(t_peer.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	say("connect", connect(fd, (struct sockaddr *)&t_peer, t_len));
	return fd;
}

static void echo_by(struct ring *r, int fd)
{
	char b[8] = "";

	say("send", once(r, OP(IORING_OP_SEND, fd, "hello", 5)));
	say("recv", once(r, OP(IORING_OP_RECV, fd, b, 5)));
	printf("%s\n", b);
}

static void stream_by(unsigned flags)
{
	struct ring r = ring_new(flags);
	struct sockaddr_storage to = t_peer;
	struct io_uring_sqe e;
	char b[8] = "";
	int fd = tcp();

	echo_by(&r, fd);
	say("write", once(&r, OP(IORING_OP_WRITE, fd, "again", 5)));
	say("read", read(fd, b, 5));
	printf("%s\n", b);
	say("close", once(&r, OP(IORING_OP_CLOSE, fd, NULL, 0)));
	say("closed", write(fd, "x", 1));
	fd = socket(t_peer.ss_family, SOCK_STREAM, 0);
	e = OP(IORING_OP_CONNECT, fd, &to, 0);
	e.off = t_len;
	say("connect", once(&r, e));
	echo_by(&r, fd);
	close(fd);
	ring_free(&r);
}

static void stream(void)
{
	stream_by(0);
}

static void stream_first(void)
{
	int fd = tcp(), two = tcp();
	struct ring r = ring_new(0);

	say("send", send(fd, "hello", 5, 0));
	sleep_ms(100); /* the answer is in our queue */
	echo_by(&r, fd);
	say("send", once(&r, OP(IORING_OP_SEND, two, "hello", 5)));
	ring_free(&r);
	close(fd);
	close(two);
}

static void datagrams(void)
{
	struct ring r = ring_new(0);
	int fd = udp(), n = 0;
	char b[16];

	ask(fd, 3, 4, 0, 0);
	wait_in(fd);
	sleep_ms(50);
	for (int i = 0; i < 3; i++)
		n += once(&r, OP(IORING_OP_RECV, fd, b, sizeof(b))) == 4;
	printf("%d datagrams\n", n);
	echo_by(&r, fd);
	close(fd);
	ring_free(&r);
}

static void registered(void)
{
	struct ring r = ring_new(0);
	int fds[] = {tcp(), -1}, more = tcp();
	struct io_uring_files_update u = {.offset = 1, .fds = (uintptr_t)&more};
	struct io_uring_sqe e;
	char b[8] = "";

	say("register", syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_FILES, fds, 2));
	say("update", syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_FILES_UPDATE, &u, 1));
	for (int i = 0; i < 2; i++) {
		e = OP(IORING_OP_SEND, i, "fixed", 5);
		e.flags = IOSQE_FIXED_FILE;
		say("send", once(&r, e));
		e = OP(IORING_OP_RECV, i, b, 5);
		e.flags = IOSQE_FIXED_FILE;
		say("recv", once(&r, e));
		printf("%s\n", b);
	}
	close(fds[0]);
	close(more);
	ring_free(&r);
}

/* An epoll set whose members are ours, watched by a ring. */
static void set(void)
{
	struct ring r = ring_new(0);
	int fd = tcp(), late = tcp(), ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = 1};
	struct io_uring_sqe e = {.opcode = IORING_OP_POLL_ADD, .fd = ep, .poll32_events = POLLIN};
	char b[8];

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	put(&r, e);
	submit(&r);
	say("send", send(fd, "hello", 5, 0));
	say("ready", result(&r));
	say("wait", epoll_wait(ep, &ev, 1, 1000));
	say("recv", recv(fd, b, 5, 0));
	ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = 2};
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, late, &ev) == 0);
	put(&r, e);
	submit(&r);
	say("send", send(late, "hello", 5, 0));
	say("ready", result(&r));
	say("wait", epoll_wait(ep, &ev, 1, 1000));
	printf("%u\n", ev.data.u32);
	close(fd);
	close(late);
	close(ep);
	ring_free(&r);
}

static int listener(struct sockaddr_storage *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(t_own.ss_family, SOCK_STREAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&t_own, t_len) == 0);
	CHECK(listen(fd, 8) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

/* (Connections from elsewhere are uring_accept's.) */
static void accepts(void)
{
	struct ring r = ring_new(0);
	struct sockaddr_storage at;
	int lsn = listener(&at), fd = socket(t_own.ss_family, SOCK_STREAM, 0), got;
	char b[8] = "";

	CHECK(connect(fd, (struct sockaddr *)&at, t_len) == 0);
	got = (int)once(&r, OP(IORING_OP_ACCEPT, lsn, NULL, 0));
	printf("accept: %s\n", got >= 0 ? "ok" : strerrorname_np(errno));
	say("send", send(fd, "hello", 5, 0));
	say("recv", once(&r, OP(IORING_OP_RECV, got, b, 5)));
	close(fd);
	close(got);
	close(lsn);
	ring_free(&r);
}

/* A closed ring is gone: what it waited for does not keep the socket. */
static void closed(void)
{
	struct ring r = ring_new(0);
	int pair[2];
	char b[8];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	put(&r, OP(IORING_OP_RECV, pair[0], b, 5));
	submit(&r);
	ring_free(&r);
	close(pair[0]);
	say("the other end", poll(&(struct pollfd){pair[1], POLLHUP, 0}, 1, 3000));
	close(pair[1]);
}

/* Last: from now on all sockets of the process are the kernel's. */
static void by_thread(void)
{
	int before = tcp(), lsn;
	struct sockaddr_storage at;

	stream_by(IORING_SETUP_SQPOLL);
	say("send", send(before, "hello", 5, 0));
	close(before);
	lsn = listener(&at);
	close(lsn);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"stream", stream},
		{"stream_first", stream_first},
		{"datagrams", datagrams},
		{"registered", registered},
		{"set", set},
		{"accepts", accepts},
		{"closed", closed},
		{"by_thread", by_thread},
		{NULL, NULL},
	};
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);

	if (fd < 0) {
		printf("no io_uring\n");
		return 0;
	}
	close(fd);
	return t_main(argc, argv, cases);
}
