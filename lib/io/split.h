/* SPDX-License-Identifier: BSD-2-Clause */
/* Large packets as the kernel hands them to packet sockets: reads their headers, and makes the
 * headers of the pieces that they are cut into. */
#ifndef SL_SPLIT_H
#define SL_SPLIT_H

#include <linux/virtio_net.h>

#include "base/base.h"

struct sl_packet_record;

/* A large packet; offsets count from its Ethernet header. */
struct sl_split {
	uint32_t total;   /* bytes of the packet */
	uint16_t l3, l4;  /* where IP and the transport begin */
	uint16_t hlen;    /* bytes of all headers */
	uint16_t segment; /* payload bytes of each datagram that the packet stands for; 0: it is one
			   */
	uint8_t proto;
	bool v6;
	bool stream;  /* TCP segments in a row: may be cut anywhere */
	bool csum_ok; /* the kernel vouches for the checksum */
};

/* Returns the offset of the IP header, behind two VLAN tags at most, and its EtherType in *type. 0:
 * there is none within avail bytes. */
uint32_t sl_split_l3(const uint8_t *pkt, uint32_t avail, uint16_t *type);
/* True: the kernel vouches for the checksum of the transport whose header is at l4, or was to make
 * it. (It has not looked at the one of a packet that came in VXLAN if it was to make the outer
 * one.) */
static inline bool sl_split_is_summed(const struct virtio_net_hdr *vnet, uint32_t l4)
{
	if (vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		return (int16_t)vnet->csum_start >= (int32_t)l4;
	return vnet->flags & VIRTIO_NET_HDR_F_DATA_VALID;
}

/* Reads the headers of a packet that has total bytes; the first avail are at pkt. Trusts neither
 * these bytes, nor proto and l4_words of the record. 0; -EINVAL: not such a packet, or malformed.
 */
int sl_split_parse(struct sl_split *s, const uint8_t *pkt, uint32_t avail, uint32_t total,
		   const struct sl_packet_record *rec, const struct virtio_net_hdr *vnet);
/* Turns h, a copy of the packet's first hlen bytes, into the headers of piece number `index`, which
 * has the len payload bytes at offset `at`. Leaves the transport's checksum. */
void sl_split_header(const struct sl_split *s, uint8_t *h, uint32_t index, uint32_t at,
		     uint32_t len);

#endif
