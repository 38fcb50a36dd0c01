/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration parser: libvma's own samples, wrong lines and where they are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/settings.h"
#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"

static struct sl_conf conf;
static struct sl_conf_error errors[64];
static unsigned nerrors;

static void note(void *arg, const struct sl_conf_error *e)
{
	if (nerrors < 64)
		errors[nerrors++] = *e;
}

static unsigned parse(const char *text)
{
	nerrors = 0;
	return sl_conf_parse(text, strlen(text), &conf, note, NULL);
}

static void assert_rule(unsigned i, const char *text)
{
	char buf[SL_RULE_TEXT_MAX];

	assert_true(i < conf.n);
	assert_string_equal(sl_rule_text(&conf.rules[i], buf), text);
}

static void test_manual_sample(void **state)
{
	/* VMA manual 4.1.3 */
	assert_int_equal(parse("application-id tcp-lat B1\n"
			       "use vma tcp_client 192.168.1.0/24:*:*:*\n"
			       "use os tcp_server *:5001\n"),
			 0);
	assert_int_equal(conf.n, 2);
	assert_rule(0, "use sluice tcp_client 192.168.1.0/24:*");
	assert_rule(1, "use os tcp_server *:5001");
	assert_string_equal(conf.rules[0].program, "tcp-lat");
	assert_string_equal(conf.rules[1].app_id, "B1");
	assert_int_equal(conf.rules[1].line, 3);
}

static void test_narrowed(void **state)
{
	assert_int_equal(
		parse("use sluice udp_receiver *:5000 dscp 46\n"
		      "use sluice tcp_server|udp_connect *:5000 flow-label 0xabcde/0xfffff\n"
		      "use sluice udp_receiver *:* flow-label 0x00c00/0xfff00 dscp 0x0a vni 42\n"
		      "use os * *:53 vni 0\n"
		      "use sluice udp_connect *:1:10.0.0.1:2 dscp 0 flow-label 17\n"),
		0);
	assert_rule(0, "use sluice udp_receiver *:5000 dscp 46");
	assert_rule(1, "use sluice tcp_server|udp_connect *:5000 flow-label 0xabcde/0xfffff");
	assert_rule(2, "use sluice udp_receiver *:* dscp 10 flow-label 0x00c00/0xfff00 vni 42");
	assert_rule(3, "use os * *:53 vni 0");
	assert_rule(4, "use sluice udp_connect *:1:10.0.0.1:2 dscp 0 flow-label 0x00011/0xfffff");
	assert_int_equal(conf.rules[0].narrow.mask.word, SL_MARKS_DSCP(63));
	assert_int_equal(conf.rules[1].narrow.mask.word, SL_MARKS_LABEL | SL_MARKS_V4);
	assert_int_equal(conf.rules[3].match, SL_RULE_VNI);
}

static void test_narrowed_wrongly(void **state)
{
	static const char *const lines[] = {
		"use sluice udp_receiver *:* dscp",
		"use sluice udp_receiver *:* dscp 64",
		"use sluice udp_receiver *:* dscp 0x",
		"use sluice udp_receiver *:* dscp 4x",
		"use sluice udp_receiver *:* flow-label 0x100000",
		"use sluice udp_receiver *:* flow-label 0xabcde/0",
		"use sluice udp_receiver *:* flow-label 0xabcde/0xfff",
		"use sluice udp_receiver *:* vni 16777216",
		"use sluice udp_receiver *:* tos 4",
		"use os udp_receiver *:* dscp 46", /* the rest would be sluice's */
		"use sluice * *:* dscp 46",
		"use sluice tcp_client *:* dscp 46",
		"use sluice udp_sender *:* flow-label 1",
	};

	for (unsigned i = 0; i < sl_array_len(lines); i++)
		assert_int_equal(parse(lines[i]), 1);
}

static void test_libvma_conf_as_shipped(void **state)
{
	static const char text[] =
		"# libvma.conf - libvma configuration file\n"
		"#\n"
		"# Comments start with # and cause the entire line after it to be ignored.\n"
		"\n"
		"\t# use os tcp_server *:*\r\n"
		"log min-level 9 destination file /tmp/libvma.log\n"
		"application-id * *\n"
		"use os udp_connect *:53\n"
		"use vma udp_sender 10.0.0.0/8:1000-2000\n"
		"use sdp tcp_client *:*:10.0.0.1:*   # the forebear's transports\n"
		"use sa udp_receiver 224.4.4.4:*\n"
		"use * tcp_server *:*\n";

	assert_int_equal(parse(text), 0);
	assert_int_equal(conf.n, 5);
	assert_string_equal(conf.log_file, "/tmp/libvma.log");
	assert_int_equal(conf.min_level, 9);
	assert_string_equal(conf.rules[0].program, "");
	assert_rule(0, "use os udp_connect *:53");
	assert_rule(1, "use sluice udp_sender 10.0.0.0/8:1000-2000");
	assert_rule(2, "use sluice tcp_client *:*:10.0.0.1:*");
	assert_rule(3, "use sluice udp_receiver 224.4.4.4:*");
	assert_rule(4, "use sluice tcp_server *:*");
}

