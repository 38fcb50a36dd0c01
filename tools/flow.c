/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice flow: the sockets that programs have offloaded; moves them to the kernel or back, or ends
 * them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "ctl/rules/conf.h"
#include "ctl/rules/rule.h"
#include "ss.h"
#include "stat.h"
#include "stat_file.h"
#include "tools.h"

static const char help[] =
	"usage: sluice flow [list] [--all] [--json] [which]\n"
	"       sluice flow hand-back which\n"
	"       sluice flow take-over which\n"
	"       sluice flow kill which\n"
	"\n"
	"  list        what is offloaded; with --all what the kernel has of it, too; with\n"
	"              -j, --json as one JSON array\n"
	"  hand-back   to the kernel, where it goes on\n"
	"  take-over   back from there (TCP)\n"
	"  kill        end offloaded sockets, as ss -K ends the kernel's\n"
	"\n"
	"which, all that are said:\n"
	"  FILTER               of ss(8): [state STATE] dst 192.0.2.7 and sport = :443\n"
	"  -p, --pid N          of that process\n"
	"  -n, --name PROGRAM   of programs of that name (a pattern)\n"
	"  -d, --device NAME    with a local address of that device\n"
	"  -l, --local ADDR:PORT, -r, --remote ADDR:PORT    * stands for any address or port\n"
	"  -R, --rule 'ROLE ADDR:PORT[:ADDR:PORT]'          as in sluice.conf(5)\n"
	"  -a, --all            (to move) all there are\n"
	"  -k, --directory DIR  where the counters are (SLUICE_STATS_SHMEM_DIR, default: of the user)\n";

struct end {
	bool set;
	char addr[64], port[8]; /* "*": any */
};

struct options {
	int pid;
	const char *name, *device, *dir;
	struct end local, remote;
	struct sl_rule rule;
	bool has_rule, all, json;
	enum sl_stat_move move;
	uint32_t states;             /* of the filter */
	struct sl_ss_filter *filter; /* NULL: none */
};

static int wrong_flow_usage(const char *expected, const char *found)
{
	fprintf(stderr, "sluice flow: expected %s, found '%s'\n", expected, found);
	return 2;
}

/* Selecting ------------------------------------------------------------------------------------ */

static bool end_fits(const struct end *e, const struct sl_addr *a, uint16_t port)
{
	char text[SL_ADDR_STRLEN];

	if (!e->set)
		return true;
	if (strcmp(e->port, "*") && atoi(e->port) != port)
		return false;
	return !strcmp(e->addr, "*") || !strcmp(e->addr, sl_addr_str(a, text));
}

static bool rule_says(const struct sl_rule *r, uint32_t role, const struct sl_addr *a,
		      uint16_t port, const struct sl_addr *b, uint16_t bport)
{
	const struct sl_rule *hit;

	sl_rule_decide(r, 1, &(struct sl_rule_ask){role, a, port, b, bport, 0}, &hit);
	return hit;
}

/* An established connection does not show whether a client or a server opened it: rules of either
 * role match. */
static bool rule_fits(const struct sl_rule *r, const struct sl_sock_stats *k)
{
	bool connected = k->remote_port != 0;

	if (k->proto == IPPROTO_UDP)
		return connected ? rule_says(r, SL_ROLE_UDP_CONNECT, &k->remote, k->remote_port,
					     &k->local, k->local_port)
				 : rule_says(r, SL_ROLE_UDP_RECEIVER, &k->local, k->local_port,
					     NULL, 0);
	return rule_says(r, SL_ROLE_TCP_SERVER, &k->local, k->local_port, NULL, 0) ||
	       (connected && rule_says(r, SL_ROLE_TCP_CLIENT, &k->remote, k->remote_port, &k->local,
				       k->local_port));
}

