/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans of addresses against the kernel: is the answer about a span's first address the answer
 * about each of its addresses?
 *
 *   route_spans OWN4 OWN6 DEVICE [N=4000] [SEED=1]
 *
 * Asks the kernel N times twice, about an address and about the first of its span, with the same
 * random source, device, TOS, mark and ports; for half of IPv4 the question is the other one,
 * whether a packet from there would be accepted on DEVICE. Prints what differs, then "asked N used
 * M answers A spans K differ D". */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/rtnl.h"
#include "net/span.h"

static struct sl_addr own[2]; /* IPv4, IPv6 */
static uint32_t device;
static unsigned used, differ, nspans;
static struct sl_addr span[4096];
static struct {
	char text[256];
} said[4096];
static unsigned nsaid;

/* 11.0-3.*.*, fd0b:0-3::*, seldom anything else; low parts are often near 0 and the highest. */
static struct sl_addr any_addr(bool v6)
{
	static const uint8_t near[] = {0, 0, 1, 2, 63, 64, 127, 128, 254, 255, 255};
	uint8_t b[16] = {0xfd, 0x0b};

	if (rand() % 8 == 0)
		for (unsigned i = 0; i < 16; i++)
			b[i] = (uint8_t)rand();
	else if (!v6)
		b[0] = 11;
	for (unsigned i = v6 ? 3 : 1; i < 16; i++)
		b[i] = rand() % 3 ? near[(unsigned)rand() % sizeof(near)] : (uint8_t)rand();
	if (rand() % 8) {
		b[1] = v6 ? 0x0b : (uint8_t)(rand() % 4);
		b[3] = v6 ? (uint8_t)(rand() % 4) : b[3];
	}
	if (!v6) {
		uint32_t be;

		memcpy(&be, b, 4);
		return sl_addr_v4(be);
	}
	return sl_addr_v6(b);
}

static int nothing(const struct nlmsghdr *nlh, void *arg)
{
	return 0;
}

/* The answer of ip_route_input() about a packet from src. */
static int ask_input(const struct sl_addr *src, uint8_t tos)
{
	uint8_t buf[SL_RTNL_REQ_BYTES] __attribute__((aligned(8))) = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = AF_INET;
	rtm->rtm_dst_len = rtm->rtm_src_len = 32;
	rtm->rtm_tos = tos & 0x1c;
	sl_rtnl_put_addr(nlh, RTA_DST, &own[0]);
	sl_rtnl_put_addr(nlh, RTA_SRC, src);
	mnl_attr_put_u32(nlh, RTA_IIF, device);
	return sl_rtnl_ask(nlh, nothing, NULL);
}

static void note_span(const struct sl_addr *first)
{
	for (unsigned i = 0; i < nspans; i++)
		if (sl_addr_eq(&span[i], first))
			return;
	if (nspans < sl_array_len(span))
		span[nspans++] = *first;
}

static void note_answer(const char *text)
{
	for (unsigned i = 0; i < nsaid; i++)
		if (!strcmp(said[i].text, text))
			return;
	if (nsaid < sl_array_len(said))
		snprintf(said[nsaid++].text, sizeof(said[0].text), "%s", text);
}

/* The answer in words; a next hop that is the destination itself is said as such. */
static void say(const struct sl_route_key *key, char *out, size_t bytes)
{
	char src[SL_ADDR_STRLEN], hop[SL_ADDR_STRLEN];
	struct sl_route r;
	int err = sl_route_get(key, &r);

	if (err || r.kind == SL_ROUTE_UNREACHABLE) {
		snprintf(out, bytes, "error %d refused %d", err, err ? 0 : r.error);
		return;
	}
	sl_addr_str(&r.src, src);
	sl_addr_str(&r.nexthop, hop);
	snprintf(out, bytes,
		 "kind %d device %u mtu %u hops %u cwnd %u mss %u cc %s own %d src %s via %s",
		 r.kind, r.ifindex, r.mtu, r.hoplimit, r.tcp.init_cwnd, r.adv_mss, r.tcp.congestion,
		 r.is_own, src, sl_addr_eq(&r.nexthop, &key->dst) ? "itself" : hop);
}

