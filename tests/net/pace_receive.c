/* SPDX-License-Identifier: BSD-2-Clause */
/* The independent receiver of paced flows: takes UDP frames off a network device with the kernel's
 * stamps, a flow for each destination port, whose first four bytes are its count.
 *
 *   pace_receive DEVICE PORT FRAMES KBPS[,KBPS..] [SIZE]    a flow of that rate on PORT, PORT+1, ..
 *
 * With SIZE they are TCP's, of FRAMES of SIZE bytes with 66 bytes of headers.
 *
 * Says "listening"; ends when each flow has FRAMES, or after ten seconds without a frame. Of each
 * flow it prints: port, asked kbit/s, frames, out of order, measured kbit/s, p50 and p99 of the
 * gaps' error in us (against the time that the frame before takes at the rate). */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define MAX_FLOWS 256

struct arrival {
	uint64_t ns, before; /* bytes of those before it */
};

static struct flow {
	double kbps;
	uint32_t frames, disorder, arrivals;
	uint32_t next; /* TCP: sequence number */
	uint64_t bytes, payload;
	struct arrival *at;
} flow[MAX_FLOWS];
static unsigned nflows, port, wanted, tcp_size;

static void arrived(struct flow *f, size_t len, uint64_t ns)
{
	if (f->arrivals < 2 * wanted)
		f->at[f->arrivals++] = (struct arrival){ns, f->bytes};
	f->bytes += len;
}

static void take_udp(struct flow *f, const uint8_t *data, size_t len, uint64_t ns)
{
	uint32_t seq;

	memcpy(&seq, data, 4);
	f->disorder += ntohl(seq) != f->frames;
	arrived(f, len, ns);
	f->frames++;
}

static void take_tcp(struct flow *f, const uint8_t *p, size_t len, uint64_t ns)
{
	size_t payload = (size_t)(p[16] << 8 | p[17]) - 20 - (size_t)(p[46] >> 4) * 4;
	uint32_t seq;

	memcpy(&seq, p + 38, 4);
	seq = ntohl(seq);
	if (!payload)
		return;
	f->disorder += f->payload && seq != f->next;
	f->next = seq + (uint32_t)payload;
	arrived(f, len, ns);
	f->payload += payload;
	f->frames = (uint32_t)(f->payload / (tcp_size - 66));
}

static void take(const uint8_t *f, size_t len, uint64_t ns)
{
	unsigned to;

	if (len < 46 || f[12] != 8 || f[13] != 0 || f[23] != (tcp_size ? IPPROTO_TCP : IPPROTO_UDP))
		return;
	to = (unsigned)(f[36] << 8 | f[37]) - port;
	if (to >= nflows)
		return;
	if (tcp_size)
		take_tcp(&flow[to], f, len, ns);
	else
		take_udp(&flow[to], f + 42, len, ns);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the frame among from..to that came least late: a program that is kept from running, here
 * or at the sender, makes frames late, never early. */
static uint32_t most_timely(const struct flow *f, uint32_t from, uint32_t to)
{
	double least = 1e300;
	uint32_t best = from;

	for (uint32_t i = from; i < to; i++) {
		double late = (double)(f->at[i].ns - f->at[0].ns) -
			      (double)f->at[i].before * 8e6 / f->kbps;

		if (late < least) {
			least = late;
			best = i;
		}
	}
	return best;
}

static void report(unsigned n, struct flow *f)
{
	uint32_t i, j, n_at = f->arrivals;
	double *gap;

	printf("%u %.0f %u %u", port + n, f->kbps, f->frames, f->disorder);
	if (n_at < 8 || n_at == 2 * wanted) {
		puts(" - - -");
		return;
	}
	i = most_timely(f, 0, n_at / 4);
	j = most_timely(f, n_at - n_at / 4, n_at);
	gap = malloc(n_at * sizeof(*gap));
	for (uint32_t k = 1; k < n_at; k++) {
		double due = (double)(f->at[k].before - f->at[k - 1].before) * 8e6 / f->kbps;

		gap[k - 1] = (double)(f->at[k].ns - f->at[k - 1].ns) - due;
		gap[k - 1] = gap[k - 1] < 0 ? -gap[k - 1] : gap[k - 1];
	}
	qsort(gap, n_at - 1, sizeof(*gap), by_size);
	printf(" %.1f %.1f %.1f\n",
	       (double)(f->at[j].before - f->at[i].before) * 8e6 /
		       (double)(f->at[j].ns - f->at[i].ns),
	       gap[(n_at - 1) / 2] / 1e3, gap[(n_at - 1) * 99ull / 100] / 1e3);
	free(gap);
}

static bool is_done(void)
{
	for (unsigned i = 0; i < nflows; i++)
		if (flow[i].frames < wanted)
			return false;
	return true;
}

/* The device's frames ----------------------------------------------------------------------------
 * In a ring that the kernel fills and hands over in blocks (packet_mmap): a wake-up for each frame
 * would take the core from the sender. */
#define BLOCK_BYTES (1u << 16)
#define BLOCKS      512u
#define BLOCK_MS    20u
#define SNAP_BYTES  128u

static uint8_t *ring;

static void attach_filter(int fd)
{
	const unsigned proto = tcp_size ? IPPROTO_TCP : IPPROTO_UDP;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 6),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, proto, 0, 4),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, port, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, port + nflows, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SNAP_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		die("SO_ATTACH_FILTER");
}

