/* SPDX-License-Identifier: BSD-2-Clause */
/* Completes checksums that a device was to write, so that no reader of the file takes them for
 * errors. */
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "capture.h"
#include "wire/csum.h"
#include "wire/wire.h"

struct where {
	uint32_t ip, l4, end; /* offsets; end: of the IP packet */
	bool v6;
	uint8_t proto;
};

/* Finds a whole, unfragmented TCP or UDP packet. */
static bool find(const uint8_t *p, uint32_t len, struct where *w)
{
	uint32_t at = 12;
	uint16_t type;

	for (;; at += 4) {
		if (at + 2 > len)
			return false;
		type = sl_get_be16(p + at);
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			break;
	}
	w->ip = at + 2;
	w->v6 = type == ETH_P_IPV6;
	if (w->ip + 40 > len || (type != ETH_P_IP && !w->v6))
		return false;
	if (w->v6) {
		w->proto = p[w->ip + 6];
		w->l4 = w->ip + 40;
		w->end = w->l4 + sl_get_be16(p + w->ip + 4);
	} else {
		w->proto = p[w->ip + 9];
		w->l4 = w->ip + (p[w->ip] & 15u) * 4;
		w->end = w->ip + sl_get_be16(p + w->ip + 2);
		if (sl_get_be16(p + w->ip + 6) & 0x3fff)
			return false;
	}
	return (w->proto == IPPROTO_TCP || w->proto == IPPROTO_UDP) && w->end <= len &&
	       w->l4 + (w->proto == IPPROTO_TCP ? 20 : 8) <= w->end;
}

void sl_capture_fix(uint8_t *p, uint32_t len, bool told)
{
	struct where w;
	uint32_t n, addrs;
	uint64_t pseudo;
	uint16_t sum, bare;
	uint8_t *field;

	if (!find(p, len, &w))
		return;
	n = w.end - w.l4;
	addrs = w.v6 ? 32 : 8;
	field = p + w.l4 + (w.proto == IPPROTO_TCP ? 16 : 6);
	pseudo = (uint64_t)htobe16(w.proto) + htobe16((uint16_t)n);
	pseudo = sl_csum_add64(pseudo, sl_csum_add(0, p + w.ip + (w.v6 ? 8 : 12), addrs));
	bare = (uint16_t)~sl_csum_fold(pseudo);
	if (!told && memcmp(field, &bare, 2) != 0)
		return;
	if (told && !w.v6) {
		uint16_t ip;

		memset(p + w.ip + 10, 0, 2);
		ip = sl_csum_fold(sl_csum_add(0, p + w.ip, w.l4 - w.ip));
		memcpy(p + w.ip + 10, &ip, 2);
	}
	memset(field, 0, 2);
	sum = sl_csum_fold(sl_csum_add64(pseudo, sl_csum_add(0, p + w.l4, n)));
	if (!sum && w.proto == IPPROTO_UDP)
		sum = 0xffff;
	memcpy(field, &sum, 2);
}
