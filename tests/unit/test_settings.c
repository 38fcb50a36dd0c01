/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings: values, aliases, wrong values, presets, and that every name of the VMA manual is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/settings.h"

static struct sl_settings defaults;

/* Loads an environment that lacks everything but what is given; what was logged is in out. */
static char out[65536];

static int load(char **env)
{
	int pipe_fds[2], saved = dup(2), wrong;
	ssize_t n;

	memcpy(&sl_settings, &defaults, sizeof(defaults));
	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], 2);
	wrong = sl_settings_load(env);
	sl_settings_banner();
	dup2(saved, 2);
	close(saved);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], out, sizeof(out) - 1);
	assert_true(n >= 0);
	out[n] = 0;
	close(pipe_fds[0]);
	return wrong;
}

#define LOAD(...) load((char *[]){__VA_ARGS__, NULL})

static void test_defaults(void **state)
{
	assert_int_equal(LOAD("HOME=/"), 0);
	assert_memory_equal(&sl_settings, &defaults, sizeof(defaults));
	assert_int_equal(sl_settings.rx_poll, 100000);
	assert_int_equal(sl_settings.select_poll, 100000);
	assert_int_equal(sl_settings.tracelevel, SL_LOG_INFO);
	assert_string_equal(sl_settings.devices, "*");
	assert_string_equal(sl_settings.stats_shmem_dir, "auto");
	/* An unmodified program's standard error gets one line. */
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	assert_non_null(strstr(out, "version"));
}

static void test_alias_and_precedence(void **state)
{
	assert_int_equal(LOAD("VMA_RX_POLL=-1"), 0);
	assert_int_equal(sl_settings.rx_poll, -1);
	assert_true(sl_setting_is_set(SL_SETTING_rx_poll));
	assert_int_equal(LOAD("SLUICE_RX_POLL=7", "VMA_RX_POLL=8"), 0);
	assert_int_equal(sl_settings.rx_poll, 7);
	assert_int_equal(LOAD("VMA_RX_POLL=8", "SLUICE_RX_POLL=7"), 0);
	assert_int_equal(sl_settings.rx_poll, 7);
	assert_int_equal(LOAD("VMA_RX_SKIP_OS=5"), 0);
	assert_int_equal(sl_settings.rx_udp_poll_os_ratio, 5);
	assert_int_equal(LOAD("VMA_RX_SKIP_OS=5", "VMA_RX_UDP_POLL_OS_RATIO=6"), 0);
	assert_int_equal(sl_settings.rx_udp_poll_os_ratio, 6);
}

static void test_wrong_values_keep_the_default(void **state)
{
	static const char *const vars[] = {
		"SLUICE_RX_POLL=",         "SLUICE_RX_POLL=abc",
		"SLUICE_RX_POLL=1x",       "SLUICE_RX_POLL=-2",
		"SLUICE_RX_POLL=1e3",      "SLUICE_RX_POLL=99999999999999999999",
		"SLUICE_FORK=2",           "SLUICE_FORK=maybe",
		"SLUICE_RING=5",           "SLUICE_RING=threads",
		"SLUICE_TRACELEVEL=9",     "SLUICE_RX_BYTES_MIN=1t",
		"SLUICE_RX_BYTES_MIN=4g1", "SLUICE_FRAME_SIZE=3000",
		"SLUICE_RX_POLL=0x",       "SLUICE_RX_BYTES_MIN=99999999g",
	};

	for (unsigned i = 0; i < sl_array_len(vars); i++) {
		char name[64];

		assert_int_equal(LOAD((char *)vars[i]), 1);
		assert_memory_equal(&sl_settings, &defaults, sizeof(defaults));
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(vars[i], "="), vars[i]);
		assert_non_null(strstr(out, "WARNING"));
		assert_non_null(strstr(out, name));
		assert_non_null(strstr(out, "expected"));
	}
}

