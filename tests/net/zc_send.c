/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams and streams sent from packet memory (sl_zc_alloc()): `zc_send PEER PORT OWN [CASE...]`;
 * the peer is tests/preload/peer. `zc_send PEER PORT OWN count WAY SIZE N` sends N datagrams: by
 * zc, keep, or copy (sl_sendmmsg()), 32 a call. */
#include "../preload/t.h"

#include <linux/errqueue.h>

#include "sluice.h"
#include "sluice_extra.h"

#define MANY 50

static char big[65536];

/* An offloaded socket with the peer's name, or only bound. */
static int fresh(bool connected)
{
	int fd = sl_socket(t_own.ss_family, SOCK_DGRAM, 0);
	struct timeval tv = {3, 0};

	CHECK(sl_bind(fd, (struct sockaddr *)&t_own, t_len) == 0);
	CHECK(sl_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	if (connected)
		CHECK(sl_connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	for (int i = 0; i < 3; i++) { /* until the path is known */
		CHECK(sl_sendto(fd, "x", 1, 0, connected ? NULL : (struct sockaddr *)&t_peer,
				connected ? 0 : t_len) == 1);
		CHECK(sl_recv(fd, big, sizeof(big), 0) == 1);
	}
	return fd;
}

static void back(int fd, int number, int len)
{
	memset(big, 0, 8);
	CHECK(sl_recv(fd, big, sizeof(big), 0) == len && atoi(big) == number);
}

static void fill(struct sl_zbuf *b, int number, int len)
{
	memset(b->data, '.', (size_t)len);
	snprintf(b->data, 8, "%d", number);
	b->len = (uint32_t)len;
}

static void many(void)
{
	int fd = fresh(true);
	struct sl_zbuf b[MANY];
	int copied;

	/* A path that has grown old, or whose neighbour is asked for again, takes one by a copy. */
	for (int round = 0, tries = 0; round < 3; round += !copied) {
		CHECK(tries++ < 20);
		copied = 0;
		CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
		for (int i = 0; i < MANY; i++) {
			CHECK(b[i].len >= 1500);
			fill(&b[i], i, 10 + i * 28);
		}
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, 0) == MANY);
		for (int i = 0; i < MANY; i++) {
			copied += b[i].flags != 0;
			back(fd, i, 10 + i * 28);
		}
		CHECK(sl_zc_send(fd, b, 1, NULL, 0, 0) == -ENOENT); /* it is not ours any more */
		CHECK(sl_zc_free(fd, b, 1) == -ENOENT);
	}
	sl_close(fd);
}

/* A buffer that stays the program's, to a name that is given. */
static void keep(void)
{
	int fd = fresh(false), busy = 0, n;
	struct sl_zbuf b;

	CHECK(sl_zc_alloc(fd, &b, 1) == 1);
	for (int i = 0; i < 20; i++) {
		fill(&b, i, 700);
		do
			n = sl_zc_send(fd, &b, 1, (struct sockaddr *)&t_peer, t_len, SL_ZC_KEEP);
		while (n == -EBUSY && ++busy < 1000000);
		CHECK(n == 1 && b.flags == 0);
		back(fd, i, 700);
		for (n = 1; n;)
			CHECK((n = sl_zc_busy(fd, &b, 1)) >= 0);
	}
	CHECK(sl_zc_free(fd, &b, 1) == 0 && sl_zc_busy(fd, &b, 1) == -ENOENT);
	sl_close(fd);
}

/* A datagram that the kernel sends is copied: to this host itself, or too long for a packet. */
static void copied(void)
{
	int fd = fresh(false), to = fresh(false);
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	struct sl_zbuf b[2];

	CHECK(sl_getsockname(to, (struct sockaddr *)&name, &len) == 0);
	CHECK(sl_zc_alloc(fd, b, 2) == 2);
	fill(&b[0], 5, 100);
	CHECK(sl_zc_send(fd, b, 1, (struct sockaddr *)&name, len, 0) == 1);
	CHECK(b[0].flags == SL_ZC_COPIED);
	back(to, 5, 100);
	CHECK(sl_zc_free(fd, b, 1) == -ENOENT);
	fill(&b[1], 6, 1800);
	CHECK(sl_zc_send(fd, &b[1], 1, (struct sockaddr *)&t_peer, t_len, 0) == 1);
	CHECK(b[1].flags == SL_ZC_COPIED);
	back(fd, 6, 1800);
	sl_close(to);
	sl_close(fd);
}

/* Reads completions of n sends from the error queue, waiting for them; returns whether one was
 * copied. */
