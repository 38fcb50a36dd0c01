/* SPDX-License-Identifier: BSD-2-Clause */
/* A program for libvma's extra API, written from the facts of its binary interface alone: nothing
 * of ours is included. `vma_api PEER PORT OWN [CASE...]`; the peer is tests/preload/peer. */
#include "../preload/t.h"
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <pthread.h>
#include <sys/ioctl.h>

enum { DROP, RECV, HOLD };
#define FORCE 0x01000000
#define ZCOPY 0x00040000
#define GET   2800
#define REAL  0x313c3fu /* bits 0-5, 10-13, 16, 20, 21 */

struct packet {
	void *id;
	size_t n;
	struct iovec iov[1];
} __attribute__((packed));

struct info {
	size_t size;
	void *id;
	struct sockaddr_in *src, *dst;
	size_t payload;
	uint32_t pkts, bytes;
	struct timespec hw, sw;
} __attribute__((packed));

static struct {
	int (*callback)(int, int (*)(int, size_t, struct iovec *, struct info *, void *), void *);
	int (*zcopy)(int, void *, size_t, int *, struct sockaddr *, socklen_t *);
	int (*free)(int, void *, size_t);
	int (*rule)(char *);
	int (*offload)(int, pthread_t);
	int (*xtreme)(int, void *, unsigned, int);
	int (*rings)(int);
	int (*ring_fds)(int, int *, int);
	int (*tx_ring)(int, struct sockaddr *, socklen_t);
	int (*xfree)(void *, int);
	int (*ref)(void *);
	int (*unref)(void *);
	int (*dump)(int, int);
	int (*profile)(void *, int *);
	int (*header)(int, void *, uint16_t *);
	int (*direct)(int, void *);
	int (*reg)(int, void *, size_t, uint32_t *);
	int (*dereg)(int, void *, size_t);
	int (*modify)(void *);
	uint64_t mask;
	int (*ioctl)(void *, size_t);
} __attribute__((packed)) * api;

static char big[65536];

static struct {
	size_t count;
	struct packet p;
	struct iovec more[31];
} __attribute__((packed)) list;

/* Receives one datagram without a copy. */
static void *zread(int fd, int len, int number)
{
	int flags = FORCE, n;
	size_t all = 0;

	memset(&list, 0, sizeof(list));
	n = api->zcopy(fd, &list, sizeof(list), &flags, NULL, NULL);
	CHECK(n == len);
	CHECK(flags == ZCOPY && list.count == 1 && list.p.n >= 1);
	CHECK(atoi(list.p.iov[0].iov_base) == number);
	for (size_t i = 0; i < list.p.n; i++)
		all += (&list.p.iov[0])[i].iov_len;
	CHECK((int)all == len);
	return list.p.id;
}

static int give(int fd, void *id)
{
	struct {
		void *id;
		size_t n;
	} p = {id, 1};

	return api->free(fd, &p, 1);
}

static int fresh(void)
{
	int fd = udp();

	ask(fd, 1, 10, 0, 0); /* offloaded, and the path is there */
	CHECK(recv(fd, big, sizeof(big), 0) == 10);
	return fd;
}

static void structure(void)
{
	int pair[2], key;
	uint32_t k32;
	socklen_t len = 4;
	void *p;

	CHECK(getsockopt(-1, SOL_SOCKET, GET, &p, &len) < 0); /* too short for a pointer */
	printf("mask %lx\n", (unsigned long)api->mask);
	CHECK(api->mask == REAL);
	CHECK(api->xtreme(1, big, 1, 0) < 0 && errno == EOPNOTSUPP);
	CHECK(api->xfree(big, 1) < 0 && errno == EOPNOTSUPP);
	CHECK(api->ref(big) < 0 && errno == EOPNOTSUPP);
	CHECK(api->unref(big) < 0 && errno == EOPNOTSUPP);
	CHECK(api->direct(1, big) < 0 && errno == EOPNOTSUPP);
	CHECK(api->reg(1, big, 1, &k32) < 0 && errno == EOPNOTSUPP);
	CHECK(api->dereg(1, big, 1) < 0 && errno == EOPNOTSUPP);
	CHECK(api->ioctl(big, 1) < 0 && errno == EINVAL);
	CHECK(pipe(pair) == 0);
	CHECK(api->callback(pair[0], NULL, NULL) < 0 && errno == EINVAL);
	CHECK(api->zcopy(pair[0], big, 100, &key, NULL, NULL) < 0 && errno == EINVAL);
	CHECK(api->free(pair[0], big, 1) < 0 && errno == EINVAL);
	CHECK(api->rings(pair[0]) < 0 && errno == EINVAL);
	close(pair[0]);
	close(pair[1]);
}

