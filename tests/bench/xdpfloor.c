/* SPDX-License-Identifier: BSD-2-Clause */
/* The floor: what bare AF_XDP can do on a device when nothing is around it. Ping-pong latency, and
 * the rates of sending and receiving a flood, in copy mode, by a spinning thread. Frames are the
 * ones a UDP message of the given size makes, so figures compare with those of socket programs.
 *
 *   xdpfloor pong DEV [SECONDS [sleep]]            sends back what comes, until killed
 *   xdpfloor ping DEV SIZE SECONDS [sleep]         one line: n p50 p90 p99 p999 max avg (ns, RTT/2)
 *   xdpfloor tx DEV SIZE SECONDS BATCH [DSTMAC SRCIP DSTIP PORT SOURCES]
 *                                                  floods, kicks once for each BATCH frames; with
 *                                                  addresses as UDP from so many source ports
 *   xdpfloor rx DEV SECONDS [ip|answer]            counts, with "ip" all IPv4; packets per second;
 *                                                  with "answer" every second frame is answered by
 *                                                  a short one, as TCP acknowledges (RFC 5681 4.2)
 *
 * The steering is a dozen instructions: packets of one EtherType (ours, or IPv4) go to the XSK,
 * all others to the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <xdp/xsk.h>

#define FRAMES         4096
#define FRAME_SIZE     2048
#define RING           2048
#define BATCH_MAX      64
#define HEADERS        42     /* Ethernet, IPv4, UDP */
#define ACK_LEN        66     /* Ethernet, IPv4, TCP with time stamps */
#define ETHERTYPE      0x88b5 /* local experimental */
#define ETHERTYPE_IPV4 0x0800

struct floor {
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	uint8_t *mem;
	int fd;
	uint32_t free[FRAMES]; /* frames for sending */
	unsigned nfree;
};

static volatile sig_atomic_t stopped;
static bool sleeps; /* who waits for a frame does not spin */

static void on_signal(int sig)
{
	stopped = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "xdpfloor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

/* data = ctx->data; if (data + 14 <= data_end && ethertype is ours)
 *	return redirect_map(xsks, ctx->rx_queue_index, XDP_PASS); return XDP_PASS; */
static int load_steering(int map, uint16_t ethertype)
{
	struct bpf_insn prog[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 1, 4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 14),
		INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_H, 5, 2, 12, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 5, 0, 6, htons(ethertype)),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 16, 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	return bpf_prog_load(BPF_PROG_TYPE_XDP, "floor", "GPL", prog,
			     sizeof(prog) / sizeof(prog[0]), NULL);
}

static void attach(struct floor *f, unsigned ifindex, uint16_t ethertype)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int map = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "floor_xsks", 4, 4, 64, NULL);
	if (map < 0)
		die("xsk map");
	int prog = load_steering(map, ethertype);
	if (prog < 0)
		die("load");
	/* The link lives as long as this process. */
	if (bpf_link_create(prog, ifindex, BPF_XDP, &opts) < 0)
		die("attach");
	uint32_t queue = 0;
	if (bpf_map_update_elem(map, &queue, &f->fd, 0))
		die("map update");
}

