/* SPDX-License-Identifier: BSD-2-Clause */
/* Ancillary data of what is sent: what is taken from it, and what is left to the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/udp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compat.h"
#include "sock/core/cmsg.h"
#include "sock/core/sock.h"
#include "sock/core/udp_sock.h"

#ifndef SOL_UDP
#define SOL_UDP 17
#endif

static union {
	char buf[256];
	struct cmsghdr align;
} ctl;

static size_t put(size_t at, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)(ctl.buf + at);

	*c = (struct cmsghdr){CMSG_LEN(len), level, type};
	memcpy(CMSG_DATA(c), data, len);
	return at + CMSG_SPACE(len);
}

static bool get(int family, size_t len, struct sl_tx_ctl *out)
{
	struct msghdr msg = {.msg_control = ctl.buf, .msg_controllen = len};
	struct sl_udp_sock us = {.sk = {.family = (uint8_t)family}};

	*out = (struct sl_tx_ctl){.tos = -1, .ttl = -1};
	return sl_cmsg_get(&us.sk, &msg, out);
}

static void test_sent_v4(void **state)
{
	struct in_pktinfo pi = {.ipi_ifindex = 5, .ipi_spec_dst.s_addr = htonl(0x0a000001)};
	int ttl = 9, tos = 0x2c, bad = 256, zero = 0;
	uint16_t gso = 1000;
	struct sl_tx_ctl t;
	size_t n;

	n = put(0, IPPROTO_IP, IP_PKTINFO, &pi, sizeof(pi));
	n = put(n, IPPROTO_IP, IP_TTL, &ttl, 4);
	n = put(n, IPPROTO_IP, IP_TOS, &tos, 4);
	n = put(n, SOL_UDP, UDP_SEGMENT, &gso, 2);
	assert_true(get(AF_INET, n, &t));
	assert_int_equal(t.oif, 5);
	assert_int_equal(t.src.w[3], htonl(0x0a000001));
	assert_int_equal(t.ttl, 9);
	assert_int_equal(t.tos, 0x2c);
	assert_int_equal(t.gso, 1000);
	assert_true(t.special);
	assert_true(get(AF_INET, put(0, IPPROTO_IP, IP_TOS, &tos, 1), &t));
	assert_int_equal(t.tos, 0x2c);
	/* A control message that the kernel refuses, or that we do not know, is left to the kernel.
	 */
	assert_false(get(AF_INET, put(0, IPPROTO_IP, IP_TTL, &zero, 4), &t));
	assert_false(get(AF_INET, put(0, IPPROTO_IP, IP_TTL, &bad, 4), &t));
	assert_false(get(AF_INET, put(0, IPPROTO_IP, IP_TTL, &ttl, 1), &t));
	assert_false(get(AF_INET, put(0, IPPROTO_IP, IP_PKTINFO, &pi, 4), &t));
	assert_false(get(AF_INET, put(0, SOL_SOCKET, SO_MARK, &ttl, 4), &t));
	assert_false(get(AF_INET, put(0, IPPROTO_IPV6, IPV6_HOPLIMIT, &ttl, 4), &t));
}

static void test_sent_v6(void **state)
{
	struct in6_pktinfo pi = {.ipi6_ifindex = 6, .ipi6_addr = in6addr_loopback};
	int hops = 9, tc = 0x2c, none = -1, bad = -2;
	struct sl_tx_ctl t;
	size_t n;

	n = put(0, IPPROTO_IPV6, IPV6_PKTINFO, &pi, sizeof(pi));
	n = put(n, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, 4);
	n = put(n, IPPROTO_IPV6, IPV6_TCLASS, &tc, 4);
	assert_true(get(AF_INET6, n, &t));
	assert_int_equal(t.oif, 6);
	assert_true(sl_addr_is_loopback(&t.src));
	assert_int_equal(t.ttl, 9);
	assert_int_equal(t.tos, 0x2c);
	assert_true(get(AF_INET6, put(0, IPPROTO_IPV6, IPV6_HOPLIMIT, &none, 4), &t));
	assert_int_equal(t.ttl, -1);
	assert_false(get(AF_INET6, put(0, IPPROTO_IPV6, IPV6_HOPLIMIT, &bad, 4), &t));
	assert_false(get(AF_INET6, put(0, IPPROTO_IPV6, IPV6_PKTINFO, &pi, 16), &t));
}

static void test_sent_malformed(void **state)
{
	struct cmsghdr *c = (struct cmsghdr *)ctl.buf;
	struct sl_tx_ctl t;
	int ttl = 9;

	for (size_t len = 0; len < 2 * CMSG_LEN(4); len++) {
		put(0, IPPROTO_IP, IP_TTL, &ttl, 4);
		c->cmsg_len = len;
		if (get(AF_INET, CMSG_SPACE(4), &t))
			assert_int_equal(len, CMSG_LEN(4));
	}
	put(0, IPPROTO_IP, IP_TTL, &ttl, 4);
	c->cmsg_len = SIZE_MAX;
	assert_false(get(AF_INET, CMSG_SPACE(4), &t));
	c->cmsg_len = CMSG_LEN(4);
	assert_false(get(AF_INET, CMSG_LEN(4) - 1, &t));
	assert_true(get(AF_INET, 0, &t));
	assert_true(
		get(AF_INET, sizeof(*c) - 1, &t)); /* too short to be one: the kernel ignores it */
}

/* The kernel says which priority each type of service has. */
static void test_priority_of_tos(void **state)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	for (int tos = 0; tos < 256; tos++) {
		int prio = -1;
		socklen_t len = sizeof(prio);
		struct sl_tx_ctl t;

		assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &prio, &len), 0);
		assert_int_equal(sl_tos_prio((uint8_t)tos), prio);
		assert_true(get(AF_INET, put(0, IPPROTO_IP, IP_TOS, &tos, 4), &t));
		assert_true(t.has_prio);
		assert_int_equal(t.prio, prio);
	}
	close(fd);
}

static bool get_priority(int fd, int prio, size_t len, struct sl_tx_ctl *out)
{
	struct msghdr msg = {.msg_control = ctl.buf,
			     .msg_controllen = put(0, SOL_SOCKET, SO_PRIORITY, &prio, len)};
	struct sl_udp_sock us = {.sk = {.family = AF_INET6, .fd = fd}};

	*out = (struct sl_tx_ctl){.tos = -1, .ttl = -1};
	return sl_cmsg_get(&us.sk, &msg, out);
}

/* Only where the kernel takes it; what needs a capability is the kernel's to judge. */
static void test_priority_of_one_message(void **state)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), v;
	socklen_t len = sizeof(v);
	bool takes;
	struct sl_tx_ctl t;

	assert_true(fd >= 0);
	takes = getsockopt(fd, SOL_SOCKET, SO_RCVPRIORITY, &v, &len) == 0;
	for (int prio = 0; prio <= 6; prio++) {
		assert_int_equal(get_priority(fd, prio, 4, &t), takes);
		if (takes) {
			assert_true(t.special && t.has_prio);
			assert_int_equal(t.prio, prio);
			assert_int_equal(t.tos, -1);
		}
	}
	assert_false(get_priority(fd, 7, 4, &t));
	assert_false(get_priority(fd, -1, 4, &t));
	assert_false(get_priority(fd, 1, 2, &t));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent_v4),
		cmocka_unit_test(test_sent_v6),
		cmocka_unit_test(test_sent_malformed),
		cmocka_unit_test(test_priority_of_tos),
		cmocka_unit_test(test_priority_of_one_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