static void test_extensions(void **state)
{
	assert_int_equal(parse("use os udp_sender|udp_connect [2001:db8::]/32:53\n"
			       "use sluice * [fe80::1/64]:1-5\n"
			       "USE OS * * : 7\n"
			       "use os udp_connect [::1]:*:[::]/0:7\n"
			       "use os * 0.0.0.0/0:*\n"),
			 0);
	assert_rule(0, "use os udp_sender|udp_connect [2001:db8::]/32:53");
	assert_rule(1, "use sluice * [fe80::1]/64:1-5");
	assert_rule(2, "use os * *:7");
	assert_rule(3, "use os udp_connect [::1]:*:*:7");
	assert_rule(4, "use os * 0.0.0.0/0:*");
}

static void test_target_holds_for_what_follows(void **state)
{
	assert_int_equal(
		parse("use os tcp_server *:1\napplication-id db2* X\nuse os tcp_server *:2\n"
		      "application-id * *\nuse os tcp_server *:3"),
		0);
	assert_int_equal(conf.n, 3);
	assert_string_equal(conf.rules[0].program, "");
	assert_string_equal(conf.rules[1].program, "db2*");
	assert_string_equal(conf.rules[1].app_id, "X");
	assert_string_equal(conf.rules[2].program, "");
}

