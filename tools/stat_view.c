/* SPDX-License-Identifier: BSD-2-Clause */
/* The views of `sluice stat`, in the layout of vma_stats (VMA manual, 8.1). */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "ctl/front/broker.h"
#include "ctl/kern/ethtool.h"
#include "stat.h"

typedef unsigned long long ull;

bool sl_stat_fd_wanted(const char *list, int fd)
{
	if (!list)
		return true;
	while (*list) {
		char *end;
		long lo = strtol(list, &end, 10), hi = lo;

		if (*end == '-')
			hi = strtol(end + 1, &end, 10);
		if (fd >= lo && fd <= hi)
			return true;
		if (*end != ',')
			return false;
		list = end + 1;
	}
	return false;
}

const char *sl_stat_endpoint(const struct sl_addr *a, uint16_t port, char buf[SL_STAT_ENDPOINT_MAX])
{
	char text[SL_ADDR_STRLEN];

	if (sl_addr_is_any(a))
		snprintf(buf, SL_STAT_ENDPOINT_MAX, "*:%u", port);
	else if (sl_addr_is_v4(a))
		snprintf(buf, SL_STAT_ENDPOINT_MAX, "%s:%u",
			 inet_ntop(AF_INET, &a->w[3], text, sizeof(text)), port);
	else
		snprintf(buf, SL_STAT_ENDPOINT_MAX, "[%s]:%u",
			 inet_ntop(AF_INET6, a->b, text, sizeof(text)), port);
	return buf;
}

const char *sl_stat_proto(const struct sl_sock_stats *s)
{
	bool v6 = s->family == AF_INET6;

	return s->proto == IPPROTO_TCP ? (v6 ? "tcp6" : "tcp") : (v6 ? "udp6" : "udp");
}

const char *sl_stat_xdp(uint32_t flags)
{
	if (flags & SL_PORT_PACKET)
		return "none";
	return flags & SL_PORT_GENERIC ? "generic" : "native";
}

const char *sl_stat_tcp_state(const struct sl_sock_stats *s)
{
	static const char *const names[] = {"",           "ESTABLISHED", "SYN_SENT",  "SYN_RECV",
					    "FIN_WAIT1",  "FIN_WAIT2",   "TIME_WAIT", "CLOSE",
					    "CLOSE_WAIT", "LAST_ACK",    "LISTEN",    "CLOSING"};

	return s->tcpi_state < sl_array_len(names) ? names[s->tcpi_state] : "";
}

/* Entry number i if it is in use and asked for, else NULL. */
static const struct sl_sock_stats *sock_at(const struct sl_stats *s, uint32_t i,
					   const struct sl_stat_show *show)
{
	const struct sl_sock_stats *k = &s->sock[i];

	return k->used == 1 && sl_stat_fd_wanted(show->sockets, k->fd) ? k : NULL;
}

/* A count as it is, or per second. */
static ull rate(const struct sl_stat_show *show, uint64_t v)
{
	return show->seconds > 0 ? (ull)((double)v / show->seconds + 0.5) : v;
}

static double percent(uint64_t part, uint64_t rest)
{
	return part + rest ? 100.0 * (double)part / (double)(part + rest) : 0;
}

/* A share of the time that the counters are of; two threads that poll all the time have 200. */
static double polling_percent(const struct sl_stats *s, uint64_t poll_ns,
			      const struct sl_stat_show *show)
{
	struct timespec ts;
	double seconds = show->seconds;

	if (seconds <= 0) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		seconds = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9 - (double)s->start_ns / 1e9;
	}
	return seconds > 0 ? (double)poll_ns / 1e7 / seconds : 0;
}

/* Entry number i of the calls that wait if it is in use and has counted calls, else NULL. */
static const struct sl_wait_stats *wait_at(const struct sl_stats *s, unsigned i)
{
	return s->wait[i].used == 1 && s->wait[i].calls ? &s->wait[i] : NULL;
}

