/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile SOCKET IFNAME MODE: a member of a group that means harm. It asks the daemon for packet
 * memory, the device and a lane, and writes into what it shares until it is killed:
 *
 *   lock      the daemon's own number into every lock
 *   early     as lock, before it opens the device: the daemon takes frames for that
 *   rubbish   anything into everything but the locks: records, lists, rings, again and again
 *   both      anything into everything
 *   once      as rubbish, but once
 *   look      nothing: it ends as soon as it has said what could be written
 *
 * Lines: "told WHAT" (could what the daemon tells be written?), "rules WHAT" (could the device's
 * rules?), "writes", then each second "asked N
 * refused N longest MS": how long the daemon took for an answer. "hung up" when it did. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/share/share.h"
#include "ctl/lease/msg.h"

#define ASK_MS 50
#define BUSY_S 20
#define CUT    (F_SEAL_SHRINK | F_SEAL_SEAL)
#define FAR    ((uint64_t)60000 << 28) /* where frames of 256 MB would lie */

static struct sl_lease_msg m;
static struct sl_share g;
static struct sl_share_geometry geometry;
static int conn, xsk;
static uint32_t seq, ifindex, member;
static uint32_t asked, refused;
static double longest;
static struct ring {
	char *map;
	size_t bytes;
} rings[4];
static struct sl_lease_queue queue;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 0 or the daemon's -errno. */
static int ask(enum sl_lease_op op)
{
	double t = now_s();
	int err = sl_lease_ask(conn, &m, op, ++seq);

	if (err != 1) {
		printf("hung up: %s\n", strerror(-err));
		conn = -1;
		return -ENOTCONN;
	}
	longest = sl_max(longest, (now_s() - t) * 1000);
	asked++;
	refused += m.hdr.err != 0;
	return m.hdr.err;
}

static int ask_port(enum sl_lease_op op)
{
	memset(&m.body, 0, sizeof(m.body));
	m.body.port.ifindex = ifindex;
	m.nfds = 0;
	return ask(op);
}

/* Tries to write a file that the daemon alone writes. */
static void say_read_only(const char *what, int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *r = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	char path[64];
	int again, seals;

	if (r == MAP_FAILED)
		err(1, "%s cannot be read", what);
	(void)fchmod(fd, 0666);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	seals = fcntl(fd, F_GET_SEALS);
	printf("%s %s %s %s %s\n", what, p == MAP_FAILED ? "not-mapped" : "mapped",
	       again < 0 ? "not-opened" : "opened",
	       mprotect(r, 4096, PROT_READ | PROT_WRITE) ? "not-changed" : "changed",
	       truncate(path, 0) && (seals & CUT) == CUT ? "not-cut" : "cut");
	munmap(r, 4096);
}

static void take_memory(void)
{
	m.nfds = 0;
	if (ask(SL_LEASE_UMEM))
		errx(1, "UMEM: %s", m.body.why);
	geometry = m.body.umem_ok.geometry;
	member = m.body.umem_ok.member;
	if (sl_share_open(&g, &geometry, m.fd[1], m.fd[2], false))
		errx(1, "the memory cannot be mapped");
	say_read_only("told", m.fd[2]);
}

static void take_ring(unsigned i, size_t bytes, off_t at)
{
	rings[i].map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, xsk, at);
	rings[i].bytes = bytes;
	if (rings[i].map == MAP_FAILED)
		err(1, "ring %u", i);
}

/* The kernel may still hold the XDP sockets of the process before this one. */
static int open_port(void)
{
	double end = now_s() + BUSY_S;
	int err;

	while ((err = ask_port(SL_LEASE_PORT_OPEN)) == -EBUSY && now_s() < end)
		usleep(ASK_MS * 1000);
	return err;
}

