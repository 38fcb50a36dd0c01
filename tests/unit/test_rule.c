/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluation of rules: first match, roles, prefixes, programs, and entries that make no sense. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"

static struct sl_conf conf;

static void use(const char *text)
{
	assert_int_equal(sl_conf_parse(text, strlen(text), &conf, NULL, NULL), 0);
}

static struct sl_addr addr(const char *text)
{
	struct sl_addr a;
	uint32_t v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return sl_addr_v4(v4);
	assert_int_equal(inet_pton(AF_INET6, text, &a.in6), 1);
	return a;
}

/* Line that decided; 0: none. The action must be what that line says. */
static unsigned hit(uint32_t role, const char *first, uint16_t fport, const char *second,
		    uint16_t sport)
{
	struct sl_addr a = addr(first), b;
	const struct sl_rule *r = (void *)1;
	enum sl_rule_action action;

	if (second)
		b = addr(second);
	action = sl_rule_decide(
		conf.rules, conf.n,
		&(struct sl_rule_ask){role, &a, fport, second ? &b : NULL, sport, 0}, &r);
	assert_int_equal(action, r ? r->action : SL_RULE_SLUICE);
	return r ? r->line : 0;
}

static void test_vni(void **state)
{
	struct sl_addr a = addr("10.0.0.1");
	struct sl_rule_ask ask = {SL_ROLE_UDP_RECEIVER, &a, 53, NULL, 0, 0};
	const struct sl_rule *r;

	use("use os udp_receiver *:53 vni 42\n"
	    "use os udp_receiver *:53 vni 0\n");
	sl_rule_decide(conf.rules, conf.n, &ask, &r);
	assert_null(r); /* no VXLAN device */
	for (uint32_t vni = 0; vni < 44; vni++) {
		ask.vni_after = vni + 1;
		sl_rule_decide(conf.rules, conf.n, &ask, &r);
		assert_int_equal(r ? r->line : 0, vni == 42 ? 1 : vni == 0 ? 2 : 0);
	}
}

static void test_first_match_wins(void **state)
{
	use("use sluice udp_receiver 10.0.0.1:5000\n"
	    "use os udp_receiver *:5000\n"
	    "use os udp_receiver 10.0.0.0/24:6000-6010\n");
	assert_int_equal(hit(SL_ROLE_UDP_RECEIVER, "10.0.0.1", 5000, NULL, 0), 1);
	assert_int_equal(hit(SL_ROLE_UDP_RECEIVER, "10.0.0.2", 5000, NULL, 0), 2);
	assert_int_equal(hit(SL_ROLE_UDP_RECEIVER, "10.0.0.255", 6010, NULL, 0), 3);
	assert_int_equal(hit(SL_ROLE_UDP_RECEIVER, "10.0.1.0", 6010, NULL, 0), 0);
	assert_int_equal(hit(SL_ROLE_UDP_RECEIVER, "10.0.0.9", 6011, NULL, 0), 0);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "10.0.0.1", 5000, NULL, 0), 0);
}

static void test_two_ends(void **state)
{
	use("use os udp_connect *:53\n"
	    "use os udp_connect 10.0.0.0/8:*:192.168.1.1:7\n");
	assert_int_equal(hit(SL_ROLE_UDP_CONNECT, "8.8.8.8", 53, "1.2.3.4", 9), 1);
	assert_int_equal(hit(SL_ROLE_UDP_CONNECT, "8.8.8.8", 53, NULL, 0), 1);
	assert_int_equal(hit(SL_ROLE_UDP_CONNECT, "10.8.8.8", 1, "192.168.1.1", 7), 2);
	assert_int_equal(hit(SL_ROLE_UDP_CONNECT, "10.8.8.8", 1, "192.168.1.1", 8), 0);
	assert_int_equal(hit(SL_ROLE_UDP_CONNECT, "10.8.8.8", 1, NULL, 0), 0);
}

/* A local port that is not chosen yet: a rule for some ports leaves it open, one for all does not.
 */
static void test_port_not_chosen(void **state)
{
	const struct sl_addr a = addr("10.0.0.1"), b = addr("10.0.0.2");
	const struct sl_rule *r;

	use("use os tcp_client *:*:10.0.0.9:1-1023\n"
	    "use sluice tcp_client *:80:*:*\n"
	    "use sluice tcp_client *:*:*:40000-50000\n"
	    "use os tcp_client *:*\n");
	assert_int_equal(hit(SL_ROLE_TCP_CLIENT, "10.0.0.1", 80, "10.0.0.2", 0), 2);
	assert_int_equal(sl_rule_decide(conf.rules, conf.n,
					&(struct sl_rule_ask){SL_ROLE_TCP_CLIENT, &a, 81, &b, 0, 0},
					&r),
			 SL_RULE_NONE);
	assert_null(r);
	assert_int_equal(hit(SL_ROLE_TCP_CLIENT, "10.0.0.1", 81, "10.0.0.2", 40000), 3);
	assert_int_equal(hit(SL_ROLE_TCP_CLIENT, "10.0.0.1", 81, "10.0.0.2", 39999), 4);
	use("use os tcp_client *:*:*:1-65535\n");
	assert_int_equal(hit(SL_ROLE_TCP_CLIENT, "10.0.0.1", 81, "10.0.0.2", 0), 1);
}

