/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of destinations: lines, precedence, text. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/rules/conf.h"
#include "ctl/rules/pace_rule.h"

static struct sl_pace_rule read_line(const char *line)
{
	struct sl_conf_error err = {0};
	struct sl_pace_rule r;

	if (sl_conf_pace(line, strlen(line), &r, &err))
		fail_msg("%s: column %u: expected %s", line, err.col, err.expected);
	return r;
}

static void lines(void **state)
{
	static const char *const good[][2] = {
		{"192.0.2.1:5001 300", "192.0.2.1:5001 300mbit"},
		{"192.0.2.0/24:* 10gbit burst 9000", "192.0.2.0/24:* 10gbit burst 9000"},
		{"[2001:db8::1]:80 64KBIT", "[2001:db8::1]:80 64kbit"},
		{"[2001:db8::/32]:* 1500kbit", "[2001:db8::]/32:* 1500kbit"},
		{"*:53 1mbit", "*:53 1mbit"},
		{"*:* 2000mbit", "*:* 2gbit"},
		{"192.0.2.77/26:* 1mbit", "192.0.2.64/26:* 1mbit"},
		{"192.0.2.1/0:* 1mbit", "0.0.0.0/0:* 1mbit"},
		{"[2001:db8::1]/0:12 3kbit", "*:12 3kbit"},
		{"[2001:db8:8000::1]/33:* 1gbit", "[2001:db8:8000::]/33:* 1gbit"},
	};
	static const char *const wrong[] = {
		"",
		"192.0.2.1 300",
		"192.0.2.1:5001",
		"192.0.2.1:5001 0",
		"192.0.2.1:5001 1.5mbit",
		"192.0.2.1:5001 3mbits",
		"192.0.2.1:1-2 300",
		"192.0.2.1:5001 300 burst",
		"192.0.2.1:5001 300 now",
	};
	char text[SL_PACE_TEXT_MAX];

	for (unsigned i = 0; i < sl_array_len(good); i++) {
		struct sl_pace_rule r = read_line(good[i][0]), again;

		assert_string_equal(sl_pace_rule_text(&r, text), good[i][1]);
		again = read_line(text);
		assert_memory_equal(&r, &again, sizeof(r));
	}
	for (unsigned i = 0; i < sl_array_len(wrong); i++) {
		struct sl_conf_error err = {0};
		struct sl_pace_rule r;

		assert_int_not_equal(sl_conf_pace(wrong[i], strlen(wrong[i]), &r, &err), 0);
		assert_true(err.expected[0]);
	}
}

static uint64_t rate_of(const struct sl_pace_rule *r, unsigned n, const char *addr, uint16_t port)
{
	const struct sl_pace_rule *found;
	struct sl_addr a;
	__be32 v4;

	if (inet_pton(AF_INET, addr, &v4) == 1)
		a = sl_addr_v4(v4);
	else
		assert_int_equal(inet_pton(AF_INET6, addr, a.b), 1);
	found = sl_pace_rule_find(r, n, &a, port);
	return found ? found->rate_kbps / 1000 : 0;
}

static void precedence(void **state)
{
	struct sl_pace_rule r[] = {
		read_line("*:* 1"),
		read_line("*:80 2"),
		read_line("10.0.0.0/8:* 3"),
		read_line("10.1.0.0/16:* 4"),
		read_line("10.0.0.0/8:80 5"),
		read_line("10.1.0.0/16:80 6"),
		read_line("10.1.0.0/16:80 7"),
		{.rate_kbps = 0},
	};
	unsigned n = sl_array_len(r);

	assert_int_equal(rate_of(r, n, "192.0.2.1", 1), 1);
	assert_int_equal(rate_of(r, n, "2001:db8::1", 1), 1);
	assert_int_equal(rate_of(r, n, "192.0.2.1", 80), 2);
	assert_int_equal(rate_of(r, n, "10.2.0.1", 1), 3);
	assert_int_equal(rate_of(r, n, "10.1.0.1", 1), 4);
	assert_int_equal(rate_of(r, n, "10.2.0.1", 80), 5);
	assert_int_equal(rate_of(r, n, "10.1.0.1", 80), 6);
	assert_int_equal(rate_of(r + 1, n - 1, "192.0.2.1", 1), 0);
	/* An address alone comes before a port alone, and after both. */
	r[4].rate_kbps = r[5].rate_kbps = r[6].rate_kbps = 0;
	assert_int_equal(rate_of(r, n, "10.2.0.1", 80), 3);
}

/* bpftool may write any bytes. */
static void senseless_entries(void **state)
{
	struct sl_pace_rule r = {.prefix_len = UINT32_MAX, .rate_kbps = 7000};
	char text[SL_PACE_TEXT_MAX];

	assert_int_equal(rate_of(&r, 1, "10.0.0.1", 1), 0);
	assert_int_equal(rate_of(&r, 1, "::", 1), 7);
	assert_non_null(sl_pace_rule_text(&r, text));
}

static void in_the_file(void **state)
{
	static const char text[] = "use os udp_connect *:53\npace 10.0.0.1:5 3\npace x\n# pace\n"
				   "application-id a b\npace *:* 4gbit burst 1\n";
	static struct sl_conf conf;

	assert_int_equal(sl_conf_parse(text, strlen(text), &conf, NULL, NULL), 1);
	assert_int_equal(conf.n, 1);
	assert_int_equal(conf.npaces, 2);
	assert_int_equal(conf.paces[0].line, 2);
	assert_int_equal(conf.paces[0].rate_kbps, 3000);
	assert_int_equal(conf.paces[1].burst_bytes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(precedence),
		cmocka_unit_test(senseless_entries),
		cmocka_unit_test(in_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
