/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory on transparent huge pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"

#define HUGE (2ul << 20)

static int memory(size_t bytes)
{
	int fd = memfd_create("test-pages", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, (off_t)bytes));
	return fd;
}

/* KiB of the mapping that are mapped as huge pages. */
static unsigned long huge_kb(const void *mem)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, kb = 0;
	bool here = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x ", &from) == 1 && strchr(line, '-'))
			here = from == (uintptr_t)mem;
		if (here)
			sscanf(line, "ShmemPmdMapped: %lu", &kb);
	}
	fclose(f);
	return kb;
}

static unsigned mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned n = 0;

	assert_non_null(f);
	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

/* The daemon maps and unmaps packet memory as often as its clients like. */
static void test_unmapped_whole(void **state)
{
	const size_t bytes = HUGE / 16 + 1;
	int fd = memory(bytes);
	unsigned before = mappings();

	for (int i = 0; i < 100; i++) {
		char *mem = sl_pages_map(fd, bytes);

		assert_non_null(mem);
		assert_int_equal(0, munmap(mem, bytes));
	}
	assert_in_range(mappings(), 0, before + 10);
	close(fd);
}

static void test_collapsed(void **state)
{
	const size_t bytes = 3 * HUGE;
	int fd = memory(bytes);
	char *a = sl_pages_map(fd, bytes), *b;

	assert_non_null(a);
	assert_int_equal(0, (uintptr_t)a % HUGE);
	memset(a + HUGE - 10, 7, 20); /* what is there already, stays */
	if (!sl_pages_collapse(a, bytes)) {
		print_message("no transparent huge pages of shared memory here: not tested\n");
		skip();
	}
	assert_int_equal(bytes / 1024, huge_kb(a));
	for (int i = -10; i < 10; i++)
		assert_int_equal(7, a[HUGE + i]);
	assert_int_equal(0, a[HUGE + 10]);
	/* Whoever maps it later has it so by a touch. */
	b = sl_pages_map(fd, bytes);
	assert_non_null(b);
	assert_int_equal(7, b[HUGE]);
	assert_int_equal(HUGE / 1024, huge_kb(b));
	assert_true(sl_pages_collapse(b, bytes)); /* again: nothing to do */
	munmap(a, bytes);
	munmap(b, bytes);
	close(fd);
}

/* Less than a huge page, and what is over: on ordinary pages. */
static void test_sizes(void **state)
{
	int fd = memory(HUGE + 4096);
	char *small = sl_pages_map(fd, 4096), *more;

	assert_non_null(small);
	assert_true(sl_pages_collapse(small, 4096));
	assert_int_equal(0, huge_kb(small));
	more = sl_pages_map(fd, HUGE + 4096);
	assert_non_null(more);
	(void)sl_pages_collapse(more, HUGE + 4096);
	memset(more, 1, HUGE + 4096);
	assert_int_equal(1, small[0]);
	munmap(small, 4096);
	munmap(more, HUGE + 4096);
	close(fd);
}

/* A file that is too short: an error, and no signal. */
static void test_beyond_the_end(void **state)
{
	int fd = memory(4096);
	char *mem = sl_pages_map(fd, 2 * HUGE);

	assert_non_null(mem);
	assert_false(sl_pages_collapse(mem + HUGE, HUGE));
	munmap(mem, 2 * HUGE);
	close(fd);
	assert_null(sl_pages_map(fd, 4096));
	assert_int_equal(EBADF, errno);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmapped_whole),
		cmocka_unit_test(test_collapsed),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_beyond_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