static void zcopy(void)
{
	int fd = fresh(), other = fresh(), flags = FORCE | MSG_DONTWAIT;
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	void *id[3];

	CHECK(api->zcopy(fd, &list, sizeof(list), &flags, NULL, NULL) < 0 && errno == EAGAIN);
	ask(fd, 3, 700, 5, 0);
	for (int i = 0; i < 3; i++)
		id[i] = zread(fd, 700, i);
	CHECK(id[0] != id[1] && id[1] != id[2]);
	CHECK(give(other, id[0]) < 0 && errno == ENOENT);
	CHECK(give(fd, id[1]) == 0);
	CHECK(give(fd, id[1]) < 0 && errno == ENOENT); /* twice */
	CHECK(give(fd, NULL) < 0 && errno == ENOENT);
	CHECK(give(fd, big) < 0 && errno == ENOENT); /* forged */
	for (unsigned long i = 0; i < 64; i++)
		CHECK(give(fd, (void *)((unsigned long)id[0] ^ (1ul << i))) < 0 && errno == ENOENT);
	CHECK(give(fd, id[0]) == 0 && give(fd, id[2]) == 0);
	/* The datagram stays when there is no room for it, and the name is told. */
	ask(fd, 1, 33, 0, 0);
	wait_in(fd);
	flags = 0;
	CHECK(api->zcopy(fd, &list, 39, &flags, NULL, NULL) < 0 && errno == ENOBUFS);
	CHECK(api->zcopy(fd, &list, 40, &flags, (struct sockaddr *)&from, &len) == 33);
	CHECK(flags == ZCOPY && len == t_len && memcmp(&from, &t_peer, 8) == 0);
	CHECK(give(fd, list.p.id) == 0);
	CHECK(close(fd) == 0);
	CHECK(give(fd, id[0]) < 0 && errno == EINVAL);
	close(other);
}

/* Holds three packets until it is ended. */
static void held(void)
{
	int fd = fresh();

	ask(fd, 3, 700, 5, 0);
	for (int i = 0; i < 3; i++)
		zread(fd, 700, i);
	pause();
}

