/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that fills its receive ring itself and dies: what of that reaches the kernel?
 * Usage: late_frames SOCKET UID DEVICE PORT OWN4 OWN6 PEER4 PEER6 OTHER-PORT
 * On OTHER-PORT + 1, which the program has claimed, too, another user listens before the end.
 * The daemon's client without the library; each frame has its number as the payload's last byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/share/share.h"
#include "ctl/lease/proto.h"
#include "ctl/lease/msg.h"
#include "steer.h"
#include "wire/csum.h"
#include "wire/tcp_seg.h"
#include "steer.h"

static struct sl_lease_msg m;
static int conn;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, m.hdr.err ? m.body.why : strerror(errno));
	exit(1);
}

static void ask(enum sl_lease_op op, const char *what)
{
	static uint32_t seq;

	must(sl_lease_ask(conn, &m, op, ++seq) == 1 && !m.hdr.err, what);
}

static void begin(const char *path, int uid)
{
	must(!setgroups(0, NULL) && !setgid((gid_t)uid) && !setuid((uid_t)uid), "setuid");
	conn = sl_lease_dial(path, 5);
	must(conn >= 0, "dial");
	memset(&m, 0, sizeof(m));
	m.fd[0] = open("/proc/self/ns/net", O_RDONLY);
	m.nfds = 1;
	ask(SL_LEASE_HELLO, "hello");
}

/* Frames ----------------------------------------------------------------------------------------
 */

static struct sl_share share;
static uint8_t *base;
static uint32_t *prod, mask, queued;
static struct xdp_desc *desc;

static uint32_t next_frame(void)
{
	return share.nframes - 5 - queued; /* frames that no program has had */
}

/* l4: where the record says that the TCP header is. */
static void queue(const uint8_t *frame, size_t len, uint16_t l4)
{
	uint64_t addr = ((uint64_t)next_frame() << share.shift) | 256;
	struct sl_meta *meta = (struct sl_meta *)(base + addr - sizeof(*meta));

	*meta = (struct sl_meta){.magic = SL_META_MAGIC,
				 .proto = IPPROTO_TCP,
				 .l3 = 14,
				 .l4 = l4,
				 .slot = 1,
				 .gen = 1};
	memcpy(base + addr, frame, len);
	desc[(*prod + queued++) & mask] = (struct xdp_desc){.addr = addr, .len = (uint32_t)len};
}

static struct sl_addr addr(const char *text)
{
	struct in6_addr a6;
	struct in_addr a4;

	if (inet_pton(AF_INET, text, &a4) == 1)
		return sl_addr_v4(a4.s_addr);
	inet_pton(AF_INET6, text, &a6);
	return sl_addr_v6(&a6);
}

/* A segment of TCP, as it should be; what: changes of it. */
enum { GOOD, OPTIONS, BAD_SUM, LONG };
static void segment(const char *src, const char *dst, int dport, uint8_t number, int what)
{
	struct sl_udp_build b = {.src = addr(src),
				 .dst = addr(dst),
				 .sport = 4444,
				 .dport = (uint16_t)dport,
				 .ttl = 64};
	static uint8_t buf[2048], copy[2048];
	uint8_t *payload = buf + 512, *frame;
	struct sl_tcp_seg seg = {.flags = SL_TCP_ACK, .seq = 1, .ack = 2, .wnd = 100, .len = 8};
	struct sl_tcp_hdr h;
	size_t len;

	memset(payload, 'x', 8);
	payload[7] = number;
	sl_build_tcp_hdr(&h, &b);
	frame = sl_build_tcp(&h, &seg, payload, 1, sl_csum_add(0, payload, 8));
	len = (size_t)(payload + 8 - frame);
	memcpy(copy, frame, len);
	frame = copy;
	if (what == OPTIONS) { /* a loose source route, which the kernel would heed */
		uint8_t *ip = frame + 14;
		uint16_t sum;

		memmove(ip + 28, ip + 20, len - 34);
		memcpy(ip + 20, "\x83\x07\x04\x0a\x01\x01\x01\x00", 8);
		len += 8;
		ip[0] = 0x47;
		sl_put_be16(ip + 2, (uint16_t)(len - 14));
		memset(ip + 10, 0, 2);
		sum = sl_csum_fold(sl_csum_add(0, ip, 28));
		memcpy(ip + 10, &sum, 2);
	}
	if (what == BAD_SUM)
		frame[h.l4 + 17] ^= 0x55;
	if (what == LONG)
		sl_put_be16(frame + 14 + (h.v6 ? 4 : 2), 1400);
	queue(frame, len, (uint16_t)(14 + (what == OPTIONS ? 28 : h.v6 ? 40 : 20)));
}

