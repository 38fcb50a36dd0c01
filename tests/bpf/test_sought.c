/* SPDX-License-Identifier: BSD-2-Clause */
/* Which sockets processes have, where one process has thousands of descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl/kern/libbpf.h"
#include "ctl/steer/sought.h"

#define MANY (2 * SL_SOUGHT_PIECE)

static struct sl_sought of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (struct sl_sought){.inode = st.st_ino & SL_SOUGHT_INODE};
}

static int new_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	return fd;
}

/* The number of calls, which each look at a piece alone. */
static unsigned look(struct sl_sought *s, unsigned n)
{
	struct sl_sought other = {.inode = 1};
	unsigned calls = 1;
	int err;

	while ((err = sl_embedded_sought(s, n)) == -EAGAIN) {
		assert_int_equal(sl_embedded_sought(&other, 1), -EBUSY);
		calls++;
	}
	assert_int_equal(err, 0);
	return calls;
}

/* A socket with more descriptors than anybody wants to read of hides no other one. */
static void many_of_one(void **state)
{
	int first = new_socket(), last, gone = new_socket();
	struct sl_sought s[] = {of(first), of(first), of(gone)};

	close(gone);
	for (int i = 0; i < MANY; i++)
		assert_true(dup(first) >= 0);
	last = new_socket();
	s[1] = of(last);
	assert_true(last > first + MANY - 10);
	assert_int_equal(listen(last, 1), 0);
	for (int round = 0; round < 2; round++) {
		assert_true(look(s, 3) >= MANY / SL_SOUGHT_PIECE);
		assert_int_equal(s[0].family, AF_INET);
		assert_true(s[0].closed);
		assert_int_equal(s[1].family, AF_INET);
		assert_false(s[1].closed);
		assert_int_equal(s[2].family, 0);
	}
}

#define FILES 253 /* in a message, at most */

static void pass(int to, const int *fds, unsigned n)
{
	_Alignas(struct cmsghdr) char buf[CMSG_SPACE(FILES * sizeof(int))] = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = buf,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	assert_int_equal(sendmsg(to, &m, MSG_DONTWAIT), 1);
}

/* A socket that a message has which nobody has received. */
static void under_way(void **state)
{
	int fd = new_socket(), pair[2], more = new_socket();
	struct sl_sought s[] = {of(fd), of(more)};

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	assert_int_equal(send(pair[0], "", 1, 0), 1); /* (a message without) */
	pass(pair[0], (int[]){fd, more}, 2);
	close(fd);
	close(more);
	look(s, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(s[i].family, AF_INET);
		assert_true(s[i].closed);
		assert_int_equal(s[i].pid, getpid());
	}
	close(pair[0]);
	close(pair[1]);
	look(s, 2);
	assert_int_equal(s[0].family, 0);
	assert_int_equal(s[1].family, 0);
}

/* In ns of the processor. */
static uint64_t cost_of_look(void)
{
	struct sl_sought s = {.inode = 1};
	struct timespec begin, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	look(&s, 1);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)end.tv_nsec -
	       (uint64_t)begin.tv_nsec;
}

/* A long queue is searched once, however many descriptors its socket has. */
static void long_queue(void **state)
{
	enum { MESSAGES = 64, DUPS = 500 };
	int pair[2], fds[FILES] = {0}, copy[DUPS], fd = new_socket();
	struct sl_sought s = of(fd);
	uint64_t one;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (unsigned i = 0; i < MESSAGES; i++) {
		if (i == MESSAGES - 1)
			fds[FILES - 1] = fd;
		pass(pair[0], fds, FILES);
	}
	close(fd);
	one = cost_of_look();
	for (unsigned i = 0; i < DUPS; i++)
		assert_true((copy[i] = dup(pair[1])) >= 0);
	assert_true(cost_of_look() < 50 * one);
	for (unsigned round = 0; round < 2; round++) {
		look(&s, 1);
		assert_int_equal(s.family, AF_INET);
	}
	for (unsigned i = 0; i < DUPS; i++)
		close(copy[i]);
	close(pair[0]);
	close(pair[1]);
	look(&s, 1);
	assert_int_equal(s.family, 0);
}

static void stops(void **state)
{
	int fd = new_socket();
	struct sl_sought s = of(fd), t = of(fd);

	t.inode ^= 1u << 30; /* there is no such socket */
	assert_int_equal(sl_embedded_sought(&t, 1), -EAGAIN);
	assert_int_equal(sl_embedded_sought(&s, 1), -EBUSY);
	sl_embedded_sought_stop(&s);
	assert_int_equal(sl_embedded_sought(&s, 1), -EBUSY);
	sl_embedded_sought_stop(&t);
	look(&s, 1);
	assert_int_equal(s.family, AF_INET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_of_one),
		cmocka_unit_test(under_way),
		cmocka_unit_test(long_queue),
		cmocka_unit_test(stops),
	};
	struct rlimit l = {MANY + 1000, MANY + 1000};
	struct sl_sought none = {.inode = 0};
	int err = sl_libbpf_load(NULL);

	while (!err && (err = sl_embedded_sought(&none, 1)) == -EAGAIN)
		err = 0;
	if (err || setrlimit(RLIMIT_NOFILE, &l))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
