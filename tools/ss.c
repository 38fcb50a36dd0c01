/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice ss: the sockets of the machine as ss(8) lists them, offloaded ones included.
 *
 * Theory of operation: the programs' counters (base/stats.h) have the offloaded sockets, sock_diag
 * has the kernel's. The kernel also lists the shadow behind an offloaded socket; both have its
 * inode, and then the offloaded socket's line is shown alone. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/settings.h"
#include "base/stats_dir.h"
#include "ss.h"
#include "stat.h"
#include "stat_file.h"
#include "tools.h"

static const char help[] =
	"usage: sluice ss [options] [state|exclude STATE]... [FILTER]\n"
	"\n"
	"  -t, --tcp  -u, --udp   only these (default: both)\n"
	"  -4, --ipv4  -6, --ipv6, -f, --family inet|inet6\n"
	"  -a, --all              all states (default: connections)\n"
	"  -l, --listening        listening and unconnected sockets\n"
	"  -n, --numeric          ports as numbers\n"
	"  -p, --processes        the processes that have the socket\n"
	"  -e, --extended         user, inode, cookie, lane\n"
	"  -m, --memory           memory in buffers\n"
	"  -i, --info             what TCP has measured\n"
	"  -o, --options          timers (the kernel's)\n"
	"  -O, --oneline          one line a socket\n"
	"  -H, --no-header        no first line\n"
	"      --sluice           only offloaded sockets\n"
	"      --directory DIR    where the counters are (SLUICE_STATS_SHMEM_DIR, default: of the user)\n"
	"\n"
	"FILTER: src, dst [HOST[/BITS]][:PORT], sport, dport OP :PORT, dev NAME; and, or, not, ( ).\n"
	"Offloaded sockets have via:sluice behind their columns. See sluice-ss(1) and ss(8).\n";

struct options {
	const char *dir;
	bool tcp, udp, v4, v6, ours;
	uint32_t states;
	struct sl_ss_look look;
	struct sl_ss_filter *filter;
};

/* Sockets in the order that they are printed in. */
struct list {
	const struct options *o;
	struct sl_ss_sock *sock;
	size_t n, max;
	size_t first, end; /* ours of this protocol; sorted by inode */
	bool short_of_memory;
};

static int wrong_ss_usage(const char *expected, const char *found)
{
	fprintf(stderr, "sluice ss: expected %s, found '%s'\n", expected, found);
	return 2;
}

static void append(struct list *l, const struct sl_ss_sock *k)
{
	if (l->n == l->max) {
		size_t max = l->max ? l->max * 2 : 64;
		struct sl_ss_sock *more = realloc(l->sock, max * sizeof(*more));

		if (!more) {
			l->short_of_memory = true;
			return;
		}
		l->sock = more;
		l->max = max;
	}
	l->sock[l->n++] = *k;
}

static bool is_wanted(const struct options *o, const struct sl_ss_sock *k)
{
	return o->states & 1u << k->state && (k->family == AF_INET ? o->v4 : o->v6) &&
	       sl_ss_fits(o->filter, k);
}

/* Ours ----------------------------------------------------------------------------------------- */

static uint8_t state_of(const struct sl_sock_stats *k)
{
	if (k->proto == IPPROTO_TCP && k->tcpi_state && k->tcpi_state < SL_SS_STATES)
		return (uint8_t)k->tcpi_state;
	return k->remote_port ? SL_SS_ESTABLISHED : SL_SS_CLOSE;
}

/* Fills in the fields of TCP_INFO that the counters have. The program updates these once a second.
 */
static void read_info(struct tcp_info *i, const struct sl_sock_stats *k)
{
	i->tcpi_state = (uint8_t)k->tcpi_state;
	i->tcpi_options = (uint8_t)k->tcpi_options;
	i->tcpi_snd_wscale = k->tcpi_snd_wscale & 15;
	i->tcpi_rcv_wscale = k->tcpi_rcv_wscale & 15;
#define COPY(name) i->tcpi_##name = (__typeof__(i->tcpi_##name))k->tcpi_##name
	COPY(backoff);
	COPY(rto);
	COPY(ato);
	COPY(snd_mss);
	COPY(rcv_mss);
	COPY(pmtu);
	COPY(advmss);
	COPY(unacked);
	COPY(sacked);
	COPY(lost);
	COPY(retrans);
	COPY(rtt);
	COPY(rttvar);
	COPY(min_rtt);
	COPY(rcv_rtt);
	COPY(snd_cwnd);
	COPY(snd_ssthresh);
	COPY(snd_wnd);
	COPY(rcv_ssthresh);
	COPY(rcv_space);
	COPY(notsent_bytes);
	COPY(total_retrans);
	COPY(bytes_retrans);
	COPY(bytes_sent);
	COPY(bytes_acked);
	COPY(bytes_received);
	COPY(segs_out);
	COPY(segs_in);
	COPY(data_segs_out);
	COPY(data_segs_in);
	COPY(delivered);
	COPY(dsack_dups);
	COPY(reord_seen);
	COPY(rcv_ooopack);
	COPY(pacing_rate);
	COPY(max_pacing_rate);
#undef COPY
}

