/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors of strangers are closed, also when one packet brings more than usually wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/rights.h"
#include "sock/core/stranger.h"

#define PACKETS     2
#define ROUNDS      4
#define INTERRUPTED 4000
#define EACH        253 /* the most in one packet (SCM_MAX_FD) */

static void put(int to, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(EACH * sizeof(int))];
	} c = {.align = {CMSG_LEN(EACH * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {"x", 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = c.space,
			   .msg_controllen = sizeof(c.space)};

	for (unsigned i = 0; i < EACH; i++)
		((int *)CMSG_DATA(&c.align))[i] = fd;
	assert_int_equal(sendmsg(to, &m, 0), 1);
}

/* The thread that closes has this thread's policy, and the only core that it may use is this
 * thread's: it does not run before all is handed to it. */
static bool run_alone(void)
{
	struct sched_param first = {.sched_priority = 1};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return !sched_setaffinity(0, sizeof(one), &one) &&
	       !sched_setscheduler(0, SCHED_FIFO, &first);
}

static void test_many(void **state)
{
	int file[2], way[2], fd[SL_RIGHTS_ANY];
	unsigned full = 0;
	uint32_t n;
	char c;

	if (!run_alone())
		skip();
	assert_int_equal(pipe(file), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way), 0);
	for (unsigned k = 0; k < PACKETS; k++) {
		put(way[1], file[1]);
		assert_int_equal(sl_rights_recv_any(way[0], &c, 1, fd, &n), 1);
		assert_int_equal(n, EACH);
		for (uint32_t i = 0; i < n; i++)
			full += !sl_stranger_close(fd[i]);
	}
	assert_true(full > 0); /* the callers are told to stop */
	close(file[1]);
	assert_true(sl_stranger_wait());
	/* The end of the pipe: no copy of its other end is open. */
	fcntl(file[0], F_SETFL, O_NONBLOCK);
	assert_int_equal(read(file[0], &c, 1), 0);
}

static int interrupts[2];

static void on_alarm(int sig)
{
	(void)sig;
	(void)sl_stranger_close(dup(interrupts[1]));
}

/* Signal handlers come in the midst of it, too. */
static void test_interrupted(void **state)
{
	const struct itimerval often = {{0, 20}, {0, 20}}, never = {0};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct rlimit most;
	char c;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
	most.rlim_cur = most.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
	if (most.rlim_max < 4 * INTERRUPTED || !run_alone())
		skip();
	assert_int_equal(pipe(interrupts), 0);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		(void)sl_stranger_close(dup(interrupts[1])); /* (which starts the thread) */
		assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
		for (unsigned i = 0; i < INTERRUPTED; i++)
			(void)sl_stranger_close(dup(interrupts[1]));
		assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
		assert_true(sl_stranger_wait());
	}
	close(interrupts[1]);
	fcntl(interrupts[0], F_SETFL, O_NONBLOCK);
	assert_int_equal(read(interrupts[0], &c, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
