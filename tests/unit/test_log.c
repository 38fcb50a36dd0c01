/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines: their form, and that they never harm the program they are a guest of. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/settings.h"

static char text[8192];

/* Captures standard error between begin() and end(). */
static int saved, ends[2];

static void begin(void)
{
	saved = dup(2);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], 2);
}

static void end(void)
{
	ssize_t n;

	dup2(saved, 2);
	close(saved);
	close(ends[1]);
	n = read(ends[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	close(ends[0]);
}

static void test_levels(void **state)
{
	begin();
	sl_info("room", "number %d", 5);
	sl_debug("room", "hidden");
	sl_warn("room", "careful");
	end();
	assert_string_equal(text,
			    "Sluice INFO   : room: number 5\nSluice WARNING: room: careful\n");
}

static void test_details(void **state)
{
	char expect[128];

	sl_log_details = 2;
	begin();
	sl_info("room", "x");
	end();
	snprintf(expect, sizeof(expect), "Pid: %d Tid: %d Sluice INFO   : room: x\n", getpid(),
		 gettid());
	assert_string_equal(text, expect);
	sl_log_details = 3;
	begin();
	sl_info("room", "x");
	end();
	assert_int_equal(strncmp(text, "Time: ", 6), 0);
	sl_log_details = 0;
}

static void test_errno_stays(void **state)
{
	errno = 77;
	begin();
	sl_info("room", "x");
	assert_int_equal(errno, 77);
	end();
}

static void test_long_and_dirty_lines(void **state)
{
	static char big[3000];

	memset(big, 'a', sizeof(big) - 1);
	big[0] = '\033';
	big[1] = '\n';
	begin();
	sl_info("room", "%s", big);
	end();
	assert_true(strlen(text) < 1100);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_null(strchr(text, '\033'));
}

static void test_said_once(void **state)
{
	begin();
	for (int i = 0; i < 3; i++)
		sl_warn_once("room", "once");
	end();
	assert_string_equal(text, "Sluice WARNING: room: once\n");
}

static void test_reader_gone_is_no_signal(void **state)
{
	struct sigaction old;

	sigaction(SIGPIPE, NULL, &old);
	assert_true(old.sa_handler == SIG_DFL);
	begin();
	close(ends[0]);
	sl_warn("room", "nobody hears"); /* would kill us */
	ends[0] = open("/dev/null", O_RDONLY);
	end();
	begin();
	sl_warn("room", "after");
	end();
	assert_string_equal(text, "Sluice WARNING: (1 lines lost) room: after\n");
}

static void test_full_pipe_does_not_block(void **state)
{
	char junk[4096] = {0};

	begin();
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], junk, sizeof(junk)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	alarm(10);
	sl_warn("room", "does not fit");
	sl_warn("room", "does not fit");
	alarm(0);
	end();
	begin();
	sl_warn("room", "after");
	end();
	assert_string_equal(text, "Sluice WARNING: (2 lines lost) room: after\n");
}

static void test_connection_as_standard_error(void **state)
{
	int pair[2], keep = dup(2), udp = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	ssize_t n;

	/* An inetd service: its standard error is the client's. */
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(udp, (struct sockaddr *)&a, len);
	getsockname(udp, (struct sockaddr *)&a, &len);
	connect(udp, (struct sockaddr *)&a, len);
	dup2(udp, 2);
	sl_warn("room", "not for the client");
	n = recv(udp, text, sizeof(text), MSG_DONTWAIT);
	dup2(keep, 2);
	assert_int_equal(n, -1);
	/* A journal: a UNIX socket. */
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	dup2(pair[0], 2);
	sl_warn("room", "for the journal");
	n = recv(pair[1], text, sizeof(text), MSG_DONTWAIT);
	dup2(keep, 2);
	assert_true(n > 0);
	close(udp);
	close(pair[0]);
	close(pair[1]);
	close(keep);
}

static int daemon_of_syslog(void)
{
	const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	unlink(at.sun_path);
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		_exit(1);
	return fd;
}

static bool gets(int fd, const char *said)
{
	char line[200] = "", want[200];

	snprintf(want, sizeof(want), "<14>sluice[%d]: Sluice INFO   : test: %s\n", getpid(), said);
	return recv(fd, line, sizeof(line) - 1, MSG_DONTWAIT) > 0 && !strcmp(line, want);
}

/* In a mount namespace whose /dev has nothing but the socket. */
static void test_syslog(void **state)
{
	int pid = fork(), status, fd;

	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("dev", "/dev", "tmpfs", 0, NULL))
			_exit(77);
		fd = daemon_of_syslog();
		sl_log_open(SL_LOG_INFO, 0, true, "syslog");
		sl_info("test", "one");
		if (!gets(fd, "one"))
			_exit(2);
		close(fd);
		fd = daemon_of_syslog();
		sl_info("test", "to the next daemon");
		_exit(gets(fd, "to the next daemon") ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static size_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (size_t)st.st_size;
}

static void test_file_with_pid_survives_the_program(void **state)
{
	char path[64], other[64];
	size_t size;

	snprintf(path, sizeof(path), "/tmp/test_log.%d", getpid());
	snprintf(other, sizeof(other), "/tmp/test_log.%d.other", getpid());
	snprintf(sl_settings.log_file, sizeof(sl_settings.log_file), "/tmp/test_log.%%d");
	sl_log_open(sl_settings.tracelevel, sl_settings.log_details, sl_settings.log_colors,
		    sl_settings.log_file);
	sl_info("room", "one");
	size = file_size(path);
	assert_true(size > 0);
	/* A daemon closes everything and opens its own. */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	for (int fd = open(other, O_CREAT | O_RDWR, 0600); fd >= 0 && fd < 255;)
		fd = dup(fd);
	sl_info("room", "two");
	assert_int_equal(file_size(other), 0);
	assert_int_equal(file_size(path), 2 * size);
	unlink(path);
	unlink(other);
}

/* Settings are taken over twice, before the preset and after it. */
static void test_a_refused_file_is_told_once(void **state)
{
	begin();
	for (int i = 0; i < 2; i++)
		sl_log_open(SL_LOG_INFO, 0, false, "/nonexistent/log");
	sl_info("room", "here");
	end();
	assert_non_null(strstr(text, "ENOENT; logging to standard error"));
	assert_null(strstr(strstr(text, "ENOENT") + 1, "ENOENT"));
	assert_non_null(strstr(text, "here"));
}

/* The child of a server becomes another user: it has no descriptor of the log that its parent
 * opened, writes nothing there, nor to the program's standard error. */
static void test_another_user_has_no_log(void **state)
{
	char dir[] = "/tmp/test_logXXXXXX", path[64], link[64], to[128];
	struct stat st;
	int status, found = 0;
	ssize_t n;
	pid_t pid;

	if (geteuid())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	sl_log_open(SL_LOG_INFO, 0, false, path);
	begin();
	pid = fork();
	if (!pid) {
		sl_log_part();
		if (setgid(65534) || setuid(65534))
			_exit(100);
		for (int fd = 0; fd < 1024; fd++) {
			snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
			n = readlink(link, to, sizeof(to) - 1);
			to[n > 0 ? n : 0] = 0;
			found += strstr(to, dir) != NULL;
		}
		sl_warn("room", "of another user");
		sl_warn("room", "of another user");
		_exit(found);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	end();
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_string_equal(text, "");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	sl_warn("room", "of the parent");
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 0);
	/* A process that stays the same user opens the file again. */
	sl_log_part();
	sl_warn("room", "of the parent");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size % 2, 0);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_errno_stays),
		cmocka_unit_test(test_long_and_dirty_lines),
		cmocka_unit_test(test_said_once),
		cmocka_unit_test(test_reader_gone_is_no_signal),
		cmocka_unit_test(test_full_pipe_does_not_block),
		cmocka_unit_test(test_connection_as_standard_error),
		cmocka_unit_test(test_a_refused_file_is_told_once),
		cmocka_unit_test(test_syslog),
		cmocka_unit_test(test_file_with_pid_survives_the_program),
		cmocka_unit_test(test_another_user_has_no_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