static int stream(void)
{
	int fd = socket(t_own.ss_family, SOCK_STREAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&t_own, t_len) == 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

static struct {
	size_t count;
	struct packet p[20];
} __attribute__((packed)) row;

/* Checks that the pieces of the row go on with the bytes of the stream. */
static size_t follow(size_t at)
{
	for (size_t i = 0; i < row.count; i++) {
		const unsigned char *b = row.p[i].iov[0].iov_base;

		CHECK(row.p[i].n == 1 && row.p[i].iov[0].iov_len > 0);
		for (size_t j = 0; j < row.p[i].iov[0].iov_len; j++, at++)
			CHECK(b[j] == (unsigned char)(at * 7 + (at >> 8)));
	}
	return at;
}

static void *writer(void *arg)
{
	static unsigned char bytes[1 << 20];
	int fd = (int)(intptr_t)arg;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 8));
	for (size_t at = 0; at < sizeof(bytes);) {
		ssize_t n = send(fd, bytes + at, sizeof(bytes) - at, 0);

		CHECK(n > 0);
		at += (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	return NULL;
}

/* A megabyte comes back without a copy, some pieces held over many others; then the end. */
static void tcp(void)
{
	int fd = stream(), flags, n = 0;
	size_t at = 0, bytes = 0, nkept = 0, lists = 0;
	struct packet kept[20];
	unsigned char first[20];
	pthread_t t;

	CHECK(pthread_create(&t, NULL, writer, (void *)(intptr_t)fd) == 0);
	for (;;) {
		flags = lists % 3 == 2 ? 0 : FORCE;
		n = api->zcopy(fd, &row, sizeof(row), &flags, NULL, NULL);
		if (n <= 0)
			break;
		CHECK(flags == ZCOPY && row.count >= 1 && row.count <= 20);
		lists++;
		bytes = at;
		at = follow(at);
		CHECK(at - bytes == (size_t)n);
		for (size_t i = 0; i < row.count; i++) {
			if (lists % 8 == 1 && nkept < 20) {
				first[nkept] = *(unsigned char *)row.p[i].iov[0].iov_base;
				kept[nkept++] = row.p[i];
			} else {
				CHECK(give(fd, row.p[i].id) == 0);
			}
		}
	}
	pthread_join(t, NULL);
	printf("%zu bytes in %zu lists, %zu held\n", at, lists, nkept);
	CHECK(n == 0 && at == 1 << 20 && nkept == 20);
	for (size_t i = 0; i < nkept; i++)
		CHECK(*(unsigned char *)kept[i].iov[0].iov_base == first[i]);
	CHECK(give(fd, kept[3].id) == 0 && give(fd, kept[3].id) < 0 && errno == ENOENT);
	flags = FORCE;
	CHECK(api->zcopy(fd, &row, sizeof(row), &flags, NULL, NULL) == 0); /* the end, again */
	close(fd);
	/* Reading on after a part, and the mark of urgent data, which is copied. */
	fd = stream();
	CHECK(send(fd, "0123456789", 10, 0) == 10 && recv(fd, big, 4, 0) == 4);
	flags = 0;
	CHECK(api->zcopy(fd, &row, 39, &flags, NULL, NULL) < 0 && errno == ENOBUFS);
	n = api->zcopy(fd, &row, 40, &flags, NULL, NULL);
	CHECK(n == 6 && flags == ZCOPY && memcmp(row.p[0].iov[0].iov_base, "456789", 6) == 0);
	flags = FORCE | MSG_DONTWAIT;
	CHECK(api->zcopy(fd, &row, 40, &flags, NULL, NULL) < 0 && errno == EAGAIN);
	close(fd);
}

/* A program that holds all it gets: its data are copied then, or refused, and nothing is lost. */
static void tcp_bounded(void)
{
	int fd = stream(), room = 20000, flags, n, copied = 0;
	size_t at = 0;
	pthread_t t;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
	CHECK(pthread_create(&t, NULL, writer, (void *)(intptr_t)fd) == 0);
	do {
		flags = FORCE;
		n = api->zcopy(fd, &row, sizeof(row), &flags, NULL, NULL);
		if (n > 0)
			at = follow(at);
	} while (n > 0);
	CHECK(n < 0 && errno == ENOBUFS && at >= 10000 && at < 100000);
	for (; at < 1 << 20; at += (size_t)n, copied++) {
		flags = 0;
		n = api->zcopy(fd, big, sizeof(big), &flags, NULL, NULL);
		CHECK(n > 0 && flags == 0);
		for (int i = 0; i < n; i++)
			CHECK((unsigned char)big[i] ==
			      (unsigned char)((at + i) * 7 + ((at + i) >> 8)));
	}
	pthread_join(t, NULL);
	close(fd);
	/* The packet memory came back. */
	for (int round = 0; round < 40; round++) {
		fd = stream();
		CHECK(send(fd, big, 60000, 0) > 0);
		flags = 0;
		CHECK(api->zcopy(fd, &row, sizeof(row), &flags, NULL, NULL) > 0 && flags == ZCOPY);
		close(fd);
	}
}

/* Held data count against the receive buffer, and close gives it back. */
static void bounded(void)
{
	int fd = fresh(), room = 20000, flags, held = 0;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
	for (int round = 0; round < 5; round++) {
		ask(fd, 100, 1000, 0, 0);
		sleep_ms(100);
		for (flags = FORCE | MSG_DONTWAIT;
		     api->zcopy(fd, &list, sizeof(list), &flags, NULL, NULL) == 1000;
		     flags = FORCE | MSG_DONTWAIT)
			held++;
	}
	CHECK(held > 10 && held < 60);
	close(fd);
	/* Many times the packet memory, if it did not come back. */
	for (int round = 0; round < 40; round++) {
		fd = udp();
		ask(fd, 50, 1000, 0, 0);
		for (int i = 0; i < 50; i++)
			zread(fd, 1000, i);
		close(fd);
	}
}

static struct seen {
	int n, drop, recv, hold;
	pthread_t by;
	void *id[64];
	int fd;
} seen;

static int look(int fd, size_t n, struct iovec *iov, struct info *info, void *arg)
{
	struct seen *s = arg;
	int number = atoi(iov[0].iov_base), type;
	socklen_t len = sizeof(type);

	if (info->payload == 4) /* what it has sent itself came back */
		return DROP;
	CHECK(fd == s->fd && n == 1 && iov[0].iov_len == info->payload);
	CHECK(info->size == sizeof(*info) && info->payload == 200);
	CHECK(memcmp(info->src, &t_peer, 8) == 0 && info->dst->sin_family == t_own.ss_family);
	CHECK(pthread_equal(pthread_self(), s->by));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM);
	CHECK(send(fd, "echo", 4, 0) == 4 || errno == EAGAIN); /* calls are allowed */
	s->n++;
	if (number % 3 == 0) {
		s->drop++;
		return DROP;
	}
	if (number % 3 == 1) {
		s->recv++;
		return RECV;
	}
	s->id[s->hold++] = info->id;
	return HOLD;
}

static int only_drop(int fd, size_t n, struct iovec *iov, struct info *info, void *arg)
{
	++*(int *)arg;
	return DROP;
}

static void sort(void)
{
	int fd = fresh(), got = 0;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	seen = (struct seen){.by = pthread_self(), .fd = fd};
	nonblock(fd);
	ask(fd, 30, 200, 0, 0);
	sleep_ms(150); /* the keeper has them, and calls nothing */
	CHECK(api->callback(fd, look, &seen) == 0 && seen.n == 0);
	while (seen.n < 30) {
		if (poll(&p, 1, 2000) != 1)
			break;
		while (recv(fd, big, sizeof(big), 0) == 200) {
			CHECK(atoi(big) == got * 3 + 1);
			got++;
		}
	}
	printf("seen %d drop %d recv %d hold %d got %d\n", seen.n, seen.drop, seen.recv, seen.hold,
	       got);
	CHECK(seen.n == 30 && seen.drop == 10 && seen.hold == 10 && got == 10);
	for (int i = 0; i < 10; i++)
		CHECK(give(fd, seen.id[i]) == 0);
	CHECK(api->callback(fd, NULL, NULL) == 0);
	sleep_ms(50);
	drain(fd);
	ask(fd, 2, 200, 0, 0);
	CHECK(poll(&p, 1, 2000) == 1 && recv(fd, big, sizeof(big), 0) > 0 && seen.n == 30);
	close(fd);
}

