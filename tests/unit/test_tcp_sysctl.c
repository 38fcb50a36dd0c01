/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's TCP settings from a directory of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/settings.h"
#include "sock/stream/tcp_sysctl.h"

static char dir[] = "/tmp/sluice-sysctl.XXXXXX";
static struct sl_tcp_params p, defaults;

static void file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void read_it(void)
{
	memset(&p, 0xa5, sizeof(p));
	sl_tcp_sysctl_read(&p, dir);
}

static void remove_all(void)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "rm -rf %s/*", dir);
	assert_int_equal(system(cmd), 0);
}

static void test_nothing_there_is_default(void **state)
{
	read_it();
	assert_memory_equal(&p, &defaults, sizeof(p));
	sl_tcp_sysctl_read(&p, "/nonexistent");
	assert_memory_equal(&p, &defaults, sizeof(p));
}

/* AccECN's values ask for ECN, answer it, or both, as 1 and 2 do. */
static void test_ecn(void **state)
{
	static const struct {
		const char *text;
		bool out, in;
	} cases[] = {{"0", false, false}, {"1", true, true}, {"2", false, true},
		     {"3", true, true},   {"4", true, true}, {"5", false, true}};

	for (size_t i = 0; i < sl_array_len(cases); i++) {
		file("tcp_ecn", cases[i].text);
		read_it();
		assert_int_equal(p.ecn_out, cases[i].out);
		assert_int_equal(p.ecn_in, cases[i].in);
	}
}

static void test_values(void **state)
{
	file("tcp_rmem", "5000\t200000\t7000000\n");
	file("tcp_wmem", "4097 17000 5000000");
	file("tcp_keepalive_time", "600\n");
	file("tcp_rto_min_us", "5000\n");
	file("tcp_rto_max_ms", "60000\n");
	file("tcp_timestamps", "0\n");
	file("tcp_sack", "0\n");
	file("tcp_ecn", "1\n");
	file("tcp_recovery", "0\n");
	file("tcp_early_retrans", "0\n");
	file("tcp_congestion_control", "reno\n");
	file("tcp_max_syn_backlog", "77\n");
	file("tcp_notsent_lowat", "131072\n");
	file("tcp_fastopen", "3\n");
	file("ip_local_port_range", "40000\t40199\n");
	read_it();
	assert_int_equal(p.port_min, 40000);
	assert_int_equal(p.port_max, 40199);
	file("ip_local_reserved_ports", "\n");
	read_it();
	assert_int_equal(p.port_max, 40199);
	file("ip_local_reserved_ports", "40001,40005-40010\n");
	read_it();
	assert_int_equal(p.port_max, 0);
	assert_int_equal(p.rmem_min, 5000);
	assert_int_equal(p.rmem_default, 200000);
	assert_int_equal(p.rmem_max, 7000000);
	assert_int_equal(p.wmem_min, 4097);
	assert_int_equal(p.wmem_max, 5000000);
	assert_int_equal(p.keepalive_time_ms, 600000);
	assert_int_equal(p.rto_min_ms, 5);
	assert_int_equal(p.rto_max_ms, 60000);
	assert_false(p.timestamps);
	assert_false(p.sack);
	assert_true(p.window_scaling);
	assert_int_equal(p.ecn, 1);
	assert_true(p.ecn_out);
	assert_true(p.ecn_in);
	assert_false(p.recovery_rack);
	assert_false(p.tlp);
	assert_string_equal(p.congestion, "reno");
	assert_int_equal(p.tfo, 3);
	assert_int_equal(p.max_syn_backlog, 77);
	assert_int_equal(p.notsent_lowat, 131072);
	remove_all();
}

static void test_nonsense_keeps_the_default(void **state)
{
	file("tcp_rmem", "5000 x 7000000");
	file("tcp_wmem", "");
	file("tcp_syn_retries", "99999999999999999999999\n");
	file("tcp_synack_retries", "-1\n");
	file("tcp_fin_timeout", "0\n");
	file("tcp_sack", "0x1\n");
	file("tcp_notsent_lowat", "4294967295\n");
	file("tcp_congestion_control", "vegas\n");
	read_it();
	assert_int_equal(p.rmem_min, 5000);
	assert_int_equal(p.rmem_default, defaults.rmem_default);
	assert_int_equal(p.rmem_max, defaults.rmem_max);
	assert_int_equal(p.wmem_max, defaults.wmem_max);
	assert_int_equal(p.syn_retries, defaults.syn_retries);
	assert_int_equal(p.synack_retries, defaults.synack_retries);
	assert_int_equal(p.fin_timeout_ms, defaults.fin_timeout_ms);
	assert_int_equal(p.sack, defaults.sack);
	assert_int_equal(p.notsent_lowat, 0);
	assert_string_equal(p.congestion, defaults.congestion);
	remove_all();
}

static void test_the_machine_has_them(void **state)
{
	sl_tcp_sysctl_read(&p, SL_TCP_SYSCTL_DIR);
	assert_true(p.rmem_max >= p.rmem_default);
	assert_true(p.wmem_max >= p.wmem_min);
}

/* A later change is stored; a directory that cannot be read any more changes nothing. */
static void test_follow(void **state)
{
	(void)state;
	sl_settings.tcp_cc_algo = -1; /* as the machine */
	sl_settings.tcp_timestamp_option = 2;
	sl_settings.window_scaling = -2;
	file("tcp_rmem", "5000 200000 7000000");
	file("tcp_congestion_control", "cubic\n");
	sl_tcp_sysctl_read(&p, dir);
	assert_int_equal(p.sack, 1);
	file("tcp_sack", "0\n");
	file("tcp_congestion_control", "reno\n");
	file("tcp_rmem", "5000 300000 7000000");
	for (int i = 0; i < 2; i++) {
		sl_tcp_sysctl_follow(&p, i ? "/nonexistent" : dir);
		assert_int_equal(p.sack, 0);
		assert_int_equal(p.rmem_default, 300000);
		assert_string_equal(p.congestion, "reno");
	}
	remove_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_there_is_default),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_nonsense_keeps_the_default),
		cmocka_unit_test(test_the_machine_has_them),
		cmocka_unit_test(test_follow),
	};
	int failed;

	sl_tcp_params_default(&defaults);
	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_all();
	rmdir(dir);
	return failed;
}
