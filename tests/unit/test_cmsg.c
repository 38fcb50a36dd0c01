/* SPDX-License-Identifier: BSD-2-Clause */
/* Ancillary data of what we receive, byte by byte beside the kernel's: the same options on a real
 * socket over lo and on one of ours, the same datagram, then recvmsg on both. */
#include "packet.h"

#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <linux/udp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "sluice.h"
#include "sock/core/sock.h"
#include "sock/core/cmsg.h"
#include "sock/core/udp_sock.h"

#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#define LO       1
#define HUGE_CTL 512

static struct sl_lane lane;
static struct sl_lane_stats lane_stats;
static struct sl_sock_stats stats;
static struct sl_udp_sock us;
static struct sl_sock *const sk = &us.sk;
static int rx, tx, ours; /* receiver and sender in the kernel; the number of our socket */
static struct sockaddr_storage to;
static socklen_t to_len;

/* The result of a receive call. */
struct got {
	ssize_t n;
	struct msghdr msg;
	char data[65536], ctl[HUGE_CTL];
	struct sockaddr_storage name;
};

static void no_news(struct sl_udp *u)
{
	(void)u;
}

/* Kernel sockets of a family on lo, and a socket of ours with the same names. */
static void begin(int family, int dst_family)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
	socklen_t len = sizeof(to);

	if (family == AF_INET6 && dst_family == AF_INET)
		any6.sin6_addr = in6addr_any;
	rx = socket(family, SOCK_DGRAM, 0);
	tx = socket(dst_family, SOCK_DGRAM, 0);
	assert_true(rx >= 0 && tx >= 0);
	assert_int_equal(family == AF_INET ? bind(rx, (void *)&any, sizeof(any))
					   : bind(rx, (void *)&any6, sizeof(any6)),
			 0);
	assert_int_equal(dst_family == AF_INET ? bind(tx, (void *)&any, sizeof(any))
					       : bind(tx, (void *)&any6, sizeof(any6)),
			 0);
	assert_int_equal(getsockname(rx, (void *)&to, &len), 0);
	if (family == AF_INET6 && dst_family == AF_INET) {
		any.sin_port = ((struct sockaddr_in6 *)&to)->sin6_port;
		memcpy(&to, &any, sizeof(any));
		len = sizeof(any);
	}
	to_len = len;

	pool_setup();
	memset(&lane, 0, sizeof(lane));
	memset(&stats, 0, sizeof(stats));
	memset(&us, 0, sizeof(us));
	lane.stats = &lane_stats;
	sl_list_init(&lane.blocked);
	sl_list_init(&lane.reaped);
	sk->lane = &lane;
	sk->family = (uint8_t)family;
	sk->state = SL_STATE_OFFLOADED;
	sk->stats = &stats;
	sk->nonblock = true;
	sk->local_port = 1;
	sl_list_init(&sk->watches);
	us.udp = (struct sl_udp){.rcvbuf = 1 << 20, .stats = &stats, .on_data = no_news};
	assert_int_equal(sl_fdtab_init(), 0);
	ours = sk->fd = dup(rx);
	fcntl(ours, F_SETFL, O_NONBLOCK);
	assert_int_equal(sl_fdtab_set(ours, SL_FD_SOCK, sk), 0);
}

static void end(void)
{
	sl_udp_fini(&us.udp, &lane.frames);
	sl_fdtab_clear(ours);
	close(ours);
	close(rx);
	close(tx);
	assert_int_equal(pool_free(&lane.frames), POOL_FRAMES);
}

/* The option on the kernel's socket, and what stands for it on ours. */
static void on(int level, int name, int value, uint16_t want)
{
	assert_int_equal(setsockopt(rx, level, name, &value, sizeof(value)), 0);
	sk->want |= want;
}

static uint64_t hw_ns; /* the hardware's stamp of what comes for us; 0: none */

