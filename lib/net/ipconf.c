/* SPDX-License-Identifier: BSD-2-Clause */
/* IP settings: TTL, path MTU discovery and flow labels. */
#include "net/ipconf.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fds.h"
#include "base/sys.h"

#define LABEL_MASK 0xfffffu

/* A setting read from a file, with the second of reading in the same word, so that no lock is
 * needed. */
struct setting {
	const char *path;
	uint64_t known; /* second << 8 | number; 0: not read yet */
	uint8_t otherwise, max;
	struct sl_fd_once file;
};

static struct setting ttl = {"/proc/sys/net/ipv4/ip_default_ttl", 0, SL_IP_TTL, 255, {0}};
static struct setting no_discovery = {"/proc/sys/net/ipv4/ip_no_pmtu_disc", 0, 0, 3, {0}};
static struct setting labels = {"/proc/sys/net/ipv6/auto_flowlabels", 0, 1, 3, {0}};

static uint8_t number_in(const struct setting *s, const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	return end == text || v > s->max ? s->otherwise : (uint8_t)v;
}

static uint8_t value(struct setting *s)
{
	uint64_t known = sl_load(&s->known), second = sl_now_ns() / 1000000000 + 1;
	char text[24];

	if (known >> 8 != second) {
		(void)sl_fd_once_read(&s->file, s->path, text, sizeof(text));
		known = second << 8 | number_in(s, text);
		sl_store(&s->known, known);
	}
	return (uint8_t)known;
}

uint8_t sl_ip_default_ttl(void)
{
	uint8_t n = value(&ttl);

	return n ? n : SL_IP_TTL;
}

uint8_t sl_ip_pmtudisc(void)
{
	return value(&no_discovery) ? IP_PMTUDISC_DONT : IP_PMTUDISC_WANT;
}

uint8_t sl_ip_igmp_version(const char *device)
{
	static const struct setting version = {.max = 3};
	char path[80], text[24];
	uint8_t all;

	(void)sl_read_text_aside("/proc/sys/net/ipv4/conf/all/force_igmp_version", text,
				 sizeof(text));
	all = number_in(&version, text);
	if (all)
		return all;
	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/force_igmp_version", device);
	(void)sl_read_text_aside(path, text, sizeof(text));
	return number_in(&version, text);
}

/* enum flow_label (include/net/ipv6.h): 0 none, 1 unless the socket refuses, 2 if it asks, 3 all.
 */
static bool has_labels(void)
{
	return value(&labels) & 1;
}

/* Random, so that labels cannot be guessed (RFC 6437 6.1). */
static uint64_t secret(void)
{
	static uint64_t key;
	uint64_t now = sl_load(&key), new = 0;

	if (sl_likely(now))
		return now;
	if (sl_sys(SYS_getrandom, &new, sizeof(new), 0) != sizeof(new))
		new = sl_now_ns();
	new |= 1;
	return __atomic_compare_exchange_n(&key, &now, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED)
		       ? new
		       : now;
}

uint32_t sl_ip_flow_label(uint8_t proto, const struct sl_addr *src, const struct sl_addr *dst,
			  uint16_t sport, uint16_t dport)
{
	uint32_t label;
	uint64_t h;

	if (sl_addr_is_v4(dst) || !has_labels())
		return 0;
	h = sl_addr_mix(sl_addr_mix(secret(), src), dst);
	h = sl_mix(sl_mix(h, (uint64_t)proto << 32 | (uint32_t)sport << 16 | dport), 0);
	label = (uint32_t)(h >> 32) & LABEL_MASK;
	return label ? label : 1;
}