/* Packets that the callback drops wake no reader. */
static void quiet(void)
{
	int fd = fresh(), n = 0, ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	CHECK(api->callback(fd, only_drop, &n) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	ask(fd, 8, 200, 20, 5);
	CHECK(epoll_wait(ep, &ev, 1, 400) == 0);
	printf("dropped %d\n", n);
	CHECK(n == 8);
	/* A blocking call waits on. */
	struct timeval tv = {0, 300000};
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	ask(fd, 3, 200, 20, 5);
	CHECK(recv(fd, big, sizeof(big), 0) < 0 && errno == EAGAIN && n == 11);
	seen = (struct seen){.by = pthread_self(), .fd = fd};
	CHECK(api->callback(fd, look, &seen) == 0);
	ask(fd, 2, 200, 20, 5);
	CHECK(epoll_wait(ep, &ev, 1, 2000) == 1 && ev.data.fd == fd);
	CHECK(recv(fd, big, sizeof(big), 0) == 200 && atoi(big) == 1);
	close(ep);
	close(fd);
}

static struct {
	int n, fd;
	size_t dropped, passed, held;
	void *id[64];
	const unsigned char *bytes[64];
	bool leave; /* the connection goes to the kernel inside the callback */
} piece;

/* Judges messages of a stream by their first byte. */
static int look_stream(int fd, size_t n, struct iovec *iov, struct info *info, void *arg)
{
	int type, verdict = *(unsigned char *)iov[0].iov_base % 3;
	socklen_t len = sizeof(type);
	char c;

	CHECK(arg == &piece && fd == piece.fd && n == 1 && iov[0].iov_len == info->payload);
	CHECK(info->size == sizeof(*info) && info->payload == 500);
	CHECK(memcmp(info->src, &t_peer, 8) == 0 && info->dst->sin_family == t_own.ss_family);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM);
	CHECK(info->bytes == piece.passed && (!info->pkts) == (!info->bytes));
	/* Data that have passed can be read in here, data that are shown cannot. */
	CHECK(recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == (piece.passed ? 1 : -1));
	if (piece.leave)
		CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0);
	piece.n++;
	if (verdict == HOLD) {
		piece.bytes[piece.held] = iov[0].iov_base;
		piece.id[piece.held++] = info->id;
	}
	piece.dropped += verdict == DROP;
	piece.passed += verdict == RECV ? 500 : 0;
	return verdict;
}

/* Sends message i, and polls until the callback has seen it come back. */
static void pass_message(int fd, int i)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char b[500];

	memset(b, i, sizeof(b));
	CHECK(send(fd, b, sizeof(b), 0) == sizeof(b));
	for (double end = now_ms() + 5000; piece.n <= i && now_ms() < end;)
		if (poll(&p, 1, 10) == 1)
			sleep_ms(1);
	CHECK(piece.n == i + 1);
}