/* "select()", "poll()", "epoll[7]" */
static const char *wait_name(const struct sl_stats *s, const struct sl_wait_stats *w, char text[24])
{
	if (w - s->wait >= SL_WAIT_EPOLL)
		snprintf(text, 24, "epoll[%d]", w->fd);
	else
		snprintf(text, 24, w - s->wait == SL_WAIT_SELECT ? "select()" : "poll()");
	return text;
}

static void wait_lines(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	char text[24];

	if (s->poll_ns)
		fprintf(to, "Polling CPU:%.0f%%\n", polling_percent(s, s->poll_ns, show));
	for (unsigned i = 0; i < SL_STATS_WAITS; i++) {
		const struct sl_wait_stats *w = wait_at(s, i);

		if (!w)
			continue;
		fprintf(to, "%s Rx Ready:%llu/%llu [os/offload]\n", wait_name(s, w, text),
			rate(show, w->os_ready), rate(show, w->ready));
		fprintf(to, "Timeouts:%llu Errors:%llu Poll:%.2f%%", rate(show, w->timeouts),
			rate(show, w->errors),
			percent(w->hits, w->calls - sl_min(w->calls, w->hits)));
		fprintf(to, " Polling CPU:%.0f%%\n", polling_percent(s, w->poll_ns, show));
	}
}

#define BLOCK "======================================================\n\t"
/* The name of a line in the block of a ring, a completion queue or the pool: vma_stats pads it. */
#define NAMED "%-20s "

static const char rule[] =
	"------------------------------------------------------------------------"
	"------------------------------";

static void view_basic(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show,
		       bool more)
{
	const char *u = show->seconds > 0 ? "/s" : "";
	char head[4][16];
	static const char *const names[] = {"pkt", "Kbyte", "eagain", "error"};

	for (int i = 0; i < 4; i++)
		snprintf(head[i], sizeof(head[i]), "%s%s", names[i], u);
	fprintf(to, "%5s %3s  %-52s %-42s", "fd", "",
		show->seconds > 0 ? "------------------ offloaded --------------------"
				  : "--------------- total offloaded -----------------",
		show->seconds > 0 ? "------------------ os ------------------"
				  : "--------------- total os ---------------");
	fprintf(to, "%s\n%10s %11s %11s %9s %8s %7s   %11s %11s %9s %8s",
		more ? " -------- queue bytes --------   ------ queue packets ------" : "", "",
		head[0], head[1], head[2], head[3], "poll%", head[0], head[1], head[2], head[3]);
	fprintf(to, "%s\n%s\n",
		more ? "     cur        max      drop       cur       max      drop" : "", rule);
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = sock_at(s, i, show);

		if (!k)
			continue;
		fprintf(to, "%5d Rx: %11llu %11llu %9llu %8llu %7.1f   %11llu %11llu %9llu %8llu",
			k->fd, rate(show, k->rx_pkts), rate(show, k->rx_bytes / 1024),
			rate(show, k->rx_eagain), rate(show, k->rx_errors),
			percent(k->rx_poll_hit, k->rx_poll_miss), rate(show, k->rx_os_pkts),
			rate(show, k->rx_os_bytes / 1024), rate(show, k->rx_os_eagain),
			rate(show, k->rx_os_errors));
		if (more)
			fprintf(to, " %8llu %10llu %9llu  %8llu %9llu %9llu",
				(ull)k->rx_queue_bytes, (ull)k->rx_queue_max_bytes,
				rate(show, k->rx_drop_bytes), (ull)k->rx_queue_pkts,
				(ull)k->rx_queue_max_pkts,
				rate(show, k->rx_drops + k->rx_mem_drops));
		fprintf(to, "\n%5s Tx: %11llu %11llu %9llu %8llu %7s   %11llu %11llu %9llu %8llu\n",
			"", rate(show, k->tx_pkts), rate(show, k->tx_bytes / 1024),
			rate(show, k->tx_eagain), rate(show, k->tx_errors), "",
			rate(show, k->tx_os_pkts), rate(show, k->tx_os_bytes / 1024),
			rate(show, k->tx_os_eagain), rate(show, k->tx_os_errors));
	}
	fprintf(to, "%s\n", rule);
	wait_lines(to, s, show);
}

