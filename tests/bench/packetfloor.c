/* SPDX-License-Identifier: BSD-2-Clause */
/* The floor of packet sockets: half a round trip of what a ring of AF_PACKET (TPACKET_V2) receives
 * and sendto(2) without a queueing discipline sends, by a spinning thread, with frames as
 * xdpfloor's.
 *
 *   packetfloor pong DEV          sends back what comes, until killed
 *   packetfloor ping DEV SIZE SECONDS    one line: n p50 p90 p99 p999 max avg (ns, RTT/2) */
#include <arpa/inet.h>
#include <err.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#define BLOCK      (1u << 20)
#define BLOCKS     4
#define FRAME_SIZE 2048
#define FRAMES     (BLOCK * BLOCKS / FRAME_SIZE)
#define HEADERS    42     /* Ethernet, IPv4, UDP: as long as a UDP message's */
#define ETHERTYPE  0x88b5 /* local experimental */
#define LOST_NS    100000000ull

static volatile sig_atomic_t stopped;

struct ring {
	int fd;
	uint8_t *mem;
	unsigned next;
};

static void on_signal(int sig)
{
	stopped = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void open_ring(struct ring *r, const char *dev)
{
	struct tpacket_req req = {.tp_block_size = BLOCK,
				  .tp_block_nr = BLOCKS,
				  .tp_frame_size = FRAME_SIZE,
				  .tp_frame_nr = FRAMES};
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE),
				 .sll_ifindex = (int)if_nametoindex(dev)};
	int version = TPACKET_V2, on = 1;

	r->next = 0;
	r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (r->fd < 0 || setsockopt(r->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(r->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) ||
	    setsockopt(r->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
	    setsockopt(r->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		err(1, "packet socket");
	r->mem = mmap(NULL, BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->mem == MAP_FAILED || bind(r->fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s", dev);
}

/* Copies a frame out, if one has come, and gives it back. Returns its length, 0: none. */
static unsigned recv_one(struct ring *r, uint8_t *data)
{
	struct tpacket2_hdr *h = (void *)(r->mem + (size_t)r->next * FRAME_SIZE);
	unsigned len;

	if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return 0;
	len = h->tp_snaplen;
	memcpy(data, (uint8_t *)h + h->tp_mac, len);
	__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	r->next = (r->next + 1) % FRAMES;
	return len;
}

static void send_one(struct ring *r, const uint8_t *data, unsigned len)
{
	if (send(r->fd, data, len, 0) < 0)
		err(1, "send");
}

static void pong(struct ring *r)
{
	uint8_t data[FRAME_SIZE];
	unsigned len;

	while (!stopped) {
		len = recv_one(r, data);
		if (len)
			send_one(r, data, len);
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void report(uint32_t *v, size_t n)
{
	double sum = 0;

	if (!n)
		errx(1, "no answers");
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	printf("%zu %.0f %.0f %.0f %.0f %.0f %.0f\n", n, v[n / 2] / 2.0, v[n * 9 / 10] / 2.0,
	       v[n * 99 / 100] / 2.0, v[n * 999 / 1000] / 2.0, v[n - 1] / 2.0, sum / (double)n / 2);
}

static void ping(struct ring *r, unsigned size, double seconds)
{
	size_t max = 16u << 20, n = 0, lost = 0;
	uint32_t *rtt = malloc(max * sizeof(*rtt));
	uint8_t out[FRAME_SIZE] = {0}, in[FRAME_SIZE];
	uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9), sent, got;

	if (!rtt || size + HEADERS > FRAME_SIZE)
		errx(2, "no room");
	memset(out, 0xff, ETH_ALEN);
	out[ETH_ALEN] = 2;
	out[12] = ETHERTYPE >> 8;
	out[13] = ETHERTYPE & 0xff;
	while (!stopped && n < max && lost < 100 && (sent = now_ns()) < end) {
		send_one(r, out, size + HEADERS);
		got = sent;
		while (!recv_one(r, in) && (got = now_ns()) - sent < LOST_NS)
			;
		got = now_ns();
		if (got - sent >= LOST_NS)
			lost++;
		else if (sent > start + LOST_NS) /* warm */
			rtt[n++] = (uint32_t)(got - sent);
	}
	report(rtt, n);
	free(rtt);
}

int main(int argc, char **argv)
{
	struct ring r;

	if (argc < 3 || (strcmp(argv[1], "pong") != 0 && argc < 5))
		errx(2, "usage: packetfloor pong DEV | ping DEV SIZE SECONDS");
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	open_ring(&r, argv[2]);
	puts("ready");
	fflush(stdout);
	if (strcmp(argv[1], "pong") == 0)
		pong(&r);
	else
		ping(&r, (unsigned)atoi(argv[3]), atof(argv[4]));
	return 0;
}
