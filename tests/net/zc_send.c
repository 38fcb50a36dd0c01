/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams sent from packet memory (sl_zc_alloc()): `zc_send PEER PORT OWN [CASE...]`; the peer is
 * tests/preload/peer. `zc_send PEER PORT OWN count WAY SIZE N` sends N datagrams: by zc, keep, or
 * copy (sl_sendmmsg()), 32 a call. */
#include "../preload/t.h"

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

	for (int round = 0; round < 3; round++) {
		CHECK(sl_zc_alloc(fd, b, MANY) == MANY);
		for (int i = 0; i < MANY; i++) {
			CHECK(b[i].len >= 1500);
			fill(&b[i], i, 10 + i * 28);
		}
		CHECK(sl_zc_send(fd, b, MANY, NULL, 0, 0) == MANY);
		for (int i = 0; i < MANY; i++) {
			CHECK(b[i].flags == 0);
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
	CHECK(sl_zc_alloc(fd, b, 1) == -EOPNOTSUPP);
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
					      {"bounded", bounded}, {NULL, NULL}};

	if (argc == 8 && strcmp(argv[4], "count") == 0) {
		parse(argv[1], atoi(argv[2]), &t_peer);
		parse(argv[3], 0, &t_own);
		count(argv[5], (size_t)atoi(argv[6]), atoi(argv[7]));
		return 0;
	}
	return t_main(argc, argv, cases);
}
