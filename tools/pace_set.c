/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice pace set, show and unset: the administrator's rates. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/rules/conf.h"
#include "pace.h"
#include "tools.h"

struct options {
	const char *device;
	int queue, cpu; /* -1: not given */
	bool all;
};

static int wrong(const char *what, const char *expected)
{
	fprintf(stderr, "sluice pace: %s: %s expected\n", what, expected);
	return 2;
}

static int say_failure(const char *device, const char *what, int err)
{
	const char *remedy = NULL;

	if (err == -EPERM || err == -EACCES)
		remedy = "run it as root";
	else if (err == -ENOENT)
		remedy =
			"`ls /sys/class/net/DEV/queues` lists the queues; `ethtool -L DEV other N` opens "
			"more on a ConnectX NIC";
	else if (err == -EOPNOTSUPP)
		remedy = "the driver cannot limit a queue: set the rate of a destination, which "
			 "offloaded sockets keep with any NIC";
	else if (err == -ENOSPC)
		remedy = "64 rates are the most: take one away with `sluice pace unset`";
	else if (err == -EINVAL || err == -ERANGE)
		remedy =
			"the NIC does not take this rate, or has no rate left (ConnectX: 16 different "
			"ones, from 1 Mbit/s to the line's)";
	fprintf(stderr, "sluice pace: %s: %s: %s%s%s\n", device, what, strerror(-err),
		remedy ? "; " : "", remedy ? remedy : "");
	return 1;
}

/* Destinations -----------------------------------------------------------------------------------
 */
/* Parses the words "DEST RATE [burst BYTES]"; without_rate: "DEST" alone. */
static int take_pace(struct sl_pace_rule *r, int argc, char **argv, bool without_rate)
{
	struct sl_conf_error err = {0};
	char line[256] = "";
	size_t n = 0;

	for (int i = 0; i < argc && n < sizeof(line) - 8; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	if (n >= sizeof(line) - 8)
		return wrong("the destination", "a shorter line");
	if (without_rate)
		n += (size_t)snprintf(line + n, sizeof(line) - n, " 1");
	if (!sl_conf_pace(line, n, r, &err)) {
		r->line = 0;
		return 0;
	}
	fprintf(stderr, "sluice pace: %s\n             %*s^ expected %s\n", line, (int)err.col - 1,
		"", err.expected);
	return 2;
}

/* True: the destination is one that a flow_map can have: IPv4, without a prefix. */
static bool flow_of(const struct sl_pace_rule *r, uint32_t *addr)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	__be32 a;

	*addr = 0;
	if (!r->prefix_len)
		return r->port;
	memcpy(&a, r->addr + 12, 4);
	*addr = ntohl(a);
	return r->prefix_len == 128 && !memcmp(r->addr, v4, 12);
}

/* The packets of sockets that the kernel has: by the driver's flow_map, on the given device. 0, 1,
 * or -ENOENT: this is nothing for the NIC. */
static int set_flow(const struct options *o, const struct sl_pace_rule *r)
{
	unsigned queue = (unsigned)o->queue, mbps = (unsigned)((r->rate_kbps + 999) / 1000);
	uint32_t addr;
	int err;

	if (!flow_of(r, &addr) || !sl_pace_nic_has_flows(o->device))
		return -ENOENT;
	err = o->queue >= 0 ? 0 : sl_pace_nic_find(o->device, addr, r->port, &queue);
	if (err)
		err = sl_pace_nic_find(o->device, 0, 0, &queue);
	if (err)
		return say_failure(o->device, "no queue is free for the flow", err);
	/* The rate first: the flow must not leave by a queue without one. */
	err = sl_pace_nic_rate(o->device, queue, mbps);
	if (!err)
		err = sl_pace_nic_flow(o->device, queue, addr, r->port);
	if (err) {
		(void)sl_pace_nic_rate(o->device, queue, 0);
		return say_failure(o->device, "the flow's queue", err);
	}
	printf("%s: queue tx-%u has the flow, at %u Mbit/s\n", o->device, queue, mbps);
	return 0;
}

static int unset_flow(const struct options *o, const struct sl_pace_rule *r)
{
	unsigned queue;
	uint32_t addr;
	int err;

	if (!flow_of(r, &addr) || sl_pace_nic_find(o->device, addr, r->port, &queue))
		return -ENOENT;
	err = sl_pace_nic_flow(o->device, queue, 0, 0);
	if (!err)
		err = sl_pace_nic_rate(o->device, queue, 0);
	return err ? say_failure(o->device, "the flow's queue", err) : 0;
}

/* On the given device, else on all that are offloaded. */
static unsigned devices_of(const struct options *o, char names[][64], unsigned max)
{
	if (!o->device)
		return sl_pins_list(names, max);
	snprintf(names[0], 64, "%.63s", o->device);
	return 1;
}

static int change_dest(const struct options *o, const struct sl_pace_rule *r, bool gone)
{
	char names[64][64];
	unsigned n = devices_of(o, names, 64), done = 0;
	int status = 0, by_nic = -ENOENT, err;

	if (o->device)
		by_nic = gone ? unset_flow(o, r) : set_flow(o, r);
	if (by_nic > 0)
		return by_nic;
	done += by_nic == 0;
	for (unsigned i = 0; i < n; i++) {
		err = gone ? sl_pace_map_unset(names[i], r) : sl_pace_map_set(names[i], r);
		if (!err)
			done++;
		else if (err != -ENOENT)
			status = say_failure(names[i], "the map paces", err);
	}
	if (done || status)
		return status;
	fprintf(stderr,
		gone ? "sluice pace: no device has a rate for this destination (`sluice pace show`)\n"
		     : "sluice pace: no device is offloaded, and the NIC has no flow_map: write the "
		       "line `pace ...` into sluice.conf for programs that start later, or name a "
		       "ConnectX NIC with -d\n");
	return 1;
}

