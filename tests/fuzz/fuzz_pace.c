/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the words of `sluice pace set`, `unset` and `show` (lines of the input). No device
 * and no map is there; a rule that reaches them reads back the same. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "ctl/rules/conf.h"
#include "ctl/rules/pace_rule.h"
#include "tools/pace.h"
#include "tools/tools.h"

#define WORDS 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_device(const char *device)
{
	if (!*device || strchr(device, '/'))
		abort();
	return 0;
}

int sl_pace_map_set(const char *device, const struct sl_pace_rule *r)
{
	char text[SL_PACE_TEXT_MAX], again[SL_PACE_TEXT_MAX];
	struct sl_conf_error err;
	struct sl_pace_rule copy;

	sl_pace_rule_text(r, text);
	if (!r->rate_kbps || sl_conf_pace(text, strlen(text), &copy, &err) ||
	    !sl_pace_rule_is_for_same(r, &copy) || strcmp(text, sl_pace_rule_text(&copy, again)))
		abort();
	return check_device(device);
}

int sl_pace_map_unset(const char *device, const struct sl_pace_rule *r)
{
	return r->rate_kbps ? check_device(device) : -ENOENT;
}

int sl_pace_map_clear(const char *device)
{
	return check_device(device);
}

int sl_pace_map_print(const char *device)
{
	return check_device(device);
}

int sl_pace_nic_rate(const char *device, unsigned queue, unsigned mbps)
{
	if (queue > 4095)
		abort();
	return mbps ? check_device(device) : -ERANGE;
}

int sl_pace_nic_queue_of_cpu(const char *device, unsigned cpu, unsigned *queue)
{
	*queue = cpu;
	return check_device(device);
}

int sl_pace_nic_flow(const char *device, unsigned queue, uint32_t addr, uint16_t port)
{
	(void)addr;
	(void)port;
	return queue ? check_device(device) : -ENOENT;
}

bool sl_pace_nic_has_flows(const char *device)
{
	return check_device(device) == 0;
}

int sl_pace_nic_find(const char *device, uint32_t addr, uint16_t port, unsigned *queue)
{
	*queue = (addr ^ port) & 1;
	return port & 2 ? -ENOENT : check_device(device);
}

unsigned sl_pace_nic_print(const char *device)
{
	return (unsigned)check_device(device);
}

unsigned sl_pins_list(char names[][64], unsigned max)
{
	if (!max)
		abort();
	strcpy(names[0], "eth0");
	return 1;
}

bool sl_pins_hidden(const char *tool)
{
	(void)tool;
	return false;
}

bool sl_tool_number(const char *text, long lo, long hi, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	*out = (int)v;
	return *text && !*end && v >= lo && v <= hi;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const commands[] = {"set", "unset", "show"};
	char *argv[WORDS + 1], *text, *p;
	int argc = 1;

	if (!size)
		return 0;
	argv[0] = commands[*data++ % sl_array_len(commands)];
	size--;
	p = text = fuzz_text(&data, &size);
	while (argc < WORDS && (argv[argc] = strsep(&p, "\n")))
		argc++;
	argv[argc] = NULL;
	/* getopt(3) begins anew, and forgets where it was. */
	optind = 0;
	(void)getopt(1, argv, "");
	(void)sl_pace_change(argc, argv);
	free(text);
	return 0;
}