/* A UDP packet by its header, to any port; TCP only where the record says so. */
static void disguised(const char *src, const char *dst, int udp_port, int port, uint8_t number)
{
	struct sl_addr s = addr(src), d = addr(dst);
	uint8_t f[256] = {[12] = 0x86, 0xdd}, *ip = f + 14, *udp = ip + 40, *tcp = udp + 8;
	uint16_t n = 20 + 8, sum;

	ip[0] = 0x60;
	ip[5] = (uint8_t)(n + 8);
	ip[6] = IPPROTO_UDP;
	ip[7] = 64;
	memcpy(ip + 8, s.b, 16);
	memcpy(ip + 24, d.b, 16);
	sl_put_be16(udp, 4444);
	sl_put_be16(udp + 2, (uint16_t)udp_port);
	udp[5] = (uint8_t)(n + 8);
	sl_put_be16(tcp, 4444);
	sl_put_be16(tcp + 2, (uint16_t)port);
	tcp[12] = 0x50;
	tcp[13] = SL_TCP_ACK;
	memset(tcp + 20, 'x', 8);
	tcp[27] = number;
	sum = sl_csum_fold(
		sl_csum_add(sl_pseudo_sum(&s, &d, IPPROTO_TCP, (uint16_t)(n + 8)), udp, 8));
	(void)sum;
	sum = sl_csum_fold(sl_csum_add(sl_pseudo_sum(&s, &d, IPPROTO_TCP, n), tcp, n));
	memcpy(tcp + 16, &sum, 2);
	sum = sl_csum_fold(
		sl_csum_add(sl_pseudo_sum(&s, &d, IPPROTO_UDP, (uint16_t)(n + 8)), udp, n + 8));
	memcpy(udp + 6, &sum, 2);
	queue(f, 14 + 40 + 8 + n, 14 + 40 + 8);
}

static void attach(unsigned ifindex, struct sl_lease_lane_ok *lane)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	uint8_t *rx;

	ask(SL_LEASE_UMEM, "packet memory");
	base = mmap(NULL, (size_t)m.body.umem_ok.nframes * m.body.umem_ok.frame_size,
		    PROT_READ | PROT_WRITE, MAP_SHARED, m.fd[0], 0);
	must(base != MAP_FAILED, "mmap");
	must(!sl_share_open(&share, &m.body.umem_ok.geometry, m.fd[1], m.fd[2], false),
	     "the share");
	memset(&m, 0, sizeof(m));
	m.body.port.ifindex = ifindex;
	ask(SL_LEASE_PORT_OPEN, "device");
	memset(&m, 0, sizeof(m));
	m.body.port.ifindex = ifindex;
	ask(SL_LEASE_LANE_OPEN, "lane");
	*lane = m.body.lane_ok;
	must(!getsockopt(m.fd[0], SOL_XDP, XDP_MMAP_OFFSETS, &off, &len), "XDP_MMAP_OFFSETS");
	rx = mmap(NULL, off.rx.desc + lane->queue[0].rx_size * sizeof(*desc),
		  PROT_READ | PROT_WRITE, MAP_SHARED, m.fd[0], XDP_PGOFF_RX_RING);
	must(rx != MAP_FAILED, "the ring");
	prod = (uint32_t *)(rx + off.rx.producer);
	desc = (struct xdp_desc *)(rx + off.rx.desc);
	mask = lane->queue[0].rx_size - 1;
}

/* Claims a port of the family of `local`. Returns its listener, which ends with the process, so
 * that no socket answers. */