static void test_names_that_are_none(void **state)
{
	static const struct {
		char *var;
		const char *said; /* NULL: nothing */
	} all[] = {
		{"SLUICE_RX_POL=5", "SLUICE_RX_POL is no setting; the nearest is SLUICE_RX_POLL\n"},
		{"SLUICE_RXPOLL=5", "the nearest is SLUICE_RX_POLL\n"},
		{"SLUICE_TRACE_LEVEL=5", "the nearest is SLUICE_TRACELEVEL\n"},
		{"VMA_SELECT_POOL=5",
		 "VMA_SELECT_POOL is no setting; the nearest is SLUICE_SELECT_POLL\n"},
		{"SLUICE_NOTHING_LIKE_IT=5",
		 "no setting; these are listed by sluice run --help-settings\n"},
		{"SLUICE_=5", NULL},
		{"VMA_HOME_OF_ANOTHER=/", NULL}, /* may be another program's */
		{"VMA_RX_POLL_OS_RATIO=5", NULL},
		{"SLUICE", NULL},
		{"SLUICE_RX_POL", NULL},
	};
	char text[400];

	for (unsigned i = 0; i < sl_array_len(all); i++) {
		assert_int_equal(LOAD(all[i].var), 0);
		assert_int_equal(strstr(out, "is no setting") != NULL, all[i].said != NULL);
		assert_int_equal(sl_setting_fault(all[i].var, text, sizeof(text)),
				 all[i].said != NULL);
		if (all[i].said)
			assert_non_null(strstr(out, all[i].said));
	}
	assert_true(sl_setting_fault("VMA_RX_POLL=fast", text, sizeof(text)));
	assert_non_null(strstr(text, "VMA_RX_POLL='fast': expected a whole number"));
	assert_false(sl_setting_fault("VMA_RX_POLL=1", text, sizeof(text)));
	assert_false(sl_setting_fault("RX_POLL=fast", text, sizeof(text)));
}

static void test_values(void **state)
{
	assert_int_equal(LOAD("SLUICE_RX_POLL=0x10", "SLUICE_FORK=no", "SLUICE_RX_BYTES_MIN=1m",
			      "SLUICE_XDP_MODE=Generic", "SLUICE_HW_TS_CONVERSION=4",
			      "SLUICE_RX_WRE=3000", "SLUICE_LOG_DETAILS=1 "),
			 0);
	assert_int_equal(sl_settings.rx_poll, 16);
	assert_int_equal(sl_settings.fork, 0);
	assert_int_equal(sl_settings.rx_bytes_min, 1 << 20);
	assert_int_equal(sl_settings.xdp_mode, SL_XDP_GENERIC);
	assert_int_equal(sl_settings.hw_ts_conversion, 4);
	assert_int_equal(sl_settings.rx_wre, 4096);
	assert_int_equal(sl_settings.log_details, 1);
}

static void test_ring_sets_both_directions(void **state)
{
	assert_int_equal(LOAD("SLUICE_RING=thread"), 0);
	assert_int_equal(sl_settings.ring_allocation_logic_rx, SL_RING_THREAD);
	assert_int_equal(sl_settings.ring_allocation_logic_tx, SL_RING_THREAD);
	assert_int_equal(LOAD("VMA_RING_ALLOCATION_LOGIC_RX=31"), 0);
	assert_int_equal(sl_settings.ring_allocation_logic_rx, SL_RING_CORE_ATTACH);
	assert_int_equal(sl_settings.ring_allocation_logic_tx, 0);
}

static void test_preset_yields_to_what_is_given(void **state)
{
	assert_int_equal(LOAD("VMA_SPEC=latency", "SLUICE_SELECT_POLL=5"), 0);
	assert_int_equal(sl_settings.rx_poll, -1);
	assert_int_equal(sl_settings.select_poll, 5);
}

