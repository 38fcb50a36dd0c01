/* SPDX-License-Identifier: BSD-2-Clause */
/* IP fragments of frames with TCP, for the wire of the tests. */
#ifndef FRAGMENT_H
#define FRAGMENT_H

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where the segment begins in a packet with TCP and no more than the IP header in front of it; 0:
 * it is none. */
static inline uint32_t find_tcp(const uint8_t *frame, uint32_t bytes)
{
	const uint8_t *ip = frame + ETH_HLEN;
	uint16_t type = frame[12] << 8 | frame[13];
	if (type == ETH_P_IP && bytes > ETH_HLEN + 20 && ip[0] == 0x45 && ip[9] == IPPROTO_TCP)
		return ETH_HLEN + 20;
	if (type == ETH_P_IPV6 && bytes > ETH_HLEN + 40 && ip[6] == IPPROTO_TCP)
		return ETH_HLEN + 40;
	return 0;
}

static inline void put16(uint8_t *at, unsigned v)
{
	at[0] = v >> 8;
	at[1] = v;
}

/* The header of the fragment at off (RFC 791, 3.2; RFC 8200, 4.5). Returns where its bytes go. */
static inline uint32_t build_fragment(uint8_t *out, const uint8_t *whole, uint32_t l4, uint32_t off,
				      uint32_t len, bool more, uint16_t id)
{
	uint8_t *ip = out + ETH_HLEN, *ext = out + l4;
	uint32_t sum = 0;
	memcpy(out, whole, l4);
	if (l4 == ETH_HLEN + 40) {
		put16(ip + 4, len + 8);
		ext[0] = ip[6];
		ip[6] = IPPROTO_FRAGMENT;
		ext[1] = ext[4] = ext[5] = 0;
		put16(ext + 2, off | more);
		put16(ext + 6, id);
		return l4 + 8;
	}
	put16(ip + 2, len + 20);
	put16(ip + 4, id);
	put16(ip + 6, off / 8 | (more ? 0x2000 : 0));
	put16(ip + 10, 0);
	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)));
	return l4;
}

#endif