/* Sends a datagram with the given bytes to both sockets; ours gets it as from the device. */
static void send_both(const char *data, uint16_t len, uint8_t tos, uint8_t ttl)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	struct sl_udp_build b = {.tos = tos, .ttl = ttl};
	struct sl_in in = {.ifindex = LO, .cache = &lane.frames};
	bool v6 = to.ss_family == AF_INET6;
	int itos = tos, ittl = ttl;
	struct sl_rx_desc d;
	struct sl_udp_hdr h;
	uint32_t scope;

	setsockopt(tx, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, &itos, 4);
	setsockopt(tx, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL, &ittl, 4);
	assert_int_equal(sendto(tx, data, len, 0, (void *)&to, to_len), len);
	getsockname(tx, (void *)&from, &from_len);
	sl_addr_from_sockaddr((void *)&from, from_len, &b.src, &b.sport, &scope);
	sl_addr_from_sockaddr((void *)&to, to_len, &b.dst, &b.dport, &scope);
	d = packet(&lane.frames, &b, data, len, 0, 1);
	sl_build_udp_hdr(&h, &b);
	in.frame = d.frame;
	in.off = d.off;
	in.pkt = (struct sl_pkt){
		.data = sl_frame_ptr(d.frame) + d.off, .len = d.len, .l3 = h.l3, .l4 = h.l4};
	assert_int_equal(sl_parse_udp(&in.pkt, false), SL_PARSE_OK);
	if (hw_ns) {
		struct sl_meta_hw m = {.hw_ns = hw_ns};

		memcpy((uint8_t *)in.pkt.data - sizeof(m), &m, sizeof(m) - sizeof(m.sw.meta));
		in.stamp = SL_META_SW | SL_META_HW;
		in.stamp_ns = sl_now_ns();
	}
	assert_true(sl_udp_deliver(&us.udp, &in));
}

static void prepare(struct got *g, struct iovec *iov, size_t room, size_t ctl_room)
{
	memset(g, 0xee, sizeof(*g));
	*iov = (struct iovec){g->data, room};
	g->msg = (struct msghdr){.msg_name = &g->name,
				 .msg_namelen = sizeof(g->name),
				 .msg_iov = iov,
				 .msg_iovlen = 1,
				 .msg_control = ctl_room ? g->ctl : NULL,
				 .msg_controllen = ctl_room,
				 .msg_flags = 0x5a5a5a};
}

/* Time stamps differ, but not by much. */
static void same_stamps(struct msghdr *a, struct msghdr *b)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(a), *d = CMSG_FIRSTHDR(b); c && d;
	     c = CMSG_NXTHDR(a, c), d = CMSG_NXTHDR(b, d)) {
		int64_t x[6], y[6];

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type == SO_RXQ_OVFL ||
		    c->cmsg_len != d->cmsg_len || c->cmsg_len < CMSG_LEN(16))
			continue;
		memcpy(x, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
		memcpy(y, CMSG_DATA(d), c->cmsg_len - CMSG_LEN(0));
		assert_in_range(y[0] - x[0], 0, 5);
		if (c->cmsg_type == SO_TIMESTAMP)
			assert_in_range(y[1], 0, 999999);
		else
			assert_in_range(y[1], 0, 999999999);
		memcpy(CMSG_DATA(d), x, 16);
	}
}

static struct got kernel, mine;

