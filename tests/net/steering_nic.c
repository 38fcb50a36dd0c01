/* SPDX-License-Identifier: BSD-2-Clause */
/* steering_nic STATE DEV PEER-NETNS PEER-DEV CMD..: runs CMD, for which the veth DEV is a NIC that
 * takes rules for flows and spreads packets by a table (ethtool -N, -X, -K ntuple): no virtual
 * device does. The kernel hands CMD's SIOCETHTOOL over (seccomp_unotify(2)); the packets are put
 * into their queues by a program at the other end of the veth (steering_nic.bpf.c). STATE, a file,
 * is the NIC's own memory: it outlives CMD.
 *
 * steering_nic STATE: says what the NIC was told. "rules N", "ntuple on|off" and "spread over N"
 * (queues), then a line for each rule: where it lies, protocol, local port, peer's port (0: any),
 * queue, or "context" and its number, and at last a line for each context, with its queues.
 *
 * Environment: NIC_PLACES rules (64), NIC_REFUSES=tcp (rules for it), NIC_CHOOSES=1 (where they
 * lie), NIC_SPREADS_NOT=1 (it has no contexts), NIC_STAMPS=1 (it stamps what it receives; no packet
 * has a stamp). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "ethtool_notif.h"
#include "steering_nic.h"

static struct nic {
	uint32_t made, ntuple;
	uint32_t spread[NIC_CONTEXTS][NIC_SPREADS];
	uint32_t context[NIC_CONTEXTS]; /* it is there */
	struct {
		uint32_t used;
		uint32_t context;
		struct ethtool_rx_flow_spec fs;
	} rule[NIC_RULES];
} * nic;

static const char *dev;
static uint32_t nqueues, places = NIC_RULES;
static bool refuses_tcp, chooses, no_contexts;
static int map_rules, map_spread;