static void block_groups(FILE *to, const struct sl_sock_stats *k)
{
	char text[SL_ADDR_STRLEN];

	for (uint32_t g = 0; g < k->ngroups; g++) {
		const struct sl_addr *a = &k->group[g];
		bool v4 = sl_addr_is_v4(a);

		fprintf(to, "- Member of = [%s]\n",
			inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? (const void *)&a->w[3] : a->b, text,
				  sizeof(text)));
	}
}

/* Prints what the connection has negotiated and measured, like `ss -ti`. */
static void tcp_options(FILE *to, const struct sl_sock_stats *k)
{
	fprintf(to, "- TCP %s, %s%s%s%s", sl_stat_tcp_state(k), k->congestion,
		k->tcpi_options & TCPI_OPT_TIMESTAMPS ? " ts" : "",
		k->tcpi_options & TCPI_OPT_SACK ? " sack" : "",
		k->tcpi_options & TCPI_OPT_ECN ? " ecn" : "");
	if (k->tcpi_options & TCPI_OPT_WSCALE)
		fprintf(to, " wscale:%llu,%llu", (ull)k->tcpi_snd_wscale, (ull)k->tcpi_rcv_wscale);
	fputc('\n', to);
}

/* Prints name:value unless the value is 0. */
static void tcp_field(FILE *to, const char *name, uint64_t v)
{
	if (v)
		fprintf(to, " %s:%llu", name, (ull)v);
}

static void tcp_sent(FILE *to, const struct sl_sock_stats *k)
{
	fprintf(to, "  rto:%.3g rtt:%.3g/%.3g", (double)k->tcpi_rto / 1e3,
		(double)k->tcpi_rtt / 1e3, (double)k->tcpi_rttvar / 1e3);
	if (k->tcpi_min_rtt != UINT32_MAX)
		fprintf(to, " minrtt:%.3g", (double)k->tcpi_min_rtt / 1e3);
	fprintf(to, " mss:%llu pmtu:%llu advmss:%llu cwnd:%llu", (ull)k->tcpi_snd_mss,
		(ull)k->tcpi_pmtu, (ull)k->tcpi_advmss, (ull)k->tcpi_snd_cwnd);
	if (k->tcpi_snd_ssthresh < INT32_MAX)
		tcp_field(to, "ssthresh", k->tcpi_snd_ssthresh);
	tcp_field(to, "snd_wnd", k->tcpi_snd_wnd);
	if (k->tcpi_max_pacing_rate && k->tcpi_max_pacing_rate != UINT64_MAX)
		fprintf(to, " max_pacing_rate:%llubps", (ull)k->tcpi_max_pacing_rate * 8);
	tcp_field(to, "bytes_sent", k->tcpi_bytes_sent);
	tcp_field(to, "bytes_retrans", k->tcpi_bytes_retrans);
	tcp_field(to, "bytes_acked", k->tcpi_bytes_acked);
	fprintf(to, " segs_out:%llu data_segs_out:%llu delivered:%llu\n", (ull)k->tcpi_segs_out,
		(ull)k->tcpi_data_segs_out, (ull)k->tcpi_delivered);
	fprintf(to, "  unacked:%llu", (ull)k->tcpi_unacked);
	tcp_field(to, "notsent", k->tcpi_notsent_bytes);
	fprintf(to, " retrans:%llu/%llu", (ull)k->tcpi_retrans, (ull)k->tcpi_total_retrans);
	tcp_field(to, "lost", k->tcpi_lost);
	tcp_field(to, "sacked", k->tcpi_sacked);
	tcp_field(to, "dsack_dups", k->tcpi_dsack_dups);
	tcp_field(to, "reord_seen", k->tcpi_reord_seen);
	tcp_field(to, "backoff", k->tcpi_backoff);
	tcp_field(to, "probes", k->tcpi_probes);
	fputc('\n', to);
}

