/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of `sluice ss`: the columns and words of ss(8). */
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ss.h"

typedef unsigned long long ull;

enum { COL_NETID, COL_STATE, COL_RQ, COL_SQ, COL_LOCAL, COL_LPORT, COL_PEER, COL_PPORT, COLS };
#define CELL 80

/* Text that grows; what does not fit is left out. */
struct text {
	char s[4096];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->s + t->n, sizeof(t->s) - t->n, format, ap);
	va_end(ap);
	if (n > 0)
		t->n = sl_min(t->n + (size_t)n, sizeof(t->s) - 1);
}

static const char *state_name(uint8_t state)
{
	static const char *const names[] = {"UNKNOWN",    "ESTAB",      "SYN-SENT",  "SYN-RECV",
					    "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN",
					    "CLOSE-WAIT", "LAST-ACK",   "LISTEN",    "CLOSING"};

	return names[state < sl_array_len(names) ? state : 0];
}

/* Columns -------------------------------------------------------------------------------------- */

/* Ports that the kernel gives to clients have no service's name, as in ss(8). */
static bool is_ephemeral(uint16_t port)
{
	static int lo = -1, hi;
	FILE *f;

	if (lo < 0) {
		lo = 32768;
		hi = 60999;
		f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
		if (f) {
			if (fscanf(f, "%d %d", &lo, &hi) != 2)
				lo = 1024;
			fclose(f);
		}
	}
	return port >= lo && port <= hi;
}

static void port_text(char cell[CELL], const struct sl_ss_sock *k, uint16_t port, bool numeric)
{
	const struct servent *s = NULL;

	if (!numeric && port && !is_ephemeral(port))
		s = getservbyport(htons(port), k->proto == IPPROTO_TCP ? "tcp" : "udp");
	if (s)
		snprintf(cell, CELL, "%s", s->s_name);
	else if (port)
		snprintf(cell, CELL, "%u", port);
	else
		strcpy(cell, "*");
}

/* The address, with the device that the socket is bound to if it is the local one. */
static void addr_text(char cell[CELL], const struct sl_ss_sock *k, const struct sl_addr *a,
		      uint32_t ifindex)
{
	char text[INET6_ADDRSTRLEN], name[IF_NAMESIZE];
	size_t n;

	if (k->family == AF_INET)
		snprintf(cell, CELL, "%s", inet_ntop(AF_INET, &a->w[3], text, sizeof(text)));
	else if (sl_addr_is_any(a) && !k->v6only)
		strcpy(cell, "*");
	else
		snprintf(cell, CELL, "[%s]",
			 sl_addr_is_any(a) ? "::" : inet_ntop(AF_INET6, a->b, text, sizeof(text)));
	n = strlen(cell);
	if (ifindex && if_indextoname(ifindex, name))
		snprintf(cell + n, CELL - n, "%%%s", name);
}

static void cells_of(char cell[COLS][CELL], const struct sl_ss_sock *k,
		     const struct sl_ss_look *look)
{
	strcpy(cell[COL_NETID], k->proto == IPPROTO_TCP ? "tcp" : "udp");
	strcpy(cell[COL_STATE], state_name(k->state));
	snprintf(cell[COL_RQ], CELL, "%llu", (ull)k->rq);
	snprintf(cell[COL_SQ], CELL, "%llu", (ull)k->sq);
	addr_text(cell[COL_LOCAL], k, &k->local, k->ifindex);
	port_text(cell[COL_LPORT], k, k->local_port, look->numeric);
	addr_text(cell[COL_PEER], k, &k->remote, 0);
	port_text(cell[COL_PPORT], k, k->remote_port, look->numeric);
}

/* Behind the columns --------------------------------------------------------------------------- */

static void put_processes(struct text *t, const struct sl_ss_sock *k)
{
	char buf[2048], name[16];

	if (sl_ss_users(k->inode, buf, sizeof(buf))) {
		put(t, " %s", buf);
	} else if (k->ours) {
		sl_ss_name(name, sizeof(name), k->program);
		put(t, " users:((\"%s\",pid=%d,fd=%d))", name, k->pid, k->fd);
	}
}

/* Milliseconds as ss(8) writes them: the longer the time, the fewer units. */
static void put_time(struct text *t, uint32_t ms)
{
	uint32_t minutes = ms / 60000, s = minutes > 9 ? 0 : ms / 1000 % 60;

	ms = minutes || s > 9 ? 0 : ms % 1000;
	if (minutes)
		put(t, "%umin", minutes);
	if (s)
		put(t, "%u%s", s, ms ? "." : "sec");
	if (ms)
		put(t, "%03ums", ms);
}

static void put_timer(struct text *t, const struct sl_ss_sock *k)
{
	static const char *const names[] = {"off",      "on",      "keepalive",
					    "timewait", "persist", "unknown"};

	if (!k->timer)
		return;
	put(t, " timer:(%s,", names[sl_min(k->timer, (uint8_t)5)]);
	put_time(t, k->expires_ms);
	put(t, ",%u)", k->retrans);
}

