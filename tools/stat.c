/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice stat, also called vma_stats: counters of running programs. */
#include "stat.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "sluice.h"
#include "program.h"
#include "stat_file.h"
#include "tools.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_PROMETHEUS };

struct options {
	int pid;          /* 0: find it */
	const char *name; /* of the program, NULL: any */
	const char *dir;
	const char *sockets;
	int view, interval, cycles; /* cycles -1: not said, 0: for ever */
	bool deltas, keep_files, zero, list;
	int log_level, log_details; /* -1: leave; the level is SL_STATS_SILENT: none */
	int dump_fd, dump_level;    /* -S; the level is -1: none, a report */
	enum format format;
};

static const char help[] =
	"usage: sluice stat [-p pid] [-k directory] [-v view] [-d details] [-i interval]\n"
	"\n"
	"  -p, --pid=<pid>          the program with this process id\n"
	"  -n, --name=<program>     the program of this name\n"
	"  -f, --find_pid           find the program that runs with Sluice (default)\n"
	"      --list               list the programs that run with Sluice\n"
	"  -k, --directory=<dir>    where the counters are (SLUICE_STATS_SHMEM_DIR, default: of the user)\n"
	"  -v, --view=<1|2|3|4|5>   1 basic counters (default), 2 with queues, 3 all counters of sockets,\n"
	"                           lanes (rings) and devices, 4 multicast groups, 5 like netstat\n"
	"  -d, --details=<1|2>      1 totals (default), 2 differences per second\n"
	"  -i, --interval=<n>       seconds between reports (default 1)\n"
	"  -c, --cycles=<n>         reports to print, 0: until the program ends (default; views 4, 5: 1)\n"
	"  -s, --sockets=<list>     only these descriptors: 4-16 or 1,9 or both\n"
	"  -S, --fd_dump=<fd> [level]  everything about one descriptor, once; 0: of all. With a level\n"
	"                           (0 to 6, or a name) the program writes it to its log\n"
	"  -z, --zero               set the counters to zero\n"
	"  -l, --log_level=<n>      set the log level of the running program, 0 to 6, or none\n"
	"  -D, --details_level=<n>  set the details of its log lines, 0 to 3\n"
	"  -F, --forbid_clean       do not remove what dead programs have left\n"
	"      --json               JSON, an object a line (default: one report)\n"
	"      --prometheus         Prometheus text, all programs (one report)\n"
	"  -V, --version            print the version\n"
	"  -h, --help               print this\n"
	"\n"
	"See sluice-stat(1).\n";

enum { OPT_JSON = 256, OPT_PROMETHEUS, OPT_LIST };

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"name", required_argument, NULL, 'n'},
	{"find_pid", no_argument, NULL, 'f'},
	{"list", no_argument, NULL, OPT_LIST},
	{"directory", required_argument, NULL, 'k'},
	{"view", required_argument, NULL, 'v'},
	{"details", required_argument, NULL, 'd'},
	{"interval", required_argument, NULL, 'i'},
	{"cycles", required_argument, NULL, 'c'},
	{"sockets", required_argument, NULL, 's'},
	{"fd_dump", required_argument, NULL, 'S'},
	{"zero", no_argument, NULL, 'z'},
	{"log_level", required_argument, NULL, 'l'},
	{"details_level", required_argument, NULL, 'D'},
	{"forbid_clean", no_argument, NULL, 'F'},
	{"json", no_argument, NULL, OPT_JSON},
	{"prometheus", no_argument, NULL, OPT_PROMETHEUS},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int wrong_stat_usage(const char *what, const char *got)
{
	fprintf(stderr, "sluice stat: expected %s, found '%s'\n", what, got);
	return 2;
}

static int parse_number(const char *text, int lo, int hi, const char *what, int *out)
{
	return sl_tool_number(text, lo, hi, out) ? -1 : wrong_stat_usage(what, text);
}

static int list_is_sound(const char *list)
{
	return list[strspn(list, "0123456789-,")] || !*list
		       ? wrong_stat_usage("a list as 4-16,20", list)
		       : -1;
}

/* Reads the level: by name, or by number as in VMA, where 7 is FUNC_ALL; -1 is none. */
static int log_level(const char *text, int *level)
{
	struct sl_settings scratch;
	char why[300];

	if (sl_setting_parse(&sl_setting_table[SL_SETTING_tracelevel], text, &scratch, why,
			     sizeof(why)))
		return wrong_stat_usage("a log level from 0 to 6", text);
	*level = scratch.tracelevel;
	return -1;
}

static int wanted_level(const char *text, int *level)
{
	int status = log_level(text, level);

	if (status < 0 && *level < 0)
		*level = SL_STATS_SILENT;
	return status;
}

/* A line at level none is not written, so that no dump can have it. */
static int dump_level(const char *text, int *level)
{
	int status = log_level(text, level);

	return status < 0 && *level < 0 ? wrong_stat_usage("a log level from 0 to 6", text)
					: status;
}