/* The number that stands for a preset here is none of its names, and is not shown. */
static void test_presets_have_the_numbers_of_vma(void **state)
{
	assert_int_equal(LOAD("VMA_SPEC=4"), 1);
	assert_int_equal(sl_settings.spec, 0);
	assert_int_equal(LOAD("SLUICE_FRAME_SIZE=0x800"), 0);
	assert_int_equal(sl_settings.frame_size, 2048);
	assert_int_equal(LOAD("VMA_SPEC=29"), 0);
	assert_non_null(strstr(out, " 29                         [SLUICE_SPEC]"));
}

/* A setting of each preset that the others leave alone, or have otherwise. */
static void test_presets_are_those_of_vma(void **state)
{
	assert_int_equal(LOAD("VMA_SPEC=10"), 0);
	assert_int_equal(sl_settings.spec, 1);
	assert_int_equal(sl_settings.ring_dev_mem_tx, 16384);
	assert_int_equal(sl_settings.rx_wre, 256);
	assert_int_equal(sl_settings.tso, 0);
	assert_int_equal(sl_settings.progress_engine_interval, 100);
	assert_int_equal(LOAD("VMA_SPEC=multi_ring_latency"), 0);
	assert_int_equal(sl_settings.ring_allocation_logic_rx, SL_RING_THREAD);
	assert_int_equal(sl_settings.rx_poll_on_tx_tcp, 1);
	assert_int_equal(sl_settings.tcp_nodelay, 0);
	assert_int_equal(LOAD("VMA_SPEC=15"), 0);
	assert_int_equal(sl_settings.select_poll_os_ratio, 100);
	assert_int_equal(sl_settings.tso, 1);
	assert_int_equal(LOAD("VMA_SPEC=29", "VMA_SPEC_PARAM1=7"), 0);
	assert_int_equal(sl_settings.spec_param1, 7);
	assert_int_equal(sl_settings.select_skip_os, 50);
	assert_int_equal(LOAD("VMA_SPEC=554"), 0);
	assert_int_equal(sl_settings.select_poll, 0);
	assert_int_equal(sl_settings.select_skip_os, 20);
	assert_int_equal(LOAD("VMA_SPEC=784"), 0);
	assert_int_equal(sl_settings.rx_poll, -1);
	assert_int_equal(sl_settings.select_poll, 100000);
	assert_int_equal(LOAD("VMA_SPEC=623"), 0);
	assert_int_equal(sl_settings.ring_allocation_logic_rx, SL_RING_CORE_ATTACH);
	assert_int_equal(sl_settings.rx_poll, 100000);
	assert_int_equal(LOAD("VMA_SPEC=624"), 0);
	assert_int_equal(sl_settings.rx_poll, 0);
	assert_int_equal(LOAD("VMA_SPEC=7750"), 0);
	assert_int_equal(sl_settings.spec, 9);
	assert_int_equal(sl_settings.stats_fd_num, 1024);
	assert_int_equal(sl_settings.tracelevel, SL_LOG_WARN);
}

static void test_high_level_raises_details_and_shows_all(void **state)
{
	assert_int_equal(LOAD("VMA_TRACELEVEL=details"), 0);
	assert_int_equal(sl_settings.log_details, 2);
	assert_int_equal(LOAD("VMA_TRACELEVEL=5", "VMA_LOG_DETAILS=0"), 0);
	assert_int_equal(sl_settings.log_details, 0);
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		char name[SL_SETTING_NAME_MAX + 2] = "[";

		sl_setting_name(&sl_setting_table[i], name + 1);
		strcat(name, "]");
		assert_non_null(strstr(out, name));
	}
}

static time_t wall; /* 0: the clock's */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_REALTIME || !wall)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){.tv_sec = wall};
	return 0;
}

