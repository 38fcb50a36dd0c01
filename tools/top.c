/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice top: the offloaded sockets of all programs, the busiest first, again and again. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "ss.h"
#include "stat.h"
#include "stat_file.h"
#include "tools.h"

#define MAX_FILES 1024

static const char help[] =
	"usage: sluice top [-b] [-n N] [-d SECONDS] [-p PID] [-o rate|packets|latency|drops]\n"
	"                  [-k DIR]\n"
	"\n"
	"  -b  plain text, as when the output is no terminal\n"
	"  -n  that many reports\n"
	"  -d  seconds between reports (default 3)\n"
	"  -p  sockets of that process\n"
	"  -o  what stands first\n"
	"  -k  directory of the counters (SLUICE_STATS_SHMEM_DIR, default: of the user)\n"
	"\n"
	"Keys: q quit, space now, < and > order by the column left or right, R turn the order round,\n"
	"h this text.\n"
	"See sluice-stat(1).\n";

enum order { BY_RATE, BY_PACKETS, BY_LATENCY, BY_DROPS, ORDERS };
static const char *const order_names[ORDERS] = {"rate", "packets", "latency", "drops"};

struct options {
	bool batch, reverse, help;
	int reports, delay_ms, pid; /* reports 0: for ever */
	enum order order;
	const char *dir;
};

/* A program's counters as they were. */
struct past {
	int pid;
	struct sl_stats *s;
};

struct row {
	uint32_t pid;
	int fd;
	char program[16];
	const char *proto;
	struct sl_addr local, remote;
	uint16_t local_port, remote_port;
	double value[ORDERS];
	double rx_bytes, tx_bytes, rx_pkts, tx_pkts; /* per second */
	uint64_t queue_bytes;
};

static struct past before[MAX_FILES], now[MAX_FILES];
static unsigned n_before, n_now;
static struct row *rows;
static size_t n_rows, max_rows;
static const struct options *sorted_by;
static volatile sig_atomic_t over;

static int wrong_top_usage(const char *expected, const char *found)
{
	fprintf(stderr, "sluice top: expected %s, found '%s'\n", expected, found);
	return 2;
}

/* Rows ----------------------------------------------------------------------------------------- */

struct counts {
	uint64_t rx_bytes, tx_bytes, rx_pkts, tx_pkts, drops;
};

/* Drops of TCP are segments that had to be sent again. */
static struct counts counts_of(const struct sl_sock_stats *k)
{
	if (k->proto == IPPROTO_TCP)
		return (struct counts){k->tcpi_bytes_received, k->tcpi_bytes_sent, k->tcpi_segs_in,
				       k->tcpi_segs_out, k->tcpi_total_retrans};
	return (struct counts){k->rx_bytes, k->tx_bytes, k->rx_pkts, k->tx_pkts,
			       k->rx_drops + k->rx_mem_drops};
}

/* Counts per second. A counter that somebody has set to zero meanwhile counts from zero. */
static double rate(uint64_t after, uint64_t earlier, double seconds)
{
	return (double)(after >= earlier ? after - earlier : after) / seconds;
}

static void add_row(const struct row *r)
{
	if (n_rows == max_rows) {
		size_t max = max_rows ? max_rows * 2 : 128;
		struct row *more = realloc(rows, max * sizeof(*rows));

		if (!more)
			return;
		rows = more;
		max_rows = max;
	}
	rows[n_rows++] = *r;
}

/* then: the socket's counters as they were, NULL: not known, so it has no rates yet. */
static void row_of(const struct sl_stats *s, const struct sl_sock_stats *k,
		   const struct sl_sock_stats *then, double seconds)
{
	struct counts a = counts_of(k), b = then ? counts_of(then) : a;
	struct row r = {
		.pid = s->pid,
		.fd = k->fd,
		.proto = sl_stat_proto(k),
		.local = k->local,
		.remote = k->remote,
		.local_port = k->local_port,
		.remote_port = k->remote_port,
		.rx_bytes = rate(a.rx_bytes, b.rx_bytes, seconds),
		.tx_bytes = rate(a.tx_bytes, b.tx_bytes, seconds),
		.rx_pkts = rate(a.rx_pkts, b.rx_pkts, seconds),
		.tx_pkts = rate(a.tx_pkts, b.tx_pkts, seconds),
		.queue_bytes = k->rx_queue_bytes,
	};

	sl_ss_name(r.program, sizeof(r.program), s->program);
	r.value[BY_RATE] = r.rx_bytes + r.tx_bytes;
	r.value[BY_PACKETS] = r.rx_pkts + r.tx_pkts;
	r.value[BY_LATENCY] = k->proto == IPPROTO_TCP ? (double)k->tcpi_rtt : 0;
	r.value[BY_DROPS] = rate(a.drops, b.drops, seconds);
	add_row(&r);
}

