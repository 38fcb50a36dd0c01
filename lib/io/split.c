/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the headers of large packets of packet sockets, and makes the headers of their pieces (RFC
 * 9293 3.1, RFC 768; kernel: tcp_gso_segment(), __udp_gso_segment()). */
#include "io/split.h"

#include <errno.h>
#include <netinet/in.h>

#include "steer.h"
#include "wire/csum.h"
#include "wire/tcp_seg.h"
#include "wire/wire.h"

#define TAGS_MOST 2
#define GSO_UDP   5 /* VIRTIO_NET_HDR_GSO_UDP_L4, Linux 6.2 */

uint32_t sl_split_l3(const uint8_t *pkt, uint32_t avail, uint16_t *type)
{
	uint32_t l3 = ETH_HLEN;

	for (int i = 0; i <= TAGS_MOST && l3 <= avail; i++, l3 += 4) {
		*type = sl_get_be16(pkt + l3 - 2);
		if (*type != ETH_P_8021Q && *type != ETH_P_8021AD)
			return l3;
	}
	return 0;
}

/* Bytes that the IP header says the packet has, from l3 on. */
static uint32_t ip_bytes(const struct sl_split *s, const uint8_t *ip)
{
	return s->v6 ? sl_get_be16(ip + 4) + (uint32_t)sizeof(struct ipv6hdr) : sl_get_be16(ip + 2);
}

static int parse_ip(struct sl_split *s, const uint8_t *pkt, uint32_t avail, uint8_t l4_words)
{
	uint32_t least = sizeof(struct iphdr), len = l4_words * 4u;
	uint16_t type = 0;
	uint32_t l3 = sl_split_l3(pkt, avail, &type);

	s->v6 = type == ETH_P_IPV6;
	if (s->v6)
		least = sizeof(struct ipv6hdr);
	if (!l3 || (!s->v6 && type != ETH_P_IP) || len < least || l3 + len > avail ||
	    pkt[l3] >> 4 != (s->v6 ? 6 : 4) || (!s->v6 && (pkt[l3] & 15) * 4u != len))
		return -EINVAL;
	s->l3 = (uint16_t)l3;
	s->l4 = (uint16_t)(l3 + len);
	return 0;
}

static int parse_l4(struct sl_split *s, const uint8_t *pkt, uint32_t avail)
{
	uint32_t len = 8;

	if (s->proto == IPPROTO_TCP) {
		if (s->l4 + 20u > avail)
			return -EINVAL;
		len = (pkt[s->l4 + 12] >> 4) * 4u;
		if (len < 20)
			return -EINVAL;
	}
	if (s->l4 + len > avail)
		return -EINVAL;
	s->hlen = (uint16_t)(s->l4 + len);
	return 0;
}

/* Reads how the packet is divided, if it stands for several: the kernel has checked these, and left
 * out their checksums. */
static int parse_gso(struct sl_split *s, const uint8_t *pkt, const struct virtio_net_hdr *vnet)
{
	uint8_t type = vnet->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;

	s->segment = 0;
	s->stream = false;
	if (type == VIRTIO_NET_HDR_GSO_NONE)
		return 0;
	if (!s->csum_ok || !vnet->gso_size || ip_bytes(s, pkt + s->l3) != s->total - s->l3)
		return -EINVAL;
	s->segment = vnet->gso_size;
	if (type == (s->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4)) {
		s->stream = true;
		if (s->proto != IPPROTO_TCP)
			return -EINVAL;
		/* (No host sends such, and each piece would have the flag: one of many numbers
		 * resets a connection more easily than the first alone.) */
		return pkt[s->l4 + 13] & (SL_TCP_SYN | SL_TCP_RST) ? -EINVAL : 0;
	}
	if (type != GSO_UDP || s->proto != IPPROTO_UDP)
		return -EINVAL;
	/* (If the header says another length the kernel takes so many bytes, or nothing.) */
	return sl_get_be16(pkt + s->l4 + 4) == s->total - s->l4 ? 0 : -EINVAL;
}

int sl_split_parse(struct sl_split *s, const uint8_t *pkt, uint32_t avail, uint32_t total,
		   const struct sl_packet_record *rec, const struct virtio_net_hdr *vnet)
{
	int err;

	s->total = total;
	s->proto = rec->proto;
	avail = sl_min(avail, total);
	err = parse_ip(s, pkt, avail, rec->l4_words);
	s->csum_ok = !err && sl_split_is_summed(vnet, s->l4);
	if (!err)
		err = parse_l4(s, pkt, avail);
	return err ? err : parse_gso(s, pkt, vnet);
}

/* Flags that belong to the end of the whole stay on the last piece, those that belong to its
 * beginning on the first (RFC 3168 6.1.2: CWR is said once). */
static void tcp_header(const struct sl_split *s, uint8_t *tcp, uint32_t at, uint32_t len)
{
	uint16_t urg = sl_get_be16(tcp + 18);

	sl_put_be32(tcp + 4, sl_get_be32(tcp + 4) + at);
	if (s->hlen + at + len < s->total)
		tcp[13] &= (uint8_t) ~(SL_TCP_FIN | SL_TCP_PSH);
	if (!at)
		return;
	tcp[13] &= (uint8_t)~SL_TCP_CWR;
	if (!(tcp[13] & SL_TCP_URG))
		return;
	if (urg > at)
		sl_put_be16(tcp + 18, (uint16_t)(urg - at));
	else
		tcp[13] &= (uint8_t)~SL_TCP_URG;
}

static void ip_header(const struct sl_split *s, uint8_t *ip, uint32_t index, uint32_t bytes)
{
	if (s->v6) {
		sl_put_be16(ip + 4, (uint16_t)(bytes - sizeof(struct ipv6hdr)));
		return;
	}
	sl_put_be16(ip + 2, (uint16_t)bytes);
	sl_put_be16(ip + 4, (uint16_t)(sl_get_be16(ip + 4) + index));
	memset(ip + 10, 0, 2);
	{
		uint16_t sum = sl_csum_fold(sl_csum_add(0, ip, (size_t)(s->l4 - s->l3)));

		memcpy(ip + 10, &sum, 2);
	}
}

void sl_split_header(const struct sl_split *s, uint8_t *h, uint32_t index, uint32_t at,
		     uint32_t len)
{
	ip_header(s, h + s->l3, index, s->hlen - s->l3 + len);
	if (s->proto == IPPROTO_TCP)
		tcp_header(s, h + s->l4, at, len);
	else if (s->proto == IPPROTO_UDP)
		sl_put_be16(h + s->l4 + 4, (uint16_t)(s->hlen - s->l4 + len));
}
