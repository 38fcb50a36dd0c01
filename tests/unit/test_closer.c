/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that close descriptors: the caller never waits, and one owner's descriptors that are slow
 * to close hold up no other owner's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/closer.h"
#include "base/clock.h"

#define MS 1000000ull

enum { SLOW = 1, FAST, OTHER };

static uint64_t began_ns;

static unsigned took_ms(void)
{
	return (unsigned)((sl_now_ns() - began_ns) / MS);
}

static void pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
}

/* A connection by loopback whose close waits a minute: its peer reads nothing, and much is unsent.
 * *peer: the other end. */
static int lingering(int *peer)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger l = {1, 60};
	socklen_t len = sizeof(a);
	static char much[65536];
	int to = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(to, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(to, 1), 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	*peer = accept(to, NULL, NULL);
	assert_true(*peer >= 0);
	while (send(fd, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(to);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Does what the owner's loop does, until nothing of that owner is open. */
static void look_until_closed(uint32_t owner, unsigned ms)
{
	uint64_t end = sl_now_ns() + ms * MS;

	while (sl_closer_pending(owner) && sl_now_ns() < end) {
		usleep(SL_CLOSER_LOOK_MS * 1000);
		(void)sl_closer_look();
		sl_closer_go();
	}
	assert_int_equal(sl_closer_pending(owner), 0);
}

static void test_without_threads(void **state)
{
	int fd[2];

	pair(fd);
	sl_closer_add(-1, FAST, false);
	sl_closer_add(fd[1], FAST, false);
	assert_false(is_open(fd[1]));
	assert_int_equal(sl_closer_pending(FAST), 0);
	close(fd[0]);
}

static void test_closes(void **state)
{
	int fd[2];
	char c;

	pair(fd);
	sl_closer_add(fd[1], FAST, false);
	assert_int_equal(sl_closer_pending(FAST), 1);
	assert_int_equal(sl_closer_pending(OTHER), 0);
	assert_true(sl_closer_wait(FAST, 5000));
	assert_int_equal(sl_closer_pending(FAST), 0);
	assert_false(is_open(fd[1]));
	assert_int_equal(recv(fd[0], &c, 1, 0), 0);
	close(fd[0]);
}

/* The peer of a connection that is nobody else's reads its end, not a reset. */
static void test_alone_is_drained(void **state)
{
	for (int alone = 0; alone < 2; alone++) {
		int fd[2];
		char c;

		pair(fd);
		assert_int_equal(send(fd[0], "unread", 6, 0), 6);
		assert_int_equal(send(fd[0], "unread", 6, 0), 6);
		sl_closer_add(fd[1], FAST, alone);
		assert_true(sl_closer_wait(FAST, 5000));
		assert_int_equal(recv(fd[0], &c, 1, 0), alone ? 0 : -1);
		if (!alone)
			assert_int_equal(errno, ECONNRESET);
		close(fd[0]);
	}
}

/* The owner is not waited for, and after a look the wait for the peer ends. */
static void test_slow_is_interrupted(void **state)
{
	int peer;

	began_ns = sl_now_ns();
	sl_closer_add(lingering(&peer), SLOW, false);
	assert_false(sl_closer_wait(SLOW, 200));
	assert_int_equal(sl_closer_pending(SLOW), 1);
	assert_true(sl_closer_look());
	look_until_closed(SLOW, 10000);
	assert_true(took_ms() < 30000);
	close(peer);
}

/* Many of one owner's, all slow: another owner's is closed long before them. */
static void test_others_find_a_thread(void **state)
{
	enum { N = 12 };
	int peer[N], fd[2];

	for (int i = 0; i < N; i++)
		sl_closer_add(lingering(&peer[i]), SLOW, false);
	sl_closer_go();
	pair(fd);
	sl_closer_add(fd[1], FAST, false);
	began_ns = sl_now_ns();
	look_until_closed(FAST, 20000);
	assert_false(is_open(fd[1]));
	look_until_closed(SLOW, 30000);
	for (int i = 0; i < N; i++)
		close(peer[i]);
	close(fd[0]);
	assert_false(sl_closer_look());
}

/* More owners than entries: each descriptor is counted, and closed. */
static void test_many_owners(void **state)
{
	enum { N = 200 };
	int fd[N][2];

	for (uint32_t i = 0; i < N; i++) {
		pair(fd[i]);
		sl_closer_add(fd[i][1], 1000 + i, false);
	}
	for (uint32_t i = 0; i < N; i++) {
		look_until_closed(1000 + i, 10000);
		assert_false(is_open(fd[i][1]));
		close(fd[i][0]);
	}
	assert_false(sl_closer_look());
}

/* An owner that finds no free entry is known to have something open when one is free again. */
static void test_owner_without_entry(void **state)
{
	enum { N = 64 };
	int fd[N][2], peer;

	for (uint32_t i = 0; i < N; i++) {
		pair(fd[i]);
		sl_closer_add(fd[i][1], 1000 + i, false);
	}
	sl_closer_add(lingering(&peer), SLOW, false);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(sl_closer_wait(1000 + i, 5000));
		close(fd[i][0]);
	}
	assert_int_equal(sl_closer_pending(SLOW), 1);
	assert_int_equal(sl_closer_pending(OTHER), 0);
	assert_false(sl_closer_wait(SLOW, 50));
	pair(fd[0]);
	sl_closer_add(fd[0][1], SLOW, false); /* this one has an entry */
	assert_int_equal(sl_closer_pending(SLOW), 2);
	look_until_closed(SLOW, 10000);
	close(fd[0][0]);
	close(peer);
}

static void test_start(void **state)
{
	assert_int_equal(sl_closer_start(), 0);
	assert_int_equal(sl_closer_start(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_threads), /* before test_start */
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_closes),
		cmocka_unit_test(test_alone_is_drained),
		cmocka_unit_test(test_slow_is_interrupted),
		cmocka_unit_test(test_others_find_a_thread),
		cmocka_unit_test(test_many_owners),
		cmocka_unit_test(test_owner_without_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