static int fd_dump(struct options *o)
{
	int status = parse_number(optarg, 0, 1 << 30, "a descriptor", &o->dump_fd);

	o->view = 3;
	o->cycles = 1;
	o->sockets = o->dump_fd ? optarg : NULL;
	return status;
}

static int one_option(int c, struct options *o)
{
	int details;

	switch (c) {
	case 'p':
		return parse_number(optarg, 1, 1 << 30, "a process id", &o->pid);
	case 'n':
		o->name = optarg;
		return -1;
	case 'f':
		return -1;
	case OPT_LIST:
		o->list = true;
		return -1;
	case 'k':
		o->dir = optarg;
		return -1;
	case 'v':
		return parse_number(optarg, 1, 5, "a view from 1 to 5", &o->view);
	case 'd':
		c = parse_number(optarg, 1, 2, "1 (totals) or 2 (differences)", &details);
		o->deltas = c < 0 && details == 2;
		return c;
	case 'i':
		return parse_number(optarg, 1, 86400, "seconds", &o->interval);
	case 'c':
		return parse_number(optarg, 0, 1 << 30, "a number of cycles", &o->cycles);
	case 'S':
		return fd_dump(o);
	case 's':
		o->sockets = optarg;
		return list_is_sound(optarg);
	case 'z':
		o->zero = true;
		return -1;
	case 'l':
		return wanted_level(optarg, &o->log_level);
	case 'D':
		return parse_number(optarg, 0, 3, "a details level from 0 to 3", &o->log_details);
	case 'F':
		o->keep_files = true;
		return -1;
	case OPT_JSON:
		o->format = FORMAT_JSON;
		return -1;
	case OPT_PROMETHEUS:
		o->format = FORMAT_PROMETHEUS;
		return -1;
	case 'V':
		puts("sluice stat " SLUICE_VERSION);
		return 0;
	case 'h':
		fputs(help, stdout);
		return 0;
	default:
		return 2;
	}
}

/* -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int c, status;

	optind = 1;
	while ((c = getopt_long(argc, argv, "p:n:fk:v:d:i:c:s:S:zl:D:FVh", long_options, NULL)) !=
	       -1) {
		status = one_option(c, o);
		if (status >= 0)
			return status;
	}
	if (o->dump_fd >= 0 && optind < argc) {
		status = dump_level(argv[optind++], &o->dump_level);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return wrong_stat_usage("no more arguments", argv[optind]);
	if (o->cycles < 0)
		o->cycles = o->format != FORMAT_TEXT || o->view >= 4 ? 1 : 0;
	return -1;
}

static void sleep_s(double s)
{
	struct timespec ts = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Makes `after` the difference to `before`; sockets and lanes that are new keep their totals. */
static void subtract(struct sl_stats *after, const struct sl_stats *before)
{
	sl_stats_sub_proc(after, before);
	for (unsigned i = 0; i < SL_STATS_LANES; i++)
		if (before->lane[i].used == 1 && after->lane[i].id == before->lane[i].id)
			sl_stats_sub_lane(&after->lane[i], &before->lane[i]);
	for (unsigned i = 0; i < SL_STATS_PORTS; i++)
		if (before->port[i].used == 1 && after->port[i].ifindex == before->port[i].ifindex)
			sl_stats_sub_port(&after->port[i], &before->port[i]);
	for (unsigned i = 0; i < SL_STATS_WAITS; i++)
		if (before->wait[i].used == 1 && after->wait[i].fd == before->wait[i].fd)
			sl_stats_sub_wait(&after->wait[i], &before->wait[i]);
	for (uint32_t i = 0; i < after->max_socks && i < before->max_socks; i++)
		if (before->sock[i].used == 1 && after->sock[i].inode == before->sock[i].inode)
			sl_stats_sub_sock(&after->sock[i], &before->sock[i]);
}

static struct sl_stats *snapshot(const struct sl_stat_file *f)
{
	const char *why = "";
	struct sl_stats *s = sl_stat_snapshot(f, &why);

	if (!s)
		fprintf(stderr, "sluice stat: %s: %s\n", f->path, why);
	return s ? sl_stat_add_kernels(s, f->pid) : NULL;
}

static void print(const struct options *o, struct sl_stats *s, const struct sl_stat_show *show)
{
	if (o->format == FORMAT_JSON)
		sl_stat_json(stdout, s, show);
	else if (o->format == FORMAT_PROMETHEUS)
		sl_stat_prometheus(stdout, &s, 1, show);
	else
		sl_stat_view(stdout, o->view, s, show);
	fflush(stdout);
}