static bool device_fits(const char *device, const struct sl_addr *local)
{
	struct ifaddrs *list, *i;
	bool found = sl_addr_is_any(local);

	if (getifaddrs(&list))
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		struct sl_addr a;
		uint16_t port;
		uint32_t scope;
		int family = i->ifa_addr ? i->ifa_addr->sa_family : 0;

		if (strcmp(i->ifa_name, device) || (family != AF_INET && family != AF_INET6))
			continue;
		found = !sl_addr_from_sockaddr(i->ifa_addr,
					       family == AF_INET ? sizeof(struct sockaddr_in)
								 : sizeof(struct sockaddr_in6),
					       &a, &port, &scope) &&
			sl_addr_eq(&a, local);
	}
	freeifaddrs(list);
	return found;
}

static bool filter_fits(const struct options *o, const struct sl_sock_stats *k)
{
	struct sl_ss_sock s;

	if (!o->filter)
		return true;
	sl_ss_ours(&s, k);
	return o->states & 1u << s.state && sl_ss_fits(o->filter, &s);
}

static bool state_fits(const struct options *o, const struct sl_sock_stats *k)
{
	if (o->move == SL_MOVE_KILL && k->tcpi_state == SL_SS_CLOSE)
		return false; /* it is over already */
	if (o->move == SL_MOVE_HAND_BACK || o->move == SL_MOVE_KILL)
		return k->state == SL_STATE_OFFLOADED;
	if (o->move == SL_MOVE_TAKE_OVER)
		return k->state == SL_STATE_KERNEL && k->proto == IPPROTO_TCP;
	return k->state == SL_STATE_OFFLOADED || (o->all && k->state == SL_STATE_KERNEL);
}

static bool fits_options(const struct options *o, const struct sl_sock_stats *k)
{
	return k->used == 1 && state_fits(o, k) && end_fits(&o->local, &k->local, k->local_port) &&
	       end_fits(&o->remote, &k->remote, k->remote_port) &&
	       (!o->device || device_fits(o->device, &k->local)) &&
	       (!o->has_rule || rule_fits(&o->rule, k)) && filter_fits(o, k);
}

/* List ------------------------------------------------------------------------------------------
 */

struct counts {
	uint64_t rx_pkts, rx_bytes, tx_pkts, tx_bytes;
};

static struct counts counts_of(const struct sl_sock_stats *k)
{
	if (k->proto == IPPROTO_TCP)
		return (struct counts){k->tcpi_segs_in, k->tcpi_bytes_received, k->tcpi_segs_out,
				       k->tcpi_bytes_sent};
	return (struct counts){k->rx_pkts, k->rx_bytes, k->tx_pkts, k->tx_bytes};
}

static const char *state_of(const struct sl_sock_stats *k)
{
	const char *state = k->proto == IPPROTO_TCP && k->state == SL_STATE_OFFLOADED
				    ? sl_stat_tcp_state(k)
				    : "";

	return *state ? state : "-";
}

static double age_s(const struct sl_sock_stats *k)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9 - (double)k->since_ns / 1e9;
}

static void print_text(const struct sl_stats *s, const struct sl_sock_stats *k)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX];
	struct counts c = counts_of(k);

	printf("%-5s %-24s %-24s %-12s %-8s %7u %-15.15s %5d %4u %10llu %12llu %10llu %12llu "
	       "%8.1f",
	       sl_stat_proto(k), sl_stat_endpoint(&k->local, k->local_port, local),
	       k->remote_port ? sl_stat_endpoint(&k->remote, k->remote_port, remote) : "-",
	       state_of(k), k->state == SL_STATE_OFFLOADED ? "sluice" : "kernel", s->pid,
	       s->program, k->fd, k->lane, (unsigned long long)c.rx_pkts,
	       (unsigned long long)c.rx_bytes, (unsigned long long)c.tx_pkts,
	       (unsigned long long)c.tx_bytes, age_s(k));
	if (k->state == SL_STATE_KERNEL)
		printf("  (%s)", sl_reason_text(k->reason));
	putchar('\n');
}

