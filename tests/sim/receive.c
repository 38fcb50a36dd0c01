/* SPDX-License-Identifier: BSD-2-Clause */
/* The independent receiver: takes frames off a network device, checks them by itself, and reports
 * what it saw as lines of `name value`.
 *
 *   receive DEVICE [udp=FRAMES] [tcp=BYTES] [mss=BYTES] [kbps=N] [seconds=N]
 *
 * Ends when it has that many, or after so many seconds without a frame (5). */
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tx.h"

#define MAX_FRAMES (1u << 20)

static struct {
	uint64_t frames, bad_ip, bad_l4, bad_content, bad_order, vlan;
	uint64_t bytes;
	uint32_t next;
} udp;
static struct {
	uint64_t segments, bytes, bad_ip, bad_l4, bad_content, bad_order, over_mss, bad_id, psh,
		cwr;
	uint32_t next;
	unsigned last_id;
} tcp;
static struct {
	uint64_t ns, before; /* when it came; bytes of those before it */
} arrived[MAX_FRAMES];
static uint64_t gaps_ns[MAX_FRAMES];
static uint64_t kbps;
static unsigned mss = UINT16_MAX;

static unsigned get16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* The ones' complement sum, not complemented: of what is right it is 0xffff. */
static uint32_t add(const uint8_t *p, size_t n, uint32_t s)
{
	for (size_t i = 0; i < n; i++)
		s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

struct packet {
	const uint8_t *ip, *l4, *end;
	bool v6, bad_ip, bad_l4;
	uint8_t proto;
	uint64_t ns;
	bool vlan;
	uint32_t len; /* of the frame as sent */
};

static bool parse(const uint8_t *f, size_t len, struct packet *p)
{
	uint32_t s;

	p->ip = f + 14;
	p->v6 = get16(f + 12) == 0x86dd;
	if (len < 14 + 20 + 12 || (p->v6 && len < 14 + 40 + 12) ||
	    (!p->v6 && get16(f + 12) != 0x0800))
		return false;
	p->l4 = p->ip + (p->v6 ? 40 : 20);
	p->proto = p->ip[p->v6 ? 6 : 9];
	p->end = p->v6 ? p->l4 + get16(p->ip + 4) : p->ip + get16(p->ip + 2);
	if (p->end != f + len)
		return false;
	p->bad_ip = !p->v6 && add(p->ip, 20, 0) != 0xffff;
	s = p->v6 ? add(p->ip + 8, 32, 0) : add(p->ip + 12, 8, 0);
	s = add(p->l4, (size_t)(p->end - p->l4), s + p->proto + (uint32_t)(p->end - p->l4));
	p->bad_l4 = s != 0xffff || (p->proto == IPPROTO_UDP && !get16(p->l4 + 6));
	return true;
}

static void on_udp(const struct packet *p)
{
	const uint8_t *data = p->l4 + 8;
	uint32_t seq = get32(data), n = (uint32_t)(p->end - data);
	bool same = true;

	for (uint32_t i = 4; i < n; i++)
		same &= data[i] == tx_udp_byte(seq, i);
	udp.bad_content += !same;
	udp.bad_order += seq != udp.next;
	udp.next = seq + 1;
	udp.bad_ip += p->bad_ip;
	udp.bad_l4 += p->bad_l4;
	udp.vlan += p->vlan;
	if (udp.frames < MAX_FRAMES) {
		arrived[udp.frames].ns = p->ns;
		arrived[udp.frames].before = udp.bytes;
	}
	udp.bytes += p->len;
	udp.frames++;
}

static void on_tcp(const struct packet *p)
{
	const uint8_t *data = p->l4 + (p->l4[12] >> 4) * 4;
	uint32_t seq = get32(p->l4 + 4), n = (uint32_t)(p->end - data), off = seq - TX_TCP_ISN;
	unsigned id = p->v6 ? 0 : get16(p->ip + 4);
	bool same = true;

	for (uint32_t i = 0; i < n; i++)
		same &= data[i] == tx_tcp_byte(off + i);
	tcp.bad_content += !same;
	tcp.bad_order += off != tcp.next;
	/* Identifications count up inside a send; each send here begins anew. */
	tcp.bad_id += !p->v6 && tcp.segments && id != 0xfffe && id != (tcp.last_id + 1) % 65536;
	tcp.last_id = id;
	tcp.next = off + n;
	tcp.bad_ip += p->bad_ip;
	tcp.bad_l4 += p->bad_l4;
	tcp.over_mss += n > mss;
	tcp.psh += !!(p->l4[13] & 0x08);
	tcp.cwr += !!(p->l4[13] & 0x80);
	tcp.bytes += n;
	tcp.segments++;
}

static void take(int fd)
{
	static uint8_t frame[65536];
	char control[256];
	struct iovec iov = {frame, sizeof(frame)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &msg, 0);
	struct packet p = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			p.ns = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
		} else if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA) {
			struct tpacket_auxdata aux;

			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			p.vlan = aux.tp_status & TP_STATUS_VLAN_VALID;
		}
	}
	if (n <= 0 || !parse(frame, (size_t)n, &p))
		return;
	p.len = (uint32_t)n + (p.vlan ? 4 : 0);
	if (p.proto == IPPROTO_UDP && get16(p.l4 + 2) == TX_UDP_PORT)
		on_udp(&p);
	else if (p.proto == IPPROTO_TCP && get16(p.l4 + 2) == TX_TCP_PORT)
		on_tcp(&p);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the frame among from..to that came least late after its time at the rate of kbps. */