/* An address of an IPv4 socket that was never set is 0.0.0.0. */
static struct sl_addr family_addr(const struct sl_sock_stats *k, const struct sl_addr *a)
{
	return k->family == AF_INET && sl_addr_is_any(a) ? sl_addr_v4(0) : *a;
}

void sl_ss_ours(struct sl_ss_sock *to, const struct sl_sock_stats *k)
{
	bool listens;

	memset(to, 0, sizeof(*to));
	to->ours = true;
	to->proto = k->proto;
	to->family = k->family;
	to->state = state_of(k);
	listens = to->state == SL_SS_LISTEN;
	to->local = family_addr(k, &k->local);
	to->remote = family_addr(k, &k->remote);
	to->local_port = k->local_port;
	to->remote_port = k->remote_port;
	to->rq = listens ? k->rx_queue_pkts : k->rx_queue_bytes;
	to->sq = k->tx_queue_bytes;
	to->inode = k->inode;
	to->fd = k->fd;
	to->lane = k->lane;
	to->has_mem = true;
	to->mem[SL_SS_MEM_R] = listens ? 0 : (uint32_t)k->rx_queue_bytes;
	to->mem[SL_SS_MEM_RB] = k->rcvbuf;
	to->mem[SL_SS_MEM_TB] = k->sndbuf;
	to->mem[SL_SS_MEM_W] = listens ? 0 : (uint32_t)k->tx_queue_bytes;
	to->mem[SL_SS_MEM_D] = (uint32_t)(k->rx_drops + k->rx_mem_drops);
	to->has_info = k->proto == IPPROTO_TCP && k->tcpi_state;
	read_info(&to->info, k);
	memcpy(to->congestion, k->congestion, sizeof(to->congestion));
	to->congestion[sizeof(to->congestion) - 1] = 0;
}

/* True: the process is in another network namespace than this one. */
static bool is_elsewhere(int pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return !stat("/proc/self/ns/net", &own) && !stat(path, &its) && own.st_ino != its.st_ino;
}

static uint32_t uid_of(int pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) ? 0 : st.st_uid;
}

static void ours_of(struct list *l, const struct sl_stats *s, int proto, uint32_t uid)
{
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = &s->sock[i];
		struct sl_ss_sock to;

		if (k->used != 1 || k->state != SL_STATE_OFFLOADED || k->proto != proto ||
		    (k->family != AF_INET && k->family != AF_INET6))
			continue;
		sl_ss_ours(&to, k);
		to.pid = (int)s->pid;
		strcpy(to.program, s->program);
		to.uid = uid;
		append(l, &to);
	}
}

