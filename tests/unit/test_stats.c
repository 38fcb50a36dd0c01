/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics: the shared file and what survives its coming and going, requests, and bad files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/stats_read.h"

static char dir[64], path[128];

static struct sl_stats *read_file(void)
{
	struct sl_stats *s;
	const char *why = "cannot be read";
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	s = aligned_alloc(64, ((size_t)st.st_size + 63) / 64 * 64);
	assert_int_equal(read(fd, s, (size_t)st.st_size), st.st_size);
	close(fd);
	if (sl_stats_check(s, (size_t)st.st_size, &why))
		fail_msg("%s", why);
	return s;
}

static void test_counting_before_the_file(void **state)
{
	struct sl_lane_stats *l = sl_stats_lane(3);
	struct sl_sock_stats *k = sl_stats_sock_new(); /* no entries yet: the common one */

	assert_non_null(k);
	assert_ptr_equal(k, sl_stats_sock_new());
	k->rx_pkts++;
	sl_stats_sock_free(k);
	l->rx_pkts = 7;
	sl_stats->handed_back = 2;
	sl_stats_serve(); /* nothing is asked for: the level stays */
	assert_int_equal(sl_log_level, SL_LOG_INFO);
}

static void test_file_takes_over_what_was_counted(void **state)
{
	struct sl_lane_stats *l = sl_stats_lane(3);
	struct sl_stats *s;
	struct stat st;

	assert_int_equal(sl_stats_open(), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(l->rx_pkts, 7);
	l->rx_pkts++; /* through the pointer from before */
	s = read_file();
	assert_int_equal(s->pid, getpid());
	assert_int_equal(s->lane[3].rx_pkts, 8);
	assert_int_equal(s->handed_back, 2);
	assert_int_equal(s->max_socks, 10);
	assert_string_equal(s->program, "test_stats");
	free(s);
}

static void test_sockets_come_and_go(void **state)
{
	struct sl_sock_stats *k[12];
	struct sl_stats *s;
	unsigned used = 0;

	for (int i = 0; i < 12; i++) {
		k[i] = sl_stats_sock_new();
		k[i]->fd = i;
		k[i]->rx_pkts = 1;
	}
	assert_ptr_not_equal(k[0], k[9]);
	assert_ptr_equal(k[10], k[11]); /* ten have their own, the rest share one */
	s = read_file();
	for (uint32_t i = 0; i < s->max_socks; i++)
		used += s->sock[i].used == 1;
	assert_int_equal(used, 10);
	free(s);
	for (int i = 0; i < 12; i++)
		sl_stats_sock_free(k[i]);
	k[0] = sl_stats_sock_new();
	assert_int_equal(k[0]->rx_pkts, 0);
	assert_int_equal(k[0]->fd, -1);
	sl_stats_sock_free(k[0]);
}

static void test_ports_are_found_again(void **state)
{
	struct sl_port_stats *p = sl_stats_port(5);

	assert_ptr_equal(p, sl_stats_port(5));
	assert_ptr_not_equal(p, sl_stats_port(6));
	for (uint32_t i = 0; i < 100; i++)
		assert_non_null(sl_stats_port(100 + i));
	assert_non_null(sl_stats_lane(100000));
}

static void test_epoll_sets_come_and_go(void **state)
{
	struct sl_wait_stats *w[SL_STATS_WAITS];
	struct sl_stats *s;

	for (unsigned i = SL_WAIT_EPOLL; i < SL_STATS_WAITS; i++) {
		w[i] = sl_stats_wait_new((int)i);
		w[i]->calls = i;
	}
	assert_ptr_equal(sl_stats_wait_new(7), sl_stats_wait_none());
	s = read_file();
	assert_int_equal(s->wait[SL_WAIT_POLL].used, 1);
	assert_int_equal(s->wait[SL_WAIT_POLL].fd, -1);
	assert_int_equal(s->wait[SL_STATS_WAITS - 1].fd, SL_STATS_WAITS - 1);
	assert_int_equal(s->wait[SL_STATS_WAITS - 1].calls, SL_STATS_WAITS - 1);
	free(s);
	sl_stats_wait_free(w[9]);
	assert_ptr_equal(sl_stats_wait_new(1000), w[9]);
	assert_int_equal(w[9]->calls, 0);
	assert_int_equal(w[9]->fd, 1000);
	for (unsigned i = SL_WAIT_EPOLL; i < SL_STATS_WAITS; i++)
		sl_stats_wait_free(w[i]);
	sl_stats_wait_free(sl_stats_wait_none());
	assert_int_equal(sl_stats_wait_none()->used, 0);
}

static void test_requests_are_served(void **state)
{
	struct sl_sock_stats *k = sl_stats_sock_new();

	k->rx_pkts = 9;
	k->rx_queue_bytes = 4;
	sl_stats->frames_free = 77;
	sl_stats->wait[SL_WAIT_SELECT].hits = 5;
	sl_stats->log_level_want = SL_LOG_WARN;
	sl_stats->log_details_want = 3;
	sl_stats->zero_want++;
	sl_stats_serve();
	assert_int_equal(sl_log_level, SL_LOG_WARN);
	assert_int_equal(sl_stats->log_level, SL_LOG_WARN);
	assert_int_equal(sl_log_details, 3);
	assert_int_equal(sl_stats->zero_done, sl_stats->zero_want);
	assert_int_equal(k->rx_pkts, 0);
	assert_int_equal(k->rx_queue_bytes, 4); /* what is there now stays */
	assert_int_equal(sl_stats->frames_free, 77);
	assert_int_equal(sl_stats->wait[SL_WAIT_SELECT].hits, 0);
	assert_int_equal(sl_stats->wait[SL_WAIT_SELECT].used, 1);
	assert_int_equal(sl_stats->lane[3].rx_pkts, 0);
	sl_stats->log_level_want = 99; /* rubbish from outside */
	sl_stats_serve();
	assert_int_equal(sl_log_level, SL_LOG_WARN);
	sl_stats_sock_free(k);
}

static void test_child_counts_for_itself(void **state)
{
	struct sl_lane_stats *l = sl_stats_lane(1);
	struct sl_stats *s;
	int status;
	pid_t pid;

	l->tx_pkts = 5;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		sl_stats_child();
		l->tx_pkts = 1000;
		sl_stats_close(); /* leaves the parent's file alone */
		_exit(sl_stats->pid == (uint32_t)getpid() && !sl_stats->handed_back ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	s = read_file();
	assert_int_equal(s->lane[1].tx_pkts, 5);
	free(s);
}

static void test_calls_of_the_kernel(void **state)
{
	struct sl_sock_stats s = {0};

	sl_stats_rx_os(&s, 100, false);
	sl_stats_rx_os(&s, 0, false); /* an empty datagram */
	sl_stats_rx_os(&s, 100, true);
	sl_stats_rx_os(&s, -EAGAIN, true);
	sl_stats_rx_os(&s, -ECONNREFUSED, false);
	assert_int_equal(s.rx_os_pkts, 2);
	assert_int_equal(s.rx_os_bytes, 100);
	assert_int_equal(s.rx_os_eagain, 1);
	assert_int_equal(s.rx_os_errors, 1);
	sl_stats_tx_os(&s, 7);
	sl_stats_tx_os(&s, -EAGAIN);
	sl_stats_tx_os(&s, -EINPROGRESS);
	sl_stats_tx_os(&s, -EPERM);
	assert_int_equal(s.tx_os_pkts, 1);
	assert_int_equal(s.tx_os_bytes, 7);
	assert_int_equal(s.tx_os_eagain, 1);
	assert_int_equal(s.tx_os_errors, 1);
	assert_int_equal(s.rx_errors + s.tx_errors + s.rx_eagain + s.tx_eagain, 0);
}

static void test_report_at_close(void **state)
{
	char report[128], text[4096];
	struct sl_sock_stats *k = sl_stats_sock_new();
	ssize_t n;
	int fd;

	snprintf(report, sizeof(report), "%s/report.%d", dir, getpid());
	snprintf(sl_settings.stats_file, sizeof(sl_settings.stats_file), "%s/report.%%d", dir);
	k->fd = 42;
	k->rx_pkts = 233020;
	k->rx_bytes = 455 * 1024;
	k->rx_poll_hit = 3;
	k->rx_poll_miss = 1;
	k->rx_os_errors = 4;
	k->rx_queue_max_bytes = 200;
	k->rx_queue_max_pkts = 7;
	k->rx_drops = 2;
	k->rx_drop_bytes = 455 * 1024;
	k->rcvbuf = 2000000;
	sl_stats_sock_free(k);
	sl_settings.stats_file[0] = 0;
	fd = open(report, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	unlink(report);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(
		strstr(text, "[fd=42] Rx Offload: 455 KB / 233020 / 0 / 0 [bytes/packets/"));
	assert_non_null(strstr(text, "[fd=42] Rx poll: 1 / 3 (75.00%) [miss/hit]"));
	assert_non_null(
		strstr(text, "[fd=42] Rx OS info: 0 KB / 0 / 0 / 4 [bytes/packets/eagains/"));
	assert_non_null(strstr(text, "[fd=42] Rx byte: max 200 / dropped 465920 (50.00%) / "
				     "limit 2000000\n"));
	assert_non_null(strstr(text, "[fd=42] Rx pkt : max 7 / dropped 2 (0.00%)\n"));
	assert_null(strstr(text, "Tx"));
}

/* Powers of two from 256 ns on, and the rest in the last place. */
static void test_times_in_powers_of_two(void **state)
{
	static const struct {
		uint64_t ns;
		unsigned place;
	} times[] = {{0, 0},
		     {255, 0},
		     {256, 1},
		     {511, 1},
		     {512, 2},
		     {4096, 5},
		     {(256ull << 22) - 1, 22},
		     {256ull << 22, 23},
		     {UINT64_MAX / 2, 23}};
	struct sl_sock_stats before, *k = sl_stats_sock_new();
	struct sl_times *t = &k->time[SL_TIME_ANSWER];

	for (unsigned i = 0; i < sl_array_len(times); i++) {
		before = *k;
		sl_times_note(t, 1000, 1000 + times[i].ns);
		assert_int_equal(t->place[times[i].place],
				 before.time[SL_TIME_ANSWER].place[times[i].place] + 1);
		assert_int_equal(t->ns, before.time[SL_TIME_ANSWER].ns + times[i].ns);
		if (times[i].place < SL_TIME_PLACES - 1)
			assert_true(times[i].ns < sl_times_below_ns(times[i].place));
		if (times[i].place)
			assert_true(times[i].ns >= sl_times_below_ns(times[i].place - 1));
	}
	before = *k;
	sl_times_note(t, 1000, 1300);
	sl_stats_sub_sock(k, &before);
	assert_int_equal(t->place[1], 1);
	assert_int_equal(t->place[0], 0);
	assert_int_equal(t->ns, 300);
	sl_times_note(t, 1300, 1000); /* clocks of two cores */
	assert_int_equal(t->place[0], 1);
	assert_int_equal(t->ns, 300);
	sl_stats->zero_want++;
	sl_stats_serve();
	assert_int_equal(t->place[1], 0);
	sl_stats_sock_free(k);
}

static void test_close_removes_the_file(void **state)
{
	sl_stats_close();
	assert_int_equal(access(path, F_OK), -1);
}

static void test_link_in_place_of_the_file(void **state)
{
	char victim[128];
	int fd;
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", dir);
	fd = open(victim, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(symlink(victim, path), 0);
	assert_int_equal(sl_stats_open(),
			 0); /* the link goes, what it pointed to stays as it was */
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	sl_stats_close();
	unlink(victim);
}

static void test_no_directory_is_no_disaster(void **state)
{
	snprintf(sl_settings.stats_shmem_dir, sizeof(sl_settings.stats_shmem_dir), "%s/none", dir);
	sl_log_level = SL_LOG_ERROR;
	assert_int_equal(sl_stats_open(), -ENOENT);
	sl_stats_lane(0)->rx_pkts++;
	sl_settings.stats_shmem_dir[0] = 0;
	assert_int_equal(sl_stats_open(), 0);
}

static void test_bad_files_are_refused(void **state)
{
	static struct {
		struct sl_stats s;
		struct sl_sock_stats sock[2];
	} f;
	const char *why = NULL;

	memset(&f, 0xff, sizeof(f));
	assert_int_equal(sl_stats_check(&f, sizeof(f), &why), -EINVAL);
	assert_non_null(why);
	f.s.magic = SL_STATS_MAGIC;
	assert_int_equal(sl_stats_check(&f, sizeof(f), &why), -EINVAL);
	f.s.version = SL_STATS_VERSION;
	assert_int_equal(sl_stats_check(&f, sizeof(f), &why), -EINVAL); /* 4 billion sockets */
	f.s.max_socks = 3;
	assert_int_equal(sl_stats_check(&f, sizeof(f), &why), -EINVAL);
	f.s.max_socks = 2;
	assert_int_equal(sl_stats_check(&f, sizeof(f.s), &why), -EINVAL);
	assert_int_equal(sl_stats_check(&f, 0, &why), -EINVAL);
	assert_int_equal(sl_stats_check(&f, sizeof(f), &why), 0);
	assert_true(strlen(f.s.program) < sizeof(f.s.program));
	assert_true(f.s.sock[1].ngroups <= 8);
	assert_string_equal(sl_reason_text(f.s.sock[1].reason), "unknown");
}

/* A file of a process that is gone, and what must stay. */
static void test_sweep_removes_what_the_dead_left(void **state)
{
	char names[4][128];
	const char *const format[] = {"%s/sluice.%d.stats", "%s/sluice.%d.stats.old",
				      "%s/sluice.%d", "%s/sluice.1%d0000000.stats"};
	pid_t dead = fork();

	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(names[i], sizeof(names[i]), format[i], dir, dead);
		close(open(names[i], O_CREAT | O_WRONLY, 0600));
	}
	assert_int_equal(sl_stats_open(), 0);
	sl_stats_sweep();
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(names[0], F_OK), -1);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(unlink(names[i]), 0);
	sl_stats_close();
}

/* A file that a process holds is left, even if we cannot see the process (in another pid namespace,
 * say). */
static void test_sweep_leaves_what_is_held(void **state)
{
	const struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[128];
	pid_t dead = fork();
	void *mem;
	int fd;

	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	snprintf(name, sizeof(name), "%s/sluice.%d.stats", dir, dead);
	fd = open(name, O_CREAT | O_RDWR, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	mem = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(mem != MAP_FAILED);
	close(fd);
	assert_true(sl_stats_is_held(AT_FDCWD, name));
	munmap(mem, 4096);
	assert_false(sl_stats_is_held(AT_FDCWD, name));
	assert_int_equal(unlink(name), 0);
	/* Ours is, until it is closed. */
	assert_int_equal(sl_stats_open(), 0);
	assert_true(sl_stats_is_held(AT_FDCWD, path));
	sl_stats_close();
	assert_false(sl_stats_is_held(AT_FDCWD, path));
}

static int setup(void **state)
{
	sl_clock_init();
	snprintf(dir, sizeof(dir), "/tmp/test_stats.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sluice.%d.stats", dir, getpid());
	snprintf(sl_settings.stats_shmem_dir, sizeof(sl_settings.stats_shmem_dir), "%s", dir);
	sl_settings.stats_fd_num = 10;
	return 0;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counting_before_the_file),
		cmocka_unit_test(test_file_takes_over_what_was_counted),
		cmocka_unit_test(test_sockets_come_and_go),
		cmocka_unit_test(test_ports_are_found_again),
		cmocka_unit_test(test_epoll_sets_come_and_go),
		cmocka_unit_test(test_requests_are_served),
		cmocka_unit_test(test_child_counts_for_itself),
		cmocka_unit_test(test_calls_of_the_kernel),
		cmocka_unit_test(test_report_at_close),
		cmocka_unit_test(test_times_in_powers_of_two),
		cmocka_unit_test(test_close_removes_the_file),
		cmocka_unit_test(test_link_in_place_of_the_file),
		cmocka_unit_test(test_sweep_removes_what_the_dead_left),
		cmocka_unit_test(test_sweep_leaves_what_is_held),
		cmocka_unit_test(test_no_directory_is_no_disaster),
		cmocka_unit_test(test_bad_files_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