/* Queues -----------------------------------------------------------------------------------------
 */
static int change_queue(const struct options *o, unsigned mbps)
{
	unsigned queue = (unsigned)o->queue;
	int err = o->queue >= 0 ? 0 : sl_pace_nic_queue_of_cpu(o->device, (unsigned)o->cpu, &queue);

	if (!err)
		err = sl_pace_nic_rate(o->device, queue, mbps);
	if (err)
		return say_failure(o->device, o->queue >= 0 ? "the queue" : "the CPU's queue", err);
	return 0;
}

/* A rate alone, in Mbit/s: parsed as that of any destination. */
static int set_queue(const struct options *o, char **argv)
{
	struct sl_conf_error err = {0};
	struct sl_pace_rule r;
	char line[64];

	snprintf(line, sizeof(line), "*:* %.32s", argv[0]);
	if (sl_conf_pace(line, strlen(line), &r, &err))
		return wrong(argv[0], err.expected);
	if (r.rate_kbps % 1000)
		return wrong(argv[0], "a queue's rate in whole Mbit/s is");
	return change_queue(o, (unsigned)(r.rate_kbps / 1000));
}

static int unset_all(const struct options *o)
{
	char names[64][64];
	unsigned n = devices_of(o, names, 64);
	int status = 0;

	for (unsigned i = 0; i < n; i++) {
		int err = sl_pace_map_clear(names[i]);

		if (err && err != -ENOENT)
			status = say_failure(names[i], "the map paces", err);
	}
	return status;
}

/* Commands ---------------------------------------------------------------------------------------
 */
static int cmd_set(const struct options *o, int argc, char **argv)
{
	struct sl_pace_rule r;
	int status;

	if ((o->queue >= 0 || o->cpu >= 0) && argc == 1)
		return set_queue(o, argv);
	if (argc < 2)
		return wrong("set",
			     "a destination and a rate, or a queue (-q, -c) and a rate, are");
	status = take_pace(&r, argc, argv, false);
	return status ? status : change_dest(o, &r, false);
}

static int cmd_unset(const struct options *o, int argc, char **argv)
{
	struct sl_pace_rule r;
	int status;

	if (o->all && !argc)
		return unset_all(o);
	if (argc == 0 && (o->queue >= 0 || o->cpu >= 0))
		return change_queue(o, 0);
	if (argc != 1)
		return wrong("unset", "a destination, a queue (-q, -c) or --all is");
	status = take_pace(&r, 1, argv, true);
	return status ? status : change_dest(o, &r, true);
}

static int cmd_show(const struct options *o)
{
	struct if_nameindex *all = o->device ? NULL : if_nameindex();
	char names[64][64];
	unsigned n = devices_of(o, names, 64), printed = 0;

	if (o->device)
		printed += sl_pace_nic_print(o->device);
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		printed += sl_pace_nic_print(i->if_name);
	if (all)
		if_freenameindex(all);
	for (unsigned i = 0; i < n; i++) {
		int found = sl_pace_map_print(names[i]);

		printed += found > 0 ? (unsigned)found : 0;
	}
	if (!printed && !n && sl_pins_hidden("pace"))
		return 1;
	if (!printed)
		puts("no rates are set");
	return 0;
}

/* True: the name is of a device here, or of one that is offloaded in some network namespace. */
static bool is_known(const char *device)
{
	char names[64][64], path[96];
	unsigned n = sl_pins_list(names, 64);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(names[i], device))
			return true;
	snprintf(path, sizeof(path), "/sys/class/net/%.60s", device);
	return if_nametoindex(device) || !access(path, F_OK);
}

int sl_pace_change(int argc, char **argv)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'},
		{"queue", required_argument, NULL, 'q'},
		{"cpu", required_argument, NULL, 'c'},
		{"all", no_argument, NULL, 'a'},
		{0},
	};
	struct options o = {.queue = -1, .cpu = -1};
	const char *command = argv[0];
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "d:q:c:a", longs, NULL)) != -1) {
		if (c == 'd')
			o.device = optarg;
		else if (c == 'a')
			o.all = true;
		else if (c == 'q' ? !sl_tool_number(optarg, 0, 4095, &o.queue)
				  : c != 'c' || !sl_tool_number(optarg, 0, 4095, &o.cpu))
			return c == '?' ? 2 : wrong(optarg, "a number from 0 to 4095 is");
	}
	if (o.device && (strchr(o.device, '/') || !*o.device))
		return wrong("-d", "the name of a device is");
	if (o.device && !is_known(o.device)) {
		fprintf(stderr,
			"sluice pace: %s: no such device here, and none that is offloaded; `ip link` "
			"lists the devices\n",
			o.device);
		return 1;
	}
	if ((o.queue >= 0 || o.cpu >= 0) && !o.device)
		return wrong("-q and -c", "the device of the queue (-d) is");
	argc -= optind;
	argv += optind;
	if (!strcmp(command, "set"))
		return cmd_set(&o, argc, argv);
	if (!strcmp(command, "unset"))
		return cmd_unset(&o, argc, argv);
	return argc ? wrong(argv[0], "no other word is") : cmd_show(&o);
}
