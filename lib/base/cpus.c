/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads sets of processors: a mask (0xf0) or a list (0,4,7-10), as VMA's settings write them. */
#include "base/cpus.h"

#include <errno.h>
#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_mask(const char *hex, cpu_set_t *set)
{
	size_t n = strlen(hex);

	if (n == 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int d = digit(hex[n - 1 - i]);

		if (d < 0 || (d && i * 4 + 3 >= CPU_SETSIZE))
			return -EINVAL;
		for (size_t b = 0; b < 4; b++)
			if (d >> b & 1)
				CPU_SET(i * 4 + b, set);
	}
	return 0;
}

/* A decimal number; *p moves behind it. -1: none, or too large for a set. */
static int number(const char **p)
{
	int n = -1;

	for (; **p >= '0' && **p <= '9'; ++*p) {
		n = (n < 0 ? 0 : n * 10) + (**p - '0');
		if (n >= CPU_SETSIZE)
			return -1;
	}
	return n;
}

static int parse_list(const char *p, cpu_set_t *set)
{
	for (;;) {
		int first = number(&p), last = first;

		if (first >= 0 && *p == '-') {
			p++;
			last = number(&p);
		}
		if (first < 0 || last < first)
			return -EINVAL;
		for (int i = first; i <= last; i++)
			CPU_SET((size_t)i, set);
		if (*p == 0)
			return 0;
		if (*p++ != ',')
			return -EINVAL;
	}
}

int sl_cpus_parse(const char *text, cpu_set_t *set)
{
	int err;

	CPU_ZERO(set);
	if (!*text || strcmp(text, "-1") == 0)
		return -ENOENT;
	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		err = parse_mask(text + 2, set);
	else
		err = parse_list(text, set);
	if (err == 0 && CPU_COUNT(set) == 0)
		err = -EINVAL;
	if (err)
		CPU_ZERO(set);
	return err;
}
