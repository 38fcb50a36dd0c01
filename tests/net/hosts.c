/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes what every test of lib.sh has, in one process (each program that a test starts takes 20 ms
 * of a core):
 *
 *   hosts DIRECTORY NETNS...
 *
 * a scratch directory, whose path is printed, with a FIFO that nobody writes to (nap) and a place
 * for the counters of programs of any user (stats); and in each namespace addresses that can be
 * used at once, and ICMP without a limit. */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const settings[][2] = {
	{"ipv6/conf/all/accept_dad", "0"},   {"ipv6/conf/default/accept_dad", "0"},
	{"ipv6/conf/all/disable_ipv6", "0"}, {"ipv6/conf/default/disable_ipv6", "0"},
	{"ipv4/icmp_ratelimit", "0"},        {"ipv6/icmp/ratelimit", "0"},
};

/* (A kernel without IPv6 lacks some.) */
static void set(const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		warn("%s", path);
	if (fd >= 0)
		close(fd);
}

static void host(const char *netns)
{
	int ns = open(netns, O_RDONLY | O_CLOEXEC);

	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		err(1, "%s", netns);
	close(ns);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		set(settings[i][0], settings[i][1]);
}

int main(int argc, char **argv)
{
	char dir[4096], path[4200];

	if (argc < 2)
		errx(2, "hosts DIRECTORY NETNS...");
	snprintf(dir, sizeof(dir), "%s/sluice-test.XXXXXX", argv[1]);
	umask(0);
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		err(1, "%s", dir);
	puts(dir);
	fflush(stdout);
	snprintf(path, sizeof(path), "%s/nap", dir);
	if (mkfifo(path, 0644) < 0)
		err(1, "%s", path);
	snprintf(path, sizeof(path), "%s/stats", dir);
	if (mkdir(path, 01777) < 0)
		err(1, "%s", path);
	for (int i = 2; i < argc; i++)
		host(argv[i]);
	return 0;
}
