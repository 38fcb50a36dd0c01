/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire of the tests: joins two devices and loses, doubles, reorders, delays and damages what
 * passes, by seed.
 *
 *   wire DEV_A DEV_B [OPTION...]
 *     --loss 1%          drops packets            --loss 1%/3: in runs of 3
 *     --dup 1%           sends packets twice
 *     --reorder 5%/3     holds packets back until 3 later ones have passed (at most 50 ms)
 *     --corrupt 1%       flips one bit behind the Ethernet header
 *     --delay 20ms       keeps every packet that long; order stays
 *     --jitter 5ms       and up to this much longer; order stays
 *     --rate 10mbit      serialises packets at this rate
 *     --limit 1000       packets that may wait for the rate in one direction, those on their way
 *                        (--delay) apart; then the newest is dropped
 *     --fragment 512     TCP with more bytes than that behind the IP header goes in fragments of as
 *                        many, as by a router (of IPv6: by a sender), whatever DF says
 *     --ab, --ba         what follows is for one direction only (else for both)
 *     --all              ARP, neighbour discovery, IGMP and MLD suffer too (else unharmed)
 *     --seed 1
 *
 * Theory of operation. Each direction has a packet socket that receives, a queue of packets in
 * the order of their departure, and a generator of its own. Every packet draws the same number
 * of random numbers whatever the options are, so its fate is a function of seed, direction and
 * position alone: a run repeats exactly if the packets come in the same order, and adding
 * an option leaves the fate by the others as it was. Delay, jitter and rate never reorder; only
 * --reorder does, so a test can have one without the other.
 *
 * Packets come with PACKET_VNET_HDR, since a veth peer may leave the checksum to "hardware": it
 * is completed here, or damage would go unnoticed. Segments of TSO are refused: switch it off
 * at the ends (net_up -w does).
 *
 * Statistics go to stderr at the end (SIGTERM, SIGINT) and on SIGUSR1, a line a direction:
 *   ab in 100 out 99 lost 1 dup 0 reordered 0 corrupt 0 overflow 0 tso 0 fragmented 0 */
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fragment.h"

#define SLOT_BYTES  9728 /* header and the largest frame: MTU 9600 */
#define SLOTS       16384
#define BURST       64
#define HOLD_MAX_NS 50000000ull

struct packet {
	struct packet *next;
	uint64_t due_ns;  /* departs then */
	uint64_t release; /* held back: departs when this many packets have come in */
	uint32_t len;     /* of data, without vnet */
	struct virtio_net_hdr vnet;
	uint8_t data[SLOT_BYTES];
};

/* Things that may happen to a packet; probabilities are of 2^32. */
struct fate {
	uint64_t loss, dup, reorder, corrupt;
	unsigned loss_run, reorder_by;
	uint64_t delay_ns, jitter_ns, rate_bps;
	unsigned limit, fragment;
};

struct side {
	const char *name;
	int in, out; /* packet sockets */
	struct fate fate;
	uint64_t rng;
	struct packet *head, **tail; /* departures in order */
	struct packet *held;         /* reordered ones, unordered, few */
	struct packet *slow;         /* the first departure that wait_for_rate() counts, or NULL */
	unsigned waiting, nslow;
	unsigned losing; /* rest of a run of losses */
	uint64_t last_due_ns;
	uint64_t received, sent, lost, dup, reordered, corrupt, overflow, tso, fragmented;
};

static struct packet *pool;  /* unused packets, each used before */
static struct packet *fresh; /* packets never used, up to `beyond`: their pages are not there yet */
static struct packet *beyond;
static bool spare_arp = true;
static volatile sig_atomic_t stopped, report;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		report = 1;
	else
		stopped = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* splitmix64 */
static uint32_t draw(struct side *s)
{
	uint64_t z = s->rng += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 32;
}

static struct packet *packet_new(void)
{
	struct packet *p = pool;
	if (p)
		pool = p->next;
	else if (fresh < beyond)
		p = fresh++;
	return p;
}

static void packet_free(struct packet *p)
{
	p->next = pool;
	pool = p;
}

/* ARP, neighbour discovery and group membership: losing them only makes tests slow, and they come
 * when they like, which would shift the fate of all others. */
static bool is_spared(const struct packet *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	uint16_t type = p->data[12] << 8 | p->data[13];
	if (!spare_arp)
		return false;
	if (type == ETH_P_IP)
		return p->len > ETH_HLEN + 20 && ip[9] == IPPROTO_IGMP;
	if (type == ETH_P_IPV6 && p->len > ETH_HLEN + 40)
		return ip[6] == IPPROTO_HOPOPTS ||
		       (ip[6] == IPPROTO_ICMPV6 && ip[40] >= 130 && ip[40] <= 143);
	return type == ETH_P_ARP;
}

