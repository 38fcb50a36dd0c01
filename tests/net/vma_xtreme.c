/* SPDX-License-Identifier: BSD-2-Clause */
/* A program for socketxtreme_poll, written from the facts of the binary interface alone: nothing of
 * ours is included. `vma_xtreme PEER PORT OWN [CASE...]`; the peer is tests/preload/peer. */
#include "../preload/t.h"

#define PACKET (1ull << 32)
#define NEW    (1ull << 33)

struct buff {
	struct buff *next;
	void *payload;
	uint16_t len;
};
struct desc {
	size_t n;
	uint16_t len;
	struct buff *list;
	struct timespec hw;
};
struct completion {
	struct desc packet;
	uint64_t events, data;
	struct sockaddr_in src;
	int listen_fd;
};

static struct {
	void *before[5];
	int (*poll)(int, struct completion *, unsigned, int);
	int (*rings)(int);
	int (*ring_fds)(int, int *, int);
	int (*tx_ring)(int, struct sockaddr *, socklen_t);
	int (*free_packets)(struct desc *, int);
	int (*ref)(struct buff *);
	int (*free_buff)(struct buff *);
	void *after[7];
	uint64_t mask;
	void *ioctl;
} __attribute__((packed)) * api;

static char big[65536];

static int ring_of(int fd)
{
	int ring = -1;

	CHECK(api->ring_fds(fd, &ring, 1) == 1 && ring > 2);
	return ring;
}

/* Polls until something comes. */
static int poll_some(int ring, struct completion *c, unsigned n)
{
	int k = 0;

	for (int i = 0; i < 4000 && k == 0; i++) {
		k = api->poll(ring, c, n, 0);
		if (k == 0)
			usleep(500);
	}
	return k;
}

static int fresh(void)
{
	struct completion c;
	int fd = udp();

	ask(fd, 1, 10, 0, 0);
	CHECK(poll_some(ring_of(fd), &c, 1) == 1);
	if (c.events == EPOLLIN) { /* the kernel had the first one */
		CHECK(recv(fd, big, sizeof(big), 0) == 10);
		return fd;
	}
	CHECK(c.events == PACKET && c.data == (uint64_t)fd && c.packet.len == 10);
	CHECK(api->free_packets(&c.packet, 1) == 0);
	return fd;
}

static void off(void)
{
	struct completion c;

	CHECK((api->mask & 0x3c0) == 0);
	CHECK(api->poll(5, &c, 1, 0) < 0 && errno == EOPNOTSUPP);
}

/* Packets come with names and data, and stay while they are held: 1, 2, and 100. */
static void held(void)
{
	static const int counts[] = {1, 2, 100};
	struct completion c[128];
	int fd = fresh(), ring = ring_of(fd);
	uint64_t mark = 0x123456789abcdef0ull;

	CHECK((api->mask & 0x3c0) == 0x3c0);
	CHECK(api->poll(fd, c, 1, 0) < 0 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_SOCKET, 2801, &mark, 4) < 0 && errno == EINVAL);
	CHECK(setsockopt(fd, SOL_SOCKET, 2801, &mark, sizeof(mark)) == 0);
	for (int round = 0; round < 3; round++) {
		int n = 0, want = counts[round];

		ask(fd, want, 300, 5, 0);
		while (n < want) {
			int k = poll_some(ring, c + n, 7);

			CHECK(k > 0 && k <= 7);
			n += k;
		}
		CHECK(n == want && api->poll(ring, c + n, 1, 0) == 0);
		for (int i = 0; i < n; i++) {
			CHECK(c[i].events == PACKET && c[i].data == mark);
			CHECK(c[i].packet.n == 1 && c[i].packet.len == 300);
			CHECK(c[i].packet.list->len == 300 && !c[i].packet.list->next);
			CHECK(atoi(c[i].packet.list->payload) == i);
			CHECK(memcmp(&c[i].src, &t_peer, 8) == 0);
		}
		CHECK(api->free_packets(&c[0].packet, 1) == 0);
		CHECK(api->free_packets(&c[0].packet, 1) < 0 && errno == EINVAL); /* twice */
		for (int i = 1; i < n; i++)
			CHECK(api->free_packets(&c[i].packet, 1) == 0);
	}
	/* A buffer that is held twice outlives one free; addresses that are none are refused. */
	ask(fd, 1, 50, 0, 0);
	CHECK(poll_some(ring, c, 1) == 1);
	struct buff *b = c[0].packet.list;
	CHECK(api->ref(b) == 2 && api->free_buff(b) == 1 && atoi(b->payload) == 0);
	CHECK(api->free_buff((struct buff *)((char *)b + 8)) < 0 && errno == EINVAL);
	CHECK(api->free_buff(NULL) < 0 && api->ref((struct buff *)big) < 0 && errno == EINVAL);
	CHECK(api->free_buff(b) == 0 && api->free_buff(b) < 0 && errno == EINVAL);
	/* Held packets end with the socket, their buffers with their free. */
	ask(fd, 3, 50, 5, 0);
	for (int n = 0; n < 3;)
		n += poll_some(ring, c + n, 3 - n);
	close(fd);
	for (int i = 0; i < 3; i++)
		CHECK(api->free_packets(&c[i].packet, 1) == 0);
}