static int by_inode(const void *a, const void *b)
{
	const struct sl_ss_sock *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* Appends the offloaded sockets of all programs. Returns how many programs could not be read. */
static unsigned add_ours(struct list *l, int proto)
{
	static struct sl_stat_file files[4096];
	int n = sl_stat_files(l->o->dir, files, sl_array_len(files));
	unsigned hidden = 0;

	l->first = l->n;
	for (int i = 0; i < n; i++) {
		struct sl_stats *s;
		const char *why;

		if (!files[i].alive || is_elsewhere(files[i].pid))
			continue;
		s = sl_stat_snapshot(&files[i], &why);
		hidden += !s;
		if (s)
			ours_of(l, s, proto, uid_of(files[i].pid));
		free(s);
	}
	l->end = l->n;
	if (l->end > l->first)
		qsort(l->sock + l->first, l->end - l->first, sizeof(*l->sock), by_inode);
	return hidden;
}

/* The kernel's --------------------------------------------------------------------------------- */

/* The offloaded socket with that inode, or NULL. */
static struct sl_ss_sock *ours_with(struct list *l, uint32_t inode)
{
	struct sl_ss_sock key = {.inode = inode};

	if (!inode || l->end == l->first)
		return NULL;
	return bsearch(&key, l->sock + l->first, l->end - l->first, sizeof(key), by_inode);
}

static void on_kernel(const struct sl_ss_sock *k, void *arg)
{
	struct list *l = arg;
	struct sl_ss_sock *ours = ours_with(l, k->inode);

	if (!ours) {
		if (!l->o->ours && is_wanted(l->o, k))
			append(l, k);
		return;
	}
	/* Its shadow knows more about it. */
	ours->v6only = k->v6only;
	ours->has_v6only = k->has_v6only;
	ours->ifindex = k->ifindex;
	ours->cookie = k->cookie;
	ours->shut |= k->shut;
	ours->mark = k->mark;
	ours->uid = k->uid;
}

/* Removes ours that the filter does not want: it may ask for things that only the shadow says. */
static void drop_unwanted(struct list *l)
{
	size_t kept = l->first;

	for (size_t i = l->first; i < l->n; i++)
		if (i >= l->end || is_wanted(l->o, &l->sock[i]))
			l->sock[kept++] = l->sock[i];
	l->n = kept;
}

static int list_proto(struct list *l, int proto, unsigned *hidden)
{
	int err;

	*hidden = add_ours(l, proto);
	err = sl_ss_kernel(proto, on_kernel, l);
	drop_unwanted(l);
	return err == -ENOENT ? 0 : err;
}

static int list_all(const struct options *o)
{
	struct list l = {.o = o};
	unsigned hidden = 0;
	int err = 0;

	if (o->look.processes)
		sl_ss_users_read();
	if (o->udp)
		err = list_proto(&l, IPPROTO_UDP, &hidden);
	if (o->tcp && !err)
		err = list_proto(&l, IPPROTO_TCP, &hidden);
	if (err)
		fprintf(stderr, "sluice ss: the kernel's sockets: %s\n", strerror(-err));
	if (l.short_of_memory)
		fprintf(stderr, "sluice ss: there is not enough memory to show all\n");
	sl_ss_print(stdout, l.sock, l.n, &o->look);
	if (hidden)
		fprintf(stderr, "sluice ss: %u programs of other users are not shown\n", hidden);
	free(l.sock);
	return err || l.short_of_memory;
}

/* Options -------------------------------------------------------------------------------------- */

static int family_option(struct options *o, const char *name)
{
	if (!strcmp(name, "inet"))
		o->v4 = true;
	else if (!strcmp(name, "inet6"))
		o->v6 = true;
	else
		return wrong_ss_usage("inet or inet6", name);
	return -1;
}

static int one_option(int c, struct options *o)
{
	static const uint32_t listens = 1u << SL_SS_LISTEN | 1u << SL_SS_CLOSE;

	switch (c) {
	case 't':
		o->tcp = true;
		return -1;
	case 'u':
		o->udp = true;
		return -1;
	case '4':
		o->v4 = true;
		return -1;
	case '6':
		o->v6 = true;
		return -1;
	case 'f':
		return family_option(o, optarg);
	case 'a':
		o->states = SL_SS_ALL;
		return -1;
	case 'l':
		if (o->states != SL_SS_ALL)
			o->states = listens;
		return -1;
	case 'n':
		o->look.numeric = true;
		return -1;
	case 'p':
		o->look.processes = true;
		return -1;
	case 'e':
		o->look.extended = o->look.timers = true;
		return -1;
	case 'm':
		o->look.memory = true;
		return -1;
	case 'i':
		o->look.info = true;
		return -1;
	case 'o':
		o->look.timers = true;
		return -1;
	case 'O':
		o->look.one_line = true;
		return -1;
	case 'H':
		o->look.header = false;
		return -1;
	case 'S':
		o->ours = true;
		return -1;
	case 'k':
		o->dir = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	}
	return 2;
}

static int read_filter(struct options *o, int n, char *const *words)
{
	const char *why;
	char near[64];

	o->filter = sl_ss_filter(n, words, &o->states, &why, near);
	if (!o->filter)
		return wrong_ss_usage(why, near);
	if (!o->tcp && !o->udp)
		o->tcp = o->udp = true;
	if (!o->v4 && !o->v6)
		o->v4 = o->v6 = true;
	o->look.netid = o->tcp && o->udp;
	o->look.state = (o->states & (o->states - 1)) != 0;
	return -1;
}

int sl_tool_ss(int argc, char **argv)
{
	static const struct option longs[] = {
		{"tcp", no_argument, NULL, 't'},
		{"udp", no_argument, NULL, 'u'},
		{"ipv4", no_argument, NULL, '4'},
		{"ipv6", no_argument, NULL, '6'},
		{"family", required_argument, NULL, 'f'},
		{"all", no_argument, NULL, 'a'},
		{"listening", no_argument, NULL, 'l'},
		{"numeric", no_argument, NULL, 'n'},
		{"processes", no_argument, NULL, 'p'},
		{"extended", no_argument, NULL, 'e'},
		{"memory", no_argument, NULL, 'm'},
		{"info", no_argument, NULL, 'i'},
		{"options", no_argument, NULL, 'o'},
		{"oneline", no_argument, NULL, 'O'},
		{"no-header", no_argument, NULL, 'H'},
		{"sluice", no_argument, NULL, 'S'},
		{"directory", required_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options o = {
		.states = SL_SS_ALL & ~(1u << SL_SS_LISTEN | 1u << SL_SS_CLOSE |
					1u << SL_SS_TIME_WAIT | 1u << SL_SS_SYN_RECV),
		.look.header = true,
	};
	int c, status = -1;

	sl_settings_load(NULL);
	o.dir = sl_settings.stats_shmem_dir[0] ? sl_settings.stats_shmem_dir : SL_STATS_AUTO;
	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "tu46f:alnpemioOHh", longs, NULL)) != -1)
		status = one_option(c, &o);
	if (status < 0)
		status = read_filter(&o, argc - optind, argv + optind);
	if (status < 0)
		status = list_all(&o);
	free(o.filter);
	return status;
}