static void put_extended(struct text *t, const struct sl_ss_sock *k)
{
	if (k->uid)
		put(t, " uid:%u", k->uid);
	put(t, " ino:%u", k->inode);
	if (k->cookie)
		put(t, " sk:%llx", (ull)k->cookie);
	if (k->mark)
		put(t, " fwmark:0x%x", k->mark);
	if (k->has_v6only && k->family == AF_INET6)
		put(t, " v6only:%u", k->v6only);
	put(t, " %c-%c", k->shut & 1 ? '-' : '<', k->shut & 2 ? '-' : '>');
	if (k->ours)
		put(t, " lane:%u", k->lane);
}

static void put_memory(struct text *t, const struct sl_ss_sock *k)
{
	const uint32_t *m = k->mem;

	put(t, " skmem:(r%u,rb%u,t%u,tb%u,f%u,w%u,o%u,bl%u,d%u)", m[SL_SS_MEM_R], m[SL_SS_MEM_RB],
	    m[SL_SS_MEM_T], m[SL_SS_MEM_TB], m[SL_SS_MEM_F], m[SL_SS_MEM_W], m[SL_SS_MEM_O],
	    m[SL_SS_MEM_BL], m[SL_SS_MEM_D]);
}

/* Puts name:value unless the value is 0. */
static void field(struct text *t, const char *name, uint64_t v)
{
	if (v)
		put(t, " %s:%llu", name, (ull)v);
}

static void field_ms(struct text *t, const char *name, uint64_t us)
{
	if (us)
		put(t, " %s:%g", name, (double)us / 1e3);
}

static void bits_per_s(struct text *t, const char *name, uint64_t bytes)
{
	if (bytes && bytes != UINT64_MAX)
		put(t, " %s %llubps", name, (ull)bytes * 8);
}

static void put_agreed(struct text *t, const struct sl_ss_sock *k)
{
	const struct tcp_info *i = &k->info;

	if (i->tcpi_options & TCPI_OPT_TIMESTAMPS)
		put(t, " ts");
	if (i->tcpi_options & TCPI_OPT_SACK)
		put(t, " sack");
	if (i->tcpi_options & TCPI_OPT_ECN)
		put(t, " ecn");
	if (i->tcpi_options & TCPI_OPT_ECN_SEEN)
		put(t, " ecnseen");
	if (i->tcpi_options & TCPI_OPT_SYN_DATA)
		put(t, " fastopen");
	if (k->congestion[0]) {
		char name[16];

		sl_ss_name(name, sizeof(name), k->congestion);
		put(t, " %s", name);
	}
	if (i->tcpi_options & TCPI_OPT_WSCALE)
		put(t, " wscale:%u,%u", i->tcpi_snd_wscale, i->tcpi_rcv_wscale);
}

static void put_rates(struct text *t, const struct tcp_info *i)
{
	if (i->tcpi_rtt && i->tcpi_snd_mss && i->tcpi_snd_cwnd)
		put(t, " send %.0fbps",
		    (double)i->tcpi_snd_cwnd * i->tcpi_snd_mss * 8e6 / i->tcpi_rtt);
	field(t, "lastsnd", i->tcpi_last_data_sent);
	field(t, "lastrcv", i->tcpi_last_data_recv);
	field(t, "lastack", i->tcpi_last_ack_recv);
	bits_per_s(t, "pacing_rate", i->tcpi_pacing_rate);
	if (i->tcpi_max_pacing_rate && i->tcpi_max_pacing_rate != UINT64_MAX)
		put(t, "/%llubps", (ull)i->tcpi_max_pacing_rate * 8);
	bits_per_s(t, "delivery_rate", i->tcpi_delivery_rate);
	field(t, "delivered", i->tcpi_delivered);
	field(t, "delivered_ce", i->tcpi_delivered_ce);
	if (i->tcpi_delivery_rate_app_limited)
		put(t, " app_limited");
	if (i->tcpi_busy_time)
		put(t, " busy:%llums", (ull)i->tcpi_busy_time / 1000);
}

static void put_losses(struct text *t, const struct tcp_info *i)
{
	field(t, "unacked", i->tcpi_unacked);
	if (i->tcpi_retrans || i->tcpi_total_retrans)
		put(t, " retrans:%u/%u", i->tcpi_retrans, i->tcpi_total_retrans);
	field(t, "lost", i->tcpi_lost);
	field(t, "sacked", i->tcpi_sacked);
	field(t, "dsack_dups", i->tcpi_dsack_dups);
	if (i->tcpi_reordering != 3)
		field(t, "reordering", i->tcpi_reordering);
	field(t, "reord_seen", i->tcpi_reord_seen);
}