static void compare(unsigned i)
{
	bool v6 = rand() % 2, input = !v6 && rand() % 2;
	struct sl_route_key key = {.dst = any_addr(v6)};
	struct sl_addr first = key.dst;
	char one[256], other[256], text[2][SL_ADDR_STRLEN];

	key.src = own[v6]; /* (which one the kernel chooses depends on the destination) */
	key.oif = rand() % 8 ? 0 : device;
	key.tos = rand() % 4 ? 0 : (uint8_t)(rand() % 8 << 2);
	key.mark = rand() % 2 ? 0 : (uint32_t)(rand() % 4);
	sl_route_key_ports(&key, IPPROTO_TCP, 80, (uint16_t)(1000 + rand() % 8));
	if (!sl_span_first(&first))
		return;
	used++;
	note_span(&first);
	if (input) {
		snprintf(one, sizeof(one), "input %d", ask_input(&key.dst, key.tos));
		snprintf(other, sizeof(other), "input %d", ask_input(&first, key.tos));
	} else {
		struct sl_route_key of_first = key;

		of_first.dst = first;
		say(&key, one, sizeof(one));
		say(&of_first, other, sizeof(other));
	}
	note_answer(one);
	if (!strcmp(one, other))
		return;
	if (differ++ < 5)
		printf("%u: %s (%s), but %s (%s)\n", i, one, sl_addr_str(&key.dst, text[0]), other,
		       sl_addr_str(&first, text[1]));
}

static void catch_up(void)
{
	struct pollfd p = {.fd = sl_net_fd(), .events = POLLIN};

	while (poll(&p, 1, 0) > 0)
		sl_net_on_readable();
}

/* Few questions go to the kernel as they are; of many, all but a few use the span, as soon as the
 * keeper has read the tables. */
static bool budget_holds(void)
{
	struct sl_span_asks asks = {0};
	uint64_t now = sl_now_ns() & ~((1ull << SL_ASKS_WINDOW_SHIFT) - 1);
	struct sl_addr a, first;
	unsigned n = 0;

	do
		a = first = any_addr(false);
	while (!sl_span_first(&first));

	for (unsigned i = 0; i < SL_ASKS_WINDOW_MOST; i++)
		n += sl_span_use(&asks, now, &a);
	if (n) /* though the spans are known */
		return false;
	for (unsigned i = 0; i < 1000; i++)
		n += sl_span_use(&asks, now + 1, &a);
	if (n != 1000)
		return false;
	__atomic_fetch_add(&sl_route_gen, 1, __ATOMIC_RELEASE); /* as an event does */
	if (sl_span_use(&asks, now + 2, &a))
		return false;
	catch_up(); /* the keeper was woken */
	return sl_span_use(&asks, now + 3, &a);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 4 ? (unsigned)atoi(argv[4]) : 4000;
	uint8_t b[16];
	int err;

	if (argc < 4 || inet_pton(AF_INET, argv[1], b) != 1)
		return 2;
	own[0] = sl_addr_v4(*(uint32_t *)b);
	if (inet_pton(AF_INET6, argv[2], b) != 1)
		return 2;
	own[1] = sl_addr_v6(b);
	device = if_nametoindex(argv[3]);
	srand(argc > 5 ? (unsigned)atoi(argv[5]) : 1);
	err = sl_net_open(NULL);
	if (!err)
		err = sl_spans_read();
	if (err) {
		printf("error %s\n", strerrorname_np(-err));
		return 1;
	}
	for (unsigned i = 0; i < n; i++)
		compare(i);
	printf("budget %s\n", budget_holds() ? "holds" : "does not hold");
	printf("asked %u used %u answers %u spans %u differ %u\n", n, used, nsaid, nspans, differ);
	sl_net_close();
	return differ > 0;
}
