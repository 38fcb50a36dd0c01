/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters for machines: JSON, and the text format of Prometheus. Names are those of stats.def. */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "ctl/front/broker.h"
#include "stat.h"

typedef unsigned long long ull;

/* A quoted text; both formats escape these the same way. */
static void quoted(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			fputc('?', to); /* names are foreign bytes, the formats are UTF-8 */
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static uint64_t counter(const void *obj, const struct sl_stat_desc *d)
{
	return *(const uint64_t *)((const char *)obj + d->offset);
}

/* True: the counter has a meaning for this socket. */
static bool is_counter_of(const struct sl_stat_desc *d, const struct sl_sock_stats *k)
{
	return !d->tcp || (k->proto == IPPROTO_TCP && k->tcpi_state);
}

static void json_counters(FILE *to, enum sl_stat_block block, const void *obj,
			  const struct sl_stat_show *show)
{
	unsigned n;
	const struct sl_stat_desc *d = sl_stat_descs(block, &n);

	for (unsigned i = 0; i < n; i++) {
		if (block == SL_BLOCK_sock && !is_counter_of(&d[i], obj))
			continue;
		if (show->seconds > 0 && !d[i].level)
			fprintf(to, ",\"%s_per_s\":%.1f", d[i].name,
				(double)counter(obj, &d[i]) / show->seconds);
		else
			fprintf(to, ",\"%s\":%llu", d[i].name, (ull)counter(obj, &d[i]));
	}
}

/* The call that entry number i of the calls that wait is about. */
static const char *wait_call(unsigned i)
{
	return i == SL_WAIT_SELECT ? "select" : i == SL_WAIT_POLL ? "poll" : "epoll";
}

static void json_sock(FILE *to, const struct sl_sock_stats *k, const struct sl_stat_show *show)
{
	char text[SL_STAT_ENDPOINT_MAX];

	fprintf(to, "{\"fd\":%d,\"inode\":%u,\"proto\":\"%s\",\"offloaded\":%s,\"lane\":%u", k->fd,
		k->inode, sl_stat_proto(k), k->state == SL_STATE_OFFLOADED ? "true" : "false",
		k->lane);
	fputs(",\"reason\":", to);
	quoted(to, k->state == SL_STATE_NEW ? sl_reason_text(SL_REASON_UNDECIDED)
					    : sl_reason_text(k->reason));
	fputs(",\"local\":", to);
	quoted(to, sl_stat_endpoint(&k->local, k->local_port, text));
	fputs(",\"remote\":", to);
	quoted(to, sl_stat_endpoint(&k->remote, k->remote_port, text));
	fprintf(to, ",\"blocking\":%s,\"rcvbuf\":%u,\"sndbuf\":%u,\"groups\":[",
		k->blocking ? "true" : "false", k->rcvbuf, k->sndbuf);
	for (uint32_t g = 0; g < k->ngroups; g++) {
		bool v4 = sl_addr_is_v4(&k->group[g]);
		char a[SL_ADDR_STRLEN];

		fputs(g ? "," : "", to);
		quoted(to, inet_ntop(v4 ? AF_INET : AF_INET6,
				     v4 ? (const void *)&k->group[g].w[3] : k->group[g].b, a,
				     sizeof(a)));
	}
	fputs("],\"mc_if\":", to);
	if (sl_addr_is_any(&k->mc_if))
		fputs("null", to);
	else
		quoted(to, inet_ntop(AF_INET, &k->mc_if.w[3], text, sizeof(text)));
	fprintf(to, ",\"mc_ifindex\":%u,\"rx_thread\":%u,\"tx_thread\":%u", k->mc_ifindex,
		k->rx_thread, k->tx_thread);
	if (k->proto == IPPROTO_TCP) {
		fprintf(to, ",\"state\":\"%s\",\"congestion\":", sl_stat_tcp_state(k));
		quoted(to, k->congestion);
	}
	json_counters(to, SL_BLOCK_sock, k, show);
	sl_stat_times_json(to, k);
	fputc('}', to);
}

static void json_port(FILE *to, const struct sl_port_stats *p, const struct sl_stat_show *show)
{
	fputs("{\"ifname\":", to);
	quoted(to, p->ifname);
	fputs(",\"driver\":", to);
	quoted(to, p->driver);
	fprintf(to,
		",\"ifindex\":%u,\"queues\":%u,\"mtu\":%u,\"attached\":%s,\"xdp\":\"%s\","
		"\"zerocopy\":%s",
		p->ifindex, p->nqueues, p->mtu, p->alive ? "true" : "false", sl_stat_xdp(p->flags),
		p->flags & SL_PORT_ZEROCOPY ? "true" : "false");
	json_counters(to, SL_BLOCK_port, p, show);
	fputc('}', to);
}

void sl_stat_json(FILE *to, const struct sl_stats *s, const struct sl_stat_show *show)
{
	const char *sep = "";

	fprintf(to, "{\"version\":%d,\"pid\":%u,\"program\":", SL_STATS_VERSION, s->pid);
	quoted(to, s->program);
	fprintf(to, ",\"log_level\":%d", s->log_level);
	json_counters(to, SL_BLOCK_proc, s, show);
	fputs(",\"sockets\":[", to);
	for (uint32_t i = 0; i < s->max_socks; i++) {
		if (s->sock[i].used != 1 || !sl_stat_fd_wanted(show->sockets, s->sock[i].fd))
			continue;
		fputs(sep, to);
		json_sock(to, &s->sock[i], show);
		sep = ",";
	}
	fputs("],\"lanes\":[", to);
	sep = "";
	for (unsigned i = 0; i < SL_STATS_LANES; i++) {
		if (s->lane[i].used != 1)
			continue;
		fprintf(to, "%s{\"id\":%u,\"tid\":%u,\"devices\":%u", sep, s->lane[i].id,
			s->lane[i].tid, s->lane[i].nlegs);
		json_counters(to, SL_BLOCK_lane, &s->lane[i], show);
		fputc('}', to);
		sep = ",";
	}
	fputs("],\"waits\":[", to);
	sep = "";
	for (unsigned i = 0; i < SL_STATS_WAITS; i++) {
		if (s->wait[i].used != 1)
			continue;
		fprintf(to, "%s{\"call\":\"%s\",\"fd\":%d", sep, wait_call(i), s->wait[i].fd);
		json_counters(to, SL_BLOCK_wait, &s->wait[i], show);
		fputc('}', to);
		sep = ",";
	}
	fputs("],\"ports\":[", to);
	sep = "";
	for (unsigned i = 0; i < SL_STATS_PORTS; i++) {
		if (s->port[i].used != 1)
			continue;
		fputs(sep, to);
		json_port(to, &s->port[i], show);
		sep = ",";
	}
	fputs("]}\n", to);
}

/* Writes a sample line; the caller writes the labels beyond the process. */
static void sample_head(FILE *to, const char *block, const struct sl_stat_desc *d,
			const struct sl_stats *s)
{
	fprintf(to, "sluice_%s_%s%s{pid=\"%u\",program=", block, d->name, d->level ? "" : "_total",
		s->pid);
	quoted(to, s->program);
}

static void sock_labels(FILE *to, const struct sl_sock_stats *k)
{
	char text[SL_STAT_ENDPOINT_MAX];

	fprintf(to, ",fd=\"%d\",inode=\"%u\",proto=\"%s\",local=", k->fd, k->inode,
		sl_stat_proto(k));
	quoted(to, sl_stat_endpoint(&k->local, k->local_port, text));
}

static void samples_sock(FILE *to, const struct sl_stat_desc *d, const struct sl_stats *s,
			 const struct sl_stat_show *show)
{
	for (uint32_t i = 0; i < s->max_socks; i++) {
		const struct sl_sock_stats *k = &s->sock[i];

		if (k->used != 1 || !sl_stat_fd_wanted(show->sockets, k->fd) ||
		    !is_counter_of(d, k))
			continue;
		sample_head(to, "socket", d, s);
		sock_labels(to, k);
		fprintf(to, "} %llu\n", (ull)counter(k, d));
	}
}

static void samples_lane(FILE *to, const struct sl_stat_desc *d, const struct sl_stats *s)
{
	for (unsigned i = 0; i < SL_STATS_LANES; i++) {
		if (s->lane[i].used != 1)
			continue;
		sample_head(to, "lane", d, s);
		fprintf(to, ",lane=\"%u\"} %llu\n", s->lane[i].id, (ull)counter(&s->lane[i], d));
	}
}

static void samples_port(FILE *to, const struct sl_stat_desc *d, const struct sl_stats *s)
{
	for (unsigned i = 0; i < SL_STATS_PORTS; i++) {
		if (s->port[i].used != 1)
			continue;
		sample_head(to, "port", d, s);
		fputs(",device=", to);
		quoted(to, s->port[i].ifname);
		fprintf(to, "} %llu\n", (ull)counter(&s->port[i], d));
	}
}

static void samples_wait(FILE *to, const struct sl_stat_desc *d, const struct sl_stats *s)
{
	for (unsigned i = 0; i < SL_STATS_WAITS; i++) {
		if (s->wait[i].used != 1)
			continue;
		sample_head(to, "wait", d, s);
		fprintf(to, ",call=\"%s\"", wait_call(i));
		if (i >= SL_WAIT_EPOLL)
			fprintf(to, ",fd=\"%d\"", s->wait[i].fd);
		fprintf(to, "} %llu\n", (ull)counter(&s->wait[i], d));
	}
}

static void histogram_labels(FILE *to, const struct sl_stats *s, const struct sl_sock_stats *k)
{
	fprintf(to, "{pid=\"%u\",program=", s->pid);
	quoted(to, s->program);
	sock_labels(to, k);
}

/* Writes one of the histograms of all sockets. A socket without SLUICE_LATENCY_STATS has none. */
static void histograms(FILE *to, enum sl_time what, struct sl_stats *const *s, unsigned n,
		       const struct sl_stat_show *show)
{
	sl_stat_times_head(to, what);
	for (unsigned p = 0; p < n; p++)
		for (uint32_t i = 0; i < s[p]->max_socks; i++)
			if (s[p]->sock[i].used == 1 &&
			    sl_stat_fd_wanted(show->sockets, s[p]->sock[i].fd))
				sl_stat_times_samples(to, what, s[p], &s[p]->sock[i],
						      histogram_labels);
}

/* The samples of one process for a counter of that block. */
static void samples_of(enum sl_stat_block block, FILE *to, const struct sl_stat_desc *d,
		       struct sl_stats *s, const struct sl_stat_show *show)
{
	switch (block) {
	case SL_BLOCK_sock:
		samples_sock(to, d, s, show);
		break;
	case SL_BLOCK_lane:
		samples_lane(to, d, s);
		break;
	case SL_BLOCK_port:
		samples_port(to, d, s);
		break;
	case SL_BLOCK_wait:
		samples_wait(to, d, s);
		break;
	default:
		sample_head(to, "process", d, s);
		fprintf(to, "} %llu\n", (ull)counter(s, d));
	}
}

/* Prometheus wants all samples of a metric together, of whatever process. */
void sl_stat_prometheus(FILE *to, struct sl_stats *const *s, unsigned n,
			const struct sl_stat_show *show)
{
	static const char *const names[SL_BLOCKS] = {"socket", "lane", "port", "wait", "process"};

	for (int b = 0; b < SL_BLOCKS; b++) {
		unsigned count;
		const struct sl_stat_desc *d = sl_stat_descs((enum sl_stat_block)b, &count);

		for (unsigned i = 0; i < count; i++) {
			const char *suffix = d[i].level ? "" : "_total";

			fprintf(to, "# HELP sluice_%s_%s%s %s (%s)\n", names[b], d[i].name, suffix,
				d[i].help, d[i].unit);
			fprintf(to, "# TYPE sluice_%s_%s%s %s\n", names[b], d[i].name, suffix,
				d[i].level ? "gauge" : "counter");
			for (unsigned p = 0; p < n; p++)
				samples_of((enum sl_stat_block)b, to, &d[i], s[p], show);
		}
	}
	for (int t = 0; t < SL_TIMES; t++)
		histograms(to, (enum sl_time)t, s, n, show);
}
