/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the report of `sluice doctor`, as text or as JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/trust.h"
#include "doctor.h"

static unsigned findings;
enum kind { GOOD, MEND, NOTE };
static bool as_json;
static char about[16] = "machine"; /* the section: this, or a device */
static char driver[32];            /* of the device */

void sl_say_begin(bool json)
{
	as_json = json;
	if (json)
		fputs("{\"lines\":[", stdout);
}

void sl_say_about(const char *name, const char *its_driver)
{
	snprintf(about, sizeof(about), "%s", name);
	snprintf(driver, sizeof(driver), "%s", its_driver ? its_driver : "");
	sl_make_printable(about); /* (a device's name may have any character) */
	sl_make_printable(driver);
	if (as_json)
		return;
	if (its_driver)
		printf("%s (%s)\n", about, *driver ? driver : "driver unknown");
	else
		printf("%s\n", about);
}

/* Prints a JSON string. Names from elsewhere may be no UTF-8. */
static void print_quoted(const char *text)
{
	putchar('"');
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			putchar('\\');
		putchar((unsigned char)*p < ' ' || (unsigned char)*p > '~' ? '?' : *p);
	}
	putchar('"');
}

static void print_member(const char *name, const char *value)
{
	if (!*value)
		return;
	printf(",\"%s\":", name);
	print_quoted(value);
}

SL_PRINTF(3, 0)
static void say(enum kind kind, const char *remedy, const char *fmt, va_list ap)
{
	static const char *const heads[] = {"  ok    ", "  MEND  ", "  note  "};
	static const char *const names[] = {"ok", "mend", "note"};
	static bool any;
	char text[1024], what[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(what, sizeof(what), "%s", remedy ? remedy : "");
	sl_make_printable(text);
	sl_make_printable(what);
	if (!as_json) {
		printf("%s%s\n", heads[kind], text);
		if (remedy)
			printf("        remedy: %s\n", what);
		return;
	}
	printf("%s\n  {\"about\":", any ? "," : "");
	print_quoted(about);
	print_member("driver", driver);
	print_member("kind", names[kind]);
	print_member("text", text);
	print_member("remedy", what);
	putchar('}');
	any = true;
}

void sl_say_good(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(GOOD, NULL, fmt, ap);
	va_end(ap);
}

void sl_say_finding(const char *remedy, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(MEND, remedy, fmt, ap);
	va_end(ap);
	findings++;
}

void sl_say_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NOTE, NULL, fmt, ap);
	va_end(ap);
}

int sl_say_end(void)
{
	if (as_json)
		printf("\n],\"findings\":%u}\n", findings);
	else
		printf("%u finding%s\n", findings, findings == 1 ? "" : "s");
	return findings ? 1 : 0;
}