static void block_tcp(FILE *to, const struct sl_sock_stats *k)
{
	if (!k->tcpi_state)
		return;
	if (k->tcpi_state == TCP_LISTEN) {
		fprintf(to, "- TCP LISTEN, %llu of %llu waiting to be accepted\n",
			(ull)k->rx_queue_pkts, (ull)k->tx_queue_bytes);
		return;
	}
	tcp_options(to, k);
	tcp_sent(to, k);
	fprintf(to, "  rcv_mss:%llu rcv_rtt:%.3g rcv_space:%llu rcv_ssthresh:%llu",
		(ull)k->tcpi_rcv_mss, (double)k->tcpi_rcv_rtt / 1e3, (ull)k->tcpi_rcv_space,
		(ull)k->tcpi_rcv_ssthresh);
	tcp_field(to, "bytes_received", k->tcpi_bytes_received);
	tcp_field(to, "rcv_ooopack", k->tcpi_rcv_ooopack);
	fprintf(to, " segs_in:%llu data_segs_in:%llu\n", (ull)k->tcpi_segs_in,
		(ull)k->tcpi_data_segs_in);
	fprintf(to, "  Recv-Q:%llu Send-Q:%llu rcvbuf:%u sndbuf:%u\n", (ull)k->rx_queue_bytes,
		(ull)k->tx_queue_bytes, k->rcvbuf, k->sndbuf);
}

/* Bytes, packets, empty and failed calls of one direction; nothing when all are 0. */
static void traffic_line(FILE *to, const struct sl_stat_show *show, const char *what,
			 const uint64_t n[4])
{
	if (n[0] | n[1] | n[2] | n[3])
		fprintf(to, "%s: %llu KB / %llu / %llu / %llu [bytes/packets/eagains/errors]%s\n",
			what, rate(show, n[0] / 1024), rate(show, n[1]), rate(show, n[2]),
			rate(show, n[3]), show->seconds > 0 ? "/s" : "");
}

/* Prints the protocol, whether calls wait and, of a socket for multicasts, whether members on this
 * host receive those that it sends, and the address or the device from which they leave. */
static void block_kind(FILE *to, const struct sl_sock_stats *k)
{
	bool sends_from = k->mc_ifindex || !sl_addr_is_any(&k->mc_if);
	char text[SL_ADDR_STRLEN];

	fprintf(to, "- %s, %s", sl_stat_proto(k), k->blocking ? "Blocked" : "Non-blocked");
	if (k->ngroups || sends_from)
		fprintf(to, ", MC Loop %s", k->mc_loop ? "Enabled" : "Disabled");
	if (!sl_addr_is_any(&k->mc_if))
		fprintf(to, ", MC IF = [%s]",
			inet_ntop(AF_INET, &k->mc_if.w[3], text, sizeof(text)));
	else if (sends_from)
		fprintf(to, ", MC IF = [device %u]", k->mc_ifindex);
	fputc('\n', to);
}

static bool is_idle(const struct sl_sock_stats *k)
{
	const uint64_t n[] = {k->tx_pkts,    k->tx_eagain,    k->tx_errors,    k->rx_pkts,
			      k->rx_eagain,  k->rx_errors,    k->tx_os_pkts,   k->tx_os_eagain,
			      k->rx_os_pkts, k->rx_os_eagain, k->tx_os_errors, k->rx_os_errors,
			      k->tx_dummies, k->rx_poll_hit,  k->rx_poll_miss, k->rx_held_pkts};
	uint64_t any = 0;

	for (unsigned i = 0; i < sl_array_len(n); i++)
		any |= n[i];
	return !any;
}

