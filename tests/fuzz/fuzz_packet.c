/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: headers of large packets from a packet socket. Any bytes, record and virtio header
 * are refused or cut into pieces whose headers lie within the packet's, whose lengths and sequence
 * numbers add up to the whole, and which parse again. Input: the virtio header, the record's two
 * bytes, the packet's length, then its first bytes. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "io/split.h"
#include "steer.h"
#include "wire/csum.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD (sizeof(struct virtio_net_hdr) + 6)

static void check(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t seq_of(const uint8_t *tcp)
{
	return (uint32_t)sl_get_be16(tcp + 4) << 16 | sl_get_be16(tcp + 6);
}

/* Checks a piece: its headers must describe it alone. */
static void piece(const struct sl_split *s, const uint8_t *head, uint32_t index, uint32_t at,
		  uint32_t len)
{
	uint8_t *h = malloc(s->hlen), *ip = h + s->l3; /* (so that a byte beyond is noticed) */
	struct virtio_net_hdr none = {.flags = VIRTIO_NET_HDR_F_DATA_VALID};
	struct sl_packet_record rec = {
		.proto = s->proto,
		.l4_words = (uint8_t)((s->l4 - s->l3) / 4),
	};
	struct sl_split again;

	check(h);
	memcpy(h, head, s->hlen);
	sl_split_header(s, h, index, at, len);
	check(!sl_split_parse(&again, h, s->hlen, s->hlen + len, &rec, &none));
	check(again.hlen == s->hlen && again.l3 == s->l3 && again.l4 == s->l4);
	if (s->v6)
		check(sl_get_be16(ip + 4) == s->hlen - s->l3 - 40 + len);
	else
		check(sl_get_be16(ip + 2) == s->hlen - s->l3 + len &&
		      !sl_csum_fold(sl_csum_add(0, ip, (size_t)(s->l4 - s->l3))));
	if (s->proto == IPPROTO_TCP)
		check(seq_of(h + s->l4) == seq_of(head + s->l4) + at);
	free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t avail = (uint32_t)(size - HEAD), total, at = 0, index = 0, most;
	struct sl_packet_record rec = {0};
	struct virtio_net_hdr v;
	struct sl_split s;
	uint8_t *head;

	if (size <= HEAD)
		return 0;
	memcpy(&v, data, sizeof(v));
	rec.proto = data[sizeof(v)];
	rec.l4_words = data[sizeof(v) + 1];
	memcpy(&total, data + sizeof(v) + 2, sizeof(total));
	total &= 0xffff;
	head = malloc(avail);
	check(head);
	memcpy(head, data + HEAD, avail);
	if (!sl_split_parse(&s, head, avail, total, &rec, &v)) {
		check(s.l3 < s.l4 && s.l4 < s.hlen && s.hlen <= avail && s.hlen <= total);
		most = s.stream ? 8000 : s.segment;
		while (s.segment && s.hlen + at < total && index < 128) {
			uint32_t left = total - s.hlen - at, len = left < most ? left : most;

			piece(&s, head, index++, at, len);
			at += len;
		}
	}
	free(head);
	return 0;
}
