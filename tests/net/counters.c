/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a counter of the kernel's protocols in each namespace (of IPv4 and IPv6 together), in one
 * line. lib.sh asks for some before and after each run of a program.
 *
 *   counters Tcp|Udp|Ip.. NAME[+NAME] NETNS... */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char lines[2][4096];

/* The value under the name in a protocol's two lines, the names and the values; 0 without that
 * name. */
static unsigned long long under(const char *name)
{
	char *in_names, *in_values;
	const char *n = strtok_r(lines[0], " \n", &in_names),
		   *v = strtok_r(lines[1], " \n", &in_values);

	for (; n && v; n = strtok_r(NULL, " \n", &in_names), v = strtok_r(NULL, " \n", &in_values))
		if (!strcmp(n, name))
			return strtoull(v, NULL, 10);
	return 0;
}

static unsigned long long counted(const char *protocol, const char *name)
{
	size_t len = strlen(protocol);
	unsigned long long n = 0, value;
	char want[128], got[128];
	FILE *f = fopen("/proc/net/snmp", "r");

	while (f && fgets(lines[0], sizeof(lines[0]), f) && fgets(lines[1], sizeof(lines[1]), f))
		if (!strncmp(lines[0], protocol, len) && lines[0][len] == ':')
			n += under(name);
	if (f)
		fclose(f);
	snprintf(want, sizeof(want), "%s6%s", protocol, name);
	f = fopen("/proc/net/snmp6", "r"); /* (none without IPv6) */
	while (f && fscanf(f, "%127s %llu", got, &value) == 2)
		if (!strcmp(got, want))
			n += value;
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	char *other;

	if (argc < 4)
		errx(2, "counters Tcp|Udp|Ip.. NAME[+NAME] NETNS...");
	other = strchr(argv[2], '+');
	if (other)
		*other++ = '\0';
	for (int i = 3; i < argc; i++) {
		int ns = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
			err(1, "%s", argv[i]);
		close(ns);
		printf("%s%llu", i > 3 ? " " : "",
		       counted(argv[1], argv[2]) + (other ? counted(argv[1], other) : 0));
	}
	puts("");
	return 0;
}
