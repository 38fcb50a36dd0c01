/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps measurements of closed connections for the next one to the same address
 * (net/ipv4/tcp_metrics.c).
 *
 * Theory of operation. A handshake's round trip is that of a small packet at a quiet moment, and a
 * new connection has seen no reordering yet: on a path that is slow under load or reorders, its
 * first segments would be sent again for nothing. So a connection that both ends have closed leaves
 * its round trip and its reordering to the next one, for an hour. The round trip raises the first
 * time-out alone, until there is a sample of data; the window is not taken over. A host keeps a
 * bounded number of addresses: the entry that was written longest ago of a row of four gives way.
 */
#include "tcp/loss/tcp_metrics.h"

#include "base/heap.h"
#include "net/route.h"
#include "tcp/loss/cc.h"
#include "tcp/tcp_host.h"
#include "tcp/tcp_opts.h"
#include "tcp/tcp_trouble.h"

#define ROWS    32
#define WAYS    4
#define LIFE_US 3600000000ull
#define PATH_US 600000000ull /* net.ipv4.route.mtu_expires: ten minutes */

struct entry {
	struct sl_addr local, remote;
	uint64_t at_us;    /* written last; 0: free */
	uint32_t srtt_us;  /* 0: not known */
	uint32_t ssthresh; /* 0: not known */
	uint32_t reordering;
	uint32_t cwnd_most; /* the route's; 0: none */
	uint16_t path_mss;  /* the limit that a router has told; 0: none */
	uint64_t path_us;   /* when it has */
};
struct sl_tcp_metrics {
	struct entry entry[ROWS][WAYS];
};

static struct entry *row_of(const struct sl_tcp_host *h, const struct sl_tcp_key *k)
{
	uint64_t at = sl_addr_mix(sl_addr_mix(h->keys->table[0], &k->local), &k->remote);

	return h->metrics->entry[at >> 58 & (ROWS - 1)];
}

/* The entry of k's addresses; NULL: there is none. */
static struct entry *find_key(const struct sl_tcp_host *h, const struct sl_tcp_key *k)
{
	struct entry *row;

	if (!h->metrics)
		return NULL;
	row = row_of(h, k);
	for (struct entry *e = row; e < row + WAYS; e++)
		if (e->at_us && h->now_us - e->at_us < LIFE_US &&
		    sl_addr_eq(&e->remote, &k->remote) && sl_addr_eq(&e->local, &k->local))
			return e;
	return NULL;
}

static struct entry *find(const struct sl_tcp *c)
{
	return find_key(c->host, &c->node.key);
}

/* Begins an entry with what the route knows of the path (tcpm_suck_dst()). So the first connection
 * to a peer does without it, as in Linux. */
static void take_route(const struct sl_tcp *c, struct entry *e)
{
	struct sl_tcp_host *h = c->host;
	const struct sl_route_tcp *r = h->ops->route(h, c, NULL, &c->node.key, 0).tcp;

	if (sl_likely(!r))
		return;
	e->srtt_us = r->rtt_us;
	e->ssthresh = r->ssthresh;
	e->reordering = r->reordering;
	e->cwnd_most = r->cwnd_most;
}

/* A new entry for c's addresses; NULL: no memory. */
static struct entry *make(const struct sl_tcp *c)
{
	struct sl_tcp_host *h = c->host;
	struct entry *row, *old;

	if (!h->metrics)
		h->metrics = sl_calloc(1, sizeof(*h->metrics));
	if (!h->metrics)
		return NULL;
	row = old = row_of(h, &c->node.key);
	for (struct entry *e = row; e < row + WAYS; e++)
		if (e->at_us < old->at_us)
			old = e;
	*old = (struct entry){.local = c->node.key.local, .remote = c->node.key.remote};
	take_route(c, old);
	return old;
}

uint32_t sl_tcp_metrics_begin(struct sl_tcp *c, uint32_t *cwnd_most)
{
	const struct entry *e = find(c);
	uint32_t rto_us;

	if (!e)
		return 0;
	*cwnd_most = e->cwnd_most;
	if (e->ssthresh && !sl_tcp_params.no_ssthresh_metrics_save && !c->cc->controls)
		c->ssthresh = e->ssthresh;
	rto_us = e->srtt_us + sl_max(2 * e->srtt_us, sl_tcp_rto_min_ms(c) * 1000);
	if (e->srtt_us > c->srtt_us)
		c->rto_us = sl_min(rto_us, sl_tcp_params.rto_max_ms * 1000);
	return e->reordering;
}

void sl_tcp_metrics_keep_path(struct sl_tcp *c)
{
	struct entry *e = find(c);

	if (!e)
		e = make(c);
	if (!e)
		return;
	e->at_us = e->path_us = sl_max(c->host->now_us, UINT64_C(1));
	e->path_mss = c->pmtu_mss;
}

void sl_tcp_metrics_path(const struct sl_tcp_host *h, const struct sl_tcp_key *key,
			 struct sl_tcp_route *r)
{
	const struct entry *e = find_key(h, key);

	if (sl_likely(!e || !e->path_mss) || r->mtu_locked || h->now_us - e->path_us >= PATH_US ||
	    e->path_mss >= r->mss)
		return;
	if (r->adv_mss == r->mss) /* (the route has no other) */
		r->adv_mss = e->path_mss;
	r->mss = e->path_mss;
}

/* A longer round trip is taken at once, a shorter one by an eighth. */
static void keep_rtt(struct entry *e, uint32_t srtt_us)
{
	if (srtt_us >= e->srtt_us)
		e->srtt_us = srtt_us;
	else
		e->srtt_us -= (e->srtt_us - srtt_us) / 8;
}

static void keep_ssthresh(struct entry *e, const struct sl_tcp *c)
{
	uint32_t half = c->cwnd / 2;

	if (c->ssthresh >= SL_TCP_INFINITE_SSTHRESH) {
		if (e->ssthresh && half > e->ssthresh)
			e->ssthresh = half;
	} else if (!sl_cc_in_slow_start(c) && c->ca == SL_CA_OPEN) {
		e->ssthresh = sl_max(half, c->ssthresh);
	} else if (e->ssthresh && c->ssthresh > e->ssthresh) {
		e->ssthresh = c->ssthresh;
	}
}

void sl_tcp_metrics_keep(struct sl_tcp *c)
{
	struct entry *e = sl_tcp_params.no_metrics_save ? NULL : find(c);
	bool known = c->srtt_us && !c->backoff;

	if (!known && e) /* nothing came back in time: what was known is wrong */
		e->srtt_us = 0;
	if (!known || sl_tcp_params.no_metrics_save)
		return;
	if (!e)
		e = make(c);
	if (!e)
		return;
	e->at_us = sl_max(c->host->now_us, UINT64_C(1));
	keep_rtt(e, c->srtt_us);
	if (!sl_tcp_params.no_ssthresh_metrics_save)
		keep_ssthresh(e, c);
	if (c->trouble)
		e->reordering = sl_max(e->reordering, c->trouble->reordering);
}