/* Many times the packet memory, if it did not come back. */
static void again(void)
{
	struct completion c[8];
	int fd = fresh(), ring = ring_of(fd), got = 0;

	for (int round = 0; round < 60; round++) {
		ask(fd, 50, 1000, 0, 0);
		for (int n = 0; n < 50;) {
			int k = poll_some(ring, c, 8);

			if (k <= 0)
				break;
			n += k;
			got += k;
			for (int i = 0; i < k; i++)
				CHECK(api->free_packets(&c[i].packet, 1) == 0);
		}
	}
	printf("got %d\n", got);
	CHECK(got == 3000);
	close(fd);
}

/* Ping-pong over a stream: what the peer returns comes by the poll alone, then its end. */
static void stream(void)
{
	int fd = socket(t_own.ss_family, SOCK_STREAM, 0), ring;
	struct completion c;
	bool out = false;

	CHECK(bind(fd, (struct sockaddr *)&t_own, t_len) == 0);
	CHECK(connect(fd, (struct sockaddr *)&t_peer, t_len) == 0);
	ring = ring_of(fd);
	for (int i = 0; i < 200; i++) {
		int got = 0;

		snprintf(big, 64, "%63d", i);
		CHECK(send(fd, big, 64, 0) == 64);
		while (got < 64) {
			CHECK(poll_some(ring, &c, 1) == 1 && c.data == (uint64_t)fd);
			if (c.events == EPOLLOUT && !out) {
				out = true;
				continue;
			}
			CHECK(c.events == PACKET && c.packet.list->len == c.packet.len);
			CHECK(memcmp(c.packet.list->payload, big + got, c.packet.len) == 0);
			CHECK(memcmp(&c.src, &t_peer, 8) == 0);
			got += c.packet.len;
			CHECK(api->free_packets(&c.packet, 1) == 0);
		}
	}
	shutdown(fd, SHUT_WR);
	CHECK(poll_some(ring, &c, 1) == 1 && c.events == (EPOLLIN | EPOLLRDHUP));
	close(fd);
}

/* The poll accepts connections, and gets what they send. The far host runs `send`. */
static void server(void)
{
	int s = socket(t_own.ss_family, SOCK_STREAM, 0), ring, one = 1, conns = 0, bytes = 0,
	    ends = 0;
	struct sockaddr_storage at = t_own;
	struct completion c[4];
	int fds[3];

	((struct sockaddr_in *)&at)->sin_port = htons(7001);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	CHECK(bind(s, (struct sockaddr *)&at, t_len) == 0 && listen(s, 8) == 0);
	ring = ring_of(s);
	printf("listening\n");
	fflush(stdout);
	for (int i = 0; i < 10000 && ends < 3; i++) {
		int k = api->poll(ring, c, 4, 0);

		CHECK(k >= 0);
		for (int j = 0; j < k; j++) {
			if (c[j].events & NEW) {
				CHECK(c[j].listen_fd == s && conns < 3 && (int)c[j].data != s);
				CHECK(memcmp((char *)&c[j].src + 4, (char *)&t_peer + 4, 4) == 0);
				fds[conns++] = (int)c[j].data;
			} else if (c[j].events & PACKET) {
				bytes += c[j].packet.len;
				CHECK(api->free_packets(&c[j].packet, 1) == 0);
			} else if (c[j].events & EPOLLRDHUP) {
				ends++;
			}
		}
		if (!k)
			usleep(1000);
	}
	printf("%d connections, %d bytes, %d ends\n", conns, bytes, ends);
	CHECK(conns == 3 && bytes == 300 && ends == 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close(s);
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{"off", off},       {"held", held},     {"again", again},
		{"stream", stream}, {"server", server}, {NULL, NULL},
	};
	socklen_t len = sizeof(api);

	CHECK(getsockopt(-1, SOL_SOCKET, 2800, &api, &len) == 0);
	return t_main(argc, argv, cases);
}
