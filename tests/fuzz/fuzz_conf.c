/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the configuration parser takes any bytes; its result reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "ctl/rules/conf.h"
#include "ctl/rules/pace_rule.h"
#include "ctl/rules/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(void *arg, const struct sl_conf_error *e)
{
	if (!e->line || !e->col || !e->expected[0])
		abort();
}

static void check_pace(const struct sl_pace_rule *pace)
{
	char text[SL_PACE_TEXT_MAX], again[SL_PACE_TEXT_MAX];
	struct sl_conf_error err;
	struct sl_pace_rule r;

	sl_pace_rule_text(pace, text);
	if (sl_conf_pace(text, strlen(text), &r, &err))
		abort();
	if (r.rate_kbps != pace->rate_kbps || strcmp(text, sl_pace_rule_text(&r, again)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sl_conf conf;
	struct sl_addr a;
	const struct sl_rule *hit;

	sl_conf_parse((const char *)data, size, &conf, check_error, NULL);
	memset(&a, 0, sizeof(a));
	memcpy(a.b, data, size < sizeof(a) ? size : sizeof(a));
	for (unsigned i = 0; i < conf.n; i++) {
		char text[SL_RULE_TEXT_MAX], again[SL_RULE_TEXT_MAX];
		struct sl_conf_error err;
		struct sl_rule r;

		sl_rule_text(&conf.rules[i], text);
		if (sl_conf_rule(text, strlen(text), &r, &err))
			abort();
		if (strcmp(text, sl_rule_text(&r, again)))
			abort();
	}
	for (unsigned i = 0; i < conf.npaces; i++)
		check_pace(&conf.paces[i]);
	if (conf.npaces &&
	    sl_pace_rule_find(conf.paces, conf.npaces, &a, 1) >= conf.paces + conf.npaces)
		abort();
	sl_rule_decide(conf.rules, conf.n,
		       &(struct sl_rule_ask){SL_ROLE_UDP_CONNECT, &a, 1, &a, 2, 0}, &hit);
	if (hit && (hit < conf.rules || hit >= conf.rules + conf.n))
		abort();
	return 0;
}