/* Reports until the cycles are done or the program has ended. */
static int watch_program(const struct options *o, const struct sl_stat_file *f)
{
	struct sl_stat_show show = {.sockets = o->sockets};
	struct sl_stats *before = NULL, *s, *copy;
	double then = now_s();

	if (o->deltas) {
		before = snapshot(f);
		if (!before)
			return 1;
		sleep_s(o->interval);
	}
	for (int i = 0; !o->cycles || i < o->cycles; i++) {
		if (i)
			sleep_s(o->interval);
		if (i && !sl_stat_alive(f))
			break;
		s = snapshot(f);
		if (!s)
			goto failed;
		copy = NULL;
		if (o->deltas) {
			size_t size = sizeof(*s) + s->max_socks * sizeof(s->sock[0]);

			copy = aligned_alloc(64, (size + 63) / 64 * 64);
			if (!copy) {
				free(s);
				goto failed;
			}
			memcpy(copy, s, size);
			subtract(s, before);
			show.seconds = now_s() - then;
			then += show.seconds;
		}
		print(o, s, &show);
		free(s);
		free(before);
		before = copy;
	}
	free(before);
	return 0;
failed:
	free(before);
	return 1;
}

static int prometheus_all(const struct options *o, const struct sl_stat_file *files, int n)
{
	struct sl_stat_show show = {.sockets = o->sockets};
	struct sl_stats **all = calloc((size_t)n + 1, sizeof(*all));
	unsigned got = 0;

	if (!all)
		return 1;
	for (int i = 0; i < n; i++) {
		all[got] = snapshot(&files[i]);
		got += all[got] != NULL;
	}
	sl_stat_prometheus(stdout, all, got, &show);
	for (unsigned i = 0; i < got; i++)
		free(all[i]);
	free(all);
	return 0;
}

/* Drops files of dead processes and those not asked for. */
static int choose(const struct options *o, struct sl_stat_file *files, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		const char *why;
		struct sl_stats *s;
		bool is = true;

		if (!files[i].alive) {
			/* Keep the file if a process of another pid namespace holds it. */
			if (!o->keep_files && !sl_stats_is_held(AT_FDCWD, files[i].path))
				unlink(files[i].path);
			continue;
		}
		if (o->pid && files[i].pid != o->pid)
			continue;
		if (o->name) {
			s = sl_stat_snapshot(&files[i], &why);
			is = s &&
			     !strncmp(s->program, o->name, 15); /* the kernel keeps 15 characters */
			free(s);
		}
		if (is)
			files[kept++] = files[i];
	}
	return kept;
}

static void list_programs(FILE *to, const struct sl_stat_file *files, int n)
{
	for (int i = 0; i < n; i++) {
		struct sl_stats *s = snapshot(&files[i]);

		fprintf(to, "%8d  %s\n", files[i].pid, s ? s->program : "?");
		free(s);
	}
}

static int command(const struct options *o, const struct sl_stat_file *f)
{
	int err = sl_stat_ask_log(f, o->log_level, o->log_details);

	if (!err && o->zero)
		err = sl_stat_ask_zero(f);
	if (!err && o->dump_level >= 0)
		err = sl_stat_ask_dump(f, o->dump_fd, o->dump_level);
	if (err == -ETIMEDOUT) {
		fprintf(stderr, "sluice stat: %d sleeps; it does so when it wakes\n", f->pid);
		return 0;
	}
	if (err)
		fprintf(stderr, "sluice stat: %s: %s\n", f->path, strerror(-err));
	return err ? 1 : 0;
}

int sl_tool_stat(int argc, char **argv)
{
	static struct sl_stat_file files[1024];
	struct options o = {.view = 1,
			    .interval = 1,
			    .cycles = -1,
			    .log_level = -1,
			    .log_details = -1,
			    .dump_fd = -1,
			    .dump_level = -1};
	int n, status = parse_options(argc, argv, &o);

	if (status >= 0)
		return status;
	sl_settings_load(NULL);
	if (!o.dir)
		o.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir
						       : SL_STATS_AUTO;
	n = sl_stat_files(o.dir, files, sl_array_len(files));
	if (n < 0) {
		fprintf(stderr, "sluice stat: %s: %s\n", o.dir, strerror(-n));
		return 1;
	}
	n = choose(&o, files, n);
	if (o.list) {
		list_programs(stdout, files, n);
		return 0;
	}
	if (o.format == FORMAT_PROMETHEUS && !o.pid && !o.name)
		return prometheus_all(&o, files, n);
	if (!n) {
		fprintf(stderr, "sluice stat: Failed to identify process...%s%s\n",
			o.pid ? " " : "", o.pid ? sl_program_unseen(o.pid) : "");
		return 1;
	}
	if (n > 1) {
		fprintf(stderr,
			"sluice stat: several programs run with Sluice; say which with -p:\n");
		list_programs(stderr, files, n);
		return 1;
	}
	if (o.zero || o.dump_level >= 0 || o.log_level != -1 || o.log_details >= 0)
		return command(&o, &files[0]);
	return watch_program(&o, &files[0]);
}