/* False when the daemon has seen the broken locks before it was asked for the lane. */
static bool take_lane(void)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);
	int why = open_port();

	if (!why)
		say_read_only("rules", m.fd[0]);
	if (!why)
		why = ask_port(SL_LEASE_LANE_OPEN);
	if (why == -ESHUTDOWN)
		return false;
	if (why)
		errx(1, "PORT_OPEN, LANE_OPEN: %s", m.body.why);
	queue = m.body.lane_ok.queue[0];
	xsk = m.fd[0];
	if (getsockopt(xsk, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len))
		err(1, "XDP_MMAP_OFFSETS");
	take_ring(0, o.rx.desc + queue.rx_size * sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	take_ring(1, o.tx.desc + queue.tx_size * sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	take_ring(2, o.fr.desc + queue.fill_size * sizeof(uint64_t),
		  (off_t)XDP_UMEM_PGOFF_FILL_RING);
	take_ring(3, o.cr.desc + queue.comp_size * sizeof(uint64_t),
		  (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
	return true;
}

static uint32_t any(void)
{
	switch (rand() % 4) {
	case 0:
		return (uint32_t)rand() % (2 * g.nframes);
	case 1:
		return ~(uint32_t)(rand() % 100);
	case 2:
		return (uint32_t)member << 24 | (uint32_t)(rand() & 0x3ffff);
	default:
		return (uint32_t)rand() * 2654435761u;
	}
}

/* Each is the first word of its record. */
static bool is_lock(const uint32_t *w)
{
	size_t at = (size_t)((const char *)w - (const char *)g.queue);

	return w == &g.head->lock.word ||
	       (w >= (const uint32_t *)g.queue && w < (const uint32_t *)g.xsk &&
		at % sizeof(*g.queue) == 0);
}

static void write_rubbish(bool locks)
{
	uint32_t *w = (uint32_t *)g.head;
	uint32_t *end = (uint32_t *)((char *)g.head + geometry.bytes);

	for (; w < end; w++)
		if (locks || !is_lock(w))
			sl_store(w, any());
	for (unsigned i = 0; i < 4; i++) {
		w = (uint32_t *)rings[i].map;
		for (; w < (uint32_t *)(rings[i].map + rings[i].bytes); w++)
			sl_store(w, any());
	}
}

/* Writes descriptors into our receive ring that point where only another layout has memory
 * (poc/share). */
static void write_far(void)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof(o);
	struct xdp_desc *d;
	uint32_t *producer, *consumer, at;

	if (getsockopt(xsk, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len))
		return;
	producer = (uint32_t *)(rings[0].map + o.rx.producer);
	consumer = (uint32_t *)(rings[0].map + o.rx.consumer);
	d = (struct xdp_desc *)(rings[0].map + o.rx.desc);
	at = sl_load(consumer);
	for (uint32_t i = 0; i < 8; i++)
		d[(at + i) & (queue.rx_size - 1)] =
			(struct xdp_desc){.addr = (FAR << i % 4) | 256, .len = 100 << i};
	sl_store_release(producer, at + 8);
}

static void write_locks(void)
{
	const uint32_t word = (uint32_t)SL_SHARE_BROKER << SL_RLOCK_SHIFT | 1;

	sl_store(&g.head->lock.word, word);
	for (uint32_t i = 0; i < g.nqueues; i++)
		sl_store(&g.queue[i].lock.word, word);
}

static void write_as(const char *mode)
{
	if (!strcmp(mode, "lock") || !strcmp(mode, "early")) {
		write_locks();
		return;
	}
	write_rubbish(!strcmp(mode, "both"));
	write_far();
}

int main(int argc, char **argv)
{
	double said;

	if (argc != 4)
		errx(2, "usage: hostile SOCKET IFNAME MODE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	ifindex = if_nametoindex(argv[2]);
	conn = sl_lease_dial(argv[1], 20);
	if (conn < 0 || !ifindex)
		errx(1, "no daemon, or no device");
	m.fd[m.nfds++] = open("/proc/self/ns/net", O_RDONLY);
	if (ask(SL_LEASE_HELLO))
		errx(1, "HELLO: %s", m.body.why);
	take_memory();
	if (!strcmp(argv[3], "early"))
		write_as(argv[3]);
	if (!take_lane() && strcmp(argv[3], "early"))
		errx(1, "no lane: %s", m.body.why);
	if (!strcmp(argv[3], "look"))
		return 0;
	longest = 0; /* (opening the device takes long) */
	write_as(argv[3]);
	printf("writes\n");
	for (said = now_s();; usleep(ASK_MS * 1000)) {
		if (strcmp(argv[3], "once"))
			write_as(argv[3]);
		if (conn >= 0)
			(void)ask_port(SL_LEASE_PORT_ALIVE);
		if (now_s() - said < 1)
			continue;
		printf("asked %u refused %u longest %.0f\n", asked, refused, longest);
		said = now_s();
	}
}