static bool completed(int fd, uint32_t first, uint32_t n)
{
	bool any = false;

	while (n) {
		char control[200];
		struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};
		struct pollfd p = {.fd = fd};
		struct timespec limit = {5, 0};
		struct sock_extended_err ee;

		CHECK(sl_poll(&p, 1, &limit, NULL) == 1 && p.revents & POLLERR);
		CHECK(sl_recvmsg(fd, &m, MSG_ERRQUEUE) == 0 && CMSG_FIRSTHDR(&m));
		memcpy(&ee, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(ee));
		CHECK(ee.ee_origin == SO_EE_ORIGIN_ZEROCOPY && ee.ee_errno == 0);
		CHECK(ee.ee_info == first && ee.ee_data - ee.ee_info < n);
		first = ee.ee_data + 1;
		n -= ee.ee_data - ee.ee_info + 1;
		any |= ee.ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	}
	return any;
}

/* No send is complete that was not told. */
static bool is_quiet(int fd)
{
	struct msghdr m = {0};
	struct pollfd p = {.fd = fd};
	struct timespec none = {0, 0};

	return sl_poll(&p, 1, &none, NULL) == 0 && sl_recvmsg(fd, &m, MSG_ERRQUEUE) == -EAGAIN;
}

static void numbers_on(int fd)
{
	int on = 1;

	CHECK(sl_setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) == 0);
}

/* With MSG_ZEROCOPY sends have numbers, and the error queue tells when their buffers are free. */
static void numbers(void)
{
	int fd = fresh(true);
	struct sl_zbuf b[MANY];
	uint32_t next = 0;

	CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
	fill(&b[0], 0, 50);
	CHECK(sl_zc_send(fd, b, 1, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == 1); /* not asked for */
	back(fd, 0, 50);
	CHECK(is_quiet(fd));
	while (sl_zc_busy(fd, b, 1) > 0)
		;
	numbers_on(fd);
	for (int round = 0; round < 3; round++, next += MANY) {
		for (int i = 0; i < MANY; i++)
			fill(&b[i], i, 100);
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == MANY);
		CHECK(!completed(fd, next, MANY) && sl_zc_busy(fd, b, MANY) == 0 && is_quiet(fd));
		for (int i = 0; i < MANY; i++)
			back(fd, i, 100);
	}
	CHECK(sl_send(fd, "9", 1, MSG_ZEROCOPY) == 1 && completed(fd, next++, 1));
	back(fd, 9, 1);
	/* Buffers that are given away are free, and nobody's, once that is told. */
	for (int i = 0; i < MANY; i++)
		fill(&b[i], i, 30);
	CHECK(sl_zc_send(fd, b, MANY, NULL, 0, MSG_ZEROCOPY) == MANY);
	CHECK(sl_zc_free(fd, b, 1) == -ENOENT && sl_zc_send(fd, b, 1, NULL, 0, 0) == -ENOENT);
	CHECK(!completed(fd, next, MANY) && sl_zc_free(fd, b, 1) == -ENOENT);
	next += MANY;
	for (int i = 0; i < MANY; i++)
		back(fd, i, 30);
	CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
	/* The error queue tells sends in their order: a copied one waits behind one that is not. */
	fill(&b[0], 1, 20);
	fill(&b[1], 2, 1800);
	CHECK(sl_zc_send(fd, b, 2, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == 2);
	CHECK(b[0].flags == 0 && b[1].flags == SL_ZC_COPIED && completed(fd, next, 2));
	CHECK(sl_recv(fd, big, sizeof(big), 0) > 0 && sl_recv(fd, big, sizeof(big), 0) > 0);
	/* Closed with sends under way. */
	for (int i = 0; i < MANY; i++)
		fill(&b[i], i, 30);
	CHECK(sl_zc_send(fd, b, MANY, NULL, 0, MSG_ZEROCOPY) == MANY);
	sl_close(fd);
}

/* The peer gives all back that a stream sends. */
static void echoed(int fd, const char *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t left = n - at < sizeof(big) ? n - at : sizeof(big);
		ssize_t r = sl_recv(fd, big, left, 0);

		CHECK(r > 0 && memcmp(big, bytes + at, (size_t)r) == 0);
		at += (size_t)r;
	}
}

