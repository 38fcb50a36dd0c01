/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters of children: one case for each thing that makes a letter incredible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sock/core/life.h"
#include "sock/core/mail.h"
#include "sock/core/sock.h"

static struct sl_sock *sk;
static struct sl_letter good;
static unsigned followed, answered;

static void on_follow(struct sl_sock *s, enum sl_letter_use use)
{
	followed += s == sk;
}

static void on_send(struct sl_sock *s, int to)
{
	answered += s == sk;
}

static int file_of(const struct sl_sock *s)
{
	return s->fd;
}

static int set_up(void **state)
{
	static const struct sl_mail_ops ops = {
		.follow = on_follow,
		.send = on_send,
		.file_of_children = file_of,
	};
	socklen_t len = sizeof(good.cookie);

	if (sl_sock_table_init())
		return -1;
	sl_mail_set_ops(&ops);
	sk = sl_sock_alloc(IPPROTO_TCP);
	sk->fd = socket(AF_INET, SOCK_STREAM, 0);
	sk->nfds = 1;
	sk->state = SL_STATE_KERNEL;
	sk->gen = 5;
	sl_forks = 2;
	sk->forks = 1;
	good = (struct sl_letter){.magic = SL_LETTER_MAGIC,
				  .use = SL_USE_ANY,
				  .sock = sl_sock_ref(sk),
				  .gen = sk->gen,
				  .ticket = 1};
	return getsockopt(sk->fd, SOL_SOCKET, SO_COOKIE, &good.cookie, &len);
}

/* Followed and answered: 0, 1, or 2 for both. */
static unsigned follow(const struct sl_letter *l, long bytes, int end)
{
	followed = answered = 0;
	assert_false(sl_mail_on_letter(l, bytes, end, 0));
	return followed + answered;
}

static void test_credible(void **state)
{
	int end[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end), 0);
	assert_int_equal(follow(&good, sizeof(good), -1), 1);
	assert_int_equal(follow(&good, sizeof(good), end[1]), 2);
}

static void test_fields(void **state)
{
	struct sl_letter l;

#define WITH(field, value) (l = good, l.field = (value), follow(&l, sizeof(l), -1))
	assert_int_equal(WITH(magic, 1), 0);
	assert_int_equal(WITH(use, SL_USE_END), 0);
	assert_int_equal(WITH(sock, good.sock + 1), 0);
	assert_int_equal(WITH(gen, good.gen + 1), 0);
	assert_int_equal(WITH(cookie, good.cookie + 1), 0);
	assert_int_equal(WITH(cookie, 0), 0);
#undef WITH
	assert_int_equal(follow(&good, sizeof(good) - 1, -1), 0);
	assert_int_equal(follow(&good, sizeof(good) + 1, -1), 0);
}

static void test_socket_is_younger(void **state)
{
	sk->forks = sl_forks;
	assert_int_equal(follow(&good, sizeof(good), -1), 0);
	sk->forks = sl_forks - 1;
}

/* The server would take the answer for a request of this process. */
static int end_of_server(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a.sun_family);
	int to = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_int_equal(bind(to, (void *)&a, len), 0); /* any abstract name */
	len = sizeof(a);
	assert_int_equal(getsockname(to, (void *)&a, &len) || listen(to, 1), 0);
	assert_int_equal(connect(fd, (void *)&a, len), 0);
	return fd;
}

static void test_descriptors(void **state)
{
	int end[2];

	assert_int_equal(pipe(end), 0);
	assert_int_equal(follow(&good, sizeof(good), end[1]), 0);
	assert_int_equal(follow(&good, sizeof(good), socket(AF_INET, SOCK_DGRAM, 0)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	assert_int_equal(follow(&good, sizeof(good), end[1]), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, end), 0);
	assert_int_equal(follow(&good, sizeof(good), end[1]), 0);
	assert_int_equal(follow(&good, sizeof(good), socket(AF_UNIX, SOCK_SEQPACKET, 0)), 0);
	assert_int_equal(follow(&good, sizeof(good), end_of_server()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credible),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_socket_is_younger),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
