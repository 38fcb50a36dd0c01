/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers that a process trusts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

static char dir[] = "/tmp/sluice-trust.XXXXXX";

static const char *in(const char *name)
{
	static char path[4][200];
	static unsigned n;
	char *p = path[n++ % 4];

	snprintf(p, 200, "%s/%s", dir, name);
	return p;
}

static void put_file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_true(fd >= 0);
	fchmod(fd, mode);
	close(fd);
}

static void test_files(void **state)
{
	put_file(in("tool"), 0755);
	assert_true(sl_file_is_trusted(in("tool")));
	assert_false(sl_file_is_trusted("tool"));
	assert_false(sl_file_is_trusted(in("missing")));
	assert_false(sl_file_is_trusted(dir));
	put_file(in("tool"), 0775);
	assert_false(sl_file_is_trusted(in("tool")));
	put_file(in("tool"), 0757);
	assert_false(sl_file_is_trusted(in("tool")));
	put_file(in("tool"), 0755);
	/* A directory on the way that others write to, unless it is a sticky one. */
	mkdir(in("way"), 0700);
	put_file(in("way/tool"), 0755);
	assert_true(sl_file_is_trusted(in("way/tool")));
	chmod(in("way"), 0777);
	assert_false(sl_file_is_trusted(in("way/tool")));
	chmod(in("way"), 01777);
	assert_true(sl_file_is_trusted(in("way/tool")));
	/* By a link it is the file that counts. */
	chmod(in("way"), 0777);
	assert_int_equal(0, symlink("way/tool", in("link")));
	assert_false(sl_file_is_trusted(in("link")));
	if (geteuid() == 0) {
		assert_int_equal(0, chown(in("tool"), 65534, 65534));
		assert_false(sl_file_is_trusted(in("tool")));
	}
}

static void test_own_dir(void **state)
{
	struct stat st;
	int fd = sl_own_dir(in("own"));

	assert_true(fd >= 0);
	assert_int_equal(0, fstat(fd, &st));
	assert_int_equal(0700, st.st_mode & 07777);
	close(fd);
	fd = sl_own_dir(in("own"));
	assert_true(fd >= 0);
	close(fd);
	chmod(in("own"), 0750);
	assert_int_equal(-EPERM, sl_own_dir(in("own")));
	chmod(in("own"), 0700);
	assert_int_equal(0, symlink("own", in("pointer")));
	assert_in_range(-sl_own_dir(in("pointer")), 1, 4095);
	put_file(in("file"), 0700);
	assert_int_equal(-ENOTDIR, sl_own_dir(in("file")));
	assert_int_equal(-ENOENT, sl_own_dir(in("none/own")));
	if (geteuid() == 0) {
		assert_int_equal(0, chown(in("own"), 65534, 65534));
		assert_int_equal(-EPERM, sl_own_dir(in("own")));
	}
}

/* A process that has a user's effective ID alone is not that user's. */
static void test_a_borrowed_user_is_not_trusted(void **state)
{
	assert_int_equal(geteuid(), sl_sole_user());
	if (geteuid() != 0)
		skip();
	assert_int_equal(0, chmod(dir, 0711));
	assert_int_equal(0, mkdir(in("theirs"), 0700));
	assert_int_equal(0, chown(in("theirs"), 65534, 65534));
	put_file(in("tool"), 0755);
	assert_int_equal(0, chown(in("tool"), 65534, 65534));
	assert_int_equal(0, setresuid(0, 65534, 0));
	assert_int_equal(UINT32_MAX, sl_sole_user());
	assert_int_equal(-EPERM, sl_own_dir(in("theirs")));
	assert_false(sl_file_is_trusted(in("tool")));
	assert_int_equal(0, setresuid(0, 0, 0));
	assert_int_equal(0, chmod(dir, 0700));
}

static void test_printable(void **state)
{
	char text[] = "a\033[2J\n\x7f \xc2\x9b x\xc3\xa4.";

	sl_make_printable(text);
	assert_string_equal(text, "a?[2J?? ?? x\xc3\xa4.");
	text[0] = 0;
	sl_make_printable(text);
	assert_string_equal(text, "");
}

static void test_resolve(void **state)
{
	char real[100], want[200];

	put_file(in("here"), 0644);
	assert_int_equal(0, symlink("here", in("there")));
	assert_int_equal(0, chdir(dir));
	assert_true(sl_path_resolve("there", real, sizeof(real)));
	snprintf(want, sizeof(want), "%s/here", dir);
	assert_string_equal(want, real);
	assert_false(sl_path_resolve("there", real, 12));
	assert_false(sl_path_resolve("nowhere", real, sizeof(real)));
	assert_string_equal("", real);
	assert_int_equal(0, chdir("/"));
}

static int make_dir(void **state)
{
	umask(022);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_own_dir),
		cmocka_unit_test(test_a_borrowed_user_is_not_trusted),
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_resolve),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
