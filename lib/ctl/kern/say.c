/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences for the log: why something failed. */
#include "ctl/kern/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_why(const char **why, const char *fmt, ...)
{
	static __thread char text[320];
	va_list ap;

	if (!why)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*why = text;
}

const char *sl_why_of(const char *why, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(why, name, n) && why[n] == ':' && why[n + 1] == ' ' ? why + n + 2 : why;
}

const char *sl_strerror(int err)
{
	const char *name = strerrordesc_np(err < 0 ? -err : err);

	return name ? name : "unknown error";
}