static int stream(void)
{
	int fd = sl_socket(t_own.ss_family, SOCK_STREAM, 0);
	struct timeval tv = {5, 0};

	CHECK(sl_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(sl_connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	return fd;
}

/* Fills n buffers of a stream with pieces of the bytes; returns how many bytes. */
static size_t fill_all(struct sl_zbuf *b, int n, const char *bytes)
{
	size_t at = 0;

	for (int i = 0; i < n; at += b[i++].len) {
		b[i].len = 1 + (uint32_t)(i * 97 % 1400);
		memcpy(b[i].data, bytes + at, b[i].len);
	}
	return at;
}

static void streams(void)
{
	static char bytes[MANY * 1460];
	struct sl_zbuf b[MANY];
	int fd = stream();
	uint32_t next = 0;
	size_t n;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 251);
	CHECK(sl_zc_alloc(fd, b, MANY) == MANY && b[0].len > 1300 && b[0].len <= 1460);
	CHECK(sl_zc_send(fd, b, 0, NULL, 0, 0) == 0);
	for (int round = 0; round < 3; round++) { /* the same buffers, each time */
		n = fill_all(b, MANY, bytes);
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, SL_ZC_KEEP) == MANY);
		CHECK(sl_send(fd, bytes, 10, 0) == 10); /* goes behind them, not into the last */
		for (int i = 0; i < MANY; i++)
			CHECK(b[i].flags == 0);
		echoed(fd, bytes, n);
		echoed(fd, bytes, 10);
		while (sl_zc_busy(fd, b, MANY) > 0)
			;
	}
	numbers_on(fd);
	for (int round = 0; round < 3; round++, next += MANY) {
		n = fill_all(b, MANY, bytes);
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == MANY);
		CHECK(!completed(fd, next, MANY) && sl_zc_busy(fd, b, MANY) == 0);
		echoed(fd, bytes, n);
	}
	CHECK(sl_send(fd, bytes, 10, MSG_ZEROCOPY) == 10 && completed(fd, next++, 1));
	echoed(fd, bytes, 10);
	n = fill_all(b, MANY, bytes); /* given away */
	CHECK(sl_zc_send(fd, b, MANY, NULL, 0, 0) == MANY && sl_zc_busy(fd, b, 1) == -ENOENT);
	echoed(fd, bytes, n);
	CHECK(is_quiet(fd));
	sl_close(fd);
	CHECK(sl_zc_send(fd, b, 1, NULL, 0, 0) == -EINVAL);
}

/* More than a connection may queue: what waits for room is sent all the same. */
static void streams_wait(void)
{
	static char bytes[MANY * 1460];
	struct sl_zbuf b[MANY];
	int fd = stream(), small = 4096;
	size_t n, sent = 0;

	CHECK(sl_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
	for (int round = 0; round < 20; round++) {
		CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
		n = fill_all(b, MANY, bytes);
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, 0) == MANY);
		sent += n;
	}
	for (size_t at = 0; at < sent;) {
		ssize_t r = sl_recv(fd, big, sizeof(big), 0);

		CHECK(r > 0);
		at += (size_t)r;
	}
	sl_close(fd);
}

/* An option that only the kernel has makes the connection its own, with sends under way: all
 * numbers are told, and later buffers are copied. */