static void put_info(struct text *t, const struct sl_ss_sock *k)
{
	const struct tcp_info *i = &k->info;

	put_agreed(t, k);
	if (k->state == SL_SS_LISTEN) { /* the kernel's zeros and defaults mean nothing here */
		field(t, "cwnd", i->tcpi_snd_cwnd);
		return;
	}
	if (i->tcpi_rto != 3000000)
		field_ms(t, "rto", i->tcpi_rto);
	field(t, "backoff", i->tcpi_backoff);
	if (i->tcpi_rtt)
		put(t, " rtt:%g/%g", i->tcpi_rtt / 1e3, i->tcpi_rttvar / 1e3);
	field_ms(t, "ato", i->tcpi_ato);
	field(t, "mss", i->tcpi_snd_mss);
	field(t, "pmtu", i->tcpi_pmtu);
	field(t, "rcvmss", i->tcpi_rcv_mss);
	field(t, "advmss", i->tcpi_advmss);
	field(t, "cwnd", i->tcpi_snd_cwnd);
	if (i->tcpi_snd_ssthresh < 0xffff)
		field(t, "ssthresh", i->tcpi_snd_ssthresh);
	field(t, "bytes_sent", i->tcpi_bytes_sent);
	field(t, "bytes_retrans", i->tcpi_bytes_retrans);
	field(t, "bytes_acked", i->tcpi_bytes_acked);
	field(t, "bytes_received", i->tcpi_bytes_received);
	field(t, "segs_out", i->tcpi_segs_out);
	field(t, "segs_in", i->tcpi_segs_in);
	field(t, "data_segs_out", i->tcpi_data_segs_out);
	field(t, "data_segs_in", i->tcpi_data_segs_in);
	put_rates(t, i);
	put_losses(t, i);
	field_ms(t, "rcv_rtt", i->tcpi_rcv_rtt);
	field(t, "rcv_space", i->tcpi_rcv_space);
	field(t, "rcv_ssthresh", i->tcpi_rcv_ssthresh);
	field(t, "notsent", i->tcpi_notsent_bytes);
	if (i->tcpi_min_rtt != UINT32_MAX)
		field_ms(t, "minrtt", i->tcpi_min_rtt);
	field(t, "rcv_ooopack", i->tcpi_rcv_ooopack);
	field(t, "snd_wnd", i->tcpi_snd_wnd);
}

static void put_rest(struct text *t, const struct sl_ss_sock *k, const struct sl_ss_look *look)
{
	bool memory = look->memory && k->has_mem;
	bool info = look->info && k->proto == IPPROTO_TCP && k->has_info;

	t->n = 0;
	t->s[0] = 0;
	if (look->processes)
		put_processes(t, k);
	if (k->ours)
		put(t, " via:sluice");
	if (look->timers)
		put_timer(t, k);
	if (look->extended)
		put_extended(t, k);
	if ((memory || info) && !look->one_line)
		put(t, "\n\t");
	if (memory)
		put_memory(t, k);
	if (info)
		put_info(t, k);
}

/* Table ---------------------------------------------------------------------------------------- */

static const char head[COLS][CELL] = {"Netid",          "State", "Recv-Q",        "Send-Q",
				      "Local Address:", "Port",  "Peer Address:", "Port"};

static bool is_shown(int col, const struct sl_ss_look *look)
{
	return (col != COL_NETID || look->netid) && (col != COL_STATE || look->state);
}

static void print_line(FILE *to, const char cell[COLS][CELL], const unsigned width[COLS],
		       const struct sl_ss_look *look, const char *rest)
{
	for (int c = 0; c < COLS; c++) {
		bool addr = c == COL_LOCAL || c == COL_PEER;

		if (!is_shown(c, look))
			continue;
		fprintf(to, addr ? "%*s" : "%-*s", (int)width[c], cell[c]);
		if (!addr && (c != COL_PPORT || *rest))
			fputc(' ', to);
	}
	fprintf(to, "%s\n", *rest == ' ' ? rest + 1 : rest);
}

void sl_ss_print(FILE *to, const struct sl_ss_sock *socks, size_t n, const struct sl_ss_look *look)
{
	static struct text rest;
	unsigned width[COLS] = {0};
	char cell[COLS][CELL];

	for (size_t i = 0; i <= n; i++) {
		if (i < n)
			cells_of(cell, &socks[i], look);
		else
			memcpy(cell, head, sizeof(cell));
		for (int c = 0; c < COLS; c++) {
			/* The colon of an address stands in its column. */
			if (i < n && (c == COL_LOCAL || c == COL_PEER))
				strcat(cell[c], ":");
			width[c] = sl_max(width[c], (unsigned)strlen(cell[c]));
		}
	}
	if (look->header)
		print_line(to, head, width, look, " Process");
	for (size_t i = 0; i < n; i++) {
		cells_of(cell, &socks[i], look);
		strcat(cell[COL_LOCAL], ":");
		strcat(cell[COL_PEER], ":");
		put_rest(&rest, &socks[i], look);
		print_line(to, cell, width, look, rest.s);
	}
}