/* The checksum that was left to the hardware. */
static void complete_checksum(struct packet *p)
{
	unsigned from = p->vnet.csum_start, at = from + p->vnet.csum_offset;
	uint32_t sum = 0;
	if (!(p->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || at + 2 > p->len)
		return;
	for (unsigned i = from; i + 1 < p->len; i += 2)
		sum += p->data[i] << 8 | p->data[i + 1];
	if ((p->len - from) & 1)
		sum += p->data[p->len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	if (!sum)
		sum = 0xffff; /* 0 would mean "none" in UDP */
	p->data[at] = sum >> 8;
	p->data[at + 1] = sum;
}

/* Into the queue of departures, behind all that is there. */
static void depart(struct side *s, struct packet *p, uint64_t due_ns)
{
	if (due_ns < s->last_due_ns)
		due_ns = s->last_due_ns;
	if (s->fate.rate_bps)
		due_ns += p->len * 8ull * 1000000000ull / s->fate.rate_bps;
	p->due_ns = s->last_due_ns = due_ns;
	p->next = NULL;
	*s->tail = p;
	s->tail = &p->next;
	s->waiting++;
	if (!s->slow)
		s->slow = p;
	s->nslow++;
}

/* How many packets the rate still holds back at that time, which does not go back. */
static unsigned wait_for_rate(struct side *s, uint64_t at_ns)
{
	for (; s->slow && s->slow->due_ns <= at_ns; s->slow = s->slow->next)
		s->nslow--;
	return s->nslow;
}

/* Sends held packets that are due, by count or by age. */
static void release_held(struct side *s, uint64_t now)
{
	for (struct packet **at = &s->held, *p; (p = *at);) {
		if (p->release > s->received && now < p->due_ns) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		s->waiting--;
		depart(s, p, now + s->fate.delay_ns);
	}
}

static void hold(struct side *s, struct packet *p, uint64_t now)
{
	p->release = s->received + s->fate.reorder_by;
	p->due_ns = now + HOLD_MAX_NS;
	p->next = s->held;
	s->held = p;
	s->waiting++;
	s->reordered++;
}

static bool is_lost(struct side *s, uint32_t dice)
{
	if (s->losing) {
		s->losing--;
	} else if (dice < s->fate.loss) {
		s->losing = s->fate.loss_run - 1;
	} else {
		return false;
	}
	s->lost++;
	return true;
}

static void copy_and_depart(struct side *s, const struct packet *p, uint64_t due_ns)
{
	struct packet *copy = packet_new();
	if (!copy)
		return;
	copy->len = p->len;
	memcpy(copy->data, p->data, p->len);
	s->dup++;
	depart(s, copy, due_ns);
}

/* Decides what becomes of a packet. */
static void judge(struct side *s, struct packet *p, uint64_t now)
{
	uint64_t due = now + s->fate.delay_ns;
	if (is_spared(p)) {
		depart(s, p, due);
		return;
	}
	uint32_t loss = draw(s), dup = draw(s), reorder = draw(s), corrupt = draw(s);
	uint32_t where = draw(s), jitter = draw(s);
	s->received++;
	due += s->fate.jitter_ns * jitter >> 32;
	if (is_lost(s, loss)) {
		packet_free(p);
	} else if (s->waiting >= SLOTS / 2 ||
		   wait_for_rate(s, now + s->fate.delay_ns) >= s->fate.limit) {
		s->overflow++;
		packet_free(p);
	} else {
		if (corrupt < s->fate.corrupt && p->len > ETH_HLEN) {
			uint64_t bit = (uint64_t)where * (p->len - ETH_HLEN) * 8 >> 32;
			p->data[ETH_HLEN + bit / 8] ^= 1 << bit % 8;
			s->corrupt++;
		}
		if (dup < s->fate.dup)
			copy_and_depart(s, p, due);
		if (reorder < s->fate.reorder)
			hold(s, p, now);
		else
			depart(s, p, due);
	}
	release_held(s, now);
}

/* Each fragment has a fate of its own. */
static void judge_parts(struct side *s, struct packet *p, uint64_t now)
{
	static uint16_t id;
	uint32_t l4 = s->fate.fragment ? find_tcp(p->data, p->len) : 0, at;
	uint32_t part = s->fate.fragment & ~7u, len = p->len - l4;
	if (!l4 || len <= part) {
		judge(s, p, now);
		return;
	}
	id++;
	s->fragmented++;
	for (uint32_t off = 0; off < len; off += part) {
		struct packet *f = packet_new();
		uint32_t n = len - off < part ? len - off : part;
		if (!f)
			break;
		at = build_fragment(f->data, p->data, l4, off, n, off + n < len, id);
		memcpy(f->data + at, p->data + l4 + off, n);
		f->len = at + n;
		judge(s, f, now);
	}
	packet_free(p);
}

static bool receive(struct side *s, uint64_t now)
{
	struct packet *p[BURST];
	struct mmsghdr msg[BURST];
	struct iovec iov[BURST][2];
	int n = 0, got;
	while (n < BURST && (p[n] = packet_new())) {
		iov[n][0] = (struct iovec){&p[n]->vnet, sizeof(p[n]->vnet)};
		iov[n][1] = (struct iovec){p[n]->data, SLOT_BYTES};
		msg[n].msg_hdr = (struct msghdr){.msg_iov = iov[n], .msg_iovlen = 2};
		n++;
	}
	got = recvmmsg(s->in, msg, n, MSG_DONTWAIT, NULL);
	if (got < 0)
		got = 0; /* EAGAIN; ENETDOWN while a test takes the link down */
	for (int i = 0; i < n; i++) {
		bool whole = i < got && msg[i].msg_len > sizeof(p[i]->vnet) + ETH_HLEN;
		if (!whole || p[i]->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
			s->tso += whole;
			packet_free(p[i]);
			continue;
		}
		p[i]->len = msg[i].msg_len - sizeof(p[i]->vnet);
		complete_checksum(p[i]);
		judge_parts(s, p[i], now);
	}
	return got == BURST;
}

static void send_due(struct side *s, uint64_t now)
{
	static struct virtio_net_hdr plain;
	struct mmsghdr msg[BURST];
	struct iovec iov[BURST][2];
	int n = 0, done;
	wait_for_rate(s, now); /* (it must not count what is freed here) */
	for (struct packet *p = s->head; p && n < BURST && p->due_ns <= now; p = p->next) {
		iov[n][0] = (struct iovec){&plain, sizeof(plain)};
		iov[n][1] = (struct iovec){p->data, p->len};
		msg[n].msg_hdr = (struct msghdr){.msg_iov = iov[n], .msg_iovlen = 2};
		n++;
	}
	if (!n)
		return;
	done = sendmmsg(s->out, msg, n, 0);
	if (done < 1) /* link down or no buffers: this one is lost as on a real wire */
		done = 1, s->overflow++;
	else
		s->sent += done;
	while (done--) {
		struct packet *p = s->head;
		s->head = p->next;
		if (!s->head)
			s->tail = &s->head;
		s->waiting--;
		packet_free(p);
	}
}

static uint64_t next_due(const struct side *s)
{
	uint64_t due = s->head ? s->head->due_ns : UINT64_MAX;
	for (const struct packet *p = s->held; p; p = p->next)
		if (p->due_ns < due)
			due = p->due_ns;
	return due;
}

static void print_stats(const struct side *s)
{
	fprintf(stderr,
		"%s in %lu out %lu lost %lu dup %lu reordered %lu corrupt %lu overflow %lu tso %lu "
		"fragmented %lu\n",
		s->name, s->received, s->sent, s->lost, s->dup, s->reordered, s->corrupt,
		s->overflow, s->tso, s->fragmented);
}

static void wait_for_work(struct side *side)
{
	struct pollfd fds[2] = {{.fd = side[0].in, .events = POLLIN},
				{.fd = side[1].in, .events = POLLIN}};
	uint64_t now = now_ns(), due = next_due(&side[0]), other = next_due(&side[1]);
	struct timespec ts;
	if (other < due)
		due = other;
	due = due > now ? due - now : 0;
	ts = (struct timespec){due / 1000000000, due % 1000000000};
	ppoll(fds, 2, due > 3600000000000ull ? NULL : &ts, NULL);
}

static void run(struct side *side)
{
	while (!stopped) {
		uint64_t now = now_ns();
		bool more = false;
		for (int i = 0; i < 2; i++) {
			more |= receive(&side[i], now);
			release_held(&side[i], now);
			send_due(&side[i], now);
			more |= side[i].head && side[i].head->due_ns <= now;
		}
		if (report) {
			report = 0;
			print_stats(&side[0]);
			print_stats(&side[1]);
		}
		if (!more)
			wait_for_work(side);
	}
}

static int open_dev(const char *name)
{
	int one = 1, size = 16 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct sockaddr_ll addr = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(ETH_P_ALL),
				   .sll_ifindex = if_nametoindex(name)};
	if (fd < 0 || !addr.sll_ifindex)
		die(name);
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die(name);
	return fd;
}

/* "1.5%" or "0.015", and behind a slash a count. */
static uint64_t parse_chance(const char *text, unsigned *count)
{
	char *end;
	double v = strtod(text, &end);
	if (*end == '%')
		v /= 100, end++;
	if (*end == '/' && count)
		*count = strtoul(end + 1, &end, 10);
	if (*end || end == text || v < 0 || v > 1 || (count && !*count)) {
		fprintf(stderr, "wire: not a probability: %s\n", text);
		exit(2);
	}
	return v * 4294967296.0;
}

struct unit {
	const char *name;
	double factor;
};
static const struct unit times[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {}};
static const struct unit rates[] = {{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}, {}};

static uint64_t parse_unit(const char *text, const struct unit *unit)
{
	char *end;
	double v = strtod(text, &end);
	for (; unit->name; unit++)
		if (end != text && v >= 0 && !strcmp(end, unit->name))
			return v * unit->factor;
	fprintf(stderr, "wire: number and unit expected: %s\n", text);
	exit(2);
}

enum { OPT_AB = 256, OPT_BA, OPT_ALL };
static const struct option options[] = {
	{"loss", 1, NULL, 'l'},     {"dup", 1, NULL, 'd'},
	{"reorder", 1, NULL, 'r'},  {"corrupt", 1, NULL, 'c'},
	{"delay", 1, NULL, 't'},    {"jitter", 1, NULL, 'j'},
	{"rate", 1, NULL, 'b'},     {"limit", 1, NULL, 'q'},
	{"fragment", 1, NULL, 'f'}, {"seed", 1, NULL, 's'},
	{"ab", 0, NULL, OPT_AB},    {"ba", 0, NULL, OPT_BA},
	{"all", 0, NULL, OPT_ALL},  {},
};

static void set_fate(struct fate *f, int opt, const char *arg)
{
	switch (opt) {
	case 'l':
		f->loss = parse_chance(arg, &f->loss_run);
		break;
	case 'd':
		f->dup = parse_chance(arg, NULL);
		break;
	case 'r':
		f->reorder = parse_chance(arg, &f->reorder_by);
		break;
	case 'c':
		f->corrupt = parse_chance(arg, NULL);
		break;
	case 't':
		f->delay_ns = parse_unit(arg, times);
		break;
	case 'j':
		f->jitter_ns = parse_unit(arg, times);
		break;
	case 'b':
		f->rate_bps = parse_unit(arg, rates);
		break;
	case 'q':
		f->limit = strtoul(arg, NULL, 0);
		break;
	case 'f':
		f->fragment = strtoul(arg, NULL, 0);
		break;
	}
}

static int parse(struct side *side, int argc, char **argv)
{
	int opt, first = 0, last = 1;
	uint64_t seed = 1;
	for (int i = 0; i < 2; i++)
		side[i].fate = (struct fate){.loss_run = 1, .reorder_by = 1, .limit = SLOTS / 2};
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case OPT_AB:
			first = last = 0;
			break;
		case OPT_BA:
			first = last = 1;
			break;
		case OPT_ALL:
			spare_arp = false;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case '?':
			return -1;
		default:
			for (int i = first; i <= last; i++)
				set_fate(&side[i].fate, opt, optarg);
		}
	}
	side[0].rng = seed * 2;
	side[1].rng = seed * 2 + 1;
	return argc - optind == 2 ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct side side[2] = {{.name = "ab"}, {.name = "ba"}};
	struct sigaction sa = {.sa_handler = on_signal};
	if (parse(side, argc, argv)) {
		fprintf(stderr,
			"usage: wire DEV_A DEV_B [--loss 1%%] ... (see the head of wire.c)\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	struct packet *packets = calloc(SLOTS, sizeof(*packets));
	if (!packets)
		die("memory");
	fresh = packets;
	beyond = packets + SLOTS;
	side[0].in = side[1].out = open_dev(argv[optind]);
	side[1].in = side[0].out = open_dev(argv[optind + 1]);
	side[0].tail = &side[0].head;
	side[1].tail = &side[1].head;
	fprintf(stderr, "ready\n");
	run(side);
	print_stats(&side[0]);
	print_stats(&side[1]);
	return 0;
}
