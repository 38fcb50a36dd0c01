/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames for the steering program, from peer to us. */
#ifndef BPF_FRAMES_H
#define BPF_FRAMES_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const char *const A4 = "10.0.0.1", *const B4 = "10.0.0.2";
static const char *const A6 = "fd00::1", *const B6 = "fd00::2";

struct frame {
	uint8_t b[512];
	unsigned len, l3, l4;
};

static inline void put(struct frame *f, const void *data, unsigned n)
{
	memcpy(f->b + f->len, data, n);
	f->len += n;
}

static inline void put16(struct frame *f, uint16_t v)
{
	v = htons(v);
	put(f, &v, 2);
}

static inline void eth(struct frame *f)
{
	memset(f, 0, sizeof(*f));
	put(f, our_mac, 6);
	put(f, peer_mac, 6);
}

static inline void tag(struct frame *f, uint16_t tpid, uint16_t tci)
{
	put16(f, tpid);
	put16(f, tci);
}

static inline void ip4(struct frame *f, const char *dst, uint8_t proto, const void *opts,
		       unsigned optlen)
{
	struct iphdr ip = {.version = 4, .ihl = 5 + optlen / 4, .ttl = 64, .protocol = proto};

	put16(f, ETH_P_IP);
	inet_pton(AF_INET, B4, &ip.saddr);
	inet_pton(AF_INET, dst, &ip.daddr);
	f->l3 = f->len;
	put(f, &ip, sizeof(ip));
	put(f, opts, optlen);
}

static inline void ip6(struct frame *f, const char *dst, uint8_t next)
{
	struct ip6_hdr ip = {.ip6_flow = htonl(6u << 28), .ip6_nxt = next, .ip6_hlim = 64};

	put16(f, ETH_P_IPV6);
	inet_pton(AF_INET6, B6, &ip.ip6_src);
	inet_pton(AF_INET6, dst, &ip.ip6_dst);
	f->l3 = f->len;
	put(f, &ip, sizeof(ip));
}

static inline void udp(struct frame *f, uint16_t sport, uint16_t dport)
{
	f->l4 = f->len;
	put16(f, sport);
	put16(f, dport);
	put16(f, 8 + 5);
	put16(f, 0);
	put(f, "hello", 5);
}

static inline void tcp(struct frame *f, uint16_t sport, uint16_t dport)
{
	struct tcphdr t = {.source = htons(sport), .dest = htons(dport), .doff = 5, .syn = 1};

	f->l4 = f->len;
	put(f, &t, sizeof(t));
}

static inline struct frame udp4(const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f;

	eth(&f);
	ip4(&f, dst, IPPROTO_UDP, NULL, 0);
	udp(&f, sport, dport);
	return f;
}

static inline struct frame udp6(const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f;

	eth(&f);
	ip6(&f, dst, IPPROTO_UDP);
	udp(&f, sport, dport);
	return f;
}

#endif
