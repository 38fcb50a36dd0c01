/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a forked child must not have, and what stands in its place there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/fds.h"
#include "base/sys.h"

#define BYTES (4 * 4096)

static char *memory(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	sl_apart(p, BYTES);
	strcpy(p, "a secret");
	return p;
}

static bool is_mapped(char *p)
{
	return mincore(p, BYTES, (unsigned char[4]){0}) == 0;
}

/* Runs look() in a child; returns its result, by the child's status. */
static int in_child(int (*look)(char *p), char *p)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(look(p));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int finds_nothing(char *p)
{
	return is_mapped(p);
}

static int finds_zeros(char *p)
{
	if (!sl_apart_hole(p, BYTES) || p[0])
		return 1;
	strcpy(p, "the child's");
	return 0;
}

static int leaves_others(char *p)
{
	char *q = mmap(p + 4096, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (q != p + 4096)
		return 1;
	q[0] = 'x';
	return sl_apart_hole(p, BYTES) || q[0] != 'x';
}

static void test_child(void **state)
{
	char *p = memory();

	errno = 0;
	assert_int_equal(0, in_child(finds_nothing, p));
	assert_int_equal(0, in_child(finds_zeros, p));
	assert_int_equal(0, in_child(leaves_others, p));
	assert_string_equal("a secret", p);
	assert_int_equal(0, errno);
	assert_false(sl_apart_hole(NULL, BYTES));
	munmap(p, BYTES);
}

static int closes_guards(char *p)
{
	int *fd = (int *)p;

	sl_fd_child();
	return fcntl(fd[0], F_GETFD) != -1 || sl_fd_is_kept(fd[0]) || fcntl(fd[1], F_GETFD) == -1 ||
	       !sl_fd_is_kept(fd[1]);
}

static void test_guards(void **state)
{
	int fd[2] = {sl_fd_guard(sl_fd_dup(0)), sl_fd_dup(0)};

	assert_true(fd[0] >= 0 && fd[1] >= 0);
	assert_int_equal(0, in_child(closes_guards, (char *)fd));
	assert_true(sl_fd_is_kept(fd[0]));
	/* Its number may be another descriptor's later. */
	assert_int_equal(0, sl_sys_close(fd[0]));
	assert_int_equal(fd[0], sl_fd_dup(0));
	assert_int_equal(1, in_child(closes_guards, (char *)fd));
	sl_sys_close(fd[0]);
	sl_sys_close(fd[1]);
	assert_int_equal(-1, sl_fd_guard(-EMFILE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_guards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