static void tcp_sort(void)
{
	int fd = stream(), flags = FORCE, n;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int inq;

	memset(&piece, 0, sizeof(piece));
	piece.fd = fd;
	CHECK(api->callback(fd, look_stream, &piece) == 0);
	pass_message(fd, 0);
	CHECK(poll(&p, 1, 50) == 0 && ioctl(fd, FIONREAD, &inq) == 0 && inq == 0);
	for (int i = 1; i < 30; i++)
		pass_message(fd, i);
	CHECK(piece.dropped == 10 && piece.held == 10 && piece.passed == 5000);
	CHECK(poll(&p, 1, 0) == 1 && ioctl(fd, FIONREAD, &inq) == 0 && inq == 5000);
	for (int i = 0; i < 10; i++)
		CHECK(piece.bytes[i][0] == 3 * i + 2 && piece.bytes[i][499] == 3 * i + 2);
	n = (int)recv(fd, big, 1750, MSG_PEEK);
	CHECK(n == 1750 && big[0] == 1 && big[500] == 4 && big[1500] == 10);
	CHECK(recv(fd, big, 750, MSG_WAITALL) == 750 && big[0] == 1 && big[749] == 4);
	n = api->zcopy(fd, &row, sizeof(row), &flags, NULL, NULL);
	CHECK(n == 4250 && flags == ZCOPY && *(char *)row.p[0].iov[0].iov_base == 4);
	CHECK(poll(&p, 1, 0) == 0 && recv(fd, big, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	for (int i = 0; i < 10; i++)
		CHECK(give(fd, piece.id[i]) == 0 && give(fd, piece.id[i]) < 0 && errno == ENOENT);
	piece.n = 100; /* from now on all pass */
	CHECK(api->callback(fd, NULL, NULL) == 0);
	CHECK(send(fd, "plain", 5, 0) == 5);
	CHECK(recv(fd, big, sizeof(big), 0) == 5 && piece.n == 100);
	close(fd);
	/* The question comes before connect(2), and once only. */
	fd = socket(t_own.ss_family, SOCK_STREAM, 0);
	memset(&piece, 0, sizeof(piece));
	piece.fd = fd;
	CHECK(api->callback(fd, look_stream, &piece) == 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	pass_message(fd, 0);
	pass_message(fd, 1);
	pass_message(fd, 2);
	CHECK(recv(fd, big, sizeof(big), 0) == 500 && big[0] == 1);
	close(fd);
}

/* Dropped pieces wake no reader, but the end of the stream behind them does. */
static void tcp_quiet(void)
{
	int fd = stream(), n = 0, ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	CHECK(api->callback(fd, only_drop, &n) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	for (int i = 0; i < 8; i++) {
		CHECK(send(fd, big, 700, 0) == 700);
		for (int tries = 50; n <= i && tries; tries--)
			CHECK(epoll_wait(ep, &ev, 1, 40) == 0);
	}
	printf("dropped %s\n", n >= 8 ? "all" : "some");
	CHECK(n >= 8);
	CHECK(send(fd, big, 50000, 0) == 50000 && shutdown(fd, SHUT_WR) == 0);
	CHECK(recv(fd, big, sizeof(big), 0) == 0);
	close(ep);
	close(fd);
}

/* Holds all; the names wait in a ring. */
static struct {
	void *id[4096];
	int fd, n, freed;
	size_t at;
} hold;

static int hold_all(int fd, size_t n, struct iovec *iov, struct info *info, void *arg)
{
	const unsigned char *b = iov[0].iov_base;

	for (size_t j = 0; j < iov[0].iov_len; j++, hold.at++)
		CHECK(b[j] == (unsigned char)(hold.at * 7 + (hold.at >> 8)));
	hold.id[hold.n++ % 4096] = info->id;
	CHECK(hold.n - hold.freed < 4096);
	return HOLD;
}

/* A program that holds all sees the whole stream, as far as it frees. */
static void tcp_hold(void)
{
	int fd = stream(), room = 60000;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t before;
	pthread_t t;

	memset(&hold, 0, sizeof(hold));
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
	CHECK(api->callback(fd, hold_all, NULL) == 0);
	CHECK(pthread_create(&t, NULL, writer, (void *)(intptr_t)fd) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(poll(&p, 1, 100) == 0);
	before = hold.at;
	CHECK(poll(&p, 1, 100) == 0 && hold.at == before && before > 10000 && before < 400000);
	while (hold.at < 1 << 20) {
		for (; hold.freed < hold.n; hold.freed++)
			CHECK(give(fd, hold.id[hold.freed % 4096]) == 0);
		poll(&p, 1, 10);
	}
	pthread_join(t, NULL);
	CHECK(poll(&p, 1, 2000) == 1 && recv(fd, big, sizeof(big), 0) == 0);
	close(fd);
}

/* A connection goes to the kernel while a piece is shown: its bytes are the kernel's then. */
static void tcp_leaves(void)
{
	int fd = stream();

	signal(SIGIO, SIG_IGN);
	memset(&piece, 0, sizeof(piece));
	piece.fd = fd;
	piece.leave = true;
	CHECK(api->callback(fd, look_stream, &piece) == 0);
	pass_message(fd, 0);
	CHECK(recv(fd, big, sizeof(big), 0) == 500 && big[0] == 0 && piece.n == 1);
	CHECK(send(fd, "more", 4, 0) == 4 && recv(fd, big, sizeof(big), 0) == 4);
	close(fd);
}

/* A child has nothing of it; the parent's goes on. */
static void child(void)
{
	int fd = fresh(), status;
	void *id;
	pid_t pid;

	ask(fd, 1, 100, 0, 0);
	id = zread(fd, 100, 0);
	pid = fork();
	if (pid == 0) {
		CHECK(give(fd, id) < 0 && (errno == EINVAL || errno == ENOENT));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(atoi(list.p.iov[0].iov_base) == 0 && give(fd, id) == 0);
	close(fd);
}

static void rings(void)
{
	int fd = fresh(), fds[64], n = api->rings(fd);
	uint16_t len = 0;
	uint8_t h[256];

	CHECK(n >= 1 && api->ring_fds(fd, fds, 64) == n && fds[0] > 2);
	CHECK(api->ring_fds(fd, fds, 1) == 1);
	CHECK(api->tx_ring(fd, (struct sockaddr *)&t_peer, t_len) > 2);
	CHECK(api->header(fd, NULL, &len) == 0 && len == (t_peer.ss_family == AF_INET ? 42 : 62));
	len = 10;
	CHECK(api->header(fd, h, &len) < 0 && errno == ENOBUFS);
	CHECK(api->header(fd, h, &len) == 0 && h[12] == (len == 42 ? 0x08 : 0x86));
	CHECK(memcmp(h + len - 6, (char *)&t_peer + 2, 2) == 0); /* the peer's port */
	CHECK(api->dump(fd, 3) == 0 && api->dump(0, 3) == 0);
	CHECK(api->dump(1, 3) < 0 && errno == EBADF);
	close(fd);
	fd = udp_bound();
	CHECK(api->header(fd, NULL, &len) < 0 && errno == ENOTCONN);
	close(fd);
}

/* A socket of that logic of rings (SO_VMA_RING_ALLOC_LOGIC), not connected yet. */
static int with_logic(uint32_t mask, int logic, uint32_t user)
{
	uint32_t attr[5] = {mask, (uint32_t)logic, 0, user, 0};
	int fd = socket(t_peer.ss_family, SOCK_DGRAM, 0);

	CHECK(setsockopt(fd, SOL_SOCKET, 2810, attr, sizeof(attr)) == 0);
	return fd;
}

/* Its ring, once it is connected and has had an answer. */
static int ring_of(int fd)
{
	int ring = -1;

	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	CHECK(send(fd, "ring", 4, 0) == 4 && recv(fd, big, sizeof(big), 0) == 4);
	CHECK(api->ring_fds(fd, &ring, 1) >= 1);
	return ring;
}

/* A socket of the ring for that memory, not connected yet. */
static int with_memory(struct iovec memory)
{
	int fd = socket(t_peer.ss_family, SOCK_DGRAM, 0);

	CHECK(setsockopt(fd, SOL_SOCKET, 2811, &memory, sizeof(memory)) == 0);
	return fd;
}

/* Sockets with the same memory share a ring. */
static void rings_of_memory(void)
{
	static char memory[2][4096];
	struct iovec one = {memory[0], 4096}, shorter = {memory[0], 2048}, two = {memory[1], 4096};
	int fd[4] = {with_memory(one), with_memory(two), with_memory(one), with_memory(shorter)};
	int ring[4];

	for (int i = 0; i < 4; i++)
		ring[i] = ring_of(fd[i]);
	CHECK(ring[0] == ring[2] && ring[0] != ring[1] && ring[0] != ring[3] && ring[1] != ring[3]);
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2811, &one, sizeof(one)) == 0); /* it keeps its ring */
	CHECK(api->ring_fds(fd[1], ring, 1) >= 1 && ring[0] == ring[1]);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
}

/* A ring of packets takes no memory of the program's, and what is malformed is told first. */
static void users_memory(int fd, int ring)
{
	static struct iovec memory;
	socklen_t len = sizeof(memory);
	uint32_t key;

	CHECK(setsockopt(fd, SOL_SOCKET, 2811, &memory, 8) < 0 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_SOCKET, 2811, NULL, 16) < 0 && errno == EINVAL);
	CHECK(getsockopt(fd, SOL_SOCKET, 2811, &memory, &len) < 0 && errno == ENOPROTOOPT);
	CHECK(api->reg(ring, &memory, sizeof(memory), &key) < 0 && errno == EOPNOTSUPP);
	CHECK(api->reg(ring, &memory, sizeof(memory), NULL) < 0 && errno == EINVAL);
	CHECK(api->dereg(ring, &memory, sizeof(memory)) < 0 && errno == EOPNOTSUPP);
}

static void logic(void)
{
	enum { SOCKET = 10, USER = 11 };
	uint32_t attr[5] = {0, USER, 0, 5, 0};
	int fd[5] = {with_logic(2, USER, 5), with_logic(2, USER, 5), with_logic(2, USER, 6),
		     with_logic(0, SOCKET, 0), with_logic(0, SOCKET, 0)};
	int ring[5];

	for (int i = 0; i < 5; i++)
		ring[i] = ring_of(fd[i]);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < i; j++)
			CHECK((ring[i] == ring[j]) == (i == 1 && j == 0));
	attr[0] = 2;
	CHECK(setsockopt(fd[0], SOL_SOCKET, 2810, attr, 20) < 0 && errno == EISCONN);
	for (int i = 1; i < 5; i++)
		close(fd[i]);
	fd[1] = socket(t_peer.ss_family, SOCK_DGRAM, 0);
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2810, attr, 16) < 0 && errno == EINVAL);
	attr[0] = 0; /* without a number */
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2810, attr, 20) < 0 && errno == EINVAL);
	attr[0] = 1; /* with a profile that was not made */
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2810, attr, 20) < 0 && errno == EINVAL);
	users_memory(fd[1], ring[0]);
	rings_of_memory();
	attr[0] = 0;
	attr[1] = 12;
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2810, attr, 20) < 0 && errno == EINVAL);
	attr[1] = SOCKET; /* and then not used, or the kernel's */
	CHECK(setsockopt(fd[1], SOL_SOCKET, 2810, attr, 20) == 0);
	close(fd[1]);
	close(fd[0]);
}

