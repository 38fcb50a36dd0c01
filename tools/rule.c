/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice rule: lists, tests and changes rules, in a file or in the pinned maps of running programs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "ctl/kern/libbpf.h"
#include "ctl/rules/conf.h"
#include "ctl/steer/pin.h"
#include "ctl/rules/rule.h"
#include "rule_save.h"
#include "tools.h"

static const char help[] =
	"usage: sluice rule list [--device NAME | --file FILE]\n"
	"       sluice rule test [--device NAME | --file FILE] [--program NAME] [--id ID]\n"
	"                        ROLE ADDR:PORT[:LOCAL-ADDR:PORT] [vni N]\n"
	"       sluice rule add  [--device NAME] [--at N] [--program GLOB] [--id ID] use ...\n"
	"       sluice rule del  [--device NAME] N\n"
	"       sluice rule save [--device NAME | --file FILE] FILE\n"
	"\n"
	"  -d, --device NAME   the rules of that device\n"
	"  -f, --file FILE     those of a configuration file\n"
	"  -p, --program GLOB  the rule is for programs of that name; test: the program's name\n"
	"  -i, --id ID         the same of the application id\n"
	"  -a, --at N          the place of the new rule\n"
	"\n"
	"Without --device or --file all offloaded devices are meant; `list` and `test` take the\n"
	"configuration file when there are none. A rule is written as in sluice.conf(5); a new one\n"
	"goes to the top, or to place N. Changes hold at once, for sockets that are decided later\n"
	"and, within a second, for all others, until the last program has left the device.\n"
	"`save` writes the rules of one device as a configuration file (-: to standard output).\n";

struct options {
	const char *device, *file, *program, *id;
	int at;
};

static struct sl_rule rules[SL_MAX_RULES + 1];
static char source[64]; /* where they come from */
static bool quiet;      /* standard output is not for us */

static int wrong_rule_usage(const char *what)
{
	fprintf(stderr, "sluice rule: %s\n", what);
	return 2;
}

static int usage_error(void)
{
	fputs(help, stderr);
	return 2;
}

static int read_map(int fd)
{
	for (__u32 i = 0; i <= SL_MAX_RULES; i++)
		if (bpf_map_lookup_elem(fd, &i, &rules[i]))
			return -errno;
	return 0;
}

static void print_rule(unsigned number, const struct sl_rule *r)
{
	char text[SL_RULE_TEXT_MAX];

	printf("%4u  %s", number, sl_rule_text(r, text));
	if (r->program[0])
		printf("  program %.*s", SL_RULE_NAME, r->program);
	if (r->app_id[0])
		printf("  id %.*s", SL_RULE_NAME, r->app_id);
	if (r->line)
		printf("  (line %u)", r->line);
	if (r->hits)
		printf("  %u hits", r->hits);
	putchar('\n');
}

static void print_rules(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SL_MAX_RULES; i++)
		if (rules[i].action != SL_RULE_NONE) {
			print_rule(i + 1, &rules[i]);
			n++;
		}
	puts(n ? "      (what no rule matches is offloaded)"
	       : "      (no rules: all is offloaded)");
}

static void print_error(void *arg, const struct sl_conf_error *e)
{
	const char *const *path = arg;

	fprintf(stderr, "%s:%u:%u: expected %s, found %s%s%s\n", *path, e->line, e->col,
		e->expected, e->found[0] ? "'" : "", e->found[0] ? e->found : "the end of the line",
		e->found[0] ? "'" : "");
}

static void say_source(const char *what)
{
	snprintf(source, sizeof(source), "%.63s", what);
	if (!quiet)
		printf("%s:\n", source);
}

/* Loads the rules of a file; NULL: of the configuration file. 0 or an exit status. */
static int load_file(const char *file)
{
	static struct sl_conf conf;
	const struct sl_rule *r = conf.rules;
	unsigned n;
	int wrong_lines = 0;

	memset(rules, 0, sizeof(rules));
	if (file) {
		wrong_lines = sl_conf_read(file, &conf, print_error, &file);
		if (wrong_lines < 0) {
			fprintf(stderr, "sluice rule: %s: %s\n", file, strerror(-wrong_lines));
			return 1;
		}
		n = conf.n;
	} else {
		if (sl_rules_load() < 0)
			return 1;
		r = sl_rules(&n);
		file = sl_rules_file();
	}
	memcpy(rules, r, n * sizeof(*r));
	say_source(file[0] ? file : "no configuration file");
	return wrong_lines ? 1 : 0;
}

static int load_device(const char *device)
{
	int fd = sl_pins_open(device, "rules"), err;

	if (fd < 0) {
		fprintf(stderr, "sluice rule: %s: %s\n", device,
			fd == -ENOENT ? "no program has it offloaded, or its maps are not pinned"
				      : strerror(-fd));
		return 1;
	}
	err = read_map(fd);
	close(fd);
	say_source(device);
	return err ? 1 : 0;
}

