/* SPDX-License-Identifier: BSD-2-Clause */
/* IP settings: TTL, path MTU discovery, flow labels and packet IDs. */
#include "net/ipconf.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/hash.h"
#include "base/sys.h"
#include "wire/siphash.h"

#define LABEL_MASK 0xfffffu

/* A setting read from a file, with the second of reading in the same word, so that no lock is
 * needed. */
struct setting {
	const char *path;
	uint64_t known; /* second << 16 | number; 0: not read yet */
	uint16_t otherwise, max;
	struct sl_fd_once file;
};

static struct setting ttl = {"/proc/sys/net/ipv4/ip_default_ttl", 0, SL_IP_TTL, 255, {0}};
static struct setting no_discovery = {"/proc/sys/net/ipv4/ip_no_pmtu_disc", 0, 0, 3, {0}};
static struct setting min_pmtu = {"/proc/sys/net/ipv4/route/min_pmtu", 0, 552, UINT16_MAX, {0}};
static struct setting labels = {"/proc/sys/net/ipv6/auto_flowlabels", 0, 1, 3, {0}};

static uint16_t number_in(const struct setting *s, const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	return end == text || v > s->max ? s->otherwise : (uint16_t)v;
}

static uint16_t value(struct setting *s)
{
	uint64_t known = sl_load(&s->known), second = sl_now_ns() / 1000000000 + 1;
	char text[24];

	if (known >> 16 != second) {
		(void)sl_fd_once_read(&s->file, s->path, text, sizeof(text));
		known = second << 16 | number_in(s, text);
		sl_store(&s->known, known);
	}
	return (uint16_t)known;
}

uint8_t sl_ip_default_ttl(void)
{
	uint8_t n = (uint8_t)value(&ttl);

	return n ? n : SL_IP_TTL;
}

uint8_t sl_ip_pmtudisc(void)
{
	return value(&no_discovery) ? IP_PMTUDISC_DONT : IP_PMTUDISC_WANT;
}

bool sl_ip_hears_mtus(void)
{
	return value(&no_discovery) != 2;
}

uint16_t sl_ip_min_pmtu(void)
{
	return value(&min_pmtu);
}

uint8_t sl_ip_igmp_version(const char *device)
{
	static const struct setting version = {.max = 3};
	char path[80], text[24];
	uint8_t all;

	(void)sl_read_text_aside("/proc/sys/net/ipv4/conf/all/force_igmp_version", text,
				 sizeof(text));
	all = (uint8_t)number_in(&version, text);
	if (all)
		return all;
	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/force_igmp_version", device);
	(void)sl_read_text_aside(path, text, sizeof(text));
	return (uint8_t)number_in(&version, text);
}

/* enum flow_label (include/net/ipv6.h): 0 none, 1 unless the socket refuses, 2 if it asks, 3 all.
 */
static bool has_labels(void)
{
	return value(&labels) & 1;
}

/* Labels and IDs are on the wire, so a peer sees as many as it likes: a hash from which a key can
 * be computed would tell it those of others (RFC 6437 6.1, RFC 7739 3). */
static uint64_t secret_hash(const void *text, size_t bytes)
{
	static struct sl_hash_key *at;
	const struct sl_hash_key *key = sl_hash_key_get(&at);
	uint8_t k[16];
	uint64_t hash;

	memcpy(k, &key->k[1], sizeof(k));
	hash = sl_siphash(k, text, bytes);
	sl_apart_wipe(k, sizeof(k));
	return hash;
}

uint32_t sl_ip_flow_label(uint8_t proto, const struct sl_addr *src, const struct sl_addr *dst,
			  uint16_t sport, uint16_t dport)
{
	struct {
		struct sl_addr src, dst;
		uint32_t proto;
		uint16_t sport, dport;
	} text = {*src, *dst, proto, sport, dport};
	uint32_t label;

	if (sl_addr_is_v4(dst) || !has_labels())
		return 0;
	label = (uint32_t)secret_hash(&text, sizeof(text)) & LABEL_MASK;
	return label ? label : 1;
}

uint32_t sl_ip_random(const void *of)
{
	struct {
		const void *of;
		uint64_t now_ns;
	} text = {of, sl_now_ns()};

	return (uint32_t)secret_hash(&text, sizeof(text));
}
