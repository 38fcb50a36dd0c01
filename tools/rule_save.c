/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rules as sluice.conf(5), so that they outlive the programs.
 *
 * The file puts rules of the same programs together. An order in which those of others stand in
 * between cannot be written, nor can an id with a blank. */
#include "rule_save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/rules/rule.h"

/* A blank ends a word of the file, and # the line. In a glob ? stands for both. */
static bool is_a_word(const char name[SL_RULE_NAME])
{
	for (unsigned i = 0; i < SL_RULE_NAME && name[i]; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == '#')
			return false;
	return true;
}

static void put_programs(FILE *f, const struct sl_rule *r)
{
	char program[SL_RULE_NAME + 1];

	snprintf(program, sizeof(program), "%.*s", SL_RULE_NAME, r->program);
	for (char *c = program; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == '#')
			*c = '?';
	fprintf(f, "application-id %s %.*s\n", program[0] ? program : "*", SL_RULE_NAME,
		r->app_id[0] ? r->app_id : "*");
}

/* True: an earlier rule is for the same programs. (Those for all programs, above all others, are
 * not joined by later ones.) */
static bool was_before(const struct sl_rule *rules, unsigned i)
{
	bool named = false;

	for (unsigned k = 0; k < i; k++) {
		named |= rules[k].program[0] || rules[k].app_id[0];
		if (!named)
			continue;
		if (rules[k].action != SL_RULE_NONE && sl_rule_is_for_same(&rules[k], &rules[i]))
			return true;
	}
	return false;
}

static void put_rule(FILE *f, const struct sl_rule *rules, unsigned i, const struct sl_rule **last)
{
	char text[SL_RULE_TEXT_MAX];

	if (!is_a_word(rules[i].app_id)) {
		fprintf(stderr, "sluice rule: rule %u is left out: its id has a blank or a #\n",
			i + 1);
		return;
	}
	if (!sl_rule_is_for_same(&rules[i], *last)) {
		if (was_before(rules, i))
			fprintf(stderr,
				"sluice rule: rule %u will stand in front of others that are in "
				"front of it now\n",
				i + 1);
		put_programs(f, &rules[i]);
	}
	fprintf(f, "%s\n", sl_rule_text(&rules[i], text));
	*last = &rules[i];
}

static void put_rules(FILE *f, const struct sl_rule *rules, unsigned n)
{
	static const struct sl_rule all;
	const struct sl_rule *last = &all;

	for (unsigned i = 0; i < n; i++)
		if (rules[i].action != SL_RULE_NONE)
			put_rule(f, rules, i, &last);
}

static int write_all(FILE *f, const struct sl_rule *rules, unsigned n, const char *from)
{
	fprintf(f, "# sluice.conf(5), saved from %s\n", from);
	put_rules(f, rules, n);
	return fflush(f) || ferror(f) ? -EIO : 0;
}

int sl_rule_save(const char *path, const struct sl_rule *rules, unsigned n, const char *from)
{
	char name[4096];
	int fd, err;
	FILE *f;

	if (!strcmp(path, "-"))
		return write_all(stdout, rules, n, from);
	if (snprintf(name, sizeof(name), "%s.XXXXXX", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	f = fdopen(fd, "w");
	err = f ? write_all(f, rules, n, from) : -ENOMEM;
	if (!err && (fchmod(fd, 0644) || fsync(fd) || rename(name, path)))
		err = -errno;
	if (f)
		fclose(f);
	else
		close(fd);
	if (err)
		unlink(name);
	return err;
}