/* Loads each source that the options name and calls fn on it. Returns the worst exit status. */
static int for_each_source(const struct options *o, int (*fn)(void *arg), void *arg)
{
	char names[64][64];
	unsigned n = 0;
	int worst = 0;

	if (!o->file && !o->device)
		n = sl_pins_list(names, 64);
	else if (o->device)
		snprintf(names[n++], 64, "%.63s", o->device);
	if (!n && !o->file && sl_pins_hidden("rule"))
		return 1;
	if (!n) {
		int status = load_file(o->file), s = fn(arg);

		return sl_max(status, s);
	}
	for (unsigned i = 0; i < n; i++) {
		int status = load_device(names[i]);

		if (!status)
			status = fn(arg);
		worst = sl_max(worst, status);
	}
	return worst;
}

static int list_rules(void *arg)
{
	print_rules();
	return 0;
}

/* Prints the rule that decides a question, which is parsed as the rule that matches just this. */
static int test(void *arg)
{
	const struct sl_rule *q = arg, *hit;
	struct sl_addr first, second;
	struct sl_rule_ask ask = {
		.role = q->roles,
		.first = &first,
		.first_port = q->first.port_min,
		.second = q->second.prefix_len ? &second : NULL,
		.second_port = q->second.port_min,
		.vni_after = q->match & SL_RULE_VNI ? q->vni + 1 : 0,
	};
	enum sl_rule_action action;

	memcpy(first.b, q->first.addr, 16);
	memcpy(second.b, q->second.addr, 16);
	action = sl_rule_decide(rules, SL_MAX_RULES, &ask, &hit);
	if (action == SL_RULE_NONE) {
		printf("  that depends on the local port\n");
		return 0;
	}
	printf("  %s", action == SL_RULE_OS ? "os" : "sluice");
	if (hit) {
		printf(", by\n");
		print_rule((unsigned)(hit - rules) + 1, hit);
	} else {
		printf(", by no rule\n");
	}
	return 0;
}

static int cmd_test(const struct options *o, int argc, char **argv)
{
	struct sl_conf_error err;
	struct sl_rule question;
	char line[256];

	bool of_vxlan = argc == 4 && !strcmp(argv[2], "vni");

	if (argc != 2 && !of_vxlan)
		return usage_error();
	snprintf(line, sizeof(line), "use os %s %s %s %s", argv[0], argv[1],
		 of_vxlan ? argv[2] : "", of_vxlan ? argv[3] : "");
	if (sl_conf_rule(line, strlen(line), &question, &err)) {
		fprintf(stderr, "sluice rule: expected %s, found '%s'\n", err.expected, err.found);
		return 2;
	}
	if (question.roles & (question.roles - 1))
		return wrong_rule_usage("test takes one role");
	if (question.first.port_min != question.first.port_max)
		return wrong_rule_usage("test takes one port, not a range");
	sl_rule_set_identity(o->program ? o->program : "",
			     o->id ? o->id : sl_settings.application_id);
	return for_each_source(o, test, &question);
}

/* Writes entries lo..hi and raises the generation, so that processes look again. From the end: when
 * rules move down, each is in the map twice for a moment, never missing. */
static int write_map(int fd, unsigned lo, unsigned hi)
{
	for (__u32 i = hi + 1; i-- > lo;)
		if (bpf_map_update_elem(fd, &i, &rules[i], BPF_ANY))
			return -errno;
	return 0;
}

static int raise_generation(int fd)
{
	__u32 last = SL_MAX_RULES, n = SL_MAX_RULES;

	while (n && rules[n - 1].action == SL_RULE_NONE)
		n--;
	rules[last].hits = n;
	rules[last].line++;
	return bpf_map_update_elem(fd, &last, &rules[last], BPF_ANY) ? -errno : 0;
}

static int add_to(int fd, unsigned at, const struct sl_rule *r)
{
	unsigned free_at = at;
	int err;

	while (free_at < SL_MAX_RULES && rules[free_at].action != SL_RULE_NONE)
		free_at++;
	if (free_at == SL_MAX_RULES)
		return -ENOSPC;
	memmove(&rules[at + 1], &rules[at], (free_at - at) * sizeof(rules[0]));
	rules[at] = *r;
	err = write_map(fd, at, free_at);
	return err ? err : raise_generation(fd);
}

static int del_from(int fd, unsigned at)
{
	int err;

	if (rules[at].action == SL_RULE_NONE)
		return -ENOENT;
	memset(&rules[at], 0, sizeof(rules[at]));
	err = write_map(fd, at, at);
	return err ? err : raise_generation(fd);
}

