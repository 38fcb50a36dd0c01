/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice pace: lists sockets with a rate, how they are paced, and how well. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "pace.h"
#include "stat.h"
#include "stat_file.h"
#include "tools.h"

static const char help[] =
	"usage: sluice pace [--json] [--pid N]\n"
	"       sluice pace set [-d DEV] ADDR[/LEN]|*:PORT|* RATE [burst BYTES]\n"
	"       sluice pace set -d DEV -q QUEUE|-c CPU RATE\n"
	"       sluice pace show [-d DEV]\n"
	"       sluice pace unset [-d DEV] ADDR[/LEN]|*:PORT|*  or  -d DEV -q QUEUE|-c CPU  or  [-d DEV] --all\n"
	"\n"
	"Lists the sockets that have a rate (SO_MAX_PACING_RATE, or that of their destination): the rate that was asked for and the\n"
	"one that was measured while nothing but the rate held the socket up (frames, in kbit/s), the\n"
	"burst in bytes, and who does it: the NIC, or the timing wheel of the socket's lane.\n"
	"\n"
	"  -p, --pid N          of that process\n"
	"  -j, --json           as a JSON array\n"
	"  -k, --directory DIR  where the counters are (SLUICE_STATS_SHMEM_DIR, default: of the user)\n"
	"\n"
	"set gives a rate (Mbit/s, or with kbit, mbit, gbit) to each offloaded socket that sends to the\n"
	"destination, and where the NIC maps flows to queues, to the kernel's packets; or to a transmit\n"
	"queue of the NIC. show lists these rates, unset takes them away.\n"
	"\n"
	"  -d, --device DEV     the device (without it: all that are offloaded)\n"
	"  -q, --queue QUEUE    its transmit queue\n"
	"  -c, --cpu CPU        the transmit queue of that processor\n"
	"  -a, --all            all rates of destinations of offloaded sockets\n";

struct options {
	int pid;
	bool json;
	const char *dir;
};

static double kbps(uint64_t bytes_s)
{
	return (double)bytes_s * 8 / 1000;
}

/* The measured rate; 0: too little was sent to tell. */
static double measured_kbps(const struct sl_sock_stats *k)
{
	return k->pace_busy_ns ? (double)k->pace_busy_bytes * 8e6 / (double)k->pace_busy_ns : 0;
}

static const char *how(const struct sl_sock_stats *k)
{
	return k->pace_how == SL_PACE_HARDWARE ? "nic" : "wheel";
}

static void print_text(const struct sl_stats *s, const struct sl_sock_stats *k)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX], rate[24] = "-";
	double got = measured_kbps(k);

	if (got > 0)
		snprintf(rate, sizeof(rate), "%.1f", got);
	printf("%-5s %-24s %-24s %-6s %12.1f %12s %9llu %8llu %7u %-15.15s %5d\n", sl_stat_proto(k),
	       sl_stat_endpoint(&k->local, k->local_port, local),
	       k->remote_port ? sl_stat_endpoint(&k->remote, k->remote_port, remote) : "-", how(k),
	       kbps(k->pace_rate), rate, (unsigned long long)k->pace_burst_bytes,
	       (unsigned long long)k->pace_queue_pkts, s->pid, s->program, k->fd);
}

static void print_json(const struct sl_stats *s, const struct sl_sock_stats *k, bool first)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX];

	printf("%s\n {\"protocol\":\"%s\",\"local\":\"%s\",\"remote\":\"%s\",\"by\":\"%s\","
	       "\"asked_kbps\":%.3f,\"measured_kbps\":%.3f,\"burst_bytes\":%llu,"
	       "\"queued_packets\":%llu,\"pid\":%u,\"fd\":%d}",
	       first ? "" : ",", sl_stat_proto(k),
	       sl_stat_endpoint(&k->local, k->local_port, local),
	       k->remote_port ? sl_stat_endpoint(&k->remote, k->remote_port, remote) : "", how(k),
	       kbps(k->pace_rate), measured_kbps(k), (unsigned long long)k->pace_burst_bytes,
	       (unsigned long long)k->pace_queue_pkts, s->pid, k->fd);
}

static unsigned list_paces(const struct options *o, const struct sl_stats *s, unsigned printed)
{
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = &s->sock[i];

		if (k->used != 1 || !k->pace_rate || k->state != SL_STATE_OFFLOADED)
			continue;
		if (o->json)
			print_json(s, k, printed == 0);
		else
			print_text(s, k);
		printed++;
	}
	return printed;
}

static int run_on_programs(const struct options *o)
{
	static struct sl_stat_file files[4096];
	int n = sl_stat_files(o->dir, files, sl_array_len(files));
	unsigned found = 0, hidden = 0;
	struct sl_stats *s;

	if (n < 0) {
		fprintf(stderr, "sluice pace: %s: %s\n", o->dir, strerror(-n));
		return 1;
	}
	if (o->json)
		putchar('[');
	else
		printf("%-5s %-24s %-24s %-6s %12s %12s %9s %8s %7s %-15s %5s\n", "PROTO", "LOCAL",
		       "REMOTE", "BY", "ASKED-KBPS", "MEASURED", "BURST", "QUEUED", "PID",
		       "PROGRAM", "FD");
	for (int i = 0; (s = sl_stat_next(files, n, o->pid, &i, &hidden)); i++) {
		found = list_paces(o, s, found);
		free(s);
	}
	if (o->json)
		puts(found ? "\n]" : "]");
	return 0;
}

static int wrong_pace_usage(const char *expected, const char *found)
{
	fprintf(stderr, "sluice pace: %s expected, found '%s'\n", expected, found);
	return 2;
}

int sl_tool_pace(int argc, char **argv)
{
	static const struct option longs[] = {
		{"pid", required_argument, NULL, 'p'},
		{"directory", required_argument, NULL, 'k'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options o = {0};
	int c;

	if (argc > 1 &&
	    (!strcmp(argv[1], "set") || !strcmp(argv[1], "unset") || !strcmp(argv[1], "show")))
		return sl_pace_change(argc - 1, argv + 1);
	sl_settings_load(NULL);
	o.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir : SL_STATS_AUTO;
	optind = 1;
	while ((c = getopt_long(argc, argv, "p:k:jh", longs, NULL)) != -1) {
		if (c == 'p' && sl_tool_number(optarg, 1, INT32_MAX, &o.pid))
			continue;
		if (c == 'p')
			return wrong_pace_usage("a process id is", optarg);
		if (c == 'k')
			o.dir = optarg;
		else if (c == 'j')
			o.json = true;
		else
			return c == 'h' ? (fputs(help, stdout), 0) : 2;
	}
	if (optind < argc)
		return wrong_pace_usage("no arguments are", argv[optind]);
	return run_on_programs(&o);
}
