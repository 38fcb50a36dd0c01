/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which packets a NIC puts into which queue: its rules for flows ("ntuple"), and the table
 * by which it spreads packets without a rule (RSS). Does as ethtool -K, -N and -X do
 * (linux/ethtool.h: ETHTOOL_SRXCLSRLINS, ETHTOOL_SRXFHINDIR). */
#include "ctl/device/nic.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "base/heap.h"
#include "base/log.h"
#include "ctl/device/dev.h"
#include "ctl/device/device.h"
#include "ctl/kern/say.h"

/* Spreading ------------------------------------------------------------------------------------
 */

/* The table, to be freed; NULL: there is none. */
static struct ethtool_rxfh_indir *table_get(const struct sl_device *port)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR}, *t;

	if (sl_dev_ethtool(port->info.ifindex, &ask) || !ask.size || ask.size > SL_NIC_SPREADS)
		return NULL;
	t = sl_malloc(sizeof(*t) + ask.size * sizeof(t->ring_index[0]));
	if (!t)
		return NULL;
	*t = ask;
	if (!sl_dev_ethtool(port->info.ifindex, t) && t->size == ask.size)
		return t;
	sl_free(t);
	return NULL;
}

static int table_set(const struct sl_device *port, struct ethtool_rxfh_indir *t)
{
	t->cmd = ETHTOOL_SRXFHINDIR;
	return sl_dev_ethtool(port->info.ifindex, t);
}

/* Keeps the table of queues as it was. usual: it is the driver's default
 * (ethtool_rxfh_indir_default() in the kernel), or our own spread over fewer queues, which a daemon
 * that died has left. */
static void table_keep(struct sl_nic *nic, const struct ethtool_rxfh_indir *t, uint32_t nqueues,
		       uint32_t ours)
{
	bool usual = true, left = true;

	nic->nspread = t->size;
	for (uint32_t i = 0; i < t->size; i++) {
		nic->spread[i] = (uint8_t)t->ring_index[i];
		usual = usual && t->ring_index[i] == i % nqueues;
		left = left && t->ring_index[i] == i % ours;
	}
	nic->spread_usual = usual || left;
}

int sl_nic_spread(struct sl_device *port, uint32_t n, const char **why)
{
	struct ethtool_rxfh_indir *t = table_get(port);
	int err;

	if (!t) {
		sl_why(why, "its driver (%s) does not say how it spreads packets over queues",
		       port->info.driver);
		return -EOPNOTSUPP;
	}
	table_keep(&port->nic, t, port->info.nqueues, n);
	for (uint32_t i = 0; i < t->size; i++)
		t->ring_index[i] = i % n;
	err = table_set(port, t);
	sl_free(t);
	if (err) {
		port->nic.nspread = 0;
		sl_why(why, "it does not spread packets over fewer queues (%s)", sl_strerror(err));
	}
	return err;
}

static void unspread(struct sl_device *port)
{
	struct sl_nic *nic = &port->nic;
	struct ethtool_rxfh_indir *t;

	if (!nic->nspread)
		return;
	t = sl_malloc(sizeof(*t) + nic->nspread * sizeof(t->ring_index[0]));
	if (!t)
		return;
	t->size = nic->spread_usual ? 0 : nic->nspread; /* 0: the driver's own */
	for (uint32_t i = 0; i < t->size; i++)
		t->ring_index[i] = nic->spread[i];
	table_set(port, t);
	sl_free(t);
	nic->nspread = 0;
}

/* Contexts: further tables, for the packets of rules. */