static const struct sl_stats *past_of(int pid)
{
	for (unsigned i = 0; i < n_before; i++)
		if (before[i].pid == pid)
			return before[i].s;
	return NULL;
}

static void rows_of(const struct sl_stats *s, const struct sl_stats *then, double seconds)
{
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = &s->sock[i], *old = NULL;

		if (k->used != 1 || k->state != SL_STATE_OFFLOADED)
			continue;
		if (then && i < then->max_socks && then->sock[i].used == 1 &&
		    then->sock[i].inode == k->inode)
			old = &then->sock[i];
		row_of(s, k, old, seconds);
	}
}

static int by_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double u = x->value[sorted_by->order], v = y->value[sorted_by->order];
	int sign = sorted_by->reverse ? -1 : 1;

	if (u > v || u < v)
		return u > v ? -sign : sign;
	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->fd - y->fd;
}

/* Takes the counters of all programs. False: the directory cannot be read. */
static bool look(const struct options *o, double seconds)
{
	static struct sl_stat_file files[MAX_FILES];
	int n = sl_stat_files(o->dir, files, MAX_FILES);
	unsigned hidden = 0;
	struct sl_stats *s;

	if (n < 0 && n != -ENOENT) {
		fprintf(stderr, "sluice top: %s: %s\n", o->dir, strerror(-n));
		return false;
	}
	for (unsigned i = 0; i < n_before; i++)
		free(before[i].s);
	memcpy(before, now, sizeof(before));
	n_before = n_now;
	n_now = 0;
	n_rows = 0;
	for (int i = 0; (s = sl_stat_next(files, n, o->pid, &i, &hidden)); i++) {
		rows_of(s, past_of(files[i].pid), seconds);
		now[n_now++] = (struct past){files[i].pid, s};
	}
	sorted_by = o;
	if (n_rows)
		qsort(rows, n_rows, sizeof(*rows), by_value);
	return true;
}

/* Screen --------------------------------------------------------------------------------------- */

/* 1234567 as 1.2M: at most six characters. */
static const char *scaled(double v, char buf[16])
{
	static const char units[] = " kMGT";
	unsigned u = 0;

	for (; v >= 9999.5 && u < 4; u++)
		v /= 1000;
	snprintf(buf, 16, u || v >= 100 || v < 0.05 ? "%.0f%c" : "%.1f%c", v, units[u]);
	if (!u)
		buf[strlen(buf) - 1] = 0;
	return buf;
}

static void print_row(const struct row *r)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX], b[6][16];

	printf("%7u %-15s %4d %-4s %-22s %-22s %7s %7s %7s %7s", r->pid, r->program, r->fd,
	       r->proto, sl_stat_endpoint(&r->local, r->local_port, local),
	       r->remote_port ? sl_stat_endpoint(&r->remote, r->remote_port, remote) : "-",
	       scaled(r->rx_bytes, b[0]), scaled(r->tx_bytes, b[1]), scaled(r->rx_pkts, b[2]),
	       scaled(r->tx_pkts, b[3]));
	printf(" %7s %7s %7s\n",
	       r->value[BY_LATENCY] > 0 ? scaled(r->value[BY_LATENCY], b[4]) : "-",
	       scaled(r->value[BY_DROPS], b[5]), scaled((double)r->queue_bytes, b[0]));
}

/* lines: that the screen has, 0: any number. */
static void print_report(const struct options *o, unsigned lines)
{
	char at[16] = "";
	time_t t = time(NULL);
	struct tm tm;
	double rx = 0, tx = 0;
	char b[2][16];

	if (localtime_r(&t, &tm))
		strftime(at, sizeof(at), "%H:%M:%S", &tm);
	for (size_t i = 0; i < n_rows; i++) {
		rx += rows[i].rx_bytes;
		tx += rows[i].tx_bytes;
	}
	printf("sluice top - %s, %u program%s, %zu offloaded sockets, %s bytes/s in, %s out, by %s\n\n",
	       at, n_now, n_now == 1 ? "" : "s", n_rows, scaled(rx, b[0]), scaled(tx, b[1]),
	       order_names[o->order]);
	printf("%7s %-15s %4s %-4s %-22s %-22s %7s %7s %7s %7s %7s %7s %7s\n", "PID", "PROGRAM",
	       "FD", "NET", "LOCAL", "REMOTE", "RXB/s", "TXB/s", "RXP/s", "TXP/s", "RTT-us",
	       "DROP/s", "QUEUE");
	for (size_t i = 0; i < n_rows && (!lines || i + 4 < lines); i++)
		print_row(&rows[i]);
}