static void block_sock(FILE *to, const struct sl_sock_stats *k, const struct sl_stat_show *show)
{
	const char *u = show->seconds > 0 ? "/s" : "";
	char text[SL_STAT_ENDPOINT_MAX];

	fprintf(to, BLOCK "Fd=[%d]\n", k->fd);
	block_kind(to, k);
	fprintf(to, "- %s\n", k->state == SL_STATE_OFFLOADED ? "Offloaded" : "Not offloaded:");
	if (k->state != SL_STATE_OFFLOADED)
		fprintf(to, "  %s\n",
			k->state == SL_STATE_NEW ? sl_reason_text(SL_REASON_UNDECIDED)
						 : sl_reason_text(k->reason));
	fprintf(to, "- Local Address   = [%s]\n", sl_stat_endpoint(&k->local, k->local_port, text));
	if (k->remote_port)
		fprintf(to, "- Foreign Address = [%s]\n",
			sl_stat_endpoint(&k->remote, k->remote_port, text));
	block_groups(to, k);
	if (k->rx_thread | k->tx_thread)
		fprintf(to, "- Thread Id Rx: %5u, Tx: %5u\n", k->rx_thread, k->tx_thread);
	block_tcp(to, k);
	traffic_line(to, show, "Tx Offload",
		     (const uint64_t[]){k->tx_bytes, k->tx_pkts, k->tx_eagain, k->tx_errors});
	traffic_line(to, show, "Tx OS info",
		     (const uint64_t[]){k->tx_os_bytes, k->tx_os_pkts, k->tx_os_eagain,
					k->tx_os_errors});
	if (k->tx_dummies)
		fprintf(to, "Tx Dummy messages%s : %llu\n", u, rate(show, k->tx_dummies));
	traffic_line(to, show, "Rx Offload",
		     (const uint64_t[]){k->rx_bytes, k->rx_pkts, k->rx_eagain, k->rx_errors});
	traffic_line(to, show, "Rx OS info",
		     (const uint64_t[]){k->rx_os_bytes, k->rx_os_pkts, k->rx_os_eagain,
					k->rx_os_errors});
	fprintf(to, "Rx byte: cur %llu / max %llu / dropped%s %llu / limit %u\n",
		(ull)k->rx_queue_bytes, (ull)k->rx_queue_max_bytes, u, rate(show, k->rx_drop_bytes),
		k->rcvbuf);
	fprintf(to, "Rx pkt : cur %llu / max %llu / dropped%s %llu / short of frames%s %llu\n",
		(ull)k->rx_queue_pkts, (ull)k->rx_queue_max_pkts, u, rate(show, k->rx_drops), u,
		rate(show, k->rx_mem_drops));
	if (k->rx_held_pkts)
		fprintf(to, "Rx zero copy buffers: cur %llu\n", (ull)k->rx_held_pkts);
	if (k->rx_poll_hit | k->rx_poll_miss)
		fprintf(to, "Rx poll: %llu / %llu (%.2f%%) [miss/hit]\n", (ull)k->rx_poll_miss,
			(ull)k->rx_poll_hit, percent(k->rx_poll_hit, k->rx_poll_miss));
	if (k->rx_migrations | k->tx_migrations)
		fprintf(to, "Ring migrations Rx: %llu, Tx: %llu\n", rate(show, k->rx_migrations),
			rate(show, k->tx_migrations));
	if (k->tcpi_total_retrans)
		fprintf(to, "Retransmissions: %llu\n", (ull)k->tcpi_total_retrans);
	if (is_idle(k))
		fputs("Rx and Tx where not active\n", to); /* (as vma_stats spells it) */
	sl_stat_times(to, k);
}

/* Prints all counters of a block, one a line, with their meanings. */
static void block_counters(FILE *to, enum sl_stat_block block, const void *obj,
			   const struct sl_stat_show *show)
{
	unsigned n;
	const struct sl_stat_desc *d = sl_stat_descs(block, &n);

	for (unsigned i = 0; i < n; i++) {
		uint64_t v = *(const uint64_t *)((const char *)obj + d[i].offset);
		bool per_s = show->seconds > 0 && !d[i].level;

		fprintf(to, "%-25s %14llu %s%s\n", d[i].name, per_s ? rate(show, v) : (ull)v,
			d[i].unit, per_s ? "/s" : "");
	}
}