int sl_nic_context_set(struct sl_device *port, uint64_t queues, uint32_t *context)
{
	struct ethtool_rxfh ask = {.cmd = ETHTOOL_GRSSH}, *t;
	uint64_t left = queues;
	int err = sl_dev_ethtool(port->info.ifindex, &ask);

	if (err || !ask.indir_size || ask.indir_size > SL_NIC_SPREADS || !queues)
		return err ? err : -EOPNOTSUPP;
	t = sl_calloc(1, sizeof(*t) + ask.indir_size * sizeof(t->rss_config[0]));
	if (!t)
		return -ENOMEM;
	t->cmd = ETHTOOL_SRSSH;
	t->rss_context = *context ? *context : ETH_RXFH_CONTEXT_ALLOC;
	t->indir_size = ask.indir_size; /* key and function stay the device's: 0 */
	for (uint32_t i = 0; i < ask.indir_size; i++) {
		t->rss_config[i] = (uint32_t)__builtin_ctzll(left);
		left &= left - 1;
		left = left ? left : queues;
	}
	err = sl_dev_ethtool(port->info.ifindex, t);
	if (!err)
		*context = t->rss_context;
	sl_free(t);
	return err;
}

/* (A table without entries ends the context.) */
void sl_nic_context_del(struct sl_device *port, uint32_t context)
{
	struct ethtool_rxfh t = {.cmd = ETHTOOL_SRSSH, .rss_context = context};

	sl_dev_ethtool(port->info.ifindex, &t);
}

/* Rules ----------------------------------------------------------------------------------------
 */

static bool is_v4(const struct sl_flow_key *k)
{
	const struct sl_addr a = sl_addr_of(k->local);

	return sl_addr_is_v4(&a);
}

static void fill_v4(struct ethtool_rx_flow_spec *f, const struct sl_flow_key *k)
{
	struct ethtool_tcpip4_spec *h = &f->h_u.tcp_ip4_spec, *m = &f->m_u.tcp_ip4_spec;

	memcpy(&h->ip4dst, k->local + 12, 4);
	m->ip4dst = h->ip4dst ? UINT32_MAX : 0;
	h->pdst = htons(k->local_port);
	m->pdst = UINT16_MAX;
	if (!k->remote_port)
		return;
	memcpy(&h->ip4src, k->remote + 12, 4);
	m->ip4src = UINT32_MAX;
	h->psrc = htons(k->remote_port);
	m->psrc = UINT16_MAX;
}

static void fill_v6(struct ethtool_rx_flow_spec *f, const struct sl_flow_key *k)
{
	struct ethtool_tcpip6_spec *h = &f->h_u.tcp_ip6_spec, *m = &f->m_u.tcp_ip6_spec;
	const struct sl_addr local = sl_addr_of(k->local);

	memcpy(h->ip6dst, k->local, 16);
	if (!sl_addr_is_any(&local))
		memset(m->ip6dst, 0xff, 16);
	h->pdst = htons(k->local_port);
	m->pdst = UINT16_MAX;
	if (!k->remote_port)
		return;
	memcpy(h->ip6src, k->remote, 16);
	memset(m->ip6src, 0xff, 16);
	h->psrc = htons(k->remote_port);
	m->psrc = UINT16_MAX;
}

static struct ethtool_rx_flow_spec spec_of(const struct sl_flow_key *k, uint32_t queue)
{
	struct ethtool_rx_flow_spec f = {.ring_cookie = queue, .location = RX_CLS_LOC_ANY};
	bool tcp = k->proto == IPPROTO_TCP;

	if (is_v4(k)) {
		f.flow_type = tcp ? TCP_V4_FLOW : UDP_V4_FLOW;
		fill_v4(&f, k);
	} else {
		f.flow_type = tcp ? TCP_V6_FLOW : UDP_V6_FLOW;
		fill_v6(&f, k);
	}
	return f;
}

/* The inverse of spec_of(). */
static struct sl_flow_key key_of_rule(const struct ethtool_rx_flow_spec *f)
{
	struct sl_flow_key k = {.proto = IPPROTO_TCP};