static void test_banner_has_the_time(void **state)
{
	static const time_t times[] = {1,          951782399,  951782400,  951868800,
				       1078012799, 1709164800, 1735689599, 1735689600,
				       1772323199, 1772323200, 4107542399, 4107542400};

	for (unsigned i = 0; i < sl_array_len(times); i++) {
		char text[80];
		struct tm tm;

		wall = times[i];
		strftime(text, sizeof(text), "Current Time: %Y-%m-%d %H:%M:%S UTC\n",
			 gmtime_r(&wall, &tm));
		assert_int_equal(LOAD("SLUICE_TRACELEVEL=debug"), 0);
		wall = 0;
		assert_non_null(strstr(out, text));
	}
	assert_int_equal(LOAD("SLUICE_TRACELEVEL=details"), 0);
	assert_null(strstr(out, "Current Time"));
}

static void test_changed_settings_are_shown(void **state)
{
	assert_int_equal(LOAD("SLUICE_RX_POLL=5"), 0);
	assert_non_null(strstr(out, "[SLUICE_RX_POLL]"));
	assert_non_null(strstr(out, "[SLUICE_TRACELEVEL]"));
	assert_null(strstr(out, "[SLUICE_SELECT_POLL]"));
}

static void test_without_effect_says_so(void **state)
{
	assert_int_equal(LOAD("VMA_IPOIB=0"), 0);
	assert_non_null(strstr(out, "VMA_IPOIB has no effect: IP over InfiniBand"));
}

/* Tables 4 and 5 of the manual, and what 9.8 has beyond. */
static const char *const vma_names[] = {
	"TRACELEVEL",
	"LOG_DETAILS",
	"LOG_FILE",
	"LOG_COLORS",
	"STATS_FILE",
	"STATS_SHMEM_DIR",
	"STATS_FD_NUM",
	"VMAD_NOTIFY_DIR",
	"CONFIG_FILE",
	"APPLICATION_ID",
	"CPU_USAGE_STATS",
	"HANDLE_SIGINTR",
	"HANDLE_SIGSEGV",
	"EXCEPTION_HANDLING",
	"SPEC",
	"SPEC_PARAM1",
	"SPEC_PARAM2",
	"RING_ALLOCATION_LOGIC_TX",
	"RING_ALLOCATION_LOGIC_RX",
	"RING_MIGRATION_RATIO_TX",
	"RING_MIGRATION_RATIO_RX",
	"RING_LIMIT_PER_INTERFACE",
	"RING_DEV_MEM_TX",
	"TX_SEGS_TCP",
	"TX_BUFS",
	"TX_WRE",
	"TX_WRE_BATCHING",
	"TX_MAX_INLINE",
	"MAX_INLINE",
	"TX_MC_LOOPBACK",
	"TX_NONBLOCKED_EAGAINS",
	"TX_PREFETCH_BYTES",
	"TX_BACKLOG_MAX",
	"RX_BUFS",
	"RX_WRE",
	"RX_WRE_BATCHING",
	"RX_BYTES_MIN",
	"RX_POLL",
	"RX_POLL_INIT",
	"RX_UDP_POLL_OS_RATIO",
	"RX_POLL_OS_RATIO",
	"RX_SKIP_OS",
	"HW_TS_CONVERSION",
	"RX_POLL_YIELD",
	"RX_PREFETCH_BYTES",
	"RX_PREFETCH_BYTES_BEFORE_POLL",
	"RX_CQ_DRAIN_RATE_NSEC",
	"RX_POLL_ON_TX_TCP",
	"GRO_STREAMS_MAX",
	"TCP_3T_RULES",
	"UDP_3T_RULES",
	"ETH_MC_L2_ONLY_RULES",
	"MC_FORCE_FLOWTAG",
	"SELECT_POLL",
	"SELECT_POLL_OS_FORCE",
	"SELECT_POLL_OS_RATIO",
	"SELECT_POLL_YIELD",
	"SELECT_SKIP_OS",
	"SELECT_CQ_IRQ",
	"CQ_MODERATION_ENABLE",
	"CQ_MODERATION_COUNT",
	"CQ_MODERATION_PERIOD_USEC",
	"CQ_AIM_MAX_COUNT",
	"CQ_AIM_MAX_PERIOD_USEC",
	"CQ_AIM_INTERVAL_MSEC",
	"CQ_AIM_INTERRUPTS_RATE_PER_SEC",
	"CQ_POLL_BATCH_MAX",
	"CQ_KEEP_QP_FULL",
	"PROGRESS_ENGINE_INTERVAL",
	"PROGRESS_ENGINE_WCE_MAX",
	"QP_COMPENSATION_LEVEL",
	"TIMER_RESOLUTION_MSEC",
	"TCP_TIMER_RESOLUTION_MSEC",
	"TCP_CTL_THREAD",
	"TCP_TIMESTAMP_OPTION",
	"TCP_NODELAY",
	"TCP_QUICKACK",
	"TCP_CC_ALGO",
	"TCP_MAX_SYN_RATE",
	"MTU",
	"MSS",
	"WINDOW_SCALING",
	"OFFLOADED_SOCKETS",
	"AVOID_SYS_CALLS_ON_TCP_FD",
	"ALLOW_PRIVILEGED_SOCK_OPT",
	"WAIT_AFTER_JOIN_MSEC",
	"WAIT_AFTER_REREG_MSEC",
	"THREAD_MODE",
	"BUFFER_BATCHING_MODE",
	"MEM_ALLOC_TYPE",
	"HUGETBL",
	"FORK",
	"BF",
	"CLOSE_ON_DUP2",
	"SOCKETXTREME",
	"INTERNAL_THREAD_AFFINITY",
	"INTERNAL_THREAD_CPUSET",
	"INTERNAL_THREAD_ARM_CQ",
	"NETLINK_TIMER",
	"NEIGH_UC_ARP_QUATA",
	"NEIGH_UC_ARP_DELAY_MSEC",
	"NEIGH_NUM_ERR_RETRIES",
	"DEFERRED_CLOSE",
	"TRIGGER_DUMMY_SEND_GETSOCKNAME",
	"TIME_MEASURE_NUM_SAMPLES",
	"TIME_MEASURE_DUMP_FILE",
	"SUPPRESS_IGMP_WARNING",
	"IPOIB",
};