static void print_json(const struct sl_stats *s, const struct sl_sock_stats *k, bool first)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX];
	struct counts c = counts_of(k);

	printf("%s\n {\"protocol\":\"%s\",\"local\":\"%s\",\"remote\":", first ? "" : ",",
	       sl_stat_proto(k), sl_stat_endpoint(&k->local, k->local_port, local));
	if (k->remote_port)
		printf("\"%s\"", sl_stat_endpoint(&k->remote, k->remote_port, remote));
	else
		printf("null");
	printf(",\"state\":\"%s\",\"where\":\"%s\",\"reason\":\"%s\",\"pid\":%u,\"program\":\"",
	       state_of(k), k->state == SL_STATE_OFFLOADED ? "sluice" : "kernel",
	       sl_reason_text(k->reason), s->pid);
	for (const char *p = s->program; *p; p++)
		if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else
			putchar(*p < ' ' || *p > '~' ? '?' : *p);
	printf("\",\"fd\":%d,\"lane\":%u,\"rx_packets\":%llu,\"rx_bytes\":%llu,\"tx_packets\":%llu,"
	       "\"tx_bytes\":%llu,\"age_seconds\":%.3f}",
	       k->fd, k->lane, (unsigned long long)c.rx_pkts, (unsigned long long)c.rx_bytes,
	       (unsigned long long)c.tx_pkts, (unsigned long long)c.tx_bytes, age_s(k));
}

static unsigned list_flows(const struct options *o, const struct sl_stats *s, unsigned printed)
{
	for (uint32_t i = 0; i < s->max_socks; i++) {
		if (!fits_options(o, &s->sock[i]))
			continue;
		if (o->json)
			print_json(s, &s->sock[i], printed == 0);
		else
			print_text(s, &s->sock[i]);
		printed++;
	}
	return printed;
}

/* Move ------------------------------------------------------------------------------------------
 */

/* How to move the socket: TCP connections are killed by their process; other sockets go to the
 * kernel, which ends them. */
static enum sl_stat_move mark_for(const struct options *o, const struct sl_sock_stats *k)
{
	bool conn = k->proto == IPPROTO_TCP && k->tcpi_state != SL_SS_LISTEN && k->remote_port;

	return o->move == SL_MOVE_KILL && !conn ? SL_MOVE_HAND_BACK : o->move;
}

static bool has_moved(const struct sl_sock_stats *k, const struct sl_sock_stats *before,
		      enum sl_stat_move move)
{
	if (k->used != 1 || k->inode != before->inode)
		return true;
	if (move == SL_MOVE_KILL)
		return k->tcpi_state == SL_SS_CLOSE;
	return k->state == (move == SL_MOVE_HAND_BACK ? SL_STATE_KERNEL : SL_STATE_OFFLOADED);
}

/* Number of marked sockets that are where they should go. */
static unsigned count_moved(const struct sl_stat_file *f, const struct sl_stats *before,
			    const uint8_t *marks)
{
	const char *why;
	struct sl_stats *s = sl_stat_snapshot(f, &why);
	unsigned n = 0;

	for (uint32_t i = 0; s && i < before->max_socks && i < s->max_socks; i++)
		n += marks[i] && has_moved(&s->sock[i], &before->sock[i], marks[i]);
	free(s);
	return n;
}

struct doomed {
	const struct sl_stats *s;
	int pid;
	const uint8_t *marks;
	unsigned found;
	int err; /* the first failure */
};

/* True: the process has that socket. Its counters say so of any socket, if it is hostile. */
static bool has_socket(int pid, uint32_t inode)
{
	char dir[32], text[64], want[32];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(want, sizeof(want), "socket:[%u]", inode);
	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	d = opendir(dir);
	while (d && !found && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		found = !strcmp(text, want);
	}
	if (d)
		closedir(d);
	return found;
}

static void destroy(const struct sl_ss_sock *k, void *arg)
{
	struct doomed *d = arg;
	int err;

	for (uint32_t i = 0; k->inode && i < d->s->max_socks; i++)
		if (d->marks[i] == SL_MOVE_HAND_BACK && d->s->sock[i].inode == k->inode &&
		    d->s->sock[i].proto == k->proto && has_socket(d->pid, k->inode)) {
			err = sl_ss_destroy(k);
			d->found += !err;
			d->err = d->err ? d->err : err;
			return;
		}
}