static void open_floor(struct floor *f, const char *dev, uint16_t ethertype)
{
	struct xsk_umem_config ucfg = {
		.fill_size = RING, .comp_size = RING, .frame_size = FRAME_SIZE};
	struct xsk_socket_config cfg = {.rx_size = RING,
					.tx_size = RING,
					.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
					.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP};
	unsigned ifindex = if_nametoindex(dev);
	uint32_t idx = 0;
	if (!ifindex)
		die(dev);
	f->mem = mmap(NULL, FRAMES * FRAME_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (f->mem == MAP_FAILED)
		die("mmap");
	if ((errno = -xsk_umem__create(&f->umem, f->mem, FRAMES * FRAME_SIZE, &f->fill, &f->comp,
				       &ucfg)))
		die("umem");
	/* The kernel gives the queue of a process that just ended back a little later. */
	for (int i = 0;
	     (errno = -xsk_socket__create(&f->xsk, dev, 0, f->umem, &f->rx, &f->tx, &cfg)); i++)
		if (errno != EBUSY || i > 200 || usleep(10000))
			die("xsk");
	f->fd = xsk_socket__fd(f->xsk);
	/* The lower half of the frames receives, the upper half sends. */
	xsk_ring_prod__reserve(&f->fill, RING, &idx);
	for (unsigned i = 0; i < RING; i++)
		*xsk_ring_prod__fill_addr(&f->fill, idx + i) = (uint64_t)i * FRAME_SIZE;
	xsk_ring_prod__submit(&f->fill, RING);
	for (unsigned i = RING; i < FRAMES; i++)
		f->free[f->nfree++] = i * FRAME_SIZE;
	attach(f, ifindex, ethertype);
}

static void reclaim(struct floor *f)
{
	uint32_t idx = 0;
	unsigned n = xsk_ring_cons__peek(&f->comp, BATCH_MAX, &idx);
	for (unsigned i = 0; i < n; i++)
		f->free[f->nfree++] = *xsk_ring_cons__comp_addr(&f->comp, idx + i);
	if (n)
		xsk_ring_cons__release(&f->comp, n);
}

static void kick(struct floor *f)
{
	if (xsk_ring_prod__needs_wakeup(&f->tx))
		sendto(f->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
}

static void refill(struct floor *f, const uint64_t *addrs, unsigned n)
{
	uint32_t idx = 0;
	if (xsk_ring_prod__reserve(&f->fill, n, &idx) != n)
		return; /* cannot be: the ring holds all receive frames */
	for (unsigned i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&f->fill, idx + i) = addrs[i] & ~(FRAME_SIZE - 1ull);
	xsk_ring_prod__submit(&f->fill, n);
}

/* Broadcast destination: veth's XDP does not look, and no look-up of the peer is needed. */
static void fill_frame(uint8_t *p, unsigned len)
{
	memset(p, 0xff, 6);
	memcpy(p + 6, "\x02sluic", 6);
	p[12] = ETHERTYPE >> 8;
	p[13] = ETHERTYPE & 0xff;
	memset(p + 14, 'f', len - 14);
}

static bool send_one(struct floor *f, const uint8_t *data, unsigned len)
{
	uint32_t idx = 0;
	reclaim(f);
	if (!f->nfree || xsk_ring_prod__reserve(&f->tx, 1, &idx) != 1)
		return false;
	uint32_t addr = f->free[--f->nfree];
	memcpy(f->mem + addr, data, len); /* a socket program's data is copied as well */
	*xsk_ring_prod__tx_desc(&f->tx, idx) = (struct xdp_desc){.addr = addr, .len = len};
	xsk_ring_prod__submit(&f->tx, 1);
	kick(f);
	return true;
}

/* Copies a frame out, if one has come, and gives it back. Returns its length, 0: none. */
static unsigned recv_one(struct floor *f, uint8_t *data)
{
	uint32_t idx = 0;
	if (!xsk_ring_cons__peek(&f->rx, 1, &idx))
		return 0;
	const struct xdp_desc *d = xsk_ring_cons__rx_desc(&f->rx, idx);
	uint64_t addr = d->addr;
	unsigned len = d->len;
	memcpy(data, f->mem + addr, len);
	xsk_ring_cons__release(&f->rx, 1);
	refill(f, &addr, 1);
	return len;
}

static void idle(struct floor *f)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	if (sleeps)
		poll(&p, 1, 100);
}

static void pong(struct floor *f, double seconds)
{
	uint8_t data[FRAME_SIZE];
	uint64_t end = seconds > 0 ? now_ns() + seconds * 1e9 : UINT64_MAX;
	while (!stopped && (seconds <= 0 || now_ns() < end)) {
		unsigned len = recv_one(f, data);
		if (len)
			send_one(f, data, len);
		else
			idle(f);
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void report_latency(uint32_t *v, size_t n)
{
	double sum = 0;
	if (!n) {
		fprintf(stderr, "xdpfloor: no answers\n");
		exit(1);
	}
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	printf("%zu %.0f %.0f %.0f %.0f %.0f %.0f\n", n, v[n / 2] / 2.0, v[n * 9 / 10] / 2.0,
	       v[n * 99 / 100] / 2.0, v[n * 999 / 1000] / 2.0, v[n - 1] / 2.0, sum / n / 2);
}

static void ping(struct floor *f, unsigned len, double seconds)
{
	size_t max = 16u << 20, n = 0, lost = 0;
	uint32_t *rtt = malloc(max * sizeof(*rtt));
	uint8_t out[FRAME_SIZE], in[FRAME_SIZE];
	fill_frame(out, len);
	uint64_t start = now_ns(), end = start + seconds * 1e9, warm = start + 100000000;
	while (!stopped && n < max && lost < 100) {
		uint64_t sent = now_ns(), got = sent;
		if (sent >= end)
			break;
		send_one(f, out, len);
		while (!recv_one(f, in) && (got = now_ns()) - sent < 100000000)
			idle(f);
		got = now_ns();
		if (got - sent >= 100000000)
			lost++;
		else if (sent > warm)
			rtt[n++] = got - sent;
	}
	report_latency(rtt, n);
	free(rtt);
}

#define SOURCES_MAX 256

/* frames to send in turn: a single one, or one for each source port */
struct load {
	uint8_t frame[SOURCES_MAX][FRAME_SIZE];
	unsigned len, nframes;
};

static uint32_t sum16(const void *data, unsigned len, uint32_t sum)
{
	const uint8_t *p = data;
	for (unsigned i = 0; i + 1 < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return len & 1 ? sum + (p[len - 1] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum & 0xffff);
}

/* argv: DSTMAC SRCIP DSTIP PORT */
static bool make_udp(uint8_t *p, unsigned len, char **argv, uint16_t source)
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
	struct udphdr udp = {.source = htons(source), .dest = htons(atoi(argv[3]))};
	if (sscanf(argv[0], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", p, p + 1, p + 2, p + 3, p + 4,
		   p + 5) != 6 ||
	    inet_pton(AF_INET, argv[1], &ip.saddr) != 1 ||
	    inet_pton(AF_INET, argv[2], &ip.daddr) != 1)
		return false;
	p[12] = 8, p[13] = 0;
	ip.tot_len = htons(len - 14);
	ip.check = fold(sum16(&ip, sizeof(ip), 0));
	udp.len = htons(len - 34);
	memcpy(p + 14, &ip, sizeof(ip));
	memcpy(p + 34, &udp, sizeof(udp));
	udp.check = fold(sum16(p + 34, len - 34, sum16(&ip.saddr, 8, IPPROTO_UDP + len - 34)));
	memcpy(p + 34, &udp, sizeof(udp));
	return true;
}

static bool make_load(struct load *l, unsigned len, int argc, char **argv)
{
	l->len = len;
	l->nframes = argc >= 5 ? atoi(argv[4]) : 1;
	if (!l->nframes || l->nframes > SOURCES_MAX)
		return false;
	for (unsigned i = 0; i < l->nframes; i++) {
		fill_frame(l->frame[i], len);
		if (argc >= 5 && !make_udp(l->frame[i], len, argv, 20000 + i))
			return false;
	}
	return true;
}

/* Answers to the flood: taken, and looked at no further. */
static void drain(struct floor *f)
{
	uint64_t addrs[BATCH_MAX];
	uint32_t idx = 0;
	unsigned got = xsk_ring_cons__peek(&f->rx, BATCH_MAX, &idx);
	if (!got)
		return;
	for (unsigned i = 0; i < got; i++)
		addrs[i] = xsk_ring_cons__rx_desc(&f->rx, idx + i)->addr;
	xsk_ring_cons__release(&f->rx, got);
	refill(f, addrs, got);
}

static void flood(struct floor *f, const struct load *l, double seconds, unsigned batch)
{
	uint64_t sent = 0, start = now_ns(), end = start + seconds * 1e9, now = start;
	unsigned next = 0;
	while (!stopped && now < end) {
		uint32_t idx = 0;
		reclaim(f);
		drain(f);
		if (f->nfree < batch || xsk_ring_prod__reserve(&f->tx, batch, &idx) != batch) {
			kick(f);
			now = now_ns();
			continue;
		}
		for (unsigned i = 0; i < batch; i++) {
			uint32_t addr = f->free[--f->nfree];
			memcpy(f->mem + addr, l->frame[next], l->len);
			next = next + 1 == l->nframes ? 0 : next + 1;
			*xsk_ring_prod__tx_desc(&f->tx, idx + i) =
				(struct xdp_desc){.addr = addr, .len = l->len};
		}
		xsk_ring_prod__submit(&f->tx, batch);
		kick(f);
		if ((sent += batch) % 1024 < batch)
			now = now_ns();
	}
	printf("%.0f\n", sent * 1e9 / (now_ns() - start));
}

/* The rate between the first and the last packet, so that it may start before the sender. */
static void sink(struct floor *f, double seconds, bool answer)
{
	uint64_t n = 0, first = 0, last = 0, end = now_ns() + seconds * 1e9, sum = 0,
		 addrs[BATCH_MAX];
	uint8_t data[FRAME_SIZE], ack[ACK_LEN];
	unsigned owed = 0;
	fill_frame(ack, sizeof(ack));
	for (;;) {
		uint32_t idx = 0;
		unsigned got = xsk_ring_cons__peek(&f->rx, BATCH_MAX, &idx);
		if (!got) {
			if (stopped || now_ns() >= end)
				break;
			continue;
		}
		for (unsigned i = 0; i < got; i++) {
			const struct xdp_desc *d = xsk_ring_cons__rx_desc(&f->rx, idx + i);
			addrs[i] = d->addr;
			memcpy(data, f->mem + d->addr, d->len);
			sum += data[d->len - 1];
		}
		xsk_ring_cons__release(&f->rx, got);
		refill(f, addrs, got);
		owed += got;
		if (answer && owed >= 2) { /* one for all that came at once */
			send_one(f, ack, sizeof(ack));
			owed = 0;
		}
		last = now_ns();
		if (!first)
			first = last;
		n += got;
		if (last >= end)
			break;
	}
	if (n < 2 || !sum) {
		fprintf(stderr, "xdpfloor: nothing came\n");
		exit(1);
	}
	printf("%.0f\n", n * 1e9 / (last - first));
}

static int usage(void)
{
	fprintf(stderr, "usage: xdpfloor pong DEV [SECONDS [sleep]] |\n"
			"       ping DEV SIZE SECONDS [sleep] |\n"
			"       tx DEV SIZE SECONDS BATCH [DSTMAC SRCIP DSTIP PORT SOURCES] |\n"
			"       rx DEV SECONDS [ip|answer]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct floor f;
	static struct load load;
	struct sigaction sa = {.sa_handler = on_signal};
	if (argc < 3)
		return usage();
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	const char *what = argv[1];
	sleeps = !strcmp(argv[argc - 1], "sleep");
	argc -= sleeps;
	bool pinger = !strcmp(what, "ping") && argc == 5;
	bool sender = !strcmp(what, "tx") && (argc == 6 || argc == 11);
	bool ponger = !strcmp(what, "pong"), sinker = !strcmp(what, "rx") && argc >= 4;
	if (!pinger && !sender && !ponger && !sinker)
		return usage();
	unsigned len = pinger || sender ? atoi(argv[3]) + HEADERS : 0;
	unsigned batch = sender ? atoi(argv[5]) : 1;
	if (len > FRAME_SIZE || batch > BATCH_MAX || !batch ||
	    (sender && !make_load(&load, len, argc - 6, argv + 6)))
		return usage();
	bool answer = sinker && argc > 4 && !strcmp(argv[4], "answer");
	open_floor(&f, argv[2], sinker && argc > 4 && !answer ? ETHERTYPE_IPV4 : ETHERTYPE);
	fprintf(stderr, "ready\n");
	if (pinger)
		ping(&f, len, atof(argv[4]));
	else if (sender)
		flood(&f, &load, atof(argv[4]), batch);
	else if (ponger)
		pong(&f, argc > 3 ? atof(argv[3]) : 0);
	else
		sink(&f, atof(argv[3]), answer);
	return 0;
}