static void test_every_vma_name_is_taken(void **state)
{
	for (unsigned i = 0; i < sl_array_len(vma_names); i++)
		if (!sl_setting_find(vma_names[i]))
			fail_msg("VMA_%s is not known", vma_names[i]);
}

static void test_table_is_sound(void **state)
{
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		const struct sl_setting *s = &sl_setting_table[i];
		struct sl_settings set = defaults;
		char text[300], why[300];

		if (s->type == SL_TYPE_STR) {
			assert_true((int64_t)strlen(s->def_str) <= s->max);
		} else {
			assert_true(s->def >= s->min && s->def <= s->max);
			snprintf(text, sizeof(text), "%lld", (long long)s->def);
			assert_int_equal(sl_setting_parse(s, text, &set, why, sizeof(why)), 0);
		}
		assert_true(s->title[0] && s->help[0] && s->help[strlen(s->help) - 1] == '.');
		assert_ptr_equal(sl_setting_find(s->field), s);
	}
}

static int setup(void **state)
{
	defaults = sl_settings;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_alias_and_precedence),
		cmocka_unit_test(test_wrong_values_keep_the_default),
		cmocka_unit_test(test_names_that_are_none),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_ring_sets_both_directions),
		cmocka_unit_test(test_preset_yields_to_what_is_given),
		cmocka_unit_test(test_presets_have_the_numbers_of_vma),
		cmocka_unit_test(test_presets_are_those_of_vma),
		cmocka_unit_test(test_high_level_raises_details_and_shows_all),
		cmocka_unit_test(test_banner_has_the_time),
		cmocka_unit_test(test_changed_settings_are_shown),
		cmocka_unit_test(test_without_effect_says_so),
		cmocka_unit_test(test_every_vma_name_is_taken),
		cmocka_unit_test(test_table_is_sound),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