/* Adds r, or deletes if it is NULL, on each device that the options name. */
static int change_rules(const struct options *o, unsigned at, const struct sl_rule *r)
{
	char names[64][64];
	unsigned n = 0;
	int worst = 0;

	if (o->device)
		snprintf(names[n++], 64, "%.63s", o->device);
	else
		n = sl_pins_list(names, 64);
	if (!n && sl_pins_hidden("rule"))
		return 1;
	if (!n) {
		fprintf(stderr,
			"sluice rule: no offloaded device has pinned maps below " SL_PIN_ROOT "\n");
		return 1;
	}
	for (unsigned i = 0; i < n; i++) {
		int fd = sl_pins_open(names[i], "rules"), err = fd;

		if (fd >= 0) {
			err = read_map(fd);
			if (!err)
				err = r ? add_to(fd, at, r) : del_from(fd, at);
			close(fd);
		}
		if (err)
			fprintf(stderr, "sluice rule: %s: %s\n", names[i],
				err == -ENOENT   ? "there is no such rule, or no such device"
				: err == -ENOSPC ? "there is no room for another rule"
						 : strerror(-err));
		worst |= err != 0;
	}
	return worst;
}

static int copy_name(char dst[SL_RULE_NAME], const char *src)
{
	size_t bytes = src ? strlen(src) + 1 : 0;

	if (!src || !strcmp(src, "*"))
		return 0;
	if (bytes > SL_RULE_NAME)
		return -1;
	memcpy(dst, src, bytes);
	return 0;
}

static int cmd_add(const struct options *o, int argc, char **argv)
{
	struct sl_conf_error err;
	struct sl_rule r;
	char line[512] = "";
	size_t n = 0;

	for (int i = 0; i < argc && n < sizeof(line) - 1; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	if (sl_conf_rule(line, strlen(line), &r, &err)) {
		fprintf(stderr, "sluice rule: %s\n             %*s^ expected %s\n", line,
			(int)err.col - 1, "", err.expected);
		return 2;
	}
	r.line = 0;
	if (copy_name(r.program, o->program) || copy_name(r.app_id, o->id))
		return wrong_rule_usage("a name has at most 127 characters");
	return change_rules(o, (unsigned)o->at - 1, &r);
}

static int cmd_del(const struct options *o, int argc, char **argv)
{
	int at;

	if (argc != 1)
		return usage_error();
	if (!sl_tool_number(argv[0], 1, SL_MAX_RULES, &at))
		return wrong_rule_usage(
			"expected the number of a rule, as `sluice rule list` prints it");
	return change_rules(o, (unsigned)at - 1, NULL);
}

static int save(void *arg)
{
	const char *path = arg;
	int err = sl_rule_save(path, rules, SL_MAX_RULES, source);

	if (err)
		fprintf(stderr, "sluice rule: %s: %s\n", path, strerror(-err));
	return err != 0;
}

static int cmd_save(const struct options *o, int argc, char **argv)
{
	char names[2][64];

	if (argc != 1)
		return usage_error();
	if (!o->device && !o->file && sl_pins_list(names, 2) > 1)
		return wrong_rule_usage("several devices are offloaded: save wants --device");
	quiet = true;
	return for_each_source(o, save, argv[0]);
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'},
		{"file", required_argument, NULL, 'f'},
		{"program", required_argument, NULL, 'p'},
		{"id", required_argument, NULL, 'i'},
		{"at", required_argument, NULL, 'a'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+d:f:p:i:a:h", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case 'f':
			o->file = optarg;
			break;
		case 'p':
			o->program = optarg;
			break;
		case 'i':
			o->id = optarg;
			break;
		case 'a':
			if (!sl_tool_number(optarg, 1, SL_MAX_RULES, &o->at))
				return wrong_rule_usage("--at wants a place from 1 to 512");
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (o->device && (strchr(o->device, '/') || strlen(o->device) > 63))
		return wrong_rule_usage("--device wants the name of a device");
	return -1;
}

int sl_tool_rule(int argc, char **argv)
{
	struct options o = {.at = 1};
	const char *command = argc > 1 ? argv[1] : "";
	int status;

	if (!strcmp(command, "--help") || !strcmp(command, "-h")) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 2)
		return usage_error();
	status = parse_options(argc - 1, argv + 1, &o);
	if (status >= 0)
		return status;
	sl_settings_load(NULL);
	argc -= 1 + optind;
	argv += 1 + optind;
	if (!strcmp(command, "list"))
		return argc ? usage_error() : for_each_source(&o, list_rules, NULL);
	if (!strcmp(command, "test"))
		return cmd_test(&o, argc, argv);
	if (!strcmp(command, "add"))
		return cmd_add(&o, argc, argv);
	if (!strcmp(command, "del"))
		return cmd_del(&o, argc, argv);
	if (!strcmp(command, "save"))
		return cmd_save(&o, argc, argv);
	return usage_error();
}