static void map_ring(int fd)
{
	struct tpacket_req3 req = {.tp_block_size = BLOCK_BYTES,
				   .tp_block_nr = BLOCKS,
				   .tp_frame_size = 2048,
				   .tp_frame_nr = BLOCKS * (BLOCK_BYTES / 2048),
				   .tp_retire_blk_tov = BLOCK_MS};

	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &(int){TPACKET_V3}, sizeof(int)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		die("PACKET_RX_RING");
	ring = mmap(NULL, (size_t)BLOCKS * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
}

/* The next block, or NULL after so many milliseconds. */
static struct tpacket_block_desc *next_block(int fd, unsigned n, int ms)
{
	struct tpacket_block_desc *block = (void *)(ring + (size_t)(n % BLOCKS) * BLOCK_BYTES);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (!(__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		if (poll(&p, 1, ms) <= 0)
			return NULL;
	return block;
}

static void take_block(struct tpacket_block_desc *block)
{
	const uint8_t *at = (uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;

	for (uint32_t i = 0; i < block->hdr.bh1.num_pkts; i++) {
		const struct tpacket3_hdr *h = (const void *)at;

		take(at + h->tp_mac, h->tp_len, h->tp_sec * 1000000000ull + h->tp_nsec);
		at += h->tp_next_offset;
	}
	__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

static int listen_on(const char *dev)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IP),
				 .sll_ifindex = (int)if_nametoindex(dev)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	/* Has frames stamped when they come in. */
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int));
	attach_filter(fd);
	map_ring(fd);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		die(dev);
	return fd;
}

/* Reads in large pieces, which are not looked at, to spare the cores; not so large that the window
 * has to be full first. */
static void *drain(void *arg)
{
	static char buf[1 << 18];
	int fd = accept(*(int *)arg, NULL, NULL), size = sizeof(buf) / 8;

	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &size, sizeof(size));
	while (recv(fd, buf, sizeof(buf), MSG_TRUNC) > 0)
		;
	return NULL;
}

/* Sockets on the ports, so that the kernel sends no ICMP errors; their datagrams are not read. */
static void hold_port(unsigned n)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)n)};
	static int fd[MAX_FLOWS];
	int *mine = &fd[n - port], size = 0, one = 1;
	pthread_t thread;

	*mine = socket(AF_INET, tcp_size ? SOCK_STREAM : SOCK_DGRAM, 0);
	setsockopt(*mine, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!tcp_size)
		setsockopt(*mine, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(*mine, (struct sockaddr *)&at, sizeof(at)) < 0)
		die("bind");
	if (tcp_size && (listen(*mine, 1) || pthread_create(&thread, NULL, drain, mine)))
		exit(1);
}

int main(int argc, char **argv)
{
	struct tpacket_block_desc *block;
	int fd;

	if (argc < 5)
		return 2;
	if (argc > 5)
		tcp_size = (unsigned)atoi(argv[5]);
	port = (unsigned)atoi(argv[2]);
	wanted = (unsigned)atoi(argv[3]);
	for (char *s = strtok(argv[4], ","); s && nflows < MAX_FLOWS; s = strtok(NULL, ",")) {
		flow[nflows].kbps = atof(s);
		flow[nflows++].at = calloc(2 * wanted, sizeof(struct arrival));
	}
	for (unsigned i = 0; i < nflows; i++)
		hold_port(port + i);
	fd = listen_on(argv[1]);
	puts("listening");
	fflush(stdout);
	for (unsigned n = 0; !is_done() && (block = next_block(fd, n, 10000)); n++)
		take_block(block);
	for (unsigned i = 0; i < nflows; i++)
		report(i, &flow[i]);
	return 0;
}