static void receive_both(size_t room, size_t ctl_room, int flags)
{
	struct iovec i1, i2;

	prepare(&kernel, &i1, room, ctl_room);
	prepare(&mine, &i2, room, ctl_room);
	kernel.n = recvmsg(rx, &kernel.msg, flags | MSG_DONTWAIT);
	mine.n = sl_recvmsg(ours, &mine.msg, flags | MSG_DONTWAIT);
	assert_true(kernel.n >= 0);
	assert_int_equal(mine.n, kernel.n);
	assert_int_equal(mine.msg.msg_flags, kernel.msg.msg_flags);
	assert_int_equal(mine.msg.msg_namelen, kernel.msg.msg_namelen);
	assert_memory_equal(&mine.name, &kernel.name, sizeof(mine.name));
	assert_memory_equal(mine.data, kernel.data, sizeof(mine.data));
	assert_int_equal(mine.msg.msg_controllen, kernel.msg.msg_controllen);
	same_stamps(&kernel.msg, &mine.msg);
	/* Only what the lengths cover: the kernel leaves the padding as it was. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&kernel.msg), *d = CMSG_FIRSTHDR(&mine.msg); c;
	     c = CMSG_NXTHDR(&kernel.msg, c), d = CMSG_NXTHDR(&mine.msg, d)) {
		assert_non_null(d);
		assert_memory_equal(d, c, c->cmsg_len);
	}
	assert_memory_equal(mine.ctl + kernel.msg.msg_controllen,
			    kernel.ctl + kernel.msg.msg_controllen,
			    HUGE_CTL - kernel.msg.msg_controllen);
}

static void all_v4(void)
{
	on(IPPROTO_IP, IP_PKTINFO, 1, SL_WANT_PKTINFO);
	on(IPPROTO_IP, IP_RECVTTL, 1, SL_WANT_TTL);
	on(IPPROTO_IP, IP_RECVTOS, 1, SL_WANT_TOS);
	on(IPPROTO_IP, IP_RECVORIGDSTADDR, 1, SL_WANT_ORIGDST);
}

static void all_v6(void)
{
	on(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, SL_WANT_PKTINFO6);
	on(IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, SL_WANT_HOPLIMIT);
	on(IPPROTO_IPV6, IPV6_RECVTCLASS, 1, SL_WANT_TCLASS);
}

static void test_nothing_asked(void **state)
{
	begin(AF_INET, AF_INET);
	send_both("hello", 5, 0, 64);
	receive_both(100, HUGE_CTL, 0);
	send_both("hello", 5, 0, 64);
	receive_both(100, 0, 0);
	end();
}

static void test_v4_each_and_all(void **state)
{
	static const struct {
		int name;
		uint16_t want;
	} opt[] = {
		{IP_PKTINFO, SL_WANT_PKTINFO},
		{IP_RECVTTL, SL_WANT_TTL},
		{IP_RECVTOS, SL_WANT_TOS},
		{IP_RECVORIGDSTADDR, SL_WANT_ORIGDST},
	};

	for (unsigned i = 0; i < sl_array_len(opt); i++) {
		begin(AF_INET, AF_INET);
		on(IPPROTO_IP, opt[i].name, 1, opt[i].want);
		send_both("one", 3, 0x2c, 33);
		receive_both(100, HUGE_CTL, 0);
		end();
	}
	begin(AF_INET, AF_INET);
	all_v4();
	on(SOL_SOCKET, SO_TIMESTAMPNS, 1, SL_WANT_STAMP_NS);
	send_both("all", 3, 0x2c, 33);
	receive_both(100, HUGE_CTL, 0);
	assert_true(kernel.msg.msg_controllen > 100);
	end();
}

static void test_v6_each_and_all(void **state)
{
	static const struct {
		int name;
		uint16_t want;
	} opt[] = {
		{IPV6_RECVPKTINFO, SL_WANT_PKTINFO6},
		{IPV6_RECVHOPLIMIT, SL_WANT_HOPLIMIT},
		{IPV6_RECVTCLASS, SL_WANT_TCLASS},
	};

	for (unsigned i = 0; i < sl_array_len(opt); i++) {
		begin(AF_INET6, AF_INET6);
		on(IPPROTO_IPV6, opt[i].name, 1, opt[i].want);
		send_both("one", 3, 0x2c, 33);
		receive_both(100, HUGE_CTL, 0);
		end();
	}
	begin(AF_INET6, AF_INET6);
	all_v6();
	on(SOL_SOCKET, SO_TIMESTAMP, 1, SL_WANT_STAMP_US);
	send_both("all", 3, 0x2c, 33);
	receive_both(100, HUGE_CTL, 0);
	end();
}

/* An IPv4 datagram on an IPv6 socket: options of both families apply. */
static void test_v4_on_a_v6_socket(void **state)
{
	begin(AF_INET6, AF_INET);
	all_v6();
	all_v4();
	send_both("mapped", 6, 0x2c, 33);
	receive_both(100, HUGE_CTL, 0);
	end();
}

static void test_stamps(void **state)
{
	int stamping = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;

	begin(AF_INET, AF_INET);
	on(SOL_SOCKET, SO_TIMESTAMP, 1, SL_WANT_STAMP_US);
	send_both("us", 2, 0, 64);
	receive_both(100, HUGE_CTL, 0);
	end();
	begin(AF_INET, AF_INET);
	on(SOL_SOCKET, SO_TIMESTAMPNS, 1, SL_WANT_STAMP_NS);
	on(SOL_SOCKET, SO_TIMESTAMPING, stamping, SL_WANT_STAMPING);
	send_both("both", 4, 0, 64);
	receive_both(100, HUGE_CTL, 0);
	end();
}

/* With a device that has no hardware stamps the kernel tells none, or only its own. */
static void test_no_hardware_stamp(void **state)
{
	int hw = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	int both = hw | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;

	begin(AF_INET, AF_INET);
	on(SOL_SOCKET, SO_TIMESTAMPING, hw, SL_WANT_HW_STAMP);
	send_both("hw", 2, 0, 64);
	receive_both(100, HUGE_CTL, 0);
	assert_int_equal(mine.msg.msg_controllen, 0);
	on(SOL_SOCKET, SO_TIMESTAMPING, both, SL_WANT_STAMPING);
	send_both("both", 4, 0, 64);
	receive_both(100, HUGE_CTL, 0);
	end();
}

/* A hardware stamp is in ts[2] of SO_TIMESTAMPING, as the kernel has it
 * (networking/timestamping.rst); no other option tells it. */
static void hw_stamp(uint16_t want, bool soft, bool hard)
{
	struct cmsghdr *c;
	struct iovec iov;
	int64_t ts[6];

	begin(AF_INET, AF_INET);
	sk->want = want;
	hw_ns = 1700000000123456789;
	send_both("hw", 2, 0, 64);
	hw_ns = 0;
	prepare(&mine, &iov, 100, HUGE_CTL);
	assert_int_equal(sl_recvmsg(ours, &mine.msg, MSG_DONTWAIT), 2);
	c = CMSG_FIRSTHDR(&mine.msg);
	if (want & SL_WANT_STAMP_NS) {
		assert_int_equal(c->cmsg_type, SO_TIMESTAMPNS);
		memcpy(ts, CMSG_DATA(c), 16);
		assert_in_range(time(NULL) - ts[0], 0, 5);
		c = CMSG_NXTHDR(&mine.msg, c);
	}
	if (soft || hard) {
		assert_non_null(c);
		assert_int_equal(c->cmsg_type, SO_TIMESTAMPING);
		assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(ts)));
		memcpy(ts, CMSG_DATA(c), sizeof(ts));
		assert_int_equal(ts[0] != 0, soft);
		assert_true(ts[2] == 0 && ts[3] == 0);
		assert_int_equal(ts[4], hard ? 1700000000 : 0);
		assert_int_equal(ts[5], hard ? 123456789 : 0);
		c = CMSG_NXTHDR(&mine.msg, c);
	}
	assert_null(c);
	end();
}