/* A profile of rings of packets, and sockets of it; those of rings in the program's memory are not
 * there. */
static void profile(void)
{
	enum { PACKET, CYCLIC, EXTERNAL, SOCKET = 10 };
	uint32_t kind[8] = {0, PACKET}, attr[5] = {1, SOCKET};
	int key = 0, again = 0, fd = socket(t_peer.ss_family, SOCK_DGRAM, 0);

	CHECK(api->profile(kind, &key) == 0 && key > 0);
	CHECK(api->profile(kind, &again) == 0 && again == key);
	CHECK(api->profile(kind, NULL) < 0 && api->profile(NULL, &again) < 0 && errno == EINVAL);
	for (kind[1] = CYCLIC; kind[1] <= EXTERNAL + 1; kind[1]++)
		CHECK(api->profile(kind, &again) < 0 && errno == EOPNOTSUPP);
	attr[2] = (uint32_t)key;
	CHECK(setsockopt(fd, SOL_SOCKET, 2810, attr, sizeof(attr)) == 0);
	CHECK(ring_of(fd) > 2);
	close(fd);
	attr[2]++;
	fd = socket(t_peer.ss_family, SOCK_DGRAM, 0);
	CHECK(setsockopt(fd, SOL_SOCKET, 2810, attr, sizeof(attr)) < 0 && errno == EINVAL);
	close(fd);
}

