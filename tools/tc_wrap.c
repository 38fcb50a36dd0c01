/* SPDX-License-Identifier: BSD-2-Clause */
/* tc_wrap: makes eight traffic classes, and maps RoCE's socket priorities to user priorities. */
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qos.h"
#include "tools.h"

static const char help[] =
	"usage: tc_wrap -i INTF [-u LIST]\n"
	"\n"
	"Makes eight traffic classes on the interface and lists the socket priorities of each user\n"
	"priority.\n"
	"\n"
	"  -i, --interface=INTF  the interface\n"
	"  -u, --skprio_up=LIST  maps the socket priorities, from 0 on, to these at most 16 user priorities\n"
	"                        (RoCE on kernels without egress maps)\n"
	"  -n, --show_tc_num     prints the number of traffic classes alone\n"
	"      --version         prints the version\n";

static int say_failure(const char *what, const char *why, const char *remedy)
{
	fprintf(stderr, "tc_wrap: %s: %s%s%s\n", what, why, remedy ? "; " : "",
		remedy ? remedy : "");
	return 1;
}

/* At most 16 numbers below 8, which become one line of text for the driver. */
static bool skprios_of(const char *list, char line[64])
{
	unsigned n = 0;

	for (const char *p = list;; p += 2) {
		if (p[0] < '0' || p[0] > '7' || n == SL_QOS_SKPRIOS)
			return false;
		line[2 * n] = p[0];
		line[2 * n++ + 1] = p[1] ? ' ' : '\0';
		if (!p[1])
			return true;
		if (p[1] != ',')
			return false;
	}
}

static int map_skprios(const char *name, const char *list)
{
	char path[160], line[64];
	FILE *f;

	if (!skprios_of(list, line)) {
		fprintf(stderr, "tc_wrap: at most 16 priorities from 0 to 7 expected, found '%s'\n",
			list);
		return 2;
	}
	if (!sl_skprio_path(name, path, sizeof(path)))
		return say_failure(
			name, "it has no RDMA device, so there is no skprio2up map",
			"a VLAN device takes one: ip link set DEV type vlan egress-qos-map");
	f = fopen(path, "r+e");
	if (!f && errno == ENOENT)
		return say_failure(path, "this kernel maps RoCE's priorities by VLAN devices",
				   "ip link set DEV type vlan egress-qos-map 0:0 1:1 ...");
	if (!f)
		return say_failure(path, strerror(errno),
				   errno == EACCES ? "run it as root" : NULL);
	fputs(line, f);
	return fclose(f) ? say_failure(path, strerror(errno), NULL) : 0;
}

static int make_classes(const char *name)
{
	const char *remedy = NULL;
	int err = sl_skprio_make_tcs(name);

	if (!err)
		return 0;
	if (err == -EPERM || err == -EACCES)
		remedy = "run it as root";
	else if (err == -ENOENT)
		remedy = "load sch_mqprio (modprobe sch_mqprio), or use a kernel that has it";
	else if (err == -EOPNOTSUPP || err == -EINVAL)
		remedy = "the driver has no eight hardware queues for classes: tc-mqprio(8)";
	return say_failure(name, strerror(-err), remedy);
}

static void print_map(const char *name)
{
	struct sl_skprio s;

	sl_skprio_read(&s, name);
	printf("Traffic classes are set to %u\n", sl_skprio_tcs(name));
	for (unsigned up = 0; up < 8; up++) {
		printf("UP  %u\n", up);
		sl_skprio_print(&s, up, "\tskprio: ");
	}
}

static int run_on_device(const char *name, const char *skprios, bool number_alone)
{
	int err;

	if (!if_nametoindex(name))
		return say_failure(name, strerror(errno), "`ip link` lists the devices");
	if (number_alone) {
		printf("%u\n", sl_skprio_tcs(name));
		return 0;
	}
	err = make_classes(name);
	if (!err && skprios)
		err = map_skprios(name, skprios);
	if (!err)
		print_map(name);
	return err;
}

int sl_tool_tc_wrap(int argc, char **argv)
{
	static const struct option longs[] = {
		{"interface", required_argument, NULL, 'i'},
		{"skprio_up", required_argument, NULL, 'u'},
		{"show_tc_num", no_argument, NULL, 'n'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *name = NULL, *skprios = NULL;
	bool number_alone = false;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "i:u:nh", longs, NULL)) != -1) {
		if (c == 'i')
			name = optarg;
		else if (c == 'u')
			skprios = optarg;
		else if (c == 'n')
			number_alone = true;
		else if (c == 'V')
			return puts("tc_wrap " SL_VERSION), 0;
		else
			return c == 'h' ? (fputs(help, stdout), 0) : 2;
	}
	if (!name || optind < argc) {
		fputs("tc_wrap: the name of an interface (-i) is needed, and no other words\n",
		      stderr);
		return 2;
	}
	return run_on_device(name, skprios, number_alone);
}