/* Prints a level: what there is now. */
static void level_line(FILE *to, const char *what, uint64_t v)
{
	fprintf(to, NAMED "%llu\n", what, (ull)v);
}

/* Prints a count, by the second if the view shows differences. */
static void count_line(FILE *to, const struct sl_stat_show *show, const char *what, uint64_t v)
{
	fprintf(to, NAMED "%llu%s\n", what, rate(show, v), show->seconds > 0 ? " /s" : "");
}

static void block_port(FILE *to, const struct sl_port_stats *p, const struct sl_stat_show *show)
{
	fprintf(to, BLOCK "PORT=[%s]\n", p->ifname);
	fprintf(to, "- driver %s, %u RX queue%s, MTU %u\n", p->driver, p->nqueues,
		p->nqueues == 1 ? "" : "s", p->mtu);
	fprintf(to, "- XDP %s, %s, steering %s\n", sl_stat_xdp(p->flags),
		p->flags & SL_PORT_ZEROCOPY ? "zero-copy" : "copy mode",
		p->alive ? "attached" : "NOT ATTACHED");
	if (p->plugouts)
		count_line(to, show, "VF Plugouts:", p->plugouts);
	block_counters(to, SL_BLOCK_port, p, show);
}

/* True: the lane is worth a block, because it is open or has counted something. */
static bool has_counted(const struct sl_lane_stats *l)
{
	unsigned n;
	const struct sl_stat_desc *d = sl_stat_descs(SL_BLOCK_lane, &n);

	for (unsigned i = 0; i < n; i++)
		if (*(const uint64_t *)((const char *)l + d[i].offset))
			return true;
	return l->nlegs > 0;
}

static void block_dev_mem(FILE *to, const struct sl_lane_stats *l, const struct sl_stat_show *show)
{
	if (!l->dev_mem_alloc && !l->dev_mem_pkts)
		return;
	level_line(to, "Dev Mem Alloc:", l->dev_mem_alloc);
	fprintf(to, NAMED "%llu / %llu / %llu [kilobytes/packets/oob]%s\n",
		"Dev Mem Stats:", rate(show, l->dev_mem_bytes / 1024), rate(show, l->dev_mem_pkts),
		rate(show, l->dev_mem_oob), show->seconds > 0 ? "/s" : "");
}

/* Bytes and packets of one direction, as vma_stats has them of a ring. */
static void ring_line(FILE *to, const struct sl_stat_show *show, const char *what, uint64_t bytes,
		      uint64_t pkts)
{
	fprintf(to, NAMED "%llu / %llu [kilobytes/packets]%s\n", what, rate(show, bytes / 1024),
		rate(show, pkts), show->seconds > 0 ? "/s" : "");
}

/* Datagrams that wait in the queues of the lane's sockets. */
static uint64_t queued_on(const struct sl_stats *s, const struct sl_lane_stats *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->max_socks; i++)
		if (s->sock[i].used == 1 && s->sock[i].proto == IPPROTO_UDP &&
		    s->sock[i].state == SL_STATE_OFFLOADED && s->sock[i].lane == l->id)
			n += s->sock[i].rx_queue_pkts;
	return n;
}

/* True: the program's devices are those that this tool sees by their names. */
static bool has_our_devices(const struct sl_stats *s)
{
	char path[64];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", s->pid);
	return !stat("/proc/self/ns/net", &ours) && !stat(path, &its) && ours.st_ino == its.st_ino;
}

/* How often the lane's device interrupts, if its driver says so. A lane's devices are all that the
 * program has open. */
static void block_moderation(FILE *to, const struct sl_stats *s, const struct sl_lane_stats *l)
{
	for (unsigned i = 0; l->nlegs && i < SL_STATS_PORTS; i++) {
		const struct sl_port_stats *p = &s->port[i];
		struct sl_coalesce c;

		if (p->used != 1 || !p->alive || !has_our_devices(s) ||
		    sl_coalesce_get(p->ifname, &c))
			continue;
		level_line(to, "Moderation frame count:", c.packets);
		level_line(to, "Moderation usec period:", c.us);
		return;
	}
}