static void test_hardware_stamps(void **state)
{
	sl_settings.hw_ts_conversion = SL_HW_TS_PTP; /* as the driver says */
	hw_stamp(SL_WANT_HW_STAMP, false, true);
	hw_stamp(SL_WANT_STAMPING, true, false);
	hw_stamp(SL_WANT_HW_STAMP | SL_WANT_STAMPING, true, true);
	hw_stamp(SL_WANT_HW_STAMP | SL_WANT_STAMP_NS, false, true);
	hw_stamp(SL_WANT_STAMP_NS, false, false);
	/* Never the time of another clock than was asked for: here is no PHC to convert by. */
	sl_settings.hw_ts_conversion = SL_HW_TS_SYSTEM;
	hw_stamp(SL_WANT_HW_STAMP | SL_WANT_STAMPING, true, false);
	sl_settings.hw_ts_conversion = SL_HW_TS_BEST;
	hw_stamp(SL_WANT_HW_STAMP | SL_WANT_STAMPING, true, true);
	sl_settings.hw_ts_conversion = SL_HW_TS_OFF;
	hw_stamp(SL_WANT_HW_STAMP | SL_WANT_STAMPING, true, false);
}

/* The stamps of a stream: tcp_recv_timestamp(). */
static void test_hardware_stamps_of_a_stream(void **state)
{
	struct sl_udp_sock other = {.sk = {.want = SL_WANT_HW_STAMP}};
	struct cmsghdr *c;
	struct iovec iov;
	int64_t ts[6];

	prepare(&mine, &iov, 100, HUGE_CTL);
	sl_cmsg_put_stream(&other.sk, sl_now_ns(), 0, NULL, &mine.msg);
	assert_int_equal(mine.msg.msg_controllen, 0);
	prepare(&mine, &iov, 100, HUGE_CTL);
	sl_cmsg_put_stream(&other.sk, sl_now_ns(), 5000000001, NULL, &mine.msg);
	c = CMSG_FIRSTHDR(&mine.msg);
	assert_non_null(c);
	assert_int_equal(c->cmsg_type, SO_TIMESTAMPING);
	memcpy(ts, CMSG_DATA(c), sizeof(ts));
	assert_true(!ts[0] && !ts[1] && !ts[2] && !ts[3]);
	assert_int_equal(ts[4], 5);
	assert_int_equal(ts[5], 1);
}

static void test_every_size_of_the_control_buffer(void **state)
{
	for (size_t room = 0; room < 160; room++) {
		begin(AF_INET, AF_INET);
		all_v4();
		send_both("x", 1, 0x2c, 33);
		receive_both(100, room, 0);
		end();
	}
	for (size_t room = 0; room < 120; room++) {
		begin(AF_INET6, AF_INET6);
		all_v6();
		send_both("x", 1, 0x2c, 33);
		receive_both(100, room, 0);
		end();
	}
}

static void test_cut_and_peeked(void **state)
{
	begin(AF_INET, AF_INET);
	all_v4();
	send_both("a long datagram", 15, 0, 64);
	receive_both(6, HUGE_CTL, MSG_PEEK);
	receive_both(6, HUGE_CTL, MSG_PEEK | MSG_TRUNC);
	receive_both(6, HUGE_CTL, MSG_TRUNC);
	send_both("a long datagram", 15, 0, 64);
	receive_both(6, HUGE_CTL, MSG_CMSG_CLOEXEC);
	send_both("", 0, 0, 64);
	receive_both(6, HUGE_CTL, 0);
	end();
}