static struct termios as_it_was;

static void on_signal(int sig)
{
	over = 1;
}

static void screen_begin(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &as_it_was))
		return;
	t = as_it_was;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static void screen_end(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
}

static unsigned screen_lines(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_row ? 24 : w.ws_row;
}

static void on_key(struct options *o, char key)
{
	if (key == 'q')
		over = 1;
	else if (key == '>' && o->order + 1 < ORDERS)
		o->order++;
	else if (key == '<' && o->order > 0)
		o->order--;
	else if (key == 'R')
		o->reverse = !o->reverse;
	o->help = (key == 'h' || key == '?') && !o->help;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Waits for the next report, or for a key on a screen. */
static void wait_next(struct options *o)
{
	struct pollfd p = {.fd = o->batch ? -1 : STDIN_FILENO, .events = POLLIN};
	char key;

	if (poll(&p, 1, o->delay_ms) <= 0 || o->batch)
		return;
	if (read(STDIN_FILENO, &key, 1) == 1)
		on_key(o, key);
	else
		over = 1;
}

/* The first report needs counters to compare with: a quarter of a second before. */
static int reports(struct options *o)
{
	struct timespec first = {0, 250000000};
	double then = now_s(), t;

	if (!look(o, 1))
		return 1;
	nanosleep(&first, NULL);
	for (int i = 0; !over && (!o->reports || i < o->reports); i++) {
		if (i)
			wait_next(o);
		if (over)
			break;
		t = now_s();
		if (!look(o, sl_max(t - then, 0.001)))
			return 1;
		then = t;
		if (!o->batch)
			fputs("\033[H\033[J", stdout);
		else if (i)
			putchar('\n');
		if (o->help)
			fputs(help, stdout);
		else
			print_report(o, o->batch ? 0 : screen_lines());
		fflush(stdout);
	}
	return 0;
}

/* "5" or "0.5": whole numbers on both sides of a point. */
static bool take_seconds(const char *text, int *ms)
{
	char whole[8], part[4] = "000";
	size_t n = strcspn(text, "."), m = text[n] ? strlen(text + n + 1) : 0;
	int s = 0, rest = 0;

	if (n >= sizeof(whole) || m >= sizeof(part) || (text[n] && !m))
		return false;
	memcpy(whole, text, n);
	whole[n] = 0;
	memcpy(part, text + n + (text[n] != 0), m);
	if (!sl_tool_number(whole, 0, 86400, &s) || !sl_tool_number(part, 0, 999, &rest))
		return false;
	*ms = s * 1000 + rest;
	return *ms >= 10;
}

static int one_option(int c, struct options *o)
{
	switch (c) {
	case 'b':
		o->batch = true;
		return -1;
	case 'n':
		return sl_tool_number(optarg, 1, INT32_MAX, &o->reports)
			       ? -1
			       : wrong_top_usage("a number of reports", optarg);
	case 'd':
		return take_seconds(optarg, &o->delay_ms) ? -1 : wrong_top_usage("seconds", optarg);
	case 'p':
		return sl_tool_number(optarg, 1, INT32_MAX, &o->pid)
			       ? -1
			       : wrong_top_usage("a process id", optarg);
	case 'o':
		for (int i = 0; i < ORDERS; i++)
			if (!strcmp(optarg, order_names[i])) {
				o->order = (enum order)i;
				return -1;
			}
		return wrong_top_usage("rate, packets, latency or drops", optarg);
	case 'k':
		o->dir = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	}
	return 2;
}

int sl_tool_top(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct options o = {.delay_ms = 3000};
	int c, status = -1;

	sl_settings_load(NULL);
	o.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir : SL_STATS_AUTO;
	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "bn:d:p:o:k:h", longs, NULL)) != -1)
		status = one_option(c, &o);
	if (status < 0 && optind < argc)
		status = wrong_top_usage("no more arguments", argv[optind]);
	if (status >= 0)
		return status;
	o.batch |= !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO);
	if (!o.batch)
		screen_begin();
	status = reports(&o);
	if (!o.batch)
		screen_end();
	return status;
}