static void moved(void)
{
	static char bytes[MANY * 1460];
	static const int txtime[2] = {CLOCK_MONOTONIC, 0}; /* struct sock_txtime */
	struct sl_zbuf b[MANY];
	int fd = stream();
	size_t n;

	numbers_on(fd);
	CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
	n = fill_all(b, MANY, bytes);
	CHECK(sl_zc_send(fd, b, MANY, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == MANY);
	CHECK(sl_setsockopt(fd, SOL_SOCKET, SO_TXTIME, txtime, sizeof(txtime)) == 0);
	completed(fd, 0, MANY);
	echoed(fd, bytes, n);
	CHECK(sl_zc_alloc(fd, b, 1) == -ENODATA);
	n = fill_all(b, 2, bytes);
	CHECK(sl_zc_send(fd, b, 2, NULL, 0, SL_ZC_KEEP | MSG_ZEROCOPY) == 2);
	CHECK(b[0].flags == SL_ZC_COPIED && b[1].flags == SL_ZC_COPIED);
	CHECK(completed(fd, MANY, 2) && is_quiet(fd));
	echoed(fd, bytes, n);
	CHECK(sl_zc_send(fd, b, 2, NULL, 0, 0) == 2 && sl_zc_free(fd, b, 1) == -ENOENT);
	echoed(fd, bytes, n);
	CHECK(sl_zc_free(fd, b + 2, MANY - 2) == 0);
	sl_close(fd);
}

static void wrong(void)
{
	int fd = sl_socket(t_own.ss_family, SOCK_DGRAM, 0), flags = SL_ZCOPY_FORCE;
	struct sl_zbuf b[2], forged;
	struct {
		size_t count;
		void *id;
		size_t n;
		struct iovec iov[4];
	} list;

	CHECK(sl_zc_alloc(fd, b, 1) == -ENODATA && sl_zc_alloc(1, b, 1) == -EINVAL);
	sl_close(fd);
	fd = sl_socket(t_own.ss_family, SOCK_STREAM, 0);
	CHECK(sl_zc_alloc(fd, b, 1) == -ENODATA); /* not connected */
	sl_close(fd);
	fd = fresh(true);
	CHECK(sl_zc_alloc(fd, b, 2) == 2);
	forged = b[0];
	for (int i = 0; i < 64; i++) {
		forged.id = (void *)((uintptr_t)b[0].id ^ 1ul << i);
		if (forged.id != b[1].id)
			CHECK(sl_zc_send(fd, &forged, 1, NULL, 0, 0) == -ENOENT);
	}
	b[0].len++;
	CHECK(sl_zc_send(fd, b, 2, NULL, 0, 0) == -EINVAL);
	/* A received packet is no memory to send from. */
	CHECK(sl_send(fd, "packet", 6, 0) == 6);
	CHECK(sl_recv_zcopy(fd, &list, sizeof(list), &flags, NULL, NULL) == 6 && flags == SL_ZCOPY);
	forged.id = list.id;
	forged.len = 6;
	CHECK(sl_zc_send(fd, &forged, 1, NULL, 0, 0) == -ENOENT);
	CHECK(sl_zc_free(fd, &forged, 1) == -ENOENT);
	CHECK(sl_free_packets(fd, (struct sl_packet *)&list.id, 1) == 0);
	/* The second of two buffers is bad. */
	fill(&b[0], 1, 50);
	b[1].id = NULL;
	CHECK(sl_zc_send(fd, b, 2, NULL, 0, 0) == 1);
	back(fd, 1, 50);
	sl_close(fd);
}

/* A program that takes all it can get leaves enough for others, and for its own sends. */
static void bounded(void)
{
	static struct sl_zbuf b[100000];
	int fd = fresh(true), other, n = sl_zc_alloc(fd, b, 100000);

	printf("%d buffers\n", n);
	CHECK(n > 100 && n < 100000 && sl_zc_alloc(fd, b + n, 1) == -ENOBUFS);
	other = fresh(true);
	sl_close(other);
	CHECK(sl_send(fd, "7", 1, 0) == 1);
	back(fd, 7, 1);
	CHECK(sl_zc_free(fd, b, (unsigned)n - 10) == 0 && sl_zc_alloc(fd, b, 20) == 20);
	sl_close(fd); /* with the rest */
	other = fresh(true);
	CHECK(sl_zc_alloc(other, b, 200) == 200);
	sl_close(other);
}

static void count(const char *way, size_t size, int n)
{
	int fd = fresh(true);
	struct sl_zbuf b[32];
	struct iovec iov[32];
	struct mmsghdr m[32] = {0};
	bool keeps = strcmp(way, "keep") == 0;

	for (int i = 0; i < 32; i++) {
		iov[i] = (struct iovec){big + i * 2000, size};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	if (keeps)
		CHECK(sl_zc_alloc(fd, b, 32) == 32);
	for (; n > 0; n -= 32) {
		if (strcmp(way, "copy") == 0) {
			CHECK(sl_sendmmsg(fd, m, 32, 0) == 32);
			continue;
		}
		while (keeps && sl_zc_busy(fd, b, 32) > 0)
			;
		if (!keeps)
			CHECK(sl_zc_alloc(fd, b, 32) == 32);
		for (int i = 0; i < 32; i++)
			b[i].len = (uint32_t)size;
		CHECK(sl_zc_send(fd, b, 32, NULL, 0, keeps ? SL_ZC_KEEP : 0) == 32);
	}
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {{"many", many},       {"keep", keep},
					      {"copied", copied},   {"wrong", wrong},
					      {"bounded", bounded}, {"numbers", numbers},
					      {"streams", streams}, {"streams_wait", streams_wait},
					      {"moved", moved},     {NULL, NULL}};

	if (argc == 8 && strcmp(argv[4], "count") == 0) {
		parse(argv[1], atoi(argv[2]), &t_peer);
		parse(argv[3], 0, &t_own);
		count(argv[5], (size_t)atoi(argv[6]), atoi(argv[7]));
		return 0;
	}
	return t_main(argc, argv, cases);
}
