/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of tables: addresses and memory as they grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/reserve.h"

#define MB (1ul << 20)

static void test_grows(void **state)
{
	const size_t bytes = 64 * MB + 4096;
	struct sl_reserve r;
	char *mem = sl_reserve_map(bytes);

	assert_non_null(mem);
	sl_reserve_init(&r, mem, bytes, -1, 0, false);
	assert_int_equal(0, sl_reserve_upto(&r, 1));
	assert_in_range(r.ready, 1, SL_RESERVE_STEP);
	assert_int_equal(0, mem[0] | mem[r.ready - 1]);
	mem[0] = 7;
	assert_int_equal(0, sl_reserve_upto(&r, MB + 1));
	assert_in_range(r.ready, MB + 1, MB + SL_RESERVE_STEP);
	assert_int_equal(7, mem[0]);
	mem[MB] = 7;
	assert_int_equal(0, sl_reserve_upto(&r, bytes));
	assert_int_equal(-ENOMEM, sl_reserve_upto(&r, bytes + 1));
	assert_int_equal(bytes, r.ready);
	mem[bytes - 1] = 7;
	assert_int_equal(0, sl_reserve_clear(&r));
	assert_int_equal(bytes, r.ready);
	assert_int_equal(0, mem[0] | mem[MB] | mem[bytes - 1]);
	munmap(mem, bytes);
}

/* In KiB, what RLIMIT_DATA limits. */
static unsigned long data_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmData: %lu", &kb);
	fclose(f);
	return kb;
}

/* In KiB, what RLIMIT_AS limits. */
static unsigned long addresses_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(1, fscanf(f, "%lu", &pages));
	fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

/* A table has no more addresses than memory; two of them are not in each other's way, nor is a
 * mapping of somebody else's, which ends its growth. */
static void test_addresses(void **state)
{
	const size_t bytes = 2048 * MB;
	unsigned long before;
	struct sl_reserve r, s;
	void *foreign;

#if defined(__SANITIZE_THREAD__)
	skip(); /* has no room for it */
#endif
	before = addresses_kb();
	assert_int_equal(0, sl_reserve_open(&r, bytes));
	assert_int_equal(0, sl_reserve_open(&s, bytes));
	assert_int_equal(0, sl_reserve_upto(&r, MB));
	assert_int_equal(0, sl_reserve_upto(&s, MB));
	assert_in_range(addresses_kb(), before, before + 4 * 1024);
	assert_true(labs(r.mem - s.mem) >= (long)bytes);
	foreign = mmap(r.mem + 2 * MB, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_true(foreign != MAP_FAILED);
	memset(foreign, 7, 4096);
	assert_int_equal(-ENOMEM, sl_reserve_upto(&r, 3 * MB));
	assert_int_equal(MB, r.ready);
	assert_int_equal(7, *(char *)foreign);
	assert_int_equal(0, sl_reserve_upto(&r, 2 * MB));
	munmap(r.mem, bytes);
	munmap(s.mem, bytes);
}

static void test_counts_when_ready(void **state)
{
	const size_t bytes = 1024 * MB;
	struct rlimit old, limit;
	struct sl_reserve r;
	char *mem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* its own memory is over any limit */
#endif
	assert_int_equal(0, getrlimit(RLIMIT_DATA, &old));
	limit = old;
	limit.rlim_cur = data_kb() * 1024 + 16 * MB;
	assert_int_equal(0, setrlimit(RLIMIT_DATA, &limit));
	mem = sl_reserve_map(bytes);
	assert_non_null(mem);
	sl_reserve_init(&r, mem, bytes, -1, 0, false);
	assert_int_equal(0, sl_reserve_upto(&r, 8 * MB));
	assert_int_equal(-ENOMEM, sl_reserve_upto(&r, 100 * MB));
	assert_int_equal(8 * MB, r.ready);
	memset(mem, 7, r.ready);
	assert_int_equal(0, sl_reserve_upto(&r, 9 * MB));
	assert_int_equal(0, setrlimit(RLIMIT_DATA, &old));
	assert_int_equal(0, sl_reserve_upto(&r, 100 * MB));
	munmap(mem, bytes);
}

/* Pages that are not to be had (here they are behind the end of the file) are an error, and not a
 * signal at their first use. */
static void test_shared(void **state)
{
	const size_t bytes = 3 * SL_RESERVE_STEP;
	int fd = memfd_create("test-reserve", MFD_CLOEXEC);
	struct sl_reserve r;
	char *mem, *again;

	assert_int_equal(0, ftruncate(fd, 2 * SL_RESERVE_STEP));
	mem = sl_reserve_map(bytes);
	assert_non_null(mem);
	sl_reserve_init(&r, mem, bytes, fd, 0, false);
	for (size_t n = 1; n <= 2; n++)
		assert_int_equal(0, sl_reserve_upto(&r, n * SL_RESERVE_STEP));
	assert_int_equal(-ENOMEM, sl_reserve_upto(&r, bytes));
	assert_int_equal(2 * SL_RESERVE_STEP, r.ready);
	memset(mem, 7, r.ready);
	again = mmap(NULL, r.ready, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(again != MAP_FAILED);
	assert_memory_equal(mem, again, r.ready);
	/* Private from now on: the file keeps what it had, the table what it has. */
	assert_int_equal(0, sl_reserve_part(&r));
	memset(mem, 8, r.ready);
	assert_int_equal(7, *again);
	assert_int_equal(0, sl_reserve_upto(&r, bytes));
	assert_int_equal(8, mem[2 * SL_RESERVE_STEP - 1]);
	assert_int_equal(0, mem[2 * SL_RESERVE_STEP]);
	munmap(again, 2 * SL_RESERVE_STEP);
	munmap(mem, bytes);
	assert_true(sl_reserve_hole(&r));
	assert_int_equal(0, *mem);
	munmap(mem, bytes);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_counts_when_ready),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
