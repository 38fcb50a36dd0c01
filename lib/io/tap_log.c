/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in the log, at level FINE: addresses and lengths, not the bytes. It uses the taps of
 * `sluice capture`, so the packet path pays nothing at other levels. */
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/log.h"
#include "io/tap.h"
#include "wire/wire.h"

#define TEXT 160

struct where {
	const uint8_t *p;
	uint32_t left;
};

static bool skip(struct where *w, uint32_t n)
{
	if (w->left < n)
		return false;
	w->p += n;
	w->left -= n;
	return true;
}

/* The EtherType behind the tags; 0: the packet is cut off. */
static uint16_t read_ether(struct where *w)
{
	uint16_t type;

	if (w->left < ETHER_HDR_LEN)
		return 0;
	type = sl_get_be16(w->p + 12);
	skip(w, ETHER_HDR_LEN);
	while ((type == ETH_P_8021Q || type == ETH_P_8021AD) && w->left >= 4) {
		type = sl_get_be16(w->p + 2);
		skip(w, 4);
	}
	return type;
}

/* The protocol, and the addresses; -1: not IP, or cut off. */
static int read_ip(struct where *w, struct sl_addr ends[2])
{
	uint16_t type = read_ether(w);
	uint8_t proto;

	if (type == ETHERTYPE_IP && w->left >= 20) {
		for (int i = 0; i < 2; i++) {
			ends[i] = (struct sl_addr){.w = {0, 0, __builtin_bswap32(0xffff)}};
			__builtin_memcpy(&ends[i].b[12], w->p + 12 + 4 * i, 4);
		}
		proto = w->p[9];
		return skip(w, (w->p[0] & 15u) * 4) ? proto : -1;
	}
	if (type != ETHERTYPE_IPV6 || w->left < 40)
		return -1;
	ends[0] = sl_addr_of(w->p + 8);
	ends[1] = sl_addr_of(w->p + 24);
	proto = w->p[6];
	skip(w, 40);
	return proto;
}

static void flags_text(uint8_t flags, char text[9])
{
	static const char letters[] = "FSRP.UEC";
	int n = 0;

	for (int i = 0; i < 8; i++)
		if (flags >> i & 1)
			text[n++] = letters[i];
	text[n] = 0;
}

static void describe(struct where w, char text[TEXT])
{
	char from[SL_ADDR_STRLEN], to[SL_ADDR_STRLEN], flags[9];
	struct sl_addr ends[2];
	int proto = read_ip(&w, ends), n;

	if (proto < 0) {
		snprintf(text, TEXT, "not IP");
		return;
	}
	sl_addr_str(&ends[0], from);
	sl_addr_str(&ends[1], to);
	if ((proto != IPPROTO_UDP && proto != IPPROTO_TCP) || w.left < 8) {
		snprintf(text, TEXT, "protocol %d, %s > %s", proto, from, to);
		return;
	}
	n = snprintf(text, TEXT, "%s %s.%u > %s.%u", proto == IPPROTO_UDP ? "UDP" : "TCP", from,
		     sl_get_be16(w.p), to, sl_get_be16(w.p + 2));
	if (proto == IPPROTO_TCP && w.left >= 20 && n > 0 && n < TEXT) {
		flags_text(w.p[13], flags);
		snprintf(text + n, (size_t)(TEXT - n), " [%s] seq %u ack %u win %u", flags,
			 sl_get_be32(w.p + 4), sl_get_be32(w.p + 8), sl_get_be16(w.p + 14));
	}
}

void sl_tap_log(const struct sl_tap_at *at, const struct sl_tap_pkt *pkt, uint32_t bytes)
{
	char text[TEXT];

	describe((struct where){pkt->piece[0].p, pkt->piece[0].len}, text);
	sl_fine("packet", "%s %u bytes, device %u, lane %u: %s",
		pkt->flags & SL_TAP_IN ? "rx" : "tx", bytes, at->ifindex, at->lane, text);
}
