/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that accept(2) may return of a box that others fill: one case for each check, which
 * that check alone refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sock/core/life.h"
#include "sock/listen/box.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct sl_sock *lsn;
static struct sockaddr_in own;

static int bound(int proto, const char *addr, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, proto), one = 1;

	if (fd < 0)
		return fd;
	inet_pton(AF_INET, addr, &a.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
	return fd;
}

/* Accepts a connection that comes to the listener. */
static int accepted(int listener)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int from = socket(AF_INET, SOCK_STREAM, 0), fd;

	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (void *)&a, &len), 0);
	assert_int_equal(connect(from, (void *)&a, sizeof(a)), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	return fd; /* (the other end stays open) */
}

static uint16_t own_port(void)
{
	return ntohs(own.sin_port);
}

static int set_up(void **state)
{
	socklen_t len = sizeof(own);

	if (sl_sock_table_init())
		return -1;
	lsn = sl_sock_alloc(IPPROTO_TCP);
	lsn->fd = bound(0, "127.0.0.2", 0);
	lsn->nfds = 1;
	lsn->state = SL_STATE_KERNEL;
	return listen(lsn->fd, 4) || getsockname(lsn->fd, (void *)&own, &len) ? -1 : 0;
}

static void test_its_own(void **state)
{
	assert_true(sl_tbox_is_connection(lsn, accepted(lsn->fd)));
}

static void test_another_protocol(void **state)
{
	int to = bound(IPPROTO_MPTCP, "127.0.0.4", 0), fd;
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	if (to < 0)
		skip();
	listen(to, 1);
	assert_int_equal(getsockname(to, (void *)&a, &len), 0);
	fd = bound(IPPROTO_MPTCP, "127.0.0.2", own_port());
	assert_int_equal(connect(fd, (void *)&a, sizeof(a)), 0);
	assert_false(sl_tbox_is_connection(lsn, fd));
}

static void test_another_network(void **state)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (unshare(CLONE_NEWNET))
		skip();
	fd = bound(0, "127.0.0.2", own_port());
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	fd = accepted(fd);
	assert_int_equal(setns(here, CLONE_NEWNET), 0);
	assert_false(sl_tbox_is_connection(lsn, fd));
}

static void test_not_connected(void **state)
{
	int fd = bound(0, "127.0.0.2", own_port());

	assert_false(sl_tbox_is_connection(lsn, fd)); /* closed */
	listen(fd, 1);
	assert_false(sl_tbox_is_connection(lsn, fd));
	close(fd);
}

/* accept(2) returns what was reset while it waited. */
static void test_reset_meanwhile(void **state)
{
	const struct linger now = {.l_onoff = 1};
	int from = socket(AF_INET, SOCK_STREAM, 0), fd;

	assert_int_equal(connect(from, (void *)&own, sizeof(own)), 0);
	fd = accept(lsn->fd, NULL, NULL);
	assert_true(fd >= 0);
	setsockopt(from, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(from);
	assert_true(sl_tbox_is_connection(lsn, fd));
}

static void test_another_port(void **state)
{
	assert_false(sl_tbox_is_connection(lsn, accepted(bound(0, "127.0.0.2", 0))));
}

static void test_another_address(void **state)
{
	assert_false(sl_tbox_is_connection(lsn, accepted(bound(0, "127.0.0.3", own_port()))));
}

static void test_known_already(void **state)
{
	struct sl_sock *sk = sl_sock_alloc(IPPROTO_TCP);
	struct stat st;

	sk->fd = accepted(lsn->fd);
	sk->nfds = 1;
	sk->state = SL_STATE_KERNEL;
	assert_int_equal(fstat(sk->fd, &st), 0);
	sk->inode = (uint32_t)st.st_ino;
	assert_false(sl_tbox_is_connection(lsn, dup(sk->fd)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_own),         cmocka_unit_test(test_another_protocol),
		cmocka_unit_test(test_another_network), cmocka_unit_test(test_not_connected),
		cmocka_unit_test(test_reset_meanwhile), cmocka_unit_test(test_another_port),
		cmocka_unit_test(test_another_address), cmocka_unit_test(test_known_already),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