static uint64_t most_timely(uint64_t from, uint64_t to)
{
	uint64_t best = from;
	int64_t least = INT64_MAX;

	for (uint64_t i = from; i < to; i++) {
		int64_t due = kbps ? (int64_t)(arrived[i].before * 8000000 / kbps) : 0;
		int64_t late = (int64_t)(arrived[i].ns - arrived[0].ns) - due;

		if (late >= least)
			continue;
		least = late;
		best = i;
	}
	return best;
}

/* The long-run rate is that between two frames of the first and of the last quarter which were not
 * held up: a receiver or a simulator that is kept from running makes frames late, never early. */
static void report_times(void)
{
	uint64_t n = udp.frames, i, j;

	if (n < 8 || n > MAX_FRAMES)
		return;
	i = most_timely(0, n / 4);
	j = most_timely(n - n / 4, n);
	for (uint64_t k = 1; k < n; k++)
		gaps_ns[k - 1] = arrived[k].ns - arrived[k - 1].ns;
	qsort(gaps_ns, n - 1, sizeof(gaps_ns[0]), by_size);
	printf("rate_kbps %.1f\ngap_p50_us %.1f\ngap_p99_us %.1f\n",
	       (double)(arrived[j].before - arrived[i].before) * 8e6 /
		       (double)(arrived[j].ns - arrived[i].ns),
	       (double)gaps_ns[(n - 1) / 2] / 1e3, (double)gaps_ns[(n - 1) * 99 / 100] / 1e3);
}

static void report(void)
{
	printf("udp_frames %lu\nudp_bad_ip %lu\nudp_bad_l4 %lu\nudp_bad_content %lu\n"
	       "udp_bad_order %lu\nudp_vlan %lu\n",
	       udp.frames, udp.bad_ip, udp.bad_l4, udp.bad_content, udp.bad_order, udp.vlan);
	printf("tcp_segments %lu\ntcp_bytes %lu\ntcp_bad_ip %lu\ntcp_bad_l4 %lu\ntcp_bad_content %lu\n"
	       "tcp_bad_order %lu\ntcp_over_mss %lu\ntcp_bad_id %lu\ntcp_psh %lu\ntcp_cwr %lu\n",
	       tcp.segments, tcp.bytes, tcp.bad_ip, tcp.bad_l4, tcp.bad_content, tcp.bad_order,
	       tcp.over_mss, tcp.bad_id, tcp.psh, tcp.cwr);
	report_times();
}

static int listen_on(const char *dev)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(dev)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, size = 64 << 20;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (fd < 0 || !at.sll_ifindex || bind(fd, (void *)&at, sizeof(at))) {
		perror(dev);
		exit(2);
	}
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t want_udp = 0, want_tcp = 0, seconds = 5;
	struct pollfd p = {.events = POLLIN};

	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		uint64_t v = value ? strtoull(value + 1, NULL, 0) : 0;

		if (!strncmp(argv[i], "udp=", 4))
			want_udp = v;
		else if (!strncmp(argv[i], "tcp=", 4))
			want_tcp = v;
		else if (!strncmp(argv[i], "mss=", 4))
			mss = (unsigned)v;
		else if (!strncmp(argv[i], "kbps=", 5))
			kbps = v;
		else if (!strncmp(argv[i], "seconds=", 8))
			seconds = v;
		else
			return 2;
	}
	p.fd = listen_on(argv[1]);
	printf("listening\n");
	fflush(stdout);
	while ((udp.frames < want_udp || tcp.bytes < want_tcp) &&
	       poll(&p, 1, (int)seconds * 1000) == 1)
		take(p.fd);
	report();
	return 0;
}
