/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of others on a port are found: real sockets in a namespace of the test's own. */
#include <arpa/inet.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/kern/diag.h"

#define PORT 7007

typedef int (*ask_fn)(const struct sl_diag_claim *, sl_diag_is_ours, void *, uint32_t *);

static struct sl_addr addr(const char *text)
{
	uint8_t b[16];

	if (inet_pton(AF_INET, text, b) == 1)
		return sl_addr_v4(*(uint32_t *)b);
	assert_int_equal(inet_pton(AF_INET6, text, b), 1);
	return sl_addr_v6(b);
}

/* A UDP socket bound to the address; v6only matters for IPv6. */
static int udp(const char *text, uint16_t port, bool v6only)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int one = 1, only = v6only, v4 = inet_pton(AF_INET, text, &a4.sin_addr) == 1;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_return_code(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	if (v4) {
		assert_return_code(bind(fd, (void *)&a4, sizeof(a4)), 0);
		return fd;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &a6.sin6_addr), 1);
	assert_return_code(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)), 0);
	assert_return_code(bind(fd, (void *)&a6, sizeof(a6)), 0);
	return fd;
}

static uint32_t inode_of(int fd)
{
	struct stat st;

	assert_return_code(fstat(fd, &st), 0);
	return (uint32_t)st.st_ino;
}

static bool is_inode(uint32_t inode, void *arg)
{
	return inode == *(uint32_t *)arg;
}

static int ask(ask_fn fn, const char *local, bool dual, uint32_t ours, uint32_t *found)
{
	struct sl_diag_claim claim = {.local = addr(local), .port = PORT, .dual = dual};

	return fn(&claim, is_inode, &ours, found);
}

/* With one socket of another bound to `other`: is a claim on `local` shared? */
struct overlap_case {
	const char *local, *other;
	bool dual, v6only;
	int want, want_proc; /* /proc/net does not say IPV6_V6ONLY */
};
static const struct overlap_case cases[] = {
	{"127.0.0.1", "127.0.0.1", false, false, 1, 1},
	{"127.0.0.1", "127.0.0.2", false, false, 0, 0},
	{"0.0.0.0", "127.0.0.2", false, false, 1, 1},
	{"127.0.0.1", "0.0.0.0", false, false, 1, 1},
	{"239.1.1.1", "0.0.0.0", false, false, 1, 1},
	{"239.1.1.1", "239.1.1.1", false, false, 1, 1},
	{"239.1.1.1", "239.1.1.2", false, false, 0, 0},
	{"127.0.0.1", "::", false, false, 1, 1},
	{"127.0.0.1", "::", false, true, 0, 1},
	{"127.0.0.1", "::ffff:127.0.0.1", false, false, 1, 1},
	{"127.0.0.1", "::1", false, false, 0, 0},
	{"::", "127.0.0.1", true, false, 1, 1},
	{"::", "127.0.0.1", false, false, 0, 0},
	{"::", "::1", false, false, 1, 1},
	{"::1", "::", false, true, 1, 1},
	{"::1", "::1", false, false, 1, 1},
	{"::1", "0.0.0.0", false, false, 0, 0},
	{"0.0.0.0", "::", false, true, 0, 1},
	{"0.0.0.0", "::", false, false, 1, 1},
};

static void overlaps_as_the_kernel_delivers(ask_fn fn, bool proc)
{
	for (unsigned i = 0; i < sl_array_len(cases); i++) {
		const struct overlap_case *c = &cases[i];
		int fd = udp(c->other, PORT, c->v6only);
		int want = proc ? c->want_proc : c->want;
		uint32_t found = 0;

		print_message("claim %s%s, other %s%s\n", c->local, c->dual ? " (dual)" : "",
			      c->other, c->v6only ? " (v6only)" : "");
		assert_int_equal(ask(fn, c->local, c->dual, 0, &found), want);
		if (want)
			assert_int_equal(found, inode_of(fd));
		assert_int_equal(ask(fn, c->local, c->dual, inode_of(fd), &found), 0);
		close(fd);
	}
}

static void test_netlink(void **state)
{
	(void)state;
	overlaps_as_the_kernel_delivers(sl_diag_netlink, false);
}

static void test_proc(void **state)
{
	(void)state;
	overlaps_as_the_kernel_delivers(sl_diag_proc, true);
}

static void test_other_ports_do_not_matter(void **state)
{
	int fd = udp("0.0.0.0", PORT + 1, false);

	(void)state;
	assert_int_equal(ask(sl_diag_shared, "0.0.0.0", false, 0, NULL), 0);
	assert_int_equal(ask(sl_diag_proc, "0.0.0.0", false, 0, NULL), 0);
	close(fd);
}

/* Ours and another's among many: the file is longer than one read, the dump than one message. */
static void test_one_among_many(void **state)
{
	static int fds[600];
	ask_fn ways[] = {sl_diag_netlink, sl_diag_proc, sl_diag_shared};
	uint32_t found = 0;

	(void)state;
	for (unsigned i = 0; i < 600; i++)
		fds[i] = udp("127.0.0.1", i == 300 || i == 599 ? PORT : (uint16_t)(20000 + i),
			     false);
	for (unsigned w = 0; w < sl_array_len(ways); w++) {
		assert_int_equal(ask(ways[w], "0.0.0.0", false, inode_of(fds[300]), &found), 1);
		assert_int_equal(found, inode_of(fds[599]));
	}
	for (unsigned i = 0; i < 600; i++)
		close(fds[i]);
}

static void test_bound_devices(void **state)
{
	struct sl_diag_claim claim = {.local = addr("0.0.0.0"), .port = PORT};
	uint32_t none = 0;
	int fd = udp("0.0.0.0", PORT, false);

	(void)state;
	assert_return_code(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2), 0);
	claim.ifindex = 1;
	assert_int_equal(sl_diag_netlink(&claim, is_inode, &none, NULL), 1);
	claim.ifindex = 99;
	assert_int_equal(sl_diag_netlink(&claim, is_inode, &none, NULL), 0);
	claim.ifindex = 0;
	assert_int_equal(sl_diag_netlink(&claim, is_inode, &none, NULL), 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_netlink),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_other_ports_do_not_matter),
		cmocka_unit_test(test_one_among_many),
		cmocka_unit_test(test_bound_devices),
	};

	if (unshare(CLONE_NEWNET)) {
		puts("skipped: needs the right to make a network namespace");
		return 77;
	}
	if (system("ip link set lo up") != 0) {
		puts("skipped: ip(8) does not work here");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