/* Has the kernel end the n sockets that were handed back to it. 0 or -errno. */
static int destroy_handed(int pid, const struct sl_stats *s, const uint8_t *marks, unsigned n)
{
	struct doomed d = {.s = s, .pid = pid, .marks = marks};
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), its;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	its = open(path, O_RDONLY | O_CLOEXEC);
	err = own < 0 || its < 0 || setns(its, CLONE_NEWNET) ? -errno : 0;
	if (!err)
		err = sl_ss_kernel(IPPROTO_UDP, destroy, &d);
	if (!err)
		err = sl_ss_kernel(IPPROTO_TCP, destroy, &d);
	if (own >= 0 && setns(own, CLONE_NEWNET) && !err)
		err = -errno;
	if (own >= 0)
		close(own);
	if (its >= 0)
		close(its);
	if (!err && d.found < n)
		err = d.err ? d.err : -ENOENT;
	return err;
}

/* Waits until the n marked sockets have moved. Returns how many have. A thread of the program may
 * have been in a call with one of them: the process tries again. */
static unsigned wait_moved(const struct sl_stat_file *f, const struct sl_stats *s,
			   const uint8_t *marks, unsigned n)
{
	unsigned moved = count_moved(f, s, marks);

	for (int i = 0; moved < n && i < 20; i++) {
		struct timespec tenth = {0, 100000000};

		nanosleep(&tenth, NULL);
		moved = count_moved(f, s, marks);
	}
	return moved;
}

static int move_flows(const struct options *o, const struct sl_stat_file *f,
		      const struct sl_stats *s, unsigned *asked)
{
	uint8_t *marks = calloc(s->max_socks + 1, 1);
	unsigned n = 0, handed = 0, moved = 0;
	int err;

	if (!marks)
		return 1;
	for (uint32_t i = 0; i < s->max_socks; i++)
		if (fits_options(o, &s->sock[i])) {
			marks[i] = (uint8_t)mark_for(o, &s->sock[i]);
			handed += marks[i] == SL_MOVE_HAND_BACK;
			n++;
		}
	*asked += n;
	err = n ? sl_stat_ask_move(f, s, marks, s->max_socks) : 0;
	if (n && !err)
		moved = wait_moved(f, s, marks, n);
	if (o->move == SL_MOVE_KILL && handed && !err)
		err = destroy_handed(f->pid, s, marks, handed);
	free(marks);
	if (err)
		fprintf(stderr, "sluice flow: process %u (%s): %s\n", s->pid, s->program,
			err == -ETIMEDOUT ? "it does not answer yet" : strerror(-err));
	else if (n)
		printf("%u (%s): %u of %u %s\n", s->pid, s->program, moved, n,
		       o->move == SL_MOVE_KILL ? "ended" : "moved");
	return err || moved < n;
}

/* All processes ---------------------------------------------------------------------------------
 */

static int run_on_programs(const struct options *o)
{
	static struct sl_stat_file files[4096];
	int n = sl_stat_files(o->dir, files, sl_array_len(files)), status = 0;
	unsigned found = 0, hidden = 0;
	struct sl_stats *s;

	if (n < 0) {
		fprintf(stderr, "sluice flow: %s: %s\n", o->dir, strerror(-n));
		return 1;
	}
	if (o->json)
		putchar('[');
	else if (!o->move)
		printf("%-5s %-24s %-24s %-12s %-8s %7s %-15s %5s %4s %10s %12s %10s %12s %8s\n",
		       "PROTO", "LOCAL", "REMOTE", "STATE", "WHERE", "PID", "PROGRAM", "FD", "LANE",
		       "RX-PACKETS", "RX-BYTES", "TX-PACKETS", "TX-BYTES", "AGE-S");
	for (int i = 0; (s = sl_stat_next(files, n, o->pid, &i, &hidden)); i++) {
		sl_rule_set_identity(s->program, "");
		if (!o->name || sl_glob_match(o->name, s->program)) {
			if (o->move)
				status |= move_flows(o, &files[i], s, &found);
			else
				found = list_flows(o, s, found);
		}
		free(s);
	}
	if (o->json)
		puts(found ? "\n]" : "]");
	if (hidden)
		fprintf(stderr, "sluice flow: %u programs of other users are not shown\n", hidden);
	if (o->move && !found)
		fprintf(stderr, "sluice flow: there is none such\n");
	return o->move && !found ? 1 : status;
}

