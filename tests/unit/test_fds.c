/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of our descriptors, where the limit leaves no room behind the program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fds.h"

#define LIMIT 256
#define OURS  100 /* of a process with many lanes and devices; an eighth of the limit is 32 */

/* Ours are behind what the program opens, whose numbers stay the lowest. */
static void keep_many(rlim_t soft, rlim_t hard, rlim_t least, rlim_t end)
{
	struct rlimit lim = {soft, hard};
	int first = open("/dev/null", O_RDONLY), ours[OURS], fd;

	close(first);
	assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &lim));
	for (int i = 0; i < OURS; i++) {
		ours[i] = sl_fd_keep(open("/dev/null", O_RDONLY));
		assert_in_range(ours[i], least, end - 1);
	}
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(first, fd);
	close(fd);
	for (int i = 0; i < OURS; i++) {
		close(ours[i]);
		sl_fd_forget(ours[i]);
	}
}

static void test_past_the_limit(void **state)
{
	keep_many(LIMIT, LIMIT + 2 * OURS, LIMIT, LIMIT + 2 * OURS);
}

static void test_little_past_the_limit(void **state)
{
	keep_many(LIMIT, LIMIT + 5, LIMIT / 2, LIMIT + 5);
}

/* A process that may raise its hard limit (CAP_SYS_RESOURCE) leaves the whole range to the program.
 */
static void test_past_the_hard_limit(void **state)
{
	struct rlimit more = {LIMIT, LIMIT + 6 * OURS};

	if (setrlimit(RLIMIT_NOFILE, &more))
		skip();
	keep_many(LIMIT, LIMIT, LIMIT, LIMIT + 2 * OURS);
}

/* (The last: this process raises no limit again.) */
static void test_end_of_range(void **state)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {};

	assert_int_equal(0, syscall(SYS_capset, &head, none));
	keep_many(LIMIT, LIMIT, LIMIT / 2, LIMIT);
}

/* The program closes all that it does not know between open(2) and this: the number is its own
 * again. */
static void test_closed_before_it_is_kept(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sl_fd_keep(fd), -EBADF);
	assert_false(sl_fd_is_kept(fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed_before_it_is_kept),
		cmocka_unit_test(test_past_the_limit),
		cmocka_unit_test(test_little_past_the_limit),
		cmocka_unit_test(test_past_the_hard_limit),
		cmocka_unit_test(test_end_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