/* Lines that libvma's own grammar allows. */
static void test_lines_of_libvma(void **state)
{
	static const uint16_t order[] = {1, 3, 2, 4};

	assert_int_equal(parse("use vma tcp_server 10.0.0.1/64:5:1.2.3.4:7\n"
			       "use os udp_receiver|tcp_client *:1:1.2.3.4:7"),
			 0);
	assert_int_equal(conf.n, 2);
	assert_int_equal(conf.rules[0].first.prefix_len, 128);
	assert_int_equal(conf.rules[0].second.prefix_len, 0);
	assert_int_equal(conf.rules[0].second.port_max, 65535);
	assert_int_equal(conf.rules[1].second.port_max, 7);

	/* Rules for the same programs are tried together. */
	assert_int_equal(parse("application-id a X\nuse os tcp_server *:1\n"
			       "application-id b X\nuse os tcp_server *:2\n"
			       "application-id a X\nuse os tcp_server *:3\n"
			       "application-id a Y\nuse os tcp_server *:4"),
			 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(conf.rules[i].first.port_min, order[i]);

	assert_int_equal(parse("log destination ystderr\nlog destination yfile /x"), 0);
	assert_string_equal(conf.log_file, "/x");
	assert_int_equal(parse("log destination file /x\nlog destination syslog"), 0);
	assert_string_equal(conf.log_file, "syslog");
}

static void test_wrong_lines_are_placed_and_skipped(void **state)
{
	static const struct {
		const char *line;
		unsigned col;
		const char *expected; /* part of it */
		const char *found;
	} cases[] = {
		{"abuse os tcp_server *:1", 1, "use, pace, application-id or log", "abuse"},
		{"use", 4, "os, sluice or vma", ""},
		{"use kernel tcp_server *:1", 5, "os, sluice or vma", "kernel"},
		{"  use os tcp server *:5001", 10, "a role", "tcp"},
		{"use os udp_sender|x *:1", 19, "a role", "x"},
		{"use os udp_sender| *:1", 19, "a role", ""},
		{"use os tcp_server", 18, "an address", ""},
		{"use os tcp_server 1.2.3:4", 19, "an address", "1.2.3:4"},
		{"use os tcp_server 1.2.3.256:4", 19, "an address", "1.2.3.256:4"},
		{"use os tcp_server 1.2.3.4/1000:4", 27, "prefix length", "1000:4"},
		{"use os tcp_server 1.2.3.4/:4", 27, "prefix length", ":4"},
		{"use os tcp_server 1.2.3.4", 26, "':'", ""},
		{"use os tcp_server *:65536", 21, "a port", "65536"},
		{"use os tcp_server *:x", 21, "a port", "x"},
		{"use os tcp_server *:5-", 23, "a port", ""},
		{"use os tcp_server *:9-5", 24, "port range", ""},
		{"use os tcp_server *:5:*", 24, "':'", ""},
		{"use os tcp_client *:5:", 23, "an address", ""},
		{"use os tcp_client *:5:*:* x", 27, "the end of the line", "x"},
		{"use os tcp_server [::1:5", 25, "]", ""},
		{"use os tcp_server [zz]:5", 19, "IPv6", "[zz]:5"},
		{"use os tcp_server [::1/129]:5", 24, "prefix length", "129]:5"},
		{"application-id", 15, "program name", ""},
		{"application-id a", 17, "application id", ""},
		{"application-id a b c", 20, "the end", "c"},
		{"log somewhere", 5, "destination or min-level", "somewhere"},
		{"log destination disk", 17, "stderr, syslog or file", "disk"},
		{"log destination file", 21, "path", ""},
		{"log min-level x", 15, "level", "x"},
	};

	for (unsigned i = 0; i < sl_array_len(cases); i++) {
		char text[256];

		snprintf(text, sizeof(text), "# first\n%s\nuse os tcp_server *:1\n", cases[i].line);
		assert_int_equal(parse(text), 1);
		assert_int_equal(conf.n, 1);
		assert_int_equal(errors[0].line, 2);
		if (errors[0].col != cases[i].col ||
		    !strstr(errors[0].expected, cases[i].expected) ||
		    strcmp(errors[0].found, cases[i].found))
			fail_msg("'%s': column %u expected '%s' found '%s'", cases[i].line,
				 errors[0].col, errors[0].expected, errors[0].found);
	}
}

static void test_text_of_a_rule_parses_to_the_rule(void **state)
{
	static const char *const texts[] = {
		"use os tcp_server *:*",
		"use sluice tcp_client 10.1.2.3:80:192.168.0.0/16:1000-2000",
		"use os udp_connect *:53:[2001:db8::1]:5",
		"use sluice udp_sender|udp_receiver 224.0.0.0/4:0-9",
		"use os * [ff02::]/16:*",
	};

	for (unsigned i = 0; i < sl_array_len(texts); i++) {
		struct sl_rule a, b;
		struct sl_conf_error e;
		char buf[SL_RULE_TEXT_MAX];

		assert_int_equal(sl_conf_rule(texts[i], strlen(texts[i]), &a, &e), 0);
		assert_string_equal(sl_rule_text(&a, buf), texts[i]);
		assert_int_equal(sl_conf_rule(buf, strlen(buf), &b, &e), 0);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

/* Names of as many characters as a rule has room for, and of one more. */
static void test_long_names(void **state)
{
	char text[640], name[300];

	memset(name, 'n', sizeof(name));
	sprintf(text, "application-id %.127s i%.126s\nuse os tcp_server *:1\n", name, name);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(conf.rules[0].program), 127);
	assert_int_equal(strlen(conf.rules[0].app_id), 127);
	assert_memory_equal(conf.rules[0].program, name, 127);
	sprintf(text, "\napplication-id %.128s b", name);
	assert_int_equal(parse(text), 1);
	assert_int_equal(errors[0].line, 2);
	assert_int_equal(errors[0].col, 16);
	assert_string_equal(errors[0].expected, "a name of at most 127 characters");
	sprintf(text, "application-id b %.128s", name);
	assert_int_equal(parse(text), 1);
	assert_int_equal(errors[0].col, 18);
	/* Instances are told apart by the whole name. */
	sprintf(text,
		"application-id %.40sa *\nuse os * *:1\napplication-id %.40sb *\n"
		"use os * *:2\napplication-id %.40sa *\nuse os * *:3",
		name, name, name);
	assert_int_equal(parse(text), 0);
	assert_int_equal(conf.rules[1].first.port_min, 3);
}

static void test_too_many_rules(void **state)
{
	static char text[SL_MAX_RULES * 32 + 100];
	size_t n = 0;

	for (int i = 0; i < SL_MAX_RULES + 2; i++)
		n += (size_t)sprintf(text + n, "use os tcp_server *:%d\n", i + 1);
	assert_int_equal(parse(text), 2);
	assert_int_equal(conf.n, SL_MAX_RULES);
	assert_int_equal(errors[0].line, SL_MAX_RULES + 1);
	assert_string_equal(errors[0].expected, "no more than 512 rules");
}

static void test_binary_rubbish(void **state)
{
	static const char text[] =
		"use os tcp_server *:1\0\nuse\0os tcp_server *:1\n\xff\xfe\n"
		"use os tcp_server\0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx *:1\nuse os tcp_server *:2";

	assert_int_equal(sl_conf_parse(text, sizeof(text) - 1, &conf, note, NULL), 4);
	assert_int_equal(conf.n, 1);
}

static void test_file_is_found_and_read(void **state)
{
	char path[] = "/tmp/test_conf.XXXXXX";
	int fd = mkstemp(path);
	unsigned n;

	assert_true(fd >= 0);
	dprintf(fd, "use os udp_sender *:7\nnonsense\n");
	close(fd);
	snprintf(sl_settings.config_file, sizeof(sl_settings.config_file), "%s", path);
	assert_int_equal(sl_rules_load(), 1); /* the wrong line is skipped */
	unlink(path);
	assert_int_equal(sl_rules(&n)->first.port_min, 7);
	assert_int_equal(n, 1);
	assert_string_equal(sl_rules_file(), path);
	assert_true(sl_rules_load() < 0); /* it is gone, and was asked for by name */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual_sample),
		cmocka_unit_test(test_narrowed),
		cmocka_unit_test(test_narrowed_wrongly),
		cmocka_unit_test(test_libvma_conf_as_shipped),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_target_holds_for_what_follows),
		cmocka_unit_test(test_lines_of_libvma),
		cmocka_unit_test(test_wrong_lines_are_placed_and_skipped),
		cmocka_unit_test(test_text_of_a_rule_parses_to_the_rule),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_too_many_rules),
		cmocka_unit_test(test_binary_rubbish),
		cmocka_unit_test(test_file_is_found_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