static struct {
	char *at;
	size_t bytes;
	int allocs, frees;
} mine;

static void *my_alloc(size_t bytes)
{
	mine.allocs++;
	mine.bytes = bytes;
	mine.at = malloc(bytes);
	memset(mine.at, 'x', bytes);
	return mine.at;
}

static void *no_alloc(size_t bytes)
{
	mine.allocs++;
	return NULL;
}

static void my_free(void *mem)
{
	mine.frees++;
	free(mem);
}

/* Asks for packet memory by ioctl (CMSG_VMA_IOCTL_USER_ALLOC). */
static int memory_by(int type, uint8_t flags, void *(*alloc)(size_t))
{
	struct {
		uint8_t flags;
		void *(*alloc)(size_t);
		void (*free)(void *);
	} __attribute__((packed)) ask = {flags, alloc, my_free};
	char msg[CMSG_SPACE(sizeof(ask))] __attribute__((aligned(8))) = "";
	struct cmsghdr *h = (struct cmsghdr *)msg;

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(sizeof(ask));
	memcpy(CMSG_DATA(h), &ask, sizeof(ask));
	CHECK(api->ioctl(h, h->cmsg_len - 1) < 0 && errno == EINVAL);
	return api->ioctl(h, h->cmsg_len);
}

/* Packets lie in the program's own memory, in both directions; a child cannot see them there. */
static void memory(void)
{
	int fd, status;
	pid_t pid;
	char *data;

	CHECK(memory_by(2901, 3, my_alloc) < 0 && errno == EINVAL);
	CHECK(memory_by(2900, 0, my_alloc) < 0 && errno == EINVAL && !mine.allocs);
	if (getenv("VMA_API_LEASED")) { /* the daemon's memory */
		CHECK(memory_by(2900, 3, my_alloc) < 0 && errno == EOPNOTSUPP && !mine.allocs);
		close(fresh());
		return;
	}
	CHECK(memory_by(2900, 3, my_alloc) == 0 && mine.allocs == 1);
	fd = fresh();
	for (int i = 0; i < 100; i++) {
		void *id;

		ask(fd, 1, 1000, 0, 0);
		id = zread(fd, 1000, 0);
		data = list.p.iov[0].iov_base;
		CHECK(data > mine.at && data < mine.at + mine.bytes);
		CHECK(give(fd, id) == 0);
	}
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, _exit);
		_exit(*(volatile char *)data);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WEXITSTATUS(status) != '0');
	CHECK(memory_by(2900, 3, my_alloc) < 0 && errno == EBUSY);
	CHECK(mine.allocs == 1 && mine.frees == 0);
	close(fd);
}

/* An allocator that has none: the library's own memory serves. */
static void no_memory(void)
{
	CHECK(memory_by(2900, 2, no_alloc) < 0 && errno == EOPNOTSUPP);
	close(fresh());
}

static int tagged(int fd, size_t n, struct iovec *iov, struct info *info, void *arg)
{
	uint32_t tag = 0;

	if (info->size >= sizeof(*info) + sizeof(tag))
		memcpy(&tag, info + 1, sizeof(tag));
	((uint32_t *)arg)[0]++;
	((uint32_t *)arg)[1] = tag;
	return RECV;
}