static void test_families(void **state)
{
	use("use os udp_sender 0.0.0.0/0:1\nuse os udp_sender [2001:db8::]/33:*\n"
	    "use os udp_sender *:2\n");
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "9.9.9.9", 1, NULL, 0), 1);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "::9", 1, NULL, 0), 0);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "2001:db8:7fff::1", 1, NULL, 0), 2);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "2001:db8:8000::1", 1, NULL, 0), 0);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "::9", 2, NULL, 0), 3);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "9.9.9.9", 2, NULL, 0), 3);
}

static void test_program_and_id(void **state)
{
	use("application-id t?cp *\nuse os udp_sender *:*\napplication-id * B1\n"
	    "use os udp_sender *:*\n");
	sl_rule_set_identity("ttcp", "VMA_DEFAULT_APPLICATION_ID");
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 2);
	sl_rule_set_identity("tcp", "VMA_DEFAULT_APPLICATION_ID");
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 0);
	sl_rule_set_identity("tcp", "B1");
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 4);
	sl_rule_set_identity(NULL, NULL);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 0);
}

static void test_own_identity_is_found(void **state)
{
	use("application-id test_rule* *\nuse os udp_sender *:*\n");
	sl_rule_init();
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 2);
}

static void test_rubbish_in_shared_memory(void **state)
{
	struct sl_rule rules[3];
	const struct sl_rule *r;
	struct sl_addr a = addr("1.2.3.4");
	const struct sl_rule_ask ask = {SL_ROLE_UDP_SENDER, &a, 1, NULL, 0, 0};
	char buf[SL_RULE_TEXT_MAX];

	memset(rules, 0xff, sizeof(rules)); /* action no one knows, texts that do not end */
	assert_int_equal(sl_rule_decide(rules, 3, &ask, &r), SL_RULE_SLUICE);
	assert_null(r);
	rules[1].action = SL_RULE_OS;
	assert_int_equal(sl_rule_decide(rules, 3, &ask, &r), SL_RULE_SLUICE);
	rules[2] = (struct sl_rule){
		.action = SL_RULE_OS, .roles = SL_ROLE_UDP_SENDER, .first = {.port_max = 65535}};
	assert_int_equal(sl_rule_decide(rules, 3, &ask, &r), SL_RULE_OS);
	assert_ptr_equal(r, &rules[2]);
	assert_true(strlen(sl_rule_text(&rules[0], buf)) < SL_RULE_TEXT_MAX);
}

static void test_long_names_decide(void **state)
{
	char name[128], text[1024];

	memset(name, 'p', 127);
	name[127] = 0;
	sprintf(text,
		"application-id %.126sX *\nuse os udp_sender *:*\n"
		"application-id %s %s\nuse os udp_sender *:*\n",
		name, name, name);
	use(text);
	sl_rule_set_identity(name, name);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 4);
	name[126] = 'q';
	sl_rule_set_identity(name, name);
	assert_int_equal(hit(SL_ROLE_UDP_SENDER, "1.1.1.1", 1, NULL, 0), 0);
	sl_rule_init();
}

/* The number is shared memory: any can stand there. */
static void test_entries_in_use(void **state)
{
	static struct sl_rule map[SL_MAX_RULES + 1];

	assert_int_equal(sl_rules_used(map), SL_RULES_SEEN);
	map[SL_MAX_RULES].hits = 300;
	assert_int_equal(sl_rules_used(map), 300);
	map[SL_MAX_RULES].hits = UINT32_MAX;
	assert_int_equal(sl_rules_used(map), SL_MAX_RULES);
}

static void test_glob(void **state)
{
	assert_true(sl_glob_match("*", ""));
	assert_true(sl_glob_match("db2*", "db2"));
	assert_true(sl_glob_match("*a*b", "xxaayyab"));
	assert_true(sl_glob_match("?", "x"));
	assert_false(sl_glob_match("?", ""));
	assert_false(sl_glob_match("", "x"));
	assert_false(sl_glob_match("*a", "ab"));
	/* Exponential in a naive matcher. */
	assert_false(sl_glob_match("*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void test_list_of_globs(void **state)
{
	assert_true(sl_globs_match("*", "eth0"));
	assert_true(sl_globs_match("eth0, eth1", "eth1"));
	assert_true(sl_globs_match("eth[0-3] mlx*", "eth2"));
	assert_false(sl_globs_match("eth[0-3] mlx*", "eth4"));
	assert_false(sl_globs_match("", "eth0"));
	assert_false(sl_globs_match("eth*,!eth1", "eth1"));
	assert_true(sl_globs_match("!eth1,eth*", "eth1")); /* the last one decides */
	assert_true(sl_globs_match("!docker*", "eth0"));
	assert_false(sl_globs_match("!docker*", "docker0"));
	assert_true(sl_globs_match("!", "eth0"));
	assert_false(sl_globs_match(", ,", "eth0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vni),
		cmocka_unit_test(test_first_match_wins),
		cmocka_unit_test(test_two_ends),
		cmocka_unit_test(test_port_not_chosen),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_program_and_id),
		cmocka_unit_test(test_own_identity_is_found),
		cmocka_unit_test(test_rubbish_in_shared_memory),
		cmocka_unit_test(test_long_names_decide),
		cmocka_unit_test(test_entries_in_use),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_list_of_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