/* A lane: what it has sent and received (VMA: ring), what became of received packets (VMA: CQ), and
 * all its counters. */
static void block_lane(FILE *to, const struct sl_stats *s, const struct sl_lane_stats *l,
		       const struct sl_stat_show *show)
{
	uint64_t dropped =
		l->rx_bad_meta + l->rx_bad_len + l->rx_bad_csum + l->rx_martian + l->rx_stale;

	fprintf(to, BLOCK "RING=[%u]\n", l->id);
	fprintf(to, "- open on %u device%s\n", l->nlegs, l->nlegs == 1 ? "" : "s");
	ring_line(to, show, "Tx Offload:", l->tx_bytes, l->tx_pkts);
	ring_line(to, show, "Rx Offload:", l->rx_bytes, l->rx_pkts);
	if (l->TcpRetransSegs)
		count_line(to, show, "Retransmissions:", l->TcpRetransSegs);
	count_line(to, show, "Interrupt requests:", l->sleeps);
	count_line(to, show, "Interrupt received:", l->wakes);
	block_moderation(to, s, l);
	block_dev_mem(to, l, show);
	fprintf(to, BLOCK "CQ=[%u]\n", l->id);
	count_line(to, show, "Packets dropped:", dropped);
	level_line(to, "Packets queue len:", queued_on(s, l));
	level_line(to, "Drained max:", l->keeper_max);
	level_line(to, "Buffer pool size:", l->rx_posted);
	fprintf(to, NAMED "%.2f%%\n", "Buffer disorder:", (double)l->rx_disorder / 100);
	count_line(to, show, "Short of buffers:", l->rx_no_frames);
	fprintf(to, NAMED "%llu / %llu (%.2f%%) [empty/all]%s\n",
		"Polls:", rate(show, l->idle_turns), rate(show, l->turns),
		percent(l->idle_turns, l->turns - sl_min(l->turns, l->idle_turns)),
		show->seconds > 0 ? "/s" : "");
	fprintf(to, BLOCK "LANE=[%u]\n", l->id);
	block_counters(to, SL_BLOCK_lane, l, show);
}

static void block_pool(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	uint64_t none = 0;

	if (!s->frames_all)
		return;
	for (unsigned i = 0; i < SL_STATS_LANES; i++)
		if (s->lane[i].used == 1)
			none += s->lane[i].rx_no_frames + s->lane[i].tx_no_frames;
	fprintf(to, BLOCK "BUFFER_POOL\n");
	level_line(to, "Size:", s->frames_all);
	level_line(to, "Free:", s->frames_free);
	count_line(to, show, "No buffers error:", none);
}

static void view_blocks(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	for (uint32_t i = 0; i < s->max_socks; i++)
		if (sock_at(s, i, show))
			block_sock(to, &s->sock[i], show);
	for (unsigned i = 0; i < SL_STATS_LANES; i++)
		if (s->lane[i].used == 1 && has_counted(&s->lane[i]))
			block_lane(to, s, &s->lane[i], show);
	block_pool(to, s, show);
	for (unsigned i = 0; i < SL_STATS_PORTS; i++)
		if (s->port[i].used == 1)
			block_port(to, &s->port[i], show);
	for (unsigned i = 0; i < SL_STATS_WAITS; i++) {
		const struct sl_wait_stats *w = wait_at(s, i);
		char text[24];

		if (!w)
			continue;
		fprintf(to, BLOCK "%s\n", wait_name(s, w, text));
		block_counters(to, SL_BLOCK_wait, w, show);
	}
	fprintf(to, BLOCK "PROCESS=[%u]\n", s->pid);
	block_counters(to, SL_BLOCK_proc, s, show);
	fprintf(to, "======================================================\n");
}