	switch (f->flow_type & ~FLOW_RSS) {
	case UDP_V4_FLOW:
		k.proto = IPPROTO_UDP;
		/* fallthrough */
	case TCP_V4_FLOW:
		memset(k.local + 10, 0xff, 2);
		memcpy(k.local + 12, &f->h_u.tcp_ip4_spec.ip4dst, 4);
		k.local_port = ntohs(f->h_u.tcp_ip4_spec.pdst);
		k.remote_port = ntohs(f->h_u.tcp_ip4_spec.psrc);
		if (k.remote_port) {
			memset(k.remote + 10, 0xff, 2);
			memcpy(k.remote + 12, &f->h_u.tcp_ip4_spec.ip4src, 4);
		}
		break;
	case UDP_V6_FLOW:
		k.proto = IPPROTO_UDP;
		/* fallthrough */
	case TCP_V6_FLOW:
		memcpy(k.local, f->h_u.tcp_ip6_spec.ip6dst, 16);
		k.local_port = ntohs(f->h_u.tcp_ip6_spec.pdst);
		k.remote_port = ntohs(f->h_u.tcp_ip6_spec.psrc);
		memcpy(k.remote, f->h_u.tcp_ip6_spec.ip6src, 16);
		break;
	}
	return k;
}

/* True: the rule matches on the same fields as spec_of()'s, and on nothing else. */
static bool is_such(const struct ethtool_rx_flow_spec *f, const struct sl_flow_key *key)
{
	const struct ethtool_rx_flow_spec ours = spec_of(key, 0);

	return ours.flow_type == (f->flow_type & ~FLOW_RSS) &&
	       !memcmp(&ours.m_u, &f->m_u, sizeof(f->m_u));
}

static int rule_get(const struct sl_device *port, uint32_t place, struct ethtool_rxnfc *out)
{
	*out = (struct ethtool_rxnfc){.cmd = ETHTOOL_GRXCLSRULE, .fs.location = place};
	return sl_dev_ethtool(port->info.ifindex, out);
}

/* From the last place on downwards, as ethtool does: the first are for rules that go before
 * others. */
static int find_place(struct sl_device *port, uint32_t *place)
{
	struct sl_nic *nic = &port->nic;
	struct ethtool_rxnfc there;

	if (nic->chooses) {
		*place = RX_CLS_LOC_ANY;
		return 0;
	}
	/* (Each look is a system call, and there may be thousands of places.) */
	for (uint32_t i = 0; i < nic->places && !nic->full; i++) {
		nic->last = nic->last ? nic->last - 1 : nic->places - 1;
		if (!rule_get(port, nic->last, &there))
			continue;
		*place = nic->last;
		return 0;
	}
	nic->full = true;
	return -ENOSPC;
}

static int rule_add(struct sl_device *port, struct ethtool_rxnfc *c, uint32_t *place)
{
	int err = find_place(port, &c->fs.location);

	if (!err)
		err = sl_dev_ethtool(port->info.ifindex, c);
	*place = c->fs.location;
	return err;
}

int sl_nic_rule_add(struct sl_device *port, const struct sl_flow_key *key, uint32_t queue,
		    uint32_t *place)
{
	struct ethtool_rxnfc c = {.cmd = ETHTOOL_SRXCLSRLINS, .fs = spec_of(key, queue)};

	return rule_add(port, &c, place);
}

/* (The NIC adds what its table says to the rule's queue.) */
int sl_nic_rule_add_spread(struct sl_device *port, const struct sl_flow_key *key, uint32_t context,
			   uint32_t *place)
{
	struct ethtool_rxnfc c = {.cmd = ETHTOOL_SRXCLSRLINS, .fs = spec_of(key, 0)};

	c.fs.flow_type |= FLOW_RSS;
	c.rss_context = context;
	return rule_add(port, &c, place);
}

void sl_nic_rule_del(struct sl_device *port, uint32_t place)
{
	struct ethtool_rxnfc c = {.cmd = ETHTOOL_SRXCLSRLDEL, .fs.location = place};

	port->nic.full = false;
	sl_dev_ethtool(port->info.ifindex, &c);
}

