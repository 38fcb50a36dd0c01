/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of destinations: precedence and text. */
#include "ctl/rules/pace_rule.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* True: the first bits of both are equal. Takes a prefix length that makes no sense. */
static bool is_below(const uint8_t a[16], const uint8_t b[16], uint32_t bits)
{
	uint32_t bytes = sl_min(bits, 128u) / 8, rest = sl_min(bits, 128u) % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a[bytes] ^ b[bytes]) >> (8 - rest));
}

/* 0: it does not match; else the more, the more it decides. */
static uint32_t weight(const struct sl_pace_rule *r, const struct sl_addr *dst, uint16_t port)
{
	uint32_t bits = sl_min(r->prefix_len, 128u);
	uint16_t at = r->port;

	if (!r->rate_kbps || (at && at != port) || !is_below(r->addr, dst->b, bits))
		return 0;
	return 1 + (at ? 1 : 0) + 2 * bits;
}

const struct sl_pace_rule *sl_pace_rule_find(const struct sl_pace_rule *r, unsigned n,
					     const struct sl_addr *dst, uint16_t port)
{
	const struct sl_pace_rule *found = NULL;
	uint32_t most = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t w = weight(&r[i], dst, port);

		/* Address and port come before an address alone, however long its prefix is. */
		if (w && r[i].port && r[i].prefix_len)
			w += 512;
		if (w <= most)
			continue;
		most = w;
		found = &r[i];
	}
	return found;
}

bool sl_pace_rule_is_for_same(const struct sl_pace_rule *a, const struct sl_pace_rule *b)
{
	return a->prefix_len == b->prefix_len && a->port == b->port &&
	       !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static void put_end(const struct sl_pace_rule *r, char *buf, size_t len)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = r->prefix_len >= 96 && !memcmp(r->addr, v4, 12);
	uint32_t bits = sl_min(r->prefix_len, 128u) - (is_v4 ? 96 : 0);
	char addr[INET6_ADDRSTRLEN] = "*", prefix[8] = "", port[8] = "*";

	if (r->prefix_len)
		inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? r->addr + 12 : r->addr, addr,
			  sizeof(addr));
	if (r->prefix_len && r->prefix_len < 128)
		snprintf(prefix, sizeof(prefix), "/%u", bits);
	if (r->port)
		snprintf(port, sizeof(port), "%u", r->port);
	snprintf(buf, len, r->prefix_len && !is_v4 ? "[%s]%s:%s" : "%s%s:%s", addr, prefix, port);
}

const char *sl_pace_rule_text(const struct sl_pace_rule *r, char buf[SL_PACE_TEXT_MAX])
{
	static const struct {
		uint64_t kbit;
		const char *name;
	} units[] = {{1000000, "gbit"}, {1000, "mbit"}, {1, "kbit"}};
	uint64_t rate = r->rate_kbps;
	char end[INET6_ADDRSTRLEN + 16], burst[24] = "";
	unsigned i = 0;

	while (rate % units[i].kbit)
		i++;
	put_end(r, end, sizeof(end));
	if (r->burst_bytes)
		snprintf(burst, sizeof(burst), " burst %u", r->burst_bytes);
	snprintf(buf, SL_PACE_TEXT_MAX, "%s %llu%s%s", end,
		 (unsigned long long)(rate / units[i].kbit), units[i].name, burst);
	return buf;
}