/* SO_VMA_FLOW_TAG: four bytes, which come back behind what the callback is told. */
static void tag(void)
{
	int fd = fresh();
	uint32_t tag = 0xcafe1234, got[2] = {0};
	uint64_t mark = 1;
	socklen_t len = sizeof(tag);

	CHECK(api->callback(fd, tagged, got) == 0);
	ask(fd, 1, 10, 0, 0);
	CHECK(recv(fd, big, sizeof(big), 0) == 10 && got[0] == 1 && got[1] == 0);
	CHECK(getsockopt(fd, SOL_SOCKET, 2820, &tag, &len) == 0 && tag == 0 && len == 4);
	tag = 0xcafe1234;
	CHECK(setsockopt(fd, SOL_SOCKET, 2820, &tag, 2) < 0 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_SOCKET, 2820, NULL, 4) < 0 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_SOCKET, 2820, &tag, 4) == 0);
	ask(fd, 1, 10, 0, 0);
	CHECK(recv(fd, big, sizeof(big), 0) == 10 && got[0] == 2 && got[1] == 0xcafe1234);
	CHECK(getsockopt(fd, SOL_SOCKET, 2820, &got, &len) == 0 && got[0] == tag);
	len = 2;
	CHECK(getsockopt(fd, SOL_SOCKET, 2820, &got, &len) < 0 && errno == EINVAL);
	len = sizeof(mark);
	CHECK(getsockopt(fd, SOL_SOCKET, 2801, &mark, &len) == 0 && mark == 0);
	mark = 7ull << 40;
	CHECK(setsockopt(fd, SOL_SOCKET, 2801, &mark, len) == 0);
	mark = 0;
	CHECK(getsockopt(fd, SOL_SOCKET, 2801, &mark, &len) == 0 && mark == 7ull << 40);
	/* SO_VMA_SHUTDOWN_RX: nothing is received any more. */
	CHECK(recv(fd, big, 10, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(setsockopt(fd, SOL_SOCKET, 2821, NULL, 0) == 0);
	CHECK(recv(fd, big, 10, 0) == 0); /* (a call that does not wait says EAGAIN) */
	close(fd);
}

/* vma_modify_ring, of a device that has moderation (a tap has that of packets alone). */
static void moderate(void)
{
	struct {
		uint32_t mask;
		int ring;
		uint32_t packets, us;
	} attr = {.mask = 1, .packets = 9};
	struct ethtool_coalesce c = {.cmd = ETHTOOL_GCOALESCE};
	struct ifreq ifr = {.ifr_data = (void *)&c, .ifr_name = "tapmod"};
	int fd = udp(), no = open("/dev/null", O_RDONLY);

	CHECK(send(fd, "x", 1, 0) == 1 && api->ring_fds(fd, &attr.ring, 1) >= 1);
	CHECK(api->modify(&attr) == 0);
	CHECK(ioctl(fd, SIOCETHTOOL, &ifr) == 0 && c.rx_max_coalesced_frames == 9);
	attr.us = 50;
	CHECK(api->modify(&attr) < 0 && errno == EOPNOTSUPP);
	attr.mask = 2; /* arm */
	CHECK(api->modify(&attr) == 0);
	attr.mask = 4;
	CHECK(api->modify(&attr) < 0 && errno == EINVAL);
	attr.mask = 1;
	attr.ring = no;
	CHECK(api->modify(&attr) < 0 && errno == EINVAL && api->modify(NULL) < 0);
	close(no);
	close(fd);
}

static void dummy(void)
{
	int fd = fresh();

	for (int i = 0; i < 5; i++) /* the peer would send it back */
		CHECK(send(fd, "dummy", 5, MSG_SYN) == 5);
	CHECK(send(fd, "real", 4, 0) == 4);
	CHECK(recv(fd, big, sizeof(big), 0) == 4 && memcmp(big, "real", 4) == 0);
	CHECK(recv(fd, big, sizeof(big), MSG_DONTWAIT) < 0);
	close(fd);
}

static bool is_offloaded(void)
{
	int fd = udp(), n;

	ask(fd, 1, 10, 0, 0);
	CHECK(recv(fd, big, sizeof(big), 0) == 10);
	n = api->rings(fd);
	close(fd);
	return n > 0;
}

static pthread_mutex_t step = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *arg)
{
	pthread_mutex_lock(&step);
	pthread_mutex_unlock(&step);
	*(bool *)arg = is_offloaded();
	return NULL;
}

static void choice(void)
{
	char bad[] = "use nonsense", line[200], host[64];
	bool theirs = false;
	pthread_t t;

	CHECK(is_offloaded());
	pthread_mutex_lock(&step);
	CHECK(pthread_create(&t, NULL, other, &theirs) == 0);
	CHECK(api->offload(0, pthread_self()) == 0 && !is_offloaded());
	pthread_mutex_unlock(&step);
	pthread_join(t, NULL);
	CHECK(theirs);
	pthread_mutex_lock(&step);
	CHECK(api->offload(1, pthread_self()) == 0 && is_offloaded());
	CHECK(pthread_create(&t, NULL, other, &theirs) == 0 && api->offload(0, t) == 0);
	pthread_mutex_unlock(&step);
	pthread_join(t, NULL);
	CHECK(!theirs);
	CHECK(api->rule(bad) < 0 && errno == EINVAL);
	if (t_peer.ss_family != AF_INET)
		return;
	inet_ntop(AF_INET, &((struct sockaddr_in *)&t_peer)->sin_addr, host, sizeof(host));
	snprintf(line, sizeof(line), "use os udp_connect %s:7000", host);
	CHECK(api->rule(line) == 0 && !is_offloaded());
	snprintf(line, sizeof(line), "use vma udp_connect %s:7000\n", host);
	CHECK(api->rule(line) == 0 && is_offloaded());
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"structure", structure},
		{"zcopy", zcopy},
		{"held", held},
		{"sort", sort},
		{"quiet", quiet},
		{"child", child},
		{"rings", rings},
		{"logic", logic},
		{"profile", profile},
		{"memory", memory},
		{"no_memory", no_memory},
		{"dummy", dummy},
		{"tag", tag},
		{"moderate", moderate},
		{"bounded", bounded},
		{"choice", choice},
		{"tcp", tcp},
		{"tcp_bounded", tcp_bounded},
		{"tcp_sort", tcp_sort},
		{"tcp_quiet", tcp_quiet},
		{"tcp_hold", tcp_hold},
		{"tcp_leaves", tcp_leaves},
		{NULL, NULL},
	};
	socklen_t len = sizeof(api);

	if (getsockopt(-1, SOL_SOCKET, GET, &api, &len) < 0 || !api) {
		printf("no API\n");
		return argc > 4; /* with a case it is a failure */
	}
	return t_main(argc, argv, cases);
}