/* The places of all rules, to be freed; NULL: the driver does not say. */
static struct ethtool_rxnfc *places_get(const struct sl_device *port, uint32_t *n)
{
	struct ethtool_rxnfc count = {.cmd = ETHTOOL_GRXCLSRLCNT}, *all;

	if (sl_dev_ethtool(port->info.ifindex, &count))
		return NULL;
	all = sl_calloc(1, sizeof(*all) + count.rule_cnt * sizeof(all->rule_locs[0]));
	if (!all)
		return NULL;
	all->cmd = ETHTOOL_GRXCLSRLALL;
	all->rule_cnt = count.rule_cnt;
	if (sl_dev_ethtool(port->info.ifindex, all)) {
		sl_free(all);
		return NULL;
	}
	*n = sl_min(all->rule_cnt, count.rule_cnt);
	if (count.data & RX_CLS_LOC_SPECIAL)
		all->data |= RX_CLS_LOC_SPECIAL;
	return all;
}

void sl_nic_rules(struct sl_device *port, uint32_t first, sl_nic_found *found, void *arg)
{
	uint32_t n = 0;
	struct ethtool_rxnfc *all = places_get(port, &n), one;

	for (uint32_t i = 0; all && i < n; i++) {
		uint32_t place = all->rule_locs[i];
		struct sl_flow_key key;

		if (rule_get(port, place, &one) || one.fs.ring_cookie < first ||
		    one.fs.ring_cookie >= port->info.nqueues)
			continue;
		key = key_of_rule(&one.fs);
		if (!is_such(&one.fs, &key))
			continue;
		if (!found(arg, &key, (uint32_t)one.fs.ring_cookie, place))
			sl_nic_rule_del(port, place);
	}
	sl_free(all);
}

/* Both ------------------------------------------------------------------------------------------
 */

static int set_ntuple(const struct sl_device *port, bool on, bool *was)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	int err = sl_dev_ethtool(port->info.ifindex, &flags);

	*was = !err && flags.data & ETH_FLAG_NTUPLE;
	if (err || *was == on)
		return err;
	flags.cmd = ETHTOOL_SFLAGS;
	flags.data ^= ETH_FLAG_NTUPLE;
	return sl_dev_ethtool(port->info.ifindex, &flags);
}

/* Some NICs take rules, but not of this kind. (The address belongs to no host: RFC 5737.) */
static int try_rule(struct sl_device *port)
{
	struct sl_flow_key key = {
		.local = {[10] = 0xff, 0xff, 192, 0, 2, 1}, .local_port = 9, .proto = IPPROTO_TCP};
	uint32_t place;
	int err = sl_nic_rule_add(port, &key, port->info.nqueues - 1, &place);

	if (!err)
		sl_nic_rule_del(port, place);
	return err;
}

int sl_nic_open(struct sl_device *port, const char **why)
{
	struct ethtool_rxnfc *all;
	bool was = false;
	uint32_t n = 0;
	int err = set_ntuple(port, true, &was);

	memset(&port->nic, 0, sizeof(port->nic));
	if (err) {
		sl_why(why,
		       "its driver (%s) takes no rules for flows (ethtool -K %s ntuple on: %s)",
		       port->info.driver, port->info.ifname, sl_strerror(err));
		return err;
	}
	port->nic.made_ntuple = !was;
	all = places_get(port, &n);
	if (all) {
		port->nic.chooses = all->data & RX_CLS_LOC_SPECIAL;
		port->nic.places = (uint32_t)all->data & ~RX_CLS_LOC_SPECIAL;
	}
	sl_free(all);
	err = try_rule(port);
	if (!err)
		return 0;
	sl_why(why, "its driver (%s) takes no rules for TCP (ethtool -N %s: %s)", port->info.driver,
	       port->info.ifname, sl_strerror(err));
	sl_nic_close(port);
	return err;
}

void sl_nic_close(struct sl_device *port)
{
	bool was;

	unspread(port);
	if (port->nic.made_ntuple)
		set_ntuple(port, false, &was);
	port->nic.made_ntuple = false;
}
