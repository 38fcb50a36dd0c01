/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the table of settings. */
#include "settings_doc.h"

#include <string.h>
#include <unistd.h>

#include "base/settings.h"

/* Prints "a=1,b=2,7=2" as "a=1, b=2": names that are numbers are for old files only. */
static void print_names(FILE *to, const char *list)
{
	const char *sep = "";

	for (size_t n; *list; list += n + (list[n] == ',')) {
		const char *eq = strchr(list, '=');

		n = strcspn(list, ",");
		if (*list >= '0' && *list <= '9' &&
		    ((size_t)(eq - list) * 2 + 1 != n ||
		     strncmp(list, eq + 1, (size_t)(eq - list))))
			continue;
		fprintf(to, "%s%.*s", sep, (int)n, list);
		sep = ", ";
	}
}

/* Prints "a number from 0 to 9, in ms", "0 or 1". */
static void print_range(FILE *to, const struct sl_setting *s)
{
	switch (s->type) {
	case SL_TYPE_BOOL:
		fputs("0 or 1", to);
		return;
	case SL_TYPE_ENUM:
		print_names(to, s->unit);
		return;
	case SL_TYPE_STR:
		fprintf(to, "%s", s->unit);
		return;
	default:
		fprintf(to, "%lld to %lld%s%s", (long long)s->min, (long long)s->max,
			s->unit[0] ? " " : "", s->unit);
	}
}

static const char *status_text(const struct sl_setting *s)
{
	static const char *const texts[] = {
		[SL_STATUS_WORKS] = "",
		[SL_STATUS_ACCEPTED] = "Accepted, without effect here. ",
	};

	return texts[s->status];
}

static const char *default_text(const struct sl_setting *s, char *buf, size_t len)
{
	if (s->type == SL_TYPE_STR)
		return s->def_str[0] ? s->def_str : "empty";
	snprintf(buf, len, "%lld", (long long)s->def);
	return buf;
}

void sl_settings_doc_text(FILE *to)
{
	char name[SL_SETTING_NAME_MAX], def[32];

	fputs("Settings are variables of the environment, or arguments of `sluice run`.\n"
	      "VMA_<NAME> is read too, where SLUICE_<NAME> is not set.\n",
	      to);
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		const struct sl_setting *s = &sl_setting_table[i];

		fprintf(to, "\n%s=%s\n    ", sl_setting_name(s, name),
			s->type == SL_TYPE_STR ? s->def_str : default_text(s, def, sizeof(def)));
		print_range(to, s);
		fprintf(to, "\n    %s%s\n", status_text(s), s->help);
	}
}

/* Prints text with roff's requests and escapes made harmless. */
static void roff(FILE *to, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '\\')
			fputs("\\e", to);
		else if (*c == '-')
			fputs("\\-", to);
		else if ((*c == '.' || *c == '\'') && c == text)
			fprintf(to, "\\&%c", *c);
		else
			fputc(*c, to);
	}
}

void sl_settings_doc_man(FILE *to)
{
	char name[SL_SETTING_NAME_MAX], def[32];

	fputs(".\\\" SPDX-License-Identifier: BSD-2-Clause\n"
	      ".\\\" Made by `sluice run --help-settings=man` from lib/base/settings.def.\n"
	      ".TH SLUICE\\-SETTINGS 7 \"\" \"Sluice\" \"Sluice\"\n"
	      ".SH NAME\n"
	      "sluice\\-settings \\- settings of the socket offload library\n"
	      ".SH DESCRIPTION\n"
	      "Settings are variables of the environment, read when the program opens its first\n"
	      "socket.\n"
	      ".BR sluice\\-run (1)\n"
	      "sets them too. For each\n"
	      ".BI SLUICE_ NAME\n"
	      "the name\n"
	      ".BI VMA_ NAME\n"
	      "is read when the former is not set. A wrong value, or a name\n"
	      "that is none, is told in the log, and the default stays.\n"
	      "Numbers may be written in hexadecimal (0x10), sizes with k, m or g.\n"
	      ".SH SETTINGS\n",
	      to);
	for (unsigned i = 0; i < SL_SETTING_COUNT; i++) {
		const struct sl_setting *s = &sl_setting_table[i];

		fprintf(to, ".TP\n.B %s\n(", sl_setting_name(s, name));
		print_range(to, s);
		fputs("; default ", to);
		roff(to, default_text(s, def, sizeof(def)));
		fputs(")\n", to);
		roff(to, status_text(s));
		roff(to, s->help);
		fputc('\n', to);
	}
	fputs(".SH SEE ALSO\n.BR sluice\\-run (1),\n.BR sluice.conf (5)\n", to);
}

void sl_settings_doc_environment(FILE *to)
{
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "SLUICE_", 7) || !strncmp(*e, "VMA_", 4) ||
		    !strncmp(*e, "LD_PRELOAD=", 11))
			fprintf(to, "%s\n", *e);
}
