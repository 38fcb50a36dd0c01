/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a device: the holder of an abstract name, which anybody can bind, and root's lock,
 * which no other user can take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/broker/owner_lock.h"

#define USER  65533
#define OWNED 7 /* ifindex */
#define FREE  8

static socklen_t name_of(struct sockaddr_un *sun, const char *name)
{
	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(sun->sun_path + 1, name, strlen(name));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* Runs fn in a child, as that user, and returns the status. */
static int as(uint32_t uid, int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (uid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The name --------------------------------------------------------------------------------------
 */

static int bound[2];

static int bind_name(void)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(&sun, "sluice-test-user");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sun, len) || listen(fd, 1))
		return 1;
	return write(bound[1], "b", 1) != 1 || pause();
}

static void test_name_says_its_user(void **state)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(&sun, "sluice-test-root");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	uint32_t uid = 1;

	assert_int_equal(sl_unix_name_uid(&sun, len, &uid), -ENOENT);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, len), 0);
	assert_int_equal(sl_unix_name_uid(&sun, len, &uid), 0);
	assert_int_equal(uid, getuid());
	/* Neither a beginning of it nor a longer one. */
	assert_int_equal(sl_unix_name_uid(&sun, len - 1, &uid), -ENOENT);
	assert_int_equal(sl_unix_name_uid(&sun, len + 1, &uid), -ENOENT);
	close(fd);
	assert_int_equal(sl_unix_name_uid(&sun, len, &uid), -ENOENT);
}

static void test_name_of_another_user(void **state)
{
	struct sockaddr_un sun;
	socklen_t len = name_of(&sun, "sluice-test-user");
	uint32_t uid = 0;
	pid_t pid;
	char c;

	assert_int_equal(pipe(bound), 0);
	pid = fork();
	if (pid == 0)
		_exit(setresuid(USER, USER, USER) || bind_name());
	close(bound[1]);
	assert_int_equal(read(bound[0], &c, 1), 1);
	assert_int_equal(sl_unix_name_uid(&sun, len, &uid), 0);
	assert_int_equal(uid, USER);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(bound[0]);
}

/* The lock --------------------------------------------------------------------------------------
 */

static int lock_owned(void)
{
	int fd = sl_owner_lock(OWNED);

	return fd >= 0 ? 0 : -fd;
}

static int look_owned(void)
{
	return sl_owner_is_locked(OWNED);
}

static int look_free(void)
{
	return sl_owner_is_locked(FREE);
}

static void test_lock_is_one_process(void **state)
{
	int fd, copy;

	assert_false(sl_owner_is_locked(OWNED));
	fd = sl_owner_lock(OWNED);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(as(0, lock_owned), EAGAIN);
	assert_int_equal(as(0, look_owned), 1);
	assert_int_equal(as(0, look_free), 0);
	assert_int_equal(sl_owner_lock(OWNED), -EAGAIN); /* in the same process, too */
	/* The lock is the file's: it stays until the last copy is closed. */
	copy = dup(fd);
	close(fd);
	assert_int_equal(as(0, lock_owned), EAGAIN);
	close(copy);
	assert_int_equal(as(0, lock_owned), 0);
	assert_false(sl_owner_is_locked(OWNED));
}

static void test_lock_is_root_s(void **state)
{
	int fd = sl_owner_lock(OWNED);

	assert_true(fd >= 0);
	assert_int_equal(as(USER, lock_owned), EACCES);
	assert_int_equal(as(USER, look_owned), 0); /* it cannot know */
	close(fd);
	assert_int_equal(as(USER, lock_owned), EACCES);
}

/* A file that another user could have put there or can write is not believed. */
static void test_file_of_others(void **state)
{
	static const char file[] = SL_OWNER_DIR "/owners";

	assert_int_equal(chmod(file, 0620), 0);
	assert_int_equal(sl_owner_lock(OWNED), -EPERM);
	assert_int_equal(chmod(file, 0600), 0);
	assert_int_equal(chown(file, USER, 0), 0);
	assert_int_equal(sl_owner_lock(OWNED), -EPERM);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink("/etc/passwd", file), 0);
	assert_int_equal(sl_owner_lock(OWNED), -ELOOP);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(sl_owner_lock(OWNED), -EPERM);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(as(0, lock_owned), 0);
}

/* The machine's own /run is not touched. */
static bool have_run(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("run", "/run", "tmpfs", 0, "mode=0755");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_says_its_user),
		cmocka_unit_test(test_name_of_another_user),
		cmocka_unit_test(test_lock_is_one_process),
		cmocka_unit_test(test_lock_is_root_s),
		cmocka_unit_test(test_file_of_others),
	};

	if (getuid() || !have_run()) {
		printf("skipped: needs root, and a /run of its own\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