/* True: the group was listed under an earlier membership. */
static bool group_seen(const struct sl_stats *s, uint32_t sock, uint32_t group)
{
	for (uint32_t i = 0; i <= sock; i++)
		for (uint32_t g = 0; s->sock[i].used == 1 && g < s->sock[i].ngroups; g++) {
			if (i == sock && g == group)
				return false;
			if (sl_addr_eq(&s->sock[i].group[g], &s->sock[sock].group[group]))
				return true;
		}
	return false;
}

static void group_line(FILE *to, const struct sl_stats *s, const struct sl_addr *a,
		       const struct sl_stat_show *show)
{
	char text[SL_ADDR_STRLEN], shown[SL_ADDR_STRLEN + 2];
	bool v4 = sl_addr_is_v4(a);
	const char *sep = "";

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? (const void *)&a->w[3] : a->b, text, sizeof(text));
	snprintf(shown, sizeof(shown), "[%s]", text);
	fprintf(to, "%-42s ", shown);
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = sock_at(s, i, show);

		for (uint32_t g = 0; k && g < k->ngroups; g++)
			if (sl_addr_eq(&k->group[g], a)) {
				fprintf(to, "%s%d", sep, k->fd);
				sep = ", ";
				break;
			}
	}
	fputc('\n', to);
}

static void view_groups(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	fprintf(to, "Group Memberships Information\n%-42s fd number\n%.60s\n", "Group", rule);
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = sock_at(s, i, show);

		for (uint32_t g = 0; k && g < k->ngroups; g++)
			if (!group_seen(s, i, g))
				group_line(to, s, &k->group[g], show);
	}
	fprintf(to, "%.60s\n", rule);
}

static const char *netstat_state(const struct sl_sock_stats *k)
{
	if (k->proto == IPPROTO_TCP && k->tcpi_state)
		return sl_stat_tcp_state(k);
	return k->remote_port ? "ESTABLISHED" : "";
}

/* "10.0.0.1:80", "0.0.0.0:*", "[::]:80", as netstat has them. */
static const char *netstat_end(const struct sl_sock_stats *k, const struct sl_addr *a,
			       uint16_t port, char buf[SL_STAT_ENDPOINT_MAX])
{
	const char *host = k->family == AF_INET6 ? "[::]" : "0.0.0.0";

	if (!sl_addr_is_any(a))
		return sl_stat_endpoint(a, port, buf);
	if (port)
		snprintf(buf, SL_STAT_ENDPOINT_MAX, "%s:%u", host, port);
	else
		snprintf(buf, SL_STAT_ENDPOINT_MAX, "%s:*", host);
	return buf;
}

static void view_netstat(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	char local[SL_STAT_ENDPOINT_MAX], remote[SL_STAT_ENDPOINT_MAX];

	fprintf(to, "%-5s %-9s %8s %8s %-26s %-26s %-12s %-10s %s\n", "Proto", "Offloaded",
		"Recv-Q", "Send-Q", "Local Address", "Foreign Address", "State", "Inode",
		"PID/Program name");
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = sock_at(s, i, show);
		bool listens;

		if (!k)
			continue;
		listens = k->proto == IPPROTO_TCP && k->tcpi_state == TCP_LISTEN;
		fprintf(to, "%-5s %-9s %8llu %8llu %-26s %-26s %-12s %-10u %u/%s\n",
			sl_stat_proto(k), k->state == SL_STATE_OFFLOADED ? "Yes" : "No",
			(ull)(listens ? k->rx_queue_pkts : k->rx_queue_bytes),
			(ull)k->tx_queue_bytes, netstat_end(k, &k->local, k->local_port, local),
			netstat_end(k, &k->remote, k->remote_port, remote), netstat_state(k),
			k->inode, s->pid, s->program);
	}
}

void sl_stat_view(FILE *to, int view, const struct sl_stats *s, const struct sl_stat_show *show)
{
	switch (view) {
	case 3:
		view_blocks(to, s, show);
		break;
	case 4:
		view_groups(to, s, show);
		break;
	case 5:
		view_netstat(to, s, show);
		break;
	default:
		view_basic(to, s, show, view == 2);
	}
}