static void die(const char *what)
{
	fprintf(stderr, "steering_nic: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The NIC -------------------------------------------------------------------------------------- */

static struct nic_key key_of(const struct ethtool_rx_flow_spec *fs)
{
	struct nic_key k = {.proto = IPPROTO_TCP};

	uint32_t type = fs->flow_type & ~FLOW_RSS;

	if (type == UDP_V4_FLOW || type == UDP_V6_FLOW)
		k.proto = IPPROTO_UDP;
	if (type == TCP_V4_FLOW || type == UDP_V4_FLOW) {
		const struct ethtool_tcpip4_spec *h = &fs->h_u.tcp_ip4_spec,
						 *m = &fs->m_u.tcp_ip4_spec;

		k.dst[2] = htonl(0xffff);
		k.dst[3] = h->ip4dst & m->ip4dst;
		k.src[2] = m->ip4src ? htonl(0xffff) : 0;
		k.src[3] = h->ip4src & m->ip4src;
		k.dport = h->pdst & m->pdst;
		k.sport = h->psrc & m->psrc;
	} else {
		const struct ethtool_tcpip6_spec *h = &fs->h_u.tcp_ip6_spec,
						 *m = &fs->m_u.tcp_ip6_spec;

		for (int i = 0; i < 4; i++) {
			k.dst[i] = h->ip6dst[i] & m->ip6dst[i];
			k.src[i] = h->ip6src[i] & m->ip6src[i];
		}
		k.dport = h->pdst & m->pdst;
		k.sport = h->psrc & m->psrc;
	}
	return k;
}

static void tell(uint32_t at, bool there)
{
	const struct ethtool_rx_flow_spec *fs = &nic->rule[at].fs;
	const struct nic_key k = key_of(fs);
	uint32_t queue = (uint32_t)fs->ring_cookie;

	if (fs->flow_type & FLOW_RSS)
		queue = NIC_SPREAD | nic->rule[at].context;
	if (there)
		bpf_map_update_elem(map_rules, &k, &queue, 0);
	else
		bpf_map_delete_elem(map_rules, &k);
}

static void spread_usual(uint32_t context)
{
	for (uint32_t i = 0; i < NIC_SPREADS; i++)
		nic->spread[context][i] = i % nqueues;
}

static void tell_spread(uint32_t context)
{
	for (uint32_t i = 0; i < NIC_SPREADS; i++) {
		uint32_t at = context * NIC_SPREADS + i;

		bpf_map_update_elem(map_spread, &at, &nic->spread[context][i], 0);
	}
}

static uint32_t count(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NIC_RULES; i++)
		n += nic->rule[i].used;
	return n;
}

static int rule_add(struct ethtool_rx_flow_spec *fs, uint32_t context)
{
	uint32_t at = fs->location;

	for (uint32_t i = 0; chooses && at == RX_CLS_LOC_ANY && i < places; i++)
		if (!nic->rule[i].used)
			at = i;
	if (fs->flow_type < TCP_V4_FLOW || fs->ring_cookie >= nqueues)
		return -EINVAL;
	if (fs->flow_type & FLOW_RSS &&
	    (!context || context >= NIC_CONTEXTS || !nic->context[context]))
		return -EINVAL;
	if (!nic->ntuple || (refuses_tcp && fs->flow_type == TCP_V4_FLOW))
		return -EOPNOTSUPP;
	if (at >= places)
		return -ENOSPC;
	fs->location = at;
	if (nic->rule[at].used)
		tell(at, false);
	nic->rule[at].used = 1;
	nic->rule[at].context = context;
	nic->rule[at].fs = *fs;
	tell(at, true);
	return 0;
}

static int rule_del(uint32_t at)
{
	if (at >= NIC_RULES || !nic->rule[at].used)
		return -ENOENT;
	tell(at, false);
	nic->rule[at].used = 0;
	return 0;
}

/* Requests of CMD ------------------------------------------------------------------------------ */

static pid_t asker;

static int peek(uint64_t at, void *to, size_t n)
{
	struct iovec l = {to, n}, r = {(void *)(uintptr_t)at, n};

	return process_vm_readv(asker, &l, 1, &r, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static int poke(uint64_t at, const void *from, size_t n)
{
	struct iovec l = {(void *)(uintptr_t)from, n}, r = {(void *)(uintptr_t)at, n};

	return process_vm_writev(asker, &l, 1, &r, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static int on_flags(uint64_t at, uint32_t cmd)
{
	struct ethtool_value v;
	struct ifreq ifr = {.ifr_data = (void *)&v};
	int fd, err = peek(at, &v, sizeof(v));

	if (err)
		return err;
	if (cmd == ETHTOOL_SFLAGS) {
		nic->ntuple = (v.data & ETH_FLAG_NTUPLE) != 0;
		return 0;
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(ifr.ifr_name, dev);
	err = ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
	close(fd);
	v.data |= nic->ntuple ? ETH_FLAG_NTUPLE : 0;
	return err ? err : poke(at, &v, sizeof(v));
}

/* The kernel's answer, and the hardware's stamps beside it. */
static int on_stamps(uint64_t at)
{
	struct ethtool_ts_info t;
	struct ifreq ifr = {.ifr_data = (void *)&t};
	int fd, err = peek(at, &t, sizeof(t));

	if (err || !getenv("NIC_STAMPS"))
		return err ? err : NOT_OURS;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(ifr.ifr_name, dev);
	err = ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
	close(fd);
	t.so_timestamping |= SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	t.rx_filters |= 1u << HWTSTAMP_FILTER_NONE | 1u << HWTSTAMP_FILTER_ALL;
	return err ? err : poke(at, &t, sizeof(t));
}

static int on_all(uint64_t at, struct ethtool_rxnfc *c)
{
	uint32_t locs[NIC_RULES], n = 0;

	for (uint32_t i = 0; i < NIC_RULES; i++)
		if (nic->rule[i].used)
			locs[n++] = i;
	if (n > c->rule_cnt)
		return -EMSGSIZE;
	c->rule_cnt = n;
	c->data = places;
	/* (The places begin within the padding of what stands before them.) */
	if (poke(at, c, sizeof(*c)) ||
	    (n && poke(at + offsetof(struct ethtool_rxnfc, rule_locs), locs, n * sizeof(locs[0]))))
		return -EFAULT;
	return 0;
}

static int on_rules(uint64_t at, uint32_t cmd)
{
	struct ethtool_rxnfc c;
	int err = peek(at, &c, sizeof(c));

	if (err)
		return err;
	if (cmd == ETHTOOL_GRXCLSRLCNT) {
		c.rule_cnt = count();
		c.data = chooses ? RX_CLS_LOC_SPECIAL : 0;
	} else if (cmd == ETHTOOL_GRXCLSRLALL) {
		return on_all(at, &c);
	} else if (cmd == ETHTOOL_GRXCLSRULE) {
		if (c.fs.location >= NIC_RULES || !nic->rule[c.fs.location].used)
			return -ENOENT;
		c.rss_context = nic->rule[c.fs.location].context;
		c.fs = nic->rule[c.fs.location].fs;
	} else if (cmd == ETHTOOL_SRXCLSRLINS) {
		err = rule_add(&c.fs, c.rss_context);
	} else {
		err = rule_del(c.fs.location);
	}
	return err ? err : poke(at, &c, sizeof(c));
}

static int on_spread(uint64_t at, uint32_t cmd)
{
	uint64_t entries = at + sizeof(struct ethtool_rxfh_indir);
	struct ethtool_rxfh_indir t;
	uint32_t was;
	int err = peek(at, &t, sizeof(t));

	if (err)
		return err;
	was = t.size;
	if (cmd == ETHTOOL_SRXFHINDIR) {
		if (was && was != NIC_SPREADS)
			return -EINVAL;
		if (!was)
			spread_usual(0);
		else if (peek(entries, nic->spread[0], sizeof(nic->spread[0])))
			return -EFAULT;
		tell_spread(0);
		return 0;
	}
	t.size = NIC_SPREADS;
	err = poke(at, &t, sizeof(t));
	return err || was < NIC_SPREADS ? err
					: poke(entries, nic->spread[0], sizeof(nic->spread[0]));
}

/* Does as ethtool_set_rxfh(): a table without entries ends its context, unless a rule leads to it.
 */
static int end_context(uint32_t context)
{
	for (uint32_t i = 0; i < NIC_RULES; i++)
		if (nic->rule[i].used && nic->rule[i].fs.flow_type & FLOW_RSS &&
		    nic->rule[i].context == context)
			return -EBUSY;
	nic->context[context] = 0;
	return 0;
}

static int set_context(uint64_t at, struct ethtool_rxfh *t)
{
	uint32_t c = t->rss_context;

	if (t->rsvd32 || t->rsvd8[0] || t->rsvd8[1] || t->rsvd8[2] || t->key_size || !c)
		return -EINVAL;
	if (c != ETH_RXFH_CONTEXT_ALLOC && (c >= NIC_CONTEXTS || !nic->context[c]))
		return -ENOENT;
	if (c != ETH_RXFH_CONTEXT_ALLOC && !t->indir_size)
		return end_context(c);
	if (t->indir_size != NIC_SPREADS)
		return -EINVAL;
	if (c == ETH_RXFH_CONTEXT_ALLOC)
		for (c = 1; c < NIC_CONTEXTS && nic->context[c]; c++)
			;
	if (c == NIC_CONTEXTS)
		return -ENOSPC;
	if (peek(at + sizeof(*t), nic->spread[c], sizeof(nic->spread[c])))
		return -EFAULT;
	for (uint32_t i = 0; i < NIC_SPREADS; i++)
		if (nic->spread[c][i] >= nqueues)
			return -EINVAL;
	nic->context[c] = 1;
	tell_spread(c);
	t->rss_context = c;
	return poke(at, t, sizeof(*t));
}

static int on_context(uint64_t at, uint32_t cmd)
{
	struct ethtool_rxfh t;
	int err = peek(at, &t, sizeof(t));

	if (err)
		return err;
	if (no_contexts)
		return cmd == ETHTOOL_GRSSH && !t.rss_context ? NOT_OURS : -EOPNOTSUPP;
	if (cmd == ETHTOOL_SRSSH)
		return set_context(at, &t);
	t.indir_size = NIC_SPREADS;
	t.key_size = 0;
	return poke(at, &t, sizeof(t));
}

static int answer(const struct seccomp_notif *n)
{
	struct ifreq ifr;
	uint64_t at;
	uint32_t cmd;

	asker = (pid_t)n->pid;
	if (peek(n->data.args[2], &ifr, sizeof(ifr)) || strcmp(ifr.ifr_name, dev))
		return NOT_OURS;
	at = (uintptr_t)ifr.ifr_data;
	if (peek(at, &cmd, sizeof(cmd)))
		return NOT_OURS;
	switch (cmd) {
	case ETHTOOL_GFLAGS:
	case ETHTOOL_SFLAGS:
		return on_flags(at, cmd);
	case ETHTOOL_GRXCLSRLCNT:
	case ETHTOOL_GRXCLSRLALL:
	case ETHTOOL_GRXCLSRULE:
	case ETHTOOL_SRXCLSRLINS:
	case ETHTOOL_SRXCLSRLDEL:
		return on_rules(at, cmd);
	case ETHTOOL_GRXFHINDIR:
	case ETHTOOL_SRXFHINDIR:
		return on_spread(at, cmd);
	case ETHTOOL_GRSSH:
	case ETHTOOL_SRSSH:
		return on_context(at, cmd);
	case ETHTOOL_GET_TS_INFO:
		return on_stamps(at);
	default:
		return NOT_OURS;
	}
}

/* Setting up ----------------------------------------------------------------------------------- */

/* How many receive queues the device has. */
static uint32_t queues_of(const char *name)
{
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {.ifr_data = (void *)&ch};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	if (ioctl(fd, SIOCETHTOOL, &ifr))
		die(name);
	close(fd);
	return ch.rx_count + ch.combined_count;
}

static void open_state(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*nic)))
		die(path);
	nic = mmap(NULL, sizeof(*nic), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (nic == MAP_FAILED)
		die(path);
	close(fd);
}

static void attach(const char *object, const char *netns, const char *peer)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1, .flags = BPF_TC_F_REPLACE);
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
	    other = open(netns, O_RDONLY | O_CLOEXEC), err;
	struct bpf_object *o;

	libbpf_set_print(NULL); /* (no message where a clsact exists already) */
	o = bpf_object__open(object);
	if (!o || bpf_object__load(o))
		die(object);
	map_rules = bpf_object__find_map_fd_by_name(o, "rules");
	map_spread = bpf_object__find_map_fd_by_name(o, "spread");
	if (other < 0 || setns(other, CLONE_NEWNET))
		die(netns);
	hook.ifindex = (int)if_nametoindex(peer);
	err = bpf_tc_hook_create(&hook);
	if (err && err != -EEXIST)
		die("clsact");
	opts.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(o, "queues"));
	if (bpf_tc_attach(&hook, &opts))
		die("attach");
	if (setns(own, CLONE_NEWNET))
		die("setns");
	close(own);
	close(other);
}

static void power_on(void)
{
	if (!nic->made) {
		nic->made = 1;
		spread_usual(0);
	}
	for (uint32_t i = 0; i < NIC_CONTEXTS; i++)
		tell_spread(i);
	for (uint32_t i = 0; i < NIC_RULES; i++)
		if (nic->rule[i].used)
			tell(i, true);
}

static void say(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < NIC_SPREADS; i++)
		most = nic->spread[0][i] > most ? nic->spread[0][i] : most;
	printf("rules %u\nntuple %s\nspread over %u\n", count(), nic->ntuple ? "on" : "off",
	       most + 1);
	for (uint32_t i = 0; i < NIC_RULES; i++) {
		const struct nic_key k = key_of(&nic->rule[i].fs);

		if (nic->rule[i].used)
			printf("%u %s %u %u %s%u\n", i, k.proto == IPPROTO_TCP ? "tcp" : "udp",
			       ntohs(k.dport), ntohs(k.sport),
			       nic->rule[i].fs.flow_type & FLOW_RSS ? "context " : "",
			       nic->rule[i].fs.flow_type & FLOW_RSS
				       ? nic->rule[i].context
				       : (uint32_t)nic->rule[i].fs.ring_cookie);
	}
	for (uint32_t c = 1; c < NIC_CONTEXTS; c++) {
		uint64_t queues = 0;

		for (uint32_t i = 0; nic->context[c] && i < NIC_SPREADS; i++)
			queues |= 1ull << nic->spread[c][i];
		if (nic->context[c])
			printf("context %u:", c);
		for (uint32_t q = 0; queues >> q; q++)
			if (queues >> q & 1)
				printf(" %u", q);
		if (nic->context[c])
			putchar('\n');
	}
}

static int run(char **cmd, size_t len)
{
	pid_t child;
	int fd = ethtool_run(cmd, &child);

	memset(cmd[0], 0, len); /* a search for CMD by its command line must not find this process
				 */
	prctl(PR_SET_PDEATHSIG, 0);
	ethtool_serve(fd, answer);
	waitpid(child, NULL, WNOHANG);
	return 0;
}

int main(int argc, char **argv)
{
	char object[512];

	if (argc != 2 && argc < 6)
		return 2;
	open_state(argv[1]);
	if (argc == 2) {
		say();
		return 0;
	}
	dev = strdup(argv[2]);
	nqueues = queues_of(dev);
	places = getenv("NIC_PLACES") ? (uint32_t)atoi(getenv("NIC_PLACES")) : NIC_RULES;
	refuses_tcp = getenv("NIC_REFUSES") != NULL;
	chooses = getenv("NIC_CHOOSES") != NULL;
	no_contexts = getenv("NIC_SPREADS_NOT") != NULL;
	snprintf(object, sizeof(object), "%s.bpf.o", argv[0]);
	attach(object, argv[3], argv[4]);
	power_on();
	return run(argv + 5, (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[5]));
}
