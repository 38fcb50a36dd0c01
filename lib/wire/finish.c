/* SPDX-License-Identifier: BSD-2-Clause */
/* Finishes packets of ours in software, as a NIC with offloads would: checksums, and the headers of
 * the segments of a large one. For packets that leave another way than they were built for. */
#include "wire/finish.h"

#include <endian.h>
#include <string.h>

#include "wire/csum.h"
#include "wire/tcp_seg.h"

struct layers {
	uint8_t *ip, *l4;
	bool v6;
	uint8_t proto;
};

/* Finds the headers of a packet that build.c made: two VLAN tags at most, no IP options. */
static struct layers find_layers(uint8_t *frame)
{
	struct layers at;
	uint8_t *p = frame + 12;

	while (sl_get_be16(p) == ETH_P_8021Q || sl_get_be16(p) == ETH_P_8021AD)
		p += 4;
	at.v6 = sl_get_be16(p) == ETH_P_IPV6;
	at.ip = p + 2;
	at.l4 = at.ip + (at.v6 ? 40 : 20);
	at.proto = at.ip[at.v6 ? 6 : 9];
	return at;
}

static void put_sum(uint8_t *p, uint64_t sum, bool never_zero)
{
	uint16_t v = sl_csum_fold(sum);

	if (!v && never_zero)
		v = 0xffff; /* RFC 768: zero means none */
	memcpy(p, &v, 2);
}

void sl_finish_csum(uint8_t *frame, size_t len)
{
	struct layers at = find_layers(frame);
	size_t n = len - (size_t)(at.l4 - frame), addrs = at.v6 ? 32 : 8;
	bool udp = at.proto == IPPROTO_UDP;
	uint8_t *field = at.l4 + (udp ? 6 : 16);
	uint64_t sum = (uint64_t)htobe16(at.proto) + htobe16((uint16_t)n);

	if (!at.v6) {
		memset(at.ip + 10, 0, 2);
		put_sum(at.ip + 10, sl_csum_add(0, at.ip, 20), false);
	}
	memset(field, 0, 2);
	sum = sl_csum_add64(sum, sl_csum_add(0, at.l4 - addrs, addrs));
	put_sum(field, sl_csum_add64(sum, sl_csum_add(0, at.l4, n)), udp);
}

void sl_finish_segment(uint8_t *frame, size_t len, unsigned nr, uint32_t before, bool last)
{
	struct layers at = find_layers(frame);
	size_t l4_len = len - (size_t)(at.l4 - frame);
	uint32_t seq = (uint32_t)sl_get_be16(at.l4 + 4) << 16 | sl_get_be16(at.l4 + 6);

	if (at.v6) {
		sl_put_be16(at.ip + 4, (uint16_t)l4_len);
	} else {
		sl_put_be16(at.ip + 2, (uint16_t)(l4_len + 20));
		sl_put_be16(at.ip + 4, (uint16_t)(sl_get_be16(at.ip + 4) + nr));
	}
	seq += before;
	sl_put_be16(at.l4 + 4, (uint16_t)(seq >> 16));
	sl_put_be16(at.l4 + 6, (uint16_t)seq);
	if (!last)
		at.l4[13] &= (uint8_t) ~(SL_TCP_PSH | SL_TCP_FIN);
}

int sl_finish_large(uint8_t *frame, size_t len)
{
	struct layers at = find_layers(frame);
	size_t n = len - (size_t)(at.l4 - frame), addrs = at.v6 ? 32 : 8;
	uint64_t sum = (uint64_t)htobe16(at.proto) + htobe16((uint16_t)n);
	uint16_t v;

	if (at.ip != frame + 14)
		return -1;
	if (at.v6) {
		sl_put_be16(at.ip + 4, (uint16_t)n);
	} else {
		sl_put_be16(at.ip + 2, (uint16_t)(n + 20));
		memset(at.ip + 10, 0, 2);
		put_sum(at.ip + 10, sl_csum_add(0, at.ip, 20), false);
	}
	v = (uint16_t)~sl_csum_fold(sl_csum_add64(sum, sl_csum_add(0, at.l4 - addrs, addrs)));
	memcpy(at.l4 + 16, &v, 2);
	return (int)(at.l4 - frame);
}