static bool parse_end(const char *text, struct end *e)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	int port;

	if (!n || strlen(colon + 1) >= sizeof(e->port) ||
	    (strcmp(colon + 1, "*") && !sl_tool_number(colon + 1, 0, UINT16_MAX, &port)))
		return false;
	if (text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	if (n >= sizeof(e->addr))
		return false;
	memcpy(e->addr, text, n);
	strcpy(e->port, colon + 1);
	e->set = true;
	return true;
}

static int parse_rule(struct options *o, const char *text)
{
	struct sl_conf_error err;
	char line[256];

	snprintf(line, sizeof(line), "%s%s", strncmp(text, "use ", 4) ? "use os " : "", text);
	if (sl_conf_rule(line, strlen(line), &o->rule, &err))
		return wrong_flow_usage(err.expected, err.found);
	o->rule.action = SL_RULE_OS;
	o->has_rule = true;
	return -1;
}

static int one_option(int c, struct options *o)
{
	switch (c) {
	case 'p':
		return sl_tool_number(optarg, 1, INT32_MAX, &o->pid)
			       ? -1
			       : wrong_flow_usage("a process id", optarg);
	case 'n':
		o->name = optarg;
		return -1;
	case 'd':
		o->device = optarg;
		return -1;
	case 'l':
		return parse_end(optarg, &o->local) ? -1 : wrong_flow_usage("ADDR:PORT", optarg);
	case 'r':
		return parse_end(optarg, &o->remote) ? -1 : wrong_flow_usage("ADDR:PORT", optarg);
	case 'R':
		return parse_rule(o, optarg);
	case 'k':
		o->dir = optarg;
		return -1;
	case 'a':
		o->all = true;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	}
	return 2;
}

static int command(const char *name, struct options *o)
{
	if (!strcmp(name, "hand-back"))
		o->move = SL_MOVE_HAND_BACK;
	else if (!strcmp(name, "take-over"))
		o->move = SL_MOVE_TAKE_OVER;
	else if (!strcmp(name, "kill"))
		o->move = SL_MOVE_KILL;
	else if (strcmp(name, "list"))
		return wrong_flow_usage("list, hand-back, take-over or kill", name);
	return -1;
}

static int read_filter(struct options *o, int n, char *const *words)
{
	const char *why;
	char near[64];

	o->states = SL_SS_ALL;
	o->filter = sl_ss_filter(n, words, &o->states, &why, near);
	return o->filter ? -1 : wrong_flow_usage(why, near);
}

static bool says_which(const struct options *o)
{
	return o->all || o->pid || o->name || o->device || o->local.set || o->remote.set ||
	       o->has_rule || o->filter;
}

int sl_tool_flow(int argc, char **argv)
{
	static const struct option longs[] = {
		{"pid", required_argument, NULL, 'p'},
		{"name", required_argument, NULL, 'n'},
		{"device", required_argument, NULL, 'd'},
		{"local", required_argument, NULL, 'l'},
		{"remote", required_argument, NULL, 'r'},
		{"rule", required_argument, NULL, 'R'},
		{"all", no_argument, NULL, 'a'},
		{"directory", required_argument, NULL, 'k'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options o = {0};
	int c, status = -1;

	sl_settings_load(NULL);
	o.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir : SL_STATS_AUTO;
	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "p:n:d:l:r:R:ak:jh", longs, NULL)) != -1)
		status = one_option(c, &o);
	if (status < 0 && optind < argc)
		status = command(argv[optind++], &o);
	if (status < 0 && optind < argc)
		status = read_filter(&o, argc - optind, argv + optind);
	if (status < 0 && o.move && !says_which(&o))
		status =
			wrong_flow_usage("which are to be moved (--all: all there are)", "nothing");
	if (status < 0)
		status = run_on_programs(&o);
	free(o.filter);
	return status;
}