/* The kernel over lo coalesces what one UDP_SEGMENT send carried. */
static void test_coalesced(void **state)
{
	static char data[5 * 100 + 30];
	int gso = 100;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	begin(AF_INET, AF_INET);
	all_v4();
	on(SOL_UDP, UDP_GRO, 1, SL_WANT_GRO);
	send_both(data, 100, 0x2c, 33);
	for (int i = 1; i < 6; i++)
		send_both(data + 100 * i, i < 5 ? 100 : 30, 0x2c, 33);
	while (recv(rx, kernel.data, sizeof(kernel.data), MSG_DONTWAIT) >= 0)
		; /* these came one by one */
	assert_int_equal(setsockopt(tx, SOL_UDP, UDP_SEGMENT, &gso, sizeof(gso)), 0);
	assert_int_equal(sendto(tx, data, sizeof(data), 0, (void *)&to, to_len), sizeof(data));
	receive_both(65536, HUGE_CTL, 0);
	assert_int_equal(kernel.n, sizeof(data));
	end();
}

/* An empty datagram is one, whatever is coalesced around it. */
static void test_empty_datagrams_are_not_coalesced(void **state)
{
	begin(AF_INET, AF_INET);
	on(SOL_UDP, UDP_GRO, 1, SL_WANT_GRO);
	send_both("ab", 2, 0, 64);
	send_both("", 0, 0, 64);
	send_both("", 0, 0, 64);
	for (int i = 0; i < 3; i++)
		receive_both(100, HUGE_CTL, 0);
	end();
}

static void test_overflow_count(void **state)
{
	struct got *g = &mine;
	struct iovec iov;
	struct cmsghdr *c;
	uint32_t n;

	begin(AF_INET, AF_INET);
	sk->want |= SL_WANT_OVFL;
	send_both("x", 1, 0, 64);
	prepare(g, &iov, 100, HUGE_CTL);
	assert_int_equal(sl_recvmsg(ours, &g->msg, 0), 1);
	assert_null(CMSG_FIRSTHDR(&g->msg)); /* nothing was dropped */
	send_both("x", 1, 0, 64);
	us.udp.drops = 7;
	prepare(g, &iov, 100, HUGE_CTL);
	assert_int_equal(sl_recvmsg(ours, &g->msg, 0), 1);
	c = CMSG_FIRSTHDR(&g->msg);
	assert_non_null(c);
	assert_int_equal(c->cmsg_type, SO_RXQ_OVFL);
	memcpy(&n, CMSG_DATA(c), 4);
	assert_int_equal(n, 7);
	end();
}

/* The kernel begins to stamp what arrives a moment after the first socket has asked for it
 * (net/core/dev.c, netstamp_work), and not sooner on a busy machine. So one socket asks for as long
 * as the program runs, and nothing is compared before that one has been given a stamp. */
static int wait_for_stamps(void)
{
	int on = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	uint64_t until = sl_now_ns() + 10000000000ull;

	if (bind(fd, (void *)&a, len) < 0 || getsockname(fd, (void *)&a, &len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof(on)) < 0)
		return -1;
	while (sl_now_ns() < until) {
		char c, room[HUGE_CTL];
		struct iovec iov = {&c, 1};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = room,
				   .msg_controllen = sizeof(room)};

		if (sendto(fd, "", 1, 0, (void *)&a, sizeof(a)) != 1 || recvmsg(fd, &m, 0) != 1)
			return -1;
		if (CMSG_FIRSTHDR(&m))
			return 0;
		usleep(1000);
	}
	return -1;
}

static int setup(void **state)
{
	sl_clock_init();
	return wait_for_stamps();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_asked),
		cmocka_unit_test(test_v4_each_and_all),
		cmocka_unit_test(test_v6_each_and_all),
		cmocka_unit_test(test_v4_on_a_v6_socket),
		cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_no_hardware_stamp),
		cmocka_unit_test(test_hardware_stamps),
		cmocka_unit_test(test_hardware_stamps_of_a_stream),
		cmocka_unit_test(test_every_size_of_the_control_buffer),
		cmocka_unit_test(test_cut_and_peeked),
		cmocka_unit_test(test_coalesced),
		cmocka_unit_test(test_empty_datagrams_are_not_coalesced),
		cmocka_unit_test(test_overflow_count),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