static int claim(unsigned ifindex, const struct sl_lease_lane_ok *lane, const char *local, int port)
{
	struct sockaddr_storage ss;
	struct sl_addr a = addr(local);
	socklen_t len = sizeof(ss);
	const char *device = getenv("LATE_DEVICE"); /* to which the listener is bound */
	int one = 1, fd;

	sl_addr_to_sockaddr(&a, (uint16_t)port, 0, sl_addr_is_v4(&a) ? AF_INET : AF_INET6,
			    (struct sockaddr *)&ss, &len);
	memset(&m, 0, sizeof(m));
	fd = socket(ss.ss_family, SOCK_STREAM, 0);
	m.fd[0] = fd;
	m.nfds = 1;
	setsockopt(m.fd[0], IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (device)
		must(!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device)), device);
	must(!bind(m.fd[0], (struct sockaddr *)&ss, len) && !listen(m.fd[0], 1), "listen");
	m.body.claim.ifindex = ifindex;
	memcpy(m.body.claim.key.local, a.b, 16);
	m.body.claim.key.local_port = (uint16_t)port;
	m.body.claim.key.proto = IPPROTO_TCP;
	m.body.claim.claim = (struct sl_claim){.lane = lane->first, .slot = 1, .gen = 1};
	ask(SL_LEASE_CLAIM, "claim");
	return fd;
}

static int go[2], ready[2];

/* Another user's process, which listens on the port as soon as a byte comes by `go`: the daemon has
 * no time to take the claim back before the end. */
static void prepare_other(const char *local, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, fd;
	char byte = 0;

	must(!pipe(go) && !pipe(ready), "pipe");
	if (fork())
		return;
	must(!setgroups(0, NULL) && !setgid(1003) && !setuid(1003), "setuid");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	inet_pton(AF_INET, local, &a.sin_addr);
	must(read(go[0], &byte, 1) == 1, "read");
	for (int i = 0; i < 2000 && bind(fd, (struct sockaddr *)&a, sizeof(a)); i++)
		usleep(500); /* the daemon closes its copy of the listener soon */
	must(!listen(fd, 1), "other's listen");
	must(write(ready[1], &byte, 1) == 1, "write");
	sleep(4);
	_exit(0);
}

static void let_other_listen(void)
{
	char byte = 0;

	must(write(go[1], &byte, 1) == 1, "write");
	close(ready[1]);
	must(read(ready[0], &byte, 1) == 1, "the other listens");
}

int main(int argc, char **argv)
{
	const char *dev = argv[3], *own4 = argv[5], *own6 = argv[6], *peer4 = argv[7],
		   *peer6 = argv[8];
	int port = atoi(argv[4]), other = atoi(argv[9]), listener;
	unsigned ifindex = if_nametoindex(dev);
	struct sl_lease_lane_ok lane;

	prepare_other(own4, other + 1);
	begin(argv[1], atoi(argv[2]));
	attach(ifindex, &lane);
	claim(ifindex, &lane, own4, port);
	claim(ifindex, &lane, own6, port);
	listener = claim(ifindex, &lane, own4, other + 1);
	segment(peer4, own4, port, 'a', GOOD);
	segment(peer6, own6, port, 'b', GOOD);
	segment(peer4, own4, port, 'c', OPTIONS);
	segment(peer4, own4, other, 'D', GOOD);
	segment(peer6, own6, other, 'E', GOOD);
	segment("127.0.0.1", own4, port, 'F', GOOD);
	segment("::1", own6, port, 'G', GOOD);
	segment(own4, own4, port, 'H', GOOD);
	segment(own6, own6, port, 'I', GOOD);
	segment("0.0.0.5", own4, port, 'J', GOOD);
	segment("255.255.255.255", own4, port, 'K', GOOD);
	segment("239.1.1.1", own4, port, 'L', GOOD);
	segment("ff02::1", own6, port, 'M', GOOD);
	segment("240.0.0.1", own4, port, 'N', GOOD);
	segment(peer4, own4, port, 'O', BAD_SUM);
	segment(peer6, own6, port, 'P', BAD_SUM);
	segment(peer4, own4, port, 'Q', LONG);
	segment(peer6, own6, port, 'R', LONG);
	segment(peer4, peer4, port, 'S', GOOD);
	segment(peer6, "ff02::1", port, 'T', GOOD);
	segment("127.0.0.2", own4, port, 'U', GOOD);
	segment(peer4, own4, other + 1, 'W', GOOD); /* (another user listens there now) */
	disguised(peer6, own6, other, port, 'v');
	close(listener);
	let_other_listen();
	__atomic_store_n(prod, *prod + queued, __ATOMIC_RELEASE);
	return 0;
}
